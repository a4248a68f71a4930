/*
 * One segment: index entries by the interval, sealing and loading, finding, truncation.
 */
#include "plog/segment.h"

#include "plog_fixture.h"

#define INTERVAL 250

struct bench {
    struct fixture f;
    struct plog_segment *s;
    size_t batch_len;
};

/* `count` batches of one record, base 100, timestamps 10, 20, 30, ... */
static void bench_init(struct bench *b, int count)
{
    *b = (struct bench){0};
    fixture_init(&b->f, 1);
    assert_int_equal(0, plog_segment_create(b->f.files, FIXTURE_DIR, 100, &b->s));
    for (int i = 0; i < count; i++) {
        struct buf bytes;
        struct record_batch batch;
        struct env_file *file = NULL;
        struct batch_spec spec = {
            .base_offset = 100 + i, .value_size = 30, .timestamp = 10 * (i + 1)};
        buf_init(&bytes);
        batch_encode(&spec, &bytes);
        assert_int_equal(0, record_batch_parse(buf_slice(&bytes), &batch));
        assert_int_equal(0, plog_segment_file(b->s, &file));
        assert_int_equal(0, env_file_write(file, bytes.ptr, bytes.len, b->s->size));
        plog_segment_note(b->s, &batch, INTERVAL);
        b->batch_len = bytes.len;
        buf_deinit(&bytes);
    }
}

static void bench_deinit(struct bench *b)
{
    plog_segment_free(b->s);
    fixture_deinit(&b->f);
}

static int64_t get(struct bench *b, const struct plog_index *x, uint32_t i,
                   enum plog_index_field field)
{
    int64_t value = -1;
    struct env_file *file = x == &b->s->offsets ? b->s->offsets_file : b->s->times_file;
    assert_int_equal(0, plog_index_get(x, file, i, field, &value));
    return value;
}

/* With 250 bytes between and batches of about 100, every third batch has an entry. */
static void an_entry_names_the_last_offset_and_start_of_its_batch(void **state)
{
    (void)state;
    struct bench b;
    bench_init(&b, 10);
    assert_int_equal(3, b.s->offsets.count);
    for (uint32_t i = 0; i < 3; i++) {
        int64_t batch = 3 * (i + 1);
        assert_int_equal(batch, get(&b, &b.s->offsets, i, PLOG_INDEX_OFFSET));
        assert_int_equal((int64_t)b.batch_len * batch,
                         get(&b, &b.s->offsets, i, PLOG_INDEX_POSITION));
        assert_int_equal(10 * (batch + 1), get(&b, &b.s->times, i, PLOG_INDEX_TIME));
        assert_int_equal(batch, get(&b, &b.s->times, i, PLOG_INDEX_TIME_OFFSET));
    }
    assert_int_equal(100, b.s->max_timestamp);
    assert_int_equal(109, b.s->max_timestamp_offset);
    assert_int_equal(10, b.s->first_timestamp);
    assert_int_equal(110, b.s->next_offset);
    bench_deinit(&b);
}

static void sealing_adds_the_last_time_and_loading_finds_it(void **state)
{
    (void)state;
    struct bench b;
    bench_init(&b, 11);
    assert_int_equal(0, plog_segment_seal(b.s));
    assert_int_equal(4, b.s->times.count);
    assert_int_equal(110, get(&b, &b.s->times, 3, PLOG_INDEX_TIME));
    uint64_t size = b.s->size;
    plog_segment_free(b.s);
    b.s = NULL;
    assert_int_equal(0, plog_segment_open(b.f.files, FIXTURE_DIR, 100, &b.s));
    assert_int_equal(size, b.s->size);
    assert_int_equal(0, plog_segment_load(b.s));
    assert_int_equal(110, b.s->max_timestamp);
    assert_int_equal(110, b.s->max_timestamp_offset);
    assert_int_equal(10, b.s->first_timestamp);
    assert_int_equal(0, plog_segment_activate(b.s, INTERVAL));
    assert_int_equal(111, b.s->next_offset);
    assert_int_equal(size, b.s->size);
    assert_int_equal(2 * b.batch_len, b.s->unindexed);
    bench_deinit(&b);
}

