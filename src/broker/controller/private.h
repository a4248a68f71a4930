/*
 * What the files of the controller's driver share. Private to broker/controller/.
 *
 * A term is the time between two changes of session or role. Calls to the metastore carry the term
 * they were made in; their answers are dropped when it is over, and all that belongs to a term (reads,
 * writes, queues, watches) is freed with it.
 */
#pragma once

#include "base/alloc.h"
#include "base/block.h"
#include "base/buf.h"
#include "base/check.h"
#include "base/list.h"
#include "base/map.h"
#include "broker/controller/controller.h"
#include "broker/controller/fault.h"
#include "broker/controller/moves.h"
#include "env/env.h"
#include "metastore/path.h"
#include "metastore/znode.h"
#include "moves/progress.h"

#define CONTROLLER_STAND_AGAIN_MS 500   /* after a failure that may last */
#define CONTROLLER_STAND_MAX_MS   10000 /* ... and lasts */
#define CONTROLLER_STEADY_MS      30000 /* who was active for so long begins anew */

/* A bound for the moves of some partitions, for each broker and for each direction apart. */
struct controller_limit {
    int64_t rate; /* bytes a second; 0 = paused */
    const struct control_tp *partitions;
    int32_t partition_count;
};

/* Who sends a request to a broker, and what goes with it beside the core's words. */
struct controller_sender {
    int32_t controller_id;
    const char *listener;                   /* where LiveLeaders are reached */
    enum ibp level;                         /* decides the versions */
    int64_t broker_epoch;                   /* the receiver's */
    const struct controller_limits *limits; /* NULL: none were set in this term */
};

/* A call that is out. item belongs to the term; a call of an older term must not touch it. */
struct controller_pending {
    struct list_node link; /* controller.calls */
    struct controller *c;
    uint64_t term;
    void *item;
    char *name; /* owned; a topic or a path */
    int32_t index;
    struct controller_pending *watch; /* set with a get, unless the node was not there */
};

enum controller_role {
    ROLE_IDLE,     /* no session, or no registered broker */
    ROLE_STANDING, /* reads /controller, or writes it */
    ROLE_FOLLOWER, /* somebody else is it, or nobody yet: the watch will tell */
    ROLE_LOADING,  /* won: reads the cluster */
    ROLE_ACTIVE,
};

struct controller_listing;

/* A topic znode that is known, and watched. */
struct controller_topic {
    char *name;
    int32_t version; /* newest one read or written */
    bool is_broken;  /* it could not be read: the core does not know it */
    bool is_seen;    /* private to the comparison with the list of children */
    bool is_deleted; /* the znode that is meant is gone; one of its name may be there again */
    int64_t czxid;   /* of the znode that is meant; 0 = not known yet */
    int32_t serial;  /* tells watches of another znode of the name apart */
    UT_hash_handle hh;
};

struct controller_request_item {
    struct list_node link; /* controller.arrived, until it goes to the core */
    uint64_t token;
    const struct control_request *request;
    controller_done_fn done;
    void *arg;
    bool is_own;                        /* of the queue of moves: goes to the core in any case */
    struct controller_listing *listing; /* owned; NULL = none */
    UT_hash_handle hh;
};

