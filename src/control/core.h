/*
 * What the files of the core share. Private to control/.
 *
 * The core is level-triggered: an event changes facts and puts the partitions it concerns on the ready
 * list; control_partition_advance then looks at one partition and starts the next write that its facts
 * ask for, if none is out. When the write is done the same function looks again. Nothing waits inside
 * a call, and a new controller resumes everything by putting every partition on the list.
 */
#pragma once

#include "base/alloc.h"
#include "base/check.h"
#include "base/heap.h"
#include "base/list.h"
#include "base/map.h"
#include "base/prng.h"
#include "control/control.h"

/* ---- brokers ---- */

struct core_broker {
    struct model_broker model; /* the newest registration */
    bool is_registered;
    bool is_alive;         /* registered, and what its former life left behind is cleared away */
    bool is_shutting_down; /* controlled shutdown; until it registers again */
    bool is_failing;       /* a down sweep runs: it may not come up before that ends */
    uint64_t seen;         /* private to control_brokers_set */
    UT_hash_handle hh;
};

enum core_sweep_kind {
    SWEEP_LOAD,     /* a new controller tells every partition */
    SWEEP_UP,       /* a broker came */
    SWEEP_DOWN,     /* a broker went */
    SWEEP_SHUTDOWN, /* a broker asks to leave */
    SWEEP_ASK,      /* a broker is to say which of its replicas it has lost (7.7) */
};

/* A walk over all partitions, a bounded piece a step. */
struct core_sweep {
    struct list_node link; /* control.sweeps */
    enum core_sweep_kind kind;
    int32_t broker;
    int32_t pass;
    struct core_topic *topic; /* next to visit; NULL = the pass is over */
    int32_t partition;
    bool is_blocked;              /* waits for a write of the partition it stands on */
    struct core_request *request; /* SHUTDOWN */
};

/* ---- what is left alone ---- */

enum core_hold_kind {
    HOLD_PARTITION,
    HOLD_TOPIC,
    HOLD_LEGACY,
};

/* A znode refused to be written; hold.c. */
struct core_hold {
    struct heap_node node; /* control.holds, until it is tried again */
    enum core_hold_kind kind;
    struct core_partition *partition; /* PARTITION */
    struct core_topic *topic;         /* TOPIC */
    int64_t delay_ms;                 /* before the next try */
    bool is_told;                     /* counted in control.holds_told */
    char *why;                        /* the first refusal: path and reason; owned */
    char *path;                       /* of the node that refused then; owned, NULL = not known */
    int64_t since_ms;                 /* when it refused first */
    struct list_node link;            /* control.held, as long as there is a hold */
};

/* ---- partitions ---- */

/* Where a move stands (reassignment.md section 6). Transitions: reassign.c. */
enum core_phase {
    PHASE_ASSIGN, /* U1: the triple is to be stored */
    PHASE_DROP,   /* U3: replicas of an earlier target are to be stopped */
    PHASE_START,  /* completion test, then A or B */
    PHASE_COPY,   /* A1 is done: waits until the target is in sync and one of it can lead */
    PHASE_SHRINK, /* B3 is done: the removed replicas are to leave the ISR and to be stopped */
    PHASE_STORE,  /* B4 is done: the plain list is to be stored */
    PHASE_COUNT
};

