/*
 * From what a request says to the partitions it is about: its entries, or what its selectors (a job, brokers,
 * everything) find. Works in bounded pieces; where it stands is pinned, so that nothing it points to is freed
 * in between. Pure.
 */
#include "moves/core.h"

#include <stdlib.h>

struct queue_item *moves_item_add(struct moves *m, struct queue_request *r,
                                  struct queue_place *place)
{
    (void)m;
    if (r->count == r->cap) {
        r->cap = r->cap == 0 ? 64 : r->cap * 2;
        r->items = xrealloc(r->items, (size_t)r->cap * sizeof *r->items);
    }
    struct queue_item *item = &r->items[r->count++];
    *item = (struct queue_item){.place = place};
    if (place != NULL) {
        place->pins++;
        item->topic = slice_str(place->topic->name);
        item->partition = place->partition;
    }
    return item;
}

void moves_item_fail(struct queue_request *r, struct queue_item *item, enum kerr error,
                     const char *message)
{
    item->what = DO_NOTHING;
    item->error = (int16_t)error;
    item->message =
        message == NULL || message[0] == '\0' ? NULL : arena_str(&r->arena, slice_str(message));
}

/* ---- alter and submit: an item an entry ---- */

static bool has_limits(const struct moves *m)
{
    return m->limits.in_per_broker >= 0 || m->limits.out_per_broker >= 0 ||
           m->limits.per_cluster >= 0 || m->limits.bytes_in_flight >= 0;
}

/* Only the queue knows the list from before its first step: what overrides it goes through the queue too. */
static bool is_begun(const struct queue_move *v)
{
    return v != NULL && (v->marks & MODEL_JOB_BEGUN) != 0;
}

static void entry_take(struct moves *m, struct queue_request *r, int32_t index)
{
    static const char twice[] = "the partition is named more than once in the request";
    const struct moves_entry *e = &r->body.entries[index];
    bool is_submission = r->body.action == MOVES_ACTION_SUBMIT;
    struct queue_place *p = moves_place_get(m, e->topic, e->partition);
    bool is_again = p->seen_request == r->serial;
    int32_t before = p->seen_index;
    p->seen_request = r->serial;
    p->seen_index = index;
    struct queue_item *item = moves_item_add(m, r, p);
    item->replicas = e->replicas;
    item->replica_count = e->replica_count;
    if (is_again) {
        moves_item_fail(r, &r->items[before], KERR_INVALID_REQUEST, twice);
        moves_item_fail(r, item, KERR_INVALID_REQUEST, twice);
    } else if (e->is_cancel && is_submission) {
        moves_item_fail(r, item, KERR_INVALID_REQUEST, "a submission needs the list to move to");
    } else if (e->is_cancel) {
        item->what = DO_CANCEL;
        item->takes_running = item->takes_waiting = true;
    } else {
        bool is_ours =
            is_submission || has_limits(m) || is_begun(p->running) || is_begun(p->waiting);
        item->what = is_ours ? DO_QUEUE : DO_DIRECT;
    }
}

static bool entries_take(struct moves *m, struct queue_request *r)
{
    for (; r->cursor < r->body.count && m->budget > 0; r->cursor++, m->budget--) {
        entry_take(m, r, r->cursor);
    }
    return r->cursor == r->body.count;
}

/* ---- selectors ---- */

static bool names_any(const struct queue_request *r, const struct ids *ids)
{
    for (int32_t i = 0; i < r->body.broker_count; i++) {
        if (ids_has(ids, r->body.brokers[i])) {
            return true;
        }
    }
    return false;
}

static bool differ_at(const struct queue_request *r, const struct ids *a, const struct ids *b)
{
    struct ids only = {0};
    ids_minus(&only, a, b);
    bool is_named = names_any(r, &only);
    ids_minus(&only, b, a);
    is_named = is_named || names_any(r, &only);
    ids_deinit(&only);
    return is_named;
}

/* The move goes to or from one of the brokers of the request. */
static bool is_at_brokers(const struct moves *m, const struct queue_request *r,
                          const struct queue_place *p, const struct queue_move *v)
{
    struct moves_partition f;
    if (r->body.broker_count == 0) {
        return true;
    }
    if (!moves_place_facts(m, p, &f)) {
        return false;
    }
    struct ids origin = {0};
    assignment_origin(f.assignment, &origin);
    bool is_named =
        v == NULL ? names_any(r, &f.assignment->adding) || names_any(r, &f.assignment->removing)
                  : differ_at(r, &origin, moves_goal(v));
    ids_deinit(&origin);
    return is_named;
}

