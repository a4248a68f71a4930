/*
 * What the files of the queue share. Private to moves/.
 *
 * A place is a partition that is in a job or moves; it has at most one move that runs and one that waits.
 * A move that waits is parked at the first resource it lacks and is looked at again when some of that
 * resource is given back: so a free slot costs a look at the few that wait for it, whatever the length of
 * the queue. Everything that takes long (requests, loads) is done in bounded pieces.
 */
#pragma once

#include "base/alloc.h"
#include "base/check.h"
#include "base/heap.h"
#include "base/list.h"
#include "base/map.h"
#include "moves/moves.h"

#define QUEUE_BUDGET        400  /* partitions looked at in a step */
#define QUEUE_ALTER_ENTRIES 1000 /* asked for at once */
#define QUEUE_RETRY_MS      5000 /* after whoever performs moves refused one */
#define QUEUE_SIZE_MS       500  /* until the size of a partition may be known */
#define QUEUE_LAZY_MS       1000 /* marks that nobody waits for are stored this late */
#define QUEUE_LAZY_PIECES   8    /* and so many pieces at a time */
#define QUEUE_PIECE_BYTES                                                                          \
    32768 /* of a piece's JSON, about: far below 512 KiB, cheap to write again */
#define QUEUE_SIZE_CLASSES  48
#define QUEUE_HISTORY_JOBS  100   /* jobs that are over and kept */
#define QUEUE_HISTORY_MOVES 10000 /* ... with their moves */
#define QUEUE_UNHEARD_MAX                                                                          \
    1000 /* moves that ended before their size was known, and are asked about */
#define QUEUE_UNHEARD_MS 10000 /* ... so long */

/* ---- resources ---- */

enum queue_park_kind {
    PARK_READY,    /* lacks nothing known: is looked at as soon as there is time */
    PARK_CLUSTER,  /* the limit on moves at a time */
    PARK_BYTES,    /* the limit on bytes in flight; one park for each power of two */
    PARK_IN,       /* a broker's slots for gained replicas */
    PARK_OUT,      /* a broker's slots as source */
    PARK_DOWN,     /* a broker that is not alive */
    PARK_RESERVED, /* what it needs is kept for a move that was passed often enough */
    PARK_RETRY,    /* refused a moment ago */
};

struct queue_broker;

struct queue_park {
    enum queue_park_kind kind;
    struct queue_broker *broker; /* IN, OUT, DOWN */
    struct heap moves;           /* queue_move.parked, by key; RETRY: by time */
    struct list_node woken;      /* moves.woken: something was given back */
    int32_t credits;             /* how many may be looked at though it seems full */
};

struct queue_broker {
    int32_t id;
    int32_t in_used;
    int32_t out_used;
    struct queue_park in;
    struct queue_park out;
    struct queue_park down;
    UT_hash_handle hh;
};

/* What a move takes while it runs. */
struct queue_use {
    struct ids in;
    int32_t out;   /* -1 = nobody */
    int64_t bytes; /* -1 = not known yet */
};

/* ---- partitions ---- */

struct queue_topic {
    char *name;
    struct queue_place *places;
    UT_hash_handle hh;
};

struct queue_place {
    struct queue_topic *topic;
    int32_t partition;
    struct queue_move *running; /* STARTING, RUNNING */
    struct queue_move *waiting; /* WAITING, BEGINNING */
    bool is_moving;             /* the partition is reassigning, as looked at last */
    bool holds;                 /* use is taken */
    struct queue_use use;
    struct list_node unsized; /* moves.unsized: it holds slots, and its bytes are not known */
    struct list_node
        stalled;           /* moves.stalled: it moves, and holds nothing while a target is down */
    int32_t pins;          /* items of requests that point here */
    uint64_t seen_request; /* duplicates in one request: its serial, and the item */
    int32_t seen_index;
    uint64_t load_serial;  /* private to loading: the newest job that has it */
    struct ids load_base;  /* ditto: the list at rest before the moves that were looked at so far */
    struct list_node link; /* moves.places */
    UT_hash_handle hh;
};

/* ---- jobs ---- */

enum queue_state {
    QUEUE_COMING, /* its job is not stored yet */
    QUEUE_WAITING,
    QUEUE_BEGINNING, /* holds its slots; what must be known after a failover is being stored */
    QUEUE_STARTING,  /* asked for */
    QUEUE_RUNNING,   /* in the topic znode; without slots when paused */
    QUEUE_OVER,
};

