/*
 * A process ends at the points that a directory names, once each. The one that ends is a child.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "cmd/server_fault.h"

#include "env/env.h"
#include "env/loop.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

static void without_a_directory_there_are_none(void **state)
{
    (void)state;
    struct cmd_server_fault fault = {0};
    struct fault_hook hook = cmd_server_fault_hook(&fault);
    assert_false(fault_point(&hook, "after-A1"));
}

static void the_named_point_kills_and_its_name_goes(void **state)
{
    (void)state;
    char dir[] = "/tmp/klamm-fault-XXXXXX";
    char path[64];
    struct errmsg em = {""};
    assert_non_null(mkdtemp(dir));
    (void)snprintf(path, sizeof path, "%s/after-A1", dir);
    FILE *file = fopen(path, "w");
    assert_non_null(file);
    (void)fclose(file);
    pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        struct env *env = loop_new(&(struct loop_config){.name = "test"}, &em);
        struct cmd_server_fault fault = {env, dir};
        struct fault_hook hook = cmd_server_fault_hook(&fault);
        bool is_early = env == NULL || fault_point(&hook, "before-A1");
        _exit(is_early || fault_point(&hook, "after-A1") ? 1 : 2);
    }
    int status = 0;
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL);
    assert_int_not_equal(access(path, F_OK), 0);
    assert_int_equal(rmdir(dir), 0);
}

static void the_variable_names_the_directory(void **state)
{
    (void)state;
    assert_int_equal(unsetenv("KLAMM_FAULT_DIR"), 0);
    assert_null(cmd_server_fault_dir());
    assert_int_equal(setenv("KLAMM_FAULT_DIR", "/somewhere", 1), 0);
#ifdef KLAMM_FAULT_POINTS
    assert_string_equal(cmd_server_fault_dir(), "/somewhere");
#else
    assert_null(cmd_server_fault_dir());
#endif
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(without_a_directory_there_are_none),
        cmocka_unit_test(the_named_point_kills_and_its_name_goes),
        cmocka_unit_test(the_variable_names_the_directory),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
