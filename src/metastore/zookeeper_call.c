/*
 * The queue of a ZooKeeper session's calls: made, sent, lost, sent again, answered.
 *
 * Invariant: answers leave in the order of the calls. A call that is finished early (refused here, or
 * a write lost with its connection) waits until those before it have theirs; reads that were lost go
 * back in front of what waits. Runs on the session's env, answers from inside drive only.
 */
#include "metastore/zookeeper_private.h"

#include "base/alloc.h"
#include "metastore/path.h"

#include <stdlib.h>

/* What a server takes as one request: jute.maxbuffer's default, 0xfffff. */
#define REQUEST_BYTES_MAX ((size_t)1024 * 1024 - 1)

static struct metastore_zk_session *session_of(struct metastore *m)
{
    return CONTAINER_OF(m, struct metastore_zk_session, base);
}

static struct metastore_zk_call *first_of(const struct list *calls)
{
    struct list_node *n = list_first(calls);
    return n == NULL ? NULL : CONTAINER_OF(n, struct metastore_zk_call, link);
}

/* ---- making and freeing ---- */

static void call_free(struct metastore_zk_call *c)
{
    for (int32_t i = 0; i < c->op_count; i++) {
        free(c->ops[i].path);
        free(c->ops[i].made);
    }
    free(c->ops);
    free(c->requests);
    free(c->results);
    free(c->marker);
    free(c->path);
    free(c);
}

static void call_finish(struct metastore_zk_call *c, int err, int32_t failed_op)
{
    c->is_finished = true;
    c->err = err;
    c->failed_op = failed_op;
}

static struct metastore_zk_call *call_new(struct metastore_zk_session *s,
                                          enum metastore_zk_call_kind kind, metastore_done_fn done,
                                          void *arg)
{
    CHECK(!s->is_closed);
    struct metastore_zk_call *c = xalloc(sizeof *c);
    c->session = s;
    c->kind = kind;
    c->done = done;
    c->arg = arg;
    c->failed_op = -1;
    if (s->phase == METASTORE_ZK_EXPIRED) {
        call_finish(c, -E_SESSION_EXPIRED, -1);
    }
    list_push_back(&s->waiting, &c->link);
    metastore_zk_session_wake(s);
    return c;
}

/* ---- reads ---- */

static void read_queue(struct metastore_zk_call *c, struct slice path, metastore_watch_fn watch,
                       void *watch_arg)
{
    struct metastore_zk_session *s = c->session;
    if (c->is_finished) {
        return;
    }
    if (!metastore_path_is_valid(path)) {
        call_finish(c, -E_INVALID, -1);
        return;
    }
    c->path = metastore_zk_path(s->factory, path);
    if (watch != NULL) {
        c->watch =
            metastore_zk_watch_join(s, path, c->kind == METASTORE_ZK_CHILDREN, watch, watch_arg);
    }
}

void metastore_zk_get(struct metastore *m, struct slice path, metastore_watch_fn watch,
                      void *watch_arg, metastore_done_fn done, void *arg)
{
    read_queue(call_new(session_of(m), METASTORE_ZK_GET, done, arg), path, watch, watch_arg);
}

void metastore_zk_exists(struct metastore *m, struct slice path, metastore_watch_fn watch,
                         void *watch_arg, metastore_done_fn done, void *arg)
{
    read_queue(call_new(session_of(m), METASTORE_ZK_EXISTS, done, arg), path, watch, watch_arg);
}

void metastore_zk_children(struct metastore *m, struct slice path, metastore_watch_fn watch,
                           void *watch_arg, metastore_done_fn done, void *arg)
{
    read_queue(call_new(session_of(m), METASTORE_ZK_CHILDREN, done, arg), path, watch, watch_arg);
}

/* ---- writes ---- */

/* What can be refused without asking a server. */
static int op_check(const struct metastore_op *op)
{
    if (op->data.len > METASTORE_DATA_MAX) {
        return -E_TOO_LARGE;
    }
    bool is_root = op->path.len == 1;
    /* The root of the tree may be a node that others see: a chroot is not ours to delete. */
    if (!metastore_path_is_valid(op->path) || (op->kind == METASTORE_DELETE && is_root)) {
        return -E_INVALID;
    }
    return 0;
}

static void multi_check(struct metastore_zk_call *c, const struct metastore_op *ops,
                        int32_t op_count)
{
    size_t chroot_len = strlen(c->session->factory->chroot);
    if (op_count > METASTORE_OPS_MAX) {
        call_finish(c, -E_TOO_LARGE, -1);
        return;
    }
    for (int32_t i = 0; i < op_count; i++) {
        int err = op_check(&ops[i]);
        if (err != 0) {
            call_finish(c, err, i);
            return;
        }
    }
    if (metastore_zk_request_bytes(ops, op_count, chroot_len) > REQUEST_BYTES_MAX) {
        call_finish(c, -E_TOO_LARGE, -1);
    } else if (op_count == 0) {
        call_finish(c, 0, -1);
    }
}

/* Copies s to *at and moves *at on; null stays null. */
static struct slice bytes_take(uint8_t **at, struct slice s)
{
    if (slice_is_null(s)) {
        return SLICE_NULL;
    }
    struct slice copy = slice_of(*at, s.len);
    if (s.len > 0) {
        memcpy(*at, s.ptr, s.len);
    }
    *at += s.len;
    return copy;
}

