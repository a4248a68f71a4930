/*
 * How far moves are: bytes on the arriving replicas against the bytes they will have, the rate of the
 * last seconds, the time left. Pure: time is passed in.
 */
#pragma once

#include "base/buf.h"
#include "klamm/klamm.h"

#define CLI_PROGRESS_SAMPLES 10

struct cli_progress_sample {
    int64_t time_ms;
    int64_t copied; /* bytes */
};

struct cli_progress_row {
    const char *topic; /* borrowed */
    int32_t partition;
    struct klamm_ids wanted; /* the target; borrowed; empty = what the move says */
    struct klamm_ids adding; /* owned copy: who arrives */
    int64_t copied;          /* bytes, over all arriving replicas */
    int64_t total;           /* bytes, over all arriving replicas */
    int64_t source_size;     /* of the present poll: the largest replica that stays or leaves */
    int64_t gathered;        /* of the present poll: bytes on arriving replicas */
    int64_t started_ms;      /* when we first saw it */
    int64_t gone_ms;         /* when it was first not listed as moving; -1 = it is */
    int64_t ended_ms;        /* when its end was certain; -1 = not yet */
    bool is_moving;          /* as the last poll saw it */
    bool was_seen;           /* it was moving at some time */
    const char *ending;      /* "done", ...; set with ended_ms */
    struct cli_progress_sample samples[CLI_PROGRESS_SAMPLES]; /* oldest first */
    int32_t sample_count;
    int32_t printed_percent; /* as last printed in plain output; -1 = never */
    int64_t printed_ms;
};

/* Starts a poll: sizes are gathered anew with the next two. */
void cli_progress_begin(struct cli_progress_row *row);
/* A replica of the partition on that broker has so many bytes. */
void cli_progress_add(struct cli_progress_row *row, int32_t broker_id, int64_t size);
/* Ends a poll: the arriving replicas count up to the source's size each. */
void cli_progress_end(struct cli_progress_row *row, int64_t now_ms);
/* 0..100; below 100 as long as it moves. */
int32_t cli_progress_percent(const struct cli_progress_row *row);
/* Bytes a second over the samples; 0 when unknown. */
int64_t cli_progress_rate(const struct cli_progress_row *row);
/* Seconds; -1 when unknown. */
int64_t cli_progress_left(const struct cli_progress_row *row);
/* "foo-0  1.2 GB of 3.4 GB  35 %  45.0 MB/s  48 s left  to 4,5,6", names padded to the width; no
 * line end. */
void cli_progress_put_line(const struct cli_progress_row *row, int32_t name_width, struct buf *out);
/* The sum of all, in the same form. */
void cli_progress_put_total(const struct cli_progress_row *rows, int32_t count, struct buf *out);
