/*
 * The small znodes: cluster id, controller, broker registration, configuration, producer ids, and the
 * notifications. Topics and partitions are in znode_topic.c. See znode.h.
 */
#include "metastore/znode.h"

#include "base/alloc.h"
#include "base/check.h"
#include "metastore/json.h"

#include <stdlib.h>

#define BROKER_ENDPOINTS_MAX 64
#define CONFIG_ENTRIES_MAX   10000

/* ---- cluster id ---- */

void metastore_cluster_id_encode(struct buf *b, struct slice id, bool is_remade)
{
    buf_put_str(b, "{\"version\":\"1\",\"id\":");
    metastore_json_put_text(b, id);
    buf_put_str(b, is_remade ? ",\"klamm_remade\":true}" : "}");
}

int metastore_cluster_id_decode(struct slice json, char **ret_id, bool *ret_is_remade,
                                struct errmsg *em)
{
    json_t *root;
    int err = metastore_json_parse(json, &root, em);
    if (err != 0) {
        return err;
    }
    struct slice id;
    err = metastore_json_text(root, "id", &id, em);
    if (err == 0 && id.len == 0) {
        err = errmsg_set(em, E_MALFORMED, "'id' is missing");
    }
    if (err == 0) {
        free(*ret_id);
        *ret_id = slice_dup(id);
        *ret_is_remade = json_is_true(json_object_get(root, "klamm_remade"));
    }
    json_decref(root);
    return err;
}

/* ---- controller ---- */

void metastore_controller_encode(struct buf *b, int32_t broker_id, int64_t wall_ms)
{
    buf_putf(b,
             "{\"version\":2,\"brokerid\":%d,\"timestamp\":\"%lld\",\"kraftControllerEpoch\":-1}",
             broker_id, (long long)wall_ms);
}

int metastore_controller_decode(struct slice json, struct metastore_controller *ret,
                                struct errmsg *em)
{
    json_t *root;
    int err = metastore_json_parse(json, &root, em);
    if (err != 0) {
        return err;
    }
    int64_t broker_id = -1;
    int64_t kraft_epoch = -1;
    int64_t version;
    err = metastore_json_version(root, "controller", (struct metastore_json_range){1, 2}, &version,
                                 em);
    if (err == 0) {
        err = metastore_json_int(root, "brokerid", METASTORE_JSON_ID, &broker_id, em);
    }
    if (err == 0 && json_object_get(root, "kraftControllerEpoch") != NULL) {
        err = metastore_json_int(root, "kraftControllerEpoch",
                                 (struct metastore_json_range){-1, INT32_MAX}, &kraft_epoch, em);
    }
    if (err == 0) {
        *ret = (struct metastore_controller){.broker_id = (int32_t)broker_id,
                                             .kraft_epoch = (int32_t)kraft_epoch};
    }
    json_decref(root);
    return err;
}

void metastore_controller_epoch_encode(struct buf *b, int32_t epoch)
{
    buf_putf(b, "%d", epoch);
}

int metastore_controller_epoch_decode(struct slice text, int32_t *ret_epoch, struct errmsg *em)
{
    int64_t epoch;
    int err = metastore_json_digits(text, METASTORE_JSON_ID, &epoch);
    if (err != 0) {
        return errmsg_set(em, E_MALFORMED, "controller epoch: not a number");
    }
    *ret_epoch = (int32_t)epoch;
    return 0;
}

/* ---- broker registration ---- */

#define PROTOCOL_PLAINTEXT 0

/* By model_endpoint.security_protocol. */
static const char *const protocol_names[] = {
    "PLAINTEXT",
    "SSL",
    "SASL_PLAINTEXT",
    "SASL_SSL",
};

/* LISTENER://host:port, IPv6 in brackets. */
static void put_endpoint(struct buf *b, const struct model_endpoint *e)
{
    bool is_ipv6 = strchr(e->host, ':') != NULL;
    char *text = xasprintf("%s://%s%s%s:%d", e->listener, is_ipv6 ? "[" : "", e->host,
                           is_ipv6 ? "]" : "", e->port);
    metastore_json_put_text(b, slice_str(text));
    free(text);
}

