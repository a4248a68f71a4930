/*
 * The connection follows the controller named in the metadata cache. Invariant: peer is NULL or
 * connected (or connecting) to host:port of controller.
 */
#include "broker/controller/channel.h"

#include "base/alloc.h"
#include "base/list.h"
#include "broker/metadata/metadata.h"
#include "net/net.h"
#include "wire/header.h"
#include "wire/wire.h"

#include <stdio.h>
#include <stdlib.h>

#define RESPONSE_BYTES_MAX (64 << 20)
#define ARENA_BYTES_MAX    ((size_t)128 << 20)
#define BACKOFF_MS         50
#define CONNECT_TIMEOUT_MS 10000

struct controller_channel {
    struct env *env;
    const struct metadata *metadata;
    struct net_peer *peer;
    int32_t controller;
    char *host;
    uint16_t port;
    struct list calls;
    struct list lost; /* calls of an earlier connection, to be told */
    struct env_timer tell_lost;
    char client_id[16]; /* our broker id */
};

struct call {
    struct list_node link; /* of calls or lost */
    struct controller_channel *channel;
    struct controller_channel_call asked;
};

static void lost_tell(void *arg)
{
    struct controller_channel *c = arg;
    struct list_node *node = list_pop(&c->lost);
    if (!list_is_empty(&c->lost)) {
        env_timer_start(&c->tell_lost, 0);
    }
    if (node != NULL) {
        struct call *call = CONTAINER_OF(node, struct call, link);
        struct controller_channel_call asked = call->asked;
        free(call);
        asked.done(asked.arg, -E_CLOSED, NULL);
    }
}

struct controller_channel *controller_channel_new(struct env *env, int32_t broker_id,
                                                  const struct metadata *metadata)
{
    struct controller_channel *c = xalloc(sizeof *c);
    c->env = env;
    c->metadata = metadata;
    c->controller = -1;
    list_init(&c->calls);
    list_init(&c->lost);
    env_timer_init(&c->tell_lost, env, lost_tell, c);
    (void)snprintf(c->client_id, sizeof c->client_id, "%d", broker_id);
    return c;
}

static void calls_free(struct list *calls)
{
    struct list_node *node;
    while ((node = list_pop(calls)) != NULL) {
        free(CONTAINER_OF(node, struct call, link));
    }
}

void controller_channel_free(struct controller_channel *c)
{
    if (c == NULL) {
        return;
    }
    env_timer_stop(&c->tell_lost);
    net_peer_free(c->peer);
    calls_free(&c->calls);
    calls_free(&c->lost);
    free(c->host);
    free(c);
}

/* Ends the connection; its calls are told from the loop. */
static void disconnect(struct controller_channel *c)
{
    struct list_node *node;
    net_peer_free(c->peer);
    c->peer = NULL;
    while ((node = list_pop(&c->calls)) != NULL) {
        list_push_back(&c->lost, node);
    }
    if (!list_is_empty(&c->lost)) {
        env_timer_start(&c->tell_lost, 0);
    }
}

void controller_channel_metadata_changed(struct controller_channel *c)
{
    int32_t id = metadata_controller(c->metadata);
    const struct metadata_broker *broker = id < 0 ? NULL : metadata_broker_find(c->metadata, id);
    bool is_same = broker != NULL && c->controller == id && c->port == broker->port &&
                   strcmp(c->host, broker->host) == 0;
    if (is_same || (broker == NULL && c->controller < 0)) {
        return;
    }
    disconnect(c);
    free(c->host);
    c->host = NULL;
    c->controller = -1;
    if (broker != NULL) {
        c->controller = id;
        c->host = xstrdup(broker->host);
        c->port = broker->port;
    }
}

static void answer_arrived(void *arg, int err, struct block *frame, struct slice payload)
{
    struct call *call = arg;
    struct controller_channel_call asked = call->asked;
    const struct wire_message *message = wire_api_find(asked.key)->response;
    struct wire_response_header header;
    struct reader r;
    struct arena arena;
    void *resp = NULL;
    (void)frame;
    list_remove(&call->channel->calls, &call->link);
    free(call);
    arena_init(&arena, ARENA_BYTES_MAX);
    if (err == 0) {
        reader_init(&r, payload);
        resp = arena_alloc(&arena, wire_message_size(message));
        if (resp == NULL || wire_response_header_read(&header, &r, asked.key, asked.version) < 0 ||
            wire_message_decode(message, resp, &r, asked.version, &arena) < 0) {
            err = -E_MALFORMED;
        }
    }
    asked.done(asked.arg, err, err == 0 ? resp : NULL);
    arena_deinit(&arena);
}

static struct net_peer *peer_of(struct controller_channel *c)
{
    if (c->peer == NULL) {
        struct net_peer_config config = {
            .host = c->host,
            .port = c->port,
            .response_bytes_max = RESPONSE_BYTES_MAX,
            .backoff_ms = BACKOFF_MS,
            .connect_timeout_ms = CONNECT_TIMEOUT_MS,
        };
        c->peer = net_peer_new(c->env, &config);
    }
    return c->peer;
}

int controller_channel_call(struct controller_channel *c,
                            const struct controller_channel_call *asked, const void *req)
{
    const struct wire_api *api = wire_api_find(asked->key);
    struct buf frame;
    struct wire_request_header header = {
        .api_key = asked->key,
        .api_version = asked->version,
        .client_id = slice_str(c->client_id),
    };
    CHECK(api != NULL && wire_api_has_version(api, asked->version));
    if (c->controller < 0) {
        return -E_NOT_AVAILABLE;
    }
    buf_init(&frame);
    wire_request_header_write(&header, &frame);
    wire_message_encode(api->request, req, &frame, asked->version);
    if (buf_failed(&frame)) {
        buf_deinit(&frame);
        return -E_TOO_LARGE;
    }
    struct call *call = xalloc(sizeof *call);
    call->channel = c;
    call->asked = *asked;
    list_push_back(&c->calls, &call->link);
    net_peer_call(peer_of(c), &frame, asked->timeout_ms, answer_arrived, call);
    return 0;
}
