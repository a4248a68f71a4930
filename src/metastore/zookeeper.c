/*
 * The ZooKeeper backend's configuration: the connect string, access lists, paths below the chroot and
 * the meaning of the client's codes. A factory does not change after it was made, so that sessions on
 * several envs may share it.
 */
#include "metastore/zookeeper_private.h"

#include "base/alloc.h"
#include "metastore/path.h"

#include <stdlib.h>

#define PORT_DEFAULT 2181
#define HOSTS_MAX    64
#define READERS      3 /* with one more connection: what two or three cores of a server keep up with */

/* ---- access lists ---- */

/* Below these nobody but the creator may read. Spec section 1. */
static const char *const secret_paths[] = {
    "/config/users",
    "/config/brokers",
    "/delegation_token/tokens",
};

static bool path_is_secret(struct slice path)
{
    for (size_t i = 0; i < ARRAY_LEN(secret_paths); i++) {
        struct slice secret = slice_str(secret_paths[i]);
        if (path.len >= secret.len && memcmp(path.ptr, secret.ptr, secret.len) == 0 &&
            (path.len == secret.len || path.ptr[secret.len] == '/')) {
            return true;
        }
    }
    return false;
}

const struct ACL_vector *metastore_zk_acl(const struct metastore_zk_factory *f, struct slice path)
{
    if (!f->is_acl_set) {
        return &ZOO_OPEN_ACL_UNSAFE;
    }
    return path_is_secret(path) ? &ZOO_CREATOR_ALL_ACL : &f->owner_and_readers;
}

/* ---- paths and codes ---- */

char *metastore_zk_path(const struct metastore_zk_factory *f, struct slice path)
{
    bool is_root = path.len == 1 && f->chroot[0] != 0;
    return xasprintf("%s%.*s", f->chroot, is_root ? 0 : (int)path.len, (const char *)path.ptr);
}

int metastore_zk_error(int rc)
{
    switch (rc) {
    case ZOK:
        return 0;
    case ZNONODE:
        return -E_NOT_FOUND;
    case ZNODEEXISTS:
        return -E_EXISTS;
    case ZBADVERSION:
        return -E_BAD_VERSION;
    case ZNOTEMPTY:
        return -E_NOT_EMPTY;
    case ZBADARGUMENTS:
    case ZNOCHILDRENFOREPHEMERALS:
        return -E_INVALID;
    case ZNOAUTH:
    case ZINVALIDACL:
        return -E_REFUSED;
    default:
        return -E_SYSTEM;
    }
}

bool metastore_zk_is_lost(int rc)
{
    switch (rc) {
    case ZCONNECTIONLOSS:
    case ZOPERATIONTIMEOUT:
    case ZRUNTIMEINCONSISTENCY:
    case ZSYSTEMERROR:
    case ZINVALIDSTATE:
    case ZSESSIONEXPIRED:
    case ZSESSIONMOVED:
    case ZAUTHFAILED:
    case ZCLOSING:
        return true;
    default:
        return false;
    }
}

/* ---- the connect string ---- */

static int host_refuse(struct slice host, const char *reason, struct errmsg *em)
{
    return errmsg_set(em, E_INVALID, "ZooKeeper host \"%.*s\": %s", SLICE_ARG(host), reason);
}

/* Digits only, 1 to 65535; 0 otherwise. */
static int port_parse(struct slice text)
{
    int port = 0;
    for (size_t i = 0; i < text.len; i++) {
        if (text.ptr[i] < '0' || text.ptr[i] > '9') {
            return 0;
        }
        port = port * 10 + (text.ptr[i] - '0');
        if (port > 65535) {
            return 0;
        }
    }
    return port;
}

/* Where the name of the host ends: at its colon, or behind the bracket of an IPv6 address. */
static size_t name_end(struct slice host)
{
    size_t end = 0;
    const uint8_t *bracket =
        host.len > 0 && host.ptr[0] == '[' ? memchr(host.ptr, ']', host.len) : NULL;
    if (bracket != NULL) {
        return (size_t)(bracket - host.ptr) + 1;
    }
    while (end < host.len && host.ptr[end] != ':') {
        end++;
    }
    return end;
}