void metastore_broker_encode(struct buf *b, const struct model_broker *broker, enum ibp level,
                             int64_t wall_ms)
{
    size_t start = b->len;
    bool has_features = ibp_has(level, IBP_FEATURES);
    const struct model_endpoint *plain = NULL;
    buf_put_str(b, "{\"listener_security_protocol_map\":{");
    for (int32_t i = 0; i < broker->endpoint_count; i++) {
        const struct model_endpoint *e = &broker->endpoints[i];
        buf_put_str(b, i > 0 ? "," : "");
        metastore_json_put_text(b, slice_str(e->listener));
        CHECK(e->security_protocol >= 0 && e->security_protocol < (int)ARRAY_LEN(protocol_names));
        buf_putf(b, ":\"%s\"", protocol_names[e->security_protocol]);
        if (plain == NULL && e->security_protocol == PROTOCOL_PLAINTEXT) {
            plain = e;
        }
    }
    buf_put_str(b, "},\"endpoints\":[");
    for (int32_t i = 0; i < broker->endpoint_count; i++) {
        buf_put_str(b, i > 0 ? "," : "");
        put_endpoint(b, &broker->endpoints[i]);
    }
    buf_put_str(b, has_features ? "],\"jmx_port\":-1,\"features\":{},\"host\":"
                                : "],\"jmx_port\":-1,\"host\":");
    if (plain != NULL) {
        metastore_json_put_text(b, slice_str(plain->host));
    } else {
        buf_put_str(b, "null");
    }
    buf_putf(b, ",\"timestamp\":\"%lld\",\"port\":%d,\"version\":%d", (long long)wall_ms,
             plain == NULL ? -1 : plain->port, has_features ? 5 : 4);
    if (broker->rack != NULL) {
        buf_put_str(b, ",\"rack\":");
        metastore_json_put_text(b, slice_str(broker->rack));
    }
    buf_put_str(b, "}");
    metastore_json_end(b, start);
}

/* -1 when unknown. */
static int protocol_find(struct slice name)
{
    for (size_t i = 0; i < ARRAY_LEN(protocol_names); i++) {
        if (slice_equal_str(name, protocol_names[i])) {
            return (int)i;
        }
    }
    return -1;
}

/* Brackets are syntax around IPv6 addresses, never part of a host. */
static bool host_is_valid(struct slice host)
{
    return host.len > 0 && memchr(host.ptr, '[', host.len) == NULL &&
           memchr(host.ptr, ']', host.len) == NULL;
}

/* The listener's protocol: from the map, or before version 4 from its name. */
static int endpoint_protocol(const json_t *map, const char *listener, int16_t *ret_protocol,
                             struct errmsg *em)
{
    struct slice name = slice_str(listener);
    if (map != NULL) {
        int err = metastore_json_text(map, listener, &name, em);
        if (err != 0) {
            return err;
        }
    }
    int protocol = protocol_find(name);
    if (protocol < 0) {
        return errmsg_set(em, E_MALFORMED, "listener %s has no known security protocol", listener);
    }
    *ret_protocol = (int16_t)protocol;
    return 0;
}