struct core_move {
    struct list_node link; /* control.moves */
    struct core_partition *partition;
    enum core_phase phase;
    struct ids target;      /* TRS */
    bool shows_target;      /* from B3 on brokers are told TRS alone */
    bool awaits_leader;     /* the leader has yet to answer what it was told last */
    uint64_t leader_send;   /* the request that tells it; 0 = not sent yet */
    bool is_handed_over;    /* DROP: none of the dropped leads */
    bool is_raised;         /* START: the epoch was raised with the present list */
    enum core_phase before; /* ASSIGN: where to go back to when it cannot be stored */
    bool is_fresh;          /* ASSIGN: there was no move before */
    bool is_forced;         /* the operator accepts to lose the leader */
    bool is_wait_logged;
    bool is_sparing;    /* the dropped are no replicas that we know of: they may not lead meanwhile,
                               and are not told to delete */
    int64_t started_ms; /* when we first saw it */
    bool is_resumed;    /* it was found in the topic znode */
    const char *note;   /* goes with the answer; a constant, or NULL */
    struct ids dropped; /* U3: who is to be stopped */
    struct ids shown;   /* DROP: RS and the dropped */
    bool has_next;      /* next waits for, or is in, a topic write */
    struct assignment next; /* what the topic znode is to say */
    bool is_change_out;     /* in topic.writing, else in topic.changes */
    struct list_node change;
    struct list answers; /* core_op: requests answered when the move settles */
};

struct core_partition {
    struct core_topic *topic;
    int32_t index;
    bool has_state;
    bool is_leaderless;      /* as counted in control.leaderless_count */
    bool is_unpreferred;     /* as counted in control.unpreferred_count */
    bool is_lost;            /* its znode vanished, or makes no sense: nothing is tried */
    bool has_strangers;      /* members of the ISR are neither replicas nor left by a move */
    int32_t refused_version; /* of the state that is not believed; -1 = none */
    struct model_partition_state state; /* as stored */
    struct model_partition_state *gone; /* as it was when its topic's znode vanished; owned, NULL =
                                           it did not, or there is a state again */
    struct assignment stored;           /* as in the topic znode */
    struct ids offline;                 /* brokers that have it in a failed directory */
    bool needs_raise;      /* a member registered anew: it is told under a new epoch, and
                                           if it left the ISR before that, the write shows it */
    struct ids deleting;   /* brokers that have yet to delete it */
    int32_t witness;       /* the last member, asked for a sign of life; -1 = none */
    uint64_t witness_send; /* ... by this request; 0 = not sent yet */
    bool has_witness_answered;
    struct core_write *write; /* of the state, out */
    struct core_hold *hold;   /* it cannot be written; NULL = it can, or nobody knows */
    struct core_move *move;
    struct core_legacy *legacy; /* what /admin/reassign_partitions asks for; NULL = nothing */
    struct core_tell *tell;     /* this step's requests to brokers */
    struct list ops;            /* core_op: requests that wait for their turn */
    struct list_node ready;     /* control.ready */
    bool is_watched;            /* changes of its state by others are told */
    uint64_t seen_request;      /* duplicates in one request: its serial, and the entry */
    int32_t seen_index;
};

/* ---- topics ---- */

enum core_deletion {
    DELETION_NONE,
    DELETION_QUEUED,   /* waits for writes to end and for every replica to be reachable */
    DELETION_STOPPING, /* waits for the brokers' answers */
    DELETION_REMOVING, /* the znodes are being removed */
};

