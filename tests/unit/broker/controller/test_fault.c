/*
 * Fault points: their names, and what a controller that ends at one of them has done and left undone.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "unit/broker/controller/cluster.h"

#define TOPIC "/brokers/topics/t"
#define STATE "/brokers/topics/t/partitions/0/state"

static void every_point_has_a_name_of_its_own(void **state)
{
    (void)state;
    for (int32_t i = 0; i < CONTROLLER_FAULT_POINTS; i++) {
        assert_non_null(controller_fault_name(i));
        for (int32_t k = 0; k < i; k++) {
            assert_string_not_equal(controller_fault_name(i), controller_fault_name(k));
        }
    }
}

static bool note_point(void *arg, const char *point)
{
    buf_putf(arg, "%s;", point);
    return strcmp(point, "after-A1") == 0;
}

static void points_are_passed_in_order_until_one_ends(void **state)
{
    (void)state;
    struct buf seen;
    buf_init(&seen);
    struct fault_hook hook = {note_point, &seen};
    uint32_t steps = 1 << CONTROL_STEP_ASSIGN | 1 << CONTROL_STEP_RAISE | 1 << CONTROL_STEP_STORE;
    assert_false(controller_fault_pass(&(struct fault_hook){0}, steps, true));
    assert_false(controller_fault_pass(&hook, 0, true));
    assert_false(controller_fault_pass(&hook, steps, false));
    assert_true(controller_fault_pass(&hook, steps, true));
    assert_string_equal(cluster_text(&seen), "before-U1;before-A1;before-B6;after-U1;after-A1;");
    buf_deinit(&seen);
}

/* Moves t-0 from [1,2] to [1], which is in sync: B follows U at once. The controller ends at the point. */
static struct cluster *cluster_ended(const char *point, int32_t *ret_id)
{
    static int32_t both[] = {1, 2};
    static int32_t one[] = {1};
    struct cluster *k = cluster_new(3, 7);
    int32_t id = cluster_wait_controller(k);
    cluster_run(k, 1000);
    assert_string_equal(cluster_create(k, id, "t", 1, (struct ids){.count = 2, .list = both}),
                        "0;");
    cluster_run(k, 1000);
    struct control_alter_entry entry = {
        .topic = slice_str("t"), .replicas = one, .replica_count = 1};
    struct control_request request = {.kind = CONTROL_ALTER_REASSIGNMENTS,
                                      .alter = {.entries = &entry, .count = 1}};
    k->end_at = point;
    for (int32_t i = 1; i <= 3; i++) {
        buf_clear(&k->brokers[i].told);
    }
    k->is_replied = false;
    controller_request(k->brokers[id].controller, &request, cluster_replied, k);
    assert_true(sim_world_run(k->world, CLUSTER_PATIENCE_MS, cluster_flag, &k->is_ended));
    cluster_run(k, 1000);
    assert_false(k->is_replied);
    *ret_id = id;
    return k;
}

static void assert_node(struct cluster *k, const char *path, const char *part, bool is_there)
{
    const char *text = cluster_node(k, path);
    if ((strstr(text, part) != NULL) != is_there) {
        fail_msg("%s: '%s' is %s in %s", path, part, is_there ? "not" : "wrongly", text);
    }
}

/* Another controller finds what was stored, and ends the move. */
static void finish(struct cluster *k, int32_t id, const char *list)
{
    cluster_kill(k, id);
    cluster_run(k, 3 * CLUSTER_SESSION_MS);
    assert_int_not_equal(cluster_wait_controller(k), id);
    cluster_start(k, id);
    cluster_run(k, 5000);
    assert_node(k, TOPIC, list, true);
    assert_node(k, TOPIC, "\"removing_replicas\":{}", true);
    cluster_free(k);
}

static void before_a_step_nothing_of_it_is_stored(void **state)
{
    (void)state;
    int32_t id;
    struct cluster *k = cluster_ended("before-U1", &id);
    assert_node(k, TOPIC, "\"removing_replicas\":{}", true);
    finish(k, id, "\"partitions\":{\"0\":[1,2]}");
    k = cluster_ended("before-B3", &id);
    assert_node(k, TOPIC, "\"removing_replicas\":{\"0\":[2]}", true);
    assert_node(k, STATE, "\"leader_epoch\":0", true);
    finish(k, id, "\"partitions\":{\"0\":[1]}");
    k = cluster_ended("before-B4", &id);
    assert_node(k, STATE, "\"leader_epoch\":1", true);
    assert_node(k, STATE, "\"isr\":[1,2]", true);
    assert_string_equal(cluster_text(&k->brokers[1].told), "leader t-0 1 epoch 1;");
    finish(k, id, "\"partitions\":{\"0\":[1]}");
    k = cluster_ended("before-B6", &id);
    assert_node(k, STATE, "\"isr\":[1]", true);
    assert_node(k, TOPIC, "\"removing_replicas\":{\"0\":[2]}", true);
    assert_string_equal(cluster_text(&k->brokers[2].told), "stop t-0;stop-delete t-0;");
    finish(k, id, "\"partitions\":{\"0\":[1]}");
}

static void after_a_step_it_is_stored_and_nobody_is_told(void **state)
{
    (void)state;
    int32_t id;
    struct cluster *k = cluster_ended("after-U1", &id);
    assert_node(k, TOPIC, "\"removing_replicas\":{\"0\":[2]}", true);
    assert_string_equal(cluster_text(&k->brokers[1].told), "");
    finish(k, id, "\"partitions\":{\"0\":[1]}");
    k = cluster_ended("after-B3", &id);
    assert_node(k, STATE, "\"leader_epoch\":1", true);
    assert_string_equal(cluster_text(&k->brokers[1].told), "");
    finish(k, id, "\"partitions\":{\"0\":[1]}");
    k = cluster_ended("after-B4", &id);
    assert_node(k, STATE, "\"isr\":[1]", true);
    assert_string_equal(cluster_text(&k->brokers[2].told), "");
    finish(k, id, "\"partitions\":{\"0\":[1]}");
    k = cluster_ended("after-B6", &id);
    assert_node(k, TOPIC, "\"removing_replicas\":{}", true);
    finish(k, id, "\"partitions\":{\"0\":[1]}");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_point_has_a_name_of_its_own),
        cmocka_unit_test(points_are_passed_in_order_until_one_ends),
        cmocka_unit_test(before_a_step_nothing_of_it_is_stored),
        cmocka_unit_test(after_a_step_it_is_stored_and_nobody_is_told),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