/* Splits LISTENER://host:port. The broker's array has room. */
static int endpoint_parse(struct slice text, const json_t *map, struct model_broker *broker,
                          struct errmsg *em)
{
    const char *start = (const char *)text.ptr;
    const char *colon = memmem(text.ptr, text.len, "://", 3);
    const char *last = memrchr(text.ptr, ':', text.len);
    bool has_nul = memchr(text.ptr, 0, text.len) != NULL;
    if (colon == NULL || colon == start || last < colon + 3 || has_nul) {
        return errmsg_set(em, E_MALFORMED, "endpoint is not LISTENER://host:port");
    }
    struct slice host = slice_of(colon + 3, (size_t)(last - colon) - 3);
    if (host.len >= 2 && host.ptr[0] == '[' && host.ptr[host.len - 1] == ']') {
        host = slice_of(host.ptr + 1, host.len - 2);
    }
    if (!host_is_valid(host)) {
        return errmsg_set(em, E_MALFORMED, "endpoint's host is not a name or an address");
    }
    struct slice digits = slice_of(last + 1, (size_t)(start + text.len - last) - 1);
    int64_t port;
    if (metastore_json_digits(digits, (struct metastore_json_range){0, UINT16_MAX}, &port) != 0) {
        return errmsg_set(em, E_MALFORMED, "endpoint's port is not a number up to 65535");
    }
    char *listener = slice_dup(slice_of(start, (size_t)(colon - start)));
    int16_t protocol = 0;
    int err = endpoint_protocol(map, listener, &protocol, em);
    for (int32_t i = 0; i < broker->endpoint_count && err == 0; i++) {
        if (strcmp(broker->endpoints[i].listener, listener) == 0) {
            err = errmsg_set(em, E_MALFORMED, "listener %s is there twice", listener);
        }
    }
    if (err != 0) {
        free(listener);
        return err;
    }
    broker->endpoints[broker->endpoint_count++] =
        (struct model_endpoint){.listener = listener,
                                .host = slice_dup(host),
                                .port = (int32_t)port,
                                .security_protocol = protocol};
    return 0;
}

static int broker_endpoints(const json_t *root, int64_t version, struct model_broker *broker,
                            struct errmsg *em)
{
    json_t *endpoints = NULL;
    json_t *map = NULL;
    int err = metastore_json_child(root, "endpoints", JSON_ARRAY, &endpoints, em);
    if (err == 0 && version >= 4) {
        err = metastore_json_child(root, "listener_security_protocol_map", JSON_OBJECT, &map, em);
        if (err == 0 && map == NULL) {
            err = errmsg_set(em, E_MALFORMED, "'listener_security_protocol_map' is missing");
        }
    }
    if (err != 0) {
        return err;
    }
    if (endpoints == NULL || json_array_size(endpoints) > BROKER_ENDPOINTS_MAX) {
        return errmsg_set(em, E_MALFORMED, "'endpoints' is missing or too long");
    }
    broker->endpoints = xalloc(BROKER_ENDPOINTS_MAX * sizeof *broker->endpoints);
    for (size_t i = 0; i < json_array_size(endpoints) && err == 0; i++) {
        const json_t *e = json_array_get(endpoints, i);
        if (!json_is_string(e)) {
            return errmsg_set(em, E_MALFORMED, "an endpoint is not a string");
        }
        err =
            endpoint_parse(slice_of(json_string_value(e), json_string_length(e)), map, broker, em);
    }
    return err;
}

/* Version 1 has host and port alone. */
static int broker_host_port(const json_t *root, struct model_broker *broker, struct errmsg *em)
{
    struct slice host;
    int64_t port;
    int err = metastore_json_text(root, "host", &host, em);
    if (err == 0) {
        err = metastore_json_int(root, "port", (struct metastore_json_range){0, UINT16_MAX}, &port,
                                 em);
    }
    if (err == 0 && !host_is_valid(host)) {
        err = errmsg_set(em, E_MALFORMED, "'host' is missing or not a name or an address");
    }
    if (err != 0) {
        return err;
    }
    broker->endpoints = xalloc(sizeof *broker->endpoints);
    broker->endpoint_count = 1;
    broker->endpoints[0] = (struct model_endpoint){.listener = xstrdup("PLAINTEXT"),
                                                   .host = slice_dup(host),
                                                   .port = (int32_t)port,
                                                   .security_protocol = PROTOCOL_PLAINTEXT};
    return 0;
}

int metastore_broker_decode(struct slice json, struct model_broker *ret, struct errmsg *em)
{
    json_t *root;
    int err = metastore_json_parse(json, &root, em);
    if (err != 0) {
        return err;
    }
    struct model_broker broker = {.id = ret->id, .epoch = ret->epoch};
    int64_t version;
    struct slice rack = SLICE_NULL;
    err = metastore_json_version(root, "broker registration", (struct metastore_json_range){1, 5},
                                 &version, em);
    if (err == 0) {
        err = version == 1 ? broker_host_port(root, &broker, em)
                           : broker_endpoints(root, version, &broker, em);
    }
    if (err == 0) {
        err = metastore_json_text(root, "rack", &rack, em);
    }
    if (err == 0) {
        broker.rack = slice_is_null(rack) ? NULL : slice_dup(rack);
        model_broker_deinit(ret);
        *ret = broker;
    } else {
        model_broker_deinit(&broker);
    }
    json_decref(root);
    return err;
}

