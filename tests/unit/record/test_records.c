/*
 * Building a batch and walking it again, in every codec; records that break their format.
 */
#include "record/records.h"

#include "record_sample.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#define INFLATED_MAX ((size_t)1 << 20)

static void check_sample_record(const struct record *record, int index)
{
    assert_int_equal(index, record->offset);
    assert_true(record->timestamp == SAMPLE_TIMESTAMP + index);
    if (index == 1) {
        assert_true(slice_is_null(record->key));
    } else {
        assert_int_equal('0' + index, record->key.ptr[1]);
    }
    assert_int_equal(400, record->value.len);
    assert_int_equal('a' + index, record->value.ptr[399]);
    assert_int_equal(0, record->header_count);
}

static void built_batches_are_walked_in_every_codec(void **state)
{
    (void)state;
    for (int codec = 0; codec < RECORD_CODEC_COUNT; codec++) {
        struct buf out;
        buf_init(&out);
        record_sample_build((enum record_codec)codec, &out);
        struct budget budget = {.max = INFLATED_MAX};
        struct record_iter it;
        assert_int_equal(0, record_iter_init(&it, buf_slice(&out), INFLATED_MAX, &budget));
        struct record record;
        for (int i = 0; i < SAMPLE_COUNT; i++) {
            assert_int_equal(1, record_iter_next(&it, &record));
            check_sample_record(&record, i);
        }
        assert_int_equal(0, record_iter_next(&it, &record));
        record_iter_deinit(&it);
        assert_int_equal(0, budget.used);
        buf_deinit(&out);
    }
}

static void headers_come_back_in_order(void **state)
{
    (void)state;
    static const struct record_header headers[] = {
        {"h", {(const uint8_t *)"x", 1}}, {"h", {NULL, 0}}, {"", {(const uint8_t *)"", 0}}};
    struct record_input input = {.headers = headers, .header_count = 3, .timestamp = 5};
    struct record_builder b;
    record_builder_init(&b, RECORD_CODEC_NONE);
    record_builder_add(&b, &input);
    struct buf out;
    buf_init(&out);
    assert_int_equal(0, record_builder_finish(&b, &out));
    struct record_iter it;
    struct record record;
    assert_int_equal(0, record_iter_init(&it, buf_slice(&out), INFLATED_MAX, NULL));
    assert_int_equal(1, record_iter_next(&it, &record));
    assert_int_equal(3, record.header_count);
    struct slice left = record.headers;
    for (int i = 0; i < 3; i++) {
        struct slice key;
        struct slice value;
        assert_int_equal(1, record_header_next(&left, &key, &value));
        assert_true(slice_equal_str(key, headers[i].key));
        assert_int_equal(slice_is_null(headers[i].value), slice_is_null(value));
        assert_true(slice_equal(headers[i].value, value));
    }
    struct slice none;
    assert_int_equal(0, record_header_next(&left, &none, &none));
    record_iter_deinit(&it);
    buf_deinit(&out);
    record_builder_deinit(&b);
}

static void a_builder_is_empty_after_it_finished(void **state)
{
    (void)state;
    struct record_builder b;
    record_builder_init(&b, RECORD_CODEC_NONE);
    struct buf out;
    buf_init(&out);
    assert_int_equal(-E_INVALID, record_builder_finish(&b, &out));
    b.batch.producer_id = 7;
    record_builder_add(&b, &(struct record_input){.timestamp = 10});
    record_builder_add(&b, &(struct record_input){.timestamp = 4});
    assert_int_equal(0, record_builder_finish(&b, &out));
    size_t one = out.len;
    record_builder_add(&b, &(struct record_input){.timestamp = 20});
    assert_int_equal(0, record_builder_finish(&b, &out));
    struct record_batch batch;
    assert_int_equal(0, record_batch_parse(slice_of(out.ptr, one), &batch));
    assert_int_equal(2, batch.count);
    assert_true(batch.base_timestamp == 10 && batch.max_timestamp == 10);
    assert_int_equal(0, record_batch_parse(slice_of(out.ptr + one, out.len - one), &batch));
    assert_int_equal(1, batch.count);
    assert_true(batch.producer_id == 7 && batch.base_timestamp == 20);
    buf_deinit(&out);
    record_builder_deinit(&b);
}

