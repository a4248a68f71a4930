/*
 * Slots: limits, order, passing, and no starvation.
 */
#include "world.h"

#include "moves/reason.h"

/* Partition `partition` to [4,5,6] with a priority. */
static void submit_one(struct world *w, int32_t partition, int8_t priority)
{
    struct moves_request r = world_request(MOVES_ACTION_SUBMIT);
    r.priority = priority;
    world_submit(w, partition, partition, (int32_t[]){4, 5, 6}, r);
}

static void submitted_jobs_have_sensible_limits(void **state)
{
    (void)state;
    struct world w;
    world_init(&w, 20, world_no_limits);
    world_submit(&w, 0, 19, (int32_t[]){4, 5, 6}, world_request(MOVES_ACTION_SUBMIT));
    assert_int_equal(world_moving_count(&w), MOVES_IN_DEFAULT);
    world_deinit(&w);
}

/* The smallest partition starts though it came last; the large ones wait for bytes. */
static void small_ones_pass_big_ones(void **state)
{
    (void)state;
    struct world w;
    world_init(&w, 3, (struct moves_limits){10, 10, 10, 1000});
    w.partitions[0].bytes = 300; /* three copies: 900 */
    w.partitions[1].bytes = 300;
    w.partitions[2].bytes = 30;
    world_submit(&w, 0, 2, (int32_t[]){4, 5, 6}, world_request(MOVES_ACTION_SUBMIT));
    assert_true(world_is_moving(&w, 0));
    assert_false(world_is_moving(&w, 1));
    assert_true(world_is_moving(&w, 2));
    world_move_end(&w, 0);
    world_settle(&w);
    assert_true(world_is_moving(&w, 1));
    world_deinit(&w);
}

/* A partition larger than the limit runs, but alone. */
static void one_larger_than_the_limit_runs_alone(void **state)
{
    (void)state;
    struct world w;
    world_init(&w, 2, (struct moves_limits){10, 10, 10, 100});
    w.partitions[0].bytes = 1000;
    world_submit(&w, 0, 1, (int32_t[]){4, 5, 6}, world_request(MOVES_ACTION_SUBMIT));
    assert_true(world_is_moving(&w, 0));
    assert_false(world_is_moving(&w, 1));
    world_deinit(&w);
}

/* An endless stream of small moves passes a big one only so often. */
static void a_big_one_does_not_starve(void **state)
{
    (void)state;
    enum {
        COUNT = 200
    };
    struct world w;
    world_init(&w, COUNT, (struct moves_limits){10, 10, 10, 1000});
    for (int32_t i = 0; i < COUNT; i++) {
        w.partitions[i].bytes = 100;
    }
    w.partitions[1].bytes = 333; /* needs all the bytes but one */
    world_submit(&w, 0, COUNT - 1, (int32_t[]){4, 5, 6}, world_request(MOVES_ACTION_SUBMIT));
    int32_t ended = 0;
    for (int32_t round = 0; round < COUNT && !world_is_moving(&w, 1); round++) {
        for (int32_t i = 0; i < COUNT; i++) {
            if (i != 1 && world_is_moving(&w, i)) {
                world_move_end(&w, i); /* one at a time: there is always another that runs */
                world_settle(&w);
                ended++;
                break;
            }
        }
    }
    assert_true(world_is_moving(&w, 1));
    assert_true(ended < MOVES_PASSES_MAX + 10);
    world_deinit(&w);
}

static void repair_goes_before_drain_before_balance(void **state)
{
    (void)state;
    struct world w;
    world_init(&w, 4, (struct moves_limits){10, 10, 1, -1});
    submit_one(&w, 0, MODEL_JOB_BALANCE); /* starts: it is alone */
    submit_one(&w, 1, MODEL_JOB_BALANCE);
    submit_one(&w, 2, MODEL_JOB_DRAIN);
    submit_one(&w, 3, MODEL_JOB_REPAIR);
    static const int32_t order[] = {0, 3, 2, 1};
    for (int32_t i = 0; i < 4; i++) {
        assert_true(world_is_moving(&w, order[i]));
        assert_int_equal(world_moving_count(&w), 1);
        world_move_end(&w, order[i]);
        world_settle(&w);
    }
    world_deinit(&w);
}

