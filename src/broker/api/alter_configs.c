/*
 * IncrementalAlterConfigs, versions 0-1, and AlterConfigs, versions 0-2 (protocol.md 5.4): topics, this
 * broker and the cluster's default ("") are written to /config by the broker that is asked. The older
 * request names all that shall be there: what it leaves out goes. Each resource succeeds or fails
 * alone; the answer leaves when all are done.
 */
#include "wire/alter_configs.h"
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

/* One resource on its way, in the terms of neither request. */
struct resource {
    struct api_request *r;
    int8_t type;
    struct slice name;
    struct settings_change *changes;
    int32_t change_count;
    int16_t error_code;
    struct slice error_message; /* null = none */
};

struct alteration {
    struct resource *resources;
    int32_t count;
    int32_t pending; /* resources under way, plus one while they are started */
    bool is_validate_only;
    bool is_replacement; /* AlterConfigs */
};

/* ---- the answer ---- */

static void respond_incremental(struct api_request *r, const struct alteration *a)
{
    struct wire_incremental_alter_configs_response resp;
    wire_incremental_alter_configs_response_init(&resp);
    resp.responses = api_array(r, a->count, sizeof *resp.responses);
    resp.responses_count = a->count;
    for (int32_t i = 0; resp.responses != NULL && i < a->count; i++) {
        resp.responses[i] = (struct wire_incremental_alter_configs_response_responses){
            .error_code = a->resources[i].error_code,
            .error_message = a->resources[i].error_message,
            .resource_type = a->resources[i].type,
            .resource_name = a->resources[i].name};
    }
    if (resp.responses == NULL) {
        api_close(r);
    } else {
        api_respond(r, &resp);
    }
}

static void respond_replacement(struct api_request *r, const struct alteration *a)
{
    struct wire_alter_configs_response resp;
    wire_alter_configs_response_init(&resp);
    resp.responses = api_array(r, a->count, sizeof *resp.responses);
    resp.responses_count = a->count;
    for (int32_t i = 0; resp.responses != NULL && i < a->count; i++) {
        resp.responses[i] = (struct wire_alter_configs_response_responses){
            .error_code = a->resources[i].error_code,
            .error_message = a->resources[i].error_message,
            .resource_type = a->resources[i].type,
            .resource_name = a->resources[i].name};
    }
    if (resp.responses == NULL) {
        api_close(r);
    } else {
        api_respond(r, &resp);
    }
}

static void release(struct api_request *r)
{
    struct alteration *a = r->state;
    if (--a->pending > 0) {
        return;
    }
    if (a->is_replacement) {
        respond_replacement(r, a);
    } else {
        respond_incremental(r, a);
    }
}

/* ---- one resource ---- */

static void refuse(struct resource *resource, int16_t error_code, const char *message)
{
    resource->error_code = error_code;
    resource->error_message = slice_str(message);
}

static void resource_done(void *arg, int err, const char *reason)
{
    struct resource *resource = arg;
    if (err < 0) {
        refuse(resource,
               err == -E_INVALID ? KERR_INVALID_CONFIG : api_error(API_ERROR_CONTROL, err),
               arena_str(&resource->r->arena, slice_str(reason)));
    }
    release(resource->r);
}

/* Whose configuration; a refusal otherwise. */
static int16_t target_of(const struct resource *resource, struct settings_alteration *ret)
{
    const struct api_request *r = resource->r;
    const struct api_parts *parts = &r->api->parts;
    char ours[16];
    (void)snprintf(ours, sizeof ours, "%d", parts->broker_id);
    if (resource->type == RESOURCE_TOPIC) {
        ret->topic = resource->name;
        if (!api_is_allowed_on_topic(r, AUTH_OPERATION_ALTER_CONFIGS, ret->topic)) {
            return KERR_TOPIC_AUTHORIZATION_FAILED;
        }
        return metadata_topic_find(parts->metadata, ret->topic) == NULL
                   ? KERR_UNKNOWN_TOPIC_OR_PARTITION
                   : KERR_NONE;
    }
    if (resource->type != RESOURCE_BROKER) {
        return KERR_INVALID_REQUEST;
    }
    if (!api_is_allowed_on_cluster(r, AUTH_OPERATION_ALTER_CONFIGS)) {
        return KERR_CLUSTER_AUTHORIZATION_FAILED;
    }
    bool is_default = resource->name.len == 0;
    ret->broker_id = is_default ? -1 : parts->broker_id;
    return is_default || slice_equal_str(resource->name, ours) ? KERR_NONE : KERR_INVALID_REQUEST;
}

