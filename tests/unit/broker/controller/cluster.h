/*
 * A cluster for the controller's driver: an in-memory metastore, brokers that register, answer control
 * requests and keep what they were told as text, and a controller on each, all in the simulated world.
 * Include it once, after cmocka.
 */
#pragma once

#include "base/alloc.h"
#include "base/check.h"
#include "broker/controller/controller.h"
#include "broker/controller/private.h"
#include "metastore/store.h"
#include "net/net.h"
#include "sim/env/sim.h"
#include "wire/api_versions.h"
#include "wire/describe_log_dirs.h"
#include "wire/header.h"
#include "wire/leader_and_isr.h"
#include "wire/stop_replica.h"
#include "wire/update_metadata.h"

#include <stdio.h>
#include <stdlib.h>

#define CLUSTER_BROKERS     8
#define CLUSTER_PATIENCE_MS 60000
#define CLUSTER_SESSION_MS  3000

struct cluster_broker {
    struct cluster *cluster;
    int32_t id;
    struct sim_node *node;
    struct net_server *server;
    struct budget budget;
    struct metastore *session; /* NULL: down */
    struct controller *controller;
    int64_t epoch;   /* -1 until registered */
    struct buf told; /* "leader t-0 1 epoch 0;" in order of arrival */
    int32_t told_count;
    int32_t refusals; /* so many LeaderAndIsr find it unregistered */
    /* What it tells of its logs. */
    int16_t dirs_version_max; /* of DescribeLogDirs; -1 = it does not serve it */
    int16_t dirs_error;       /* at the top, version 3 and later */
    int64_t dirs_size;        /* of each log that is asked for */
    bool dirs_has_details;    /* as a klamm broker tells them */
    int64_t dirs_usable;      /* bytes left on its disk */
    int32_t dirs_asked_max;   /* partitions that were named in one request */
    int32_t dirs_count;       /* requests */
};

struct cluster {
    struct sim_world *world;
    struct sim_node *store_node;
    struct metastore_store *store;
    struct cluster_broker brokers[CLUSTER_BROKERS];
    int32_t broker_count;
    struct buf log;
    /* of the last call */
    bool is_done;
    int err;
    struct buf data;
    struct metastore_stat stat;
    int16_t reply_error;
    struct buf reply; /* errors of the entries, ';' behind each */
    bool is_replied;
    const char *end_at; /* the fault point at which a controller ends; NULL = none */
    bool is_ended;
};

/* ---- waiting ---- */

static inline bool cluster_flag(void *arg)
{
    return *(bool *)arg;
}

static inline void cluster_run(struct cluster *k, int64_t ms)
{
    (void)sim_world_run(k->world, ms, NULL, NULL);
}

static inline const char *cluster_text(struct buf *b)
{
    static const char empty[] = "";
    if (b->len == 0) {
        return empty;
    }
    buf_put_u8(b, 0);
    b->len--;
    return (const char *)b->ptr;
}

/* ---- brokers ---- */

static inline void told_leaders(struct cluster_broker *b, struct reader *r, struct arena *a,
                                struct buf *answer)
{
    struct wire_leader_and_isr_request m;
    struct wire_leader_and_isr_response out;
    wire_leader_and_isr_response_init(&out);
    CHECK(wire_leader_and_isr_request_decode(&m, r, 7, a) == 0);
    CHECK(m.broker_epoch == b->epoch);
    if (b->refusals > 0) {
        b->refusals--;
        out.error_code = KERR_STALE_BROKER_EPOCH;
        wire_leader_and_isr_response_encode(&out, answer, 7);
        return;
    }
    out.topics = arena_array(a, (size_t)m.topic_states_count + 1, sizeof *out.topics);
    out.topics_count = m.topic_states_count;
    for (int32_t i = 0; i < m.topic_states_count; i++) {
        struct wire_leader_and_isr_response_topics *t = &out.topics[i];
        t->topic_id = m.topic_states[i].topic_id;
        t->partition_errors_count = m.topic_states[i].partition_states_count;
        t->partition_errors =
            arena_array(a, (size_t)t->partition_errors_count + 1, sizeof *t->partition_errors);
        for (int32_t k = 0; k < t->partition_errors_count; k++) {
            t->partition_errors[k].partition_index =
                m.topic_states[i].partition_states[k].partition_index;
            buf_putf(&b->told, "leader %.*s-%d %d epoch %d;",
                     SLICE_ARG(m.topic_states[i].topic_name),
                     m.topic_states[i].partition_states[k].partition_index,
                     m.topic_states[i].partition_states[k].leader,
                     m.topic_states[i].partition_states[k].leader_epoch);
        }
    }
    wire_leader_and_isr_response_encode(&out, answer, 7);
}

