/*
 * ApiVersions: what is advertised, the answer to versions we do not know, software names.
 */
#include "base/check.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "base/endian.h"
#include "bench.h"
#include "model/kerr.h"

static void every_version_lists_all_apis_in_order(void **state)
{
    (void)state;
    struct bench b = {0};
    bench_start(&b, NULL);
    for (int16_t version = 0; version <= 4; version++) {
        struct wire_api_versions_request req = {.client_software_name = slice_str("kcat"),
                                                .client_software_version = slice_str("1.7.0-x")};
        const struct wire_api_versions_response *resp =
            bench_call(&b, WIRE_KEY_API_VERSIONS, version, &req);
        assert_non_null(resp);
        assert_int_equal(resp->error_code, KERR_NONE);
        assert_int_equal(resp->finalized_features_epoch, -1);
        bool has_produce = false;
        for (int32_t i = 0; i < resp->api_keys_count; i++) {
            assert_true(i == 0 || resp->api_keys[i - 1].api_key < resp->api_keys[i].api_key);
            has_produce = has_produce || (resp->api_keys[i].api_key == WIRE_KEY_PRODUCE &&
                                          resp->api_keys[i].min_version == 0 &&
                                          resp->api_keys[i].max_version == 11);
        }
        assert_true(has_produce);
    }
    bench_stop(&b);
}

static bool lists(const struct wire_api_versions_response *resp, int16_t key)
{
    for (int32_t i = 0; i < resp->api_keys_count; i++) {
        if (resp->api_keys[i].api_key == key) {
            return true;
        }
    }
    return false;
}

/* Design decision 9. */
static void calls_about_moves_are_left_out_below_2_4(void **state)
{
    (void)state;
    static const struct {
        const char *level;
        bool has_moves;
    } rows[] = {{"2.2", false}, {"2.3-IV1", false}, {"2.4-IV0", true}, {"3.9", true}};
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        struct bench b = {0};
        const char *settings[] = {"inter.broker.protocol.version", rows[i].level, NULL};
        bench_start(&b, settings);
        struct wire_api_versions_request req = {.client_software_name = slice_str("kcat"),
                                                .client_software_version = slice_str("1")};
        const struct wire_api_versions_response *resp =
            bench_call(&b, WIRE_KEY_API_VERSIONS, 3, &req);
        assert_int_equal(resp->error_code, KERR_NONE);
        assert_int_equal(lists(resp, WIRE_KEY_ALTER_PARTITION_REASSIGNMENTS), rows[i].has_moves);
        assert_int_equal(lists(resp, WIRE_KEY_LIST_PARTITION_REASSIGNMENTS), rows[i].has_moves);
        assert_true(lists(resp, WIRE_KEY_ALTER_PARTITION));
        assert_true(lists(resp, WIRE_KEY_PRODUCE));
        bench_stop(&b);
    }
}

static void software_names_are_checked_from_version_3_on(void **state)
{
    (void)state;
    static const struct {
        const char *name;
        int16_t code;
    } rows[] = {
        {"a", KERR_NONE},
        {"apache-kafka.java", KERR_NONE},
        {"", KERR_INVALID_REQUEST},
        {"-a", KERR_INVALID_REQUEST},
        {"a.", KERR_INVALID_REQUEST},
        {"a b", KERR_INVALID_REQUEST},
    };
    struct bench b = {0};
    bench_start(&b, NULL);
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        struct wire_api_versions_request req = {.client_software_name = slice_str(rows[i].name),
                                                .client_software_version = slice_str("1")};
        const struct wire_api_versions_response *resp =
            bench_call(&b, WIRE_KEY_API_VERSIONS, 3, &req);
        assert_int_equal(resp->error_code, rows[i].code);
        assert_true(resp->api_keys_count > 0);
    }
    bench_stop(&b);
}

struct raw {
    bool is_done;
    int err;
    uint8_t bytes[12];
    size_t len;
};

static void raw_answered(void *arg, int err, struct block *frame, struct slice payload)
{
    struct raw *raw = arg;
    (void)frame;
    raw->is_done = true;
    raw->err = err;
    raw->len = payload.len;
    if (err == 0) {
        memcpy(raw->bytes, payload.ptr, MIN(payload.len, sizeof raw->bytes));
    }
}

static bool raw_is_done(void *arg)
{
    const struct raw *raw = arg;
    return raw->is_done;
}

/* Correlation id, error 35, then the rows: the layout of version 0, whatever was asked. */
static void unknown_version_is_answered_in_the_layout_of_version_0(void **state)
{
    (void)state;
    struct bench b = {0};
    struct raw raw = {0};
    bench_start(&b, NULL);
    struct buf frame;
    buf_init(&frame);
    buf_put_u16(&frame, WIRE_KEY_API_VERSIONS);
    buf_put_u16(&frame, 99);
    buf_put_u32(&frame, 0);
    buf_put_u16(&frame, 0xffff);
    buf_put_str(&frame, "a body of the future");
    net_peer_call(b.peer, &frame, 5000, raw_answered, &raw);
    assert_true(sim_world_run(b.world, BENCH_PATIENCE_MS, raw_is_done, &raw));
    assert_int_equal(raw.err, 0);
    assert_int_equal(load_be16(raw.bytes + 4), KERR_UNSUPPORTED_VERSION);
    uint32_t count = load_be32(raw.bytes + 6);
    assert_int_equal(raw.len, 4 + 2 + 4 + count * 6);
    bench_stop(&b);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_version_lists_all_apis_in_order),
        cmocka_unit_test(calls_about_moves_are_left_out_below_2_4),
        cmocka_unit_test(software_names_are_checked_from_version_3_on),
        cmocka_unit_test(unknown_version_is_answered_in_the_layout_of_version_0),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
