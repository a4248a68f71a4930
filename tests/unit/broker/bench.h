/*
 * A test bench for the server: in a simulated world, one node runs a broker's api over real replicas,
 * settings and metadata cache, and the test is both the client and the controller (it pushes
 * UpdateMetadata and LeaderAndIsr itself). Include it once, after cmocka.
 */
#pragma once

#include "base/alloc.h"
#include "base/arena.h"
#include "base/check.h"
#include "broker/api/api.h"
#include "broker/config/settings.h"
#include "broker/controller/channel.h"
#include "broker/isr_store.h"
#include "broker/metadata/metadata.h"
#include "broker/replicas/replicas.h"
#include "metastore/metastore.h"
#include "metastore/path.h"
#include "metastore/store.h"
#include "net/net.h"
#include "record/records.h"
#include "sim/env/sim.h"
#include "wire/api_versions.h"
#include "wire/fetch.h"
#include "wire/header.h"
#include "wire/leader_and_isr.h"
#include "wire/produce.h"
#include "wire/stop_replica.h"
#include "wire/update_metadata.h"

#include <stdio.h>
#include <stdlib.h>

#define BENCH_PATIENCE_MS 60000
#define BENCH_BROKER      1
#define BENCH_OTHER       2 /* a broker that the cache knows and that is not there */
#define BENCH_CLUSTER_ID  "abcdefghijklmnopqrstuv"

struct bench {
    struct sim_world *world;
    struct sim_node *server;
    struct sim_node *client;
    struct metastore_store *store;
    struct metastore *session;
    bool is_loaded; /* settings have been read */
    struct settings *settings;
    struct metadata *metadata;
    struct replicas *replicas;
    struct controller_channel *channel;
    struct api *api;
    struct net_peer *peer;
    struct arena arena; /* decoded answers, until bench_stop */
    int64_t epoch;
    int32_t metadata_changes;
    const struct auth_acls *acls;       /* set before bench_start_server */
    struct broker_isr_store *isr_store; /* where leaders below 2.7-IV2 put their sets */
};

/* ---- hooks ---- */

static inline void bench_topic_config(void *arg, const char *topic,
                                      struct replicas_topic_config *ret_config)
{
    const struct bench *b = arg;
    settings_fill_topic(b->settings, slice_str(topic), ret_config);
}

static inline bool bench_endpoint(void *arg, int32_t id, const char **ret_host, uint16_t *ret_port)
{
    (void)arg;
    (void)id;
    (void)ret_host;
    (void)ret_port;
    return false;
}

static inline bool bench_is_alive(void *arg, int32_t id)
{
    const struct bench *b = arg;
    return metadata_broker_find(b->metadata, id) != NULL;
}

static inline bool bench_has_topic_id(void *arg, struct uuid id)
{
    const struct bench *b = arg;
    return metadata_topic_find_id(b->metadata, id) != NULL;
}

static inline bool bench_store_isr(void *arg, const char *topic, int32_t partition,
                                   const struct model_partition_state *state)
{
    const struct bench *b = arg;
    return b->isr_store != NULL &&
           broker_isr_store_put(b->isr_store, slice_str(topic), partition, state);
}

static inline int32_t bench_controller(void *arg)
{
    const struct bench *b = arg;
    return metadata_controller(b->metadata);
}

static inline int64_t bench_epoch(void *arg)
{
    const struct bench *b = arg;
    return b->epoch;
}

static inline const char *bench_cluster_id(void *arg)
{
    (void)arg;
    return BENCH_CLUSTER_ID;
}

static inline void bench_metadata_changed(void *arg)
{
    struct bench *b = arg;
    b->metadata_changes++;
    controller_channel_metadata_changed(b->channel);
}

static inline void bench_state(void *arg, enum metastore_state state)
{
    (void)arg;
    (void)state;
}

static inline void bench_settings_changed(void *arg, const char *topic)
{
    struct bench *b = arg;
    if (b->replicas != NULL) {
        replicas_topic_config_changed(b->replicas, topic);
    }
}

static inline void bench_loaded(void *arg)
{
    struct bench *b = arg;
    b->is_loaded = true;
}

static inline bool bench_is_loaded(void *arg)
{
    const struct bench *b = arg;
    return b->is_loaded;
}

/* ---- life ---- */

static inline void bench_root_made(void *arg, const struct metastore_result *result)
{
    (void)arg;
    (void)result;
}

/* A connection of the client; the test frees it. */
static inline struct net_peer *bench_peer_new(struct bench *b)
{
    struct net_peer_config config = {.host = "server",
                                     .port = api_port(b->api, 0),
                                     .response_bytes_max = 64 << 20,
                                     .backoff_ms = 10,
                                     .connect_timeout_ms = 1000};
    return net_peer_new(sim_node_env(b->client), &config);
}

