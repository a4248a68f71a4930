/*
 * The table of limits on copying.
 */
#include "world.h"

static void the_limit_of_a_job_comes_before_its_moves_and_ends_with_it(void **state)
{
    (void)state;
    struct world w;
    world_init(&w, 2, world_no_limits);
    struct moves_request r = world_request(MOVES_ACTION_SUBMIT);
    struct moves_entry entries[] = {world_entry(1, (int32_t[]){4, 5, 6}, 3),
                                    world_entry(0, (int32_t[]){4, 5, 6}, 3)};
    r.entries = entries;
    r.count = 2;
    r.rate = 5000;
    world_ask(&w, &r);
    int32_t limits_at = -1;
    int32_t starts_at = -1;
    for (int32_t step = 0; starts_at < 0 && step < 20; step++) {
        if (w.alter_count > 0) {
            world_alter_answer(&w);
        } else {
            world_write_answer(&w);
        }
        for (int32_t i = 0; i < w.out.count; i++) {
            const struct moves_effect *e = &w.out.list[i];
            if (e->kind == MOVES_EFFECT_LIMITS && e->limits.count == 1) {
                limits_at = i;
                assert_int_equal(e->limits.groups[0].rate, 5000);
                assert_int_equal(e->limits.groups[0].count, 2);
                assert_int_equal(e->limits.groups[0].partitions[0].partition, 0); /* in order */
            } else if (e->kind == MOVES_EFFECT_ALTER && !e->alter.is_validate_only) {
                starts_at = i;
            }
        }
    }
    assert_true(limits_at >= 0 && limits_at < starts_at);
    world_settle(&w);
    world_move_end(&w, 0);
    world_move_end(&w, 1);
    world_settle(&w);
    assert_int_equal(w.limit_groups, 0);
    world_deinit(&w);
}

static void paused_moves_are_in_a_group_of_rate_0(void **state)
{
    (void)state;
    struct world w;
    world_init(&w, 2, world_no_limits);
    world_submit(&w, 0, 1, (int32_t[]){4, 5, 6}, world_request(MOVES_ACTION_SUBMIT));
    assert_int_equal(w.limit_groups, 0);
    struct moves_request r = world_request(MOVES_ACTION_PAUSE);
    world_ask(&w, &r);
    world_settle(&w);
    assert_int_equal(w.limit_groups, 1);
    assert_int_equal(w.limit_rate, 0);
    assert_int_equal(w.limit_partitions, 2);
    world_deinit(&w);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_limit_of_a_job_comes_before_its_moves_and_ends_with_it),
        cmocka_unit_test(paused_moves_are_in_a_group_of_rate_0),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
