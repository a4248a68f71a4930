/*
 * CreatePartitions: adds partitions to a topic, unless one of them is being moved (reassignment.md
 * 7.2). The added ones join the topic's next write; one request at a time for each topic.
 */
#include "control/core.h"

#include <stdlib.h>

#define PARTITIONS_PER_TOPIC_MAX 100000

static const struct control_grow_topic *entry_of(const struct core_op *op)
{
    return &op->request->body.create_partitions.topics[op->index];
}

static int32_t live_count(const struct control *c)
{
    int32_t count = 0;
    for (const struct core_broker *b = c->brokers; b != NULL; b = b->hh.next) {
        count += b->is_alive && !b->is_shutting_down;
    }
    return count;
}

static enum kerr topic_check(const struct control *c, const struct core_topic *t,
                             const struct control_grow_topic *e, struct errmsg *em)
{
    int32_t factor = t->partition_count == 0 ? 1 : t->partitions[0]->stored.replicas.count;
    if (t->deletion != DELETION_NONE) {
        (void)errmsg_set(em, E_INVALID, "the topic is being deleted");
        return KERR_INVALID_TOPIC_EXCEPTION;
    }
    if (control_topic_is_moving(t)) {
        (void)errmsg_set(em, E_INVALID, "partitions of the topic are being moved");
        return KERR_REASSIGNMENT_IN_PROGRESS;
    }
    if (e->partition_count <= t->partition_count || e->partition_count > PARTITIONS_PER_TOPIC_MAX) {
        (void)errmsg_set(em, E_INVALID,
                         "the topic has %d partitions; the new total must be larger, "
                         "up to %d",
                         t->partition_count, PARTITIONS_PER_TOPIC_MAX);
        return KERR_INVALID_PARTITIONS;
    }
    if (e->assignment_count > 0 && e->assignment_count != e->partition_count - t->partition_count) {
        (void)errmsg_set(em, E_INVALID, "%d lists for %d added partitions", e->assignment_count,
                         e->partition_count - t->partition_count);
        return KERR_INVALID_REPLICA_ASSIGNMENT;
    }
    if (e->assignment_count == 0 && factor > live_count(c)) {
        (void)errmsg_set(em, E_INVALID, "replication factor %d with %d live brokers", factor,
                         live_count(c));
        return KERR_INVALID_REPLICATION_FACTOR;
    }
    return KERR_NONE;
}

static enum kerr list_take(const struct control *c, const struct control_new_partition *p,
                           int32_t factor, struct ids *ret, struct errmsg *em)
{
    if (p->replica_count != factor) {
        (void)errmsg_set(em, E_INVALID, "a list has %d brokers; the topic's factor is %d",
                         p->replica_count, factor);
        return KERR_INVALID_REPLICA_ASSIGNMENT;
    }
    ids_set(ret, p->replicas, p->replica_count);
    for (int32_t k = 0; k < ret->count; k++) {
        if (!control_broker_is_live(c, ret->list[k])) {
            (void)errmsg_set(em, E_INVALID, "broker %d is not alive", ret->list[k]);
            return KERR_INVALID_REPLICA_ASSIGNMENT;
        }
    }
    if (ids_has_duplicate(ret)) {
        (void)errmsg_set(em, E_INVALID, "a list names a broker twice");
        return KERR_INVALID_REPLICA_ASSIGNMENT;
    }
    return KERR_NONE;
}

/* Fills topic.grow. */
static enum kerr layout_make(struct control *c, struct core_topic *t,
                             const struct control_grow_topic *e, struct errmsg *em)
{
    enum kerr error = topic_check(c, t, e, em);
    if (error != KERR_NONE) {
        return error;
    }
    int32_t factor = t->partition_count == 0 ? 1 : t->partitions[0]->stored.replicas.count;
    t->grow_count = e->partition_count - t->partition_count;
    t->grow = xalloc((size_t)t->grow_count * sizeof *t->grow);
    if (e->assignment_count == 0) {
        control_place(c, t->partition_count, t->grow_count, factor, t->grow);
    }
    for (int32_t i = 0; error == KERR_NONE && i < e->assignment_count; i++) {
        error = list_take(c, &e->assignments[i], factor, &t->grow[i].replicas, em);
    }
    return error;
}

void control_grow_forget(struct core_topic *t)
{
    for (int32_t i = 0; t->grow != NULL && i < t->grow_count; i++) {
        assignment_deinit(&t->grow[i]);
    }
    free(t->grow);
    t->grow = NULL;
    t->grow_count = 0;
}

void control_grow_next(struct control *c, struct core_topic *t)
{
    while (t->grow == NULL && !list_is_empty(&t->grows)) {
        struct core_op *op = CONTAINER_OF(list_first(&t->grows), struct core_op, link);
        struct errmsg em = {0};
        enum kerr error = layout_make(c, t, entry_of(op), &em);
        if (error == KERR_NONE && !op->request->body.create_partitions.is_validate_only) {
            op->is_out = true;
            return;
        }
        control_grow_forget(t);
        control_op_unwait(op);
        control_result_set(c, op, error, em.text);
    }
}

bool control_grow_done(struct control *c, struct core_topic *t, enum kerr error,
                       const char *message)
{
    if (t->grow == NULL) {
        return false;
    }
    if (error == KERR_NONE) {
        control_topic_add_partitions(c, t, t->grow, t->grow_count);
    }
    control_grow_forget(t);
    struct core_op *op = control_op_pop(&t->grows);
    CHECK(op != NULL);
    control_result_set(c, op, error, message);
    return true;
}

void control_grow_retry(struct core_topic *t)
{
    if (t->grow != NULL) {
        control_grow_forget(t);
        CONTAINER_OF(list_first(&t->grows), struct core_op, link)->is_out = false;
    }
}

void control_grow_start(struct control *c, struct core_request *r)
{
    const struct control_create_partitions *body = &r->body.create_partitions;
    control_request_expect(r, body->count);
    for (int32_t i = 0; i < body->count; i++) {
        r->results[i].topic = body->topics[i].name;
        r->results[i].partition = -1;
        struct core_op *op = control_op_new(r, i);
        struct core_topic *t = control_topic_find(c, body->topics[i].name);
        if (t == NULL) {
            control_result_set(c, op, KERR_UNKNOWN_TOPIC_OR_PARTITION, "there is no such topic");
        } else if (t->deletion != DELETION_NONE) {
            control_result_set(c, op, KERR_INVALID_TOPIC_EXCEPTION, "the topic is being deleted");
        } else {
            control_op_wait(op, &t->grows);
            control_topic_dirty(c, t);
        }
    }
    r->is_expanding = false;
    control_request_done(c, r);
}
