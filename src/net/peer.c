/*
 * The client half: one connection that is made when there is something to send, and the calls.
 * Invariants: a call is in `waiting` (not sent yet) or in `sent` (in the order of the wire), and in
 * `deadlines`, until it is answered; `sent` is empty unless the connection is open. An answer's
 * callback may do anything to the peer, so a peer on the stack is only marked freed.
 * Runs on the peer's env.
 */
#include "net/net.h"

#include "net/abandon.h"
#include "net/inbox.h"
#include "net/outbox.h"

#include "base/check.h"
#include "base/endian.h"

#include <stdlib.h>

#define SCRATCH_BYTES       ((size_t)32 << 10)
#define POOL_KEEP_BYTES_MAX ((size_t)32 << 20)
#define TRIM_MS             10000 /* without an answer for so long, kept memory is freed */
#define CORRELATION_POS     4     /* in the request header, without the size */

enum peer_state {
    PEER_IDLE, /* no connection; connect_timer may run for the back-off */
    PEER_CONNECTING,
    PEER_OPEN,
};

struct call {
    struct list_node link;
    struct heap_node deadline;
    uint64_t sequence;
    struct outbox_frame *request; /* NULL once queued for the socket, or when it had failed */
    bool is_sent;
    int err; /* what the deadline tells; 0 = the usual */
    net_answer_fn done;
    void *arg;
};

struct net_peer {
    struct env *env;
    struct net_peer_config config;
    char *host;
    enum peer_state state;
    struct env_conn *conn; /* NULL when idle */
    struct inbox_config inbox_config;
    struct inbox inbox;
    struct outbox outbox;
    struct list waiting;
    struct list sent;
    struct heap deadlines;
    struct env_timer deadline_timer;
    struct env_timer connect_timer; /* connecting: the time-out; idle: the back-off */
    struct env_timer flush_timer;
    struct env_timer trim_timer;
    int64_t attempt_ms;     /* when the latest attempt to connect began */
    int last_err;           /* how the latest connection ended, 0 = well */
    uint64_t next_sequence; /* its low 32 bits are the correlation id */
    uint64_t answer_count;
    uint64_t answer_count_at_trim;
    int depth;       /* frames of this peer on the stack that call out */
    bool is_reading; /* the inbox is on the stack */
    bool is_cut;     /* the connection was dropped while is_reading */
    bool is_malformed;
    bool is_freed;
};

static struct call *call_at(struct list_node *n)
{
    return CONTAINER_OF(n, struct call, link);
}

/* ---- guarding against callbacks that free the peer ---- */

static void peer_destroy(struct net_peer *p)
{
    net_inbox_deinit(&p->inbox);
    heap_deinit(&p->deadlines);
    block_pool_free(p->inbox_config.pool);
    free(p->inbox_config.scratch);
    free(p->host);
    free(p);
}

static void peer_enter(struct net_peer *p)
{
    p->depth++;
}

static void peer_leave(struct net_peer *p)
{
    if (--p->depth == 0 && p->is_freed) {
        peer_destroy(p);
    }
}

/* ---- calls ---- */

static void deadlines_arm(struct net_peer *p)
{
    const struct heap_node *first = heap_min(&p->deadlines);
    if (first == NULL) {
        env_timer_stop(&p->deadline_timer);
    } else if (!env_timer_is_active(&p->deadline_timer)) {
        env_timer_start(&p->deadline_timer, first->key - env_now_ms(p->env));
    }
}

/* Takes the call out and frees it; its owner is told by the caller. */
static struct call call_take(struct net_peer *p, struct call *call)
{
    struct call copy = *call;
    list_remove(call->is_sent ? &p->sent : &p->waiting, &call->link);
    heap_remove(&p->deadlines, &call->deadline);
    net_outbox_frame_free(call->request);
    free(call);
    return copy;
}

