/*
 * The bytes of every message, against those of Apache Kafka (golden.txt) and, for what matters most,
 * against bytes written by hand from the specification.
 */
#include "base/check.h"
#include "wire/alter_partition_reassignments.h"
#include "wire/api_versions.h"
#include "wire/leader_and_isr.h"
#include "wire/list_partition_reassignments.h"
#include "wire/message.h"
#include "wire/produce.h"
#include "wire/update_metadata.h"

#include <setjmp.h>
#include <stdalign.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

#define ARENA_BYTES ((size_t)1 << 20)

/* ---- a message as text: JSON with the fields of one version, tagged ones only when set ---- */

static void dump_struct(struct buf *b, const struct wire_struct *s, const void *m, int16_t version);

#define DUMP_NUMBER(b, format, type, at)                                                           \
    do {                                                                                           \
        type number;                                                                               \
        memcpy(&number, (at), sizeof number);                                                      \
        buf_putf((b), format, number);                                                             \
    } while (0)

static void dump_slice(struct buf *b, const void *at)
{
    struct slice s;
    memcpy(&s, at, sizeof s);
    if (slice_is_null(s)) {
        buf_put_str(b, "null");
    } else {
        buf_putf(b, "\"%.*s\"", SLICE_ARG(s));
    }
}

static void dump_uuid(struct buf *b, const void *at)
{
    struct uuid id;
    char text[UUID_TEXT_SIZE];
    memcpy(&id, at, sizeof id);
    uuid_format(id, text);
    buf_putf(b, "\"%s\"", text);
}

static void dump_value(struct buf *b, const struct wire_field *f, const void *at, int16_t version)
{
    switch (f->kind) {
    case WIRE_BOOL:
        buf_put_str(b, *(const bool *)at ? "true" : "false");
        break;
    case WIRE_I8:
        DUMP_NUMBER(b, "%d", int8_t, at);
        break;
    case WIRE_I16:
        DUMP_NUMBER(b, "%d", int16_t, at);
        break;
    case WIRE_U16:
        DUMP_NUMBER(b, "%d", uint16_t, at);
        break;
    case WIRE_I32:
        DUMP_NUMBER(b, "%d", int32_t, at);
        break;
    case WIRE_I64:
        DUMP_NUMBER(b, "%ld", int64_t, at);
        break;
    case WIRE_F64:
        DUMP_NUMBER(b, "%.17g", double, at);
        break;
    case WIRE_UUID:
        dump_uuid(b, at);
        break;
    case WIRE_STR:
    case WIRE_BYTES:
    case WIRE_RECORDS:
        dump_slice(b, at);
        break;
    case WIRE_STRUCT:
        dump_struct(b, f->of, at, version);
        break;
    }
}

static void dump_field(struct buf *b, const struct wire_field *f, const void *m, int16_t version)
{
    const uint8_t *at = (const uint8_t *)m + f->offset;
    if (!f->is_array && f->kind == WIRE_STRUCT && f->null_version != WIRE_NEVER) {
        memcpy(&at, at, sizeof at);
        if (at == NULL) {
            buf_put_str(b, "null");
            return;
        }
    }
    if (!f->is_array) {
        dump_value(b, f, at, version);
        return;
    }
    int32_t count;
    memcpy(&count, (const uint8_t *)m + f->count_offset, sizeof count);
    if (count < 0) {
        buf_put_str(b, "null");
        return;
    }
    memcpy(&at, at, sizeof at);
    buf_put_str(b, "[");
    for (int32_t i = 0; i < count; i++) {
        buf_put_str(b, i == 0 ? "" : ",");
        dump_value(b, f, at + (size_t)i * wire_field_value_size(f), version);
    }
    buf_put_str(b, "]");
}

static void dump_struct(struct buf *b, const struct wire_struct *s, const void *m, int16_t version)
{
    const char *separator = "{";
    for (uint16_t i = 0; i < s->field_count; i++) {
        const struct wire_field *f = &s->fields[i];
        if (wire_field_has_version(f, version) && (f->tag < 0 || !wire_field_is_default(f, m))) {
            buf_putf(b, "%s\"%s\":", separator, f->name);
            dump_field(b, f, m, version);
            separator = ",";
        }
    }
    buf_put_str(b, *separator == '{' ? "{}" : "}");
}

/* ---- golden.txt ---- */

static size_t hex_decode(const char *hex, uint8_t *ret_bytes, size_t max)
{
    size_t len = strcmp(hex, "-") == 0 ? 0 : strlen(hex) / 2;
    assert_true(len <= max);
    for (size_t i = 0; i < len; i++) {
        unsigned value;
        assert_int_equal(1, sscanf(hex + 2 * i, "%2x", &value));
        ret_bytes[i] = (uint8_t)value;
    }
    return len;
}

