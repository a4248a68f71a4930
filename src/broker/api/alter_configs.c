/*
 * IncrementalAlterConfigs, versions 0-1 (protocol.md 5.4): topics, this broker and the cluster's
 * default ("") are written to /config by the broker that is asked. Each resource succeeds or fails
 * alone; the answer leaves when all are done.
 */
#include "wire/incremental_alter_configs.h"

#include "base/check.h"
#include "broker/api/handlers.h"
#include "broker/api/request.h"
#include "broker/config/alter.h"
#include "broker/config/settings.h"
#include "broker/metadata/metadata.h"

#include <stdio.h>

#define RESOURCE_TOPIC  2
#define RESOURCE_BROKER 4

struct alteration {
    struct wire_incremental_alter_configs_response resp;
    int32_t pending; /* resources under way, plus one while they are started */
};

/* One resource on its way. */
struct resource {
    struct api_request *r;
    int32_t index;
};

static void release(struct api_request *r)
{
    struct alteration *a = r->state;
    if (--a->pending == 0) {
        api_respond(r, &a->resp);
    }
}

static void resource_done(void *arg, int err, const char *reason)
{
    struct resource *resource = arg;
    struct alteration *a = resource->r->state;
    struct wire_incremental_alter_configs_response_responses *out =
        &a->resp.responses[resource->index];
    if (err < 0) {
        out->error_code =
            err == -E_INVALID ? KERR_INVALID_CONFIG : api_error(API_ERROR_CONTROL, err);
        out->error_message = slice_str(arena_str(&resource->r->arena, slice_str(reason)));
    }
    release(resource->r);
}

/* Whose configuration; a refusal otherwise. */
static int16_t target_of(const struct api_request *r,
                         const struct wire_incremental_alter_configs_request_resources *asked,
                         struct settings_alteration *ret)
{
    const struct api_parts *parts = &r->api->parts;
    char ours[16];
    (void)snprintf(ours, sizeof ours, "%d", parts->broker_id);
    if (asked->resource_type == RESOURCE_TOPIC) {
        ret->topic = asked->resource_name;
        if (!api_is_allowed_on_topic(r, AUTH_OPERATION_ALTER_CONFIGS, ret->topic)) {
            return KERR_TOPIC_AUTHORIZATION_FAILED;
        }
        return metadata_topic_find(parts->metadata, ret->topic) == NULL
                   ? KERR_UNKNOWN_TOPIC_OR_PARTITION
                   : KERR_NONE;
    }
    if (asked->resource_type != RESOURCE_BROKER) {
        return KERR_INVALID_REQUEST;
    }
    if (!api_is_allowed_on_cluster(r, AUTH_OPERATION_ALTER_CONFIGS)) {
        return KERR_CLUSTER_AUTHORIZATION_FAILED;
    }
    bool is_default = asked->resource_name.len == 0;
    ret->broker_id = is_default ? -1 : parts->broker_id;
    return is_default || slice_equal_str(asked->resource_name, ours) ? KERR_NONE
                                                                     : KERR_INVALID_REQUEST;
}

static bool changes_of(struct api_request *r,
                       const struct wire_incremental_alter_configs_request_resources *asked,
                       struct settings_alteration *ret)
{
    struct settings_change *changes = api_array(r, asked->configs_count, sizeof *changes);
    for (int32_t i = 0; changes != NULL && i < asked->configs_count; i++) {
        changes[i].name = asked->configs[i].name;
        changes[i].value = asked->configs[i].value;
        changes[i].operation = asked->configs[i].config_operation;
    }
    ret->changes = changes;
    ret->change_count = asked->configs_count;
    return changes != NULL;
}

static void resource_start(struct api_request *r, int32_t index)
{
    const struct wire_incremental_alter_configs_request *req = r->body;
    const struct wire_incremental_alter_configs_request_resources *asked = &req->resources[index];
    struct alteration *a = r->state;
    struct wire_incremental_alter_configs_response_responses *out = &a->resp.responses[index];
    struct settings_alteration alteration = {.is_validate_only = req->validate_only};
    struct resource *resource = arena_alloc(&r->arena, sizeof *resource);
    out->resource_type = asked->resource_type;
    out->resource_name = asked->resource_name;
    out->error_code = target_of(r, asked, &alteration);
    if (out->error_code != KERR_NONE) {
        return;
    }
    if (resource == NULL || !changes_of(r, asked, &alteration)) {
        out->error_code = KERR_INVALID_REQUEST;
        return;
    }
    resource->r = r;
    resource->index = index;
    alteration.done = resource_done;
    alteration.arg = resource;
    a->pending++;
    settings_alter(r->api->parts.settings, &alteration);
}

void api_handle_incremental_alter_configs(struct api_request *r, const void *body)
{
    const struct wire_incremental_alter_configs_request *req = body;
    struct alteration *a = arena_alloc(&r->arena, sizeof *a);
    if (a == NULL) {
        api_close(r);
        return;
    }
    r->state = a;
    wire_incremental_alter_configs_response_init(&a->resp);
    a->resp.responses = api_array(r, req->resources_count, sizeof *a->resp.responses);
    if (a->resp.responses == NULL) {
        api_close(r);
        return;
    }
    a->resp.responses_count = req->resources_count;
    a->pending = 1;
    api_park(r, NULL);
    for (int32_t i = 0; i < req->resources_count; i++) {
        resource_start(r, i);
    }
    release(r);
}
