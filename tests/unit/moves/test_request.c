/*
 * Requests: stored before answered, checked, and each action's effect.
 */
#include "world.h"

static struct moves_request about_job(enum moves_action action, const char *job)
{
    struct moves_request r = world_request(action);
    r.job = slice_str(job);
    return r;
}

static void ask(struct world *w, struct moves_request r)
{
    world_ask(w, &r);
    world_settle(w);
}

/* Nothing is answered before it is stored: the job, its piece, the job again. */
static void a_submission_is_stored_before_it_is_answered(void **state)
{
    (void)state;
    struct world w;
    world_init(&w, 1, world_no_limits);
    struct moves_request r = world_request(MOVES_ACTION_SUBMIT);
    struct moves_entry e = world_entry(0, (int32_t[]){4, 5, 6}, 3);
    r.entries = &e;
    r.count = 1;
    world_ask(&w, &r);
    world_alter_answer(&w); /* it is judged */
    assert_int_equal(w.write_count, 2);
    for (int32_t i = 0; i < 3; i++) {
        assert_int_equal(w.replies, 0);
        assert_int_equal(w.alter_count, 0);
        world_write_answer(&w);
    }
    assert_int_equal(w.replies, 1);
    assert_string_equal(w.job, "job-1");
    assert_int_equal(w.alter_count, 1);
    world_deinit(&w);
}

static void a_refused_write_refuses_the_submission(void **state)
{
    (void)state;
    struct world w;
    world_init(&w, 1, world_no_limits);
    w.refuses_writes = true;
    world_submit(&w, 0, 0, (int32_t[]){4, 5, 6}, world_request(MOVES_ACTION_SUBMIT));
    assert_int_equal(w.error, KERR_UNKNOWN_SERVER_ERROR);
    assert_int_equal(w.m->jobs.count, 0);
    assert_null(w.m->topics);
    w.refuses_writes = false;
    world_submit(&w, 0, 0, (int32_t[]){4, 5, 6}, world_request(MOVES_ACTION_SUBMIT));
    assert_true(world_is_moving(&w, 0));
    world_deinit(&w);
}

static void a_refused_mark_refuses_the_cancel(void **state)
{
    (void)state;
    struct world w;
    world_init(&w, 1, world_no_limits);
    world_submit(&w, 0, 0, (int32_t[]){4, 5, 6}, world_request(MOVES_ACTION_SUBMIT));
    w.refuses_writes = true;
    ask(&w, world_request(MOVES_ACTION_CANCEL));
    assert_int_equal(w.error, KERR_UNKNOWN_SERVER_ERROR);
    assert_true(world_is_moving(&w, 0));
    w.refuses_writes = false;
    ask(&w, world_request(MOVES_ACTION_CANCEL));
    assert_int_equal(w.error, KERR_NONE);
    assert_true(world_has_list(&w, 0, 1, 2, 3));
    world_deinit(&w);
}

static void the_wished_name_is_given_once(void **state)
{
    (void)state;
    struct world w;
    world_init(&w, 2, world_no_limits);
    world_submit(&w, 0, 0, (int32_t[]){4, 5, 6}, about_job(MOVES_ACTION_SUBMIT, "mine"));
    assert_string_equal(w.job, "mine");
    world_submit(&w, 1, 1, (int32_t[]){4, 5, 6}, about_job(MOVES_ACTION_SUBMIT, "mine"));
    assert_int_equal(w.error, KERR_DUPLICATE_RESOURCE);
    world_submit(&w, 1, 1, (int32_t[]){4, 5, 6}, about_job(MOVES_ACTION_SUBMIT, "a/b"));
    assert_int_equal(w.error, KERR_INVALID_REQUEST);
    world_deinit(&w);
}

