/*
 * Slots: what moves that run take, what moves that wait lack, and who starts next.
 *
 * A waiting move is parked at the first thing it lacks. When some of it is given back, its park is woken,
 * and of all woken parks the move that comes first in the queue is looked at, until nothing more fits:
 * so the order of the queue holds among all moves that could start, and each look either starts a move or
 * parks it where it cannot start. Invariant: a parked move lacks what its park stands for, or its park is
 * woken. Pure.
 */
#include "moves/core.h"
#include "moves/reason.h"
#include "moves/steps.h"

#include <stdlib.h>

static void park_init(struct queue_park *park, enum queue_park_kind kind, struct queue_broker *b)
{
    *park = (struct queue_park){.kind = kind, .broker = b};
    heap_init(&park->moves);
}

void moves_slots_init(struct moves *m)
{
    park_init(&m->ready, PARK_READY, NULL);
    park_init(&m->cluster, PARK_CLUSTER, NULL);
    park_init(&m->reserved, PARK_RESERVED, NULL);
    park_init(&m->retry, PARK_RETRY, NULL);
    for (int32_t i = 0; i < QUEUE_SIZE_CLASSES; i++) {
        park_init(&m->bytes[i], PARK_BYTES, NULL);
    }
    heap_init(&m->order);
    list_init(&m->woken);
    list_init(&m->unsized);
    list_init(&m->stalled);
}

void moves_slots_free(struct moves *m)
{
    struct queue_broker *b = NULL;
    struct queue_broker *next = NULL;
    HASH_ITER(hh, m->brokers, b, next)
    {
        HASH_DEL(m->brokers, b);
        heap_deinit(&b->in.moves);
        heap_deinit(&b->out.moves);
        heap_deinit(&b->down.moves);
        free(b);
    }
    heap_deinit(&m->ready.moves);
    heap_deinit(&m->cluster.moves);
    heap_deinit(&m->reserved.moves);
    heap_deinit(&m->retry.moves);
    for (int32_t i = 0; i < QUEUE_SIZE_CLASSES; i++) {
        heap_deinit(&m->bytes[i].moves);
    }
    heap_deinit(&m->order);
    free(m->starts);
}

struct queue_broker *moves_broker_get(struct moves *m, int32_t id)
{
    struct queue_broker *b = NULL;
    HASH_FIND(hh, m->brokers, &id, sizeof id, b);
    if (b == NULL) {
        b = xalloc(sizeof *b);
        b->id = id;
        park_init(&b->in, PARK_IN, b);
        park_init(&b->out, PARK_OUT, b);
        park_init(&b->down, PARK_DOWN, b);
        HASH_ADD(hh, m->brokers, id, sizeof b->id, b);
    }
    return b;
}

/* ---- parks ---- */

static void park_wake(struct moves *m, struct queue_park *park)
{
    if (park->moves.count == 0) {
        return;
    }
    park->credits++;
    if (!list_has(&park->woken)) {
        list_push_back(&m->woken, &park->woken);
    }
}

static struct queue_move *park_first(const struct queue_park *park)
{
    struct heap_node *n = heap_min(&park->moves);
    return n == NULL ? NULL : CONTAINER_OF(n, struct queue_move, parked);
}

static void park_put(struct queue_park *park, struct queue_move *v, int64_t key)
{
    CHECK(v->park == NULL);
    v->park = park;
    heap_insert(&park->moves, &v->parked, key);
}

static void park_remove(struct queue_move *v)
{
    if (v->park != NULL) {
        heap_remove(&v->park->moves, &v->parked);
        v->park = NULL;
    }
}

static struct queue_park *size_park(struct moves *m, int64_t bytes)
{
    int32_t at = 0;
    for (int64_t b = bytes; b > 1 && at < QUEUE_SIZE_CLASSES - 1; b >>= 1) {
        at++;
    }
    return &m->bytes[at];
}

static void sizes_wake(struct moves *m)
{
    for (int32_t i = 0; i < QUEUE_SIZE_CLASSES; i++) {
        park_wake(m, &m->bytes[i]);
    }
}

void moves_wake_all(struct moves *m)
{
    struct queue_broker *b = NULL;
    struct queue_broker *next = NULL;
    HASH_ITER(hh, m->brokers, b, next)
    {
        park_wake(m, &b->in);
        park_wake(m, &b->out);
    }
    park_wake(m, &m->cluster);
    sizes_wake(m);
}

/* ---- what is taken ---- */

