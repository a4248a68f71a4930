/*
 * The replicas of one broker: its log directories, the partitions in them as leader or follower, the
 * fetchers that copy from other leaders, and the upkeep of the in-sync sets.
 *
 * The pure rules are in replica/, the files in plog/; this folder performs. broker/api decodes
 * requests, calls here and encodes the results. Spec: docs/spec/reassignment.md sections 10 to 12.
 *
 * Everything runs on the env given to replicas_open. Callbacks (hooks excepted) come from the loop,
 * never from inside a call of this header. Text and slices passed in are borrowed for the call only,
 * unless said otherwise. Errors are E_... codes; broker/api maps them to protocol codes.
 */
#pragma once

#include "base/error.h"
#include "base/list.h"
#include "base/slice.h"
#include "base/uuid.h"
#include "env/env.h"
#include "model/ibp.h"
#include "plog/plog.h"
#include "record/validate.h"

struct arena;
struct model_partition_state;
struct replicas;
struct wire_leader_and_isr_request;
struct wire_leader_and_isr_response;
struct wire_stop_replica_request;
struct wire_stop_replica_response;

#define REPLICAS_TOPIC_LEN_MAX 249

/* ---- configuration ---- */

/* Settings that a topic may override; asked for through hooks->topic_config. */
struct replicas_topic_config {
    struct plog_config log;
    int32_t min_insync_replicas;     /* min.insync.replicas */
    int32_t message_bytes_max;       /* max.message.bytes */
    bool is_compacted;               /* cleanup.policy contains "compact": records need keys */
    bool uses_append_time;           /* message.timestamp.type = LogAppendTime: the leader stamps */
    bool walks_records;              /* klamm.validate.records */
    int64_t timestamp_before_max_ms; /* message.timestamp.before.max.ms; INT64_MAX = no limit */
    int64_t timestamp_after_max_ms;  /* message.timestamp.after.max.ms; INT64_MAX = no limit */
    /* leader.replication.throttled.replicas and its follower twin: borrowed until the hook's caller has
     * copied them; NULL = none. */
    const char *leader_throttled;
    const char *follower_throttled;
};

/* Filled by broker/config. Copied by replicas_open, text too. Names in comments are Kafka's. */
struct replicas_config {
    int32_t broker_id;
    enum ibp level;              /* inter.broker.protocol.version */
    const char *const *log_dirs; /* log.dirs; made when missing */
    int32_t log_dir_count;
    int64_t lag_time_max_ms;              /* replica.lag.time.max.ms */
    int32_t fetch_wait_max_ms;            /* replica.fetch.wait.max.ms */
    int32_t fetch_min_bytes;              /* replica.fetch.min.bytes */
    int32_t fetch_partition_bytes_max;    /* replica.fetch.max.bytes, for replicas in step */
    int32_t fetch_catch_up_bytes_max;     /* klamm: the same for replicas far behind, 4 MiB */
    int32_t fetch_response_bytes_max;     /* replica.fetch.response.max.bytes */
    int64_t fetch_backoff_ms;             /* replica.fetch.backoff.ms */
    int32_t fetchers;                     /* num.replica.fetchers, 1..16 */
    int64_t socket_timeout_ms;            /* replica.socket.timeout.ms */
    int64_t high_watermark_checkpoint_ms; /* replica.high.watermark.checkpoint.interval.ms */
    int64_t flush_checkpoint_ms;          /* log.flush.offset.checkpoint.interval.ms */
    int64_t retention_check_ms;           /* log.retention.check.interval.ms */
    int64_t file_delete_delay_ms;         /* file.delete.delay.ms */
    /* klamm: what goes to a replica further behind than the first goes past the page cache when the
     * copy, or all copies of half a minute, come to more than the second. */
    int64_t catch_up_lag_bytes;
    int64_t copy_cached_bytes_max;
    int32_t segments_open_max; /* klamm: log segments kept open at most */
    int32_t partitions_max;    /* klamm: hosted partitions, a bound; 0 = 1,000,000 */
};

/* The documented defaults; the caller sets broker_id and log_dirs. */
void replicas_config_default(struct replicas_config *config);

/*
 * What this folder asks of the rest of the broker. They are called from inside our calls and must
 * not call back into this header. All are needed unless said otherwise.
 */