static void check_finding(struct bench *b)
{
    struct plog_place place;
    for (int64_t i = 0; i < 10; i++) {
        assert_int_equal(0, plog_segment_locate(b->s, 100 + i, &place));
        assert_int_equal(i * (int64_t)b->batch_len, place.pos);
        assert_int_equal(100 + i, place.base_offset);
        struct plog_place start = {0, 100};
        assert_int_equal(1, plog_segment_locate_time(b->s, 10 * i + 5, start, &place));
        assert_int_equal(100 + i, place.base_offset);
        assert_int_equal(0, plog_segment_locate_pos(b->s, 0, (uint64_t)i * b->batch_len, &place));
        assert_int_equal(100 + i, place.base_offset);
        assert_int_equal(
            0, plog_segment_locate_pos(b->s, 0, (uint64_t)(i + 1) * b->batch_len - 1, &place));
        assert_int_equal(100 + i, place.base_offset);
        assert_int_equal(0, plog_segment_batch_end(b->s, (uint64_t)i * b->batch_len, &place));
        assert_int_equal(101 + i, place.base_offset);
    }
    struct plog_place start = {0, 100};
    assert_int_equal(0, plog_segment_locate_time(b->s, 101, start, &place));
    assert_int_equal(0, plog_segment_locate(b->s, 110, &place));
    assert_int_equal(b->s->size, place.pos);
    assert_int_equal(0, plog_segment_locate_pos(b->s, 0, UINT64_MAX, &place));
    assert_int_equal(110, place.base_offset);
    start = (struct plog_place){5 * b->batch_len, 105};
    assert_int_equal(1, plog_segment_locate_time(b->s, 0, start, &place));
    assert_int_equal(105, place.base_offset);
}

static void active_and_sealed_find_the_same(void **state)
{
    (void)state;
    struct bench b;
    bench_init(&b, 10);
    check_finding(&b);
    assert_int_equal(0, plog_segment_seal(b.s));
    check_finding(&b);
    plog_segment_close_files(b.s);
    check_finding(&b);
    bench_deinit(&b);
}

static void truncation_leaves_what_appending_less_would_have_made(void **state)
{
    (void)state;
    for (int kept = 0; kept <= 10; kept++) {
        for (int is_sealed = 0; is_sealed < 2; is_sealed++) {
            struct bench b;
            struct bench less;
            bench_init(&b, 10);
            bench_init(&less, kept);
            if (is_sealed == 1) {
                assert_int_equal(0, plog_segment_seal(b.s));
            }
            assert_int_equal(0, plog_segment_truncate(b.s, 100 + kept, INTERVAL));
            assert_int_equal(less.s->size, b.s->size);
            assert_int_equal(less.s->next_offset, b.s->next_offset);
            assert_int_equal(less.s->max_timestamp, b.s->max_timestamp);
            assert_int_equal(less.s->unindexed, b.s->unindexed);
            assert_int_equal(less.s->offsets.count, b.s->offsets.count);
            assert_int_equal(less.s->times.count, b.s->times.count);
            bench_deinit(&less);
            bench_deinit(&b);
        }
    }
}

static void ignore_batch(void *arg, const struct record_batch *b)
{
    int *count = arg;
    (void)b;
    (*count)++;
}

static void recovery_builds_the_same_indexes(void **state)
{
    (void)state;
    struct bench b;
    struct bench fresh;
    uint64_t bad = 1;
    int count = 0;
    bench_init(&b, 10);
    bench_init(&fresh, 10);
    assert_int_equal(0, plog_segment_seal(b.s));
    assert_int_equal(0, plog_segment_recover(b.s, INTERVAL, ignore_batch, &count, &bad));
    assert_int_equal(0, bad);
    assert_int_equal(10, count);
    assert_int_equal(fresh.s->offsets.count, b.s->offsets.count);
    assert_memory_equal(fresh.s->offsets.entries, b.s->offsets.entries, 3 * 8);
    assert_memory_equal(fresh.s->times.entries, b.s->times.entries, 3 * 12);
    assert_int_equal(fresh.s->unindexed, b.s->unindexed);
    bench_deinit(&fresh);
    bench_deinit(&b);
}

static void a_new_segment_hides_old_files_of_its_name(void **state)
{
    (void)state;
    struct bench b;
    bench_init(&b, 10);
    assert_int_equal(0, plog_segment_seal(b.s));
    plog_segment_free(b.s);
    assert_int_equal(0, plog_segment_create(b.f.files, FIXTURE_DIR, 100, &b.s));
    assert_int_equal(0, b.s->size);
    assert_int_equal(0, plog_segment_finish(b.s));
    plog_segment_free(b.s);
    assert_int_equal(0, plog_segment_open(b.f.files, FIXTURE_DIR, 100, &b.s));
    assert_int_equal(0, plog_segment_load(b.s));
    assert_int_equal(0, b.s->offsets.count);
    assert_int_equal(0, b.s->times.count);
    bench_deinit(&b);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_entry_names_the_last_offset_and_start_of_its_batch),
        cmocka_unit_test(sealing_adds_the_last_time_and_loading_finds_it),
        cmocka_unit_test(active_and_sealed_find_the_same),
        cmocka_unit_test(truncation_leaves_what_appending_less_would_have_made),
        cmocka_unit_test(recovery_builds_the_same_indexes),
        cmocka_unit_test(a_new_segment_hides_old_files_of_its_name),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