/* "name", "name:port" or "[address]:port" becomes what the client takes: no brackets, a port. */
static int host_parse(struct slice host, char **ret_text, struct errmsg *em)
{
    size_t end = name_end(host);
    struct slice name = slice_of(host.ptr, end);
    int port = PORT_DEFAULT;
    if (end < host.len) {
        port =
            host.ptr[end] == ':' ? port_parse(slice_of(host.ptr + end + 1, host.len - end - 1)) : 0;
    }
    if (port == 0) {
        return host_refuse(host, "the port is not a number from 1 to 65535", em);
    }
    if (name.len > 1 && name.ptr[0] == '[') {
        name = slice_of(name.ptr + 1, name.len - 2);
    }
    for (size_t i = 0; i < name.len; i++) {
        if (name.ptr[i] <= ' ' || name.ptr[i] == '[' || name.ptr[i] == '/') {
            return host_refuse(host, "the name has a character that no name has", em);
        }
    }
    if (name.len == 0) {
        return host_refuse(host, "the name is empty", em);
    }
    *ret_text = xasprintf("%.*s:%d", SLICE_ARG(name), port);
    return 0;
}

static int hosts_parse(struct slice list, char **ret_hosts, struct errmsg *em)
{
    char *hosts = xstrdup("");
    size_t start = 0;
    int count = 0;
    for (size_t i = 0; i <= list.len; i++) {
        if (i < list.len && list.ptr[i] != ',') {
            continue;
        }
        char *host = NULL;
        int err = host_parse(slice_of(list.ptr + start, i - start), &host, em);
        if (err == 0 && ++count > HOSTS_MAX) {
            free(host);
            err = errmsg_set(em, E_INVALID, "more than %d ZooKeeper hosts", HOSTS_MAX);
        }
        if (err != 0) {
            free(hosts);
            return err;
        }
        char *longer = xasprintf("%s%s%s", hosts, count > 1 ? "," : "", host);
        free(hosts);
        free(host);
        hosts = longer;
        start = i + 1;
    }
    *ret_hosts = hosts;
    return 0;
}

static int connect_parse(struct metastore_zk_factory *f, const char *connect, struct errmsg *em)
{
    const char *slash = strchr(connect, '/');
    struct slice list =
        slash == NULL ? slice_str(connect) : slice_of(connect, (size_t)(slash - connect));
    struct slice chroot = slice_str(slash == NULL || slash[1] == 0 ? "" : slash);
    if (memchr(chroot.ptr, ',', chroot.len) != NULL) {
        return errmsg_set(em, E_INVALID,
                          "\"%.*s\" is no chroot, which comes once, behind the last ZooKeeper host",
                          SLICE_ARG(chroot));
    }
    if (chroot.len > 0 && !metastore_path_is_valid(chroot)) {
        return errmsg_set(em, E_INVALID, "ZooKeeper chroot \"%.*s\" is not a path",
                          SLICE_ARG(chroot));
    }
    f->chroot = slice_dup(chroot);
    return hosts_parse(list, &f->hosts, em);
}

/* ---- life ---- */

static void factory_free(struct metastore_zk_factory *f)
{
    free(f->hosts);
    free(f->chroot);
    free(f->digest);
    free(f);
}

int metastore_zookeeper_new(const struct metastore_zookeeper_config *config,
                            struct metastore_factory **ret_factory, struct errmsg *em)
{
    /* The client's log cannot tell whose session it speaks of, and its buffers are shared by all
     * threads. Trouble is told from the client's codes instead. */
    zoo_set_debug_level((ZooLogLevel)0);
    struct metastore_zk_factory *f = xalloc(sizeof *f);
    f->base.open = metastore_zk_session_open;
    f->base.readers = READERS;
    f->digest = config->digest == NULL ? NULL : xstrdup(config->digest);
    f->is_acl_set = config->is_acl_set;
    f->owner[0] = (struct ACL){.perms = ZOO_PERM_ALL, .id = ZOO_AUTH_IDS};
    f->owner[1] = (struct ACL){.perms = ZOO_PERM_READ, .id = ZOO_ANYONE_ID_UNSAFE};
    f->owner_and_readers = (struct ACL_vector){.count = 2, .data = f->owner};
    f->on_trouble = config->on_trouble;
    f->arg = config->arg;
    int err = connect_parse(f, config->connect, em);
    if (err == 0 && f->digest != NULL && strchr(f->digest, ':') == NULL) {
        err = errmsg_set(em, E_INVALID, "the ZooKeeper digest is not of the form user:password");
    }
    if (err == 0 && f->is_acl_set && f->digest == NULL) {
        err = errmsg_set(em, E_INVALID,
                         "access lists for ZooKeeper need a digest user that owns the nodes");
    }
    if (err != 0) {
        factory_free(f);
        return err;
    }
    *ret_factory = &f->base;
    return 0;
}

void metastore_zookeeper_free(struct metastore_factory *factory)
{
    if (factory != NULL) {
        factory_free(CONTAINER_OF(factory, struct metastore_zk_factory, base));
    }
}