struct core_topic {
    char *name;
    char *collision; /* the name with '.' as '_' */
    struct uuid id;
    int32_t version;
    uint64_t serial; /* order of arrival */
    int32_t partition_count;
    struct core_partition **partitions;
    int32_t min_insync_replicas;
    bool is_unclean_election_enabled;
    bool has_partitions_node;
    bool has_collision_key;   /* in control.topics_by_collision */
    bool is_creating;         /* reserved: the create write is out; not visible yet */
    bool needs_id;            /* the znode has none yet */
    struct core_write *write; /* of the topic znode or its partitions node, out */
    struct core_hold
        *hold; /* ... cannot be written, or the topic's nodes not be removed; or NULL */
    int32_t writes_pending;  /* of the topic and its partitions */
    int32_t stateless_count; /* partitions without state */
    struct list changes;     /* core_move.change: for the next topic write */
    struct list writing;     /* core_move.change: in the write that is out */
    struct list grows;       /* core_op: CreatePartitions; the first may be in the write */
    struct assignment *grow; /* partitions that the write adds, or creates the topic with */
    int32_t grow_count;
    /* Until all partitions have a state, and for brokers to be told with it: what it is created with. */
    bool has_settings;
    struct model_setting *settings; /* owned, texts too */
    int32_t setting_count;
    struct list_node settled; /* control.settled */
    struct list creates;      /* core_op: CreateTopics, answered when all states exist */
    struct list deletes;      /* core_op: DeleteTopics */
    enum core_deletion deletion;
    bool is_queue_out;         /* the write of /admin/delete_topics/T is out */
    bool is_waiting;           /* QUEUED: for a broker to come */
    uint64_t seen_request;     /* the list that names it, by serial */
    int32_t awaiting;          /* STOPPING: answers due */
    struct list_node link;     /* control.topic_list */
    struct list_node dirty;    /* control.dirty_topics */
    struct list_node deleting; /* control.deleting */
    UT_hash_handle hh;
    UT_hash_handle hh_id;
    UT_hash_handle hh_collision;
};

/* ---- the legacy plan of moves ---- */

enum core_legacy_state {
    LEGACY_NEW,     /* starts when its partition is at rest */
    LEGACY_ASIDE,   /* stays as it is: it is not ours to start, or its move runs */
    LEGACY_LEAVING, /* the znode's next write leaves it out */
    LEGACY_OUT,     /* the write that is out leaves it out */
};

/* An entry of /admin/reassign_partitions. */
struct core_legacy {
    struct list_node link;            /* control.legacy_unbound, then control.legacy */
    struct core_partition *partition; /* NULL: there is none, or another entry has it */
    char *topic;
    int32_t index;
    struct ids replicas;
    bool is_wait_logged;
    enum core_legacy_state state;
};

/* ---- writes ---- */

/* Why a partition state is written; decides what follows. */
enum core_why {
    WHY_CREATE,
    WHY_REPAIR,    /* lost leader, dead ISR members */
    WHY_HAND_OVER, /* U3: before it, a leader that stays */
    WHY_DROP,      /* U3 */
    WHY_RAISE,     /* A1 */
    WHY_LEAD,      /* B3 */
    WHY_SHRINK,    /* B4 */
    WHY_OP,        /* the first of partition.ops */
    WHY_COUNT
};

struct core_write {
    uint64_t id;
    enum control_write_kind kind;
    enum core_why why;
    struct core_topic *topic; /* NULL for the producer block, LEGACY and DELETE_DROP */
    struct core_partition *partition;
    bool had_raise;                     /* STATE_*: the partition's needs_raise before it */
    struct model_partition_state state; /* STATE_*: as it will be stored; version = expected */
    struct model_producer_block block;
    UT_hash_handle hh;
};

/* ---- requests ---- */

struct core_request {
    struct list_node link;       /* control.requests or control.answered */
    struct control_request body; /* copied into arena */
    uint64_t serial;
    struct arena arena;
    int32_t remaining; /* operations not answered yet */
    bool is_expanding; /* more operations will come */
    int32_t cursor;    /* expansion */
    int32_t pass;
    struct list_node expanding; /* control.expanding */
    struct list_node listing;   /* control.listings */
    struct slice *topics;       /* LIST: what it goes through; cursor is the next one */
    int32_t topic_count;
    int32_t partition_at;      /* in topics[cursor] */
    struct list waiting;       /* core_op.waiting */
    struct core_seen *seen;    /* entries of unknown partitions, for duplicates */
    struct heap_node deadline; /* control.deadlines */
    struct control_reply reply;
    struct control_result *results;
    struct control_isr_result *isr_results;
    struct control_created *created;
    struct control_tp *remaining_partitions; /* SHUTDOWN */
    int32_t remaining_cap;
};