struct replicas_hooks {
    void *arg;
    /* Fills the topic's settings, defaults included. topic ends with NUL. */
    void (*topic_config)(void *arg, const char *topic, struct replicas_topic_config *ret_config);
    /* Endpoint of a live broker on the inter-broker listener; *ret_host is borrowed until the hook
     * returns control to the loop. False when the metadata cache does not have it. */
    bool (*endpoint)(void *arg, int32_t broker, const char **ret_host, uint16_t *ret_port);
    /* Another controller speaks for the first time; it will name what is ours. May be NULL. */
    void (*controller_changed)(void *arg);
    /* In the metadata cache as live: may join an in-sync set. */
    bool (*is_alive)(void *arg, int32_t broker);
    /* The metadata cache has a topic of this id. */
    bool (*has_topic_id)(void *arg, struct uuid id);
    /* The broker named as controller by the last UpdateMetadata; -1 = none known. */
    int32_t (*controller)(void *arg);
    /* Our registration; -1 while there is none (then no ISR change is proposed). */
    int64_t (*broker_epoch)(void *arg);
    /* Below 2.7-IV2 a leader stores its in-sync set itself: writes the state, whose version is the
     * expected one, and calls replicas_isr_stored with the outcome, later. False: it cannot be written
     * now. May be NULL at later levels. */
    bool (*store_isr)(void *arg, const char *topic, int32_t partition,
                      const struct model_partition_state *state);
    /* A log directory went offline: writes the notification znode (reassignment.md 7.7). May be NULL. */
    void (*dir_failed)(void *arg, const char *path, const char *reason);
    /* This broker started (is_leader) or ceased to lead the partition at the epoch, for coordinators.
     * May be NULL. */
    void (*role_changed)(void *arg, const char *topic, int32_t partition, bool is_leader,
                         int32_t leader_epoch);
};

/* ---- life ---- */

/*
 * Locks and reads all log directories, recovers the partitions in them (they have no role until the
 * first LeaderAndIsr), starts the periodic tasks. A directory that fails is offline and told through
 * dir_failed later, from the loop; when none is left, or one belongs to another broker or process:
 * -E_... with em, and nothing stays open.
 */
int replicas_open(struct env *env, const struct replicas_config *config,
                  const struct replicas_hooks *hooks, struct replicas **ret_replicas,
                  struct errmsg *em) MUST_CHECK;
/* Binds the directories to the cluster: checks meta.properties, or writes it where it is missing.
 * -E_INVALID with em naming both ids when a directory belongs to another cluster. */
int replicas_bind_cluster(struct replicas *r, const char *cluster_id, struct errmsg *em) MUST_CHECK;
/* Whether some directory may lack records that were acknowledged (plog_dir_may_lack_records). Then the
 * broker has to leave the in-sync sets of the partitions for which replicas_may_lack_records is true,
 * those that it does not host included, and call replicas_accept_records. */
bool replicas_any_may_lack_records(const struct replicas *r);
bool replicas_may_lack_records(const struct replicas *r, struct slice topic, int32_t partition);
/* No in-sync set counts on what may be missing. Needed before the broker registers. */
void replicas_accept_records(struct replicas *r);
/* The cluster id that the directories carry, or NULL when none does. Borrowed. */
const char *replicas_cluster_id(const struct replicas *r);
/* Clean stop: no more fetching, all logs flushed and closed, checkpoints and the clean mark written;
 * then done(arg). Parked requests and watches are dropped without a callback. Only replicas_free may
 * follow. */
void replicas_stop(struct replicas *r, env_fn done, void *arg);
/* At any moment; without a completed replicas_stop it flushes and marks nothing (a kill). Parked
 * produces and watches must not be touched through this header afterwards. NULL is fine. */
void replicas_free(struct replicas *r);

/* The metadata cache changed brokers, endpoints or the controller: connections follow. Cheap. */
void replicas_metadata_changed(struct replicas *r);
/* The topic's settings changed: its logs re-read them through the hook. NULL: all topics. */
void replicas_topic_config_changed(struct replicas *r, const char *topic);

