/*
 * Jobs: what is kept of them, for how long, and how it is stored.
 */
#include "world.h"

static void end_all(struct world *w)
{
    for (int32_t i = 0; i < w->partition_count; i++) {
        if (world_is_moving(w, i)) {
            world_move_end(w, i);
        }
    }
    for (int32_t i = 0; i < 10; i++) {
        world_pass(w, 2000);
    }
}

static void a_job_that_is_over_is_kept_as_a_summary(void **state)
{
    (void)state;
    struct world w;
    world_init(&w, 3, world_no_limits);
    world_submit(&w, 0, 2, (int32_t[]){4, 5, 6}, world_request(MOVES_ACTION_SUBMIT));
    end_all(&w);
    assert_int_equal(w.m->jobs.count, 0);
    assert_int_equal(w.m->history.count, 1);
    struct queue_job *job = moves_job_find(w.m, slice_str("job-1"));
    assert_non_null(job);
    assert_int_equal(job->node.fate, MODEL_JOB_OVER);
    assert_int_equal(job->node.moves_done, 3);
    assert_true(job->node.finished_ms >= WORLD_WALL_MS);
    assert_int_equal(w.node_count, 2); /* the job and its piece */
    world_deinit(&w);
}

/* The oldest jobs go, from memory and from the store. */
static void the_history_is_bounded(void **state)
{
    (void)state;
    struct world w;
    world_init(&w, 1, world_no_limits);
    for (int32_t i = 0; i < QUEUE_HISTORY_JOBS + 5; i++) {
        int32_t there[] = {4, 5, 6};
        int32_t back[] = {1, 2, 3};
        world_submit(&w, 0, 0, i % 2 == 0 ? there : back, world_request(MOVES_ACTION_SUBMIT));
        end_all(&w);
    }
    assert_int_equal(w.m->history.count, QUEUE_HISTORY_JOBS);
    assert_null(moves_job_find(w.m, slice_str("job-1")));
    assert_non_null(moves_job_find(w.m, slice_str("job-6")));
    assert_int_equal(w.node_count, 2 * QUEUE_HISTORY_JOBS);
    world_deinit(&w);
}

/* A job of more moves than the history keeps leaves its summary alone. */
static void a_huge_job_leaves_a_summary(void **state)
{
    (void)state;
    struct world w;
    world_init(&w, QUEUE_HISTORY_MOVES + 1, (struct moves_limits){-1, -1, -1, -1});
    world_submit(&w, 0, QUEUE_HISTORY_MOVES, (int32_t[]){3, 1, 2},
                 world_request(MOVES_ACTION_SUBMIT));
    for (int32_t i = 0; i < 100 && w.m->jobs.count > 0; i++) {
        world_pass(&w, 1000);
    }
    world_pass(&w, 1000);
    assert_int_equal(w.m->history.count, 1);
    assert_int_equal(w.node_count, 1);
    assert_int_equal(w.m->history_moves, 0);
    world_deinit(&w);
}

/* Ends that come together are stored together, some time later. */
static void ends_are_stored_lazily(void **state)
{
    (void)state;
    struct world w;
    world_init(&w, 4, world_no_limits);
    world_submit(&w, 0, 3, (int32_t[]){4, 5, 6}, world_request(MOVES_ACTION_SUBMIT));
    world_pass(&w, 2000);
    int64_t before = w.stored_count;
    world_move_end(&w, 0);
    world_move_end(&w, 1);
    world_move_end(&w, 2);
    world_settle(&w);
    assert_int_equal(w.stored_count, before);
    world_pass(&w, 2000);
    assert_int_equal(w.stored_count, before + 1);
    world_deinit(&w);
}

static void pieces_are_bounded(void **state)
{
    (void)state;
    struct world w;
    world_init(&w, 1000, world_no_limits);
    world_submit(&w, 0, 999, (int32_t[]){4, 5, 6}, world_request(MOVES_ACTION_SUBMIT));
    struct queue_job *job = moves_job_find(w.m, slice_str("job-1"));
    assert_true(job->piece_count > 1);
    int32_t count = 0;
    for (int32_t i = 0; i < job->piece_count; i++) {
        assert_true(job->pieces[i]->bytes <= QUEUE_PIECE_BYTES);
        count += job->pieces[i]->count;
    }
    assert_int_equal(count, 1000);
    world_deinit(&w);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_job_that_is_over_is_kept_as_a_summary),
        cmocka_unit_test(the_history_is_bounded),
        cmocka_unit_test(a_huge_job_leaves_a_summary),
        cmocka_unit_test(ends_are_stored_lazily),
        cmocka_unit_test(pieces_are_bounded),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
