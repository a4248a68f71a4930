/*
 * Progress in the controller's driver: sizes come from the brokers each second while something moves,
 * reasons follow what brokers and core tell, start times outlive nothing they should not.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "unit/broker/controller/cluster.h"
#include "unit/broker/controller/moving.h"

/* [a,b] -> [b,c] copies until c is in the in-sync set, which nobody proposes here. */
static void bytes_are_told_while_it_copies(void **state)
{
    (void)state;
    struct moving m;
    moving_start(&m, 4, 31);
    m.k->brokers[m.leader].dirs_size = 100000000;
    m.k->brokers[m.target].dirs_size = 37000000;
    cluster_run(m.k, 5000);
    const details *d = moving_look(&m);
    assert_int_equal(d->bytes_to_copy, 100000000);
    assert_int_equal(d->bytes_copied, 37000000);
    assert_int_equal(d->reason, MOVES_REASON_NONE);
    assert_int_equal(d->adding_count, 1);
    assert_int_equal(d->adding[0].broker, m.target);
    assert_int_equal(d->adding[0].state, MOVES_REPLICA_COPYING);
    assert_int_equal(d->adding[0].lag_bytes, 63000000);
    assert_int_equal(d->original_replicas_count, 2);
    assert_int_equal(d->original_replicas[0], m.leader);
    assert_int_equal(d->original_replicas[1], m.stays);
    moving_end(&m);
}

/* Known by the details that other software does not tell; one end that tells them is enough. */
static void a_copy_between_brokers_without_limits_is_told(void **state)
{
    (void)state;
    struct moving m;
    moving_start(&m, 4, 39);
    m.k->brokers[m.leader].dirs_size = 1000;
    assert_false(moving_look(&m)->adding[0].ignores_limits); /* before anything was heard */
    cluster_run(m.k, 3000);
    assert_true(moving_look(&m)->adding[0].ignores_limits);
    m.k->brokers[m.target].dirs_has_details = true;
    cluster_run(m.k, 3000);
    assert_false(moving_look(&m)->adding[0].ignores_limits);
    m.k->brokers[m.target].dirs_has_details = false;
    m.k->brokers[m.leader].dirs_has_details = true;
    cluster_run(m.k, 3000);
    assert_false(moving_look(&m)->adding[0].ignores_limits);
    moving_end(&m);
}

/* Only brokers that have a part in it are asked, and only while it runs. */
static void who_has_no_part_is_not_asked(void **state)
{
    (void)state;
    struct moving m;
    moving_start(&m, 4, 32);
    cluster_run(m.k, 4500);
    assert_int_equal(m.k->brokers[m.stays].dirs_count, 0);
    assert_in_range(m.k->brokers[m.leader].dirs_count, 3, 5);
    assert_in_range(m.k->brokers[m.target].dirs_count, 3, 5);
    moving_cancel(&m);
    cluster_run(m.k, 2000);
    int32_t asked = m.k->brokers[m.leader].dirs_count;
    cluster_run(m.k, 10000);
    assert_int_equal(m.k->brokers[m.leader].dirs_count, asked);
    moving_end(&m);
}

/* The one that stays falls behind: it is asked too, and what it tells is the reason. */
static void a_replica_that_stays_is_asked_when_it_falls_behind(void **state)
{
    (void)state;
    struct moving m;
    moving_start(&m, 4, 38);
    m.k->brokers[m.leader].dirs_size = m.k->brokers[m.target].dirs_size = 100000000;
    moving_propose(&m, (int32_t[]){m.leader, m.target}, 2);
    cluster_run(m.k, 3000);
    const details *d = moving_look(&m);
    assert_int_equal(d->reason, MOVES_REASON_STAYING);
    assert_int_equal(d->eta_ms, -1);
    assert_true(m.k->brokers[m.stays].dirs_count > 0);
    m.k->brokers[m.stays].dirs_usable = 0;
    cluster_run(m.k, 3000);
    assert_int_equal(moving_look(&m)->reason, MOVES_REASON_DISK_FULL);
    m.k->brokers[m.stays].dirs_usable = (int64_t)1 << 40;
    moving_join(&m);
    cluster_run(m.k, 3000);
    assert_null(moving_look(&m));
    moving_end(&m);
}

/* S15: the target dies, and is named with its since; then it returns, and the copy goes on. */
static void s15_a_dead_target_is_told_within_seconds(void **state)
{
    (void)state;
    struct moving m;
    moving_start(&m, 4, 33);
    m.k->brokers[m.leader].dirs_size = 100000000;
    m.k->brokers[m.target].dirs_size = 37000000;
    cluster_run(m.k, 5000);
    int64_t before_ms = env_wall_ms(sim_node_env(m.k->store_node));
    cluster_kill(m.k, m.target);
    cluster_run(m.k, 2 * CLUSTER_SESSION_MS + 1000);
    const details *d = moving_look(&m);
    assert_int_equal(d->reason, MOVES_REASON_TARGET_DOWN);
    assert_in_range(d->since_ms, before_ms, before_ms + 2 * CLUSTER_SESSION_MS);
    assert_int_equal(d->bytes_copied, 37000000);
    assert_int_equal(d->bytes_to_copy, 100000000);
    assert_int_equal(d->eta_ms, -1);
    assert_int_equal(d->adding[0].state, MOVES_REPLICA_DOWN);
    cluster_start(m.k, m.target);
    cluster_run(m.k, 5000);
    d = moving_look(&m);
    assert_int_equal(d->reason, MOVES_REASON_NONE);
    assert_int_equal(d->bytes_copied, 37000000);
    moving_end(&m);
}

