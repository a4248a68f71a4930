/*
 * Appending as leader and as follower: offsets, answers of single entries, rolling, errors.
 */
#include "plog/append.h"

#include "plog_fixture.h"

static void nothing_is_on_disk_before_the_first_append(void **state)
{
    (void)state;
    struct fixture f;
    fixture_init(&f, 1);
    fixture_open(&f, false);
    assert_false(plog_has_files(f.p));
    assert_int_equal(0, plog_append_leader(f.p, NULL, 0, 1));
    assert_false(fixture_exists(&f, "/data/t-0/00000000000000000000.log"));
    fixture_fill(&f, 1, 1, 10);
    assert_true(plog_has_files(f.p));
    assert_true(fixture_exists(&f, "/data/t-0/00000000000000000000.log"));
    assert_true(fixture_exists(&f, "/data/t-0/partition.metadata"));
    fixture_deinit(&f);
}

/* 200 batches: more than one write takes. */
static void offsets_and_epoch_are_assigned_in_place(void **state)
{
    (void)state;
    enum {
        COUNT = 200
    };
    struct fixture f;
    struct buf bytes;
    static struct plog_entry entries[COUNT];
    fixture_init(&f, 1);
    fixture_open(&f, false);
    buf_init(&bytes);
    for (int i = 0; i < COUNT; i++) {
        struct batch_spec spec = {.count = 1 + i % 3, .value_size = 20, .timestamp = i};
        batch_encode(&spec, &bytes);
    }
    struct slice left = buf_slice(&bytes);
    struct slice one;
    for (int i = 0; i < COUNT; i++) {
        assert_int_equal(1, record_batch_next(&left, &entries[i].batch, &one));
        entries[i].bytes = bytes.ptr + (one.ptr - bytes.ptr);
    }
    assert_int_equal(0, plog_append_leader(f.p, entries, COUNT, 9));
    int64_t expected = 0;
    for (int i = 0; i < COUNT; i++) {
        struct record_batch b;
        assert_int_equal(0, entries[i].err);
        assert_int_equal(expected, entries[i].base_offset);
        assert_int_equal(0, record_batch_parse(slice_of(entries[i].bytes, 61), &b));
        assert_int_equal(expected, b.base_offset);
        assert_int_equal(9, b.leader_epoch);
        expected += 1 + i % 3;
    }
    assert_int_equal(expected, plog_end_offset(f.p));
    struct buf found;
    buf_init(&found);
    assert_int_equal(0, fixture_read(&f, 0, INT64_MAX, 1 << 20, &found));
    assert_int_equal(bytes.len, found.len);
    assert_memory_equal(bytes.ptr, found.ptr, found.len);
    buf_deinit(&found);
    buf_deinit(&bytes);
    fixture_deinit(&f);
}

static struct batch_spec from_producer(int16_t epoch, int32_t sequence)
{
    return (struct batch_spec){.has_producer = true,
                               .producer_id = 5,
                               .producer_epoch = epoch,
                               .base_sequence = sequence,
                               .value_size = 10};
}

static void each_entry_has_its_own_answer(void **state)
{
    (void)state;
    struct fixture f;
    fixture_init(&f, 1);
    fixture_open(&f, false);
    struct batch_spec spec = from_producer(1, 0);
    assert_int_equal(0, fixture_append(&f, &spec).base_offset);
    struct plog_entry again = fixture_append(&f, &spec);
    assert_int_equal(0, again.err);
    assert_true(again.is_duplicate);
    assert_int_equal(0, again.base_offset);
    spec = from_producer(1, 5);
    assert_int_equal(-E_OUT_OF_ORDER, fixture_append(&f, &spec).err);
    spec = from_producer(0, 1);
    assert_int_equal(-E_FENCED, fixture_append(&f, &spec).err);
    spec = from_producer(1, 1);
    assert_int_equal(1, fixture_append(&f, &spec).base_offset);
    f.config.segment_bytes_max = 100;
    plog_set_config(f.p, &f.config);
    spec = (struct batch_spec){.value_size = 200};
    assert_int_equal(-E_TOO_LARGE, fixture_append(&f, &spec).err);
    assert_int_equal(2, plog_end_offset(f.p));
    assert_int_equal(0, plog_failure(f.p));
    fixture_deinit(&f);
}

static void a_full_segment_is_rolled(void **state)
{
    (void)state;
    struct fixture f;
    fixture_init(&f, 1);
    f.config.segment_bytes_max = 1000;
    fixture_open(&f, false);
    fixture_fill(&f, 10, 0, 300);
    assert_int_equal(5, plog_segment_count(f.p));
    assert_true(fixture_exists(&f, "/data/t-0/00000000000000000002.log"));
    assert_true(fixture_exists(&f, "/data/t-0/00000000000000000000.index"));
    assert_true(fixture_exists(&f, "/data/t-0/00000000000000000000.timeindex"));
    assert_true(fixture_exists(&f, "/data/t-0/00000000000000000008.snapshot"));
    fixture_deinit(&f);
}

