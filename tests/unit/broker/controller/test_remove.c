/*
 * Removing a topic's nodes: all of them, also those nobody knew, in as many transactions as it takes.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "unit/broker/controller/cluster.h"

static const char *delete_topic(struct cluster *k, int32_t id)
{
    struct slice name = slice_str("t");
    return cluster_request(k, id,
                           &(struct control_request){
                               .kind = CONTROL_DELETE_TOPICS,
                               .delete_topics = {.names = &name, .count = 1, .timeout_ms = 30000}});
}

static void many_partitions_and_foreign_nodes_go(void **state)
{
    (void)state;
    struct cluster *k = cluster_new(1, 1);
    int32_t id = cluster_wait_controller(k);
    cluster_run(k, 1000);
    int32_t one[] = {1};
    assert_string_equal(cluster_create(k, id, "t", 1200, (struct ids){.count = 1, .list = one}),
                        "0;");
    assert_int_equal(cluster_change(k, METASTORE_CREATE, "/brokers/topics/t/partitions/7000", NULL),
                     0);
    assert_int_equal(
        cluster_change(k, METASTORE_CREATE, "/brokers/topics/t/partitions/0/extra", NULL), 0);
    assert_string_equal(delete_topic(k, id), "0;");
    assert_string_equal(cluster_await(k, "/brokers/topics/", ""), "");
    assert_string_equal(cluster_node(k, "/config/topics/"), "");
    assert_string_equal(cluster_node(k, "/admin/delete_topics/"), "");
    cluster_free(k);
}

/* Somebody put nodes below the topic, its partitions and its settings. */
static void nodes_at_any_depth_go(void **state)
{
    (void)state;
    static const char *const paths[] = {
        "/brokers/topics/t/note",
        "/brokers/topics/t/note/deeper",
        "/brokers/topics/t/partitions/0/state/below",
        "/brokers/topics/t/partitions/0/state/below/it",
        "/config/topics/t/note",
        "/admin/delete_topics/t/note",
    };
    struct cluster *k = cluster_new(2, 3);
    int32_t id = cluster_wait_controller(k);
    cluster_run(k, 1000);
    int32_t two[] = {1, 2};
    assert_string_equal(cluster_create(k, id, "t", 1, (struct ids){.count = 2, .list = two}), "0;");
    cluster_kill(k, 3 - id); /* the topic waits for it */
    cluster_run(k, 10000);
    assert_int_equal(cluster_change(k, METASTORE_CREATE, "/admin/delete_topics/t", NULL), 0);
    for (size_t i = 0; i < sizeof paths / sizeof paths[0]; i++) {
        assert_int_equal(cluster_change(k, METASTORE_CREATE, paths[i], NULL), 0);
    }
    cluster_start(k, 3 - id);
    assert_string_equal(cluster_await(k, "/brokers/topics/", ""), "");
    assert_string_equal(cluster_node(k, "/config/topics/"), "");
    assert_string_equal(cluster_node(k, "/admin/delete_topics/"), "");
    assert_null(strstr(cluster_text(&k->log), "gives up"));
    cluster_free(k);
}

static void lost_answers_do_not_stop_it(void **state)
{
    (void)state;
    for (int32_t is_applied = 0; is_applied <= 1; is_applied++) {
        struct cluster *k = cluster_new(1, 2);
        int32_t id = cluster_wait_controller(k);
        cluster_run(k, 1000);
        int32_t one[] = {1};
        assert_string_equal(cluster_create(k, id, "t", 3, (struct ids){.count = 1, .list = one}),
                            "0;");
        assert_string_equal(delete_topic(k, id), "0;");
        metastore_store_lose_write(k->store, metastore_session_id(k->brokers[id].controller->store),
                                   is_applied == 1);
        assert_string_equal(cluster_await(k, "/brokers/topics/", ""), "");
        assert_string_equal(cluster_node(k, "/admin/delete_topics/"), "");
        assert_true(controller_is_active(k->brokers[id].controller));
        cluster_free(k);
    }
}

static bool is_told(void *arg)
{
    struct cluster *k = arg;
    return strstr(cluster_text(&k->log), "is left alone for now: ") != NULL;
}

/* The topic waits for its nodes; the controller keeps its role, and removes them when it may. */
static void a_refusal_names_the_node_and_is_tried_again(void **state)
{
    (void)state;
    struct cluster *k = cluster_new(1, 4);
    int32_t id = cluster_wait_controller(k);
    cluster_run(k, 1000);
    int32_t one[] = {1};
    assert_string_equal(cluster_create(k, id, "t", 2, (struct ids){.count = 1, .list = one}), "0;");
    struct slice guarded = slice_str("/brokers/topics/t/partitions/1");
    metastore_store_guard(k->store, guarded, true);
    assert_string_equal(delete_topic(k, id), "-1;");
    assert_true(sim_world_run(k->world, CLUSTER_PATIENCE_MS, is_told, k));
    assert_non_null(strstr(cluster_text(&k->log),
                           "warning: topic t is left alone for now: the nodes of a topic cannot be "
                           "removed: /brokers/topics/t/partitions/1/state: refused\n"));
    metastore_store_guard(k->store, guarded, false);
    assert_string_equal(cluster_await(k, "/brokers/topics/", ""), "");
    assert_null(strstr(cluster_text(&k->log), "gives up"));
    cluster_free(k);
}

/* Somebody nested nodes without end. */
static void what_is_nested_too_deep_stays(void **state)
{
    (void)state;
    struct cluster *k = cluster_new(1, 5);
    int32_t id = cluster_wait_controller(k);
    cluster_run(k, 1000);
    int32_t one[] = {1};
    assert_string_equal(cluster_create(k, id, "t", 1, (struct ids){.count = 1, .list = one}), "0;");
    struct buf path;
    buf_init(&path);
    buf_put_str(&path, "/brokers/topics/t");
    for (int32_t depth = 1; depth <= 17; depth++) {
        buf_put_str(&path, "/n");
        assert_int_equal(cluster_change(k, METASTORE_CREATE, cluster_text(&path), NULL), 0);
    }
    assert_string_equal(delete_topic(k, id), "-1;");
    assert_true(sim_world_run(k->world, CLUSTER_PATIENCE_MS, is_told, k));
    assert_non_null(strstr(cluster_text(&k->log), "/n/n: nested too deep\n"));
    assert_int_equal(cluster_change(k, METASTORE_DELETE, cluster_text(&path), NULL), 0);
    assert_string_equal(cluster_await(k, "/brokers/topics/", ""), "");
    buf_deinit(&path);
    cluster_free(k);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(many_partitions_and_foreign_nodes_go),
        cmocka_unit_test(nodes_at_any_depth_go),
        cmocka_unit_test(a_refusal_names_the_node_and_is_tried_again),
        cmocka_unit_test(what_is_nested_too_deep_stays),
        cmocka_unit_test(lost_answers_do_not_stop_it),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
