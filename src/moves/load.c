/*
 * A new controller's queue: the jobs that are stored, made to agree with the topic znodes.
 *
 * The newest job that names a partition decides about it; a move of an older one counts only while it runs.
 * So marks that were not stored when the former controller died do no harm. Pure.
 */
#include "moves/core.h"
#include "moves/reason.h"

#include <stdlib.h>

void moves_load_job(struct moves *m, const struct model_job *node)
{
    if (moves_job_find(m, node->id) != NULL) {
        return;
    }
    struct queue_job *job = moves_job_new(m, node);
    if (node->piece_count > 0 || node->fate == MODEL_JOB_OPEN) {
        job->node.moves_done = job->node.moves_cancelled = 0; /* counted from the moves */
    }
    if (node->fate == MODEL_JOB_OPEN) {
        job->node.bytes_to_copy = 0;
    }
}

void moves_load_piece(struct moves *m, const struct moves_event *event)
{
    struct queue_job *job = moves_job_find(m, event->job_id);
    if (job == NULL || event->piece < 0 || event->piece > INT16_MAX) {
        return;
    }
    for (int32_t i = 0; event->contents != NULL && i < event->contents->count; i++) {
        (void)moves_job_add(m, job, &event->contents->moves[i], event->piece);
    }
    if (event->contents == NULL) {
        struct errmsg em;
        (void)errmsg_set(&em, E_OK, "job %.*s: piece %d cannot be read: its moves are forgotten",
                         SLICE_ARG(job->node.id), event->piece);
        moves_log(m, em.text);
    }
}

/* What is stored of it says that it is over. */
static bool is_over(const struct queue_move *v)
{
    return (v->marks & (MODEL_JOB_DONE | MODEL_JOB_CANCELLED)) != 0;
}

static void wait(struct moves *m, struct queue_place *p, struct queue_move *v)
{
    p->waiting = v;
    moves_move_state(m, v, QUEUE_WAITING);
    moves_enter(m, v);
}

static void attach_moving(struct moves *m, struct queue_place *p, struct queue_move *v,
                          bool is_newest)
{
    struct moves_partition f;
    struct ids target = {0};
    struct ids step = {0};
    bool is_there = moves_place_facts(m, p, &f);
    CHECK(is_there);
    assignment_target(f.assignment, &target);
    moves_step_of(v, f.assignment, &step);
    if (ids_equal(&step, &target) && p->running == NULL) {
        v->marks &= ~MODEL_JOB_LEAVING; /* the cancel did not get that far */
        ids_move(&v->step, &step);
        p->running = v;
        v->awaits_slots = true;
        moves_move_state(m, v, QUEUE_RUNNING);
    } else if (!is_newest || (v->marks & MODEL_JOB_LEAVING) != 0) {
        moves_move_end(m, v, MODEL_JOB_CANCELLED);
    } else {
        wait(m, p, v);
    }
    ids_deinit(&step);
    ids_deinit(&target);
}

static void attach_resting(struct moves *m, struct queue_place *p, struct queue_move *v,
                           bool is_newest, const struct ids *list)
{
    bool is_returning = (v->marks & MODEL_JOB_RETURNING) != 0;
    bool is_leaving = (v->marks & MODEL_JOB_LEAVING) != 0;
    bool is_between = (v->marks & MODEL_JOB_BEGUN) != 0 && !ids_equal(list, &v->original);
    if (ids_equal(list, moves_goal(v))) {
        moves_move_end(m, v, is_returning ? MODEL_JOB_CANCELLED : MODEL_JOB_DONE);
    } else if (!is_newest || (is_leaving && !is_between)) {
        moves_move_end(m, v, MODEL_JOB_CANCELLED);
    } else if (is_leaving) {
        wait(m, p, v);
        moves_move_return(m, v);
    } else {
        wait(m, p, v);
    }
}

/* A move that was cancelled before it started has displaced nothing. */
static void seen(struct queue_place *p, const struct queue_move *v)
{
    if ((v->marks & MODEL_JOB_CANCELLED) == 0 || v->started_ms >= 0) {
        p->load_serial = MAX(p->load_serial, v->job->node.serial);
    }
}

static void attach(struct moves *m, struct queue_move *v)
{
    struct queue_place *p = moves_place_get(m, v->topic, v->partition);
    struct moves_partition f;
    bool is_newest = p->load_serial < v->job->node.serial;
    seen(p, v);
    if (is_over(v)) {
        moves_move_end(m, v,
                       (enum model_job_mark)(v->marks & (MODEL_JOB_DONE | MODEL_JOB_CANCELLED)));
        return;
    }
    v->place = p;
    if (!moves_place_facts(m, p, &f)) {
        moves_move_end(m, v, MODEL_JOB_CANCELLED);
        return;
    }
    moves_check_replaced(m, v, f.assignment);
    if (assignment_is_reassigning(f.assignment)) {
        attach_moving(m, p, v, is_newest);
    } else {
        attach_resting(m, p, v, is_newest, &f.assignment->replicas);
    }
}