static inline void told_stops(struct cluster_broker *b, struct reader *r, struct arena *a,
                              struct buf *answer)
{
    struct wire_stop_replica_request m;
    struct wire_stop_replica_response out;
    wire_stop_replica_response_init(&out);
    CHECK(wire_stop_replica_request_decode(&m, r, 4, a) == 0);
    out.partition_errors = arena_array(a, 10000, sizeof *out.partition_errors);
    for (int32_t i = 0; i < m.topic_states_count; i++) {
        for (int32_t k = 0; k < m.topic_states[i].partition_states_count; k++) {
            out.partition_errors[out.partition_errors_count++] =
                (struct wire_stop_replica_response_partition_errors){
                    .topic_name = m.topic_states[i].topic_name,
                    .partition_index = m.topic_states[i].partition_states[k].partition_index};
            buf_putf(&b->told, "stop%s %.*s-%d;",
                     m.topic_states[i].partition_states[k].delete_partition ? "-delete" : "",
                     SLICE_ARG(m.topic_states[i].topic_name),
                     m.topic_states[i].partition_states[k].partition_index);
        }
    }
    wire_stop_replica_response_encode(&out, answer, 4);
}

/* "limits 1000 t-0 t-1, 0 u-2;" */
static inline void told_limits(struct cluster_broker *b,
                               const struct wire_update_metadata_request *m)
{
    buf_put_str(&b->told, "limits");
    for (int32_t i = 0; i < m->move_limits_count; i++) {
        const struct wire_update_metadata_request_move_limits *group = &m->move_limits[i];
        buf_putf(&b->told, "%s %lld", i == 0 ? "" : ",", (long long)group->rate);
        for (int32_t t = 0; t < group->topics_count; t++) {
            for (int32_t k = 0; k < group->topics[t].partition_indexes_count; k++) {
                buf_putf(&b->told, " %.*s-%d", SLICE_ARG(group->topics[t].topic),
                         group->topics[t].partition_indexes[k]);
            }
        }
    }
    buf_put_str(&b->told, ";");
}

static inline void told_metadata(struct cluster_broker *b, struct reader *r, struct arena *a,
                                 struct buf *answer)
{
    struct wire_update_metadata_request m;
    struct wire_update_metadata_response out;
    wire_update_metadata_response_init(&out);
    CHECK(wire_update_metadata_request_decode(&m, r, 8, a) == 0);
    if (m.topic_states_count == 0) {
        buf_putf(&b->told, "brokers %d;", m.live_brokers_count);
    }
    if (m.move_limits_count >= 0) {
        told_limits(b, &m);
    }
    wire_update_metadata_response_encode(&out, answer, 8);
}

static inline void told_versions(const struct cluster_broker *b, struct buf *answer)
{
    struct wire_api_versions_response_api_keys keys[] = {
        {.api_key = WIRE_KEY_FETCH, .min_version = 0, .max_version = 17},
        {.api_key = WIRE_KEY_DESCRIBE_LOG_DIRS, .min_version = 0},
    };
    keys[1].max_version = b->dirs_version_max;
    struct wire_api_versions_response out;
    wire_api_versions_response_init(&out);
    out.api_keys = keys;
    out.api_keys_count = b->dirs_version_max < 0 ? 1 : 2;
    wire_api_versions_response_encode(&out, answer, 0);
}

