/*
 * Request memory: alignment, the bound, and reuse after a reset.
 */
#include "base/arena.h"

#include "base/check.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

static void memory_is_zeroed_and_aligned(void **state)
{
    (void)state;
    struct arena a;
    arena_init(&a, 1 << 20);
    for (size_t size = 1; size < 10000; size = size * 3 + 1) {
        uint8_t *ptr = arena_alloc(&a, size);
        assert_non_null(ptr);
        assert_int_equal(0, (uintptr_t)ptr % 16);
        for (size_t i = 0; i < size; i++) {
            assert_int_equal(0, ptr[i]);
        }
        memset(ptr, 0xff, size);
    }
    arena_reset(&a);
    uint8_t *again = arena_alloc(&a, 64);
    assert_non_null(again);
    assert_int_equal(0, again[0] | again[63]);
    arena_deinit(&a);
}

static void the_bound_is_kept_over_all_chunks(void **state)
{
    (void)state;
    struct arena a;
    arena_init(&a, 100 * 16);
    for (int i = 0; i < 100; i++) {
        assert_non_null(arena_alloc(&a, 3));
    }
    assert_null(arena_alloc(&a, 1));
    assert_int_equal(100 * 16, a.used);
    arena_reset(&a);
    assert_non_null(arena_alloc(&a, 100 * 16));
    arena_deinit(&a);
}

static void sizes_that_overflow_are_refused(void **state)
{
    (void)state;
    struct arena a;
    arena_init(&a, 1 << 20);
    assert_null(arena_array(&a, SIZE_MAX / 2, 4));
    assert_null(arena_alloc(&a, SIZE_MAX - 3));
    assert_int_equal(0, a.used);
    arena_deinit(&a);
}

static void a_string_is_copied_with_its_end(void **state)
{
    (void)state;
    struct arena a;
    arena_init(&a, 1 << 20);
    char *copy = arena_str(&a, slice_of("hello", 4));
    assert_non_null(copy);
    assert_string_equal("hell", copy);
    char *empty = arena_str(&a, SLICE_NULL);
    assert_non_null(empty);
    assert_string_equal("", empty);
    arena_deinit(&a);
    arena_deinit(NULL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(memory_is_zeroed_and_aligned),
        cmocka_unit_test(the_bound_is_kept_over_all_chunks),
        cmocka_unit_test(sizes_that_overflow_are_refused),
        cmocka_unit_test(a_string_is_copied_with_its_end),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
