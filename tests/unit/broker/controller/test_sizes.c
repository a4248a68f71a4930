/*
 * Sizes of partitions that wait are asked of their leaders.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "unit/broker/controller/cluster.h"
#include "unit/broker/controller/queue.h"

static void what_the_leader_tells_is_kept(void **state)
{
    (void)state;
    struct queue_bench q;
    queue_start(&q, 2, 91);
    struct controller *c = queue_controller(&q);
    struct slice topic = slice_str("t");
    assert_int_equal(controller_sizes_get(c, topic, 0), -1);
    controller_sizes_heard(c, q.a, topic, 0, 1234);
    controller_sizes_heard(c, q.b, topic, 0, 99); /* not the leader */
    controller_sizes_heard(c, q.a, topic, 1, -1); /* not known there */
    controller_sizes_heard(c, q.a, slice_str("no"), 0, 5);
    assert_int_equal(controller_sizes_get(c, topic, 0), 1234);
    assert_int_equal(controller_sizes_get(c, topic, 1), -1);
    queue_end(&q);
}

/* A partition grows while nobody asks. */
static void what_was_told_long_ago_is_not_known(void **state)
{
    (void)state;
    struct queue_bench q;
    queue_start(&q, 1, 93);
    struct controller *c = queue_controller(&q);
    controller_sizes_heard(c, q.a, slice_str("t"), 0, 1234);
    cluster_run(q.k, 25000);
    assert_int_equal(controller_sizes_get(c, slice_str("t"), 0), 1234);
    cluster_run(q.k, 10000);
    assert_int_equal(controller_sizes_get(c, slice_str("t"), 0), -1);
    controller_sizes_heard(c, q.a, slice_str("t"), 0, 5678);
    assert_int_equal(controller_sizes_get(c, slice_str("t"), 0), 5678);
    queue_end(&q);
}

/* With a limit on bytes a move waits until its size is known. */
static void sizes_are_asked_for_while_bytes_are_limited(void **state)
{
    (void)state;
    struct queue_bench q;
    struct moves_limits limits = {MOVES_OFF, MOVES_OFF, MOVES_OFF, 1000};
    queue_start(&q, 1, 92);
    controller_set_move_limits(queue_controller(&q), &limits);
    assert_string_equal(queue_submit(&q, "job"), "0;");
    cluster_run(q.k, 5000);
    assert_true(controller_sizes_get(queue_controller(&q), slice_str("t"), 0) >= 0);
    assert_int_equal(queue_moving(&q), 1);
    queue_end(&q);
}

/* Without a limit on bytes too: whoever lists what waits sees how much it is. */
static void sizes_of_what_waits_are_asked_for(void **state)
{
    (void)state;
    struct queue_bench q;
    struct moves_view view;
    struct moves_limits limits = {0, 0, 0, MOVES_OFF};
    queue_start(&q, 2, 93);
    q.k->brokers[q.a].dirs_size = 500;
    controller_set_move_limits(queue_controller(&q), &limits);
    assert_string_equal(queue_submit(&q, "job"), "0;0;");
    cluster_run(q.k, 4000);
    assert_true(
        moves_find_queued(controller_moves_core(queue_controller(&q)), slice_str("t"), 1, &view));
    assert_int_equal(view.bytes_to_copy, 500);
    assert_int_equal(view.job->bytes_to_copy, 1000);
    queue_end(&q);
}

/* What the looks at running moves find goes to their job, and the next controller counts on. */
static void bytes_of_running_moves_go_to_their_job(void **state)
{
    (void)state;
    struct queue_bench q;
    struct moves_view view;
    queue_start(&q, 2, 94);
    q.k->brokers[q.a].dirs_size = 100000000;
    q.k->brokers[q.c].dirs_size = 40000000;
    assert_string_equal(queue_submit(&q, "job"), "0;0;");
    for (int32_t i = 0; i < 2; i++) {
        cluster_run(q.k, 5000);
        assert_true(moves_find_running(controller_moves_core(queue_controller(&q)), slice_str("t"),
                                       0, &view));
        assert_int_equal(view.job->bytes_to_copy, 200000000);
        assert_int_equal(view.job->bytes_copied, 80000000);
        queue_failover(&q);
        assert_true(moves_find_running(controller_moves_core(queue_controller(&q)), slice_str("t"),
                                       0, &view));
        assert_int_equal(view.job->bytes_to_copy, 200000000);
    }
    queue_end(&q);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_the_leader_tells_is_kept),
        cmocka_unit_test(what_was_told_long_ago_is_not_known),
        cmocka_unit_test(sizes_are_asked_for_while_bytes_are_limited),
        cmocka_unit_test(sizes_of_what_waits_are_asked_for),
        cmocka_unit_test(bytes_of_running_moves_go_to_their_job),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