static bool is_of_job(const struct queue_request *r, const struct queue_move *v)
{
    return r->selected == NULL || (v != NULL && v->job == r->selected);
}

static enum queue_do action_do(const struct queue_request *r)
{
    switch (r->body.action) {
    case MOVES_ACTION_PAUSE:
        return DO_PAUSE;
    case MOVES_ACTION_RESUME:
        return DO_RESUME;
    case MOVES_ACTION_CANCEL:
    case MOVES_ACTION_UNDO:
        return DO_CANCEL;
    case MOVES_ACTION_ALTER:
    case MOVES_ACTION_SUBMIT:
    case MOVES_ACTION_SETTINGS:
    case MOVES_ACTIONS:
        break;
    }
    return DO_NOTHING;
}

/* A move that nobody queued: to pause it, it gets a job. */
static void adopt(const struct moves *m, struct queue_request *r, struct queue_item *item)
{
    struct moves_partition f;
    struct ids target = {0};
    if (!moves_place_facts(m, item->place, &f)) {
        moves_item_fail(r, item, KERR_UNKNOWN_TOPIC_OR_PARTITION, NULL);
        return;
    }
    assignment_target(f.assignment, &target);
    int32_t *copy = arena_array(&r->arena, (size_t)target.count, sizeof *copy);
    CHECK(copy != NULL);
    memcpy(copy, target.list, (size_t)target.count * sizeof *copy);
    item->what = DO_ADOPT;
    item->replicas = copy;
    item->replica_count = target.count;
    ids_deinit(&target);
}

/* Adds the place when something of it is selected. */
static bool place_take(struct moves *m, struct queue_request *r, struct queue_place *p)
{
    const struct queue_move *run = p->running;
    const struct queue_move *wait = p->waiting;
    bool is_asked = moves_is_asked(wait);
    bool is_stock = run == NULL && !is_asked && p->is_moving && r->selected == NULL;
    bool takes_running = (run != NULL && is_of_job(r, run)) || is_stock;
    takes_running = takes_running && is_at_brokers(m, r, p, run);
    bool takes_waiting = wait != NULL && wait->state != QUEUE_COMING && is_of_job(r, wait) &&
                         is_at_brokers(m, r, p, wait);
    takes_running = takes_running || (is_asked && takes_waiting && run == NULL); /* by then */
    if (p->seen_request == r->serial || (!takes_running && !takes_waiting)) {
        return false;
    }
    p->seen_request = r->serial;
    struct queue_item *item = moves_item_add(m, r, p);
    item->what = action_do(r);
    item->takes_running = takes_running;
    item->takes_waiting = takes_waiting;
    if (takes_running && is_stock && item->what == DO_PAUSE) {
        adopt(m, r, item);
    }
    return true;
}

/* UNDO: what has ended is to go back, in a job of its own. */
static void reverse_take(struct moves *m, struct queue_request *r, const struct queue_move *v)
{
    struct moves_partition f;
    struct queue_place *p = moves_place_get(m, v->topic, v->partition);
    if (p->seen_request == r->serial) {
        return;
    }
    p->seen_request = r->serial;
    struct queue_item *item = moves_item_add(m, r, p);
    if (!moves_place_facts(m, p, &f)) {
        moves_item_fail(r, item, KERR_UNKNOWN_TOPIC_OR_PARTITION, "there is no such partition");
    } else if (assignment_is_reassigning(f.assignment) || p->waiting != NULL ||
               !ids_equal(&f.assignment->replicas, &v->target)) {
        moves_item_fail(r, item, KERR_INVALID_REQUEST,
                        "the partition has moved on since the job moved it");
    } else {
        int32_t *copy = arena_array(&r->arena, (size_t)v->original.count, sizeof *copy);
        CHECK(copy != NULL);
        memcpy(copy, v->original.list, (size_t)v->original.count * sizeof *copy);
        item->what = DO_QUEUE;
        item->replicas = copy;
        item->replica_count = v->original.count;
    }
}