/* A piece of a request that waits at a partition or topic; lives in the request's arena. */
struct core_op {
    struct list_node link;
    struct list *home;        /* topics and blocks: the list it waits in; NULL = none */
    struct list_node waiting; /* with home: core_request.waiting */
    bool is_out;              /* CreatePartitions: in the topic write that is out */
    struct core_request *request;
    int32_t index; /* entry of the request */
    struct core_partition *partition;
};

/* ---- what brokers will be told at the end of the step ---- */

struct core_tell {
    struct list_node link; /* control.tells */
    struct core_partition *partition;
    struct ids state_to;    /* LeaderAndIsr */
    struct ids new_to;      /* LeaderAndIsr, isNew */
    struct ids metadata_to; /* UpdateMetadata */
    bool is_metadata_to_all;
    struct ids stop;        /* StopReplica, keep */
    struct ids stop_delete; /* StopReplica, delete */
};

struct control {
    struct control_config config;
    struct prng prng;
    bool is_elected;
    bool is_active; /* elected and loaded */
    bool is_resigning;
    int32_t epoch;
    int64_t now_ms;
    struct control_effects *out; /* of the step that runs */
    int32_t budget;              /* partitions that this step may still look at */
    struct core_broker *brokers;
    int32_t alive_count;
    struct model_broker
        *late_brokers; /* LOADING: the registrations after the first list; NULL = none */
    int32_t late_broker_count;
    struct core_topic *topics;
    struct core_topic *topics_by_id;
    struct core_topic *topics_by_collision;
    struct list topic_list;
    int32_t partition_count;
    int32_t leaderless_count;
    int32_t unpreferred_count;
    struct list sweeps;
    struct list ready;
    struct list dirty_topics;
    struct list tells;
    struct list moves;
    struct list deleting;
    struct list settled; /* topics whose settings are told: forgotten by the next step */
    struct list gone;    /* private to gone.c */
    struct core_write *writes;
    int32_t writes_pending;
    uint64_t next_write_id;
    uint64_t next_send_id;
    uint64_t next_serial;
    struct list requests;
    struct list expanding;
    struct list listings; /* core_request: the first is told in pieces */
    struct list answered; /* freed by the next step */
    struct heap deadlines;
    struct heap holds; /* core_hold: that wait for their next try */
    struct list held;  /* core_hold: all, the oldest first */
    int32_t holds_told;
    bool is_more_held_told;
    bool has_block;
    struct model_producer_block block;
    bool is_block_out;
    bool is_block_told;    /* that it cannot be written */
    struct list block_ops; /* core_op: AllocateProducerIds */
    struct list legacy;    /* core_legacy, in the znode's order */
    struct list legacy_unbound;
    int32_t legacy_version; /* of the znode; -1 = there is none */
    int32_t legacy_refused; /* entries told to be bad */
    bool is_legacy_dirty;
    struct core_write *legacy_write;
    struct core_hold *legacy_hold;
    bool is_legacy_delete_refused; /* with legacy_hold: nor can it be deleted */
};

/* ---- effects.c ---- */
struct control_effect *control_effect_add(struct control *c, enum control_effect_kind kind);
void *control_effect_array(struct control *c, size_t count, size_t size);
/* Copies the text. */
void control_log_add(struct control *c, enum control_level level, const char *text);
void control_moved(struct control *c, const struct core_partition *p);
void control_resign(struct control *c, const char *reason);

/* ---- brokers.c ---- */
struct core_broker *control_broker_find(const struct control *c, int32_t id);
bool control_broker_is_live(const struct control *c, int32_t id); /* alive, not shutting down */
void control_brokers_set(struct control *c, const struct control_event *event);
/* While a new controller reads: the first list is what it starts from; a later one waits, so that what it
 * changes is dealt with like a change after that. */
void control_brokers_load(struct control *c, const struct control_event *event);
void control_brokers_loaded(struct control *c);
void control_brokers_reset(struct control *c);
/* UpdateMetadata without partitions to every broker. */
void control_brokers_tell(struct control *c);
void control_sweep_start(struct control *c, enum core_sweep_kind kind, int32_t broker,
                         struct core_request *request);
