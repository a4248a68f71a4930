/*
 * The load itself: one encoded batch, sent again and again. The CRC of a batch does not cover its base
 * offset, so the same bytes are valid each time and no record is touched.
 * Closed loop: each connection keeps `inflight` batches on their way. Open loop: batches leave by the
 * clock, and latency counts from the time a batch should have left.
 */
#pragma once

#include "base/histogram.h"
#include "cluster.h"

#include <stdatomic.h>

struct load_config {
    const char *topic;
    int32_t partitions;  /* how many are used, from 0 up; 0 = all */
    int16_t acks;        /* 1 or -1 */
    int32_t record_size; /* bytes of a value */
    int32_t batch_bytes; /* of a whole batch, at most; at least one record is in it */
    uint64_t bytes;      /* in all; 0 = by records */
    uint64_t records;    /* in all */
    int32_t inflight;    /* batches on their way for each connection, closed loop */
    double rate;         /* batches a second over all; 0 = closed loop */
    int32_t connections; /* to each leader */
};

struct load_result {
    uint64_t batches;
    uint64_t records;
    uint64_t bytes;              /* of batches */
    uint64_t retries;            /* batches sent again after an error */
    double seconds;              /* from the first send to the last answer */
    struct histogram latency_us; /* open loop: without the first tenth */
};

/* Runs to the end on env, which must not run yet; the topic must exist. 0 or -E_... with em. */
int load_run(struct env *env, struct cluster *cluster, const struct load_config *config,
             struct load_result *ret_result, struct errmsg *em) MUST_CHECK;
