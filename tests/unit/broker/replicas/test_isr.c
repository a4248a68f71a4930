/*
 * The upkeep of in-sync sets over AlterPartition: joining, falling out, refusals, a controller that is
 * away (docs/spec/reassignment.md 11.4, 11.5, rows 27, 66).
 */
#include "world.h"

#include "model/kerr.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

static const int32_t two_three[] = {2, 3};

/* Broker 1 is the controller, 2 leads, 3 follows. */
static struct world *three_brokers(int64_t lag_time_max_ms)
{
    struct world *w = world_new(41, 3);
    w->lag_time_max_ms = lag_time_max_ms;
    for (int32_t id = 1; id <= 3; id++) {
        world_start(w, id);
    }
    return w;
}

static void append(struct world *w, const struct world_partition *p, int32_t count)
{
    struct world_produce produce;
    world_append(w, p->leader, p, count, &produce);
    world_produce_deinit(&produce);
}

static void restrict_isr(struct world *w, struct world_partition *p)
{
    p->isr_count = 1;
    world_announce(w, p, true);
}

static void caught_up_replica_joins(void **state)
{
    (void)state;
    struct world *w = three_brokers(30000);
    struct world_partition *p = world_create(w, "orders", 0, two_three, 2);
    append(w, p, 20);
    restrict_isr(w, p);
    world_await_isr(w, p, 2);
    assert_int_equal(p->isr[0], 2);
    assert_int_equal(p->isr[1], 3);
    assert_int_equal(p->leader_epoch, 1); /* row 27: only the partition epoch rises */
    assert_int_equal(p->partition_epoch, 2);
    struct replicas_metrics metrics;
    replicas_metrics(world_replicas(w, 2), &metrics);
    assert_int_equal(metrics.isr_expands, 1);
    assert_int_equal(metrics.under_replicated, 0);
    world_free(w);
}

static void lagging_replica_falls_out_and_comes_back(void **state)
{
    (void)state;
    struct world *w = three_brokers(2000);
    struct world_partition *p = world_create(w, "orders", 0, two_three, 2);
    append(w, p, 1);
    world_await_high_watermark(w, 2, p, 1);
    world_kill(w, 3);
    append(w, p, 1);
    world_pass(w, 1500);
    assert_int_equal(p->isr_count, 2);
    world_await_isr(w, p, 1);
    world_await_high_watermark(w, 2, p, 2);
    struct replicas_metrics metrics;
    replicas_metrics(world_replicas(w, 2), &metrics);
    assert_int_equal(metrics.isr_shrinks, 1);
    assert_int_equal(metrics.under_replicated, 1);
    world_start(w, 3);
    assert_int_equal(world_send(w, 3, p), KERR_NONE);
    world_await_isr(w, p, 2);
    world_await_high_watermark(w, 3, p, 2);
    world_free(w);
}

/* An idle replica at the log end stays in, however long nothing is produced. */
static void idle_replica_stays_in_sync(void **state)
{
    (void)state;
    struct world *w = three_brokers(1000);
    struct world_partition *p = world_create(w, "orders", 0, two_three, 2);
    append(w, p, 1);
    world_await_high_watermark(w, 2, p, 1);
    world_pass(w, 20000);
    assert_int_equal(p->isr_count, 2);
    assert_int_equal(w->alter_requests, 0);
    world_free(w);
}

static void unreachable_controller_is_asked_again(void **state)
{
    (void)state;
    struct world *w = three_brokers(30000);
    struct world_partition *p = world_create(w, "orders", 0, two_three, 2);
    world_kill(w, 1);
    append(w, p, 5);
    restrict_isr(w, p);
    world_pass(w, 3000);
    assert_int_equal(world_info(w, 2, p).isr_count, 1);
    world_start(w, 1);
    world_await_isr(w, p, 2);
    world_free(w);
}

/* 107 and 55 drop the proposal: the next fetch proposes anew. */
static void refused_join_is_proposed_again_by_a_later_fetch(void **state)
{
    (void)state;
    struct world *w = three_brokers(30000);
    struct world_partition *p = world_create(w, "orders", 0, two_three, 2);
    append(w, p, 5);
    w->alter_error = KERR_INELIGIBLE_REPLICA;
    restrict_isr(w, p);
    world_pass(w, 3000);
    assert_int_equal(world_info(w, 2, p).isr_count, 1);
    assert_true(w->alter_requests >= 2);
    struct replicas_metrics metrics;
    replicas_metrics(world_replicas(w, 2), &metrics);
    assert_true(metrics.isr_update_failures >= 2);
    w->alter_error = 0;
    world_await_isr(w, p, 2);
    world_free(w);
}

/* 95 settles it: no more requests until LeaderAndIsr brings news. */
static void outdated_proposal_waits_for_the_controller(void **state)
{
    (void)state;
    struct world *w = three_brokers(30000);
    struct world_partition *p = world_create(w, "orders", 0, two_three, 2);
    append(w, p, 5);
    w->alter_error = KERR_INVALID_UPDATE_VERSION;
    restrict_isr(w, p);
    world_pass(w, 5000);
    assert_int_equal(w->alter_requests, 1);
    w->alter_error = 0;
    world_pass(w, 5000);
    assert_int_equal(w->alter_requests, 1);
    world_announce(w, p, true);
    world_await_isr(w, p, 2);
    world_free(w);
}

