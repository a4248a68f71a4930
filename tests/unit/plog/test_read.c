/*
 * Spans: whole batches, bounds, ranges; and lookups by time.
 */
#include "plog/read.h"

#include "plog_fixture.h"

/* Ten batches of two records and 1000 ms steps, two of them a segment. */
static void bench_init(struct fixture *f)
{
    fixture_init(f, 1);
    f->config.segment_bytes_max = 600;
    f->config.index_interval_bytes = 100;
    fixture_open(f, false);
    for (int i = 0; i < 10; i++) {
        struct batch_spec spec = {
            .leader_epoch = i / 5, .count = 2, .value_size = 100, .timestamp = 1000 * (i + 1)};
        assert_int_equal(0, fixture_append(f, &spec).err);
    }
    assert_int_equal(5, plog_segment_count(f->p));
}

static struct plog_span read_span(struct fixture *f, struct plog_read_args args)
{
    struct plog_span span;
    assert_int_equal(0, plog_read(f->p, &args, &span));
    env_file_unref(span.file);
    return span;
}

static void spans_hold_whole_batches_within_the_bytes(void **state)
{
    (void)state;
    struct fixture f;
    bench_init(&f);
    uint32_t one = (uint32_t)f.p->segments[0]->size / 2;
    struct plog_span span = read_span(&f, (struct plog_read_args){0, INT64_MAX, 10000, false});
    assert_int_equal(2 * one, span.len);
    assert_int_equal(0, span.pos);
    assert_int_equal(4, span.next_offset);
    span = read_span(&f, (struct plog_read_args){0, INT64_MAX, 2 * one - 1, false});
    assert_int_equal(one, span.len);
    assert_int_equal(2, span.next_offset);
    span = read_span(&f, (struct plog_read_args){3, INT64_MAX, 10000, false});
    assert_int_equal(one, span.pos); /* the batch that holds offset 3 */
    assert_int_equal(one, span.len);
    fixture_deinit(&f);
}

static void a_batch_too_large_comes_only_when_asked_for(void **state)
{
    (void)state;
    struct fixture f;
    bench_init(&f);
    struct plog_span span = read_span(&f, (struct plog_read_args){0, INT64_MAX, 1, false});
    assert_int_equal(0, span.len);
    assert_null(span.file);
    assert_int_equal(0, span.next_offset);
    span = read_span(&f, (struct plog_read_args){0, INT64_MAX, 1, true});
    assert_int_equal(2, span.next_offset);
    assert_int_equal(0, read_span(&f, (struct plog_read_args){0, INT64_MAX, 0, false}).len);
    fixture_deinit(&f);
}

static void nothing_at_or_above_the_upper_bound_is_read(void **state)
{
    (void)state;
    struct fixture f;
    bench_init(&f);
    assert_int_equal(2, read_span(&f, (struct plog_read_args){0, 2, 10000, true}).next_offset);
    assert_int_equal(2, read_span(&f, (struct plog_read_args){0, 3, 10000, true}).next_offset);
    assert_int_equal(0, read_span(&f, (struct plog_read_args){0, 1, 10000, true}).len);
    assert_int_equal(0, read_span(&f, (struct plog_read_args){4, 4, 10000, true}).len);
    assert_int_equal(0, read_span(&f, (struct plog_read_args){8, 4, 10000, true}).len);
    assert_int_equal(0, read_span(&f, (struct plog_read_args){20, INT64_MAX, 100, true}).len);
    fixture_deinit(&f);
}

static void offsets_outside_the_log_are_out_of_range(void **state)
{
    (void)state;
    struct fixture f;
    struct plog_span span;
    bench_init(&f);
    struct plog_read_args args = {.offset = 21, .upper = INT64_MAX, .max_bytes = 100};
    assert_int_equal(-E_OUT_OF_RANGE, plog_read(f.p, &args, &span));
    plog_raise_start(f.p, 5);
    args.offset = 4;
    assert_int_equal(-E_OUT_OF_RANGE, plog_read(f.p, &args, &span));
    args.offset = 5;
    assert_int_equal(0, plog_read(f.p, &args, &span));
    env_file_unref(span.file);
    assert_int_equal(0, plog_failure(f.p));
    fixture_deinit(&f);
}