/* Works on the sweeps within the budget. True when some can go on at once. */
bool control_sweeps_run(struct control *c);
/* The topic goes away: no sweep may stand on it. */
void control_sweeps_leave(struct control *c, const struct core_topic *t);

/* ---- election.c: pure choices; next is a copy of the state, changed when true is returned ---- */
bool control_replica_is_alive(const struct control *c, const struct core_partition *p, int32_t id);
bool control_replica_is_online(const struct control *c, const struct core_partition *p, int32_t id);
/* The first of order that is online and in the ISR; -1 = none. */
int32_t control_elect_first(const struct control *c, const struct core_partition *p,
                            const struct ids *order);
bool control_elect_repair(const struct control *c, const struct core_partition *p,
                          struct model_partition_state *next);
bool control_elect_create(const struct control *c, const struct core_partition *p,
                          struct model_partition_state *next);
/* KERR_NONE when next is to be written. */
enum kerr control_elect_asked(const struct control *c, const struct core_partition *p,
                              bool is_unclean, struct model_partition_state *next);
/* Controlled shutdown of broker; false: nothing to change, or nobody else can lead. */
bool control_elect_shutdown(const struct control *c, const struct core_partition *p, int32_t broker,
                            struct model_partition_state *next);

/* ---- partition.c ---- */
struct core_partition *control_partition_new(struct control *c, struct core_topic *t, int32_t index,
                                             const struct assignment *a);
/* Answers what waits there with `error`. */
void control_partition_free(struct control *c, struct core_partition *p, enum kerr error);
struct core_partition *control_partition_find(const struct control *c, struct slice topic,
                                              int32_t index);
/* RS as brokers are told. */
const struct ids *control_partition_replicas(const struct core_partition *p);
void control_partition_ready(struct control *c, struct core_partition *p);
void control_partition_advance(struct control *c, struct core_partition *p);
/* Takes next's memory. */
void control_partition_write(struct control *c, struct core_partition *p, enum core_why why,
                             struct model_partition_state *next);
void control_partition_written(struct control *c, struct core_write *w,
                               const struct control_event *event);
/* The broker is neither leader nor a member of the ISR that others could do without. */
bool control_partition_is_clear_of(const struct control *c, const struct core_partition *p,
                                   int32_t broker);
/* Whether next, which drops members of the ISR, may be written now. One that leaves a single member
 * needs a sign of life from it that is younger than the wish: for the length of the session time-out a
 * broker that lost power looks alive, and what it lost with the power is then only in the others, who
 * would be turned away. False: it was asked, and the partition is looked at again when it answers. */
bool control_partition_may_drop(struct control *c, struct core_partition *p,
                                const struct model_partition_state *next);
/* Nothing is known of it any more: it is left as it is. why goes on with "its state PATH". */
void control_partition_lose(struct control *c, struct core_partition *p, const char *why);
/* The same, until its znode changes. */
void control_partition_lose_for_now(struct control *c, struct core_partition *p, const char *why);
/* Its state was read again, with this version. */
void control_partition_seen(struct control *c, const struct control_event *event);
/* A move waits for its ISR: at levels where leaders write it by themselves, changes are watched. */
void control_partition_watch(struct control *c, struct core_partition *p);
/* A LeaderAndIsr that names the partition was queued for a broker, or answered by it. */
void control_partition_told(struct core_partition *p, int32_t broker, uint64_t send_id);
void control_partition_answered(struct control *c, struct core_partition *p,
                                const struct control_event *event);

/* ---- members.c ---- */
/* The leader and the members of the ISR that are not in the list of replicas. ret must be empty. */
void control_members_outside(const struct core_partition *p, struct ids *ret);
/* Takes a state that was read. False: it cannot be true beside the list of replicas; that is told, and
 * nothing was taken. is_list_newer: the list was stored after it. */
