/*
 * Deleting topics (docs/spec/reassignment.md 7.1 and decision 11). A queued topic stops moving at once:
 * its partitions count as cancelled, adding replicas are told to delete but not waited for. When every
 * other replica can be reached all are told to delete; when all have answered, the znodes go. Only then
 * the request is answered: its sender may make a topic of that name at once.
 * Invariant: from QUEUED on the topic's partitions start no write.
 */
#include "control/core.h"

#include <string.h>

static void deletes_answer(struct control *c, struct core_topic *t, enum kerr error,
                           const char *message)
{
    struct core_op *op = NULL;
    while ((op = control_op_pop(&t->deletes)) != NULL) {
        control_result_set(c, op, error, message);
    }
}

static void topic_log(struct control *c, const struct core_topic *t, enum control_level level,
                      const char *what)
{
    struct errmsg em;
    (void)errmsg_set(&em, E_OK, "topic %s %s", t->name, what);
    control_log_add(c, level, em.text);
}

/* ---- asking ---- */

static struct core_topic *entry_find(const struct control *c, struct core_request *r, int32_t index,
                                     enum kerr *ret_error)
{
    const struct control_delete_topics *body = &r->body.delete_topics;
    struct slice name = body->names[index];
    struct control_result *result = &r->results[index];
    struct core_topic *t = NULL;
    result->partition = -1;
    if (!slice_is_null(name)) {
        t = control_topic_find(c, name);
        result->topic = name;
        result->topic_id = t == NULL ? UUID_ZERO : t->id;
        *ret_error = KERR_UNKNOWN_TOPIC_OR_PARTITION;
        return t;
    }
    result->topic_id = body->ids == NULL ? UUID_ZERO : body->ids[index];
    t = control_topic_find_id(c, result->topic_id);
    if (t != NULL) {
        result->topic = slice_str(arena_str(&r->arena, slice_str(t->name)));
    }
    *ret_error = KERR_UNKNOWN_TOPIC_ID;
    return t;
}

void control_delete_start(struct control *c, struct core_request *r)
{
    control_request_expect(r, r->body.delete_topics.count);
    for (int32_t i = 0; i < r->body.delete_topics.count; i++) {
        struct core_op *op = control_op_new(r, i);
        enum kerr error = KERR_NONE;
        struct core_topic *t = entry_find(c, r, i, &error);
        if (t == NULL) {
            control_result_set(c, op, error, "there is no such topic");
        } else {
            control_op_wait(op, &t->deletes);
            if (t->deletion == DELETION_NONE && !t->is_queue_out) {
                t->is_queue_out = true;
                (void)control_write_emit(c, control_write_add(c, CONTROL_WRITE_DELETE_QUEUE, t));
            }
        }
    }
    r->is_expanding = false;
    control_request_done(c, r);
}

void control_delete_queued(struct control *c, struct core_topic *t)
{
    if (t->deletion != DELETION_NONE) {
        return;
    }
    t->deletion = DELETION_QUEUED;
    list_push_back(&c->deleting, &t->deleting);
    topic_log(c, t, CONTROL_INFO, "is queued for deletion");
    struct core_op *op = NULL;
    while (t->write == NULL && (op = control_op_pop(&t->grows)) != NULL) {
        control_op_fail(c, op, KERR_INVALID_TOPIC_EXCEPTION, "the topic is being deleted");
    }
    for (int32_t i = 0; i < t->partition_count; i++) {
        control_legacy_refuse(c, t->partitions[i], "the topic is being deleted");
        control_partition_ready(c, t->partitions[i]);
    }
    control_delete_advance(c, t);
}

/* A name in /admin/delete_topics that no topic has, or that may not be deleted: the entry goes. */
static void name_drop(struct control *c, struct slice name)
{
    char *copy = control_effect_array(c, name.len + 1, 1);
    memcpy(copy, name.ptr, name.len);
    struct core_write *w = control_write_add(c, CONTROL_WRITE_DELETE_DROP, NULL);
    control_write_emit(c, w)->topic = slice_of(copy, name.len);
}

void control_delete_names(struct control *c, const struct control_event *event)
{
    for (int32_t i = 0; i < event->name_count; i++) {
        struct core_topic *t = control_topic_find_any(c, event->names[i]);
        if (t == NULL) {
            name_drop(c, event->names[i]);
        } else if (c->config.refuses_deletions && t->deletion == DELETION_NONE) {
            topic_log(c, t, CONTROL_WARNING, "is not deleted: delete.topic.enable is false");
            name_drop(c, event->names[i]);
        } else if (!t->is_creating) {
            control_delete_queued(c, t);
        }
    }
}

/* ---- doing ---- */

/* A replica that must delete its copy before the topic may go: all but those a move was adding. */
static void holders(const struct core_partition *p, struct ids *ret)
{
    assignment_origin(&p->stored, ret);
}

