/*
 * Topics and the cluster: Metadata, CreateTopics, DeleteTopics.
 */
#include "client/client.h"
#include "client/result.h"

#include "base/alloc.h"
#include "base/check.h"
#include "model/kerr.h"
#include "wire/create_topics.h"
#include "wire/delete_topics.h"
#include "wire/metadata.h"

#include <stdlib.h>

/* ---- describe ---- */

static int compare_brokers(const void *a, const void *b)
{
    const struct klamm_broker *x = a;
    const struct klamm_broker *y = b;
    return x->id < y->id ? -1 : x->id > y->id;
}

static struct klamm_cluster *make_cluster(const struct wire_metadata_response *response)
{
    struct klamm_memory *memory = client_memory_new();
    struct klamm_cluster *cluster = client_memory_array(memory, 1, sizeof *cluster);
    struct klamm_broker *brokers =
        client_memory_array(memory, response->brokers_count, sizeof *brokers);
    for (int32_t i = 0; brokers != NULL && i < response->brokers_count; i++) {
        const struct wire_metadata_response_brokers *row = &response->brokers[i];
        brokers[i] = (struct klamm_broker){.id = row->node_id,
                                           .port = row->port,
                                           .host = client_memory_text(memory, row->host),
                                           .rack = client_memory_text(memory, row->rack)};
    }
    const char *id = client_memory_text(memory, response->cluster_id);
    if (memory->failed || cluster == NULL || brokers == NULL) {
        client_memory_free(memory);
        return NULL;
    }
    int32_t count = MAX(response->brokers_count, 0);
    qsort(brokers, (size_t)count, sizeof *brokers, compare_brokers);
    *cluster = (struct klamm_cluster){.memory = memory,
                                      .id = id,
                                      .controller_id = response->controller_id,
                                      .broker_count = count,
                                      .brokers = brokers};
    return cluster;
}

int klamm_describe_cluster(struct klamm_client *client, struct klamm_cluster **ret_cluster,
                           struct klamm_error *err)
{
    struct wire_metadata_request request;
    struct wire_metadata_response response;
    struct client_call call = {.key = WIRE_KEY_METADATA,
                               .version_min = 4,
                               .is_repeatable = true,
                               .request = &request,
                               .response = &response};
    wire_metadata_request_init(&request);
    request.topics_count = 0; /* none, not all */
    request.allow_auto_topic_creation = false;
    int code = client_call(client, &call, err);
    if (code == 0) {
        struct klamm_cluster *cluster = make_cluster(&response);
        if (cluster == NULL) {
            code = client_memory_fail(err);
        } else {
            *ret_cluster = cluster;
        }
    }
    client_call_deinit(&call);
    return code;
}

void klamm_cluster_free(struct klamm_cluster *cluster)
{
    client_memory_free(cluster == NULL ? NULL : cluster->memory);
}

static int compare_partitions(const void *a, const void *b)
{
    const struct klamm_partition *x = a;
    const struct klamm_partition *y = b;
    return x->index < y->index ? -1 : x->index > y->index;
}

static void make_topic(struct klamm_memory *memory, const struct wire_metadata_response_topics *row,
                       struct klamm_topic *topic)
{
    int32_t count = MAX(row->partitions_count, 0);
    struct klamm_partition *partitions = client_memory_array(memory, count, sizeof *partitions);
    topic->name = client_memory_text(memory, slice_is_null(row->name) ? slice_str("") : row->name);
    topic->code = row->error_code;
    topic->is_internal = row->is_internal;
    memcpy(topic->id, row->topic_id.bytes, sizeof topic->id);
    if (partitions == NULL) {
        return;
    }
    for (int32_t i = 0; i < count; i++) {
        const struct wire_metadata_response_topics_partitions *p = &row->partitions[i];
        partitions[i] = (struct klamm_partition){
            .index = p->partition_index,
            .leader_id = p->leader_id,
            .leader_epoch = p->leader_epoch,
            .code = p->error_code,
            .replicas = client_memory_ids(memory, p->replica_nodes, p->replica_nodes_count),
            .isr = client_memory_ids(memory, p->isr_nodes, p->isr_nodes_count),
            .offline = client_memory_ids(memory, p->offline_replicas, p->offline_replicas_count)};
    }
    qsort(partitions, (size_t)count, sizeof *partitions, compare_partitions);
    topic->partition_count = count;
    topic->partitions = partitions;
}

static int compare_topics(const void *a, const void *b)
{
    return strcmp(((const struct klamm_topic *)a)->name, ((const struct klamm_topic *)b)->name);
}

static struct klamm_topics *make_topics(const struct wire_metadata_response *response)
{
    struct klamm_memory *memory = client_memory_new();
    int32_t count = MAX(response->topics_count, 0);
    struct klamm_topics *topics = client_memory_array(memory, 1, sizeof *topics);
    struct klamm_topic *list = client_memory_array(memory, count, sizeof *list);
    for (int32_t i = 0; list != NULL && i < count; i++) {
        make_topic(memory, &response->topics[i], &list[i]);
    }
    if (memory->failed || topics == NULL || list == NULL) {
        client_memory_free(memory);
        return NULL;
    }
    qsort(list, (size_t)count, sizeof *list, compare_topics);
    *topics = (struct klamm_topics){.memory = memory, .count = count, .list = list};
    return topics;
}

