/*
 * One ZooKeeper session: the client's handle, driven by the env's loop, and the states it goes
 * through. CONNECTING -> (ROOTLESS ->) READY -> CONNECTING ... -> EXPIRED.
 *
 * Invariant: the library is entered from drive alone. Drive stops watching the socket first, because
 * the library may close it, and asks the library afterwards what to wait for. What is called back
 * meanwhile may close the session; the memory goes after drive, on the disk pool, because the
 * library waits for the server when it says good-bye.
 */
#include "metastore/zookeeper_private.h"

#include "base/alloc.h"

#include <limits.h>
#include <stdlib.h>

#define RECEIVE_BATCH 256  /* answers and events taken in one turn of the loop */
#define RETRY_MS      1000 /* until the chroot is made again */
#define AGAIN_MS      50   /* after the client said that an attempt to connect failed */

static struct metastore_zk_session *session_of(struct metastore *m)
{
    return CONTAINER_OF(m, struct metastore_zk_session, base);
}

static bool is_living(const struct metastore_zk_session *s)
{
    return s->handle != NULL && s->phase != METASTORE_ZK_EXPIRED && !s->is_expiring;
}

static void tell(struct metastore_zk_session *s, enum metastore_state state)
{
    if (s->state != NULL && !s->is_closed) {
        s->state(s->state_arg, state);
    }
}

static void trouble(struct metastore_zk_session *s, int rc, const char *what)
{
    if (s->trouble_rc == rc || s->is_closed) {
        return;
    }
    s->trouble_rc = rc;
    if (s->factory->on_trouble != NULL) {
        struct errmsg em = {""};
        (void)errmsg_set(&em, E_SYSTEM, "ZooKeeper %s%s: %s: %s", s->factory->hosts,
                         s->factory->chroot, what, zerror(rc));
        s->factory->on_trouble(s->factory->arg, em.text);
    }
}

/* A server that knows less than the session has seen refuses it without a word: one that lost its data,
 * say. That looks like servers that are away, but lasts. */
static void tell_refused(struct metastore_zk_session *s)
{
    int64_t away_ms = env_now_ms(s->base.env) - s->lost_ms;
    if (s->phase != METASTORE_ZK_CONNECTING || !s->was_ready || s->lost_ms == 0 ||
        away_ms < 2 * s->base.timeout_ms || s->factory->on_trouble == NULL) {
        return;
    }
    s->lost_ms = 0;
    struct errmsg em = {""};
    (void)errmsg_set(
        &em, E_SYSTEM,
        "ZooKeeper %s%s: no server has taken the session for %lld ms; one that answers "
        "others, but not us, has lost data",
        s->factory->hosts, s->factory->chroot, (long long)away_ms);
    s->factory->on_trouble(s->factory->arg, em.text);
}

/* ---- the chroot ---- */

static void session_ready(struct metastore_zk_session *s);

static void root_made(int rc, const char *path, const void *data)
{
    (void)path;
    struct metastore_zk_session *s = CONTAINER_OF(data, struct metastore_zk_session, base);
    if (rc != ZOK && rc != ZNODEEXISTS && s->root_rc == ZOK) {
        s->root_rc = rc; /* of the first: without a parent its children fail for that alone */
    }
}

static void root_found(int rc, const struct Stat *stat, const void *data)
{
    (void)stat;
    struct metastore_zk_session *s = CONTAINER_OF(data, struct metastore_zk_session, base);
    s->has_progress = true;
    if (metastore_zk_is_lost(rc) || s->is_closed) {
        return; /* the next connection tries again */
    }
    if (rc == ZOK) {
        s->has_root = true;
        session_ready(s);
        return;
    }
    trouble(s, s->root_rc == ZOK ? rc : s->root_rc, "cannot make the chroot");
    s->root_due_ms = env_now_ms(s->base.env) + RETRY_MS;
}

/* Creates each component of the chroot, whatever the others answered, then looks whether it is there:
 * who may not create a parent need not have to. */
