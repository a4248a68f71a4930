/*
 * The controller core: a function from events to effects. It knows brokers, topics and partitions,
 * decides elections, reassignments, creation and deletion, and never does I/O: the driver
 * (broker/controller) feeds it events and performs its effects in order.
 * Spec: docs/spec/reassignment.md sections 3 to 7 and 11.5; design decisions 1 to 5, 7, 8, 10 to 14.
 *
 * Rules that hold after every step:
 *  - at most one write is out for each znode; memory changes when the write is known to have happened,
 *    and the requests to brokers that follow from it leave after that;
 *  - what a step leaves undone because of its bound (partitions_per_step) is told by has_more: the
 *    driver then steps again with CONTROL_ON_TICK;
 *  - every request is answered exactly once, with KERR_NOT_CONTROLLER when the role is lost.
 *
 * Memory: an event is borrowed during the call. Effects and all they point to are valid until the next
 * control_step on the same core or control_effects_reset.
 */
#pragma once

#include "base/arena.h"
#include "model/cluster.h"
#include "model/ibp.h"
#include "model/kerr.h"

struct control;
struct controller_report;

struct control_config {
    int32_t broker_id;                  /* ours: the sender of all requests */
    uint64_t seed;                      /* placement and topic ids */
    enum ibp level;                     /* inter.broker.protocol.version */
    int32_t partitions_default;         /* num.partitions */
    int32_t replication_factor_default; /* default.replication.factor */
    int32_t partitions_per_step;        /* bound of a step; 0 = 400 */
    bool refuses_deletions; /* delete.topic.enable is false: what others queue is dropped */
};

/* ---------------------------------------------------------------- requests */

enum control_request_kind {
    CONTROL_ALTER_REASSIGNMENTS,
    CONTROL_LIST_REASSIGNMENTS,
    CONTROL_ALTER_PARTITION,
    CONTROL_ELECT_LEADERS,
    CONTROL_SHUTDOWN, /* ControlledShutdown */
    CONTROL_CREATE_TOPICS,
    CONTROL_CREATE_PARTITIONS,
    CONTROL_DELETE_TOPICS,
    CONTROL_ALLOCATE_PRODUCER_IDS,
};

/* AlterPartitionReassignments, flattened. */
struct control_alter_entry {
    struct slice topic;
    int32_t partition;
    bool is_cancel;          /* the list was null */
    const int32_t *replicas; /* wanted order */
    int32_t replica_count;
    /* The list to which an undo must lead now, else INVALID_UPDATE_VERSION: the asker chose from there.
     * NULL = whatever. */
    const struct ids *from;
};
struct control_alter {
    const struct control_alter_entry *entries;
    int32_t count;
    bool forbids_factor_change; /* v1: AllowReplicationFactorChange = false (KIP-860) */
    bool is_cancel_forced;      /* tagged field 10001, decision 2 */
    struct slice submitted_by;  /* principal; the driver's, as client_id. Null = not told */
    struct slice client_id;
    bool is_validate_only;    /* says what it would answer, and changes nothing */
    bool allows_dead_targets; /* the queue of moves waits for them (decision 3) */
    const struct moves_call
        *moves; /* the driver's: what the queue of moves is to know; NULL = nothing */
};

/* A topic-partition by name; ListPartitionReassignments and ElectLeaders. */
struct control_tp {
    struct slice topic;
    int32_t partition;
};
struct control_list {
    struct arena
        *memory;    /* the driver's: where it puts what control_reply.report is to be; NULL = no
                             report is asked for */
    bool wants_all; /* Topics was null */
    const struct control_tp *entries;
    int32_t count;
};

/* AlterPartition, flattened. A topic is named by name (v0, v1) or by id (v2 and later, name null). */
struct control_isr_entry {
    struct slice topic;
    struct uuid topic_id;
    int32_t partition;
    int32_t leader_epoch;
    int32_t partition_epoch;
    const int32_t *isr;
    int32_t isr_count;
    int8_t recovery; /* as on the wire */
};
struct control_alter_partition {
    int32_t broker;
    int64_t broker_epoch;
    bool knows_ineligible; /* v2 and later: 107 instead of 55 */
    const struct control_isr_entry *entries;
    int32_t count;
};