static int job_compare(const void *a, const void *b)
{
    const struct queue_job *x = *(struct queue_job *const *)a;
    const struct queue_job *y = *(struct queue_job *const *)b;
    if (x->node.finished_ms != y->node.finished_ms) {
        return x->node.finished_ms < y->node.finished_ms ? -1 : 1;
    }
    return (x->node.serial > y->node.serial) - (x->node.serial < y->node.serial);
}

/* Open jobs have no finished_ms: both lists are put in order by the same comparison. */
static struct queue_job **jobs_sort(struct list *l)
{
    size_t count = 0;
    struct queue_job **jobs = xalloc((l->count + 1) * sizeof(struct queue_job *));
    struct list_node *n = NULL;
    while ((n = list_pop(l)) != NULL) {
        jobs[count++] = CONTAINER_OF(n, struct queue_job, link);
    }
    qsort(jobs, count, sizeof(struct queue_job *), job_compare);
    for (size_t i = 0; i < count; i++) {
        list_push_back(l, &jobs[i]->link);
    }
    return jobs;
}

static void job_attach(struct moves *m, struct queue_job *job)
{
    for (int32_t i = job->piece_count - 1; i >= 0; i--) {
        struct queue_piece *piece = job->pieces[i];
        piece->stored_seq = piece->seq;
        for (int32_t j = piece->count - 1; j >= 0; j--) {
            attach(m, piece->moves[j]);
        }
    }
}

/* The order of the queue is that of submission, whatever order the pieces were read in. */
static void job_order(struct moves *m, struct queue_job *job)
{
    for (int32_t i = 0; i < job->piece_count; i++) {
        for (int32_t j = 0; j < job->pieces[i]->count; j++) {
            job->pieces[i]->moves[j]->key =
                (int64_t)((uint64_t)job->node.priority << 56 | m->next_order++);
        }
    }
}

static void history_attach(struct moves *m, struct queue_job *job)
{
    for (int32_t i = 0; i < job->piece_count; i++) {
        job->pieces[i]->stored_seq = job->pieces[i]->seq;
        for (int32_t j = 0; j < job->pieces[i]->count; j++) {
            struct queue_move *v = job->pieces[i]->moves[j];
            bool is_done = (v->marks & MODEL_JOB_DONE) != 0;
            moves_move_end(m, v, is_done ? MODEL_JOB_DONE : MODEL_JOB_CANCELLED);
            struct queue_place *p = moves_place_get(m, v->topic, v->partition);
            seen(p, v);
        }
    }
    list_remove(&m->finishing, &job->finishing);
    m->history_moves += job->piece_count > 0 ? job->node.moves_total : 0;
}

static void places_look(struct moves *m)
{
    struct list_node *n = NULL;
    struct list_node *next = NULL;
    list_foreach_safe (n, next, &m->places) {
        moves_place_look(m, CONTAINER_OF(n, struct queue_place, link));
    }
}

/* Slots go to the moves that run first. One may be left without: it was resumed and waited for a slot. */
static void running_take(struct moves *m)
{
    struct list_node *job = NULL;
    struct list_node *n = NULL;
    struct list_node *next = NULL;
    list_foreach (job, &m->jobs) {
        struct list *running = &CONTAINER_OF(job, struct queue_job, link)->running;
        list_foreach_safe (n, next, running) {
            struct queue_move *v = CONTAINER_OF(n, struct queue_move, link);
            if (v->state == QUEUE_RUNNING && (v->marks & MODEL_JOB_PAUSED) == 0) {
                moves_look_at(m, v);
            } else {
                moves_move_reason(m, v, MOVES_REASON_PAUSED, 0);
            }
        }
    }
}

void moves_load_end(struct moves *m)
{
    m->is_loaded = true;
    size_t count = m->jobs.count;
    struct queue_job **jobs = jobs_sort(&m->jobs);
    free(jobs_sort(&m->history));
    for (size_t i = 0; i < count; i++) {
        if (jobs[i]->node.fate == MODEL_JOB_WRITING) {
            moves_job_discard(m, jobs[i]); /* it was never answered for */
            jobs[i] = NULL;
        } else {
            job_order(m, jobs[i]);
        }
    }
    struct list_node *n = NULL;
    list_foreach (n, &m->history) {
        history_attach(m, CONTAINER_OF(n, struct queue_job, link));
    }
    for (size_t i = count; i > 0; i--) {
        if (jobs[i - 1] != NULL) {
            job_attach(m, jobs[i - 1]);
        }
    }
    free(jobs);
    running_take(m);
    places_look(m);
    moves_history_trim(m);
    m->is_limits_dirty = true;
}
