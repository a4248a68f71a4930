/*
 * Which requests go to the queue, and how they are answered.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "broker/controller/private.h"
#include "unit/broker/controller/cluster.h"
#include "unit/broker/controller/queue.h"

static void a_stock_alter_passes_while_there_is_no_queue(void **state)
{
    (void)state;
    struct queue_bench q;
    queue_start(&q, 1, 71);
    assert_string_equal(queue_ask(&q, NULL, 1), "0;");
    cluster_run(q.k, 1000);
    assert_int_equal(queue_moving(&q), 1);
    assert_string_equal(cluster_node(q.k, "/klamm/jobs"), ""); /* no job was made for it */
    queue_end(&q);
}

static void a_stock_alter_is_queued_under_limits(void **state)
{
    (void)state;
    struct queue_bench q;
    struct moves_limits limits = {1, MOVES_OFF, MOVES_OFF, MOVES_OFF};
    queue_start(&q, 3, 72);
    controller_set_move_limits(queue_controller(&q), &limits);
    assert_string_equal(queue_ask(&q, NULL, 3), "0;0;0;");
    cluster_run(q.k, 2000);
    assert_int_equal(queue_moving(&q), 1);
    queue_end(&q);
}

/* Brokers cannot be told of limits at this level: nobody is made to believe that they hold. */
static void what_needs_limits_is_refused_below_their_level(void **state)
{
    (void)state;
    struct queue_bench q;
    queue_start(&q, 1, 75);
    enum ibp *level = &queue_controller(&q)->config.level; /* low for the questions alone */
    assert_string_equal(queue_submit(&q, "job"), "0;");
    *level = IBP_2_4_IV0;
    struct moves_call call = queue_call(MOVES_ACTION_SUBMIT, "slow");
    call.rate = 1000;
    (void)queue_ask(&q, &call, 1);
    assert_int_equal(q.k->reply_error, KERR_UNSUPPORTED_VERSION);
    call = queue_call(MOVES_ACTION_SETTINGS, "job");
    call.rate = 1000;
    (void)queue_ask(&q, &call, 0);
    assert_int_equal(q.k->reply_error, KERR_UNSUPPORTED_VERSION);
    call = queue_call(MOVES_ACTION_PAUSE, NULL);
    (void)queue_ask(&q, &call, 0);
    assert_int_equal(q.k->reply_error, KERR_UNSUPPORTED_VERSION);
    *level = IBP_NEWEST;
    call = queue_call(MOVES_ACTION_SUBMIT, "slow");
    call.rate = 1000;
    assert_string_equal(queue_ask(&q, &call, 1), "0;");
    queue_end(&q);
}

static void selectors_answer_what_they_found(void **state)
{
    (void)state;
    struct queue_bench q;
    queue_start(&q, 3, 73);
    assert_string_equal(queue_submit(&q, "job"), "0;0;0;");
    cluster_run(q.k, 2000);
    struct moves_call call = queue_call(MOVES_ACTION_CANCEL, "job");
    assert_string_equal(queue_ask(&q, &call, 0), "0;0;0;");
    cluster_run(q.k, 1000);
    assert_int_equal(queue_moving(&q), 0);
    call = queue_call(MOVES_ACTION_CANCEL, "other");
    assert_string_equal(queue_ask(&q, &call, 0), "");
    assert_int_equal(q.k->reply_error, KERR_RESOURCE_NOT_FOUND);
    queue_end(&q);
}

static void told(void *arg, const struct control_reply *reply)
{
    *(int16_t *)arg = reply->error;
}

/* Its answer does not come any more from a controller that was deposed. */
static void who_waits_is_told_that_the_role_is_lost(void **state)
{
    (void)state;
    struct queue_bench q;
    queue_start(&q, 1, 74);
    struct controller *c = queue_controller(&q);
    int16_t error = -2;
    struct moves_call call = queue_call(MOVES_ACTION_SUBMIT, "job");
    int32_t list[] = {q.b, q.c};
    struct control_alter_entry entry = {
        .topic = slice_str("t"), .replicas = list, .replica_count = 2};
    struct control_request request = {.kind = CONTROL_ALTER_REASSIGNMENTS,
                                      .alter = {.entries = &entry, .count = 1, .moves = &call}};
    controller_request(c, &request, told, &error);
    controller_set_broker_epoch(c, -1);
    cluster_run(q.k, 1000);
    assert_int_equal(error, KERR_NOT_CONTROLLER);
    queue_end(&q);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_stock_alter_passes_while_there_is_no_queue),
        cmocka_unit_test(a_stock_alter_is_queued_under_limits),
        cmocka_unit_test(what_needs_limits_is_refused_below_their_level),
        cmocka_unit_test(selectors_answer_what_they_found),
        cmocka_unit_test(who_waits_is_told_that_the_role_is_lost),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
