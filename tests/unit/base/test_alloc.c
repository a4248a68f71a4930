/*
 * Budgets, and the allocations that never fail.
 */
#include "base/alloc.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

static void a_budget_counts_what_is_out(void **state)
{
    (void)state;
    struct budget budget = {.max = 100};
    void *first = budget_alloc(&budget, 60);
    assert_non_null(first);
    assert_int_equal(60, budget.used);
    assert_null(budget_alloc(&budget, 41));
    void *second = budget_alloc(&budget, 40);
    assert_non_null(second);
    budget_free(&budget, first, 60);
    budget_free(&budget, second, 40);
    budget_free(&budget, NULL, 7);
    assert_int_equal(0, budget.used);
}

static void a_huge_size_does_not_wrap_around(void **state)
{
    (void)state;
    struct budget budget = {.max = 100, .used = 50};
    assert_null(budget_alloc(&budget, SIZE_MAX));
    assert_int_equal(50, budget.used);
}

static void the_nth_call_fails_once(void **state)
{
    (void)state;
    struct budget budget = {.max = 100, .fail_at = 2};
    void *first = budget_alloc(&budget, 1);
    assert_non_null(first);
    assert_null(budget_alloc(&budget, 1));
    void *third = budget_alloc(&budget, 1);
    assert_non_null(third);
    budget_free(&budget, first, 1);
    budget_free(&budget, third, 1);
}

static void reserved_bytes_count_as_used(void **state)
{
    (void)state;
    struct budget budget = {.max = 100, .fail_at = 3};
    assert_true(budget_reserve(&budget, 60));
    assert_false(budget_reserve(&budget, 41));
    assert_false(budget_reserve(&budget, 1)); /* the third call */
    budget_release(&budget, 60);
    assert_int_equal(0, budget.used);
    assert_true(budget_reserve(NULL, SIZE_MAX));
    budget_release(NULL, SIZE_MAX);
}

static void no_budget_is_unbounded(void **state)
{
    (void)state;
    void *ptr = budget_alloc(NULL, 0);
    assert_non_null(ptr);
    budget_free(NULL, ptr, 0);
}

static void copies_are_equal_and_zeroes_are_zero(void **state)
{
    (void)state;
    char *text = xasprintf("%s-%d", "foo", 7);
    assert_string_equal("foo-7", text);
    char *copy = xstrdup(text);
    assert_string_equal(text, copy);
    free(copy);
    void *empty = xmemdup(NULL, 0);
    assert_non_null(empty);
    free(empty);
    free(text);
    uint8_t *zeroes = xalloc(16);
    for (int i = 0; i < 16; i++) {
        assert_int_equal(0, zeroes[i]);
    }
    zeroes = xrealloc(zeroes, 1000);
    assert_int_equal(0, zeroes[15]);
    free(zeroes);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_budget_counts_what_is_out),
        cmocka_unit_test(a_huge_size_does_not_wrap_around),
        cmocka_unit_test(the_nth_call_fails_once),
        cmocka_unit_test(reserved_bytes_count_as_used),
        cmocka_unit_test(no_budget_is_unbounded),
        cmocka_unit_test(copies_are_equal_and_zeroes_are_zero),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
