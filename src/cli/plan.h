/*
 * Plan files: which partition shall have which replicas (docs/spec/reassignment.md 14.3). They are
 * hostile input: everything that is wrong is found and named with its place before anything is sent,
 * and no number or name is ever bent into another one.
 *
 * Two sets of rules. Ours (`klamm moves`): each finding is an error unless the user agreed to it.
 * Kafka's (`klamm reassign`): what Kafka's tool accepts is accepted with a warning, except where acting
 * could hit a partition or broker that the file does not mean.
 */
#pragma once

#include "cli/faults.h"
#include "env/env.h"
#include "klamm/klamm.h"

/* Room for "foo-0": a topic name (cut and escaped where it is illegal) and a number. */
#define CLI_PLAN_SUBJECT_SIZE 320

enum cli_plan_purpose {
    CLI_PLAN_EXECUTE,
    CLI_PLAN_VERIFY, /* lists may be empty or repeat: nothing is done with them */
    CLI_PLAN_CANCEL, /* the same */
    CLI_PLAN_UNDO,   /* as EXECUTE; but what is gone since the file was written is left out */
};

struct cli_plan_rules {
    bool is_strict; /* ours, not Kafka's */
    enum cli_plan_purpose purpose;
    bool refuses_unknown_keys;
    bool allows_factor_change;
    bool allows_down_targets; /* ours: brokers that are known, but not up */
};

struct cli_plan_entry {
    const char *topic; /* a legal name */
    int32_t partition;
    struct klamm_ids replicas;
    bool asks_log_dirs;      /* a log_dirs that is not "any" */
    bool is_repeated;        /* an earlier entry names the same partition */
    bool has_valid_replicas; /* each is a broker id */
    struct cli_json_place at;
    struct cli_json_place replicas_at;
    const struct cli_json *replicas_json; /* for the places of single ids */
};

struct cli_plan {
    struct arena arena;
    int32_t count;
    struct cli_plan_entry *entries; /* those whose topic and partition could be read, by topic
                                       (bytes) and partition */
    /* After cli_plan_check; entries that are moving now count in neither. */
    int32_t unchanged_count; /* equal to the present list */
    int32_t reordered_count; /* the present members in another order: nothing is copied */
};

/* What the cluster says. */
struct cli_plan_view {
    const struct klamm_cluster *cluster;
    const struct klamm_topics *topics;         /* has a row for each topic of the plan */
    const struct klamm_reassignments *running; /* NULL = none */
    struct klamm_ids down;                     /* ours: brokers that hold replicas and are not up */
};

/* Reads and checks the file on its own. Never NULL; without entries where nothing could be read. */
struct cli_plan *cli_plan_read(struct env *env, const char *path,
                               const struct cli_plan_rules *rules, struct cli_faults *faults);
/* The same from memory. */
struct cli_plan *cli_plan_parse(struct slice text, const struct cli_plan_rules *rules,
                                struct cli_faults *faults);
void cli_plan_free(struct cli_plan *plan); /* NULL is fine */

/* Checks against the cluster: brokers exist, topics and partitions exist, what changes. */
void cli_plan_check(struct cli_plan *plan, const struct cli_plan_rules *rules,
                    const struct cli_plan_view *view, struct cli_faults *faults);

/* The distinct topic names, sorted; an array of *ret_count, in the plan's memory. */
const char *const *cli_plan_topics(struct cli_plan *plan, int32_t *ret_count);

/* How severe a finding is under the rules. */
enum cli_severity cli_plan_severity(const struct cli_plan_rules *rules, enum cli_fault_kind kind);
/* A fault of that kind with its severity. */
struct cli_fault cli_plan_fault(const struct cli_plan_rules *rules, enum cli_fault_kind kind,
                                struct cli_json_place at, const char *subject);