static void root_make(struct metastore_zk_session *s)
{
    const char *chroot = s->factory->chroot;
    s->root_rc = ZOK;
    s->root_due_ms = INT64_MAX;
    const struct ACL_vector *acl = metastore_zk_acl(s->factory, slice_str("/"));
    for (const char *end = strchr(chroot + 1, '/');; end = strchr(end + 1, '/')) {
        size_t len = end == NULL ? strlen(chroot) : (size_t)(end - chroot);
        char *parent = slice_dup(slice_of(chroot, len));
        int rc = zoo_acreate(s->handle, parent, NULL, -1, acl, 0, root_made, &s->base);
        if (rc != ZOK && s->root_rc == ZOK) {
            s->root_rc = rc;
        }
        free(parent);
        if (end == NULL) {
            break;
        }
    }
    int rc = zoo_aexists(s->handle, chroot, 0, root_found, &s->base);
    if (rc != ZOK) {
        root_found(rc, NULL, &s->base);
    }
}

/* ---- states ---- */

static void sync_done(int rc, const char *path, const void *data)
{
    (void)rc; /* when it is lost, so is the connection, and the next one syncs again */
    (void)path;
    (void)data;
}

static void session_ready(struct metastore_zk_session *s)
{
    s->phase = METASTORE_ZK_READY;
    s->trouble_rc = ZOK;
    /* This server may not have heard yet of a write whose answer was lost, or of what was stored before the
     * session was opened. Reads wait behind this, so they show it. */
    const char *chroot = s->factory->chroot;
    (void)zoo_async(s->handle, chroot[0] == 0 ? "/" : chroot, sync_done, NULL);
    metastore_zk_rearm(s);
    s->was_ready = true;
    tell(s, METASTORE_CONNECTED);
}

static void session_connected(struct metastore_zk_session *s)
{
    s->base.session_id = zoo_client_id(s->handle)->client_id;
    s->base.timeout_ms = zoo_recv_timeout(s->handle);
    if (s->factory->chroot[0] == 0 || s->has_root) {
        session_ready(s);
    } else {
        s->phase = METASTORE_ZK_ROOTLESS;
        root_make(s);
    }
}

static void session_disconnected(struct metastore_zk_session *s)
{
    bool was_told = s->phase == METASTORE_ZK_READY;
    s->phase = METASTORE_ZK_CONNECTING;
    s->lost_ms = env_now_ms(s->base.env);
    metastore_zk_hosts_look_up(s);
    if (was_told) {
        tell(s, METASTORE_DISCONNECTED);
    }
}

/* The client's watcher for the session itself. tidy: long: its signature. */
static void on_session_event(zhandle_t *handle, int type, int state, const char *path,
                             void *context)
{
    (void)handle;
    (void)path;
    struct metastore_zk_session *s = context;
    if (type != ZOO_SESSION_EVENT || s->is_closed) {
        return;
    }
    s->has_progress = true;
    if (state == ZOO_CONNECTED_STATE) {
        session_connected(s);
    } else if (state == ZOO_CONNECTING_STATE) {
        session_disconnected(s);
    } else if (state == ZOO_EXPIRED_SESSION_STATE || state == ZOO_AUTH_FAILED_STATE) {
        s->is_expiring = true; /* the client is still to return the calls it has */
    }
}

static void session_expire(struct metastore_zk_session *s)
{
    s->phase = METASTORE_ZK_EXPIRED;
    s->is_expiring = false;
    metastore_zk_calls_expire(s);
    metastore_zk_calls_answer(s);
    tell(s, METASTORE_EXPIRED);
}

/* ---- driving the client ---- */

static void drive(struct metastore_zk_session *s, int events);

static void on_fd(void *arg, int events)
{
    drive(arg, events);
}

static void on_timer(void *arg)
{
    drive(arg, 0);
}

