/*
 * The server half: connections, their requests in order, and the limits.
 * Invariants: a request is in its connection's `requests` until its answer moved to the outbox, and
 * moves only when it is the first; a connection is read exactly while conn_may_read holds and it is
 * not starved; `conns` is in order of last activity. Everything that net_respond sets off is done a
 * moment later by settle, once per connection, so that many answers leave in one system call.
 * Runs on the server's env.
 */
#include "net/net.h"

#include "net/abandon.h"
#include "net/inbox.h"
#include "net/outbox.h"

#include "base/check.h"

#include <stdlib.h>

#define SCRATCH_BYTES   ((size_t)64 << 10)
#define POOL_KEEP_BYTES ((size_t)4 << 20)
/* While memory is short, connections keep little that cannot be handed up. */
#define STARVED_READ_MAX ((size_t)4 << 10)
#define STARVED_RETRY_MS 10
/* While memory is short, a connection that holds some for a frame and sends nothing is closed. */
#define STALLED_MAX_MS 2000

struct net_server {
    struct env *env;
    struct net_server_config config; /* host is not kept */
    struct inbox_config inbox;
    net_request_fn on_request;
    net_orphan_fn on_orphan;
    void *arg;
    struct env_listener *listener; /* NULL once closed */
    uint16_t port;
    struct list conns;     /* struct net_conn by link, the longest idle first */
    struct list unsettled; /* by settle_link */
    struct list starved;   /* by starved_link: wait for memory */
    struct env_timer settle_timer;
    struct env_timer starved_timer;
    struct env_timer idle_timer;
};

struct net_conn {
    struct list_node link;
    struct list_node settle_link;
    struct list_node starved_link;
    struct net_server *server;
    struct env_conn *conn; /* NULL once it ended by itself */
    struct inbox inbox;
    struct outbox outbox;
    struct list requests; /* struct net_request by link, in order of arrival */
    int64_t active_ms;    /* bytes came or went last */
    int64_t now_us;       /* when the present read began */
    bool is_busy;         /* its reading is on the stack: only mark it dropped */
    bool is_dropped;
    bool is_ending; /* nothing more is read; it closes when the outbox is empty */
    void *user;
};

static struct net_request *request_at(struct list_node *n)
{
    return CONTAINER_OF(n, struct net_request, link);
}

/* ---- limits ---- */

static bool conn_may_read(const struct net_conn *conn)
{
    const struct net_server_config *config = &conn->server->config;
    return !conn->is_dropped && !conn->is_ending &&
           conn->requests.count < (size_t)config->requests_in_flight_max &&
           conn->outbox.bytes <= (uint64_t)config->output_bytes_max;
}

static void idle_arm(struct net_server *s)
{
    struct list_node *n = list_first(&s->conns);
    if (n != NULL && !env_timer_is_active(&s->idle_timer)) {
        const struct net_conn *conn = CONTAINER_OF(n, struct net_conn, link);
        env_timer_start(&s->idle_timer, conn->active_ms + s->config.idle_ms - env_now_ms(s->env));
    }
}

static void conn_touch(struct net_conn *conn)
{
    struct net_server *s = conn->server;
    conn->active_ms = env_now_ms(s->env);
    list_remove(&s->conns, &conn->link);
    list_push_back(&s->conns, &conn->link);
}

static void starved_retry(struct net_server *s, int64_t delay_ms)
{
    if (!list_is_empty(&s->starved)) {
        env_timer_start(&s->starved_timer, delay_ms);
    }
}

/* ---- requests ---- */

/* The frame's memory goes back; somebody may be waiting for it. */
static void request_release_frame(struct net_request *request)
{
    bool was_budgeted = request->frame != NULL && request->frame->budget != NULL;
    block_unref(request->frame);
    request->frame = NULL;
    if (was_budgeted && !request->orphaned) {
        starved_retry(request->conn->server, 0);
    }
}

static void request_free(struct net_request *request)
{
    if (request->order != NULL) {
        list_remove(request->order, &request->link);
    }
    request_release_frame(request);
    net_outbox_frame_free(request->answer);
    free(request);
}

