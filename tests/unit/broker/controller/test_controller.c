/*
 * The driver as a whole: one controller is elected, creates topics, moves them, deletes them, and is
 * replaced when it dies; over the real store and the real network code in simulated time.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "unit/broker/controller/cluster.h"

static struct ids first_three(void)
{
    static int32_t list[] = {1, 2, 3};
    return (struct ids){.count = 3, .list = list};
}

static void one_controller_is_elected(void **state)
{
    (void)state;
    struct cluster *k = cluster_new(3, 1);
    int32_t id = cluster_wait_controller(k);
    char *expected = xasprintf("\"brokerid\":%d", id);
    assert_non_null(strstr(cluster_node(k, "/controller"), expected));
    assert_string_equal(cluster_node(k, "/controller_epoch"), "1");
    free(expected);
    cluster_run(k, 1000);
    for (int32_t other = 1; other <= 3; other++) {
        assert_int_equal(controller_is_active(k->brokers[other].controller), other == id);
        assert_non_null(strstr(cluster_text(&k->brokers[other].told), "brokers 3;"));
    }
    cluster_free(k);
}

static void a_topic_is_created_and_told(void **state)
{
    (void)state;
    struct cluster *k = cluster_new(3, 2);
    int32_t id = cluster_wait_controller(k);
    cluster_run(k, 1000);
    assert_string_equal(cluster_create(k, id, "t", 2, first_three()), "0;");
    assert_int_equal(k->reply_error, 0);
    assert_string_equal(cluster_node(k, "/brokers/topics/t/partitions/1/state"),
                        "{\"controller_epoch\":1,\"leader\":1,\"version\":1,\"leader_epoch\":0,"
                        "\"isr\":[1,2,3]}");
    assert_string_equal(cluster_node(k, "/config/topics/t"),
                        "{\"version\":1,\"config\":{\"min.insync.replicas\":\"2\"}}");
    cluster_run(k, 1000);
    assert_non_null(
        strstr(cluster_text(&k->brokers[2].told), "leader t-0 1 epoch 0;leader t-1 1 epoch 0;"));
    assert_string_equal(cluster_create(k, id, "t", 2, first_three()), "36;");
    cluster_free(k);
}

static void a_dead_controller_is_replaced_and_moves_go_on(void **state)
{
    (void)state;
    struct cluster *k = cluster_new(4, 3);
    int32_t id = cluster_wait_controller(k);
    cluster_run(k, 1000);
    int32_t others[3];
    for (int32_t i = 0, other = 1; other <= 4; other++) {
        if (other != id) {
            others[i++] = other;
        }
    }
    struct ids two = {.count = 2, .list = others};
    assert_string_equal(cluster_create(k, id, "t", 1, two), "0;");
    struct control_alter_entry entry = {
        .topic = slice_str("t"), .replicas = &others[1], .replica_count = 2};
    struct control_request alter = {.kind = CONTROL_ALTER_REASSIGNMENTS,
                                    .alter = {.entries = &entry, .count = 1}};
    assert_string_equal(cluster_request(k, id, &alter), "0;");
    struct control_request list = {.kind = CONTROL_LIST_REASSIGNMENTS, .list = {.wants_all = true}};
    assert_string_equal(cluster_request(k, id, &list), "t-0;");
    cluster_kill(k, id);
    int32_t next = cluster_wait_controller(k);
    assert_int_not_equal(next, id);
    assert_string_equal(cluster_node(k, "/controller_epoch"), "2");
    assert_string_equal(cluster_request(k, next, &list), "t-0;");
    cluster_run(k, 2000);
    assert_non_null(strstr(cluster_text(&k->brokers[others[0]].told), "leader t-0"));
    cluster_free(k);
}

static void a_request_to_another_broker_is_refused(void **state)
{
    (void)state;
    struct cluster *k = cluster_new(2, 4);
    int32_t id = cluster_wait_controller(k);
    struct control_request list = {.kind = CONTROL_LIST_REASSIGNMENTS, .list = {.wants_all = true}};
    assert_string_equal(cluster_request(k, 3 - id, &list), "");
    assert_int_equal(k->reply_error, KERR_NOT_CONTROLLER);
    cluster_free(k);
}

static void an_expired_session_ends_the_role_and_is_replaced(void **state)
{
    (void)state;
    struct cluster *k = cluster_new(2, 5);
    int32_t id = cluster_wait_controller(k);
    struct controller *c = k->brokers[id].controller;
    metastore_store_expire(k->store, metastore_session_id(c->store));
    cluster_run(k, 5000);
    assert_int_not_equal(cluster_wait_controller(k), 0);
    assert_string_equal(cluster_node(k, "/controller_epoch"), "2");
    assert_int_equal(controller_is_active(k->brokers[1].controller) +
                         controller_is_active(k->brokers[2].controller),
                     1);
    cluster_free(k);
}

static void an_unregistered_broker_is_not_controller(void **state)
{
    (void)state;
    struct cluster *k = cluster_new(1, 6);
    assert_int_equal(cluster_wait_controller(k), 1);
    controller_set_broker_epoch(k->brokers[1].controller, -1);
    assert_false(controller_is_active(k->brokers[1].controller));
    cluster_run(k, 5000);
    assert_string_equal(cluster_node(k, "/controller"), "not found");
    controller_set_broker_epoch(k->brokers[1].controller, k->brokers[1].epoch);
    assert_int_equal(cluster_wait_controller(k), 1);
    cluster_free(k);
}

static bool is_topic_gone(void *arg)
{
    struct cluster *k = arg;
    return strstr(cluster_text(&k->log), "topic t is deleted") != NULL;
}

static void a_topic_is_deleted_with_all_its_nodes(void **state)
{
    (void)state;
    struct cluster *k = cluster_new(3, 7);
    int32_t id = cluster_wait_controller(k);
    cluster_run(k, 1000);
    assert_string_equal(cluster_create(k, id, "t", 3, first_three()), "0;");
    struct slice name = slice_str("t");
    struct control_request deletion = {
        .kind = CONTROL_DELETE_TOPICS,
        .delete_topics = {.names = &name, .count = 1, .timeout_ms = 30000}};
    assert_string_equal(cluster_request(k, id, &deletion), "0;");
    assert_true(sim_world_run(k->world, CLUSTER_PATIENCE_MS, is_topic_gone, k));
    assert_string_equal(cluster_node(k, "/brokers/topics/"), "");
    assert_string_equal(cluster_node(k, "/config/topics/"), "");
    assert_string_equal(cluster_node(k, "/admin/delete_topics/"), "");
    assert_non_null(strstr(cluster_text(&k->brokers[2].told), "stop-delete t-0;"));
    assert_string_equal(cluster_create(k, id, "t", 3, first_three()), "0;");
    cluster_free(k);
}

static void a_broker_that_dies_is_told_of_and_replaced_as_leader(void **state)
{
    (void)state;
    struct cluster *k = cluster_new(4, 8);
    int32_t id = cluster_wait_controller(k);
    cluster_run(k, 1000);
    int32_t lead = id == 1 ? 2 : 1;
    int32_t list[] = {lead, id};
    assert_string_equal(cluster_create(k, id, "t", 1, (struct ids){.count = 2, .list = list}),
                        "0;");
    cluster_kill(k, lead);
    cluster_run(k, 2 * CLUSTER_SESSION_MS);
    char *expected = xasprintf("{\"controller_epoch\":1,\"leader\":%d,\"version\":1,"
                               "\"leader_epoch\":1,\"isr\":[%d]}",
                               id, id);
    assert_string_equal(cluster_node(k, "/brokers/topics/t/partitions/0/state"), expected);
    free(expected);
    cluster_start(k, lead);
    buf_clear(&k->brokers[lead].told);
    cluster_run(k, 2000);
    assert_non_null(strstr(cluster_text(&k->brokers[lead].told), "leader t-0"));
    cluster_free(k);
}

static void producer_ids_are_never_given_twice(void **state)
{
    (void)state;
    struct cluster *k = cluster_new(2, 9);
    int32_t id = cluster_wait_controller(k);
    struct control_request request = {
        .kind = CONTROL_ALLOCATE_PRODUCER_IDS,
        .allocate_producer_ids = {.broker = id, .broker_epoch = k->brokers[id].epoch}};
    assert_string_equal(cluster_request(k, id, &request), "0;");
    assert_string_equal(cluster_request(k, id, &request), "1000;");
    cluster_kill(k, id);
    int32_t next = cluster_wait_controller(k);
    request.allocate_producer_ids.broker = next;
    request.allocate_producer_ids.broker_epoch = k->brokers[next].epoch;
    assert_string_equal(cluster_request(k, next, &request), "2000;");
    cluster_free(k);
}

/* Every write's answer is lost once, applied or not: topics are created all the same, exactly. */
static void lost_answers_are_read_back(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed <= 10; seed++) {
        struct cluster *k = cluster_new(3, seed);
        int32_t id = cluster_wait_controller(k);
        cluster_run(k, 1000);
        struct control_new_partition part = {.replicas = first_three().list, .replica_count = 3};
        struct control_new_topic topic = {.name = slice_str("t"),
                                          .partition_count = -1,
                                          .replication_factor = -1,
                                          .assignments = &part,
                                          .assignment_count = 1,
                                          .min_insync_replicas = 1};
        struct control_request request = {
            .kind = CONTROL_CREATE_TOPICS,
            .create_topics = {.topics = &topic, .count = 1, .timeout_ms = 30000}};
        struct controller *c = k->brokers[id].controller;
        int64_t session = metastore_session_id(c->store);
        k->is_replied = false;
        metastore_store_lose_write(k->store, session, seed % 2 == 0);
        controller_request(c, &request, cluster_replied, k);
        for (int32_t i = 0; !k->is_replied && i < 100; i++) {
            cluster_run(k, 10);
            if (i % 3 == 0) {
                metastore_store_lose_write(k->store, session, (seed >> 1) % 2 == 0);
            }
        }
        assert_true(k->is_replied);
        assert_string_equal(cluster_text(&k->reply), "0;");
        assert_string_equal(cluster_node(k, "/brokers/topics/t/partitions/0/state"),
                            "{\"controller_epoch\":1,\"leader\":1,\"version\":1,"
                            "\"leader_epoch\":0,\"isr\":[1,2,3]}");
        assert_int_equal(k->stat.version, 0);
        assert_true(controller_is_active(c));
        cluster_free(k);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(one_controller_is_elected),
        cmocka_unit_test(a_topic_is_created_and_told),
        cmocka_unit_test(a_dead_controller_is_replaced_and_moves_go_on),
        cmocka_unit_test(a_request_to_another_broker_is_refused),
        cmocka_unit_test(an_expired_session_ends_the_role_and_is_replaced),
        cmocka_unit_test(an_unregistered_broker_is_not_controller),
        cmocka_unit_test(a_topic_is_deleted_with_all_its_nodes),
        cmocka_unit_test(a_broker_that_dies_is_told_of_and_replaced_as_leader),
        cmocka_unit_test(producer_ids_are_never_given_twice),
        cmocka_unit_test(lost_answers_are_read_back),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