static bool has_dead(const struct moves *m, const struct ids *brokers)
{
    bool has = false;
    for (int32_t i = 0; !has && i < brokers->count; i++) {
        has = !m->lookup.broker_is_live(m->lookup.arg, brokers->list[i]);
    }
    return has;
}

static void stall(struct moves *m, struct queue_place *p)
{
    moves_give_back(m, p);
    if (!list_has(&p->stalled)) {
        list_push_back(&m->stalled, &p->stalled);
    }
}

/* What moves to brokers that are gone stands in nobody's way. */
static void stall_all(struct moves *m)
{
    struct list_node *n = NULL;
    list_foreach (n, &m->places) {
        struct queue_place *p = CONTAINER_OF(n, struct queue_place, link);
        if (p->holds && p->is_moving && !moves_is_asked(p->waiting) && has_dead(m, &p->use.in)) {
            stall(m, p);
        }
    }
}

void moves_wake_brokers(struct moves *m)
{
    struct queue_broker *b = NULL;
    struct queue_broker *next_broker = NULL;
    bool is_dead_used = false;
    HASH_ITER(hh, m->brokers, b, next_broker)
    {
        bool is_live = m->lookup.broker_is_live(m->lookup.arg, b->id);
        is_dead_used = is_dead_used || (!is_live && b->in_used > 0);
        if (is_live) {
            park_wake(m, &b->down);
        }
    }
    if (is_dead_used) {
        stall_all(m);
    }
    for (size_t left = m->stalled.count; left > 0;
         left--) { /* each goes, or comes to the end again */
        moves_place_look(m, CONTAINER_OF(list_first(&m->stalled), struct queue_place, stalled));
    }
}

void moves_take(struct moves *m, struct queue_place *p, struct queue_use *use)
{
    if (has_dead(m, &use->in)) {
        stall(m, p);
        return;
    }
    moves_give_back(m, p);
    p->holds = true;
    ids_move(&p->use.in, &use->in);
    p->use.out = use->out;
    p->use.bytes = use->bytes;
    for (int32_t i = 0; i < p->use.in.count; i++) {
        moves_broker_get(m, p->use.in.list[i])->in_used++;
    }
    if (p->use.out >= 0) {
        moves_broker_get(m, p->use.out)->out_used++;
    }
    if (p->use.bytes < 0) {
        list_push_back(&m->unsized, &p->unsized);
        m->size_at_ms = m->now_ms + QUEUE_SIZE_MS;
    }
    m->bytes_used += MAX(p->use.bytes, 0);
    m->holding++;
    m->is_limits_dirty = true;
}

void moves_give_back(struct moves *m, struct queue_place *p)
{
    if (!p->holds) {
        return;
    }
    p->holds = false;
    for (int32_t i = 0; i < p->use.in.count; i++) {
        struct queue_broker *b = moves_broker_get(m, p->use.in.list[i]);
        b->in_used--;
        park_wake(m, &b->in);
    }
    if (p->use.out >= 0) {
        struct queue_broker *b = moves_broker_get(m, p->use.out);
        b->out_used--;
        park_wake(m, &b->out);
    }
    m->bytes_used -= MAX(p->use.bytes, 0);
    list_remove(&m->unsized, &p->unsized);
    m->holding--;
    park_wake(m, &m->cluster);
    sizes_wake(m);
    ids_clear(&p->use.in);
    m->is_limits_dirty = true;
}

/* ---- the queue ---- */

static void reservation_end(struct moves *m)
{
    m->reservation = NULL;
    for (size_t i = m->reserved.moves.count; i > 0; i--) {
        park_wake(m, &m->reserved); /* one credit each */
    }
}

void moves_enter(struct moves *m, struct queue_move *v)
{
    CHECK(v->park == NULL && v->state != QUEUE_OVER);
    if ((v->marks & MODEL_JOB_PAUSED) != 0) {
        moves_move_reason(m, v, MOVES_REASON_PAUSED, 0);
        return;
    }
    v->awaits_slots = v->state == QUEUE_RUNNING;
    park_put(&m->ready, v, v->key);
    park_wake(m, &m->ready);
}

void moves_look_again(struct moves *m, struct queue_move *v)
{
    if (v->park != NULL && v->park != &m->retry) {
        park_remove(v);
        park_put(&m->ready, v, v->key);
        park_wake(m, &m->ready);
    }
}

/* It waits for no room any more. */
static void order_leave(struct moves *m, struct queue_move *v)
{
    heap_remove(&m->order, &v->order);
    v->passed = 0;
    if (m->reservation == v) {
        reservation_end(m);
    }
}

