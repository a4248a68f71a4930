/*
 * Request and response headers of all kinds of apis.
 */
#include "wire/header.h"

#include "base/check.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

static void header_versions_follow_the_api(void **state)
{
    (void)state;
    static const struct {
        int16_t key;
        int16_t version;
        int16_t request;
        int16_t response;
    } cases[] = {
        {WIRE_KEY_CONTROLLED_SHUTDOWN, 0, 0, 0},
        {WIRE_KEY_CONTROLLED_SHUTDOWN, 1, 1, 0},
        {WIRE_KEY_CONTROLLED_SHUTDOWN, 3, 2, 1},
        {WIRE_KEY_API_VERSIONS, 2, 1, 0},
        {WIRE_KEY_API_VERSIONS, 3, 2, 0},
        {WIRE_KEY_API_VERSIONS, 99, 1, 0}, /* unknown: the part before the tags is read */
        {WIRE_KEY_PRODUCE, 0, 1, 0},
        {WIRE_KEY_PRODUCE, 8, 1, 0},
        {WIRE_KEY_PRODUCE, 9, 2, 1},
        {WIRE_KEY_SASL_HANDSHAKE, 1, 1, 0},
        {WIRE_KEY_ALTER_PARTITION_REASSIGNMENTS, 0, 2, 1},
        {999, 0, 1, 0},
    };
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        assert_int_equal(cases[i].request,
                         wire_request_header_version(cases[i].key, cases[i].version));
        assert_int_equal(cases[i].response,
                         wire_response_header_version(cases[i].key, cases[i].version));
    }
}

static void check_request_bytes(const struct wire_request_header *m, const void *bytes, size_t len)
{
    struct buf b;
    buf_init(&b);
    wire_request_header_write(m, &b);
    assert_int_equal(len, b.len);
    assert_memory_equal(bytes, b.ptr, len);
    struct reader r;
    reader_init(&r, buf_slice(&b));
    struct wire_request_header again;
    assert_int_equal(0, wire_request_header_read(&again, &r));
    assert_int_equal(0, wire_reader_finish(&r));
    assert_int_equal(m->api_key, again.api_key);
    assert_int_equal(m->api_version, again.api_version);
    assert_int_equal(m->correlation_id, again.correlation_id);
    assert_true(slice_equal(m->client_id, again.client_id));
    buf_deinit(&b);
}

/* client_id keeps its two-byte length in header v2, which ends with a tag section. */
static void request_headers_have_their_golden_bytes(void **state)
{
    (void)state;
    struct wire_request_header m = {WIRE_KEY_METADATA, 1, 7, slice_str("cli")};
    check_request_bytes(&m, "\0\3\0\1\0\0\0\7\0\3cli", 13);
    m.api_version = 9;
    check_request_bytes(&m, "\0\3\0\11\0\0\0\7\0\3cli\0", 14);
    m.client_id = SLICE_NULL;
    check_request_bytes(&m, "\0\3\0\11\0\0\0\7\377\377\0", 11);
    m.api_key = WIRE_KEY_CONTROLLED_SHUTDOWN;
    m.api_version = 0;
    check_request_bytes(&m, "\0\7\0\0\0\0\0\7", 8);
}

static void response_headers_have_their_golden_bytes(void **state)
{
    (void)state;
    static const struct {
        int16_t key;
        int16_t version;
        size_t len;
    } cases[] = {
        {WIRE_KEY_METADATA, 8, 4}, {WIRE_KEY_METADATA, 9, 5}, {WIRE_KEY_API_VERSIONS, 4, 4}};
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct wire_request_header request = {cases[i].key, cases[i].version, 0x01020304,
                                              SLICE_NULL};
        struct buf b;
        buf_init(&b);
        wire_response_header_write(&request, &b);
        assert_int_equal(cases[i].len, b.len);
        assert_memory_equal("\1\2\3\4\0", b.ptr, b.len);
        struct reader r;
        reader_init(&r, buf_slice(&b));
        struct wire_response_header header;
        assert_int_equal(0, wire_response_header_read(&header, &r, cases[i].key, cases[i].version));
        assert_int_equal(0x01020304, header.correlation_id);
        assert_int_equal(0, wire_reader_finish(&r));
        buf_deinit(&b);
    }
}

static void a_header_cut_short_is_an_error(void **state)
{
    (void)state;
    static const char bytes[] = "\0\3\0\11\0\0\0\7\0\3cli";
    for (size_t len = 0; len < sizeof bytes; len++) {
        struct reader r;
        reader_init(&r, slice_of(bytes, len));
        struct wire_request_header header;
        int err = wire_request_header_read(&header, &r);
        /* The closing NUL of the literal is the empty tag section. */
        assert_int_equal(len == sizeof bytes ? 0 : -E_TRUNCATED, err);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(header_versions_follow_the_api),
        cmocka_unit_test(request_headers_have_their_golden_bytes),
        cmocka_unit_test(response_headers_have_their_golden_bytes),
        cmocka_unit_test(a_header_cut_short_is_an_error),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
