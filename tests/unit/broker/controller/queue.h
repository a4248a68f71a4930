/*
 * The queue of moves in the cluster of cluster.h: topic t of some partitions on [a,b], moved to [b,c]. Nobody
 * copies there: a move runs until it is cancelled. Include it after cluster.h.
 */
#pragma once

#include "broker/controller/moves_call.h"

struct queue_bench {
    struct cluster *k;
    int32_t a;
    int32_t b;
    int32_t c;
    int32_t partitions;
};

static inline struct controller *queue_controller(struct queue_bench *q)
{
    return q->k->brokers[cluster_wait_controller(q->k)].controller;
}

static inline void queue_start(struct queue_bench *q, int32_t partitions, uint64_t seed)
{
    *q = (struct queue_bench){.k = cluster_new(4, seed), .partitions = partitions};
    int32_t id = cluster_wait_controller(q->k);
    cluster_run(q->k, 1000);
    q->a = id % 4 + 1; /* the controller's broker has no part */
    q->b = q->a % 4 + 1;
    q->c = q->b % 4 + 1;
    int32_t list[] = {q->a, q->b};
    (void)cluster_create(q->k, id, "t", partitions, (struct ids){.count = 2, .list = list});
    CHECK(q->k->reply_error == 0);
    cluster_run(q->k, 1000);
}

static inline void queue_end(struct queue_bench *q)
{
    cluster_free(q->k);
}

/* Asks about all partitions (count), or about none. The errors of the results. */
static inline const char *queue_ask(struct queue_bench *q, const struct moves_call *call,
                                    int32_t count)
{
    int32_t list[] = {q->b, q->c};
    struct control_alter_entry *entries = xalloc(((size_t)count + 1) * sizeof *entries);
    for (int32_t i = 0; i < count; i++) {
        entries[i] = (struct control_alter_entry){
            .topic = slice_str("t"), .partition = i, .replicas = list, .replica_count = 2};
    }
    struct control_request request = {.kind = CONTROL_ALTER_REASSIGNMENTS,
                                      .alter = {.entries = entries,
                                                .count = count,
                                                .moves = call,
                                                .submitted_by = slice_str("User:a"),
                                                .client_id = slice_str("c")}};
    const char *text = cluster_request(q->k, cluster_wait_controller(q->k), &request);
    free(entries);
    return text;
}

static inline struct moves_call queue_call(enum moves_action action, const char *job)
{
    return (struct moves_call){.action = action,
                               .job = slice_str(job),
                               .rate = MOVES_RATE_KEEP,
                               .priority = MODEL_JOB_BALANCE};
}

static inline const char *queue_submit(struct queue_bench *q, const char *job)
{
    struct moves_call call = queue_call(MOVES_ACTION_SUBMIT, job);
    return queue_ask(q, &call, q->partitions);
}

/* How many partitions move, as the controller lists them. */
static inline int32_t queue_moving(struct queue_bench *q)
{
    struct control_request request = {.kind = CONTROL_LIST_REASSIGNMENTS,
                                      .list = {.wants_all = true}};
    const char *text = cluster_request(q->k, cluster_wait_controller(q->k), &request);
    int32_t count = 0;
    for (; *text != '\0'; text++) {
        count += *text == ';';
    }
    return count;
}

static inline void queue_failover(struct queue_bench *q)
{
    int32_t id = cluster_wait_controller(q->k);
    cluster_kill(q->k, id);
    cluster_run(q->k, 2 * CLUSTER_SESSION_MS);
    cluster_start(q->k, id);
    cluster_run(q->k, 2000);
}
