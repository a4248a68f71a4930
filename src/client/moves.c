/*
 * Moving replicas: AlterPartitionReassignments, ListPartitionReassignments, ElectLeaders.
 * A request names each topic once, so targets are sorted first; answers are found by (topic,
 * partition), whatever order the server gives them in.
 */
#include "client/client.h"
#include "client/result.h"

#include "base/alloc.h"
#include "base/check.h"
#include "model/kerr.h"
#include "wire/alter_partition_reassignments.h"
#include "wire/elect_leaders.h"
#include "wire/list_partition_reassignments.h"

#include <inttypes.h>
#include <stdlib.h>

static int fail_whole(struct klamm_error *err, int16_t code, struct slice message)
{
    if (message.len > 0) {
        return client_fail(err, code, "%s: %.*s", kerr_name(code), SLICE_ARG(message));
    }
    return client_fail(err, code, "%s", kerr_name(code));
}

void klamm_partition_results_free(struct klamm_partition_results *results)
{
    client_memory_free(results == NULL ? NULL : results->memory);
}

/* One row for each reference, in the caller's order, not answered yet. */
static struct klamm_partition_results *results_new(const struct client_row *rows, int32_t count,
                                                   struct klamm_partition_result **ret_list)
{
    struct klamm_memory *memory = client_memory_new();
    struct klamm_partition_results *results = client_memory_array(memory, 1, sizeof *results);
    struct klamm_partition_result *list = client_memory_array(memory, count, sizeof *list);
    if (results == NULL || list == NULL) {
        client_memory_free(memory);
        return NULL;
    }
    for (int32_t i = 0; i < count; i++) {
        list[rows[i].index] = (struct klamm_partition_result){
            .topic = client_memory_text(memory, slice_str(rows[i].topic)),
            .partition = rows[i].partition,
            .code = KERR_UNKNOWN_SERVER_ERROR,
            .message = "the server's answer does not name this partition"};
    }
    *results = (struct klamm_partition_results){.memory = memory, .count = count, .list = list};
    *ret_list = list;
    return results;
}

static int finish_results(struct klamm_partition_results *results,
                          struct klamm_partition_results **ret, struct klamm_error *err)
{
    if (results == NULL || results->memory->failed) {
        klamm_partition_results_free(results);
        return client_memory_fail(err);
    }
    *ret = results;
    return 0;
}

/* ---- alter ---- */

static int16_t altered_code(const void *response)
{
    return ((const struct wire_alter_partition_reassignments_response *)response)->error_code;
}

/* Sorted rows of the targets, or NULL and an error. */
static struct client_row *rows_of_targets(const struct klamm_target *targets, int32_t count,
                                          struct klamm_error *err)
{
    struct klamm_partition_ref *refs = xalloc((size_t)MAX(count, 1) * sizeof *refs);
    for (int32_t i = 0; i < count; i++) {
        refs[i] = (struct klamm_partition_ref){targets[i].topic, targets[i].partition};
    }
    struct client_row *rows = client_rows_new(&(struct klamm_partition_refs){refs, count}, err);
    free(refs);
    for (int32_t i = 1; rows != NULL && i < count; i++) {
        if (rows[i].partition == rows[i - 1].partition &&
            strcmp(rows[i].topic, rows[i - 1].topic) == 0) {
            (void)client_fail(err, KLAMM_ERR_ARGUMENT, "%s-%" PRId32 " is named twice",
                              rows[i].topic, rows[i].partition);
            free(rows);
            return NULL;
        }
    }
    return rows;
}

/* A server that takes the request for an ordinary one shall find nothing to start in it: it cancels with a
 * null list, as it is asked to, and refuses empty ones. */
static void put_target(const struct klamm_target *target, enum klamm_action action,
                       struct wire_alter_partition_reassignments_request_topics_partitions *row)
{
    bool has_list = action == KLAMM_ACTION_ALTER || action == KLAMM_ACTION_SUBMIT;
    bool is_cancel = has_list ? target->is_cancel : action == KLAMM_ACTION_CANCEL;
    row->partition_index = target->partition;
    row->replicas = has_list && !is_cancel ? (int32_t *)(uintptr_t)target->replicas.list : NULL;
    row->replicas_count = is_cancel ? -1 : has_list ? target->replicas.count : 0;
}