static void multi_copy(struct metastore_zk_call *c, const struct metastore_op *ops,
                       int32_t op_count)
{
    size_t bytes = 1; /* so that empty data has an address inside the block */
    for (int32_t i = 0; i < op_count; i++) {
        bytes += ops[i].path.len + ops[i].data.len;
    }
    c->op_count = op_count;
    c->ops = xalloc((size_t)op_count * sizeof *c->ops + bytes);
    uint8_t *at = (uint8_t *)(c->ops + op_count);
    for (int32_t i = 0; i < op_count; i++) {
        c->ops[i].op = ops[i];
        c->ops[i].op.path = bytes_take(&at, ops[i].path);
        c->ops[i].op.data = bytes_take(&at, ops[i].data);
        c->ops[i].path = metastore_zk_path(c->session->factory, ops[i].path);
    }
}

void metastore_zk_multi(struct metastore *m, const struct metastore_op *ops, int32_t op_count,
                        metastore_done_fn done, void *arg)
{
    struct metastore_zk_call *c = call_new(session_of(m), METASTORE_ZK_MULTI, done, arg);
    if (!c->is_finished) {
        multi_check(c, ops, op_count);
    }
    if (!c->is_finished) {
        multi_copy(c, ops, op_count);
    }
}

/* ---- sending ---- */

static struct metastore_zk_call *waiting_pop(struct metastore_zk_session *s)
{
    struct list_node *n = list_pop(&s->returned);
    n = n == NULL ? list_pop(&s->waiting) : n;
    return n == NULL ? NULL : CONTAINER_OF(n, struct metastore_zk_call, link);
}

void metastore_zk_calls_send(struct metastore_zk_session *s)
{
    CHECK(s->phase == METASTORE_ZK_READY);
    struct metastore_zk_call *c;
    while ((c = waiting_pop(s)) != NULL) {
        int rc = c->is_finished ? ZOK : metastore_zk_send(c);
        if (rc == ZINVALIDSTATE) { /* the session ended, which is told in a moment */
            list_push_front(&s->returned, &c->link);
            return;
        }
        if (rc != ZOK) {
            call_finish(c, metastore_zk_error(rc), -1);
        }
        list_push_back(&s->sent, &c->link);
    }
}

/* ---- answering ---- */

static void call_answer(struct metastore_zk_call *c, struct list *from,
                        const struct metastore_result *result)
{
    struct metastore_zk_session *s = c->session;
    list_remove(from, &c->link);
    /* An exists of a node that is not there keeps its watch. */
    bool is_set =
        result->err == 0 || (c->kind == METASTORE_ZK_EXISTS && result->err == -E_NOT_FOUND);
    metastore_zk_watch_leave(c->watch, is_set ? &c->seen : NULL);
    if (c->done != NULL && !s->is_closed) {
        c->done(c->arg, result);
    }
    call_free(c);
}

static void finished_answer(struct metastore_zk_call *c, struct list *from)
{
    struct metastore_result result = {.err = c->err, .failed_op = c->failed_op};
    call_answer(c, from, &result);
}

void metastore_zk_calls_answer(struct metastore_zk_session *s)
{
    /* What a callback adds waits for the next turn. */
    size_t left = s->sent.count + s->returned.count + s->waiting.count;
    for (; left > 0 && !s->is_closed; left--) {
        struct list *from = !list_is_empty(&s->sent)       ? &s->sent
                            : !list_is_empty(&s->returned) ? &s->returned
                                                           : &s->waiting;
        struct metastore_zk_call *c = first_of(from);
        if (c == NULL || !c->is_finished) {
            return;
        }
        finished_answer(c, from);
    }
}

void metastore_zk_call_complete(struct metastore_zk_call *c, const struct metastore_result *result)
{
    struct metastore_zk_session *s = c->session;
    if (s->is_closed) {
        return; /* all are freed together */
    }
    s->has_progress = true;
    while (first_of(&s->sent) != c) {
        struct metastore_zk_call *before = first_of(&s->sent);
        CHECK(before->is_finished); /* the client answers in order */
        finished_answer(before, &s->sent);
        if (s->is_closed) {
            return;
        }
    }
    call_answer(c, &s->sent, result);
}

void metastore_zk_call_lose(struct metastore_zk_call *c)
{
    struct metastore_zk_session *s = c->session;
    if (s->is_closed) {
        return;
    }
    if (c->kind == METASTORE_ZK_MULTI) {
        call_finish(c, -E_UNKNOWN_OUTCOME, -1);
    }
    struct metastore_zk_call *moved;
    do {
        moved = first_of(&s->sent);
        list_remove(&s->sent, &moved->link);
        list_push_back(&s->returned, &moved->link);
    } while (moved != c);
}

/* ---- the end ---- */

static void list_expire(struct list *calls)
{
    struct list_node *n;
    list_foreach (n, calls) {
        struct metastore_zk_call *c = CONTAINER_OF(n, struct metastore_zk_call, link);
        if (!c->is_finished) {
            call_finish(c, -E_SESSION_EXPIRED, -1);
        }
    }
}

void metastore_zk_calls_expire(struct metastore_zk_session *s)
{
    list_expire(&s->sent);
    list_expire(&s->returned);
    list_expire(&s->waiting);
}

void metastore_zk_calls_free(struct metastore_zk_session *s)
{
    struct list *const lists[] = {&s->sent, &s->returned, &s->waiting};
    for (size_t i = 0; i < ARRAY_LEN(lists); i++) {
        struct list_node *n;
        while ((n = list_pop(lists[i])) != NULL) {
            call_free(CONTAINER_OF(n, struct metastore_zk_call, link));
        }
    }
}
