/*
 * A small cluster for tests of broker/replicas: brokers 1..n in the simulated world, each with its
 * replicas and a server that answers Fetch (with sessions), ListOffsets and, on broker 1,
 * AlterPartition. The test plays the controller: it decides states and sends LeaderAndIsr by calling.
 */
#pragma once

#include "broker/replicas/replicas.h"
#include "model/ids.h"
#include "net/net.h"
#include "sim/env/sim.h"

#define WORLD_BROKERS_MAX    4
#define WORLD_SESSIONS       (WORLD_BROKERS_MAX + 1)
#define WORLD_PARTITIONS_MAX 64
#define WORLD_ITEMS_MAX      128

struct world;

/* One partition as the test's controller knows it. */
struct world_partition {
    const char *topic;
    struct uuid topic_id;
    int32_t partition;
    int32_t leader;
    int32_t leader_epoch;
    int32_t partition_epoch;
    int32_t replicas[WORLD_BROKERS_MAX];
    int32_t replica_count;
    int32_t isr[WORLD_BROKERS_MAX];
    int32_t isr_count;
    int32_t adding[WORLD_BROKERS_MAX];
    int32_t adding_count;
};

/* What a fetch session remembers of one partition. */
struct world_item {
    struct uuid topic_id;
    int32_t partition;
    int32_t leader_epoch;
    int32_t last_epoch;
    int64_t offset;
    int64_t log_start;
    int32_t bytes_max;
    int64_t told_high_watermark;
    int64_t told_log_start;
};

/* A follower's fetch that waits, or its session between two. */
struct world_session {
    int32_t id; /* = the follower */
    int32_t epoch;
    struct world_item items[WORLD_ITEMS_MAX];
    int32_t count;
    struct net_request *parked;
    int16_t version;
    int32_t correlation_id;
    struct replicas_watch watches[WORLD_ITEMS_MAX];
    struct env_timer timer;
    struct world_broker *broker;
};

struct world_broker {
    struct world *world;
    int32_t id;
    struct sim_node *node;
    struct replicas *replicas; /* NULL while down */
    struct net_server *server;
    uint16_t port;
    /* By follower, for all but long copies; then by follower, for those. */
    struct world_session sessions[2 * WORLD_SESSIONS];
    int32_t fetch_requests;
    int32_t fetch_partitions; /* named in them */
    int16_t refuse_error;     /* answer fetches of refuse_partition with it, 0 = do not */
    int32_t refuse_partition;
    struct env_timer puts_timer;
    int32_t dir_failures; /* told by the hook */
    bool was_stopped;     /* replicas_stop is done */
};

/* A state that a leader wants to have stored, below 2.7-IV2. */
struct world_put {
    int32_t by;
    const char *topic;
    int32_t partition;
    int32_t controller_epoch;
    int32_t leader;
    int32_t leader_epoch;
    int32_t version;
    int32_t isr[WORLD_BROKERS_MAX];
    int32_t isr_count;
};

struct world {
    struct sim_world *sim;
    struct world_broker brokers[WORLD_BROKERS_MAX + 1]; /* by id */
    int32_t broker_count;
    int32_t min_insync_replicas; /* of all topics */
    int64_t lag_time_max_ms;
    int64_t catch_up_lag_bytes; /* 0 = the default, as the next two */
    int64_t copy_cached_bytes_max;
    int32_t fetch_catch_up_bytes_max;
    const char *leader_throttled; /* of all topics; NULL = nobody */
    const char *follower_throttled;
    bool is_compacted_only; /* all topics */
    int32_t dir_count;
    struct world_partition partitions[WORLD_PARTITIONS_MAX];
    int32_t partition_count;
    bool is_session_refused;
    int16_t alter_error; /* partition error of the next AlterPartition answers */
    int32_t alter_requests;
    /* Set before world_start. */
    enum ibp level;
    /* At any time. */
    bool lacks_topic_ids; /* no metadata cache has one */
    bool has_no_store;
    bool holds_puts;                             /* the test answers them */
    struct world_put puts[WORLD_PARTITIONS_MAX]; /* not answered yet, the oldest first */
    int32_t put_count;
    int32_t epoch_requests; /* OffsetForLeaderEpoch */
    int16_t fetch_version;  /* of the latest Fetch and ListOffsets that came */
    int16_t offsets_version;
    int16_t alter_version; /* of the latest AlterPartition */
    int32_t controller_epoch;
};

struct world *world_new(uint64_t seed, int32_t broker_count);
void world_free(struct world *w);
void world_start(struct world *w, int32_t id);
/* As kill -9: nothing is flushed. The disk stays. */
void world_kill(struct world *w, int32_t id);
struct replicas *world_replicas(struct world *w, int32_t id);

/* Adds the partition, led by the first of replicas with all of them in the ISR, at epoch 0. */
struct world_partition *world_create(struct world *w, const char *topic, int32_t partition,
                                     const int32_t *replicas, int32_t count);
/* Sends the present state to one broker; returns the partition's code. */
int16_t world_send(struct world *w, int32_t to, const struct world_partition *p);
/* Sends it to all replicas that run, after raising the leader epoch when is_raised. */
void world_announce(struct world *w, struct world_partition *p, bool is_raised);
/* Returns the partition's code. */
int16_t world_stop_replica(struct world *w, int32_t at, const struct world_partition *p,
                           bool is_deleted, int32_t epoch);

void world_await_put(struct world *w);
/* Waits for a put, and answers the oldest with err; when it is 0, the state's version has risen by one. */
void world_answer_put(struct world *w, int err);

/* One batch of `count` records of `size` bytes, for world_append. */
struct world_produce {
    struct replicas_produce produce;
    struct replicas_append item;
    struct buf records;
    bool is_done;
};
/* Appends at broker `at`. Deinit with world_produce_deinit. */
void world_append(struct world *w, int32_t at, const struct world_partition *p, int32_t count,
                  struct world_produce *ret_produce);
void world_append_acks(struct world *w, int32_t at, const struct world_partition *p, int16_t acks,
                       struct world_produce *ret_produce);
void world_produce_deinit(struct world_produce *produce);

/* What a watch told: its arg, with world_on_watch as its fn. */
struct world_seen {
    int events;
    int calls;
};
void world_on_watch(void *arg, struct replicas_watch *watch, int events);

struct replicas_partition_info world_info(struct world *w, int32_t at,
                                          const struct world_partition *p);
/* Runs until both have the same log end and high watermark, the end being `end`; fails the test after
 * 60 s of virtual time. */
void world_await_end(struct world *w, int32_t at, const struct world_partition *p, int64_t end);
void world_await_high_watermark(struct world *w, int32_t at, const struct world_partition *p,
                                int64_t offset);
void world_await_isr(struct world *w, const struct world_partition *p, int32_t count);
void world_pass(struct world *w, int64_t ms);
/* The bytes of both logs are the same, from the first to the last offset. */
void world_assert_same_log(struct world *w, int32_t a, int32_t b, const struct world_partition *p);
