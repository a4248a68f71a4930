/*
 * Lists of broker ids: order, membership, and memory.
 */
#include "model/ids.h"

#include "base/check.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#define IDS(...)                                                                                   \
    ((struct ids){.count = (int32_t)ARRAY_LEN(((int32_t[]){__VA_ARGS__})),                         \
                  .list = (int32_t[]){__VA_ARGS__}})

static void ids_keep_their_order(void **state)
{
    (void)state;
    struct ids ids = {0};
    for (int32_t id = 100; id > 0; id--) {
        ids_add(&ids, id);
    }
    assert_int_equal(100, ids.count);
    assert_int_equal(100, ids.list[0]);
    assert_int_equal(1, ids.list[99]);
    ids_remove(&ids, 50);
    ids_remove(&ids, 50);
    assert_int_equal(99, ids.count);
    assert_int_equal(51, ids.list[49]);
    assert_int_equal(49, ids.list[50]);
    ids_clear(&ids);
    assert_int_equal(0, ids.count);
    ids_deinit(&ids);
}

static void order_counts_for_equality_and_not_for_sets(void **state)
{
    (void)state;
    struct ids a = IDS(1, 2, 3);
    struct ids b = IDS(3, 1, 2);
    struct ids c = IDS(1, 2);
    assert_true(ids_equal(&a, &a));
    assert_false(ids_equal(&a, &b));
    assert_true(ids_same_set(&a, &b));
    assert_false(ids_same_set(&a, &c));
    assert_true(ids_subset(&c, &b));
    assert_false(ids_subset(&b, &c));
    assert_true(ids_subset(&(struct ids){0}, &c));
    assert_true(ids_has(&a, 3));
    assert_false(ids_has(&a, 4));
}

static void duplicates_are_seen(void **state)
{
    (void)state;
    assert_true(ids_has_duplicate(&IDS(1, 2, 1)));
    assert_false(ids_has_duplicate(&IDS(1, 2, 3)));
    assert_false(ids_has_duplicate(&(struct ids){0}));
    assert_int_equal(2, ids_common_count(&IDS(1, 2, 3), &IDS(3, 4, 1)));
    assert_int_equal(0, ids_common_count(&IDS(1, 2), &(struct ids){0}));
}

static void minus_keeps_the_order_of_the_first(void **state)
{
    (void)state;
    struct ids rest = {0};
    ids_add(&rest, 9); /* what it held goes */
    ids_minus(&rest, &IDS(4, 2, 5, 3, 1), &IDS(1, 5, 7));
    assert_true(ids_equal(&IDS(4, 2, 3), &rest));
    ids_deinit(&rest);
}

static void copies_are_independent_and_moves_empty_the_source(void **state)
{
    (void)state;
    struct ids a = {0};
    struct ids b = {0};
    ids_set(&a, (int32_t[]){1, 2}, 2);
    ids_copy(&b, &a);
    ids_add(&a, 3);
    assert_true(ids_equal(&IDS(1, 2), &b));
    ids_move(&b, &a);
    assert_true(ids_equal(&IDS(1, 2, 3), &b));
    assert_int_equal(0, a.count);
    ids_deinit(&a);
    ids_deinit(&b);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(ids_keep_their_order),
        cmocka_unit_test(order_counts_for_equality_and_not_for_sets),
        cmocka_unit_test(duplicates_are_seen),
        cmocka_unit_test(minus_keeps_the_order_of_the_first),
        cmocka_unit_test(copies_are_independent_and_moves_empty_the_source),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