struct control_elect {
    bool is_unclean;
    bool wants_all;
    const struct control_tp *entries;
    int32_t count;
};

struct control_shutdown {
    int32_t broker;
    int64_t broker_epoch; /* -1 = not checked */
};

struct control_new_partition {
    int32_t partition;
    const int32_t *replicas;
    int32_t replica_count;
};
struct control_new_topic {
    struct slice name;
    int32_t partition_count;                         /* -1 = default */
    int32_t replication_factor;                      /* -1 = default */
    const struct control_new_partition *assignments; /* explicit; any order */
    int32_t assignment_count;                        /* 0 = place them */
    const struct model_setting *settings;            /* already validated by the caller */
    int32_t setting_count;
    int32_t min_insync_replicas;      /* effective, from settings or broker default */
    bool is_unclean_election_enabled; /* same */
    int16_t error;       /* not 0: the caller refuses this topic (40, 44); it is echoed */
    const char *message; /* with error */
};
struct control_create_topics {
    const struct control_new_topic *topics;
    int32_t count;
    bool is_validate_only;
    int64_t timeout_ms;
};

struct control_grow_topic {
    struct slice name;
    int32_t partition_count;                         /* new total */
    const struct control_new_partition *assignments; /* replicas of the added ones, in order;
                                                        partition is ignored */
    int32_t assignment_count;                        /* 0 = place them */
};
struct control_create_partitions {
    const struct control_grow_topic *topics;
    int32_t count;
    bool is_validate_only;
    int64_t timeout_ms;
};

struct control_delete_topics {
    const struct slice *names; /* null name: by id */
    const struct uuid *ids;    /* parallel; may be NULL when all are named */
    int32_t count;
    int64_t timeout_ms;
};

struct control_allocate_producer_ids {
    int32_t broker;
    int64_t broker_epoch;
};

struct control_request {
    enum control_request_kind kind;
    uint64_t token; /* the driver's; comes back in the reply */
    union {
        struct control_alter alter;
        struct control_list list;
        struct control_alter_partition alter_partition;
        struct control_elect elect;
        struct control_shutdown shutdown;
        struct control_create_topics create_topics;
        struct control_create_partitions create_partitions;
        struct control_delete_topics delete_topics;
        struct control_allocate_producer_ids allocate_producer_ids;
    };
};

/* ---------------------------------------------------------------- replies */

/* Alter, elect, create partitions, delete topics: one for each entry of the request, in its order
 * (elect with wants_all: those that were needed). */
struct control_result {
    struct slice topic; /* delete by id: the name if known, else null */
    struct uuid topic_id;
    int32_t partition; /* -1 where there is none */
    int16_t error;
    const char *message; /* NULL = none */
    int8_t note;         /* the driver's, as on the wire */
};
struct control_moving {
    struct slice topic;
    int32_t partition;
    struct ids replicas; /* borrowed, as all of them */
    struct ids adding;
    struct ids removing;
    /* What a look at its progress needs. */
    struct ids original; /* the list from before the move; empty = unknown */
    struct ids isr;      /* empty without a state */
    struct ids offline;  /* brokers that have it in a failed directory */
    int32_t leader;      /* MODEL_LEADER_NONE = none */
    bool has_leader;     /* one that is alive */
    bool is_stopping;    /* waits until those that leave are out of the in-sync set and stopped */
    int32_t min_insync;  /* how many must be in sync for acks=all (decision 10) */
    int64_t started_ms;  /* monotonic: when this controller first saw it */
    bool is_resumed;     /* it was there before this controller */
    void *details;       /* the driver's, behind it: what is told beside; NULL = nothing */
};
struct control_isr_result {
    struct slice topic;
    struct uuid topic_id;
    int32_t partition;
    int16_t error; /* not 0: the rest is -1 or empty */
    int32_t leader;
    int32_t leader_epoch;
    struct ids isr;
    int8_t recovery;
    int32_t partition_epoch;
};
struct control_created {
    struct slice topic;
    struct uuid topic_id;
    int16_t error;
    const char *message;
    int32_t partition_count;    /* -1 on error */
    int32_t replication_factor; /* -1 on error */
};

