/*
 * What single brokers know: their log directories (DescribeLogDirs) and settings (DescribeConfigs).
 */
#include "client/client.h"
#include "client/result.h"

#include "base/alloc.h"
#include "base/check.h"
#include "model/kerr.h"
#include "wire/describe_configs.h"
#include "wire/describe_log_dirs.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#define RESOURCE_TOPIC  2
#define RESOURCE_BROKER 4

/* ---- log directories ---- */

static void make_log_dir(struct klamm_memory *memory,
                         const struct wire_describe_log_dirs_response_results *row,
                         struct klamm_log_dir *dir)
{
    int32_t count = 0;
    for (int32_t t = 0; t < row->topics_count; t++) {
        count += MAX(row->topics[t].partitions_count, 0);
    }
    struct klamm_log *logs = client_memory_array(memory, count, sizeof *logs);
    int32_t used = 0;
    for (int32_t t = 0; logs != NULL && t < row->topics_count; t++) {
        const struct wire_describe_log_dirs_response_results_topics *topic = &row->topics[t];
        const char *name = client_memory_text(memory, topic->name);
        for (int32_t p = 0; p < topic->partitions_count; p++) {
            const struct wire_describe_log_dirs_response_results_topics_partitions *log =
                &topic->partitions[p];
            logs[used++] = (struct klamm_log){.topic = name,
                                              .partition = log->partition_index,
                                              .is_future = log->is_future_key,
                                              .size = log->partition_size,
                                              .offset_lag = log->offset_lag,
                                              .write_rate = -1,
                                              .throttle_rate = -1};
            if (logs != NULL && log->details != NULL) {
                logs[used - 1].write_rate = log->details->write_rate;
                logs[used - 1].throttle_rate = log->details->throttle_rate;
            }
        }
    }
    *dir = (struct klamm_log_dir){.path = client_memory_text(memory, row->log_dir),
                                  .code = row->error_code,
                                  .total_bytes = row->total_bytes,
                                  .usable_bytes = row->usable_bytes,
                                  .log_count = used,
                                  .logs = logs,
                                  .disk = row->disk};
}

static int make_log_dirs(const struct wire_describe_log_dirs_response *response,
                         struct klamm_log_dirs **ret_dirs, struct klamm_error *err)
{
    if (response->error_code != 0) {
        return client_fail(err, response->error_code, "%s", kerr_name(response->error_code));
    }
    struct klamm_memory *memory = client_memory_new();
    int32_t count = MAX(response->results_count, 0);
    struct klamm_log_dirs *dirs = client_memory_array(memory, 1, sizeof *dirs);
    struct klamm_log_dir *list = client_memory_array(memory, count, sizeof *list);
    for (int32_t i = 0; list != NULL && i < count; i++) {
        make_log_dir(memory, &response->results[i], &list[i]);
    }
    if (memory->failed || dirs == NULL || list == NULL) {
        client_memory_free(memory);
        return client_memory_fail(err);
    }
    *dirs = (struct klamm_log_dirs){.memory = memory, .count = count, .list = list};
    *ret_dirs = dirs;
    return 0;
}

static void put_logs(const struct client_row *rows, int32_t count, struct arena *arena,
                     struct wire_describe_log_dirs_request *request)
{
    const struct client_group *groups =
        client_rows_group(rows, count, arena, &request->topics_count);
    request->topics =
        arena_array(arena, (size_t)MAX(request->topics_count, 1), sizeof *request->topics);
    CHECK(request->topics != NULL); /* an arena without a bound */
    for (int32_t i = 0; i < request->topics_count; i++) {
        request->topics[i].topic = groups[i].topic;
        request->topics[i].partitions = groups[i].partitions;
        request->topics[i].partitions_count = groups[i].count;
    }
}

int klamm_describe_log_dirs(struct klamm_client *client, int32_t broker_id,
                            const struct klamm_partition_refs *partitions,
                            struct klamm_log_dirs **ret_dirs, struct klamm_error *err)
{
    struct wire_describe_log_dirs_request request;
    struct wire_describe_log_dirs_response response;
    struct client_call call = {.key = WIRE_KEY_DESCRIBE_LOG_DIRS,
                               .target = CLIENT_TARGET_BROKER,
                               .broker_id = broker_id,
                               .request = &request,
                               .response = &response};
    struct client_row *rows = client_rows_new(partitions, err);
    if (rows == NULL) {
        return KLAMM_ERR_ARGUMENT;
    }
    struct arena arena;
    arena_init(&arena, SIZE_MAX / 2);
    wire_describe_log_dirs_request_init(&request);
    request.klamm_extensions = 1;
    request.topics_count = -1;
    if (partitions != NULL) {
        put_logs(rows, partitions->count, &arena, &request);
    }
    int code = client_call(client, &call, err);
    if (code == 0) {
        code = make_log_dirs(&response, ret_dirs, err);
    }
    client_call_deinit(&call);
    arena_deinit(&arena);
    free(rows);
    return code;
}

