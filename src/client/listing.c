/*
 * ListPartitionReassignments with klamm's tagged fields: running moves with their progress, queued ones,
 * jobs. A server that does not know the request's tag leaves `jobs` out, and so says what it is; a
 * klamm controller always sends it, though it may be empty.
 */
#include "client/client.h"
#include "client/result.h"

#include "base/check.h"
#include "model/kerr.h"
#include "wire/list_partition_reassignments.h"

#include <stdlib.h>

static int16_t listed_code(const void *response)
{
    return ((const struct wire_list_partition_reassignments_response *)response)->error_code;
}

/* By topic (bytes), then partition. */
static int compare_moves(const void *a, const void *b)
{
    const struct klamm_move *x = a;
    const struct klamm_move *y = b;
    int order = strcmp(x->topic, y->topic);
    return order != 0 ? order : x->partition < y->partition ? -1 : x->partition > y->partition;
}

static int compare_queued(const void *a, const void *b)
{
    const struct klamm_queued *x = a;
    const struct klamm_queued *y = b;
    int order = strcmp(x->topic, y->topic);
    return order != 0 ? order : x->partition < y->partition ? -1 : x->partition > y->partition;
}

static void put_details(
    struct klamm_memory *memory,
    const struct wire_list_partition_reassignments_response_topics_partitions_details *details,
    struct klamm_move *move)
{
    move->has_details = true;
    move->job = client_memory_text(memory, details->job);
    move->submitted_by = client_memory_text(memory, details->submitted_by);
    move->client_id = client_memory_text(memory, details->client_id);
    move->started_ms = MAX(details->started_ms, 0);
    move->original =
        client_memory_ids(memory, details->original_replicas, details->original_replicas_count);
    move->bytes_to_copy = MAX(details->bytes_to_copy, 0);
    move->bytes_copied = MAX(details->bytes_copied, 0);
    move->rate = details->rate;
    move->eta_ms = details->eta_ms;
    move->reason = details->reason;
    move->reason_code = details->reason_error;
    move->since_ms = MAX(details->since_ms, 0);
    int32_t count = MAX(details->adding_count, 0);
    struct klamm_arrival *arrivals = client_memory_array(memory, count, sizeof *arrivals);
    for (int32_t i = 0; arrivals != NULL && i < count; i++) {
        arrivals[i] = (struct klamm_arrival){.broker_id = details->adding[i].broker,
                                             .state = details->adding[i].state,
                                             .reason = details->adding[i].reason,
                                             .reason_code = details->adding[i].reason_error,
                                             .since_ms = MAX(details->adding[i].since_ms, 0),
                                             .lag_bytes = details->adding[i].lag_bytes,
                                             .lag_offsets = details->adding[i].lag_offsets,
                                             .ignores_limits = details->adding[i].ignores_limits};
    }
    move->arrivals = arrivals;
    move->arrival_count = arrivals == NULL ? 0 : count;
}

static void put_move(struct klamm_memory *memory, const char *topic,
                     const struct wire_list_partition_reassignments_response_topics_partitions *row,
                     struct klamm_move *move)
{
    *move = (struct klamm_move){
        .topic = topic,
        .partition = row->partition_index,
        .rate = -1,
        .eta_ms = -1,
        .replicas = client_memory_ids(memory, row->replicas, row->replicas_count),
        .adding = client_memory_ids(memory, row->adding_replicas, row->adding_replicas_count),
        .removing =
            client_memory_ids(memory, row->removing_replicas, row->removing_replicas_count)};
    if (row->details != NULL) {
        put_details(memory, row->details, move);
    }
}

static void make_running(struct klamm_memory *memory,
                         const struct wire_list_partition_reassignments_response *response,
                         struct klamm_moves *moves)
{
    int32_t count = 0;
    for (int32_t t = 0; t < response->topics_count; t++) {
        count += MAX(response->topics[t].partitions_count, 0);
    }
    struct klamm_move *list = client_memory_array(memory, count, sizeof *list);
    int32_t used = 0;
    for (int32_t t = 0; list != NULL && t < response->topics_count; t++) {
        const char *name = client_memory_text(memory, response->topics[t].name);
        for (int32_t p = 0; p < response->topics[t].partitions_count; p++) {
            put_move(memory, name, &response->topics[t].partitions[p], &list[used++]);
        }
    }
    moves->list = list;
    moves->count = used;
    if (used > 1 && !memory->failed) {
        qsort(list, (size_t)used, sizeof *list, compare_moves);
    }
}

