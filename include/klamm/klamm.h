/*
 * libklamm: the administration of a Kafka cluster that moving replicas needs, for klamm and for
 * Apache Kafka 2.4 and later (ZooKeeper or KRaft).
 *
 * Calls are synchronous: each returns within the client's timeout. A client is used by one thread at
 * a time; several clients are independent. Requests that only the controller serves find it by
 * themselves, and again when it changes.
 *
 * Every call returns 0, or the code that it also puts into `err` together with a sentence for people:
 * a Kafka error code (-1 and above 0; the protocol's numbers) that concerns the whole request, or one
 * of enum klamm_code. On failure outputs are untouched. Errors of single topics or partitions are in
 * the results.
 * Results are owned by the caller, who frees them with the function of the same name; what they point
 * to lives as long as they do. Arguments are borrowed for the call.
 */
#ifndef KLAMM_H
#define KLAMM_H

#include <stdbool.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#if defined(__GNUC__)
#define KLAMM_API __attribute__((visibility("default")))
#else
#define KLAMM_API
#endif

/* Codes that no server sends. */
enum klamm_code {
    KLAMM_OK = 0,
    KLAMM_ERR_TIMEOUT = -1001,     /* no (usable) answer in time; what was asked may still happen */
    KLAMM_ERR_CONNECT = -1002,     /* no broker could be reached, or the connection was lost */
    KLAMM_ERR_UNSUPPORTED = -1003, /* the server does not offer the API or the version it takes */
    KLAMM_ERR_PROTOCOL = -1004,    /* the server's answer breaks the protocol */
    KLAMM_ERR_ARGUMENT = -1005,    /* the call itself is wrong; nothing was sent */
    KLAMM_ERR_MEMORY = -1006,      /* an answer is larger than this library accepts */
    KLAMM_ERR_INTERRUPTED = -1007, /* a signal came (only with catches_signals) */
};

struct klamm_error {
    int32_t code;
    char message[512]; /* one line, "" with code 0 */
};

struct klamm_client;
struct klamm_memory; /* what a result is made of */

struct klamm_ids {
    const int32_t *list; /* broker ids, in order; NULL when count is 0 */
    int32_t count;
};

struct klamm_partition_ref {
    const char *topic;
    int32_t partition;
};

struct klamm_partition_refs {
    const struct klamm_partition_ref *list;
    int32_t count;
};

/* ---- life ---- */

/* Told once by a call that takes long and has time left: what it waits for, one line. Runs within the call, on the
 * caller's thread, and must not use the client. */
typedef void (*klamm_slow_fn)(void *arg, const char *message);

struct klamm_config {
    const char *bootstrap_servers; /* "host:port,host:port"; "[::1]:9092" for IPv6; required */
    const char *client_id;         /* NULL = "libklamm" */
    int32_t timeout_ms;            /* bound of each call; 0 = 30000 */
    bool catches_signals;          /* SIGINT and SIGTERM end the running (or next) call with
                                      KLAMM_ERR_INTERRUPTED. One client a process may ask */
    klamm_slow_fn on_slow;         /* NULL = nobody is told */
    void *on_slow_arg;
    int32_t slow_ms; /* on_slow comes this long after a call's start; 0 = 5000 */
};

/* Reaches one of the bootstrap servers and learns the cluster's brokers. */
KLAMM_API int klamm_connect(const struct klamm_config *config, struct klamm_client **ret_client,
                            struct klamm_error *err);
/* NULL is fine. */
KLAMM_API void klamm_close(struct klamm_client *client);
/* Changes the bound of further calls; timeout_ms must be above 0. */
KLAMM_API void klamm_set_timeout(struct klamm_client *client, int32_t timeout_ms);
/* Lets time pass; not bounded by the timeout. Ends early with KLAMM_ERR_INTERRUPTED alone. */
KLAMM_API int klamm_wait(struct klamm_client *client, int32_t wait_ms, struct klamm_error *err);
/* "0.1.0" */
KLAMM_API const char *klamm_version(void);
/* The protocol's name of an error code ("NOT_CONTROLLER"), or the name of an enum klamm_code. */
KLAMM_API const char *klamm_code_name(int32_t code);