struct control_reply {
    uint64_t token;
    enum control_request_kind kind;
    int16_t error;       /* top level; then the lists are empty */
    const char *message; /* NULL = none */
    struct slice job;    /* the driver's: of the queue of moves; null = none */
    int32_t count;       /* of the list of this kind */
    bool has_more; /* list: a piece of it; another reply of this token follows, perhaps an error */
    union {
        const struct control_result *results;         /* alter, elect, grow, delete */
        const struct control_moving *moving;          /* list */
        const struct control_isr_result *isr_results; /* alter partition */
        const struct control_created *created;        /* create topics */
        const struct control_tp *remaining;           /* shutdown */
        const struct model_producer_block *block;     /* allocate producer ids; count is 1 */
    };
    struct controller_report *report; /* the driver's: list with memory; else NULL */
};

/* ---------------------------------------------------------------- the legacy plan of moves */

/* /admin/reassign_partitions (docs/spec/reassignment.md section 8). Borrowed. */
struct control_legacy_move {
    struct slice topic;
    int32_t partition;
    struct ids replicas; /* as the znode says: nothing is checked */
};
struct control_legacy {
    const struct control_legacy_move *moves;
    int32_t count;
    int32_t version; /* of the znode; -1 = there is none */
};

/* ---------------------------------------------------------------- writes */

enum control_write_kind {
    CONTROL_WRITE_TOPIC_CREATE,    /* /config/topics/T when settings, /brokers/topics/T and its
                                      `partitions` child, in one transaction */
    CONTROL_WRITE_TOPIC_SET,       /* whole topic znode, guarded by topic->version */
    CONTROL_WRITE_PARTITIONS_NODE, /* /brokers/topics/T/partitions */
    CONTROL_WRITE_STATE_CREATE,    /* .../partitions/P and .../P/state */
    CONTROL_WRITE_STATE_SET,       /* guarded by state->version */
    CONTROL_WRITE_DELETE_QUEUE,    /* create /admin/delete_topics/T */
    CONTROL_WRITE_DELETE_DROP,     /* delete /admin/delete_topics/T only (no such topic) */
    CONTROL_WRITE_TOPIC_DELETE,    /* /brokers/topics/T and below, /config/topics/T,
                                      /admin/delete_topics/T */
    CONTROL_WRITE_PRODUCER_BLOCK,  /* guarded by block->version; -1 = create */
    CONTROL_WRITE_LEGACY,          /* /admin/reassign_partitions, guarded by legacy->version:
                                      what is left of it; no move left: it is deleted */
};

/* The durable steps of a move (reassignment.md 6.2 to 6.5). */
enum control_step {
    CONTROL_STEP_ASSIGN,    /* U1: a move begins */
    CONTROL_STEP_OVERRIDE,  /* U1: it goes to another target */
    CONTROL_STEP_CANCEL,    /* U1: it goes back */
    CONTROL_STEP_HAND_OVER, /* U3, first: the leader that stays */
    CONTROL_STEP_DROP,      /* U3, then: the dropped leave the ISR */
    CONTROL_STEP_RAISE,     /* A1 */
    CONTROL_STEP_LEAD,      /* B3 */
    CONTROL_STEP_SHRINK,    /* B4 */
    CONTROL_STEP_STORE,     /* B6 */
    CONTROL_STEP_LEGACY,    /* B7, and before U1: /admin/reassign_partitions */
    CONTROL_STEP_COUNT
};