static bool job_walk(struct moves *m, struct queue_request *r)
{
    struct queue_job *job = r->selected;
    for (; r->walk_piece < job->piece_count && m->budget > 0; r->walk_piece++) {
        const struct queue_piece *piece = job->pieces[r->walk_piece];
        for (int32_t i = 0; i < piece->count; i++, m->budget--) {
            struct queue_move *v = piece->moves[i];
            if (v->state != QUEUE_OVER && v->place != NULL) {
                (void)place_take(m, r, v->place);
            } else if (r->body.action == MOVES_ACTION_UNDO && (v->marks & MODEL_JOB_DONE) != 0) {
                reverse_take(m, r, v);
            }
        }
    }
    return r->walk_piece == job->piece_count;
}

static void walk_pin(struct moves *m, struct queue_request *r, struct queue_place *p)
{
    struct queue_place *before = r->walk_place;
    r->walk_place = p;
    if (p != NULL) {
        p->pins++;
    }
    if (before != NULL) {
        before->pins--;
        moves_place_drop(m, before);
    }
}

static bool places_walk(struct moves *m, struct queue_request *r)
{
    if (r->walk_place == NULL && !r->is_walk_over) {
        struct list_node *first = list_first(&m->places);
        walk_pin(m, r, first == NULL ? NULL : CONTAINER_OF(first, struct queue_place, link));
    }
    while (r->walk_place != NULL && m->budget > 0) {
        struct queue_place *p = r->walk_place;
        struct list_node *next = p->link.next;
        (void)place_take(m, r, p);
        walk_pin(m, r,
                 next == &m->places.head ? NULL : CONTAINER_OF(next, struct queue_place, link));
        m->budget--;
    }
    r->is_walk_over = r->walk_place == NULL;
    return r->is_walk_over;
}

static int partition_compare(const void *a, const void *b)
{
    int32_t x = *(const int32_t *)a;
    int32_t y = *(const int32_t *)b;
    return (x > y) - (x < y);
}

static void topic_enter(struct moves *m, struct queue_request *r, struct slice topic)
{
    const struct queue_topic *t = NULL;
    HASH_FIND(hh, m->topics, topic.ptr, topic.len, t);
    size_t count = t == NULL ? 0 : HASH_COUNT(t->places);
    r->walk_partitions = xalloc((count + 1) * sizeof *r->walk_partitions);
    r->walk_partition_count = r->walk_partition_at = 0;
    for (const struct queue_place *p = count == 0 ? NULL : t->places; p != NULL; p = p->hh.next) {
        r->walk_partitions[r->walk_partition_count++] = p->partition;
    }
    qsort(r->walk_partitions, count, sizeof *r->walk_partitions, partition_compare);
}

/* All of the topic that the queue knows. False: not all yet. */
static bool topic_walk(struct moves *m, struct queue_request *r, struct slice topic)
{
    if (r->walk_partitions == NULL) {
        topic_enter(m, r, topic);
    }
    for (; r->walk_partition_at < r->walk_partition_count; r->walk_partition_at++, m->budget--) {
        struct queue_place *p =
            moves_place_find(m, topic, r->walk_partitions[r->walk_partition_at]);
        if (m->budget <= 0) {
            return false;
        }
        if (p != NULL) {
            (void)place_take(m, r, p);
        }
    }
    free(r->walk_partitions);
    r->walk_partitions = NULL;
    return true;
}

static bool names_walk(struct moves *m, struct queue_request *r)
{
    for (; r->cursor < r->body.count && m->budget > 0; r->cursor++, m->budget--) {
        const struct moves_entry *e = &r->body.entries[r->cursor];
        if (e->partition == MOVES_WHOLE_TOPIC) {
            if (!topic_walk(m, r, e->topic)) {
                return false;
            }
            continue;
        }
        struct queue_place *p = moves_place_find(m, e->topic, e->partition);
        if (p != NULL && (p->seen_request == r->serial || place_take(m, r, p))) {
            continue;
        }
        struct queue_item *item = moves_item_add(m, r, NULL);
        item->topic = e->topic;
        item->partition = e->partition;
        moves_item_fail(r, item, KERR_NO_REASSIGNMENT_IN_PROGRESS, "no move is in progress");
    }
    return r->cursor == r->body.count;
}

bool moves_select(struct moves *m, struct queue_request *r)
{
    if (r->body.action == MOVES_ACTION_ALTER || r->body.action == MOVES_ACTION_SUBMIT) {
        return entries_take(m, r);
    }
    if (r->body.action == MOVES_ACTION_SETTINGS) {
        return true; /* it is about the job, not about its partitions */
    }
    if (r->body.count > 0) {
        return names_walk(m, r);
    }
    return r->selected != NULL ? job_walk(m, r) : places_walk(m, r);
}
