/*
 * Limits of moves on their way to the brokers: all of them, to everybody, before what the limits are for.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "unit/broker/controller/cluster.h"

#define TWO_GROUPS "limits 1000 a-0 a-1 b-7, 0 c-2;"

static void set_two_groups(struct controller *c)
{
    struct control_tp slow[] = {{slice_str("a"), 0}, {slice_str("a"), 1}, {slice_str("b"), 7}};
    struct control_tp paused[] = {{slice_str("c"), 2}};
    struct controller_limit groups[] = {
        {.rate = 1000, .partitions = slow, .partition_count = 3},
        {.rate = 0, .partitions = paused, .partition_count = 1},
    };
    controller_limits_set(c, groups, 2);
}

/* b is told a before b. */
static void assert_order(struct cluster *k, int32_t id, const char *a, const char *b)
{
    const char *text = cluster_text(&k->brokers[id].told);
    const char *first = strstr(text, a);
    const char *second = strstr(text, b);
    if (first == NULL || second == NULL || first > second) {
        fail_msg("broker %d: '%s' is not before '%s' in: %s", id, a, b, text);
    }
}

static void every_broker_hears_them_before_what_follows(void **state)
{
    (void)state;
    struct cluster *k = cluster_new(3, 1);
    int32_t id = cluster_wait_controller(k);
    cluster_run(k, 1000);
    set_two_groups(k->brokers[id].controller);
    int32_t list[] = {1, 2, 3};
    assert_string_equal(cluster_create(k, id, "a", 1, (struct ids){.count = 3, .list = list}),
                        "0;");
    cluster_run(k, 1000);
    for (int32_t i = 1; i <= 3; i++) {
        assert_order(k, i, TWO_GROUPS, "leader a-0");
        buf_clear(&k->brokers[i].told);
    }
    controller_limits_set(k->brokers[id].controller, NULL, 0);
    cluster_run(k, 1000);
    for (int32_t i = 1; i <= 3; i++) {
        assert_string_equal(cluster_text(&k->brokers[i].told), "brokers 3;limits;");
    }
    cluster_free(k);
}

static void a_broker_that_registers_hears_them_before_its_replicas(void **state)
{
    (void)state;
    struct cluster *k = cluster_new(3, 2);
    int32_t id = cluster_wait_controller(k);
    cluster_run(k, 1000);
    int32_t other = id == 1 ? 2 : 1;
    int32_t list[] = {id, other};
    assert_string_equal(cluster_create(k, id, "a", 1, (struct ids){.count = 2, .list = list}),
                        "0;");
    set_two_groups(k->brokers[id].controller);
    cluster_kill(k, other);
    cluster_run(k, 2 * CLUSTER_SESSION_MS);
    buf_clear(&k->brokers[other].told);
    cluster_start(k, other);
    cluster_run(k, 2000);
    assert_order(k, other, TWO_GROUPS, "leader a-0");
    cluster_free(k);
}

static bool has_loading(void *arg)
{
    struct cluster *k = arg;
    for (int32_t id = 1; id <= k->broker_count; id++) {
        const struct controller *c = k->brokers[id].controller;
        if (c != NULL && c->role == ROLE_LOADING) {
            return true;
        }
    }
    return false;
}

/* What is set while the new controller loads goes out with its first words. */
static void limits_set_while_loading_come_first(void **state)
{
    (void)state;
    struct cluster *k = cluster_new(3, 3);
    int32_t id = cluster_wait_controller(k);
    int32_t list[] = {1, 2, 3};
    assert_string_equal(cluster_create(k, id, "a", 1, (struct ids){.count = 3, .list = list}),
                        "0;");
    cluster_run(k, 1000);
    cluster_kill(k, id);
    assert_true(sim_world_run(k->world, CLUSTER_PATIENCE_MS, has_loading, k));
    for (int32_t b = 1; b <= 3; b++) {
        struct controller *c = k->brokers[b].controller;
        if (c != NULL && c->role == ROLE_LOADING) {
            set_two_groups(c);
        }
        buf_clear(&k->brokers[b].told);
    }
    (void)cluster_wait_controller(k);
    cluster_run(k, 1000);
    for (int32_t b = 1; b <= 3; b++) {
        if (b != id) {
            assert_order(k, b, TWO_GROUPS, "leader a-0");
        }
    }
    cluster_free(k);
}