static void assert_bytes(const struct buf *b, const uint8_t *bytes, size_t len)
{
    assert_false(buf_failed(b));
    assert_int_equal(len, b->len);
    assert_memory_equal(bytes, b->ptr == NULL ? bytes : b->ptr, len);
}

struct golden {
    const struct wire_message *message;
    int16_t version;
    const uint8_t *bytes;
    size_t len;
    const char *text;
};

static void check_golden(const struct golden *g)
{
    struct arena a;
    arena_init(&a, ARENA_BYTES);
    struct reader r;
    reader_init(&r, slice_of(g->bytes, g->len));
    alignas(max_align_t) uint8_t body[WIRE_BODY_SIZE_MAX];
    assert_int_equal(0, wire_message_decode(g->message, body, &r, g->version, &a));
    assert_int_equal(0, wire_reader_finish(&r));
    struct buf b;
    buf_init(&b);
    dump_struct(&b, g->message->body, body, g->version);
    buf_put_u8(&b, 0);
    assert_string_equal(g->text, (const char *)b.ptr);
    buf_clear(&b);
    wire_message_encode(g->message, body, &b, g->version);
    assert_bytes(&b, g->bytes, g->len);
    buf_deinit(&b);
    arena_deinit(&a);
}

static void check_line(char *line)
{
    char *save = NULL;
    const char *key = strtok_r(line, " ", &save);
    const char *name = strtok_r(NULL, " ", &save);
    const char *kind = strtok_r(NULL, " ", &save);
    const char *version = strtok_r(NULL, " ", &save);
    const char *hex = strtok_r(NULL, " ", &save);
    const char *text = strtok_r(NULL, "\n", &save);
    assert_non_null(text);
    const struct wire_api *api = wire_api_find((int16_t)strtol(key, NULL, 10));
    assert_non_null(api);
    assert_string_equal(name, api->name);
    uint8_t bytes[4096];
    struct golden g = {
        .message = strcmp(kind, "request") == 0 ? api->request : api->response,
        .version = (int16_t)strtol(version, NULL, 10),
        .bytes = bytes,
        .len = hex_decode(hex, bytes, sizeof bytes),
        .text = text,
    };
    check_golden(&g);
}

static void kafkas_bytes_are_read_and_written_alike(void **state)
{
    (void)state;
    FILE *file = fopen(KLAMM_SOURCE_DIR "/tests/compat/wire/golden.txt", "r");
    assert_non_null(file);
    char *line = NULL;
    size_t cap = 0;
    int checked = 0;
    while (getline(&line, &cap, file) > 0) {
        if (line[0] != '#') {
            check_line(line);
            checked++;
        }
    }
    free(line);
    fclose(file);
    assert_true(checked >= 2 * wire_api_count());
}

/* ---- by hand ---- */

#define ASSERT_ENCODES(name, m, version, literal)                                                  \
    do {                                                                                           \
        struct buf bytes_of;                                                                       \
        buf_init(&bytes_of);                                                                       \
        wire_##name##_encode((m), &bytes_of, (version));                                           \
        assert_bytes(&bytes_of, (const uint8_t *)(literal), sizeof(literal) - 1);                  \
        buf_deinit(&bytes_of);                                                                     \
    } while (0)

/* Section 1 of the protocol: what an unknown ApiVersions version is answered with. */
static void api_versions_answers_error_35_in_v0_layout(void **state)
{
    (void)state;
    struct wire_api_versions_response_api_keys row = {.api_key = 18, .max_version = 4};
    struct wire_api_versions_response response;
    wire_api_versions_response_init(&response);
    response.error_code = 35;
    response.api_keys = &row;
    response.api_keys_count = 1;
    ASSERT_ENCODES(api_versions_response, &response, 0, "\0\x23\0\0\0\1\0\x12\0\0\0\4");
    ASSERT_ENCODES(api_versions_response, &response, 3, "\0\x23\2\0\x12\0\0\0\4\0\0\0\0\0\0");
}

/* One partition of topic foo; replicas as the caller has set them. */
struct alter_one {
    struct wire_alter_partition_reassignments_request_topics_partitions partition;
    struct wire_alter_partition_reassignments_request_topics topic;
    struct wire_alter_partition_reassignments_request request;
};

