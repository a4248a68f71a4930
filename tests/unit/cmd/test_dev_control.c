/*
 * The control socket, both sides over a real file socket: the server on a loop of its own, the client
 * (dev_client.c) on the test's thread with its output caught in a file.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/alloc.h"
#include "base/check.h"
#include "cmd/dev_control.h"
#include "env/loop.h"
#include "output.h"

#include <stdio.h>
#include <stdlib.h>

struct fixture {
    struct env *env;
    char directory[48];
    struct cmd_dev_control *control;
};

/* On the server's thread: "no" is refused, "end" frees the server before it answers, anything else is
 * done. */
static void on_request(void *arg, struct cmd_dev_request *request, struct slice line)
{
    struct fixture *f = arg;
    if (slice_equal_str(line, "end")) {
        cmd_dev_control_free(f->control);
        f->control = NULL;
        cmd_dev_request_answer(request, false, slice_str("ending\n"));
    } else {
        bool is_done = !slice_equal_str(line, "no");
        char *text = xasprintf("you said %.*s\n", SLICE_ARG(line));
        cmd_dev_request_answer(request, is_done, slice_str(text));
        free(text);
    }
}

static int setup(void **state)
{
    struct fixture *f = xalloc(sizeof *f);
    struct errmsg em = {""};
    (void)snprintf(f->directory, sizeof f->directory, "/tmp/klamm-control-XXXXXX");
    assert_non_null(mkdtemp(f->directory));
    f->env = loop_new(&(struct loop_config){.name = "server"}, &em);
    assert_non_null(f->env);
    assert_int_equal(cmd_dev_control_new(f->env, f->directory, on_request, f, &f->control, &em), 0);
    assert_int_equal(loop_start(f->env, &em), 0);
    *state = f;
    return 0;
}

static void control_free(void *arg)
{
    struct fixture *f = arg;
    cmd_dev_control_free(f->control);
    f->control = NULL;
}

static int teardown(void **state)
{
    struct fixture *f = *state;
    env_post(f->env, control_free, f);
    loop_stop(f->env);
    loop_free(f->env);
    assert_int_equal(rmdir(f->directory), 0); /* nothing was left in it */
    free(f);
    return 0;
}

static void answers_are_printed_with_their_status(void **state)
{
    struct fixture *f = *state;
    assert_sent(f->directory, "hello", 0, "you said hello\n");
    assert_sent(f->directory, "no", 1, "you said no\n");
}

static void endless_line_is_dropped(void **state)
{
    struct fixture *f = *state;
    char line[CMD_DEV_CONTROL_LINE_MAX + 100];
    memset(line, 'x', sizeof line - 1);
    line[sizeof line - 1] = '\0';
    char *expected =
        xasprintf("klamm dev: the cluster in %s ended before it answered\n", f->directory);
    assert_sent(f->directory, line, 1, expected);
    free(expected);
    assert_sent(f->directory, "hello", 0, "you said hello\n");
}

static void request_is_answered_after_the_server_went(void **state)
{
    struct fixture *f = *state;
    assert_sent(f->directory, "end", 1, "ending\n");
}

static void path_too_long_for_a_socket_is_refused(void **state)
{
    struct fixture *f = *state;
    char directory[120];
    memset(directory, 'd', sizeof directory - 1);
    directory[sizeof directory - 1] = '\0';
    struct cmd_dev_control *control = NULL;
    struct errmsg em = {""};
    assert_int_equal(cmd_dev_control_new(f->env, directory, on_request, f, &control, &em),
                     -E_TOO_LARGE);
    assert_non_null(strstr(em.text, "at most 107 bytes"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(answers_are_printed_with_their_status, setup, teardown),
        cmocka_unit_test_setup_teardown(endless_line_is_dropped, setup, teardown),
        cmocka_unit_test_setup_teardown(request_is_answered_after_the_server_went, setup, teardown),
        cmocka_unit_test_setup_teardown(path_too_long_for_a_socket_is_refused, setup, teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
