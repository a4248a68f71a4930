/*
 * The simulated network: pairs of byte pipes with a drawn delay, in order, bounded. A partition holds
 * bytes back; a connection that is held for long breaks on both sides.
 * Invariant: of a pair, each side keeps the other's pointer until one of them is freed.
 */
#include "internal.h"

#include "base/alloc.h"

#include <stdio.h>
#include <stdlib.h>

#define PIPE_BYTES_MAX     (256 * 1024)
#define CHUNK_BYTES_MAX    (64 * 1024)
#define CONNECT_TIMEOUT_MS 1000
#define STALL_LIMIT_MS     4000
#define RETRY_US           50000

struct sim_chunk {
    struct list_node link;
    size_t len;
    size_t read;
    uint8_t bytes[];
};

struct sim_conn {
    struct env_conn conn;   /* first */
    struct list_node link;  /* in the node's conns */
    struct sim_conn *other; /* NULL once it is gone */
    struct list inbox;      /* arrived chunks */
    size_t inbox_bytes;
    size_t sent_bytes;       /* on the way to the other side or unread there */
    int64_t last_arrival_us; /* of what this side sent */
    int32_t events;          /* scheduled for this conn; freed when none is left */
    int32_t held_count;      /* deliveries to this side that a partition holds back */
    bool is_connected;
    bool is_polling;
    bool is_closing; /* by us */
    bool has_eof;    /* by the other side */
    bool is_closed;  /* closed was called or suppressed */
    int eof_err;
    uint16_t port; /* where it connects to */
    int64_t started_us;
};

struct sim_listener {
    struct env_listener listener; /* first */
    struct list_node link;
    env_accept_fn on_accept;
    void *arg;
};

static struct sim_conn *conn_of(struct env_conn *c)
{
    return (struct sim_conn *)(void *)c;
}

static struct sim_node *conn_node(const struct sim_conn *c)
{
    return sim_of(c->conn.env);
}

static void conn_release(struct sim_conn *c)
{
    if (!c->is_closed || c->events > 0) {
        return;
    }
    struct list_node *n;
    while ((n = list_pop(&c->inbox)) != NULL) {
        free(CONTAINER_OF(n, struct sim_chunk, link));
    }
    if (c->other != NULL) {
        c->other->other = NULL;
    }
    free(c);
}

/* An event that was dropped with its node: only the count matters. */
static void conn_event_dropped(void *arg)
{
    struct sim_conn *c = arg;
    c->events--;
    conn_release(c);
}

static void conn_schedule(struct sim_conn *c, int64_t delay_us, env_fn fn)
{
    c->events++;
    sim_schedule(conn_node(c), delay_us, fn, conn_event_dropped, c);
}

static void conn_poll(void *arg);

static bool conn_is_ready(const struct sim_conn *c)
{
    if (c->is_closed || c->conn.handler == NULL) {
        return false;
    }
    return c->is_closing || c->has_eof || (c->conn.wants_read && c->inbox_bytes > 0) ||
           (c->conn.wants_write && c->is_connected && c->sent_bytes < PIPE_BYTES_MAX);
}

static void conn_kick(struct sim_conn *c)
{
    if (!c->is_polling && conn_is_ready(c)) {
        c->is_polling = true;
        conn_schedule(c, 2, conn_poll);
    }
}

static void conn_tell_closed(struct sim_conn *c, int err)
{
    c->is_closed = true;
    if (list_has(&c->link)) {
        list_remove(&conn_node(c)->conns, &c->link);
    }
    if (c->conn.handler != NULL) {
        c->conn.handler->closed(&c->conn, c->conn.arg, err);
    }
}

static void conn_poll(void *arg)
{
    struct sim_conn *c = arg;
    c->events--;
    c->is_polling = false;
    if (c->is_closed) {
        conn_release(c);
        return;
    }
    if (c->is_closing) {
        conn_tell_closed(c, 0);
        conn_release(c);
        return;
    }
    c->events++; /* keeps c while handlers run */
    if (c->conn.wants_read && c->inbox_bytes > 0) {
        c->conn.handler->readable(&c->conn, c->conn.arg);
    } else if (c->has_eof) {
        conn_tell_closed(c, c->eof_err);
    }
    if (!c->is_closed && !c->is_closing && c->conn.wants_write && c->is_connected &&
        c->sent_bytes < PIPE_BYTES_MAX) {
        c->conn.handler->writable(&c->conn, c->conn.arg);
    }
    c->events--;
    if (c->is_closed) {
        conn_release(c);
    } else {
        conn_kick(c);
    }
}