static void nonsense_is_refused(void **state)
{
    (void)state;
    struct world w;
    world_init(&w, 1, world_no_limits);
    struct moves_request r = world_request(MOVES_ACTION_SUBMIT);
    r.priority = MOVES_PRIORITY_KEEP;
    ask(&w, r);
    assert_int_equal(w.error, KERR_INVALID_REQUEST);
    r = world_request(MOVES_ACTION_SUBMIT);
    r.rate = 0;
    ask(&w, r);
    assert_int_equal(w.error, KERR_INVALID_REQUEST);
    ask(&w, world_request(MOVES_ACTION_SETTINGS));
    assert_int_equal(w.error, KERR_INVALID_REQUEST);
    ask(&w, about_job(MOVES_ACTION_PAUSE, "nobody"));
    assert_int_equal(w.error, KERR_RESOURCE_NOT_FOUND);
    world_deinit(&w);
}

static void a_paused_move_gives_its_slots_up_and_keeps_what_it_has(void **state)
{
    (void)state;
    struct world w;
    world_init(&w, 2, (struct moves_limits){1, 1, -1, -1});
    world_submit(&w, 0, 1, (int32_t[]){4, 5, 6}, world_request(MOVES_ACTION_SUBMIT));
    struct moves_entry first = world_entry(0, NULL, 0);
    struct moves_request pause = world_request(MOVES_ACTION_PAUSE);
    pause.entries = &first;
    pause.count = 1;
    ask(&w, pause);
    assert_true(world_is_moving(&w, 0) && w.partitions[0].is_stopped);
    assert_true(world_is_moving(&w, 1) && !w.partitions[1].is_stopped);
    struct moves_request resume = world_request(MOVES_ACTION_RESUME);
    resume.entries = &first;
    resume.count = 1;
    ask(&w, resume);
    assert_true(w.partitions[0].is_stopped); /* the slot is taken */
    world_move_end(&w, 1);
    world_settle(&w);
    assert_false(w.partitions[0].is_stopped);
    assert_true(world_is_moving(&w, 0));
    world_deinit(&w);
}

/* Both are found, and only what changed is told as changed. */
static void what_was_so_already_is_told_apart(void **state)
{
    (void)state;
    struct world w;
    world_init(&w, 2, world_no_limits);
    world_submit(&w, 0, 1, (int32_t[]){4, 5, 6}, world_request(MOVES_ACTION_SUBMIT));
    struct moves_entry second = world_entry(1, NULL, 0);
    struct moves_request pause = world_request(MOVES_ACTION_PAUSE);
    pause.entries = &second;
    pause.count = 1;
    ask(&w, pause);
    assert_int_equal(w.result_notes[0], MOVES_NOTE_NONE);
    ask(&w, pause);
    assert_int_equal(w.result_notes[0], MOVES_NOTE_SAME);
    ask(&w, world_request(MOVES_ACTION_RESUME));
    assert_int_equal(w.result_count, 2);
    assert_int_equal(w.result_notes[0] + w.result_notes[1], MOVES_NOTE_SAME);
    assert_false(w.partitions[1].is_stopped);
    world_deinit(&w);
}

static void a_stock_move_can_be_paused(void **state)
{
    (void)state;
    struct world w;
    world_init(&w, 1, world_no_limits);
    struct moves_entry e = world_entry(0, (int32_t[]){4, 5, 6}, 3);
    assert_true(moves_may_pass(w.m, &e, 1));
    struct ids target = {0};
    struct assignment next = {0};
    ids_set(&target, e.replicas, 3);
    assignment_reassign(&w.partitions[0].a, &target, &next);
    w.partitions[0].a.replicas.count = 0; /* as the controller's core does it */
    assignment_deinit(&w.partitions[0].a);
    w.partitions[0].a = next;
    ids_deinit(&target);
    world_partition_tell(&w, 0);
    ask(&w, world_request(MOVES_ACTION_PAUSE));
    assert_int_equal(w.result_count, 1);
    assert_true(w.partitions[0].is_stopped);
    assert_false(moves_may_pass(w.m, &e, 1));
    ask(&w, world_request(MOVES_ACTION_CANCEL));
    assert_true(world_has_list(&w, 0, 1, 2, 3));
    world_deinit(&w);
}