void moves_leave(struct moves *m, struct queue_move *v)
{
    park_remove(v);
    order_leave(m, v);
}

/* ---- what a move needs ---- */

const struct ids *moves_goal(const struct queue_move *v)
{
    return (v->marks & MODEL_JOB_RETURNING) != 0 ? &v->original : &v->target;
}

void moves_step_of(const struct queue_move *v, const struct assignment *a, struct ids *ret)
{
    if (!v->job->node.is_one_at_a_time) {
        ids_copy(ret, moves_goal(v));
        return;
    }
    struct ids from = {0};
    (void)assignment_undo_target(a, &from); /* the list at rest, its order included */
    moves_next_step(&from, moves_goal(v), ret);
    ids_deinit(&from);
}

int64_t moves_bytes_of(const struct moves_partition *f, const struct ids *adding)
{
    return adding->count == 0 ? 0 : f->bytes < 0 ? -1 : f->bytes * adding->count;
}

/* Fills what v would take and remembers it; step: where it would lead. */
static void needs(struct queue_move *v, const struct moves_partition *f, struct ids *ret_step,
                  struct queue_use *ret)
{
    struct ids origin = {0};
    (void)assignment_undo_target(f->assignment, &v->from);
    if (v->state == QUEUE_RUNNING) {
        ids_copy(ret_step, &v->step);
        ids_copy(&ret->in, &f->assignment->adding);
    } else {
        assignment_origin(f->assignment, &origin);
        moves_step_of(v, f->assignment, ret_step);
        ids_minus(&ret->in, ret_step, &origin);
        ids_deinit(&origin);
    }
    ret->out = ret->in.count > 0 ? f->leader : -1;
    ret->bytes = moves_bytes_of(f, &ret->in);
    ids_copy(&v->adding, &ret->in);
    v->source = ret->out;
    moves_bytes_plan(v, ret->bytes);
}

static int32_t limit_of(int32_t limit, const struct queue_move *v, int32_t otherwise)
{
    return limit >= 0 || v->job->node.is_stock ? limit : otherwise;
}

static int32_t in_limit(const struct moves *m, const struct queue_move *v)
{
    return limit_of(m->limits.in_per_broker, v, MOVES_IN_DEFAULT);
}

static int32_t out_limit(const struct moves *m, const struct queue_move *v)
{
    return limit_of(m->limits.out_per_broker, v, MOVES_OUT_DEFAULT);
}

static bool is_full(int32_t used, int32_t limit)
{
    return limit >= 0 && used >= limit;
}

/* A partition larger than the limit may still move alone. What runs and is not known in size fills it. own:
 * what the partition takes already; NULL = nothing. */
static bool is_bytes_full(const struct moves *m, const struct queue_use *own, int64_t bytes)
{
    int64_t limit = m->limits.bytes_in_flight;
    int64_t used = m->bytes_used - (own == NULL ? 0 : MAX(own->bytes, 0));
    bool has_unsized = m->unsized.count > (size_t)(own != NULL && own->bytes < 0);
    return limit >= 0 && bytes > 0 && (has_unsized || (used > 0 && used + bytes > limit));
}

/* What the reservation waits for is not to be taken by v. */
static bool is_in_the_way(const struct moves *m, const struct queue_move *v,
                          const struct queue_use *use)
{
    const struct queue_move *first = m->reservation;
    if (first == NULL || first == v) {
        return false;
    }
    bool is_shared = m->limits.per_cluster >= 0 ||
                     (m->limits.bytes_in_flight >= 0 && use->bytes > 0 && first->bytes > 0) ||
                     (use->out >= 0 && use->out == first->source);
    for (int32_t i = 0; !is_shared && i < use->in.count; i++) {
        is_shared = ids_has(&first->adding, use->in.list[i]);
    }
    return is_shared;
}

