/*
 * Leadership given back by itself: when it is, when it is not.
 */
#include "base/check.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "cluster.h"
#include "model/kerr.h"

/* Kills the preferred leader of "t"-0, lets it return, and tells whether it leads wait_ms later. */
static bool leads_after_return(struct cluster *c, int64_t wait_ms)
{
    assert_int_equal(cluster_create_topic(c, "t", 1, 3), KERR_NONE);
    int32_t preferred = cluster_partition(c, 1, "t", 0)->replica_nodes[0];
    cluster_kill(c, preferred);
    cluster_run(c, 20000);
    cluster_restart(c, preferred);
    cluster_run(c, wait_ms);
    return cluster_partition(c, preferred, "t", 0)->leader_id == preferred;
}

static void returned_leader_leads_again_after_the_interval(void **state)
{
    (void)state;
    static const struct broker_setting settings[] = {
        {"leader.imbalance.check.interval.seconds", "60"}};
    struct cluster c = {.settings = settings, .setting_count = 1};
    cluster_start(&c, 3);
    assert_true(leads_after_return(&c, 100000));
    cluster_stop(&c);
}

static void nothing_is_given_back_when_it_is_switched_off(void **state)
{
    (void)state;
    static const struct broker_setting settings[] = {
        {"leader.imbalance.check.interval.seconds", "60"},
        {"auto.leader.rebalance.enable", "false"}};
    struct cluster c = {.settings = settings, .setting_count = 2};
    cluster_start(&c, 3);
    assert_false(leads_after_return(&c, 100000));
    cluster_stop(&c);
}

/* One of one is more than any share below 100. */
static void small_imbalance_is_left_alone(void **state)
{
    (void)state;
    static const struct broker_setting settings[] = {
        {"leader.imbalance.check.interval.seconds", "60"},
        {"leader.imbalance.per.broker.percentage", "100"}};
    struct cluster c = {.settings = settings, .setting_count = 2};
    cluster_start(&c, 3);
    assert_false(leads_after_return(&c, 100000));
    cluster_stop(&c);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(returned_leader_leads_again_after_the_interval),
        cmocka_unit_test(nothing_is_given_back_when_it_is_switched_off),
        cmocka_unit_test(small_imbalance_is_left_alone),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
