/*
 * A hook that is not set never ends anything; one that is set decides.
 */
#include "base/fault.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>

#include <cmocka.h>

#include <string.h>

static bool ends_at_two(void *arg, const char *point)
{
    *(const char **)arg = point;
    return strcmp(point, "two") == 0;
}

static void the_hook_decides(void **state)
{
    (void)state;
    const char *seen = NULL;
    struct fault_hook none = {0};
    struct fault_hook hook = {ends_at_two, &seen};
    assert_false(fault_point(&none, "two"));
    assert_false(fault_point(&hook, "one"));
    assert_string_equal(seen, "one");
    assert_true(fault_point(&hook, "two"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_hook_decides),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