static void limits_end_with_the_term(void **state)
{
    (void)state;
    struct cluster *k = cluster_new(3, 4);
    int32_t id = cluster_wait_controller(k);
    cluster_run(k, 1000);
    set_two_groups(k->brokers[id].controller);
    cluster_run(k, 1000);
    controller_resign(k->brokers[id].controller, "of the test");
    for (int32_t b = 1; b <= 3; b++) {
        assert_non_null(strstr(cluster_text(&k->brokers[b].told), TWO_GROUPS));
        buf_clear(&k->brokers[b].told);
    }
    (void)cluster_wait_controller(k);
    cluster_run(k, 1000);
    for (int32_t b = 1; b <= 3; b++) {
        assert_non_null(strstr(cluster_text(&k->brokers[b].told), "brokers 3;"));
        assert_null(strstr(cluster_text(&k->brokers[b].told), "limits"));
    }
    cluster_free(k);
}

static void set_in_a_step(void *arg, const struct control_reply *reply)
{
    struct cluster_broker *b = arg;
    assert_true(b->controller->is_stepping);
    assert_int_equal(reply->error, 0);
    set_two_groups(b->controller);
}

static void limits_set_inside_a_step_are_told_by_the_next(void **state)
{
    (void)state;
    struct cluster *k = cluster_new(2, 5);
    int32_t id = cluster_wait_controller(k);
    cluster_run(k, 1000);
    struct control_request request = {.kind = CONTROL_LIST_REASSIGNMENTS,
                                      .list = {.wants_all = true}};
    controller_request(k->brokers[id].controller, &request, set_in_a_step, &k->brokers[id]);
    cluster_run(k, 100);
    for (int32_t b = 1; b <= 2; b++) {
        assert_non_null(strstr(cluster_text(&k->brokers[b].told), TWO_GROUPS));
    }
    cluster_free(k);
}

/* A broker that does not listen gets the last of many tables, not all of them. */
static void tables_that_wait_are_replaced(void **state)
{
    (void)state;
    struct cluster *k = cluster_new(2, 6);
    int32_t id = cluster_wait_controller(k);
    cluster_run(k, 1000);
    int32_t other = 3 - id;
    buf_clear(&k->brokers[other].told);
    sim_net_partition(k->world, k->brokers[id].node, k->brokers[other].node, true);
    for (int32_t i = 0; i < 20; i++) {
        struct control_tp tp = {slice_str("a"), i};
        struct controller_limit group = {.rate = 5, .partitions = &tp, .partition_count = 1};
        controller_limits_set(k->brokers[id].controller, &group, 1);
        cluster_run(k, 20);
    }
    sim_net_heal(k->world);
    cluster_run(k, 20000);
    const char *text = cluster_text(&k->brokers[other].told);
    int32_t count = 0;
    for (const char *at = text; (at = strstr(at, "limits")) != NULL; at++) {
        count++;
    }
    assert_in_range(count, 1, 2);
    assert_non_null(strstr(text, "limits 5 a-19;"));
    cluster_free(k);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_broker_hears_them_before_what_follows),
        cmocka_unit_test(a_broker_that_registers_hears_them_before_its_replicas),
        cmocka_unit_test(limits_set_while_loading_come_first),
        cmocka_unit_test(limits_end_with_the_term),
        cmocka_unit_test(limits_set_inside_a_step_are_told_by_the_next),
        cmocka_unit_test(tables_that_wait_are_replaced),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
