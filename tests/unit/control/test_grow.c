/*
 * CreatePartitions: row 53, what is refused, and changes of the znode by somebody else meanwhile.
 */
#include "unit/control/harness.h"

static int32_t grow(struct world *w, const char *topic, int32_t total,
                    const struct control_new_partition *lists, int32_t count)
{
    struct control_grow_topic entry = {.name = slice_str(topic),
                                       .partition_count = total,
                                       .assignments = lists,
                                       .assignment_count = count};
    struct control_request request = {
        .kind = CONTROL_CREATE_PARTITIONS,
        .create_partitions = {.topics = &entry, .count = 1, .timeout_ms = 30000}};
    world_request(w, &request);
    world_run(w);
    assert_true(w->reply.is_there);
    return (int32_t)strtol(strrchr(buf_text(&w->reply.text), ' '), NULL, 10);
}

static void row_53_a_topic_that_moves_cannot_grow(void **state)
{
    struct world w;
    (void)state;
    world_with(&w, 3, "1,2");
    assert_int_equal(world_create(&w, "bar", (const char *const[]){"1", NULL}), 0);
    assert_int_equal(world_alter(&w, "t", 0, "1,3"), 0);
    assert_int_equal(grow(&w, "t", 2, NULL, 0), KERR_REASSIGNMENT_IN_PROGRESS);
    assert_int_equal(grow(&w, "bar", 3, NULL, 0), 0);
    assert_int_equal(world_topic(&w, "bar")->node.partition_count, 3);
    assert_int_equal(world_isr(&w, "t", 0, "1,2,3"), 0);
    assert_int_equal(grow(&w, "t", 2, NULL, 0), 0);
    assert_true(world_topic(&w, "t")->partitions[1].has_state);
    world_deinit(&w);
}

static void bad_growth_is_refused(void **state)
{
    struct world w;
    (void)state;
    world_with(&w, 3, "1,2");
    int32_t ids[] = {1, 9, 3, 3};
    const struct control_new_partition dead = {0, ids, 2};
    const struct control_new_partition twice = {0, &ids[2], 2};
    const struct control_new_partition narrow = {0, ids, 1};
    assert_int_equal(grow(&w, "none", 2, NULL, 0), KERR_UNKNOWN_TOPIC_OR_PARTITION);
    assert_int_equal(grow(&w, "t", 1, NULL, 0), KERR_INVALID_PARTITIONS);
    assert_int_equal(grow(&w, "t", INT32_MAX, NULL, 0), KERR_INVALID_PARTITIONS);
    assert_int_equal(grow(&w, "t", 3, &dead, 1), KERR_INVALID_REPLICA_ASSIGNMENT);
    assert_int_equal(grow(&w, "t", 2, &dead, 1), KERR_INVALID_REPLICA_ASSIGNMENT);
    assert_int_equal(grow(&w, "t", 2, &twice, 1), KERR_INVALID_REPLICA_ASSIGNMENT);
    assert_int_equal(grow(&w, "t", 2, &narrow, 1), KERR_INVALID_REPLICA_ASSIGNMENT);
    assert_int_equal(world_topic(&w, "t")->node.partition_count, 1);
    world_deinit(&w);
}

static void explicit_lists_are_taken(void **state)
{
    struct world w;
    (void)state;
    world_with(&w, 3, "1,2");
    int32_t ids[] = {3, 1};
    const struct control_new_partition list = {0, ids, 2};
    assert_int_equal(grow(&w, "t", 2, &list, 1), 0);
    assert_string_equal(world_text(&w, "t", 1), "RS[3,1] leader 3 isr [3,1] epoch 0");
    world_deinit(&w);
}

/* Somebody else adds a partition in the same instant: nothing is overwritten. */
static void a_foreign_partition_survives(void **state)
{
    struct world w;
    (void)state;
    world_with(&w, 3, "1,2");
    struct world_topic *t = world_topic(&w, "t");
    t->node.partitions = xrealloc(t->node.partitions, 2 * sizeof *t->node.partitions);
    t->node.partitions[1] = (struct assignment){0};
    ids_add(&t->node.partitions[1].replicas, 3);
    t->node.partition_count = 2;
    t->node.version++;
    world_partitions_make(t, 1);
    assert_int_equal(world_alter(&w, "t", 0, "1,3"), 0);
    assert_string_equal(world_text(&w, "t", 1), "RS[3] leader 3 isr [3] epoch 0");
    assert_text(world_list(&w), "t-0 RS[1,3,2] AR[3] RR[2]\n");
    world_deinit(&w);
}

static void two_requests_grow_one_after_the_other(void **state)
{
    struct world w;
    (void)state;
    world_with(&w, 3, "1");
    struct control_grow_topic entry = {.name = slice_str("t"), .partition_count = 2};
    struct control_request request = {
        .kind = CONTROL_CREATE_PARTITIONS,
        .create_partitions = {.topics = &entry, .count = 1, .timeout_ms = 30000}};
    world_request(&w, &request);
    world_request(&w, &request);
    world_run(&w);
    assert_text(&w.reply.text, "t--1 37\n");
    assert_int_equal(world_topic(&w, "t")->node.partition_count, 2);
    world_deinit(&w);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(row_53_a_topic_that_moves_cannot_grow),
        cmocka_unit_test(bad_growth_is_refused),
        cmocka_unit_test(explicit_lists_are_taken),
        cmocka_unit_test(a_foreign_partition_survives),
        cmocka_unit_test(two_requests_grow_one_after_the_other),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