/* settings: key, value, key, value, ..., NULL; may be NULL. */
static inline void bench_start(struct bench *b, const char *const *settings)
{
    static const char *const dirs[] = {"/data/a", "/data/b"};
    struct errmsg em = {""};
    *b = (struct bench){.epoch = 7, .acls = b->acls};
    b->world = sim_world_new(1);
    b->server = sim_node_new(b->world, "server");
    b->client = sim_node_new(b->world, "client");
    arena_init(&b->arena, (size_t)64 << 20);
    struct env *env = sim_node_env(b->server);
    struct metastore_store_config store = {.env = env};
    assert_int_equal(metastore_store_new(&store, &b->store, &em), 0);
    struct metastore_factory *factory = metastore_store_factory(b->store);
    b->session = factory->open(factory, env, 6000, bench_state, b);
    for (int32_t i = 0; i < metastore_path_root_count; i++) {
        struct metastore_op op = {.kind = METASTORE_CREATE,
                                  .path = slice_str(metastore_path_roots[i])};
        metastore_multi(b->session, &op, 1, bench_root_made, b);
    }
    b->settings = settings_new(BENCH_BROKER, NULL, NULL);
    for (int i = 0; settings != NULL && settings[i] != NULL; i += 2) {
        assert_int_equal(settings_put(b->settings, settings[i], settings[i + 1], &em), 0);
    }
    struct settings_events events = {.arg = b, .changed = bench_settings_changed};
    settings_attach(b->settings, b->session, &events, bench_loaded);
    assert_true(sim_world_run(b->world, BENCH_PATIENCE_MS, bench_is_loaded, b));
    b->metadata = metadata_new("PLAINTEXT");
    struct replicas_config config;
    settings_fill_replicas(b->settings, &config);
    config.log_dirs = dirs;
    config.log_dir_count = ARRAY_LEN(dirs);
    struct replicas_hooks hooks = {.arg = b,
                                   .topic_config = bench_topic_config,
                                   .endpoint = bench_endpoint,
                                   .is_alive = bench_is_alive,
                                   .has_topic_id = bench_has_topic_id,
                                   .controller = bench_controller,
                                   .broker_epoch = bench_epoch,
                                   .store_isr = bench_store_isr};
    int err = replicas_open(env, &config, &hooks, &b->replicas, &em);
    assert_string_equal(em.text, "");
    assert_int_equal(err, 0);
    b->channel = controller_channel_new(env, BENCH_BROKER, b->metadata);
    struct api_listener listener = {.name = "PLAINTEXT", .host = "server"};
    struct api_parts parts = {
        .env = env,
        .broker_id = BENCH_BROKER,
        .listeners = &listener,
        .listener_count = 1,
        .settings = b->settings,
        .metadata = b->metadata,
        .replicas = b->replicas,
        .channel = b->channel,
        .acls = b->acls,
        .arg = b,
        .cluster_id = bench_cluster_id,
        .broker_epoch = bench_epoch,
        .metadata_changed = bench_metadata_changed,
    };
    assert_int_equal(api_new(&parts, &b->api, &em), 0);
    b->peer = bench_peer_new(b);
}

static inline void bench_stop(struct bench *b)
{
    net_peer_free(b->peer);
    settings_detach(b->settings);
    controller_channel_free(b->channel);
    api_free(b->api);
    replicas_free(b->replicas);
    metadata_free(b->metadata);
    settings_free(b->settings);
    metastore_close(b->session);
    (void)sim_world_run(b->world, 1000, NULL, NULL);
    metastore_store_free(b->store);
    arena_deinit(&b->arena);
    sim_world_free(b->world);
}

/* ---- calls ---- */

struct bench_call {
    struct bench *bench;
    int16_t key;
    int16_t version;
    bool is_done;
    int err;
    const void *resp; /* decoded, in the bench's arena; NULL on error */
    struct slice payload;
};

static inline void bench_answered(void *arg, int err, struct block *frame, struct slice payload)
{
    struct bench_call *call = arg;
    const struct wire_api *api = wire_api_find(call->key);
    struct arena *arena = &call->bench->arena;
    struct reader r;
    struct wire_response_header header;
    (void)frame;
    call->is_done = true;
    call->err = err;
    if (err < 0) {
        return;
    }
    char *copy = arena_str(arena, payload);
    call->payload = slice_of(copy, payload.len);
    reader_init(&r, call->payload);
    void *resp = arena_alloc(arena, wire_message_size(api->response));
    assert_int_equal(wire_response_header_read(&header, &r, call->key, call->version), 0);
    assert_int_equal(wire_message_decode(api->response, resp, &r, call->version, arena), 0);
    assert_int_equal(wire_reader_finish(&r), 0);
    call->resp = resp;
}