/* Moves the answers whose turn has come to the outbox. */
static void conn_collect(struct net_conn *conn)
{
    for (struct list_node *n = list_first(&conn->requests); n != NULL && !conn->is_ending;
         n = list_first(&conn->requests)) {
        struct net_request *request = request_at(n);
        if (!request->is_answered) {
            return;
        }
        if (request->answer != NULL) {
            net_outbox_add(&conn->outbox, request->answer);
            request->answer = NULL;
        }
        conn->is_ending = request->ends_conn;
        request_free(request);
    }
}

/* ---- the end of a connection ---- */

static void conn_free(struct net_conn *conn)
{
    net_inbox_deinit(&conn->inbox);
    net_outbox_deinit(&conn->outbox);
    free(conn);
}

/* All are marked before the first is told: the owner may finish any of them from inside. */
static void conn_orphan_requests(struct net_conn *conn, bool tells)
{
    struct net_server *s = conn->server;
    struct list_node *n;
    list_foreach (n, &conn->requests) {
        struct net_request *request = request_at(n);
        request->conn = NULL;
        request->orphaned = true;
    }
    for (n = list_pop(&conn->requests); n != NULL; n = list_pop(&conn->requests)) {
        struct net_request *request = request_at(n);
        request->order = NULL;
        if (request->is_answered) {
            request_free(request);
        } else if (tells && s->on_orphan != NULL) {
            s->on_orphan(s->arg, request);
        }
    }
}

static void conn_drop(struct net_conn *conn, bool tells)
{
    struct net_server *s = conn->server;
    if (conn->is_dropped) {
        return;
    }
    conn->is_dropped = true;
    bool was_busy = conn->is_busy;
    conn->is_busy = true;
    if (conn->conn != NULL) {
        net_abandon(conn->conn);
    }
    list_remove(&s->conns, &conn->link);
    list_remove(&s->unsettled, &conn->settle_link);
    list_remove(&s->starved, &conn->starved_link);
    conn_orphan_requests(conn, tells);
    starved_retry(s, 0);
    conn->is_busy = was_busy;
    if (!was_busy) {
        conn_free(conn);
    }
}

/* ---- reading ---- */

static bool on_frame(void *arg, struct block *frame)
{
    struct net_conn *conn = arg;
    struct net_server *s = conn->server;
    struct net_request *request = xalloc(sizeof *request);
    request->conn = conn;
    request->frame = frame;
    request->received_us = conn->now_us;
    request->order = &conn->requests;
    list_push_back(&conn->requests, &request->link);
    s->on_request(s->arg, request);
    return conn_may_read(conn);
}

static void conn_settle(struct net_conn *conn);

/* Reads what may be read, hands requests up, sends what was answered meanwhile. May free conn. */
static void conn_read(struct net_conn *conn)
{
    struct net_server *s = conn->server;
    uint64_t before = conn->inbox.read_bytes;
    conn->is_busy = true;
    conn->now_us = env_now_us(s->env);
    size_t read_max = list_is_empty(&s->starved) ? SCRATCH_BYTES : STARVED_READ_MAX;
    enum inbox_state state = net_inbox_read(&conn->inbox, conn->conn, read_max, conn);
    conn->is_busy = false;
    if (conn->is_dropped) {
        conn_free(conn);
        return;
    }
    if (conn->inbox.read_bytes != before) {
        conn_touch(conn);
    }
    if (state == INBOX_STARVED) {
        list_push_back(&s->starved, &conn->starved_link);
        if (!env_timer_is_active(&s->starved_timer)) {
            starved_retry(s, STARVED_RETRY_MS);
        }
    }
    if (state == INBOX_BROKEN) {
        conn->is_ending = true; /* answers that are ready still leave */
    }
    if (state != INBOX_CLOSED) {
        conn_settle(conn);
    }
}

static void conn_readable(struct env_conn *c, void *arg)
{
    (void)c;
    conn_read(arg);
}

/* ---- settling: sending, and reading on ---- */

