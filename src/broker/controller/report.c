/*
 * From progress to the structs of the answer. Runs on the driver's env.
 */
#include "broker/controller/report.h"

#include "broker/controller/private.h"

typedef struct wire_list_partition_reassignments_response_topics_partitions_details details;
typedef struct wire_list_partition_reassignments_response_topics_partitions_details_adding arrival;

static bool arrivals_fill(const struct moves_progress *progress, details *to, struct arena *a)
{
    to->adding = arena_array(a, (size_t)progress->replica_count, sizeof *to->adding);
    if (to->adding == NULL) {
        return false;
    }
    to->adding_count = progress->replica_count;
    for (int32_t i = 0; i < progress->replica_count; i++) {
        const struct moves_replica *r = &progress->replicas[i];
        to->adding[i] = (arrival){.broker = r->broker,
                                  .state = (int8_t)r->state,
                                  .lag_bytes = r->lag_bytes,
                                  .lag_offsets = r->lag_offsets,
                                  .reason = (int8_t)r->wait.reason,
                                  .reason_error = r->wait.error,
                                  .since_ms = r->wait.since_ms};
    }
    return true;
}

static bool ids_fill(const struct ids *from, int32_t **ret_list, int32_t *ret_count,
                     struct arena *a)
{
    int32_t *list = arena_array(a, (size_t)from->count, sizeof *list);
    if (list == NULL) {
        return false;
    }
    if (from->count > 0) {
        memcpy(list, from->list, (size_t)from->count * sizeof *list);
    }
    *ret_list = list;
    *ret_count = from->count;
    return true;
}

static bool text_fill(const char *from, struct slice *ret, struct arena *a)
{
    char *copy = arena_str(a, slice_str(from));
    *ret = slice_str(copy);
    return copy != NULL;
}

static bool details_fill(struct controller *c, const struct control_moving *moving, details *to,
                         struct arena *a)
{
    const struct controller_start *start = controller_progress_of(c, moving);
    const struct moves_progress *progress = start->progress;
    if (start->submitter != NULL &&
        (!text_fill(start->submitter->principal, &to->submitted_by, a) ||
         !text_fill(start->submitter->client_id, &to->client_id, a))) {
        return false;
    }
    to->started_ms = start->started_ms;
    to->bytes_to_copy = progress->to_copy;
    to->bytes_copied = progress->copied;
    to->rate = progress->rate;
    to->eta_ms = progress->eta_ms;
    to->reason = (int8_t)progress->wait.reason;
    to->reason_error = progress->wait.error;
    to->since_ms = progress->wait.since_ms;
    return ids_fill(&moving->original, &to->original_replicas, &to->original_replicas_count, a) &&
           arrivals_fill(progress, to, a);
}

const struct controller_report *
controller_report_make(struct controller *c, const struct control_reply *reply, struct arena *a)
{
    struct controller_report *report = arena_alloc(a, sizeof *report);
    details *list = arena_array(a, (size_t)reply->count, sizeof *list);
    if (report == NULL || list == NULL) {
        return NULL;
    }
    for (int32_t i = 0; i < reply->count; i++) {
        if (!details_fill(c, &reply->moving[i], &list[i], a)) {
            return NULL;
        }
    }
    report->details = list;
    report->count = reply->count;
    return report;
}
