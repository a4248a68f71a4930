/*
 * Rows of docs/spec/reassignment.md section 15 and its worked traces 6.7. Epochs count the writes of
 * decision 13: B4 and U3 remove all replicas in one write, so trace 1 ends 3 above its start.
 */
#include "unit/control/harness.h"

static void row_16_factor_one_moves_with_three_epochs(void **state)
{
    struct world w;
    (void)state;
    world_with(&w, 2, "1");
    assert_int_equal(world_alter(&w, "t", 0, "2"), 0);
    assert_string_equal(world_text(&w, "t", 0), "RS[2,1] AR[2] RR[1] leader 1 isr [1] epoch 1");
    assert_int_equal(world_isr(&w, "t", 0, "1,2"), 0);
    assert_string_equal(world_text(&w, "t", 0), "RS[2] leader 2 isr [2] epoch 3");
    assert_int_equal(control_writes_pending(w.core), 0);
    world_deinit(&w);
}

static void row_17_requests_leave_in_order(void **state)
{
    struct world w;
    (void)state;
    world_with(&w, 6, "1,2,3");
    assert_int_equal(world_alter(&w, "t", 0, "4,5,6"), 0);
    buf_clear(&w.sent);
    assert_int_equal(world_isr(&w, "t", 0, "1,2,3,4,5,6"), 0);
    assert_string_equal(world_text(&w, "t", 0), "RS[4,5,6] leader 4 isr [4,5,6] epoch 3");
    world_deinit(&w);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(row_16_factor_one_moves_with_three_epochs),
        cmocka_unit_test(row_17_requests_leave_in_order),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