static void conn_unsettle(struct net_conn *conn)
{
    struct net_server *s = conn->server;
    if (!conn->is_busy && !list_has(&conn->settle_link)) {
        list_push_back(&s->unsettled, &conn->settle_link);
        if (!env_timer_is_active(&s->settle_timer)) {
            env_timer_start(&s->settle_timer, 0);
        }
    }
}

static void conn_settle(struct net_conn *conn)
{
    uint64_t before = conn->outbox.bytes;
    if (before > 0) {
        int err = net_outbox_flush(&conn->outbox, conn->conn);
        if (err == -E_TRUNCATED) {
            conn_drop(conn, true);
            return;
        }
        if (err != 0) {
            return; /* the connection ended: closed comes */
        }
        if (conn->outbox.bytes != before) {
            conn_touch(conn);
        }
    }
    if (conn->is_ending && conn->outbox.bytes == 0) {
        conn_drop(conn, true);
        return;
    }
    bool may_read = conn_may_read(conn) && !list_has(&conn->starved_link);
    env_conn_want_read(conn->conn, may_read);
    if (may_read && conn->inbox.stash != NULL) {
        conn_unsettle(conn); /* bytes that no event will tell of */
    }
}

static void on_settle(void *arg)
{
    struct net_server *s = arg;
    for (size_t left = s->unsettled.count; left > 0; left--) {
        struct list_node *n = list_pop(&s->unsettled);
        if (n == NULL) {
            break;
        }
        struct net_conn *conn = CONTAINER_OF(n, struct net_conn, settle_link);
        if (conn->inbox.stash != NULL && conn_may_read(conn) && !list_has(&conn->starved_link)) {
            conn_read(conn);
        } else {
            conn_settle(conn);
        }
    }
    if (!list_is_empty(&s->unsettled)) {
        env_timer_start(&s->settle_timer, 0);
    }
}

/* Closes connections that keep memory from others and do not use it. */
static void drop_stalled(struct net_server *s)
{
    int64_t stalled_ms = env_now_ms(s->env) - STALLED_MAX_MS;
    struct list_node *n = list_first(&s->conns);
    for (size_t left = s->conns.count; left > 0; left--) {
        struct net_conn *conn = CONTAINER_OF(n, struct net_conn, link);
        n = n->next;
        if (conn->active_ms > stalled_ms) {
            return;
        }
        if (conn->inbox.reserved > 0) {
            conn_drop(conn, true);
        }
    }
}

static void on_starved(void *arg)
{
    struct net_server *s = arg;
    drop_stalled(s);
    for (size_t left = s->starved.count; left > 0; left--) {
        struct list_node *n = list_pop(&s->starved);
        if (n == NULL) {
            break;
        }
        conn_read(CONTAINER_OF(n, struct net_conn, starved_link));
    }
    if (!env_timer_is_active(&s->starved_timer)) {
        starved_retry(s, STARVED_RETRY_MS);
    }
}

static void on_idle(void *arg)
{
    struct net_server *s = arg;
    int64_t expired_ms = env_now_ms(s->env) - s->config.idle_ms;
    for (struct list_node *n = list_first(&s->conns); n != NULL; n = list_first(&s->conns)) {
        struct net_conn *conn = CONTAINER_OF(n, struct net_conn, link);
        if (conn->active_ms > expired_ms) {
            break;
        }
        if (!list_is_empty(&conn->requests) && conn->outbox.bytes == 0) {
            conn_touch(conn); /* it waits for us */
        } else {
            conn_drop(conn, true);
        }
    }
    idle_arm(s);
}

static void conn_writable(struct env_conn *c, void *arg)
{
    (void)c;
    conn_settle(arg);
}

static void conn_closed(struct env_conn *c, void *arg, int err)
{
    (void)c;
    (void)err;
    struct net_conn *conn = arg;
    conn->conn = NULL;
    conn_drop(conn, true);
}

static const struct env_conn_handler conn_handler = {
    .readable = conn_readable, .writable = conn_writable, .closed = conn_closed};

/* ---- life ---- */

