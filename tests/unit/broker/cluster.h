/*
 * A test bench for whole brokers: some of them in a simulated world, each on a node of its own with a
 * controller that may be elected, over one in-memory store; and a client node. Include it once, after
 * cmocka.
 */
#pragma once

#include "base/alloc.h"
#include "base/arena.h"
#include "base/check.h"
#include "broker/broker.h"
#include "broker/replicas/replicas.h"
#include "metastore/store.h"
#include "net/net.h"
#include "record/records.h"
#include "sim/env/sim.h"
#include "wire/create_topics.h"
#include "wire/fetch.h"
#include "wire/header.h"
#include "wire/metadata.h"
#include "wire/produce.h"

#include <stdio.h>
#include <stdlib.h>

#define CLUSTER_MAX         4
#define CLUSTER_PATIENCE_MS 60000

struct cluster;

struct cluster_broker {
    struct cluster *cluster;
    struct sim_node *node;
    struct broker *broker; /* NULL while it is down */
    struct net_peer *peer; /* from the client to it */
    int32_t id;
    int ready;
    bool is_stopped;
    char fatal[128];
    char trouble[512]; /* the lines of trouble of this life, as far as they fit */
};

struct cluster {
    struct sim_world *world;
    struct sim_node *store_node;
    struct sim_node *client;
    struct metastore_store *store;
    struct cluster_broker brokers[CLUSTER_MAX]; /* id = index + 1 */
    int32_t count;
    const struct broker_setting *settings;
    int32_t setting_count;
    const struct auth_acls *acls;
    bool has_two_listeners; /* INTERNAL between brokers, CLIENT for the test; else one for both */
    struct arena arena;
};

static inline void cluster_on_ready(void *arg)
{
    struct cluster_broker *b = arg;
    b->ready++;
}

static inline void cluster_on_fatal(void *arg, const char *reason)
{
    struct cluster_broker *b = arg;
    (void)snprintf(b->fatal, sizeof b->fatal, "%s", reason);
}

static inline void cluster_on_log(void *arg, const char *line)
{
    struct cluster_broker *b = arg;
    sim_trace(b->cluster->world, "broker %d: %s", b->id, line);
    if (strncmp(line, BROKER_LOG_WARNING, strlen(BROKER_LOG_WARNING)) == 0) {
        size_t len = strlen(b->trouble);
        (void)snprintf(b->trouble + len, sizeof b->trouble - len, "%s\n",
                       line + strlen(BROKER_LOG_WARNING));
    }
}

static inline bool cluster_all_ready(void *arg)
{
    const struct cluster *c = arg;
    for (int32_t i = 0; i < c->count; i++) {
        const struct cluster_broker *b = &c->brokers[i];
        if (b->broker != NULL && !broker_is_ready(b->broker)) {
            return false;
        }
    }
    return true;
}

/* The node must be alive. Does not wait. */
static inline void cluster_boot(struct cluster *c, int32_t id)
{
    static const char *const dirs[] = {"/data"};
    struct cluster_broker *b = &c->brokers[id - 1];
    struct errmsg em = {""};
    const char *host = sim_node_name(b->node);
    struct broker_listener one[] = {{.name = BROKER_LISTENER, .host = host}};
    struct broker_listener two[] = {{.name = "INTERNAL", .host = host},
                                    {.name = "CLIENT", .host = host}};
    struct broker_config config = {
        .id = id,
        .listeners = c->has_two_listeners ? two : one,
        .listener_count = c->has_two_listeners ? 2 : 1,
        .log_dirs = dirs,
        .log_dir_count = 1,
        .session_timeout_ms = 6000,
        .settings = c->settings,
        .setting_count = c->setting_count,
        .acls = c->acls,
        .log = cluster_on_log,
        .log_arg = b,
    };
    struct env *env = sim_node_env(b->node);
    b->is_stopped = false;
    b->trouble[0] = '\0';
    b->broker = broker_new(env, env, &config, metastore_store_factory(c->store), &em);
    assert_string_equal(em.text, "");
    assert_non_null(b->broker);
    struct broker_events events = {cluster_on_ready, cluster_on_fatal, b};
    int err = broker_start(b->broker, &events, &em);
    assert_string_equal(em.text, "");
    assert_int_equal(err, 0);
    struct net_peer_config peer = {.host = sim_node_name(b->node),
                                   .port = broker_port(b->broker, c->has_two_listeners ? 1 : 0),
                                   .response_bytes_max = 64 << 20,
                                   .backoff_ms = 10,
                                   .connect_timeout_ms = 1000};
    net_peer_free(b->peer);
    b->peer = net_peer_new(sim_node_env(c->client), &peer);
}

