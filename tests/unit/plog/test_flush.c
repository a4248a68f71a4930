/*
 * Flushing: what moves the recovery point, what a truncation or the end of the log in between does.
 */
#include "plog/flush.h"

#include "plog_fixture.h"

static void the_recovery_point_moves_at_the_end(void **state)
{
    (void)state;
    struct fixture f;
    fixture_init(&f, 1);
    fixture_open(&f, false);
    assert_null(plog_flush_begin(f.p)); /* nothing there */
    fixture_fill(&f, 5, 0, 100);
    struct plog_flush *flush = plog_flush_begin(f.p);
    assert_non_null(flush);
    assert_null(plog_flush_begin(f.p)); /* one at a time */
    fixture_fill(&f, 2, 0, 100);
    plog_flush_run(flush);
    assert_int_equal(0, plog_recovery_point(f.p));
    assert_int_equal(0, plog_flush_end(flush));
    assert_int_equal(5, plog_recovery_point(f.p));
    assert_int_equal(0, plog_flush_now(f.p));
    assert_int_equal(7, plog_recovery_point(f.p));
    assert_null(plog_flush_begin(f.p));
    fixture_deinit(&f);
}

static void what_was_flushed_survives_a_power_loss(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed <= 20; seed++) {
        struct fixture f;
        fixture_init(&f, seed);
        f.config.segment_bytes_max = 500;
        fixture_open(&f, false);
        fixture_fill(&f, 5, 3, 100);
        assert_int_equal(0, plog_flush_now(f.p));
        fixture_fill(&f, 5, 4, 100);
        fixture_crash(&f, false);
        assert_int_equal(0, fixture_open_at(&f, false, 5, 0));
        assert_true(plog_end_offset(f.p) >= 5);
        assert_int_equal(3, plog_epoch_at(f.p, 4));
        assert_int_equal(1, plog_topic_id(f.p).bytes[0]);
        fixture_deinit(&f);
    }
}

static void a_truncation_in_between_lowers_what_counts(void **state)
{
    (void)state;
    struct fixture f;
    fixture_init(&f, 1);
    fixture_open(&f, false);
    fixture_fill(&f, 6, 0, 100);
    struct plog_flush *flush = plog_flush_begin(f.p);
    assert_int_equal(0, plog_truncate_to(f.p, 3, &f.em));
    fixture_fill(&f, 6, 1, 100);
    plog_flush_run(flush);
    assert_int_equal(0, plog_flush_end(flush));
    assert_int_equal(3, plog_recovery_point(f.p));
    fixture_deinit(&f);
}

static void a_flush_outlives_its_log(void **state)
{
    (void)state;
    for (int i = 0; i < 2; i++) {
        struct fixture f;
        fixture_init(&f, 1);
        fixture_open(&f, false);
        fixture_fill(&f, 3, 0, 100);
        struct plog_flush *flush = plog_flush_begin(f.p);
        struct plog_removal *removal = NULL;
        if (i == 0) {
            plog_free(f.p);
            f.p = NULL;
        } else {
            assert_int_equal(0, plog_truncate_fully(f.p, 70, &removal, &f.em));
        }
        plog_flush_run(flush);
        assert_int_equal(0, plog_flush_end(flush));
        plog_removal_free(removal);
        if (i == 1) {
            assert_int_equal(0, plog_failure(f.p));
            assert_int_equal(70, plog_recovery_point(f.p));
        }
        fixture_deinit(&f);
    }
}

/* Each operation of the sync fails once: the log is failed for good and its recovery point stays. */
static void a_failed_sync_is_never_taken_back(void **state)
{
    (void)state;
    int err = -1;
    for (int64_t n = 1; err != 0; n++) {
        struct fixture f;
        fixture_init(&f, 1);
        fixture_open(&f, false);
        fixture_fill(&f, 3, 0, 100);
        struct plog_flush *flush = plog_flush_begin(f.p);
        sim_disk_fail_at(f.node, n, E_IO);
        plog_flush_run(flush);
        sim_disk_fail_at(f.node, 0, E_IO);
        err = plog_flush_end(flush);
        assert_int_equal(err, plog_failure(f.p));
        if (err != 0) {
            assert_int_equal(-E_IO, err);
            assert_int_equal(0, plog_recovery_point(f.p));
            assert_null(plog_flush_begin(f.p));
            assert_int_equal(-E_IO, plog_flush_now(f.p));
        }
        fixture_deinit(&f);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_recovery_point_moves_at_the_end),
        cmocka_unit_test(what_was_flushed_survives_a_power_loss),
        cmocka_unit_test(a_truncation_in_between_lowers_what_counts),
        cmocka_unit_test(a_flush_outlives_its_log),
        cmocka_unit_test(a_failed_sync_is_never_taken_back),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