struct queue_move {
    struct queue_job *job;
    struct queue_piece *piece;
    struct queue_place *place; /* NULL when OVER */
    struct slice topic;        /* borrowed from the job */
    int32_t partition;
    enum queue_state state;
    int32_t marks; /* enum model_job_mark */
    struct ids target;
    struct ids original;
    struct ids step;     /* STARTING, RUNNING: where the present step leads */
    struct ids replaces; /* as stored */
    struct ids from;     /* where the step starts: the list to which an undo would lead */
    struct ids adding;   /* of the step; while it waits, of the next */
    int64_t key;         /* place in the queue: priority, then submission */
    int64_t bytes;       /* to copy by the present step, or the next; -1 = unknown */
    /* bytes.c: */
    int64_t to_copy;          /* its part of the job's bytes_to_copy */
    int64_t copied;           /* its part of the job's bytes_copied */
    int64_t before;           /* of both, by steps that are over */
    int64_t step_bytes;       /* to copy by the step that runs, as heard; 0 = not yet */
    int64_t stored_copied;    /* about what the piece says */
    struct list_node unheard; /* moves.unheard */
    int64_t started_ms;       /* wall clock */
    int64_t since_ms;         /* wall clock, of reason or state */
    int8_t reason;
    int16_t reason_error;
    bool
        awaits_slots; /* RUNNING: resumed, or found so by a load; copies nothing until it has them */
    int32_t passed;
    int32_t source;          /* while it waits: the leader as looked at last */
    uint64_t begin_seq;      /* BEGINNING: the change of the piece that has to be stored first */
    struct queue_park *park; /* where it is parked; NULL = nowhere */
    struct heap_node parked;
    struct heap_node order; /* moves.order: waits for room, whatever it lacks */
    struct list_node link;  /* queue_job.running: STARTING, RUNNING */
};

struct queue_piece {
    struct queue_job *job;
    int32_t index;
    struct queue_move **moves;
    int32_t count;
    int32_t cap;
    size_t bytes;        /* bound of its JSON */
    uint64_t seq;        /* of the last change */
    uint64_t stored_seq; /* up to here it is stored */
    uint64_t failed_seq; /* up to here it was refused */
    uint64_t out_seq;    /* of the write that is out */
    uint64_t wanted_seq; /* up to here somebody waits for it */
    bool is_out;
    struct list_node dirty; /* moves.dirty: to be stored when there is time */
};

struct queue_job {
    struct model_job node; /* texts owned */
    struct list_node link; /* moves.jobs, by serial; when over moves.history */
    struct queue_piece **pieces;
    int32_t piece_count;
    int32_t piece_cap;
    struct list running;
    int32_t open;               /* moves not OVER */
    int32_t unpaused;           /* of them, not paused */
    int32_t begun;              /* of them, STARTING or RUNNING */
    struct list names;          /* queue_name: owned topic names */
    bool is_coming;             /* not stored yet */
    int32_t unheard;            /* its moves in moves.unheard */
    int32_t alters_out;         /* that point to its moves */
    int32_t pins;               /* requests that do */
    struct list_node finishing; /* moves.finishing */
    UT_hash_handle hh;
};

struct queue_name {
    struct list_node link;
    struct slice text;
};

/* ---- writes and alters that are out ---- */

struct queue_store {
    uint64_t id;
    enum moves_store_kind kind;
    struct queue_job *job; /* NULL: gone, or nobody waits */
    struct queue_piece *piece;
    uint64_t seq;
    struct queue_request *request; /* waits for the job's node; NULL = none */
    UT_hash_handle hh;
};

struct queue_alter {
    uint64_t id;
    struct queue_move **moves; /* starts of our own; NULL: a request's */
    struct queue_request *request;
    int32_t first; /* request: index into chunk */
    int32_t count;
    UT_hash_handle hh;
};

/* ---- requests ---- */

