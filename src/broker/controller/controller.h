/*
 * The controller's driver: stands for election, feeds the pure core (control/control.h) with what the
 * metastore, the brokers and the requests say, and performs its effects. Spec:
 * docs/spec/zookeeper-mode.md sections 3, 5, 6 and 15.
 *
 * Runs on the env of its config and owns a metastore session of its own there (the ephemeral
 * /controller belongs to it). When that session expires it resigns, opens another and stands again;
 * when the broker's session expires, the broker calls controller_set_broker_epoch(-1) and the driver
 * resigns too: a broker that is not registered must not be controller. It stands for election only
 * while a broker epoch is set.
 */
#pragma once

#include "base/fault.h"
#include "control/control.h"
#include "metastore/metastore.h"
#include "moves/moves.h"
#include "moves/progress.h"

struct controller;
struct env;

/* One line for the broker's log. */
typedef void (*controller_log_fn)(void *arg, enum control_level level, const char *text);
/* The active controller as /controller says; -1 = none known. Runs on the driver's env. */
typedef void (*controller_changed_fn)(void *arg, int32_t broker_id, int32_t epoch);

struct controller_config {
    int32_t broker_id;
    const char *listener;               /* inter.broker.listener.name: where brokers are reached;
                                           copied */
    enum ibp level;                     /* inter.broker.protocol.version */
    int64_t session_timeout_ms;         /* zookeeper.session.timeout.ms */
    int64_t socket_timeout_ms;          /* controller.socket.timeout.ms */
    int32_t partitions_default;         /* num.partitions */
    int32_t replication_factor_default; /* default.replication.factor */
    int32_t min_insync_replicas;        /* broker default, for topics without a setting */
    bool is_unclean_election_enabled;   /* same */
    bool refuses_deletions;             /* not delete.topic.enable */
    struct fault_hook faults;           /* broker/controller/fault.h; all zero outside tests */
    controller_log_fn log;              /* may be NULL */
    controller_changed_fn changed;      /* may be NULL */
    void *arg;                          /* of the two */
};

/* factory is borrowed until controller_free. Nothing happens before a broker epoch is set. */
struct controller *controller_new(struct env *env, struct metastore_factory *factory,
                                  const struct controller_config *config);
/* Frees everything and drops all callbacks that are due. is_clean: closes the session, so that another
 * broker can take over at once; else it is left to expire, as in a killed process. Call on its env. */
void controller_free(struct controller *c, bool is_clean);

/* The broker registered under this epoch (czxid); -1: it is no longer registered. Call on its env. */
void controller_set_broker_epoch(struct controller *c, int64_t epoch);
bool controller_is_active(const struct controller *c);
/* The operator's limits of the queue of moves (klamm.moves.*). Call on its env. */
void controller_set_move_limits(struct controller *c, const struct moves_limits *limits);

#define CONTROLLER_FIGURES_MOVES_MAX 1000 /* told one by one */
#define CONTROLLER_FIGURES_HELD_MAX  1000 /* ditto */
#define CONTROLLER_FIGURES_JOBS_MAX  100  /* ditto */
#define CONTROLLER_FIGURES_REPLICAS_MAX                                                            \
    8 /* arriving, of one move; a list of replicas is hardly ever longer */

/* One running move, for gauges; what the numbers mean: moves/progress.h. */
struct controller_move_figures {
    char topic[MODEL_TOPIC_NAME_MAX + 1];
    int32_t partition;
    int64_t age_ms; /* since it began */
    int64_t to_copy;
    int64_t copied;
    int64_t rate;
    int64_t eta_ms;
    enum moves_reason reason;
    int64_t reason_age_ms; /* since the reason holds */
    struct {
        int32_t broker;
        enum moves_replica_state state;
        int64_t lag_bytes;
    } replicas[CONTROLLER_FIGURES_REPLICAS_MAX];
    int32_t replica_count;
};

/* One job that is not over. */
struct controller_job_figures {
    char id[MODEL_JOB_ID_MAX + 1];
    char submitted_by[MODEL_JOB_TEXT_MAX + 1];
    enum moves_state state;
    int64_t age_ms; /* since it was submitted */
    int32_t total;  /* moves; by their states: */
    int32_t queued;
    int32_t running;
    int32_t paused;
    int32_t done;
    int32_t cancelled;
    int64_t to_copy;          /* bytes, over all its moves, as far as their sizes are known */
    int64_t copied;           /* ditto */
    int64_t rate;             /* bytes a second, of its running moves; -1 = unknown */
    int64_t eta_ms;           /* -1 = none */
    int64_t throttle;         /* bytes a second for each broker and direction; -1 = none */
    enum moves_reason reason; /* why none of its moves advances; NONE = one does, or nobody knows */
    int64_t reason_age_ms;
};

/* Something that is left alone; what it means: struct control_held. */
struct controller_held_figures {
    char *topic; /* owned, as the other texts; NULL: the legacy plan of moves */
    int32_t partition;
    char *path;   /* NULL = not known */
    char *reason; /* without the path in front */
    int64_t age_ms;
};

/* For gauges. */
struct controller_figures {
    bool is_active;
    int32_t epoch; /* -1 unless active */
    int32_t queue; /* requests and partitions that the core has yet to look at */
    struct control_figures cluster;
    int32_t queued;                        /* moves that wait in the queue */
    int32_t by_reason[MOVES_REASON_COUNT]; /* running moves */
    int32_t queued_by_reason[MOVES_REASON_COUNT];
    struct controller_move_figures *moves; /* some, in no order; owned */
    int32_t move_count;
    int32_t open_jobs;                   /* jobs that are not over */
    struct controller_job_figures *jobs; /* the first of them, in order of submission; owned */
    int32_t job_count;
    struct controller_held_figures *held; /* some of cluster.held, the oldest first; owned */
    int32_t held_count;
};
/* Call on its env. Release with controller_figures_deinit. */
void controller_figures(const struct controller *c, struct controller_figures *ret);
void controller_figures_deinit(struct controller_figures *f);

/* Answers once, never from inside the call, on the driver's env. reply is borrowed until done returns.
 * When this broker is not the active controller: KERR_NOT_CONTROLLER at the top. */
typedef void (*controller_done_fn)(void *arg, const struct control_reply *reply);
/* request and all it points to are borrowed until done has run; token is ignored. Call on its env (use
 * env_post to get there). After controller_free, done never runs. */
void controller_request(struct controller *c, const struct control_request *request,
                        controller_done_fn done, void *arg);