static void client_open(struct metastore_zk_session *s)
{
    const struct metastore_zk_factory *f = s->factory;
    int timeout_ms = (int)MIN(MAX(s->base.timeout_ms, 1), INT_MAX);
    const clientid_t *id = s->id.client_id == 0 ? NULL : &s->id;
    s->handle = zookeeper_init(s->hosts, on_session_event, timeout_ms, id, s, ZOO_NO_LOG_CLIENTENV);
    if (s->handle == NULL) {
        trouble(s, ZSYSTEMERROR, "cannot make a client");
        return;
    }
    s->has_new_hosts = false;
    if (f->digest != NULL) {
        int rc = zoo_add_auth(s->handle, "digest", f->digest, (int)strlen(f->digest), NULL, NULL);
        if (rc != ZOK) {
            trouble(s, rc, "cannot authenticate");
        }
    }
}

/* Goes on with the session on a fresh handle, which sets no watches. The old one has no connection, so
 * closing it tells nobody, and it has returned all calls. */
static void client_replace(struct metastore_zk_session *s)
{
    s->id = *zoo_client_id(s->handle);
    (void)zookeeper_close(s->handle); /* nothing is left to fail */
    s->handle = NULL;
    metastore_zk_watches_release(s);
    client_open(s);
}

static void client_receive(struct metastore_zk_session *s, int events)
{
    int flags = (events & ENV_FD_READABLE) != 0 ? ZOOKEEPER_READ : 0;
    flags |= (events & ENV_FD_WRITABLE) != 0 ? ZOOKEEPER_WRITE : 0;
    for (int i = 0; i < RECEIVE_BATCH && flags != 0 && !s->is_closed; i++) {
        s->has_progress = false;
        int rc = zookeeper_process(s->handle, flags);
        if (rc != ZOK && rc != ZNOTHING) {
            trouble(s, rc, "connection lost");
            return;
        }
        flags = s->has_progress ? ZOOKEEPER_READ : 0;
    }
}

/* Asks the client what it waits for. It may call back: a deadline may have passed. */
static void client_await(struct metastore_zk_session *s)
{
    int fd = -1;
    int flags = 0;
    struct timeval left = {0};
    int rc = zookeeper_interest(s->handle, &fd, &flags, &left);
    if (rc != ZOK) {
        trouble(s, rc, "cannot connect");
        env_timer_start(&s->timer, rc == ZSYSTEMERROR ? RETRY_MS : AGAIN_MS);
        return;
    }
    s->fd = fd;
    struct env_fd_interest interest = {.fd = fd, .fn = on_fd, .arg = s};
    interest.events |= (flags & ZOOKEEPER_READ) != 0 ? ENV_FD_READABLE : 0;
    interest.events |= (flags & ZOOKEEPER_WRITE) != 0 ? ENV_FD_WRITABLE : 0;
    if (fd >= 0 && interest.events != 0 && !s->is_closed) {
        int err = env_fd_watch(s->base.env, &interest, &s->fd_watch);
        CHECKF(err == 0, "cannot watch the ZooKeeper client: %s", error_name(err));
    }
    int64_t delay_ms = (int64_t)left.tv_sec * 1000 + left.tv_usec / 1000 + 1;
    env_timer_start(&s->timer,
                    s->phase == METASTORE_ZK_ROOTLESS ? MIN(delay_ms, RETRY_MS) : delay_ms);
}

static void session_end(struct metastore_zk_session *s);

static void drive_calls(struct metastore_zk_session *s)
{
    if (s->phase == METASTORE_ZK_ROOTLESS && env_now_ms(s->base.env) >= s->root_due_ms) {
        root_make(s);
    }
    s->is_woken = false;
    if (s->phase == METASTORE_ZK_READY && is_living(s)) {
        metastore_zk_calls_send(s);
    }
    metastore_zk_calls_answer(s);
}

