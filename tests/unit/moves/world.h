/*
 * A world for the queue of moves: partitions and brokers as a controller's core would have them, and a store.
 * What the queue asks for lies in two lists until the test (or the dice) answers it; a crash forgets the queue
 * and loads it again from what was stored. Everything is drawn from one seed.
 */
#pragma once

#include "base/alloc.h"
#include "base/check.h"
#include "base/prng.h"
#include "moves/core.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define WORLD_BROKERS 9 /* ids 1 to 9 */
#define WORLD_TOPIC   "t"
#define WORLD_WALL_MS 1700000000000LL

struct world_partition {
    struct assignment a;
    int64_t bytes;
    bool is_gone;
    bool is_leaderless;
    bool is_stopped; /* in the group of rate 0 */
    int32_t ours;    /* accepted starts of the queue */
};

struct world_alter {
    uint64_t id;
    bool is_validate_only;
    bool allows_dead;
    struct moves_entry *entries;
    int32_t count;
};

/* A stored piece, or with piece -1 a job's node. */
struct world_node {
    char *job;
    int32_t piece;
    struct model_job node;
    struct model_job_piece contents;
};

struct world_write {
    uint64_t id;
    enum moves_store_kind kind;
    struct world_node value;
};

struct world {
    struct moves *m;
    struct moves_effects out;
    struct prng prng;
    int64_t now_ms;
    struct world_partition *partitions;
    int32_t partition_count;
    bool is_live[WORLD_BROKERS + 1];
    struct world_alter *alters; /* not answered; oldest first */
    int32_t alter_count;
    struct world_write *writes; /* not answered */
    int32_t write_count;
    struct world_node *nodes; /* stored */
    int32_t node_count;
    int64_t stored_count;
    bool refuses_writes;
    /* A move reached its target; NULL = nobody wants to know. */
    void (*on_end)(struct world *w, int32_t partition);
    /* The queue took a step; NULL = nobody wants to know. */
    void (*on_step)(struct world *w);
    int32_t replies; /* of all requests so far */
    int16_t error;   /* of the last reply */
    char job[80];    /* of the last reply */
    int32_t result_count;
    int16_t result_errors[64];
    int8_t result_notes[64];
    int64_t slow_us; /* the longest step */
    int32_t limit_groups;
    int64_t limit_rate; /* of the last group */
    int32_t limit_partitions;
};

/* ---- facts ---- */

static inline struct world_partition *world_at(struct world *w, int32_t partition)
{
    assert_true(partition >= 0 && partition < w->partition_count);
    return &w->partitions[partition];
}

/* Leadership does not change while a partition moves. */
static inline int32_t world_leader(const struct world_partition *p)
{
    return p->a.original.count > 0 ? p->a.original.list[0] : p->a.replicas.list[0];
}

static inline bool world_lookup(void *arg, struct slice topic, int32_t partition,
                                struct moves_partition *ret)
{
    struct world *w = arg;
    if (!slice_equal_str(topic, WORLD_TOPIC) || partition < 0 || partition >= w->partition_count ||
        w->partitions[partition].is_gone) {
        return false;
    }
    struct world_partition *p = &w->partitions[partition];
    *ret = (struct moves_partition){&p->a, p->is_leaderless ? -1 : world_leader(p), p->bytes};
    return true;
}

static inline bool world_is_live(void *arg, int32_t broker)
{
    const struct world *w = arg;
    return broker >= 1 && broker <= WORLD_BROKERS && w->is_live[broker];
}

/* ---- stored nodes ---- */

static inline struct slice world_text(struct slice s)
{
    return slice_str(slice_dup(slice_of(s.ptr, s.len)));
}

static inline void world_text_free(struct slice s)
{
    free((void *)(uintptr_t)s.ptr);
}

static inline void world_node_free(struct world_node *n)
{
    for (int32_t i = 0; i < n->contents.count; i++) {
        world_text_free(n->contents.moves[i].topic);
        ids_deinit(&n->contents.moves[i].target);
        ids_deinit(&n->contents.moves[i].original);
        ids_deinit(&n->contents.moves[i].replaces);
    }
    free(n->contents.moves);
    free(n->job);
    world_text_free(n->node.id);
    world_text_free(n->node.submitted_by);
    world_text_free(n->node.client_id);
    *n = (struct world_node){0};
}

