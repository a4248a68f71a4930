/*
 * The objects inside broker/replicas: what its files share. Everything lives on the broker's env.
 *
 * Ownership: struct replicas owns directories, topics, partitions, fetchers and jobs. A partition owns
 * its log; callers own parked appends and watches, which are only linked here. Callbacks to the
 * outside, and whatever could pull an object from under a caller, wait for the drain: a timer that
 * fires once the present callback is over.
 */
#pragma once

#include "base/arena.h"
#include "base/list.h"
#include "base/map.h"
#include "broker/replicas/replicas.h"
#include "env/env.h"
#include "net/net.h"
#include "plog/dir.h"
#include "plog/plog.h"
#include "plog/read.h"
#include "plog/removal.h"
#include "replica/core.h"
#include "replica/limit.h"
#include "replica/meter.h"
#include "replica/throttle.h"

#define REPLICAS_FETCHERS_MAX  16
#define REPLICAS_FOLLOWERS_MAX 1024

/* The copying from one leader over one connection: one request at a time, for many partitions. */
struct replicas_fetcher {
    struct list_node link; /* in replicas->fetchers */
    struct replicas *replicas;
    int32_t broker; /* the leader */
    int32_t index;  /* below config.fetchers */
    struct net_peer *peer;
    char *host;
    uint16_t port;
    int32_t busy_count;    /* requests under way: 0, 1, or 2 (see step_soon) */
    uint64_t sent_count;   /* requests, numbered from 1 */
    uint64_t answer_count; /* answers come in the order of the requests */
    bool is_urgent;        /* a partition was added */
    struct env_timer step; /* looks for the next thing to do */
    int64_t step_at_ms;    /* ... then */
    int64_t pause_until_ms;
    bool is_broken; /* the last request had no answer, or one for nobody */
    /* Partitions by state; a partition in DELAYED waits in order of retry_ms. */
    struct list on;
    struct list asking;  /* LATEST and EARLIEST */
    struct list parting; /* EPOCH */
    struct list delayed;
    struct list paused;
    struct list dirty; /* of `on`: what an incremental request has to name */
    /* The leader's fetch session (KIP-227). */
    int32_t session_id;                   /* 0 = none */
    int32_t session_epoch;                /* of the next request, from 1 on */
    bool is_session_refused;              /* the leader declined to open one */
    bool is_by_id;                        /* topics are named by id */
    struct replicas_forgotten *forgotten; /* what the session still holds and should not */
    int32_t forgotten_count;
    int32_t forgotten_cap;
};

/* A partition that left the fetcher; it may be gone altogether. */
struct replicas_forgotten {
    char *topic; /* owned */
    struct uuid topic_id;
    int32_t partition;
};

/* ---- directories ---- */

struct replicas_dir {
    char *path;
    struct plog_dir *dir; /* NULL while offline */
    bool is_offline;
    bool is_untold;       /* dir_failed has still to be called */
    bool is_dropped;      /* offline, and its logs are closed */
    int32_t log_count;    /* partitions placed here */
    bool is_dirty[3];     /* checkpoint kinds (high watermark .. log start) to be written */
    bool is_writing[3];   /* ... and being written on the pool */
    struct errmsg reason; /* why it is offline */
    int error;            /* ditto, E_ code */
};

/* ---- topics ---- */

/* What the partitions of one topic share; exists while one does. */
struct replicas_topic {
    UT_hash_handle hh;      /* in replicas->topics, by name */
    UT_hash_handle id_hh;   /* in replicas->topic_ids, unless id is zero */
    struct uuid id;         /* the newest one heard */
    struct list partitions; /* struct replicas_partition by topic_link */
    int32_t java_hash;      /* of the name, for choosing a fetcher */
    struct replicas_topic_config config;
    struct replica_throttle_list leader_throttled; /* of this broker's replicas */
    struct replica_throttle_list follower_throttled;
    size_t name_len;
    char name[]; /* ends with NUL */
};

/* ---- partitions ---- */

