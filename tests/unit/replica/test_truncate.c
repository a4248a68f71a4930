/*
 * Where parted logs meet again (docs/spec/reassignment.md 11.6, 11.7; row 69).
 */
#include "replica/truncate.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

static void leader_finds_divergence_by_epoch_and_end(void **state)
{
    (void)state;
    static const struct {
        struct replica_epoch_end ours;
        int32_t last_epoch;
        int64_t offset;
        int err;
        bool is_diverging;
    } rows[] = {
        {{5, 100}, 5, 100, 0, false},              /* the follower is at our end */
        {{5, 100}, 5, 40, 0, false},               /* or on its way */
        {{5, 100}, 5, 101, 0, true},               /* it has more of that epoch than we */
        {{3, 50}, 4, 60, 0, true},                 /* its epoch never came here */
        {{3, 50}, 4, 50, 0, true},                 /* ... even at the same offset */
        {{-1, -1}, 5, 10, -E_OUT_OF_RANGE, false}, /* we know nothing of that time */
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        bool is_diverging = false;
        assert_int_equal(
            replica_truncate_check(rows[i].ours, rows[i].last_epoch, rows[i].offset, &is_diverging),
            rows[i].err);
        assert_int_equal(is_diverging, rows[i].is_diverging);
    }
}

static void follower_truncates_as_the_table_says(void **state)
{
    (void)state;
    static const struct {
        struct replica_truncate_input in;
        int64_t offset;
        bool is_final;
    } rows[] = {
        /* The leader knows nothing: back to what was committed. */
        {{{-1, -1}, {-1, -1}, 40, 0, 100}, 40, true},
        /* The leader has an end but no epoch. */
        {{{-1, 70}, {5, 100}, 40, 0, 100}, 70, true},
        /* Row 69: same epoch, the leader ended earlier. */
        {{{4, 80}, {4, 100}, 40, 0, 100}, 80, true},
        /* Same epoch, we ended earlier. */
        {{{4, 120}, {4, 100}, 40, 0, 110}, 100, true},
        /* We lack the leader's epoch: cut to the end of our smaller one and ask again. */
        {{{4, 80}, {3, 60}, 40, 0, 100}, 60, false},
        /* We have no epoch that old. */
        {{{4, 80}, {-1, -1}, 40, 0, 100}, 80, true},
        /* Never below the log start, never above the end. */
        {{{4, 10}, {4, 100}, 40, 30, 100}, 30, true},
        {{{-1, 500}, {-1, -1}, 40, 0, 100}, 100, true},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        struct replica_truncation cut = replica_truncate_offset(&rows[i].in);
        assert_int_equal(cut.offset, rows[i].offset);
        assert_int_equal(cut.is_final, rows[i].is_final);
    }
}

static void out_of_range_ends_in_a_range_both_have(void **state)
{
    (void)state;
    assert_int_equal(replica_resync_latest(100, 80), REPLICA_RESYNC_TRUNCATE);
    assert_int_equal(replica_resync_latest(100, 100), REPLICA_RESYNC_EARLIEST);
    assert_int_equal(replica_resync_latest(100, 500), REPLICA_RESYNC_EARLIEST);
    assert_int_equal(replica_resync_earliest(100, 200), REPLICA_RESYNC_RESTART);
    assert_int_equal(replica_resync_earliest(100, 100), REPLICA_RESYNC_FETCH);
    assert_int_equal(replica_resync_earliest(100, 0), REPLICA_RESYNC_FETCH);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(leader_finds_divergence_by_epoch_and_end),
        cmocka_unit_test(follower_truncates_as_the_table_says),
        cmocka_unit_test(out_of_range_ends_in_a_range_both_have),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