static inline struct world_node world_node_copy(const struct moves_store *s)
{
    struct world_node n = {.job = slice_dup(s->job), .piece = -1};
    if (s->kind == MOVES_STORE_JOB) {
        n.node = *s->node;
        n.node.id = world_text(s->node->id);
        n.node.submitted_by = world_text(s->node->submitted_by);
        n.node.client_id = world_text(s->node->client_id);
    } else {
        n.piece = s->kind == MOVES_REMOVE_JOB ? -1 : s->piece;
    }
    if (s->kind == MOVES_STORE_PIECE) {
        n.contents.count = s->contents->count;
        n.contents.moves = xalloc((size_t)(s->contents->count + 1) * sizeof *n.contents.moves);
        for (int32_t i = 0; i < s->contents->count; i++) {
            const struct model_job_move *from = &s->contents->moves[i];
            struct model_job_move *to = &n.contents.moves[i];
            to->topic = world_text(from->topic);
            to->partition = from->partition;
            to->marks = from->marks;
            to->started_ms = from->started_ms;
            to->to_copy = from->to_copy;
            to->copied = from->copied;
            to->before = from->before;
            to->reason = from->reason;
            to->since_ms = from->since_ms;
            ids_copy(&to->target, &from->target);
            ids_copy(&to->original, &from->original);
            ids_copy(&to->replaces, &from->replaces);
        }
    }
    return n;
}

static inline void world_write_apply(struct world *w, struct world_write *write)
{
    int32_t at = 0;
    while (at < w->node_count && (strcmp(w->nodes[at].job, write->value.job) != 0 ||
                                  w->nodes[at].piece != write->value.piece)) {
        at++;
    }
    bool is_store = write->kind == MOVES_STORE_JOB || write->kind == MOVES_STORE_PIECE;
    w->stored_count += is_store;
    if (at < w->node_count) {
        world_node_free(&w->nodes[at]);
        w->nodes[at] = w->nodes[--w->node_count];
    }
    if (is_store) {
        w->nodes = xrealloc(w->nodes, (size_t)(w->node_count + 1) * sizeof *w->nodes);
        w->nodes[w->node_count++] = write->value;
    } else {
        world_node_free(&write->value);
    }
}

/* ---- effects ---- */

static inline void world_step(struct world *w, const struct moves_event *event);

static inline void world_alter_add(struct world *w, const struct moves_alter *a)
{
    struct world_alter copy = {.id = a->id,
                               .is_validate_only = a->is_validate_only,
                               .allows_dead = a->allows_dead_targets,
                               .count = a->count};
    copy.entries = xalloc((size_t)(a->count + 1) * sizeof *copy.entries);
    for (int32_t i = 0; i < a->count; i++) {
        copy.entries[i] = a->entries[i];
        copy.entries[i].topic = world_text(a->entries[i].topic);
        if (a->entries[i].from != NULL) {
            struct ids *from = xalloc(sizeof *from);
            ids_copy(from, a->entries[i].from);
            copy.entries[i].from = from;
        }
        copy.entries[i].replicas = xmemdup(
            a->entries[i].replicas, (size_t)a->entries[i].replica_count * sizeof(int32_t) + 0);
    }
    w->alters = xrealloc(w->alters, (size_t)(w->alter_count + 1) * sizeof *w->alters);
    w->alters[w->alter_count++] = copy;
}

static inline void world_write_add(struct world *w, const struct moves_store *s)
{
    w->writes = xrealloc(w->writes, (size_t)(w->write_count + 1) * sizeof *w->writes);
    w->writes[w->write_count++] =
        (struct world_write){.id = s->id, .kind = s->kind, .value = world_node_copy(s)};
}

static inline void world_limits_take(struct world *w, const struct moves_limit_table *table)
{
    w->limit_groups = table->count;
    for (int32_t i = 0; i < w->partition_count; i++) {
        w->partitions[i].is_stopped = false;
    }
    for (int32_t g = 0; g < table->count; g++) {
        w->limit_rate = table->groups[g].rate;
        w->limit_partitions = table->groups[g].count;
        for (int32_t i = 0; i < table->groups[g].count && table->groups[g].rate == 0; i++) {
            world_at(w, table->groups[g].partitions[i].partition)->is_stopped = true;
        }
    }
}

static inline void world_reply_take(struct world *w, const struct moves_reply *reply)
{
    w->replies++;
    w->error = reply->error;
    w->result_count = reply->count;
    (void)snprintf(w->job, sizeof w->job, "%.*s", SLICE_ARG(reply->job));
    for (int32_t i = 0; i < reply->count && i < 64; i++) {
        w->result_errors[i] = reply->results[i].error;
        w->result_notes[i] = reply->results[i].note;
    }
}