struct controller {
    struct env *env;
    struct metastore_factory *factory;
    struct controller_config config;
    char *listener;
    struct control *core;
    struct control_effects effects;
    struct metastore *store;
    bool is_connected;
    int64_t broker_epoch;
    uint64_t term;
    enum controller_role role;
    int32_t epoch;
    int32_t epoch_version; /* of /controller_epoch: guards every write */
    int32_t known_id;      /* what `changed` was last told; -1 = none */
    bool is_watching;      /* the watch on /controller is set */
    const char *trouble;   /* why nobody can be elected, as told last; a constant, NULL = none */
    int64_t active_ms;     /* since when we are active; -1 = we are not */
    int64_t stand_ms;      /* how long we stayed out of elections after the last resignation */
    char *resign_told;     /* why, as told since we were last active; owned, NULL = not told */
    bool is_stepping;
    bool is_ended; /* at a fault point: nothing leaves any more; it is about to be freed */
    const char *resign_reason; /* set by an effect, borrowed during the step */
    struct env_timer reopen_timer;
    struct env_timer stand_timer;
    struct env_timer step_timer;    /* has_more, wake_ms */
    struct env_timer request_timer; /* arrived */
    struct list calls;
    struct list arrived;
    struct controller_request_item *requests; /* by token */
    uint64_t next_token;
    /* read.c */
    bool is_topics_asked;  /* LOADING: the list of topics is asked for, or read */
    bool is_topics_listed; /* LOADING: the list of topics was read */
    bool is_load_ending;   /* LOADING: all topics are read */
    bool is_reading_brokers;
    bool read_brokers_again;
    struct controller_broker_reading *broker_reading;
    struct controller_topic *topics;
    int32_t next_topic;   /* serial */
    struct list readings; /* controller_reading: waiting, then running */
    int32_t readings_running;
    int32_t states_out;      /* asked for and not answered */
    int32_t topic_lists_due; /* answers */
    struct ids watched;      /* brokers whose registration is watched */
    /* readers.c */
    struct controller_readers *readers; /* NULL: not loading, or of no use */
    /* legacy.c */
    int64_t legacy_czxid;                      /* of the znode that was read; 0 = there is none */
    struct metastore_legacy_move *legacy_news; /* read, and not told yet */
    int32_t legacy_news_count;
    int32_t legacy_news_version;
    bool has_legacy_news;
    /* preferred.c */
    struct controller_preferred *preferred; /* the election that is asked for */
    /* write.c */
    struct list writes_new;   /* controller_write: of the step that runs */
    struct list writes_unfit; /* controller_write: the encoder refused them */
    struct env_timer unfit_timer;
    struct list batches;       /* out */
    struct list writes_judged; /* controller_write: being read back */
    struct list removals;
    /* send.c */
    struct controller_peer *peers;
    /* progress.c, log_dirs.c */
    struct controller_progress *progress;
    struct controller_log_dirs *log_dirs; /* NULL: no brokers were told in this term */
    /* limits.c */
    struct controller_limits *limits; /* of this term; NULL: never set */
    bool is_limits_untold;            /* the next step tells the brokers first */
    /* moves.c */
    struct controller_moves *moves; /* NULL: not loading, nor active */
    struct moves_limits move_limits;
    struct list move_alters; /* of the queue, on their way to the core or in it */
    /* listing.c */
    struct list listings; /* controller_listing: the queue is being gone through for the first */
    struct env_timer listing_timer;
    /* starts.c */
    struct controller_starts *starts; /* NULL: not loaded in this term */
};

/* ---- controller.c ---- */
/* The role is ours, and all was read. */
void controller_active_note(struct controller *c);
void controller_log(struct controller *c, enum control_level level, const char *text);
void controller_step(struct controller *c, const struct control_event *event);
void controller_step_all(struct controller *c, const struct control_event *events, int32_t count);
struct controller_pending *controller_pending_new(struct controller *c, void *item);
/* A call about a topic, which may be gone when it ends: the name is copied. */
struct controller_pending *controller_pending_named(struct controller *c, struct slice name);
/* Gives the name away; to be asked for before the call is ended. */
char *controller_pending_take_name(struct controller_pending *call);
/* Ends the call; true when it is of the present term and c goes on. */
bool controller_pending_end(struct controller_pending *call, struct controller **ret_c,
                            void **ret_item);
/* As controller_request, past the queue of moves. */
void controller_request_own(struct controller *c, const struct control_request *request,
                            controller_done_fn done, void *arg);
/* To the core, in a step of its own. */
void controller_request_pass(struct controller *c, struct controller_request_item *item);
struct controller_request_item *controller_request_find(const struct controller *c, uint64_t token);
/* Answers it, and ends it. */
void controller_request_answer(struct controller *c, struct controller_request_item *item,
                               const struct control_reply *reply);
/* Gives up the role: deletes /controller and stands again a little later. */
void controller_resign(struct controller *c, const char *reason);

/* ---- election.c ---- */
void controller_stand(struct controller *c);
void controller_leave(struct controller *c); /* deletes our /controller, guarded */

/* ---- read.c ---- */
void controller_load(struct controller *c);
void controller_reads_free(struct controller *c);
/* Every topic that the metastore listed when last asked is known to the core. */
bool controller_topics_are_known(const struct controller *c);
/* All is read. */
void controller_loaded(struct controller *c);
/* The topic znode was written by us. */
void controller_topic_written(struct controller *c, struct slice name, int32_t version);
void controller_topic_created(struct controller *c, struct slice name);
void controller_topic_removed(struct controller *c, struct slice name);
/* Reads the topic and tells the core that write_id met it. */
void controller_topic_conflict(struct controller *c, struct slice name, uint64_t write_id);

/* ---- readers.c ---- */
/* Sessions for many reads, where the metastore is the faster for it. */
void controller_readers_open(struct controller *c);
void controller_readers_close(struct controller *c);
/* A get without a watch by one of them. done may run in any order; it is given call, and is not called when the
 * readers are closed before. */
void controller_readers_get(struct controller *c, struct slice path, metastore_done_fn done,
                            struct controller_pending *call);