static inline struct wire_describe_log_dirs_response_results_topics_partitions_details *
told_details(struct arena *a)
{
    struct wire_describe_log_dirs_response_results_topics_partitions_details *details =
        arena_alloc(a, sizeof *details);
    wire_describe_log_dirs_response_results_topics_partitions_details_init(details);
    return details;
}

/* Every partition that is asked for has one log, in one directory. */
static inline void told_dirs(struct cluster_broker *b, struct reader *r, int16_t version,
                             struct arena *a, struct buf *answer)
{
    struct wire_describe_log_dirs_request m;
    struct wire_describe_log_dirs_response out;
    struct wire_describe_log_dirs_response_results dir;
    wire_describe_log_dirs_response_init(&out);
    wire_describe_log_dirs_response_results_init(&dir);
    CHECK(wire_describe_log_dirs_request_decode(&m, r, version, a) == 0);
    CHECK(version <= b->dirs_version_max);
    int32_t named = 0;
    dir.log_dir = slice_str("/data");
    dir.usable_bytes = b->dirs_usable;
    dir.topics_count = m.topics_count;
    dir.topics = arena_array(a, (size_t)m.topics_count + 1, sizeof *dir.topics);
    for (int32_t i = 0; i < m.topics_count; i++) {
        dir.topics[i].name = m.topics[i].topic;
        dir.topics[i].partitions_count = m.topics[i].partitions_count;
        dir.topics[i].partitions = arena_array(a, (size_t)m.topics[i].partitions_count + 1,
                                               sizeof *dir.topics[i].partitions);
        named += m.topics[i].partitions_count;
        for (int32_t k = 0; k < m.topics[i].partitions_count; k++) {
            dir.topics[i].partitions[k].partition_index = m.topics[i].partitions[k];
            dir.topics[i].partitions[k].partition_size = b->dirs_size;
            if (b->dirs_has_details) {
                dir.topics[i].partitions[k].details = told_details(a);
            }
        }
    }
    b->dirs_count++;
    b->dirs_asked_max = MAX(b->dirs_asked_max, named);
    out.results = &dir;
    out.results_count = b->dirs_error == 0 ? 1 : 0;
    out.error_code = b->dirs_error;
    wire_describe_log_dirs_response_encode(&out, answer, version);
}

/* True: the request was about logs, not a control request. */
static inline bool told_sizes(struct cluster_broker *b, const struct wire_request_header *header,
                              struct reader *r, struct arena *a, struct buf *answer)
{
    if (header->api_key == WIRE_KEY_API_VERSIONS) {
        told_versions(b, answer);
    } else if (header->api_key == WIRE_KEY_DESCRIBE_LOG_DIRS) {
        told_dirs(b, r, header->api_version, a, answer);
    } else {
        return false;
    }
    return true;
}

static inline void cluster_on_request(void *arg, struct net_request *request)
{
    struct cluster_broker *b = arg;
    struct reader r;
    struct arena a;
    struct wire_request_header header;
    struct buf answer;
    arena_init(&a, (size_t)1 << 26);
    buf_init(&answer);
    reader_init(&r, slice_of(request->frame->data, request->frame->len));
    CHECK(wire_request_header_read(&header, &r) == 0);
    wire_response_header_write(&header, &answer);
    if (told_sizes(b, &header, &r, &a, &answer)) {
        /* Not a control request. */
    } else if (header.api_key == WIRE_KEY_LEADER_AND_ISR) {
        told_leaders(b, &r, &a, &answer);
    } else if (header.api_key == WIRE_KEY_STOP_REPLICA) {
        told_stops(b, &r, &a, &answer);
    } else {
        CHECK(header.api_key == WIRE_KEY_UPDATE_METADATA);
        told_metadata(b, &r, &a, &answer);
    }
    b->told_count +=
        header.api_key != WIRE_KEY_API_VERSIONS && header.api_key != WIRE_KEY_DESCRIBE_LOG_DIRS;
    arena_deinit(&a);
    if (request->orphaned) {
        net_no_response(request);
        buf_deinit(&answer);
    } else {
        net_respond(request, &answer, NULL, 0);
    }
}

