/*
 * What a request is about: entries, jobs, brokers, topics.
 */
#include "world.h"

static void ask(struct world *w, struct moves_request r)
{
    world_ask(w, &r);
    world_settle(w);
}

static void a_partition_named_twice_is_refused_both_times(void **state)
{
    (void)state;
    struct world w;
    world_init(&w, 2, world_no_limits);
    struct moves_entry entries[] = {world_entry(0, (int32_t[]){4, 5, 6}, 3),
                                    world_entry(1, (int32_t[]){4, 5, 6}, 3),
                                    world_entry(0, (int32_t[]){4, 5, 6}, 3)};
    struct moves_request r = world_request(MOVES_ACTION_SUBMIT);
    r.entries = entries;
    r.count = 3;
    ask(&w, r);
    assert_int_equal(w.result_errors[0], KERR_INVALID_REQUEST);
    assert_int_equal(w.result_errors[1], KERR_NONE);
    assert_int_equal(w.result_errors[2], KERR_INVALID_REQUEST);
    assert_false(world_is_moving(&w, 0));
    assert_true(world_is_moving(&w, 1));
    world_deinit(&w);
}

static void brokers_select_moves_to_and_from_them(void **state)
{
    (void)state;
    struct world w;
    world_init(&w, 3, world_no_limits);
    world_submit(&w, 0, 0, (int32_t[]){1, 2, 4}, world_request(MOVES_ACTION_SUBMIT));
    world_submit(&w, 1, 1, (int32_t[]){1, 2, 5}, world_request(MOVES_ACTION_SUBMIT));
    world_submit(&w, 2, 2, (int32_t[]){6, 2, 3}, world_request(MOVES_ACTION_SUBMIT));
    struct moves_request r = world_request(MOVES_ACTION_CANCEL);
    int32_t broker = 5; /* to it: 1 */
    r.brokers = &broker;
    r.broker_count = 1;
    ask(&w, r);
    assert_int_equal(w.result_count, 1);
    assert_true(world_has_list(&w, 1, 1, 2, 3));
    broker = 3; /* from it: 0 */
    ask(&w, r);
    assert_int_equal(w.result_count, 1);
    assert_true(world_has_list(&w, 0, 1, 2, 3));
    assert_true(world_is_moving(&w, 2));
    world_deinit(&w);
}

static void a_job_selects_its_own_moves(void **state)
{
    (void)state;
    struct world w;
    world_init(&w, 4, world_no_limits);
    world_submit(&w, 0, 1, (int32_t[]){4, 5, 6}, world_request(MOVES_ACTION_SUBMIT));
    world_submit(&w, 2, 3, (int32_t[]){4, 5, 6}, world_request(MOVES_ACTION_SUBMIT));
    struct moves_request r = world_request(MOVES_ACTION_CANCEL);
    r.job = slice_str("job-2");
    ask(&w, r);
    assert_int_equal(w.result_count, 2);
    assert_true(world_is_moving(&w, 0) && world_is_moving(&w, 1));
    assert_false(world_is_moving(&w, 2) || world_is_moving(&w, 3));
    world_deinit(&w);
}

static void a_topic_selects_all_of_it(void **state)
{
    (void)state;
    struct world w;
    world_init(&w, 3, world_no_limits);
    world_submit(&w, 0, 2, (int32_t[]){4, 5, 6}, world_request(MOVES_ACTION_SUBMIT));
    struct moves_entry whole = world_entry(MOVES_WHOLE_TOPIC, NULL, 0);
    struct moves_request r = world_request(MOVES_ACTION_CANCEL);
    r.entries = &whole;
    r.count = 1;
    ask(&w, r);
    assert_int_equal(w.result_count, 3);
    assert_int_equal(world_moving_count(&w), 0);
    world_deinit(&w);
}

