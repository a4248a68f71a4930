/*
 * A new controller's queue is the old one's.
 */
#include "world.h"

#include "moves/reason.h"

static void a_job_goes_on_where_it_was(void **state)
{
    (void)state;
    struct world w;
    struct moves_limits limits = {1, 1, -1, -1};
    world_init(&w, 3, limits);
    world_submit(&w, 0, 2, (int32_t[]){4, 5, 6}, world_request(MOVES_ACTION_SUBMIT));
    world_move_end(&w, 0);
    world_settle(&w);
    assert_true(world_is_moving(&w, 1));
    world_crash(&w, limits);
    world_settle(&w);
    assert_int_equal(world_moving_count(&w), 1);
    assert_true(world_is_moving(&w, 1));
    assert_int_equal(moves_queued_count(w.m), 1);
    assert_int_equal(moves_job_find(w.m, slice_str("job-1"))->node.moves_done, 1);
    world_deinit(&w);
}

static void a_job_that_was_never_answered_for_is_removed(void **state)
{
    (void)state;
    struct world w;
    world_init(&w, 1, world_no_limits);
    struct moves_request r = world_request(MOVES_ACTION_SUBMIT);
    struct moves_entry e = world_entry(0, (int32_t[]){4, 5, 6}, 3);
    r.entries = &e;
    r.count = 1;
    world_ask(&w, &r);
    world_alter_answer(&w);
    world_write_answer(&w); /* the job */
    world_write_answer(&w); /* its piece */
    world_outstanding_free(&w);
    world_crash(&w, world_no_limits);
    world_settle(&w);
    assert_int_equal(w.node_count, 0);
    assert_int_equal(w.m->jobs.count, 0);
    assert_false(world_is_moving(&w, 0));
    world_deinit(&w);
}

static void what_is_paused_stays_paused(void **state)
{
    (void)state;
    struct world w;
    world_init(&w, 2, world_no_limits);
    world_submit(&w, 0, 1, (int32_t[]){4, 5, 6}, world_request(MOVES_ACTION_SUBMIT));
    struct moves_request r = world_request(MOVES_ACTION_PAUSE);
    world_ask(&w, &r);
    world_settle(&w);
    world_crash(&w, world_no_limits);
    world_settle(&w);
    assert_true(w.partitions[0].is_stopped && w.partitions[1].is_stopped);
    assert_int_equal(moves_job_state(moves_job_find(w.m, slice_str("job-1"))), MOVES_PAUSED);
    world_deinit(&w);
}

/* Why it waits, and since when, outlives the controller. */
static void since_when_it_waits_is_kept(void **state)
{
    (void)state;
    struct world w;
    struct moves_view before;
    struct moves_view after;
    struct moves_limits none = {0, 0, 0, -1};
    world_init(&w, 3, none);
    w.is_live[5] = false;
    world_submit(&w, 0, 2, (int32_t[]){4, 5, 6}, world_request(MOVES_ACTION_SUBMIT));
    world_pass(&w, 5000);
    struct moves_entry paused = world_entry(1, NULL, 0);
    struct moves_request r = world_request(MOVES_ACTION_PAUSE);
    r.entries = &paused;
    r.count = 1;
    world_ask(&w, &r);
    world_settle(&w);
    world_pass(&w, 5000);
    assert_true(moves_find_queued(w.m, slice_str(WORLD_TOPIC), 1, &before));
    assert_int_equal(before.reason, MOVES_REASON_PAUSED);
    assert_int_equal(before.since_ms, WORLD_WALL_MS + 6000);
    assert_true(moves_find_queued(w.m, slice_str(WORLD_TOPIC), 2, &before));
    assert_int_equal(before.reason, MOVES_REASON_TARGET_DOWN);
    world_crash(&w, none);
    world_settle(&w);
    assert_true(moves_find_queued(w.m, slice_str(WORLD_TOPIC), 2, &after));
    assert_int_equal(after.reason, MOVES_REASON_TARGET_DOWN);
    assert_int_equal(after.since_ms, before.since_ms);
    assert_true(moves_find_queued(w.m, slice_str(WORLD_TOPIC), 1, &after));
    assert_int_equal(after.reason, MOVES_REASON_PAUSED);
    assert_int_equal(after.since_ms, WORLD_WALL_MS + 6000);
    world_deinit(&w);
}

/* Nothing is stored for that: it has waited since it was submitted. */
static void a_slot_is_waited_for_since_the_submission(void **state)
{
    (void)state;
    struct world w;
    struct moves_view view;
    struct moves_limits none = {0, 0, 0, -1};
    world_init(&w, 1, none);
    world_submit(&w, 0, 0, (int32_t[]){4, 5, 6}, world_request(MOVES_ACTION_SUBMIT));
    world_pass(&w, 5000);
    world_crash(&w, none);
    world_pass(&w, 5000);
    assert_true(moves_find_queued(w.m, slice_str(WORLD_TOPIC), 0, &view));
    assert_int_equal(view.reason, MOVES_REASON_SLOT);
    assert_int_equal(view.since_ms, WORLD_WALL_MS + 1000);
    world_deinit(&w);
}

