/*
 * From progress to the structs of the answer. Runs on the driver's env.
 */
#include "broker/controller/report.h"

#include "broker/controller/private.h"

#include <stdlib.h>

typedef struct wire_list_partition_reassignments_response_topics_partitions_details details;
typedef struct wire_list_partition_reassignments_response_topics_partitions_details_adding arrival;
typedef struct wire_list_partition_reassignments_response_jobs job_row;
typedef struct wire_list_partition_reassignments_response_queued queued_topic;
typedef struct wire_list_partition_reassignments_response_queued_partitions queued_row;

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
                                  .since_ms = r->wait.since_ms,
                                  .ignores_limits = r->ignores_limits};
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

static bool text_fill(struct slice from, struct slice *ret, struct arena *a)
{
    char *copy = arena_str(a, from);
    *ret = slice_of(copy, from.len);
    return copy != NULL;
}

/* Whose move it is, as far as the queue knows. */
static bool job_fill(const struct controller *c, const struct control_moving *moving, details *to,
                     struct arena *a)
{
    struct moves_view view;
    const struct moves *queue = controller_moves_core(c);
    if (queue == NULL || !moves_find_running(queue, moving->topic, moving->partition, &view) ||
        view.job == NULL) {
        return true;
    }
    if (view.state == MOVES_QUEUED) {
        to->reason = view.reason; /* resumed, and waits for its slots */
        to->reason_error = view.reason_error;
        to->since_ms = view.since_ms;
    }
    return text_fill(view.job->id, &to->job, a) &&
           text_fill(view.job->submitted_by, &to->submitted_by, a) &&
           text_fill(view.job->client_id, &to->client_id, a);
}

/* ---- jobs and what waits ---- */

struct filling {
    struct controller_report *report;
    struct arena *arena;
    bool failed;
};

static void job_count(void *arg, const struct moves_job_view *view)
{
    (void)view;
    ((struct filling *)arg)->report->job_count++;
}

static void job_take(void *arg, const struct moves_job_view *view)
{
    struct filling *f = arg;
    const struct model_job *job = view->job;
    job_row *row = &f->report->jobs[f->report->job_count++];
    *row = (job_row){.submitted_ms = job->submitted_ms,
                     .state = (int8_t)view->state,
                     .rate = job->rate,
                     .priority = job->priority,
                     .one_at_a_time = job->is_one_at_a_time,
                     .moves_total = job->moves_total,
                     .moves_done = job->moves_done,
                     .moves_cancelled = job->moves_cancelled,
                     .bytes_to_copy = job->bytes_to_copy,
                     .bytes_copied = job->bytes_copied};
    f->failed = f->failed || !text_fill(job->id, &row->id, f->arena) ||
                !text_fill(job->submitted_by, &row->submitted_by, f->arena) ||
                !text_fill(job->client_id, &row->client_id, f->arena);
}

bool controller_report_jobs(const struct controller *c, struct controller_report *report,
                            struct arena *a)
{
    const struct moves *queue = controller_moves_core(c);
    struct filling f = {.report = report, .arena = a};
    moves_each_job(queue, job_count, &f);
    report->jobs = arena_array(a, (size_t)report->job_count + 1, sizeof *report->jobs);
    if (report->jobs == NULL) {
        return false;
    }
    report->job_count = 0;
    moves_each_job(queue, job_take, &f);
    return !f.failed;
}

bool controller_report_row(const struct moves_view *view, queued_row *row, struct arena *a)
{
    *row = (queued_row){.partition_index = view->partition,
                        .state = view->state == MOVES_PAUSED ? MOVES_PAUSED : MOVES_QUEUED,
                        .reason = view->reason,
                        .since_ms = view->since_ms,
                        .bytes_to_copy = view->bytes_to_copy};
    return ids_fill(view->target, &row->target, &row->target_count, a) &&
           (!view->is_between ||
            ids_fill(view->original, &row->original_replicas, &row->original_replicas_count, a)) &&
           text_fill(view->job->id, &row->job, a);
}

static int tp_compare(const void *a, const void *b)
{
    const struct control_tp *x = a;
    const struct control_tp *y = b;
    int order = slice_compare(x->topic, y->topic);
    return order != 0 ? order : (x->partition > y->partition) - (x->partition < y->partition);
}

/* wanted is sorted. */
static bool queued_fill(const struct moves *queue, const struct control_tp *wanted, int32_t count,
                        struct filling *f)
{
    struct controller_report *report = f->report;
    queued_row *rows = arena_array(f->arena, (size_t)count + 1, sizeof *rows);
    report->queued = arena_array(f->arena, (size_t)count + 1, sizeof *report->queued);
    if (rows == NULL || report->queued == NULL) {
        return false;
    }
    for (int32_t i = 0; i < count; i++) {
        struct moves_view view;
        bool is_twice = i > 0 && tp_compare(&wanted[i - 1], &wanted[i]) == 0;
        if (is_twice || !moves_find_queued(queue, wanted[i].topic, wanted[i].partition, &view)) {
            continue;
        }
        queued_topic *topic = &report->queued[MAX(report->queued_count - 1, 0)];
        if (report->queued_count == 0 || !slice_equal(topic->topic, view.topic)) {
            topic = &report->queued[report->queued_count++];
            topic->partitions = rows;
            if (!text_fill(view.topic, &topic->topic, f->arena)) {
                return false;
            }
        }
        topic->partitions_count++;
        if (!controller_report_row(&view, rows++, f->arena)) {
            return false;
        }
    }
    return true;
}

bool controller_report_named(const struct controller *c, const struct control_list *wanted,
                             struct controller_report *report)
{
    struct filling f = {.report = report, .arena = wanted->memory};
    int32_t count = MAX(wanted->count, 0);
    struct control_tp *sorted = xalloc(((size_t)count + 1) * sizeof *sorted);
    if (count > 0) {
        memcpy(sorted, wanted->entries, (size_t)count * sizeof *sorted);
    }
    qsort(sorted, (size_t)count, sizeof *sorted, tp_compare);
    bool is_filled = queued_fill(controller_moves_core(c), sorted, count, &f) &&
                     controller_report_jobs(c, report, f.arena);
    free(sorted);
    return is_filled;
}

/* ---- what runs ---- */

static bool details_fill(struct controller *c, const struct control_moving *moving, details *to,
                         struct arena *a)
{
    const struct controller_start *start = controller_progress_of(c, moving);
    const struct moves_progress *progress = start->progress;
    if (start->submitter != NULL &&
        (!text_fill(slice_str(start->submitter->principal), &to->submitted_by, a) ||
         !text_fill(slice_str(start->submitter->client_id), &to->client_id, a))) {
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
    return job_fill(c, moving, to, a) &&
           ids_fill(&moving->original, &to->original_replicas, &to->original_replicas_count, a) &&
           arrivals_fill(progress, to, a);
}

struct controller_report *controller_report_make(struct controller *c,
                                                 const struct control_reply *reply,
                                                 const struct control_list *wanted)
{
    struct arena *a = wanted->memory;
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
