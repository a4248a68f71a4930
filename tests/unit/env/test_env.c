/*
 * What env.c adds to an implementation: references of files, and calls that change nothing.
 */
#include "env/env.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

struct counts {
    int file_closes;
    int interests;
    int timer_stops;
    int64_t delay_ms;
    const void *written;
    size_t written_len;
};

static struct counts counts;

static int setup(void **state)
{
    (void)state;
    counts = (struct counts){0};
    return 0;
}

static void file_close(struct env_file *f)
{
    (void)f;
    counts.file_closes++;
}

static int file_writev(struct env_file *f, const struct iovec *iov, int count, uint64_t pos)
{
    (void)f;
    (void)pos;
    assert_int_equal(count, 1);
    counts.written = iov->iov_base;
    counts.written_len = iov->iov_len;
    return 0;
}

static void conn_interest(struct env_conn *c)
{
    (void)c;
    counts.interests++;
}

static void timer_start(struct env_timer *t, int64_t delay_ms)
{
    counts.delay_ms = delay_ms;
    t->node.index = 1;
}

static void timer_stop(struct env_timer *t)
{
    counts.timer_stops++;
    t->node.index = 0;
}

static const struct env_ops ops = {.file_close = file_close,
                                   .file_writev = file_writev,
                                   .conn_interest = conn_interest,
                                   .timer_start = timer_start,
                                   .timer_stop = timer_stop};
static struct env env = {.ops = &ops};

static void a_file_closes_with_its_last_reference(void **state)
{
    (void)state;
    struct env_file file = {.env = &env, .refs = 1};
    assert_ptr_equal(env_file_ref(&file), &file);
    env_file_unref(&file);
    assert_int_equal(counts.file_closes, 0);
    env_file_unref(&file);
    assert_int_equal(counts.file_closes, 1);
    env_file_unref(NULL);
    assert_int_equal(counts.file_closes, 1);
}

static void a_write_is_a_vector_of_one(void **state)
{
    (void)state;
    struct env_file file = {.env = &env, .refs = 1};
    assert_int_equal(env_file_write(&file, "abc", 3, 5), 0);
    assert_int_equal(counts.written_len, 3);
    assert_memory_equal(counts.written, "abc", 3);
}

static void interest_is_told_only_when_it_changes(void **state)
{
    (void)state;
    struct env_conn conn = {.env = &env, .wants_read = true};
    env_conn_want_read(&conn, true);
    env_conn_want_write(&conn, false);
    assert_int_equal(counts.interests, 0);
    env_conn_want_read(&conn, false);
    env_conn_want_write(&conn, true);
    assert_int_equal(counts.interests, 2);
    assert_false(conn.wants_read);
    assert_true(conn.wants_write);
}

static void nothing(void *arg)
{
    (void)arg;
}

static void timers_clamp_the_past_and_stop_once(void **state)
{
    (void)state;
    struct env_timer timer;
    env_timer_init(&timer, &env, nothing, NULL);
    env_timer_stop(&timer);
    env_timer_start(&timer, -7);
    assert_int_equal(counts.delay_ms, 0);
    assert_true(env_timer_is_active(&timer));
    env_timer_stop(&timer);
    env_timer_stop(&timer);
    assert_int_equal(counts.timer_stops, 1);
    struct env_timer never = {0}; /* an owner that never came to its timer */
    env_timer_stop(&never);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(a_file_closes_with_its_last_reference, setup),
        cmocka_unit_test_setup(a_write_is_a_vector_of_one, setup),
        cmocka_unit_test_setup(interest_is_told_only_when_it_changes, setup),
        cmocka_unit_test_setup(timers_clamp_the_past_and_stop_once, setup),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
