/*
 * What moves may be asked for: validation (docs/spec/reassignment.md 3.5), the entries of Alter one by one.
 * Decisions 2, 3, 4 and 8 of the design. How moves run: reassign.c; what is listed: listing.c.
 */
#include "control/core.h"

#include "base/buf.h"

#include <stdlib.h>

/* ---- judging an entry ---- */

/* P1 to P4. p is NULL for a partition nobody knows: then every id counts as new. */
static enum kerr list_check(const struct control *c, const struct core_partition *p,
                            const struct core_request *r, int32_t index, struct errmsg *em)
{
    const struct control_alter_entry *e = &r->body.alter.entries[index];
    bool allows_dead = r->body.alter.allows_dead_targets;
    struct ids list = {0};
    int32_t known = (int32_t)HASH_COUNT(c->brokers) + (p == NULL ? 0 : p->stored.replicas.count);
    if (e->replica_count == 0) {
        (void)errmsg_set(em, E_INVALID, "the replica list is empty");
        return KERR_INVALID_REPLICA_ASSIGNMENT;
    }
    if (e->replica_count > known && !allows_dead) {
        (void)errmsg_set(em, E_INVALID, "the replica list names more brokers than there are");
        return KERR_INVALID_REPLICA_ASSIGNMENT;
    }
    ids_set(&list, e->replicas, e->replica_count);
    enum kerr error = KERR_NONE;
    if (ids_has_duplicate(&list)) {
        (void)errmsg_set(em, E_INVALID, "the replica list names a broker twice");
        error = KERR_INVALID_REPLICA_ASSIGNMENT;
    }
    struct ids origin = {0};
    if (p != NULL) {
        assignment_origin(&p->stored, &origin);
    }
    for (int32_t i = 0; error == KERR_NONE && i < list.count; i++) {
        int32_t id = list.list[i];
        if (id < 0 || (!allows_dead && !ids_has(&origin, id) && !control_broker_is_live(c, id))) {
            (void)errmsg_set(em, E_INVALID, "broker %d is not alive", id);
            error = KERR_INVALID_REPLICA_ASSIGNMENT;
        }
    }
    ids_deinit(&origin);
    ids_deinit(&list);
    return error;
}

/* Decision 2, and the same care for an override: the list after the change must keep what the partition
 * lives on. A running move is stopped by next when next no longer moves. */
static enum kerr strand_check(const struct core_partition *p, const struct assignment *next,
                              struct errmsg *em)
{
    int32_t isr_count = p->state.isr.count;
    int32_t kept = ids_common_count(&p->state.isr, &next->replicas);
    if (!p->has_state || kept == isr_count) {
        return KERR_NONE;
    }
    int32_t wanted = MIN(p->topic->min_insync_replicas, next->replicas.count);
    bool is_undo = !assignment_is_reassigning(next);
    if (kept > 0 && !(is_undo && kept < wanted && kept < isr_count)) {
        return KERR_NONE;
    }
    struct buf names;
    buf_init(&names);
    for (int32_t i = 0; i < next->replicas.count; i++) {
        if (!ids_has(&p->state.isr, next->replicas.list[i])) {
            buf_putf(&names, "%s%d", names.len == 0 ? "" : ", ", next->replicas.list[i]);
        }
    }
    struct slice shown = slice_of(names.ptr, MIN(names.len, ERRMSG_SIZE / 2));
    (void)errmsg_set(em, E_INVALID,
                     "refused: %d of %d in-sync replicas would remain; not in sync: broker %.*s",
                     kept, isr_count, SLICE_ARG(shown));
    buf_deinit(&names);
    return KERR_INVALID_REPLICA_ASSIGNMENT;
}

/* The triple that the entry asks for. */
static enum kerr alter_next(const struct control *c, const struct core_op *op,
                            struct assignment *ret, const char **ret_note, struct errmsg *em)
{
    const struct core_partition *p = op->partition;
    const struct control_alter *alter = &op->request->body.alter;
    const struct control_alter_entry *e = &alter->entries[op->index];
    if (e->from != NULL && !assignment_undoes_to(&p->stored, e->from)) {
        (void)errmsg_set(em, E_INVALID, "the partition has moved meanwhile");
        return KERR_INVALID_UPDATE_VERSION;
    }
    if (e->is_cancel) {
        if (!assignment_is_reassigning(&p->stored)) {
            (void)errmsg_set(em, E_NOT_FOUND, "no move is in progress");
            return KERR_NO_REASSIGNMENT_IN_PROGRESS;
        }
        if (!assignment_undo_target(&p->stored, &ret->replicas)) {
            *ret_note = "the list from before the move is not stored: its order may differ";
        }
        return alter->is_cancel_forced ? KERR_NONE : strand_check(p, ret, em);
    }
    enum kerr error = list_check(c, p, op->request, op->index, em);
    if (error != KERR_NONE) {
        return error;
    }
    int32_t factor = p->stored.replicas.count - p->stored.removing.count;
    if (alter->forbids_factor_change && e->replica_count != factor) {
        (void)errmsg_set(em, E_INVALID, "the replication factor would change from %d to %d", factor,
                         e->replica_count);
        return KERR_INVALID_REPLICATION_FACTOR;
    }
    struct ids target = {0};
    ids_set(&target, e->replicas, e->replica_count);
    assignment_reassign(&p->stored, &target, ret);
    ids_deinit(&target);
    return alter->is_cancel_forced ? KERR_NONE : strand_check(p, ret, em);
}

/* ---- beginning a move ---- */

