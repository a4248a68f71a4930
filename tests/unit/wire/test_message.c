/*
 * The interpreter of the message tables, over every message and version of the schema.
 */
#include "wire/message.h"

#include "base/endian.h"
#include "wire/alter_partition_reassignments.h"
#include "wire/describe_topic_partitions.h"
#include "wire/fetch.h"
#include "wire/list_partition_reassignments.h"
#include "wire/metadata.h"
#include "wire/update_metadata.h"
#include "wire_fill.h"

#include <assert.h>
#include <setjmp.h>
#include <stdalign.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>

#include <cmocka.h>

#define SEED        20260101
#define ARENA_BYTES ((size_t)1 << 20)

/* One message in one version, filled at random, and its bytes. */
struct sample {
    const struct wire_message *message;
    int16_t version;
    alignas(max_align_t) uint8_t body[WIRE_BODY_SIZE_MAX];
    struct arena arena;
    struct buf bytes;
};

static void sample_init(struct sample *s, const struct wire_message *message, int16_t version,
                        struct prng *prng)
{
    s->message = message;
    s->version = version;
    arena_init(&s->arena, ARENA_BYTES);
    buf_init(&s->bytes);
    struct wire_fill fill = {prng, &s->arena, version};
    wire_fill_struct(&fill, message->body, s->body);
    wire_message_encode(message, s->body, &s->bytes, version);
    assert_false(buf_failed(&s->bytes));
}

static void sample_deinit(struct sample *s)
{
    arena_deinit(&s->arena);
    buf_deinit(&s->bytes);
}

typedef void (*sample_fn)(struct sample *s);

static void message_for_each_sample(const struct wire_message *message, int rounds, sample_fn check)
{
    struct prng prng;
    prng_init(&prng, SEED);
    for (int16_t v = message->first_version; v <= message->last_version; v++) {
        for (int i = 0; i < rounds; i++) {
            struct sample s;
            sample_init(&s, message, v, &prng);
            check(&s);
            sample_deinit(&s);
        }
    }
}

static void for_each_sample(int rounds, sample_fn check)
{
    for (int32_t i = 0; i < wire_api_count(); i++) {
        message_for_each_sample(wire_api_at(i)->request, rounds, check);
        message_for_each_sample(wire_api_at(i)->response, rounds, check);
    }
}

static int decode(const struct wire_message *message, void *ret, struct slice bytes,
                  int16_t version, struct arena *a)
{
    struct reader r;
    reader_init(&r, bytes);
    int err = wire_message_decode(message, ret, &r, version, a);
    return err != 0 ? err : wire_reader_finish(&r);
}

static void check_round_trip(struct sample *s)
{
    alignas(max_align_t) uint8_t again[WIRE_BODY_SIZE_MAX];
    int err = decode(s->message, again, buf_slice(&s->bytes), s->version, &s->arena);
    if (err != 0 || !wire_same_struct(s->message->body, s->body, again)) {
        fail_msg("%s v%d: %s", s->message->body->name, s->version, error_name(err));
    }
    struct buf bytes;
    buf_init(&bytes);
    wire_message_encode(s->message, again, &bytes, s->version);
    assert_int_equal(bytes.len, s->bytes.len);
    assert_memory_equal(bytes.ptr, s->bytes.ptr, bytes.len);
    buf_deinit(&bytes);
}

static void every_message_survives_a_round_trip(void **state)
{
    (void)state;
    for_each_sample(12, check_round_trip);
}

static void check_truncation(struct sample *s)
{
    alignas(max_align_t) uint8_t again[WIRE_BODY_SIZE_MAX];
    memset(again, 0xa5, sizeof again);
    for (size_t len = 0; len < s->bytes.len; len++) {
        /* A copy of the exact size lets the address sanitizer see a read past the end. */
        uint8_t *copy = malloc(len + 1);
        memcpy(copy, s->bytes.ptr, len);
        int err = decode(s->message, again, slice_of(copy, len), s->version, &s->arena);
        if (err == 0) {
            fail_msg("%s v%d: %zu of %zu bytes", s->message->body->name, s->version, len,
                     s->bytes.len);
        }
        assert_int_equal(again[0], 0xa5); /* nothing is given out on failure */
        free(copy);
    }
}