static void time_rolls_a_segment_too(void **state)
{
    (void)state;
    struct fixture f;
    fixture_init(&f, 1);
    f.config.segment_ms = 100;
    fixture_open(&f, false);
    struct batch_spec spec = {.timestamp = 1000};
    assert_int_equal(0, fixture_append(&f, &spec).err);
    spec.timestamp = 1100;
    assert_int_equal(0, fixture_append(&f, &spec).err);
    assert_int_equal(1, plog_segment_count(f.p));
    spec.timestamp = 1101;
    assert_int_equal(0, fixture_append(&f, &spec).err);
    assert_int_equal(2, plog_segment_count(f.p));
    fixture_deinit(&f);
}

/* Clients choose timestamps; no sum or difference of them may overflow. */
static void absurd_timestamps_are_kept_and_found(void **state)
{
    (void)state;
    static const int64_t times[] = {0, INT64_MIN, -1, INT64_MAX, INT64_MIN, 5};
    struct fixture f;
    struct plog_time_hit hit;
    fixture_init(&f, 1);
    f.config.index_interval_bytes = 1;
    f.config.retention_ms = 100;
    fixture_open(&f, false);
    for (size_t i = 0; i < ARRAY_LEN(times); i++) {
        struct batch_spec spec = {.timestamp = times[i],
                                  .has_producer = true,
                                  .producer_id = 1,
                                  .base_sequence = (int32_t)i};
        assert_int_equal(0, fixture_append(&f, &spec).err);
    }
    assert_int_equal(0, plog_find_time(f.p, INT64_MIN, INT64_MAX, &hit));
    assert_int_equal(0, hit.offset);
    assert_int_equal(0, plog_find_time(f.p, INT64_MAX, INT64_MAX, &hit));
    assert_int_equal(3, hit.offset);
    struct plog_removal *removal = NULL;
    assert_int_equal(0, plog_retain(f.p, 1000, 6, &removal, &f.em));
    fixture_remove(removal);
    plog_expire_producers(f.p, 1000);
    fixture_crash(&f, true);
    fixture_open(&f, false);
    assert_int_equal(6, plog_end_offset(f.p));
    fixture_deinit(&f);
}

static void a_full_index_rolls_a_segment_too(void **state)
{
    (void)state;
    struct fixture f;
    fixture_init(&f, 1);
    f.config.index_interval_bytes = 1;
    f.config.index_bytes_max = 60;
    fixture_open(&f, false);
    fixture_fill(&f, 30, 0, 50);
    for (int i = 0; i < f.p->segment_count; i++) {
        assert_true(f.p->segments[i]->times.count * 12 <= 60);
    }
    assert_true(plog_segment_count(f.p) >= 6);
    fixture_deinit(&f);
}

/* Encodes `count` batches of one record from offset on. */
static void encode_run(int64_t offset, int count, int32_t epoch, struct buf *out)
{
    for (int i = 0; i < count; i++) {
        struct batch_spec spec = {
            .base_offset = offset + i, .leader_epoch = epoch, .value_size = 30, .timestamp = 5 + i};
        batch_encode(&spec, out);
    }
}

static int append_follower(struct fixture *f, struct slice bytes, struct plog_appended *appended)
{
    return plog_append_follower(f->p, bytes, appended, &f->em);
}

static void a_follower_keeps_bytes_and_epochs(void **state)
{
    (void)state;
    struct fixture f;
    struct buf bytes;
    struct buf found;
    struct plog_appended appended;
    fixture_init(&f, 1);
    fixture_open(&f, false);
    buf_init(&bytes);
    buf_init(&found);
    encode_run(0, 3, 2, &bytes);
    encode_run(3, 2, 4, &bytes);
    encode_run(9, 1, 4, &bytes); /* compaction at the leader left a gap */
    assert_int_equal(0, append_follower(&f, buf_slice(&bytes), &appended));
    assert_int_equal(0, appended.first_offset);
    assert_int_equal(9, appended.last_offset);
    assert_int_equal(6, appended.batch_count);
    assert_int_equal(bytes.len, appended.bytes);
    assert_int_equal(7, appended.max_timestamp);
    assert_int_equal(10, plog_end_offset(f.p));
    assert_int_equal(2, plog_epoch_at(f.p, 2));
    assert_int_equal(4, plog_epoch_at(f.p, 3));
    assert_int_equal(0, fixture_read(&f, 0, INT64_MAX, 1 << 20, &found));
    assert_int_equal(bytes.len, found.len);
    assert_memory_equal(bytes.ptr, found.ptr, found.len);
    buf_deinit(&found);
    buf_deinit(&bytes);
    fixture_deinit(&f);
}