static void call_fail(struct net_peer *p, struct call *call, int err)
{
    struct call taken = call_take(p, call);
    taken.done(taken.arg, err, NULL, SLICE_NULL);
}

/* Answers the calls of l that were made before `end`. */
static void calls_fail(struct net_peer *p, struct list *l, uint64_t end, int err)
{
    for (struct list_node *n = list_first(l); n != NULL && call_at(n)->sequence < end;
         n = list_first(l)) {
        call_fail(p, call_at(n), err);
    }
}

/* ---- the connection ---- */

/* Lets go of the connection and all that was on its way. Calls stay. */
static void peer_disconnect(struct net_peer *p)
{
    if (p->conn != NULL) {
        net_abandon(p->conn);
        p->conn = NULL;
    }
    p->state = PEER_IDLE;
    env_timer_stop(&p->connect_timer);
    env_timer_stop(&p->flush_timer);
    net_outbox_deinit(&p->outbox);
    if (p->is_reading) {
        p->is_cut = true; /* the reader cleans up */
    } else {
        net_inbox_deinit(&p->inbox);
    }
}

static const struct env_conn_handler peer_handler;

/* Makes sure that a connection is there or coming, when somebody waits for one. */
static void peer_connect(struct net_peer *p)
{
    if (p->is_freed || p->state != PEER_IDLE || list_is_empty(&p->waiting) ||
        env_timer_is_active(&p->connect_timer)) {
        return;
    }
    int64_t now_ms = env_now_ms(p->env);
    int64_t wait_ms = p->attempt_ms + p->config.backoff_ms - now_ms;
    if (wait_ms > 0) {
        env_timer_start(&p->connect_timer, wait_ms);
        return;
    }
    p->attempt_ms = now_ms;
    p->state = PEER_CONNECTING;
    env_timer_start(&p->connect_timer, p->config.connect_timeout_ms);
    p->conn = env_connect(p->env, p->host, p->config.port, &peer_handler, p);
}

/* The connection is no more: the first sent call gets err, the others cannot be answered either. */
static void peer_lost(struct net_peer *p, int err)
{
    uint64_t end = p->next_sequence;
    bool gives_up = p->config.gives_up && p->state == PEER_CONNECTING;
    peer_enter(p);
    peer_disconnect(p);
    if (!list_is_empty(&p->sent)) {
        call_fail(p, call_at(list_first(&p->sent)), err);
    }
    calls_fail(p, &p->sent, end, -E_CLOSED);
    if (gives_up) {
        calls_fail(p, &p->waiting, end, p->last_err < 0 ? p->last_err : -E_REFUSED);
    }
    peer_connect(p);
    peer_leave(p);
}

static void on_connect_timer(void *arg)
{
    struct net_peer *p = arg;
    if (p->state == PEER_CONNECTING) {
        p->last_err = -E_TIMEOUT;
        peer_lost(p, -E_TIMEOUT);
    } else {
        peer_connect(p);
    }
}

/* ---- sending ---- */

static void peer_queue(struct net_peer *p, struct call *call)
{
    list_remove(&p->waiting, &call->link);
    list_push_back(&p->sent, &call->link);
    call->is_sent = true;
    net_outbox_add(&p->outbox, call->request);
    call->request = NULL;
}

static void peer_flush(struct net_peer *p)
{
    if (p->state == PEER_OPEN && p->outbox.bytes > 0) {
        int err = net_outbox_flush(&p->outbox, p->conn);
        (void)err; /* a lost connection is told by closed */
    }
}

static void on_flush(void *arg)
{
    peer_flush(arg);
}

static void peer_connected(struct env_conn *c, void *arg)
{
    (void)c;
    struct net_peer *p = arg;
    env_timer_stop(&p->connect_timer);
    p->state = PEER_OPEN;
    p->last_err = 0;
    net_inbox_init(&p->inbox, &p->inbox_config);
    struct list_node *n;
    struct list_node *tmp;
    list_foreach_safe (n, tmp, &p->waiting) {
        if (call_at(n)->request != NULL) {
            peer_queue(p, call_at(n));
        }
    }
    peer_flush(p);
}

