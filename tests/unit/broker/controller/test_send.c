/*
 * Queues to brokers: a broken connection repeats the request, order is kept, a new registration starts
 * an empty queue.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "unit/broker/controller/cluster.h"

static void a_cut_off_broker_gets_everything_in_order_later(void **state)
{
    (void)state;
    struct cluster *k = cluster_new(3, 1);
    int32_t id = cluster_wait_controller(k);
    cluster_run(k, 1000);
    int32_t far = id == 1 ? 2 : 1;
    int32_t list[] = {far, id};
    sim_net_partition(k->world, k->brokers[id].node, k->brokers[far].node, true);
    buf_clear(&k->brokers[far].told);
    assert_string_equal(cluster_create(k, id, "a", 1, (struct ids){.count = 2, .list = list}),
                        "0;");
    assert_string_equal(cluster_create(k, id, "b", 1, (struct ids){.count = 2, .list = list}),
                        "0;");
    cluster_run(k, 1500);
    assert_null(strstr(cluster_text(&k->brokers[far].told), "leader"));
    sim_net_heal(k->world);
    cluster_run(k, 20000);
    const char *text = cluster_text(&k->brokers[far].told);
    const char *a = strstr(text, "leader a-0");
    const char *b = strstr(text, "leader b-0");
    assert_non_null(a);
    assert_non_null(b);
    assert_true(a < b);
    cluster_free(k);
}

static void a_new_registration_starts_with_the_whole_metadata(void **state)
{
    (void)state;
    struct cluster *k = cluster_new(3, 2);
    int32_t id = cluster_wait_controller(k);
    cluster_run(k, 1000);
    int32_t other = id == 1 ? 2 : 1;
    int32_t list[] = {id, other};
    assert_string_equal(cluster_create(k, id, "a", 1, (struct ids){.count = 2, .list = list}),
                        "0;");
    cluster_kill(k, other);
    cluster_run(k, 2 * CLUSTER_SESSION_MS);
    buf_clear(&k->brokers[other].told);
    cluster_start(k, other);
    cluster_run(k, 2000);
    char *expected = xasprintf("leader a-0 %d epoch 1;", id);
    assert_non_null(strstr(cluster_text(&k->brokers[other].told), expected));
    free(expected);
    cluster_free(k);
}

/* The controller may see a registration before the broker does. */
static void a_broker_that_is_not_registered_yet_is_told_again(void **state)
{
    (void)state;
    struct cluster *k = cluster_new(3, 3);
    int32_t id = cluster_wait_controller(k);
    cluster_run(k, 1000);
    int32_t other = id == 1 ? 2 : 1;
    int32_t list[] = {id, other};
    k->brokers[other].refusals = 3;
    assert_string_equal(cluster_create(k, id, "a", 1, (struct ids){.count = 2, .list = list}),
                        "0;");
    cluster_run(k, 1000);
    assert_int_equal(k->brokers[other].refusals, 0);
    char *expected = xasprintf("leader a-0 %d epoch 0;", id);
    assert_non_null(strstr(cluster_text(&k->brokers[other].told), expected));
    free(expected);
    cluster_free(k);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_cut_off_broker_gets_everything_in_order_later),
        cmocka_unit_test(a_new_registration_starts_with_the_whole_metadata),
        cmocka_unit_test(a_broker_that_is_not_registered_yet_is_told_again),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
