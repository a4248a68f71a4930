/*
 * A job of the moves queue as it is stored: what was asked for, and which partitions it moves. metastore/
 * encodes it below /klamm/jobs, moves/ decides about it. Plain data; who owns what is said at each struct.
 *
 * Whether a move runs is not stored: the topic znode says it (a partition that is reassigning to the
 * move's target is running). Stored is what cannot be seen there: that it is to wait, that it is over, and
 * what was before it.
 */
#pragma once

#include "base/slice.h"
#include "model/ids.h"

#define MODEL_JOB_ID_MAX   64  /* bytes */
#define MODEL_JOB_TEXT_MAX 255 /* bytes of submitted_by and client_id */

enum model_job_priority {
    MODEL_JOB_REPAIR,
    MODEL_JOB_DRAIN,
    MODEL_JOB_BALANCE,
    MODEL_JOB_PRIORITIES,
};

/* Bits of model_job_move.marks. */
enum model_job_mark {
    MODEL_JOB_PAUSED = 1, /* the operator said so */
    MODEL_JOB_BEGUN = 2,  /* one at a time: its first step may have been made */
    MODEL_JOB_LEAVING =
        4, /* somebody cancels or overrides it: out, unless the topic znode shows that
                                it runs or has ended */
    MODEL_JOB_RETURNING = 8, /* on its way back to the original list, in moves of its own */
    MODEL_JOB_DONE = 16,
    MODEL_JOB_CANCELLED = 32,
};

/* One partition of a job. Borrowed, unless it was decoded: then the piece owns it. */
struct model_job_move {
    struct slice topic;
    int32_t partition;
    struct ids target;
    struct ids original; /* the list to which an undo leads */
    struct ids
        replaces; /* BEGUN for another move's sake: while the partition is not where that one was to
                            go. Empty = not so */
    int32_t marks;      /* enum model_job_mark */
    int64_t started_ms; /* wall clock; -1 = not yet */
    /* As known when it was stored; 0 = unknown. */
    int64_t to_copy;  /* bytes */
    int64_t copied;   /* ditto */
    int64_t before;   /* of both, by steps that are over */
    int8_t reason;    /* why it does not advance, as moves/reason.h has them */
    int64_t since_ms; /* wall clock, of reason */
};

/* A job is stored in pieces of bounded size. Entries of one topic are adjacent. */
struct model_job_piece {
    struct model_job_move *moves;
    int32_t count;
};

enum model_job_fate {
    MODEL_JOB_WRITING, /* its pieces are being stored: a controller that finds it so removes it */
    MODEL_JOB_OPEN,
    MODEL_JOB_OVER,    /* all moves done */
    MODEL_JOB_STOPPED, /* over, and at least one of its moves was cancelled */
};

/* Borrowed, unless it was decoded: then free with model_job_deinit. */
struct model_job {
    struct slice id;
    uint64_t serial; /* order of submission */
    enum model_job_fate fate;
    struct slice submitted_by; /* principal */
    struct slice client_id;
    int64_t submitted_ms; /* wall clock */
    int64_t finished_ms;  /* wall clock; -1 = open */
    int64_t rate;         /* bytes/s for each broker and direction; -1 = none */
    int8_t priority;      /* enum model_job_priority */
    bool is_one_at_a_time;
    bool is_stock;       /* made from a stock Alter: has no limits but the operator's */
    int32_t piece_count; /* stored pieces: 0 when they were dropped */
    int32_t moves_total;
    int32_t moves_done;
    int32_t moves_cancelled;
    int64_t bytes_to_copy;
    int64_t bytes_copied;
};
