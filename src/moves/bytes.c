/*
 * What a job has to copy and has copied: sums over its moves, kept move by move, so that a move that ends stays
 * counted and a new controller counts on from what the pieces say.
 *
 * A move that ends before anybody heard of its size is asked about a while longer. Invariants: in an open job
 * bytes_to_copy and bytes_copied are the sums of its moves' to_copy and copied; neither goes down; copied is
 * never above to_copy, and equals it when the move is done. Pure.
 */
#include "moves/core.h"

#define BYTES_MAX ((int64_t)1 << 48) /* of one move: no sum of the moves of a job overflows */
#define STORED_MIN                                                                                 \
    ((int64_t)16 << 20) /* so much more is copied before it is stored again, and ... */
#define STORED_PER 8    /* ... this part of the whole */

static int64_t bound(int64_t bytes)
{
    return MIN(MAX(bytes, 0), BYTES_MAX);
}

static int64_t sum(int64_t a, int64_t b)
{
    int64_t result = 0;
    return __builtin_add_overflow(a, b, &result) ? INT64_MAX : result;
}

static void raise_to(struct queue_move *v, int64_t to_copy, int64_t copied)
{
    struct model_job *node = &v->job->node;
    copied = MAX(bound(copied), v->copied);
    to_copy = MAX(MAX(bound(to_copy), v->to_copy), copied);
    node->bytes_copied = sum(node->bytes_copied, copied - v->copied);
    node->bytes_to_copy = sum(node->bytes_to_copy, to_copy - v->to_copy);
    v->copied = copied;
    v->to_copy = to_copy;
}

/* Replicas that the whole move brings. */
static int32_t gained(const struct queue_move *v)
{
    int32_t count = 0;
    for (int32_t i = 0; i < v->target.count; i++) {
        count += !ids_has(&v->original, v->target.list[i]);
    }
    return count;
}

void moves_bytes_plan(struct queue_move *v, int64_t bytes)
{
    int64_t whole = v->before + bound(bytes);
    v->bytes = bytes;
    if (bytes > 0 && v->adding.count > 0 && (v->marks & MODEL_JOB_RETURNING) == 0) {
        whole = MAX(whole, bound(bytes / v->adding.count) * gained(v));
    }
    raise_to(v, whole, 0);
}

void moves_set_copied(struct moves *m, struct slice topic, int32_t partition, int64_t to_copy,
                      int64_t copied)
{
    const struct queue_place *p = moves_place_find(m, topic, partition);
    if (p == NULL || p->running == NULL) {
        return;
    }
    struct queue_move *v = p->running;
    v->step_bytes = MAX(v->step_bytes, MAX(bound(to_copy), bound(copied)));
    raise_to(v, v->before + bound(to_copy), v->before + bound(copied));
    if (v->copied - v->stored_copied >= MAX(v->to_copy / STORED_PER, STORED_MIN)) {
        v->stored_copied = v->copied;
        moves_move_changed(m, v);
    }
}

void moves_bytes_step_over(struct queue_move *v, bool is_reached)
{
    if (is_reached) {
        int64_t reached = v->before + MAX(v->step_bytes, bound(v->bytes));
        raise_to(v, reached, reached);
    }
    v->before = v->copied;
    v->step_bytes = 0;
    v->bytes = -1;
}

void moves_bytes_restore(struct queue_move *v, const struct model_job_move *from)
{
    raise_to(v, from->to_copy, from->copied);
    v->before = bound(from->before);
    v->stored_copied = v->copied;
}

/* ---- moves whose size came too late ---- */

void moves_unheard_remove(struct moves *m, struct queue_move *v)
{
    struct queue_job *job = v->job;
    if (!list_has(&v->unheard)) {
        return;
    }
    list_remove(&m->unheard, &v->unheard);
    job->unheard--;
}

static bool is_over(const struct queue_job *job)
{
    return job->node.fate == MODEL_JOB_OVER || job->node.fate == MODEL_JOB_STOPPED;
}

/* The sums of a job that is over are complete, as far as they will be. */
static void sums_store(struct moves *m, struct queue_job *job)
{
    if (job->unheard == 0 && is_over(job)) {
        moves_job_store(m, job, NULL);
    }
}

void moves_bytes_done(struct moves *m, struct queue_move *v)
{
    if (is_over(v->job)) {
        return; /* it is loaded with its sums */
    }
    raise_to(v, v->to_copy, v->to_copy);
    if (v->to_copy > 0 || v->bytes >= 0 || gained(v) == 0) {
        return;
    }
    if (m->unheard.count >= QUEUE_UNHEARD_MAX) {
        struct queue_move *first =
            CONTAINER_OF(list_first(&m->unheard), struct queue_move, unheard);
        struct queue_job *job = first->job;
        moves_unheard_remove(m, first);
        sums_store(m, job);
    }
    list_push_back(&m->unheard, &v->unheard);
    v->job->unheard++;
}

static bool is_about(const struct queue_move *v, struct slice topic, int32_t partition)
{
    return v->partition == partition && slice_equal(v->topic, topic);
}

bool moves_wants_size(const struct moves *m, struct slice topic, int32_t partition)
{
    const struct queue_place *p = moves_place_find(m, topic, partition);
    bool is_wanted = p != NULL && p->waiting != NULL && p->waiting->bytes < 0;
    struct list_node *n = NULL;
    list_foreach (n, &m->unheard) {
        is_wanted =
            is_wanted || is_about(CONTAINER_OF(n, struct queue_move, unheard), topic, partition);
    }
    return is_wanted;
}

void moves_bytes_heard(struct moves *m, const struct moves_event *event)
{
    const struct queue_place *p = moves_place_find(m, event->topic, event->partition);
    if (p != NULL && p->waiting != NULL && p->waiting->bytes < 0) {
        moves_bytes_plan(p->waiting, bound(event->bytes) * p->waiting->adding.count);
    }
    struct list_node *n = NULL;
    struct list_node *next = NULL;
    list_foreach_safe (n, next, &m->unheard) {
        struct queue_move *v = CONTAINER_OF(n, struct queue_move, unheard);
        if (is_about(v, event->topic, event->partition)) {
            int64_t bytes = bound(event->bytes) * gained(v);
            raise_to(v, bytes, bytes);
            moves_unheard_remove(m, v);
            sums_store(m, v->job);
        }
    }
}

void moves_unheard_trim(struct moves *m)
{
    struct list_node *n = NULL;
    while ((n = list_first(&m->unheard)) != NULL) {
        struct queue_move *v = CONTAINER_OF(n, struct queue_move, unheard);
        if (m->wall_ms - v->since_ms < QUEUE_UNHEARD_MS) {
            break;
        }
        moves_unheard_remove(m, v);
        sums_store(m, v->job);
    }
}