static void put_targets(const struct klamm_alter *alter, const struct client_row *rows,
                        struct arena *arena,
                        struct wire_alter_partition_reassignments_request *request)
{
    const struct client_group *groups =
        client_rows_group(rows, alter->target_count, arena, &request->topics_count);
    request->topics =
        arena_array(arena, (size_t)MAX(request->topics_count, 1), sizeof *request->topics);
    CHECK(request->topics != NULL); /* an arena without a bound */
    for (int32_t i = 0; i < request->topics_count; i++) {
        struct wire_alter_partition_reassignments_request_topics *topic = &request->topics[i];
        topic->name = groups[i].topic;
        topic->partitions_count = groups[i].count;
        topic->partitions = arena_array(arena, (size_t)groups[i].count, sizeof *topic->partitions);
        CHECK(topic->partitions != NULL);
        for (int32_t k = 0; k < groups[i].count; k++) {
            put_target(&alter->targets[rows[groups[i].start + k].index], alter->action,
                       &topic->partitions[k]);
        }
    }
}

/* Into the caller's order; without targets (count 0) as the server gave them. */
static struct klamm_partition_results *
make_altered(const struct client_row *rows, int32_t count,
             const struct wire_alter_partition_reassignments_response *response)
{
    struct klamm_partition_result *list;
    struct klamm_partition_results *results = results_new(rows, count, &list);
    int32_t answers = 0;
    for (int32_t t = 0; t < response->responses_count; t++) {
        answers += MAX(response->responses[t].partitions_count, 0);
    }
    if (results != NULL && count == 0) {
        list = client_memory_array(results->memory, answers, sizeof *list);
        results->list = list;
    }
    for (int32_t t = 0; results != NULL && list != NULL && t < response->responses_count; t++) {
        const struct wire_alter_partition_reassignments_response_responses *topic =
            &response->responses[t];
        for (int32_t p = 0; p < topic->partitions_count; p++) {
            const struct wire_alter_partition_reassignments_response_responses_partitions *answer =
                &topic->partitions[p];
            const struct client_row *row =
                client_rows_find(rows, count, topic->name, answer->partition_index);
            if (row == NULL && count > 0) {
                continue;
            }
            struct klamm_partition_result *result =
                row == NULL ? &list[results->count++] : &list[row->index];
            if (row == NULL) {
                result->topic = client_memory_text(results->memory, topic->name);
                result->partition = answer->partition_index;
            }
            result->code = answer->error_code;
            result->note = answer->note;
            result->message =
                client_memory_message(results->memory, answer->error_code, answer->error_message);
        }
    }
    if (results != NULL) {
        results->job = client_memory_text(results->memory, response->job);
    }
    return results;
}

/* What only a klamm controller reads. */
static void put_extensions(const struct klamm_alter *alter,
                           struct wire_alter_partition_reassignments_request *request)
{
    if (alter->action == KLAMM_ACTION_ALTER) {
        return;
    }
    static const int8_t priorities[] = {
        [KLAMM_PRIORITY_REPAIR] = 0, [KLAMM_PRIORITY_DRAIN] = 1, [KLAMM_PRIORITY_BALANCE] = 2};
    request->klamm_extensions = 1;
    request->action = (int8_t)alter->action;
    request->job = alter->job == NULL ? SLICE_NULL : slice_str(alter->job);
    request->rate = alter->rate == 0 ? -1 : alter->rate;
    request->priority = alter->priority != KLAMM_PRIORITY_DEFAULT ? priorities[alter->priority]
                        : alter->action == KLAMM_ACTION_SET       ? -1
                                                                  : 2;
    request->one_at_a_time = alter->is_one_at_a_time;
    request->brokers = (int32_t *)(uintptr_t)alter->brokers.list;
    request->brokers_count = alter->brokers.count;
    request->validate_only = alter->is_trial;
}

static bool may_repeat(const struct klamm_alter *alter)
{
    return alter->action == KLAMM_ACTION_SUBMIT ? alter->job != NULL
                                                : alter->action != KLAMM_ACTION_UNDO;
}

