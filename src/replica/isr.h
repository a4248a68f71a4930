/*
 * Changes of the in-sync set: when a leader proposes one, and what the controller's answer does.
 * At most one proposal a partition is under way; the caller carries it (AlterPartition).
 * Pure. Spec: docs/spec/reassignment.md sections 11.4 and 11.5.
 */
#pragma once

#include "replica/core.h"

/* After replica_core_fetched: proposes the set with remote in it when it may join. True when
 * core->pending was set. */
bool replica_isr_expand(struct replica_core *c, const struct replica_remote *remote,
                        const struct replica_context *ctx);
/* Proposes the set without members that fell behind or are not in RS. Never without the leader. */
bool replica_isr_shrink(struct replica_core *c, const struct replica_context *ctx);

/* What the caller does with its proposal after an answer. */
enum replica_isr_verdict {
    REPLICA_ISR_DONE,  /* nothing is pending any more (or waits for LeaderAndIsr) */
    REPLICA_ISR_RETRY, /* send the same again */
};

/* The proposal that an answer belongs to: it is ignored when the partition has moved on. */
struct replica_isr_answer {
    int32_t sent_leader_epoch;
    int32_t sent_partition_epoch;
    int16_t error; /* protocol code of the partition */
    /* With error 0: */
    int32_t leader_epoch;
    int32_t partition_epoch;
    struct ids isr; /* may be a borrowed view */
};

/* *ret_is_committed: the committed set or its epoch changed, so try replica_core_advance. */
enum replica_isr_verdict replica_isr_answered(struct replica_core *c,
                                              const struct replica_isr_answer *answer,
                                              bool *ret_is_committed);
