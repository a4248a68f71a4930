/*
 * The small znodes against the JSON of docs/spec/zookeeper-mode.md section 2, byte for byte, and
 * against input that breaks it.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/alloc.h"
#include "base/check.h"
#include "metastore/metastore.h"
#include "metastore/znode.h"

#include <stdlib.h>

/* Compares and empties the buf. */
static void assert_encoded(struct buf *b, const char *expected)
{
    assert_false(buf_failed(b));
    char *text = slice_dup(buf_slice(b));
    assert_string_equal(text, expected);
    free(text);
    buf_clear(b);
}

#define assert_error(err, code, em, wanted)                                                        \
    do {                                                                                           \
        assert_string_equal(error_name(err), error_name(code));                                    \
        assert_non_null(strstr((em).text, wanted));                                                \
    } while (0)

static void cluster_id_keeps_its_text_version(void **state)
{
    (void)state;
    struct buf b;
    buf_init(&b);
    metastore_cluster_id_encode(&b, slice_str("ZGVmYXVsdC1jbHVzdGVyLg"), false);
    assert_encoded(&b, "{\"version\":\"1\",\"id\":\"ZGVmYXVsdC1jbHVzdGVyLg\"}");
    struct errmsg em;
    char *id = NULL;
    bool is_remade = true;
    assert_int_equal(metastore_cluster_id_decode(
                         slice_str(" {\"id\": \"abc\", \"new\": [1], \"version\": \"1\"}"), &id,
                         &is_remade, &em),
                     0);
    assert_string_equal(id, "abc");
    assert_false(is_remade);
    assert_error(
        metastore_cluster_id_decode(slice_str("{\"version\":\"1\"}"), &id, &is_remade, &em),
        E_MALFORMED, em, "'id' is missing");
    assert_string_equal(id, "abc");
    buf_clear(&b);
    metastore_cluster_id_encode(&b, slice_str(id), true);
    assert_encoded(&b, "{\"version\":\"1\",\"id\":\"abc\",\"klamm_remade\":true}");
    assert_int_equal(metastore_cluster_id_decode(
                         slice_str("{\"id\":\"abc\",\"klamm_remade\":true}"), &id, &is_remade, &em),
                     0);
    assert_true(is_remade);
    free(id);
    buf_deinit(&b);
}

static void controller_of_3_3_and_of_3_9_are_read(void **state)
{
    (void)state;
    struct buf b;
    buf_init(&b);
    metastore_controller_encode(&b, 3, 1700000000000);
    assert_encoded(&b, "{\"version\":2,\"brokerid\":3,\"timestamp\":\"1700000000000\","
                       "\"kraftControllerEpoch\":-1}");
    struct errmsg em;
    struct metastore_controller c = {0};
    assert_int_equal(metastore_controller_decode(
                         slice_str("{\"version\":1,\"brokerid\":7,\"timestamp\":\"1\"}"), &c, &em),
                     0);
    assert_int_equal(c.broker_id, 7);
    assert_int_equal(c.kraft_epoch, -1);
    assert_int_equal(metastore_controller_decode(slice_str("{\"version\":2,\"brokerid\":3000,"
                                                           "\"kraftControllerEpoch\":5}"),
                                                 &c, &em),
                     0);
    assert_int_equal(c.broker_id, 3000);
    assert_int_equal(c.kraft_epoch, 5);
    assert_error(metastore_controller_decode(slice_str("{\"brokerid\":-1}"), &c, &em), E_MALFORMED,
                 em, "'brokerid' is -1");
    assert_error(metastore_controller_decode(slice_str("{\"brokerid\":\"1\"}"), &c, &em),
                 E_MALFORMED, em, "'brokerid' is not an integer");
    buf_deinit(&b);
}

