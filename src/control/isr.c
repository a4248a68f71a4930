/*
 * AlterPartition: leaders ask to change the ISR (docs/spec/reassignment.md 11.5; the checks are
 * numbered as there). The leader epoch never changes here, the partition epoch rises by one.
 */
#include "control/core.h"

static const struct control_isr_entry *entry_of(const struct core_op *op)
{
    return &op->request->body.alter_partition.entries[op->index];
}

void control_isr_answer(struct core_op *op, enum kerr error)
{
    struct control_isr_result *result = &op->request->isr_results[op->index];
    const struct core_partition *p = op->partition;
    result->error = (int16_t)error;
    if (error != KERR_NONE) {
        return;
    }
    /* The ISR is copied: the answer leaves later in this step, and the state may change before. */
    int32_t *isr = arena_array(&op->request->arena, (size_t)p->state.isr.count + 1, sizeof *isr);
    CHECK(isr != NULL);
    for (int32_t i = 0; i < p->state.isr.count; i++) {
        isr[i] = p->state.isr.list[i];
    }
    result->leader = p->state.leader;
    result->leader_epoch = p->state.leader_epoch;
    result->isr = (struct ids){.count = p->state.isr.count, .list = isr};
    result->recovery = (int8_t)p->state.recovery;
    result->partition_epoch = p->state.version;
}

static bool isr_is_equal(const struct core_partition *p, const struct control_isr_entry *e)
{
    if (e->isr_count != p->state.isr.count || e->recovery != (int8_t)p->state.recovery) {
        return false;
    }
    for (int32_t i = 0; i < e->isr_count; i++) {
        if (e->isr[i] != p->state.isr.list[i]) {
            return false;
        }
    }
    return true;
}

/* Check 12; also that the list is a list of replicas at all. */
static enum kerr isr_check(const struct control *c, const struct core_op *op)
{
    const struct control_alter_partition *body = &op->request->body.alter_partition;
    const struct control_isr_entry *e = entry_of(op);
    enum kerr ineligible =
        body->knows_ineligible ? KERR_INELIGIBLE_REPLICA : KERR_OPERATION_NOT_ATTEMPTED;
    bool has_leader = false;
    /* A bound alone. Who has gone, or left the list, may still be named: the leader must hear 107 and drop
     * the proposal, or be accepted and put right; at 42 it would wait for a LeaderAndIsr. */
    if (e->isr_count > (int32_t)HASH_COUNT(c->brokers) + op->partition->stored.replicas.count) {
        return KERR_INVALID_REQUEST;
    }
    for (int32_t i = 0; i < e->isr_count; i++) {
        has_leader |= e->isr[i] == body->broker;
        for (int32_t k = 0; k < i; k++) {
            if (e->isr[k] == e->isr[i]) {
                return KERR_INVALID_REQUEST;
            }
        }
    }
    if (!has_leader) {
        return KERR_INVALID_REQUEST;
    }
    for (int32_t i = 0; i < e->isr_count; i++) {
        /* A leader that shuts down must be able to drop others. */
        if (e->isr[i] != body->broker && !control_broker_is_live(c, e->isr[i])) {
            return ineligible;
        }
    }
    return KERR_NONE;
}

/* Checks 6 to 12. *ret_is_same: nothing to write. */
static enum kerr change_check(const struct control *c, const struct core_op *op, bool *ret_is_same)
{
    const struct core_partition *p = op->partition;
    const struct control_isr_entry *e = entry_of(op);
    if (!p->has_state) {
        return KERR_UNKNOWN_TOPIC_OR_PARTITION;
    }
    if (e->partition_epoch > p->state.version || e->leader_epoch > p->state.leader_epoch) {
        return KERR_NOT_CONTROLLER;
    }
    if (e->leader_epoch < p->state.leader_epoch) {
        return KERR_FENCED_LEADER_EPOCH;
    }
    if (op->request->body.alter_partition.broker != p->state.leader) {
        return KERR_INVALID_REQUEST;
    }
    if (isr_is_equal(p, e)) {
        *ret_is_same = true;
        return KERR_NONE;
    }
    if (e->partition_epoch < p->state.version) {
        return KERR_INVALID_UPDATE_VERSION;
    }
    if (e->recovery == MODEL_RECOVERING &&
        (e->isr_count > 1 || p->state.recovery == MODEL_RECOVERED)) {
        return KERR_INVALID_REQUEST;
    }
    return isr_check(c, op);
}

bool control_isr_run(struct control *c, struct core_op *op)
{
    struct core_partition *p = op->partition;
    const struct control_isr_entry *e = entry_of(op);
    bool is_same = false;
    enum kerr error = change_check(c, op, &is_same);
    if (error != KERR_NONE || is_same) {
        (void)list_pop(&p->ops);
        control_isr_answer(op, error);
        control_request_done(c, op->request);
        return false;
    }
    struct model_partition_state next = p->state;
    next.isr = (struct ids){0};
    ids_set(&next.isr, e->isr, e->isr_count);
    next.recovery = (enum model_recovery)e->recovery;
    control_partition_write(c, p, WHY_OP, &next);
    return true;
}

/* Checks 4 and 5; what passes waits for its turn at the partition. */
static void entry_start(struct control *c, struct core_request *r, int32_t index)
{
    const struct control_isr_entry *e = &r->body.alter_partition.entries[index];
    struct core_op *op = control_op_new(r, index);
    struct core_topic *t = slice_is_null(e->topic) ? control_topic_find_id(c, e->topic_id)
                                                   : control_topic_find(c, e->topic);
    enum kerr error = KERR_NONE;
    if (t == NULL && slice_is_null(e->topic)) {
        error = KERR_UNKNOWN_TOPIC_ID;
    } else if (t == NULL || e->partition < 0 || e->partition >= t->partition_count) {
        error = KERR_UNKNOWN_TOPIC_OR_PARTITION;
    } else {
        op->partition = t->partitions[e->partition];
        list_push_back(&op->partition->ops, &op->link);
        control_partition_ready(c, op->partition);
        return;
    }
    control_isr_answer(op, error);
    control_request_done(c, r);
}

/* Checks 2 and 3. */
static enum kerr sender_check(const struct control *c, const struct control_alter_partition *body)
{
    const struct core_broker *b = control_broker_find(c, body->broker);
    if (b == NULL || !b->is_registered || b->model.epoch != body->broker_epoch) {
        return KERR_STALE_BROKER_EPOCH;
    }
    for (int32_t i = 0; i < body->count; i++) {
        if (body->entries[i].recovery != MODEL_RECOVERED &&
            body->entries[i].recovery != MODEL_RECOVERING) {
            return KERR_UNKNOWN_SERVER_ERROR;
        }
    }
    return KERR_NONE;
}

void control_isr_start(struct control *c, struct core_request *r)
{
    const struct control_alter_partition *body = &r->body.alter_partition;
    enum kerr error = sender_check(c, body);
    if (error != KERR_NONE) {
        control_request_fail(c, r, error, NULL);
        return;
    }
    control_request_expect(r, body->count);
    for (int32_t i = 0; i < body->count; i++) {
        r->isr_results[i] = (struct control_isr_result){
            .topic = body->entries[i].topic,
            .topic_id = body->entries[i].topic_id,
            .partition = body->entries[i].partition,
            .leader = -1,
            .leader_epoch = -1,
            .recovery = -1,
            .partition_epoch = -1,
        };
        entry_start(c, r, i);
    }
    r->is_expanding = false;
    control_request_done(c, r);
}