static inline void world_effects_take(struct world *w)
{
    for (int32_t i = 0; i < w->out.count; i++) {
        const struct moves_effect *e = &w->out.list[i];
        switch (e->kind) {
        case MOVES_EFFECT_ALTER:
            world_alter_add(w, &e->alter);
            break;
        case MOVES_EFFECT_STORE:
            world_write_add(w, &e->store);
            break;
        case MOVES_EFFECT_LIMITS:
            world_limits_take(w, &e->limits);
            break;
        case MOVES_EFFECT_REPLY:
            world_reply_take(w, &e->reply);
            break;
        case MOVES_EFFECT_LOG:
            break;
        }
    }
}

static inline void world_step(struct world *w, const struct moves_event *event)
{
    moves_step(w->m, w->now_ms, WORLD_WALL_MS + w->now_ms, event, &w->out);
    world_effects_take(w);
    if (w->on_step != NULL) {
        w->on_step(w);
    }
}

static inline void world_tick(struct world *w)
{
    world_step(w, &(struct moves_event){.kind = MOVES_ON_TICK});
}

/* ---- what the controller's core would do ---- */

static inline void world_partition_tell(struct world *w, int32_t partition)
{
    world_step(w, &(struct moves_event){.kind = MOVES_ON_PARTITION,
                                        .topic = slice_str(WORLD_TOPIC),
                                        .partition = partition});
}

static inline int16_t world_entry_judge(const struct world *w, const struct world_alter *a,
                                        const struct moves_entry *e, struct assignment *next)
{
    if (!slice_equal_str(e->topic, WORLD_TOPIC) || e->partition < 0 ||
        e->partition >= w->partition_count || w->partitions[e->partition].is_gone) {
        return KERR_UNKNOWN_TOPIC_OR_PARTITION;
    }
    const struct assignment *now = &w->partitions[e->partition].a;
    struct ids undo = {0};
    (void)assignment_undo_target(now, &undo);
    bool is_stale = e->from != NULL && !ids_equal(e->from, &undo);
    ids_deinit(&undo);
    if (is_stale) {
        return MOVES_STALE;
    }
    if (e->is_cancel) {
        (void)assignment_undo_target(now, &next->replicas);
        return assignment_is_reassigning(now) ? KERR_NONE : KERR_NO_REASSIGNMENT_IN_PROGRESS;
    }
    struct ids target = {0};
    struct ids origin = {0};
    ids_set(&target, e->replicas, e->replica_count);
    assignment_origin(now, &origin);
    int16_t error = target.count == 0 || ids_has_duplicate(&target)
                        ? KERR_INVALID_REPLICA_ASSIGNMENT
                        : KERR_NONE;
    for (int32_t i = 0; i < target.count; i++) {
        bool is_known = target.list[i] >= 1 && target.list[i] <= WORLD_BROKERS;
        if (!is_known ||
            (!a->allows_dead && !ids_has(&origin, target.list[i]) && !w->is_live[target.list[i]])) {
            error = KERR_INVALID_REPLICA_ASSIGNMENT;
        }
    }
    if (error == KERR_NONE) {
        assignment_reassign(now, &target, next);
    }
    ids_deinit(&target);
    ids_deinit(&origin);
    return error;
}

static inline void world_alter_free(struct world_alter *a)
{
    for (int32_t i = 0; i < a->count; i++) {
        world_text_free(a->entries[i].topic);
        if (a->entries[i].from != NULL) {
            free(a->entries[i].from->list);
            free((void *)(uintptr_t)a->entries[i].from);
        }
        free((void *)(uintptr_t)a->entries[i].replicas);
    }
    free(a->entries);
}

static inline void world_ended(struct world *w, int32_t partition, bool is_cancel)
{
    if (w->on_end != NULL && !is_cancel) {
        w->on_end(w, partition);
    }
}

/* Carries out an alter; the answers are told when is_told. */
static inline void world_alter_run(struct world *w, struct world_alter a, bool is_told)
{
    struct moves_altered *altered = xalloc((size_t)(a.count + 1) * sizeof *altered);
    for (int32_t i = 0; i < a.count; i++) {
        struct assignment next = {0};
        altered[i].error = world_entry_judge(w, &a, &a.entries[i], &next);
        if (altered[i].error == KERR_NONE && !a.is_validate_only) {
            struct world_partition *p = world_at(w, a.entries[i].partition);
            p->ours += !a.entries[i].is_cancel;
            assignment_deinit(&p->a);
            p->a = next;
            next = (struct assignment){0};
            if (!assignment_is_reassigning(&p->a)) {
                ids_clear(&p->a.original);
                world_ended(w, a.entries[i].partition, a.entries[i].is_cancel);
            }
            if (is_told) {
                world_partition_tell(w, a.entries[i].partition);
            }
        }
        assignment_deinit(&next);
    }
    if (is_told) {
        world_step(w, &(struct moves_event){.kind = MOVES_ON_ALTERED,
                                            .alter_id = a.id,
                                            .altered = altered,
                                            .altered_count = a.count});
    }
    free(altered);
    world_alter_free(&a);
}