enum queue_stage {
    STAGE_EXPAND, /* entries or selectors to items */
    STAGE_JUDGE,  /* asks whether they would be accepted */
    STAGE_BUILD,  /* the job and its pieces */
    STAGE_BUILT,  /* waits for them to be stored */
    STAGE_COMMIT, /* its moves join the queue */
    STAGE_QUIET,  /* waits for starts that are out */
    STAGE_MARK,
    STAGE_MARKED, /* waits for the marks to be stored */
    STAGE_ALTER,  /* asks for what is to happen at once */
    STAGE_SETTLE,
    STAGE_REPLY,
};

enum queue_do {
    DO_NOTHING,
    DO_QUEUE,  /* into a new job */
    DO_ADOPT,  /* the same, for a move that runs and is of nobody: to pause it */
    DO_DIRECT, /* a stock alter, at once */
    DO_CANCEL,
    DO_PAUSE,
    DO_RESUME,
};

/* One partition of a request. */
struct queue_item {
    struct queue_place *place; /* pinned; NULL: refused before it got one */
    struct slice topic;
    int32_t partition;
    const int32_t *replicas; /* QUEUE, ADOPT, DIRECT */
    int32_t replica_count;
    enum queue_do what;
    bool takes_running;      /* CANCEL, PAUSE, RESUME: the move that runs ... */
    bool takes_waiting;      /* ... or the one that waits */
    bool asks;               /* CANCEL, DIRECT: it goes to whoever performs moves */
    struct queue_move *made; /* QUEUE, ADOPT */
    int16_t error;
    int8_t note;
    const char *message;
};

/* A piece that must be stored up to seq. */
struct queue_touch {
    struct queue_piece *piece;
    uint64_t seq;
};

struct queue_request {
    struct list_node link; /* moves.requests */
    struct moves_request body;
    uint64_t serial;
    struct arena arena;
    enum queue_stage stage;
    bool is_begun;
    struct queue_item *items;
    int32_t count;
    int32_t cap;
    int32_t cursor;
    int32_t chunk[QUEUE_ALTER_ENTRIES]; /* items of the alter that is out */
    int32_t chunk_count;
    bool is_chunk_out;
    int32_t stores_due; /* job nodes */
    const char *store_error;
    struct queue_job *job; /* made by it, or the job that it is about: pinned */
    int32_t stored_pieces; /* BUILD: so many are complete */
    struct queue_touch *touched;
    int32_t touched_count;
    int32_t touched_cap;
    int32_t stored_touches;         /* MARK: so many are on their way to be stored */
    struct queue_job *selected;     /* by its id; pinned */
    int32_t walk_piece;             /* of selected */
    struct queue_place *walk_place; /* pinned; NULL: the walk has not begun */
    int32_t *walk_partitions;       /* of the topic that is named next, by number; heap */
    int32_t walk_partition_count;
    int32_t walk_partition_at;
    bool is_walk_over;
    int16_t error; /* top level */
    const char *message;
};

/* ---- the end of loading ---- */

enum queue_load_stage {
    LOAD_ATTACH,
    LOAD_TAKE,
    LOAD_LOOK,
};

/* Where it stands. While there is one no job comes or goes, and no place but by it. */
struct queue_load {
    enum queue_load_stage stage;
    struct queue_job **jobs; /* the newest first */
    int32_t job_count;
    int32_t job_at;
    int32_t piece_at; /* of it, from the end: so many are done */
    struct queue_move **running;
    int32_t running_count;
    int32_t running_at;
    struct queue_place *place; /* the next one to look at: pinned; NULL: from the first one */
    bool is_disturbed;         /* something changed since the first one was looked at */
};

/* ---- the core ---- */