bool control_members_take(struct control *c, struct core_partition *p,
                          const struct model_partition_state *state, bool is_list_newer) MUST_CHECK;
/* The state is about to be written: notes what the next controller has to know. */
void control_members_note(const struct core_partition *p, struct model_partition_state *next);
/* It was written. */
void control_members_written(struct core_partition *p);

/* ---- gone.c ---- */
/* The topic's znode vanished, and it is about to be freed. */
void control_gone_remember(struct control *c, const struct core_topic *t);
/* The topic was read for the first time: its partitions get what is remembered of them. */
void control_gone_recall(struct control *c, struct core_topic *t);
void control_gone_forget(struct core_partition *p);
void control_gone_reset(struct control *c);
/* The state that the partition goes on with. next must be empty. False: nothing is remembered of use. */
bool control_gone_elect(const struct control *c, const struct core_partition *p,
                        struct model_partition_state *next);

/* ---- hold.c ---- */
/* A write of it failed; the event says why. It is tried again later, each time later than before. */
void control_hold_partition(struct control *c, struct core_partition *p,
                            const struct control_event *event);
void control_hold_topic(struct control *c, struct core_topic *t, const struct control_event *event);
void control_hold_legacy(struct control *c, const struct control_event *event);
/* It is not to be tried now. */
bool control_is_held(const struct core_hold *h);
/* It was written; that is told when the refusal was. Does nothing with NULL there. */
void control_hold_end(struct control *c, struct core_hold **at);
/* Its owner goes. */
void control_hold_free(struct control *c, struct core_hold **at);
/* Tries again what is due. */
void control_holds_release(struct control *c);

/* ---- tell.c ---- */
void control_tell_state(struct control *c, struct core_partition *p, const struct ids *to);
void control_tell_new(struct control *c, struct core_partition *p, const struct ids *to);
/* The state as it is, only to hear an answer. */
void control_tell_again(struct control *c, struct core_partition *p, int32_t broker);
void control_tell_metadata(struct control *c, struct core_partition *p);
void control_tell_metadata_to(struct control *c, struct core_partition *p, int32_t broker);
void control_tell_stop(struct control *c, struct core_partition *p, int32_t broker, bool is_delete);
void control_tell_drop(struct control *c, struct core_partition *p);
void control_tell_flush(struct control *c);

/* ---- reassign.c ---- */
/* A move that was found in the topic znode. */
void control_move_resume(struct control *c, struct core_partition *p);
/* Runs the move until it waits; true when a write was started or the move must not be disturbed. */
bool control_move_advance(struct control *c, struct core_partition *p);
/* A broker came back: if it is a target of the move, its phase A runs again. */
void control_move_restart(struct control *c, struct core_partition *p, int32_t broker);
/* LeaderAndIsr was queued for the leader, or answered by it. */
void control_move_told(struct core_partition *p, int32_t broker, uint64_t send_id);
void control_move_answered(struct control *c, struct core_partition *p,
                           const struct control_event *event, int16_t error);
/* The leader or the ISR changed under it. */
void control_move_repaired(struct core_partition *p);
/* A step of it was written. */
void control_move_written(struct control *c, struct core_partition *p, enum core_why why);
void control_move_stored(struct control *c, struct core_move *m);
/* What storing its next list means. */
enum control_step control_move_step(const struct core_move *m);
/* A step of it cannot be written now: who waits for it is answered, and it goes on later. */
void control_move_held(struct control *c, struct core_move *m, const char *message);
void control_move_store_failed(struct control *c, struct core_move *m, const char *message);
void control_move_free(struct control *c, struct core_partition *p, enum kerr error);
/* Starts to drop leaders and ISR members that are not in the list: a controller died before it told
 * the leader of a cancel or an override, and the leader goes by the longer list. */