/* One guarded change. Each is atomic alone and guarded by the controller epoch; the driver may pack
 * several into one transaction (at most 1,000 operations and 512 KiB), and when it is refused reports
 * the one that refused and tries the others again. */
struct control_write {
    uint64_t id;
    enum control_write_kind kind;
    struct slice topic;                   /* all but PRODUCER_BLOCK and LEGACY */
    int32_t partition;                    /* STATE_* */
    const struct model_topic *topic_node; /* TOPIC_CREATE, TOPIC_SET */
    const struct model_setting *settings; /* TOPIC_CREATE */
    int32_t setting_count;
    const struct model_partition_state *state; /* STATE_*; version = the expected one */
    const struct model_producer_block *block;
    const struct control_legacy *legacy; /* LEGACY; version = the expected one */
    uint32_t steps; /* bit CONTROL_STEP_... of each step of a move that it stores */
};

enum control_outcome {
    CONTROL_WRITTEN,
    CONTROL_CONFLICT, /* bad version or "exists": the event carries the present value */
    CONTROL_MISSING,  /* the node or its parent is gone */
    CONTROL_FENCED,   /* another controller epoch: resign */
    CONTROL_FAILED,   /* too large, refused, ...: nothing was changed; message names the node and
                         says why. What can do without it is left alone, and tried again later */
};

/* ---------------------------------------------------------------- requests to brokers */

enum control_send_kind {
    CONTROL_SEND_LEADER_AND_ISR,
    CONTROL_SEND_UPDATE_METADATA,
    CONTROL_SEND_STOP_REPLICA,
};

struct control_receiver {
    int32_t broker;
    int64_t broker_epoch;
};

/* One partition in a request; everything is borrowed. Entries of one topic are adjacent. */
struct control_partition {
    struct slice topic;
    struct uuid topic_id;
    int32_t partition;
    struct model_partition_state state; /* UpdateMetadata: leader may be MODEL_LEADER_DELETED */
    struct ids replicas;
    struct ids adding;   /* LeaderAndIsr */
    struct ids removing; /* LeaderAndIsr */
    struct ids offline;  /* UpdateMetadata: replicas on dead brokers or in failed directories */
    bool is_new;         /* LeaderAndIsr */
    /* LeaderAndIsr, new, of a topic that is being created: what it is created with. */
    bool has_settings;
    const struct model_setting *settings;
    int32_t setting_count;
    int32_t stop_epoch; /* StopReplica: leader epoch, -1 unknown, -2 topic being deleted */
    bool is_delete;     /* StopReplica */
};

/* Goes to the end of the receivers' queues. brokers: all live or shutting-down ones (UpdateMetadata's
 * LiveBrokers; LeaderAndIsr's LiveLeaders are found in it). */
struct control_send {
    uint64_t id; /* rises with every send; given back with the answer */
    enum control_send_kind kind;
    int32_t controller_epoch;
    const struct control_receiver *receivers;
    int32_t receiver_count;
    bool is_deletion; /* StopReplica of a topic being deleted; given back with the answer */
    const struct control_partition *partitions;
    int32_t partition_count;
    const struct model_broker *const *brokers;
    int32_t broker_count;
};

/* ---------------------------------------------------------------- effects */

enum control_effect_kind {
    CONTROL_EFFECT_WRITE,
    CONTROL_EFFECT_SEND,
    CONTROL_EFFECT_REPLY,
    CONTROL_EFFECT_WATCH,  /* the state of a partition: read it, and again when it changes */
    CONTROL_EFFECT_RESIGN, /* give up the role; the driver answers with CONTROL_ON_RESIGNED */
    CONTROL_EFFECT_LOG,
    CONTROL_EFFECT_MOVED,   /* the stored assignment of a partition that moves, or moved, changed */
    CONTROL_EFFECT_BROKERS, /* a broker became one that lives, or is none any more: long after it
                               registered where what it led before had to be sorted out first */
};

enum control_level {
    CONTROL_INFO,
    CONTROL_WARNING,
};