static inline void cluster_registered(void *arg, const struct metastore_result *result)
{
    struct cluster_broker *b = arg;
    CHECK(result->err == 0);
    b->epoch = result->op_stats[0].czxid;
    controller_set_broker_epoch(b->controller, b->epoch);
}

static inline void cluster_register(struct cluster_broker *b)
{
    struct model_endpoint endpoint = {.listener = (char[]){"PLAINTEXT"},
                                      .host = xasprintf("%s", sim_node_name(b->node)),
                                      .port = net_server_port(b->server)};
    struct model_broker model = {.id = b->id, .endpoints = &endpoint, .endpoint_count = 1};
    struct metastore_path path;
    struct buf json;
    buf_init(&json);
    metastore_broker_encode(&json, &model, IBP_NEWEST, 0);
    struct metastore_op op = {.kind = METASTORE_CREATE,
                              .path = metastore_path_broker(&path, b->id),
                              .data = buf_slice(&json),
                              .is_ephemeral = true};
    metastore_multi(b->session, &op, 1, cluster_registered, b);
    buf_deinit(&json);
    free(endpoint.host);
}

static inline void cluster_session_state(void *arg, enum metastore_state state)
{
    struct cluster_broker *b = arg;
    if (state == METASTORE_CONNECTED && b->epoch < 0) {
        cluster_register(b);
    }
}

static inline void cluster_log(void *arg, enum control_level level, const char *text)
{
    struct cluster_broker *b = arg;
    buf_putf(&b->cluster->log, "%d: %s%s\n", b->id, level == CONTROL_WARNING ? "warning: " : "",
             text);
}

static inline bool cluster_is_end(void *arg, const char *point)
{
    struct cluster_broker *b = arg;
    struct cluster *k = b->cluster;
    if (k->end_at == NULL || strcmp(point, k->end_at) != 0) {
        return false;
    }
    k->end_at = NULL;
    k->is_ended = true;
    return true;
}

static inline void cluster_start(struct cluster *k, int32_t id)
{
    struct cluster_broker *b = &k->brokers[id];
    struct env *env = sim_node_env(b->node);
    struct errmsg em = {""};
    b->epoch = -1;
    b->budget = (struct budget){.max = (size_t)1 << 28};
    struct net_server_config config = {.host = sim_node_name(b->node),
                                       .connections_max = 100,
                                       .request_bytes_max = 1 << 26,
                                       .requests_in_flight_max = 10,
                                       .output_bytes_max = 1 << 26,
                                       .idle_ms = 600000,
                                       .budget = &b->budget};
    int err = net_server_new(env, &config, cluster_on_request, NULL, b, &b->server, &em);
    CHECKF(err == 0, "%s", em.text);
    struct metastore_factory *factory = metastore_store_factory(k->store);
    b->controller =
        controller_new(env, factory,
                       &(struct controller_config){.broker_id = id,
                                                   .listener = "PLAINTEXT",
                                                   .session_timeout_ms = CLUSTER_SESSION_MS,
                                                   .socket_timeout_ms = 5000,
                                                   .partitions_default = 1,
                                                   .replication_factor_default = 1,
                                                   .min_insync_replicas = 1,
                                                   .faults = {cluster_is_end, b},
                                                   .log = cluster_log,
                                                   .arg = b});
    b->session = factory->open(factory, env, CLUSTER_SESSION_MS, cluster_session_state, b);
}

/* As a killed process: sessions are left to expire. */
static inline void cluster_kill(struct cluster *k, int32_t id)
{
    struct cluster_broker *b = &k->brokers[id];
    if (b->session == NULL) {
        return;
    }
    controller_free(b->controller, false);
    b->controller = NULL;
    metastore_abandon(b->session);
    b->session = NULL;
    net_server_close(b->server);
    net_server_free(b->server);
    b->server = NULL;
    b->epoch = -1;
}

/* ---- life ---- */