static void append_time_is_the_time_of_every_record(void **state)
{
    (void)state;
    struct buf out;
    buf_init(&out);
    record_sample_build(RECORD_CODEC_NONE, &out);
    struct record_batch b;
    assert_int_equal(0, record_batch_parse(buf_slice(&out), &b));
    record_batch_stamp(&b, out.ptr, 77777);
    struct record_iter it;
    struct record record;
    assert_int_equal(0, record_iter_init(&it, buf_slice(&out), INFLATED_MAX, NULL));
    while (record_iter_next(&it, &record) == 1) {
        assert_true(record.timestamp == 77777);
    }
    assert_int_equal(SAMPLE_COUNT, it.index);
    record_iter_deinit(&it);
    buf_deinit(&out);
}

/* Walks one hand-written record with a last offset delta of 0: the result of the first step that is
 * not 1. */
static int walk(const char *records, size_t len, int32_t count)
{
    uint8_t bytes[RECORD_HEADER_SIZE + 64] = {0};
    struct record_batch b = {.len = RECORD_HEADER_SIZE + len, .count = count};
    memcpy(bytes + RECORD_HEADER_SIZE, records, len);
    record_batch_encode(&b, bytes);
    struct record_iter it;
    struct record record;
    assert_int_equal(0, record_iter_init(&it, slice_of(bytes, b.len), INFLATED_MAX, NULL));
    int more = 1;
    while (more == 1) {
        more = record_iter_next(&it, &record);
    }
    record_iter_deinit(&it);
    return more;
}

static void records_that_break_their_format_are_malformed(void **state)
{
    (void)state;
    static const struct {
        const char *bytes;
        size_t len;
        int32_t count;
        int result;
    } cases[] = {
        {"\x0c\0\0\0\1\1\0", 7, 1, 0},                /* null key, null value, no header */
        {"\x0c\0\0\0\1\1\0", 7, 2, -E_MALFORMED},     /* one record too few */
        {"\x0c\0\0\0\1\1\0z", 8, 1, -E_MALFORMED},    /* a byte behind the last */
        {"\x0e\0\0\0\1\1\0z", 8, 1, -E_MALFORMED},    /* a byte inside, behind the headers */
        {"\x0c\0\0\2\1\1\0", 7, 1, -E_MALFORMED},     /* offset delta beyond the batch's */
        {"\x0c\0\0\1\1\1\0", 7, 1, -E_MALFORMED},     /* offset delta below 0 */
        {"\x0c\0\0\0\3\1\0", 7, 1, -E_MALFORMED},     /* key length -2 */
        {"\x0c\0\0\0\x7e\1\0", 7, 1, -E_MALFORMED},   /* key longer than the record */
        {"\x0c\0\0\0\1\1\1", 7, 1, -E_MALFORMED},     /* header count -1 */
        {"\x0c\0\0\0\1\1\2", 7, 1, -E_MALFORMED},     /* header missing */
        {"\x10\0\0\0\1\1\2\1\1", 9, 1, -E_MALFORMED}, /* header key null */
        {"\x7e\0\0\0\1\1\0", 7, 1, -E_MALFORMED},     /* longer than the batch */
        {"\1", 1, 1, -E_MALFORMED},                   /* length -1 */
        {"\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01", 11, 1, -E_MALFORMED},
    };
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        int result = walk(cases[i].bytes, cases[i].len, cases[i].count);
        if (result != cases[i].result) {
            fail_msg("case %zu: %s", i, error_name(result));
        }
    }
}

static void a_batch_that_is_not_whole_is_not_walked(void **state)
{
    (void)state;
    struct buf out;
    buf_init(&out);
    record_sample_build(RECORD_CODEC_GZIP, &out);
    struct record_iter it;
    struct slice cut = slice_of(out.ptr, out.len - 1);
    assert_int_equal(-E_TRUNCATED, record_iter_init(&it, cut, INFLATED_MAX, NULL));
    record_iter_deinit(&it);
    assert_int_equal(-E_TOO_LARGE, record_iter_init(&it, buf_slice(&out), 100, NULL));
    record_iter_deinit(&it);
    record_iter_deinit(NULL);
    buf_deinit(&out);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(built_batches_are_walked_in_every_codec),
        cmocka_unit_test(headers_come_back_in_order),
        cmocka_unit_test(a_builder_is_empty_after_it_finished),
        cmocka_unit_test(append_time_is_the_time_of_every_record),
        cmocka_unit_test(records_that_break_their_format_are_malformed),
        cmocka_unit_test(a_batch_that_is_not_whole_is_not_walked),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