/* Bytes a second; INT64_MAX = no bound (KIP-73, reassignment.md 13). */
struct replicas_rates {
    int64_t leader;   /* leader.replication.throttled.rate */
    int64_t follower; /* follower.replication.throttled.rate */
};
/* Takes effect at once. Until the first call there is no bound. */
void replicas_set_throttle(struct replicas *r, struct replicas_rates rates);

struct wire_update_metadata_request;
/* The limits of moves in an UpdateMetadata that replicas_check_controller let in: a table replaces the
 * one before; without a table the first request of a newer controller clears it. */
void replicas_take_limits(struct replicas *r, const struct wire_update_metadata_request *req);
/* Partitions that the table names, hosted here or not. */
int32_t replicas_limits_count(const struct replicas *r);
/* What came of a state that store_isr was given. */
struct replicas_isr_outcome {
    struct slice topic;
    int32_t partition;
    int32_t leader_epoch;    /* as it was given */
    int32_t partition_epoch; /* ditto: the expected version */
    int err;         /* 0; -E_BAD_VERSION: somebody else wrote it; -E_NOT_FOUND; others: again */
    int32_t version; /* 0: of the state now */
};
void replicas_isr_stored(struct replicas *r, const struct replicas_isr_outcome *outcome);

/* ---- controller's requests (reassignment.md 10.1, 10.2) ----
 * They fill resp (memory from arena) with protocol codes, version tells the form. The sender's
 * permission (31) is checked by the caller. -E_TOO_LARGE when the arena's bound is passed; what was
 * asked for has been applied even then. */

int replicas_leader_and_isr(struct replicas *r, const struct wire_leader_and_isr_request *req,
                            int16_t version, struct arena *arena,
                            struct wire_leader_and_isr_response *resp) MUST_CHECK;
int replicas_stop_replica(struct replicas *r, const struct wire_stop_replica_request *req,
                          int16_t version, struct arena *arena,
                          struct wire_stop_replica_response *resp) MUST_CHECK;
/* The broker and controller epoch tests that UpdateMetadata shares with them: 0, -E_STALE (77) or
 * -E_FENCED (11); a newer controller epoch is remembered. broker_epoch -1 is not checked. */
int replicas_check_controller(struct replicas *r, int32_t controller_epoch,
                              int64_t broker_epoch) MUST_CHECK;

/* ---- produce ---- */

struct replicas_produce;

/* One partition of a Produce request. The caller keeps it alive until the request is finished. */
struct replicas_append {
    /* In. */
    struct slice topic;
    struct uuid topic_id; /* zero: not checked */
    int32_t partition;
    uint8_t *records;   /* base offset, leader epoch and append time are written into them */
    size_t records_len; /* bytes */

    /* Out, valid when the request is finished; offsets are -1 on error.
     * -E_NOT_FOUND (3), -E_NOT_LEADER (6), -E_ID_MISMATCH (103), -E_OFFLINE (56), -E_TIMEOUT (7),
     * -E_NOT_ENOUGH_REPLICAS (19), -E_NOT_ENOUGH_REPLICAS_AFTER (20), -E_PRODUCER_FENCED (47),
     * -E_OUT_OF_ORDER (45), -E_TRANSACTION_STATE (48), -E_TOO_LARGE (18: larger than a segment).
     * With reason set, the records themselves were refused: record/validate.h names the code. */
    int err;
    int64_t base_offset;        /* of the original batch when it was a duplicate */
    int64_t log_append_time_ms; /* -1: the records kept their own */
    int64_t log_start_offset;
    int32_t leader;            /* with -E_NOT_LEADER: who leads, -1 = unknown */
    int32_t leader_epoch;      /* ditto */
    enum record_reason reason; /* why record_validate refused; RECORD_OK = it did not */
    int32_t bad_index;         /* the record at fault when records were walked, else -1 */

    /* Private. */
    struct list_node link;
    struct replicas_produce *owner;
    int64_t required_offset; /* the high watermark that finishes it */
};

typedef void (*replicas_produce_fn)(void *arg, struct replicas_produce *produce);

struct replicas_produce {
    /* In. */
    struct replicas_append *items;
    int32_t count;
    int16_t acks;    /* 0, 1 or -1; others are refused by the caller (21) */
    bool allow_zstd; /* Produce 7 and later */
    int64_t timeout_ms;
    replicas_produce_fn done;
    void *arg;