static bool link_is_cut(const struct sim_conn *c)
{
    const struct sim_node *n = conn_node(c);
    return c->other != NULL && n->world->partitioned[n->index][conn_node(c->other)->index];
}

static int64_t draw_delay(struct sim_world *w)
{
    return prng_range(&w->prng, w->delay_min_us, w->delay_max_us);
}

static void conn_eof(struct sim_conn *c, int err)
{
    if (!c->is_closed && !c->has_eof) {
        c->has_eof = true;
        c->eof_err = err;
        conn_kick(c);
    }
}

/* ---- sending ---- */

struct sim_delivery {
    struct sim_conn *to;
    struct sim_chunk *chunk; /* NULL = end of stream */
    int err;
    bool is_held;
    int64_t sent_us;
};

static void delivery_dropped(void *arg)
{
    struct sim_delivery *d = arg;
    free(d->chunk);
    conn_event_dropped(d->to);
    free(d);
}

static void delivery_arrive(void *arg)
{
    struct sim_delivery *d = arg;
    struct sim_conn *to = d->to;
    struct sim_world *w = conn_node(to)->world;
    bool is_behind_others = !d->is_held && to->held_count > 0;
    if ((link_is_cut(to) || is_behind_others) && !to->is_closed) {
        if (w->now_us - d->sent_us < STALL_LIMIT_MS * 1000) {
            /* All wait equally long, so they stay in order. */
            to->held_count += !d->is_held;
            d->is_held = true;
            sim_schedule(conn_node(to), RETRY_US, delivery_arrive, delivery_dropped, d);
            return;
        }
        conn_eof(to->other, -E_TIMEOUT);
        conn_eof(to, -E_TIMEOUT);
    }
    to->held_count -= d->is_held;
    to->events--;
    if (to->is_closed || to->has_eof) {
        free(d->chunk);
    } else if (d->chunk == NULL) {
        conn_eof(to, d->err);
    } else {
        list_push_back(&to->inbox, &d->chunk->link);
        to->inbox_bytes += d->chunk->len;
        conn_kick(to);
    }
    conn_release(to);
    free(d);
}

/* chunk is taken. Arrives after all that c sent before. */
static void conn_deliver(struct sim_conn *c, struct sim_chunk *chunk, int err, int64_t extra_us)
{
    struct sim_world *w = conn_node(c)->world;
    struct sim_delivery *d = xalloc(sizeof *d);
    *d = (struct sim_delivery){.to = c->other, .chunk = chunk, .err = err, .sent_us = w->now_us};
    int64_t arrival_us = w->now_us + draw_delay(w) + extra_us;
    c->last_arrival_us = MAX(c->last_arrival_us, arrival_us);
    c->other->events++;
    sim_schedule(conn_node(c->other), c->last_arrival_us - w->now_us, delivery_arrive,
                 delivery_dropped, d);
}

static int64_t conn_send(struct sim_conn *c, const void *ptr, size_t len)
{
    size_t room = c->sent_bytes < PIPE_BYTES_MAX ? PIPE_BYTES_MAX - c->sent_bytes : 0;
    len = MIN(MIN(len, room), (size_t)CHUNK_BYTES_MAX);
    if (len == 0) {
        return -E_AGAIN;
    }
    if (c->other == NULL) {
        return -E_CLOSED;
    }
    struct sim_chunk *chunk = xalloc(sizeof *chunk + len);
    chunk->len = len;
    memcpy(chunk->bytes, ptr, len);
    c->sent_bytes += len;
    conn_deliver(c, chunk, 0, 0);
    return (int64_t)len;
}

static int conn_usable(const struct sim_conn *c)
{
    if (c->is_closed || c->is_closing || c->has_eof) {
        return -E_CLOSED;
    }
    return c->is_connected ? 0 : -E_AGAIN;
}

