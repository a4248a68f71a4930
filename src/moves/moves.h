/*
 * The queue of moves: jobs, slots, priorities, pause and resume, one-at-a-time steps, cancel, undo, history.
 * A function from events to effects, as control/ is. It is a client of whatever performs moves (the
 * controller's core on klamm, AlterPartitionReassignments on any Kafka): it asks for them by effects and
 * learns about them by looking at facts. Runs where its driver runs: broker/controller/moves.c on the
 * controller's thread, or a command of cli/.
 *
 * Rules that hold after every step:
 *  - what an answer promises is stored before the answer leaves;
 *  - the moves that hold slots exceed no limit, but for those that were started by others or before the
 *    limit was lowered: while there are such, nothing more is started there;
 *  - a partition has at most one move that runs and one that waits; a later submission replaces the one that
 *    waits, and takes the place of the one that runs when its turn comes;
 *  - a cancel ends at the list from before the first move of the job.
 *
 * Order: repair before drain before balance, then in the order of submission; whatever fits passes what does
 * not. One that was passed MOVES_PASSES_MAX times is passed no more by moves that use what it waits for.
 * Slots: a move takes one `in` slot at each broker that gains a replica and one `out` slot at the broker that
 * led when it started. While one of the brokers that gain a replica is down the move takes nothing; it takes its
 * slots back, free or not, when the broker returns, and is never stopped for them. A partition larger than the
 * bytes allowed in flight runs alone.
 *
 * Facts are asked for, not told: struct moves_lookup answers from memory. After a fact changed the driver says
 * where (MOVES_ON_PARTITION, MOVES_ON_BROKERS). How far running moves are is told by moves_set_copied.
 *
 * Memory: an event is borrowed during the call. Effects and all they point to are valid until the next step.
 */
#pragma once

#include "base/arena.h"
#include "model/assignment.h"
#include "model/job.h"
#include "model/kerr.h"

#define MOVES_PASSES_MAX 32
#define MOVES_OFF        (-1)
/* Slots of submitted jobs where the operator set no limit. */
#define MOVES_IN_DEFAULT  4
#define MOVES_OUT_DEFAULT 4

struct moves;

/* ---------------------------------------------------------------- facts */

struct moves_partition {
    const struct assignment *assignment; /* borrowed until anything changes */
    int32_t leader;                      /* -1 = none */
    int64_t bytes;                       /* size of the partition; -1 = unknown */
};

struct moves_lookup {
    void *arg;
    /* False: there is no such partition, or its topic is being deleted. */
    bool (*partition)(void *arg, struct slice topic, int32_t partition,
                      struct moves_partition *ret);
    bool (*broker_is_live)(void *arg, int32_t broker);
};

/* The operator's limits; MOVES_OFF = none. */
struct moves_limits {
    int32_t in_per_broker;   /* klamm.moves.max.in.per.broker */
    int32_t out_per_broker;  /* klamm.moves.max.out.per.broker */
    int32_t per_cluster;     /* klamm.moves.max.per.cluster */
    int64_t bytes_in_flight; /* klamm.moves.max.bytes.in.flight */
};

/* ---------------------------------------------------------------- requests */

/* The action field of AlterPartitionReassignments. */
enum moves_action {
    MOVES_ACTION_ALTER, /* as Kafka: start now, subject to the operator's limits */
    MOVES_ACTION_SUBMIT,
    MOVES_ACTION_PAUSE,
    MOVES_ACTION_RESUME,
    MOVES_ACTION_CANCEL,
    MOVES_ACTION_SETTINGS,
    MOVES_ACTION_UNDO, /* cancel, and submit the reverse of what has ended */
    MOVES_ACTIONS,
};

struct moves_entry {
    struct slice topic;
    int32_t partition; /* MOVES_WHOLE_TOPIC: all of the topic that the job or the queue knows */
    bool is_cancel;    /* ALTER: the list was null */
    const int32_t *replicas;
    int32_t replica_count;
    /* Effects: refuse with MOVES_STALE unless an undo would lead to this list now: the step was chosen from
     * there. NULL = whatever. Who cannot promise that may take it as NULL. */
    const struct ids *from;
};
#define MOVES_STALE       KERR_INVALID_UPDATE_VERSION
#define MOVES_WHOLE_TOPIC INT32_MIN

#define MOVES_RATE_KEEP     (-1)
#define MOVES_RATE_REMOVE   (-2)
#define MOVES_PRIORITY_KEEP (-1)

