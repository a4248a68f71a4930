/*
 * Topic znodes: ids for all, nodes made by others, a node too large, topics that vanish.
 */
#include "unit/control/harness.h"

static void topics_without_an_id_get_one(void **state)
{
    struct world w;
    (void)state;
    world_init(&w, 2, 1);
    int32_t one[] = {1};
    struct assignment list = {.replicas = {.count = 1, .list = one}};
    struct model_topic node = {.name = (char[]){"t"}, .partition_count = 1, .partitions = &list};
    struct world_topic *t = world_topic_put(&w, &node);
    world_elect(&w);
    world_run(&w);
    assert_false(uuid_is_zero(t->node.id));
    assert_true(t->has_partitions_node);
    assert_ptr_equal(control_topic_find_id(w.core, t->node.id),
                     control_topic_find(w.core, slice_str("t")));
    world_deinit(&w);
}

/* Below 2.8-IV0 there are none, and a topic that has one keeps it. */
static void old_levels_give_no_ids(void **state)
{
    struct world w;
    (void)state;
    world_init_at(&w, 2, IBP_2_7_IV2);
    int32_t one[] = {1};
    struct assignment list = {.replicas = {.count = 1, .list = one}};
    struct model_topic node = {.name = (char[]){"t"}, .partition_count = 1, .partitions = &list};
    struct model_topic named = node;
    named.name = (char[]){"u"};
    named.id = uuid_from_random(5, 6);
    struct world_topic *t = world_topic_put(&w, &node);
    struct world_topic *u = world_topic_put(&w, &named);
    world_elect(&w);
    world_run(&w);
    assert_true(uuid_is_zero(t->node.id));
    assert_int_equal(t->node_writes, 0);
    assert_true(uuid_equal(u->node.id, named.id));
    assert_string_equal(world_text(&w, "t", 0), "RS[1] leader 1 isr [1] epoch 0");
    assert_int_equal(world_create(&w, "v", (const char *const[]){"1,2", NULL}), 0);
    assert_true(uuid_is_zero(world_topic(&w, "v")->node.id));
    assert_int_equal(world_alter(&w, "v", 0, "2"), 0);
    world_run(&w);
    assert_string_equal(world_text(&w, "v", 0), "RS[2] leader 2 isr [2] epoch 2");
    world_deinit(&w);
}

static void a_topic_that_appears_gets_states(void **state)
{
    struct world w;
    (void)state;
    world_init(&w, 2, 1);
    world_elect(&w);
    world_run(&w);
    int32_t two[] = {2, 1};
    struct assignment list = {.replicas = {.count = 2, .list = two}};
    struct model_topic node = {.name = (char[]){"t"}, .partition_count = 1, .partitions = &list};
    struct world_topic *t = world_topic_put(&w, &node);
    world_event(&w, &(struct control_event){.kind = CONTROL_ON_TOPIC, .topic = world_read_of(t)});
    world_run(&w);
    assert_string_equal(world_text(&w, "t", 0), "RS[2,1] leader 2 isr [2,1] epoch 0");
    world_deinit(&w);
}

static void a_topic_that_vanishes_is_forgotten(void **state)
{
    struct world w;
    (void)state;
    world_with(&w, 3, "1,2");
    struct control_alter_entry entry = {
        .topic = slice_str("t"), .replicas = (int32_t[]){1, 3}, .replica_count = 2};
    struct control_request alter = {.kind = CONTROL_ALTER_REASSIGNMENTS,
                                    .alter = {.entries = &entry, .count = 1}};
    world_request(&w, &alter);
    world_topic_clear(world_topic(&w, "t"));
    world_event(&w, &(struct control_event){.kind = CONTROL_ON_TOPIC_GONE, .name = slice_str("t")});
    assert_text(&w.reply.text, "t-0 3\n");
    world_run(&w);
    assert_null(control_topic_find(w.core, slice_str("t")));
    assert_int_equal(control_writes_pending(w.core), 0);
    world_deinit(&w);
}

/* Decision 8 and P8: what cannot be stored fails alone, and changes nothing. */
static void a_triple_that_cannot_be_stored_is_given_up(void **state)
{
    struct world w;
    (void)state;
    world_with(&w, 3, "1,2");
    struct control_alter_entry entry = {
        .topic = slice_str("t"), .replicas = (int32_t[]){1, 3}, .replica_count = 2};
    struct control_request alter = {.kind = CONTROL_ALTER_REASSIGNMENTS,
                                    .alter = {.entries = &entry, .count = 1}};
    world_request(&w, &alter);
    struct world_write *k = CONTAINER_OF(list_pop(&w.writes), struct world_write, link);
    world_event(&w, &(struct control_event){.kind = CONTROL_ON_WRITE_DONE,
                                            .write_id = k->body.id,
                                            .outcome = CONTROL_FAILED,
                                            .message = "too large"});
    world_write_free(k);
    assert_text(&w.reply.text, "t-0 -1\n");
    assert_false(w.is_resigned);
    assert_text(world_list(&w), "");
    assert_int_equal(world_alter(&w, "t", 0, "1,3"), 0);
    assert_text(world_list(&w), "t-0 RS[1,3,2] AR[3] RR[2]\n");
    world_deinit(&w);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(topics_without_an_id_get_one),
        cmocka_unit_test(old_levels_give_no_ids),
        cmocka_unit_test(a_topic_that_appears_gets_states),
        cmocka_unit_test(a_topic_that_vanishes_is_forgotten),
        cmocka_unit_test(a_triple_that_cannot_be_stored_is_given_up),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