int64_t sim_conn_writev(struct env_conn *conn, const struct iovec *iov, int count)
{
    struct sim_conn *c = conn_of(conn);
    int err = conn_usable(c);
    if (err != 0) {
        return err;
    }
    int64_t total = 0;
    for (int i = 0; i < count; i++) {
        if (iov[i].iov_len == 0) {
            continue;
        }
        int64_t sent = conn_send(c, iov[i].iov_base, iov[i].iov_len);
        if (sent < 0) {
            return total > 0 ? total : sent;
        }
        total += sent;
        if ((size_t)sent < iov[i].iov_len) {
            break;
        }
    }
    return total;
}

int64_t sim_conn_sendfile(struct env_conn *conn, struct env_file *f, uint64_t pos, size_t len)
{
    struct sim_conn *c = conn_of(conn);
    int err = conn_usable(c);
    if (err != 0) {
        return err;
    }
    uint8_t *bytes = xalloc(CHUNK_BYTES_MAX);
    size_t got = 0;
    sim_file_sent(f, pos, len);
    err = env_file_read(f, bytes, MIN(len, (size_t)CHUNK_BYTES_MAX), pos, &got);
    int64_t sent = err != 0 ? err : got == 0 ? -E_TRUNCATED : conn_send(c, bytes, got);
    free(bytes);
    return sent;
}

int64_t sim_conn_read(struct env_conn *conn, void *ptr, size_t len)
{
    struct sim_conn *c = conn_of(conn);
    if (c->is_closed || c->is_closing) {
        return -E_CLOSED;
    }
    if (c->inbox_bytes == 0) {
        return c->has_eof ? -E_CLOSED : -E_AGAIN;
    }
    struct sim_chunk *chunk = CONTAINER_OF(list_first(&c->inbox), struct sim_chunk, link);
    size_t count = MIN(len, chunk->len - chunk->read);
    memcpy(ptr, chunk->bytes + chunk->read, count);
    chunk->read += count;
    c->inbox_bytes -= count;
    if (chunk->read == chunk->len) {
        list_remove(&c->inbox, &chunk->link);
        free(chunk);
    }
    if (c->other != NULL) {
        c->other->sent_bytes -= count;
        conn_kick(c->other);
    }
    return (int64_t)count;
}

void sim_conn_interest(struct env_conn *c)
{
    conn_kick(conn_of(c));
}

void sim_conn_close(struct env_conn *conn)
{
    struct sim_conn *c = conn_of(conn);
    if (c->is_closed || c->is_closing) {
        return;
    }
    c->is_closing = true;
    if (c->other != NULL && c->is_connected) {
        conn_deliver(c, NULL, 0, 0);
    }
    if (conn->handler == NULL) { /* an accepted conn that nobody wanted */
        c->is_closed = true;
        list_remove(&conn_node(c)->conns, &c->link);
        conn_release(c);
        return;
    }
    conn_kick(c);
}

/* ---- connecting ---- */

static struct sim_conn *conn_new(struct sim_node *n)
{
    struct sim_conn *c = xalloc(sizeof *c);
    c->conn.env = &n->env;
    c->conn.wants_read = true;
    list_init(&c->inbox);
    list_push_back(&n->conns, &c->link);
    return c;
}

static struct sim_listener *listener_find(struct sim_world *w, uint16_t port)
{
    for (int32_t i = 0; i < w->node_count; i++) {
        struct list_node *n;
        list_foreach (n, &w->nodes[i]->listeners) {
            struct sim_listener *l = CONTAINER_OF(n, struct sim_listener, link);
            if (l->listener.port == port && w->nodes[i]->is_alive) {
                return l;
            }
        }
    }
    return NULL;
}

static void accept_arrive(void *arg)
{
    struct sim_conn *c = arg; /* the accepted side */
    c->events--;
    struct sim_listener *l = c->is_closed ? NULL : listener_find(conn_node(c)->world, c->port);
    if (l == NULL || sim_of(l->listener.env) != conn_node(c)) {
        if (!c->is_closed) {
            sim_conn_close(&c->conn);
        }
        conn_release(c);
        return;
    }
    l->on_accept(l->arg, &c->conn);
    conn_kick(c);
}