    /* Private. */
    struct replicas *replicas;
    struct env_timer timer;
    struct list_node link; /* all parked requests, or those about to be finished */
    int32_t pending;       /* items whose high watermark has not passed */
};

/*
 * Appends every item to its local log. True: all results are there, done is not called. False: items
 * wait for the high watermark (acks -1); done comes later, once, when all have passed, failed, or the
 * time is over. The records are not needed after the call.
 */
bool replicas_produce(struct replicas *r, struct replicas_produce *produce);
/* Forgets a parked request without a callback (its connection went). The records stay appended.
 * Harmless when it is not parked. */
void replicas_produce_cancel(struct replicas_produce *produce);

/* ---- fetch ---- */

#define REPLICAS_CONSUMER (-1)

/* One partition of a Fetch request. */
struct replicas_read {
    /* In. */
    struct slice topic;
    struct uuid topic_id; /* zero: not checked */
    int32_t partition;
    int32_t replica_id; /* the follower, or REPLICAS_CONSUMER (and -2) */
    bool is_read_committed;
    int32_t current_leader_epoch; /* -1: not checked */
    int32_t last_fetched_epoch;   /* -1: not given */
    int64_t fetch_offset;
    int64_t log_start_offset; /* the follower's own; -1 */
    int32_t bytes_max;        /* the smaller of what partition and response have left */
    bool is_minimum_needed;   /* return one whole batch even if it is larger than bytes_max */

    /* Out. Offsets are -1 on error.
     * -E_NOT_FOUND (3), -E_NOT_LEADER (6), -E_ID_MISMATCH (103), -E_FENCED (74), -E_UNKNOWN_EPOCH
     * (75), -E_OUT_OF_RANGE (1), -E_OFFLINE (56), -E_CORRUPT (2). */
    int err;
    int64_t high_watermark;
    int64_t last_stable_offset;
    int64_t log_start;
    bool is_diverging; /* then no records, and where the common past may end: */
    int32_t diverging_epoch;
    int64_t diverging_end;
    int32_t leader;        /* with -E_NOT_LEADER or -E_FENCED: who leads, -1 = unknown */
    int32_t leader_epoch;  /* ditto */
    struct env_file *file; /* one reference for the caller when len > 0, else NULL */
    uint64_t pos;
    size_t len;           /* bytes of whole batches */
    int64_t readable_end; /* the reader may read below this; -1 on error */
};

/* What is read from here on belongs to one answer: its partitions share what limits allow. */
void replicas_read_begin(struct replicas *r);
/*
 * Reads one partition. For a follower (replica_id >= 0) it also notes how far that one has come, which
 * may move the high watermark and the in-sync set: call it once for a fetch that arrived; a repeat
 * for a parked fetch that was woken is harmless. Never waits: records that are not in memory are left
 * out as if they had not arrived, the disk is asked for them, and then watches fire with REPLICAS_WARM.
 */
void replicas_read(struct replicas *r, struct replicas_read *read);
/*
 * A fetch of this follower has arrived. Its partitions at the log end count as caught up, even where a
 * session leaves them unread: call it for every fetch of a follower.
 */
void replicas_follower_fetched(struct replicas *r, int32_t follower);
/* Bytes that read->file holds were sent: counted as traffic of replication, of reassignment, or of
 * consumers. Called by the Fetch handler when it answers; a woken-again read counts once. */
void replicas_read_sent(struct replicas *r, const struct replicas_read *read);

/* Why a watch fires. */
enum replicas_event {
    REPLICAS_NEW_DATA = 1,       /* the log end moved up (followers wait for it) */
    REPLICAS_HIGH_WATERMARK = 2, /* the high watermark, last stable offset or log start moved */
    REPLICAS_ROLE = 4, /* leadership, epoch or replica set changed, or the log failed: read again */
    REPLICAS_GONE = 8, /* the partition left this broker; the watch has ended */
    REPLICAS_LOW_WATERMARK = 16, /* leader: a follower's log start moved */
    REPLICAS_WARM = 32, /* records that a read did not give out were read into memory: read again */
};

struct replicas_watch;
typedef void (*replicas_watch_fn)(void *arg, struct replicas_watch *watch, int events);

