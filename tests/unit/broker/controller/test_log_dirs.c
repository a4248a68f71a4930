/*
 * Asking brokers for the sizes of logs: in the version they serve, no more at a time than is bounded, and
 * never in the way of control requests.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "unit/broker/controller/cluster.h"
#include "unit/broker/controller/moving.h"

/* A broker of an older release serves version 1: it tells sizes all the same. */
static void an_old_broker_is_asked_in_its_own_version(void **state)
{
    (void)state;
    struct moving m;
    moving_start(&m, 4, 41);
    m.k->brokers[m.leader].dirs_version_max = 1;
    m.k->brokers[m.leader].dirs_size = 5000;
    m.k->brokers[m.target].dirs_version_max = 2;
    m.k->brokers[m.target].dirs_size = 1000;
    cluster_run(m.k, 5000);
    assert_int_equal(moving_look(&m)->bytes_to_copy, 5000);
    assert_int_equal(moving_look(&m)->bytes_copied, 1000);
    moving_end(&m);
}

static void a_broker_without_the_api_is_left_alone(void **state)
{
    (void)state;
    struct moving m;
    moving_start(&m, 4, 42);
    m.k->brokers[m.target].dirs_version_max = -1;
    m.k->brokers[m.leader].dirs_size = 5000;
    cluster_run(m.k, 5000);
    assert_int_equal(m.k->brokers[m.target].dirs_count, 0);
    assert_int_equal(moving_look(&m)->bytes_to_copy, 5000);
    assert_int_equal(moving_look(&m)->adding[0].state, MOVES_REPLICA_UNKNOWN);
    assert_int_equal(moving_look(&m)->adding[0].lag_bytes, -1);
    moving_end(&m);
}

static void a_refusal_is_logged_once(void **state)
{
    (void)state;
    struct moving m;
    moving_start(&m, 4, 43);
    m.k->brokers[m.leader].dirs_error = KERR_CLUSTER_AUTHORIZATION_FAILED;
    cluster_run(m.k, 6000);
    assert_in_range(m.k->brokers[m.leader].dirs_count, 3, 7);
    char *line = xasprintf("broker %d does not tell sizes of logs: error 31", m.leader);
    const char *found = strstr(cluster_text(&m.k->log), line);
    assert_non_null(found);
    assert_null(strstr(found + 1, line));
    free(line);
    moving_end(&m);
}

static void no_room_on_the_target_is_a_full_disk(void **state)
{
    (void)state;
    struct moving m;
    moving_start(&m, 4, 44);
    m.k->brokers[m.target].dirs_usable = 4096;
    cluster_run(m.k, 5000);
    assert_int_equal(moving_look(&m)->reason, MOVES_REASON_DISK_FULL);
    assert_int_equal(moving_look(&m)->adding[0].state, MOVES_REPLICA_FAILED);
    moving_end(&m);
}

/* The target is cut off in the middle: it stays known, and control requests go on elsewhere. */
static void a_broker_that_does_not_answer_holds_nothing_up(void **state)
{
    (void)state;
    struct moving m;
    moving_start(&m, 4, 45);
    m.k->brokers[m.leader].dirs_size = 5000;
    m.k->brokers[m.target].dirs_size = 1000;
    cluster_run(m.k, 3000);
    int32_t id = cluster_wait_controller(m.k);
    sim_net_partition(m.k->world, m.k->brokers[id].node, m.k->brokers[m.target].node, true);
    int32_t asked = m.k->brokers[m.leader].dirs_count;
    m.k->brokers[m.leader].dirs_size = 6000;
    cluster_run(m.k, 4000);
    assert_in_range(m.k->brokers[m.leader].dirs_count, asked + 3, asked + 5);
    assert_int_equal(moving_look(&m)->bytes_to_copy, 6000);
    assert_int_equal(moving_look(&m)->bytes_copied, 1000);
    moving_cancel(&m);
    sim_net_heal(m.k->world);
    moving_end(&m);
}

/* More partitions than one question holds: they take turns. */
static void many_partitions_take_turns(void **state)
{
    enum {
        PARTITIONS = 5000
    };
    (void)state;
    struct moving m;
    moving_start(&m, 4, 46);
    int32_t id = cluster_wait_controller(m.k);
    int32_t from[] = {m.leader, m.stays};
    int32_t to[] = {m.stays, m.target};
    assert_int_equal(
        strlen(cluster_create(m.k, id, "many", PARTITIONS, (struct ids){.count = 2, .list = from})),
        2);
    struct control_alter_entry *entries = xalloc(PARTITIONS * sizeof *entries);
    for (int32_t i = 0; i < PARTITIONS; i++) {
        entries[i] = (struct control_alter_entry){
            .topic = slice_str("many"), .partition = i, .replicas = to, .replica_count = 2};
    }
    struct control_request request = {.kind = CONTROL_ALTER_REASSIGNMENTS,
                                      .alter = {.entries = entries, .count = PARTITIONS}};
    (void)cluster_request(m.k, id, &request);
    assert_int_equal(m.k->reply_error, 0);
    m.k->brokers[m.target].dirs_size = 7;
    cluster_run(m.k, 8000);
    assert_int_equal(m.k->brokers[m.target].dirs_asked_max, 2000);
    assert_int_equal(m.k->brokers[m.leader].dirs_asked_max, 2000);
    struct arena a;
    arena_init(&a, (size_t)64 << 20);
    request = (struct control_request){.kind = CONTROL_LIST_REASSIGNMENTS,
                                       .list = {.wants_all = true, .memory = &a}};
    m.unheard = 0;
    m.k->is_replied = false;
    controller_request(m.k->brokers[id].controller, &request, moving_count_unheard, &m);
    CHECK(sim_world_run(m.k->world, CLUSTER_PATIENCE_MS, cluster_flag, &m.k->is_replied));
    assert_int_equal(m.unheard, 0);
    struct controller_figures figures;
    controller_figures(m.k->brokers[id].controller, &figures);
    assert_int_equal(figures.move_count, CONTROLLER_FIGURES_MOVES_MAX);
    assert_int_equal(figures.by_reason[MOVES_REASON_NONE], PARTITIONS + 1); /* and moving's own */
    controller_figures_deinit(&figures);
    arena_deinit(&a);
    free(entries);
    moving_end(&m);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_old_broker_is_asked_in_its_own_version),
        cmocka_unit_test(a_broker_without_the_api_is_left_alone),
        cmocka_unit_test(a_refusal_is_logged_once),
        cmocka_unit_test(no_room_on_the_target_is_a_full_disk),
        cmocka_unit_test(a_broker_that_does_not_answer_holds_nothing_up),
        cmocka_unit_test(many_partitions_take_turns),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