static void a_dead_target_is_waited_for(void **state)
{
    (void)state;
    struct world w;
    struct moves_view view;
    world_init(&w, 2, (struct moves_limits){10, 10, 1, -1});
    world_broker_set(&w, 5, false);
    world_submit(&w, 0, 0, (int32_t[]){4, 5, 6}, world_request(MOVES_ACTION_SUBMIT));
    assert_int_equal(w.result_errors[0], KERR_NONE);
    assert_true(moves_find_queued(w.m, slice_str(WORLD_TOPIC), 0, &view));
    assert_int_equal(view.reason, MOVES_REASON_TARGET_DOWN);
    world_submit(&w, 1, 1, (int32_t[]){4, 6, 7}, world_request(MOVES_ACTION_SUBMIT));
    assert_true(world_is_moving(&w, 1)); /* it stands in nobody's way */
    world_move_end(&w, 1);
    world_broker_set(&w, 5, true);
    world_settle(&w);
    assert_true(world_is_moving(&w, 0));
    world_deinit(&w);
}

/* One that dies under a move takes the slots of no other; they are the move's again when it returns, though
 * others have them. */
static void a_running_move_to_a_dead_target_holds_nothing(void **state)
{
    (void)state;
    struct world w;
    struct moves_view view;
    world_init(&w, 3, (struct moves_limits){-1, 1, -1, 100});
    for (int32_t i = 0; i < 3; i++) {
        w.partitions[i].bytes = 30;
    }
    world_submit(&w, 0, 0, (int32_t[]){4, 5, 6}, world_request(MOVES_ACTION_SUBMIT));
    world_submit(&w, 1, 2, (int32_t[]){4, 6, 7}, world_request(MOVES_ACTION_SUBMIT));
    assert_int_equal(world_moving_count(&w), 1);
    world_broker_set(&w, 5, false);
    world_settle(&w);
    assert_true(world_is_moving(&w, 0));
    assert_true(world_is_moving(&w, 1));
    assert_false(world_is_moving(&w, 2));
    world_broker_set(&w, 4, false); /* another one of it */
    world_broker_set(&w, 4, true);
    world_broker_set(&w, 5, true);
    world_settle(&w);
    assert_true(moves_find_running(w.m, slice_str(WORLD_TOPIC), 0, &view));
    assert_int_equal(view.state, MOVES_RUNNING); /* not stopped for its slots */
    world_move_end(&w, 1);
    world_settle(&w);
    assert_false(world_is_moving(&w, 2)); /* they are taken again */
    world_move_end(&w, 0);
    world_settle(&w);
    assert_true(world_is_moving(&w, 2));
    world_deinit(&w);
}

/* Resumed while its target is down: it waits for that one, not for slots. */
static void a_resumed_move_to_a_dead_target_waits_for_no_slot(void **state)
{
    (void)state;
    struct world w;
    struct moves_view view;
    world_init(&w, 2, (struct moves_limits){-1, -1, 1, -1});
    world_submit(&w, 0, 0, (int32_t[]){4, 5, 6}, world_request(MOVES_ACTION_SUBMIT));
    struct moves_request pause = world_request(MOVES_ACTION_PAUSE);
    struct moves_request resume = world_request(MOVES_ACTION_RESUME);
    world_ask(&w, &pause);
    world_settle(&w);
    world_submit(&w, 1, 1, (int32_t[]){4, 6, 7}, world_request(MOVES_ACTION_SUBMIT));
    world_broker_set(&w, 5, false);
    world_ask(&w, &resume);
    world_settle(&w);
    assert_true(world_is_moving(&w, 1));
    assert_true(moves_find_running(w.m, slice_str(WORLD_TOPIC), 0, &view));
    assert_int_equal(view.state, MOVES_RUNNING);
    world_deinit(&w);
}

static void a_lower_limit_stops_nothing_and_a_higher_one_starts_more(void **state)
{
    (void)state;
    struct world w;
    world_init(&w, 6, (struct moves_limits){4, 4, -1, -1});
    world_submit(&w, 0, 5, (int32_t[]){4, 5, 6}, world_request(MOVES_ACTION_SUBMIT));
    struct moves_event limits = {.kind = MOVES_ON_LIMITS, .limits = {1, 4, -1, -1}};
    world_step(&w, &limits);
    world_settle(&w);
    assert_int_equal(world_moving_count(&w), 4);
    world_move_end(&w, 0);
    world_settle(&w);
    assert_int_equal(world_moving_count(&w), 3);
    limits.limits.in_per_broker = 5;
    limits.limits.out_per_broker = 5;
    world_step(&w, &limits);
    world_settle(&w);
    assert_int_equal(world_moving_count(&w), 5);
    world_deinit(&w);
}