/* ---- the cluster ---- */

struct klamm_broker {
    int32_t id;
    int32_t port;
    const char *host;
    const char *rack; /* NULL = none */
};

struct klamm_cluster {
    struct klamm_memory *memory;
    const char *id;        /* NULL = the server does not tell */
    int32_t controller_id; /* -1 = none known */
    int32_t broker_count;
    const struct klamm_broker *brokers; /* the live ones, by id */
};

KLAMM_API int klamm_describe_cluster(struct klamm_client *client,
                                     struct klamm_cluster **ret_cluster, struct klamm_error *err);
KLAMM_API void klamm_cluster_free(struct klamm_cluster *cluster);

/* ---- topics ---- */

struct klamm_partition {
    int32_t index;
    int32_t leader_id;    /* -1 = none */
    int32_t leader_epoch; /* -1 = the server does not tell */
    int16_t code;         /* Kafka error code of the partition; 5 = no leader */
    struct klamm_ids replicas;
    struct klamm_ids isr;
    struct klamm_ids offline;
};

struct klamm_topic {
    const char *name;
    uint8_t id[16]; /* zero = the server does not tell */
    int16_t code;   /* 3 = does not exist */
    bool is_internal;
    int32_t partition_count;
    const struct klamm_partition *partitions; /* by index */
};

struct klamm_topics {
    struct klamm_memory *memory;
    int32_t count;
    const struct klamm_topic *list; /* by name (bytes) */
};

/* name_count -1: all topics. A name that does not exist is a row with code 3. Never creates. */
KLAMM_API int klamm_describe_topics(struct klamm_client *client, const char *const *names,
                                    int32_t name_count, struct klamm_topics **ret_topics,
                                    struct klamm_error *err);
KLAMM_API void klamm_topics_free(struct klamm_topics *topics);

struct klamm_setting {
    const char *name;
    const char *value; /* NULL = null, or hidden by the server */
    int8_t source;     /* results only: 0 unknown, 1 topic, 2 and 3 dynamic, 4 file, 5 default */
    bool is_read_only; /* results only */
};

struct klamm_new_topic {
    const char *name;
    int32_t partition_count;             /* -1 = the broker's default; ignored with assignments */
    int32_t replication_factor;          /* -1 = the broker's default; ignored with assignments */
    const struct klamm_ids *assignments; /* of partition 0, 1, ...; NULL = the broker places */
    int32_t assignment_count;
    const struct klamm_setting *settings; /* name and value count */
    int32_t setting_count;
};

struct klamm_topic_result {
    const char *name;
    int16_t code;
    const char *message; /* NULL with code 0, else never */
};

struct klamm_topic_results {
    struct klamm_memory *memory;
    int32_t count;
    const struct klamm_topic_result *list; /* as asked, in that order */
};

/* Not repeated by itself after a lost connection: KLAMM_ERR_CONNECT then means "perhaps". */
KLAMM_API int klamm_create_topics(struct klamm_client *client, const struct klamm_new_topic *topics,
                                  int32_t topic_count, struct klamm_topic_results **ret_results,
                                  struct klamm_error *err);
KLAMM_API int klamm_delete_topics(struct klamm_client *client, const char *const *names,
                                  int32_t name_count, struct klamm_topic_results **ret_results,
                                  struct klamm_error *err);
KLAMM_API void klamm_topic_results_free(struct klamm_topic_results *results);

/* ---- moving replicas ---- */

struct klamm_target {
    const char *topic;
    int32_t partition;
    bool is_cancel;            /* undo the running move; replicas is ignored */
    struct klamm_ids replicas; /* the wanted list, the preferred leader first */
};

/* What a klamm controller is asked to do with moves. Other servers know KLAMM_ACTION_ALTER alone and take
 * every other one for it: ask klamm_list_moves first whom you speak to. The library sends no replicas
 * with PAUSE, RESUME, CANCEL and SET, so that a server that does not understand them starts nothing. */
