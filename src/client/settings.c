/*
 * Changing settings: IncrementalAlterConfigs. Any broker stores those of topics and of the whole cluster, only
 * broker N those of broker N; so one call becomes one request for all topics and one for each broker.
 * Invariant: every row of the results is answered exactly once, or keeps saying that it was not.
 */
#include "client/client.h"
#include "client/result.h"

#include "base/alloc.h"
#include "base/check.h"
#include "model/kerr.h"
#include "wire/incremental_alter_configs.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#define RESOURCE_TOPIC   2
#define RESOURCE_BROKER  4
#define OPERATION_SET    0
#define OPERATION_DELETE 1

/* One klamm_alter_settings. Rows are sorted: brokers first (their topic is ""), then topics, whose
 * partition is 0. */
struct altering {
    struct klamm_client *client;
    const struct klamm_alteration *alterations;
    struct client_row *rows;
    int32_t count;
    int64_t deadline_ms;
    struct klamm_alter_results *results;
    struct klamm_alter_result *list;
};

/* Consecutive rows that one request carries. */
struct range {
    int32_t start;
    int32_t count;
};

void klamm_alter_results_free(struct klamm_alter_results *results)
{
    client_memory_free(results == NULL ? NULL : results->memory);
}

static bool is_complete(const struct klamm_alteration *alteration)
{
    for (int32_t i = 0; i < alteration->change_count; i++) {
        if (alteration->changes[i].name == NULL || alteration->changes[i].name[0] == '\0') {
            return false;
        }
    }
    return alteration->topic != NULL ? alteration->topic[0] != '\0'
                                     : alteration->broker_id >= KLAMM_ALL_BROKERS;
}

static int make_rows(struct altering *a, struct klamm_error *err)
{
    for (int32_t i = 0; i < a->count; i++) {
        const struct klamm_alteration *alteration = &a->alterations[i];
        if (!is_complete(alteration)) {
            return client_fail(err, KLAMM_ERR_ARGUMENT,
                               "an alteration needs a topic or a broker, and names of settings");
        }
        bool is_topic = alteration->topic != NULL;
        a->rows[i] = (struct client_row){.topic = is_topic ? alteration->topic : "",
                                         .partition = is_topic ? 0 : alteration->broker_id,
                                         .index = i};
    }
    client_rows_sort(a->rows, a->count);
    for (int32_t i = 1; i < a->count; i++) {
        if (strcmp(a->rows[i].topic, a->rows[i - 1].topic) == 0 &&
            a->rows[i].partition == a->rows[i - 1].partition) {
            return client_fail(err, KLAMM_ERR_ARGUMENT, "a topic or broker is named twice");
        }
    }
    return 0;
}

static int make_results(struct altering *a, struct klamm_error *err)
{
    struct klamm_memory *memory = client_memory_new();
    a->results = client_memory_array(memory, 1, sizeof *a->results);
    a->list = client_memory_array(memory, a->count, sizeof *a->list);
    if (a->results == NULL || a->list == NULL) {
        client_memory_free(memory);
        a->results = NULL;
        return client_memory_fail(err);
    }
    for (int32_t i = 0; i < a->count; i++) {
        a->list[i].code = KERR_UNKNOWN_SERVER_ERROR;
        a->list[i].message = "the server's answer does not name this topic or broker";
    }
    *a->results =
        (struct klamm_alter_results){.memory = memory, .count = a->count, .list = a->list};
    return 0;
}

/* ---- one request ---- */

static void put_changes(const struct klamm_alteration *alteration, struct arena *arena,
                        struct wire_incremental_alter_configs_request_resources *resource)
{
    resource->configs_count = alteration->change_count;
    resource->configs =
        arena_array(arena, (size_t)MAX(alteration->change_count, 1), sizeof *resource->configs);
    CHECK(resource->configs != NULL); /* an arena without a bound */
    for (int32_t i = 0; i < alteration->change_count; i++) {
        const struct klamm_setting_change *change = &alteration->changes[i];
        bool is_set = change->value != NULL;
        resource->configs[i].name = slice_str(change->name);
        resource->configs[i].config_operation = is_set ? OPERATION_SET : OPERATION_DELETE;
        resource->configs[i].value = is_set ? slice_str(change->value) : SLICE_NULL;
    }
}