static void every_message_cut_short_is_an_error(void **state)
{
    (void)state;
    for_each_sample(2, check_truncation);
}

static void check_trailing_byte(struct sample *s)
{
    alignas(max_align_t) uint8_t again[WIRE_BODY_SIZE_MAX];
    buf_put_u8(&s->bytes, 0);
    assert_int_equal(-E_MALFORMED,
                     decode(s->message, again, buf_slice(&s->bytes), s->version, &s->arena));
}

static void a_byte_after_the_body_is_an_error(void **state)
{
    (void)state;
    for_each_sample(1, check_trailing_byte);
}

/* Four bytes anywhere set to a huge number: an error or another message, within the arena. */
static void check_hostile_numbers(struct sample *s)
{
    alignas(max_align_t) uint8_t again[WIRE_BODY_SIZE_MAX];
    for (size_t pos = 0; pos + 4 <= s->bytes.len; pos++) {
        uint32_t saved = load_be32(s->bytes.ptr + pos);
        store_be32(s->bytes.ptr + pos, 0x7fffffff);
        struct arena small;
        arena_init(&small, 4096);
        (void)decode(s->message, again, buf_slice(&s->bytes), s->version, &small); /* any outcome */
        arena_deinit(&small);
        store_be32(s->bytes.ptr + pos, saved);
    }
}

static void hostile_numbers_anywhere_do_no_harm(void **state)
{
    (void)state;
    for_each_sample(1, check_hostile_numbers);
}

static int metadata_decode(const void *bytes, size_t len, int16_t version, struct arena *a)
{
    struct wire_metadata_request request;
    return decode(&wire_metadata_request_message, &request, slice_of(bytes, len), version, a);
}

static void a_hostile_count_is_refused_without_memory(void **state)
{
    (void)state;
    struct arena a;
    arena_init(&a, ARENA_BYTES);
    static const uint8_t huge[] = {0x7f, 0xff, 0xff, 0xff, 0, 1, 'a'};
    assert_int_equal(-E_TOO_LARGE, metadata_decode(huge, sizeof huge, 1, &a));
    static const uint8_t more_than_sent[] = {0, 0, 0, 5, 0, 1, 'a'};
    assert_int_equal(-E_TRUNCATED, metadata_decode(more_than_sent, sizeof more_than_sent, 1, &a));
    static const uint8_t negative[] = {0xff, 0xff, 0xff, 0xfe};
    assert_int_equal(-E_MALFORMED, metadata_decode(negative, sizeof negative, 1, &a));
    static const uint8_t compact_huge[] = {0xff, 0xff, 0xff, 0xff, 0x0f, 0, 0};
    assert_int_equal(-E_TOO_LARGE, metadata_decode(compact_huge, sizeof compact_huge, 9, &a));
    assert_int_equal(0, a.used);
    arena_deinit(&a);
}

static void an_arena_that_is_full_is_an_error(void **state)
{
    (void)state;
    struct arena a;
    arena_init(&a, 64);
    uint8_t bytes[4 + 20 * 2] = {0, 0, 0, 20}; /* twenty empty names */
    assert_int_equal(-E_TOO_LARGE, metadata_decode(bytes, sizeof bytes, 1, &a));
    arena_deinit(&a);
}