/* A reader that goes through what is not in memory: it is read ahead for it. */
struct replicas_stream {
    int64_t next_offset; /* what it will ask for; -1 = unused */
    uint64_t ahead_end;  /* position in its file up to which reading was begun; 0 = none */
};

#define REPLICAS_STREAMS 4 /* a partition */

/* What a copy has still to come, as replicas_copied.left counts it. */
struct replicas_copy_share {
    int64_t bytes;
    uint64_t serial; /* of replicas_copied; another one: nothing is counted */
};

/* Where the copying of a follower stands. */
enum replicas_fetch_state {
    REPLICAS_FETCH_OFF,
    REPLICAS_FETCH_HOMELESS, /* the leader's endpoint is unknown */
    REPLICAS_FETCH_ON,       /* part of the fetcher's requests */
    REPLICAS_FETCH_LATEST,   /* out of range: asks for the leader's end */
    REPLICAS_FETCH_EARLIEST, /* ... and for its start */
    REPLICAS_FETCH_EPOCH,    /* asks where its latest epoch ends: the logs may have parted */
    REPLICAS_FETCH_DELAYED,  /* after an error or for a rate, until retry_ms */
    REPLICAS_FETCH_PAUSED,   /* its move is: until the limits say otherwise */
    REPLICAS_FETCH_FAILED,   /* KIP-461: only the controller brings it back */
};

struct replicas_fetch {
    enum replicas_fetch_state state;
    struct replicas_fetcher *fetcher; /* NULL in OFF, HOMELESS, FAILED */
    struct list_node link;            /* in the fetcher's list of this state, or in homeless */
    struct list_node dirty_link;      /* the leader's session does not know its present offsets */
    bool is_in_session;
    bool is_parted;       /* EPOCH comes before ON: it is not known where the logs part */
    bool is_far_behind;   /* the last answer was full: ask for more at a time */
    int64_t streak_bytes; /* of answers in a row that were full, or left it behind */
    struct replicas_copy_share share; /* in replicas.copied_in */
    bool is_long_copy;                /* goes over the fetcher for those */
    bool is_asked;                    /* part of the request under way that is no Fetch */
    int64_t sent_offset;              /* what the request under way, or the session, says */
    int32_t sent_epoch;               /* ditto: the leader epoch */
    uint64_t sent_request;            /* the request that said so; earlier answers do not count */
    int64_t initial_offset;           /* high watermark when it became follower */
    int64_t retry_ms;                 /* DELAYED */
    bool is_held;                     /* DELAYED, by a limit of moves */
    int32_t piece;                    /* bytes that its limit allows the next request */
    int32_t refusal_count;            /* in a row: the delay grows with it */
    int64_t lag;                      /* records, by the leader's high watermark; -1 unknown */
    int error;                        /* FAILED, or DELAYED by an error of our own: E_ code */
    int16_t leader_code;              /* the leader refused: its code; 0 = it did not */
};

struct replicas_key {
    struct replicas_topic *topic;
    int64_t index;
};

struct replicas_partition {
    UT_hash_handle hh; /* in replicas->partitions, by key */
    struct replicas_key key;
    struct replicas *replicas;
    struct replica_core core;
    struct plog *log; /* NULL when its directory is offline */
    struct uuid topic_id;
    int32_t dir;
    int32_t told_by;       /* epoch of the controller whose LeaderAndIsr named it last; -1 = none */
    int64_t told_to;       /* our registration then */
    bool is_foreign;       /* the controller means another topic of that name */
    struct list_node link; /* in replicas->all */
    struct list_node topic_link; /* in key.topic->partitions */
    uint32_t round;              /* the housekeeping round that saw it last */
    struct list parked;          /* struct replicas_append, in order of required_offset */
    struct list watches;         /* struct replicas_watch */
    /* Throttles (KIP-73). */
    bool is_leader_throttled;
    bool is_follower_throttled;
    struct list_node throttle_link; /* in replicas->held */
    /* Limits of moves. */
    struct replicas_limit *limit;     /* its group; NULL = none */
    struct list_node limit_link;      /* in limit->partitions */
    struct list_node limit_held_link; /* in limit->held */
    int64_t limited_ms;               /* when a limit or throttle last held something back;
                                         REPLICA_NEVER */
    struct replica_meter written;     /* leader: what producers append */
    /* Flushing of rolled segments. */
    struct list_node flush_link;
    int flushed_segments;     /* plog_segment_count at the last flush */
    int32_t controller_epoch; /* of who decided the state; goes with what we store ourselves */
    /* A proposal on its way. */
    struct list_node isr_link; /* in isr_queue or isr_sent */
    int32_t isr_leader_epoch;  /* as sent */
    int32_t isr_partition_epoch;
    struct replicas_fetch fetch;
    struct replicas_copy_share sent_share; /* in replicas.copied_out */
    /* Records that are not in memory (warm.c). */
    struct replicas_warm *warm; /* the job under way, NULL */
    struct replicas_stream streams[REPLICAS_STREAMS];
    unsigned next_stream;
};

