/*
 * The search for leaders. Invariant: leaders[p] < broker_count; brokers are kept by id, so that a
 * connection outlives the Metadata answers. Runs on the env's thread.
 */
#include "cluster.h"

#include "base/check.h"
#include "model/kerr.h"
#include "wire/header.h"
#include "wire/metadata.h"

#include <stdlib.h>

#define METADATA_VERSION 4 /* offered by every broker from 1.1 to today */
#define ATTEMPT_MS       2000
#define RETRY_MS         50
#define ARENA_MAX        ((size_t)256 << 20)

static void ask(void *arg);

void cluster_init(struct cluster *c, struct env *env, const char *host, uint16_t port)
{
    *c = (struct cluster){.env = env};
    struct net_peer_config config = {.host = host,
                                     .port = port,
                                     .response_bytes_max = 64 << 20,
                                     .backoff_ms = RETRY_MS,
                                     .connect_timeout_ms = ATTEMPT_MS};
    c->bootstrap = net_peer_new(env, &config);
    env_timer_init(&c->retry, env, ask, c);
}

void cluster_deinit(struct cluster *c)
{
    env_timer_stop(&c->retry);
    net_peer_free(c->bootstrap);
    for (int32_t i = 0; i < c->broker_count; i++) {
        for (int32_t k = 0; k < c->connections; k++) {
            net_peer_free(c->brokers[i].peers[k]);
        }
        free(c->brokers[i].peers);
        free(c->brokers[i].host);
    }
    free(c->brokers);
    free(c->leaders);
}

static int32_t broker_find(const struct cluster *c, int32_t id)
{
    for (int32_t i = 0; i < c->broker_count; i++) {
        if (c->brokers[i].id == id) {
            return i;
        }
    }
    return -1;
}

static void broker_add(struct cluster *c, const struct wire_metadata_response_brokers *from)
{
    size_t count = (size_t)c->broker_count + 1;
    c->brokers = xrealloc(c->brokers, count * sizeof *c->brokers);
    c->brokers[c->broker_count++] = (struct cluster_broker){
        .id = from->node_id,
        .host = slice_dup(from->host),
        .port = (uint16_t)from->port,
        .peers = xalloc((size_t)c->connections * sizeof(struct net_peer *))};
}

/* Takes the answer over. True when every partition has a leader. */
static bool take_metadata(struct cluster *c, const struct wire_metadata_response *m)
{
    if (m->topics_count != 1 || m->topics[0].error_code != KERR_NONE ||
        m->topics[0].partitions_count <= 0) {
        return false;
    }
    for (int32_t i = 0; i < m->brokers_count; i++) {
        if (broker_find(c, m->brokers[i].node_id) < 0) {
            broker_add(c, &m->brokers[i]);
        }
    }
    const struct wire_metadata_response_topics *topic = &m->topics[0];
    free(c->leaders);
    c->partition_count = topic->partitions_count;
    c->leaders = xalloc((size_t)c->partition_count * sizeof *c->leaders);
    memset(c->leaders, 0xff, (size_t)c->partition_count * sizeof *c->leaders); /* -1 */
    int32_t led = 0;
    for (int32_t i = 0; i < topic->partitions_count; i++) {
        int32_t index = topic->partitions[i].partition_index;
        int32_t broker = broker_find(c, topic->partitions[i].leader_id);
        if (index >= 0 && index < c->partition_count && broker >= 0) {
            led += c->leaders[index] < 0 ? 1 : 0;
            c->leaders[index] = broker;
        }
    }
    return led == c->partition_count;
}

static void finish(struct cluster *c, int err, const char *why)
{
    c->is_asking = false;
    c->done(c->arg, err, why);
}

static void on_metadata(void *arg, int err, struct block *frame, struct slice payload)
{
    (void)frame;
    struct cluster *c = arg;
    bool is_complete = false;
    if (err == 0) {
        struct arena arena;
        arena_init(&arena, ARENA_MAX);
        struct reader r;
        reader_init(&r, payload);
        struct wire_response_header header;
        struct wire_metadata_response response;
        err = wire_response_header_read(&header, &r, WIRE_KEY_METADATA, METADATA_VERSION);
        if (err == 0) {
            err = wire_metadata_response_decode(&response, &r, METADATA_VERSION, &arena);
        }
        is_complete = err == 0 && take_metadata(c, &response);
        arena_deinit(&arena);
    }
    if (is_complete) {
        finish(c, 0, NULL);
    } else if (env_now_ms(c->env) >= c->deadline_ms) {
        finish(c, err == 0 ? -E_NOT_FOUND : err,
               err == 0 ? "the topic does not exist or lacks leaders" : error_name(err));
    } else {
        env_timer_start(&c->retry, RETRY_MS);
    }
}

static void ask(void *arg)
{
    struct cluster *c = arg;
    struct buf b;
    buf_init(&b);
    struct wire_request_header header = {.api_key = WIRE_KEY_METADATA,
                                         .api_version = METADATA_VERSION,
                                         .client_id = slice_str("kgen")};
    wire_request_header_write(&header, &b);
    struct wire_metadata_request_topics topic = {.name = slice_str(c->topic)};
    struct wire_metadata_request request;
    wire_metadata_request_init(&request);
    request.topics = &topic;
    request.topics_count = 1;
    request.allow_auto_topic_creation = false;
    wire_metadata_request_encode(&request, &b, METADATA_VERSION);
    net_peer_call(c->bootstrap, &b, ATTEMPT_MS, on_metadata, c);
}

void cluster_find(struct cluster *c, int64_t timeout_ms,
                  void (*done)(void *arg, int err, const char *why), void *arg)
{
    if (c->is_asking) {
        return;
    }
    c->is_asking = true;
    c->deadline_ms = env_now_ms(c->env) + timeout_ms;
    c->done = done;
    c->arg = arg;
    ask(c);
}

struct net_peer *cluster_peer(struct cluster *c, int32_t partition, int32_t connection)
{
    CHECK(connection < c->connections);
    int32_t leader = partition < c->partition_count ? c->leaders[partition] : -1;
    if (leader < 0) {
        return NULL;
    }
    struct cluster_broker *broker = &c->brokers[leader];
    if (broker->peers[connection] == NULL) {
        struct net_peer_config config = {.host = broker->host,
                                         .port = broker->port,
                                         .response_bytes_max = 1 << 20,
                                         .backoff_ms = RETRY_MS,
                                         .connect_timeout_ms = ATTEMPT_MS};
        broker->peers[connection] = net_peer_new(c->env, &config);
    }
    return broker->peers[connection];
}