static inline void world_alter_answer(struct world *w)
{
    struct world_alter a = w->alters[0];
    w->alter_count--;
    memmove(w->alters, w->alters + 1, (size_t)w->alter_count * sizeof *w->alters);
    world_alter_run(w, a, true);
}

static inline void world_write_answer(struct world *w)
{
    struct world_write write = w->writes[0];
    w->write_count--;
    memmove(w->writes, w->writes + 1, (size_t)w->write_count * sizeof *w->writes);
    if (w->refuses_writes) {
        world_node_free(&write.value);
    } else {
        world_write_apply(w, &write);
    }
    world_step(w, &(struct moves_event){.kind = MOVES_ON_STORED,
                                        .store_id = write.id,
                                        .message = w->refuses_writes ? "refused" : NULL});
}

/* The copy is there: the move ends. */
static inline void world_move_end(struct world *w, int32_t partition)
{
    struct world_partition *p = world_at(w, partition);
    struct assignment next = {0};
    assignment_target(&p->a, &next.replicas);
    assignment_deinit(&p->a);
    p->a = next;
    world_ended(w, partition, false);
    world_partition_tell(w, partition);
}

static inline void world_broker_set(struct world *w, int32_t broker, bool is_live)
{
    w->is_live[broker] = is_live;
    world_step(w, &(struct moves_event){.kind = MOVES_ON_BROKERS});
}

/* Answers everything that is out, again and again, and lets time pass; moves do not end. */
static inline void world_settle(struct world *w)
{
    for (int32_t round = 0; round < 100000; round++) {
        if (w->alter_count > 0) {
            world_alter_answer(w);
        } else if (w->write_count > 0) {
            world_write_answer(w);
        } else if (w->out.has_more) {
            world_tick(w);
        } else {
            return;
        }
    }
    fail_msg("the queue does not come to rest");
}

static inline void world_pass(struct world *w, int64_t ms)
{
    w->now_ms += ms;
    world_tick(w);
    world_settle(w);
}

/* ---- life ---- */

static inline void world_queue_new(struct world *w)
{
    w->m = moves_new(&(struct moves_lookup){w, world_lookup, world_is_live});
}

static inline void world_outstanding_free(struct world *w)
{
    for (int32_t i = 0; i < w->alter_count; i++) {
        world_alter_free(&w->alters[i]);
    }
    for (int32_t i = 0; i < w->write_count; i++) {
        world_node_free(&w->writes[i].value);
    }
    w->alter_count = w->write_count = 0;
}

/* What is stored. */
static inline void world_nodes_tell(struct world *w)
{
    for (int32_t i = 0; i < w->node_count; i++) {
        if (w->nodes[i].piece < 0) {
            world_step(w, &(struct moves_event){.kind = MOVES_ON_JOB, .job = &w->nodes[i].node});
        }
    }
    for (int32_t i = 0; i < w->node_count; i++) {
        if (w->nodes[i].piece >= 0) {
            world_step(w, &(struct moves_event){.kind = MOVES_ON_PIECE,
                                                .job_id = slice_str(w->nodes[i].job),
                                                .piece = w->nodes[i].piece,
                                                .contents = &w->nodes[i].contents});
        }
    }
}

static inline void world_load(struct world *w, struct moves_limits limits)
{
    world_queue_new(w);
    world_step(w, &(struct moves_event){.kind = MOVES_ON_LIMITS, .limits = limits});
    world_nodes_tell(w);
    world_step(w, &(struct moves_event){.kind = MOVES_ON_LOADED});
    while (!moves_is_loaded(w->m)) {
        assert_true(w->out.has_more);
        world_tick(w);
    }
    for (int32_t i = 0; i < w->partition_count; i++) {
        if (assignment_is_reassigning(&w->partitions[i].a)) {
            world_partition_tell(w, i);
        }
    }
}

