/*
 * One call: find the broker that serves it, agree on a version, send, decode, and try again where that
 * helps. A broker that has not answered lately is first asked for its versions, with a short patience:
 * so a dead connection is noticed before a request that must not be sent twice is sent.
 */
#include "client/client.h"

#include "base/alloc.h"
#include "base/check.h"
#include "env/loop.h"
#include "model/kerr.h"
#include "wire/api_versions.h"
#include "wire/header.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

/* What an exchange waits for. It lives on the stack: a peer is freed before an exchange is abandoned. */
struct exchange {
    struct klamm_client *client;
    struct buf request;
    int64_t timeout_ms;
    bool is_done;
    int err;
    struct block *frame;
    struct slice payload;
};

static void exchange_done(void *arg, int err, struct block *frame, struct slice payload)
{
    struct exchange *x = arg;
    x->is_done = true;
    x->err = err;
    if (err == 0) {
        x->frame = block_ref(frame);
        x->payload = payload;
    }
    loop_stop(x->client->env);
}

static struct net_peer *peer_of(struct klamm_client *c, struct client_node *node)
{
    if (node->peer == NULL) {
        struct net_peer_config config = {.host = node->host,
                                         .port = node->port,
                                         .response_bytes_max = CLIENT_RESPONSE_MAX,
                                         .backoff_ms = CLIENT_BACKOFF_MS,
                                         .connect_timeout_ms = CLIENT_HANDSHAKE_MS,
                                         .gives_up = true};
        node->peer = net_peer_new(c->env, &config);
    }
    return node->peer;
}

static int fail_exchange(struct client_node *node, int err, struct klamm_error *ret)
{
    int32_t code = err == -E_TIMEOUT                            ? KLAMM_ERR_TIMEOUT
                   : err == -E_MALFORMED || err == -E_TOO_LARGE ? KLAMM_ERR_PROTOCOL
                                                                : KLAMM_ERR_CONNECT;
    const char *reason = err == -E_TIMEOUT   ? "no answer in time"
                         : err == -E_REFUSED ? "connection refused"
                         : err == -E_CLOSED  ? "connection lost"
                                             : error_name(err);
    node->answered_ms = -1;
    return client_fail(ret, code, "%s:%u: %s", node->host, (unsigned)node->port, reason);
}

/* Sends x->request (takes its memory) and waits for the answer, whose frame the caller unrefs. */
static int exchange(struct klamm_client *c, struct client_node *node, struct exchange *x,
                    struct klamm_error *err)
{
    x->client = c;
    net_peer_call(peer_of(c, node), &x->request, MAX(x->timeout_ms, 1), exchange_done, x);
    while (!x->is_done) {
        if (client_run(c, err) != 0) {
            net_peer_free(node->peer);
            node->peer = NULL;
            node->answered_ms = -1;
            block_unref(x->frame);
            return KLAMM_ERR_INTERRUPTED;
        }
    }
    if (x->err != 0) {
        return fail_exchange(node, x->err, err);
    }
    node->answered_ms = env_now_ms(c->env);
    return 0;
}

/* ---- which versions ---- */

static void note_versions(struct client_node *node,
                          const struct wire_api_versions_response *response)
{
    for (int32_t key = 0; key < CLIENT_KEY_MAX; key++) {
        node->versions[key] = (struct client_version_range){0, -1};
    }
    for (int32_t i = 0; i < response->api_keys_count; i++) {
        int16_t key = response->api_keys[i].api_key;
        if (key >= 0 && key < CLIENT_KEY_MAX) {
            node->versions[key] = (struct client_version_range){response->api_keys[i].min_version,
                                                                response->api_keys[i].max_version};
        }
    }
}

/* An old broker answers an unknown version of this request in version 0, with code 35. */
static int decode_versions(struct slice payload, struct arena *arena,
                           struct wire_api_versions_response *ret)
{
    struct reader r;
    struct wire_response_header header;
    reader_init(&r, payload);
    int err = wire_response_header_read(&header, &r, WIRE_KEY_API_VERSIONS, 3);
    if (err < 0) {
        return err;
    }
    struct reader body = r;
    bool is_old = (int16_t)reader_u16(&body) == KERR_UNSUPPORTED_VERSION;
    return wire_api_versions_response_decode(ret, &r, is_old ? 0 : 3, arena);
}

static void put_header(struct klamm_client *c, struct buf *b, int16_t key, int16_t version)
{
    struct wire_request_header header = {
        .api_key = key, .api_version = version, .client_id = slice_str(c->client_id)};
    wire_request_header_write(&header, b);
}

