/*
 * The step: takes one event, lets the first request go on, starts what fits, stores what is due. Invariant: a
 * step looks at QUEUE_BUDGET partitions, more or less; what is left is told by has_more. Pure.
 */
#include "moves/core.h"

#include <stdlib.h>

struct moves *moves_new(const struct moves_lookup *lookup)
{
    struct moves *m = xalloc(sizeof *m);
    m->lookup = *lookup;
    m->limits = (struct moves_limits){MOVES_OFF, MOVES_OFF, MOVES_OFF, MOVES_OFF};
    m->next_serial = m->next_order = m->next_id = 1;
    m->lazy_at_ms = INT64_MAX;
    list_init(&m->places);
    list_init(&m->jobs);
    list_init(&m->history);
    list_init(&m->requests);
    list_init(&m->dirty);
    list_init(&m->unheard);
    list_init(&m->finishing);
    moves_slots_init(m);
    return m;
}

static void outstanding_free(struct moves *m)
{
    struct queue_store *s = NULL;
    struct queue_store *s_next = NULL;
    HASH_ITER(hh, m->stores, s, s_next)
    {
        HASH_DEL(m->stores, s);
        free(s);
    }
    struct queue_alter *a = NULL;
    struct queue_alter *a_next = NULL;
    HASH_ITER(hh, m->alters, a, a_next)
    {
        HASH_DEL(m->alters, a);
        free(a->moves);
        free(a);
    }
}

void moves_free(struct moves *m)
{
    if (m == NULL) {
        return;
    }
    struct queue_job *job = NULL;
    struct queue_job *next = NULL;
    moves_requests_free(m);
    moves_load_free(m);
    outstanding_free(m);
    HASH_ITER(hh, m->jobs_by_id, job, next)
    {
        moves_job_free(m, job);
    }
    moves_places_free(m);
    moves_slots_free(m);
    free(m);
}

static void altered(struct moves *m, const struct moves_event *event)
{
    struct queue_alter *a = NULL;
    HASH_FIND(hh, m->alters, &event->alter_id, sizeof event->alter_id, a);
    CHECK(a != NULL);
    HASH_DEL(m->alters, a);
    if (a->moves != NULL) {
        moves_starts_done(m, a, event);
    } else {
        moves_request_judged(m, a, event);
    }
    free(a->moves);
    free(a);
}

/* Told for every partition that starts or stops moving: a place is made for those that move. */
static void partition_changed(struct moves *m, const struct moves_event *event)
{
    struct moves_partition f;
    struct queue_place *p = moves_place_find(m, event->topic, event->partition);
    if (p == NULL && m->lookup.partition(m->lookup.arg, event->topic, event->partition, &f) &&
        assignment_is_reassigning(f.assignment)) {
        p = moves_place_get(m, event->topic, event->partition);
    }
    if (p != NULL) {
        moves_place_look(m, p);
    }
}

static void topic_changed(struct moves *m, struct slice topic)
{
    struct queue_topic *t = NULL;
    HASH_FIND(hh, m->topics, topic.ptr, topic.len, t);
    if (t == NULL) {
        return;
    }
    /* The last place that goes frees the topic. */
    size_t count = HASH_COUNT(t->places);
    struct queue_place **places = xalloc((count + 1) * sizeof(struct queue_place *));
    struct queue_place *p = NULL;
    struct queue_place *next = NULL;
    count = 0;
    HASH_ITER(hh, t->places, p, next)
    {
        places[count++] = p;
    }
    for (size_t i = 0; i < count; i++) {
        moves_place_look(m, places[i]);
    }
    free(places);
}

static void event_take(struct moves *m, const struct moves_event *event)
{
    switch (event->kind) {
    case MOVES_ON_JOB:
        moves_load_job(m, event->job);
        break;
    case MOVES_ON_PIECE:
        moves_load_piece(m, event);
        break;
    case MOVES_ON_LOADED:
        moves_load_start(m);
        break;
    case MOVES_ON_LIMITS:
        m->limits = event->limits;
        moves_wake_all(m);
        break;
    case MOVES_ON_REQUEST:
        moves_request_start(m, &event->request);
        break;
    case MOVES_ON_ALTERED:
        altered(m, event);
        break;
    case MOVES_ON_STORED:
        moves_stored(m, event);
        break;
    case MOVES_ON_PARTITION:
        if (m->load != NULL) {
            m->load->is_disturbed = true; /* all are looked at anyway */
        } else if (event->partition == MOVES_WHOLE_TOPIC) {
            topic_changed(m, event->topic);
        } else {
            partition_changed(m, event);
        }
        break;
    case MOVES_ON_SIZE:
        moves_bytes_heard(m, event);
        break;
    case MOVES_ON_BROKERS:
        moves_wake_brokers(m);
        break;
    case MOVES_ON_TICK:
        break;
    }
}

static int64_t wake_at(const struct moves *m)
{
    const struct heap_node *retry = heap_min(&m->retry.moves);
    int64_t trim_ms = list_is_empty(&m->unheard) ? INT64_MAX : m->now_ms + QUEUE_UNHEARD_MS;
    int64_t at_ms = MIN(m->lazy_at_ms, retry == NULL ? INT64_MAX : retry->key);
    return MIN(MIN(at_ms, trim_ms), moves_sizes_at(m));
}

void moves_step(struct moves *m, int64_t now_ms, int64_t wall_ms, const struct moves_event *event,
                struct moves_effects *out)
{
    arena_reset(&out->arena);
    out->count = 0;
    out->has_more = false;
    m->out = out;
    m->now_ms = now_ms;
    m->wall_ms = wall_ms;
    m->budget = QUEUE_BUDGET;
    event_take(m, event);
    if (m->load != NULL) {
        out->has_more = !moves_load_run(m);
    }
    if (m->is_loaded) {
        out->has_more = moves_requests_run(m);
        if (!moves_requests_hold(m)) {
            out->has_more = moves_schedule(m) || out->has_more;
        }
        moves_limits_flush(m);
        moves_starts_flush(m);
        moves_lazy_run(m);
    }
    out->wake_ms = wake_at(m);
    m->out = NULL;
}

bool moves_is_loaded(const struct moves *m)
{
    return m->is_loaded;
}

bool moves_may_pass(const struct moves *m, const struct moves_entry *entries, int32_t count)
{
    if (m->limits.in_per_broker >= 0 || m->limits.out_per_broker >= 0 ||
        m->limits.per_cluster >= 0 || m->limits.bytes_in_flight >= 0) {
        return false;
    }
    if (list_is_empty(&m->jobs) && list_is_empty(&m->requests)) {
        return true;
    }
    for (int32_t i = 0; i < count; i++) {
        const struct queue_place *p = moves_place_find(m, entries[i].topic, entries[i].partition);
        if (p != NULL && (p->running != NULL || p->waiting != NULL || p->pins > 0)) {
            return false;
        }
    }
    return true;
}
