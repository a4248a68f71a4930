/*
 * The steps of a move that brings one replica at a time, against their promises.
 */
#include "moves/steps.h"

#include "base/prng.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

/* Lists are written as digits: "123" is [1,2,3]. */
static void ids_of(struct ids *ret, const char *digits)
{
    for (; *digits != '\0'; digits++) {
        ids_add(ret, *digits - '0');
    }
}

static void assert_step(const char *from, const char *target, const char *want)
{
    struct ids a = {0};
    struct ids b = {0};
    struct ids wanted = {0};
    struct ids step = {0};
    ids_of(&a, from);
    ids_of(&b, target);
    ids_of(&wanted, want);
    moves_next_step(&a, &b, &step);
    assert_true(ids_equal(&step, &wanted));
    ids_deinit(&a);
    ids_deinit(&b);
    ids_deinit(&wanted);
    ids_deinit(&step);
}

static void the_first_missing_replica_takes_the_first_free_place(void **state)
{
    (void)state;
    assert_step("123", "456", "423");
    assert_step("423", "456", "453");
    assert_step("453", "456", "456");
}

static void a_growing_list_grows_by_one(void **state)
{
    (void)state;
    assert_step("1", "213", "12");
    assert_step("12", "213", "213");
}

static void what_adds_nothing_is_one_step(void **state)
{
    (void)state;
    assert_step("123", "31", "31");
    assert_step("12", "12", "12");
}

static void draw(struct prng *prng, struct ids *ret)
{
    int32_t count = (int32_t)prng_range(prng, 1, 6);
    ids_clear(ret);
    while (ret->count < count) {
        int32_t id = (int32_t)prng_range(prng, 1, 9);
        if (!ids_has(ret, id)) {
            ids_add(ret, id);
        }
    }
}

/* Any two lists: every step adds one at most, none is longer than the longer end, and the target is
 * reached in as many steps as replicas are missing. */
static void steps_reach_the_target_one_replica_at_a_time(void **state)
{
    (void)state;
    struct prng prng;
    prng_init(&prng, 20260301);
    for (int round = 0; round < 2000; round++) {
        struct ids at = {0};
        struct ids target = {0};
        struct ids step = {0};
        draw(&prng, &at);
        draw(&prng, &target);
        int32_t longest = at.count > target.count ? at.count : target.count;
        int32_t steps = 0;
        for (; !ids_equal(&at, &target) && steps < 10; steps++) {
            moves_next_step(&at, &target, &step);
            struct ids added = {0};
            ids_minus(&added, &step, &at);
            assert_true(added.count <= 1);
            assert_true(step.count <= longest && step.count > 0);
            assert_false(ids_has_duplicate(&step));
            ids_deinit(&added);
            ids_copy(&at, &step);
        }
        assert_true(ids_equal(&at, &target));
        ids_deinit(&at);
        ids_deinit(&target);
        ids_deinit(&step);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_first_missing_replica_takes_the_first_free_place),
        cmocka_unit_test(a_growing_list_grows_by_one),
        cmocka_unit_test(what_adds_nothing_is_one_step),
        cmocka_unit_test(steps_reach_the_target_one_replica_at_a_time),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