enum klamm_action {
    KLAMM_ACTION_ALTER = 0,  /* as Kafka: start or cancel now */
    KLAMM_ACTION_SUBMIT = 1, /* put the targets into the queue, as a job */
    KLAMM_ACTION_PAUSE = 2,
    KLAMM_ACTION_RESUME = 3,
    KLAMM_ACTION_CANCEL = 4, /* running moves and queued ones */
    KLAMM_ACTION_SET = 5,    /* rate and priority of a job */
    KLAMM_ACTION_UNDO =
        6, /* of a job: cancel what runs or waits, submit the reverse of what ended */
};

enum klamm_priority {
    KLAMM_PRIORITY_DEFAULT = 0, /* SUBMIT: balance; SET: unchanged */
    KLAMM_PRIORITY_REPAIR = 1,  /* goes first */
    KLAMM_PRIORITY_DRAIN = 2,
    KLAMM_PRIORITY_BALANCE = 3,
};

#define KLAMM_RATE_REMOVE (-2) /* of KLAMM_ACTION_SET: no limit any more */

struct klamm_alter {
    const struct klamm_target *targets; /* PAUSE, RESUME, CANCEL: their replicas are ignored */
    int32_t
        target_count; /* PAUSE, RESUME, CANCEL, SET, UNDO: 0 = all that job and brokers select */
    bool keeps_replication_factor; /* refuse targets of another size: needs a server with version 1
                                      of the API (Kafka 4.1, klamm), else KLAMM_ERR_UNSUPPORTED */
    bool forces_cancel;            /* klamm only: cancel even where it loses the leader */
    /* For klamm controllers; zeroed = as Kafka. */
    enum klamm_action action;
    const char *
        job; /* SUBMIT: its name, NULL = the controller makes one; else the job selected, NULL = any */
    struct klamm_ids brokers; /* selects moves from or to one of them; none = any */
    int64_t rate; /* of the job, bytes a second for each broker and direction; 0 = none (SUBMIT)
                                 or unchanged (SET) */
    enum klamm_priority priority; /* SUBMIT, SET */
    bool is_one_at_a_time; /* SUBMIT: the new replicas of a partition come one after the other */
    bool is_trial;         /* judge the targets, change nothing */
};

/* What klamm adds to code 0. */
enum klamm_note {
    KLAMM_NOTE_NONE = 0,
    KLAMM_NOTE_QUEUED = 1, /* accepted, and waits */
    KLAMM_NOTE_DERIVED =
        2, /* the list from before the move was not kept: restored to members that were */
    KLAMM_NOTE_SAME = 3, /* a pause of what is paused, a resume of what is not */
};

struct klamm_partition_result {
    const char *topic;
    int32_t partition;
    int16_t code;
    int8_t note;         /* an enum klamm_note, or one of a later version */
    const char *message; /* NULL with code 0, else never */
};

struct klamm_partition_results {
    struct klamm_memory *memory;
    const char *job; /* the job's name; NULL = none was told */
    int32_t count;
    const struct klamm_partition_result *list;
};

/*
 * AlterPartitionReassignments. Success means accepted, not done. Results: one for each target, in
 * the order of the targets; without targets, what the server names, in its order. A partition named
 * twice is KLAMM_ERR_ARGUMENT. A submission without a job's name, and an undo, are not repeated by
 * themselves after a lost connection: KLAMM_ERR_CONNECT then means "perhaps". With a name the answer to
 * the repetition may be 92 (DUPLICATE_RESOURCE): the job is there.
 */
KLAMM_API int klamm_alter_reassignments(struct klamm_client *client,
                                        const struct klamm_alter *alter,
                                        struct klamm_partition_results **ret_results,
                                        struct klamm_error *err);
/* Elects the preferred leaders. partitions NULL: of all partitions; then only those that changed or
 * failed are in the results, which come in the server's order. */
KLAMM_API int klamm_elect_leaders(struct klamm_client *client,
                                  const struct klamm_partition_refs *partitions,
                                  struct klamm_partition_results **ret_results,
                                  struct klamm_error *err);
KLAMM_API void klamm_partition_results_free(struct klamm_partition_results *results);

