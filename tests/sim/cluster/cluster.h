/*
 * A simulated cluster: the real broker code on 3 to 6 nodes, an in-memory metastore on a node of its
 * own, and a client node with writers, readers and an operator. One seed decides everything.
 * Invariants: checks.c. Faults: faults.c. Everything runs in one thread.
 */
#pragma once

#include "base/prng.h"
#include "broker/broker.h"
#include "metastore/store.h"
#include "model/cluster.h"
#include "model/ibp.h"
#include "sim/cluster/client.h"
#include "sim/cluster/jobs.h"
#include "sim/cluster/stored.h"
#include "sim/env/sim.h"

#define CLUSTER_BROKERS_MAX    6
#define CLUSTER_PARTITIONS_MAX 4
#define CLUSTER_TOPIC          "sim"
#define CLUSTER_PORT           9000 /* broker N listens on CLUSTER_PORT + N */
#define CLUSTER_SESSION_MS     3000
#define CLUSTER_LATE_MS        20000 /* what was asked without an answer is done or forgotten then */

struct cluster;

struct cluster_broker {
    struct cluster *cluster;
    int32_t id;
    struct sim_node *node;
    struct broker *broker;                    /* NULL while down */
    bool is_stopping;                         /* controlled shutdown runs */
    bool is_stopped;                          /* it is done: to be freed */
    bool is_fatal;                            /* on_fatal came: to be freed and started again */
    const char *ended_at;                     /* a fault point: to be killed before anything else */
    bool lost_power;                          /* and has not been in every ISR again since */
    int64_t start_at_ms;                      /* when to start it again; 0 = not planned */
    int64_t disk_heals_at_ms;                 /* its disk fails until then; 0 = it works */
    int64_t log_ends[CLUSTER_PARTITIONS_MAX]; /* as seen last, for the trace */
};

/* Writes numbered records 0, 1, 2, ... to one partition, one batch in flight, until acknowledged. */
struct cluster_writer {
    struct cluster *cluster;
    int32_t partition;
    struct env_timer timer;
    int64_t next;        /* number of the first record of the batch in flight */
    int32_t batch_count; /* records of that batch */
    int64_t acked;       /* records below this number are acknowledged */
    int32_t asked;       /* the broker of the last Produce */
    bool is_busy;        /* a request is out */
    bool is_stopped;     /* makes no new batch */
};

/* Reads one partition from the start and expects exactly 0, 1, 2, ... */
struct cluster_reader {
    struct cluster *cluster;
    int32_t partition;
    struct env_timer timer;
    int64_t offset;
    int64_t expected; /* next number */
    bool is_busy;
};

/* What the operator knows of one partition. */
struct cluster_move {
    struct ids origin;  /* the list before the first move */
    struct ids target;  /* the last one asked for and accepted */
    struct ids earlier; /* the one before it: with a queue it may still come first */
    bool is_certain;    /* every request since the origin was read had a known outcome */
    int64_t unknown_ms; /* when a request last had none: it may still be carried out for a while */
};

struct cluster_operator {
    struct cluster *cluster;
    struct env_timer timer;
    struct env_timer plan_timer;
    struct cluster_move moves[CLUSTER_PARTITIONS_MAX];
    int32_t partition;   /* of the action under way */
    struct ids wanted;   /* count 0: a cancel */
    bool is_plan_due;    /* a plan of moves is watched: what it asks for has to come */
    int64_t plan_end_ms; /* ... and this is the last time to look */
    struct prng queue_prng;
    bool
        has_queue; /* in this run moves are also submitted, paused, resumed and cancelled at large */
    bool has_caps;    /* ... one at a time in the cluster, and nothing is paused */
    bool is_finished; /* stopped, and the queue was emptied */
    int8_t action;    /* of the request under way: enum moves_action */
    bool is_at_large; /* it names no partition */
    bool is_busy;
    bool is_stopped;
    int64_t moves_started;
    int64_t cancels_done;
    int64_t plans_done;
};

/* What a crash of the controller does not change: crashes.c. */
enum cluster_check {
    CLUSTER_CHECK_NONE,
    CLUSTER_CHECK_READ, /* the topic znode is being read, as the dead one left it */
    CLUSTER_CHECK_LIST, /* the next one is asked what moves */
};

struct cluster_crashes {
    struct prng prng;
    int32_t favourite; /* index of the point */
    int32_t count;     /* so far */
    enum cluster_check check;
    bool is_busy;     /* a call of the check is out */
    bool is_again;    /* another crash came meanwhile */
    int32_t excluded; /* the operator's request for this partition was out; -1 = none */
    int32_t asked;    /* broker */
    struct model_topic before;
    struct assignment listed[CLUSTER_PARTITIONS_MAX]; /* replicas empty: not listed */
};

/* Looks at the moves now and then: watcher.c. */
struct cluster_watcher {
    struct prng prng;
    bool is_there; /* in this run */
    bool is_busy;  /* a list is asked for */
    bool asks_for_details;
};

/* Limits of moves that brokers are told: limits.c. */
struct cluster_limits {
    struct prng prng;
    bool is_there;                          /* in this run */
    int32_t groups[CLUSTER_PARTITIONS_MAX]; /* the table: the rate of each partition */
    int32_t count;                          /* of partitions that have one */
    bool is_told[CLUSTER_BROKERS_MAX];
};

/* Memory pressure on the brokers: cold.c. */
struct cluster_cold {
    struct prng prng;
    bool is_there; /* in this run */
};

