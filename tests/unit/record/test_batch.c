/*
 * The batch header: parsing, rewriting, stepping.
 */
#include "record/batch.h"

#include "base/endian.h"
#include "record_sample.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

static int with_sample(void **state)
{
    static struct buf out; /* cmocka runs one test at a time */
    buf_init(&out);
    record_sample_build(RECORD_CODEC_NONE, &out);
    *state = &out;
    return 0;
}

static int without_sample(void **state)
{
    buf_deinit(*state);
    return 0;
}

static void a_header_is_parsed_and_encoded_alike(void **state)
{
    struct buf *out = *state;
    struct record_batch b;
    assert_int_equal(0, record_batch_parse(slice_of(out->ptr, RECORD_HEADER_SIZE), &b));
    assert_int_equal(out->len, b.len);
    assert_int_equal(SAMPLE_COUNT, b.count);
    assert_int_equal(SAMPLE_COUNT - 1, record_batch_last_offset(&b));
    assert_true(b.base_timestamp == SAMPLE_TIMESTAMP);
    assert_true(b.max_timestamp == SAMPLE_TIMESTAMP + SAMPLE_COUNT - 1);
    assert_int_equal(0, record_batch_check_crc(&b, buf_slice(out)));
    uint8_t header[RECORD_HEADER_SIZE];
    memcpy(header, out->ptr, sizeof header);
    record_batch_encode(&b, out->ptr);
    assert_memory_equal(header, out->ptr, sizeof header);
}

static void every_flipped_bit_under_the_crc_is_seen(void **state)
{
    struct buf *out = *state;
    struct record_batch b;
    assert_int_equal(0, record_batch_parse(buf_slice(out), &b));
    for (size_t pos = RECORD_CRC_START; pos < out->len; pos++) {
        out->ptr[pos] ^= 0x10;
        assert_int_equal(-E_CORRUPT, record_batch_check_crc(&b, buf_slice(out)));
        out->ptr[pos] ^= 0x10;
    }
}

static void offset_and_epoch_are_assigned_without_the_crc(void **state)
{
    struct buf *out = *state;
    struct record_batch b;
    assert_int_equal(0, record_batch_parse(buf_slice(out), &b));
    record_batch_assign(&b, out->ptr, 500, 7);
    struct record_batch again;
    assert_int_equal(0, record_batch_parse(buf_slice(out), &again));
    assert_true(again.base_offset == 500);
    assert_int_equal(7, again.leader_epoch);
    assert_true(record_batch_next_offset(&again) == 500 + SAMPLE_COUNT);
    assert_int_equal(0, record_batch_check_crc(&again, buf_slice(out)));
}

static void a_stamp_renews_the_crc(void **state)
{
    struct buf *out = *state;
    struct record_batch b;
    assert_int_equal(0, record_batch_parse(buf_slice(out), &b));
    record_batch_stamp(&b, out->ptr, 99999);
    struct record_batch again;
    assert_int_equal(0, record_batch_parse(buf_slice(out), &again));
    assert_true(again.max_timestamp == 99999);
    assert_true((again.attributes & RECORD_ATTR_LOG_APPEND_TIME) != 0);
    assert_int_equal(0, record_batch_check_crc(&again, buf_slice(out)));
}

static void impossible_headers_are_refused(void **state)
{
    struct buf *out = *state;
    static const struct {
        size_t pos;
        uint32_t value;
        int err;
    } cases[] = {
        {0, 0x80000000, -E_MALFORMED},  /* base offset below 0 */
        {8, 48, -E_MALFORMED},          /* length below the header's */
        {8, 0xffffffff, -E_MALFORMED},  /* length below 0 */
        {8, 0x7fffffff, -E_MALFORMED},  /* length plus 12 overflows */
        {23, 0xffffffff, -E_MALFORMED}, /* last offset delta below 0 */
        {57, 0x80000000, -E_MALFORMED}, /* count below 0 */
        {13, 0, -E_UNSUPPORTED},        /* magic 0 */
    };
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        uint32_t saved = load_be32(out->ptr + cases[i].pos);
        store_be32(out->ptr + cases[i].pos, cases[i].value);
        struct record_batch b;
        assert_int_equal(cases[i].err, record_batch_parse(buf_slice(out), &b));
        store_be32(out->ptr + cases[i].pos, saved);
    }
    store_be64(out->ptr, INT64_MAX - 1); /* the last offset would overflow */
    struct record_batch b;
    assert_int_equal(-E_MALFORMED, record_batch_parse(buf_slice(out), &b));
}

static void a_partial_last_batch_ends_the_steps(void **state)
{
    struct buf *out = *state;
    size_t one = out->len;
    record_sample_build(RECORD_CODEC_NONE, out);
    for (size_t cut = 0; cut < one; cut++) {
        struct slice bytes = slice_of(out->ptr, 2 * one - 1 - cut);
        struct record_batch b;
        struct slice batch;
        assert_int_equal(1, record_batch_next(&bytes, &b, &batch));
        assert_int_equal(one, batch.len);
        assert_int_equal(0, record_batch_next(&bytes, &b, NULL));
        assert_int_equal(one - 1 - cut, bytes.len);
    }
}

static void sequences_wrap_to_zero(void **state)
{
    (void)state;
    assert_int_equal(0, record_sequence_add(INT32_MAX, 1));
    assert_int_equal(4, record_sequence_add(INT32_MAX - 1, 6));
    struct record_batch b = {.base_sequence = INT32_MAX, .last_offset_delta = 2};
    assert_int_equal(1, record_batch_last_sequence(&b));
    b.base_sequence = RECORD_NO_SEQUENCE;
    assert_int_equal(RECORD_NO_SEQUENCE, record_batch_last_sequence(&b));
}

int main(void)
{
#define SAMPLE_TEST(name) cmocka_unit_test_setup_teardown(name, with_sample, without_sample)
    const struct CMUnitTest tests[] = {
        SAMPLE_TEST(a_header_is_parsed_and_encoded_alike),
        SAMPLE_TEST(every_flipped_bit_under_the_crc_is_seen),
        SAMPLE_TEST(offset_and_epoch_are_assigned_without_the_crc),
        SAMPLE_TEST(a_stamp_renews_the_crc),
        SAMPLE_TEST(impossible_headers_are_refused),
        SAMPLE_TEST(a_partial_last_batch_ends_the_steps),
        cmocka_unit_test(sequences_wrap_to_zero),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
