/*
 * Moves follow the facts of their partition, whoever made them.
 */
#include "world.h"

static const struct moves_limits one = {1, 1, 1, -1};

static void a_topic_that_goes_ends_its_moves(void **state)
{
    (void)state;
    struct world w;
    world_init(&w, 2, one);
    world_submit(&w, 0, 1, (int32_t[]){4, 5, 6}, world_request(MOVES_ACTION_SUBMIT));
    w.partitions[0].is_gone = w.partitions[1].is_gone = true;
    world_partition_tell(&w, 0);
    world_settle(&w);
    assert_int_equal(moves_job_find(w.m, slice_str("job-1"))->node.moves_cancelled, 2);
    assert_int_equal(w.m->holding, 0);
    assert_null(w.m->topics);
    world_deinit(&w);
}

/* Told once for all of it; what waits need not be looked at first. */
static void a_topic_can_go_as_a_whole(void **state)
{
    (void)state;
    struct world w;
    world_init(&w, 3, one);
    world_submit(&w, 0, 2, (int32_t[]){4, 5, 6}, world_request(MOVES_ACTION_SUBMIT));
    w.partitions[0].is_gone = w.partitions[1].is_gone = w.partitions[2].is_gone = true;
    world_partition_tell(&w, MOVES_WHOLE_TOPIC);
    assert_int_equal(moves_queued_count(w.m), 0);
    assert_null(w.m->topics);
    world_partition_tell(&w, MOVES_WHOLE_TOPIC); /* of a topic that is not known */
    world_deinit(&w);
}

/* A later submission takes the place of the move that runs when its turn comes, and undo leads to the list
 * from before the first. */
static void a_later_submission_overrides(void **state)
{
    (void)state;
    struct world w;
    world_init(&w, 1, one);
    world_submit(&w, 0, 0, (int32_t[]){4, 5, 6}, world_request(MOVES_ACTION_SUBMIT));
    world_submit(&w, 0, 0, (int32_t[]){7, 8, 9}, world_request(MOVES_ACTION_SUBMIT));
    struct moves_view view;
    assert_true(moves_find_running(w.m, slice_str(WORLD_TOPIC), 0, &view));
    assert_true(slice_equal_str(view.job->id, "job-2"));
    assert_int_equal(moves_job_find(w.m, slice_str("job-1"))->node.moves_cancelled, 1);
    struct moves_request r = world_request(MOVES_ACTION_CANCEL);
    world_ask(&w, &r);
    world_settle(&w);
    assert_true(world_has_list(&w, 0, 1, 2, 3));
    world_deinit(&w);
}

/* Somebody else's override ends the move of the job. */
static void a_stock_alter_takes_a_partition_out_of_its_job(void **state)
{
    (void)state;
    struct world w;
    world_init(&w, 1, world_no_limits);
    world_submit(&w, 0, 0, (int32_t[]){4, 5, 6}, world_request(MOVES_ACTION_SUBMIT));
    world_submit(&w, 0, 0, (int32_t[]){7, 8, 9}, world_request(MOVES_ACTION_ALTER));
    assert_int_equal(w.result_errors[0], KERR_NONE);
    assert_int_equal(moves_job_find(w.m, slice_str("job-1"))->node.moves_cancelled, 1);
    world_move_end(&w, 0);
    assert_true(world_has_list(&w, 0, 7, 8, 9));
    world_deinit(&w);
}

static void a_target_that_is_reached_already_is_done(void **state)
{
    (void)state;
    struct world w;
    world_init(&w, 1, one);
    world_submit(&w, 0, 0, (int32_t[]){1, 2, 3}, world_request(MOVES_ACTION_SUBMIT));
    assert_int_equal(moves_job_find(w.m, slice_str("job-1"))->node.moves_done, 1);
    assert_false(world_is_moving(&w, 0));
    world_deinit(&w);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_topic_that_goes_ends_its_moves),
        cmocka_unit_test(a_topic_can_go_as_a_whole),
        cmocka_unit_test(a_later_submission_overrides),
        cmocka_unit_test(a_stock_alter_takes_a_partition_out_of_its_job),
        cmocka_unit_test(a_target_that_is_reached_already_is_done),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
