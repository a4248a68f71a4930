/*
 * A failed CHECK ends the process by SIGABRT; the child of a fork is the one that fails.
 */
#include "base/check.h"

#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

static int status_of(void (*body)(void))
{
    pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        (void)!freopen("/dev/null", "w", stderr); /* the message is not looked at */
        (void)signal(SIGABRT, SIG_DFL);
        body();
        _exit(0);
    }
    int status = 0;
    assert_int_equal(child, waitpid(child, &status, 0));
    return status;
}

static void check_true(void)
{
    CHECK(1 + 1 == 2);
    CHECKF(true, "%d", 1);
}

static void check_false(void)
{
    CHECKF(1 + 1 == 3, "sum %d", 2);
}

static void a_true_condition_goes_on(void **state)
{
    (void)state;
    int status = status_of(check_true);
    assert_true(WIFEXITED(status));
    assert_int_equal(0, WEXITSTATUS(status));
}

static void a_false_condition_aborts(void **state)
{
    (void)state;
    int status = status_of(check_false);
    assert_true(WIFSIGNALED(status));
    assert_int_equal(SIGABRT, WTERMSIG(status));
}

static void a_member_leads_to_its_container(void **state)
{
    (void)state;
    struct outer {
        int a;
        int b;
    } outer;
    assert_ptr_equal(&outer, CONTAINER_OF(&outer.b, struct outer, b));
    int array[7];
    assert_int_equal(7, ARRAY_LEN(array));
    assert_int_equal(2, MIN(2, 3));
    assert_int_equal(3, MAX(2, 3));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_true_condition_goes_on),
        cmocka_unit_test(a_false_condition_aborts),
        cmocka_unit_test(a_member_leads_to_its_container),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
