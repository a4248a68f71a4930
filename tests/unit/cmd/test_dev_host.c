/*
 * The host in a process of its own, with brokers that only pretend: what it prints, how it answers
 * commands, and how it ends. The test reads its output through a pipe.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/check.h"
#include "cmd/dev_control.h"
#include "cmd/dev_host.h"
#include "fake_broker.h"

#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define PATIENCE_MS 20000

struct fixture {
    char directory[48];
    pid_t pid;
    int output;         /* what the host prints, both streams */
    char printed[8192]; /* so far */
    size_t printed_len;
};

static int setup(void **state)
{
    struct fixture *f = xalloc(sizeof *f);
    (void)snprintf(f->directory, sizeof f->directory, "/tmp/klamm-host-XXXXXX");
    assert_non_null(mkdtemp(f->directory));
    f->output = -1;
    *state = f;
    return 0;
}

static void host_start(struct fixture *f, int32_t brokers, const char *wish)
{
    struct broker_setting setting = {.key = wish, .value = ""};
    struct cmd_dev_command command = {.action = CMD_DEV_HOST,
                                      .directory = f->directory,
                                      .broker_count = brokers,
                                      .port = 0,
                                      .http_port = CMD_DEV_HTTP_PORT_NONE,
                                      .log_dir_count = 1,
                                      .is_in_memory = true,
                                      .session_timeout_ms = 1000,
                                      .settings = &setting,
                                      .setting_count = 1};
    int ends[2];
    assert_int_equal(pipe(ends), 0);
    (void)fflush(stdout);
    (void)fflush(stderr);
    f->pid = fork();
    assert_true(f->pid >= 0);
    if (f->pid == 0) {
        (void)dup2(ends[1], STDOUT_FILENO);
        (void)dup2(ends[1], STDERR_FILENO);
        (void)close(ends[0]);
        (void)close(ends[1]);
        int code = cmd_dev_host_run(&command);
        (void)fflush(stdout);
        _exit(code);
    }
    (void)close(ends[1]);
    f->output = ends[0];
    f->printed_len = 0;
    f->printed[0] = '\0';
}

/* Until `text` was printed; "" = until the host has ended. */
static void host_expect(struct fixture *f, const char *text)
{
    for (;;) {
        if (text[0] != '\0' && strstr(f->printed, text) != NULL) {
            return;
        }
        struct pollfd poll_fd = {.fd = f->output, .events = POLLIN};
        int ready = poll(&poll_fd, 1, PATIENCE_MS);
        ssize_t got = ready != 1 ? -1
                                 : read(f->output, f->printed + f->printed_len,
                                        sizeof f->printed - 1 - f->printed_len);
        if (got <= 0) {
            if (text[0] != '\0' || got < 0) {
                fail_msg("\"%s\" was not printed, but:\n%s", text, f->printed);
            }
            return;
        }
        f->printed_len += (size_t)got;
        f->printed[f->printed_len] = '\0';
    }
}

static int host_wait(struct fixture *f)
{
    host_expect(f, "");
    int status = 0;
    assert_int_equal(waitpid(f->pid, &status, 0), f->pid);
    f->pid = 0;
    (void)close(f->output);
    f->output = -1;
    assert_true(WIFEXITED(status));
    return WEXITSTATUS(status);
}

static int teardown(void **state)
{
    struct fixture *f = *state;
    if (f->pid > 0) {
        (void)kill(f->pid, SIGKILL);
        (void)waitpid(f->pid, NULL, 0);
        (void)close(f->output);
    }
    char path[80];
    (void)snprintf(path, sizeof path, "%s/.lock", f->directory);
    (void)unlink(path);
    assert_int_equal(rmdir(f->directory), 0); /* the rest is gone at a clean end */
    free(f);
    return 0;
}

static void ready_line_names_the_bootstrap_and_a_signal_ends_cleanly(void **state)
{
    struct fixture *f = *state;
    host_start(f, 3, "");
    host_expect(f, "klamm dev: 3 brokers ready, bootstrap 127.0.0.1:50001,127.0.0.1:50002,"
                   "127.0.0.1:50003\n");
    assert_int_equal(kill(f->pid, SIGTERM), 0);
    assert_int_equal(host_wait(f), 0);
    /* The controller, broker 1, goes last. */
    assert_non_null(strstr(f->printed, "klamm dev: stopping broker 2\nklamm dev: broker 2 stopped\n"
                                       "klamm dev: stopping broker 3\nklamm dev: broker 3 stopped\n"
                                       "klamm dev: stopping broker 1\nklamm dev: broker 1 stopped\n"
                                       "klamm dev: ended\n"));
}

static void commands_change_brokers_or_say_why_not(void **state)
{
    struct fixture *f = *state;
    host_start(f, 2, "");
    host_expect(f, "2 brokers ready");
    static const struct {
        const char *line;
        int code;
    } steps[] = {{"kill 2", 0}, {"kill 2", 1},  {"stop 2", 1}, {"start 2", 0}, {"start 2", 1},
                 {"stop 2", 0}, {"start 3", 1}, {"stop 0", 1}, {"status", 0},  {"status json", 0},
                 {"frob", 1},   {"start 2", 0}, {"stop x", 1}, {"stop ", 1}};
    for (size_t i = 0; i < ARRAY_LEN(steps); i++) {
        assert_int_equal(cmd_dev_control_send(f->directory, steps[i].line), steps[i].code);
    }
    assert_int_equal(kill(f->pid, SIGINT), 0);
    assert_int_equal(host_wait(f), 0);
    assert_non_null(strstr(f->printed, "klamm dev: broker 2 killed\nklamm dev: broker 2 ready\n"
                                       "klamm dev: broker 2 stopped\nklamm dev: broker 2 ready\n"));
}

