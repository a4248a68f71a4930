/*
 * An operator who works with jobs: jobs.c decides what happens, jobs_ask.c asks for it.
 *
 * It works in rounds. Each starts at rest: no job is open, nothing moves, nothing is on its way that could
 * still start something. The lists are noted. Then jobs are submitted, overridden, paused, resumed, cancelled,
 * undone, throttled and given other priorities at random, by partition, topic, broker, job or all at once, while
 * limits of the queue change and faults go on. In half of the rounds everything is then let come to its end. In
 * the end all jobs of the round are undone, the last one first.
 *
 * When an undo is due to be exact: every partition that no stock request named in this round must then be where
 * it was when the round began, bit for bit, whatever was cancelled, overridden or done in between, and whatever
 * brokers and controllers went. (A stock request starts at once and belongs to no job: once it is done there is
 * nothing to undo. Where limits hold from the start it is a job like others.)
 */
#pragma once

#include "base/prng.h"
#include "env/env.h"
#include "moves/moves.h"
#include "sim/cluster/stored.h"

enum jobs_phase {
    JOBS_REST,   /* until everything is at rest */
    JOBS_WORK,   /* requests at random */
    JOBS_FINISH, /* everything is resumed, and comes to its end */
    JOBS_UNDO,
    JOBS_OVER, /* stopped, and a last round is undone */
};

/* A request. */
struct jobs_ask {
    enum moves_action action;
    int32_t partitions[STORED_PARTITIONS_MAX];
    struct ids targets[STORED_PARTITIONS_MAX]; /* SUBMIT, ALTER; count 0 with ALTER: a cancel */
    int32_t count;
    bool is_whole_topic;
    char job[MODEL_JOB_ID_MAX + 1]; /* "" = none */
    int32_t broker;                 /* -1 = no such selector */
    int64_t rate;
    int8_t priority;
    bool is_one_at_a_time;
};

/* How a request ended. */
struct jobs_outcome {
    bool is_known;
    int16_t error;   /* at the top */
    int32_t done;    /* partitions without an error */
    int32_t refused; /* ... and with one that another try may not meet */
};

struct cluster_jobs {
    struct cluster *cluster;
    bool is_there; /* in this run */
    struct prng prng;
    struct env_timer timer;
    bool is_busy;
    struct jobs_ask ask; /* the one that is out, or was last */
    enum jobs_phase phase;
    int64_t phase_end_ms;
    int64_t unknown_ms;  /* when a request last had no known outcome */
    bool has_stock;      /* stock requests are made too */
    bool is_stepwise;    /* all jobs bring replicas over one at a time */
    bool is_capped;      /* limits hold from the start */
    bool finishes_first; /* in this round */
    struct ids before[STORED_PARTITIONS_MAX];
    bool is_loose[STORED_PARTITIONS_MAX]; /* no undo is due to be exact in this round */
    uint64_t first_serial;                /* of the round */
    uint64_t undo_serial;                 /* jobs from here on are undone */
    struct jobs_outcome outcome;          /* of the last undo */
    bool is_undo_out;                     /* it was sent, and what it brings about may go on */
    bool was_over;                        /* its job was over when it was sent */
    int32_t undo_tries;
    int32_t named; /* jobs so far */
    int32_t rounds;
};

struct cluster;

/* Before the brokers start: decides whether it is there, and writes the first limits. */
void cluster_jobs_init(struct cluster *c);
void cluster_jobs_start(struct cluster *c);
void cluster_jobs_free(struct cluster *c);
/* It is not there, or is done, and nothing is left behind. */
bool cluster_jobs_are_over(struct cluster *c);

/* jobs_ask.c */
/* Draws what is asked for in JOBS_WORK. */
void cluster_jobs_draw(struct cluster_jobs *j);
/* Sends j->ask. */
void cluster_jobs_send(struct cluster_jobs *j);
/* Writes other limits of the queue. */
void cluster_jobs_limit(struct cluster_jobs *j);
/* What was sent or written has ended. */
void cluster_jobs_answered(struct cluster_jobs *j, const struct jobs_outcome *outcome);