/* ---- jobs on the disk pool ---- */

/* Starts every job struct; replicas turns NULL when the owner is freed while the job is under way. */
struct replicas_job {
    struct list_node link; /* in replicas->jobs */
    struct replicas *replicas;
};

/* Files that wait to be deleted. */
struct replicas_removal {
    struct replicas_job job;
    struct list_node link; /* in replicas->removals, in order of due_ms */
    struct plog_removal *removal;
    int64_t due_ms;
    int status; /* of the last step */
};

/* A flush on the pool. */
struct replicas_flush {
    struct replicas_job job;
    struct replicas_partition *partition; /* NULL once its log is gone */
    struct plog_flush *flush;
};

/* Reading into memory. */
struct replicas_warm {
    struct replicas_job job;
    struct replicas_partition *partition; /* NULL once its log is gone */
    struct plog_cold cold;                /* what is waited for; without its file */
    bool is_awaited;                      /* a reader was told to come again */
};

/* A group of the limits of moves, and what it holds here. */
struct replicas_limit {
    struct replicas *replicas;
    struct replica_limit *core; /* in replicas->limits */
    struct list partitions;     /* hosted ones */
    struct list held;           /* led ones that had to give a follower nothing */
    struct env_timer timer;     /* held ones may have something again */
};

/* When a follower was last heard of. */
struct replicas_follower {
    int32_t broker;
    int64_t fetch_ms;
};

/* ---- all of it ---- */

/* Bytes of copies in the seconds up to at_ms. */
struct replicas_copied {
    int64_t bytes;
    int64_t left; /* of the copies under way, as far as they told */
    int64_t at_ms;
    uint64_t serial; /* grows when all is forgotten */
};

struct replicas {
    struct env *env;
    struct replicas_config config; /* log_dirs unset: see dirs */
    struct replicas_hooks hooks;
    char *cluster_id; /* NULL until bound or found */
    bool is_stopping;
    int32_t controller_epoch;   /* newest seen, -1 */
    bool has_controller_spoken; /* from then on high watermarks are checkpointed */

    struct replicas_dir *dirs;
    int32_t dir_count;
    struct plog_files *files;
    struct replicas_topic *topics;
    struct replicas_topic *topic_ids;
    struct replicas_partition *partitions;
    struct list all;

    /* What the drain has to do. */
    struct env_timer drain;
    struct list ready;    /* watches to be called */
    struct list parked;   /* produces that wait */
    struct list finished; /* produces to be answered */

    /* In-sync sets (isr.c). */
    struct env_timer shrink_timer;
    struct env_timer isr_timer;   /* retry */
    struct env_timer nudge_timer; /* replicas may join: their sessions should look */
    struct list isr_queue;        /* partitions with a proposal to send */
    struct list isr_sent;         /* ... in the request under way */
    struct net_peer *controller;
    char *controller_host;
    uint16_t controller_port;
    int16_t isr_version; /* of the request under way */
    bool is_isr_busy;

    /* Fetchers (fetcher.c). */
    struct list fetchers;
    struct list homeless;
    struct arena arena; /* for one request or answer at a time */

