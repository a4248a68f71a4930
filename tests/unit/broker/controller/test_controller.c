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

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(one_controller_is_elected),
        cmocka_unit_test(a_topic_is_created_and_told),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
