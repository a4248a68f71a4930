/*
 * What the verbs share: finding segments, marks, snapshots kept and dropped, the lowered recovery point.
 */
#include "plog/state.h"

#include "plog_fixture.h"

static void segments_are_found_by_offset(void **state)
{
    (void)state;
    struct fixture f;
    fixture_init(&f, 1);
    f.config.segment_bytes_max = 300;
    fixture_open(&f, false);
    assert_int_equal(-1, plog_segment_at(f.p, 0));
    assert_null(plog_active(f.p));
    fixture_fill(&f, 6, 0, 150); /* one a segment */
    assert_int_equal(6, f.p->segment_count);
    for (int i = 0; i < 6; i++) {
        assert_int_equal(i, plog_segment_at(f.p, i));
    }
    assert_int_equal(5, plog_segment_at(f.p, 100));
    assert_int_equal(-1, plog_segment_at(f.p, -1));
    fixture_deinit(&f);
}

static void old_marks_give_way(void **state)
{
    (void)state;
    struct fixture f;
    fixture_init(&f, 1);
    fixture_open(&f, false);
    fixture_fill(&f, 1, 0, 10);
    plog_marks_clear(f.p);
    struct plog_segment *s = plog_active(f.p);
    for (int64_t i = 0; i <= PLOG_MARKS; i++) {
        plog_mark_add(f.p, s, 10 * i, (uint64_t)i);
    }
    assert_null(plog_mark_find(f.p, 0));
    assert_null(plog_mark_find(f.p, 11));
    assert_int_equal(1, plog_mark_find(f.p, 10)->pos);
    assert_int_equal(PLOG_MARKS, plog_mark_find(f.p, 10 * PLOG_MARKS)->pos);
    plog_mark_add(f.p, s, 10, 1); /* known already: takes no place */
    assert_non_null(plog_mark_find(f.p, 20));
    plog_marks_clear(f.p);
    assert_null(plog_mark_find(f.p, 20));
    fixture_deinit(&f);
}

/* One snapshot a roll; those of kept segments and the last two stay. */
static void snapshots_go_with_their_segments(void **state)
{
    (void)state;
    struct fixture f;
    struct plog_removal *removal = NULL;
    fixture_init(&f, 1);
    f.config.segment_bytes_max = 300;
    f.config.retention_bytes = 0;
    fixture_open(&f, false);
    fixture_fill(&f, 6, 0, 150);
    assert_int_equal(5, f.p->snapshot_count);
    assert_int_equal(0, plog_retain(f.p, 0, 3, &removal, &f.em));
    fixture_remove(removal);
    assert_int_equal(3, f.p->snapshot_count);
    assert_int_equal(3, f.p->snapshots[0]);
    assert_false(fixture_exists(&f, "/data/t-0/00000000000000000002.snapshot"));
    assert_true(fixture_exists(&f, "/data/t-0/00000000000000000003.snapshot"));
    assert_int_equal(0, plog_cut_snapshots(f.p, 4));
    assert_int_equal(2, f.p->snapshot_count);
    assert_int_equal(4, f.p->snapshots[1]);
    fixture_deinit(&f);
}

static void a_damaged_snapshot_is_replaced_by_reading_on(void **state)
{
    (void)state;
    struct fixture f;
    fixture_init(&f, 1);
    fixture_open(&f, false);
    for (int i = 0; i < 4; i++) {
        struct batch_spec spec = {
            .has_producer = true, .producer_id = i % 2, .base_sequence = i / 2};
        assert_int_equal(0, fixture_append(&f, &spec).err);
    }
    assert_int_equal(0, plog_close_clean(f.p, &f.em));
    fixture_crash(&f, true);
    assert_true(sim_disk_flip(f.node, "/data/t-0/00000000000000000004.snapshot", 12));
    assert_int_equal(0, fixture_open_at(&f, true, 4, 0));
    assert_int_equal(2, plog_producer_count(f.p));
    struct batch_spec spec = {.has_producer = true, .producer_id = 1, .base_sequence = 1};
    assert_int_equal(3, fixture_append(&f, &spec).base_offset);
    fixture_deinit(&f);
}

/* The checkpoint still says 8; what was appended over a truncation must be looked at all the same. */
static void a_truncation_is_remembered_against_a_stale_checkpoint(void **state)
{
    (void)state;
    struct fixture f;
    fixture_init(&f, 1);
    f.config.segment_bytes_max = 300;
    fixture_open(&f, false);
    fixture_fill(&f, 8, 0, 150);
    assert_int_equal(0, plog_flush_now(f.p));
    assert_int_equal(8, plog_recovery_point(f.p));
    assert_int_equal(0, plog_truncate_to(f.p, 2, &f.em));
    assert_int_equal(2, plog_recovery_point(f.p));
    assert_true(fixture_exists(&f, "/data/t-0/klamm-truncated"));
    fixture_fill(&f, 8, 1, 150);
    fixture_crash(&f, true);
    assert_true(sim_disk_flip(f.node, "/data/t-0/00000000000000000004.log", 100));
    assert_int_equal(0, fixture_open_at(&f, false, 8, 0));
    assert_int_equal(4, plog_end_offset(f.p));
    assert_int_equal(2, plog_recovery_point(f.p));
    fixture_fill(&f, 8, 1, 150);
    assert_int_equal(0, plog_flush_now(f.p));
    assert_false(fixture_exists(&f, "/data/t-0/klamm-truncated"));
    fixture_deinit(&f);
}

static void only_disk_errors_fail_a_log(void **state)
{
    (void)state;
    struct fixture f;
    fixture_init(&f, 1);
    fixture_open(&f, false);
    assert_int_equal(-E_CORRUPT, plog_fail(f.p, -E_CORRUPT));
    assert_int_equal(0, plog_fail(f.p, 0));
    assert_int_equal(0, plog_failure(f.p));
    assert_int_equal(-E_IO, plog_fail(f.p, -E_IO));
    assert_int_equal(-E_DISK_FULL, plog_fail(f.p, -E_DISK_FULL));
    assert_int_equal(-E_IO, plog_failure(f.p)); /* the first one is told */
    fixture_deinit(&f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(segments_are_found_by_offset),
        cmocka_unit_test(old_marks_give_way),
        cmocka_unit_test(snapshots_go_with_their_segments),
        cmocka_unit_test(a_damaged_snapshot_is_replaced_by_reading_on),
        cmocka_unit_test(a_truncation_is_remembered_against_a_stale_checkpoint),
        cmocka_unit_test(only_disk_errors_fail_a_log),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