static void controller_epoch_is_bare_decimal_text(void **state)
{
    (void)state;
    struct buf b;
    buf_init(&b);
    metastore_controller_epoch_encode(&b, 12);
    assert_encoded(&b, "12");
    struct errmsg em;
    int32_t epoch = -1;
    assert_int_equal(metastore_controller_epoch_decode(slice_str("2147483647"), &epoch, &em), 0);
    assert_int_equal(epoch, INT32_MAX);
    static const char *const bad[] = {"", "-1", "1 ", "2147483648", "99999999999999999999", "0x1"};
    for (size_t i = 0; i < ARRAY_LEN(bad); i++) {
        assert_error(metastore_controller_epoch_decode(slice_str(bad[i]), &epoch, &em), E_MALFORMED,
                     em, "not a number");
    }
    assert_int_equal(epoch, INT32_MAX);
    buf_deinit(&b);
}

static char plaintext[] = "PLAINTEXT";
static char tls[] = "TLS";
static char host[] = "host";
static char ipv6[] = "::1";
static char rack[] = "r\"1";

/* Below 2.7-IV0 brokers tell no features. */
static void broker_of_an_old_level_is_written_as_version_4(void **state)
{
    (void)state;
    struct model_endpoint endpoint = {.listener = plaintext, .host = host, .port = 9092};
    struct model_broker broker = {.id = 1, .endpoints = &endpoint, .endpoint_count = 1};
    struct buf b;
    buf_init(&b);
    metastore_broker_encode(&b, &broker, IBP_2_6_IV0, 1700000000000);
    assert_encoded(&b, "{\"listener_security_protocol_map\":{\"PLAINTEXT\":\"PLAINTEXT\"},"
                       "\"endpoints\":[\"PLAINTEXT://host:9092\"],\"jmx_port\":-1,\"host\":"
                       "\"host\",\"timestamp\":\"1700000000000\",\"port\":9092,\"version\":4}");
    buf_deinit(&b);
}

static void features_follow_the_level(void **state)
{
    (void)state;
    static const struct {
        enum ibp level;
        const char *json;
    } rows[] = {
        {IBP_2_6_IV0, "{\"version\":1,\"status\":0,\"features\":{}}"},
        {IBP_2_7_IV0, "{\"version\":1,\"status\":1,\"features\":{}}"},
        {IBP_3_2_IV0, "{\"version\":1,\"status\":1,\"features\":{}}"},
        {IBP_3_3_IV0, "{\"version\":2,\"status\":1,\"features\":{}}"},
        {IBP_NEWEST, "{\"version\":2,\"status\":1,\"features\":{}}"},
    };
    struct buf b;
    struct errmsg em;
    buf_init(&b);
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        bool is_outdated = true;
        metastore_features_encode(&b, rows[i].level);
        assert_int_equal(metastore_features_check(buf_slice(&b), rows[i].level, &is_outdated, &em),
                         0);
        assert_false(is_outdated);
        assert_encoded(&b, rows[i].json);
        assert_int_equal(
            metastore_features_check(slice_str(rows[0].json), IBP_2_8_IV1, &is_outdated, &em), 0);
        assert_true(is_outdated);
    }
    buf_deinit(&b);
    /* Entries are somebody else's. */
    bool is_outdated = true;
    assert_int_equal(
        metastore_features_check(slice_str("{\"version\":1,\"status\":1,\"features\":{\"f\":{"
                                           "\"min_version_level\":1,\"max_version_level\":2}}}"),
                                 IBP_NEWEST, &is_outdated, &em),
        0);
    assert_false(is_outdated);
    assert_error(metastore_features_check(slice_str("{\"version\":3,\"status\":1}"), IBP_NEWEST,
                                          &is_outdated, &em),
                 E_UNSUPPORTED, em, "version 3");
    assert_error(
        metastore_features_check(slice_str("{\"version\":2}"), IBP_NEWEST, &is_outdated, &em),
        E_MALFORMED, em, "'status' is missing");
    assert_false(is_outdated);
}