struct control_effect {
    enum control_effect_kind kind;
    union {
        struct control_write write;
        struct control_send send;
        struct control_reply reply;
        struct control_tp watched;
        struct {
            enum control_level level; /* LOG */
            const char *text;         /* RESIGN: the reason; LOG: one line */
        };
        struct control_tp moved; /* borrowed for the step */
    };
};

struct control_effects {
    struct arena arena; /* private */
    struct control_effect *list;
    int32_t count;
    int32_t cap;     /* private */
    bool has_more;   /* step again with CONTROL_ON_TICK, soon */
    int64_t wake_ms; /* step with CONTROL_ON_TICK at this time; INT64_MAX = no need */
};

void control_effects_init(struct control_effects *e);
void control_effects_reset(struct control_effects *e); /* control_step does it by itself */
void control_effects_deinit(struct control_effects *e);

/* ---------------------------------------------------------------- events */

enum control_event_kind {
    /* Won the election. Then come BROKERS (once), a TOPIC for each topic, DELETE_TOPICS, PRODUCER_BLOCK,
     * LEGACY when there is one, and LOADED. Requests before LOADED get KERR_NOT_CONTROLLER. */
    CONTROL_ON_ELECTED,
    CONTROL_ON_LOADED,
    CONTROL_ON_RESIGNED,      /* the role is lost, for any reason; all state is dropped */
    CONTROL_ON_BROKERS,       /* all registrations, now */
    CONTROL_ON_TOPIC,         /* a topic znode as read: at load, when it appears, when it changes */
    CONTROL_ON_TOPIC_GONE,    /* a topic znode vanished */
    CONTROL_ON_TOPIC_CONFIG,  /* settings changed */
    CONTROL_ON_DELETE_TOPICS, /* the children of /admin/delete_topics, now */
    CONTROL_ON_PRODUCER_BLOCK,
    CONTROL_ON_LEGACY,          /* /admin/reassign_partitions was created, or is gone */
    CONTROL_ON_STATE,           /* a partition's state, read again: a leader wrote it by itself */
    CONTROL_ON_LOG_DIR_FAILURE, /* a broker lost a directory: it is asked about all its replicas */
    CONTROL_ON_WRITE_DONE,
    CONTROL_ON_ANSWER, /* of a LeaderAndIsr or a StopReplica */
    CONTROL_ON_REQUEST,
    CONTROL_ON_TELL_BROKERS, /* the driver has something to say with an UpdateMetadata that names no
                                partition: every live broker gets one. Before LOADED: nothing, it
                                starts with one */
    CONTROL_ON_TICK,
};

/* What is read with a topic. states: one a partition, NULL where there is no state znode; the array is
 * NULL when a change was seen after load (states are then the core's business). */
struct control_topic_read {
    const struct model_topic *topic;
    const struct model_partition_state *const *states;
    const int64_t
        *state_mzxids;        /* parallel to states; NULL = unknown. A broker that registered after
                                    the state was last written has restarted since */
    int64_t mzxid;            /* of the topic znode; 0 = unknown */
    bool has_partitions_node; /* /brokers/topics/T/partitions exists */
    int32_t min_insync_replicas;
    bool is_unclean_election_enabled;
};

struct control_answer_partition {
    struct slice topic; /* null: by id */
    struct uuid topic_id;
    int32_t partition;
    int16_t error;
};