static void null_is_refused_where_the_version_knows_none(void **state)
{
    (void)state;
    struct arena a;
    arena_init(&a, ARENA_BYTES);
    static const uint8_t null_topics[] = {0xff, 0xff, 0xff, 0xff};
    assert_int_equal(-E_MALFORMED, metadata_decode(null_topics, 4, 0, &a));
    assert_int_equal(0, metadata_decode(null_topics, 4, 1, &a));
    static const uint8_t null_name[] = {0, 0, 0, 1, 0xff, 0xff};
    assert_int_equal(-E_MALFORMED, metadata_decode(null_name, sizeof null_name, 1, &a));
    arena_deinit(&a);

    struct buf b;
    buf_init(&b);
    struct wire_metadata_request all = {.topics_count = -1};
    wire_metadata_request_encode(&all, &b, 0);
    assert_true(buf_failed(&b));
    buf_deinit(&b);
}

static void a_version_without_schema_is_unsupported(void **state)
{
    (void)state;
    static const uint8_t none[4];
    assert_int_equal(-E_UNSUPPORTED, metadata_decode(none, sizeof none, 14, NULL));
    assert_int_equal(-E_UNSUPPORTED, metadata_decode(none, sizeof none, -1, NULL));
}

/* Metadata v9 with no topics, then a tag section of the test's choice. */
static int decode_with_tags(const void *tags, size_t len)
{
    struct arena a;
    arena_init(&a, ARENA_BYTES);
    uint8_t bytes[64] = {1, 1, 0, 0}; /* empty topics, three booleans */
    memcpy(bytes + 4, tags, len);
    int err = metadata_decode(bytes, 4 + len, 9, &a);
    arena_deinit(&a);
    return err;
}

static void unknown_tags_are_skipped_and_their_order_is_checked(void **state)
{
    (void)state;
    assert_int_equal(0, decode_with_tags("\x00", 1));
    assert_int_equal(0, decode_with_tags("\x02\x05\x02zz\x07\x00", 7));
    assert_int_equal(-E_MALFORMED, decode_with_tags("\x02\x05\x00\x05\x00", 5));
    assert_int_equal(-E_MALFORMED, decode_with_tags("\x02\x05\x00\x04\x00", 5));
    assert_int_equal(-E_TRUNCATED, decode_with_tags("\x01\x05\x09z", 4));
    assert_int_equal(-E_TRUNCATED, decode_with_tags("\xff\xff\xff\xff\x0f", 5));
}

/* type is tag 0 of UpdateMetadata v8: one byte. */
static void a_tag_of_the_wrong_size_is_malformed(void **state)
{
    (void)state;
    static const uint8_t head[] = {0, 0, 0, 1, 0, 0, 0, 0, 2, 0, 0, 0, 0, 0, 0, 0, 3, 1, 1};
    static const struct {
        uint8_t tags[5];
        size_t len;
        int err;
    } cases[] = {
        {{1, 0, 1, 7}, 4, 0},
        {{1, 0, 2, 7, 7}, 5, -E_MALFORMED},
        {{1, 0, 0}, 3, -E_MALFORMED},
    };
    struct arena a;
    arena_init(&a, ARENA_BYTES);
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        uint8_t bytes[sizeof head + 5];
        memcpy(bytes, head, sizeof head);
        memcpy(bytes + sizeof head, cases[i].tags, cases[i].len);
        struct wire_update_metadata_request request = {0};
        int err = decode(&wire_update_metadata_request_message, &request,
                         slice_of(bytes, sizeof head + cases[i].len), 8, &a);
        assert_int_equal(cases[i].err, err);
        assert_int_equal(err == 0 ? 7 : 0, request.type);
    }
    arena_deinit(&a);
}

static void init_sets_the_defaults_of_the_schema(void **state)
{
    (void)state;
    struct wire_fetch_request fetch;
    wire_fetch_request_init(&fetch);
    assert_int_equal(-1, fetch.replica_id);
    assert_int_equal(INT32_MAX, fetch.max_bytes);
    assert_true(slice_is_null(fetch.cluster_id));
    assert_false(slice_is_null(fetch.rack_id));
    assert_true(fetch.replica_state.replica_epoch == -1);
    struct wire_fetch_request_topics_partitions partition;
    wire_fetch_request_topics_partitions_init(&partition);
    assert_true(partition.high_watermark == INT64_MAX);
    struct wire_fetch_response_responses_partitions answer;
    wire_fetch_response_responses_partitions_init(&answer);
    assert_int_equal(-1, answer.aborted_transactions_count);
    assert_null(answer.records.ptr);
    struct wire_alter_partition_reassignments_request alter;
    wire_alter_partition_reassignments_request_init(&alter);
    assert_int_equal(60000, alter.timeout_ms);
    assert_true(alter.allow_replication_factor_change);
    assert_int_equal(0, alter.topics_count);
}