static void broker_is_written_as_version_5(void **state)
{
    (void)state;
    struct model_endpoint endpoints[] = {
        {.listener = tls, .host = ipv6, .port = 9093, .security_protocol = 1},
        {.listener = plaintext, .host = host, .port = 9092, .security_protocol = 0}};
    struct model_broker broker = {
        .id = 1, .endpoints = endpoints, .endpoint_count = 2, .rack = rack};
    struct buf b;
    buf_init(&b);
    metastore_broker_encode(&b, &broker, IBP_NEWEST, 1700000000000);
    struct model_broker got = {.id = 1, .epoch = 9};
    struct errmsg em;
    assert_int_equal(metastore_broker_decode(buf_slice(&b), &got, &em), 0);
    assert_true(model_broker_equal(&got, &broker));
    assert_int_equal(got.epoch, 9);
    assert_encoded(&b,
                   "{\"listener_security_protocol_map\":{\"TLS\":\"SSL\",\"PLAINTEXT\":"
                   "\"PLAINTEXT\"},\"endpoints\":[\"TLS://[::1]:9093\",\"PLAINTEXT://host:9092\"]"
                   ",\"jmx_port\":-1,\"features\":{},\"host\":\"host\",\"timestamp\":"
                   "\"1700000000000\",\"port\":9092,\"version\":5,\"rack\":\"r\\\"1\"}");
    model_broker_deinit(&got);
    broker = (struct model_broker){.endpoints = endpoints, .endpoint_count = 1};
    metastore_broker_encode(&b, &broker, IBP_2_7_IV0, 1);
    assert_encoded(&b, "{\"listener_security_protocol_map\":{\"TLS\":\"SSL\"},\"endpoints\":"
                       "[\"TLS://[::1]:9093\"],\"jmx_port\":-1,\"features\":{},\"host\":null,"
                       "\"timestamp\":\"1\",\"port\":-1,\"version\":5}");
    buf_deinit(&b);
}

/* One registration a version, as Java brokers write them. */
static void brokers_of_versions_1_to_5_are_read(void **state)
{
    (void)state;
    static const char *const texts[] = {
        "{\"jmx_port\":-1,\"timestamp\":\"1\",\"host\":\"h\",\"version\":1,\"port\":9092}",
        "{\"jmx_port\":-1,\"timestamp\":\"1\",\"endpoints\":[\"PLAINTEXT://"
        "h:9092\"],\"host\":\"x\","
        "\"version\":2,\"port\":1}",
        "{\"endpoints\":[\"PLAINTEXT://h:9092\"],\"rack\":null,\"version\":3,\"host\":null}",
        "{\"listener_security_protocol_map\":{\"PLAINTEXT\":\"PLAINTEXT\"},\"endpoints\":"
        "[\"PLAINTEXT://h:9092\"],\"jmx_port\":-1,\"host\":\"h\",\"timestamp\":\"1\",\"port\":9092,"
        "\"version\":4}",
        "{\"features\":{\"f\":{\"min_version\":1,\"max_version\":2}},\"version\":5,"
        "\"listener_security_protocol_map\":{\"PLAINTEXT\":\"PLAINTEXT\"},\"endpoints\":"
        "[\"PLAINTEXT://h:9092\"]}"};
    char name[] = "h";
    struct model_endpoint endpoint = {.listener = plaintext, .host = name, .port = 9092};
    struct model_broker expected = {.id = 4, .endpoints = &endpoint, .endpoint_count = 1};
    for (size_t i = 0; i < ARRAY_LEN(texts); i++) {
        struct model_broker got = {.id = 4};
        struct errmsg em = {""};
        assert_int_equal(metastore_broker_decode(slice_str(texts[i]), &got, &em), 0);
        assert_true(model_broker_equal(&got, &expected));
        model_broker_deinit(&got);
    }
}