/* Joins that are due together go out together. */
static void many_joins_take_few_requests(void **state)
{
    (void)state;
    struct world *w = three_brokers(30000);
    for (int32_t i = 0; i < 40; i++) {
        struct world_partition *p = world_create(w, "many", i, two_three, 2);
        restrict_isr(w, p);
    }
    for (int32_t i = 0; i < 40; i++) {
        world_await_isr(w, &w->partitions[i], 2);
    }
    assert_true(w->alter_requests <= 5);
    world_free(w);
}

/* The controller is of a level without ids. */
static void topics_are_named_to_a_controller_without_ids(void **state)
{
    (void)state;
    struct world *w = three_brokers(30000);
    w->lacks_topic_ids = true;
    struct world_partition *p = world_create(w, "orders", 0, two_three, 2);
    append(w, p, 5);
    restrict_isr(w, p);
    world_await_isr(w, p, 2);
    assert_int_equal(w->alter_version, 1);
    w->lacks_topic_ids = false;
    restrict_isr(w, p);
    world_await_isr(w, p, 2);
    assert_int_equal(w->alter_version, 3);
    world_free(w);
}

/* ---- below 2.7-IV2 ---- */

/* The test is the store. */
static struct world *three_brokers_of_an_old_level(void)
{
    struct world *w = world_new(41, 3);
    w->level = IBP_2_7_IV1;
    w->holds_puts = true;
    for (int32_t id = 1; id <= 3; id++) {
        world_start(w, id);
    }
    return w;
}

static void leader_of_an_old_level_stores_the_set_itself(void **state)
{
    (void)state;
    struct world *w = three_brokers_of_an_old_level();
    struct world_partition *p = world_create(w, "orders", 0, two_three, 2);
    append(w, p, 20);
    restrict_isr(w, p);
    world_await_put(w);
    assert_string_equal(w->puts[0].topic, "orders");
    assert_int_equal(w->puts[0].by, 2);
    assert_int_equal(w->puts[0].leader, 2);
    assert_int_equal(w->puts[0].leader_epoch, 1);
    assert_int_equal(w->puts[0].version, p->partition_epoch);
    assert_int_equal(w->puts[0].controller_epoch, w->controller_epoch);
    assert_int_equal(w->puts[0].isr_count, 2);
    assert_int_equal(w->puts[0].isr[1], 3);
    world_answer_put(w, 0);
    assert_int_equal(world_info(w, 2, p).isr_count, 2);
    world_await_high_watermark(w, 3, p, 20);
    assert_int_equal(w->alter_requests, 0);
    struct replicas_metrics metrics;
    replicas_metrics(world_replicas(w, 2), &metrics);
    assert_int_equal(metrics.isr_expands, 1);
    world_free(w);
}

/* Somebody else wrote the state: only the controller can say what holds now. */
static void refused_set_waits_for_the_controller(void **state)
{
    (void)state;
    struct world *w = three_brokers_of_an_old_level();
    struct world_partition *p = world_create(w, "orders", 0, two_three, 2);
    append(w, p, 5);
    restrict_isr(w, p);
    world_answer_put(w, -E_BAD_VERSION);
    world_pass(w, 5000);
    assert_int_equal(w->put_count, 0);
    assert_int_equal(world_info(w, 2, p).isr_count, 1);
    world_announce(w, p, true);
    world_answer_put(w, 0);
    assert_int_equal(world_info(w, 2, p).isr_count, 2);
    world_free(w);
}

static void set_without_an_answer_is_stored_again(void **state)
{
    (void)state;
    struct world *w = three_brokers_of_an_old_level();
    struct world_partition *p = world_create(w, "orders", 0, two_three, 2);
    append(w, p, 5);
    w->has_no_store = true;
    restrict_isr(w, p);
    world_pass(w, 3000);
    assert_int_equal(w->put_count, 0);
    w->has_no_store = false;
    world_answer_put(w, -E_CLOSED);
    world_answer_put(w, -E_UNKNOWN_OUTCOME);
    assert_int_equal(world_info(w, 2, p).isr_count, 1);
    world_answer_put(w, 0);
    assert_int_equal(world_info(w, 2, p).isr_count, 2);
    world_free(w);
}

/* An answer that comes when another epoch has begun says nothing about it. */
static void late_outcome_is_of_no_account(void **state)
{
    (void)state;
    struct world *w = three_brokers_of_an_old_level();
    struct world_partition *p = world_create(w, "orders", 0, two_three, 2);
    append(w, p, 5);
    restrict_isr(w, p);
    world_await_put(w);
    p->leader_epoch++;
    p->partition_epoch++;
    assert_int_equal(world_send(w, 2, p), KERR_NONE);
    world_answer_put(w, -E_BAD_VERSION); /* of the old epoch */
    assert_int_equal(world_info(w, 2, p).isr_count, 1);
    assert_int_equal(world_send(w, 3, p), KERR_NONE);
    world_answer_put(w, 0);
    assert_int_equal(world_info(w, 2, p).isr_count, 2);
    world_free(w);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(caught_up_replica_joins),
        cmocka_unit_test(lagging_replica_falls_out_and_comes_back),
        cmocka_unit_test(idle_replica_stays_in_sync),
        cmocka_unit_test(unreachable_controller_is_asked_again),
        cmocka_unit_test(refused_join_is_proposed_again_by_a_later_fetch),
        cmocka_unit_test(outdated_proposal_waits_for_the_controller),
        cmocka_unit_test(many_joins_take_few_requests),
        cmocka_unit_test(topics_are_named_to_a_controller_without_ids),
        cmocka_unit_test(leader_of_an_old_level_stores_the_set_itself),
        cmocka_unit_test(refused_set_waits_for_the_controller),
        cmocka_unit_test(set_without_an_answer_is_stored_again),
        cmocka_unit_test(late_outcome_is_of_no_account),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
