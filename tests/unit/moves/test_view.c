/*
 * What is listed of the queue.
 */
#include "world.h"

struct seen {
    int32_t jobs;
    int32_t queued;
    int32_t running;
    int32_t paused;
    int32_t topics;
    char first[32];
};

static void job_seen(void *arg, const struct moves_job_view *view)
{
    struct seen *s = arg;
    if (s->jobs++ == 0) {
        (void)snprintf(s->first, sizeof s->first, "%.*s", SLICE_ARG(view->job->id));
    }
}

static void move_seen(void *arg, const struct moves_view *view)
{
    struct seen *s = arg;
    s->queued += view->state == MOVES_QUEUED;
    s->running += view->state == MOVES_RUNNING;
    s->paused += view->state == MOVES_PAUSED;
}

static void topic_seen(void *arg, struct slice name)
{
    struct seen *s = arg;
    s->topics += slice_equal_str(name, WORLD_TOPIC);
}

static void jobs_and_moves_are_listed(void **state)
{
    (void)state;
    struct world w;
    struct seen s = {0};
    struct moves_view view;
    world_init(&w, 4, (struct moves_limits){1, 1, 1, -1});
    world_submit(&w, 0, 3, (int32_t[]){4, 5, 6}, world_request(MOVES_ACTION_SUBMIT));
    struct moves_entry last = world_entry(3, NULL, 0);
    struct moves_request r = world_request(MOVES_ACTION_PAUSE);
    r.entries = &last;
    r.count = 1;
    world_ask(&w, &r);
    world_settle(&w);
    moves_each_job(w.m, job_seen, &s);
    moves_each_queued(w.m, move_seen, &s);
    assert_int_equal(s.jobs, 1);
    assert_string_equal(s.first, "job-1");
    assert_int_equal(s.queued, 2);
    assert_int_equal(s.paused, 1);
    assert_int_equal(moves_queued_count(w.m), 3);
    int32_t *waiting = NULL;
    moves_each_topic(w.m, topic_seen, &s);
    assert_int_equal(s.topics, 1);
    assert_int_equal(moves_topic_queued(w.m, slice_str(WORLD_TOPIC), &waiting), 3);
    assert_int_equal(waiting[0], 1);
    assert_int_equal(waiting[2], 3);
    free(waiting);
    assert_int_equal(moves_topic_queued(w.m, slice_str("unknown"), &waiting), 0);
    free(waiting);
    assert_true(moves_find_running(w.m, slice_str(WORLD_TOPIC), 0, &view));
    assert_int_equal(view.state, MOVES_RUNNING);
    assert_int_equal(view.bytes_to_copy, 300);
    assert_true(view.started_ms >= WORLD_WALL_MS);
    assert_int_equal(view.original->list[0], 1);
    struct seen open = {0};
    moves_each_open(view.job, move_seen, &open);
    assert_int_equal(open.running, 1);
    assert_int_equal(open.queued, 2);
    assert_int_equal(open.paused, 1);
    world_move_end(&w, 0);
    world_settle(&w);
    open = (struct seen){0};
    assert_true(moves_find_queued(w.m, slice_str(WORLD_TOPIC), 3, &view));
    moves_each_open(view.job, move_seen, &open);
    assert_int_equal(open.running + open.queued + open.paused, 3);
    assert_false(moves_find_queued(w.m, slice_str(WORLD_TOPIC), 0, &view));
    assert_false(moves_find_running(w.m, slice_str(WORLD_TOPIC), 2, &view));
    assert_true(moves_find_queued(w.m, slice_str(WORLD_TOPIC), 2, &view));
    world_deinit(&w);
}

/* A move that waits for its next replica tells where it began. */
static void a_move_between_its_steps_has_its_first_list(void **state)
{
    (void)state;
    struct world w;
    struct moves_view view;
    struct moves_request r = world_request(MOVES_ACTION_SUBMIT);
    r.is_one_at_a_time = true;
    world_init(&w, 1, world_no_limits);
    world_submit(&w, 0, 0, (int32_t[]){4, 5, 6}, r);
    world_broker_set(&w, 5, false); /* the next step waits for it */
    world_move_end(&w, 0);
    world_settle(&w);
    assert_true(moves_find_queued(w.m, slice_str(WORLD_TOPIC), 0, &view));
    assert_true(view.is_between);
    assert_int_equal(view.original->list[0], 1);
    world_deinit(&w);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(jobs_and_moves_are_listed),
        cmocka_unit_test(a_move_between_its_steps_has_its_first_list),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