static bool is_reachable(const struct control *c, const struct core_partition *p)
{
    struct ids list = {0};
    holders(p, &list);
    bool is_fine = true;
    for (int32_t i = 0; is_fine && i < list.count; i++) {
        is_fine = control_replica_is_alive(c, p, list.list[i]);
    }
    ids_deinit(&list);
    return is_fine;
}

static void remove_start(struct control *c, struct core_topic *t)
{
    t->deletion = DELETION_REMOVING;
    control_hold_free(c, &t->hold); /* of a change that is not wanted any more */
    (void)control_write_emit(c, control_write_add(c, CONTROL_WRITE_TOPIC_DELETE, t));
}

static void partition_stop(struct control *c, struct core_partition *p)
{
    control_move_free(c, p, KERR_UNKNOWN_TOPIC_OR_PARTITION);
    control_hold_free(c, &p->hold); /* nothing of it is written any more */
    holders(p, &p->deleting);
    p->topic->awaiting += p->deleting.count;
    control_tell_metadata(c, p);
    for (int32_t i = 0; i < p->stored.replicas.count; i++) {
        control_tell_stop(c, p, p->stored.replicas.list[i], true);
    }
}

void control_delete_advance(struct control *c, struct core_topic *t)
{
    if (t->deletion != DELETION_QUEUED || t->writes_pending > 0 || t->is_waiting) {
        return;
    }
    for (int32_t i = 0; i < t->partition_count; i++) {
        if (!is_reachable(c, t->partitions[i])) {
            t->is_waiting = true;
            topic_log(c, t, CONTROL_WARNING,
                      "cannot be deleted before all its replicas are online");
            return;
        }
    }
    t->awaiting = 0;
    t->deletion = DELETION_STOPPING;
    for (int32_t i = 0; i < t->partition_count; i++) {
        partition_stop(c, t->partitions[i]);
    }
    if (t->awaiting == 0) {
        remove_start(c, t);
    }
}

void control_delete_advance_all(struct control *c)
{
    struct list_node *n = NULL;
    list_foreach (n, &c->deleting) {
        struct core_topic *t = CONTAINER_OF(n, struct core_topic, deleting);
        t->is_waiting = false;
        control_delete_advance(c, t);
    }
}

/* A replica could not be deleted: all are told again when a broker comes. */
static void stop_again(struct control *c, struct core_topic *t)
{
    for (int32_t i = 0; i < t->partition_count; i++) {
        ids_clear(&t->partitions[i]->deleting);
    }
    t->awaiting = 0;
    t->deletion = DELETION_QUEUED;
    t->is_waiting = true;
    topic_log(c, t, CONTROL_WARNING, "waits for a replica that could not be deleted");
}

void control_delete_answer(struct control *c, struct core_partition *p, int32_t broker,
                           int16_t error)
{
    struct core_topic *t = p->topic;
    if (t->deletion != DELETION_STOPPING || !ids_has(&p->deleting, broker)) {
        return;
    }
    if (error != KERR_NONE) {
        stop_again(c, t);
        return;
    }
    ids_remove(&p->deleting, broker);
    t->awaiting--;
    if (t->awaiting == 0) {
        remove_start(c, t);
    }
}

void control_delete_broker_down(struct control *c, struct core_partition *p, int32_t broker)
{
    if (p->topic->deletion == DELETION_STOPPING && ids_has(&p->deleting, broker)) {
        stop_again(c, p->topic);
    }
}

void control_delete_written(struct control *c, const struct core_write *w,
                            const struct control_event *event)
{
    struct core_topic *t = w->topic;
    const char *message = event->message == NULL ? "a write failed" : event->message;
    if (w->kind == CONTROL_WRITE_DELETE_QUEUE) {
        t->is_queue_out = false;
        if (event->outcome == CONTROL_WRITTEN || event->outcome == CONTROL_CONFLICT) {
            control_delete_queued(c, t);
        } else {
            deletes_answer(c, t, KERR_UNKNOWN_SERVER_ERROR, message);
        }
        return;
    }
    CHECK(w->kind == CONTROL_WRITE_TOPIC_DELETE);
    if (event->outcome == CONTROL_FAILED) {
        deletes_answer(c, t, KERR_UNKNOWN_SERVER_ERROR, message);
        control_hold_topic(c, t, event);
        return;
    }
    control_hold_end(c, &t->hold);
    deletes_answer(c, t, KERR_NONE, NULL);
    topic_log(c, t, CONTROL_INFO, "is deleted");
    control_topic_free(c, t, KERR_UNKNOWN_TOPIC_OR_PARTITION);
}

void control_delete_retry(struct control *c, struct core_topic *t)
{
    if (t->deletion == DELETION_REMOVING) {
        (void)control_write_emit(c, control_write_add(c, CONTROL_WRITE_TOPIC_DELETE, t));
    }
}