void klamm_log_dirs_free(struct klamm_log_dirs *dirs)
{
    client_memory_free(dirs == NULL ? NULL : dirs->memory);
}

/* ---- settings ---- */

static int compare_settings(const void *a, const void *b)
{
    return strcmp(((const struct klamm_setting *)a)->name, ((const struct klamm_setting *)b)->name);
}

static int make_settings(const struct wire_describe_configs_response *response,
                         struct klamm_settings **ret_settings, struct klamm_error *err)
{
    if (response->results_count != 1) {
        return client_fail(err, KLAMM_ERR_PROTOCOL, "the server did not answer what was asked");
    }
    const struct wire_describe_configs_response_results *row = &response->results[0];
    if (row->error_code != 0) {
        return client_fail(err, row->error_code, "%s: %.*s", kerr_name(row->error_code),
                           SLICE_ARG(row->error_message));
    }
    struct klamm_memory *memory = client_memory_new();
    int32_t count = MAX(row->configs_count, 0);
    struct klamm_settings *settings = client_memory_array(memory, 1, sizeof *settings);
    struct klamm_setting *list = client_memory_array(memory, count, sizeof *list);
    for (int32_t i = 0; list != NULL && i < count; i++) {
        const struct wire_describe_configs_response_results_configs *config = &row->configs[i];
        list[i] = (struct klamm_setting){.name = client_memory_text(memory, config->name),
                                         .value = client_memory_text(memory, config->value),
                                         .source = config->config_source,
                                         .is_read_only = config->read_only};
    }
    if (memory->failed || settings == NULL || list == NULL) {
        client_memory_free(memory);
        return client_memory_fail(err);
    }
    qsort(list, (size_t)count, sizeof *list, compare_settings);
    *settings = (struct klamm_settings){.memory = memory, .count = count, .list = list};
    *ret_settings = settings;
    return 0;
}

static int describe_settings(struct klamm_client *client,
                             const struct wire_describe_configs_request_resources *resource,
                             struct client_call *call, struct klamm_settings **ret_settings,
                             struct klamm_error *err)
{
    struct wire_describe_configs_request_resources resources[] = {*resource};
    struct wire_describe_configs_request request;
    struct wire_describe_configs_response response;
    wire_describe_configs_request_init(&request);
    request.resources = resources;
    request.resources_count = 1;
    call->request = &request;
    call->response = &response;
    int code = client_call(client, call, err);
    if (code == 0) {
        code = make_settings(&response, ret_settings, err);
    }
    client_call_deinit(call);
    return code;
}

int klamm_describe_topic_settings(struct klamm_client *client, const char *topic,
                                  struct klamm_settings **ret_settings, struct klamm_error *err)
{
    struct client_call call = {.key = WIRE_KEY_DESCRIBE_CONFIGS, .is_repeatable = true};
    struct wire_describe_configs_request_resources resource = {.resource_type = RESOURCE_TOPIC,
                                                               .resource_name = slice_str(topic),
                                                               .configuration_keys_count = -1};
    return describe_settings(client, &resource, &call, ret_settings, err);
}

int klamm_describe_broker_settings(struct klamm_client *client, int32_t broker_id,
                                   struct klamm_settings **ret_settings, struct klamm_error *err)
{
    char name[16];
    bool is_cluster = broker_id == KLAMM_ALL_BROKERS;
    snprintf(name, sizeof name, "%" PRId32, broker_id);
    name[0] = is_cluster ? '\0' : name[0];
    struct client_call call = {.key = WIRE_KEY_DESCRIBE_CONFIGS,
                               .target = is_cluster ? CLIENT_TARGET_ANY : CLIENT_TARGET_BROKER,
                               .broker_id = broker_id,
                               .is_repeatable = true};
    struct wire_describe_configs_request_resources resource = {.resource_type = RESOURCE_BROKER,
                                                               .resource_name = slice_str(name),
                                                               .configuration_keys_count = -1};
    return describe_settings(client, &resource, &call, ret_settings, err);
}

void klamm_settings_free(struct klamm_settings *settings)
{
    client_memory_free(settings == NULL ? NULL : settings->memory);
}