/* Makes the client, or tells it what the last lookup found. */
static void drive_hosts(struct metastore_zk_session *s)
{
    if (s->lookup.has_failed) {
        s->lookup.has_failed = false;
        trouble(s, ZBADARGUMENTS, "no host has an address");
    }
    if (s->is_closed || s->hosts == NULL || s->phase != METASTORE_ZK_CONNECTING) {
        return;
    }
    if (s->handle == NULL) {
        client_open(s);
    } else if (metastore_zk_rearm_is_due(s) && zoo_state(s->handle) == 0) {
        client_replace(s);
    } else if (s->has_new_hosts) {
        s->has_new_hosts = false;
        (void)zoo_set_servers(s->handle, s->hosts); /* addresses: nothing to look up */
    }
}

static void drive(struct metastore_zk_session *s, int events)
{
    CHECK(!s->is_driving && !s->is_closed);
    s->is_driving = true;
    env_fd_unwatch(s->fd_watch);
    s->fd_watch = NULL;
    s->fd = -1;
    if (is_living(s)) {
        client_receive(s, events);
    }
    if (!s->is_expiring) {
        drive_hosts(s);
        tell_refused(s);
    }
    if (!s->is_closed) {
        drive_calls(s);
    }
    if (is_living(s)) {
        client_await(s);
    }
    if (s->is_expiring && !s->is_closed) {
        session_expire(s);
    }
    metastore_zk_watches_bury(s);
    s->is_driving = false;
    if (s->is_closed) {
        session_end(s);
    } else if (s->is_woken) {
        env_timer_start(&s->timer, 0);
    }
}

void metastore_zk_session_wake(struct metastore_zk_session *s)
{
    s->is_woken = true;
    if (!s->is_driving) {
        env_timer_start(&s->timer, 0);
    }
}

/* ---- life ---- */

/* On the disk pool: the session belongs to nobody else any more. */
static void session_free(void *arg)
{
    struct metastore_zk_session *s = arg;
    if (s->handle != NULL) {
        (void)zookeeper_close(s->handle); /* the servers end a session that did not say good-bye */
    }
    metastore_zk_calls_free(s);
    metastore_zk_watches_free(s);
    free(s);
}

static void session_freed(void *arg)
{
    (void)arg;
}

static void session_end(struct metastore_zk_session *s)
{
    env_timer_stop(&s->timer);
    metastore_zk_hosts_deinit(s);
    env_fd_unwatch(s->fd_watch);
    if (s->is_abandoned && s->fd >= 0) {
        env_fd_shut_down(s->base.env, s->fd); /* or the client would say good-bye */
    }
    env_work(s->base.env, session_free, session_freed, s);
}

static void session_leave(struct metastore *m, bool is_abandoned)
{
    struct metastore_zk_session *s = session_of(m);
    CHECK(!s->is_closed);
    s->is_closed = true;
    s->is_abandoned = is_abandoned;
    if (!s->is_driving) {
        session_end(s);
    }
}

static void session_close(struct metastore *m)
{
    session_leave(m, false);
}

static void session_abandon(struct metastore *m)
{
    session_leave(m, true);
}

static const struct metastore_ops session_ops = {
    .get = metastore_zk_get,
    .exists = metastore_zk_exists,
    .children = metastore_zk_children,
    .multi = metastore_zk_multi,
    .close = session_close,
    .abandon = session_abandon,
};

struct metastore *metastore_zk_session_open(struct metastore_factory *f, struct env *env,
                                            int64_t session_timeout_ms, metastore_state_fn state,
                                            void *arg)
{
    struct metastore_zk_session *s = xalloc(sizeof *s);
    s->base = (struct metastore){.ops = &session_ops, .env = env, .timeout_ms = session_timeout_ms};
    s->factory = CONTAINER_OF(f, struct metastore_zk_factory, base);
    s->state = state;
    s->state_arg = arg;
    s->fd = -1;
    list_init(&s->sent);
    list_init(&s->returned);
    list_init(&s->waiting);
    list_init(&s->spent_watches);
    list_init(&s->dead_watches);
    env_timer_init(&s->timer, env, on_timer, s);
    metastore_zk_hosts_init(s);
    metastore_zk_hosts_look_up(s);
    return &s->base;
}