/* ---- configuration ---- */

void metastore_config_encode(struct buf *b, const struct model_setting *settings, int32_t count)
{
    size_t start = b->len;
    buf_put_str(b, "{\"version\":1,\"config\":{");
    for (int32_t i = 0; i < count; i++) {
        buf_put_str(b, i > 0 ? "," : "");
        metastore_json_put_text(b, settings[i].key);
        buf_put_str(b, ":");
        metastore_json_put_text(b, settings[i].value);
    }
    buf_put_str(b, "}}");
    metastore_json_end(b, start);
}

static int config_check(json_t *config, struct errmsg *em)
{
    if (config == NULL || json_object_size(config) > CONFIG_ENTRIES_MAX) {
        return errmsg_set(em, E_MALFORMED, "'config' is missing or too long");
    }
    const char *key;
    json_t *value;
    json_object_foreach(config, key, value)
    {
        if (!json_is_string(value)) {
            return errmsg_set(em, E_MALFORMED, "value of '%.100s' is not a string", key);
        }
    }
    return 0;
}

int metastore_config_decode(struct slice json, metastore_config_fn fn, void *arg, struct errmsg *em)
{
    json_t *root;
    int err = metastore_json_parse(json, &root, em);
    if (err != 0) {
        return err;
    }
    json_t *config = NULL;
    int64_t version;
    err = metastore_json_version(root, "settings", METASTORE_JSON_ONE, &version, em);
    if (err == 0) {
        err = metastore_json_child(root, "config", JSON_OBJECT, &config, em);
    }
    if (err == 0) {
        err = config_check(config, em);
    }
    if (err == 0) {
        const char *key;
        json_t *value;
        json_object_foreach(config, key, value)
        {
            fn(arg, slice_str(key), slice_of(json_string_value(value), json_string_length(value)));
        }
    }
    json_decref(root);
    return err;
}

void metastore_config_change_encode(struct buf *b, struct slice entity_path)
{
    buf_put_str(b, "{\"version\":2,\"entity_path\":");
    metastore_json_put_text(b, entity_path);
    buf_put_str(b, "}");
}

/* Version 1 names type and entity apart. */
static int config_change_path(const json_t *root, int64_t version, char **ret_path,
                              struct errmsg *em)
{
    struct slice type = SLICE_NULL;
    struct slice name = SLICE_NULL;
    int err = metastore_json_text(root, version == 1 ? "entity_type" : "entity_path", &type, em);
    if (err == 0 && version == 1) {
        err = metastore_json_text(root, "entity_name", &name, em);
    }
    if (err != 0) {
        return err;
    }
    if (type.len == 0 || (version == 1 && name.len == 0)) {
        return errmsg_set(em, E_MALFORMED, "the changed entity is not named");
    }
    *ret_path =
        version == 1 ? xasprintf("%.*s/%.*s", SLICE_ARG(type), SLICE_ARG(name)) : slice_dup(type);
    return 0;
}

int metastore_config_change_decode(struct slice json, char **ret_path, struct errmsg *em)
{
    json_t *root;
    int err = metastore_json_parse(json, &root, em);
    if (err != 0) {
        return err;
    }
    int64_t version;
    char *path = NULL;
    err = metastore_json_version(root, "config change", (struct metastore_json_range){1, 2},
                                 &version, em);
    if (err == 0) {
        err = config_change_path(root, version, &path, em);
    }
    if (err == 0) {
        free(*ret_path);
        *ret_path = path;
    }
    json_decref(root);
    return err;
}

/* ---- producer ids ---- */

void metastore_producer_block_encode(struct buf *b, const struct model_producer_block *block)
{
    buf_putf(b, "{\"version\":1,\"broker\":%d,\"block_start\":\"%lld\",\"block_end\":\"%lld\"}",
             block->broker, (long long)block->start, (long long)block->end);
}