struct moves_request {
    uint64_t token; /* the driver's; comes back in the reply */
    enum moves_action action;
    const struct moves_entry *entries;
    int32_t count;
    struct slice job;           /* the wished name (SUBMIT), else a selector; null = none */
    const int32_t *brokers;     /* selector: moves to or from one of these */
    int32_t broker_count;       /* 0 = no such selector */
    int64_t rate;               /* MOVES_RATE_KEEP = none in a submission */
    int8_t priority;            /* MOVES_PRIORITY_KEEP: SETTINGS only */
    bool is_one_at_a_time;      /* SUBMIT, SETTINGS */
    bool is_forced;             /* ALTER, CANCEL, UNDO: design decision 2 */
    bool forbids_factor_change; /* ALTER, SUBMIT (KIP-860) */
    bool is_validate_only;
    struct slice submitted_by;
    struct slice client_id;
};

/* Notes of a result, as on the wire. */
enum moves_note {
    MOVES_NOTE_NONE,
    MOVES_NOTE_QUEUED,
    MOVES_NOTE_DERIVED, /* restored to the derived origin: original_replicas was missing */
    MOVES_NOTE_SAME,    /* it was paused, or not paused, already */
};

struct moves_result {
    struct slice topic;
    int32_t partition;
    int16_t error;
    int8_t note;         /* enum moves_note */
    const char *message; /* NULL = none */
};

/* ALTER and SUBMIT: one result for each entry, in order. The others: one for each partition selected. */
struct moves_reply {
    uint64_t token;
    int16_t error; /* top level; then results is empty */
    const char *message;
    struct slice job; /* the job that was made; null = none */
    const struct moves_result *results;
    int32_t count;
};

/* ---------------------------------------------------------------- effects */

/* Ask whoever performs moves: one list of entries, answered by MOVES_ON_ALTERED. */
struct moves_alter {
    uint64_t id;
    const struct moves_entry *entries;
    int32_t count;
    bool is_validate_only;
    bool allows_dead_targets; /* validate-only: our own jobs wait for them (decision 3) */
    bool is_forced;
    bool forbids_factor_change;
};

enum moves_store_kind {
    MOVES_STORE_JOB,   /* /klamm/jobs/<id>: create, or replace */
    MOVES_STORE_PIECE, /* /klamm/jobs/<id>/<piece>: create, or replace */
    MOVES_REMOVE_PIECE,
    MOVES_REMOVE_JOB, /* its pieces are gone */
};

/* One write, answered by MOVES_ON_STORED. Carried out in the order given; each may be repeated. */
struct moves_store {
    uint64_t id;
    enum moves_store_kind kind;
    struct slice job;
    int32_t piece;
    const struct model_job *node;           /* STORE_JOB */
    const struct model_job_piece *contents; /* STORE_PIECE */
};

/* The whole table of limits on copying, to replace the former. */
struct moves_limit_group {
    int64_t rate;                         /* bytes/s for each broker and direction; 0 = paused */
    const struct moves_entry *partitions; /* topic and partition; those of one topic are adjacent */
    int32_t count;
};
struct moves_limit_table {
    const struct moves_limit_group *groups;
    int32_t count;
};

enum moves_effect_kind {
    MOVES_EFFECT_ALTER,
    MOVES_EFFECT_STORE,
    MOVES_EFFECT_LIMITS, /* comes before the alters of the same step that it is for */
    MOVES_EFFECT_REPLY,
    MOVES_EFFECT_LOG, /* one line */
};

struct moves_effect {
    enum moves_effect_kind kind;
    union {
        struct moves_alter alter;
        struct moves_store store;
        struct moves_limit_table limits;
        struct moves_reply reply;
        struct {
            const char *text;
            bool is_trouble; /* somebody should look */
        };
    };
};

struct moves_effects {
    struct arena arena; /* private */
    struct moves_effect *list;
    int32_t count;
    int32_t cap;     /* private */
    bool has_more;   /* step again with MOVES_ON_TICK, soon */
    int64_t wake_ms; /* step with MOVES_ON_TICK at this time; INT64_MAX = no need */
};

void moves_effects_init(struct moves_effects *e);
void moves_effects_deinit(struct moves_effects *e);

/* ---------------------------------------------------------------- events */

enum moves_event_kind {
    /* First come the jobs found, each with its pieces, then LOADED; facts must be answered, and changes told,
     * from LOADED on. With many moves it takes several steps until the queue is loaded. */
    MOVES_ON_JOB,
    MOVES_ON_PIECE,
    MOVES_ON_LOADED,
    MOVES_ON_LIMITS,
    MOVES_ON_REQUEST,
    MOVES_ON_ALTERED,
    MOVES_ON_STORED,
    MOVES_ON_PARTITION, /* its assignment changed, or it is gone: told for every partition that starts to
                           move, moves otherwise, or stops, whoever asked for it */
    MOVES_ON_SIZE,      /* of a partition that is wanted: moves_wants_size */
    MOVES_ON_BROKERS, /* some came or went */
    MOVES_ON_TICK,
};

struct moves_altered {
    int16_t error;
    int8_t note;
    const char *message;
};

