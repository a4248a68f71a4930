/*
 * The state of one hosted partition and the rules that need nothing but it: follower progress, the
 * high watermark, epoch tests.
 * Invariant: high_watermark never passes log_end, and a leader's only falls with its log.
 * Pure: runs wherever the owner of the struct runs.
 */
#include "replica/core.h"

#include "base/alloc.h"
#include "base/check.h"

#include <stdlib.h>

void replica_core_init(struct replica_core *c, int32_t self, int64_t log_end,
                       int64_t high_watermark)
{
    CHECK(high_watermark <= log_end);
    *c = (struct replica_core){
        .self = self,
        .role = REPLICA_IDLE,
        .state = {.leader = -1, .leader_epoch = -1, .partition_epoch = -1},
        .epoch_start = -1,
        .log_end = log_end,
        .high_watermark = high_watermark,
    };
}

void replica_core_deinit(struct replica_core *c)
{
    ids_deinit(&c->state.isr);
    ids_deinit(&c->state.replicas);
    ids_deinit(&c->state.adding);
    ids_deinit(&c->state.removing);
    ids_deinit(&c->pending_isr);
    free(c->remotes);
    c->remotes = NULL;
    c->remote_count = 0;
}

static void drop_pending(struct replica_core *c)
{
    c->pending = REPLICA_PENDING_NONE;
    c->is_pending_settled = false;
    ids_clear(&c->pending_isr);
}

static void drop_remotes(struct replica_core *c)
{
    free(c->remotes);
    c->remotes = NULL;
    c->remote_count = 0;
}

/* Remotes for the present RS; progress of those that stay is kept unless leadership is new. */
static void rebuild_remotes(struct replica_core *c, bool is_kept)
{
    const struct ids *replicas = &c->state.replicas;
    struct replica_remote *remotes =
        replicas->count == 0 ? NULL : xalloc(sizeof *remotes * (size_t)replicas->count);
    int32_t count = 0;
    for (int32_t i = 0; i < replicas->count; i++) {
        int32_t id = replicas->list[i];
        if (id == c->self) {
            continue;
        }
        const struct replica_remote *old = is_kept ? replica_core_remote(c, id) : NULL;
        remotes[count++] = old != NULL ? *old
                                       : (struct replica_remote){
                                             .id = id,
                                             .log_end = -1,
                                             .log_start = -1,
                                             .caught_up_ms = REPLICA_NEVER,
                                             .fetch_ms = REPLICA_NEVER,
                                             .leader_end_at_fetch = -1,
                                         };
    }
    free(c->remotes);
    c->remotes = remotes;
    c->remote_count = count;
}

/* A new epoch gives every in-sync member the full lag time to show up again (11.3). */
static void start_epoch(struct replica_core *c, int64_t now_ms)
{
    c->epoch_start = c->log_end;
    for (int32_t i = 0; i < c->remote_count; i++) {
        struct replica_remote *remote = &c->remotes[i];
        bool is_in_sync = ids_has(&c->state.isr, remote->id);
        remote->caught_up_ms = is_in_sync ? now_ms : REPLICA_NEVER;
        if (remote->log_end >= 0) {
            remote->leader_end_at_fetch = c->log_end;
            remote->fetch_ms = is_in_sync ? now_ms : REPLICA_NEVER;
        }
    }
}

bool replica_core_apply(struct replica_core *c, const struct replica_state *state,
                        const struct replica_context *ctx, bool *ret_is_new_epoch)
{
    /* Under a newer leader epoch the versions of a znode that was made anew start again. */
    if (state->leader_epoch <= c->state.leader_epoch &&
        state->partition_epoch < c->state.partition_epoch) {
        return false;
    }
    bool was_leader = c->role == REPLICA_LEADER;
    bool is_new_epoch = state->leader_epoch > c->state.leader_epoch;
    drop_pending(c);
    c->state.leader = state->leader;
    c->state.leader_epoch = state->leader_epoch;
    c->state.partition_epoch = state->partition_epoch;
    ids_copy(&c->state.replicas, &state->replicas);
    ids_copy(&c->state.adding, &state->adding);
    ids_copy(&c->state.removing, &state->removing);
    if (state->leader == c->self) {
        c->role = REPLICA_LEADER;
        ids_copy(&c->state.isr, &state->isr);
        rebuild_remotes(c, was_leader);
        if (is_new_epoch || !was_leader) {
            start_epoch(c, ctx->now_ms);
        }
    } else {
        c->role = REPLICA_FOLLOWER;
        ids_clear(&c->state.isr);
        drop_remotes(c);
        c->epoch_start = -1;
    }
    *ret_is_new_epoch = is_new_epoch;
    return true;
}