static inline bool bench_is_done(void *arg)
{
    const struct bench_call *call = arg;
    return call->is_done;
}

/* call must live until it is done. */
static inline void bench_call_start(struct bench *b, struct bench_call *call, const void *req)
{
    struct buf frame;
    struct wire_request_header header = {
        .api_key = call->key, .api_version = call->version, .client_id = slice_str("bench")};
    call->bench = b;
    buf_init(&frame);
    wire_request_header_write(&header, &frame);
    wire_message_encode(wire_api_find(call->key)->request, req, &frame, call->version);
    assert_false(buf_failed(&frame));
    net_peer_call(b->peer, &frame, BENCH_PATIENCE_MS, bench_answered, call);
}

/* The decoded answer; NULL when the connection was closed instead. */
static inline const void *bench_call(struct bench *b, int16_t key, int16_t version, const void *req)
{
    struct bench_call call = {.key = key, .version = version};
    bench_call_start(b, &call, req);
    assert_true(sim_world_run(b->world, BENCH_PATIENCE_MS, bench_is_done, &call));
    return call.resp;
}

static inline void bench_run(struct bench *b, int64_t ms)
{
    (void)sim_world_run(b->world, ms, NULL, NULL);
}

/* ---- the controller's part ---- */

struct bench_partition {
    const char *topic;
    struct uuid id;
    int32_t partition;
    int32_t leader;
    int32_t leader_epoch;
    int32_t replicas[4];
    int32_t replica_count;
};

static inline struct uuid bench_uuid(uint8_t n)
{
    struct uuid id = UUID_ZERO;
    id.bytes[15] = n;
    id.bytes[0] = 1;
    return id;
}

/* Brokers 1 and 2 are live, 1 is the controller; then this partition. */
static inline int16_t bench_update_metadata(struct bench *b, const struct bench_partition *p)
{
    struct wire_update_metadata_request_live_brokers_endpoints endpoints[2] = {
        {.port = api_port(b->api, 0),
         .host = slice_str("server"),
         .listener = slice_str("PLAINTEXT")},
        {.port = 9999, .host = slice_str("other"), .listener = slice_str("PLAINTEXT")},
    };
    struct wire_update_metadata_request_live_brokers brokers[2] = {
        {.id = BENCH_BROKER, .endpoints = &endpoints[0], .endpoints_count = 1},
        {.id = BENCH_OTHER,
         .endpoints = &endpoints[1],
         .endpoints_count = 1,
         .rack = slice_str("r2")},
    };
    int32_t replicas[4];
    memcpy(replicas, p->replicas, sizeof replicas);
    struct wire_update_metadata_request_topic_states_partition_states state = {
        .partition_index = p->partition,
        .controller_epoch = 1,
        .leader = p->leader,
        .leader_epoch = p->leader_epoch,
        .isr = replicas,
        .isr_count = p->replica_count,
        .replicas = replicas,
        .replicas_count = p->replica_count,
    };
    struct wire_update_metadata_request_topic_states topic = {
        .topic_name = slice_str(p->topic),
        .topic_id = p->id,
        .partition_states = &state,
        .partition_states_count = 1,
    };
    struct wire_update_metadata_request req;
    wire_update_metadata_request_init(&req);
    req.controller_id = BENCH_BROKER;
    req.controller_epoch = 1;
    req.broker_epoch = b->epoch;
    req.live_brokers = brokers;
    req.live_brokers_count = 2;
    req.topic_states = &topic;
    req.topic_states_count = p->topic == NULL ? 0 : 1;
    const struct wire_update_metadata_response *resp =
        bench_call(b, WIRE_KEY_UPDATE_METADATA, 8, &req);
    assert_non_null(resp);
    return resp->error_code;
}

/* The topic comes with these settings; count -1: nothing is said of them. */
static inline void
bench_leader_and_isr_with(struct bench *b, const struct bench_partition *p,
                          struct wire_leader_and_isr_request_topic_states_settings *settings,
                          int32_t setting_count)
{
    int32_t replicas[4];
    memcpy(replicas, p->replicas, sizeof replicas);
    struct wire_leader_and_isr_request_topic_states_partition_states state = {
        .partition_index = p->partition,
        .controller_epoch = 1,
        .leader = p->leader,
        .leader_epoch = p->leader_epoch,
        .isr = replicas,
        .isr_count = p->replica_count,
        .partition_epoch = p->leader_epoch,
        .replicas = replicas,
        .replicas_count = p->replica_count,
        .is_new = true,
    };
    struct wire_leader_and_isr_request_topic_states topic = {
        .topic_name = slice_str(p->topic),
        .topic_id = p->id,
        .partition_states = &state,
        .partition_states_count = 1,
        .settings = settings,
        .settings_count = setting_count,
    };
    struct wire_leader_and_isr_request req;
    wire_leader_and_isr_request_init(&req);
    req.controller_id = BENCH_BROKER;
    req.controller_epoch = 1;
    req.broker_epoch = b->epoch;
    req.topic_states = &topic;
    req.topic_states_count = 1;
    const struct wire_leader_and_isr_response *resp =
        bench_call(b, WIRE_KEY_LEADER_AND_ISR, 7, &req);
    assert_non_null(resp);
    assert_int_equal(resp->error_code, 0);
    assert_int_equal(resp->topics[0].partition_errors[0].error_code, 0);
}