/* ---- legacy.c ---- */
/* Reads /admin/reassign_partitions and watches it; ends with controller_loaded. */
void controller_legacy_load(struct controller *c);
/* Tells the core what was read, once every topic is known. May end the term. */
void controller_legacy_tell(struct controller *c);
void controller_legacy_free(struct controller *c);
/* What CONTROL_WRITE_LEGACY writes. */
void controller_legacy_encode(struct buf *b, const struct control_legacy *legacy);
/* The write met another version of the znode. */
void controller_legacy_conflict(struct controller *c, uint64_t write_id,
                                const struct metastore_result *result);

/* ---- preferred.c ---- */
/* Looks for /admin/preferred_replica_election, and watches it. */
void controller_preferred_start(struct controller *c);
void controller_preferred_free(struct controller *c);

/* ---- notices.c ---- */
/* Deletes what is there, as everything is read anyway, and watches for what comes. */
void controller_notices_start(struct controller *c);
/* Reads a partition's state for the core, and once more when it changes. */
void controller_state_watch(struct controller *c, const struct control_tp *of);

/* ---- features.c ---- */
/* Leaves /feature as a controller of our level does, because one in Java may take over. */
void controller_features_write(struct controller *c);

/* ---- write.c ---- */
void controller_write_add(struct controller *c, const struct control_write *write);
void controller_writes_flush(struct controller *c);
void controller_writes_free(struct controller *c);
void controller_writes_refuse_unfit(void *arg); /* unfit_timer */
void controller_write_done(struct controller *c, uint64_t write_id, enum control_outcome outcome,
                           int32_t version);
/* A guarded write was refused: somebody else is controller. */
void controller_write_fenced(struct controller *c, uint64_t write_id);
/* path: of the node that refused. */
void controller_write_failed(struct controller *c, uint64_t write_id, const char *path,
                             const char *message);

/* ---- remove.c ---- */
void controller_remove_topic(struct controller *c, uint64_t write_id, struct slice name);
void controller_removals_free(struct controller *c);

/* ---- send.c ---- */
void controller_send(struct controller *c, const struct control_send *send);
/* Drops the queues of brokers that are not registered under the same epoch any more. */
void controller_peers_keep(struct controller *c, const struct model_broker *brokers, int32_t count);
void controller_peers_free(struct controller *c);

/* ---- progress.c ---- */
void controller_progress_new(struct controller *c);
void controller_progress_reset(struct controller *c); /* the term is over */
void controller_progress_free(struct controller *c);
/* After each step: looks again when something moves. */
void controller_progress_arm(struct controller *c);
/* How far the move is, as the core tells it now; borrowed until the next call. */
const struct controller_start *controller_progress_of(struct controller *c,
                                                      const struct control_moving *moving);
/* NULL when it was not looked at yet. */
const struct moves_progress *controller_progress_find(const struct controller *c,
                                                      struct slice topic, int32_t partition);
/* The moves' part of the figures. */
void controller_progress_figures(const struct controller *c, struct controller_figures *ret);
void controller_progress_heard(struct controller *c, int32_t broker, struct slice topic,
                               int32_t partition, const struct moves_log *log);

/* ---- log_dirs.c ---- */
/* All registrations, now. */
void controller_log_dirs_brokers(struct controller *c, const struct model_broker *brokers,
                                 int32_t count);
/* Since when the broker is not registered, wall clock; 0 = it is. One that was never seen: since this
 * controller looks. */
int64_t controller_log_dirs_down_since(const struct controller *c, int32_t broker);
/* A former controller saw it go then; holds for one that was not seen since this one looks. */
void controller_log_dirs_was_down(struct controller *c, int32_t broker, int64_t since_ms);
/* The next question to broker is about this log too; passed over while one is out. */
void controller_log_dirs_want(struct controller *c, int32_t broker, struct slice topic,
                              int32_t partition);
/* Sends the questions; answers come to controller_progress_heard. */
void controller_log_dirs_ask(struct controller *c);
void controller_log_dirs_free(struct controller *c);

/* Who asked for moves; shared by all of one request. */
struct controller_submitter {
    int32_t refs;
    char principal[256]; /* printable ASCII, other bytes as '?', cut to fit; as client_id */
    char client_id[256];
};
struct controller_submitter *controller_submitter_new(struct slice principal,
                                                      struct slice client_id);
void controller_submitter_unref(struct controller_submitter *s); /* NULL is fine */
/* The request was answered: its sender is told with the moves that it started. */
void controller_progress_submitted(struct controller *c, const struct control_alter *alter,
                                   const struct control_reply *reply);

