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
    const struct control_list *wanted;
    struct moves_view *views; /* of what waits; heap */
    int32_t view_count;
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

static void queued_take(void *arg, const struct moves_view *view)
{
    struct filling *f = arg;
    f->views[f->view_count++] = *view;
}

/* What waits of the partitions that are asked about. */
static void queued_gather(struct filling *f, const struct moves *queue)
{
    const struct control_list *wanted = f->wanted;
    size_t max =
        wanted->wants_all ? (size_t)moves_places_count(queue) : (size_t)MAX(wanted->count, 0);
    f->views = xalloc((max + 1) * sizeof *f->views);
    if (wanted->wants_all) {
        moves_each_queued(queue, queued_take, f);
    }
    for (int32_t i = 0; !wanted->wants_all && i < wanted->count; i++) {
        const struct control_tp *tp = &wanted->entries[i];
        f->view_count +=
            moves_find_queued(queue, tp->topic, tp->partition, &f->views[f->view_count]);
    }
}

static int view_compare(const void *a, const void *b)
{
    const struct moves_view *x = a;
    const struct moves_view *y = b;
    int order = slice_compare(x->topic, y->topic);
    return order != 0 ? order : (x->partition > y->partition) - (x->partition < y->partition);
}

static bool queued_fill(struct filling *f)
{
    struct controller_report *report = f->report;
    size_t count = (size_t)f->view_count;
    queued_row *rows = arena_array(f->arena, count + 1, sizeof *rows);
    report->queued = arena_array(f->arena, count + 1, sizeof *report->queued);
    if (rows == NULL || report->queued == NULL) {
        return false;
    }
    for (int32_t i = 0; i < f->view_count; i++) {
        const struct moves_view *view = &f->views[i];
        queued_topic *topic = &report->queued[MAX(report->queued_count - 1, 0)];
        if (i == 0 || !slice_equal(view->topic, f->views[i - 1].topic)) {
            topic = &report->queued[report->queued_count++];
            topic->partitions = &rows[i];
            if (!text_fill(view->topic, &topic->topic, f->arena)) {
                return false;
            }
        }
        topic->partitions_count++;
        rows[i] = (queued_row){.partition_index = view->partition,
                               .state = view->state == MOVES_PAUSED ? MOVES_PAUSED : MOVES_QUEUED,
                               .reason = view->reason,
                               .since_ms = view->since_ms,
                               .bytes_to_copy = view->bytes_to_copy};
        if (!ids_fill(view->target, &rows[i].target, &rows[i].target_count, f->arena) ||
            !text_fill(view->job->id, &rows[i].job, f->arena)) {
            return false;
        }
    }
    return true;
}

static bool queue_fill(const struct controller *c, const struct control_list *wanted,
                       struct controller_report *report, struct arena *a)
{
    const struct moves *queue = controller_moves_core(c);
    struct filling f = {.report = report, .arena = a, .wanted = wanted};
    if (queue == NULL) {
        return true;
    }
    moves_each_job(queue, job_count, &f);
    report->jobs = arena_array(a, (size_t)report->job_count + 1, sizeof *report->jobs);
    if (report->jobs == NULL) {
        return false;
    }
    report->job_count = 0;
    moves_each_job(queue, job_take, &f);
    queued_gather(&f, queue);
    qsort(f.views, (size_t)f.view_count, sizeof *f.views, view_compare);
    bool is_filled = !f.failed && queued_fill(&f);
    free(f.views);
    return is_filled;
}

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

const struct controller_report *controller_report_make(struct controller *c,
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
    return queue_fill(c, wanted, report, a) ? report : NULL;
}
