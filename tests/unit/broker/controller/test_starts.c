/*
 * When moves began: kept over failover, forgotten with the move, and no harm when it cannot be kept.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "unit/broker/controller/cluster.h"
#include "unit/broker/controller/moving.h"

/* S23: three controllers die; the move is as old as it was. */
static void s23_a_new_controller_knows_when_it_began(void **state)
{
    (void)state;
    struct moving m;
    moving_start(&m, 6, 61);
    int64_t started_ms = moving_look(&m)->started_ms;
    cluster_run(m.k, 3000);
    assert_string_equal(cluster_node(m.k, "/klamm/moves/"), "t:0;");
    char *content = xasprintf("{\"version\":1,\"config\":{\"0\":\"%lld\"}}", (long long)started_ms);
    assert_string_equal(cluster_node(m.k, "/klamm/moves/t:0"), content);
    for (int32_t i = 0; i < 3; i++) {
        moving_change_controller(&m);
        assert_int_equal(moving_look(&m)->started_ms, started_ms);
        cluster_run(m.k, 3000);
        assert_string_equal(cluster_node(m.k, "/klamm/moves/t:0"), content);
    }
    free(content);
    moving_cancel(&m);
    cluster_run(m.k, 3000);
    assert_string_equal(cluster_node(m.k, "/klamm/moves/"), "");
    moving_end(&m);
}

/* S15 over a failover: what was copied to a broker that is down is known to the next controller. */
static void s15_a_new_controller_knows_what_a_dead_target_has(void **state)
{
    (void)state;
    struct moving m;
    moving_start(&m, 6, 65);
    m.k->brokers[m.leader].dirs_size = 100000000;
    m.k->brokers[m.target].dirs_size = 37000000;
    cluster_run(m.k, 4000);
    cluster_kill(m.k, m.target);
    cluster_run(m.k, 2 * CLUSTER_SESSION_MS);
    for (int32_t i = 0; i < 2; i++) {
        moving_change_controller(&m);
        cluster_run(m.k, 4000);
        assert_int_equal(moving_look(&m)->bytes_copied, 37000000);
        assert_int_equal(moving_look(&m)->bytes_to_copy, 100000000);
    }
    char *content = xasprintf(" %d:37000000@2.0.", m.target);
    assert_non_null(strstr(cluster_node(m.k, "/klamm/moves/t:0"), content));
    free(content);
    cluster_start(m.k, m.target);
    cluster_run(m.k, 4000);
    assert_null(strstr(cluster_node(m.k, "/klamm/moves/t:0"), ":37000000"));
    moving_end(&m);
}

/* The target is the controller's own broker: it tells the metastore while it can. */
static void what_the_controllers_broker_had_is_known(void **state)
{
    (void)state;
    struct moving m;
    moving_start(&m, 4, 66);
    m.k->brokers[m.leader].dirs_size = 100000000;
    m.k->brokers[m.target].dirs_size = 37000000;
    for (int32_t i = 0; i < 50 && cluster_wait_controller(m.k) != m.target; i++) {
        moving_change_controller(&m);
    }
    assert_int_equal(cluster_wait_controller(m.k), m.target);
    cluster_run(m.k, 4000);
    char *content = xasprintf(" %d:37000000\"", m.target);
    assert_non_null(strstr(cluster_node(m.k, "/klamm/moves/t:0"), content));
    free(content);
    m.k->brokers[m.target].dirs_size = 37000001; /* too little to be written again */
    cluster_run(m.k, 4000);
    assert_null(strstr(cluster_node(m.k, "/klamm/moves/t:0"), ":37000001"));
    cluster_kill(m.k, m.target);
    cluster_run(m.k, 2 * CLUSTER_SESSION_MS + 4000);
    const details *d = moving_look(&m);
    assert_int_equal(d->reason, MOVES_REASON_TARGET_DOWN);
    assert_int_equal(d->bytes_copied, 37000000);
    assert_int_equal(d->bytes_to_copy, 100000000);
    moving_end(&m);
}