void control_move_check_members(struct control *c, struct core_partition *p);
/* From SHRINK back to the full list when no target replica can lead any more. */
void control_move_check_leader(struct control *c, struct core_partition *p);
/* Phase U when the triple is another one, whose memory it takes; else A or B once more. */
void control_move_begin(struct control *c, struct core_partition *p, struct assignment *next);

/* ---- alter.c ---- */
/* A move to the target that is not asked for by a request. em says why it may not start now: too few
 * members of the ISR are in the list. */
int control_move_to(struct control *c, struct core_partition *p, const struct ids *target,
                    struct errmsg *em) MUST_CHECK;
/* Alter for a partition that is at rest. True: it has to wait. */
bool control_alter_run(struct control *c, struct core_op *op);
void control_alter_expand(struct control *c, struct core_request *r);
void control_seen_clear(struct core_request *r);

/* ---- listing.c ---- */
void control_list_start(struct control *c, struct core_request *r);
/* The next piece of the first list, or the rest of it and what fits of the next. */
void control_listings_run(struct control *c);

/* ---- isr.c ---- */
void control_isr_start(struct control *c, struct core_request *r);
/* True when a write was started. */
bool control_isr_run(struct control *c, struct core_op *op);
void control_isr_answer(struct core_op *op, enum kerr error);

/* ---- elect_request.c ---- */
void control_elect_start(struct control *c, struct core_request *r);
bool control_elect_run(struct control *c, struct core_op *op);

/* ---- shutdown.c ---- */
void control_shutdown_start(struct control *c, struct core_request *r);
void control_shutdown_visit(struct control *c, struct core_request *r, struct core_partition *p);
bool control_shutdown_run(struct control *c, struct core_op *op);
void control_shutdown_done(struct control *c, struct core_op *op);

/* ---- topics.c ---- */
struct core_topic *control_topic_find(const struct control *c, struct slice name); /* visible */
struct core_topic *control_topic_find_any(const struct control *c, struct slice name);
struct core_topic *control_topic_find_id(const struct control *c, struct uuid id);
struct core_topic *control_topic_new(struct control *c, struct slice name, struct uuid id);
void control_topic_set_id(struct control *c, struct core_topic *t, struct uuid id);
void control_topic_add_partitions(struct control *c, struct core_topic *t,
                                  const struct assignment *list, int32_t count);
void control_topic_free(struct control *c, struct core_topic *t, enum kerr error);
void control_topic_read(struct control *c, const struct control_topic_read *read);
void control_topic_gone(struct control *c, struct slice name);
void control_topic_config(struct control *c, const struct control_event *event);
void control_topic_dirty(struct control *c, struct core_topic *t);
void control_topics_flush(struct control *c);
void control_topic_written(struct control *c, struct core_write *w,
                           const struct control_event *event);
bool control_topic_is_moving(const struct core_topic *t);

/* ---- create.c, grow.c ---- */
void control_create_start(struct control *c, struct core_request *r);
void control_create_written(struct control *c, struct core_topic *t,
                            const struct control_event *event);
/* Answers the create requests of a topic whose states all exist. */
void control_create_check(struct control *c, struct core_topic *t);
/* The last of the partitions has a state. */
void control_create_settle(struct control *c, struct core_topic *t);
void control_create_forget(struct control *c, struct core_topic *t);
void control_create_forget_settled(struct control *c);
/* Kafka's placement without racks: ret is an array of count zeroed assignments. */
void control_place(struct control *c, int32_t first_index, int32_t count, int32_t factor,
                   struct assignment *ret);
void control_grow_start(struct control *c, struct core_request *r);
/* Judges what waits in topic.grows until one may be written: then topic.grow is set. */
void control_grow_next(struct control *c, struct core_topic *t);
/* The write with topic.grow is over. False: there was none. */
bool control_grow_done(struct control *c, struct core_topic *t, enum kerr error,
                       const char *message);