/* ---- starts.c ---- */
/* When a move began; embedded by the move. */
struct controller_start {
    int64_t started_ms;                     /* wall clock */
    struct moves_progress *progress;        /* borrowed as long as it is added */
    struct controller_submitter *submitter; /* one reference; NULL = not known */
    /* Private. */
    int64_t own_copied; /* to the controller's own broker, as stored, about */
    int32_t partition;
    struct controller_starts_group *group;
    struct list_node link;
};
/* Reads what is stored, then goes on with controller_moves_load. */
void controller_starts_load(struct controller *c);
void controller_starts_reset(struct controller *c); /* the term is over; no move is left in it */
/* started_ms and progress are set; what an earlier controller stored of a move that it left replaces
 * the one and completes the other. */
void controller_starts_add(struct controller *c, struct controller_start *start,
                           const struct control_moving *moving);
/* Its progress made a step: some of that may be worth storing. */
void controller_starts_look(struct controller *c, struct controller_start *start);
/* What is stored of it changed. */
void controller_starts_touch(struct controller_start *start);
void controller_starts_remove(struct controller_start *start);
/* Stores what changed, up to the node that brings the moves written to moves_max. True: there is more. */
bool controller_starts_flush(struct controller *c, int32_t moves_max);
/* Nothing is left for controller_starts_flush. */
bool controller_starts_is_settled(const struct controller *c);

/* ---- report.c ---- */
/* What is told of the moves of reply to those who ask for more; in the memory that wanted brings, NULL when
 * it is full. */
struct controller_report *controller_report_make(struct controller *c,
                                                 const struct control_reply *reply,
                                                 const struct control_list *wanted);
/* The queue's part. False: the memory is full. */
bool controller_report_jobs(const struct controller *c, struct controller_report *report,
                            struct arena *a);
struct wire_list_partition_reassignments_response_queued_partitions;
bool controller_report_row(const struct moves_view *view,
                           struct wire_list_partition_reassignments_response_queued_partitions *row,
                           struct arena *a);
/* Jobs, and what waits of the partitions that wanted names. */
bool controller_report_named(const struct controller *c, const struct control_list *wanted,
                             struct controller_report *report);

/* ---- listing.c ---- */
void controller_listings_init(struct controller *c);
/* The term is over: those that have not gone to the core are refused. */
void controller_listings_end(struct controller *c);
void controller_listing_free(struct controller *c, struct controller_listing *l); /* NULL is fine */
/* True: the queue is gone through first, then the request goes to the core. */
bool controller_list_take(struct controller *c, struct controller_request_item *item);
/* A list without an error, or a piece of it, as the core gave it: nothing here may step the core. */
void controller_list_answer(struct controller *c, struct controller_request_item *item,
                            const struct control_reply *reply);

/* ---- limits.c ---- */
/*
 * From now on moves are bounded by these groups and by nothing else: a whole replacement. Copied. A
 * partition belongs to the first group that names it, and to no limit when none does.
 *
 * Every broker is told, in the order of its queue: before anything that later steps send it, and a
 * broker that registers later before its first LeaderAndIsr. So set a limit before the request that
 * starts the move, and lift it after the move ended. While LOADING set what the stored jobs need before
 * the core is told CONTROL_ON_LOADED: then no broker copies without it. The limits end with the term;
 * the brokers drop them when a newer controller first speaks.
 *
 * A broker applies the table to adding replicas alone, as leader to what they are sent and as follower
 * to what it fetches, with one bucket a group and direction; equal rates keep their buckets, so calling
 * this often costs no throughput. May be called from inside a step: then the next one tells it. Cost:
 * one request a broker with all groups; call it when something changed.
 */
void controller_limits_set(struct controller *c, const struct controller_limit *groups,
                           int32_t count);
/* The table as UpdateMetadata's tagged field; nothing when limits is NULL. */
struct wire_update_metadata_request;
void controller_limits_fill(const struct controller_limits *limits,
                            struct wire_update_metadata_request *req);
void controller_limits_free(struct controller *c);

/* ---- encode.c ---- */
/* One request frame, header first, for one receiver. An UpdateMetadata that names no partition carries
 * the limits of moves. */
void controller_encode(struct buf *b, const struct control_send *send,
                       const struct controller_sender *sender);
/* The answer of such a request of event->send_kind: fills the ANSWER fields of event but `from`;
 * memory from a. payload starts with the correlation id. */
int controller_decode_answer(struct slice payload, enum ibp level, struct arena *a,
                             struct control_event *event) MUST_CHECK;
/* NULL when the broker does not listen there. */
const struct model_endpoint *controller_endpoint(const struct model_broker *b,
                                                 const char *listener);