/* S15 over failovers: a broker is down since the controller saw it go that was there then. */
static void s15_a_broker_stays_down_since_it_went(void **state)
{
    (void)state;
    struct moving m;
    moving_start(&m, 6, 67);
    cluster_run(m.k, 4000);
    cluster_kill(m.k, m.target);
    cluster_run(m.k, 2 * CLUSTER_SESSION_MS);
    int64_t since_ms = moving_look(&m)->since_ms;
    for (int32_t i = 0; i < 3; i++) {
        cluster_run(m.k, 3000);
        moving_change_controller(&m);
        const details *d = moving_look(&m);
        assert_int_equal(d->reason, MOVES_REASON_TARGET_DOWN);
        assert_int_equal(d->since_ms, since_ms);
        assert_int_equal(d->adding[0].since_ms, since_ms);
    }
    cluster_start(m.k, m.target);
    cluster_run(m.k, 4000);
    assert_int_equal(moving_look(&m)->reason, MOVES_REASON_NONE);
    assert_null(strchr(cluster_node(m.k, "/klamm/moves/t:0"), '@'));
    cluster_kill(m.k, m.target);
    cluster_run(m.k, 2 * CLUSTER_SESSION_MS);
    assert_true(moving_look(&m)->since_ms > since_ms + 4000);
    moving_end(&m);
}

/* What the whole waits for, and no replica of it. */
static void other_reasons_hold_on_too(void **state)
{
    (void)state;
    struct moving m;
    moving_start(&m, 6, 68);
    m.k->brokers[m.leader].refusals = m.k->brokers[m.stays].refusals = 1000000;
    m.k->brokers[m.target].refusals = 1000000;
    moving_join(&m);
    cluster_run(m.k, 5000);
    assert_int_equal(moving_look(&m)->reason, MOVES_REASON_OLD_REPLICAS);
    int64_t since_ms = moving_look(&m)->since_ms;
    char *content = xasprintf(" @9.0.%lld\"", (long long)since_ms);
    assert_non_null(strstr(cluster_node(m.k, "/klamm/moves/t:0"), content));
    free(content);
    moving_change_controller(&m);
    cluster_run(m.k, 5000);
    assert_int_equal(moving_look(&m)->reason, MOVES_REASON_OLD_REPLICAS);
    assert_int_equal(moving_look(&m)->since_ms, since_ms);
    moving_end(&m);
}

/* What an earlier move of the partition left behind says nothing about the next. */
static void a_move_that_begins_anew_is_young(void **state)
{
    (void)state;
    struct moving m;
    moving_start(&m, 4, 62);
    cluster_run(m.k, 3000);
    int64_t started_ms = moving_look(&m)->started_ms;
    moving_cancel(&m);
    moving_alter(&m, false); /* before the next look */
    assert_true(moving_look(&m)->started_ms >= started_ms + 3000);
    moving_end(&m);
}

/* The clock of the controller that saw it begin may be hours ahead. One a year ahead is a fault. */
static void a_start_by_a_clock_ahead_is_kept(void **state)
{
    (void)state;
    static const int64_t hour_ms = 3600000;
    struct moving m;
    moving_start(&m, 6, 64);
    int64_t started_ms = moving_look(&m)->started_ms;
    cluster_run(m.k, 3000);
    for (int32_t i = 0; i < 2; i++) {
        int64_t ahead_ms = started_ms + (i == 0 ? 13 : 365 * 24) * hour_ms;
        char *content =
            xasprintf("{\"version\":1,\"config\":{\"0\":\"%lld\"}}", (long long)ahead_ms);
        assert_int_equal(cluster_change(m.k, METASTORE_SET, "/klamm/moves/t:0", content), 0);
        moving_change_controller(&m);
        assert_int_equal(moving_look(&m)->started_ms == ahead_ms, i == 0);
        cluster_run(m.k, 3000);
        assert_int_equal(strcmp(cluster_node(m.k, "/klamm/moves/t:0"), content) == 0, i == 0);
        free(content);
    }
    moving_end(&m);
}

