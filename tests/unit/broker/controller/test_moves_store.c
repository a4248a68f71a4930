/*
 * Jobs in the metastore: written, found by the next controller, removed when they are old.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "unit/broker/controller/cluster.h"
#include "unit/broker/controller/queue.h"

static void a_job_and_its_pieces_are_nodes(void **state)
{
    (void)state;
    struct queue_bench q;
    queue_start(&q, 1, 81);
    assert_string_equal(queue_submit(&q, "job"), "0;");
    cluster_run(q.k, 2000);
    assert_non_null(strstr(cluster_node(q.k, "/klamm/jobs/job"), "\"submitted_by\":\"User:a\""));
    assert_non_null(
        strstr(cluster_node(q.k, "/klamm/jobs/job/0"), "{\"name\":\"t\",\"moves\":[[0,["));
    queue_end(&q);
}

static void the_next_controller_has_the_jobs(void **state)
{
    (void)state;
    struct queue_bench q;
    queue_start(&q, 6, 82);
    assert_string_equal(queue_submit(&q, "job"), "0;0;0;0;0;0;");
    cluster_run(q.k, 2000);
    queue_failover(&q);
    assert_int_equal(queue_moving(&q), MOVES_IN_DEFAULT);
    const struct moves *core = controller_moves_core(queue_controller(&q));
    assert_int_equal(moves_queued_count(core), 2);
    struct moves_call call = queue_call(MOVES_ACTION_CANCEL, "job");
    assert_string_equal(queue_ask(&q, &call, 0), "0;0;0;0;0;0;");
    cluster_run(q.k, 5000);
    assert_non_null(strstr(cluster_node(q.k, "/klamm/jobs/job"), "\"fate\":3"));
    queue_end(&q);
}

/* Bytes that are no job are passed over with a line, and the controller goes on. */
static void broken_nodes_are_passed_over(void **state)
{
    (void)state;
    struct queue_bench q;
    queue_start(&q, 1, 83);
    assert_int_equal(cluster_change(q.k, METASTORE_CREATE, "/klamm/jobs/broken", "{"), 0);
    assert_int_equal(cluster_change(q.k, METASTORE_CREATE, "/klamm/jobs/broken/0", "[]"), 0);
    assert_int_equal(cluster_change(q.k, METASTORE_CREATE, "/klamm/jobs/broken/x", "[]"), 0);
    queue_failover(&q);
    assert_string_equal(queue_submit(&q, "job"), "0;");
    cluster_run(q.k, 2000);
    assert_int_equal(queue_moving(&q), 1);
    queue_end(&q);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_job_and_its_pieces_are_nodes),
        cmocka_unit_test(the_next_controller_has_the_jobs),
        cmocka_unit_test(broken_nodes_are_passed_over),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