int control_move_to(struct control *c, struct core_partition *p, const struct ids *target,
                    struct errmsg *em)
{
    struct assignment next = {0};
    assignment_reassign(&p->stored, target, &next);
    int err = strand_check(p, &next, em) == KERR_NONE ? 0 : -E_INVALID;
    if (err == 0) {
        control_move_begin(c, p, &next);
        p->move->note = NULL;
        p->move->is_forced = false;
    }
    assignment_deinit(&next);
    return err;
}

bool control_alter_run(struct control *c, struct core_op *op)
{
    struct core_partition *p = op->partition;
    struct assignment next = {0};
    const char *note = NULL;
    struct errmsg em = {0};
    enum kerr error = alter_next(c, op, &next, &note, &em);
    bool is_real = !op->request->body.alter.is_validate_only;
    if (error == KERR_NONE && is_real && control_legacy_yields(c, p)) {
        if (!control_legacy_is_stuck(c)) {
            assignment_deinit(&next);
            return true;
        }
        error = KERR_UNKNOWN_SERVER_ERROR;
        (void)errmsg_set(&em, E_REFUSED, "it is still in the plan of moves: %.300s",
                         c->legacy_hold->why);
    }
    (void)list_pop(&p->ops);
    if (error != KERR_NONE || !is_real) {
        control_result_set(c, op, error, error != KERR_NONE ? em.text : note);
        assignment_deinit(&next);
        return false;
    }
    control_move_begin(c, p, &next);
    p->move->note = note;
    p->move->is_forced = op->request->body.alter.is_cancel_forced;
    list_push_back(&p->move->answers, &op->link);
    assignment_deinit(&next);
    return false;
}

/* ---- from a request to operations ---- */

struct core_seen {
    struct slice topic;
    int32_t partition;
    int32_t index;
    uint64_t hash;
    UT_hash_handle hh;
};

/* The entry that named the same partition before, or -1. */
static int32_t seen_before(struct control *c, struct core_request *r, int32_t index)
{
    const struct control_alter_entry *e = &r->body.alter.entries[index];
    struct core_partition *p = control_partition_find(c, e->topic, e->partition);
    if (p != NULL) {
        int32_t before = p->seen_request == r->serial ? p->seen_index : -1;
        p->seen_request = r->serial;
        p->seen_index = index;
        return before;
    }
    uint64_t hash = hash_bytes(e->topic.ptr, e->topic.len) ^ (uint64_t)(uint32_t)e->partition;
    struct core_seen *seen = NULL;
    HASH_FIND(hh, r->seen, &hash, sizeof hash, seen);
    if (seen != NULL) {
        return slice_equal(seen->topic, e->topic) && seen->partition == e->partition ? seen->index
                                                                                     : -1;
    }
    seen = xalloc(sizeof *seen);
    *seen = (struct core_seen){
        .topic = e->topic, .partition = e->partition, .index = index, .hash = hash};
    HASH_ADD(hh, r->seen, hash, sizeof seen->hash, seen);
    return -1;
}

void control_seen_clear(struct core_request *r)
{
    struct core_seen *seen = NULL;
    struct core_seen *next = NULL;
    HASH_ITER(hh, r->seen, seen, next)
    {
        HASH_DEL(r->seen, seen);
        free(seen);
    }
}

static void duplicate_mark(struct core_request *r, int32_t index)
{
    r->results[index].error = KERR_INVALID_REQUEST;
}

static void entry_start(struct control *c, struct core_request *r, int32_t index)
{
    const struct control_alter_entry *e = &r->body.alter.entries[index];
    struct core_op *op = control_op_new(r, index);
    if (r->results[index].error != KERR_NONE) {
        control_result_set(c, op, KERR_INVALID_REQUEST,
                           "the partition is named more than once in the request");
        return;
    }
    struct core_partition *p = control_partition_find(c, e->topic, e->partition);
    if (p != NULL && p->topic->deletion == DELETION_NONE) {
        op->partition = p;
        list_push_back(&p->ops, &op->link);
        control_partition_ready(c, p);
        return;
    }
    struct errmsg em = {0};
    enum kerr error = KERR_NO_REASSIGNMENT_IN_PROGRESS;
    if (e->is_cancel) {
        (void)errmsg_set(&em, E_NOT_FOUND, "no move is in progress");
    } else {
        error = list_check(c, p, r, index, &em);
    }
    if (error == KERR_NONE) {
        error = KERR_UNKNOWN_TOPIC_OR_PARTITION;
        (void)errmsg_set(&em, E_NOT_FOUND,
                         p == NULL ? "there is no such partition" : "the topic is being deleted");
    }
    control_result_set(c, op, error, em.text);
}

void control_alter_expand(struct control *c, struct core_request *r)
{
    int32_t count = r->body.alter.count;
    for (; r->pass == 0 && r->cursor < count && c->budget > 0; r->cursor++, c->budget--) {
        int32_t before = seen_before(c, r, r->cursor);
        if (before >= 0) {
            duplicate_mark(r, before);
            duplicate_mark(r, r->cursor);
        }
    }
    if (r->pass == 0 && r->cursor == count) {
        control_seen_clear(r);
        r->pass = 1;
        r->cursor = 0;
    }
    for (; r->pass == 1 && r->cursor < count && c->budget > 0; r->cursor++, c->budget--) {
        entry_start(c, r, r->cursor);
    }
    if (r->pass == 1 && r->cursor == count) {
        r->is_expanding = false;
        list_remove(&c->expanding, &r->expanding);
        control_request_done(c, r);
    }
}
