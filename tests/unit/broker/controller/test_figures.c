/*
 * What the controller tells of jobs; moves: test_progress.c, what is left alone: test_write.c.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "unit/broker/controller/cluster.h"
#include "unit/broker/controller/queue.h"

#define MB 1000000

/* The only job that is told. */
static struct controller_job_figures job_of(struct queue_bench *q)
{
    struct controller_figures f;
    controller_figures(queue_controller(q), &f);
    assert_int_equal(f.open_jobs, 1);
    assert_int_equal(f.job_count, 1);
    struct controller_job_figures job = f.jobs[0];
    controller_figures_deinit(&f);
    return job;
}

static void assert_counts(const struct controller_job_figures *job, int32_t queued, int32_t running,
                          int32_t paused)
{
    assert_int_equal(job->total, 6);
    assert_int_equal(job->queued, queued);
    assert_int_equal(job->running, running);
    assert_int_equal(job->paused, paused);
    assert_int_equal(job->done, 0);
    assert_int_equal(job->cancelled, 0);
}

/* Each arriving replica gets a megabyte a second. */
static void copy_for(struct queue_bench *q, int32_t seconds)
{
    for (int32_t i = 0; i < seconds; i++) {
        q->k->brokers[q->c].dirs_size += MB;
        cluster_run(q->k, 1000);
    }
}

static void a_job_tells_its_sums_and_why_nothing_advances(void **state)
{
    (void)state;
    struct queue_bench q;
    queue_start(&q, 6, 91);
    q.k->brokers[q.a].dirs_size = 100 * MB;
    struct moves_call call = queue_call(MOVES_ACTION_SUBMIT, "job");
    call.rate = 50 * MB;
    assert_string_equal(queue_ask(&q, &call, 6), "0;0;0;0;0;0;");
    copy_for(&q, 20);
    struct controller_job_figures job = job_of(&q);
    assert_string_equal(job.id, "job");
    assert_string_equal(job.submitted_by, "User:a");
    assert_int_equal(job.state, MOVES_RUNNING);
    assert_counts(&job, 6 - MOVES_IN_DEFAULT, MOVES_IN_DEFAULT, 0);
    assert_in_range(job.age_ms, 20000, 21000);
    assert_int_equal(job.to_copy, 600 * MB);
    assert_in_range(job.copied, 70 * MB, 80 * MB);
    assert_in_range(job.rate, 39 * MB / 10, 41 * MB / 10);
    assert_in_range(job.eta_ms, 125000, 137000); /* 520 to 530 MB */
    assert_int_equal(job.throttle, 50 * MB);
    assert_int_equal(job.reason, MOVES_REASON_NONE);

    cluster_kill(q.k, q.c);
    cluster_run(q.k, 2 * CLUSTER_SESSION_MS + 2000);
    job = job_of(&q);
    assert_int_equal(job.reason, MOVES_REASON_TARGET_DOWN);
    assert_in_range(job.reason_age_ms, 1, 2 * CLUSTER_SESSION_MS + 2000);
    assert_int_equal(job.eta_ms, -1);

    call = queue_call(MOVES_ACTION_PAUSE, "job");
    assert_string_equal(queue_ask(&q, &call, 0), "0;0;0;0;0;0;");
    cluster_run(q.k, 2000);
    job = job_of(&q);
    assert_int_equal(job.state, MOVES_PAUSED);
    assert_counts(&job, 0, 0, 6);
    assert_int_equal(job.reason, MOVES_REASON_PAUSED);
    queue_end(&q);
}

static void a_job_that_is_over_is_not_told(void **state)
{
    (void)state;
    struct queue_bench q;
    queue_start(&q, 2, 92);
    assert_string_equal(queue_submit(&q, "job"), "0;0;");
    cluster_run(q.k, 2000);
    assert_int_equal(job_of(&q).throttle, -1);
    struct moves_call call = queue_call(MOVES_ACTION_CANCEL, "job");
    assert_string_equal(queue_ask(&q, &call, 0), "0;0;");
    cluster_run(q.k, 2000);
    struct controller_figures f;
    controller_figures(queue_controller(&q), &f);
    assert_int_equal(f.open_jobs, 0);
    assert_int_equal(f.job_count, 0);
    controller_figures_deinit(&f);
    queue_end(&q);
}

static void jobs_beyond_the_bound_are_counted(void **state)
{
    (void)state;
    struct queue_bench q;
    int32_t count = CONTROLLER_FIGURES_JOBS_MAX + 2;
    queue_start(&q, count, 93);
    for (int32_t i = 0; i < count; i++) {
        int32_t list[] = {q.b, q.c};
        char *name = xasprintf("j%d", i);
        struct moves_call call = queue_call(MOVES_ACTION_SUBMIT, name);
        struct control_alter_entry entry = {
            .topic = slice_str("t"), .partition = i, .replicas = list, .replica_count = 2};
        struct control_request request = {.kind = CONTROL_ALTER_REASSIGNMENTS,
                                          .alter = {.entries = &entry, .count = 1, .moves = &call}};
        assert_string_equal(cluster_request(q.k, cluster_wait_controller(q.k), &request), "0;");
        free(name);
    }
    struct controller_figures f;
    controller_figures(queue_controller(&q), &f);
    assert_int_equal(f.open_jobs, count);
    assert_int_equal(f.job_count, CONTROLLER_FIGURES_JOBS_MAX);
    assert_string_equal(f.jobs[0].id, "j0");
    assert_string_equal(f.jobs[0].submitted_by, "");
    controller_figures_deinit(&f);
    queue_end(&q);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_job_tells_its_sums_and_why_nothing_advances),
        cmocka_unit_test(a_job_that_is_over_is_not_told),
        cmocka_unit_test(jobs_beyond_the_bound_are_counted),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
