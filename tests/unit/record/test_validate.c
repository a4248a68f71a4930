/*
 * What a client may append: one fault at a time, each with its reason and its error.
 */
#include "record/validate.h"

#include "record_sample.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

struct fixture {
    struct buf bytes;
    struct record_limits limits;
    struct record_batch batch; /* its header; changed by a test, then written with a right CRC */
};

static int with_batch(void **state)
{
    static struct fixture f; /* cmocka runs one test at a time */
    buf_init(&f.bytes);
    record_sample_build(RECORD_CODEC_NONE, &f.bytes);
    f.limits = record_limits_default();
    *state = &f;
    return record_batch_parse(buf_slice(&f.bytes), &f.batch);
}

static int without_batch(void **state)
{
    struct fixture *f = *state;
    buf_deinit(&f->bytes);
    return 0;
}

static void expect_at(struct fixture *f, enum record_reason reason, int err, int32_t bad_index)
{
    struct record_batch b = {.count = -7};
    enum record_reason found = RECORD_OK;
    int32_t index = 99;
    assert_int_equal(err, record_validate(buf_slice(&f->bytes), &f->limits, &b, &found, &index));
    assert_int_equal(reason, found);
    assert_int_equal(bad_index, index);
    assert_true((err == 0) == (b.count != -7)); /* untouched on failure */
}

static void expect(struct fixture *f, enum record_reason reason, int err)
{
    expect_at(f, reason, err, -1);
}

static void rewrite(struct fixture *f)
{
    record_batch_encode(&f->batch, f->bytes.ptr);
}

static void a_good_batch_is_fine_walked_or_not(void **state)
{
    struct fixture *f = *state;
    expect(f, RECORD_OK, 0);
    f->limits.walk_records = true;
    expect(f, RECORD_OK, 0);
}

static void exactly_one_batch_is_wanted(void **state)
{
    struct fixture *f = *state;
    buf_put_u8(&f->bytes, 0);
    expect(f, RECORD_NOT_ONE_BATCH, -E_INVALID);
    f->bytes.len -= 2;
    expect(f, RECORD_BAD_LENGTH, -E_CORRUPT);
    f->bytes.len = 30;
    expect(f, RECORD_BAD_LENGTH, -E_CORRUPT);
    f->bytes.len = 0;
    expect(f, RECORD_EMPTY, -E_INVALID);
}

static void old_formats_are_refused_by_name(void **state)
{
    struct fixture *f = *state;
    f->bytes.ptr[16] = 1;
    expect(f, RECORD_BAD_MAGIC, -E_INVALID);
}

static void header_facts_are_checked(void **state)
{
    struct fixture *f = *state;
    struct record_batch good = f->batch;
    f->batch.base_offset = 1;
    rewrite(f);
    expect(f, RECORD_BAD_OFFSET, -E_INVALID);
    f->batch = good;
    f->batch.count = 2;
    rewrite(f);
    expect(f, RECORD_BAD_COUNT, -E_INVALID);
    f->batch = good;
    f->batch.attributes = RECORD_ATTR_CONTROL;
    rewrite(f);
    expect(f, RECORD_IS_CONTROL, -E_INVALID);
    f->batch = good;
    f->batch.attributes = 5;
    rewrite(f);
    expect(f, RECORD_BAD_CODEC, -E_UNSUPPORTED);
    f->batch.attributes = RECORD_CODEC_ZSTD;
    f->limits.allow_zstd = false;
    rewrite(f);
    expect(f, RECORD_BAD_CODEC, -E_UNSUPPORTED);
}

static void a_producer_needs_epoch_and_sequence(void **state)
{
    struct fixture *f = *state;
    f->batch.producer_id = 7;
    rewrite(f);
    expect(f, RECORD_NO_SEQUENCES, -E_INVALID);
    f->batch.producer_epoch = 0;
    f->batch.base_sequence = 0;
    rewrite(f);
    expect(f, RECORD_OK, 0);
    f->batch.producer_id = RECORD_NO_PRODUCER_ID;
    f->batch.attributes = RECORD_ATTR_TRANSACTIONAL;
    rewrite(f);
    expect(f, RECORD_NO_SEQUENCES, -E_INVALID);
}

static void damage_and_size_are_seen(void **state)
{
    struct fixture *f = *state;
    f->limits.batch_bytes_max = f->bytes.len;
    expect(f, RECORD_OK, 0);
    f->limits.batch_bytes_max = f->bytes.len - 1;
    expect(f, RECORD_TOO_LARGE, -E_TOO_LARGE);
    f->limits.batch_bytes_max = SIZE_MAX;
    f->bytes.ptr[f->bytes.len - 1] ^= 1;
    expect(f, RECORD_BAD_CRC, -E_CORRUPT);
}

static void walking_names_the_record_at_fault(void **state)
{
    struct fixture *f = *state;
    f->limits.walk_records = true;
    f->limits.require_keys = true;
    expect_at(f, RECORD_NULL_KEY, -E_INVALID, 1);
    f->limits.require_keys = false;
    f->limits.timestamp_max = SAMPLE_TIMESTAMP + 1;
    expect_at(f, RECORD_BAD_TIMESTAMP, -E_INVALID, 2);
    f->limits.timestamp_max = INT64_MAX;
    f->limits.timestamp_min = SAMPLE_TIMESTAMP + 1;
    expect_at(f, RECORD_BAD_TIMESTAMP, -E_INVALID, 0);
}

static void walking_finds_broken_records(void **state)
{
    struct fixture *f = *state;
    f->bytes.ptr[RECORD_HEADER_SIZE] = 3; /* the length of the first record: -2 */
    rewrite(f);
    expect(f, RECORD_OK, 0); /* not looked at unless asked */
    f->limits.walk_records = true;
    expect(f, RECORD_BAD_RECORDS, -E_INVALID);
}

static void every_reason_has_a_text(void **state)
{
    (void)state;
    for (int reason = RECORD_OK; reason <= RECORD_BAD_TIMESTAMP; reason++) {
        assert_true(record_reason_text((enum record_reason)reason)[0] != '\0');
    }
}

int main(void)
{
#define BATCH_TEST(name) cmocka_unit_test_setup_teardown(name, with_batch, without_batch)
    const struct CMUnitTest tests[] = {
        BATCH_TEST(a_good_batch_is_fine_walked_or_not),  BATCH_TEST(exactly_one_batch_is_wanted),
        BATCH_TEST(old_formats_are_refused_by_name),     BATCH_TEST(header_facts_are_checked),
        BATCH_TEST(a_producer_needs_epoch_and_sequence), BATCH_TEST(damage_and_size_are_seen),
        BATCH_TEST(walking_names_the_record_at_fault),   BATCH_TEST(walking_finds_broken_records),
        cmocka_unit_test(every_reason_has_a_text),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
