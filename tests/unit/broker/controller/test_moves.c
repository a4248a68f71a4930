/*
 * The queue's driver: alters by the core, limits to the brokers, slots given back.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "unit/broker/controller/cluster.h"
#include "unit/broker/controller/queue.h"

static void a_submitted_job_starts_as_many_as_may_run(void **state)
{
    (void)state;
    struct queue_bench q;
    queue_start(&q, 6, 61);
    assert_string_equal(queue_submit(&q, "job"), "0;0;0;0;0;0;");
    cluster_run(q.k, 2000);
    assert_int_equal(queue_moving(&q), MOVES_IN_DEFAULT);
    assert_int_equal(moves_queued_count(controller_moves_core(queue_controller(&q))), 2);
    struct controller_figures figures;
    controller_figures(queue_controller(&q), &figures);
    assert_int_equal(figures.queued, 2);
    controller_figures_deinit(&figures);
    struct moves_limits limits = {6, 6, MOVES_OFF, MOVES_OFF};
    controller_set_move_limits(queue_controller(&q), &limits);
    cluster_run(q.k, 2000);
    assert_int_equal(queue_moving(&q), 6);
    queue_end(&q);
}

static void brokers_are_told_the_rate_of_a_job(void **state)
{
    (void)state;
    struct queue_bench q;
    queue_start(&q, 1, 62);
    struct moves_call call = queue_call(MOVES_ACTION_SUBMIT, "job");
    call.rate = 4711;
    assert_string_equal(queue_ask(&q, &call, 1), "0;");
    cluster_run(q.k, 2000);
    assert_non_null(strstr(cluster_text(&q.k->brokers[q.b].told), "limits 4711 t-0;"));
    call = queue_call(MOVES_ACTION_PAUSE, "job");
    assert_string_equal(queue_ask(&q, &call, 0), "0;");
    cluster_run(q.k, 2000);
    assert_non_null(strstr(cluster_text(&q.k->brokers[q.b].told), "limits 0 t-0;"));
    queue_end(&q);
}

static void a_broker_that_comes_back_is_a_target_again(void **state)
{
    (void)state;
    struct queue_bench q;
    queue_start(&q, 1, 63);
    cluster_kill(q.k, q.c);
    cluster_run(q.k, 2 * CLUSTER_SESSION_MS);
    assert_string_equal(queue_submit(&q, "job"), "0;");
    cluster_run(q.k, 2000);
    assert_int_equal(queue_moving(&q), 0);
    struct controller_figures f;
    controller_figures(queue_controller(&q), &f);
    assert_int_equal(f.queued, 1);
    assert_int_equal(f.queued_by_reason[MOVES_REASON_TARGET_DOWN], 1);
    controller_figures_deinit(&f);
    cluster_start(q.k, q.c);
    cluster_run(q.k, 3000);
    assert_int_equal(queue_moving(&q), 1);
    queue_end(&q);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_submitted_job_starts_as_many_as_may_run),
        cmocka_unit_test(brokers_are_told_the_rate_of_a_job),
        cmocka_unit_test(a_broker_that_comes_back_is_a_target_again),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