static void absent_fields_decode_to_their_defaults(void **state)
{
    (void)state;
    struct arena a;
    arena_init(&a, ARENA_BYTES);
    static const uint8_t bytes[] = {0, 0, 0, 0};
    struct wire_metadata_request request;
    assert_int_equal(
        0, decode(&wire_metadata_request_message, &request, slice_of(bytes, sizeof bytes), 0, &a));
    assert_true(request.allow_auto_topic_creation);
    assert_int_equal(0, request.topics_count);
    arena_deinit(&a);
}

static void a_nullable_struct_is_null_or_has_a_mark(void **state)
{
    (void)state;
    struct arena a;
    arena_init(&a, ARENA_BYTES);
    static const uint8_t without[] = {1, 0, 0, 7, 0xd0, 0xff, 0};
    static const uint8_t with[] = {1, 0, 0, 7, 0xd0, 1, 2, 't', 0, 0, 0, 9, 0, 0};
    static const uint8_t wrong[] = {1, 0, 0, 7, 0xd0, 2, 2, 't', 0, 0, 0, 9, 0, 0};
    const struct wire_message *message = &wire_describe_topic_partitions_request_message;
    struct wire_describe_topic_partitions_request request;
    assert_int_equal(0, decode(message, &request, slice_of(without, sizeof without), 0, &a));
    assert_null(request.cursor);
    assert_int_equal(2000, request.response_partition_limit);
    assert_int_equal(0, decode(message, &request, slice_of(with, sizeof with), 0, &a));
    assert_int_equal(9, request.cursor->partition_index);
    assert_int_equal(-E_MALFORMED, decode(message, &request, slice_of(wrong, sizeof wrong), 0, &a));
    arena_deinit(&a);
}

/* The records of one Fetch partition are left to others: length written, bytes missing. */
/* The header of a ListPartitionReassignments answer, then the tag section: jobs is tag 10000. */
static void a_tagged_array_is_absent_or_empty(void **state)
{
    (void)state;
    struct arena a;
    arena_init(&a, ARENA_BYTES);
    static const uint8_t absent[] = {0, 0, 0, 0, 0, 0, 1, 1, 0};
    static const uint8_t null[] = {0, 0, 0, 0, 0, 0, 1, 1, 1, 0x90, 0x4e, 1, 0};
    static const uint8_t empty[] = {0, 0, 0, 0, 0, 0, 1, 1, 1, 0x90, 0x4e, 1, 1};
    const struct wire_message *message = &wire_list_partition_reassignments_response_message;
    struct wire_list_partition_reassignments_response response;
    assert_int_equal(0, decode(message, &response, slice_of(absent, sizeof absent), 0, &a));
    assert_int_equal(-1, response.jobs_count);
    assert_int_equal(0, decode(message, &response, slice_of(null, sizeof null), 0, &a));
    assert_int_equal(-1, response.jobs_count);
    assert_int_equal(0, decode(message, &response, slice_of(empty, sizeof empty), 0, &a));
    assert_int_equal(0, response.jobs_count);
    arena_deinit(&a);
}