static void connect_try(void *arg)
{
    struct sim_conn *c = arg;
    c->events--;
    struct sim_node *n = conn_node(c);
    struct sim_world *w = n->world;
    if (c->is_closed || c->is_closing) {
        conn_release(c);
        return;
    }
    struct sim_listener *l = listener_find(w, c->port);
    struct sim_node *to = l == NULL ? NULL : sim_of(l->listener.env);
    if (to != NULL && w->partitioned[n->index][to->index]) {
        if (w->now_us - c->started_us < CONNECT_TIMEOUT_MS * 1000) {
            conn_schedule(c, RETRY_US, connect_try);
        } else {
            conn_eof(c, -E_TIMEOUT);
        }
        return;
    }
    if (to == NULL) {
        conn_eof(c, -E_REFUSED);
        return;
    }
    struct sim_conn *accepted = conn_new(to);
    accepted->port = c->port;
    accepted->is_connected = c->is_connected = true;
    accepted->other = c;
    c->other = accepted;
    (void)snprintf(accepted->conn.peer, sizeof accepted->conn.peer, "%s", n->name);
    conn_schedule(accepted, 1, accept_arrive);
    if (c->conn.handler->connected != NULL) {
        c->conn.handler->connected(&c->conn, c->conn.arg);
    }
    conn_kick(c);
}

struct env_conn *sim_connect(struct env *env, const char *host, uint16_t port,
                             const struct env_conn_handler *handler, void *arg)
{
    struct sim_node *n = sim_of(env);
    struct sim_conn *c = conn_new(n);
    c->conn.handler = handler;
    c->conn.arg = arg;
    c->port = port;
    c->started_us = n->world->now_us;
    (void)snprintf(c->conn.peer, sizeof c->conn.peer, "%s:%u", host, port);
    conn_schedule(c, draw_delay(n->world), connect_try);
    return &c->conn;
}

/* tidy: long: host and port are one address. */
int sim_listen(struct env *env, const char *host, uint16_t port, env_accept_fn on_accept, void *arg,
               struct env_listener **ret_listener, struct errmsg *em)
{
    struct sim_node *n = sim_of(env);
    if (port == 0) {
        port = n->world->next_port++;
    }
    if (listener_find(n->world, port) != NULL) {
        return errmsg_set(em, E_EXISTS, "%s:%u is in use", host, port);
    }
    struct sim_listener *l = xalloc(sizeof *l);
    l->listener = (struct env_listener){.env = env, .port = port};
    l->on_accept = on_accept;
    l->arg = arg;
    list_push_back(&n->listeners, &l->link);
    *ret_listener = &l->listener;
    return 0;
}

void sim_listener_close(struct env_listener *listener)
{
    struct sim_listener *l = (struct sim_listener *)(void *)listener;
    list_remove(&sim_of(listener->env)->listeners, &l->link);
    free(l);
}

/* ---- faults ---- */

void sim_net_node_down(struct sim_node *n, int64_t notice_ms)
{
    CHECKF(list_is_empty(&n->listeners), "%s ended with a listener open", n->name);
    struct list_node *node;
    while ((node = list_first(&n->conns)) != NULL) {
        struct sim_conn *c = CONTAINER_OF(node, struct sim_conn, link);
        list_remove(&n->conns, &c->link);
        if (c->other != NULL && c->is_connected && !c->is_closing && !c->other->is_closed) {
            conn_deliver(c, NULL, -E_CLOSED, notice_ms * 1000);
        }
        c->is_closed = true;
        conn_release(c);
    }
}

void sim_net_partition(struct sim_world *w, struct sim_node *a, struct sim_node *b, bool on)
{
    w->partitioned[a->index][b->index] = on;
    w->partitioned[b->index][a->index] = on;
    sim_trace(w, "%s between %s and %s", on ? "partition" : "healed", a->name, b->name);
}

void sim_net_heal(struct sim_world *w)
{
    memset(w->partitioned, 0, sizeof w->partitioned);
}

void sim_net_delay(struct sim_world *w, int64_t min_us, int64_t max_us)
{
    w->delay_min_us = min_us;
    w->delay_max_us = max_us;
}