struct cluster_options {
    uint64_t seed;
    uint64_t *crossed;       /* crashes at each of CONTROLLER_FAULT_POINTS; NULL: none there */
    bool loses_last_replica; /* also the excluded case: power loss of the last in-sync replica */
    bool mixes_levels; /* each start of a broker draws one of two inter.broker.protocol.versions */
    bool is_traced;    /* print the trace at the end */
};

struct cluster {
    struct cluster_options options;
    struct sim_world *world;
    struct prng *prng;
    struct sim_node *store_node;
    struct metastore_store *store;
    struct sim_node *client_node;
    struct client *client;
    struct metastore *session; /* the checker's own */
    struct cluster_broker brokers[CLUSTER_BROKERS_MAX];
    int32_t broker_count;
    int32_t partition_count;
    enum ibp levels[2]; /* with mixes_levels */
    struct cluster_writer writers[CLUSTER_PARTITIONS_MAX];
    struct cluster_reader readers[CLUSTER_PARTITIONS_MAX];
    struct cluster_operator op;
    struct cluster_jobs jobs;
    struct cluster_stored stored;
    struct cluster_caps caps;
    struct cluster_crashes crashes;
    struct cluster_watcher watcher;
    struct cluster_limits limits;
    struct cluster_cold cold;
    /* what the metastore says, kept fresh by the checker */
    struct model_topic topic;
    struct model_partition_state states[CLUSTER_PARTITIONS_MAX];
    bool has_plan; /* /admin/reassign_partitions is there */
    int32_t reads_due;
    /* leader seen for each (partition, epoch) */
    int32_t *leaders[CLUSTER_PARTITIONS_MAX];
    int32_t leaders_cap[CLUSTER_PARTITIONS_MAX];
    char failure[256]; /* "" while all invariants hold */
};

/* Runs one seed. True when every invariant held; else the reason and the trace are printed. */
bool cluster_run(const struct cluster_options *options);

/* Records the first failure and traces it. */
void cluster_fail(struct cluster *c, const char *format, ...) PRINTF_LIKE(2, 3);
static inline bool cluster_has_failed(const struct cluster *c)
{
    return c->failure[0] != '\0';
}

/* brokers.c */
void cluster_broker_start(struct cluster_broker *b);
/* Ends it at once: is_power_loss also loses what its disk had not synced. */
void cluster_broker_kill(struct cluster_broker *b, bool is_power_loss);
/* Ends what is wrong with its disk. */
void cluster_broker_heal_disk(struct cluster_broker *b);
/* Heals disks, frees brokers that stopped or failed, starts those that are due. */
void cluster_brokers_tend(struct cluster *c);

/* workload.c */
void cluster_workload_start(struct cluster *c);
void cluster_workload_free(struct cluster *c);

/* operator.c */
/* Before the brokers start: decides whether there is a queue, and its limits. */
void cluster_operator_init(struct cluster *c);
void cluster_operator_start(struct cluster *c);
void cluster_operator_free(struct cluster *c);
/* The plan of moves is there and names the partition: what becomes of it is not known yet. */
void cluster_operator_planned(struct cluster *c, int32_t partition);

/* faults.c */
/* One step of mischief; call about every 100 ms of virtual time. */
void cluster_faults_step(struct cluster *c);
/* Ends all faults; every broker is started. */
void cluster_faults_end(struct cluster *c);

/* limits.c */
void cluster_limits_init(struct cluster *c);
/* Now and then tells some brokers other limits of moves; call as cluster_faults_step. */
void cluster_limits_step(struct cluster *c);
/* Lifts them all. */
void cluster_limits_end(struct cluster *c);

/* cold.c */
void cluster_cold_init(struct cluster *c);
/* Call as cluster_faults_step. */
void cluster_cold_step(struct cluster *c);
/* The page cache of its node is empty. */
void cluster_cold_power_lost(struct cluster_broker *b);
/* Nothing was sent that would have had to wait for the disk. */
void cluster_cold_check(struct cluster *c);

/* watcher.c */
void cluster_watcher_init(struct cluster *c);
/* Call as cluster_faults_step. */
void cluster_watcher_step(struct cluster *c);

/* crashes.c */
void cluster_crashes_init(struct cluster *c);
void cluster_crashes_free(struct cluster *c);
/* With crashes at fault points the brokers' wall clocks are up to a day apart, too. */
void cluster_clocks_skew(struct cluster *c);
/* The broker's controller is at the point: whether its process ends. */
bool cluster_crash_here(struct cluster_broker *b, const char *point);
/* Lets the world run; a broker that ends at a fault point is killed before anything else happens. */
void cluster_run_for(struct cluster *c, int64_t ms);
/* The next step of comparing what moved before and after a crash. */
void cluster_crashes_check(struct cluster *c);
/* While true nobody may ask for moves. */
bool cluster_crash_is_checked(const struct cluster *c);

/* checks.c */
/* Reads topic and states from the metastore; done when reads_due is 0. */
void cluster_observe(struct cluster *c);
/* One leader an epoch. */
void cluster_check_leaders(struct cluster *c);
/* Nothing moves, every ISR is whole, everything acknowledged was read. */
bool cluster_is_settled(struct cluster *c);
/* After settling: the replicas' logs are equal, nobody else keeps files. */
void cluster_check_logs(struct cluster *c);
void cluster_checks_free(struct cluster *c);