int metastore_producer_block_decode(struct slice json, struct model_producer_block *ret,
                                    struct errmsg *em)
{
    json_t *root;
    int err = metastore_json_parse(json, &root, em);
    if (err != 0) {
        return err;
    }
    int64_t broker_id = -1;
    struct slice start = SLICE_NULL;
    struct slice end = SLICE_NULL;
    int64_t version;
    struct model_producer_block block = {.version = ret->version};
    err = metastore_json_version(root, "producer ids", METASTORE_JSON_ONE, &version, em);
    if (err == 0) {
        err = metastore_json_int(root, "broker", METASTORE_JSON_ID, &broker_id, em);
    }
    if (err == 0) {
        err = metastore_json_text(root, "block_start", &start, em);
    }
    if (err == 0) {
        err = metastore_json_text(root, "block_end", &end, em);
    }
    if (err == 0 && (metastore_json_digits(start, METASTORE_JSON_LONG, &block.start) != 0 ||
                     metastore_json_digits(end, METASTORE_JSON_LONG, &block.end) != 0 ||
                     block.end < block.start)) {
        err = errmsg_set(em, E_MALFORMED, "'block_start' and 'block_end' are no range");
    }
    if (err == 0) {
        block.broker = (int32_t)broker_id;
        *ret = block;
    }
    json_decref(root);
    return err;
}

/* ---- features ---- */

/* What a controller of the level writes: 0 and 1 are Kafka's "disabled" and "enabled". */
struct features_form {
    int version;
    int status;
};

static struct features_form features_form(enum ibp level)
{
    return (struct features_form){.version = ibp_has(level, IBP_FEATURE_NODE_2) ? 2 : 1,
                                  .status = ibp_has(level, IBP_FEATURES) ? 1 : 0};
}

void metastore_features_encode(struct buf *b, enum ibp level)
{
    struct features_form form = features_form(level);
    buf_putf(b, "{\"version\":%d,\"status\":%d,\"features\":{}}", form.version, form.status);
}

int metastore_features_check(struct slice json, enum ibp level, bool *ret_is_outdated,
                             struct errmsg *em)
{
    struct features_form form = features_form(level);
    json_t *root;
    int64_t version = 0;
    int64_t status = 0;
    json_t *features = NULL;
    int err = metastore_json_parse(json, &root, em);
    if (err != 0) {
        return err;
    }
    err =
        metastore_json_version(root, "features", (struct metastore_json_range){1, 2}, &version, em);
    if (err == 0) {
        err = metastore_json_int(root, "status", METASTORE_JSON_ID, &status, em);
    }
    if (err == 0) {
        err = metastore_json_child(root, "features", JSON_OBJECT, &features, em);
    }
    if (err == 0) {
        *ret_is_outdated =
            json_object_size(features) == 0 && (version != form.version || status != form.status);
    }
    json_decref(root);
    return err;
}

/* ---- log directory failures ---- */

void metastore_log_dir_event_encode(struct buf *b, int32_t broker_id)
{
    buf_putf(b, "{\"version\":1,\"broker\":%d,\"event\":1}", broker_id);
}

int metastore_log_dir_event_decode(struct slice json, int32_t *ret_broker_id, struct errmsg *em)
{
    json_t *root;
    int err = metastore_json_parse(json, &root, em);
    if (err != 0) {
        return err;
    }
    int64_t broker_id = -1;
    int64_t event = 0;
    int64_t version;
    err = metastore_json_version(root, "log directory event", METASTORE_JSON_ONE, &version, em);
    if (err == 0) {
        err = metastore_json_int(root, "broker", METASTORE_JSON_ID, &broker_id, em);
    }
    if (err == 0) {
        err = metastore_json_int(root, "event", METASTORE_JSON_ID, &event, em);
    }
    if (err == 0 && event != 1) {
        err = errmsg_set(em, E_UNSUPPORTED, "log directory event %lld", (long long)event);
    }
    if (err == 0) {
        *ret_broker_id = (int32_t)broker_id;
    }
    json_decref(root);
    return err;
}
