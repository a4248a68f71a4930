/*
 * Places: the partitions the queue knows, and how their moves follow from the facts.
 *
 * Nothing is remembered of what happened to a partition: each time something changed there, its assignment is
 * looked at, and the moves are made to agree with it. So it does not matter who did it, or whether a
 * controller died in between. Invariant: a place without moves that does not move is freed. Pure.
 */
#include "moves/core.h"

#include <stdlib.h>

struct queue_place *moves_place_find(const struct moves *m, struct slice topic, int32_t partition)
{
    struct queue_topic *t = NULL;
    struct queue_place *p = NULL;
    HASH_FIND(hh, m->topics, topic.ptr, topic.len, t);
    if (t != NULL) {
        HASH_FIND(hh, t->places, &partition, sizeof partition, p);
    }
    return p;
}

struct queue_place *moves_place_get(struct moves *m, struct slice topic, int32_t partition)
{
    struct queue_topic *t = NULL;
    struct queue_place *p = NULL;
    HASH_FIND(hh, m->topics, topic.ptr, topic.len, t);
    if (t == NULL) {
        t = xalloc(sizeof *t);
        t->name = slice_dup(topic);
        HASH_ADD_KEYPTR(hh, m->topics, t->name, topic.len, t);
    }
    HASH_FIND(hh, t->places, &partition, sizeof partition, p);
    if (p == NULL) {
        p = xalloc(sizeof *p);
        p->topic = t;
        p->partition = partition;
        p->use.out = -1;
        HASH_ADD(hh, t->places, partition, sizeof p->partition, p);
        list_push_back(&m->places, &p->link);
    }
    return p;
}

static void place_free(struct moves *m, struct queue_place *p)
{
    struct queue_topic *t = p->topic;
    HASH_DEL(t->places, p);
    list_remove(&m->places, &p->link);
    list_remove(&m->stalled, &p->stalled);
    ids_deinit(&p->use.in);
    ids_deinit(&p->load_base);
    free(p);
    if (t->places == NULL) {
        HASH_DEL(m->topics, t);
        free(t->name);
        free(t);
    }
}

void moves_place_drop(struct moves *m, struct queue_place *p)
{
    if (p->running == NULL && p->waiting == NULL && !p->is_moving && p->pins == 0) {
        moves_give_back(m, p);
        place_free(m, p);
    }
}

void moves_places_free(struct moves *m)
{
    struct list_node *n = NULL;
    while ((n = list_first(&m->places)) != NULL) {
        place_free(m, CONTAINER_OF(n, struct queue_place, link));
    }
}

bool moves_place_facts(const struct moves *m, const struct queue_place *p,
                       struct moves_partition *ret)
{
    return m->lookup.partition(m->lookup.arg, slice_str(p->topic->name), p->partition, ret);
}

/* ---- looking ---- */

bool moves_is_asked(const struct queue_move *v)
{
    return v != NULL && (v->state == QUEUE_BEGINNING || v->state == QUEUE_STARTING);
}

bool moves_is_stopped(const struct queue_move *v)
{
    return v->state == QUEUE_RUNNING && ((v->marks & MODEL_JOB_PAUSED) != 0 || v->awaits_slots);
}

static void gone(struct moves *m, struct queue_place *p)
{
    if (p->running != NULL) {
        moves_move_end(m, p->running, MODEL_JOB_CANCELLED);
    }
    if (p->waiting != NULL && p->waiting->state != QUEUE_COMING) {
        moves_move_end(m, p->waiting, MODEL_JOB_CANCELLED);
    }
    p->is_moving = false;
    moves_give_back(m, p);
}

static void hold_as_it_moves(struct moves *m, struct queue_place *p,
                             const struct moves_partition *f)
{
    const struct ids *adding = &f->assignment->adding;
    bool is_held_back = p->running != NULL && moves_is_stopped(p->running);
    if (moves_is_asked(p->waiting) || is_held_back ||
        (p->holds && ids_same_set(&p->use.in, adding))) {
        return;
    }
    struct queue_use use = {.out = adding->count > 0 ? f->leader : -1,
                            .bytes = moves_bytes_of(f, adding)};
    ids_copy(&use.in, adding);
    if (p->running != NULL) {
        ids_copy(&p->running->adding, adding);
        moves_bytes_plan(p->running, use.bytes);
    }
    moves_take(m, p, &use);
    ids_deinit(&use.in);
}

