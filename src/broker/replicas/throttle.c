/*
 * Throttles of replication (KIP-73, docs/spec/reassignment.md 13): whom they hold for, and waking the
 * followers that a leader had to send away empty. The follower's side leaves partitions out of its
 * requests: fetcher.c.
 * Invariant: a partition in `held` will be told when the rate allows more, or when it is changed.
 * Runs on the broker's env.
 */
#include "base/alloc.h"
#include "broker/replicas/internal.h"

static void release_held(void *arg)
{
    struct replicas *r = arg;
    struct list_node *node;
    while ((node = list_pop(&r->held)) != NULL) {
        struct replicas_partition *p = CONTAINER_OF(node, struct replicas_partition, throttle_link);
        replicas_partition_notify(p, REPLICAS_NEW_DATA);
    }
}

void replicas_throttle_init(struct replicas *r)
{
    list_init(&r->held);
    env_timer_init(&r->held_timer, r->env, release_held, r);
    replicas_set_throttle(r, (struct replicas_rates){.leader = REPLICA_THROTTLE_NONE,
                                                     .follower = REPLICA_THROTTLE_NONE});
}

void replicas_throttle_free(struct replicas *r)
{
    env_timer_stop(&r->held_timer);
}

void replicas_set_throttle(struct replicas *r, struct replicas_rates rates)
{
    int64_t now_us = env_now_us(r->env);
    replica_throttle_set(&r->leader_throttle, rates.leader, now_us);
    replica_throttle_set(&r->follower_throttle, rates.follower, now_us);
    if (!list_is_empty(&r->held)) {
        env_timer_start(&r->held_timer, 0);
    }
}

void replicas_throttle_topic(const struct replicas *r, struct replicas_topic *topic)
{
    struct replicas_topic_config *config = &topic->config;
    replica_throttle_list_set(&topic->leader_throttled, slice_str(config->leader_throttled),
                              r->config.broker_id);
    replica_throttle_list_set(&topic->follower_throttled, slice_str(config->follower_throttled),
                              r->config.broker_id);
    config->leader_throttled = config->follower_throttled = NULL; /* were borrowed */
}

void replicas_throttle_partition(struct replicas_partition *p)
{
    const struct replicas_topic *topic = p->key.topic;
    int32_t index = replicas_partition_index(p);
    p->is_leader_throttled = replica_throttle_list_has(&topic->leader_throttled, index);
    p->is_follower_throttled = replica_throttle_list_has(&topic->follower_throttled, index);
}

bool replicas_throttle_holds(struct replicas_partition *p, int32_t follower)
{
    struct replicas *r = p->replicas;
    int64_t now_us = env_now_us(r->env);
    /* Members in sync are served, so that a throttle does not shrink the set. */
    if (!p->is_leader_throttled || ids_has(&p->core.state.isr, follower) ||
        !replica_throttle_is_exceeded(&r->leader_throttle, now_us)) {
        return false;
    }
    p->limited_ms = env_now_ms(r->env);
    if (!list_has(&p->throttle_link)) {
        list_push_back(&r->held, &p->throttle_link);
    }
    if (!env_timer_is_active(&r->held_timer)) {
        env_timer_start(&r->held_timer, replica_throttle_wait_ms(&r->leader_throttle, now_us));
    }
    return true;
}
