/*
 * Who leads: unclean elections, ISR members that are not online, leaders in failed directories.
 */
#include "unit/control/harness.h"

static void unclean_election_needs_the_setting(void **state)
{
    struct world w;
    (void)state;
    world_with(&w, 3, "1,2");
    world_kill(&w, 2);
    world_run(&w);
    world_kill(&w, 1);
    world_run(&w);
    world_start(&w, 2);
    world_run(&w);
    assert_string_equal(world_text(&w, "t", 0), "RS[1,2] leader -1 isr [1] epoch 2");
    world_event(&w, &(struct control_event){.kind = CONTROL_ON_TOPIC_CONFIG,
                                            .name = slice_str("t"),
                                            .min_insync_replicas = 1,
                                            .is_unclean_election_enabled = true});
    world_run(&w);
    assert_string_equal(world_text(&w, "t", 0), "RS[1,2] leader 2 isr [2] epoch 3");
    assert_int_equal(world_state(&w, "t", 0)->recovery, MODEL_RECOVERING);
    world_deinit(&w);
}

/* Below 3.2-IV0 nobody would know what the mark means. */
static void unclean_leader_of_an_old_level_is_not_marked(void **state)
{
    struct world w;
    (void)state;
    world_init_at(&w, 3, IBP_3_1_IV0);
    world_elect(&w);
    world_run(&w);
    assert_int_equal(world_create(&w, "t", (const char *const[]){"1,2", NULL}), 0);
    world_kill(&w, 2);
    world_run(&w);
    world_kill(&w, 1);
    world_run(&w);
    world_start(&w, 2);
    world_run(&w);
    assert_int_equal(world_elect_leader(&w, "t", 0, true), 0);
    assert_string_equal(world_text(&w, "t", 0), "RS[1,2] leader 2 isr [2] epoch 3");
    assert_int_equal(world_state(&w, "t", 0)->recovery, MODEL_RECOVERED);
    world_deinit(&w);
}

static void a_leader_in_a_failed_directory_is_replaced(void **state)
{
    struct world w;
    (void)state;
    world_with(&w, 3, "1,2,3");
    w.has_bad_dir[1] = true;
    assert_int_equal(world_alter(&w, "t", 0, "1,2,3"), 0); /* makes the controller tell broker 1 */
    assert_string_equal(world_text(&w, "t", 0), "RS[1,2,3] leader 2 isr [2,3] epoch 2");
    assert_non_null(strstr(buf_text(&w.sent), "2 state t-0 leader 2 epoch 2"));
    world_deinit(&w);
}

/* The broker said that it lost a directory: it is asked, and its answer moves the leader. */
static void a_lost_directory_is_asked_about(void **state)
{
    struct world w;
    (void)state;
    world_with(&w, 3, "1,2,3");
    w.has_bad_dir[1] = true;
    world_event(&w,
                &(struct control_event){.kind = CONTROL_ON_LOG_DIR_FAILURE, .failed_broker = 1});
    world_run(&w);
    assert_string_equal(world_text(&w, "t", 0), "RS[1,2,3] leader 2 isr [2,3] epoch 1");
    world_deinit(&w);
}

static void a_clean_leader_ends_recovery(void **state)
{
    struct world w;
    (void)state;
    world_with(&w, 3, "1,2");
    world_kill(&w, 1);
    world_run(&w);
    world_kill(&w, 2);
    world_run(&w);
    world_start(&w, 1);
    world_run(&w);
    assert_int_equal(world_state(&w, "t", 0)->leader, -1);
    assert_int_equal(world_elect_leader(&w, "t", 0, true), 0);
    assert_int_equal(world_state(&w, "t", 0)->recovery, MODEL_RECOVERING);
    world_kill(&w, 1);
    world_run(&w);
    world_start(&w, 1);
    world_run(&w);
    assert_int_equal(world_state(&w, "t", 0)->leader, 1);
    assert_int_equal(world_state(&w, "t", 0)->recovery, MODEL_RECOVERED);
    world_deinit(&w);
}

static void the_first_state_has_all_live_replicas_in_order(void **state)
{
    struct world w;
    (void)state;
    world_init(&w, 3, 1);
    int32_t three[] = {9, 3, 1};
    struct assignment list = {.replicas = {.count = 3, .list = three}};
    struct model_topic node = {.name = (char[]){"t"}, .partition_count = 1, .partitions = &list};
    (void)world_topic_put(&w, &node);
    world_elect(&w);
    world_run(&w);
    assert_string_equal(world_text(&w, "t", 0), "RS[9,3,1] leader 3 isr [3,1] epoch 0");
    world_deinit(&w);
}

static void without_a_live_replica_the_state_waits(void **state)
{
    struct world w;
    (void)state;
    world_init(&w, 1, 1);
    int32_t two[] = {2};
    struct assignment list = {.replicas = {.count = 1, .list = two}};
    struct model_topic node = {.name = (char[]){"t"}, .partition_count = 1, .partitions = &list};
    struct world_topic *t = world_topic_put(&w, &node);
    world_elect(&w);
    world_run(&w);
    assert_false(t->partitions[0].has_state);
    assert_int_equal(world_elect_leader(&w, "t", 0, true), KERR_ELIGIBLE_LEADERS_NOT_AVAILABLE);
    world_start(&w, 2);
    world_run(&w);
    assert_string_equal(world_text(&w, "t", 0), "RS[2] leader 2 isr [2] epoch 0");
    world_deinit(&w);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(unclean_election_needs_the_setting),
        cmocka_unit_test(unclean_leader_of_an_old_level_is_not_marked),
        cmocka_unit_test(a_leader_in_a_failed_directory_is_replaced),
        cmocka_unit_test(a_lost_directory_is_asked_about),
        cmocka_unit_test(a_clean_leader_ends_recovery),
        cmocka_unit_test(the_first_state_has_all_live_replicas_in_order),
        cmocka_unit_test(without_a_live_replica_the_state_waits),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