/* A standing interest in one partition, embedded by its owner. Zeroed = not watching. */
struct replicas_watch {
    /* Set by the owner before the start. */
    void *arg;
    replicas_watch_fn fn;
    int mask; /* of enum replicas_event; REPLICAS_ROLE and REPLICAS_GONE always count */
    /* Private. */
    struct list_node link;       /* in the partition's list */
    struct list_node ready_link; /* in the list of those to be called */
    struct replicas *replicas;
    struct replicas_partition *partition;
    int events;
};

/*
 * From now on fn(arg, watch, events) is called, from the loop, after something in mask happened;
 * several events may come as one call. It stays until replicas_watch_stop or REPLICAS_GONE. Arm it in
 * the same callback as the read that found too little: then nothing is missed. False when the partition
 * is not hosted.
 */
bool replicas_watch_start(struct replicas *r, struct replicas_watch *watch, struct slice topic,
                          int32_t partition) MUST_CHECK;
static inline bool replicas_watch_is_active(const struct replicas_watch *watch)
{
    return watch->partition != NULL;
}
/* Harmless when it is not watching. Fine from inside fn. */
void replicas_watch_stop(struct replicas_watch *watch);

/* ---- deleting records ---- */

/* One partition of a DeleteRecords request. */
struct replicas_deletion {
    /* In. */
    struct slice topic;
    int32_t partition;
    int64_t offset; /* records below it go; -1 = all that are committed */
    /* Out. */
    int64_t wanted; /* the low watermark that ends it */
};

/* Raises the log start of a partition that is led here; it is kept on disk soon after. The followers hear
 * of it by their fetches: watch for REPLICAS_LOW_WATERMARK. -E_NOT_FOUND (3), -E_NOT_LEADER (6),
 * -E_OFFLINE (56), -E_OUT_OF_RANGE (1), -E_REFUSED: the topic is only compacted (44). */
int replicas_delete_records(struct replicas *r, struct replicas_deletion *d) MUST_CHECK;
/* The lowest log start of the replicas that live and are in sync or not being added: nothing below it can
 * be read any more. Errors as above but the last two. */
int replicas_low_watermark(struct replicas *r, struct slice topic, int32_t partition,
                           int64_t *ret_offset) MUST_CHECK;

/* ---- lookups ---- */

struct replicas_offset_query {
    /* In. */
    struct slice topic;
    int32_t partition;
    int32_t replica_id; /* a follower sees up to the log end; REPLICAS_CONSUMER, -2 */
    bool is_read_committed;
    int32_t current_leader_epoch; /* -1: not checked */
    int64_t timestamp; /* >= 0, or -1 latest, -2 and -4 earliest, -3 max timestamp, -5 none */
    /* Out. */
    int64_t ret_timestamp;    /* -1 */
    int64_t ret_offset;       /* -1: there is none, which is no error */
    int32_t ret_leader_epoch; /* -1: unknown */
};

/* ListOffsets for one partition. Errors as replicas_read, and -E_NOT_AVAILABLE (78), -E_UNSUPPORTED. */
int replicas_find_offset(struct replicas *r, struct replicas_offset_query *query) MUST_CHECK;

struct replicas_epoch_query {
    /* In. */
    struct slice topic;
    int32_t partition;
    int32_t current_leader_epoch; /* -1: not checked */
    int32_t leader_epoch;         /* asked for */
    /* Out; -1 and -1 when nothing is known. */
    int32_t ret_epoch;
    int64_t ret_end_offset;
};

/* OffsetForLeaderEpoch for one partition (reassignment.md 11.6). Errors as replicas_read. */
int replicas_find_epoch_end(struct replicas *r, struct replicas_epoch_query *query) MUST_CHECK;

/* ---- what an operator sees ---- */

struct replicas_dir_info {
    const char *path; /* as configured, borrowed */
    bool is_offline;
    int64_t total_bytes;  /* of the file system; -1 unknown */
    int64_t usable_bytes; /* ditto */
    uint64_t disk;        /* equal for directories on the same file system; 0 = unknown */
};

int32_t replicas_dir_count(const struct replicas *r);
/* index < replicas_dir_count. Asks the file system. */
void replicas_dir_get(struct replicas *r, int32_t index, struct replicas_dir_info *ret_info);

