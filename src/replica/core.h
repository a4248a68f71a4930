/*
 * What one broker knows about one partition it hosts: its role, the committed state from the
 * controller, and, while it leads, how far every other replica has come.
 *
 * Pure: time, log ends and the liveness of brokers are passed in; ISR changes are proposed and
 * committed in replica/isr.h. Spec: docs/spec/reassignment.md sections 11.2 to 11.4.
 */
#pragma once

#include "base/error.h"
#include "model/ids.h"

enum replica_role {
    REPLICA_IDLE, /* on disk, but the controller has not spoken, or said stop */
    REPLICA_LEADER,
    REPLICA_FOLLOWER,
};

/* A proposal to change the in-sync set, on its way to the controller. */
enum replica_pending {
    REPLICA_PENDING_NONE,
    REPLICA_PENDING_EXPAND,
    REPLICA_PENDING_SHRINK,
};

/* What the rules ask about the world. */
struct replica_context {
    int64_t now_ms;
    int64_t lag_time_max_ms; /* replica.lag.time.max.ms */
    int32_t min_isr;         /* min.insync.replicas of the topic */
    /* The broker is live, so that it may join an in-sync set. */
    bool (*is_alive)(void *arg, int32_t broker);
    void *arg;
};

/* Another replica, seen from the leader (11.2). */
struct replica_remote {
    int32_t id;
    int64_t log_end;             /* -1 unknown */
    int64_t log_start;           /* -1 unknown */
    int64_t caught_up_ms;        /* last time it had everything; REPLICA_NEVER */
    int64_t fetch_ms;            /* its last fetch; REPLICA_NEVER */
    int64_t leader_end_at_fetch; /* our log end at that fetch; -1 unknown */
};

#define REPLICA_NEVER (INT64_MIN / 2)

/* The controller's decision, as LeaderAndIsr carries it. The lists may be borrowed views. */
struct replica_state {
    int32_t leader; /* -1 none */
    int32_t leader_epoch;
    int32_t partition_epoch;
    struct ids isr;
    struct ids replicas;
    struct ids adding;
    struct ids removing;
};

struct replica_core {
    int32_t self; /* this broker */
    enum replica_role role;
    struct replica_state state; /* owned; isr is the committed one and empty unless leader */
    int64_t epoch_start;        /* leader: the log end when this epoch began; -1 */
    int64_t log_end;            /* the local log's */
    int64_t high_watermark;
    enum replica_pending pending;
    struct ids pending_isr;         /* the proposed set, with pending */
    bool is_pending_settled;        /* refused for good: waits for the next LeaderAndIsr (11.5) */
    struct replica_remote *remotes; /* leader: one for each member of RS but self, in RS order */
    int32_t remote_count;
};

/* leader_epoch and partition_epoch start at -1. */
void replica_core_init(struct replica_core *c, int32_t self, int64_t log_end,
                       int64_t high_watermark);
void replica_core_deinit(struct replica_core *c);

/*
 * Applies an accepted decision (replica/accept.h). False when its partition epoch is older than ours
 * under the same leader epoch: nothing changes. Leader: remotes and epoch start as 11.3 says; the caller writes (epoch, log end)
 * into the epoch cache when *ret_is_new_epoch, then tries replica_core_advance. Anything else:
 * follower, also with leader -1.
 */
bool replica_core_apply(struct replica_core *c, const struct replica_state *state,
                        const struct replica_context *ctx, bool *ret_is_new_epoch) MUST_CHECK;
/* StopReplica without delete: no role any more. Epochs and lists stay. */
void replica_core_stop(struct replica_core *c);

/* The local log grew or was cut; a high watermark above the end comes down with it. */
void replica_core_set_log_end(struct replica_core *c, int64_t log_end);

/* NULL when id is not another member of RS, or we do not lead. */
struct replica_remote *replica_core_remote(struct replica_core *c, int32_t id);
/* A follower's fetch at offset was answered without error or divergence (11.2). */
void replica_core_fetched(struct replica_core *c, struct replica_remote *remote, int64_t offset,
                          int64_t log_start, int64_t now_ms);
/* It has everything, or had recently enough. */
bool replica_core_is_in_step(const struct replica_core *c, const struct replica_remote *remote,
                             const struct replica_context *ctx);
/* Leader: raises the high watermark as far as 11.4 allows. True when it moved. */
bool replica_core_advance(struct replica_core *c, const struct replica_context *ctx);
/* Follower: the leader's high watermark came with a fetch answer. True when ours moved. */
bool replica_core_follow_high_watermark(struct replica_core *c, int64_t leader_high_watermark);

/* min(min.insync.replicas, members of RS that are not being added): design decision 10, so that a
 * move of a small replica set does not stop its producers. */
int32_t replica_core_min_isr(const struct replica_core *c, int32_t min_isr);
/* The committed set, and members of an expansion under way. */
bool replica_core_in_maximal_isr(const struct replica_core *c, int32_t id);
bool replica_core_is_reassigning(const struct replica_core *c);
/* KIP-352: members of RS that are not being added, against the size of the in-sync set. */
bool replica_core_is_under_replicated(const struct replica_core *c);

/*
 * The leader-epoch test of requests: 0, -E_NOT_LEADER when we do not lead, -E_FENCED when theirs is
 * older, -E_UNKNOWN_EPOCH when it is newer. -1 is not compared.
 */
int replica_core_check_leader(const struct replica_core *c, int32_t their_epoch) MUST_CHECK;
