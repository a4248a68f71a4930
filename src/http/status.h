/*
 * What /status tells of a broker, as a struct of facts and as JSON. The struct borrows its texts and
 * lists. No state; any thread.
 */
#pragma once

#include "base/buf.h"
#include <stdint.h>

/* One log directory. */
struct http_status_dir {
    const char *path;
    bool is_offline;
    int64_t total_bytes;  /* of the file system; -1 unknown */
    int64_t usable_bytes; /* ditto */
    int64_t log_bytes;    /* of the logs in it */
    int32_t log_count;
};

/* One replica that arrives. */
struct http_status_replica {
    int32_t broker;
    const char *state;
    int64_t lag_bytes; /* -1 unknown */
};

/* One move that runs. */
struct http_status_move {
    const char *topic;
    int32_t partition;
    int64_t age_ms;
    int64_t bytes_to_copy;
    int64_t bytes_copied;
    int64_t rate;       /* bytes a second; -1 unknown */
    int64_t eta_ms;     /* -1 none */
    const char *reason; /* why it does not advance; NULL = it does */
    int64_t reason_age_ms;
    const struct http_status_replica *adding;
    int32_t adding_count;
};

/* One job of the queue of moves. */
struct http_status_job {
    const char *id;
    const char *state;
    const char *submitted_by; /* may be any bytes */
    int64_t age_ms;           /* since it was submitted */
    int32_t total;            /* moves; by their states: */
    int32_t queued;
    int32_t running;
    int32_t paused;
    int32_t done;
    int32_t cancelled;
    int64_t bytes_to_copy;
    int64_t bytes_copied;
    int64_t rate;       /* bytes a second; -1 unknown */
    int64_t eta_ms;     /* -1 none */
    int64_t throttle;   /* bytes a second; -1 none */
    const char *reason; /* why none of its moves advances; NULL = one does */
    int64_t reason_age_ms;
};

/* Something that the controller leaves alone. */
struct http_status_held {
    const char *topic;  /* NULL: the plan of moves of an old tool */
    int32_t partition;  /* -1: none, the topic as a whole */
    const char *path;   /* of the node that cannot be written; NULL = unknown */
    const char *reason; /* why */
    int64_t age_ms;     /* since it was refused first */
};

struct http_status {
    int32_t broker;
    const char *state;        /* see broker_health */
    int64_t broker_epoch;     /* -1 = not registered */
    const char *cluster_id;   /* NULL = unknown */
    int32_t controller;       /* -1 = none known */
    bool is_controller;       /* this broker's is the active one */
    int32_t controller_epoch; /* -1 unless it is */

    int32_t hosted; /* partitions */
    int32_t led;
    int32_t followed;
    int32_t offline;
    int32_t failed; /* their copying has failed */
    int32_t under_replicated;
    int32_t under_min_isr;
    int32_t at_min_isr;
    int32_t reassigning;
    int64_t max_lag; /* records */

    const struct http_status_dir *dirs;
    int32_t dir_count;

    int32_t move_count; /* all that run in the cluster; known to the active controller */
    int32_t queued;     /* moves that wait; ditto */
    const struct http_status_move *moves;
    int32_t move_listed; /* in `moves`; the rest is left out */

    int32_t open_jobs; /* all that are not over; known to the active controller */
    const struct http_status_job *jobs;
    int32_t job_listed; /* in `jobs`; the rest is left out */

    int32_t held_count; /* all; known to the active controller */
    const struct http_status_held *held;
    int32_t held_listed; /* in `held`; the rest is left out */
};

/* One JSON object and a line feed. out turns failed when memory is refused. */
void http_status_write(const struct http_status *s, struct buf *out);