/* The leader does not answer what it was told: those that leave cannot be stopped yet. */
static void waiting_for_old_replicas_to_stop_is_told(void **state)
{
    (void)state;
    struct moving m;
    moving_start(&m, 4, 34);
    m.k->brokers[m.leader].refusals = m.k->brokers[m.stays].refusals = 1000000;
    m.k->brokers[m.target].refusals = 1000000;
    moving_join(&m);
    cluster_run(m.k, 3000);
    const details *d = moving_look(&m);
    assert_int_equal(d->reason, MOVES_REASON_OLD_REPLICAS);
    assert_int_equal(d->bytes_copied, d->bytes_to_copy);
    int64_t since_ms = d->since_ms;
    cluster_run(m.k, 3000);
    assert_int_equal(moving_look(&m)->since_ms, since_ms);
    m.k->brokers[m.leader].refusals = m.k->brokers[m.stays].refusals = 0;
    m.k->brokers[m.target].refusals = 0;
    cluster_run(m.k, 3000);
    assert_null(moving_look(&m));
    moving_end(&m);
}

/* Everybody who is in sync is gone. */
static void an_unknown_leader_is_told(void **state)
{
    (void)state;
    struct moving m;
    moving_start(&m, 5, 35);
    cluster_kill(m.k, m.stays);
    cluster_run(m.k, 2 * CLUSTER_SESSION_MS);
    cluster_kill(m.k, m.leader);
    cluster_run(m.k, 2 * CLUSTER_SESSION_MS);
    const details *d = moving_look(&m);
    assert_int_equal(d->adding[0].reason, MOVES_REASON_NO_LEADER);
    assert_int_equal(d->reason, MOVES_REASON_TARGET_DOWN); /* of the one that stays */
    cluster_start(m.k, m.stays);
    cluster_start(m.k, m.leader);
    cluster_run(m.k, 3000);
    assert_int_equal(moving_look(&m)->reason, MOVES_REASON_NONE);
    moving_end(&m);
}

/* What gauges tell of the move: on the active controller alone, and no longer than it runs. */
static void figures_tell_each_running_move(void **state)
{
    (void)state;
    struct moving m;
    moving_start(&m, 4, 37);
    m.k->brokers[m.leader].dirs_size = 100000000;
    m.k->brokers[m.target].dirs_size = 37000000;
    cluster_run(m.k, 5000);
    cluster_kill(m.k, m.target);
    cluster_run(m.k, 2 * CLUSTER_SESSION_MS + 1000);
    for (int32_t id = 1; id <= 4; id++) {
        struct controller_figures f;
        if (m.k->brokers[id].controller == NULL) {
            continue;
        }
        controller_figures(m.k->brokers[id].controller, &f);
        assert_int_equal(f.move_count, f.is_active ? 1 : 0);
        if (f.is_active) {
            const struct controller_move_figures *told = &f.moves[0];
            assert_int_equal(f.cluster.moves, 1);
            assert_int_equal(f.by_reason[MOVES_REASON_TARGET_DOWN], 1);
            assert_string_equal(told->topic, "t");
            assert_int_equal(told->partition, 0);
            assert_int_equal(told->to_copy, 100000000);
            assert_int_equal(told->copied, 37000000);
            assert_int_equal(told->eta_ms, -1);
            assert_int_equal(told->reason, MOVES_REASON_TARGET_DOWN);
            assert_in_range(told->age_ms, 5000, 60000);
            assert_in_range(told->reason_age_ms, 1, told->age_ms);
            assert_int_equal(told->replica_count, 1);
            assert_int_equal(told->replicas[0].broker, m.target);
            assert_int_equal(told->replicas[0].state, MOVES_REPLICA_DOWN);
        }
        controller_figures_deinit(&f);
    }
    cluster_start(m.k, m.target);
    moving_cancel(&m);
    cluster_run(m.k, 3000);
    for (int32_t id = 1; id <= 4; id++) {
        struct controller_figures f;
        controller_figures(m.k->brokers[id].controller, &f);
        assert_int_equal(f.move_count, 0);
        controller_figures_deinit(&f);
    }
    moving_end(&m);
}

/* Nobody asked for more than Kafka's answer: nothing is made. */
static void a_stock_list_has_no_report(void **state)
{
    (void)state;
    struct moving m;
    moving_start(&m, 4, 36);
    m.is_stock = true;
    assert_null(moving_look(&m));
    assert_true(m.is_listed);
    moving_end(&m);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(bytes_are_told_while_it_copies),
        cmocka_unit_test(a_copy_between_brokers_without_limits_is_told),
        cmocka_unit_test(who_has_no_part_is_not_asked),
        cmocka_unit_test(a_replica_that_stays_is_asked_when_it_falls_behind),
        cmocka_unit_test(s15_a_dead_target_is_told_within_seconds),
        cmocka_unit_test(waiting_for_old_replicas_to_stop_is_told),
        cmocka_unit_test(an_unknown_leader_is_told),
        cmocka_unit_test(figures_tell_each_running_move),
        cmocka_unit_test(a_stock_list_has_no_report),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
