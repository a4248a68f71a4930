/*
 * ElectLeaders: per partition answers, and what Topics null leaves out.
 */
#include "unit/control/harness.h"

static void each_refusal_has_its_code(void **state)
{
    struct world w;
    (void)state;
    world_with(&w, 3, "1,2");
    assert_int_equal(world_elect_leader(&w, "t", 0, false), KERR_ELECTION_NOT_NEEDED);
    assert_int_equal(world_elect_leader(&w, "t", 0, true), KERR_ELECTION_NOT_NEEDED);
    assert_int_equal(world_elect_leader(&w, "t", 1, false), KERR_UNKNOWN_TOPIC_OR_PARTITION);
    assert_int_equal(world_elect_leader(&w, "x", 0, false), KERR_UNKNOWN_TOPIC_OR_PARTITION);
    world_kill(&w, 1);
    world_run(&w);
    assert_int_equal(world_elect_leader(&w, "t", 0, false), KERR_PREFERRED_LEADER_NOT_AVAILABLE);
    world_kill(&w, 2);
    world_run(&w);
    assert_int_equal(world_elect_leader(&w, "t", 0, true), KERR_ELIGIBLE_LEADERS_NOT_AVAILABLE);
    world_deinit(&w);
}

static void a_topic_that_is_being_deleted_gets_17(void **state)
{
    struct world w;
    (void)state;
    world_with(&w, 2, "1,2");
    world_kill(&w, 2);
    world_run(&w);
    struct slice name = slice_str("t");
    world_event(&w, &(struct control_event){
                        .kind = CONTROL_ON_DELETE_TOPICS, .names = &name, .name_count = 1});
    assert_int_equal(world_elect_leader(&w, "t", 0, false), KERR_INVALID_TOPIC_EXCEPTION);
    world_deinit(&w);
}

static void all_means_those_that_need_it(void **state)
{
    struct world w;
    (void)state;
    world_init(&w, 3, 1);
    world_elect(&w);
    world_run(&w);
    const char *const lists[] = {"1,2,3", "2,3,1", "1,3,2", NULL};
    assert_int_equal(world_create(&w, "t", lists), 0);
    world_kill(&w, 1);
    world_run(&w);
    world_start(&w, 1);
    world_run(&w);
    assert_int_equal(world_isr(&w, "t", 0, "2,3,1"), 0);
    struct control_request request = {.kind = CONTROL_ELECT_LEADERS, .elect = {.wants_all = true}};
    world_request(&w, &request);
    world_run(&w);
    assert_text(&w.reply.text, "t-0 0\nt-2 80\n");
    assert_int_equal(world_state(&w, "t", 0)->leader, 1);
    world_deinit(&w);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_refusal_has_its_code),
        cmocka_unit_test(a_topic_that_is_being_deleted_gets_17),
        cmocka_unit_test(all_means_those_that_need_it),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