static inline void cluster_call_done(void *arg, const struct metastore_result *result)
{
    struct cluster *k = arg;
    k->is_done = true;
    k->err = result->err;
    k->stat = result->stat;
    buf_clear(&k->data);
    if (result->err == 0) {
        buf_put_slice(&k->data, result->data);
        for (int32_t i = 0; i < result->child_count; i++) {
            buf_putf(&k->data, "%.*s;", SLICE_ARG(result->children[i]));
        }
    }
}

/* A session of the test's own, on the store's node. */
static inline struct metastore *cluster_session(struct cluster *k)
{
    struct metastore_factory *factory = metastore_store_factory(k->store);
    return factory->open(factory, sim_node_env(k->store_node), CLUSTER_SESSION_MS, NULL, NULL);
}

static inline void cluster_roots(struct cluster *k)
{
    struct metastore *m = cluster_session(k);
    for (int32_t i = 0; i < metastore_path_root_count; i++) {
        struct metastore_op op = {.kind = METASTORE_CREATE,
                                  .path = slice_str(metastore_path_roots[i])};
        k->is_done = false;
        metastore_multi(m, &op, 1, cluster_call_done, k);
        CHECK(sim_world_run(k->world, CLUSTER_PATIENCE_MS, cluster_flag, &k->is_done));
        CHECK(k->err == 0);
    }
    metastore_close(m);
}

static inline struct cluster *cluster_new(int32_t brokers, uint64_t seed)
{
    struct cluster *k = xalloc(sizeof *k);
    struct errmsg em = {""};
    k->world = sim_world_new(seed);
    k->store_node = sim_node_new(k->world, "store");
    buf_init(&k->log);
    buf_init(&k->data);
    buf_init(&k->reply);
    int err = metastore_store_new(
        &(struct metastore_store_config){.env = sim_node_env(k->store_node)}, &k->store, &em);
    CHECKF(err == 0, "%s", em.text);
    cluster_roots(k);
    k->broker_count = brokers;
    for (int32_t id = 1; id <= brokers; id++) {
        struct cluster_broker *b = &k->brokers[id];
        char *name = xasprintf("broker%d", id);
        *b = (struct cluster_broker){.cluster = k,
                                     .id = id,
                                     .epoch = -1,
                                     .dirs_version_max = 4,
                                     .dirs_usable = (int64_t)1 << 40};
        b->node = sim_node_new(k->world, name);
        buf_init(&b->told);
        free(name);
        cluster_start(k, id);
    }
    return k;
}

static inline void cluster_free(struct cluster *k)
{
    for (int32_t id = 1; id <= k->broker_count; id++) {
        struct cluster_broker *b = &k->brokers[id];
        if (b->session != NULL) {
            controller_free(b->controller, true);
            metastore_close(b->session);
            net_server_close(b->server);
            net_server_free(b->server);
        }
        buf_deinit(&b->told);
    }
    k->is_done = false;
    metastore_store_stop(k->store, NULL, NULL);
    (void)sim_world_run(k->world, CLUSTER_PATIENCE_MS, NULL, NULL);
    metastore_store_free(k->store);
    sim_world_free(k->world);
    buf_deinit(&k->log);
    buf_deinit(&k->data);
    buf_deinit(&k->reply);
    free(k);
}

/* ---- looking ---- */

/* The broker whose controller is active; 0 = none. */
static inline int32_t cluster_controller(struct cluster *k)
{
    for (int32_t id = 1; id <= k->broker_count; id++) {
        if (k->brokers[id].controller != NULL && controller_is_active(k->brokers[id].controller)) {
            return id;
        }
    }
    return 0;
}

static inline bool cluster_has_controller(void *arg)
{
    return cluster_controller(arg) != 0;
}

static inline int32_t cluster_wait_controller(struct cluster *k)
{
    CHECK(sim_world_run(k->world, CLUSTER_PATIENCE_MS, cluster_has_controller, k));
    return cluster_controller(k);
}