/* A size that is not known yet is waited for while bytes are limited. */
static void an_unknown_size_is_waited_for(void **state)
{
    (void)state;
    struct world w;
    world_init(&w, 1, (struct moves_limits){-1, -1, -1, 1000});
    w.partitions[0].bytes = -1;
    world_submit(&w, 0, 0, (int32_t[]){4, 5, 6}, world_request(MOVES_ACTION_SUBMIT));
    assert_false(world_is_moving(&w, 0));
    w.partitions[0].bytes = 10;
    world_pass(&w, 1000);
    assert_true(world_is_moving(&w, 0));
    world_deinit(&w);
}

/* Nobody tells the size of a partition without a leader: that is what is waited for. */
static void an_unknown_size_without_a_leader_is_no_lack_of_slots(void **state)
{
    (void)state;
    struct world w;
    struct moves_view view;
    world_init(&w, 1, (struct moves_limits){-1, -1, -1, 1000});
    w.partitions[0].bytes = -1;
    w.partitions[0].is_leaderless = true;
    world_submit(&w, 0, 0, (int32_t[]){4, 5, 6}, world_request(MOVES_ACTION_SUBMIT));
    assert_true(moves_find_queued(w.m, slice_str(WORLD_TOPIC), 0, &view));
    assert_int_equal(view.reason, MOVES_REASON_NO_LEADER);
    world_broker_set(&w, 5, false);
    world_pass(&w, 1000);
    assert_true(moves_find_queued(w.m, slice_str(WORLD_TOPIC), 0, &view));
    assert_int_equal(view.reason, MOVES_REASON_TARGET_DOWN);
    world_deinit(&w);
}

/* What runs under a new controller has a size that it does not know yet: until then nothing that has bytes
 * joins it. */
static void a_new_controller_learns_the_sizes_of_what_runs(void **state)
{
    (void)state;
    struct world w;
    const struct moves_limits limits = {10, 10, 10, 1000};
    world_init(&w, 3, limits);
    w.partitions[0].bytes = 300; /* three copies: 900 */
    w.partitions[1].bytes = 100;
    w.partitions[2].bytes = 0;
    world_submit(&w, 0, 1, (int32_t[]){4, 5, 6}, world_request(MOVES_ACTION_SUBMIT));
    assert_true(world_is_moving(&w, 0));
    w.partitions[0].bytes = -1;
    world_crash(&w, limits);
    world_pass(&w, 1000);
    world_submit(&w, 2, 2, (int32_t[]){4, 5, 6}, world_request(MOVES_ACTION_SUBMIT));
    assert_false(world_is_moving(&w, 1));
    assert_true(world_is_moving(&w, 2)); /* it has none */
    w.partitions[0].bytes = 300;
    world_pass(&w, 1000);
    assert_int_equal(w.m->bytes_used, 900);
    assert_false(world_is_moving(&w, 1));
    world_move_end(&w, 0);
    world_settle(&w);
    assert_true(world_is_moving(&w, 1));
    world_deinit(&w);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(submitted_jobs_have_sensible_limits),
        cmocka_unit_test(small_ones_pass_big_ones),
        cmocka_unit_test(one_larger_than_the_limit_runs_alone),
        cmocka_unit_test(a_big_one_does_not_starve),
        cmocka_unit_test(repair_goes_before_drain_before_balance),
        cmocka_unit_test(a_dead_target_is_waited_for),
        cmocka_unit_test(a_running_move_to_a_dead_target_holds_nothing),
        cmocka_unit_test(a_resumed_move_to_a_dead_target_waits_for_no_slot),
        cmocka_unit_test(a_lower_limit_stops_nothing_and_a_higher_one_starts_more),
        cmocka_unit_test(an_unknown_size_is_waited_for),
        cmocka_unit_test(an_unknown_size_without_a_leader_is_no_lack_of_slots),
        cmocka_unit_test(a_new_controller_learns_the_sizes_of_what_runs),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
