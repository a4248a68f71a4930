/*
 * The server's core: from a frame to a handler and back. A frame that cannot be decoded, a key or a
 * version we do not serve closes the connection (protocol.md section 1); ApiVersions alone may come
 * in any version.
 * Requests and their arenas are kept in a pool, so that a request costs no fresh memory.
 */
#include "broker/api/api.h"

#include "base/alloc.h"
#include "base/check.h"
#include "broker/api/api_versions.h"
#include "broker/api/auto_create.h"
#include "broker/api/fetch_session.h"
#include "broker/api/figures.h"
#include "broker/api/producer_ids.h"
#include "broker/api/request.h"
#include "broker/config/settings.h"
#include "model/config.h"

#include <stdlib.h>

#define ARENA_BYTES_MAX  ((size_t)128 << 20) /* decoded request and answer together */
#define ARENA_BYTES_KEEP ((size_t)1 << 20)   /* a larger arena is not kept in the pool */
#define POOL_MAX         64
#define OUTPUT_BYTES_MAX ((int64_t)1 << 20) /* queued on one connection */
#define IN_FLIGHT_MAX    128                /* requests of one connection */

/* ---- requests ---- */

static struct api_request *request_take(struct api *a)
{
    struct list_node *node = list_pop(&a->pool);
    if (node != NULL) {
        return CONTAINER_OF(node, struct api_request, link);
    }
    struct api_request *r = xalloc(sizeof *r);
    arena_init(&r->arena, ARENA_BYTES_MAX);
    return r;
}

static void request_recycle(struct api_request *r)
{
    struct api *a = r->api;
    if (r->is_parked) {
        list_remove(&a->requests, &r->link);
    }
    if (a->pool.count >= POOL_MAX || r->arena.used > ARENA_BYTES_KEEP) {
        arena_deinit(&r->arena);
        free(r);
        return;
    }
    arena_reset(&r->arena);
    struct arena arena = r->arena;
    *r = (struct api_request){.api = a, .arena = arena};
    list_push_front(&a->pool, &r->link);
}

static void request_note(const struct api_request *r, int32_t error_count)
{
    int64_t us = env_now_us(r->api->parts.env) - r->net->received_us;
    api_figures_note(r->api->figures, r->row, us, error_count);
}

void api_respond_spans(struct api_request *r, const void *resp, struct span *spans,
                       int32_t span_count)
{
    struct buf body;
    buf_init(&body);
    wire_response_header_write(&r->header, &body);
    request_note(r, wire_message_encode(r->schema->response, resp, &body, r->version));
    if (buf_failed(&body)) {
        for (int32_t i = 0; i < span_count; i++) {
            env_file_unref(spans[i].file);
        }
        net_close_conn(r->net);
    } else {
        net_respond(r->net, &body, spans, span_count);
    }
    buf_deinit(&body);
    request_recycle(r);
}

void api_respond(struct api_request *r, const void *resp)
{
    api_respond_spans(r, resp, NULL, 0);
}

void api_no_response(struct api_request *r)
{
    request_note(r, 0);
    net_no_response(r->net);
    request_recycle(r);
}

void api_close(struct api_request *r)
{
    request_note(r, 1);
    net_close_conn(r->net);
    request_recycle(r);
}

void api_park(struct api_request *r, void (*on_orphan)(struct api_request *r))
{
    CHECK(!r->is_parked);
    r->is_parked = true;
    r->on_orphan = on_orphan;
    list_push_back(&r->api->requests, &r->link);
}

void *api_array(struct api_request *r, int32_t count, size_t size)
{
    return arena_array(&r->arena, (size_t)MAX(count, 1), size);
}

/* ---- permission ---- */

static bool is_allowed(const struct api_request *r, struct auth_request *asked)
{
    const struct auth_acls *acls = r->api->parts.acls;
    if (acls == NULL) {
        return true;
    }
    const char *peer = net_request_peer(r->net);
    const char *colon = strrchr(peer, ':');
    asked->principal = slice_str(AUTH_PRINCIPAL_ANONYMOUS);
    asked->host = slice_of(peer, colon == NULL ? strlen(peer) : (size_t)(colon - peer));
    return auth_is_allowed(acls, asked);
}

bool api_is_allowed_on_cluster(const struct api_request *r, enum auth_operation operation)
{
    struct auth_request asked = {
        .operation = operation,
        .resource_type = AUTH_RESOURCE_CLUSTER,
        .resource_name = slice_str(AUTH_CLUSTER_NAME),
    };
    return is_allowed(r, &asked);
}

bool api_is_allowed_on_topic(const struct api_request *r, enum auth_operation operation,
                             struct slice topic)
{
    struct auth_request asked = {
        .operation = operation,
        .resource_type = AUTH_RESOURCE_TOPIC,
        .resource_name = topic,
    };
    return is_allowed(r, &asked);
}

/* ---- dispatch ---- */

/* -1 when the key has none. */
static int32_t row_find(int16_t key)
{
    for (int32_t i = 0; i < api_row_count; i++) {
        if (api_rows[i].key == key) {
            return i;
        }
    }
    return -1;
}

static void request_dispatch(struct api_request *r, const struct api_row *row, struct reader *frame)
{
    const struct wire_message *message = r->schema->request;
    void *body = arena_alloc(&r->arena, wire_message_size(message));
    if (body == NULL || wire_message_decode(message, body, frame, r->version, &r->arena) < 0) {
        api_close(r);
        return;
    }
    r->body = body;
    row->fn(r, body);
}