void replica_core_stop(struct replica_core *c)
{
    c->role = REPLICA_IDLE;
    c->state.leader = -1;
    ids_clear(&c->state.isr);
    drop_pending(c);
    drop_remotes(c);
    c->epoch_start = -1;
}

void replica_core_set_log_end(struct replica_core *c, int64_t log_end)
{
    c->log_end = log_end;
    if (c->high_watermark > log_end) {
        c->high_watermark = log_end;
    }
}

struct replica_remote *replica_core_remote(struct replica_core *c, int32_t id)
{
    for (int32_t i = 0; i < c->remote_count; i++) {
        if (c->remotes[i].id == id) {
            return &c->remotes[i];
        }
    }
    return NULL;
}

void replica_core_fetched(struct replica_core *c, struct replica_remote *remote, int64_t offset,
                          int64_t log_start, int64_t now_ms)
{
    if (offset >= c->log_end) {
        remote->caught_up_ms = now_ms;
    } else if (remote->leader_end_at_fetch >= 0 && offset >= remote->leader_end_at_fetch) {
        remote->caught_up_ms = MAX(remote->caught_up_ms, remote->fetch_ms);
    }
    remote->log_end = offset;
    remote->log_start = log_start;
    remote->fetch_ms = now_ms;
    remote->leader_end_at_fetch = c->log_end;
}

bool replica_core_is_in_step(const struct replica_core *c, const struct replica_remote *remote,
                             const struct replica_context *ctx)
{
    return remote->log_end == c->log_end ||
           ctx->now_ms - remote->caught_up_ms <= ctx->lag_time_max_ms;
}

/* A member of the ISR that is not in RS any more. Until it has left the stored ISR it may still be
 * elected, and nothing is known of its progress. */
static bool has_stranger(struct replica_core *c)
{
    for (int32_t i = 0; i < c->state.isr.count; i++) {
        int32_t id = c->state.isr.list[i];
        if (id != c->self && replica_core_remote(c, id) == NULL) {
            return true;
        }
    }
    return false;
}

bool replica_core_advance(struct replica_core *c, const struct replica_context *ctx)
{
    if (c->role != REPLICA_LEADER || c->state.isr.count < replica_core_min_isr(c, ctx->min_isr) ||
        has_stranger(c)) {
        return false;
    }
    int64_t high_watermark = c->log_end;
    for (int32_t i = 0; i < c->remote_count; i++) {
        const struct replica_remote *remote = &c->remotes[i];
        if (remote->log_end >= high_watermark) {
            continue;
        }
        /* One that is about to join is waited for, so that it cannot be overtaken for ever. */
        if (replica_core_in_maximal_isr(c, remote->id) ||
            (replica_core_is_in_step(c, remote, ctx) && ctx->is_alive(ctx->arg, remote->id))) {
            high_watermark = remote->log_end;
        }
    }
    if (high_watermark <= c->high_watermark) {
        return false;
    }
    c->high_watermark = high_watermark;
    return true;
}

bool replica_core_follow_high_watermark(struct replica_core *c, int64_t leader_high_watermark)
{
    int64_t high_watermark = MIN(leader_high_watermark, c->log_end);
    if (high_watermark <= c->high_watermark) {
        return false;
    }
    c->high_watermark = high_watermark;
    return true;
}

/* Size of RS without AR. */
static int32_t settled_count(const struct replica_core *c)
{
    int32_t count = 0;
    for (int32_t i = 0; i < c->state.replicas.count; i++) {
        if (!ids_has(&c->state.adding, c->state.replicas.list[i])) {
            count++;
        }
    }
    return count;
}

int32_t replica_core_min_isr(const struct replica_core *c, int32_t min_isr)
{
    return MIN(min_isr, settled_count(c));
}

bool replica_core_in_maximal_isr(const struct replica_core *c, int32_t id)
{
    return ids_has(&c->state.isr, id) ||
           (c->pending == REPLICA_PENDING_EXPAND && ids_has(&c->pending_isr, id));
}

bool replica_core_is_reassigning(const struct replica_core *c)
{
    return c->state.adding.count > 0 || c->state.removing.count > 0;
}

bool replica_core_is_under_replicated(const struct replica_core *c)
{
    return c->role == REPLICA_LEADER && settled_count(c) > c->state.isr.count;
}

int replica_core_check_leader(const struct replica_core *c, int32_t their_epoch)
{
    if (their_epoch >= 0 && their_epoch < c->state.leader_epoch) {
        return -E_FENCED;
    }
    if (their_epoch > c->state.leader_epoch) {
        return -E_UNKNOWN_EPOCH;
    }
    return c->role == REPLICA_LEADER ? 0 : -E_NOT_LEADER;
}