/* What runs keeps its slots, even with a target that is down: nothing else starts in its place. */
static void a_move_with_a_dead_target_keeps_its_slots(void **state)
{
    (void)state;
    struct world w;
    struct moves_limits limits = {1, 1, 1, -1};
    world_init(&w, 2, limits);
    world_submit(&w, 0, 1, (int32_t[]){4, 5, 6}, world_request(MOVES_ACTION_SUBMIT));
    w.is_live[5] = false;
    world_crash(&w, limits);
    world_settle(&w);
    assert_true(world_is_moving(&w, 0) && !w.partitions[0].is_stopped);
    assert_false(world_is_moving(&w, 1));
    world_deinit(&w);
}

/* The newest job that names a partition decides about it. */
static void the_newest_submission_wins(void **state)
{
    (void)state;
    struct world w;
    struct moves_limits limits = {0, 0, 0, -1};
    world_init(&w, 1, limits);
    world_submit(&w, 0, 0, (int32_t[]){4, 5, 6}, world_request(MOVES_ACTION_SUBMIT));
    world_submit(&w, 0, 0, (int32_t[]){7, 8, 9}, world_request(MOVES_ACTION_SUBMIT));
    world_crash(&w, world_no_limits);
    world_settle(&w);
    world_move_end(&w, 0);
    world_settle(&w);
    assert_true(world_has_list(&w, 0, 7, 8, 9));
    world_deinit(&w);
}

/* That a move has ended is stored some time later. Also when the next one has begun by then, and the old
 * controller dies, it is known: so it can be undone. */
static void what_ended_unheard_is_done_though_another_took_over(void **state)
{
    (void)state;
    struct world w;
    world_init(&w, 1, world_no_limits);
    world_submit(&w, 0, 0, (int32_t[]){4, 5, 6}, world_request(MOVES_ACTION_SUBMIT));
    world_move_end(&w, 0);
    world_submit(&w, 0, 0, (int32_t[]){7, 8, 9}, world_request(MOVES_ACTION_SUBMIT));
    assert_true(world_is_moving(&w, 0));
    world_crash(&w, world_no_limits);
    assert_int_equal(moves_job_find(w.m, slice_str("job-1"))->node.moves_done, 1);
    world_settle(&w);
    world_move_end(&w, 0);
    world_pass(&w, 5000);
    static const char *const jobs[] = {"job-2", "job-1"};
    for (int32_t i = 0; i < 2; i++) {
        struct moves_request undo = world_request(MOVES_ACTION_UNDO);
        undo.job = slice_str(jobs[i]);
        world_ask(&w, &undo);
        world_settle(&w);
        world_move_end(&w, 0);
        world_settle(&w);
    }
    assert_true(world_has_list(&w, 0, 1, 2, 3));
    world_deinit(&w);
}

/* One that was overridden half way has not reached its target, though a later one led there. */
static void what_was_overridden_is_not_taken_for_done(void **state)
{
    (void)state;
    struct world w;
    world_init(&w, 1, world_no_limits);
    world_submit(&w, 0, 0, (int32_t[]){4, 5, 6}, world_request(MOVES_ACTION_SUBMIT));
    world_submit(&w, 0, 0, (int32_t[]){7, 8, 9}, world_request(MOVES_ACTION_SUBMIT));
    world_move_end(&w, 0);
    world_submit(&w, 0, 0, (int32_t[]){4, 5, 6}, world_request(MOVES_ACTION_SUBMIT));
    world_crash(&w, world_no_limits);
    assert_int_equal(moves_job_find(w.m, slice_str("job-1"))->node.moves_done, 0);
    assert_int_equal(moves_job_find(w.m, slice_str("job-2"))->node.moves_done, 1);
    world_deinit(&w);
}

/* A piece that cannot be read loses its moves, not the others. */
static void an_unreadable_piece_is_passed_over(void **state)
{
    (void)state;
    struct world w;
    struct moves_limits limits = {0, 0, 0, -1};
    world_init(&w, 1, limits);
    world_submit(&w, 0, 0, (int32_t[]){4, 5, 6}, world_request(MOVES_ACTION_SUBMIT));
    moves_free(w.m);
    world_queue_new(&w);
    for (int32_t i = 0; i < w.node_count; i++) {
        if (w.nodes[i].piece < 0) {
            world_step(&w, &(struct moves_event){.kind = MOVES_ON_JOB, .job = &w.nodes[i].node});
        }
    }
    struct moves_event piece = {.kind = MOVES_ON_PIECE, .job_id = slice_str("job-1")};
    world_step(&w, &piece);
    assert_int_equal(w.out.count, 1);
    assert_int_equal(w.out.list[0].kind, MOVES_EFFECT_LOG);
    piece.job_id = slice_str("unknown");
    world_step(&w, &piece);
    world_step(&w, &(struct moves_event){.kind = MOVES_ON_LOADED});
    world_settle(&w);
    assert_int_equal(moves_queued_count(w.m), 0);
    world_deinit(&w);
}

