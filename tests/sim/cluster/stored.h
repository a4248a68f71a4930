/*
 * What is stored, write by write: the store shows every change while it is carried out, so no state is
 * missed between two looks. Checked at each write of the topic: a move keeps the list from before the first
 * one, bit for bit; it ends at its target or at that list; who brings replicas over one at a time adds one.
 * And of each job: what was promised stays. stored.c; limits of the queue: caps.c.
 */
#pragma once

#include "model/assignment.h"
#include "model/job.h"
#include "moves/moves.h"

#define STORED_PARTITIONS_MAX 4
#define STORED_BROKERS_MAX    6
#define STORED_LIMITS_MAX     32

struct cluster;

/* A set of replica lists. */
struct stored_lists {
    struct ids *list;
    int32_t count;
    int32_t cap;
};

struct stored_move {
    bool is_there;
    struct ids target;
    struct ids original;
    int32_t marks; /* enum model_job_mark */
};

struct stored_job {
    char id[MODEL_JOB_ID_MAX + 1];
    bool has_node; /* else only a piece came so far */
    uint64_t serial;
    enum model_job_fate fate;
    int64_t rate;
    bool is_one_at_a_time;
    struct stored_move moves[STORED_PARTITIONS_MAX];
};

struct cluster_stored {
    struct assignment now[STORED_PARTITIONS_MAX];
    struct stored_lists asked[STORED_PARTITIONS_MAX]; /* somebody asked for it, or it was at rest */
    struct stored_lists direct[STORED_PARTITIONS_MAX]; /* asked for, and not one at a time */
    bool knows_direct;                                 /* ... and all such requests are noted */
    int32_t leaders[STORED_PARTITIONS_MAX];
    int64_t led_since_ms[STORED_PARTITIONS_MAX];
    struct stored_job *jobs;
    int32_t job_count;
    int32_t job_cap;
    int32_t starts_count; /* nodes below /klamm/moves */
};

/* The limits of the queue as they were stored, and what they say about each partition. */
struct cluster_caps {
    struct moves_limits history[STORED_LIMITS_MAX];
    int64_t since_ms[STORED_LIMITS_MAX];
    int32_t count;
    bool has_start; /* in the write that is looked at */
    int64_t started_ms[STORED_PARTITIONS_MAX];
    bool is_loose
        [STORED_PARTITIONS_MAX]; /* it moves without a slot: it was paused, or found so, or its
                                             target was down */
    bool is_gone[STORED_BROKERS_MAX + 1];     /* by id: a controller said so last */
    int64_t sizes[STORED_PARTITIONS_MAX][64]; /* bytes at the leader, a second apart */
    int64_t sized_ms;
    int64_t size_count;
};

void stored_lists_add(struct stored_lists *l, const struct ids *ids);
bool stored_lists_have(const struct stored_lists *l, const struct ids *ids);

void cluster_stored_init(struct cluster *c);
void cluster_stored_free(struct cluster *c);
/* NULL: there is none. */
struct stored_job *cluster_stored_job(struct cluster *c, struct slice id);
bool stored_job_is_over(const struct stored_job *job);
/* No job is open, and no partition moves. */
bool cluster_stored_is_at_rest(const struct cluster *c);

/* caps.c */
/* These limits are written next. */
void cluster_caps_prepare(struct cluster *c, const struct moves_limits *limits);
/* ... and are now. */
void cluster_caps_written(struct cluster *c);
/* The partition's assignment is another one. */
void cluster_caps_moved(struct cluster *c, int32_t partition, const struct assignment *was,
                        const struct assignment *is);
/* All changes of one write were told by cluster_caps_moved. */
void cluster_caps_check(struct cluster *c);
void cluster_caps_controller(struct cluster *c);
/* A broker logged this. */
void cluster_caps_logged(struct cluster *c, const char *line);
/* Looks at the sizes of the partitions; call about every 100 ms. */
void cluster_caps_step(struct cluster *c);