static void peer_writable(struct env_conn *c, void *arg)
{
    (void)c;
    peer_flush(arg);
}

/* ---- receiving ---- */

static bool on_frame(void *arg, struct block *frame)
{
    struct net_peer *p = arg;
    struct list_node *n = list_first(&p->sent);
    if (n == NULL || frame->len < sizeof(uint32_t) ||
        load_be32(frame->data) != (uint32_t)call_at(n)->sequence) {
        p->is_malformed = true;
        block_unref(frame);
        return false;
    }
    struct call taken = call_take(p, call_at(n));
    p->answer_count++;
    if (!env_timer_is_active(&p->trim_timer)) {
        env_timer_start(&p->trim_timer, TRIM_MS);
    }
    taken.done(taken.arg, 0, frame, slice_of(frame->data, frame->len));
    block_unref(frame);
    return !p->is_cut;
}

static void peer_readable(struct env_conn *c, void *arg)
{
    struct net_peer *p = arg;
    peer_enter(p);
    p->is_reading = true;
    p->is_cut = false;
    p->is_malformed = false;
    enum inbox_state state = net_inbox_read(&p->inbox, c, SCRATCH_BYTES, p);
    p->is_reading = false;
    if (p->is_cut) {
        net_inbox_deinit(&p->inbox);
    } else if (p->is_malformed || state == INBOX_BROKEN) {
        p->last_err = -E_MALFORMED;
        peer_lost(p, -E_MALFORMED);
    } else if (state == INBOX_STARVED) {
        peer_lost(p, -E_CLOSED);
    } else if (state == INBOX_DRAINED) {
        peer_flush(p); /* what callbacks asked for leaves together */
    }
    peer_leave(p);
}

static void on_trim(void *arg)
{
    struct net_peer *p = arg;
    if (p->answer_count == p->answer_count_at_trim) {
        block_pool_trim(p->inbox_config.pool);
        return;
    }
    p->answer_count_at_trim = p->answer_count;
    env_timer_start(&p->trim_timer, TRIM_MS);
}

static void peer_closed(struct env_conn *c, void *arg, int err)
{
    (void)c;
    struct net_peer *p = arg;
    p->conn = NULL;
    p->last_err = err;
    peer_lost(p, -E_CLOSED);
}

static const struct env_conn_handler peer_handler = {.connected = peer_connected,
                                                     .readable = peer_readable,
                                                     .writable = peer_writable,
                                                     .closed = peer_closed};

/* ---- time-outs ---- */

static int call_timeout_err(const struct net_peer *p, const struct call *call)
{
    if (call->err != 0) {
        return call->err;
    }
    return p->last_err == -E_REFUSED && p->state != PEER_OPEN ? -E_REFUSED : -E_TIMEOUT;
}

static void on_deadline(void *arg)
{
    struct net_peer *p = arg;
    int64_t now_ms = env_now_ms(p->env);
    uint64_t end = p->next_sequence; /* calls made from here on wait for the next turn */
    peer_enter(p);
    for (struct heap_node *first = heap_min(&p->deadlines); first != NULL && first->key <= now_ms;
         first = heap_min(&p->deadlines)) {
        struct call *call = CONTAINER_OF(first, struct call, deadline);
        if (call->sequence >= end) {
            break;
        }
        int err = call_timeout_err(p, call);
        if (call->is_sent) {
            /* Its answer may still come and would be taken for the next call's: as Kafka's clients,
             * give the connection up. */
            peer_disconnect(p);
            p->last_err = err;
            call_fail(p, call, err);
            calls_fail(p, &p->sent, end, -E_CLOSED);
        } else {
            call_fail(p, call, err);
        }
    }
    if (!p->is_freed) {
        peer_connect(p);
        deadlines_arm(p);
    }
    peer_leave(p);
}

