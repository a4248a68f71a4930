/*
 * Watches on sockets that somebody else owns, on the real loop: a socket pair stands for the library's
 * connection. Each test runs the loop until its condition holds; a watchdog timer ends one that hangs.
 */
#include "env/loop.h"

#include "sim/env/sim.h"

#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>
#include <errno.h>
#include <sys/socket.h>
#include <unistd.h>

#define WATCHDOG_MS 20000

struct fixture {
    struct env *env;
    struct env_timer watchdog;
    struct env_fd_watch *watch;
    int ours;
    int theirs;
    int calls;
    int stop_after_calls;
    int events; /* what was told last */
};

static void on_watchdog(void *arg)
{
    struct fixture *f = arg;
    loop_stop(f->env);
}

static int setup(void **state)
{
    static struct fixture fixture;
    fixture = (struct fixture){.stop_after_calls = 1};
    struct loop_config config = {.name = "test"};
    struct errmsg em = {""};
    fixture.env = loop_new(&config, &em);
    assert_non_null(fixture.env);
    env_timer_init(&fixture.watchdog, fixture.env, on_watchdog, &fixture);
    env_timer_start(&fixture.watchdog, WATCHDOG_MS);
    int pair[2];
    assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM, 0, pair), 0);
    fixture.ours = pair[0];
    fixture.theirs = pair[1];
    *state = &fixture;
    return 0;
}

static int teardown(void **state)
{
    struct fixture *f = *state;
    env_fd_unwatch(f->watch);
    loop_free(f->env);
    assert_int_equal(close(f->ours), 0);
    assert_int_equal(close(f->theirs), 0);
    return 0;
}

static void on_ready(void *arg, int events)
{
    struct fixture *f = arg;
    f->events = events;
    if (++f->calls == f->stop_after_calls) {
        loop_stop(f->env);
    }
}

static void watch(struct fixture *f, int events)
{
    struct env_fd_interest interest = {.fd = f->ours, .events = events, .fn = on_ready, .arg = f};
    assert_int_equal(env_fd_watch(f->env, &interest, &f->watch), 0);
    assert_int_equal(f->calls, 0);
}

static void bytes_are_told_until_they_are_read(void **state)
{
    struct fixture *f = *state;
    f->stop_after_calls = 3;
    watch(f, ENV_FD_READABLE);
    assert_int_equal(write(f->theirs, "x", 1), 1);
    loop_run(f->env);
    assert_true(f->calls >= 3);
    assert_int_equal(f->events, ENV_FD_READABLE);
}

static void only_what_was_asked_for_is_told(void **state)
{
    struct fixture *f = *state;
    assert_int_equal(write(f->theirs, "x", 1), 1);
    watch(f, ENV_FD_WRITABLE);
    loop_run(f->env);
    assert_int_equal(f->events, ENV_FD_WRITABLE);
    env_fd_unwatch(f->watch);
    f->calls = 0;
    watch(f, ENV_FD_WRITABLE | ENV_FD_READABLE);
    loop_run(f->env);
    assert_int_equal(f->events, ENV_FD_WRITABLE | ENV_FD_READABLE);
}

static void on_ready_unwatch(void *arg, int events)
{
    struct fixture *f = arg;
    on_ready(f, events);
    env_fd_unwatch(f->watch);
    f->watch = NULL;
}

/* A stop is posted by a timer, so a watch that lived on would be called in between. */
static void watch_may_end_inside_its_callback(void **state)
{
    struct fixture *f = *state;
    f->stop_after_calls = 0;
    struct env_fd_interest interest = {
        .fd = f->ours, .events = ENV_FD_READABLE, .fn = on_ready_unwatch, .arg = f};
    assert_int_equal(env_fd_watch(f->env, &interest, &f->watch), 0);
    assert_int_equal(write(f->theirs, "x", 1), 1);
    env_timer_start(&f->watchdog, 20);
    loop_run(f->env);
    assert_int_equal(f->calls, 1);
}

static void same_socket_is_watched_once_at_a_time(void **state)
{
    struct fixture *f = *state;
    watch(f, ENV_FD_READABLE);
    struct env_fd_watch *second = NULL;
    struct env_fd_interest interest = {
        .fd = f->ours, .events = ENV_FD_READABLE, .fn = on_ready, .arg = f};
    assert_int_equal(env_fd_watch(f->env, &interest, &second), -E_EXISTS);
    env_fd_unwatch(f->watch);
    watch(f, ENV_FD_READABLE);
}

static void shut_down_socket_fails_both_ways(void **state)
{
    struct fixture *f = *state;
    env_fd_shut_down(f->env, f->ours);
    char byte = 0;
    assert_int_equal(send(f->ours, "x", 1, MSG_NOSIGNAL), -1);
    assert_int_equal(errno, EPIPE);
    assert_int_equal(read(f->theirs, &byte, 1), 0);
    watch(f, ENV_FD_READABLE);
    loop_run(f->env);
    assert_int_equal(f->events, ENV_FD_READABLE);
    assert_int_equal(read(f->ours, &byte, 1), 0);
}

static void simulator_has_no_foreign_sockets(void **state)
{
    struct fixture *f = *state;
    struct sim_world *world = sim_world_new(1);
    struct env *env = sim_node_env(sim_node_new(world, "node"));
    struct env_fd_interest interest = {
        .fd = f->ours, .events = ENV_FD_READABLE, .fn = on_ready, .arg = f};
    struct env_fd_watch *none = NULL;
    assert_int_equal(env_fd_watch(env, &interest, &none), -E_UNSUPPORTED);
    assert_null(none);
    env_fd_shut_down(env, f->ours);
    assert_int_equal(write(f->ours, "x", 1), 1);
    sim_world_free(world);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(bytes_are_told_until_they_are_read), TEST(only_what_was_asked_for_is_told),
        TEST(watch_may_end_inside_its_callback),  TEST(same_socket_is_watched_once_at_a_time),
        TEST(shut_down_socket_fails_both_ways),   TEST(simulator_has_no_foreign_sockets),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
