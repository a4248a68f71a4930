/*
 * Topics that somebody deleted in the metastore and put back: they go on where they were.
 */
#include "unit/control/harness.h"

#include <stdio.h>

/* The znode with all below it. */
static void topic_vanish(struct world *w)
{
    struct world_topic *t = world_topic(w, "t");
    for (int32_t i = 0; i < t->node.partition_count; i++) {
        ids_clear(&t->partitions[i].state.isr);
        t->partitions[i].has_state = false;
    }
    t->has_partitions_node = false;
    t->node.version = 0;
    world_event(w, &(struct control_event){.kind = CONTROL_ON_TOPIC_GONE, .name = slice_str("t")});
    world_run(w);
    assert_int_equal(world_alter(w, "t", 0, NULL), KERR_NO_REASSIGNMENT_IN_PROGRESS);
}

static void topic_return(struct world *w)
{
    struct control_event event = {.kind = CONTROL_ON_TOPIC,
                                  .topic = world_read_of(world_topic(w, "t"))};
    world_event(w, &event);
    world_run(w);
}

static void a_topic_that_is_put_back_goes_on_with_its_move(void **state)
{
    (void)state;
    struct world w;
    world_with(&w, 5, "1,2,3");
    assert_int_equal(world_isr(&w, "t", 0, "1,2"), 0);
    assert_int_equal(world_alter(&w, "t", 0, "4,2,3"), 0);
    assert_string_equal(world_text(&w, "t", 0),
                        "RS[4,2,3,1] AR[4] RR[1] leader 1 isr [1,2] epoch 1");
    topic_vanish(&w);
    buf_clear(&w.sent);
    topic_return(&w);
    assert_string_equal(world_text(&w, "t", 0),
                        "RS[4,2,3,1] AR[4] RR[1] leader 1 isr [1,2] epoch 2");
    assert_non_null(
        strstr(buf_text(&w.sent), "4 new t-0 leader 1 epoch 2 RS[4,2,3,1] AR[4] RR[1]"));
    assert_text(world_list(&w), "t-0 RS[4,2,3,1] AR[4] RR[1]\n");
    assert_int_equal(world_isr(&w, "t", 0, "1,2,3,4"), 0);
    assert_string_equal(world_text(&w, "t", 0), "RS[4,2,3] leader 4 isr [2,3,4] epoch 4");
    world_deinit(&w);
}

/* The leader died meanwhile; one that was out of sync must not follow it. */
static void who_was_in_sync_leads(void **state)
{
    (void)state;
    struct world w;
    world_with(&w, 3, "1,2,3");
    assert_int_equal(world_isr(&w, "t", 0, "1,3"), 0);
    topic_vanish(&w);
    world_kill(&w, 1);
    topic_return(&w);
    assert_string_equal(world_text(&w, "t", 0), "RS[1,2,3] leader 3 isr [3] epoch 2");
    topic_vanish(&w);
    world_kill(&w, 3);
    topic_return(&w);
    assert_string_equal(world_text(&w, "t", 0), "RS[1,2,3] leader -1 isr [3] epoch 3");
    world_start(&w, 3);
    world_run(&w);
    assert_string_equal(world_text(&w, "t", 0), "RS[1,2,3] leader 3 isr [3] epoch 4");
    world_deinit(&w);
}

/* Another topic of the name is no topic that went; and memory ends with the term. */
static void nothing_is_remembered_of_another_topic(void **state)
{
    (void)state;
    for (int i = 0; i < 2; i++) {
        struct world w;
        world_with(&w, 3, "1,2,3");
        assert_int_equal(world_isr(&w, "t", 0, "1,3"), 0);
        topic_vanish(&w);
        if (i == 0) {
            world_topic(&w, "t")->node.id = uuid_from_random(7, 7);
        } else {
            world_failover(&w);
        }
        topic_return(&w);
        assert_string_equal(world_text(&w, "t", 0), "RS[1,2,3] leader 1 isr [1,2,3] epoch 0");
        world_deinit(&w);
    }
}

/* Without memory: those that a move is bringing have nothing yet. */
static void adding_replicas_are_not_in_sync_from_the_start(void **state)
{
    (void)state;
    struct world w;
    world_with(&w, 5, "1,2");
    assert_int_equal(world_alter(&w, "t", 0, "4,2"), 0);
    topic_vanish(&w);
    world_resign(&w);
    world_elect(&w);
    world_run(&w);
    assert_string_equal(world_text(&w, "t", 0), "RS[4,2,1] AR[4] RR[1] leader 2 isr [2,1] epoch 0");
    world_deinit(&w);
}

static void what_is_remembered_has_a_bound(void **state)
{
    (void)state;
    struct world w;
    world_with(&w, 3, "1,2,3");
    for (int32_t i = 0; i < 150; i++) {
        char name[8];
        int32_t one[] = {1};
        struct assignment list = {.replicas = {.count = 1, .list = one}};
        struct model_topic node = {.name = name, .partition_count = 1, .partitions = &list};
        (void)snprintf(name, sizeof name, "n%d", i);
        world_event(&w, &(struct control_event){.kind = CONTROL_ON_TOPIC, .topic = {&node}});
        world_event(
            &w, &(struct control_event){.kind = CONTROL_ON_TOPIC_GONE, .name = slice_str(name)});
    }
    assert_int_equal(w.core->gone.count, 100);
    world_deinit(&w);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_topic_that_is_put_back_goes_on_with_its_move),
        cmocka_unit_test(who_was_in_sync_leads),
        cmocka_unit_test(nothing_is_remembered_of_another_topic),
        cmocka_unit_test(adding_replicas_are_not_in_sync_from_the_start),
        cmocka_unit_test(what_is_remembered_has_a_bound),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