struct moves_event {
    enum moves_event_kind kind;
    union {
        const struct model_job *job; /* JOB */
        struct {
            struct slice job_id; /* PIECE */
            int32_t piece;
            const struct model_job_piece *contents; /* NULL: unreadable */
        };
        struct moves_limits limits;
        struct moves_request request;
        struct {
            uint64_t alter_id;                   /* ALTERED */
            const struct moves_altered *altered; /* one an entry */
            int32_t altered_count;
        };
        struct {
            uint64_t store_id;   /* STORED */
            const char *message; /* NULL = stored; else it was refused, and why */
        };
        struct {
            struct slice topic; /* PARTITION, SIZE */
            int32_t partition;  /* MOVES_WHOLE_TOPIC: the topic is gone, or is being deleted */
            int64_t bytes;      /* SIZE: of the leader's log */
        };
    };
};

/* ---------------------------------------------------------------- the core */

/* lookup: copied; what it points to must outlive the core. */
struct moves *moves_new(const struct moves_lookup *lookup);
void moves_free(struct moves *m);
/* now_ms is monotonic, wall_ms the wall clock. out is reset first. */
void moves_step(struct moves *m, int64_t now_ms, int64_t wall_ms, const struct moves_event *event,
                struct moves_effects *out);

/* Requests are worked on, and what is listed is complete. */
bool moves_is_loaded(const struct moves *m);
/* Nothing is submitted, and no partition that the request names is in a job: a stock Alter may go past the
 * core. Cheap while there are no jobs. */
bool moves_may_pass(const struct moves *m, const struct moves_entry *entries, int32_t count);

/* ---------------------------------------------------------------- what is listed */

enum moves_state {
    MOVES_QUEUED,
    MOVES_RUNNING,
    MOVES_PAUSED,
    MOVES_DONE,
    MOVES_CANCELLED,
};
/* One word. A number that is not of the list (it came over the wire) has a text too. */
const char *moves_state_text(int32_t state);

/* A job; borrowed until the next step. */
struct moves_job_view {
    const struct model_job *job; /* counts and bytes are present */
    enum moves_state state;
};

/* A move; borrowed until the next step. */
struct moves_view {
    struct slice topic;
    int32_t partition;
    const struct model_job *job; /* NULL: started by a stock Alter, not ours */
    enum moves_state state;      /* QUEUED, RUNNING, PAUSED */
    bool is_begun;               /* it is in the topic znode: a move that runs, perhaps paused */
    bool is_between; /* it waits for its next step: the present list is none to go back to */
    const struct ids *target;   /* of the job: of its last step. NULL without a job */
    const struct ids *original; /* as target */
    int64_t started_ms;         /* wall clock; -1 = not yet */
    int64_t bytes_to_copy;      /* -1 = unknown */
    int8_t reason;              /* why it does not start, as moves/reason.h has them; 0 = none */
    int16_t reason_error;
    int64_t since_ms; /* wall clock: of the reason, or of the state */
};

/* Calls fn for each job: the open ones, then those that are over, newest first. */
typedef void (*moves_job_fn)(void *arg, const struct moves_job_view *view);
void moves_each_job(const struct moves *m, moves_job_fn fn, void *arg);
/* Calls fn for each move that waits, in no order. */
typedef void (*moves_fn)(void *arg, const struct moves_view *view);
void moves_each_queued(const struct moves *m, moves_fn fn, void *arg);
/* Calls fn for each move of a job of moves_each_job that is not over. */
void moves_each_open(const struct model_job *job, moves_fn fn, void *arg);
/* Calls fn for each topic of which something waits or moves, in no order; name is borrowed. */
void moves_each_topic(const struct moves *m, void (*fn)(void *arg, struct slice name), void *arg);
/* The partitions of the topic that wait, sorted; *ret_list is on the heap, never NULL. Returns the count. */
int32_t moves_topic_queued(const struct moves *m, struct slice topic, int32_t **ret_list);
/* The move of this partition that waits; false: there is none. */
bool moves_find_queued(const struct moves *m, struct slice topic, int32_t partition,
                       struct moves_view *ret);
/* The move of this partition that is in the topic znode; false: none is known. */
bool moves_find_running(const struct moves *m, struct slice topic, int32_t partition,
                        struct moves_view *ret);
/* What the partition's running move has to copy and has copied, 0 = not known yet. It goes into the sums of
 * its job, and stays there when the move ends; neither sum ever goes down. */
void moves_set_copied(struct moves *m, struct slice topic, int32_t partition, int64_t to_copy,
                      int64_t copied);
/* The size of this partition would help: a move of it waits, or ended before its size was heard of. */
bool moves_wants_size(const struct moves *m, struct slice topic, int32_t partition);
/* Calls fn for moves that ended before their size was heard of, some seconds long. */
void moves_each_unheard(const struct moves *m, moves_fn fn, void *arg);
int32_t moves_queued_count(const struct moves *m);