static void a_partial_last_batch_is_left_out(void **state)
{
    (void)state;
    struct fixture f;
    struct buf bytes;
    struct plog_appended appended;
    fixture_init(&f, 1);
    fixture_open(&f, false);
    buf_init(&bytes);
    encode_run(0, 2, 0, &bytes);
    assert_int_equal(0, append_follower(&f, slice_of(bytes.ptr, bytes.len - 1), &appended));
    assert_int_equal(1, appended.batch_count);
    assert_int_equal(1, plog_end_offset(f.p));
    assert_int_equal(0, append_follower(&f, SLICE_NULL, &appended));
    assert_int_equal(0, appended.batch_count);
    assert_int_equal(1, appended.first_offset);
    buf_deinit(&bytes);
    fixture_deinit(&f);
}

static void bad_bytes_leave_a_follower_as_it_was(void **state)
{
    (void)state;
    struct fixture f;
    struct buf bytes;
    struct plog_appended appended;
    fixture_init(&f, 1);
    fixture_open(&f, false);
    buf_init(&bytes);
    encode_run(0, 2, 0, &bytes);
    assert_int_equal(0, append_follower(&f, buf_slice(&bytes), &appended));
    assert_int_equal(-E_OUT_OF_RANGE, append_follower(&f, buf_slice(&bytes), &appended));
    buf_clear(&bytes);
    encode_run(2, 3, 0, &bytes);
    bytes.ptr[bytes.len - 1] ^= 1;
    assert_int_equal(-E_CORRUPT, append_follower(&f, buf_slice(&bytes), &appended));
    buf_clear(&bytes);
    encode_run(2, 1, 0, &bytes);
    bytes.ptr[16] = 1;
    assert_int_equal(-E_UNSUPPORTED, append_follower(&f, buf_slice(&bytes), &appended));
    assert_int_equal(2, plog_end_offset(f.p));
    assert_int_equal(0, plog_failure(f.p));
    buf_deinit(&bytes);
    fixture_deinit(&f);
}

/* A relative offset has 31 bits. */
static void a_huge_gap_begins_a_segment(void **state)
{
    (void)state;
    struct fixture f;
    struct buf bytes;
    struct plog_appended appended;
    fixture_init(&f, 1);
    fixture_open(&f, false);
    buf_init(&bytes);
    encode_run(0, 1, 0, &bytes);
    encode_run(5000000000, 1, 0, &bytes);
    assert_int_equal(0, append_follower(&f, buf_slice(&bytes), &appended));
    assert_int_equal(2, plog_segment_count(f.p));
    assert_true(fixture_exists(&f, "/data/t-0/00000000005000000000.log"));
    assert_int_equal(5000000001, plog_end_offset(f.p));
    buf_deinit(&bytes);
    fixture_deinit(&f);
}

static void a_full_disk_fails_the_log_and_keeps_its_end(void **state)
{
    (void)state;
    struct fixture f;
    fixture_init(&f, 1);
    fixture_open(&f, false);
    fixture_fill(&f, 3, 0, 100);
    sim_disk_capacity(f.node, sim_disk_used(f.node) + 50);
    struct batch_spec spec = {.value_size = 100};
    assert_int_equal(-E_DISK_FULL, fixture_append(&f, &spec).err);
    assert_int_equal(-E_DISK_FULL, plog_failure(f.p));
    assert_int_equal(3, plog_end_offset(f.p));
    sim_disk_capacity(f.node, -1);
    assert_int_equal(-E_OFFLINE, fixture_append(&f, &spec).err);
    fixture_crash(&f, true);
    fixture_open(&f, false);
    assert_int_equal(3, plog_end_offset(f.p));
    fixture_deinit(&f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(nothing_is_on_disk_before_the_first_append),
        cmocka_unit_test(offsets_and_epoch_are_assigned_in_place),
        cmocka_unit_test(each_entry_has_its_own_answer),
        cmocka_unit_test(a_full_segment_is_rolled),
        cmocka_unit_test(time_rolls_a_segment_too),
        cmocka_unit_test(absurd_timestamps_are_kept_and_found),
        cmocka_unit_test(a_full_index_rolls_a_segment_too),
        cmocka_unit_test(a_follower_keeps_bytes_and_epochs),
        cmocka_unit_test(a_partial_last_batch_is_left_out),
        cmocka_unit_test(bad_bytes_leave_a_follower_as_it_was),
        cmocka_unit_test(a_huge_gap_begins_a_segment),
        cmocka_unit_test(a_full_disk_fails_the_log_and_keeps_its_end),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