static int handshake(struct klamm_client *c, struct client_node *node, int64_t deadline_ms,
                     struct klamm_error *err)
{
    struct wire_api_versions_request request = {.client_software_name = slice_str("libklamm"),
                                                .client_software_version =
                                                    slice_str(KLAMM_VERSION)};
    struct exchange x = {.timeout_ms = MIN(deadline_ms - env_now_ms(c->env), CLIENT_HANDSHAKE_MS)};
    buf_init(&x.request);
    put_header(c, &x.request, WIRE_KEY_API_VERSIONS, 3);
    wire_api_versions_request_encode(&request, &x.request, 3);
    int code = exchange(c, node, &x, err);
    if (code == KLAMM_ERR_TIMEOUT) {
        return client_fail(err, KLAMM_ERR_CONNECT, "%s:%u does not answer", node->host,
                           (unsigned)node->port);
    }
    if (code != 0) {
        return code;
    }
    struct arena arena;
    struct wire_api_versions_response response;
    arena_init(&arena, CLIENT_MEMORY_MAX);
    int decoded = decode_versions(x.payload, &arena, &response);
    if (decoded == 0) {
        note_versions(node, &response);
    }
    arena_deinit(&arena);
    block_unref(x.frame);
    if (decoded < 0) {
        return client_fail(err, KLAMM_ERR_PROTOCOL, "%s:%u does not speak Kafka's protocol: %s",
                           node->host, (unsigned)node->port, error_name(decoded));
    }
    return 0;
}

static int choose_version(const struct client_node *node, const struct client_call *call,
                          int16_t *ret_version, struct klamm_error *err)
{
    const struct wire_api *api = wire_api_find(call->key);
    CHECK(api != NULL && call->key < CLIENT_KEY_MAX);
    struct client_version_range theirs = node->versions[call->key];
    if (theirs.last < theirs.first) {
        return client_fail(err, KLAMM_ERR_UNSUPPORTED, "%s:%u does not offer %s (API %d)",
                           node->host, (unsigned)node->port, api->name, call->key);
    }
    int16_t last = MIN(theirs.last, api->last_version);
    if (last < theirs.first || last < api->first_version || last < call->version_min) {
        return client_fail(err, KLAMM_ERR_UNSUPPORTED,
                           "%s:%u offers %s (API %d) in versions %d to %d, version %d is needed",
                           node->host, (unsigned)node->port, api->name, call->key, theirs.first,
                           theirs.last, MAX(api->first_version, call->version_min));
    }
    *ret_version = last;
    return 0;
}

/* ---- one attempt ---- */

static int decode_answer(struct client_node *node, struct client_call *call, struct slice payload,
                         int16_t version, struct klamm_error *err)
{
    const struct wire_api *api = wire_api_find(call->key);
    struct reader r;
    struct wire_response_header header;
    reader_init(&r, payload);
    int decoded = wire_response_header_read(&header, &r, call->key, version);
    if (decoded == 0) {
        decoded = wire_message_decode(api->response, call->response, &r, version, &call->arena);
    }
    if (decoded == 0) {
        decoded = wire_reader_finish(&r);
    }
    if (decoded < 0) {
        int32_t code = decoded == -E_TOO_LARGE ? KLAMM_ERR_MEMORY : KLAMM_ERR_PROTOCOL;
        return client_fail(err, code, "%s:%u: the answer to %s is unreadable: %s", node->host,
                           (unsigned)node->port, api->name, error_name(decoded));
    }
    return 0;
}

void client_call_deinit(struct client_call *call)
{
    arena_deinit(&call->arena);
    block_unref(call->frame);
    call->frame = NULL;
}

int client_call_node(struct klamm_client *c, struct client_node *node, struct client_call *call,
                     int64_t deadline_ms, struct klamm_error *err)
{
    client_call_deinit(call);
    arena_init(&call->arena, CLIENT_MEMORY_MAX);
    call->was_sent = false;
    bool is_fresh =
        node->answered_ms >= 0 && env_now_ms(c->env) - node->answered_ms < CLIENT_FRESH_MS;
    int code = is_fresh ? 0 : handshake(c, node, deadline_ms, err);
    int16_t version = 0;
    if (code == 0) {
        code = choose_version(node, call, &version, err);
    }
    if (code != 0) {
        return code;
    }
    struct exchange x = {.timeout_ms = deadline_ms - env_now_ms(c->env)};
    buf_init(&x.request);
    put_header(c, &x.request, call->key, version);
    wire_message_encode(wire_api_find(call->key)->request, call->request, &x.request, version);
    if (buf_failed(&x.request)) {
        buf_deinit(&x.request);
        return client_fail(err, KLAMM_ERR_ARGUMENT, "the request is too large to be sent");
    }
    call->was_sent = true;
    code = exchange(c, node, &x, err);
    if (code != 0) {
        return code;
    }
    call->frame = x.frame;
    return decode_answer(node, call, x.payload, version, err);
}

/* ---- attempts ---- */

