/*
 * klamm reassign: kafka-reassign-partitions by another hand (docs/spec/reassignment.md section 14).
 * Its texts on standard output and its exit codes are Kafka's; what we know beyond that goes to
 * standard error.
 */
#pragma once

#include "cli/plan.h"
#include "cli/session.h"

struct cli_reassign_options {
    bool is_generate;
    bool is_execute;
    bool is_verify;
    bool is_cancel;
    bool is_list;
    const char *bootstrap_servers;
    const char *command_config;
    const char *reassignment_file;
    const char *topics_file;
    const char *broker_list;
    bool disables_rack_awareness;
    int64_t throttle;          /* bytes a second; below 0 = leave throttles as they are */
    int64_t log_dirs_throttle; /* the same for moves between directories of a broker */
    int64_t timeout_ms;
    bool is_additional;
    bool preserves_throttles;
    bool refuses_factor_change;
    bool forces_cancel;
    bool watches;
    int64_t interval_ms; /* between two looks of a watch */
    bool is_json;
    bool is_help;
    bool is_version;
};

struct cli_reassign {
    struct cli_session *session;
    struct cli_terminal *terminal;
    struct cli_reassign_options options;
    struct klamm_cluster *cluster;       /* from cli_reassign_open on */
    struct klamm_reassignments *running; /* of the whole cluster, from cli_reassign_open on */
};

/* The actions; they run connected and return an exit code. plan is the file, checked on its own. */
int cli_reassign_execute(struct cli_reassign *run, struct cli_plan *plan,
                         struct cli_faults *faults);
int cli_reassign_verify(struct cli_reassign *run, struct cli_plan *plan, struct cli_faults *faults);
int cli_reassign_cancel(struct cli_reassign *run, struct cli_plan *plan, struct cli_faults *faults);
int cli_reassign_list(struct cli_reassign *run);
int cli_reassign_generate(struct cli_reassign *run);

/* "Error: MESSAGE" on standard output, as Kafka's tool has it; returns the exit code. */
int cli_reassign_error(struct cli_reassign *run, const struct klamm_error *err);
/* Prints findings to standard error and, when one is an error, Kafka's one sentence to standard
 * output. Returns whether the action must not go on. */
bool cli_reassign_refuses(struct cli_reassign *run, const char *file, struct cli_faults *faults);
/* The rules that go with the options. */
struct cli_plan_rules cli_reassign_rules(const struct cli_reassign_options *options);
/* The topics of the plan. */
int cli_reassign_describe(struct cli_reassign *run, struct cli_plan *plan,
                          struct klamm_topics **ret_topics, struct klamm_error *err);

/* Throttles all that runs and all that the plan starts at options.throttle bytes a second. Returns an
 * exit code; it has said what went wrong, and that the moves must not start. */
int cli_reassign_set_throttle(struct cli_reassign *run, const struct cli_plan *plan,
                              const struct klamm_topics *topics);
/* Takes the rates off all live brokers and the lists off the topics of the plan, unless the options
 * preserve them. Returns an exit code. */
int cli_reassign_clear_throttles(struct cli_reassign *run, struct cli_plan *plan,
                                 const struct klamm_topics *topics);

/* Appends {"version":1,"partitions":[...]}. */
struct cli_assignment {
    const char *topic;
    int32_t partition;
    struct klamm_ids replicas;
};
void cli_reassign_put_json(struct buf *out, const struct cli_assignment *list, int32_t count);
/* "foo-0,foo-1" */
void cli_reassign_put_names(struct buf *out, const struct cli_assignment *list, int32_t count);