struct moves {
    struct moves_lookup lookup;
    struct moves_limits limits;
    bool is_loaded;
    struct queue_load *load; /* from LOADED until is_loaded */
    int64_t now_ms;
    int64_t wall_ms;
    struct moves_effects *out;
    int32_t budget;
    struct queue_topic *topics;
    struct list places;
    struct queue_broker *brokers;
    struct queue_job *jobs_by_id;
    struct list jobs;    /* open ones, in order of submission */
    struct list history; /* in order of their end */
    int32_t history_moves;
    uint64_t next_serial; /* of jobs */
    uint64_t next_order;  /* of moves */
    uint64_t next_id;     /* of stores, alters and requests */
    uint64_t next_seq;    /* of changes of pieces */
    struct queue_store *stores;
    struct queue_alter *alters;
    struct list requests; /* the first one runs */
    struct list woken;
    struct queue_park ready;
    struct queue_park cluster;
    struct queue_park bytes[QUEUE_SIZE_CLASSES];
    struct queue_park reserved;
    struct queue_park retry;
    struct heap order;
    struct queue_move *reservation; /* nobody passes it where it needs something */
    int32_t holding;                /* places that hold slots */
    int64_t bytes_used;
    struct list stalled; /* queue_place */
    struct list unsized; /* queue_place: while bytes are limited, what has bytes waits for them */
    int64_t size_at_ms;  /* they are looked at again then */
    int32_t waiting_count;
    struct queue_move **starts; /* of this step */
    int32_t start_count;
    int32_t start_cap;
    struct list dirty;
    struct list unheard;   /* queue_move: over before its size was known; oldest first */
    struct list finishing; /* queue_job: all moves over, not stored as such */
    int64_t lazy_at_ms;    /* dirty pieces are stored then; INT64_MAX = none are dirty */
    bool is_limits_dirty;
    bool has_limits; /* the last table had groups */
};

/* ---- effects.c ---- */
struct moves_effect *moves_effect_add(struct moves *m, enum moves_effect_kind kind);
void *moves_effect_array(struct moves *m, size_t count, size_t size);
/* Texts of effects must outlive what they are about. */
struct slice moves_effect_text(struct moves *m, struct slice text);
void moves_log(struct moves *m, const char *text);  /* copied */
void moves_warn(struct moves *m, const char *text); /* of trouble; copied */

/* ---- place.c ---- */
struct queue_place *moves_place_get(struct moves *m, struct slice topic, int32_t partition);
struct queue_place *moves_place_find(const struct moves *m, struct slice topic, int32_t partition);
/* Frees it when nothing is known of it any more. */
void moves_place_drop(struct moves *m, struct queue_place *p);
void moves_places_free(struct moves *m);
/* Looks at the facts and makes the moves of the place agree with them. */
void moves_place_look(struct moves *m, struct queue_place *p);
/* The move was cancelled where it is neither at its start nor at its end. */
void moves_move_return(struct moves *m, struct queue_move *v);
/* v took over where another move was to be undone as a whole: no more, when that one reached its target. */
void moves_check_replaced(struct moves *m, struct queue_move *v, const struct assignment *a);
/* It is in the topic znode but may not copy. */
bool moves_is_stopped(const struct queue_move *v);
/* Its alter or its store is out: what comes of it will be told. NULL is not asked. */
bool moves_is_asked(const struct queue_move *v);
/* False: the partition is gone. */
bool moves_place_facts(const struct moves *m, const struct queue_place *p,
                       struct moves_partition *ret);

/* ---- slots.c ---- */
void moves_slots_init(struct moves *m);
void moves_slots_free(struct moves *m);
struct queue_broker *moves_broker_get(struct moves *m, int32_t id);
/* Takes what use says for the place (use's memory goes over), or gives back what it has. Nothing is taken
 * while a broker of use->in is down: the place is stalled instead. */
void moves_take(struct moves *m, struct queue_place *p, struct queue_use *use);
void moves_give_back(struct moves *m, struct queue_place *p);
/* Into the queue, out of it. A paused one, or one that holds slots, is in none. */
void moves_enter(struct moves *m, struct queue_move *v);
void moves_leave(struct moves *m, struct queue_move *v);
/* What it needs is another thing now: it is not to wait for what it lacked. */
void moves_look_again(struct moves *m, struct queue_move *v);
/* Starts what fits, within the budget; true: there is more to look at. */
bool moves_schedule(struct moves *m);
/* What a move has to copy to these; -1 = not known. */
int64_t moves_bytes_of(const struct moves_partition *f, const struct ids *adding);
/* When the sizes of what runs are looked at again; INT64_MAX = they are known. */
int64_t moves_sizes_at(const struct moves *m);
/* Starts v, or parks it at what it lacks; it is in no park. */
void moves_look_at(struct moves *m, struct queue_move *v);
void moves_wake_all(struct moves *m); /* limits changed */
/* Brokers came or went: what waits for those that came is looked at, what moves to those that went gives back
 * what it holds. */
void moves_wake_brokers(struct moves *m);
/* Alters of this step. */
void moves_starts_flush(struct moves *m);
void moves_starts_done(struct moves *m, const struct queue_alter *a,
                       const struct moves_event *event);