    /* Copies that stayed in the page cache (past_cache.c). */
    struct replicas_copied copied_in;
    struct replicas_copied copied_out;

    struct replicas_follower followers[REPLICAS_FOLLOWERS_MAX];
    int32_t follower_count;

    /* Throttles (throttle.c). */
    struct replica_throttle leader_throttle;
    struct replica_throttle follower_throttle;
    struct list held; /* led partitions that had to give a follower nothing */
    struct env_timer held_timer;

    /* Limits of moves (limits.c). */
    struct replica_limits *limits;       /* NULL = none */
    struct replicas_limit *limit_groups; /* one a group */
    int32_t limits_epoch;                /* of the controller that was heard last */
    uint64_t limit_pass;                 /* numbers requests built and answers read */

    /* Tasks (tasks.c). */
    struct list jobs;
    struct list removals;
    struct env_timer removal_timer;
    struct list flushes;
    struct replicas_flush *flush; /* the one under way, NULL */
    struct env_timer checkpoint_timer;
    struct env_timer point_timer; /* recovery points and log starts */
    struct env_timer retention_timer;
    uint32_t round;
    bool is_round_busy; /* the present retention round is not through */
    env_fn stop_done;
    void *stop_arg;
    struct env_timer stop_timer;

    struct replicas_metrics totals; /* only the counters that rise */
};

/* ---- replicas.c ---- */

/* Work that must not happen in the present call: runs when the loop gets to it. */
void replicas_drain_soon(struct replicas *r);

/* ---- partition.c ---- */

bool replicas_topic_name_is_valid(struct slice name);
struct replicas_topic *replicas_topic_find(const struct replicas *r, struct slice name);
/* Finds or makes it; the name must be valid. It goes with its last partition. */
struct replicas_topic *replicas_topic_get(struct replicas *r, struct slice name);
void replicas_topic_set_id(struct replicas *r, struct replicas_topic *topic, struct uuid id);
struct replicas_topic *replicas_topic_by_id(const struct replicas *r, struct uuid id);

/* What becomes of a partition's log when the partition goes. */
enum replicas_fate {
    REPLICAS_FATE_KEEP,   /* it is only closed */
    REPLICAS_FATE_DELETE, /* renamed to -delete, deleted after a while */
    REPLICAS_FATE_STRAY,  /* the same by way of -stray */
};

struct replicas_partition *replicas_partition_find(const struct replicas *r, struct slice topic,
                                                   int32_t index);
struct replicas_partition *replicas_partition_at(const struct replicas *r,
                                                 struct replicas_topic *topic, int32_t index);
/* Takes log (NULL: offline), which lies in dir. */
struct replicas_partition *replicas_partition_new(struct replicas *r, struct replicas_topic *topic,
                                                  int32_t index, int32_t dir, struct plog *log);
/* Ends watches, parked appends, fetching and proposals; then the log. */
void replicas_partition_drop(struct replicas_partition *p, enum replicas_fate fate);
static inline const char *replicas_partition_topic(const struct replicas_partition *p)
{
    return p->key.topic->name;
}
static inline int32_t replicas_partition_index(const struct replicas_partition *p)
{
    return (int32_t)p->key.index;
}
struct replica_context replicas_partition_context(const struct replicas_partition *p);
/* Events for its watches. */
void replicas_partition_notify(struct replicas_partition *p, int events);
/* The log's end or start moved: takes it over, and raises the high watermark as far as it goes. */
void replicas_partition_log_moved(struct replicas_partition *p);
/* Leader: tries to raise the high watermark; tells whoever waits for it. */
void replicas_partition_advance(struct replicas_partition *p);
/* The high watermark moved: finishes appends, wakes watches, marks the checkpoint. */
void replicas_partition_high_watermark_moved(struct replicas_partition *p);
/* A call on its log gave err: a failed log takes the whole directory offline. */
void replicas_partition_log_error(struct replicas_partition *p, int err);
int64_t replicas_partition_stable_offset(const struct replicas_partition *p);