static void broken_brokers_are_refused_with_the_reason(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        enum error error;
        const char *reason;
    } cases[] = {
        {"{\"version\":6,\"endpoints\":[]}", E_UNSUPPORTED, "version 6"},
        {"{\"version\":0}", E_UNSUPPORTED, "version 0"},
        {"{\"endpoints\":[]}", E_MALFORMED, "'port' is missing"}, /* counts as version 1 */
        {"{\"version\":5,\"endpoints\":[]}", E_MALFORMED, "protocol_map' is missing"},
        {"{\"version\":2,\"endpoints\":[\"PLAINTEXT://h:65536\"]}", E_MALFORMED, "port"},
        {"{\"version\":2,\"endpoints\":[\"PLAINTEXT://h:\"]}", E_MALFORMED, "port"},
        {"{\"version\":2,\"endpoints\":[\"PLAINTEXT://:1\"]}", E_MALFORMED, "endpoint's host"},
        {"{\"version\":2,\"endpoints\":[\"PLAINTEXT://[]:1\"]}", E_MALFORMED, "endpoint's host"},
        {"{\"version\":2,\"endpoints\":[\"PLAINTEXT://[[a]]:1\"]}", E_MALFORMED, "host"},
        {"{\"version\":2,\"endpoints\":[\"SSL://a:1\",\"SSL://b:2\"]}", E_MALFORMED,
         "SSL is there twice"},
        {"{\"version\":2,\"endpoints\":[\"://h:1\"]}", E_MALFORMED, "LISTENER://host:port"},
        {"{\"version\":2,\"endpoints\":[\"h:1\"]}", E_MALFORMED, "LISTENER://host:port"},
        {"{\"version\":2,\"endpoints\":[1]}", E_MALFORMED, "not a string"},
        {"{\"version\":2,\"endpoints\":[\"MINE://h:1\"]}", E_MALFORMED, "security protocol"},
        {"{\"version\":2,\"endpoints\":{}}", E_MALFORMED, "'endpoints' is not an array"},
        {"{\"version\":1,\"port\":1}", E_MALFORMED, "'host' is missing"},
        {"[]", E_MALFORMED, "an object was expected"},
        {"", E_MALFORMED, "JSON"},
        {"{\"version\":1,\"version\":2}", E_MALFORMED, "duplicate"},
        {"{\"version\":99999999999999999999}", E_MALFORMED, "too big"},
    };
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct model_broker got = {.id = 4};
        struct errmsg em = {""};
        assert_error(metastore_broker_decode(slice_str(cases[i].text), &got, &em), cases[i].error,
                     em, cases[i].reason);
        assert_int_equal(got.endpoint_count, 0);
        assert_int_equal(got.id, 4);
    }
}

static void collect(void *arg, struct slice key, struct slice value)
{
    buf_putf(arg, "%.*s=%.*s;", SLICE_ARG(key), SLICE_ARG(value));
}

static void config_values_are_text(void **state)
{
    (void)state;
    struct buf b;
    buf_init(&b);
    struct model_setting settings[] = {{slice_str("retention.ms"), slice_str("60000")},
                                       {slice_str("a\"b"), slice_str("x\n\xc3\xa4")}};
    metastore_config_encode(&b, settings, 0);
    assert_encoded(&b, "{\"version\":1,\"config\":{}}");
    metastore_config_encode(&b, settings, 2);
    struct buf pairs;
    buf_init(&pairs);
    struct errmsg em;
    assert_int_equal(metastore_config_decode(buf_slice(&b), collect, &pairs, &em), 0);
    assert_encoded(&pairs, "retention.ms=60000;a\"b=x\n\xc3\xa4;");
    assert_encoded(&b, "{\"version\":1,\"config\":{\"retention.ms\":\"60000\",\"a\\\"b\":"
                       "\"x\\u000a\xc3\xa4\"}}");
    /* Nothing is told before the whole node was checked. */
    assert_error(
        metastore_config_decode(slice_str("{\"version\":1,\"config\":{\"a\":\"1\",\"b\":2}}"),
                                collect, &pairs, &em),
        E_MALFORMED, em, "'b' is not a string");
    assert_error(metastore_config_decode(slice_str("{\"version\":1}"), collect, &pairs, &em),
                 E_MALFORMED, em, "'config' is missing");
    assert_encoded(&pairs, "");
    buf_deinit(&pairs);
    buf_deinit(&b);
}

