/*
 * The replicas as a whole: a move from broker to broker under load, settings that change, figures.
 */
#include "world.h"

#include "model/kerr.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

static const int32_t one_two[] = {1, 2};

static void start_all(struct world *w)
{
    for (int32_t id = 1; id <= w->broker_count; id++) {
        world_start(w, id);
    }
}

/* Appends with acks=all and waits for the answer. */
static void append_committed(struct world *w, const struct world_partition *p, int64_t offset)
{
    struct world_produce produce;
    world_append_acks(w, p->leader, p, -1, &produce);
    for (int i = 0; i < 5000 && !produce.is_done; i++) {
        world_pass(w, 1);
    }
    assert_true(produce.is_done);
    assert_int_equal(produce.item.err, 0);
    assert_int_equal(produce.item.base_offset, offset);
    world_produce_deinit(&produce);
}

/* Row 24 in small: [1,2] -> [3,4] with a writer; every acknowledged record is at the new leader. */
static void partition_moves_under_load_without_loss(void **state)
{
    (void)state;
    static const int32_t during[] = {3, 4, 1, 2};
    static const int32_t after[] = {3, 4};
    struct world *w = world_new(91, 4);
    start_all(w);
    struct world_partition *p = world_create(w, "orders", 0, one_two, 2);
    int64_t next = 0;
    for (; next < 20; next++) {
        append_committed(w, p, next);
    }
    memcpy(p->replicas, during, sizeof during);
    p->replica_count = 4;
    memcpy(p->adding, after, sizeof after);
    p->adding_count = 2;
    world_announce(w, p, true);
    for (; next < 40; next++) {
        append_committed(w, p, next);
    }
    world_await_isr(w, p, 4);
    memcpy(p->replicas, after, sizeof after);
    memcpy(p->isr, after, sizeof after);
    p->replica_count = p->isr_count = 2;
    p->adding_count = 0;
    p->leader = 3;
    world_announce(w, p, true);
    for (int32_t old = 1; old <= 2; old++) {
        assert_int_equal(world_stop_replica(w, old, p, false, p->leader_epoch), KERR_NONE);
        assert_int_equal(world_stop_replica(w, old, p, true, p->leader_epoch), KERR_NONE);
    }
    assert_true(world_info(w, 3, p).high_watermark >= 39);
    for (; next < 60; next++) {
        append_committed(w, p, next);
    }
    world_await_high_watermark(w, 4, p, 60);
    world_assert_same_log(w, 3, 4, p);
    world_free(w);
}

/* Many partitions over several fetchers, one follower restarted meanwhile. */
static void follower_catches_up_after_a_restart(void **state)
{
    (void)state;
    struct world *w = world_new(92, 2);
    start_all(w);
    struct world_partition *first = NULL;
    for (int32_t i = 0; i < 30; i++) {
        struct world_partition *p = world_create(w, "orders", i, one_two, 2);
        first = first == NULL ? p : first;
    }
    for (int round = 0; round < 6; round++) {
        for (int32_t i = 0; i < 30; i++) {
            struct world_produce produce;
            world_append(w, 1, &first[i], 3, &produce);
            world_produce_deinit(&produce);
        }
        world_pass(w, 7);
        if (round == 3) {
            world_kill(w, 2);
        }
    }
    world_start(w, 2);
    for (int32_t i = 0; i < 30; i++) {
        assert_int_equal(world_send(w, 2, &first[i]), KERR_NONE);
    }
    for (int32_t i = 0; i < 30; i++) {
        world_await_end(w, 2, &first[i], 18);
        world_await_high_watermark(w, 2, &first[i], 18);
        world_assert_same_log(w, 1, 2, &first[i]);
    }
    world_free(w);
}

static void lower_minimum_takes_effect_at_once(void **state)
{
    (void)state;
    struct world *w = world_new(93, 2);
    w->min_insync_replicas = 2;
    world_start(w, 1);
    struct world_partition *p = world_create(w, "orders", 0, one_two, 2);
    p->isr_count = 1;
    world_announce(w, p, true);
    struct world_produce produce;
    world_append(w, 1, p, 1, &produce);
    world_produce_deinit(&produce);
    assert_int_equal(world_info(w, 1, p).high_watermark, 0);
    w->min_insync_replicas = 1;
    replicas_topic_config_changed(world_replicas(w, 1), "other");
    assert_int_equal(world_info(w, 1, p).high_watermark, 0);
    replicas_topic_config_changed(world_replicas(w, 1), "orders");
    assert_int_equal(world_info(w, 1, p).high_watermark, 1);
    world_free(w);
}

static void settings_reach_all_partitions_of_their_topic(void **state)
{
    (void)state;
    struct world *w = world_new(95, 2);
    w->min_insync_replicas = 2;
    world_start(w, 1);
    struct world_partition *list[3];
    for (int32_t i = 0; i < 3; i++) {
        list[i] = world_create(w, i < 2 ? "orders" : "payments", i, one_two, 2);
        list[i]->isr_count = 1;
        world_announce(w, list[i], true);
        struct world_produce produce;
        world_append(w, 1, list[i], 1, &produce);
        world_produce_deinit(&produce);
    }
    w->min_insync_replicas = 1;
    replicas_topic_config_changed(world_replicas(w, 1), "orders");
    assert_int_equal(world_info(w, 1, list[0]).high_watermark, 1);
    assert_int_equal(world_info(w, 1, list[1]).high_watermark, 1);
    assert_int_equal(world_info(w, 1, list[2]).high_watermark, 0);
    replicas_topic_config_changed(world_replicas(w, 1), NULL);
    assert_int_equal(world_info(w, 1, list[2]).high_watermark, 1);
    world_free(w);
}

static void figures_count_what_is_led_and_hosted(void **state)
{
    (void)state;
    struct world *w = world_new(94, 2);
    w->min_insync_replicas = 2;
    start_all(w);
    (void)world_create(w, "orders", 0, one_two, 2);
    struct world_partition *q = world_create(w, "orders", 1, one_two, 2);
    world_kill(w, 2);
    q->isr_count = 1;
    world_announce(w, q, true);
    struct replicas_metrics m;
    replicas_metrics(world_replicas(w, 1), &m);
    assert_int_equal(m.partitions, 2);
    assert_int_equal(m.leaders, 2);
    assert_int_equal(m.under_replicated, 1);
    assert_int_equal(m.under_min_isr, 1);
    assert_int_equal(m.at_min_isr, 1);
    assert_int_equal(m.reassigning, 0);
    assert_int_equal(m.offline, 0);
    world_free(w);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(partition_moves_under_load_without_loss),
        cmocka_unit_test(follower_catches_up_after_a_restart),
        cmocka_unit_test(lower_minimum_takes_effect_at_once),
        cmocka_unit_test(settings_reach_all_partitions_of_their_topic),
        cmocka_unit_test(figures_count_what_is_led_and_hosted),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