static inline void world_init(struct world *w, int32_t partition_count, struct moves_limits limits)
{
    *w = (struct world){.partition_count = partition_count, .now_ms = 1000};
    prng_init(&w->prng, 1);
    moves_effects_init(&w->out);
    w->partitions = xalloc((size_t)partition_count * sizeof *w->partitions);
    for (int32_t i = 0; i < partition_count; i++) {
        ids_set(&w->partitions[i].a.replicas, (int32_t[]){1, 2, 3}, 3);
        w->partitions[i].bytes = 100;
    }
    for (int32_t b = 1; b <= WORLD_BROKERS; b++) {
        w->is_live[b] = true;
    }
    world_load(w, limits);
}

static inline void world_deinit(struct world *w)
{
    world_outstanding_free(w);
    for (int32_t i = 0; i < w->node_count; i++) {
        world_node_free(&w->nodes[i]);
    }
    for (int32_t i = 0; i < w->partition_count; i++) {
        assignment_deinit(&w->partitions[i].a);
    }
    moves_free(w->m);
    moves_effects_deinit(&w->out);
    free(w->partitions);
    free(w->alters);
    free(w->writes);
    free(w->nodes);
}

/* The controller dies: of what is out a part was carried out, in order. */
static inline void world_crash(struct world *w, struct moves_limits limits)
{
    int32_t writes = (int32_t)prng_range(&w->prng, 0, w->write_count);
    int32_t alters = (int32_t)prng_range(&w->prng, 0, w->alter_count);
    moves_free(w->m);
    w->m = NULL;
    for (int32_t i = 0; i < writes; i++) {
        world_write_apply(w, &w->writes[i]);
    }
    if (writes > 0) {
        memmove(w->writes, w->writes + writes,
                (size_t)(w->write_count - writes) * sizeof *w->writes);
    }
    w->write_count -= writes;
    for (int32_t i = 0; i < alters; i++) {
        world_alter_run(w, w->alters[i], false);
    }
    if (alters > 0) {
        memmove(w->alters, w->alters + alters,
                (size_t)(w->alter_count - alters) * sizeof *w->alters);
    }
    w->alter_count -= alters;
    world_outstanding_free(w);
    for (int32_t i = 0; i < w->partition_count; i++) {
        w->partitions[i].is_stopped = false;
    }
    world_load(w, limits);
}

/* ---- requests ---- */

static inline struct moves_entry world_entry(int32_t partition, const int32_t *replicas,
                                             int32_t count)
{
    return (struct moves_entry){.topic = slice_str(WORLD_TOPIC),
                                .partition = partition,
                                .replicas = replicas,
                                .replica_count = count};
}

static inline struct moves_request world_request(enum moves_action action)
{
    return (struct moves_request){.action = action,
                                  .priority = MODEL_JOB_BALANCE,
                                  .rate = MOVES_RATE_KEEP,
                                  .submitted_by = slice_str("User:operator"),
                                  .client_id = slice_str("test")};
}

static inline void world_ask(struct world *w, const struct moves_request *request)
{
    world_step(w, &(struct moves_event){.kind = MOVES_ON_REQUEST, .request = *request});
}

/* All partitions from..to to the given list; settles. */
static inline void world_submit(struct world *w, int32_t from, int32_t to, const int32_t *list,
                                struct moves_request request)
{
    struct moves_entry *entries = xalloc((size_t)(to - from + 1) * sizeof *entries);
    for (int32_t i = from; i <= to; i++) {
        entries[i - from] = world_entry(i, list, 3);
    }
    request.entries = entries;
    request.count = to - from + 1;
    world_ask(w, &request);
    world_settle(w);
    free(entries);
}

static inline int32_t world_moving_count(const struct world *w)
{
    int32_t count = 0;
    for (int32_t i = 0; i < w->partition_count; i++) {
        count += assignment_is_reassigning(&w->partitions[i].a) && !w->partitions[i].is_stopped;
    }
    return count;
}

static inline bool world_is_moving(struct world *w, int32_t partition)
{
    return assignment_is_reassigning(&world_at(w, partition)->a);
}

static inline bool world_has_list(struct world *w, int32_t partition, int32_t a, int32_t b,
                                  int32_t c)
{
    struct ids list = {0};
    ids_set(&list, (int32_t[]){a, b, c}, 3);
    bool is_equal =
        ids_equal(&world_at(w, partition)->a.replicas, &list) && !world_is_moving(w, partition);
    ids_deinit(&list);
    return is_equal;
}

static const struct moves_limits world_no_limits = {MOVES_OFF, MOVES_OFF, MOVES_OFF, MOVES_OFF};