/* Content of a node, or its error's name; children as "a;b;" for paths that end with '/'. */
static inline const char *cluster_node(struct cluster *k, const char *path)
{
    struct metastore *m = cluster_session(k);
    size_t len = strlen(path);
    k->is_done = false;
    if (len > 1 && path[len - 1] == '/') {
        metastore_children(m, slice_of(path, len - 1), NULL, NULL, cluster_call_done, k);
    } else {
        metastore_get(m, slice_str(path), NULL, NULL, cluster_call_done, k);
    }
    CHECK(sim_world_run(k->world, CLUSTER_PATIENCE_MS, cluster_flag, &k->is_done));
    metastore_close(m);
    return k->err == 0 ? cluster_text(&k->data) : error_name(k->err);
}

/* One change by somebody else. 0 or -E_... */
static inline int cluster_change(struct cluster *k, enum metastore_op_kind kind, const char *path,
                                 const char *data)
{
    struct metastore *m = cluster_session(k);
    struct metastore_op op = {
        .kind = kind, .path = slice_str(path), .data = slice_str(data), .version = -1};
    k->is_done = false;
    metastore_multi(m, &op, 1, cluster_call_done, k);
    CHECK(sim_world_run(k->world, CLUSTER_PATIENCE_MS, cluster_flag, &k->is_done));
    metastore_close(m);
    return k->err;
}

/* Runs until the node has this content, or gives up; the content then. */
static inline const char *cluster_await(struct cluster *k, const char *path, const char *content)
{
    for (int32_t i = 0; i < 100 && strcmp(cluster_node(k, path), content) != 0; i++) {
        cluster_run(k, 100);
    }
    return cluster_node(k, path);
}

/* ---- requests ---- */

static inline void cluster_replied(void *arg, const struct control_reply *reply)
{
    struct cluster *k = arg;
    k->is_replied = true;
    k->reply_error = reply->error;
    buf_clear(&k->reply);
    for (int32_t i = 0; i < reply->count; i++) {
        if (reply->kind == CONTROL_CREATE_TOPICS) {
            buf_putf(&k->reply, "%d;", reply->created[i].error);
        } else if (reply->kind == CONTROL_ALLOCATE_PRODUCER_IDS) {
            buf_putf(&k->reply, "%lld;", (long long)reply->block->start);
        } else if (reply->kind == CONTROL_LIST_REASSIGNMENTS) {
            buf_putf(&k->reply, "%.*s-%d;", SLICE_ARG(reply->moving[i].topic),
                     reply->moving[i].partition);
        } else if (reply->kind == CONTROL_ALTER_PARTITION) {
            buf_putf(&k->reply, "%d;", reply->isr_results[i].error);
        } else {
            buf_putf(&k->reply, "%d;", reply->results[i].error);
        }
    }
}

/* Asks broker id and waits. The errors of the entries; reply_error holds the one at the top. */
static inline const char *cluster_request(struct cluster *k, int32_t id,
                                          const struct control_request *request)
{
    k->is_replied = false;
    controller_request(k->brokers[id].controller, request, cluster_replied, k);
    CHECK(!k->is_replied);
    CHECK(sim_world_run(k->world, CLUSTER_PATIENCE_MS, cluster_flag, &k->is_replied));
    return cluster_text(&k->reply);
}

/* A topic with `partitions` partitions on the brokers of list. */
static inline const char *cluster_create(struct cluster *k, int32_t id, const char *name,
                                         int32_t partitions, struct ids list)
{
    struct control_new_partition *lists = xalloc((size_t)partitions * sizeof *lists);
    for (int32_t i = 0; i < partitions; i++) {
        lists[i] = (struct control_new_partition){
            .partition = i, .replicas = list.list, .replica_count = list.count};
    }
    struct model_setting setting = {slice_str("min.insync.replicas"), slice_str("2")};
    struct control_new_topic topic = {.name = slice_str(name),
                                      .partition_count = -1,
                                      .replication_factor = -1,
                                      .assignments = lists,
                                      .assignment_count = partitions,
                                      .settings = &setting,
                                      .setting_count = 1,
                                      .min_insync_replicas = 2};
    const char *text =
        cluster_request(k, id,
                        &(struct control_request){
                            .kind = CONTROL_CREATE_TOPICS,
                            .create_topics = {.topics = &topic, .count = 1, .timeout_ms = 30000}});
    free(lists);
    return text;
}
