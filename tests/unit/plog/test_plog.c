/*
 * Life and facts of a log: clean stop and return, sizes, epochs, topic ids, stable offsets.
 */
#include "plog/plog.h"

#include "plog/checkpoint.h"
#include "plog_fixture.h"

static void a_clean_stop_brings_everything_back(void **state)
{
    (void)state;
    struct fixture f;
    fixture_init(&f, 1);
    f.config.segment_bytes_max = 700;
    f.config.index_interval_bytes = 100;
    fixture_open(&f, false);
    fixture_fill(&f, 10, 2, 100);
    struct batch_spec spec = {.leader_epoch = 3,
                              .timestamp = 99,
                              .has_producer = true,
                              .producer_id = 9,
                              .producer_epoch = 0};
    assert_int_equal(10, fixture_append(&f, &spec).base_offset);
    int64_t bytes = plog_bytes(f.p);
    int segments = plog_segment_count(f.p);
    assert_int_equal(0, plog_close_clean(f.p, &f.em));
    fixture_crash(&f, false);
    assert_int_equal(0, fixture_open_at(&f, true, 11, 0));
    assert_int_equal(0, plog_start_offset(f.p));
    assert_int_equal(11, plog_end_offset(f.p));
    assert_int_equal(11, plog_recovery_point(f.p));
    assert_int_equal(bytes, plog_bytes(f.p));
    assert_int_equal(segments, plog_segment_count(f.p));
    assert_int_equal(3, plog_epoch_latest(f.p));
    assert_int_equal(2, plog_epoch_at(f.p, 9));
    assert_int_equal(1, plog_producer_count(f.p));
    struct plog_entry again = fixture_append(&f, &spec);
    assert_true(again.is_duplicate);
    assert_int_equal(10, again.base_offset);
    fixture_deinit(&f);
}

static void an_unused_log_leaves_no_trace(void **state)
{
    (void)state;
    struct fixture f;
    fixture_init(&f, 1);
    fixture_open(&f, false);
    plog_epoch_start(f.p, 4);
    assert_int_equal(0, plog_close_clean(f.p, &f.em));
    assert_false(plog_has_files(f.p));
    assert_int_equal(0, plog_bytes(f.p));
    assert_int_equal(0, plog_segment_count(f.p));
    assert_string_equal("t", plog_topic(f.p));
    assert_int_equal(0, plog_partition(f.p));
    assert_string_equal("/data", plog_dir_path(f.p));
    assert_string_equal("/data/t-0", plog_path(f.p));
    struct buf out;
    buf_init(&out);
    assert_int_equal(-E_NOT_FOUND, plog_file_load(f.env, "/data/t-0/partition.metadata", 99, &out));
    buf_deinit(&out);
    fixture_deinit(&f);
}

static void an_empty_log_starts_where_it_is_told(void **state)
{
    (void)state;
    struct fixture f;
    fixture_init(&f, 1);
    assert_int_equal(0, fixture_open_at(&f, false, 0, 500));
    assert_int_equal(500, plog_start_offset(f.p));
    assert_int_equal(500, plog_end_offset(f.p));
    fixture_fill(&f, 1, 0, 10);
    assert_true(fixture_exists(&f, "/data/t-0/00000000000000000500.log"));
    assert_int_equal(501, plog_end_offset(f.p));
    fixture_deinit(&f);
}

static void sizes_count_whole_segments(void **state)
{
    (void)state;
    struct fixture f;
    fixture_init(&f, 1);
    f.config.segment_bytes_max = 400;
    fixture_open(&f, false);
    fixture_fill(&f, 6, 0, 100);
    assert_int_equal(3, plog_segment_count(f.p));
    int64_t bytes = plog_bytes(f.p);
    assert_int_equal(bytes, plog_bytes_from(f.p, 0));
    assert_int_equal(bytes / 3 * 2, plog_bytes_from(f.p, 3));
    assert_int_equal(bytes / 3, plog_bytes_from(f.p, 5));
    assert_int_equal(0, plog_bytes_from(f.p, 6));
    fixture_deinit(&f);
}