static void text_that_is_not_utf8_fails_the_buf(void **state)
{
    (void)state;
    static const char *const bad[] = {
        "\xff", "\xc3", "\xc0\x80", "\xed\xa0\x80", "\xf4\x90\x80\x80", "\xe2\x82"};
    for (size_t i = 0; i < ARRAY_LEN(bad); i++) {
        struct buf b;
        buf_init(&b);
        metastore_config_change_encode(&b, slice_str(bad[i]));
        assert_true(buf_failed(&b));
        buf_deinit(&b);
    }
}

static void config_changes_of_both_versions_name_the_entity(void **state)
{
    (void)state;
    struct buf b;
    buf_init(&b);
    metastore_config_change_encode(&b, slice_str("topics/foo"));
    assert_encoded(&b, "{\"version\":2,\"entity_path\":\"topics/foo\"}");
    struct errmsg em;
    char *path = NULL;
    assert_int_equal(
        metastore_config_change_decode(
            slice_str("{\"version\":2,\"entity_path\":\"brokers/<default>\"}"), &path, &em),
        0);
    assert_string_equal(path, "brokers/<default>");
    assert_int_equal(
        metastore_config_change_decode(
            slice_str("{\"version\":1,\"entity_type\":\"topics\",\"entity_name\":\"foo\"}"), &path,
            &em),
        0);
    assert_string_equal(path, "topics/foo");
    assert_error(metastore_config_change_decode(
                     slice_str("{\"version\":3,\"entity_path\":\"topics/foo\"}"), &path, &em),
                 E_UNSUPPORTED, em, "version 3");
    assert_error(metastore_config_change_decode(slice_str("{\"version\":2}"), &path, &em),
                 E_MALFORMED, em, "not named");
    free(path);
    buf_deinit(&b);
}

static void producer_blocks_hold_numbers_as_text(void **state)
{
    (void)state;
    struct buf b;
    buf_init(&b);
    struct model_producer_block block = {.broker = 1, .start = 0, .end = 999};
    metastore_producer_block_encode(&b, &block);
    assert_encoded(&b, "{\"version\":1,\"broker\":1,\"block_start\":\"0\",\"block_end\":\"999\"}");
    struct errmsg em;
    struct model_producer_block got = {.version = 8};
    assert_int_equal(
        metastore_producer_block_decode(
            slice_str("{\"version\":1,\"broker\":2,\"block_start\":\"9223372036854774808\","
                      "\"block_end\":\"9223372036854775807\"}"),
            &got, &em),
        0);
    assert_int_equal(got.broker, 2);
    assert_true(got.start == INT64_MAX - 999 && got.end == INT64_MAX);
    assert_int_equal(got.version, 8);
    static const char *const bad[] = {
        "{\"broker\":1,\"block_start\":\"5\",\"block_end\":\"4\"}",
        "{\"broker\":1,\"block_start\":\"-1\",\"block_end\":\"4\"}",
        "{\"broker\":1,\"block_start\":\"0\",\"block_end\":\"9223372036854775808\"}",
        "{\"broker\":1,\"block_start\":\"0\"}"};
    for (size_t i = 0; i < ARRAY_LEN(bad); i++) {
        assert_error(metastore_producer_block_decode(slice_str(bad[i]), &got, &em), E_MALFORMED, em,
                     "no range");
    }
    assert_int_equal(got.broker, 2);
    buf_deinit(&b);
}