/* It is to be judged again. */
void control_grow_retry(struct core_topic *t);
void control_grow_forget(struct core_topic *t);

/* ---- deletion.c ---- */
void control_delete_start(struct control *c, struct core_request *r);
void control_delete_queued(struct control *c, struct core_topic *t);
void control_delete_names(struct control *c, const struct control_event *event);
void control_delete_advance(struct control *c, struct core_topic *t);
/* A broker came: what waits for one looks again. */
void control_delete_advance_all(struct control *c);
void control_delete_written(struct control *c, const struct core_write *w,
                            const struct control_event *event);
/* Its nodes could not be removed: again. */
void control_delete_retry(struct control *c, struct core_topic *t);
void control_delete_answer(struct control *c, struct core_partition *p, int32_t broker,
                           int16_t error);
void control_delete_broker_down(struct control *c, struct core_partition *p, int32_t broker);

/* ---- producer_ids.c ---- */
void control_block_start(struct control *c, struct core_request *r);
void control_block_written(struct control *c, const struct core_write *w,
                           const struct control_event *event);

/* ---- legacy.c ---- */
/* The znode as it is now. */
void control_legacy_set(struct control *c, const struct control_legacy *legacy);
void control_legacy_reset(struct control *c);
/* Finds the partitions of a new plan, within the budget. False: not all yet; nothing else may start. */
bool control_legacy_bind(struct control *c);
/* Starts what the znode asks for: at once while no step of another move was made since it was read from
 * the store, else when that move waits. True: look at the partition again. */
bool control_legacy_run(struct control *c, struct core_partition *p, bool is_waiting);
/* A request is to move the partition: its entry has to leave first. True: wait, unless the plan is stuck. */
bool control_legacy_yields(struct control *c, struct core_partition *p);
/* The move to the target is over. */
void control_legacy_finished(struct control *c, struct core_partition *p, const struct ids *target);
/* Its move could not be stored. */
void control_legacy_failed(struct control *c, struct core_partition *p, const char *why);
/* The partition can move no more. */
void control_legacy_refuse(struct control *c, struct core_partition *p, const char *why);
/* It can neither be changed nor deleted now. */
bool control_legacy_is_stuck(const struct control *c);
void control_legacy_flush(struct control *c);
void control_legacy_written(struct control *c, struct core_write *w,
                            const struct control_event *event);

/* ---- request.c ---- */
void control_request_start(struct control *c, const struct control_request *request);
struct core_op *control_op_new(struct core_request *r, int32_t index);
/* Waiting at a topic; such operations can time out. pop gives the first, or NULL. */
void control_op_wait(struct core_op *op, struct list *at);
void control_op_unwait(struct core_op *op);
struct core_op *control_op_pop(struct list *at);
void control_request_done(struct control *c, struct core_request *r); /* one operation less */
/* Refuses the whole request. */
void control_request_fail(struct control *c, struct core_request *r, enum kerr error,
                          const char *message);
/* Sets entry index of results and counts it done. message is copied; NULL = none. */
void control_result_set(struct control *c, struct core_op *op, enum kerr error,
                        const char *message);
/* Answers an operation of any kind that cannot go on. */
void control_op_fail(struct control *c, struct core_op *op, enum kerr error, const char *message);
/* Starts counting: results, and remaining = count. */
void control_request_expect(struct core_request *r, int32_t count);
void control_requests_expand(struct control *c);
void control_requests_expire(struct control *c);
void control_requests_flush(struct control *c); /* replies as effects */
void control_requests_free_answered(struct control *c);
void control_requests_fail_all(struct control *c);

/* ---- control.c ---- */
struct core_write *control_write_add(struct control *c, enum control_write_kind kind,
                                     struct core_topic *t);
/* The effect of w; topic_node and the like are for the caller to fill. */
struct control_write *control_write_emit(struct control *c, const struct core_write *w);
