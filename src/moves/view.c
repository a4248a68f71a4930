/*
 * What is listed: jobs, moves that wait, moves that run. Looks only, changes nothing. Pure.
 */
#include "moves/core.h"
#include "moves/reason.h"

#include <stdlib.h>

const char *moves_state_text(int32_t state)
{
    static const char *const texts[] = {
        [MOVES_QUEUED] = "queued", [MOVES_RUNNING] = "running",     [MOVES_PAUSED] = "paused",
        [MOVES_DONE] = "done",     [MOVES_CANCELLED] = "cancelled",
    };
    return state >= 0 && state < (int32_t)ARRAY_LEN(texts) ? texts[state] : "unknown";
}

void moves_each_job(const struct moves *m, moves_job_fn fn, void *arg)
{
    struct list_node *n = NULL;
    list_foreach (n, &m->jobs) {
        const struct queue_job *job = CONTAINER_OF(n, struct queue_job, link);
        if (!job->is_coming) {
            fn(arg, &(struct moves_job_view){&job->node, moves_job_state(job)});
        }
    }
    for (n = m->history.head.prev; n != &m->history.head; n = n->prev) {
        const struct queue_job *job = CONTAINER_OF(n, struct queue_job, link);
        fn(arg, &(struct moves_job_view){&job->node, moves_job_state(job)});
    }
}

static struct moves_view view_of(const struct queue_move *v)
{
    bool is_paused = (v->marks & MODEL_JOB_PAUSED) != 0;
    bool is_begun = v->state == QUEUE_RUNNING;
    bool is_running = is_begun && !moves_is_stopped(v);
    return (struct moves_view){
        .topic = v->topic,
        .partition = v->partition,
        .job = &v->job->node,
        .state = is_paused    ? MOVES_PAUSED
                 : is_running ? MOVES_RUNNING
                              : MOVES_QUEUED,
        .is_begun = is_begun,
        .is_between = !is_begun && (v->marks & MODEL_JOB_BEGUN) != 0,
        .target = moves_goal(v),
        .original = &v->original,
        .started_ms = v->started_ms,
        .bytes_to_copy = v->bytes,
        .reason = v->reason,
        .reason_error = v->reason_error,
        .since_ms = v->since_ms,
    };
}

void moves_each_queued(const struct moves *m, moves_fn fn, void *arg)
{
    struct list_node *n = NULL;
    list_foreach (n, &m->places) {
        const struct queue_move *v = CONTAINER_OF(n, struct queue_place, link)->waiting;
        if (v != NULL) {
            struct moves_view view = view_of(v);
            fn(arg, &view);
        }
    }
}

void moves_each_open(const struct model_job *job, moves_fn fn, void *arg)
{
    const struct queue_job *of = CONTAINER_OF(job, const struct queue_job, node);
    for (int32_t i = 0; i < of->piece_count; i++) {
        for (int32_t k = 0; k < of->pieces[i]->count; k++) {
            if (of->pieces[i]->moves[k]->state != QUEUE_OVER) {
                struct moves_view view = view_of(of->pieces[i]->moves[k]);
                fn(arg, &view);
            }
        }
    }
}

void moves_each_topic(const struct moves *m, void (*fn)(void *arg, struct slice name), void *arg)
{
    for (const struct queue_topic *t = m->topics; t != NULL; t = t->hh.next) {
        fn(arg, slice_str(t->name));
    }
}

static int partition_compare(const void *a, const void *b)
{
    int32_t x = *(const int32_t *)a;
    int32_t y = *(const int32_t *)b;
    return (x > y) - (x < y);
}

int32_t moves_topic_queued(const struct moves *m, struct slice topic, int32_t **ret_list)
{
    const struct queue_topic *t = NULL;
    HASH_FIND(hh, m->topics, topic.ptr, topic.len, t);
    size_t max = t == NULL ? 0 : HASH_COUNT(t->places);
    int32_t *list = xalloc((max + 1) * sizeof *list);
    int32_t count = 0;
    for (const struct queue_place *p = max == 0 ? NULL : t->places; p != NULL; p = p->hh.next) {
        if (p->waiting != NULL) {
            list[count++] = p->partition;
        }
    }
    qsort(list, (size_t)count, sizeof *list, partition_compare);
    *ret_list = list;
    return count;
}

bool moves_find_queued(const struct moves *m, struct slice topic, int32_t partition,
                       struct moves_view *ret)
{
    const struct queue_place *p = moves_place_find(m, topic, partition);
    if (p == NULL || p->waiting == NULL) {
        return false;
    }
    *ret = view_of(p->waiting);
    return true;
}

bool moves_find_running(const struct moves *m, struct slice topic, int32_t partition,
                        struct moves_view *ret)
{
    const struct queue_place *p = moves_place_find(m, topic, partition);
    if (p == NULL || (p->running == NULL && !p->is_moving)) {
        return false;
    }
    if (p->running != NULL) {
        *ret = view_of(p->running);
        return true;
    }
    *ret = (struct moves_view){.topic = slice_str(p->topic->name),
                               .partition = partition,
                               .state = MOVES_RUNNING,
                               .is_begun = true,
                               .started_ms = -1,
                               .bytes_to_copy = -1,
                               .since_ms = -1};
    return true;
}

void moves_each_unheard(const struct moves *m, moves_fn fn, void *arg)
{
    struct list_node *n = NULL;
    list_foreach (n, &m->unheard) {
        struct moves_view view = view_of(CONTAINER_OF(n, struct queue_move, unheard));
        fn(arg, &view);
    }
}

int32_t moves_queued_count(const struct moves *m)
{
    return m->waiting_count;
}
