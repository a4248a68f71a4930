/*
 * Requests from their arrival to their answer. A request is copied into an arena of its own, becomes
 * operations that wait at partitions and topics, and is answered when the last of them is over.
 * Invariant: `remaining` counts the operations that are not over, plus one while more are to come;
 * at 0 the request moves to `answered`, is replied to at the end of the step and freed by the next.
 */
#include "control/core.h"

#include <stdlib.h>
#include <string.h>

#define REQUESTS_MAX      10000 /* waiting at once; the broker's own bounds are tighter */
#define REQUEST_BYTES_MAX ((size_t)1 << 30)

/* ---- copies into the request's arena; a refusal is remembered in failed ---- */

struct copier {
    struct arena *arena;
    bool failed;
    struct slice last; /* source of last_copy: names repeat */
    struct slice last_copy;
};

static void *copy_array(struct copier *k, const void *from, int32_t count, size_t size)
{
    if (count <= 0) {
        return NULL;
    }
    void *to = arena_array(k->arena, (size_t)count, size);
    if (to == NULL) {
        k->failed = true;
        return NULL;
    }
    memcpy(to, from, (size_t)count * size);
    return to;
}

static struct slice copy_slice(struct copier *k, struct slice s)
{
    if (slice_is_null(s)) {
        return s;
    }
    if (s.ptr == k->last.ptr && s.len == k->last.len) {
        return k->last_copy;
    }
    uint8_t *to = arena_alloc(k->arena, s.len + 1);
    if (to == NULL) {
        k->failed = true;
        return SLICE_NULL;
    }
    memcpy(to, s.ptr, s.len);
    k->last = s;
    k->last_copy = slice_of(to, s.len);
    return k->last_copy;
}

static void copy_tps(struct copier *k, const struct control_tp **list, int32_t count)
{
    struct control_tp *to = copy_array(k, *list, count, sizeof *to);
    for (int32_t i = 0; to != NULL && i < count; i++) {
        to[i].topic = copy_slice(k, to[i].topic);
    }
    *list = to;
}

static const struct ids *copy_from(struct copier *k, const struct ids *from)
{
    struct ids *to = from == NULL ? NULL : copy_array(k, from, 1, sizeof *to);
    if (to != NULL) {
        to->list = copy_array(k, from->list, from->count, sizeof *to->list);
    }
    return to;
}

static void copy_alter(struct copier *k, struct control_alter *a)
{
    struct control_alter_entry *to = copy_array(k, a->entries, a->count, sizeof *to);
    for (int32_t i = 0; to != NULL && i < a->count; i++) {
        to[i].topic = copy_slice(k, to[i].topic);
        to[i].replicas = copy_array(k, to[i].replicas, to[i].replica_count, sizeof *to[i].replicas);
        to[i].from = copy_from(k, to[i].from);
    }
    a->entries = to;
}

static void copy_alter_partition(struct copier *k, struct control_alter_partition *a)
{
    struct control_isr_entry *to = copy_array(k, a->entries, a->count, sizeof *to);
    for (int32_t i = 0; to != NULL && i < a->count; i++) {
        to[i].topic = copy_slice(k, to[i].topic);
        to[i].isr = copy_array(k, to[i].isr, to[i].isr_count, sizeof *to[i].isr);
    }
    a->entries = to;
}

static const struct control_new_partition *
copy_new_partitions(struct copier *k, const struct control_new_partition *list, int32_t count)
{
    struct control_new_partition *to = copy_array(k, list, count, sizeof *to);
    for (int32_t i = 0; to != NULL && i < count; i++) {
        to[i].replicas = copy_array(k, to[i].replicas, to[i].replica_count, sizeof *to[i].replicas);
    }
    return to;
}

static void copy_create_topics(struct copier *k, struct control_create_topics *a)
{
    struct control_new_topic *to = copy_array(k, a->topics, a->count, sizeof *to);
    for (int32_t i = 0; to != NULL && i < a->count; i++) {
        struct control_new_topic *t = &to[i];
        t->name = copy_slice(k, t->name);
        t->assignments = copy_new_partitions(k, t->assignments, t->assignment_count);
        t->message = (const char *)copy_slice(k, slice_str(t->message)).ptr;
        struct model_setting *settings =
            copy_array(k, t->settings, t->setting_count, sizeof *settings);
        for (int32_t s = 0; settings != NULL && s < t->setting_count; s++) {
            settings[s].key = copy_slice(k, settings[s].key);
            settings[s].value = copy_slice(k, settings[s].value);
        }
        t->settings = settings;
    }
    a->topics = to;
}