static void broker_that_cannot_start_ends_the_host_with_the_reason(void **state)
{
    struct fixture *f = *state;
    static const struct {
        const char *wish;
        const char *reason;
    } cases[] = {{"new=fail", "klamm dev: broker 1: a setting is wrong\n"},
                 {"start=fail", "klamm dev: broker 1: the port is taken\n"},
                 {"ready=fatal", "klamm dev: broker 1: the id is in use\n"}};
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        host_start(f, 1, cases[i].wish);
        host_expect(f, cases[i].reason);
        assert_int_equal(host_wait(f), 1);
    }
}

static void signal_while_starting_ends_cleanly(void **state)
{
    struct fixture *f = *state;
    host_start(f, 2, "ready=never");
    /* It is up as soon as it answers. */
    while (cmd_dev_control_send(f->directory, "status") != 0) {
        assert_int_equal(waitpid(f->pid, NULL, WNOHANG), 0);
    }
    assert_int_equal(kill(f->pid, SIGINT), 0);
    assert_int_equal(host_wait(f), 0);
}

/* As timeout(1) and impatient hands do it. */
static void quick_signals_end_cleanly(void **state)
{
    struct fixture *f = *state;
    static const int signals[][2] = {{SIGTERM, SIGINT}, {SIGINT, SIGINT}, {SIGTERM, SIGTERM}};
    for (size_t i = 0; i < ARRAY_LEN(signals); i++) {
        host_start(f, 3, "");
        host_expect(f, "3 brokers ready");
        assert_int_equal(kill(f->pid, signals[i][0]), 0);
        if (i > 0) {
            host_expect(f, "stopping broker 2");
        }
        assert_int_equal(kill(f->pid, signals[i][1]), 0);
        assert_int_equal(host_wait(f), 0);
        assert_non_null(strstr(f->printed, "broker 1 stopped\nklamm dev: ended\n"));
    }
}

/* Signals until one counts; how many milliseconds that took. */
static int64_t signal_until_over(struct fixture *f, int number)
{
    struct timespec begin;
    struct timespec end;
    assert_int_equal(clock_gettime(CLOCK_MONOTONIC, &begin), 0);
    struct pollfd over = {.fd = f->output, .events = POLLIN};
    do {
        assert_int_equal(kill(f->pid, number), 0);
    } while (poll(&over, 1, 20) == 0);
    host_expect(f, "ended at once");
    assert_int_equal(clock_gettime(CLOCK_MONOTONIC, &end), 0);
    return (end.tv_sec - begin.tv_sec) * 1000 + (end.tv_nsec - begin.tv_nsec) / 1000000;
}

static void later_signal_ends_at_once(void **state)
{
    struct fixture *f = *state;
    static const struct {
        int number;
        int status;
    } rows[] = {{SIGINT, 130}, {SIGTERM, 143}};
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        host_start(f, 1, "stop=never");
        host_expect(f, "1 broker ready");
        assert_int_equal(kill(f->pid, SIGINT), 0);
        host_expect(f, "stopping broker 1");
        assert_in_range(signal_until_over(f, rows[i].number), 900, PATIENCE_MS);
        assert_int_equal(host_wait(f), rows[i].status);
    }
    /* What was left behind is put in order by the next one. */
    host_start(f, 1, "");
    host_expect(f, "1 broker ready");
    assert_int_equal(kill(f->pid, SIGINT), 0);
    assert_int_equal(host_wait(f), 0);
}

static void second_host_in_a_directory_is_refused(void **state)
{
    struct fixture *f = *state;
    host_start(f, 1, "");
    host_expect(f, "1 broker ready");
    struct fixture second = *f;
    host_start(&second, 1, "");
    assert_int_equal(host_wait(&second), 1);
    assert_non_null(strstr(second.printed, "is in use by another klamm dev"));
    assert_int_equal(cmd_dev_control_send(f->directory, "status"), 0);
    assert_int_equal(kill(f->pid, SIGTERM), 0);
    assert_int_equal(host_wait(f), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(ready_line_names_the_bootstrap_and_a_signal_ends_cleanly,
                                        setup, teardown),
        cmocka_unit_test_setup_teardown(commands_change_brokers_or_say_why_not, setup, teardown),
        cmocka_unit_test_setup_teardown(broker_that_cannot_start_ends_the_host_with_the_reason,
                                        setup, teardown),
        cmocka_unit_test_setup_teardown(signal_while_starting_ends_cleanly, setup, teardown),
        cmocka_unit_test_setup_teardown(quick_signals_end_cleanly, setup, teardown),
        cmocka_unit_test_setup_teardown(later_signal_ends_at_once, setup, teardown),
        cmocka_unit_test_setup_teardown(second_host_in_a_directory_is_refused, setup, teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
