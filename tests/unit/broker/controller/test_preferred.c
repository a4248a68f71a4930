/*
 * /admin/preferred_replica_election: asked of the core, and deleted whatever came of it.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "unit/broker/controller/cluster.h"

#define ELECT "/admin/preferred_replica_election"
#define STATE "/brokers/topics/t/partitions/0/state"

/* Topic t on [1,2], led by 2. */
static int32_t cluster_misled(struct cluster *k)
{
    int32_t id = cluster_wait_controller(k);
    cluster_run(k, 1000);
    int32_t list[] = {2, 1};
    assert_string_equal(cluster_create(k, id, "t", 1, (struct ids){.count = 2, .list = list}),
                        "0;");
    struct control_alter_entry entry = {
        .topic = slice_str("t"), .replicas = (int32_t[]){1, 2}, .replica_count = 2};
    assert_string_equal(
        cluster_request(k, id,
                        &(struct control_request){.kind = CONTROL_ALTER_REASSIGNMENTS,
                                                  .alter = {.entries = &entry, .count = 1}}),
        "0;");
    assert_non_null(strstr(cluster_node(k, STATE), "\"leader\":2"));
    return id;
}

static void preferred_leaders_are_elected(void **state)
{
    (void)state;
    struct cluster *k = cluster_new(2, 1);
    (void)cluster_misled(k);
    assert_int_equal(
        cluster_change(k, METASTORE_CREATE, ELECT,
                       "{\"version\":1,\"partitions\":[{\"topic\":\"t\",\"partition\":0},"
                       "{\"topic\":\"ghost\",\"partition\":3},{\"topic\":\"t\",\"partition\":0}]}"),
        0);
    assert_string_equal(cluster_await(k, ELECT, "not found"), "not found");
    assert_non_null(strstr(cluster_node(k, STATE), "\"leader\":1"));
    assert_non_null(
        strstr(cluster_text(&k->log), ELECT ": 2 of 3 partitions have their preferred leader\n"));
    cluster_free(k);
}

static void what_cannot_be_read_is_deleted(void **state)
{
    (void)state;
    struct cluster *k = cluster_new(2, 2);
    (void)cluster_misled(k);
    assert_int_equal(cluster_change(k, METASTORE_CREATE, ELECT, "junk"), 0);
    assert_string_equal(cluster_await(k, ELECT, "not found"), "not found");
    assert_non_null(strstr(cluster_text(&k->log), ELECT " cannot be read and is deleted: "));
    assert_int_equal(
        cluster_change(k, METASTORE_CREATE, ELECT,
                       "{\"version\":1,\"partitions\":[{\"topic\":\"t\",\"partition\":0}]}"),
        0);
    assert_string_equal(cluster_await(k, ELECT, "not found"), "not found");
    assert_non_null(strstr(cluster_node(k, STATE), "\"leader\":1"));
    cluster_free(k);
}

static void the_next_controller_finds_the_election(void **state)
{
    (void)state;
    struct cluster *k = cluster_new(4, 3);
    int32_t id = cluster_misled(k);
    cluster_kill(k, id);
    assert_int_equal(cluster_change(k, METASTORE_CREATE, ELECT, "{\"partitions\":[]}"), 0);
    (void)cluster_wait_controller(k);
    assert_string_equal(cluster_await(k, ELECT, "not found"), "not found");
    cluster_free(k);
}

/* The answer to the deletion is lost. */
static void the_node_goes_after_an_unknown_outcome(void **state)
{
    (void)state;
    struct cluster *k = cluster_new(2, 4);
    int32_t id = cluster_misled(k);
    metastore_store_lose_write(k->store, metastore_session_id(k->brokers[id].controller->store),
                               false);
    assert_int_equal(cluster_change(k, METASTORE_CREATE, ELECT, "junk"), 0);
    assert_string_equal(cluster_await(k, ELECT, "not found"), "not found");
    cluster_free(k);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(preferred_leaders_are_elected),
        cmocka_unit_test(what_cannot_be_read_is_deleted),
        cmocka_unit_test(the_next_controller_finds_the_election),
        cmocka_unit_test(the_node_goes_after_an_unknown_outcome),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