static void alter_one_init(struct alter_one *one, int32_t *replicas, int32_t count)
{
    wire_alter_partition_reassignments_request_topics_partitions_init(&one->partition);
    one->partition.replicas = replicas;
    one->partition.replicas_count = count;
    wire_alter_partition_reassignments_request_topics_init(&one->topic);
    one->topic.name = slice_str("foo");
    one->topic.partitions = &one->partition;
    one->topic.partitions_count = 1;
    wire_alter_partition_reassignments_request_init(&one->request);
    one->request.topics = &one->topic;
    one->request.topics_count = 1;
}

/* Row 15 of the reassignment specification's section 15. */
static void alter_tells_null_replicas_from_empty_ones(void **state)
{
    (void)state;
    struct alter_one one;
    alter_one_init(&one, NULL, -1);
    ASSERT_ENCODES(alter_partition_reassignments_request, &one.request, 0,
                   "\0\0\xea\x60\2\4foo\2\0\0\0\0\0\0\0\0");
    alter_one_init(&one, NULL, 0);
    ASSERT_ENCODES(alter_partition_reassignments_request, &one.request, 0,
                   "\0\0\xea\x60\2\4foo\2\0\0\0\0\1\0\0\0");
    int32_t replicas[] = {4, 5};
    alter_one_init(&one, replicas, 2);
    ASSERT_ENCODES(alter_partition_reassignments_request, &one.request, 1,
                   "\0\0\xea\x60\1\2\4foo\2\0\0\0\0\3\0\0\0\4\0\0\0\5\0\0\0");
}

/* Decisions 2 and 6 of the design: our tags, absent unless asked for. */
static void extensions_travel_as_tags_from_10000(void **state)
{
    (void)state;
    struct alter_one one;
    alter_one_init(&one, NULL, -1);
    one.request.klamm_extensions = 1;
    one.request.force_cancel = true;
    ASSERT_ENCODES(alter_partition_reassignments_request, &one.request, 0,
                   "\0\0\xea\x60\2\4foo\2\0\0\0\0\0\0\0\2\x90\x4e\1\1\x91\x4e\1\1");
    struct wire_list_partition_reassignments_request list;
    wire_list_partition_reassignments_request_init(&list);
    ASSERT_ENCODES(list_partition_reassignments_request, &list, 0, "\0\0\xea\x60\0\0");
    list.klamm_extensions = 1;
    ASSERT_ENCODES(list_partition_reassignments_request, &list, 0, "\0\0\xea\x60\0\1\x90\x4e\1\1");
}

/* Decision 6: without the tag the answer is Kafka's, with it the details follow the three lists. */
static void details_of_a_move_are_a_tag_of_its_partition(void **state)
{
    (void)state;
    int32_t replicas[] = {2, 1};
    struct wire_list_partition_reassignments_response_topics_partitions_details details;
    struct wire_list_partition_reassignments_response_topics_partitions_details_adding adding = {
        .broker = 2, .state = 3, .lag_bytes = 5, .lag_offsets = -1, .reason = 2, .since_ms = 9};
    struct wire_list_partition_reassignments_response_topics_partitions partition = {
        .replicas = replicas,
        .replicas_count = 2,
        .adding_replicas = replicas,
        .adding_replicas_count = 1,
        .removing_replicas = replicas + 1,
        .removing_replicas_count = 1};
    struct wire_list_partition_reassignments_response_topics topic = {
        .name = slice_str("foo"), .partitions = &partition, .partitions_count = 1};
    struct wire_list_partition_reassignments_response resp;
    wire_list_partition_reassignments_response_init(&resp);
    resp.error_message = slice_str("");
    resp.topics = &topic;
    resp.topics_count = 1;
#define LISTS "\0\0\0\0\0\0\1\2\4foo\2\0\0\0\0\3\0\0\0\2\0\0\0\1\2\0\0\0\2\2\0\0\0\1"
    ASSERT_ENCODES(list_partition_reassignments_response, &resp, 0, LISTS "\0\0\0");
    wire_list_partition_reassignments_response_topics_partitions_details_init(&details);
    details.client_id = slice_str("ab");
    details.started_ms = 7;
    details.original_replicas = replicas + 1;
    details.original_replicas_count = 1;
    details.bytes_to_copy = 100;
    details.bytes_copied = 37;
    details.rate = -1;
    details.eta_ms = -1;
    details.reason = 2;
    details.since_ms = 9;
    details.adding = &adding;
    details.adding_count = 1;
    partition.details = &details;
#define I64(n)  "\0\0\0\0\0\0\0" n
#define MINUS_1 "\xff\xff\xff\xff\xff\xff\xff\xff"
    ASSERT_ENCODES(list_partition_reassignments_response, &resp, 0,
                   LISTS "\1\x90\x4e\x61\1\0\0\3"
                         "ab" I64("\7") "\2\0\0\0\1" I64("\x64") I64("\x25") MINUS_1 MINUS_1
                   "\2\0\0" I64("\x9") "\2\0\0\0\2\3" I64("\5") MINUS_1
                   "\2\0\0" I64("\x9") "\0\0\0\0");
#undef LISTS
#undef I64
#undef MINUS_1
}