int klamm_alter_reassignments(struct klamm_client *client, const struct klamm_alter *alter,
                              struct klamm_partition_results **ret_results, struct klamm_error *err)
{
    struct wire_alter_partition_reassignments_request request;
    struct wire_alter_partition_reassignments_response response;
    /* Sent twice, a submission could make two jobs; with a name the second one is refused (92). */
    struct client_call call = {.key = WIRE_KEY_ALTER_PARTITION_REASSIGNMENTS,
                               .target = CLIENT_TARGET_CONTROLLER,
                               .is_repeatable = may_repeat(alter),
                               .request = &request,
                               .response = &response,
                               .code_of = altered_code};
    struct client_row *rows = rows_of_targets(alter->targets, alter->target_count, err);
    if (rows == NULL) {
        return KLAMM_ERR_ARGUMENT;
    }
    struct arena arena;
    arena_init(&arena, SIZE_MAX / 2);
    wire_alter_partition_reassignments_request_init(&request);
    request.timeout_ms = client->timeout_ms;
    request.allow_replication_factor_change = !alter->keeps_replication_factor;
    request.force_cancel = alter->forces_cancel;
    put_extensions(alter, &request);
    call.version_min = alter->keeps_replication_factor ? 1 : 0;
    put_targets(alter, rows, &arena, &request);
    int code = client_call(client, &call, err);
    if (code == 0 && response.error_code != 0) {
        code = fail_whole(err, response.error_code, response.error_message);
    } else if (code == 0) {
        code = finish_results(make_altered(rows, alter->target_count, &response), ret_results, err);
    }
    client_call_deinit(&call);
    arena_deinit(&arena);
    free(rows);
    return code;
}

/* ---- list ---- */

static int16_t listed_code(const void *response)
{
    return ((const struct wire_list_partition_reassignments_response *)response)->error_code;
}

static int compare_reassignments(const void *a, const void *b)
{
    const struct klamm_reassignment *x = a;
    const struct klamm_reassignment *y = b;
    int order = strcmp(x->topic, y->topic);
    return order != 0 ? order : x->partition < y->partition ? -1 : x->partition > y->partition;
}

static struct klamm_reassignments *
make_listed(const struct wire_list_partition_reassignments_response *response)
{
    int32_t count = 0;
    for (int32_t t = 0; t < response->topics_count; t++) {
        count += MAX(response->topics[t].partitions_count, 0);
    }
    struct klamm_memory *memory = client_memory_new();
    struct klamm_reassignments *result = client_memory_array(memory, 1, sizeof *result);
    struct klamm_reassignment *list = client_memory_array(memory, count, sizeof *list);
    int32_t used = 0;
    for (int32_t t = 0; list != NULL && t < response->topics_count; t++) {
        const struct wire_list_partition_reassignments_response_topics *topic =
            &response->topics[t];
        const char *name = client_memory_text(memory, topic->name);
        for (int32_t p = 0; p < topic->partitions_count; p++) {
            const struct wire_list_partition_reassignments_response_topics_partitions *row =
                &topic->partitions[p];
            list[used++] = (struct klamm_reassignment){
                .topic = name,
                .partition = row->partition_index,
                .replicas = client_memory_ids(memory, row->replicas, row->replicas_count),
                .adding =
                    client_memory_ids(memory, row->adding_replicas, row->adding_replicas_count),
                .removing = client_memory_ids(memory, row->removing_replicas,
                                              row->removing_replicas_count)};
        }
    }
    if (memory->failed || result == NULL || list == NULL) {
        client_memory_free(memory);
        return NULL;
    }
    qsort(list, (size_t)used, sizeof *list, compare_reassignments);
    *result = (struct klamm_reassignments){.memory = memory, .count = used, .list = list};
    return result;
}

int klamm_list_reassignments(struct klamm_client *client,
                             const struct klamm_partition_refs *partitions,
                             struct klamm_reassignments **ret_reassignments,
                             struct klamm_error *err)
{
    struct wire_list_partition_reassignments_request request;
    struct wire_list_partition_reassignments_response response;
    struct client_call call = {.key = WIRE_KEY_LIST_PARTITION_REASSIGNMENTS,
                               .target = CLIENT_TARGET_CONTROLLER,
                               .is_repeatable = true,
                               .request = &request,
                               .response = &response,
                               .code_of = listed_code};
    struct client_row *rows = client_rows_new(partitions, err);
    if (rows == NULL) {
        return KLAMM_ERR_ARGUMENT;
    }
    struct arena arena;
    arena_init(&arena, SIZE_MAX / 2);
    wire_list_partition_reassignments_request_init(&request);
    request.timeout_ms = client->timeout_ms;
    request.topics_count = -1;
    if (partitions != NULL) {
        client_put_listed(rows, partitions->count, &arena, &request);
    }
    int code = client_call(client, &call, err);
    if (code == 0 && response.error_code != 0) {
        code = fail_whole(err, response.error_code, response.error_message);
    } else if (code == 0) {
        struct klamm_reassignments *listed = make_listed(&response);
        if (listed == NULL) {
            code = client_memory_fail(err);
        } else {
            *ret_reassignments = listed;
        }
    }
    client_call_deinit(&call);
    arena_deinit(&arena);
    free(rows);
    return code;
}