/* The node for the next attempt, or NULL with err when the cluster has none at the moment. */
static struct client_node *choose_node(struct klamm_client *c, const struct client_call *call,
                                       struct klamm_error *err)
{
    struct client_node *node = NULL;
    if (call->target == CLIENT_TARGET_ANY) {
        struct client_nodes *from = c->brokers.count > 0 ? &c->brokers : &c->seeds;
        return from->list[c->next_broker % from->count];
    }
    if (call->target == CLIENT_TARGET_CONTROLLER) {
        node = client_find_broker(c, c->controller_id);
        if (node == NULL) {
            (void)client_fail(err, KLAMM_ERR_CONNECT,
                              "the cluster has no controller at the moment");
        }
        return node;
    }
    node = client_find_broker(c, call->broker_id);
    if (node == NULL) {
        (void)client_fail(err, KLAMM_ERR_CONNECT, "broker %" PRId32 " is not up", call->broker_id);
    }
    return node;
}

/* Whether another attempt can help after this code. A broker that is asked by name gets a second one
 * (its address may have changed); for the others there is another broker, or a new controller. */
static bool is_worth_repeating(const struct client_call *call, int code, int attempts)
{
    if (code == KLAMM_ERR_CONNECT) {
        bool may_repeat = call->is_repeatable || !call->was_sent;
        return may_repeat && (call->target != CLIENT_TARGET_BROKER || attempts < 2);
    }
    return code == KERR_NOT_CONTROLLER;
}

static int attempt(struct klamm_client *c, struct client_call *call, int64_t deadline_ms,
                   struct klamm_error *err)
{
    struct client_node *node = choose_node(c, call, err);
    if (node == NULL) {
        call->was_sent = false;
        return KLAMM_ERR_CONNECT;
    }
    int code = client_call_node(c, node, call, deadline_ms, err);
    if (code != 0) {
        c->next_broker = (c->next_broker + 1) % CLIENT_NODES_MAX;
        return code;
    }
    if (call->code_of != NULL && call->code_of(call->response) == KERR_NOT_CONTROLLER) {
        c->controller_id = -1;
        call->was_given_up = true;
        return client_fail(err, KERR_NOT_CONTROLLER, "%s:%u is not the controller", node->host,
                           (unsigned)node->port);
    }
    return 0;
}

static int attempt_all(struct klamm_client *c, struct client_call *call, int64_t deadline_ms,
                       struct klamm_error *err)
{
    for (int attempts = 1;; attempts++) {
        int code = attempt(c, call, deadline_ms, err);
        if (code == 0 || !is_worth_repeating(call, code, attempts) ||
            env_now_ms(c->env) + CLIENT_BACKOFF_MS >= deadline_ms) {
            return code;
        }
        struct klamm_error ignored; /* of the refresh: the attempt's own error says more */
        code = klamm_wait(c, CLIENT_BACKOFF_MS, err);
        if (code == 0) {
            code = client_refresh(c, deadline_ms, &ignored);
        }
        if (code == KLAMM_ERR_INTERRUPTED) {
            return client_fail(err, code, "interrupted");
        }
    }
}

/* ---- slow calls ---- */

/* A call that takes long, and who is to hear of it. */
struct slowness {
    struct klamm_client *client;
    const struct client_call *call;
    int64_t deadline_ms;
};

static void tell_slowness(void *arg)
{
    const struct slowness *s = arg;
    const struct client_call *call = s->call;
    char who[32];
    if (call->target == CLIENT_TARGET_BROKER) {
        (void)snprintf(who, sizeof who, "broker %" PRId32, call->broker_id);
    } else {
        (void)snprintf(who, sizeof who, "%s",
                       call->target == CLIENT_TARGET_CONTROLLER ? "the controller" : "the cluster");
    }
    int64_t left_ms = MAX(s->deadline_ms - env_now_ms(s->client->env), 0);
    char *message = xasprintf("%s has not answered %s yet; waiting for up to %" PRId64 " s more",
                              who, wire_api_find(call->key)->name, (left_ms + 999) / 1000);
    s->client->on_slow(s->client->on_slow_arg, message);
    free(message);
}

int client_call(struct klamm_client *c, struct client_call *call, struct klamm_error *err)
{
    int64_t deadline_ms =
        call->deadline_ms != 0 ? call->deadline_ms : env_now_ms(c->env) + c->timeout_ms;
    struct slowness slowness = {.client = c, .call = call, .deadline_ms = deadline_ms};
    struct env_timer timer;
    env_timer_init(&timer, c->env, tell_slowness, &slowness);
    /* Whoever has less patience than that hears of the failure instead. */
    if (c->on_slow != NULL && env_now_ms(c->env) + c->slow_ms < deadline_ms) {
        env_timer_start(&timer, c->slow_ms);
    }
    int code = attempt_all(c, call, deadline_ms, err);
    env_timer_stop(&timer);
    return code;
}
