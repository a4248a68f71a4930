/*
 * The limits of moves (docs/protocol-extensions.md, UpdateMetadata): they hold for adding replicas that
 * are not in sync, on both sides of the copy. The leader knows who is in sync; the follower knows that it
 * is not when the leader's high watermark is beyond its own end, since that never passes a member.
 * A paused partition leaves the fetcher's requests (PAUSED); one whose rate is used up waits (DELAYED,
 * is_held). A follower that does not know how far behind it is asks once, also when paused.
 * Invariant: limit_groups has one object for each group of limits, and every hosted partition of the
 * table is in the list of its group. Runs on the broker's env.
 */
#include "base/alloc.h"
#include "base/check.h"
#include "broker/replicas/internal.h"
#include "wire/update_metadata.h"

#include <stdlib.h>

#define FELT_MS 1000 /* so long after it was held back a partition counts as throttled */

/* ---- the table ---- */

static void release_held(void *arg)
{
    struct replicas_limit *limit = arg;
    struct list_node *node;
    while ((node = list_pop(&limit->held)) != NULL) {
        replicas_partition_notify(CONTAINER_OF(node, struct replicas_partition, limit_held_link),
                                  REPLICAS_NEW_DATA);
    }
}

void replicas_limit_attach(struct replicas_partition *p)
{
    struct replicas *r = p->replicas;
    struct slice topic = slice_str(replicas_partition_topic(p));
    int32_t group = r->limits == NULL
                        ? REPLICA_LIMIT_UNGROUPED
                        : replica_limits_find(r->limits, topic, replicas_partition_index(p));
    if (group != REPLICA_LIMIT_UNGROUPED) {
        p->limit = &r->limit_groups[group];
        list_push_back(&p->limit->partitions, &p->limit_link);
    }
}

void replicas_limit_detach(struct replicas_partition *p)
{
    if (p->limit != NULL) {
        list_remove(&p->limit->held, &p->limit_held_link);
        list_remove(&p->limit->partitions, &p->limit_link);
        p->limit = NULL;
    }
}

/* Whoever waits for a group finds out that it changed: fetches on the leader's side read again. */
static void table_drop(struct replicas *r, struct list *ret_partitions)
{
    int32_t count = r->limits == NULL ? 0 : replica_limits_group_count(r->limits);
    for (int32_t i = 0; i < count; i++) {
        struct replicas_limit *limit = &r->limit_groups[i];
        release_held(limit);
        env_timer_stop(&limit->timer);
        struct list_node *node;
        while ((node = list_first(&limit->partitions)) != NULL) {
            replicas_limit_detach(CONTAINER_OF(node, struct replicas_partition, limit_link));
            list_push_back(ret_partitions, node);
        }
    }
    free(r->limit_groups);
    r->limit_groups = NULL;
}

void replicas_limits_free(struct replicas *r)
{
    struct list partitions;
    list_init(&partitions);
    table_drop(r, &partitions);
    replica_limits_free(r->limits);
    r->limits = NULL;
}

static struct replica_limits *table_read(const struct replicas *r,
                                         const struct wire_update_metadata_request *req)
{
    struct replica_limits *limits = replica_limits_new();
    int64_t now_us = env_now_us(r->env);
    for (int32_t i = 0; i < req->move_limits_count; i++) {
        const struct wire_update_metadata_request_move_limits *from = &req->move_limits[i];
        int32_t group = replica_limits_add_group(limits, from->rate, now_us);
        for (int32_t t = 0; t < from->topics_count; t++) {
            /* A broker hosts no more than so many: what a table names beyond is not here. */
            int32_t room = r->config.partitions_max - replica_limits_count(limits);
            int32_t count = MIN(from->topics[t].partition_indexes_count, room);
            for (int32_t k = 0; k < count; k++) {
                replica_limits_add(limits, group, from->topics[t].topic,
                                   from->topics[t].partition_indexes[k]);
            }
        }
    }
    return limits;
}