void klamm_reassignments_free(struct klamm_reassignments *reassignments)
{
    client_memory_free(reassignments == NULL ? NULL : reassignments->memory);
}

/* ---- elect ---- */

static int16_t elected_code(const void *response)
{
    return ((const struct wire_elect_leaders_response *)response)->error_code;
}

static void put_elected(const struct client_row *rows, int32_t count, struct arena *arena,
                        struct wire_elect_leaders_request *request)
{
    int32_t group_count;
    const struct client_group *groups = client_rows_group(rows, count, arena, &group_count);
    request->topic_partitions_count = group_count;
    request->topic_partitions =
        arena_array(arena, (size_t)MAX(group_count, 1), sizeof *request->topic_partitions);
    CHECK(request->topic_partitions != NULL); /* an arena without a bound */
    for (int32_t i = 0; i < group_count; i++) {
        request->topic_partitions[i].topic = groups[i].topic;
        request->topic_partitions[i].partitions = groups[i].partitions;
        request->topic_partitions[i].partitions_count = groups[i].count;
    }
}

/* Into the caller's order; with count -1 as the server gave them. */
static struct klamm_partition_results *
make_elected(const struct client_row *rows, int32_t count,
             const struct wire_elect_leaders_response *response)
{
    int32_t answers = 0;
    for (int32_t t = 0; t < response->replica_election_results_count; t++) {
        answers += MAX(response->replica_election_results[t].partition_result_count, 0);
    }
    bool is_all = count < 0;
    struct klamm_partition_result *list;
    struct klamm_partition_results *results = results_new(rows, is_all ? 0 : count, &list);
    if (results == NULL) {
        return NULL;
    }
    if (is_all) {
        list = client_memory_array(results->memory, answers, sizeof *list);
        results->list = list;
    }
    for (int32_t t = 0; list != NULL && t < response->replica_election_results_count; t++) {
        const struct wire_elect_leaders_response_replica_election_results *topic =
            &response->replica_election_results[t];
        for (int32_t p = 0; p < topic->partition_result_count; p++) {
            const struct wire_elect_leaders_response_replica_election_results_partition_result
                *answer = &topic->partition_result[p];
            const struct client_row *row =
                is_all ? NULL : client_rows_find(rows, count, topic->topic, answer->partition_id);
            if (!is_all && row == NULL) {
                continue;
            }
            struct klamm_partition_result *result =
                is_all ? &list[results->count++] : &list[row->index];
            result->topic = client_memory_text(results->memory, topic->topic);
            result->partition = answer->partition_id;
            result->code = answer->error_code;
            result->message =
                client_memory_message(results->memory, answer->error_code, answer->error_message);
        }
    }
    return results;
}

int klamm_elect_leaders(struct klamm_client *client, const struct klamm_partition_refs *partitions,
                        struct klamm_partition_results **ret_results, struct klamm_error *err)
{
    struct wire_elect_leaders_request request;
    struct wire_elect_leaders_response response;
    struct client_call call = {.key = WIRE_KEY_ELECT_LEADERS,
                               .target = CLIENT_TARGET_CONTROLLER,
                               .is_repeatable = true,
                               .request = &request,
                               .response = &response,
                               .code_of = elected_code};
    struct client_row *rows = client_rows_new(partitions, err);
    if (rows == NULL) {
        return KLAMM_ERR_ARGUMENT;
    }
    struct arena arena;
    arena_init(&arena, SIZE_MAX / 2);
    wire_elect_leaders_request_init(&request);
    request.timeout_ms = client->timeout_ms;
    request.topic_partitions_count = -1;
    if (partitions != NULL) {
        put_elected(rows, partitions->count, &arena, &request);
    }
    int code = client_call(client, &call, err);
    if (code == 0 && response.error_code != 0) {
        code = fail_whole(err, response.error_code, SLICE_NULL);
    } else if (code == 0) {
        code = finish_results(
            make_elected(rows, partitions == NULL ? -1 : partitions->count, &response), ret_results,
            err);
    }
    client_call_deinit(&call);
    arena_deinit(&arena);
    free(rows);
    return code;
}
