/*
 * Where logs that may have parted meet again: the leader's test for divergence, the follower's choice
 * of where to cut, and the way back after "offset out of range".
 * Pure: lookups in the epoch cache are done by the caller and passed as values.
 * Spec: docs/spec/reassignment.md sections 11.6 and 11.7.
 */
#pragma once

#include "base/error.h"

#include <stdbool.h>
#include <stdint.h>

/* An epoch and the offset behind its last record; {-1, -1} = unknown. */
struct replica_epoch_end {
    int32_t epoch;
    int64_t end;
};

/* Leader: the follower fetches at offset and last saw last_epoch; ours is what the leader's epoch
 * cache answers for last_epoch. 0 with *ret_is_diverging, or -E_OUT_OF_RANGE when nothing is known. */
int replica_truncate_check(struct replica_epoch_end ours, int32_t last_epoch, int64_t offset,
                           bool *ret_is_diverging) MUST_CHECK;

/* The follower's side. */
struct replica_truncate_input {
    struct replica_epoch_end leader; /* the leader's answer (E, O) */
    struct replica_epoch_end own; /* our largest epoch <= E and where it ends here; -1, -1 = none */
    int64_t initial;   /* high watermark when it became follower: for leaders that know nothing */
    int64_t log_start; /* never cut below */
    int64_t log_end;
};

struct replica_truncation {
    int64_t offset; /* cut to this; log_end = nothing to cut */
    bool is_final;  /* else ask again with our latest epoch then */
};

struct replica_truncation replica_truncate_offset(const struct replica_truncate_input *in);

/* After OFFSET_OUT_OF_RANGE. */
enum replica_resync {
    REPLICA_RESYNC_TRUNCATE, /* cut to the leader's end, fetch from there */
    REPLICA_RESYNC_EARLIEST, /* our end may be below the leader's start: ask for that */
    REPLICA_RESYNC_RESTART,  /* drop the log, start empty at the leader's start */
    REPLICA_RESYNC_FETCH,    /* the log is fine: fetch from its end */
};

/* First answer: the leader's latest offset. */
enum replica_resync replica_resync_latest(int64_t own_end, int64_t leader_end);
/* Second answer: its earliest. */
enum replica_resync replica_resync_earliest(int64_t own_end, int64_t leader_start);