/* ---- produce.c ---- */

/* Finishes appends that the high watermark has passed. */
void replicas_parked_advance(struct replicas_partition *p);
/* Finishes all of them with err. */
void replicas_parked_fail(struct replicas_partition *p, int err);
/* Calls the owners of finished requests. */
void replicas_produce_drain(struct replicas *r);

/* ---- read.c ---- */

void replicas_watch_drain(struct replicas *r);

/* ---- dirs.c ---- */

/* Opens directory `index` and loads its partitions. An error of the directory only makes it offline;
 * an error returned stops the broker. */
int replicas_dir_open(struct replicas *r, int32_t index, struct errmsg *em) MUST_CHECK;
/* The online directory with the fewest logs, -1 when none is online. */
int32_t replicas_dir_choose(const struct replicas *r);
bool replicas_has_offline_dir(const struct replicas *r);
/* From now on offline; logs are closed and hooks told in the drain. reason: what failed and how, for the
 * operator; copied. */
void replicas_dir_fail(struct replicas *r, int32_t index, int err, const char *reason);
void replicas_dirs_drain(struct replicas *r);
void replicas_dirs_free(struct replicas *r);
/* Deletes the -stray folders of a partition after the delay. */
void replicas_dir_delete_strays(struct replicas *r, int32_t index, struct slice topic,
                                int32_t partition);
/* The present offsets of the directory's logs. */
void replicas_dir_collect(const struct replicas *r, int32_t index, enum plog_checkpoint_kind kind,
                          struct plog_checkpoint *ret_entries);

/* ---- control.c is called from outside only ---- */

/* ---- isr.c ---- */

void replicas_isr_init(struct replicas *r);
/* A proposal is pending in p's core: it will be sent. */
void replicas_isr_queue(struct replicas_partition *p);
void replicas_isr_drop(struct replicas_partition *p);
void replicas_isr_send(struct replicas *r);
void replicas_isr_metadata_changed(struct replicas *r);
void replicas_isr_free(struct replicas *r);

/* ---- warm.c ---- */

void replicas_warm_init(struct replicas_partition *p);
/* A read found cold, whose file it takes over: the watches fire when it should be tried again. */
void replicas_warm_start(struct replicas_partition *p, const struct replicas_read *read,
                         const struct plog_cold *cold);
/* The span is given out. */
void replicas_warm_found(struct replicas_partition *p, const struct replicas_read *read,
                         const struct plog_span *span);
/* p's log goes away. */
void replicas_warm_forget(struct replicas_partition *p);

/* ---- past_cache.c ---- */

struct plog_appended;

/* A follower appended a piece: hints to the kernel when the copy is long. */
void replicas_copy_appended(struct replicas_partition *p, const struct plog_appended *piece);
/* The same for what a leader sends. */
void replicas_copy_sent(struct replicas_partition *p, const struct replicas_read *read);
/* The copies of the partition are over: nothing more of them is to come. */
void replicas_copy_forget(struct replicas_partition *p);

/* ---- fetcher.c ---- */

/* p follows a leader: copies from it from now on (again, if it did already). */
void replicas_fetch_start(struct replicas_partition *p);
void replicas_fetch_stop(struct replicas_partition *p);
/* The same with a reason that counts as failure (KIP-461). */
void replicas_fetch_fail(struct replicas_partition *p, int error);
/* Leaves the requests for a while: short at first, since a leader often only has not heard yet what we
 * have, then up to replica.fetch.backoff.ms. */
void replicas_fetch_delay(struct replicas_partition *p);
/* The same for a time of one's own. */
void replicas_fetch_delay_ms(struct replicas_partition *p, int64_t delay_ms);
/* Its offsets changed: the next request says so. */
void replicas_fetch_touch(struct replicas_partition *p);
/* After an answer: takes a copy that turned out long to a fetcher of its own, where it holds up nobody in
 * sync, and back when it is through. */