static void update_metadata_v8_has_its_type_as_a_tag(void **state)
{
    (void)state;
    struct wire_update_metadata_request request;
    wire_update_metadata_request_init(&request);
    request.controller_id = 1;
    request.controller_epoch = 3;
    request.broker_epoch = 9;
#define BODY "\0\0\0\1\0\0\0\0\3\0\0\0\0\0\0\0\x9\1\1"
    ASSERT_ENCODES(update_metadata_request, &request, 8, BODY "\0");
    request.type = 2;
    ASSERT_ENCODES(update_metadata_request, &request, 8, BODY "\1\0\1\2");
#undef BODY
}

static void leader_and_isr_keeps_the_order_isr_epoch_replicas(void **state)
{
    (void)state;
    int32_t isr[] = {1};
    int32_t replicas[] = {1, 2};
    struct wire_leader_and_isr_request_topic_states_partition_states partition = {
        .partition_index = 5,
        .controller_epoch = 3,
        .leader = 1,
        .leader_epoch = 7,
        .isr = isr,
        .isr_count = 1,
        .partition_epoch = 8,
        .replicas = replicas,
        .replicas_count = 2,
        .adding_replicas = replicas + 1,
        .adding_replicas_count = 1,
        .is_new = true,
    };
    struct wire_leader_and_isr_request_topic_states topic = {.topic_name = slice_str("t"),
                                                             .partition_states = &partition,
                                                             .partition_states_count = 1,
                                                             .settings_count = -1};
    struct wire_leader_and_isr_request request;
    wire_leader_and_isr_request_init(&request);
    request.controller_id = 1;
    request.controller_epoch = 3;
    request.broker_epoch = 9;
    request.topic_states = &topic;
    request.topic_states_count = 1;
#define PARTITION                                                                                  \
    "\2\0\0\0\5\0\0\0\3\0\0\0\1\0\0\0\7\2\0\0\0\1\0\0\0\x8\3\0\0\0\1\0\0\0\2\2\0\0\0\2\1\1"
#define HEAD "\0\0\0\3\0\0\0\0\0\0\0\x9"
#define ID   "\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0"
    ASSERT_ENCODES(leader_and_isr_request, &request, 4,
                   "\0\0\0\1" HEAD "\2\2t" PARTITION "\0\0\1\0");
    ASSERT_ENCODES(leader_and_isr_request, &request, 7,
                   "\0\0\0\1\0" HEAD "\0\2\2t" ID PARTITION "\0\0\0\1\0");
#undef ID
#undef HEAD
#undef PARTITION
}

/* acks=1, one partition with three bytes of records. */
static void produce_v7_and_v9_have_their_bytes(void **state)
{
    (void)state;
    struct wire_produce_request_topic_data_partition_data partition = {
        .index = 2, .records = {(const uint8_t *)"abc", 3}};
    struct wire_produce_request_topic_data topic = {
        .name = slice_str("t"), .partition_data = &partition, .partition_data_count = 1};
    struct wire_produce_request request = {
        .acks = 1, .timeout_ms = 1000, .topic_data = &topic, .topic_data_count = 1};
    ASSERT_ENCODES(produce_request, &request, 7,
                   "\xff\xff\0\1\0\0\3\xe8\0\0\0\1\0\1t\0\0\0\1\0\0\0\2\0\0\0\3"
                   "abc");
    ASSERT_ENCODES(produce_request, &request, 9,
                   "\0\0\1\0\0\3\xe8\2\2t\2\0\0\0\2\4"
                   "abc\0\0\0");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(kafkas_bytes_are_read_and_written_alike),
        cmocka_unit_test(api_versions_answers_error_35_in_v0_layout),
        cmocka_unit_test(alter_tells_null_replicas_from_empty_ones),
        cmocka_unit_test(extensions_travel_as_tags_from_10000),
        cmocka_unit_test(details_of_a_move_are_a_tag_of_its_partition),
        cmocka_unit_test(update_metadata_v8_has_its_type_as_a_tag),
        cmocka_unit_test(leader_and_isr_keeps_the_order_isr_epoch_replicas),
        cmocka_unit_test(produce_v7_and_v9_have_their_bytes),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