static void what_does_not_move_cannot_be_cancelled(void **state)
{
    (void)state;
    struct world w;
    world_init(&w, 1, world_no_limits);
    struct moves_entry e = world_entry(0, NULL, 0);
    e.is_cancel = true;
    struct moves_request r = world_request(MOVES_ACTION_CANCEL);
    r.entries = &e;
    r.count = 1;
    ask(&w, r);
    assert_int_equal(w.result_errors[0], KERR_NO_REASSIGNMENT_IN_PROGRESS);
    world_deinit(&w);
}

static void a_submission_that_cancels_is_refused(void **state)
{
    (void)state;
    struct world w;
    world_init(&w, 1, world_no_limits);
    struct moves_entry e = world_entry(0, NULL, 0);
    e.is_cancel = true;
    struct moves_request r = world_request(MOVES_ACTION_SUBMIT);
    r.entries = &e;
    r.count = 1;
    ask(&w, r);
    assert_int_equal(w.result_errors[0], KERR_INVALID_REQUEST);
    world_deinit(&w);
}

/* The partitions of a large topic are looked at in pieces, and each is found once; one may go in between. The marks
 * are stored in pieces too. */
static void a_large_topic_is_gone_through_in_pieces(void **state)
{
    (void)state;
    enum {
        MANY = 4 * QUEUE_BUDGET,
    };
    struct world w;
    world_init(&w, MANY, (struct moves_limits){1, 1, 1, -1});
    world_submit(&w, 0, MANY - 1, (int32_t[]){4, 5, 6}, world_request(MOVES_ACTION_SUBMIT));
    struct moves_entry whole = world_entry(MOVES_WHOLE_TOPIC, NULL, 0);
    struct moves_request r = world_request(MOVES_ACTION_PAUSE);
    r.entries = &whole;
    r.count = 1;
    world_ask(&w, &r);
    assert_true(w.out.has_more);
    assert_int_equal(w.write_count, 0);
    w.partitions[MANY - 1].is_gone = true;
    world_partition_tell(&w, MANY - 1);
    int32_t before = 0;
    int32_t most = 0;
    while (w.out.has_more) {
        world_tick(&w);
        most = MAX(most, w.write_count - before);
        before = w.write_count;
    }
    assert_true(w.write_count > most); /* more than one step's */
    world_settle(&w);
    assert_int_equal(w.result_count, MANY - 1);
    assert_true(w.partitions[0].is_stopped);
    assert_int_equal(moves_job_state(moves_job_find(w.m, slice_str("job-1"))), MOVES_PAUSED);
    world_deinit(&w);
}

/* It was asked for, and the answer is due: it is neither of nobody, nor left out. */
static void what_is_being_started_is_paused_as_its_jobs(void **state)
{
    (void)state;
    struct world w;
    world_init(&w, 1, world_no_limits);
    struct moves_entry e = world_entry(0, (int32_t[]){4, 5, 6}, 3);
    struct moves_request r = world_request(MOVES_ACTION_SUBMIT);
    r.entries = &e;
    r.count = 1;
    world_ask(&w, &r);
    while (w.alter_count == 0 || w.alters[0].is_validate_only) {
        if (w.alter_count > 0) {
            world_alter_answer(&w);
        } else {
            world_write_answer(&w);
        }
    }
    struct moves_request pause = world_request(MOVES_ACTION_PAUSE);
    world_ask(&w, &pause);
    world_settle(&w);
    assert_true(world_is_moving(&w, 0));
    assert_true(w.partitions[0].is_stopped);
    assert_int_equal(w.m->jobs.count, 1);
    world_deinit(&w);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_is_being_started_is_paused_as_its_jobs),
        cmocka_unit_test(a_partition_named_twice_is_refused_both_times),
        cmocka_unit_test(brokers_select_moves_to_and_from_them),
        cmocka_unit_test(a_job_selects_its_own_moves),
        cmocka_unit_test(a_topic_selects_all_of_it),
        cmocka_unit_test(what_does_not_move_cannot_be_cancelled),
        cmocka_unit_test(a_submission_that_cancels_is_refused),
        cmocka_unit_test(a_large_topic_is_gone_through_in_pieces),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
