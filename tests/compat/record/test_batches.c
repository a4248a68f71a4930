/*
 * Batches that Apache Kafka wrote, in every codec (batches.txt): the same four records in each.
 */
#include "base/check.h"
#include "record/records.h"
#include "record/validate.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

#define INFLATED_MAX ((size_t)1 << 20)

static const char *const codec_names[RECORD_CODEC_COUNT] = {"none", "gzip", "snappy", "lz4",
                                                            "zstd"};

static size_t hex_decode(const char *hex, uint8_t *ret_bytes, size_t max)
{
    size_t len = strspn(hex, "0123456789abcdef") / 2;
    assert_true(len <= max);
    for (size_t i = 0; i < len; i++) {
        unsigned value;
        assert_int_equal(1, sscanf(hex + 2 * i, "%2x", &value));
        ret_bytes[i] = (uint8_t)value;
    }
    return len;
}

static void check_header(const struct record_batch *b, const char *codec)
{
    assert_string_equal(codec, codec_names[record_batch_codec(b)]);
    assert_int_equal(4, b->count);
    assert_int_equal(3, b->last_offset_delta);
    assert_true(b->base_timestamp == 1000);
    assert_true(b->max_timestamp == 1003);
    assert_true(b->producer_id == 7);
    assert_int_equal(2, b->producer_epoch);
    assert_int_equal(5, b->base_sequence);
    assert_int_equal(8, record_batch_last_sequence(b));
}

static void check_headers(struct slice headers)
{
    struct slice key;
    struct slice value;
    assert_int_equal(1, record_header_next(&headers, &key, &value));
    assert_true(slice_equal_str(key, "h") && slice_equal_str(value, "x"));
    assert_int_equal(1, record_header_next(&headers, &key, &value));
    assert_true(slice_equal_str(key, "h") && slice_is_null(value));
    assert_int_equal(0, record_header_next(&headers, &key, &value));
}

static void check_records(struct record_iter *it)
{
    static const struct {
        const char *key;
        const char *value;
        int64_t timestamp;
    } expected[] = {{"k1", "v1", 1000}, {NULL, "", 1001}, {"k3", NULL, 1003}};
    struct record record;
    for (size_t i = 0; i < ARRAY_LEN(expected); i++) {
        assert_int_equal(1, record_iter_next(it, &record));
        assert_int_equal(i, record.offset);
        assert_true(record.timestamp == expected[i].timestamp);
        assert_int_equal(expected[i].key == NULL, slice_is_null(record.key));
        assert_true(slice_equal_str(record.key, expected[i].key));
        assert_int_equal(expected[i].value == NULL, slice_is_null(record.value));
        assert_true(slice_equal_str(record.value, expected[i].value));
        assert_int_equal(i == 1 ? 2 : 0, record.header_count);
        if (i == 1) {
            check_headers(record.headers);
        }
    }
    assert_int_equal(1, record_iter_next(it, &record));
    assert_true(record.timestamp == 999);
    assert_int_equal(300, record.value.len);
    for (size_t i = 0; i < record.value.len; i++) {
        assert_int_equal("abc"[i % 3], record.value.ptr[i]);
    }
    assert_int_equal(0, record_iter_next(it, &record));
}

static void check_batch(const char *codec, struct slice bytes)
{
    struct record_limits limits = record_limits_default();
    limits.walk_records = true;
    struct record_batch b;
    enum record_reason reason;
    assert_int_equal(0, record_validate(bytes, &limits, &b, &reason, NULL));
    check_header(&b, codec);
    struct record_iter it;
    assert_int_equal(0, record_iter_init(&it, bytes, INFLATED_MAX, NULL));
    check_records(&it);
    record_iter_deinit(&it);
}

static void kafkas_batches_are_read_in_every_codec(void **state)
{
    (void)state;
    FILE *file = fopen(KLAMM_SOURCE_DIR "/tests/compat/record/batches.txt", "r");
    assert_non_null(file);
    char *line = NULL;
    size_t cap = 0;
    int checked = 0;
    while (getline(&line, &cap, file) > 0) {
        if (line[0] != '#') {
            char *hex = strchr(line, ' ');
            assert_non_null(hex);
            *hex = '\0';
            uint8_t bytes[1024];
            size_t len = hex_decode(hex + 1, bytes, sizeof bytes);
            check_batch(line, slice_of(bytes, len));
            checked++;
        }
    }
    free(line);
    fclose(file);
    assert_int_equal(RECORD_CODEC_COUNT, checked);
}

/* Without compression there is one encoding: ours is Kafka's, byte for byte. */
static void an_uncompressed_batch_is_written_as_kafka_does(void **state)
{
    (void)state;
    FILE *file = fopen(KLAMM_SOURCE_DIR "/tests/compat/record/batches.txt", "r");
    assert_non_null(file);
    char line[2048];
    while (fgets(line, sizeof line, file) != NULL && strncmp(line, "none ", 5) != 0) {
    }
    fclose(file);
    uint8_t bytes[1024];
    size_t len = hex_decode(line + 5, bytes, sizeof bytes);

    static const struct record_header headers[] = {{"h", {(const uint8_t *)"x", 1}},
                                                   {"h", {NULL, 0}}};
    char repeated[301] = "";
    for (int i = 0; i < 300; i++) {
        repeated[i] = "abc"[i % 3];
    }
    const struct record_input inputs[] = {
        {.key = slice_str("k1"), .value = slice_str("v1"), .timestamp = 1000},
        {.value = slice_str(""), .timestamp = 1001, .headers = headers, .header_count = 2},
        {.key = slice_str("k3"), .timestamp = 1003},
        {.key = slice_str("k4"), .value = slice_str(repeated), .timestamp = 999},
    };
    struct record_builder b;
    record_builder_init(&b, RECORD_CODEC_NONE);
    b.batch.producer_id = 7;
    b.batch.producer_epoch = 2;
    b.batch.base_sequence = 5;
    for (size_t i = 0; i < ARRAY_LEN(inputs); i++) {
        record_builder_add(&b, &inputs[i]);
    }
    struct buf out;
    buf_init(&out);
    assert_int_equal(0, record_builder_finish(&b, &out));
    assert_int_equal(len, out.len);
    assert_memory_equal(bytes, out.ptr, len);
    buf_deinit(&out);
    record_builder_deinit(&b);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(kafkas_batches_are_read_in_every_codec),
        cmocka_unit_test(an_uncompressed_batch_is_written_as_kafka_does),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