static void copy_create_partitions(struct copier *k, struct control_create_partitions *a)
{
    struct control_grow_topic *to = copy_array(k, a->topics, a->count, sizeof *to);
    for (int32_t i = 0; to != NULL && i < a->count; i++) {
        to[i].name = copy_slice(k, to[i].name);
        to[i].assignments = copy_new_partitions(k, to[i].assignments, to[i].assignment_count);
    }
    a->topics = to;
}

static void copy_delete_topics(struct copier *k, struct control_delete_topics *a)
{
    struct slice *names = copy_array(k, a->names, a->count, sizeof *names);
    for (int32_t i = 0; names != NULL && i < a->count; i++) {
        names[i] = copy_slice(k, names[i]);
    }
    a->names = names;
    if (a->ids != NULL) {
        a->ids = copy_array(k, a->ids, a->count, sizeof *a->ids);
    }
}

static int body_copy(struct core_request *r)
{
    struct copier k = {.arena = &r->arena};
    switch (r->body.kind) {
    case CONTROL_ALTER_REASSIGNMENTS:
        copy_alter(&k, &r->body.alter);
        break;
    case CONTROL_LIST_REASSIGNMENTS:
        copy_tps(&k, &r->body.list.entries, r->body.list.count);
        break;
    case CONTROL_ALTER_PARTITION:
        copy_alter_partition(&k, &r->body.alter_partition);
        break;
    case CONTROL_ELECT_LEADERS:
        copy_tps(&k, &r->body.elect.entries, r->body.elect.count);
        break;
    case CONTROL_CREATE_TOPICS:
        copy_create_topics(&k, &r->body.create_topics);
        break;
    case CONTROL_CREATE_PARTITIONS:
        copy_create_partitions(&k, &r->body.create_partitions);
        break;
    case CONTROL_DELETE_TOPICS:
        copy_delete_topics(&k, &r->body.delete_topics);
        break;
    case CONTROL_SHUTDOWN:
    case CONTROL_ALLOCATE_PRODUCER_IDS:
        break;
    default:
        CHECK(false);
    }
    return k.failed ? -E_TOO_LARGE : 0;
}

/* ---- operations ---- */

static void *request_array(struct core_request *r, int32_t count, size_t size)
{
    void *array = arena_array(&r->arena, (size_t)MAX(count, 0) + 1, size);
    CHECK(array != NULL); /* smaller than what was copied within the bound */
    return array;
}

struct core_op *control_op_new(struct core_request *r, int32_t index)
{
    struct core_op *op = request_array(r, 0, sizeof *op);
    op->request = r;
    op->index = index;
    return op;
}

void control_op_wait(struct core_op *op, struct list *at)
{
    CHECK(op->home == NULL);
    op->home = at;
    list_push_back(at, &op->link);
    list_push_back(&op->request->waiting, &op->waiting);
}

void control_op_unwait(struct core_op *op)
{
    CHECK(op->home != NULL);
    list_remove(op->home, &op->link);
    list_remove(&op->request->waiting, &op->waiting);
    op->home = NULL;
}

struct core_op *control_op_pop(struct list *at)
{
    struct list_node *n = list_first(at);
    if (n == NULL) {
        return NULL;
    }
    struct core_op *op = CONTAINER_OF(n, struct core_op, link);
    control_op_unwait(op);
    return op;
}

void control_request_expect(struct core_request *r, int32_t count)
{
    r->remaining = MAX(count, 0) + 1;
    r->is_expanding = true;
    r->reply.count = MAX(count, 0);
    if (r->body.kind == CONTROL_ALTER_PARTITION) {
        r->isr_results = request_array(r, count, sizeof *r->isr_results);
        r->reply.isr_results = r->isr_results;
    } else if (r->body.kind == CONTROL_CREATE_TOPICS) {
        r->created = request_array(r, count, sizeof *r->created);
        r->reply.created = r->created;
    } else {
        r->results = request_array(r, count, sizeof *r->results);
        r->reply.results = r->results;
    }
}

