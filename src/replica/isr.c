/*
 * In-sync sets: expand, shrink, commit.
 * Invariant: while a proposal is pending no other is made, and the high watermark waits for members
 * of a pending expansion as if they were in (the maximal set).
 * Pure: runs wherever the owner of the core runs.
 */
#include "replica/isr.h"

#include "base/check.h"
#include "model/kerr.h"

bool replica_isr_expand(struct replica_core *c, const struct replica_remote *remote,
                        const struct replica_context *ctx)
{
    if (c->role != REPLICA_LEADER || c->pending != REPLICA_PENDING_NONE ||
        ids_has(&c->state.isr, remote->id)) {
        return false;
    }
    if (remote->log_end < c->high_watermark || remote->log_end < c->epoch_start ||
        !ctx->is_alive(ctx->arg, remote->id)) {
        return false;
    }
    c->pending = REPLICA_PENDING_EXPAND;
    ids_copy(&c->pending_isr, &c->state.isr);
    ids_add(&c->pending_isr, remote->id);
    return true;
}

static bool is_fit(struct replica_core *c, int32_t id, const struct replica_context *ctx)
{
    if (id == c->self) {
        return true;
    }
    const struct replica_remote *remote = replica_core_remote(c, id);
    return remote != NULL && replica_core_is_in_step(c, remote, ctx);
}

bool replica_isr_shrink(struct replica_core *c, const struct replica_context *ctx)
{
    if (c->role != REPLICA_LEADER || c->pending != REPLICA_PENDING_NONE) {
        return false;
    }
    ids_clear(&c->pending_isr);
    for (int32_t i = 0; i < c->state.isr.count; i++) {
        if (is_fit(c, c->state.isr.list[i], ctx)) {
            ids_add(&c->pending_isr, c->state.isr.list[i]);
        }
    }
    if (c->pending_isr.count == c->state.isr.count) {
        ids_clear(&c->pending_isr);
        return false;
    }
    c->pending = REPLICA_PENDING_SHRINK;
    return true;
}

static void drop(struct replica_core *c)
{
    c->pending = REPLICA_PENDING_NONE;
    c->is_pending_settled = false;
    ids_clear(&c->pending_isr);
}

static enum replica_isr_verdict refused(struct replica_core *c, int16_t error)
{
    switch (error) {
    case KERR_OPERATION_NOT_ATTEMPTED:
    case KERR_INELIGIBLE_REPLICA:
        drop(c);
        return REPLICA_ISR_DONE;
    case KERR_UNKNOWN_TOPIC_OR_PARTITION:
    case KERR_FENCED_LEADER_EPOCH:
    case KERR_INVALID_UPDATE_VERSION:
    case KERR_INVALID_REQUEST:
    case KERR_UNKNOWN_TOPIC_ID:
    case KERR_NEW_LEADER_ELECTED:
        c->is_pending_settled = true;
        return REPLICA_ISR_DONE;
    default:
        return REPLICA_ISR_RETRY;
    }
}

enum replica_isr_verdict replica_isr_answered(struct replica_core *c,
                                              const struct replica_isr_answer *answer,
                                              bool *ret_is_committed)
{
    *ret_is_committed = false;
    if (c->role != REPLICA_LEADER || c->pending == REPLICA_PENDING_NONE ||
        answer->sent_leader_epoch != c->state.leader_epoch ||
        answer->sent_partition_epoch != c->state.partition_epoch) {
        return REPLICA_ISR_DONE;
    }
    if (answer->error != 0) {
        return refused(c, answer->error);
    }
    if (answer->leader_epoch != c->state.leader_epoch ||
        answer->partition_epoch < c->state.partition_epoch) {
        /* The controller is ahead or astray; its LeaderAndIsr settles it. */
        c->is_pending_settled = true;
        return REPLICA_ISR_DONE;
    }
    ids_copy(&c->state.isr, &answer->isr);
    c->state.partition_epoch = answer->partition_epoch;
    drop(c);
    *ret_is_committed = true;
    return REPLICA_ISR_DONE;
}