void replicas_fetch_choose(struct replicas_partition *p);
/* Out of range: asks the leader, state is LATEST or EARLIEST. */
void replicas_fetch_ask(struct replicas_partition *p, enum replicas_fetch_state state);
/* Into the requests, after what has to be asked before that. */
void replicas_fetch_resume(struct replicas_partition *p);
/* Out of them, until replicas_fetch_resume. */
void replicas_fetch_pause(struct replicas_partition *p);
void replicas_fetchers_metadata_changed(struct replicas *r);
/* Frees fetchers without partitions. */
void replicas_fetchers_drain(struct replicas *r);
void replicas_fetchers_free(struct replicas *r);

/* ---- fetch_answer.c ---- */

struct wire_fetch_response;
struct wire_list_offsets_response;
struct wire_offset_for_leader_epoch_response;
/* Applies what the leader of f answered to each partition. */
void replicas_fetch_answered(struct replicas_fetcher *f, const struct wire_fetch_response *resp);
/* Cuts p's log to offset; false when the log failed (its directory goes offline). */
bool replicas_truncate(struct replicas_partition *p, int64_t offset) MUST_CHECK;
void replicas_offsets_answered(struct replicas_fetcher *f,
                               const struct wire_list_offsets_response *resp);
void replicas_epochs_answered(struct replicas_fetcher *f,
                              const struct wire_offset_for_leader_epoch_response *resp);

/* ---- throttle.c ---- */

void replicas_throttle_init(struct replicas *r);
void replicas_throttle_free(struct replicas *r);
/* Takes over the lists that the hook has just put into topic->config. */
void replicas_throttle_topic(const struct replicas *r, struct replicas_topic *topic);
void replicas_throttle_partition(struct replicas_partition *p);
/* The follower must get nothing now; its watches fire when it may. */
bool replicas_throttle_holds(struct replicas_partition *p, int32_t follower);

/* ---- limits.c ---- */

void replicas_limits_free(struct replicas *r);
/* Finds the group of a partition that is new here, and forgets it. */
void replicas_limit_attach(struct replicas_partition *p);
void replicas_limit_detach(struct replicas_partition *p);
/* Leader: how many of bytes_max the follower may get now; 0: nothing, its watches fire when it may. */
int32_t replicas_limit_allows(struct replicas_partition *p, int32_t follower, int32_t bytes_max);
/* Leader: that much was found for it; that much was sent. */
void replicas_limit_found(struct replicas_partition *p, int32_t follower, int64_t bytes);
void replicas_limit_sent(struct replicas_partition *p, int32_t follower, int64_t bytes);
/* Follower: the limit holds for what it fetches now. */
bool replicas_limit_holds(const struct replicas_partition *p);
bool replicas_limit_pauses(const struct replicas_partition *p);
/* What is told of limits and throttles: see struct replicas_log_info. */
bool replicas_limit_is_felt(const struct replicas_partition *p);
int64_t replicas_limit_rate(const struct replicas_partition *p);
/* Follower: takes what may not be asked for now out of the request that is built next, and says how
 * much the others may ask for. */
void replicas_limit_hold_back(struct replicas_fetcher *f);

/* ---- tasks.c ---- */

void replicas_tasks_init(struct replicas *r);
void replicas_tasks_free(struct replicas *r);
/* Takes removal (NULL is fine) and deletes its files after delay_ms. */
void replicas_removal_add(struct replicas *r, struct plog_removal *removal, int64_t delay_ms);
/* Syncs what was rolled, on the pool. */
void replicas_flush_queue(struct replicas_partition *p);
/* p's log goes away. */
void replicas_flush_forget(struct replicas_partition *p);
/* A job starts, and ends on the env: returns the owner, or NULL when that has gone. A job that has ended
 * calls replicas_job_over last. */
void replicas_job_start(struct replicas *r, struct replicas_job *job);
struct replicas *replicas_job_end(struct replicas_job *job);
void replicas_job_over(struct replicas *r);
/* Writes the checkpoints that are due of one kind, on the pool. */
void replicas_checkpoint_write(struct replicas *r, enum plog_checkpoint_kind kind);