static void put_resources(const struct altering *a, struct range range, struct arena *arena,
                          struct wire_incremental_alter_configs_request *request)
{
    request->resources_count = range.count;
    request->resources = arena_array(arena, (size_t)range.count, sizeof *request->resources);
    CHECK(request->resources != NULL);
    for (int32_t i = 0; i < range.count; i++) {
        const struct klamm_alteration *alteration = &a->alterations[a->rows[range.start + i].index];
        struct wire_incremental_alter_configs_request_resources *resource = &request->resources[i];
        if (alteration->topic != NULL) {
            resource->resource_type = RESOURCE_TOPIC;
            resource->resource_name = slice_str(alteration->topic);
        } else {
            char name[16];
            snprintf(name, sizeof name, "%" PRId32, alteration->broker_id);
            name[0] = alteration->broker_id == KLAMM_ALL_BROKERS ? '\0' : name[0];
            resource->resource_type = RESOURCE_BROKER;
            resource->resource_name = slice_str(arena_str(arena, slice_str(name)));
        }
        put_changes(alteration, arena, resource);
    }
}

/* Answers carry the names of what was asked; a broker's answer is about itself. */
static void take_answers(struct altering *a, struct range range,
                         const struct wire_incremental_alter_configs_response *response)
{
    for (int32_t i = 0; i < response->responses_count; i++) {
        const struct wire_incremental_alter_configs_response_responses *answer =
            &response->responses[i];
        const struct client_row *row =
            answer->resource_type == RESOURCE_TOPIC
                ? client_rows_find(&a->rows[range.start], range.count, answer->resource_name, 0)
                : &a->rows[range.start];
        bool is_asked = row != NULL && (answer->resource_type == RESOURCE_TOPIC) ==
                                           (a->alterations[row->index].topic != NULL);
        if (is_asked) {
            a->list[row->index].code = answer->error_code;
            a->list[row->index].message = client_memory_message(
                a->results->memory, answer->error_code, answer->error_message);
        }
    }
}

static void take_failure(struct altering *a, struct range range, const struct klamm_error *failure)
{
    const char *message = client_memory_text(a->results->memory, slice_str(failure->message));
    for (int32_t i = 0; i < range.count; i++) {
        struct klamm_alter_result *result = &a->list[a->rows[range.start + i].index];
        result->code = failure->code;
        result->message = message;
    }
}

/* Fails only when the whole call has to end. */
static int send_range(struct altering *a, struct range range, struct klamm_error *err)
{
    const struct client_row *first = &a->rows[range.start];
    struct wire_incremental_alter_configs_request request;
    struct wire_incremental_alter_configs_response response;
    struct klamm_error failure = {0};
    struct arena arena;
    bool is_anyones = first->topic[0] != '\0' || first->partition == KLAMM_ALL_BROKERS;
    struct client_call call = {.key = WIRE_KEY_INCREMENTAL_ALTER_CONFIGS,
                               .target = is_anyones ? CLIENT_TARGET_ANY : CLIENT_TARGET_BROKER,
                               .broker_id = first->partition,
                               .deadline_ms = a->deadline_ms,
                               .is_repeatable = true,
                               .request = &request,
                               .response = &response};
    arena_init(&arena, SIZE_MAX / 2);
    wire_incremental_alter_configs_request_init(&request);
    put_resources(a, range, &arena, &request);
    int code = client_call(a->client, &call, &failure);
    if (code == 0) {
        take_answers(a, range, &response);
    } else if (code == KLAMM_ERR_INTERRUPTED) {
        (void)client_fail(err, code, "interrupted");
    } else {
        take_failure(a, range, &failure);
        code = 0;
    }
    client_call_deinit(&call);
    arena_deinit(&arena);
    return code;
}

/* ---- all requests ---- */

static int send_all(struct altering *a, struct klamm_error *err)
{
    int32_t broker_count = 0;
    while (broker_count < a->count && a->rows[broker_count].topic[0] == '\0') {
        broker_count++;
    }
    struct range topics = {.start = broker_count, .count = a->count - broker_count};
    int code = topics.count > 0 ? send_range(a, topics, err) : 0;
    for (int32_t i = 0; code == 0 && i < broker_count; i++) {
        code = send_range(a, (struct range){.start = i, .count = 1}, err);
    }
    if (code == 0 && a->results->memory->failed) {
        code = client_memory_fail(err);
    }
    return code;
}

int klamm_alter_settings(struct klamm_client *client, const struct klamm_alteration *alterations,
                         int32_t alteration_count, struct klamm_alter_results **ret_results,
                         struct klamm_error *err)
{
    struct altering a = {.client = client,
                         .alterations = alterations,
                         .count = alteration_count,
                         .deadline_ms = env_now_ms(client->env) + client->timeout_ms};
    a.rows = xalloc((size_t)MAX(alteration_count, 1) * sizeof *a.rows);
    int code = make_rows(&a, err);
    if (code == 0) {
        code = make_results(&a, err);
    }
    if (code == 0) {
        code = send_all(&a, err);
    }
    if (code == 0) {
        *ret_results = a.results;
    } else {
        klamm_alter_results_free(a.results);
    }
    free(a.rows);
    return code;
}
