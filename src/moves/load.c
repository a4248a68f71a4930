/*
 * A new controller's queue: the jobs that are stored, made to agree with the topic znodes.
 *
 * The newest job that names a partition decides about it; a move of an older one counts only while it runs.
 * Jobs are looked at from the newest to the oldest, and with them goes the list at which the partition rested
 * before what was looked at: a move whose target that is has reached it, though somebody else took over since.
 * So marks that were not stored when the former controller died do no harm.
 *
 * What takes long is done in bounded pieces: first the moves find their partitions; then those that run take their
 * slots, before any that waits; then every partition is looked at, once more from the first one when anything
 * changed meanwhile. Only then the queue is loaded. Pure.
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
        job->node.bytes_to_copy = job->node.bytes_copied = 0; /* ditto */
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
        moves_warn(m, em.text);
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
        if (v->replaces.count > 0) {
            ids_clear(&v->replaces); /* it has begun itself */
            moves_move_changed(m, v);
        }
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

/* ---- in pieces ---- */

static void piece_attach(struct moves *m, struct queue_piece *piece, bool is_over_job)
{
    piece->stored_seq = piece->seq;
    for (int32_t i = piece->count - 1; i >= 0; i--) {
        struct queue_move *v = piece->moves[i];
        if (is_over_job && !is_over(v)) {
            v->marks |= MODEL_JOB_CANCELLED; /* whatever its marks say */
        }
        attach(m, v);
    }
}

static bool jobs_attach(struct moves *m, struct queue_load *l)
{
    for (; l->job_at < l->job_count; l->job_at++, l->piece_at = 0) {
        struct queue_job *job = l->jobs[l->job_at];
        bool is_over_job = job->node.fate != MODEL_JOB_OPEN;
        for (; l->piece_at < job->piece_count; l->piece_at++) {
            struct queue_piece *piece = job->pieces[job->piece_count - 1 - l->piece_at];
            if (m->budget <= 0) {
                return false;
            }
            m->budget -= piece->count;
            piece_attach(m, piece, is_over_job);
        }
        if (is_over_job) {
            list_remove(&m->finishing, &job->finishing);
            m->history_moves += job->piece_count > 0 ? job->node.moves_total : 0;
        }
    }
    return true;
}

static void running_collect(struct moves *m, struct queue_load *l)
{
    size_t count = 0;
    struct list_node *job = NULL;
    struct list_node *n = NULL;
    list_foreach (job, &m->jobs) {
        count += CONTAINER_OF(job, struct queue_job, link)->running.count;
    }
    l->running = xalloc((count + 1) * sizeof(struct queue_move *));
    list_foreach (job, &m->jobs) {
        list_foreach (n, &CONTAINER_OF(job, struct queue_job, link)->running) {
            l->running[l->running_count++] = CONTAINER_OF(n, struct queue_move, link);
        }
    }
}

/* Slots go to the moves that run first. One may be left without: it was resumed and waited for a slot. */
static bool running_take(struct moves *m, struct queue_load *l)
{
    for (; l->running_at < l->running_count; l->running_at++, m->budget--) {
        struct queue_move *v = l->running[l->running_at];
        if (m->budget <= 0) {
            return false;
        }
        if (v->state == QUEUE_RUNNING && (v->marks & MODEL_JOB_PAUSED) == 0) {
            moves_look_at(m, v);
        } else if (v->state != QUEUE_OVER) {
            moves_move_reason(m, v, MOVES_REASON_PAUSED, 0);
        }
    }
    return true;
}

/* The next place is pinned: the look at one may free it. */
static void look_next(struct moves *m, struct queue_load *l, struct list_node *next)
{
    struct queue_place *before = l->place;
    l->place = next == &m->places.head ? NULL : CONTAINER_OF(next, struct queue_place, link);
    if (l->place != NULL) {
        l->place->pins++;
    }
    if (before != NULL) {
        before->pins--;
        moves_place_drop(m, before);
    }
}

static bool places_look(struct moves *m, struct queue_load *l)
{
    do {
        if (l->place == NULL) {
            l->is_disturbed = false;
            look_next(m, l, m->places.head.next);
        }
        for (; l->place != NULL; m->budget--) {
            struct queue_place *p = l->place;
            if (m->budget <= 0) {
                return false;
            }
            moves_place_look(m, p);
            look_next(m, l, p->link.next);
        }
    } while (l->is_disturbed);
    return true;
}

/* Jobs in the order in which they are looked at; those that were never answered for go. */
static void load_begin(struct moves *m)
{
    struct queue_load *l = xalloc(sizeof *l);
    m->load = l;
    size_t count = 0;
    l->jobs = xalloc((m->jobs.count + m->history.count + 1) * sizeof(struct queue_job *));
    jobs_sort(&m->jobs, l->jobs, &count);
    for (size_t i = 0; i < count; i++) {
        job_order(m, l->jobs[i]);
    }
    jobs_sort(&m->history, l->jobs, &count);
    qsort(l->jobs, count, sizeof(struct queue_job *), serial_compare);
    for (size_t i = 0; i < count; i++) {
        struct queue_job *job = l->jobs[i];
        if (job->node.fate == MODEL_JOB_WRITING) {
            moves_job_discard(m, job);
        } else {
            l->jobs[l->job_count++] = job;
        }
    }
}

void moves_load_free(struct moves *m)
{
    if (m->load != NULL) {
        free(m->load->jobs);
        free(m->load->running);
        free(m->load);
        m->load = NULL;
    }
}

void moves_load_start(struct moves *m)
{
    CHECK(m->load == NULL && !m->is_loaded);
    load_begin(m);
}

bool moves_load_run(struct moves *m)
{
    struct queue_load *l = m->load;
    if (l->stage == LOAD_ATTACH && jobs_attach(m, l)) {
        running_collect(m, l);
        l->stage = LOAD_TAKE;
    }
    if (l->stage == LOAD_TAKE && running_take(m, l)) {
        l->stage = LOAD_LOOK;
    }
    if (l->stage != LOAD_LOOK || !places_look(m, l)) {
        return false;
    }
    moves_load_free(m);
    m->is_loaded = true;
    moves_history_trim(m);
    m->is_limits_dirty = true;
    return true;
}
