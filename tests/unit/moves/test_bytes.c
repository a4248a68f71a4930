/*
 * The sums of a job: complete, never going down, equal at the end, and the same for a new controller.
 */
#include "world.h"

static const struct slice topic = {(const uint8_t *)WORLD_TOPIC, sizeof WORLD_TOPIC - 1};

static void assert_sums(struct world *w, int64_t copied, int64_t to_copy)
{
    const struct queue_job *job = moves_job_find(w->m, slice_str("job-1"));
    assert_non_null(job);
    assert_int_equal(job->node.bytes_copied, copied);
    assert_int_equal(job->node.bytes_to_copy, to_copy);
}

static void size_tell(struct world *w, int32_t partition, int64_t bytes)
{
    world_step(w,
               &(struct moves_event){
                   .kind = MOVES_ON_SIZE, .topic = topic, .partition = partition, .bytes = bytes});
    world_settle(w);
}

/* Two moves of three new replicas each, of 100 bytes. */
static void moves_stay_counted_when_they_end(void **state)
{
    (void)state;
    struct world w;
    world_init(&w, 2, world_no_limits);
    world_submit(&w, 0, 1, (int32_t[]){4, 5, 6}, world_request(MOVES_ACTION_SUBMIT));
    assert_sums(&w, 0, 600);
    moves_set_copied(w.m, topic, 0, 0, 0);     /* nothing is heard yet */
    moves_set_copied(w.m, topic, 7, 300, 300); /* nobody's */
    assert_sums(&w, 0, 600);
    moves_set_copied(w.m, topic, 0, 300, 120);
    moves_set_copied(w.m, topic, 1, 360, 60); /* it grows */
    assert_sums(&w, 180, 660);
    moves_set_copied(w.m, topic, 0, 200, 100); /* as one that asks anew would say */
    assert_sums(&w, 180, 660);
    world_move_end(&w, 0);
    world_settle(&w);
    assert_sums(&w, 360, 660);
    world_move_end(&w, 1);
    world_settle(&w);
    assert_sums(&w, 660, 660);
    world_pass(&w, 2000);
    assert_int_equal(w.m->history.count, 1);
    assert_sums(&w, 660, 660);
    world_deinit(&w);
}

static void what_was_copied_before_a_cancel_stays_counted(void **state)
{
    (void)state;
    struct world w;
    world_init(&w, 1, world_no_limits);
    world_submit(&w, 0, 0, (int32_t[]){4, 5, 6}, world_request(MOVES_ACTION_SUBMIT));
    moves_set_copied(w.m, topic, 0, 300, 120);
    struct moves_request r = world_request(MOVES_ACTION_CANCEL);
    world_ask(&w, &r);
    world_settle(&w);
    assert_false(world_is_moving(&w, 0));
    assert_sums(&w, 120, 300);
    world_deinit(&w);
}

/* Each step copies a third. */
static void steps_add_up(void **state)
{
    (void)state;
    struct world w;
    struct moves_request r = world_request(MOVES_ACTION_SUBMIT);
    r.is_one_at_a_time = true;
    world_init(&w, 1, world_no_limits);
    world_submit(&w, 0, 0, (int32_t[]){4, 5, 6}, r);
    assert_sums(&w, 0, 300);
    moves_set_copied(w.m, topic, 0, 100, 30);
    assert_sums(&w, 30, 300);
    world_move_end(&w, 0);
    world_settle(&w);
    assert_sums(&w, 100, 300);
    moves_set_copied(w.m, topic, 0, 100, 50);
    assert_sums(&w, 150, 300);
    world_pass(&w, 2000);
    world_crash(&w, world_no_limits); /* in the second step */
    world_settle(&w);
    assert_sums(&w, 150, 300);
    moves_set_copied(w.m, topic, 0, 100, 60);
    assert_sums(&w, 160, 300);
    world_move_end(&w, 0);
    world_settle(&w);
    world_move_end(&w, 0);
    world_settle(&w);
    assert_true(world_has_list(&w, 0, 4, 5, 6));
    assert_sums(&w, 300, 300);
    world_deinit(&w);
}

/* What has ended is counted as before; what runs, from what was stored until it is heard of again. */
static void a_new_controller_counts_on(void **state)
{
    (void)state;
    struct world w;
    world_init(&w, 3, world_no_limits);
    for (int32_t i = 0; i < 3; i++) {
        w.partitions[i].bytes = 100000000;
    }
    world_submit(&w, 0, 2, (int32_t[]){4, 5, 6}, world_request(MOVES_ACTION_SUBMIT));
    world_move_end(&w, 0);
    moves_set_copied(w.m, topic, 1, 300000000, 80000000); /* an eighth and more: worth storing */
    world_pass(&w, 2000);
    moves_set_copied(w.m, topic, 1, 300000000, 90000000);
    moves_set_copied(w.m, topic, 2, 300000000, 1000);
    assert_sums(&w, 390001000, 900000000);
    world_pass(&w, 2000);
    world_crash(&w, world_no_limits);
    world_settle(&w);
    assert_sums(&w, 380000000, 900000000);
    moves_set_copied(w.m, topic, 1, 300000000, 90000000);
    moves_set_copied(w.m, topic, 2, 300000000, 1000);
    assert_sums(&w, 390001000, 900000000);
    world_move_end(&w, 1);
    world_move_end(&w, 2);
    world_pass(&w, 2000);
    assert_int_equal(w.m->history.count, 1);
    assert_sums(&w, 900000000, 900000000);
    world_crash(&w, world_no_limits);
    world_settle(&w);
    assert_sums(&w, 900000000, 900000000);
    world_deinit(&w);
}