static void make_queued(struct klamm_memory *memory,
                        const struct wire_list_partition_reassignments_response *response,
                        struct klamm_moves *moves)
{
    int32_t count = 0;
    for (int32_t t = 0; t < response->queued_count; t++) {
        count += MAX(response->queued[t].partitions_count, 0);
    }
    struct klamm_queued *list = client_memory_array(memory, count, sizeof *list);
    int32_t used = 0;
    for (int32_t t = 0; list != NULL && t < response->queued_count; t++) {
        const char *name = client_memory_text(memory, response->queued[t].topic);
        for (int32_t p = 0; p < response->queued[t].partitions_count; p++) {
            const struct wire_list_partition_reassignments_response_queued_partitions *row =
                &response->queued[t].partitions[p];
            list[used++] = (struct klamm_queued){
                .topic = name,
                .partition = row->partition_index,
                .target = client_memory_ids(memory, row->target, row->target_count),
                .original =
                    client_memory_ids(memory, row->original_replicas, row->original_replicas_count),
                .job = client_memory_text(memory, row->job),
                .is_paused = row->state == KLAMM_JOB_PAUSED,
                .reason = row->reason,
                .since_ms = MAX(row->since_ms, 0),
                .bytes_to_copy = MAX(row->bytes_to_copy, 0)};
        }
    }
    moves->queued = list;
    moves->queued_count = used;
    if (used > 1 && !memory->failed) {
        qsort(list, (size_t)used, sizeof *list, compare_queued);
    }
}

static enum klamm_priority priority_of(int8_t number)
{
    return number == 0   ? KLAMM_PRIORITY_REPAIR
           : number == 1 ? KLAMM_PRIORITY_DRAIN
                         : KLAMM_PRIORITY_BALANCE;
}

static void make_jobs(struct klamm_memory *memory,
                      const struct wire_list_partition_reassignments_response *response,
                      struct klamm_moves *moves)
{
    int32_t count = MAX(response->jobs_count, 0);
    struct klamm_job *list = client_memory_array(memory, count, sizeof *list);
    for (int32_t i = 0; list != NULL && i < count; i++) {
        const struct wire_list_partition_reassignments_response_jobs *row = &response->jobs[i];
        list[i] = (struct klamm_job){.id = client_memory_text(memory, row->id),
                                     .submitted_by = client_memory_text(memory, row->submitted_by),
                                     .client_id = client_memory_text(memory, row->client_id),
                                     .submitted_ms = MAX(row->submitted_ms, 0),
                                     .state = row->state,
                                     .priority = priority_of(row->priority),
                                     .is_one_at_a_time = row->one_at_a_time,
                                     .rate = row->rate,
                                     .moves_total = row->moves_total,
                                     .moves_done = row->moves_done,
                                     .moves_cancelled = row->moves_cancelled,
                                     .bytes_to_copy = MAX(row->bytes_to_copy, 0),
                                     .bytes_copied = MAX(row->bytes_copied, 0)};
    }
    moves->jobs = list;
    moves->job_count = list == NULL ? 0 : count;
}

static int make_moves(const struct wire_list_partition_reassignments_response *response,
                      struct klamm_moves **ret_moves, struct klamm_error *err)
{
    struct klamm_memory *memory = client_memory_new();
    struct klamm_moves *moves = client_memory_array(memory, 1, sizeof *moves);
    if (moves != NULL) {
        *moves = (struct klamm_moves){.memory = memory, .is_klamm = response->jobs_count >= 0};
        make_running(memory, response, moves);
        make_queued(memory, response, moves);
        make_jobs(memory, response, moves);
    }
    if (moves == NULL || memory->failed) {
        client_memory_free(memory);
        return client_memory_fail(err);
    }
    *ret_moves = moves;
    return 0;
}

void client_put_listed(const struct client_row *rows, int32_t count, struct arena *arena,
                       struct wire_list_partition_reassignments_request *request)
{
    const struct client_group *groups =
        client_rows_group(rows, count, arena, &request->topics_count);
    request->topics =
        arena_array(arena, (size_t)MAX(request->topics_count, 1), sizeof *request->topics);
    CHECK(request->topics != NULL); /* an arena without a bound */
    for (int32_t i = 0; i < request->topics_count; i++) {
        request->topics[i].name = groups[i].topic;
        request->topics[i].partition_indexes = groups[i].partitions;
        request->topics[i].partition_indexes_count = groups[i].count;
    }
}

int klamm_list_moves(struct klamm_client *client, const struct klamm_partition_refs *partitions,
                     struct klamm_moves **ret_moves, struct klamm_error *err)
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
    request.klamm_extensions = 1;
    request.topics_count = -1;
    if (partitions != NULL) {
        client_put_listed(rows, partitions->count, &arena, &request);
    }
    int code = client_call(client, &call, err);
    if (code == 0 && response.error_code != 0) {
        code = client_fail(err, response.error_code, "%s%s%.*s", kerr_name(response.error_code),
                           response.error_message.len > 0 ? ": " : "",
                           SLICE_ARG(response.error_message));
    } else if (code == 0) {
        code = make_moves(&response, ret_moves, err);
    }
    client_call_deinit(&call);
    arena_deinit(&arena);
    free(rows);
    return code;
}

void klamm_moves_free(struct klamm_moves *moves)
{
    client_memory_free(moves == NULL ? NULL : moves->memory);
}