static bool has_values(const struct resource *resource)
{
    for (int32_t i = 0; i < resource->change_count; i++) {
        const struct settings_change *change = &resource->changes[i];
        if (change->operation != CONFIG_OPERATION_DELETE && slice_is_null(change->value)) {
            return false;
        }
    }
    return true;
}

static void resource_start(struct alteration *a, struct resource *resource)
{
    struct settings_alteration alteration = {.changes = resource->changes,
                                             .change_count = resource->change_count,
                                             .is_validate_only = a->is_validate_only,
                                             .is_replacement = a->is_replacement,
                                             .done = resource_done,
                                             .arg = resource};
    resource->error_code = target_of(resource, &alteration);
    if (resource->error_code != KERR_NONE) {
        return;
    }
    if (!has_values(resource)) {
        refuse(resource, KERR_INVALID_REQUEST, "A value must not be null");
        return;
    }
    a->pending++;
    settings_alter(resource->r->api->parts.settings, &alteration);
}

/* ---- the requests ---- */

/* A zeroed alteration with room for count resources, now the request's state; NULL past the bound. */
static struct alteration *alteration_new(struct api_request *r, int32_t count)
{
    struct alteration *a = arena_alloc(&r->arena, sizeof *a);
    if (a == NULL) {
        return NULL;
    }
    *a =
        (struct alteration){.count = count, .resources = api_array(r, count, sizeof *a->resources)};
    r->state = a;
    return a->resources == NULL ? NULL : a;
}

/* Takes over what both requests say of a resource; false past the arena's bound. */
static bool resource_init(struct resource *resource, struct api_request *r, int8_t type,
                          struct slice name, int32_t change_count)
{
    resource->r = r;
    resource->type = type;
    resource->name = name;
    resource->change_count = change_count;
    resource->changes = api_array(r, change_count, sizeof *resource->changes);
    return resource->changes != NULL;
}

static void start_all(struct api_request *r, struct alteration *a)
{
    a->pending = 1;
    api_park(r, NULL);
    for (int32_t i = 0; i < a->count; i++) {
        resource_start(a, &a->resources[i]);
    }
    release(r);
}

void api_handle_incremental_alter_configs(struct api_request *r, const void *body)
{
    const struct wire_incremental_alter_configs_request *req = body;
    struct alteration *a = alteration_new(r, req->resources_count);
    bool is_ok = a != NULL;
    for (int32_t i = 0; is_ok && i < req->resources_count; i++) {
        const struct wire_incremental_alter_configs_request_resources *asked = &req->resources[i];
        is_ok = resource_init(&a->resources[i], r, asked->resource_type, asked->resource_name,
                              asked->configs_count);
        for (int32_t k = 0; is_ok && k < asked->configs_count; k++) {
            a->resources[i].changes[k] =
                (struct settings_change){.name = asked->configs[k].name,
                                         .value = asked->configs[k].value,
                                         .operation = asked->configs[k].config_operation};
        }
    }
    if (!is_ok) {
        api_close(r);
        return;
    }
    a->is_validate_only = req->validate_only;
    start_all(r, a);
}

void api_handle_alter_configs(struct api_request *r, const void *body)
{
    const struct wire_alter_configs_request *req = body;
    struct alteration *a = alteration_new(r, req->resources_count);
    bool is_ok = a != NULL;
    for (int32_t i = 0; is_ok && i < req->resources_count; i++) {
        const struct wire_alter_configs_request_resources *asked = &req->resources[i];
        is_ok = resource_init(&a->resources[i], r, asked->resource_type, asked->resource_name,
                              asked->configs_count);
        for (int32_t k = 0; is_ok && k < asked->configs_count; k++) {
            a->resources[i].changes[k] =
                (struct settings_change){.name = asked->configs[k].name,
                                         .value = asked->configs[k].value,
                                         .operation = CONFIG_OPERATION_SET};
        }
    }
    if (!is_ok) {
        api_close(r);
        return;
    }
    a->is_validate_only = req->validate_only;
    a->is_replacement = true;
    start_all(r, a);
}
