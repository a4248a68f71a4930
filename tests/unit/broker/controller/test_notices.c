/*
 * Notices of lost log directories and of changed ISRs are told to the core and deleted.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "unit/broker/controller/cluster.h"

static void a_notice_makes_the_broker_be_asked(void **state)
{
    (void)state;
    struct cluster *k = cluster_new(2, 1);
    int32_t id = cluster_wait_controller(k);
    cluster_run(k, 1000);
    int32_t list[] = {1, 2};
    assert_string_equal(cluster_create(k, id, "t", 1, (struct ids){.count = 2, .list = list}),
                        "0;");
    cluster_run(k, 1000);
    buf_clear(&k->brokers[2].told);
    assert_int_equal(cluster_change(k, METASTORE_CREATE,
                                    "/log_dir_event_notification/log_dir_event_0000000000",
                                    "{\"version\":1,\"broker\":2,\"event\":1}"),
                     0);
    assert_int_equal(cluster_change(k, METASTORE_CREATE,
                                    "/log_dir_event_notification/log_dir_event_0000000001", "junk"),
                     0);
    assert_string_equal(cluster_await(k, "/log_dir_event_notification/", ""), "");
    cluster_run(k, 1000);
    assert_non_null(
        strstr(cluster_text(&k->log),
               "/log_dir_event_notification/log_dir_event_0000000001 cannot be read and "
               "is deleted: "));
    assert_non_null(strstr(cluster_text(&k->brokers[2].told), "leader t-0 1 epoch 0;"));
    cluster_free(k);
}

/* A move of t-0 from [1] to [1,2] waits; its leader writes by itself that 2 has joined. */
static void leader_writes_isr(struct cluster *k)
{
    assert_int_equal(cluster_change(k, METASTORE_SET, "/brokers/topics/t/partitions/0/state",
                                    "{\"controller_epoch\":1,\"leader\":1,\"version\":1,"
                                    "\"leader_epoch\":1,\"isr\":[1,2]}"),
                     0);
    cluster_run(k, 1000);
}

static int32_t cluster_moving(struct cluster *k)
{
    int32_t id = cluster_wait_controller(k);
    cluster_run(k, 1000);
    int32_t list[] = {1};
    assert_string_equal(cluster_create(k, id, "t", 1, (struct ids){.count = 1, .list = list}),
                        "0;");
    struct control_alter_entry entry = {
        .topic = slice_str("t"), .replicas = (int32_t[]){1, 2}, .replica_count = 2};
    assert_string_equal(
        cluster_request(k, id,
                        &(struct control_request){.kind = CONTROL_ALTER_REASSIGNMENTS,
                                                  .alter = {.entries = &entry, .count = 1}}),
        "0;");
    return id;
}

/* A leader of an old release writes the state by itself. */
static void an_isr_changed_by_its_leader_is_taken_over(void **state)
{
    (void)state;
    struct cluster *k = cluster_new(3, 2);
    (void)cluster_moving(k);
    leader_writes_isr(k);
    assert_non_null(
        strstr(cluster_node(k, "/brokers/topics/t"), "\"adding_replicas\":{\"0\":[2]}"));
    const char *const names[] = {"0000000000", "0000000001"};
    const char *const contents[] = {"junk", "{\"version\":1,\"partitions\":[{\"topic\":\"ghost\","
                                            "\"partition\":0},{\"topic\":\"t\",\"partition\":0},"
                                            "{\"topic\":\"a/b\",\"partition\":0}]}"};
    for (int32_t i = 0; i < 2; i++) {
        char *path = xasprintf("/isr_change_notification/isr_change_%s", names[i]);
        assert_int_equal(cluster_change(k, METASTORE_CREATE, path, contents[i]), 0);
        free(path);
    }
    assert_string_equal(cluster_await(k, "/isr_change_notification/", ""), "");
    cluster_run(k, 1000);
    assert_non_null(strstr(cluster_node(k, "/brokers/topics/t"), "\"partitions\":{\"0\":[1,2]},"
                                                                 "\"adding_replicas\":{}"));
    cluster_free(k);
}

/* Without a notice. The watch of a state that is not there is none. */
static void a_state_that_is_watched_is_taken_over(void **state)
{
    (void)state;
    struct cluster *k = cluster_new(3, 3);
    int32_t id = cluster_moving(k);
    controller_state_watch(k->brokers[id].controller, &(struct control_tp){slice_str("t"), 7});
    controller_state_watch(k->brokers[id].controller, &(struct control_tp){slice_str("t"), 0});
    cluster_run(k, 1000);
    leader_writes_isr(k);
    assert_non_null(strstr(cluster_node(k, "/brokers/topics/t"), "\"partitions\":{\"0\":[1,2]},"
                                                                 "\"adding_replicas\":{}"));
    cluster_free(k);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_notice_makes_the_broker_be_asked),
        cmocka_unit_test(an_isr_changed_by_its_leader_is_taken_over),
        cmocka_unit_test(a_state_that_is_watched_is_taken_over),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