/* Partition indexes are 0, 1, 2, ... in every sane answer; callers index by them. */
static bool has_gaps(const struct klamm_topics *topics)
{
    for (int32_t t = 0; t < topics->count; t++) {
        for (int32_t p = 0; p < topics->list[t].partition_count; p++) {
            if (topics->list[t].partitions[p].index != p) {
                return true;
            }
        }
    }
    return false;
}

int klamm_describe_topics(struct klamm_client *client, const char *const *names, int32_t name_count,
                          struct klamm_topics **ret_topics, struct klamm_error *err)
{
    struct wire_metadata_request request;
    struct wire_metadata_response response;
    struct client_call call = {.key = WIRE_KEY_METADATA,
                               .version_min = 4,
                               .is_repeatable = true,
                               .request = &request,
                               .response = &response};
    wire_metadata_request_init(&request);
    request.allow_auto_topic_creation = false;
    request.topics_count = name_count;
    if (name_count >= 0) {
        request.topics = xalloc((size_t)MAX(name_count, 1) * sizeof *request.topics);
        for (int32_t i = 0; i < name_count; i++) {
            request.topics[i].name = slice_str(names[i]);
        }
    }
    int code = client_call(client, &call, err);
    struct klamm_topics *topics = code == 0 ? make_topics(&response) : NULL;
    if (code == 0 && topics == NULL) {
        code = client_memory_fail(err);
    } else if (code == 0 && has_gaps(topics)) {
        klamm_topics_free(topics);
        code = client_fail(err, KLAMM_ERR_PROTOCOL, "the server left partitions out of a topic");
    } else if (code == 0) {
        *ret_topics = topics;
    }
    free(request.topics);
    client_call_deinit(&call);
    return code;
}

void klamm_topics_free(struct klamm_topics *topics)
{
    client_memory_free(topics == NULL ? NULL : topics->memory);
}

/* ---- create and delete ---- */

void klamm_topic_results_free(struct klamm_topic_results *results)
{
    client_memory_free(results == NULL ? NULL : results->memory);
}

/* Results in the order asked; what the server left out counts as an unknown error. */
static struct klamm_topic_results *results_new(int32_t count, struct klamm_topic_result **ret_list)
{
    struct klamm_memory *memory = client_memory_new();
    struct klamm_topic_results *results = client_memory_array(memory, 1, sizeof *results);
    struct klamm_topic_result *list = client_memory_array(memory, count, sizeof *list);
    if (results == NULL || list == NULL) {
        client_memory_free(memory);
        return NULL;
    }
    *results = (struct klamm_topic_results){.memory = memory, .count = count, .list = list};
    *ret_list = list;
    return results;
}

static void result_init(struct klamm_memory *memory, struct klamm_topic_result *result,
                        const char *name)
{
    result->name = client_memory_text(memory, slice_str(name));
    result->code = KERR_UNKNOWN_SERVER_ERROR;
    result->message = "the server's answer does not name this topic";
}

static void result_set(struct klamm_memory *memory, struct klamm_topic_result *result, int16_t code,
                       struct slice message)
{
    result->code = code;
    result->message = client_memory_message(memory, code, message);
}

static int16_t created_code(const void *response)
{
    const struct wire_create_topics_response *r = response;
    return r->topics_count > 0 ? r->topics[0].error_code : 0;
}

static void put_new_topic(const struct klamm_new_topic *topic, struct arena *arena,
                          struct wire_create_topics_request_topics *row)
{
    bool is_manual = topic->assignments != NULL;
    row->name = slice_str(topic->name);
    row->num_partitions = is_manual ? -1 : topic->partition_count;
    row->replication_factor = is_manual ? -1 : (int16_t)topic->replication_factor;
    row->assignments_count = is_manual ? topic->assignment_count : 0;
    row->assignments =
        arena_array(arena, (size_t)MAX(row->assignments_count, 1), sizeof *row->assignments);
    row->configs_count = topic->setting_count;
    row->configs = arena_array(arena, (size_t)MAX(topic->setting_count, 1), sizeof *row->configs);
    CHECK(row->assignments != NULL && row->configs != NULL); /* an arena without a bound */
    for (int32_t i = 0; i < row->assignments_count; i++) {
        row->assignments[i].partition_index = i;
        row->assignments[i].broker_ids = (int32_t *)(uintptr_t)topic->assignments[i].list;
        row->assignments[i].broker_ids_count = topic->assignments[i].count;
    }
    for (int32_t i = 0; i < topic->setting_count; i++) {
        row->configs[i].name = slice_str(topic->settings[i].name);
        row->configs[i].value = slice_str(topic->settings[i].value);
    }
}

