/*
 * Truncation decisions. Pure and without state.
 * Invariant: no result lies below the log start or above the log end.
 */
#include "replica/truncate.h"

#include "base/check.h"

int replica_truncate_check(struct replica_epoch_end ours, int32_t last_epoch, int64_t offset,
                           bool *ret_is_diverging)
{
    if (ours.epoch < 0 || ours.end < 0) {
        return -E_OUT_OF_RANGE;
    }
    *ret_is_diverging = ours.epoch < last_epoch || ours.end < offset;
    return 0;
}

struct replica_truncation replica_truncate_offset(const struct replica_truncate_input *in)
{
    struct replica_truncation result = {.is_final = true};
    if (in->leader.end < 0) {
        result.offset = in->initial;
    } else if (in->leader.epoch < 0 || in->own.epoch < 0) {
        result.offset = in->leader.end;
    } else if (in->own.epoch < in->leader.epoch) {
        result.offset = in->own.end;
        result.is_final = false;
    } else {
        result.offset = MIN(in->leader.end, in->own.end);
    }
    result.offset = MAX(MIN(result.offset, in->log_end), in->log_start);
    return result;
}

enum replica_resync replica_resync_latest(int64_t own_end, int64_t leader_end)
{
    return leader_end < own_end ? REPLICA_RESYNC_TRUNCATE : REPLICA_RESYNC_EARLIEST;
}

enum replica_resync replica_resync_earliest(int64_t own_end, int64_t leader_start)
{
    return leader_start > own_end ? REPLICA_RESYNC_RESTART : REPLICA_RESYNC_FETCH;
}
