/*
 * The report of a list: as many details as moves, in memory of the request's own, and none when that is
 * full.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "unit/broker/controller/cluster.h"
#include "unit/broker/controller/moving.h"

static void each_move_has_its_details(void **state)
{
    (void)state;
    struct moving m;
    moving_start(&m, 4, 51);
    int64_t now_ms = env_wall_ms(sim_node_env(m.k->store_node));
    const details *d = moving_look(&m); /* before the first question to a broker */
    assert_in_range(d->started_ms, now_ms - 1000, now_ms);
    assert_true(slice_is_null(d->job));
    assert_int_equal(d->bytes_to_copy, 0);
    assert_int_equal(d->rate, -1);
    assert_int_equal(d->eta_ms, -1);
    assert_int_equal(d->adding_count, 1);
    assert_int_equal(d->adding[0].state, MOVES_REPLICA_UNKNOWN);
    assert_int_equal(d->adding[0].lag_offsets, -1);
    int64_t started_ms = d->started_ms;
    cluster_run(m.k, 3000);
    moving_alter(&m, false); /* the same target again: the same move */
    assert_int_equal(moving_look(&m)->started_ms, started_ms);
    moving_cancel(&m);
    assert_null(moving_look(&m));
    moving_end(&m);
}

/* Kept over a failover; bytes that are no plain text are made so. */
static void who_asked_is_told(void **state)
{
    (void)state;
    struct moving m;
    moving_start(&m, 6, 53);
    assert_true(slice_is_null(moving_look(&m)->submitted_by));
    m.principal = "User:a b";
    m.client_id = "x\n\xc3\xa4\"\\";
    moving_alter(&m, false);
    for (int32_t i = 0; i < 2; i++) {
        assert_true(slice_equal_str(moving_look(&m)->submitted_by, "User:a b"));
        assert_true(slice_equal_str(moving_look(&m)->client_id, "x???\"\\"));
        cluster_run(m.k, 3000);
        moving_change_controller(&m);
    }
    cluster_run(m.k, 2000); /* the last one may be the target: it registers */
    m.principal = "User:c";
    m.client_id = NULL;
    moving_cancel(&m); /* asks for no move */
    moving_alter(&m, false);
    assert_true(slice_equal_str(moving_look(&m)->submitted_by, "User:c"));
    assert_true(slice_equal_str(moving_look(&m)->client_id, ""));
    moving_end(&m);
}

static void full_memory_gives_no_report(void **state)
{
    (void)state;
    struct moving m;
    moving_start(&m, 4, 52);
    static const size_t sizes[] = {1, 40, 160, 200};
    for (size_t i = 0; i < ARRAY_LEN(sizes); i++) {
        struct arena small;
        arena_init(&small, sizes[i]);
        struct control_request request = {.kind = CONTROL_LIST_REASSIGNMENTS,
                                          .list = {.wants_all = true, .memory = &small}};
        m.is_stock = true; /* expects none */
        m.k->is_replied = false;
        controller_request(m.k->brokers[cluster_wait_controller(m.k)].controller, &request,
                           moving_told, &m);
        assert_true(sim_world_run(m.k->world, CLUSTER_PATIENCE_MS, cluster_flag, &m.k->is_replied));
        assert_true(m.is_listed);
        arena_deinit(&small);
    }
    moving_end(&m);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_move_has_its_details),
        cmocka_unit_test(who_asked_is_told),
        cmocka_unit_test(full_memory_gives_no_report),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
