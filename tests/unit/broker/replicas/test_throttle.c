/*
 * Replication throttles on a small cluster (docs/spec/reassignment.md 13, row 73): a move keeps the rate,
 * others do not notice, members in sync are not held back by their leader.
 */
#include "world.h"

#include "model/kerr.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

static const int32_t one_two[] = {1, 2};
static const int32_t alone[] = {1};

#define RATE 500000

static void append(struct world *w, const struct world_partition *p, int32_t batches)
{
    for (int32_t i = 0; i < batches; i++) {
        struct world_produce produce;
        world_append(w, p->leader, p, 2000, &produce);
        world_produce_deinit(&produce);
    }
}

/* orders-0 and orders-1, led by 1 alone, with about 2 MB each; then 2 is added to both. */
static struct world *moving(struct world_partition **ret_p, struct world_partition **ret_q,
                            const char *leader_throttled, const char *follower_throttled)
{
    struct world *w = world_new(95, 2);
    w->leader_throttled = leader_throttled;
    w->follower_throttled = follower_throttled;
    world_start(w, 1);
    world_start(w, 2);
    *ret_p = world_create(w, "orders", 0, alone, 1);
    *ret_q = world_create(w, "orders", 1, alone, 1);
    append(w, *ret_p, 30);
    append(w, *ret_q, 30);
    struct replicas_rates rates = {.leader = RATE, .follower = RATE};
    replicas_set_throttle(world_replicas(w, 1), rates);
    replicas_set_throttle(world_replicas(w, 2), rates);
    struct world_partition *both[] = {*ret_p, *ret_q};
    for (int i = 0; i < 2; i++) {
        both[i]->replicas[1] = both[i]->adding[0] = 2;
        both[i]->replica_count = 2;
        both[i]->adding_count = 1;
        world_announce(w, both[i], true);
    }
    return w;
}

static int64_t bytes_in(struct world *w)
{
    struct replicas_metrics metrics;
    replicas_metrics(world_replicas(w, 2), &metrics);
    return (int64_t)metrics.replication_bytes_in;
}

static void check_rate(const char *leader_throttled, const char *follower_throttled)
{
    struct world_partition *p;
    struct world_partition *q;
    struct world *w = moving(&p, &q, leader_throttled, follower_throttled);
    /* orders-1 is not throttled: it is there in no time. */
    world_await_end(w, 2, q, 60000);
    int64_t start_ms = sim_world_now_ms(w->sim);
    assert_true(start_ms < 2000);
    int64_t start_bytes = bytes_in(w);
    world_pass(w, 2000);
    int64_t passed = bytes_in(w) - start_bytes;
    assert_in_range(passed, 2 * RATE - 200000, 2 * RATE + 200000);
    world_await_end(w, 2, p, 60000);
    world_await_isr(w, p, 2);
    world_assert_same_log(w, 1, 2, p);
    world_free(w);
}

static void leader_keeps_the_rate(void **state)
{
    (void)state;
    check_rate("0:1", NULL);
}

static void follower_keeps_the_rate(void **state)
{
    (void)state;
    check_rate(NULL, "0:2");
}

static void lifted_bound_takes_effect_at_once(void **state)
{
    (void)state;
    struct world_partition *p;
    struct world_partition *q;
    struct world *w = moving(&p, &q, "*", NULL);
    world_pass(w, 1000);
    assert_true(world_info(w, 2, p).log_end < 60000);
    replicas_set_throttle(world_replicas(w, 1),
                          (struct replicas_rates){.leader = INT64_MAX, .follower = INT64_MAX});
    world_pass(w, 500);
    assert_int_equal(world_info(w, 2, p).log_end, 60000);
    assert_int_equal(world_info(w, 2, q).log_end, 60000);
    world_free(w);
}

/* A rate so low that what is owed after the first piece would take minutes: raising it, or taking the
 * partition off the list, is heard within a second on either side. */
static void let_go_partition_moves_on(void **state)
{
    (void)state;
    for (int by_rate = 0; by_rate <= 1; by_rate++) {
        for (int at_leader = 0; at_leader <= 1; at_leader++) {
            struct world_partition *p;
            struct world_partition *q;
            struct world *w = moving(&p, &q, at_leader ? "*" : NULL, at_leader ? NULL : "*");
            struct replicas *throttled = world_replicas(w, at_leader ? 1 : 2);
            replicas_set_throttle(throttled, (struct replicas_rates){.leader = 10, .follower = 10});
            world_pass(w, 3000);
            assert_true(world_info(w, 2, p).log_end < 60000);
            if (by_rate) {
                replicas_set_throttle(
                    throttled, (struct replicas_rates){.leader = INT64_MAX, .follower = INT64_MAX});
            } else {
                w->leader_throttled = w->follower_throttled = NULL;
                replicas_topic_config_changed(throttled, "orders");
            }
            world_pass(w, 2000);
            assert_int_equal(world_info(w, 2, p).log_end, 60000);
            assert_int_equal(world_info(w, 2, q).log_end, 60000);
            world_free(w);
        }
    }
}

/* A member in sync is served beyond the rate, or the throttle would shrink the set. */
static void member_in_sync_is_not_held_back(void **state)
{
    (void)state;
    struct world *w = world_new(96, 2);
    w->leader_throttled = "*";
    world_start(w, 1);
    world_start(w, 2);
    struct world_partition *p = world_create(w, "orders", 0, one_two, 2);
    replicas_set_throttle(world_replicas(w, 1),
                          (struct replicas_rates){.leader = 1000, .follower = INT64_MAX});
    append(w, p, 20);
    world_pass(w, 1000);
    assert_int_equal(world_info(w, 2, p).log_end, 40000);
    world_free(w);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(leader_keeps_the_rate),
        cmocka_unit_test(follower_keeps_the_rate),
        cmocka_unit_test(lifted_bound_takes_effect_at_once),
        cmocka_unit_test(let_go_partition_moves_on),
        cmocka_unit_test(member_in_sync_is_not_held_back),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