/* ---- the contract ---- */

struct net_peer *net_peer_new(struct env *env, const struct net_peer_config *config)
{
    struct net_peer *p = xalloc(sizeof *p);
    p->env = env;
    p->config = *config;
    p->host = xstrdup(config->host);
    p->config.host = NULL; /* host is ours */
    p->attempt_ms = env_now_ms(env) - config->backoff_ms;
    size_t keep = MIN((size_t)config->response_bytes_max * 2, POOL_KEEP_BYTES_MAX);
    p->inbox_config = (struct inbox_config){.frame_bytes_max = config->response_bytes_max,
                                            .pool = block_pool_new(keep),
                                            .scratch = xalloc(SCRATCH_BYTES),
                                            .scratch_size = SCRATCH_BYTES,
                                            .on_frame = on_frame};
    net_inbox_init(&p->inbox, &p->inbox_config);
    net_outbox_init(&p->outbox);
    list_init(&p->waiting);
    list_init(&p->sent);
    heap_init(&p->deadlines);
    env_timer_init(&p->deadline_timer, env, on_deadline, p);
    env_timer_init(&p->connect_timer, env, on_connect_timer, p);
    env_timer_init(&p->flush_timer, env, on_flush, p);
    env_timer_init(&p->trim_timer, env, on_trim, p);
    return p;
}

void net_peer_call(struct net_peer *p, struct buf *request, int64_t timeout_ms, net_answer_fn done,
                   void *arg)
{
    struct call *call = xalloc(sizeof *call);
    *call = (struct call){.sequence = p->next_sequence++, .done = done, .arg = arg};
    if (buf_failed(request) || buf_total(request) > INT32_MAX) {
        buf_deinit(request);
        call->err = -E_TOO_LARGE;
        timeout_ms = 0;
    } else {
        buf_patch_u32(request, CORRELATION_POS, (uint32_t)call->sequence);
        call->request = net_outbox_frame_new(request, NULL, 0);
    }
    list_push_back(&p->waiting, &call->link);
    const struct heap_node *first = heap_min(&p->deadlines);
    int64_t due_ms = env_now_ms(p->env) + MAX(timeout_ms, 0);
    if (first == NULL || due_ms < first->key) {
        env_timer_stop(&p->deadline_timer);
    }
    heap_insert(&p->deadlines, &call->deadline, due_ms);
    deadlines_arm(p);
    if (p->state == PEER_OPEN && call->request != NULL) {
        peer_queue(p, call);
        if (!p->is_reading && !env_timer_is_active(&p->flush_timer)) {
            env_timer_start(&p->flush_timer, 0); /* calls of one turn leave together */
        }
    }
    peer_connect(p);
}

int32_t net_peer_pending(const struct net_peer *p)
{
    return (int32_t)(p->waiting.count + p->sent.count);
}

void net_peer_reset(struct net_peer *p)
{
    uint64_t end = p->next_sequence;
    peer_enter(p);
    peer_disconnect(p);
    calls_fail(p, &p->sent, end, -E_CLOSED);
    calls_fail(p, &p->waiting, end, -E_CLOSED);
    peer_connect(p);
    peer_leave(p);
}

void net_peer_free(struct net_peer *p)
{
    if (p == NULL) {
        return;
    }
    CHECK(!p->is_freed);
    p->is_freed = true;
    peer_disconnect(p);
    while (!list_is_empty(&p->sent)) {
        (void)call_take(p, call_at(list_first(&p->sent))); /* dropped without a word */
    }
    while (!list_is_empty(&p->waiting)) {
        (void)call_take(p, call_at(list_first(&p->waiting))); /* the same */
    }
    env_timer_stop(&p->deadline_timer);
    env_timer_stop(&p->trim_timer);
    if (p->depth == 0) {
        peer_destroy(p);
    }
}
