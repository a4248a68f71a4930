/*
 * The real loop's life, timers, mailbox and disk pool. Each test runs a loop on its own thread of
 * execution and is ended by the condition it waits for; a watchdog timer ends a test that hangs.
 */
#include "env/loop.h"

#include "base/alloc.h"

#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>

#define WATCHDOG_MS 20000

struct fixture {
    struct env *env;
    struct env_timer watchdog;
    bool is_late;
};

static void on_watchdog(void *arg)
{
    struct fixture *f = arg;
    f->is_late = true;
    loop_stop(f->env);
}

static int setup(void **state)
{
    struct fixture *f = xalloc(sizeof *f);
    struct errmsg em;
    f->env = loop_new(&(struct loop_config){.name = "test"}, &em);
    assert_non_null(f->env);
    env_timer_init(&f->watchdog, f->env, on_watchdog, f);
    *state = f;
    return 0;
}

static int teardown(void **state)
{
    struct fixture *f = *state;
    loop_free(f->env);
    free(f);
    return 0;
}

static void run(struct fixture *f)
{
    env_timer_start(&f->watchdog, WATCHDOG_MS);
    loop_run(f->env);
    assert_false(f->is_late);
}

/* ---- timers ---- */

struct tick {
    struct env_timer timer;
    struct log *log;
    int id;
};

struct log {
    struct fixture *fixture;
    char text[64];
    int left;             /* stops the loop at 0 */
    struct tick *restart; /* started with no delay by the first tick */
    struct tick *stop;    /* stopped by the first tick */
};

static void log_add(struct log *log, int id)
{
    size_t len = strlen(log->text);
    log->text[len] = (char)('0' + id);
    if (--log->left == 0) {
        loop_stop(log->fixture->env);
    }
}

static void on_tick(void *arg)
{
    struct tick *t = arg;
    struct log *log = t->log;
    log_add(log, t->id);
    if (log->stop != NULL) {
        env_timer_stop(&log->stop->timer);
        log->stop = NULL;
    }
    if (log->restart != NULL) {
        struct tick *again = log->restart;
        log->restart = NULL;
        env_timer_start(&again->timer, 0);
        log_add(log, 9); /* it did not run from inside */
    }
}

static void timers_fire_in_order_of_due_time(void **state)
{
    struct log log = {.fixture = *state, .left = 5};
    struct tick ticks[5];
    static const int delays[] = {30, 0, 10, 0, 20};
    for (int i = 0; i < 5; i++) {
        ticks[i] = (struct tick){.log = &log, .id = i};
        env_timer_init(&ticks[i].timer, log.fixture->env, on_tick, &ticks[i]);
        env_timer_start(&ticks[i].timer, delays[i]);
    }
    run(log.fixture);
    assert_string_equal(log.text, "13240");
}

static void timer_never_fires_early(void **state)
{
    struct log log = {.fixture = *state, .left = 1};
    struct tick tick = {.log = &log, .id = 1};
    env_timer_init(&tick.timer, log.fixture->env, on_tick, &tick);
    int64_t begun_us = env_now_us(log.fixture->env);
    env_timer_start(&tick.timer, 25);
    run(log.fixture);
    assert_true(env_now_us(log.fixture->env) - begun_us >= 24000); /* the clock's ms are cut down */
    assert_false(env_timer_is_active(&tick.timer));
}

static void timer_can_be_stopped_moved_and_restarted_from_a_callback(void **state)
{
    struct log log = {.fixture = *state, .left = 5};
    struct tick ticks[4];
    for (int i = 0; i < 4; i++) {
        ticks[i] = (struct tick){.log = &log, .id = i};
        env_timer_init(&ticks[i].timer, log.fixture->env, on_tick, &ticks[i]);
        env_timer_start(&ticks[i].timer, 0);
    }
    env_timer_start(&ticks[3].timer, 5); /* moved */
    log.stop = &ticks[1];
    log.restart = &ticks[0];
    run(log.fixture);
    assert_string_equal(log.text, "09203");
}

/* ---- mailbox ---- */

#define LETTERS 10000

struct sender {
    struct fixture *fixture;
    struct env *other;
    int received;
    bool is_in_order;
};

struct letter {
    struct sender *sender;
    int index;
};

static void on_letter(void *arg)
{
    struct letter *letter = arg;
    struct sender *s = letter->sender;
    s->is_in_order = s->is_in_order && letter->index == s->received;
    if (++s->received == LETTERS) {
        loop_stop(s->fixture->env);
    }
    free(letter);
}

static void send_all(void *arg)
{
    struct sender *s = arg;
    for (int i = 0; i < LETTERS; i++) {
        struct letter *letter = xalloc(sizeof *letter);
        *letter = (struct letter){s, i};
        env_post(s->fixture->env, on_letter, letter);
    }
}

static void letters_from_another_thread_arrive_in_order(void **state)
{
    struct sender s = {.fixture = *state, .is_in_order = true};
    struct errmsg em;
    s.other = loop_new(&(struct loop_config){.name = "sender"}, &em);
    assert_non_null(s.other);
    assert_int_equal(loop_start(s.other, &em), 0);
    env_post(s.other, send_all, &s);
    run(s.fixture);
    loop_stop(s.other);
    loop_free(s.other);
    assert_int_equal(s.received, LETTERS);
    assert_true(s.is_in_order);
}