static inline void bench_leader_and_isr(struct bench *b, const struct bench_partition *p)
{
    bench_leader_and_isr_with(b, p, NULL, -1);
}

/* Stops partition 0 of "t" at that leader epoch. */
static inline void bench_stop_replica(struct bench *b, int32_t leader_epoch, bool is_deleted)
{
    struct wire_stop_replica_request_topic_states_partition_states partition = {
        .leader_epoch = leader_epoch, .delete_partition = is_deleted};
    struct wire_stop_replica_request_topic_states topic = {
        .topic_name = slice_str("t"), .partition_states = &partition, .partition_states_count = 1};
    struct wire_stop_replica_request req;
    wire_stop_replica_request_init(&req);
    req.controller_epoch = 1;
    req.broker_epoch = b->epoch;
    req.topic_states = &topic;
    req.topic_states_count = 1;
    const struct wire_stop_replica_response *resp = bench_call(b, WIRE_KEY_STOP_REPLICA, 4, &req);
    assert_non_null(resp);
    assert_int_equal(resp->error_code, 0);
    assert_int_equal(resp->partition_errors_count, 1);
    assert_int_equal(resp->partition_errors[0].error_code, 0);
}

/* Broker 1 leads topic "t" partition 0 alone, at epoch 3. */
static inline void bench_lead(struct bench *b)
{
    struct bench_partition p = {.topic = "t",
                                .id = bench_uuid(1),
                                .leader = BENCH_BROKER,
                                .leader_epoch = 3,
                                .replicas = {BENCH_BROKER},
                                .replica_count = 1};
    assert_int_equal(bench_update_metadata(b, &p), 0);
    bench_leader_and_isr(b, &p);
}

/* ---- the client's part ---- */

/* One batch of count records "v"; in the bench's arena. */
static inline struct wire_records bench_records_of(struct bench *b, int32_t count,
                                                   enum record_codec codec)
{
    struct record_builder builder;
    struct buf out;
    record_builder_init(&builder, codec);
    for (int32_t i = 0; i < count; i++) {
        struct record_input record = {.value = slice_str("v"), .timestamp = 1000 + i};
        record_builder_add(&builder, &record);
    }
    buf_init(&out);
    assert_int_equal(record_builder_finish(&builder, &out), 0);
    struct wire_records records = {.ptr = (const uint8_t *)arena_str(&b->arena, buf_slice(&out)),
                                   .len = out.len};
    buf_deinit(&out);
    record_builder_deinit(&builder);
    return records;
}

static inline struct wire_records bench_records(struct bench *b, int32_t count)
{
    return bench_records_of(b, count, RECORD_CODEC_NONE);
}

struct bench_produce {
    const char *topic;
    int32_t partition;
    int16_t acks;
    int16_t version;
    struct wire_records records;
};

/* The answer for the partition; NULL when the connection was closed. */
static inline const struct wire_produce_response_responses_partition_responses *
bench_produce(struct bench *b, const struct bench_produce *p)
{
    struct wire_produce_request_topic_data_partition_data partition = {.index = p->partition,
                                                                       .records = p->records};
    struct wire_produce_request_topic_data topic = {
        .name = slice_str(p->topic), .partition_data = &partition, .partition_data_count = 1};
    struct wire_produce_request req;
    wire_produce_request_init(&req);
    req.acks = p->acks;
    req.timeout_ms = 1000;
    req.topic_data = &topic;
    req.topic_data_count = 1;
    const struct wire_produce_response *resp = bench_call(b, WIRE_KEY_PRODUCE, p->version, &req);
    if (resp == NULL) {
        return NULL;
    }
    assert_int_equal(resp->responses_count, 1);
    assert_int_equal(resp->responses[0].partition_responses_count, 1);
    return &resp->responses[0].partition_responses[0];
}

/* Appends count records to t-0 and returns the base offset. */
static inline int64_t bench_append(struct bench *b, int32_t count)
{
    struct bench_produce p = {
        .topic = "t", .acks = 1, .version = 9, .records = bench_records(b, count)};
    const struct wire_produce_response_responses_partition_responses *resp = bench_produce(b, &p);
    assert_non_null(resp);
    assert_int_equal(resp->error_code, 0);
    return resp->base_offset;
}