static void table_set(struct replicas *r, struct replica_limits *limits)
{
    int32_t count = replica_limits_group_count(limits);
    r->limits = limits;
    r->limit_groups = xalloc((size_t)count * sizeof *r->limit_groups + 1);
    for (int32_t i = 0; i < count; i++) {
        struct replicas_limit *limit = &r->limit_groups[i];
        limit->replicas = r;
        limit->core = replica_limits_group(limits, i);
        list_init(&limit->partitions);
        list_init(&limit->held);
        env_timer_init(&limit->timer, r->env, release_held, limit);
    }
}

/* The follower's side of a changed limit: what need not wait any more goes on. */
static void follower_look(struct replicas_partition *p)
{
    struct replicas_fetch *fetch = &p->fetch;
    if (replicas_limit_pauses(p)) {
        if (fetch->state == REPLICAS_FETCH_ON || fetch->is_held) {
            replicas_fetch_pause(p);
        }
    } else if (fetch->state == REPLICAS_FETCH_PAUSED || fetch->is_held) {
        replicas_fetch_resume(p);
    }
}

static void partitions_attach(struct replicas *r)
{
    int32_t count = replica_limits_count(r->limits);
    for (int32_t i = 0; i < count; i++) {
        struct slice topic;
        int32_t index;
        (void)replica_limits_at(r->limits, i, &topic, &index); /* attach finds the group */
        struct replicas_partition *p = replicas_partition_find(r, topic, index);
        if (p != NULL) {
            replicas_limit_attach(p);
            follower_look(p);
        }
    }
}

void replicas_take_limits(struct replicas *r, const struct wire_update_metadata_request *req)
{
    bool is_newer = req->controller_epoch > r->limits_epoch;
    r->limits_epoch = MAX(r->limits_epoch, req->controller_epoch);
    if (r->is_stopping || (req->move_limits_count < 0 && (!is_newer || r->limits == NULL))) {
        return;
    }
    struct list left; /* partitions of the table before */
    list_init(&left);
    struct replica_limits *before = r->limits;
    struct replica_limits *limits = table_read(r, req);
    replica_limits_seal(limits, before);
    table_drop(r, &left);
    table_set(r, limits);
    replica_limits_free(before);
    struct list_node *node;
    while ((node = list_pop(&left)) != NULL) {
        struct replicas_partition *p = CONTAINER_OF(node, struct replicas_partition, limit_link);
        if (replica_limits_find(limits, slice_str(replicas_partition_topic(p)),
                                replicas_partition_index(p)) == REPLICA_LIMIT_UNGROUPED) {
            follower_look(p);
        }
    }
    partitions_attach(r);
}

int32_t replicas_limits_count(const struct replicas *r)
{
    return r->limits == NULL ? 0 : replica_limits_count(r->limits);
}

/* ---- what is told ---- */

bool replicas_limit_is_felt(const struct replicas_partition *p)
{
    return p->fetch.state == REPLICAS_FETCH_PAUSED ||
           env_now_ms(p->replicas->env) - p->limited_ms < FELT_MS;
}

int64_t replicas_limit_rate(const struct replicas_partition *p)
{
    const struct replicas *r = p->replicas;
    int64_t rate = p->limit == NULL ? REPLICA_THROTTLE_NONE : p->limit->core->rate;
    if (p->core.role == REPLICA_LEADER && p->is_leader_throttled) {
        rate = MIN(rate, r->leader_throttle.rate);
    } else if (p->core.role == REPLICA_FOLLOWER && p->is_follower_throttled) {
        rate = MIN(rate, r->follower_throttle.rate);
    }
    return rate == REPLICA_THROTTLE_NONE ? -1 : rate;
}

/* ---- leader ---- */

static bool holds_follower(const struct replicas_partition *p, int32_t follower)
{
    return p->limit != NULL && follower >= 0 && ids_has(&p->core.state.adding, follower) &&
           !replica_core_in_maximal_isr(&p->core, follower);
}

