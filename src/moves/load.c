/*
 * A new controller's queue: the jobs that are stored, made to agree with the topic znodes.
 *
 * The newest job that names a partition decides about it; a move of an older one counts only while it runs.
 * Jobs are looked at from the newest to the oldest, and with them goes the list at which the partition rested
 * before what was looked at: a move whose target that is has reached it, though somebody else took over since.
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

/* It reached its target, and what has happened since was looked at before. One that leads to where it starts
 * may still wait for its turn. */
static bool has_ended(const struct queue_place *p, const struct queue_move *v, bool is_newest)
{
    return ids_equal(&p->load_base, &v->target) && (v->marks & MODEL_JOB_RETURNING) == 0 &&
           !(is_newest && ids_equal(&v->original, &v->target));
}

static void end_done(struct moves *m, struct queue_place *p, struct queue_move *v)
{
    ids_copy(&p->load_base, &v->original);
    moves_move_end(m, v, MODEL_JOB_DONE);
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
        if ((v->marks & MODEL_JOB_BEGUN) != 0) {
            ids_copy(&p->load_base, &v->original); /* from before its first step */
        }
        moves_move_state(m, v, QUEUE_RUNNING);
    } else if (has_ended(p, v, is_newest)) {
        end_done(m, p, v);
    } else if (!is_newest || (v->marks & MODEL_JOB_LEAVING) != 0) {
        moves_move_end(m, v, MODEL_JOB_CANCELLED);
    } else {
        wait(m, p, v);
    }
    ids_deinit(&step);
    ids_deinit(&target);
}

static void attach_resting(struct moves *m, struct queue_place *p, struct queue_move *v,
                           bool is_newest)
{
    const struct ids *list = &p->load_base; /* of the newest one where it is now */
    bool is_returning = (v->marks & MODEL_JOB_RETURNING) != 0;
    bool is_leaving = (v->marks & MODEL_JOB_LEAVING) != 0;
    bool is_between = (v->marks & MODEL_JOB_BEGUN) != 0 && !ids_equal(list, &v->original);
    if (ids_equal(list, moves_goal(v)) && is_returning) {
        moves_move_end(m, v, MODEL_JOB_CANCELLED);
    } else if (ids_equal(list, moves_goal(v))) {
        end_done(m, p, v);
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

/* What is stored of it says that it is over. */
static void attach_over(struct moves *m, struct queue_place *p, struct queue_move *v)
{
    bool is_done = (v->marks & MODEL_JOB_DONE) != 0;
    if (is_done && v->started_ms >= 0) {
        ids_copy(&p->load_base, &v->original);
    }
    moves_move_end(m, v, is_done ? MODEL_JOB_DONE : MODEL_JOB_CANCELLED);
}

static void attach(struct moves *m, struct queue_move *v)
{
    struct queue_place *p = moves_place_get(m, v->topic, v->partition);
    struct moves_partition f;
    bool is_there = moves_place_facts(m, p, &f);
    bool is_newest = p->load_serial < v->job->node.serial;
    if (is_there && p->load_base.count == 0) {
        (void)assignment_undo_target(f.assignment, &p->load_base);
    }
    seen(p, v);
    if (is_over(v)) {
        attach_over(m, p, v);
        return;
    }
    v->place = p;
    if (!is_there) {
        moves_move_end(m, v, MODEL_JOB_CANCELLED);
        return;
    }
    moves_check_replaced(m, v, f.assignment);
    if (assignment_is_reassigning(f.assignment)) {
        attach_moving(m, p, v, is_newest);
    } else {
        attach_resting(m, p, v, is_newest);
    }
}

/* In order of their end; open ones, which have none, of submission. */
static int end_compare(const void *a, const void *b)
{
    const struct queue_job *x = *(struct queue_job *const *)a;
    const struct queue_job *y = *(struct queue_job *const *)b;
    if (x->node.finished_ms != y->node.finished_ms) {
        return x->node.finished_ms < y->node.finished_ms ? -1 : 1;
    }
    return (x->node.serial > y->node.serial) - (x->node.serial < y->node.serial);
}

/* The newest first. */
static int serial_compare(const void *a, const void *b)
{
    const struct queue_job *x = *(struct queue_job *const *)a;
    const struct queue_job *y = *(struct queue_job *const *)b;
    return (x->node.serial < y->node.serial) - (x->node.serial > y->node.serial);
}

/* Puts the list in order and adds its jobs to `all`. */
static void jobs_sort(struct list *l, struct queue_job **all, size_t *count)
{
    size_t first = *count;
    struct list_node *n = NULL;
    while ((n = list_pop(l)) != NULL) {
        all[(*count)++] = CONTAINER_OF(n, struct queue_job, link);
    }
    qsort(all + first, *count - first, sizeof(struct queue_job *), end_compare);
    for (size_t i = first; i < *count; i++) {
        list_push_back(l, &all[i]->link);
    }
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

/* Its moves are over, whatever their marks say. */
static void history_attach(struct moves *m, struct queue_job *job)
{
    for (int32_t i = 0; i < job->piece_count; i++) {
        job->pieces[i]->stored_seq = job->pieces[i]->seq;
        for (int32_t j = 0; j < job->pieces[i]->count; j++) {
            struct queue_move *v = job->pieces[i]->moves[j];
            v->marks |= is_over(v) ? 0 : MODEL_JOB_CANCELLED;
            attach(m, v);
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
    size_t count = 0;
    struct queue_job **all =
        xalloc((m->jobs.count + m->history.count + 1) * sizeof(struct queue_job *));
    jobs_sort(&m->jobs, all, &count);
    for (size_t i = 0; i < count; i++) {
        job_order(m, all[i]);
    }
    jobs_sort(&m->history, all, &count);
    qsort(all, count, sizeof(struct queue_job *), serial_compare);
    for (size_t i = 0; i < count; i++) {
        if (all[i]->node.fate == MODEL_JOB_WRITING) {
            moves_job_discard(m, all[i]); /* it was never answered for */
        } else if (all[i]->node.fate == MODEL_JOB_OPEN) {
            job_attach(m, all[i]);
        } else {
            history_attach(m, all[i]);
        }
    }
    free(all);
    running_take(m);
    places_look(m);
    moves_history_trim(m);
    m->is_limits_dirty = true;
}