/* The first thing that v lacks; NULL = nothing. What its partition takes already counts as free. */
static struct queue_park *lacking(struct moves *m, const struct queue_move *v,
                                  const struct queue_use *use)
{
    const struct queue_place *p = v->place;
    const struct queue_use *own = p->holds ? &p->use : NULL;
    if (is_full(m->holding - (own != NULL), m->limits.per_cluster)) {
        return &m->cluster;
    }
    if (is_bytes_full(m, own, use->bytes)) {
        return size_park(m, use->bytes);
    }
    for (int32_t i = 0; i < use->in.count; i++) {
        struct queue_broker *b = moves_broker_get(m, use->in.list[i]);
        bool has = own != NULL && ids_has(&own->in, b->id);
        if (is_full(b->in_used - has, in_limit(m, v))) {
            return &b->in;
        }
    }
    if (use->out >= 0) {
        struct queue_broker *b = moves_broker_get(m, use->out);
        bool has = own != NULL && own->out == b->id;
        if (is_full(b->out_used - has, out_limit(m, v))) {
            return &b->out;
        }
    }
    return is_in_the_way(m, v, use) ? &m->reserved : NULL;
}

/* Whether the first of a woken park is worth a look. */
static bool has_room(const struct moves *m, const struct queue_park *park,
                     const struct queue_move *first)
{
    switch (park->kind) {
    case PARK_READY:
        return true;
    case PARK_CLUSTER:
        return !is_full(m->holding, m->limits.per_cluster);
    case PARK_BYTES:
        return !is_bytes_full(m, NULL, first->bytes);
    case PARK_IN:
        return !is_full(park->broker->in_used, in_limit(m, first));
    case PARK_OUT:
        return !is_full(park->broker->out_used, out_limit(m, first));
    case PARK_DOWN:
        return m->lookup.broker_is_live(m->lookup.arg, park->broker->id);
    case PARK_RESERVED:
        return m->reservation == NULL;
    case PARK_RETRY:
        return false;
    }
    return false;
}

/* ---- starting ---- */

/* The first of those that wait for room was passed once more. */
static void pass_count(struct moves *m, const struct queue_move *v)
{
    struct heap_node *n = heap_min(&m->order);
    struct queue_move *first = n == NULL ? NULL : CONTAINER_OF(n, struct queue_move, order);
    if (first != NULL && first->key < v->key) {
        first->passed++;
        if (first->passed >= MOVES_PASSES_MAX && m->reservation == NULL) {
            m->reservation = first;
        }
    }
}

static void start_ask(struct moves *m, struct queue_move *v)
{
    moves_move_state(m, v, QUEUE_STARTING);
    if (m->start_count == m->start_cap) {
        m->start_cap = m->start_cap == 0 ? 64 : m->start_cap * 2;
        m->starts = xrealloc(m->starts, (size_t)m->start_cap * sizeof *m->starts);
    }
    m->starts[m->start_count++] = v;
}

/* What a new controller could not find out by itself is stored before the move starts: the list to which
 * an undo leads, when it is no longer the one of the submission, and that first steps were made. */
static bool begin_changes(struct queue_move *v, const struct assignment *a)
{
    if ((v->marks & (MODEL_JOB_BEGUN | MODEL_JOB_RETURNING)) != 0) {
        return false;
    }
    struct ids undo = {0};
    (void)assignment_undo_target(a, &undo);
    bool is_new = !ids_equal(&undo, &v->original);
    ids_move(&v->original, &undo);
    if (v->job->node.is_one_at_a_time) {
        v->marks |= MODEL_JOB_BEGUN;
        is_new = true;
        if (v->place->running != NULL) {
            ids_copy(&v->replaces, moves_goal(v->place->running)); /* it may still get there */
        }
    }
    return is_new;
}

/* Until the move that is overridden has stopped, what it takes stays taken. */
static void use_merge(const struct queue_place *p, struct queue_use *use)
{
    for (int32_t i = 0; p->holds && i < p->use.in.count; i++) {
        if (!ids_has(&use->in, p->use.in.list[i])) {
            ids_add(&use->in, p->use.in.list[i]);
        }
    }
    if (p->holds) {
        use->out = use->out < 0 ? p->use.out : use->out;
        use->bytes = MAX(use->bytes, p->use.bytes);
    }
}

static void start(struct moves *m, struct queue_move *v, const struct moves_partition *f,
                  struct queue_use *use)
{
    use_merge(v->place, use);
    order_leave(m, v);
    pass_count(m, v);
    moves_take(m, v->place, use);
    moves_move_reason(m, v, MOVES_REASON_NONE, 0);
    v->awaits_slots = false;
    if (v->state == QUEUE_RUNNING) {
        return;
    }
    if (begin_changes(v, f->assignment)) {
        moves_move_changed(m, v);
        v->begin_seq = v->piece->seq;
    }
    if (v->begin_seq > v->piece->stored_seq) {
        moves_move_state(m, v, QUEUE_BEGINNING);
        moves_piece_store(m, v->piece);
    } else {
        start_ask(m, v);
    }
}

