/*
 * The hosts of a ZooKeeper session as addresses. The client would look names up where it is driven, and
 * hold the loop meanwhile; so names are resolved by the env, and the client gets addresses only.
 *
 * They are looked up when a session begins and when it lost its connection, one name at a time, and
 * from then on every few seconds until there is a connection: machines may come back elsewhere. Names
 * without an address are left out; when no name has one, the addresses of before stay.
 */
#include "metastore/zookeeper_private.h"

#include "base/alloc.h"

#include <stdlib.h>

#define AGAIN_MS 5000

static void lookup_next(struct metastore_zk_session *s);

static void lookup_end(struct metastore_zk_session *s)
{
    struct metastore_zk_lookup *l = &s->lookup;
    l->has_failed = l->found[0] == 0;
    bool is_new = !l->has_failed && (s->hosts == NULL || strcmp(s->hosts, l->found) != 0);
    if (is_new) {
        free(s->hosts);
        s->hosts = l->found;
        s->has_new_hosts = true;
    } else {
        free(l->found);
    }
    l->found = NULL;
    env_timer_start(&l->again, AGAIN_MS);
    if (is_new || l->has_failed || s->handle == NULL) {
        metastore_zk_session_wake(s);
    }
}

/* The host at pos: its name, and where its port is and ends. */
static struct slice host_at(const char *hosts, size_t pos, struct slice *ret_port)
{
    const char *start = hosts + pos;
    size_t len = strcspn(start, ",");
    size_t colon = len;
    while (start[colon] != ':') {
        colon--; /* the last one: IPv6 addresses have more; each host has a port */
    }
    *ret_port = slice_of(start + colon + 1, len - colon - 1);
    return slice_of(start, colon);
}

static void on_found(void *arg, const struct slice *addresses, int32_t count)
{
    struct metastore_zk_session *s = arg;
    struct metastore_zk_lookup *l = &s->lookup;
    l->lookup = NULL;
    struct slice port;
    (void)host_at(s->factory->hosts, l->pos, &port);
    for (int32_t i = 0; i < count; i++) {
        char *longer = xasprintf("%s%s%.*s:%.*s", l->found, l->found[0] == 0 ? "" : ",",
                                 SLICE_ARG(addresses[i]), SLICE_ARG(port));
        free(l->found);
        l->found = longer;
    }
    l->pos = (size_t)((const char *)port.ptr - s->factory->hosts) + port.len;
    l->pos += s->factory->hosts[l->pos] == ',';
    lookup_next(s);
}

static void lookup_next(struct metastore_zk_session *s)
{
    struct metastore_zk_lookup *l = &s->lookup;
    if (s->factory->hosts[l->pos] == 0) {
        lookup_end(s);
        return;
    }
    struct slice port;
    char *name = slice_dup(host_at(s->factory->hosts, l->pos, &port));
    l->lookup = env_resolve(s->base.env, name, on_found, s);
    free(name);
}

static void on_again(void *arg)
{
    struct metastore_zk_session *s = arg;
    if (s->phase == METASTORE_ZK_CONNECTING) {
        metastore_zk_hosts_look_up(s);
    }
}

void metastore_zk_hosts_init(struct metastore_zk_session *s)
{
    env_timer_init(&s->lookup.again, s->base.env, on_again, s);
}

void metastore_zk_hosts_look_up(struct metastore_zk_session *s)
{
    struct metastore_zk_lookup *l = &s->lookup;
    if (l->lookup == NULL) {
        env_timer_stop(&l->again);
        l->pos = 0;
        l->found = xstrdup("");
        lookup_next(s);
    }
}

void metastore_zk_hosts_deinit(struct metastore_zk_session *s)
{
    env_timer_stop(&s->lookup.again);
    env_resolve_cancel(s->lookup.lookup);
    free(s->lookup.found);
    free(s->hosts);
    s->lookup.lookup = NULL;
    s->lookup.found = NULL;
    s->hosts = NULL;
}