static void log_dir_event_names_the_broker(void **state)
{
    (void)state;
    struct buf b;
    buf_init(&b);
    metastore_log_dir_event_encode(&b, 4);
    struct errmsg em;
    int32_t broker = -1;
    assert_int_equal(metastore_log_dir_event_decode(buf_slice(&b), &broker, &em), 0);
    assert_int_equal(broker, 4);
    assert_encoded(&b, "{\"version\":1,\"broker\":4,\"event\":1}");
    assert_error(metastore_log_dir_event_decode(
                     slice_str("{\"version\":1,\"broker\":4,\"event\":2}"), &broker, &em),
                 E_UNSUPPORTED, em, "event 2");
    buf_deinit(&b);
}

static void versions_that_are_not_known_are_not_read(void **state)
{
    (void)state;
    struct errmsg em = {""};
    struct metastore_controller node = {.broker_id = 77};
    assert_error(
        metastore_controller_decode(slice_str("{\"version\":3,\"brokerid\":1}"), &node, &em),
        E_UNSUPPORTED, em, "controller of version 3, known are 1 to 2");
    assert_int_equal(node.broker_id, 77);
    assert_error(metastore_config_decode(slice_str("{\"version\":2,\"config\":{\"a\":\"b\"}}"),
                                         collect, NULL, &em),
                 E_UNSUPPORTED, em, "settings of version 2, known are 1 to 1");
    struct model_producer_block block = {.broker = 77};
    assert_error(
        metastore_producer_block_decode(
            slice_str("{\"version\":2,\"broker\":1,\"block_start\":\"0\",\"block_end\":\"999\"}"),
            &block, &em),
        E_UNSUPPORTED, em, "producer ids of version 2, known are 1 to 1");
    assert_int_equal(block.broker, 77);
    int32_t broker = 77;
    assert_error(metastore_log_dir_event_decode(
                     slice_str("{\"version\":2,\"broker\":1,\"event\":1}"), &broker, &em),
                 E_UNSUPPORTED, em, "log directory event of version 2, known are 1 to 1");
    assert_int_equal(broker, 77);
    char *id = NULL;
    bool is_remade = false;
    assert_int_equal(metastore_cluster_id_decode(slice_str("{\"version\":\"2\",\"id\":\"abc\"}"),
                                                 &id, &is_remade, &em),
                     0); /* it is never written again */
    assert_string_equal(id, "abc");
    free(id);
}

static void nodes_larger_than_the_store_takes_fail_the_buf(void **state)
{
    (void)state;
    char *big = xalloc(METASTORE_DATA_MAX + 1);
    memset(big, 'x', METASTORE_DATA_MAX);
    struct model_setting setting = {slice_str("k"), slice_str(big)};
    struct buf b;
    buf_init(&b);
    metastore_config_encode(&b, &setting, 1);
    assert_true(buf_failed(&b));
    buf_deinit(&b);
    free(big);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(cluster_id_keeps_its_text_version),
        cmocka_unit_test(controller_of_3_3_and_of_3_9_are_read),
        cmocka_unit_test(controller_epoch_is_bare_decimal_text),
        cmocka_unit_test(broker_is_written_as_version_5),
        cmocka_unit_test(broker_of_an_old_level_is_written_as_version_4),
        cmocka_unit_test(features_follow_the_level),
        cmocka_unit_test(brokers_of_versions_1_to_5_are_read),
        cmocka_unit_test(broken_brokers_are_refused_with_the_reason),
        cmocka_unit_test(config_values_are_text),
        cmocka_unit_test(text_that_is_not_utf8_fails_the_buf),
        cmocka_unit_test(config_changes_of_both_versions_name_the_entity),
        cmocka_unit_test(producer_blocks_hold_numbers_as_text),
        cmocka_unit_test(log_dir_event_names_the_broker),
        cmocka_unit_test(versions_that_are_not_known_are_not_read),
        cmocka_unit_test(nodes_larger_than_the_store_takes_fail_the_buf),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