void moves_begin_stored(struct moves *m, struct queue_piece *piece)
{
    for (int32_t i = 0; i < piece->count; i++) {
        struct queue_move *v = piece->moves[i];
        if (v->state == QUEUE_BEGINNING && v->begin_seq <= piece->stored_seq) {
            start_ask(m, v);
        } else if (v->state == QUEUE_BEGINNING && v->begin_seq <= piece->failed_seq) {
            moves_move_state(m, v, QUEUE_WAITING);
            moves_give_back(m, v->place);
            park_put(&m->retry, v, m->now_ms + QUEUE_RETRY_MS);
            moves_place_look(m, v->place);
        }
    }
}

void moves_look_at(struct moves *m, struct queue_move *v)
{
    struct moves_partition f;
    moves_place_look(m, v->place);
    if (v->park != NULL || v->state == QUEUE_OVER ||
        (v->state == QUEUE_RUNNING && !v->awaits_slots)) {
        return;
    }
    bool is_there = moves_place_facts(m, v->place, &f);
    CHECK(is_there); /* else the look has ended it */
    moves_check_replaced(m, v, f.assignment);
    struct ids step = {0};
    struct queue_use use = {0};
    needs(v, &f, &step, &use);
    struct queue_park *park = NULL;
    bool is_new = v->state == QUEUE_WAITING; /* else it moves, and only wants its slots back */
    for (int32_t i = 0; is_new && park == NULL && i < use.in.count; i++) {
        if (!m->lookup.broker_is_live(m->lookup.arg, use.in.list[i])) {
            park = &moves_broker_get(m, use.in.list[i])->down;
            moves_move_reason(m, v, MOVES_REASON_TARGET_DOWN, 0);
            order_leave(m, v);
        }
    }
    if (is_new && park == NULL && m->limits.bytes_in_flight >= 0 && f.bytes < 0 &&
        use.in.count > 0) {
        /* Its size is being asked for, of the leader. */
        moves_move_reason(m, v, f.leader < 0 ? MOVES_REASON_NO_LEADER : MOVES_REASON_SLOT, 0);
        order_leave(m, v);
        park_put(&m->retry, v, m->now_ms + QUEUE_SIZE_MS);
        ids_deinit(&step);
        ids_deinit(&use.in);
        return;
    }
    if (park == NULL && (is_new || !has_dead(m, &use.in))) {
        park = lacking(m, v, &use);
        if (park != NULL) {
            moves_move_reason(m, v, MOVES_REASON_SLOT, 0);
            if (!heap_has(&v->order)) {
                heap_insert(&m->order, &v->order, v->key);
            }
        }
    }
    if (park != NULL) {
        park_put(park, v, v->key);
    } else {
        ids_move(&v->step, &step);
        start(m, v, &f, &use);
    }
    ids_deinit(&step);
    ids_deinit(&use.in);
}

int64_t moves_sizes_at(const struct moves *m)
{
    bool is_due = m->limits.bytes_in_flight >= 0 && !list_is_empty(&m->unsized);
    return is_due ? m->size_at_ms : INT64_MAX;
}

/* What runs since before its size was known, after a failover say. */
static void sizes_learn(struct moves *m)
{
    struct list_node *n = NULL;
    struct list_node *next = NULL;
    if (m->now_ms < moves_sizes_at(m)) {
        return;
    }
    m->size_at_ms = m->now_ms + QUEUE_SIZE_MS;
    list_foreach_safe (n, next, &m->unsized) {
        struct queue_place *p = CONTAINER_OF(n, struct queue_place, unsized);
        struct moves_partition f;
        if (moves_place_facts(m, p, &f) && f.bytes >= 0) {
            p->use.bytes = moves_bytes_of(&f, &p->use.in);
            m->bytes_used += p->use.bytes;
            list_remove(&m->unsized, n);
        }
    }
    if (list_is_empty(&m->unsized)) {
        sizes_wake(m);
    }
}

static void retries_wake(struct moves *m)
{
    struct queue_move *v = NULL;
    while ((v = park_first(&m->retry)) != NULL && v->parked.key <= m->now_ms) {
        park_remove(v);
        moves_enter(m, v);
    }
}