struct replicas_log_info {
    const char *topic; /* borrowed for the callback */
    int32_t partition;
    int64_t size;       /* bytes of its segments; 0 while there are no files, -1 when offline */
    int64_t offset_lag; /* log end - high watermark */
    /* What klamm tells those who ask for more. */
    bool is_offline;   /* its directory is */
    bool is_disk_full; /* ... because there was no room */
    bool is_leader;    /* here */
    bool is_throttled; /* a limit or throttle held it back within the last second, or pauses it */
    int64_t throttle_rate; /* bytes a second, the lowest that holds; 0 = paused, -1 = none */
    int64_t write_rate;    /* bytes a second that producers append; -1 = it does not lead here */
    int fetch_error; /* why its copying does not advance, E_ code; -E_NOT_AVAILABLE: the leader's
                              address is unknown, -E_CLOSED: it does not answer; 0 = no error */
    int16_t leader_code;      /* the leader refused with it; 0 = it did not */
    bool is_under_replicated; /* led here, and it is (KIP-352) */
    int64_t log_start;        /* -1 when offline, as log_end */
    int64_t log_end;
};

struct replicas_log_key {
    struct slice topic;
    int32_t partition;
};

typedef void (*replicas_log_fn)(void *arg, const struct replicas_log_info *info);
/* Every partition that is placed in one directory, offline or not, in no particular order. fn must not
 * change anything. */
void replicas_each_log(struct replicas *r, int32_t dir, replicas_log_fn fn, void *arg);
/* The same of this partition, and its directory; -1 when it is not here. */
int32_t replicas_find_log(struct replicas *r, const struct replicas_log_key *key,
                          struct replicas_log_info *ret_info);

/* A hosted partition that the present controller has not named since we registered: it has no role, or
 * one that an earlier controller, or an earlier life of ours, was told of. */
struct replicas_idle_info {
    const char *topic; /* borrowed for the callback */
    int32_t partition;
    struct uuid topic_id; /* zero = none */
};

typedef void (*replicas_idle_fn)(void *arg, const struct replicas_idle_info *info);
/* In no particular order; fn must not change anything. Offline ones are left out. */
void replicas_each_idle(const struct replicas *r, replicas_idle_fn fn, void *arg);
/* The partition is known not to be ours any more: its folder is renamed to -stray and deleted after
 * file.delete.delay.ms. False, with nothing done, when it is not hosted, offline, or was named. */
bool replicas_set_aside(struct replicas *r, struct slice topic, int32_t partition);

/* How one hosted partition stands. */
struct replicas_partition_info {
    bool is_leader;
    int32_t leader; /* -1 none or unknown */
    int32_t leader_epoch;
    int32_t dir; /* index; -1 while it has none */
    int64_t log_start;
    int64_t log_end;
    int64_t high_watermark;
    int32_t isr_count;    /* committed; 0 unless leader */
    int32_t failed_error; /* E_ code that stopped its fetching, 0 = none */
};

/* False when the partition is not hosted here. */
bool replicas_partition_get(const struct replicas *r, struct slice topic, int32_t partition,
                            struct replicas_partition_info *ret_info);

/* Section 12 of reassignment.md. Gauges are counted at the call; totals only rise. */
struct replicas_metrics {
    int32_t partitions;
    int32_t leaders;
    int32_t followers; /* those of another leader that they know */
    int32_t under_replicated;
    int32_t under_min_isr;
    int32_t at_min_isr;
    int32_t reassigning;
    int32_t offline;
    int32_t failed_fetches;  /* FailedPartitionsCount */
    int32_t paused_fetches;  /* their moves are paused */
    int32_t retried_fetches; /* wait after an error of theirs */
    int64_t max_lag;         /* records, over the partitions that are fetched here */
    uint64_t isr_expands;
    uint64_t isr_shrinks;
    uint64_t isr_update_failures;
    uint64_t replication_bytes_in;
    uint64_t replication_bytes_out;
    uint64_t reassignment_bytes_in;
    uint64_t reassignment_bytes_out;
    uint64_t produced_bytes;
    uint64_t produced_batches;
    uint64_t produced_records;
    uint64_t consumed_bytes; /* sent to clients that are no replicas */
    uint64_t fetch_restarts; /* a fetcher lost its leader or its session and began anew */
    int32_t fetchers;
};

void replicas_metrics(const struct replicas *r, struct replicas_metrics *ret_metrics);
