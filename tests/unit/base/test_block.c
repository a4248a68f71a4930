/*
 * Reference counts and the budget behind them.
 */
#include "base/block.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

static void the_last_reference_gives_the_budget_back(void **state)
{
    (void)state;
    struct budget budget = {.max = 1000};
    struct block *b = block_new(&budget, 100);
    assert_non_null(b);
    assert_int_equal(1, b->refs);
    assert_int_equal(0, b->len);
    assert_int_equal(100, b->cap);
    assert_true(budget.used >= 100);
    assert_ptr_equal(b, block_ref(b));
    block_unref(b);
    assert_true(budget.used >= 100);
    block_unref(b);
    assert_int_equal(0, budget.used);
    block_unref(NULL);
}

static void a_budget_that_refuses_is_no_block(void **state)
{
    (void)state;
    struct budget budget = {.max = 100};
    assert_null(block_new(&budget, 100)); /* the block itself takes a little */
    assert_null(block_new(NULL, SIZE_MAX));
    assert_int_equal(0, budget.used);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_last_reference_gives_the_budget_back),
        cmocka_unit_test(a_budget_that_refuses_is_no_block),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
