/*
 * Quantiles within one per cent, small values exactly.
 */
#include "base/histogram.h"

#include "base/check.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

static void small_values_are_exact(void **state)
{
    (void)state;
    struct histogram h;
    histogram_init(&h);
    assert_true(histogram_quantile(&h, 0.5) == 0);
    for (int64_t us = 1; us <= 100; us++) {
        histogram_add(&h, us);
    }
    assert_true(histogram_quantile(&h, 0.0) == 1);
    assert_true(histogram_quantile(&h, 0.5) == 51);
    assert_true(histogram_quantile(&h, 0.99) == 100);
    assert_true(histogram_quantile(&h, 1.0) == 100);
    assert_true(h.total == 100);
}

static void large_values_are_within_one_per_cent(void **state)
{
    (void)state;
    static const int64_t values[] = {129, 1000, 123456, 60000000};
    for (size_t i = 0; i < ARRAY_LEN(values); i++) {
        struct histogram h;
        histogram_init(&h);
        histogram_add(&h, values[i]);
        histogram_add(&h, INT64_MAX);
        int64_t found = histogram_quantile(&h, 0.0);
        assert_true(found >= values[i]);
        assert_true((double)found <= (double)values[i] * 1.01);
    }
}

static void merging_adds_the_counts(void **state)
{
    (void)state;
    struct histogram a;
    struct histogram b;
    histogram_init(&a);
    histogram_init(&b);
    histogram_add(&a, 5);
    histogram_add(&b, 50);
    histogram_add(&b, -3); /* a clock that went back counts as nothing */
    histogram_merge(&a, &b);
    assert_true(a.total == 3);
    assert_true(a.max == 50);
    assert_true(histogram_quantile(&a, 0.0) == 0);
    assert_true(histogram_quantile(&a, 0.5) == 5);
    assert_true(histogram_quantile(&a, 1.0) == 50);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(small_values_are_exact),
        cmocka_unit_test(large_values_are_within_one_per_cent),
        cmocka_unit_test(merging_adds_the_counts),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