struct control_event {
    enum control_event_kind kind;
    union {
        int32_t controller_epoch; /* ELECTED */
        struct {
            const struct model_broker *brokers; /* BROKERS */
            int32_t broker_count;
        };
        int32_t failed_broker;           /* LOG_DIR_FAILURE */
        struct control_topic_read topic; /* TOPIC */
        struct {
            struct slice name; /* TOPIC_GONE, TOPIC_CONFIG */
            int32_t min_insync_replicas;
            bool is_unclean_election_enabled;
        };
        struct {
            const struct slice *names; /* DELETE_TOPICS */
            int32_t name_count;
        };
        /* PRODUCER_BLOCK. An empty znode is a block that ends at -1; NULL = there is no znode. */
        const struct model_producer_block *block;
        struct control_legacy legacy; /* LEGACY */
        struct {
            struct control_tp of; /* STATE */
            const struct model_partition_state *seen;
            bool is_watch_over; /* it was read because the watch on it fired */
        };
        struct {
            uint64_t write_id; /* WRITE_DONE */
            enum control_outcome outcome;
            int32_t version;                           /* WRITTEN: the node's version now */
            const struct model_partition_state *state; /* CONFLICT of STATE_*; NULL = unreadable */
            const struct control_topic_read *read;     /* CONFLICT of TOPIC_SET and TOPIC_CREATE */
            const struct model_producer_block
                *conflict_block; /* CONFLICT of PRODUCER_BLOCK; NULL = unreadable */
            const struct control_legacy *conflict_legacy; /* CONFLICT of LEGACY */
            const char *message;                          /* FAILED; CONFLICT: unreadable */
            const char *path; /* FAILED: of the node; NULL = not known */
        };
        struct {
            enum control_send_kind send_kind; /* ANSWER */
            uint64_t send_id;                 /* of the request */
            struct control_receiver from;     /* epoch: the one the request carried */
            bool is_deletion;                 /* of the request */
            int16_t error;                    /* top level; then answers is empty */
            const struct control_answer_partition *answers;
            int32_t answer_count;
        };
        struct control_request request;
    };
};

/* ---------------------------------------------------------------- the core */

struct control *control_new(const struct control_config *config);
void control_free(struct control *c);
/* Takes the events in order, then does what became due. Events that come together (the outcomes of one
 * transaction) belong into one step: what follows from them shares its writes and its requests to
 * brokers. now_ms is monotonic. out is reset first. */
void control_step(struct control *c, int64_t now_ms, const struct control_event *events,
                  int32_t count, struct control_effects *out);
/* What the controller would tell of the cluster; all 0 unless active. Cheap. */
struct control_figures {
    int32_t brokers; /* alive */
    int32_t topics;
    int32_t deleting; /* topics that wait for their deletion, or are in it */
    int32_t partitions;
    int32_t leaderless;  /* partitions */
    int32_t unpreferred; /* partitions that the first of their list does not lead */
    int32_t moves;
    int32_t queued; /* partitions that are to be looked at */
    int32_t held;   /* what control_each_held tells */
};
void control_figures(const struct control *c, struct control_figures *ret);

/* What is left alone, because a node of it cannot be written or removed: a partition, a topic, or the legacy
 * plan of moves. Borrowed during the call. */
struct control_held {
    const char *topic; /* NULL: the plan */
    int32_t partition; /* -1: the topic as a whole, or the plan */
    const char *path;  /* of the node; NULL = not known */
    const char *why;   /* as the log told it, path included */
    int64_t since_ms;  /* when it was refused first, monotonic */
};
/* Calls fn for each, the oldest first. */
void control_each_held(const struct control *c,
                       void (*fn)(void *arg, const struct control_held *held), void *arg);

/* What the queue of moves looks at; borrowed until the next step. */
struct control_view {
    const struct assignment *assignment;
    int32_t leader; /* -1 = none */
};
/* False: there is no such partition, or its topic is being deleted. */
bool control_view(const struct control *c, struct slice topic, int32_t partition,
                  struct control_view *ret);
/* Calls fn for each partition that moves. tp is borrowed during the call. */
void control_each_moving(const struct control *c,
                         void (*fn)(void *arg, const struct control_tp *tp), void *arg);
/* Registered, and not shutting down. */
bool control_has_live(const struct control *c, int32_t broker);

/* For metrics and tests. */
bool control_is_active(const struct control *c);
int32_t control_moving_count(const struct control *c);
bool control_has_moves(const struct control *c); /* some partition moves, or is about to */
int32_t control_writes_pending(const struct control *c);