/* The piece was stored: moves that waited for it are asked for. */
void moves_begin_stored(struct moves *m, struct queue_piece *piece);
/* What the next step of v would be from where its partition is. */
void moves_step_of(const struct queue_move *v, const struct assignment *a, struct ids *ret);
const struct ids *moves_goal(const struct queue_move *v);

/* ---- jobs.c ---- */
struct queue_job *moves_job_find(const struct moves *m, struct slice id);
struct queue_job *moves_job_new(struct moves *m, const struct model_job *node);
void moves_job_free(struct moves *m, struct queue_job *job);
/* Adds a move at the end; piece_index -1: where there is room. */
struct queue_move *moves_job_add(struct moves *m, struct queue_job *job,
                                 const struct model_job_move *from, int32_t piece_index);
/* The move is over: mark says how. */
void moves_move_end(struct moves *m, struct queue_move *v, enum model_job_mark mark);
void moves_move_state(struct moves *m, struct queue_move *v, enum queue_state state);
void moves_move_reason(struct moves *m, struct queue_move *v, int8_t reason, int16_t error);
/* Its marks or lists changed: the piece is to be stored, sometime. */
void moves_move_changed(struct moves *m, struct queue_move *v);
void moves_move_pause(struct moves *m, struct queue_move *v, bool is_paused);
void moves_piece_store(struct moves *m, struct queue_piece *piece); /* now, if it is not stored */
void moves_job_store(struct moves *m, struct queue_job *job, struct queue_request *request);
void moves_stored(struct moves *m, const struct moves_event *event);
/* Stores what is due and ends jobs; sets lazy_at_ms. */
void moves_lazy_run(struct moves *m);
/* The moves of one piece take the places that the job's present priority gives them. */
void moves_piece_rekey(struct moves *m, struct queue_piece *piece);
void moves_job_discard(struct moves *m, struct queue_job *job); /* it was never answered for */
void moves_history_trim(struct moves *m);
enum moves_state moves_job_state(const struct queue_job *job);

/* ---- bytes.c ---- */
/* What its step has to copy, as the facts have it; -1 = unknown. v->adding is that step's. */
void moves_bytes_plan(struct queue_move *v, int64_t bytes);
/* The step that ran is over; is_reached: at its end. */
void moves_bytes_step_over(struct queue_move *v, bool is_reached);
/* All of it is copied. */
void moves_bytes_done(struct moves *m, struct queue_move *v);
/* As it was stored. */
void moves_bytes_restore(struct queue_move *v, const struct model_job_move *from);
/* MOVES_ON_SIZE */
void moves_bytes_heard(struct moves *m, const struct moves_event *event);
/* Gives up asking about v. */
void moves_unheard_remove(struct moves *m, struct queue_move *v);
void moves_unheard_trim(struct moves *m);

/* ---- load.c ---- */
void moves_load_job(struct moves *m, const struct model_job *node);
void moves_load_piece(struct moves *m, const struct moves_event *event);
/* All jobs are there; then moves_load_run within the budget of each step, until it says true: all is loaded. */
void moves_load_start(struct moves *m);
bool moves_load_run(struct moves *m);
void moves_load_free(struct moves *m);

/* ---- request.c ---- */
void moves_request_start(struct moves *m, const struct moves_request *body);
/* Nothing may start: the first request marks moves and asks for what is to happen to them. */
bool moves_requests_hold(const struct moves *m);
/* True: the first request can go on at once. */
bool moves_requests_run(struct moves *m);
void moves_request_judged(struct moves *m, const struct queue_alter *a,
                          const struct moves_event *event);
void moves_requests_free(struct moves *m);
void moves_request_refuse(struct queue_request *r, enum kerr error, const char *message);
/* place may be NULL. */
struct queue_item *moves_item_add(struct moves *m, struct queue_request *r,
                                  struct queue_place *place);
void moves_item_fail(struct queue_request *r, struct queue_item *item, enum kerr error,
                     const char *message);

/* ---- select.c ---- */
/* Expands the request's entries or selectors into items, within the budget; true when all are there. */
bool moves_select(struct moves *m, struct queue_request *r);

/* ---- limits.c ---- */
/* The table of limits, when it changed. */
void moves_limits_flush(struct moves *m);