static void count_up(void *arg)
{
    int *count = arg;
    ++*count;
}

static void letters_posted_before_stop_run(void **state)
{
    struct fixture *f = *state;
    int count = 0;
    env_post(f->env, count_up, &count);
    env_post(f->env, count_up, &count);
    loop_stop(f->env);
    run(f);
    assert_int_equal(count, 2);
}

/* ---- disk pool ---- */

struct job {
    struct fixture *fixture;
    int *next; /* used by the pool's thread alone until done */
    int place;
    int *done;
    int total;
};

static void job_work(void *arg)
{
    struct job *job = arg;
    job->place = (*job->next)++;
}

static void job_done(void *arg)
{
    struct job *job = arg;
    if (++*job->done == job->total) {
        loop_stop(job->fixture->env);
    }
}

static void work_runs_in_order_and_reports_back(void **state)
{
    struct fixture *f = *state;
    struct job jobs[100];
    int next = 0;
    int done = 0;
    for (int i = 0; i < 100; i++) {
        jobs[i] = (struct job){.fixture = f, .next = &next, .done = &done, .total = 100};
        env_work(f->env, job_work, job_done, &jobs[i]);
    }
    run(f);
    for (int i = 0; i < 100; i++) {
        assert_int_equal(jobs[i].place, i);
    }
    assert_int_equal(done, 100);
}

/* ---- life ---- */

static void nothing(void *arg)
{
    (void)arg;
}

static void free_drops_timers_letters_and_work_without_calling(void **state)
{
    (void)state;
    struct errmsg em;
    struct env *env = loop_new(&(struct loop_config){.name = "dropped"}, &em);
    assert_non_null(env);
    int count = 0;
    int worked = 0;
    struct env_timer timer;
    env_timer_init(&timer, env, count_up, &count);
    env_timer_start(&timer, 0);
    env_post(env, count_up, &count);
    env_work(env, nothing, count_up, &worked);
    loop_free(env);
    assert_int_equal(count, 0);
    assert_int_equal(worked, 0);
    assert_false(env_timer_is_active(&timer));
    env_timer_stop(&timer); /* still fine for an owner that goes later */
}

static void random_numbers_differ_between_loops(void **state)
{
    struct fixture *f = *state;
    struct errmsg em;
    struct env *other = loop_new(&(struct loop_config){.name = "other"}, &em);
    assert_non_null(other);
    assert_true(env_random_u64(f->env) != env_random_u64(other));
    loop_free(other);
}

static void on_signal(void *arg, int number)
{
    struct fixture *f = arg;
    assert_int_equal(number, SIGTERM);
    loop_stop(f->env);
}

static void raise_signal(void *arg)
{
    (void)arg;
    assert_int_equal(raise(SIGTERM), 0);
}

static void signals_reach_the_loop(void **state)
{
    struct fixture *f = *state;
    struct errmsg em;
    assert_int_equal(loop_on_signal(f->env, on_signal, f, &em), 0);
    env_post(f->env, raise_signal, NULL);
    run(f);
}

static void a_process_that_has_ended_ignores_signals(void **state)
{
    (void)state;
    loop_ignore_signals();
    assert_int_equal(raise(SIGTERM), 0);
    assert_int_equal(raise(SIGINT), 0);
    assert_true(signal(SIGTERM, SIG_DFL) == SIG_IGN);
    assert_true(signal(SIGINT, SIG_DFL) == SIG_IGN);
}

static void clocks_advance(void **state)
{
    struct fixture *f = *state;
    assert_true(env_wall_ms(f->env) > 1500000000000);
    int64_t first = env_now_us(f->env);
    while (env_now_us(f->env) == first) {
    }
    assert_true(env_now_us(f->env) > first);
    assert_true(loop_raise_file_limit() > 0);
    char *name = loop_host_name();
    assert_non_null(name);
    free(name);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(timers_fire_in_order_of_due_time, setup, teardown),
        cmocka_unit_test_setup_teardown(timer_never_fires_early, setup, teardown),
        cmocka_unit_test_setup_teardown(timer_can_be_stopped_moved_and_restarted_from_a_callback,
                                        setup, teardown),
        cmocka_unit_test_setup_teardown(letters_from_another_thread_arrive_in_order, setup,
                                        teardown),
        cmocka_unit_test_setup_teardown(letters_posted_before_stop_run, setup, teardown),
        cmocka_unit_test_setup_teardown(work_runs_in_order_and_reports_back, setup, teardown),
        cmocka_unit_test_setup_teardown(random_numbers_differ_between_loops, setup, teardown),
        cmocka_unit_test_setup_teardown(signals_reach_the_loop, setup, teardown),
        cmocka_unit_test(a_process_that_has_ended_ignores_signals),
        cmocka_unit_test_setup_teardown(clocks_advance, setup, teardown),
        cmocka_unit_test(free_drops_timers_letters_and_work_without_calling),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
