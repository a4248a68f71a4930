/*
 * Notices of lost log directories are told to the core and deleted.
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
    assert_non_null(strstr(cluster_text(&k->brokers[2].told), "leader t-0 1 epoch 0;"));
    cluster_free(k);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_notice_makes_the_broker_be_asked),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