static void look_moving(struct moves *m, struct queue_place *p, const struct moves_partition *f)
{
    struct ids target = {0};
    struct ids step = {0};
    struct queue_move *w = p->waiting;
    assignment_target(f->assignment, &target);
    bool is_answer_due = w != NULL && w->state == QUEUE_STARTING && ids_equal(&w->step, &target);
    if (p->running != NULL && !ids_equal(&p->running->step, &target) && !is_answer_due) {
        moves_move_end(m, p->running, MODEL_JOB_CANCELLED); /* somebody sent it elsewhere */
    }
    if (p->running == NULL && w != NULL && w->state == QUEUE_WAITING) {
        moves_step_of(w, f->assignment, &step);
        if (ids_equal(&step, &target)) {
            moves_leave(m, w);
            p->waiting = NULL;
            p->running = w;
            ids_copy(&w->step, &target);
            moves_move_state(m, w, QUEUE_RUNNING);
        }
    }
    hold_as_it_moves(m, p, f);
    ids_deinit(&step);
    ids_deinit(&target);
}

void moves_check_replaced(struct moves *m, struct queue_move *v, const struct assignment *a)
{
    struct ids undo = {0};
    (void)assignment_undo_target(a, &undo);
    if (v->replaces.count > 0 && ids_equal(&undo, &v->replaces)) {
        ids_clear(&v->replaces);
        v->marks &= ~MODEL_JOB_BEGUN;
        ids_copy(&v->original, &undo);
        moves_move_changed(m, v);
    }
    ids_deinit(&undo);
}

/* What ran is over: at its goal, at a step on the way there, or elsewhere because somebody stopped it. */
static void look_ended(struct moves *m, struct queue_place *p, const struct ids *list)
{
    struct queue_move *v = p->running;
    bool is_returning = (v->marks & MODEL_JOB_RETURNING) != 0;
    bool is_stopped = !ids_equal(list, &v->step);
    if (ids_equal(list, moves_goal(v))) {
        moves_move_end(m, v, is_returning ? MODEL_JOB_CANCELLED : MODEL_JOB_DONE);
    } else if (p->waiting != NULL) {
        moves_move_end(m, v, MODEL_JOB_CANCELLED); /* what waits is newer */
    } else if (is_returning || !is_stopped) {
        moves_bytes_step_over(v, !is_stopped);
        p->running = NULL;
        p->waiting = v;
        v->awaits_slots = false;
        moves_move_state(m, v, QUEUE_WAITING);
        moves_give_back(m, p);
        moves_leave(m, v);
        moves_enter(m, v);
    } else if ((v->marks & MODEL_JOB_BEGUN) != 0 && !ids_equal(list, &v->original)) {
        moves_move_return(m, v);
    } else {
        moves_move_end(m, v, MODEL_JOB_CANCELLED);
    }
}

/* Cancelled between the first step and the last: it goes back in moves of its own. */
void moves_move_return(struct moves *m, struct queue_move *v)
{
    struct queue_place *p = v->place;
    moves_move_pause(m, v, false);
    v->marks = (v->marks | MODEL_JOB_RETURNING) & ~MODEL_JOB_LEAVING;
    moves_bytes_step_over(v, false);
    moves_move_changed(m, v);
    v->begin_seq = v->piece->seq;
    moves_leave(m, v);
    if (p->running == v) {
        p->running = NULL;
        moves_give_back(m, p);
    }
    p->waiting = v;
    v->awaits_slots = false;
    moves_move_state(m, v, QUEUE_WAITING);
    moves_enter(m, v);
}

static void look_resting(struct moves *m, struct queue_place *p, const struct moves_partition *f)
{
    const struct ids *list = &f->assignment->replicas;
    if (p->running != NULL) {
        look_ended(m, p, list);
    }
    struct queue_move *w = p->waiting;
    if (w != NULL && w->state == QUEUE_WAITING) {
        moves_check_replaced(m, w, f->assignment);
    }
    if (w != NULL && w->state == QUEUE_WAITING && ids_equal(list, moves_goal(w))) {
        bool is_returning = (w->marks & MODEL_JOB_RETURNING) != 0;
        moves_move_end(m, w, is_returning ? MODEL_JOB_CANCELLED : MODEL_JOB_DONE);
    }
    if (!moves_is_asked(p->waiting)) {
        moves_give_back(m, p);
    }
}

void moves_place_look(struct moves *m, struct queue_place *p)
{
    struct moves_partition f;
    p->pins++; /* it must outlive what follows */
    list_remove(&m->stalled, &p->stalled);
    if (!moves_place_facts(m, p, &f)) {
        gone(m, p);
    } else {
        bool was_moving = p->is_moving;
        p->is_moving = assignment_is_reassigning(f.assignment);
        if (p->is_moving) {
            look_moving(m, p, &f);
        } else {
            look_resting(m, p, &f);
        }
        if (was_moving && !p->is_moving && p->waiting != NULL) {
            moves_look_again(m, p->waiting);
        }
    }
    p->pins--;
    moves_place_drop(m, p);
}
