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

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_the_leader_tells_is_kept),
        cmocka_unit_test(what_was_told_long_ago_is_not_known),
        cmocka_unit_test(sizes_are_asked_for_while_bytes_are_limited),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