/* The timer runs for the first that is held; one without a rate waits for another table. */
static void hold(struct replicas_partition *p)
{
    struct replicas_limit *limit = p->limit;
    struct replicas *r = p->replicas;
    p->limited_ms = env_now_ms(r->env);
    if (!list_has(&p->limit_held_link)) {
        list_push_back(&limit->held, &p->limit_held_link);
    }
    if (!replica_limit_is_paused(limit->core) && !env_timer_is_active(&limit->timer)) {
        env_timer_start(&limit->timer,
                        replica_limit_wait_ms(limit->core, REPLICA_OUT, env_now_us(r->env)));
    }
}

int32_t replicas_limit_allows(struct replicas_partition *p, int32_t follower, int32_t bytes_max)
{
    if (!holds_follower(p, follower) || bytes_max == 0) {
        return bytes_max;
    }
    struct replicas *r = p->replicas;
    int32_t piece = replica_limit_piece(p->limit->core, REPLICA_OUT, bytes_max, r->limit_pass,
                                        env_now_us(r->env));
    if (piece == 0) {
        hold(p);
    }
    return piece;
}

void replicas_limit_found(struct replicas_partition *p, int32_t follower, int64_t bytes)
{
    if (holds_follower(p, follower)) {
        replica_limit_promise(p->limit->core, REPLICA_OUT, bytes);
    }
}

void replicas_limit_sent(struct replicas_partition *p, int32_t follower, int64_t bytes)
{
    if (holds_follower(p, follower)) {
        replica_limit_take(p->limit->core, REPLICA_OUT, bytes, env_now_us(p->replicas->env));
    }
}

/* ---- follower ---- */

bool replicas_limit_holds(const struct replicas_partition *p)
{
    return p->limit != NULL && p->core.role == REPLICA_FOLLOWER && p->fetch.lag != 0 &&
           ids_has(&p->core.state.adding, p->core.self);
}

bool replicas_limit_pauses(const struct replicas_partition *p)
{
    return replicas_limit_holds(p) && p->fetch.lag > 0 && replica_limit_is_paused(p->limit->core);
}

/* One partition that the next request would name. */
static void hold_back(struct replicas_partition *p)
{
    struct replicas *r = p->replicas;
    int64_t now_us = env_now_us(r->env);
    if (!replicas_limit_holds(p)) {
        return;
    }
    if (replicas_limit_pauses(p)) {
        replicas_fetch_pause(p);
        return;
    }
    if (replica_limit_is_paused(p->limit->core)) {
        p->fetch.piece = 1; /* only how far behind it is has to be found out */
        return;
    }
    struct replica_limit *core = p->limit->core;
    p->fetch.piece = replica_limit_piece(core, REPLICA_IN, r->config.fetch_catch_up_bytes_max,
                                         r->limit_pass, now_us);
    if (p->fetch.piece > 0) {
        replica_limit_promise(core, REPLICA_IN, p->fetch.piece);
        return;
    }
    p->limited_ms = env_now_ms(r->env);
    replicas_fetch_delay_ms(p, replica_limit_wait_ms(core, REPLICA_IN, now_us));
    p->fetch.is_held = true;
}

void replicas_limit_hold_back(struct replicas_fetcher *f)
{
    struct replicas *r = f->replicas;
    struct list_node *node;
    struct list_node *next;
    if (r->limits == NULL) {
        return;
    }
    r->limit_pass++;
    if (f->session_id == 0) { /* then a request names all of them */
        list_foreach_safe (node, next, &f->on) {
            hold_back(CONTAINER_OF(node, struct replicas_partition, fetch.link));
        }
        return;
    }
    list_foreach_safe (node, next, &f->dirty) {
        hold_back(CONTAINER_OF(node, struct replicas_partition, fetch.dirty_link));
    }
}
