/*
 * Requests over net peers, one for each broker. Runs on the client node's env.
 */
#include "sim/cluster/client.h"

#include "base/alloc.h"
#include "base/list.h"
#include "wire/header.h"
#include "wire/metadata.h"

#include <stdlib.h>

#define METADATA_VERSION    9
#define METADATA_TIMEOUT_MS 2000

struct client {
    struct env *env;
    const char *topic;
    int32_t broker_count;
    struct net_peer *peers[CLIENT_BROKERS_MAX]; /* index = broker id - 1 */
    int32_t leaders[CLIENT_PARTITIONS_MAX];
    int32_t epochs[CLIENT_PARTITIONS_MAX];
    int32_t controller;
    bool is_refreshing;
    struct list requests; /* client_request.node: unanswered */
};

struct client_request {
    struct list_node node; /* in client.requests */
    struct client *client;
    int16_t key;
    int16_t version;
    client_done_fn done;
    void *arg;
};

struct client *client_new(struct env *env, int32_t broker_count, uint16_t port, const char *topic)
{
    struct client *c = xalloc(sizeof *c);
    c->env = env;
    c->topic = topic;
    c->broker_count = broker_count;
    c->controller = -1;
    list_init(&c->requests);
    for (int32_t p = 0; p < CLIENT_PARTITIONS_MAX; p++) {
        c->leaders[p] = c->epochs[p] = -1;
    }
    for (int32_t i = 0; i < broker_count; i++) {
        struct net_peer_config config = {.host = "127.0.0.1",
                                         .port = (uint16_t)(port + i + 1),
                                         .response_bytes_max = 64 << 20,
                                         .backoff_ms = 50,
                                         .connect_timeout_ms = 1000};
        c->peers[i] = net_peer_new(env, &config);
    }
    return c;
}

void client_free(struct client *c)
{
    for (int32_t i = 0; i < c->broker_count; i++) {
        net_peer_free(c->peers[i]);
    }
    /* A freed peer answers its calls no more. */
    struct list_node *n;
    while ((n = list_pop(&c->requests)) != NULL) {
        free(CONTAINER_OF(n, struct client_request, node));
    }
    free(c);
}

static void call_done(void *arg, int err, struct block *frame, struct slice payload)
{
    struct client_request *request = arg;
    (void)frame; /* the payload is used before this returns */
    struct reader body;
    reader_init(&body, payload);
    if (err == 0) {
        struct wire_response_header header;
        err = wire_response_header_read(&header, &body, request->key, request->version);
    }
    list_remove(&request->client->requests, &request->node);
    request->done(request->arg, err, &body);
    free(request);
}

void client_send(struct client *c, const struct client_call *call, client_done_fn done, void *arg)
{
    CHECK(call->broker >= 1 && call->broker <= c->broker_count);
    struct client_request *request = xalloc(sizeof *request);
    *request = (struct client_request){
        .client = c, .key = call->key, .version = call->version, .done = done, .arg = arg};
    list_push_back(&c->requests, &request->node);
    struct buf frame;
    buf_init(&frame);
    struct wire_request_header header;
    wire_request_header_init(&header);
    header.api_key = call->key;
    header.api_version = call->version;
    header.client_id = slice_str("sim");
    wire_request_header_write(&header, &frame);
    wire_message_encode(wire_api_find(call->key)->request, call->request, &frame, call->version);
    CHECK(!buf_failed(&frame));
    net_peer_call(c->peers[call->broker - 1], &frame, call->timeout_ms, call_done, request);
}

static void metadata_learn(struct client *c, const struct wire_metadata_response *response)
{
    c->controller = response->controller_id;
    for (int32_t t = 0; t < response->topics_count; t++) {
        const struct wire_metadata_response_topics *topic = &response->topics[t];
        for (int32_t i = 0; i < topic->partitions_count; i++) {
            const struct wire_metadata_response_topics_partitions *p = &topic->partitions[i];
            if (p->partition_index >= 0 && p->partition_index < CLIENT_PARTITIONS_MAX &&
                p->leader_epoch >= c->epochs[p->partition_index]) {
                c->leaders[p->partition_index] = p->leader_id;
                c->epochs[p->partition_index] = p->leader_epoch;
            }
        }
    }
}

static void metadata_done(void *arg, int err, struct reader *body)
{
    struct client *c = arg;
    c->is_refreshing = false;
    struct arena arena;
    arena_init(&arena, 1 << 20);
    struct wire_metadata_response response;
    if (err == 0 && wire_metadata_response_decode(&response, body, METADATA_VERSION, &arena) == 0) {
        metadata_learn(c, &response);
    }
    arena_deinit(&arena);
}

void client_refresh(struct client *c)
{
    if (c->is_refreshing) {
        return;
    }
    c->is_refreshing = true;
    int32_t broker = 1 + (int32_t)(env_random_u64(c->env) % (uint64_t)c->broker_count);
    struct wire_metadata_request_topics topic;
    wire_metadata_request_topics_init(&topic);
    topic.name = slice_str(c->topic);
    struct wire_metadata_request request;
    wire_metadata_request_init(&request);
    request.allow_auto_topic_creation = false;
    request.topics = &topic;
    request.topics_count = 1;
    struct client_call call = {.broker = broker,
                               .key = WIRE_KEY_METADATA,
                               .version = METADATA_VERSION,
                               .timeout_ms = METADATA_TIMEOUT_MS,
                               .request = &request};
    client_send(c, &call, metadata_done, c);
}

int32_t client_leader(const struct client *c, int32_t partition)
{
    return c->leaders[partition];
}

int32_t client_leader_epoch(const struct client *c, int32_t partition)
{
    return c->epochs[partition];
}

int32_t client_controller(const struct client *c)
{
    return c->controller;
}
