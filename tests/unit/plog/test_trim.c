/*
 * Truncation and retention.
 */
#include "plog/trim.h"

#include "plog_fixture.h"

/* Ten batches, two a segment, timestamps 1000 + offset. */
static void bench_init(struct fixture *f)
{
    fixture_init(f, 1);
    f->config.segment_bytes_max = 500;
    f->config.retention_ms = -1;
    fixture_open(f, false);
    fixture_fill(f, 4, 1, 150);
    fixture_fill(f, 6, 2, 150);
    assert_int_equal(5, plog_segment_count(f->p));
}

static void truncation_cuts_records_epochs_and_producers(void **state)
{
    (void)state;
    struct fixture f;
    bench_init(&f);
    struct batch_spec spec = {.leader_epoch = 3, .has_producer = true, .producer_id = 1};
    assert_int_equal(10, fixture_append(&f, &spec).base_offset);
    assert_int_equal(0, plog_truncate_to(f.p, 3, &f.em));
    assert_int_equal(3, plog_end_offset(f.p));
    assert_int_equal(2, plog_segment_count(f.p));
    assert_int_equal(1, plog_epoch_latest(f.p));
    assert_int_equal(0, plog_producer_count(f.p));
    assert_false(fixture_exists(&f, "/data/t-0/00000000000000000004.log"));
    fixture_fill(&f, 2, 4, 150);
    assert_int_equal(5, plog_end_offset(f.p));
    fixture_deinit(&f);
}

static void truncation_keeps_whole_batches(void **state)
{
    (void)state;
    struct fixture f;
    fixture_init(&f, 1);
    fixture_open(&f, false);
    struct batch_spec spec = {.count = 4};
    assert_int_equal(0, fixture_append(&f, &spec).base_offset);
    assert_int_equal(4, fixture_append(&f, &spec).base_offset);
    assert_int_equal(0, plog_truncate_to(f.p, 8, &f.em));
    assert_int_equal(8, plog_end_offset(f.p));
    assert_int_equal(0, plog_truncate_to(f.p, 6, &f.em));
    assert_int_equal(4, plog_end_offset(f.p));
    assert_int_equal(0, plog_truncate_to(f.p, 0, &f.em));
    assert_int_equal(0, plog_end_offset(f.p));
    assert_int_equal(0, plog_bytes(f.p));
    fixture_deinit(&f);
}

/* A leader without a record leaves an epoch that starts at the end; the next leader may not know it. */
static void truncation_to_the_end_forgets_an_epoch_without_records(void **state)
{
    (void)state;
    struct fixture f;
    bench_init(&f);
    plog_epoch_start(f.p, 7);
    assert_int_equal(7, plog_epoch_latest(f.p));
    assert_int_equal(0, plog_truncate_to(f.p, 10, &f.em));
    assert_int_equal(10, plog_end_offset(f.p));
    assert_int_equal(2, plog_epoch_latest(f.p));
    fixture_deinit(&f);
}

static void truncation_does_not_go_below_the_start(void **state)
{
    (void)state;
    struct fixture f;
    fixture_init(&f, 1);
    fixture_open(&f, false);
    struct batch_spec spec = {.count = 4};
    assert_int_equal(0, fixture_append(&f, &spec).base_offset);
    plog_raise_start(f.p, 2);
    assert_int_equal(0, plog_truncate_to(f.p, 1, &f.em));
    assert_int_equal(2, plog_start_offset(f.p));
    assert_int_equal(2, plog_end_offset(f.p));
    assert_int_equal(0, plog_bytes(f.p));
    assert_int_equal(2, fixture_append(&f, &spec).base_offset);
    fixture_deinit(&f);
}

/* Also when the next thing is a power loss: what was cut does not come back. */
static void truncation_is_synced(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed < 20; seed++) {
        struct fixture f;
        bench_init(&f);
        assert_int_equal(0, plog_flush_now(f.p));
        assert_int_equal(0, plog_truncate_to(f.p, 5, &f.em));
        fixture_crash(&f, false);
        assert_int_equal(0, fixture_open_at(&f, false, 10, 0));
        assert_int_equal(5, plog_end_offset(f.p));
        fixture_deinit(&f);
    }
}

static void full_truncation_starts_anywhere(void **state)
{
    (void)state;
    struct fixture f;
    struct plog_removal *removal = NULL;
    bench_init(&f);
    assert_int_equal(0, plog_truncate_fully(f.p, 700, &removal, &f.em));
    fixture_remove(removal);
    assert_int_equal(700, plog_start_offset(f.p));
    assert_int_equal(700, plog_end_offset(f.p));
    assert_int_equal(-1, plog_epoch_latest(f.p));
    assert_false(plog_has_files(f.p));
    assert_int_equal(0, plog_truncate_fully(f.p, 5, &removal, &f.em));
    assert_null(removal);
    fixture_fill(&f, 1, 9, 10);
    assert_int_equal(6, plog_end_offset(f.p));
    assert_true(fixture_exists(&f, "/data/t-0/00000000000000000005.log"));
    fixture_deinit(&f);
}