static void on_request(void *arg, struct net_request *net)
{
    const struct api_door *door = arg;
    struct api *a = door->api;
    struct reader frame;
    struct wire_request_header header;
    reader_init(&frame, slice_of(net->frame->data, net->frame->len));
    int32_t index = wire_request_header_read(&header, &frame) < 0 ? -1 : row_find(header.api_key);
    const struct wire_api *schema = index < 0 ? NULL : wire_api_find(header.api_key);
    if (schema == NULL) {
        api_figures_note_unknown(a->figures);
        net_close_conn(net);
        return;
    }
    const struct api_row *row = &api_rows[index];
    struct api_request *r = request_take(a);
    r->api = a;
    r->listener = door->name;
    r->net = net;
    r->schema = schema;
    r->row = index;
    r->header = header;
    r->version = header.api_version;
    net->user = r;
    if (r->version < row->min_version || r->version > row->max_version ||
        !wire_api_has_version(schema, r->version)) {
        api_versions_refuse(r);
        return;
    }
    request_dispatch(r, row, &frame);
}

static void on_orphan(void *arg, struct net_request *net)
{
    struct api_request *r = net->user;
    (void)arg;
    if (r != NULL && r->is_parked && r->on_orphan != NULL) {
        r->on_orphan(r);
        api_no_response(r);
    }
}

/* ---- life ---- */

static int doors_open(struct api *a, struct errmsg *em)
{
    const struct api_parts *parts = &a->parts;
    const struct config_set *settings = settings_broker(parts->settings);
    struct net_server_config config = {
        .connections_max = (int32_t)config_get_number(settings, CONFIG_BROKER_MAX_CONNECTIONS),
        .request_bytes_max =
            (int32_t)config_get_number(settings, CONFIG_BROKER_SOCKET_REQUEST_MAX_BYTES),
        .requests_in_flight_max = IN_FLIGHT_MAX,
        .output_bytes_max = OUTPUT_BYTES_MAX,
        .idle_ms = config_get_number(settings, CONFIG_BROKER_CONNECTIONS_MAX_IDLE_MS),
        .budget = &a->budget,
    };
    int err = 0;
    a->doors = xalloc((size_t)parts->listener_count * sizeof *a->doors);
    for (int32_t i = 0; i < parts->listener_count && err == 0; i++) {
        struct api_door *door = &a->doors[i];
        *door = (struct api_door){.api = a, .name = parts->listeners[i].name};
        config.host = parts->listeners[i].host;
        config.port = parts->listeners[i].port;
        err = net_server_new(parts->env, &config, on_request, on_orphan, door, &door->server, em);
    }
    return err;
}

int api_new(const struct api_parts *parts, struct api **ret_api, struct errmsg *em)
{
    struct api *a = xalloc(sizeof *a);
    const struct config_set *settings = settings_broker(parts->settings);
    a->parts = *parts;
    a->level = settings_level(parts->settings);
    list_init(&a->requests);
    list_init(&a->pool);
    a->budget.max = (size_t)config_get_number(settings, CONFIG_BROKER_QUEUED_MAX_REQUEST_BYTES);
    a->fetch_sessions = api_fetch_sessions_new(
        (int32_t)config_get_number(settings, CONFIG_BROKER_FETCH_SESSION_SLOTS),
        FETCH_SESSION_BYTES_MAX);
    a->producer_ids = api_producer_ids_new(&a->parts);
    a->auto_create = api_auto_create_new(parts->channel);
    a->figures = api_figures_new();
    int err = doors_open(a, em);
    a->parts.listeners = NULL;
    if (err < 0) {
        api_free(a);
        return err;
    }
    *ret_api = a;
    return 0;
}

uint16_t api_port(const struct api *a, int32_t index)
{
    CHECK(index >= 0 && index < a->parts.listener_count);
    return net_server_port(a->doors[index].server);
}

int32_t api_connection_count(const struct api *a)
{
    int32_t count = 0;
    for (int32_t i = 0; i < a->parts.listener_count; i++) {
        count += net_server_connection_count(a->doors[i].server);
    }
    return count;
}

void api_write_metrics(const struct api *a, struct buf *out)
{
    api_figures_write(a->figures, out);
}

void api_free(struct api *a)
{
    if (a == NULL) {
        return;
    }
    for (int32_t i = 0; i < a->parts.listener_count; i++) {
        if (a->doors[i].server != NULL) {
            net_server_close(a->doors[i].server);
        }
    }
    while (!list_is_empty(&a->requests)) {
        struct api_request *r = CONTAINER_OF(list_first(&a->requests), struct api_request, link);
        if (r->on_orphan != NULL) {
            r->on_orphan(r);
        }
        api_no_response(r);
    }
    struct list_node *node;
    while ((node = list_pop(&a->pool)) != NULL) {
        struct api_request *r = CONTAINER_OF(node, struct api_request, link);
        arena_deinit(&r->arena);
        free(r);
    }
    api_auto_create_free(a->auto_create);
    api_figures_free(a->figures);
    api_producer_ids_free(a->producer_ids);
    api_fetch_sessions_free(a->fetch_sessions);
    for (int32_t i = 0; i < a->parts.listener_count; i++) {
        net_server_free(a->doors[i].server);
    }
    free(a->doors);
    free(a);
}
