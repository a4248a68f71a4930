/*
 * Comparing and copying; null is not empty.
 */
#include "base/slice.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

static void null_is_not_empty_but_equal_in_bytes(void **state)
{
    (void)state;
    assert_true(slice_is_null(SLICE_NULL));
    assert_true(slice_is_null(slice_str(NULL)));
    assert_false(slice_is_null(slice_str("")));
    assert_true(slice_equal(SLICE_NULL, slice_str("")));
    assert_true(slice_equal_str(slice_of("abc", 2), "ab"));
    assert_false(slice_equal_str(slice_of("abc", 3), "ab"));
}

static void order_is_by_bytes_then_by_length(void **state)
{
    (void)state;
    assert_true(slice_compare(slice_str("a"), slice_str("b")) < 0);
    assert_true(slice_compare(slice_str("ab"), slice_str("a")) > 0);
    assert_true(slice_compare(slice_str("\xff"), slice_str("a")) > 0);
    assert_int_equal(0, slice_compare(slice_str("a"), slice_of("ab", 1)));
    assert_int_equal(0, slice_compare(SLICE_NULL, slice_str("")));
}

static void a_copy_has_its_end(void **state)
{
    (void)state;
    char *copy = slice_dup(slice_of("hello", 4));
    assert_string_equal("hell", copy);
    free(copy);
    copy = slice_dup(SLICE_NULL);
    assert_string_equal("", copy);
    free(copy);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(null_is_not_empty_but_equal_in_bytes),
        cmocka_unit_test(order_is_by_bytes_then_by_length),
        cmocka_unit_test(a_copy_has_its_end),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