/* More than one step takes: nothing is asked for before all is loaded, and what happens meanwhile counts. */
static void many_moves_are_loaded_in_pieces(void **state)
{
    (void)state;
    enum {
        MANY = 3 * QUEUE_BUDGET,
    };
    struct world w;
    struct moves_limits limits = {2, 2, 2, -1};
    world_init(&w, MANY, limits);
    world_submit(&w, 0, MANY - 1, (int32_t[]){4, 5, 6}, world_request(MOVES_ACTION_SUBMIT));
    assert_true(world_is_moving(&w, 0) && world_is_moving(&w, 1));
    moves_free(w.m);
    world_queue_new(&w);
    world_step(&w, &(struct moves_event){.kind = MOVES_ON_LIMITS, .limits = limits});
    world_nodes_tell(&w);
    world_step(&w, &(struct moves_event){.kind = MOVES_ON_LOADED});
    int32_t steps = 1;
    for (; !moves_is_loaded(w.m); steps++) {
        assert_true(w.out.has_more);
        assert_int_equal(w.alter_count, 0);
        if (steps == 4) { /* those that were looked at first are news again */
            w.partitions[MANY - 1].is_gone = true;
            w.partitions[2].is_gone = true;
            world_partition_tell(&w, MANY - 1);
            world_partition_tell(&w, 2);
        } else {
            world_tick(&w);
        }
    }
    assert_true(steps > 2 * MANY / QUEUE_BUDGET);
    world_settle(&w);
    assert_int_equal(world_moving_count(&w), 2);
    assert_int_equal(moves_queued_count(w.m), MANY - 4);
    assert_int_equal(moves_job_find(w.m, slice_str("job-1"))->node.moves_cancelled, 2);
    world_move_end(&w, 0);
    world_settle(&w);
    assert_true(world_is_moving(&w, 3));
    world_deinit(&w);
}

/* It is freed while it loads. */
static void a_role_lost_while_loading(void **state)
{
    (void)state;
    struct world w;
    world_init(&w, 2 * QUEUE_BUDGET, world_no_limits);
    world_submit(&w, 0, 2 * QUEUE_BUDGET - 1, (int32_t[]){4, 5, 6},
                 world_request(MOVES_ACTION_SUBMIT));
    moves_free(w.m);
    world_queue_new(&w);
    world_nodes_tell(&w);
    world_step(&w, &(struct moves_event){.kind = MOVES_ON_LOADED});
    assert_false(moves_is_loaded(w.m));
    world_deinit(&w);
}

/* The first step of a job leads to the target of the one whose place it took: stored is only that it may still be
 * the former one that gets there. */
static void a_step_to_the_target_of_a_former_job_is_no_end_of_that(void **state)
{
    (void)state;
    struct world w;
    struct moves_limits limits = {1, -1, -1, -1};
    struct moves_request r = world_request(MOVES_ACTION_SUBMIT);
    r.is_one_at_a_time = true;
    world_init(&w, 2, limits);
    world_submit(&w, 1, 1, (int32_t[]){5, 2, 3}, world_request(MOVES_ACTION_SUBMIT));
    world_submit(&w, 0, 0, (int32_t[]){4, 5, 3}, r);
    world_submit(&w, 0, 0, (int32_t[]){5, 4, 6}, r); /* waits for broker 5 */
    world_move_end(&w, 0);
    world_settle(&w);
    assert_true(world_has_list(&w, 0, 4, 2, 3));
    world_move_end(&w, 1);
    while (w.alter_count == 0) {
        world_write_answer(&w);
    }
    world_alter_answer(&w);
    assert_true(world_is_moving(&w, 0));
    moves_free(w.m);
    world_outstanding_free(&w);
    world_load(&w, limits);
    world_move_end(&w, 0);
    assert_true(world_has_list(&w, 0, 4, 5, 3));
    world_settle(&w);
    struct moves_request cancel = world_request(MOVES_ACTION_CANCEL);
    cancel.job = slice_str("job-3");
    world_ask(&w, &cancel);
    world_settle(&w);
    for (int32_t i = 0; i < 5 && world_is_moving(&w, 0); i++) {
        world_move_end(&w, 0);
        world_settle(&w);
    }
    assert_true(world_has_list(&w, 0, 1, 2, 3));
    world_deinit(&w);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_job_goes_on_where_it_was),
        cmocka_unit_test(a_job_that_was_never_answered_for_is_removed),
        cmocka_unit_test(what_is_paused_stays_paused),
        cmocka_unit_test(since_when_it_waits_is_kept),
        cmocka_unit_test(a_slot_is_waited_for_since_the_submission),
        cmocka_unit_test(a_move_with_a_dead_target_keeps_its_slots),
        cmocka_unit_test(the_newest_submission_wins),
        cmocka_unit_test(what_ended_unheard_is_done_though_another_took_over),
        cmocka_unit_test(what_was_overridden_is_not_taken_for_done),
        cmocka_unit_test(an_unreadable_piece_is_passed_over),
        cmocka_unit_test(many_moves_are_loaded_in_pieces),
        cmocka_unit_test(a_role_lost_while_loading),
        cmocka_unit_test(a_step_to_the_target_of_a_former_job_is_no_end_of_that),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