/* A move is over before anybody heard how large it is: the size is asked for, and stored with the job. */
static void a_size_that_comes_late_is_counted(void **state)
{
    (void)state;
    struct world w;
    world_init(&w, 1, world_no_limits);
    w.partitions[0].bytes = -1;
    world_submit(&w, 0, 0, (int32_t[]){4, 5, 6}, world_request(MOVES_ACTION_SUBMIT));
    assert_false(moves_wants_size(w.m, topic, 0));
    world_move_end(&w, 0);
    world_pass(&w, 2000);
    assert_int_equal(w.m->history.count, 1);
    assert_sums(&w, 0, 0);
    assert_true(moves_wants_size(w.m, topic, 0));
    assert_false(moves_wants_size(w.m, topic, 1));
    size_tell(&w, 1, 70);
    size_tell(&w, 0, 50);
    assert_sums(&w, 150, 150);
    assert_false(moves_wants_size(w.m, topic, 0));
    size_tell(&w, 0, 60);
    world_crash(&w, world_no_limits);
    assert_sums(&w, 150, 150);
    world_deinit(&w);
}

static void nobody_is_asked_for_ever(void **state)
{
    (void)state;
    struct world w;
    world_init(&w, 1, world_no_limits);
    w.partitions[0].bytes = -1;
    world_submit(&w, 0, 0, (int32_t[]){4, 5, 6}, world_request(MOVES_ACTION_SUBMIT));
    world_move_end(&w, 0);
    world_settle(&w);
    assert_true(w.out.wake_ms < INT64_MAX);
    world_pass(&w, QUEUE_UNHEARD_MS - 1);
    assert_true(moves_wants_size(w.m, topic, 0));
    world_pass(&w, 1);
    assert_false(moves_wants_size(w.m, topic, 0));
    assert_int_equal(w.out.wake_ms, INT64_MAX);
    world_deinit(&w);
}

/* One runs; what waits has its size as soon as somebody tells it. */
static void sizes_of_what_waits_are_taken(void **state)
{
    (void)state;
    struct world w;
    struct moves_view view;
    struct moves_limits limits = {1, 1, 1, -1};
    world_init(&w, 2, limits);
    w.partitions[0].bytes = w.partitions[1].bytes = -1;
    world_submit(&w, 0, 1, (int32_t[]){4, 5, 6}, world_request(MOVES_ACTION_SUBMIT));
    assert_true(moves_wants_size(w.m, topic, 1));
    size_tell(&w, 1, 70);
    assert_false(moves_wants_size(w.m, topic, 1));
    assert_true(moves_find_queued(w.m, topic, 1, &view));
    assert_int_equal(view.bytes_to_copy, 210);
    assert_sums(&w, 0, 210);
    world_deinit(&w);
}

/* More than can be remembered end unheard of: the last ones are asked about. */
static void many_unknown_sizes_are_bounded(void **state)
{
    (void)state;
    struct world w;
    struct moves_limits wide = {10000, 10000, -1, -1};
    world_init(&w, QUEUE_UNHEARD_MAX + 5, wide);
    struct moves_request r = world_request(MOVES_ACTION_SUBMIT);
    for (int32_t i = 0; i < w.partition_count; i++) {
        w.partitions[i].bytes = -1;
    }
    world_submit(&w, 0, w.partition_count - 1, (int32_t[]){4, 5, 6}, r);
    for (int32_t i = 0; i < w.partition_count; i++) {
        assert_true(world_is_moving(&w, i));
        world_move_end(&w, i);
        world_settle(&w);
    }
    assert_int_equal(w.m->unheard.count, QUEUE_UNHEARD_MAX);
    assert_false(moves_wants_size(w.m, topic, 4));
    assert_true(moves_wants_size(w.m, topic, 5));
    world_deinit(&w);
}

/* Sizes that no disk has. */
static void senseless_sizes_do_no_harm(void **state)
{
    (void)state;
    static const int64_t sizes[] = {INT64_MIN, -1, 0, INT64_MAX};
    struct world w;
    world_init(&w, 1, world_no_limits);
    world_submit(&w, 0, 0, (int32_t[]){4, 5, 6}, world_request(MOVES_ACTION_SUBMIT));
    const struct model_job *node = &moves_job_find(w.m, slice_str("job-1"))->node;
    for (size_t i = 0; i < ARRAY_LEN(sizes) * ARRAY_LEN(sizes); i++) {
        moves_set_copied(w.m, topic, 0, sizes[i % ARRAY_LEN(sizes)], sizes[i / ARRAY_LEN(sizes)]);
        assert_true(node->bytes_copied >= 0 && node->bytes_to_copy >= node->bytes_copied);
    }
    world_deinit(&w);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(moves_stay_counted_when_they_end),
        cmocka_unit_test(what_was_copied_before_a_cancel_stays_counted),
        cmocka_unit_test(steps_add_up),
        cmocka_unit_test(a_new_controller_counts_on),
        cmocka_unit_test(a_size_that_comes_late_is_counted),
        cmocka_unit_test(nobody_is_asked_for_ever),
        cmocka_unit_test(sizes_of_what_waits_are_taken),
        cmocka_unit_test(many_unknown_sizes_are_bounded),
        cmocka_unit_test(senseless_sizes_do_no_harm),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