/* Of the woken parks with room the one whose first move comes first; the others are put to sleep. */
static struct queue_park *park_choose(struct moves *m)
{
    struct queue_park *best = NULL;
    struct list_node *n = NULL;
    struct list_node *next = NULL;
    list_foreach_safe (n, next, &m->woken) {
        struct queue_park *park = CONTAINER_OF(n, struct queue_park, woken);
        const struct queue_move *first = park_first(park);
        if (first == NULL || (park->credits <= 0 && !has_room(m, park, first))) {
            park->credits = 0;
            list_remove(&m->woken, n);
        } else if (best == NULL || first->key < park_first(best)->key) {
            best = park;
        }
    }
    return best;
}

bool moves_schedule(struct moves *m)
{
    retries_wake(m);
    sizes_learn(m);
    struct queue_park *park = NULL;
    while ((park = park_choose(m)) != NULL) {
        if (m->budget <= 0) {
            return true;
        }
        m->budget--;
        park->credits -= park->credits > 0;
        struct queue_move *v = park_first(park);
        park_remove(v);
        moves_look_at(m, v);
    }
    return false;
}

/* ---- asking ---- */

static struct queue_alter *starts_alter(struct moves *m, int32_t first, int32_t count)
{
    struct queue_alter *a = xalloc(sizeof *a);
    a->id = m->next_id++;
    a->count = count;
    a->moves = xmemdup(&m->starts[first], (size_t)count * sizeof *a->moves);
    HASH_ADD(hh, m->alters, id, sizeof a->id, a);
    return a;
}

void moves_starts_flush(struct moves *m)
{
    for (int32_t first = 0; first < m->start_count; first += QUEUE_ALTER_ENTRIES) {
        int32_t count = MIN(m->start_count - first, QUEUE_ALTER_ENTRIES);
        struct queue_alter *a = starts_alter(m, first, count);
        struct moves_entry *entries = moves_effect_array(m, (size_t)count, sizeof *entries);
        for (int32_t i = 0; i < count; i++) {
            struct queue_move *v = a->moves[i];
            v->job->alters_out++;
            entries[i] = (struct moves_entry){.topic = v->topic,
                                              .partition = v->partition,
                                              .replicas = v->step.list,
                                              .replica_count = v->step.count,
                                              .from = &v->from};
        }
        moves_effect_add(m, MOVES_EFFECT_ALTER)->alter =
            (struct moves_alter){.id = a->id, .entries = entries, .count = count};
    }
    m->start_count = 0;
}

static void start_accepted(struct moves *m, struct queue_move *v)
{
    struct queue_place *p = v->place;
    if (p->running != NULL) {
        moves_move_end(m, p->running, MODEL_JOB_CANCELLED); /* v has taken its place */
        moves_give_back(m, p); /* and takes no more than it needs: it is looked at next */
    }
    p->waiting = NULL;
    p->running = v;
    if (v->started_ms < 0 || v->replaces.count > 0) {
        v->started_ms = v->started_ms < 0 ? m->wall_ms : v->started_ms;
        ids_clear(&v->replaces); /* from here on it has begun itself */
        moves_move_changed(m, v);
    }
    moves_move_state(m, v, QUEUE_RUNNING);
}

static void start_refused(struct moves *m, struct queue_move *v, int16_t error)
{
    moves_move_state(m, v, QUEUE_WAITING);
    moves_give_back(m, v->place);
    bool is_down = error == MOVES_STALE;
    for (int32_t i = 0; i < v->adding.count; i++) {
        is_down = is_down || !m->lookup.broker_is_live(m->lookup.arg, v->adding.list[i]);
    }
    if (is_down) {
        moves_enter(m, v); /* it is looked at again */
        return;
    }
    bool is_unsafe = error == KERR_INVALID_REPLICA_ASSIGNMENT;
    moves_move_reason(m, v, is_unsafe ? MOVES_REASON_MIN_ISR : MOVES_REASON_FETCH_ERROR,
                      is_unsafe ? 0 : error);
    park_put(&m->retry, v, m->now_ms + QUEUE_RETRY_MS);
}

void moves_starts_done(struct moves *m, const struct queue_alter *a,
                       const struct moves_event *event)
{
    for (int32_t i = 0; i < a->count; i++) {
        struct queue_move *v = a->moves[i];
        v->job->alters_out--;
        if (v->state != QUEUE_STARTING) {
            continue; /* its topic went meanwhile */
        }
        int16_t error =
            i < event->altered_count ? event->altered[i].error : KERR_UNKNOWN_SERVER_ERROR;
        if (error == KERR_NONE) {
            start_accepted(m, v);
        } else {
            start_refused(m, v, error);
        }
        moves_place_look(m, v->place);
    }
}
