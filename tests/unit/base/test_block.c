/*
 * Reference counts, the budget behind them, and the pool that keeps blocks.
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

static void a_pool_hands_out_what_came_back(void **state)
{
    (void)state;
    struct budget budget = {.max = 100000};
    struct block_pool *pool = block_pool_new(8192);
    struct block *first = block_pool_get(pool, &budget, 5000);
    assert_int_equal(8192, first->cap);
    assert_int_equal(block_pool_cost(5000), budget.used);
    assert_false(block_pool_has(pool, 5000));
    first->len = 7;
    block_unref(first);
    assert_int_equal(0, budget.used); /* what is kept counts nowhere */
    assert_true(block_pool_has(pool, 5000));
    assert_false(block_pool_has(pool, 4096));
    budget.max = 8192; /* not the struct as well */
    assert_null(block_pool_get(pool, &budget, 8192));
    struct block *second = block_pool_get(pool, NULL, 8192);
    assert_ptr_equal(first, second);
    assert_int_equal(0, second->len);
    block_unref(second);
    block_pool_trim(pool);
    assert_false(block_pool_has(pool, 5000));
    block_pool_free(pool);
}

static void a_pool_keeps_no_more_than_its_bound(void **state)
{
    (void)state;
    struct block_pool *pool = block_pool_new(3000);
    struct block *blocks[3];
    for (int i = 0; i < 3; i++) {
        blocks[i] = block_pool_get(pool, NULL, 1000);
    }
    struct block *large = block_pool_get(pool, NULL, 4000);
    block_unref(large);
    assert_false(block_pool_has(pool, 4000));
    for (int i = 0; i < 3; i++) {
        block_unref(blocks[i]);
    }
    assert_ptr_equal(blocks[1], block_pool_get(pool, NULL, 1000)); /* the third was one too many */
    block_pool_free(pool);
    block_unref(blocks[1]); /* later than the pool */
}

static void growing_moves_the_bytes_and_charging_the_cost(void **state)
{
    (void)state;
    struct budget budget = {.max = 100000};
    struct block_pool *pool = block_pool_new(100000);
    struct block *b = block_pool_get(pool, NULL, 1024);
    memcpy(b->data, "hello", 5);
    b->len = 5;
    b = block_pool_grow(b, 3000);
    assert_int_equal(4096, b->cap);
    assert_int_equal(5, b->len);
    assert_memory_equal("hello", b->data, 5);
    assert_true(block_pool_has(pool, 1024));
    assert_true(budget_reserve(&budget, block_pool_cost(b->cap)));
    block_charge(b, &budget);
    block_unref(b);
    assert_int_equal(0, budget.used);
    block_pool_free(pool);
    block_pool_free(NULL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_pool_hands_out_what_came_back),
        cmocka_unit_test(a_pool_keeps_no_more_than_its_bound),
        cmocka_unit_test(growing_moves_the_bytes_and_charging_the_cost),
        cmocka_unit_test(the_last_reference_gives_the_budget_back),
        cmocka_unit_test(a_budget_that_refuses_is_no_block),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
