/*
 * /admin/reassign_partitions through the driver: watched, read, rewritten and deleted.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "unit/broker/controller/cluster.h"

#define PLAN "/admin/reassign_partitions"
#define ONE(partition, replicas)                                                                   \
    "{\"topic\":\"t\",\"partition\":" partition ",\"replicas\":[" replicas "]}"
#define PLAN_OF(entries) "{\"version\":1,\"partitions\":[" entries "]}"

/* A cluster with topic t, partitions on [1,2]; the id of its controller. */
static int32_t cluster_with_topic(struct cluster *k, int32_t partitions)
{
    int32_t list[] = {1, 2};
    int32_t id = cluster_wait_controller(k);
    cluster_run(k, 1000);
    assert_string_equal(
        cluster_create(k, id, "t", partitions, (struct ids){.count = 2, .list = list}), "0;");
    return id;
}

static void assert_replicas(struct cluster *k, const char *map)
{
    const char *node = cluster_node(k, "/brokers/topics/t");
    if (strstr(node, map) == NULL) {
        assert_string_equal(node, map);
    }
}

static const char *alter(struct cluster *k, int32_t id, int32_t partition, struct ids list)
{
    struct control_alter_entry entry = {.topic = slice_str("t"),
                                        .partition = partition,
                                        .is_cancel = list.count == 0,
                                        .replicas = list.list,
                                        .replica_count = list.count};
    return cluster_request(k, id,
                           &(struct control_request){.kind = CONTROL_ALTER_REASSIGNMENTS,
                                                     .alter = {.entries = &entry, .count = 1}});
}

static void a_plan_is_carried_out_and_deleted(void **state)
{
    (void)state;
    struct cluster *k = cluster_new(3, 1);
    (void)cluster_with_topic(k, 2);
    assert_int_equal(cluster_change(k, METASTORE_CREATE, PLAN,
                                    PLAN_OF(ONE("0", "1") "," ONE("1", "2") ",{\"topic\":\"ghost\","
                                                                            "\"partition\":0,"
                                                                            "\"replicas\":[1]}")),
                     0);
    assert_string_equal(cluster_await(k, PLAN, "not found"), "not found");
    assert_replicas(k, "\"partitions\":{\"0\":[1],\"1\":[2]}");
    assert_non_null(strstr(cluster_text(&k->log), PLAN " asks for 3 moves\n"));
    assert_non_null(
        strstr(cluster_text(&k->log), "ghost-0 is removed: there is no such partition\n"));
    assert_int_equal(cluster_change(k, METASTORE_CREATE, PLAN, PLAN_OF(ONE("0", "2,1"))), 0);
    cluster_run(k, 1000);
    assert_replicas(k, "\"adding_replicas\":{\"0\":[2]}");
    assert_string_equal(cluster_node(k, PLAN), PLAN_OF(ONE("0", "2,1")));
    cluster_free(k);
}

/* Rows 58 and 59. */
static void requests_take_their_entries_out(void **state)
{
    (void)state;
    struct cluster *k = cluster_new(3, 2);
    int32_t id = cluster_with_topic(k, 2);
    assert_int_equal(
        cluster_change(k, METASTORE_CREATE, PLAN, PLAN_OF(ONE("0", "1,3") "," ONE("1", "2,3"))), 0);
    cluster_run(k, 1000);
    assert_string_equal(alter(k, id, 0, (struct ids){.count = 1, .list = (int32_t[]){1}}), "0;");
    assert_string_equal(cluster_await(k, PLAN, PLAN_OF(ONE("1", "2,3"))), PLAN_OF(ONE("1", "2,3")));
    assert_string_equal(alter(k, id, 1, (struct ids){0}), "0;");
    assert_string_equal(cluster_node(k, PLAN), "not found");
    assert_replicas(k, "\"partitions\":{\"0\":[1],\"1\":[1,2]}");
    assert_int_equal(cluster_change(k, METASTORE_CREATE, PLAN, PLAN_OF(ONE("1", "2"))), 0);
    assert_string_equal(cluster_await(k, PLAN, "not found"), "not found");
    assert_replicas(k, "\"partitions\":{\"0\":[1],\"1\":[2]}");
    cluster_free(k);
}

static void the_next_controller_finds_the_plan(void **state)
{
    (void)state;
    struct cluster *k = cluster_new(4, 3);
    int32_t id = cluster_with_topic(k, 1);
    cluster_kill(k, id);
    assert_int_equal(cluster_change(k, METASTORE_CREATE, PLAN, PLAN_OF(ONE("0", "2,1"))), 0);
    int32_t next = cluster_wait_controller(k);
    assert_int_not_equal(next, id);
    assert_string_equal(cluster_await(k, PLAN, "not found"), "not found");
    assert_replicas(k, "\"partitions\":{\"0\":[2,1]}");
    cluster_free(k);
}