static void epochs_follow_leadership(void **state)
{
    (void)state;
    struct fixture f;
    int32_t epoch = 0;
    int64_t end = 0;
    fixture_init(&f, 1);
    fixture_open(&f, false);
    assert_int_equal(-1, plog_epoch_latest(f.p));
    plog_epoch_start(f.p, 2);
    fixture_fill(&f, 3, 2, 10);
    plog_epoch_start(f.p, 5);
    plog_epoch_start(f.p, 4); /* old: no effect */
    assert_int_equal(5, plog_epoch_latest(f.p));
    plog_epoch_end(f.p, 2, &epoch, &end);
    assert_int_equal(2, epoch);
    assert_int_equal(3, end);
    plog_epoch_end(f.p, 5, &epoch, &end);
    assert_int_equal(5, epoch);
    assert_int_equal(3, end);
    plog_epoch_end(f.p, 6, &epoch, &end);
    assert_int_equal(-1, epoch);
    assert_int_equal(-1, end);
    fixture_deinit(&f);
}

static void another_topic_id_is_refused(void **state)
{
    (void)state;
    struct fixture f;
    fixture_init(&f, 1);
    fixture_open(&f, false);
    fixture_fill(&f, 1, 0, 10);
    struct uuid other = {{9}};
    assert_int_equal(0, plog_set_topic_id(f.p, other));
    assert_true(uuid_equal(other, plog_topic_id(f.p)));
    fixture_crash(&f, true);
    assert_int_equal(-E_INVALID, fixture_open_at(&f, false, 0, 0));
    assert_string_equal("/data/t-0 belongs to topic id CQAAAAAAAAAAAAAAAAAAAA, not "
                        "AQIDAAAAAAAAAAAAAAAAAA",
                        f.em.text);
    fixture_deinit(&f);
}

static void an_open_transaction_bounds_stable_reads(void **state)
{
    (void)state;
    struct fixture f;
    fixture_init(&f, 1);
    fixture_open(&f, false);
    fixture_fill(&f, 2, 0, 10);
    struct batch_spec spec = {.has_producer = true, .producer_id = 1, .is_transactional = true};
    assert_int_equal(0, fixture_append(&f, &spec).err);
    fixture_fill(&f, 2, 0, 10);
    assert_int_equal(2, plog_last_stable_offset(f.p, 5));
    assert_int_equal(1, plog_last_stable_offset(f.p, 1));
    fixture_crash(&f, true);
    fixture_open(&f, false);
    assert_int_equal(2, plog_last_stable_offset(f.p, 5));
    fixture_deinit(&f);
}

static void idle_producers_are_forgotten(void **state)
{
    (void)state;
    struct fixture f;
    fixture_init(&f, 1);
    f.config.producer_expiry_ms = 100;
    fixture_open(&f, false);
    struct batch_spec spec = {.has_producer = true, .producer_id = 1, .timestamp = 1000};
    assert_int_equal(0, fixture_append(&f, &spec).err);
    plog_expire_producers(f.p, 1099);
    assert_int_equal(1, plog_producer_count(f.p));
    plog_expire_producers(f.p, 1100);
    assert_int_equal(0, plog_producer_count(f.p));
    fixture_deinit(&f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_clean_stop_brings_everything_back),
        cmocka_unit_test(an_unused_log_leaves_no_trace),
        cmocka_unit_test(an_empty_log_starts_where_it_is_told),
        cmocka_unit_test(sizes_count_whole_segments),
        cmocka_unit_test(epochs_follow_leadership),
        cmocka_unit_test(another_topic_id_is_refused),
        cmocka_unit_test(an_open_transaction_bounds_stable_reads),
        cmocka_unit_test(idle_producers_are_forgotten),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