/* Somebody removes the node, or writes what nobody can read. */
static void damage_from_outside_is_written_over(void **state)
{
    (void)state;
    struct moving m;
    moving_start(&m, 6, 63);
    cluster_run(m.k, 3000);
    int64_t started_ms = moving_look(&m)->started_ms;
    char *content = xasprintf("%s", cluster_node(m.k, "/klamm/moves/t:0"));
    static const char *const bad[] = {
        "", "{", "{\"version\":1,\"config\":{\"0\":\"x\",\"y\":\"1\",\"99999999999\":\"1\"}}",
        "{\"version\":1,\"config\":{\"0\":\"99999999999999999999 :\",\"0x\":\"1\"}}"};
    static const char *const odd[] = {
        " 4:",       " 4@",      " @2",         " @2.0",
        " @2.0.x",   " @99.0.1", " @2.70000.1", " 4@2.0.9999999999999",
        " 4@2.0.1x", " x",       "  ",          " by x"};
    for (size_t i = 0; i < ARRAY_LEN(bad); i++) {
        assert_int_equal(cluster_change(m.k, METASTORE_SET, "/klamm/moves/t:0", bad[i]), 0);
        moving_change_controller(&m);
        assert_true(moving_look(&m)->started_ms > started_ms);
        cluster_run(m.k, 3000);
        assert_non_null(strstr(cluster_node(m.k, "/klamm/moves/t:0"), "{\"0\":\"1"));
    }
    /* The start can be read, what follows cannot: that alone is passed over. */
    started_ms = moving_look(&m)->started_ms - 1000;
    for (size_t i = 0; i < ARRAY_LEN(odd); i++) {
        char *text = xasprintf("{\"version\":1,\"config\":{\"0\":\"%lld%s\"}}",
                               (long long)started_ms, odd[i]);
        assert_int_equal(cluster_change(m.k, METASTORE_SET, "/klamm/moves/t:0", text), 0);
        moving_change_controller(&m);
        assert_int_equal(moving_look(&m)->started_ms, started_ms);
        assert_int_equal(moving_look(&m)->reason, MOVES_REASON_NONE);
        free(text);
    }
    cluster_run(m.k, 3000);
    assert_int_equal(cluster_change(m.k, METASTORE_CREATE, "/klamm/moves/gone:7", "{}"), 0);
    assert_int_equal(cluster_change(m.k, METASTORE_DELETE, "/klamm/moves/t:0", ""), 0);
    moving_change_controller(&m);
    cluster_run(m.k, 3000);
    assert_string_equal(cluster_node(m.k, "/klamm/moves/"), "t:0;");
    free(content);
    moving_end(&m);
}

/* The node vanishes under a controller that goes on. */
static void a_node_that_vanished_is_made_again(void **state)
{
    (void)state;
    struct moving m;
    moving_start(&m, 4, 64);
    cluster_run(m.k, 3000);
    assert_int_equal(cluster_change(m.k, METASTORE_DELETE, "/klamm/moves/t:0", ""), 0);
    moving_cancel(&m);
    moving_alter(&m, false);
    cluster_run(m.k, 4000);
    assert_string_equal(cluster_node(m.k, "/klamm/moves/"), "t:0;");
    moving_cancel(&m);
    assert_int_equal(cluster_change(m.k, METASTORE_DELETE, "/klamm/moves/t:0", ""), 0);
    cluster_run(m.k, 4000);
    assert_string_equal(cluster_node(m.k, "/klamm/moves/"), "");
    moving_end(&m);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(s23_a_new_controller_knows_when_it_began),
        cmocka_unit_test(s15_a_new_controller_knows_what_a_dead_target_has),
        cmocka_unit_test(what_the_controllers_broker_had_is_known),
        cmocka_unit_test(s15_a_broker_stays_down_since_it_went),
        cmocka_unit_test(other_reasons_hold_on_too),
        cmocka_unit_test(a_move_that_begins_anew_is_young),
        cmocka_unit_test(a_start_by_a_clock_ahead_is_kept),
        cmocka_unit_test(damage_from_outside_is_written_over),
        cmocka_unit_test(a_node_that_vanished_is_made_again),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