/* Set settings and acls in c before, zero the rest. Waits until all brokers are ready. */
static inline void cluster_start(struct cluster *c, int32_t count)
{
    struct errmsg em = {""};
    c->world = sim_world_new(11);
    c->store_node = sim_node_new(c->world, "store");
    c->client = sim_node_new(c->world, "client");
    c->count = count;
    arena_init(&c->arena, (size_t)64 << 20);
    struct metastore_store_config config = {.env = sim_node_env(c->store_node)};
    assert_int_equal(metastore_store_new(&config, &c->store, &em), 0);
    for (int32_t i = 0; i < count; i++) {
        char name[16];
        (void)snprintf(name, sizeof name, "broker%d", i + 1);
        c->brokers[i] = (struct cluster_broker){
            .cluster = c, .node = sim_node_new(c->world, name), .id = i + 1};
        cluster_boot(c, i + 1);
    }
    if (!sim_world_run(c->world, CLUSTER_PATIENCE_MS, cluster_all_ready, c)) {
        sim_trace_print(c->world);
        fail_msg("the brokers do not get ready");
    }
}

static inline void cluster_run(struct cluster *c, int64_t ms)
{
    (void)sim_world_run(c->world, ms, NULL, NULL);
}

/* As kill -9 does it. */
static inline void cluster_kill(struct cluster *c, int32_t id)
{
    struct cluster_broker *b = &c->brokers[id - 1];
    broker_free(b->broker);
    b->broker = NULL;
    sim_node_crash(b->node);
}

static inline void cluster_restart(struct cluster *c, int32_t id)
{
    sim_node_start(c->brokers[id - 1].node);
    cluster_boot(c, id);
    assert_true(sim_world_run(c->world, CLUSTER_PATIENCE_MS, cluster_all_ready, c));
}

static inline void cluster_on_stopped(void *arg)
{
    struct cluster_broker *b = arg;
    b->is_stopped = true;
}

static inline bool cluster_is_stopped(void *arg)
{
    const struct cluster_broker *b = arg;
    return b->is_stopped;
}

/* The clean way; returns how long it took in ms. */
static inline int64_t cluster_stop_broker(struct cluster *c, int32_t id)
{
    struct cluster_broker *b = &c->brokers[id - 1];
    int64_t before = sim_world_now_ms(c->world);
    broker_stop(b->broker, cluster_on_stopped, b);
    assert_true(sim_world_run(c->world, CLUSTER_PATIENCE_MS, cluster_is_stopped, b));
    broker_free(b->broker);
    b->broker = NULL;
    return sim_world_now_ms(c->world) - before;
}

static inline void cluster_stop(struct cluster *c)
{
    for (int32_t i = 0; i < c->count; i++) {
        net_peer_free(c->brokers[i].peer);
        broker_free(c->brokers[i].broker);
    }
    cluster_run(c, 20000);
    metastore_store_free(c->store);
    arena_deinit(&c->arena);
    sim_world_free(c->world);
}

/* ---- calls ---- */

struct cluster_call {
    struct cluster *cluster;
    int16_t key;
    int16_t version;
    bool is_done;
    int err;
    const void *resp;
};

static inline void cluster_answered(void *arg, int err, struct block *frame, struct slice payload)
{
    struct cluster_call *call = arg;
    const struct wire_api *api = wire_api_find(call->key);
    struct arena *arena = &call->cluster->arena;
    struct reader r;
    struct wire_response_header header;
    (void)frame;
    call->is_done = true;
    call->err = err;
    if (err < 0) {
        return;
    }
    reader_init(&r, slice_of(arena_str(arena, payload), payload.len));
    void *resp = arena_alloc(arena, wire_message_size(api->response));
    assert_int_equal(wire_response_header_read(&header, &r, call->key, call->version), 0);
    assert_int_equal(wire_message_decode(api->response, resp, &r, call->version, arena), 0);
    assert_int_equal(wire_reader_finish(&r), 0);
    call->resp = resp;
}

static inline bool cluster_is_done(void *arg)
{
    const struct cluster_call *call = arg;
    return call->is_done;
}