/* The topic is made by somebody else right before the plan for it. */
static void a_plan_for_a_topic_just_created_is_no_mistake(void **state)
{
    (void)state;
    struct cluster *k = cluster_new(3, 4);
    (void)cluster_with_topic(k, 1);
    struct metastore *m = cluster_session(k);
    struct metastore_op ops[] = {
        {.kind = METASTORE_CREATE,
         .path = slice_str("/brokers/topics/new"),
         .data = slice_str("{\"version\":1,\"partitions\":{\"0\":[1,2]}}")},
        {.kind = METASTORE_CREATE,
         .path = slice_str(PLAN),
         .data = slice_str("{\"version\":1,\"partitions\":[{\"topic\":\"new\",\"partition\":0,"
                           "\"replicas\":[2]}]}")}};
    k->is_done = false;
    metastore_multi(m, ops, 2, cluster_call_done, k);
    CHECK(sim_world_run(k->world, CLUSTER_PATIENCE_MS, cluster_flag, &k->is_done));
    metastore_close(m);
    assert_string_equal(cluster_await(k, PLAN, "not found"), "not found");
    cluster_run(k, 1000);
    assert_non_null(strstr(cluster_node(k, "/brokers/topics/new"), "\"partitions\":{\"0\":[2]}"));
    cluster_free(k);
}

/* R11 */
static void a_plan_that_cannot_be_read_is_left_alone(void **state)
{
    (void)state;
    struct cluster *k = cluster_new(2, 5);
    int32_t id = cluster_with_topic(k, 1);
    assert_int_equal(cluster_change(k, METASTORE_CREATE, PLAN, "{oops"), 0);
    cluster_run(k, 1000);
    assert_non_null(strstr(cluster_text(&k->log), PLAN " cannot be read and is left alone: "));
    assert_string_equal(alter(k, id, 0, (struct ids){.count = 1, .list = (int32_t[]){1}}), "0;");
    assert_string_equal(cluster_node(k, PLAN), "{oops");
    assert_int_equal(cluster_change(k, METASTORE_DELETE, PLAN, NULL), 0);
    assert_int_equal(cluster_change(k, METASTORE_CREATE, PLAN, PLAN_OF(ONE("0", "1,2"))), 0);
    cluster_run(k, 1000);
    assert_replicas(k, "\"adding_replicas\":{\"0\":[2]}");
    cluster_free(k);
}

/* R1 */
static void a_plan_changed_by_others_loses_only_what_is_done(void **state)
{
    (void)state;
    struct cluster *k = cluster_new(3, 6);
    int32_t id = cluster_with_topic(k, 2);
    assert_int_equal(cluster_change(k, METASTORE_CREATE, PLAN, PLAN_OF(ONE("0", "1,3"))), 0);
    cluster_run(k, 1000);
    assert_int_equal(
        cluster_change(k, METASTORE_SET, PLAN, PLAN_OF(ONE("1", "1,3") "," ONE("0", "1,3"))), 0);
    cluster_run(k, 1000);
    assert_string_equal(alter(k, id, 0, (struct ids){0}), "0;");
    assert_string_equal(cluster_await(k, PLAN, PLAN_OF(ONE("1", "1,3"))), PLAN_OF(ONE("1", "1,3")));
    assert_replicas(k, "\"adding_replicas\":{}");
    assert_true(controller_is_active(k->brokers[id].controller));
    cluster_free(k);
}

static void outcomes_that_are_unknown_are_judged(void **state)
{
    (void)state;
    for (int32_t i = 0; i < 4; i++) {
        bool is_applied = i % 2 != 0;
        struct cluster *k = cluster_new(3, 10 + (uint64_t)i);
        int32_t id = cluster_with_topic(k, 2);
        assert_int_equal(cluster_change(k, METASTORE_CREATE, PLAN,
                                        i < 2 ? PLAN_OF(ONE("0", "1,3") "," ONE("1", "1,3"))
                                              : PLAN_OF(ONE("0", "1,3"))),
                         0);
        cluster_run(k, 1000);
        /* The next write of the controller takes the entry out. */
        metastore_store_lose_write(k->store, metastore_session_id(k->brokers[id].controller->store),
                                   is_applied);
        assert_string_equal(alter(k, id, 0, (struct ids){0}), "0;");
        const char *left = i < 2 ? PLAN_OF(ONE("1", "1,3")) : "not found";
        assert_string_equal(cluster_await(k, PLAN, left), left);
        assert_replicas(k, "\"0\":[1,2]");
        assert_true(controller_is_active(k->brokers[id].controller));
        cluster_free(k);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_plan_is_carried_out_and_deleted),
        cmocka_unit_test(requests_take_their_entries_out),
        cmocka_unit_test(the_next_controller_finds_the_plan),
        cmocka_unit_test(a_plan_for_a_topic_just_created_is_no_mistake),
        cmocka_unit_test(a_plan_that_cannot_be_read_is_left_alone),
        cmocka_unit_test(a_plan_changed_by_others_loses_only_what_is_done),
        cmocka_unit_test(outcomes_that_are_unknown_are_judged),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
