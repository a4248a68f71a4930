/*
 * Known start of the sequence, ranges, chances.
 */
#include "base/prng.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

static void the_sequence_depends_on_the_seed_alone(void **state)
{
    (void)state;
    struct prng a;
    struct prng b;
    struct prng c;
    prng_init(&a, 42);
    prng_init(&b, 42);
    prng_init(&c, 43);
    int same = 0;
    for (int i = 0; i < 100; i++) {
        uint64_t draw = prng_u64(&a);
        assert_true(draw == prng_u64(&b));
        same += draw == prng_u64(&c);
    }
    assert_int_equal(0, same);
}

static void draws_stay_in_their_range_and_reach_its_ends(void **state)
{
    (void)state;
    struct prng p;
    prng_init(&p, 7);
    bool has_low = false;
    bool has_high = false;
    for (int i = 0; i < 1000; i++) {
        int64_t draw = prng_range(&p, -2, 3);
        assert_true(draw >= -2 && draw <= 3);
        has_low = has_low || draw == -2;
        has_high = has_high || draw == 3;
        assert_true(prng_below(&p, 1) == 0);
    }
    assert_true(has_low && has_high);
    assert_true(prng_range(&p, INT64_MIN, INT64_MAX) != prng_range(&p, INT64_MIN, INT64_MAX));
}

static void a_chance_comes_true_about_as_often_as_said(void **state)
{
    (void)state;
    struct prng p;
    prng_init(&p, 9);
    int hits = 0;
    for (int i = 0; i < 10000; i++) {
        hits += prng_chance(&p, 1, 4);
        assert_false(prng_chance(&p, 0, 4));
        assert_true(prng_chance(&p, 4, 4));
    }
    assert_in_range(hits, 2300, 2700);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_sequence_depends_on_the_seed_alone),
        cmocka_unit_test(draws_stay_in_their_range_and_reach_its_ends),
        cmocka_unit_test(a_chance_comes_true_about_as_often_as_said),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