/* The decoded answer of broker id; NULL when the connection was closed instead. */
static inline const void *cluster_call_v(struct cluster *c, int32_t id, int16_t key,
                                         int16_t version, const void *req)
{
    struct cluster_call call = {.cluster = c, .key = key, .version = version};
    struct buf frame;
    struct wire_request_header header = {
        .api_key = key, .api_version = version, .client_id = slice_str("bench")};
    buf_init(&frame);
    wire_request_header_write(&header, &frame);
    wire_message_encode(wire_api_find(key)->request, req, &frame, version);
    assert_false(buf_failed(&frame));
    net_peer_call(c->brokers[id - 1].peer, &frame, CLUSTER_PATIENCE_MS, cluster_answered, &call);
    assert_true(sim_world_run(c->world, 2 * CLUSTER_PATIENCE_MS, cluster_is_done, &call));
    return call.resp;
}

/* In the newest version of the schema. */
static inline const void *cluster_call(struct cluster *c, int32_t id, int16_t key, const void *req)
{
    return cluster_call_v(c, id, key, wire_api_find(key)->last_version, req);
}

/* The active controller's id; 0 = none. */
static inline int32_t cluster_controller(const struct cluster *c)
{
    for (int32_t i = 0; i < c->count; i++) {
        if (c->brokers[i].broker != NULL && broker_is_controller(c->brokers[i].broker)) {
            return i + 1;
        }
    }
    return 0;
}

/* Through the controller; returns the error code. Waits until all have heard of it. */
static inline int16_t cluster_create_topic(struct cluster *c, const char *name, int32_t partitions,
                                           int16_t factor)
{
    struct wire_create_topics_request_topics topic = {
        .name = slice_str(name), .num_partitions = partitions, .replication_factor = factor};
    struct wire_create_topics_request req = {
        .topics = &topic, .topics_count = 1, .timeout_ms = 10000};
    const struct wire_create_topics_response *resp =
        cluster_call(c, cluster_controller(c), WIRE_KEY_CREATE_TOPICS, &req);
    assert_non_null(resp);
    cluster_run(c, 1000);
    return resp->topics[0].error_code;
}

/* How broker id describes one partition; NULL when it knows none. */
static inline const struct wire_metadata_response_topics_partitions *
cluster_partition(struct cluster *c, int32_t id, const char *name, int32_t partition)
{
    struct wire_metadata_request_topics topic = {.name = slice_str(name)};
    struct wire_metadata_request req = {.topics = &topic, .topics_count = 1};
    const struct wire_metadata_response *resp = cluster_call(c, id, WIRE_KEY_METADATA, &req);
    assert_non_null(resp);
    assert_int_equal(resp->topics_count, 1);
    for (int32_t i = 0; i < resp->topics[0].partitions_count; i++) {
        if (resp->topics[0].partitions[i].partition_index == partition) {
            return &resp->topics[0].partitions[i];
        }
    }
    return NULL;
}

/* Appends count records to partition 0 with acks=all at its leader; the base offset or -error. */
static inline int64_t cluster_produce(struct cluster *c, const char *name, int32_t count)
{
    const struct wire_metadata_response_topics_partitions *p =
        cluster_partition(c, cluster_controller(c), name, 0);
    struct record_builder builder;
    struct buf records;
    assert_non_null(p);
    record_builder_init(&builder, RECORD_CODEC_NONE);
    for (int32_t i = 0; i < count; i++) {
        struct record_input record = {.value = slice_str("v"), .timestamp = 1000 + i};
        record_builder_add(&builder, &record);
    }
    buf_init(&records);
    assert_int_equal(record_builder_finish(&builder, &records), 0);
    struct wire_produce_request_topic_data_partition_data data = {
        .records = {.ptr = records.ptr, .len = records.len}};
    struct wire_produce_request_topic_data topic = {
        .name = slice_str(name), .partition_data = &data, .partition_data_count = 1};
    struct wire_produce_request req = {
        .acks = -1, .timeout_ms = 5000, .topic_data = &topic, .topic_data_count = 1};
    const struct wire_produce_response *resp =
        cluster_call_v(c, p->leader_id, WIRE_KEY_PRODUCE, 9, &req);
    record_builder_deinit(&builder);
    buf_deinit(&records);
    assert_non_null(resp);
    int16_t error = resp->responses[0].partition_responses[0].error_code;
    return error != 0 ? -error : resp->responses[0].partition_responses[0].base_offset;
}
