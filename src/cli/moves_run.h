/*
 * klamm moves: the queue of moves, its jobs and their progress. What the actions share; each action is a
 * file of its own, moves_command.c reads the command line.
 *
 * Exit codes: 0 done, 1 refused or failed for at least one partition, 2 the command line is wrong,
 * 130 interrupted; the moves go on.
 */
#pragma once

#include "cli/session.h"

struct cli_moves_options {
    const char *bootstrap_servers;
    int64_t timeout_ms;
    bool is_json;
    bool is_help;
    /* submit, undo */
    const char *throttle;
    const char *priority;
    const char *rollback; /* NULL = named after the plan */
    const char *journal;  /* the same; for controllers without a queue */
    int64_t concurrency;  /* the same; 0 = the default */
    bool is_one_at_a_time;
    bool is_dry_run;
    bool allows_factor_change;
    bool allows_down_targets;
    bool is_strict;
    bool is_agreed; /* --yes */
    /* whom it concerns */
    const char *job;
    struct cli_texts topics;
    struct cli_texts partitions;
    const char *brokers;
    bool is_all;
    bool forces_cancel;
    /* limits */
    const char *in_per_broker;
    const char *out_per_broker;
    const char *per_cluster;
    const char *bytes_in_flight;
    /* status */
    const char *plan;
    bool watches;
    int64_t interval_ms;
};

struct cli_moves_local;

struct cli_moves {
    struct cli_session *session;
    struct cli_terminal *terminal;
    const struct cli_command *command;
    struct cli_moves_options options;
    struct cli_texts operands;
    struct klamm_cluster *cluster; /* from cli_moves_open on */
    struct klamm_moves *moves;     /* of the whole cluster, from cli_moves_open on */
    struct cli_moves_local *local; /* the queue, where the controller has none; else NULL */
};

/* Connects and learns who the brokers are and what moves: a server without these APIs is found out before
 * anything else. Returns the library's code. */
int cli_moves_open(struct cli_moves *run, struct klamm_error *err) MUST_CHECK;
/* Asks again what moves. */
int cli_moves_refresh(struct cli_moves *run, struct klamm_error *err) MUST_CHECK;
/* "klamm moves ACTION: MESSAGE" on the error output; returns CLI_EXIT_FAILED. */
int cli_moves_fail(struct cli_moves *run, const char *format, ...) PRINTF_LIKE(2, 3);
/* True when the controller has no queue (Apache Kafka): says that `what` is not available there. */
bool cli_moves_lacks_queue(struct cli_moves *run, const char *what);
/* The job of that name, or NULL. */
const struct klamm_job *cli_moves_job(const struct cli_moves *run, const char *name);
/* The running move of that partition, and the one that waits; NULL = none. */
const struct klamm_move *cli_moves_running(const struct cli_moves *run,
                                           const struct klamm_partition_ref *ref);
const struct klamm_queued *cli_moves_waiting(const struct cli_moves *run,
                                             const struct klamm_partition_ref *ref);
/* --throttle and --priority into the request; a fault is told, and its exit code returned. */
int cli_moves_settings(struct cli_moves *run, struct klamm_alter *alter);

/* The actions; they return an exit code. */
int cli_moves_submit(struct cli_moves *run);
int cli_moves_undo(struct cli_moves *run);
int cli_moves_status(struct cli_moves *run);
int cli_moves_pause(struct cli_moves *run);
int cli_moves_resume(struct cli_moves *run);
int cli_moves_cancel(struct cli_moves *run);
int cli_moves_set(struct cli_moves *run);
int cli_moves_history(struct cli_moves *run);
int cli_moves_limits(struct cli_moves *run);