static void on_accept(void *arg, struct env_conn *c)
{
    struct net_server *s = arg;
    if (s->conns.count >= (size_t)s->config.connections_max) {
        env_conn_close(c);
        return;
    }
    struct net_conn *conn = xalloc(sizeof *conn);
    conn->server = s;
    conn->conn = c;
    net_inbox_init(&conn->inbox, &s->inbox);
    net_outbox_init(&conn->outbox);
    list_init(&conn->requests);
    conn_touch(conn);
    idle_arm(s);
    env_conn_set_handler(c, &conn_handler, conn);
}

int net_server_new(
    struct env *env, const struct net_server_config *config, net_request_fn on_request,
    net_orphan_fn on_orphan, void *arg, struct net_server **ret_server,
    struct errmsg *em) /* tidy: long: the owner's two callbacks and what they share */
{
    struct net_server *s = xalloc(sizeof *s);
    s->env = env;
    s->config = *config;
    s->config.host = NULL;
    s->on_request = on_request;
    s->on_orphan = on_orphan;
    s->arg = arg;
    list_init(&s->conns);
    list_init(&s->unsettled);
    list_init(&s->starved);
    env_timer_init(&s->settle_timer, env, on_settle, s);
    env_timer_init(&s->starved_timer, env, on_starved, s);
    env_timer_init(&s->idle_timer, env, on_idle, s);
    int err = env_listen(env, config->host, config->port, on_accept, s, &s->listener, em);
    if (err != 0) {
        free(s);
        return err;
    }
    s->port = env_listener_port(s->listener);
    s->inbox = (struct inbox_config){.frame_bytes_max = config->request_bytes_max,
                                     .pool = block_pool_new(POOL_KEEP_BYTES),
                                     .budget = config->budget,
                                     .scratch = xalloc(SCRATCH_BYTES),
                                     .scratch_size = SCRATCH_BYTES,
                                     .on_frame = on_frame};
    *ret_server = s;
    return 0;
}

uint16_t net_server_port(const struct net_server *s)
{
    return s->port;
}

int32_t net_server_connection_count(const struct net_server *s)
{
    return (int32_t)s->conns.count;
}

void net_server_close(struct net_server *s)
{
    env_listener_close(s->listener);
    s->listener = NULL;
    for (struct list_node *n = list_first(&s->conns); n != NULL; n = list_first(&s->conns)) {
        conn_drop(CONTAINER_OF(n, struct net_conn, link), false);
    }
    env_timer_stop(&s->settle_timer);
    env_timer_stop(&s->starved_timer);
    env_timer_stop(&s->idle_timer);
}

void net_server_free(struct net_server *s)
{
    if (s == NULL) {
        return;
    }
    net_server_close(s);
    block_pool_free(s->inbox.pool);
    free(s->inbox.scratch);
    free(s);
}

/* ---- finishing requests ---- */

static void request_finish(struct net_request *request, struct outbox_frame *answer, bool ends_conn)
{
    CHECK(!request->is_answered);
    struct net_conn *conn = request->conn;
    request->answer = answer;
    if (conn == NULL) {
        request_free(request);
        return;
    }
    request->is_answered = true;
    request->ends_conn = ends_conn;
    request_release_frame(request);
    conn_collect(conn);
    conn_unsettle(conn);
}

void net_respond(struct net_request *request, struct buf *body, struct span *spans,
                 int32_t span_count)
{
    struct outbox_frame *answer = NULL;
    bool is_sendable = !buf_failed(body) && buf_total(body) <= INT32_MAX;
    if (is_sendable && !request->orphaned) {
        answer = net_outbox_frame_new(body, spans, span_count);
    } else {
        net_outbox_spans_release(spans, span_count);
        buf_deinit(body);
    }
    request_finish(request, answer, !is_sendable);
}

void net_no_response(struct net_request *request)
{
    request_finish(request, NULL, false);
}

void net_close_conn(struct net_request *request)
{
    request_finish(request, NULL, true);
}

const char *net_request_peer(const struct net_request *request)
{
    return request->conn == NULL ? "" : env_conn_peer(request->conn->conn);
}

void **net_conn_user(struct net_conn *conn)
{
    return &conn->user;
}
