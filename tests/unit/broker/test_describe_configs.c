/*
 * DescribeConfigs over the wire: completeness, what is left out, what is refused. Sources and changes
 * are in test_alter_configs.c.
 */
#include "base/check.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "bench.h"
#include "model/kerr.h"
#include "wire/describe_configs.h"

static const struct wire_describe_configs_response_results *
describe(struct bench *b, int16_t version, int8_t type, const char *resource)
{
    struct wire_describe_configs_request_resources asked = {.resource_type = type,
                                                            .resource_name = slice_str(resource),
                                                            .configuration_keys_count = -1};
    struct wire_describe_configs_request req = {.resources = &asked, .resources_count = 1};
    const struct wire_describe_configs_response *resp =
        bench_call(b, WIRE_KEY_DESCRIBE_CONFIGS, version, &req);
    assert_non_null(resp);
    assert_int_equal(resp->results_count, 1);
    assert_int_equal(resp->results[0].resource_type, type);
    assert_true(slice_equal_str(resp->results[0].resource_name, resource));
    return &resp->results[0];
}

static void every_version_lists_every_property(void **state)
{
    (void)state;
    struct bench b = {0};
    bench_start(&b, NULL);
    bench_lead(&b);
    for (int16_t version = 1; version <= 4; version++) {
        const struct wire_describe_configs_response_results *topic = describe(&b, version, 2, "t");
        assert_int_equal(topic->error_code, KERR_NONE);
        assert_int_equal(topic->configs_count, config_count(CONFIG_SCOPE_TOPIC));
        const struct wire_describe_configs_response_results *broker = describe(&b, version, 4, "1");
        assert_int_equal(broker->configs_count, config_count(CONFIG_SCOPE_BROKER));
        for (int32_t i = 0; i < broker->configs_count; i++) {
            assert_int_equal(broker->configs[i].synonyms_count, 0);
            assert_int_equal(broker->configs[i].documentation.len, 0);
            assert_false(broker->configs[i].is_sensitive);
        }
    }
    assert_int_equal(describe(&b, 4, 4, "")->configs_count, 0);
    bench_stop(&b);
}

static void what_is_not_ours_is_refused(void **state)
{
    (void)state;
    static const struct {
        int8_t type;
        const char *resource;
        int16_t code;
    } rows[] = {
        {2, "none", KERR_UNKNOWN_TOPIC_OR_PARTITION},
        {4, "2", KERR_INVALID_REQUEST},
        {4, "one", KERR_INVALID_REQUEST},
        {8, "1", KERR_INVALID_REQUEST},
    };
    struct bench b = {0};
    bench_start(&b, NULL);
    bench_lead(&b);
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        const struct wire_describe_configs_response_results *resp =
            describe(&b, 4, rows[i].type, rows[i].resource);
        assert_int_equal(resp->error_code, rows[i].code);
        assert_int_equal(resp->configs_count, 0);
    }
    bench_stop(&b);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_version_lists_every_property),
        cmocka_unit_test(what_is_not_ours_is_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