static void external_records_leave_a_gap(void **state)
{
    (void)state;
    struct wire_fetch_response_responses_partitions partition;
    wire_fetch_response_responses_partitions_init(&partition);
    partition.records = (struct wire_records){NULL, 300};
    struct wire_fetch_response_responses topic = {
        .topic = slice_str("t"), .partitions = &partition, .partitions_count = 1};
    struct wire_fetch_response response;
    wire_fetch_response_init(&response);
    response.responses = &topic;
    response.responses_count = 1;
    static const struct {
        int16_t version;
        size_t bytes_after; /* tag sections of partition, topic and body */
    } cases[] = {{4, 0}, {12, 3}};
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct buf b;
        buf_init(&b);
        wire_fetch_response_encode(&response, &b, cases[i].version);
        assert_false(buf_failed(&b));
        assert_int_equal(1, b.gap_count);
        assert_int_equal(300, b.gaps[0].len);
        assert_int_equal(b.len - cases[i].bytes_after, b.gaps[0].pos);
        if (cases[i].version == 4) {
            assert_int_equal(300, load_be32(b.ptr + b.len - 4));
        } else {
            assert_memory_equal("\xad\x02", b.ptr + b.gaps[0].pos - 2, 2); /* uvarint 301 */
        }
        buf_deinit(&b);
    }
}

static void error_codes_are_counted_as_they_are_written(void **state)
{
    (void)state;
    struct wire_fetch_response_responses_partitions partitions[3];
    for (size_t i = 0; i < ARRAY_LEN(partitions); i++) {
        wire_fetch_response_responses_partitions_init(&partitions[i]);
        partitions[i].records = (struct wire_records){(const uint8_t *)"", 0};
    }
    partitions[0].error_code = 3;
    partitions[2].error_code = -1;
    struct wire_fetch_response_responses topic = {
        .topic = slice_str("t"), .partitions = partitions, .partitions_count = 3};
    struct wire_fetch_response response;
    wire_fetch_response_init(&response);
    response.responses = &topic;
    response.responses_count = 1;
    response.error_code = 70;
    const struct wire_message *message = wire_api_find(WIRE_KEY_FETCH)->response;
    struct buf b;
    buf_init(&b);
    assert_int_equal(wire_message_encode(message, &response, &b, 11), 3);
    assert_int_equal(wire_message_encode(message, &response, &b, 6), 2); /* has none at the top */
    assert_false(buf_failed(&b));
    buf_deinit(&b);
}

static void a_string_too_long_for_its_length_fails_the_buffer(void **state)
{
    (void)state;
    uint8_t *text = calloc(1, 32768);
    struct wire_metadata_request_topics topic = {.name = slice_of(text, 32768)};
    struct wire_metadata_request request = {.topics = &topic, .topics_count = 1};
    struct buf b;
    buf_init(&b);
    wire_metadata_request_encode(&request, &b, 1);
    assert_true(buf_failed(&b));
    buf_clear(&b);
    topic.name.len = 32767;
    wire_metadata_request_encode(&request, &b, 1);
    assert_false(buf_failed(&b));
    buf_deinit(&b);
    free(text);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_message_survives_a_round_trip),
        cmocka_unit_test(every_message_cut_short_is_an_error),
        cmocka_unit_test(a_byte_after_the_body_is_an_error),
        cmocka_unit_test(hostile_numbers_anywhere_do_no_harm),
        cmocka_unit_test(a_hostile_count_is_refused_without_memory),
        cmocka_unit_test(an_arena_that_is_full_is_an_error),
        cmocka_unit_test(null_is_refused_where_the_version_knows_none),
        cmocka_unit_test(a_version_without_schema_is_unsupported),
        cmocka_unit_test(unknown_tags_are_skipped_and_their_order_is_checked),
        cmocka_unit_test(a_tag_of_the_wrong_size_is_malformed),
        cmocka_unit_test(init_sets_the_defaults_of_the_schema),
        cmocka_unit_test(absent_fields_decode_to_their_defaults),
        cmocka_unit_test(a_nullable_struct_is_null_or_has_a_mark),
        cmocka_unit_test(a_tagged_array_is_absent_or_empty),
        cmocka_unit_test(external_records_leave_a_gap),
        cmocka_unit_test(error_codes_are_counted_as_they_are_written),
        cmocka_unit_test(a_string_too_long_for_its_length_fails_the_buffer),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