struct klamm_reassignment {
    const char *topic;
    int32_t partition;
    struct klamm_ids replicas; /* all: those that stay, come and go */
    struct klamm_ids adding;
    struct klamm_ids removing;
};

struct klamm_reassignments {
    struct klamm_memory *memory;
    int32_t count;
    const struct klamm_reassignment *list; /* by topic (bytes), then partition */
};

/* ListPartitionReassignments. partitions NULL: of the whole cluster. Partitions that do not move (or
 * do not exist) are left out. */
KLAMM_API int klamm_list_reassignments(struct klamm_client *client,
                                       const struct klamm_partition_refs *partitions,
                                       struct klamm_reassignments **ret_reassignments,
                                       struct klamm_error *err);
KLAMM_API void klamm_reassignments_free(struct klamm_reassignments *reassignments);

/* ---- the progress and the queue of moves (klamm controllers) ---- */

/* One arriving replica. */
struct klamm_arrival {
    int32_t broker_id;
    int8_t state; /* 0 unknown, 1 copying, 2 in sync, 3 down, 4 failed, 5 paused */
    int8_t reason;
    int16_t reason_code; /* Kafka error code that goes with the reason; 0 = none */
    int64_t since_ms;    /* since when the reason holds, milliseconds since 1970; 0 = unknown */
    int64_t lag_bytes;   /* -1 = unknown */
    int64_t lag_offsets; /* -1 = unknown */
    bool
        ignores_limits; /* both ends of its copy are brokers that obey neither a job's rate nor a pause */
};

/* A running move. */
struct klamm_move {
    const char *topic;
    int32_t partition;
    struct klamm_ids replicas; /* all: those that stay, come and go */
    struct klamm_ids adding;
    struct klamm_ids removing;
    bool has_details;          /* what follows is known */
    const char *job;           /* NULL = none: a stock client began it */
    const char *submitted_by;  /* "User:alice"; NULL = unknown */
    const char *client_id;     /* NULL = unknown */
    int64_t started_ms;        /* since 1970; 0 = unknown */
    struct klamm_ids original; /* the list from before the first move; none = not kept */
    int64_t bytes_to_copy;
    int64_t bytes_copied;
    int64_t rate;        /* bytes a second; -1 = unknown */
    int64_t eta_ms;      /* -1 = none */
    int8_t reason;       /* why it does not advance; 0 = it does */
    int16_t reason_code; /* Kafka error code that goes with the reason; 0 = none */
    int64_t since_ms;    /* since 1970; 0 = unknown */
    int32_t arrival_count;
    const struct klamm_arrival *arrivals;
};

/* A move that waits for its start. */
struct klamm_queued {
    const char *topic;
    int32_t partition;
    struct klamm_ids target;
    struct klamm_ids original; /* between two steps: the list before the first one; else empty */
    const char *job;           /* "" = none */
    bool is_paused;
    int8_t reason;
    int64_t since_ms; /* since 1970; 0 = unknown */
    int64_t bytes_to_copy;
};

enum klamm_job_state {
    KLAMM_JOB_QUEUED = 0,
    KLAMM_JOB_RUNNING = 1,
    KLAMM_JOB_PAUSED = 2,
    KLAMM_JOB_DONE = 3,
    KLAMM_JOB_CANCELLED = 4,
};

struct klamm_job {
    const char *id;
    const char *submitted_by;
    const char *client_id;
    int64_t submitted_ms; /* since 1970 */
    int8_t state;         /* an enum klamm_job_state, or one of a later version */
    enum klamm_priority priority;
    bool is_one_at_a_time;
    int64_t rate; /* bytes a second; -1 = no limit */
    int32_t moves_total;
    int32_t moves_done;
    int32_t moves_cancelled;
    int64_t bytes_to_copy;
    int64_t bytes_copied;
};

struct klamm_moves {
    struct klamm_memory *memory;
    bool is_klamm; /* the controller has a queue; without one there are neither jobs nor details */
    int32_t count;
    const struct klamm_move *list; /* the running ones, by topic (bytes), then partition */
    int32_t queued_count;
    const struct klamm_queued *queued; /* by topic (bytes), then partition */
    int32_t job_count;
    const struct klamm_job *jobs; /* present ones and the last that ended, in the server's order */
};