/* A reader at the tail finds its batches among the marks: no disk operation but the opening. */
static void tail_reads_touch_no_index(void **state)
{
    (void)state;
    struct fixture f;
    fixture_init(&f, 1);
    fixture_open(&f, false);
    fixture_fill(&f, 3, 0, 100);
    int64_t offset = 0;
    for (int i = 0; i < 50; i++) {
        int64_t before = sim_disk_operations(f.node);
        struct plog_span span =
            read_span(&f, (struct plog_read_args){offset, plog_end_offset(f.p), 1 << 20, true});
        assert_int_equal(plog_end_offset(f.p), span.next_offset);
        assert_true(i == 0 || sim_disk_operations(f.node) == before);
        offset = span.next_offset;
        fixture_fill(&f, 2, 0, 100);
    }
    fixture_deinit(&f);
}

static void check_time(struct fixture *f, int64_t timestamp, int64_t upper, int64_t offset,
                       int line)
{
    struct plog_time_hit hit;
    assert_int_equal(0, plog_find_time(f->p, timestamp, upper, &hit));
    if (hit.offset != offset) {
        fail_msg("line %d: %lld is found at %lld", line, (long long)timestamp,
                 (long long)hit.offset);
    }
    assert_true(offset < 0 || hit.timestamp >= timestamp);
    assert_int_equal(offset < 0 ? -1 : offset / 10, hit.leader_epoch);
}

static void times_find_the_first_record_at_or_after(void **state)
{
    (void)state;
    struct fixture f;
    bench_init(&f);
    check_time(&f, 0, INT64_MAX, 0, __LINE__);
    check_time(&f, 1001, INT64_MAX, 1, __LINE__);
    check_time(&f, 1002, INT64_MAX, 2, __LINE__);
    check_time(&f, 7001, INT64_MAX, 13, __LINE__);
    check_time(&f, 10001, INT64_MAX, 19, __LINE__);
    check_time(&f, 10002, INT64_MAX, -1, __LINE__);
    check_time(&f, 7001, 13, -1, __LINE__);
    plog_raise_start(f.p, 5);
    check_time(&f, 0, INT64_MAX, 5, __LINE__);
    fixture_deinit(&f);
}

static void the_largest_time_is_the_first_record_that_has_it(void **state)
{
    (void)state;
    struct fixture f;
    struct plog_time_hit hit;
    fixture_init(&f, 1);
    fixture_open(&f, false);
    assert_int_equal(0, plog_find_max_time(f.p, &hit));
    assert_int_equal(-1, hit.offset);
    static const int64_t times[] = {500, 900, 100, 900};
    for (size_t i = 0; i < ARRAY_LEN(times); i++) {
        struct batch_spec spec = {.timestamp = times[i], .codec = RECORD_CODEC_ZSTD};
        assert_int_equal(0, fixture_append(&f, &spec).err);
    }
    assert_int_equal(0, plog_find_max_time(f.p, &hit));
    assert_int_equal(1, hit.offset);
    assert_int_equal(900, hit.timestamp);
    fixture_deinit(&f);
}

static void a_read_error_takes_the_log_offline(void **state)
{
    (void)state;
    struct fixture f;
    struct plog_span span;
    bench_init(&f);
    sim_disk_break(f.node, FIXTURE_DIR);
    struct plog_read_args args = {.upper = 1, .max_bytes = 100};
    args.offset = 0;
    assert_int_equal(-E_IO, plog_read(f.p, &args, &span));
    assert_int_equal(-E_IO, plog_failure(f.p));
    sim_disk_break(f.node, NULL);
    assert_int_equal(-E_OFFLINE, plog_read(f.p, &args, &span));
    fixture_deinit(&f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(spans_hold_whole_batches_within_the_bytes),
        cmocka_unit_test(a_batch_too_large_comes_only_when_asked_for),
        cmocka_unit_test(nothing_at_or_above_the_upper_bound_is_read),
        cmocka_unit_test(offsets_outside_the_log_are_out_of_range),
        cmocka_unit_test(tail_reads_touch_no_index),
        cmocka_unit_test(times_find_the_first_record_at_or_after),
        cmocka_unit_test(the_largest_time_is_the_first_record_that_has_it),
        cmocka_unit_test(a_read_error_takes_the_log_offline),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