void control_request_done(struct control *c, struct core_request *r)
{
    CHECK(r->remaining > 0);
    r->remaining--;
    if (r->remaining == 0) {
        list_remove(&c->requests, &r->link);
        list_remove(&c->expanding, &r->expanding);
        list_remove(&c->listings, &r->listing);
        heap_remove(&c->deadlines, &r->deadline);
        list_push_back(&c->answered, &r->link);
    }
}

static const char *message_copy(struct core_request *r, const char *message)
{
    return message == NULL || message[0] == 0 ? NULL : arena_str(&r->arena, slice_str(message));
}

void control_result_set(struct control *c, struct core_op *op, enum kerr error, const char *message)
{
    struct core_request *r = op->request;
    if (r->remaining == 0) {
        return; /* the request was answered as a whole: the role is lost */
    }
    r->results[op->index].error = (int16_t)error;
    r->results[op->index].message = message_copy(r, message);
    control_request_done(c, r);
}

void control_op_fail(struct control *c, struct core_op *op, enum kerr error, const char *message)
{
    struct core_request *r = op->request;
    if (r->remaining == 0) {
        return; /* as above */
    }
    if (r->body.kind == CONTROL_ALTER_PARTITION) {
        control_isr_answer(op, error);
        control_request_done(c, r);
    } else if (r->body.kind == CONTROL_CREATE_TOPICS) {
        r->created[op->index].error = (int16_t)error;
        r->created[op->index].message = message_copy(r, message);
        r->created[op->index].partition_count = -1;
        r->created[op->index].replication_factor = -1;
        control_request_done(c, r);
    } else if (r->body.kind == CONTROL_SHUTDOWN) {
        control_request_done(c, r);
    } else if (r->body.kind == CONTROL_ALLOCATE_PRODUCER_IDS) {
        control_request_fail(c, r, error, message);
    } else {
        control_result_set(c, op, error, message);
    }
}

void control_request_fail(struct control *c, struct core_request *r, enum kerr error,
                          const char *message)
{
    r->reply.error = (int16_t)error;
    r->reply.message = message_copy(r, message);
    r->reply.count = 0;
    r->is_expanding = false;
    r->remaining = 1;
    control_request_done(c, r);
}

/* ---- arrival ---- */

static void fill_names(struct core_request *r, const struct control_tp *entries, int32_t count)
{
    for (int32_t i = 0; i < count; i++) {
        r->results[i].topic = entries[i].topic;
        r->results[i].partition = entries[i].partition;
    }
}

static void alter_start(struct control *c, struct core_request *r)
{
    const struct control_alter *alter = &r->body.alter;
    control_request_expect(r, alter->count);
    for (int32_t i = 0; i < alter->count; i++) {
        r->results[i].topic = alter->entries[i].topic;
        r->results[i].partition = alter->entries[i].partition;
    }
    list_push_back(&c->expanding, &r->expanding);
}

static void elect_start(struct control *c, struct core_request *r)
{
    if (!r->body.elect.wants_all) {
        control_request_expect(r, r->body.elect.count);
        fill_names(r, r->body.elect.entries, r->body.elect.count);
    }
    control_elect_start(c, r);
}

static void request_dispatch(struct control *c, struct core_request *r)
{
    switch (r->body.kind) {
    case CONTROL_ALTER_REASSIGNMENTS:
        alter_start(c, r);
        break;
    case CONTROL_LIST_REASSIGNMENTS:
        control_list_start(c, r);
        break;
    case CONTROL_ALTER_PARTITION:
        control_isr_start(c, r);
        break;
    case CONTROL_ELECT_LEADERS:
        elect_start(c, r);
        break;
    case CONTROL_SHUTDOWN:
        control_shutdown_start(c, r);
        break;
    case CONTROL_CREATE_TOPICS:
        control_create_start(c, r);
        break;
    case CONTROL_CREATE_PARTITIONS:
        control_grow_start(c, r);
        break;
    case CONTROL_DELETE_TOPICS:
        control_delete_start(c, r);
        break;
    case CONTROL_ALLOCATE_PRODUCER_IDS:
        control_block_start(c, r);
        break;
    default:
        CHECK(false);
    }
}