/* ListPartitionReassignments with klamm's extensions. partitions NULL: of the whole cluster; jobs are
 * always all. */
KLAMM_API int klamm_list_moves(struct klamm_client *client,
                               const struct klamm_partition_refs *partitions,
                               struct klamm_moves **ret_moves, struct klamm_error *err);
KLAMM_API void klamm_moves_free(struct klamm_moves *moves);

/* ---- what is on disk ---- */

struct klamm_log {
    const char *topic;
    int32_t partition;
    bool is_future;     /* arriving from another directory of the same broker */
    int64_t size;       /* bytes; -1 = unknown: the directory is offline */
    int64_t offset_lag; /* offsets behind the high watermark or the current replica */
    /* klamm brokers only; else -1. */
    int64_t
        write_rate; /* bytes a second that producers bring to this leader; -1 = it does not lead */
    int64_t
        throttle_rate; /* the lowest limit that holds it, bytes a second; 0 = paused, -1 = none */
};

struct klamm_log_dir {
    const char *path;
    int16_t code;         /* 56 = offline */
    int64_t total_bytes;  /* -1 = unknown */
    int64_t usable_bytes; /* -1 = unknown */
    int32_t log_count;
    const struct klamm_log *logs;
    int64_t disk; /* equal for directories of a broker that share a disk; 0 = it does not tell */
};

struct klamm_log_dirs {
    struct klamm_memory *memory;
    int32_t count;
    const struct klamm_log_dir *list;
};

/* DescribeLogDirs of one broker. partitions NULL: all its logs. */
KLAMM_API int klamm_describe_log_dirs(struct klamm_client *client, int32_t broker_id,
                                      const struct klamm_partition_refs *partitions,
                                      struct klamm_log_dirs **ret_dirs, struct klamm_error *err);
KLAMM_API void klamm_log_dirs_free(struct klamm_log_dirs *dirs);

/* ---- configuration ---- */

struct klamm_settings {
    struct klamm_memory *memory;
    int32_t count;
    const struct klamm_setting *list; /* by name */
};

KLAMM_API int klamm_describe_topic_settings(struct klamm_client *client, const char *topic,
                                            struct klamm_settings **ret_settings,
                                            struct klamm_error *err);
/* broker_id may be KLAMM_ALL_BROKERS: what is set for the whole cluster. */
KLAMM_API int klamm_describe_broker_settings(struct klamm_client *client, int32_t broker_id,
                                             struct klamm_settings **ret_settings,
                                             struct klamm_error *err);
KLAMM_API void klamm_settings_free(struct klamm_settings *settings);

struct klamm_setting_change {
    const char *name;
    const char *value; /* NULL: take the setting away, so that a default holds again */
};

#define KLAMM_ALL_BROKERS (-1) /* as a broker's id: the settings of the whole cluster */

struct klamm_alteration {
    const char *topic; /* NULL: the broker's settings change */
    int32_t broker_id; /* without topic; may be KLAMM_ALL_BROKERS */
    const struct klamm_setting_change *changes;
    int32_t change_count;
};

struct klamm_alter_result {
    int32_t code;        /* Kafka's, or an enum klamm_code: whoever serves it could not be asked */
    const char *message; /* NULL with code 0, else never */
};

struct klamm_alter_results {
    struct klamm_memory *memory;
    int32_t count;
    const struct klamm_alter_result *list; /* of each alteration, in that order */
};

/*
 * IncrementalAlterConfigs: settings that are not named stay. Topics go first, all in one request to
 * any broker; then each broker is asked itself. Each alteration succeeds or fails alone; the timeout
 * bounds all of them together. A topic or broker named twice is KLAMM_ERR_ARGUMENT.
 */
KLAMM_API int klamm_alter_settings(struct klamm_client *client,
                                   const struct klamm_alteration *alterations,
                                   int32_t alteration_count,
                                   struct klamm_alter_results **ret_results,
                                   struct klamm_error *err);
KLAMM_API void klamm_alter_results_free(struct klamm_alter_results *results);

#ifdef __cplusplus
}
#endif
#endif