static void settings_change_a_job_while_it_runs(void **state)
{
    (void)state;
    struct world w;
    world_init(&w, 3, (struct moves_limits){1, 1, 1, -1});
    world_submit(&w, 0, 1, (int32_t[]){4, 5, 6}, about_job(MOVES_ACTION_SUBMIT, "a"));
    world_submit(&w, 2, 2, (int32_t[]){4, 5, 6}, about_job(MOVES_ACTION_SUBMIT, "b"));
    struct moves_request r = about_job(MOVES_ACTION_SETTINGS, "b");
    r.priority = MODEL_JOB_REPAIR;
    r.rate = 77;
    ask(&w, r);
    assert_int_equal(w.error, KERR_NONE);
    world_move_end(&w, 0);
    world_settle(&w);
    assert_true(world_is_moving(&w, 2)); /* before partition 1 now */
    assert_int_equal(w.limit_rate, 77);
    r.rate = MOVES_RATE_REMOVE;
    r.priority = MOVES_PRIORITY_KEEP;
    ask(&w, r);
    assert_int_equal(w.limit_groups, 0);
    world_deinit(&w);
}

static void undo_sends_back_what_has_ended(void **state)
{
    (void)state;
    struct world w;
    world_init(&w, 3, (struct moves_limits){1, 1, 1, -1});
    world_submit(&w, 0, 2, (int32_t[]){4, 5, 6}, about_job(MOVES_ACTION_SUBMIT, "there"));
    world_move_end(&w, 0);
    world_settle(&w);
    ask(&w, about_job(MOVES_ACTION_UNDO, "there"));
    assert_int_equal(w.error, KERR_NONE);
    assert_int_equal(w.result_count, 3);
    assert_true(world_has_list(&w, 1, 1, 2, 3)); /* it ran */
    assert_true(world_has_list(&w, 2, 1, 2, 3)); /* it waited */
    assert_true(world_is_moving(&w, 0));
    world_move_end(&w, 0);
    world_settle(&w);
    assert_true(world_has_list(&w, 0, 1, 2, 3));
    world_deinit(&w);
}

static void a_cancel_in_the_middle_of_steps_goes_back_to_the_start(void **state)
{
    (void)state;
    struct world w;
    world_init(&w, 1, world_no_limits);
    struct moves_request r = world_request(MOVES_ACTION_SUBMIT);
    r.is_one_at_a_time = true;
    world_submit(&w, 0, 0, (int32_t[]){4, 5, 6}, r);
    assert_int_equal(w.partitions[0].a.adding.count, 1);
    world_move_end(&w, 0);
    world_settle(&w);
    ask(&w, world_request(MOVES_ACTION_CANCEL));
    for (int32_t i = 0; i < 5 && world_is_moving(&w, 0); i++) {
        assert_true(w.partitions[0].a.adding.count <= 1);
        world_move_end(&w, 0);
        world_settle(&w);
    }
    assert_true(world_has_list(&w, 0, 1, 2, 3));
    world_deinit(&w);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_submission_is_stored_before_it_is_answered),
        cmocka_unit_test(a_refused_write_refuses_the_submission),
        cmocka_unit_test(a_refused_mark_refuses_the_cancel),
        cmocka_unit_test(the_wished_name_is_given_once),
        cmocka_unit_test(nonsense_is_refused),
        cmocka_unit_test(a_paused_move_gives_its_slots_up_and_keeps_what_it_has),
        cmocka_unit_test(what_was_so_already_is_told_apart),
        cmocka_unit_test(a_stock_move_can_be_paused),
        cmocka_unit_test(settings_change_a_job_while_it_runs),
        cmocka_unit_test(undo_sends_back_what_has_ended),
        cmocka_unit_test(a_cancel_in_the_middle_of_steps_goes_back_to_the_start),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