/* ControlledShutdown speaks of a stale controller where the others say "not the controller". */
static enum kerr inactive_error(enum control_request_kind kind)
{
    return kind == CONTROL_SHUTDOWN ? KERR_STALE_CONTROLLER_EPOCH : KERR_NOT_CONTROLLER;
}

/* Of the kinds that wait for something that may never come. ret_ms is at least 0. */
static bool has_timeout(const struct control_request *body, int64_t *ret_ms)
{
    int64_t ms = 0;
    if (body->kind == CONTROL_CREATE_TOPICS) {
        ms = body->create_topics.timeout_ms;
    } else if (body->kind == CONTROL_CREATE_PARTITIONS) {
        ms = body->create_partitions.timeout_ms;
    } else if (body->kind == CONTROL_DELETE_TOPICS) {
        ms = body->delete_topics.timeout_ms;
    } else {
        return false;
    }
    *ret_ms = MAX(ms, 0);
    return true;
}

void control_request_start(struct control *c, const struct control_request *request)
{
    struct core_request *r = xalloc(sizeof *r);
    r->body = *request;
    r->serial = c->next_serial++;
    r->reply = (struct control_reply){.token = request->token, .kind = request->kind};
    arena_init(&r->arena, REQUEST_BYTES_MAX);
    list_init(&r->waiting);
    bool has_room = c->requests.count < REQUESTS_MAX;
    list_push_back(&c->requests, &r->link);
    if (!c->is_active || c->is_resigning) {
        control_request_fail(c, r, inactive_error(request->kind), NULL);
    } else if (!has_room) {
        control_request_fail(c, r, KERR_REQUEST_TIMED_OUT, "too many requests wait");
    } else if (body_copy(r) != 0) {
        control_request_fail(c, r, KERR_INVALID_REQUEST, "the request is too large");
    } else {
        int64_t timeout_ms = 0;
        if (has_timeout(&r->body, &timeout_ms)) {
            heap_insert(&c->deadlines, &r->deadline, c->now_ms + timeout_ms);
        }
        request_dispatch(c, r);
    }
}

void control_requests_expand(struct control *c)
{
    struct list_node *n = NULL;
    while (c->budget > 0 && (n = list_first(&c->expanding)) != NULL) {
        control_alter_expand(c, CONTAINER_OF(n, struct core_request, expanding));
    }
}

/* ---- answers ---- */

/* What is not done in time is answered with 7 and goes on all the same. A CreatePartitions that is in a
 * topic write stays: it ends with that write. */
static void request_expire(struct control *c, struct core_request *r)
{
    heap_remove(&c->deadlines, &r->deadline);
    struct list_node *n = NULL;
    struct list_node *tmp = NULL;
    list_foreach_safe (n, tmp, &r->waiting) {
        struct core_op *op = CONTAINER_OF(n, struct core_op, waiting);
        if (!op->is_out) {
            control_op_unwait(op);
            control_op_fail(c, op, KERR_REQUEST_TIMED_OUT, "not finished in time; it goes on");
        }
    }
}

void control_requests_expire(struct control *c)
{
    struct heap_node *n = NULL;
    while ((n = heap_min(&c->deadlines)) != NULL && n->key <= c->now_ms) {
        request_expire(c, CONTAINER_OF(n, struct core_request, deadline));
    }
}

void control_requests_flush(struct control *c)
{
    struct list_node *n = NULL;
    list_foreach (n, &c->answered) {
        const struct core_request *r = CONTAINER_OF(n, struct core_request, link);
        control_effect_add(c, CONTROL_EFFECT_REPLY)->reply = r->reply;
    }
}

void control_requests_free_answered(struct control *c)
{
    struct list_node *n = NULL;
    while ((n = list_pop(&c->answered)) != NULL) {
        struct core_request *r = CONTAINER_OF(n, struct core_request, link);
        control_seen_clear(r);
        arena_deinit(&r->arena);
        free(r);
    }
}

void control_requests_fail_all(struct control *c)
{
    struct list_node *n = NULL;
    while ((n = list_first(&c->requests)) != NULL) {
        struct core_request *r = CONTAINER_OF(n, struct core_request, link);
        control_request_fail(c, r, inactive_error(r->body.kind), NULL);
    }
}