/* A controller that loses its role while it creates answers 41, and the next one finds the topic. */
static void own_note(struct klamm_memory *memory, struct klamm_topic_result *result)
{
    if (result->code == KERR_TOPIC_ALREADY_EXISTS) {
        result->message = client_memory_text(
            memory, slice_str("it exists already; perhaps this call made it, when the controller "
                              "changed in the middle"));
    }
}

static struct klamm_topic_results *make_created(const struct klamm_new_topic *topics, int32_t count,
                                                const struct wire_create_topics_response *response,
                                                bool was_given_up)
{
    struct klamm_topic_result *list;
    struct klamm_topic_results *results = results_new(count, &list);
    for (int32_t i = 0; results != NULL && i < count; i++) {
        result_init(results->memory, &list[i], topics[i].name);
        for (int32_t k = 0; k < response->topics_count; k++) {
            if (slice_equal_str(response->topics[k].name, topics[i].name)) {
                result_set(results->memory, &list[i], response->topics[k].error_code,
                           response->topics[k].error_message);
            }
        }
        if (was_given_up) {
            own_note(results->memory, &list[i]);
        }
    }
    return results;
}

static int finish_results(struct klamm_topic_results *results, struct klamm_topic_results **ret,
                          struct klamm_error *err)
{
    if (results == NULL || results->memory->failed) {
        klamm_topic_results_free(results);
        return client_memory_fail(err);
    }
    *ret = results;
    return 0;
}

int klamm_create_topics(struct klamm_client *client, const struct klamm_new_topic *topics,
                        int32_t topic_count, struct klamm_topic_results **ret_results,
                        struct klamm_error *err)
{
    struct wire_create_topics_request request;
    struct wire_create_topics_response response;
    struct client_call call = {.key = WIRE_KEY_CREATE_TOPICS,
                               .target = CLIENT_TARGET_CONTROLLER,
                               .request = &request,
                               .response = &response,
                               .code_of = created_code};
    for (int32_t i = 0; i < topic_count; i++) {
        if (topics[i].replication_factor > INT16_MAX) {
            return client_fail(err, KLAMM_ERR_ARGUMENT, "the replication factor is beyond %d",
                               INT16_MAX);
        }
    }
    struct arena arena;
    arena_init(&arena, SIZE_MAX / 2);
    wire_create_topics_request_init(&request);
    request.timeout_ms = client->timeout_ms;
    request.topics_count = topic_count;
    request.topics = arena_array(&arena, (size_t)MAX(topic_count, 1), sizeof *request.topics);
    CHECK(request.topics != NULL);
    for (int32_t i = 0; i < topic_count; i++) {
        put_new_topic(&topics[i], &arena, &request.topics[i]);
    }
    int code = client_call(client, &call, err);
    if (code == 0) {
        code = finish_results(make_created(topics, topic_count, &response, call.was_given_up),
                              ret_results, err);
    }
    client_call_deinit(&call);
    arena_deinit(&arena);
    return code;
}

static int16_t deleted_code(const void *response)
{
    const struct wire_delete_topics_response *r = response;
    return r->responses_count > 0 ? r->responses[0].error_code : 0;
}

static struct klamm_topic_results *make_deleted(const char *const *names, int32_t count,
                                                const struct wire_delete_topics_response *response)
{
    struct klamm_topic_result *list;
    struct klamm_topic_results *results = results_new(count, &list);
    for (int32_t i = 0; results != NULL && i < count; i++) {
        result_init(results->memory, &list[i], names[i]);
        for (int32_t k = 0; k < response->responses_count; k++) {
            if (slice_equal_str(response->responses[k].name, names[i])) {
                result_set(results->memory, &list[i], response->responses[k].error_code,
                           response->responses[k].error_message);
            }
        }
    }
    return results;
}

int klamm_delete_topics(struct klamm_client *client, const char *const *names, int32_t name_count,
                        struct klamm_topic_results **ret_results, struct klamm_error *err)
{
    struct wire_delete_topics_request request;
    struct wire_delete_topics_response response;
    struct client_call call = {.key = WIRE_KEY_DELETE_TOPICS,
                               .target = CLIENT_TARGET_CONTROLLER,
                               .request = &request,
                               .response = &response,
                               .code_of = deleted_code};
    wire_delete_topics_request_init(&request);
    size_t room = (size_t)MAX(name_count, 1);
    request.timeout_ms = client->timeout_ms;
    request.topics_count = request.topic_names_count =
        name_count; /* by version: one or the other */
    request.topics = xalloc(room * sizeof *request.topics);
    request.topic_names = xalloc(room * sizeof *request.topic_names);
    for (int32_t i = 0; i < name_count; i++) {
        request.topics[i].name = request.topic_names[i] = slice_str(names[i]);
    }
    int code = client_call(client, &call, err);
    if (code == 0) {
        code = finish_results(make_deleted(names, name_count, &response), ret_results, err);
    }
    client_call_deinit(&call);
    free(request.topics);
    free(request.topic_names);
    return code;
}
