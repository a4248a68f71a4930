/*
 * DescribeConfigs, versions 1-4 (protocol.md 5.4): topics, and this broker itself ("" = the cluster's
 * dynamic defaults alone).
 */
#include "wire/describe_configs.h"

#include "base/check.h"
#include "broker/api/handlers.h"
#include "broker/api/request.h"
#include "broker/config/settings.h"
#include "broker/metadata/metadata.h"

#include <stdio.h>

#define RESOURCE_TOPIC  2
#define RESOURCE_BROKER 4

struct describe {
    struct api_request *r;
    const struct wire_describe_configs_request *req;
    const struct wire_describe_configs_request_resources *asked;
    const struct config_set *set;
    bool only_own; /* values of this very set, no fallbacks */
};

static bool is_asked(const struct describe *d, const char *name)
{
    for (int32_t i = 0; i < d->asked->configuration_keys_count; i++) {
        if (slice_equal_str(d->asked->configuration_keys[i], name)) {
            return true;
        }
    }
    return d->asked->configuration_keys_count < 0;
}

static bool fill_synonyms(const struct describe *d, int key,
                          struct wire_describe_configs_response_results_configs *out)
{
    struct config_synonym found[CONFIG_SYNONYMS_MAX];
    int count = config_synonyms(d->set, key, found);
    out->synonyms = api_array(d->r, count, sizeof *out->synonyms);
    if (out->synonyms == NULL) {
        return false;
    }
    out->synonyms_count = count;
    for (int i = 0; i < count; i++) {
        out->synonyms[i].name = slice_str(found[i].name);
        out->synonyms[i].value = slice_str(found[i].value);
        out->synonyms[i].source = (int8_t)found[i].source;
    }
    return true;
}

static bool fill_config(const struct describe *d, int key,
                        struct wire_describe_configs_response_results_configs *out)
{
    const struct config_def *def = config_def_at(d->set->scope, key);
    char number[CONFIG_NUMBER_SIZE];
    enum config_source source;
    wire_describe_configs_response_results_configs_init(out);
    out->name = slice_str(def->name);
    out->read_only = !def->is_dynamic;
    out->config_type = (int8_t)def->type;
    const char *text = config_get_text(d->set, key, number, &source);
    if (text != NULL) {
        const char *copy = arena_str(&d->r->arena, slice_str(text));
        if (copy == NULL) {
            return false;
        }
        out->value = slice_str(copy);
    }
    out->config_source = (int8_t)source;
    if (d->req->include_documentation) {
        out->documentation = slice_str(def->doc);
    }
    return !d->req->include_synonyms || fill_synonyms(d, key, out);
}

static bool fill_configs(const struct describe *d,
                         struct wire_describe_configs_response_results *out)
{
    int count = config_count(d->set->scope);
    out->configs = api_array(d->r, count, sizeof *out->configs);
    for (int key = 0; out->configs != NULL && key < count; key++) {
        const char *name = config_def_at(d->set->scope, key)->name;
        bool is_there = !d->only_own || config_set_own(d->set, key) != NULL;
        if (!is_there || !is_asked(d, name)) {
            continue;
        }
        if (!fill_config(d, key, &out->configs[out->configs_count])) {
            return false;
        }
        out->configs_count++;
    }
    return out->configs != NULL;
}

static bool refuse(struct wire_describe_configs_response_results *out, int16_t error,
                   const char *message)
{
    out->error_code = error;
    out->error_message = slice_str(message);
    return true;
}

static bool fill_topic(struct describe *d, struct wire_describe_configs_response_results *out)
{
    const struct api_parts *parts = &d->r->api->parts;
    struct slice name = d->asked->resource_name;
    if (!api_is_allowed_on_topic(d->r, AUTH_OPERATION_DESCRIBE_CONFIGS, name)) {
        return refuse(out, KERR_TOPIC_AUTHORIZATION_FAILED, NULL);
    }
    if (metadata_topic_find(parts->metadata, name) == NULL) {
        return refuse(out, KERR_UNKNOWN_TOPIC_OR_PARTITION, NULL);
    }
    d->set = settings_topic(parts->settings, name);
    return fill_configs(d, out);
}

static bool fill_broker(struct describe *d, struct wire_describe_configs_response_results *out)
{
    const struct api_parts *parts = &d->r->api->parts;
    char ours[16];
    (void)snprintf(ours, sizeof ours, "%d", parts->broker_id);
    if (!api_is_allowed_on_cluster(d->r, AUTH_OPERATION_DESCRIBE_CONFIGS)) {
        return refuse(out, KERR_CLUSTER_AUTHORIZATION_FAILED, NULL);
    }
    if (d->asked->resource_name.len == 0) {
        d->set = settings_broker_default(parts->settings);
        d->only_own = true;
    } else if (slice_equal_str(d->asked->resource_name, ours)) {
        d->set = settings_broker(parts->settings);
    } else {
        return refuse(out, KERR_INVALID_REQUEST, "Ask that broker itself for its configuration");
    }
    return fill_configs(d, out);
}

void api_handle_describe_configs(struct api_request *r, const void *body)
{
    const struct wire_describe_configs_request *req = body;
    struct wire_describe_configs_response resp;
    wire_describe_configs_response_init(&resp);
    resp.results_count = req->resources_count;
    resp.results = api_array(r, req->resources_count, sizeof *resp.results);
    bool is_ok = resp.results != NULL;
    for (int32_t i = 0; is_ok && i < req->resources_count; i++) {
        struct wire_describe_configs_response_results *out = &resp.results[i];
        struct describe d = {.r = r, .req = req, .asked = &req->resources[i]};
        wire_describe_configs_response_results_init(out);
        out->resource_type = d.asked->resource_type;
        out->resource_name = d.asked->resource_name;
        if (out->resource_type == RESOURCE_TOPIC) {
            is_ok = fill_topic(&d, out);
        } else if (out->resource_type == RESOURCE_BROKER) {
            is_ok = fill_broker(&d, out);
        } else {
            is_ok =
                refuse(out, KERR_INVALID_REQUEST, "Only topics and brokers have configurations");
        }
    }
    if (is_ok) {
        api_respond(r, &resp);
    } else {
        api_close(r);
    }
}