static void retain(struct fixture *f, int64_t wall_ms, int64_t high_watermark, int64_t start)
{
    struct plog_removal *removal = NULL;
    plog_set_config(f->p, &f->config);
    assert_int_equal(0, plog_retain(f->p, wall_ms, high_watermark, &removal, &f->em));
    fixture_remove(removal);
    assert_int_equal(start, plog_start_offset(f->p));
}

static void size_takes_whole_segments_below_the_high_watermark(void **state)
{
    (void)state;
    struct fixture f;
    bench_init(&f);
    int64_t segment = plog_bytes(f.p) / 5;
    f.config.retention_bytes = 3 * segment + 1;
    retain(&f, 0, 10, 2);
    f.config.retention_bytes = 3 * segment;
    retain(&f, 0, 3, 2); /* the next one ends at 4 */
    retain(&f, 0, 4, 4);
    assert_false(fixture_exists(&f, "/data/t-0/00000000000000000002.log"));
    assert_false(fixture_exists(&f, "/data/t-0/00000000000000000002.log.deleted"));
    assert_true(fixture_exists(&f, "/data/t-0/00000000000000000004.log"));
    assert_int_equal(2, plog_epoch_at(f.p, 4));
    assert_int_equal(10, plog_end_offset(f.p));
    fixture_deinit(&f);
}

static void time_takes_segments_and_rolls_the_active_one(void **state)
{
    (void)state;
    struct fixture f;
    bench_init(&f);
    f.config.retention_ms = 100;
    retain(&f, 1101, 10, 0); /* offset 1 is 100 ms old */
    retain(&f, 1102, 10, 2);
    retain(&f, 5000, 9, 8);
    retain(&f, 5000, 10, 10);
    assert_int_equal(1, plog_segment_count(f.p));
    assert_int_equal(0, plog_bytes(f.p));
    retain(&f, 9000, 10, 10); /* an empty active segment stays */
    fixture_fill(&f, 1, 5, 10);
    assert_int_equal(11, plog_end_offset(f.p));
    fixture_deinit(&f);
}

static void without_delete_only_the_log_start_counts(void **state)
{
    (void)state;
    struct fixture f;
    bench_init(&f);
    f.config.delete_old = false;
    f.config.retention_ms = 0;
    f.config.retention_bytes = 0;
    retain(&f, 99999, 10, 0);
    plog_raise_start(f.p, 5);
    retain(&f, 99999, 10, 5);
    assert_int_equal(3, plog_segment_count(f.p)); /* the one that holds 5 stays */
    assert_true(fixture_exists(&f, "/data/t-0/00000000000000000004.log"));
    fixture_deinit(&f);
}

static void the_start_only_rises_and_stays_in_the_log(void **state)
{
    (void)state;
    struct fixture f;
    bench_init(&f);
    plog_raise_start(f.p, 4);
    plog_raise_start(f.p, 3);
    assert_int_equal(4, plog_start_offset(f.p));
    plog_raise_start(f.p, 99);
    assert_int_equal(10, plog_start_offset(f.p));
    fixture_deinit(&f);
}

static void deleted_files_wait_for_their_removal(void **state)
{
    (void)state;
    struct fixture f;
    struct plog_removal *removal = NULL;
    bench_init(&f);
    f.config.retention_bytes = 0;
    plog_set_config(f.p, &f.config);
    assert_int_equal(0, plog_retain(f.p, 0, 2, &removal, &f.em));
    assert_true(fixture_exists(&f, "/data/t-0/00000000000000000000.log.deleted"));
    assert_true(fixture_exists(&f, "/data/t-0/00000000000000000000.index.deleted"));
    fixture_remove(removal);
    assert_false(fixture_exists(&f, "/data/t-0/00000000000000000000.log.deleted"));
    fixture_deinit(&f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(truncation_cuts_records_epochs_and_producers),
        cmocka_unit_test(truncation_keeps_whole_batches),
        cmocka_unit_test(truncation_to_the_end_forgets_an_epoch_without_records),
        cmocka_unit_test(truncation_does_not_go_below_the_start),
        cmocka_unit_test(truncation_is_synced),
        cmocka_unit_test(full_truncation_starts_anywhere),
        cmocka_unit_test(size_takes_whole_segments_below_the_high_watermark),
        cmocka_unit_test(time_takes_segments_and_rolls_the_active_one),
        cmocka_unit_test(without_delete_only_the_log_start_counts),
        cmocka_unit_test(the_start_only_rises_and_stays_in_the_log),
        cmocka_unit_test(deleted_files_wait_for_their_removal),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
