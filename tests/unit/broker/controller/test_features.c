/*
 * /feature: made by the first controller, raised by one of a later level, left alone when somebody else
 * has entries in it.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "unit/broker/controller/cluster.h"

#define WRITTEN "{\"version\":2,\"status\":1,\"features\":{}}"

static void first_controller_makes_the_node(void **state)
{
    (void)state;
    struct cluster *k = cluster_new(1, 1);
    (void)cluster_wait_controller(k);
    assert_string_equal(cluster_await(k, "/feature", WRITTEN), WRITTEN);
    cluster_free(k);
}

static void node_of_another_level_is_brought_up(void **state)
{
    (void)state;
    struct cluster *k = cluster_new(2, 1);
    int32_t id = cluster_wait_controller(k);
    (void)cluster_await(k, "/feature", WRITTEN);
    assert_int_equal(cluster_change(k, METASTORE_SET, "/feature",
                                    "{\"version\":1,\"status\":0,\"features\":{}}"),
                     0);
    cluster_kill(k, id);
    cluster_run(k, 10000);
    (void)cluster_wait_controller(k);
    assert_string_equal(cluster_await(k, "/feature", WRITTEN), WRITTEN);
    cluster_free(k);
}

static void unreadable_node_is_left_and_told(void **state)
{
    (void)state;
    struct cluster *k = cluster_new(2, 1);
    int32_t id = cluster_wait_controller(k);
    (void)cluster_await(k, "/feature", WRITTEN);
    assert_int_equal(cluster_change(k, METASTORE_SET, "/feature", "junk"), 0);
    cluster_kill(k, id);
    cluster_run(k, 10000);
    (void)cluster_wait_controller(k);
    cluster_run(k, 1000);
    assert_string_equal(cluster_await(k, "/feature", "junk"), "junk");
    assert_non_null(strstr(cluster_text(&k->log), "/feature is left as it is"));
    cluster_free(k);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(first_controller_makes_the_node),
        cmocka_unit_test(node_of_another_level_is_brought_up),
        cmocka_unit_test(unreadable_node_is_left_and_told),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
