/*
 * IncrementalAlterConfigs, AlterConfigs and DescribeConfigs over the wire: what is altered is stored, told to the
 * broker by the notification, and described with its source.
 */
#include "base/check.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "bench.h"
#include "model/kerr.h"
#include "wire/alter_configs.h"
#include "wire/describe_configs.h"
#include "wire/incremental_alter_configs.h"

struct change {
    int8_t resource_type; /* 2 topic, 4 broker */
    const char *resource;
    const char *name;
    int8_t operation;
    const char *value;
    bool is_validate_only;
};

static const struct wire_incremental_alter_configs_response_responses *
alter(struct bench *b, const struct change *change)
{
    struct wire_incremental_alter_configs_request_resources_configs config = {
        .name = slice_str(change->name),
        .config_operation = change->operation,
        .value = slice_str(change->value)};
    struct wire_incremental_alter_configs_request_resources resource = {
        .resource_type = change->resource_type,
        .resource_name = slice_str(change->resource),
        .configs = &config,
        .configs_count = 1};
    struct wire_incremental_alter_configs_request req = {
        .resources = &resource, .resources_count = 1, .validate_only = change->is_validate_only};
    const struct wire_incremental_alter_configs_response *resp =
        bench_call(b, WIRE_KEY_INCREMENTAL_ALTER_CONFIGS, 1, &req);
    assert_non_null(resp);
    assert_int_equal(resp->responses_count, 1);
    assert_true(slice_equal_str(resp->responses[0].resource_name, change->resource));
    bench_run(b, 100);
    return &resp->responses[0];
}

/* The one configuration asked for; NULL when it is not in the answer. */
static const struct wire_describe_configs_response_results_configs *
describe(struct bench *b, int8_t type, const char *resource, const char *name)
{
    struct slice keys[] = {slice_str(name)};
    struct wire_describe_configs_request_resources asked = {.resource_type = type,
                                                            .resource_name = slice_str(resource),
                                                            .configuration_keys = keys,
                                                            .configuration_keys_count = 1};
    struct wire_describe_configs_request req = {.resources = &asked,
                                                .resources_count = 1,
                                                .include_synonyms = true,
                                                .include_documentation = true};
    const struct wire_describe_configs_response *resp =
        bench_call(b, WIRE_KEY_DESCRIBE_CONFIGS, 4, &req);
    assert_non_null(resp);
    assert_int_equal(resp->results[0].error_code, KERR_NONE);
    return resp->results[0].configs_count == 0 ? NULL : &resp->results[0].configs[0];
}

static void topic_value_is_stored_and_described(void **state)
{
    (void)state;
    struct bench b = {0};
    bench_start(&b, NULL);
    bench_lead(&b);
    const struct wire_describe_configs_response_results_configs *config =
        describe(&b, 2, "t", "retention.ms");
    assert_true(slice_equal_str(config->value, "604800000"));
    assert_int_equal(config->config_source, CONFIG_SOURCE_DEFAULT);
    assert_int_equal(config->config_type, CONFIG_LONG);
    assert_true(config->documentation.len > 0);

    struct change change = {2, "t", "retention.ms", 0, "5000", false};
    assert_int_equal(alter(&b, &change)->error_code, KERR_NONE);
    config = describe(&b, 2, "t", "retention.ms");
    assert_true(slice_equal_str(config->value, "5000"));
    assert_int_equal(config->config_source, CONFIG_SOURCE_TOPIC);
    assert_int_equal(config->synonyms_count, 2);

    change.operation = 1;
    assert_int_equal(alter(&b, &change)->error_code, KERR_NONE);
    assert_true(slice_equal_str(describe(&b, 2, "t", "retention.ms")->value, "604800000"));
    bench_stop(&b);
}

static void lists_grow_and_shrink(void **state)
{
    (void)state;
    static const char name[] = "follower.replication.throttled.replicas";
    static const struct {
        int8_t operation;
        const char *value;
        const char *result;
    } rows[] = {
        {2, "0:1", "0:1"},
        {2, "0:2,1:1", "0:1,0:2,1:1"},
        {2, "0:1", "0:1,0:2,1:1"},
        {3, "0:1,1:1,9:9", "0:2"},
        {0, "*", "*"},
    };
    struct bench b = {0};
    bench_start(&b, NULL);
    bench_lead(&b);
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        struct change change = {2, "t", name, rows[i].operation, rows[i].value, false};
        assert_int_equal(alter(&b, &change)->error_code, KERR_NONE);
        const struct wire_describe_configs_response_results_configs *config =
            describe(&b, 2, "t", name);
        assert_true(slice_equal_str(config->value, rows[i].result));
    }
    bench_stop(&b);
}

static void broker_and_cluster_values_have_their_source(void **state)
{
    (void)state;
    static const char name[] = "leader.replication.throttled.rate";
    struct bench b = {0};
    bench_start(&b, NULL);
    struct change cluster = {4, "", name, 0, "1000", false};
    assert_int_equal(alter(&b, &cluster)->error_code, KERR_NONE);
    const struct wire_describe_configs_response_results_configs *config =
        describe(&b, 4, "1", name);
    assert_true(slice_equal_str(config->value, "1000"));
    assert_int_equal(config->config_source, CONFIG_SOURCE_DYNAMIC_DEFAULT);
    struct change broker = {4, "1", name, 0, "2000", false};
    assert_int_equal(alter(&b, &broker)->error_code, KERR_NONE);
    config = describe(&b, 4, "1", name);
    assert_true(slice_equal_str(config->value, "2000"));
    assert_int_equal(config->config_source, CONFIG_SOURCE_DYNAMIC_BROKER);
    assert_true(slice_equal_str(describe(&b, 4, "", name)->value, "1000"));
    assert_null(describe(&b, 4, "", "num.partitions"));
    assert_true(describe(&b, 4, "1", "num.partitions")->read_only);
    bench_stop(&b);
}

static void refusals_change_nothing_and_say_why(void **state)
{
    (void)state;
    static const struct {
        struct change change;
        int16_t code;
        const char *message;
    } rows[] = {
        {{2, "t", "retention.ms", 0, "soon", false},
         KERR_INVALID_CONFIG,
         "Invalid value soon for configuration retention.ms: not a whole number"},
        {{2, "t", "no.such.key", 0, "1", false},
         KERR_INVALID_CONFIG,
         "Unknown configuration no.such.key"},
        {{2, "t", "retention.ms", 2, "1", false},
         KERR_INVALID_CONFIG,
         "Operation 2 is not possible for configuration retention.ms"},
        {{4, "1", "num.partitions", 0, "3", false},
         KERR_INVALID_CONFIG,
         "Configuration num.partitions cannot be changed while running"},
        {{2, "t", "leader.replication.throttled.replicas", 0, "0:x", false},
         KERR_INVALID_CONFIG,
         "Invalid value 0:x for configuration leader.replication.throttled.replicas: must be * or "
         "partition:broker,partition:broker,..."},
        {{4, "1", "leader.replication.throttled.rate", 0, "-1", false},
         KERR_INVALID_CONFIG,
         "Invalid value -1 for configuration leader.replication.throttled.rate: must be from 0 to "
         "9223372036854775807"},
        {{4, "1", "follower.replication.throttled.rate", 0, "9223372036854775808", false},
         KERR_INVALID_CONFIG,
         "Invalid value 9223372036854775808 for configuration follower.replication.throttled.rate: "
         "not a whole number"},
        {{2, "t", "retention.ms", 0, NULL, false},
         KERR_INVALID_REQUEST,
         "A value must not be null"},
        {{2, "none", "retention.ms", 0, "1", false}, KERR_UNKNOWN_TOPIC_OR_PARTITION, NULL},
        {{4, "9", "log.retention.ms", 0, "1", false}, KERR_INVALID_REQUEST, NULL},
        {{8, "1", "x", 0, "1", false}, KERR_INVALID_REQUEST, NULL},
        {{2, "t", "retention.ms", 0, "77", true}, KERR_NONE, NULL},
    };
    struct bench b = {0};
    bench_start(&b, NULL);
    bench_lead(&b);
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        const struct wire_incremental_alter_configs_response_responses *resp =
            alter(&b, &rows[i].change);
        assert_int_equal(resp->error_code, rows[i].code);
        if (rows[i].message != NULL) {
            assert_true(slice_equal_str(resp->error_message, rows[i].message));
        }
    }
    assert_true(slice_equal_str(describe(&b, 2, "t", "retention.ms")->value, "604800000"));
    bench_stop(&b);
}

/* AlterConfigs of topic t; value NULL is null. Returns the error code. */
static int16_t replace(struct bench *b, const char *name, const char *value)
{
    struct wire_alter_configs_request_resources_configs config = {.name = slice_str(name),
                                                                  .value = slice_str(value)};
    struct wire_alter_configs_request_resources resource = {.resource_type = 2,
                                                            .resource_name = slice_str("t"),
                                                            .configs = &config,
                                                            .configs_count = 1};
    struct wire_alter_configs_request req = {.resources = &resource, .resources_count = 1};
    const struct wire_alter_configs_response *resp = bench_call(b, WIRE_KEY_ALTER_CONFIGS, 2, &req);
    assert_non_null(resp);
    assert_int_equal(resp->responses_count, 1);
    assert_int_equal(resp->responses[0].resource_type, 2);
    assert_true(slice_equal_str(resp->responses[0].resource_name, "t"));
    bench_run(b, 100);
    return resp->responses[0].error_code;
}

static void replacement_keeps_only_what_it_names(void **state)
{
    (void)state;
    struct bench b = {0};
    bench_start(&b, NULL);
    bench_lead(&b);
    struct change change = {2, "t", "retention.ms", 0, "5000", false};
    assert_int_equal(alter(&b, &change)->error_code, KERR_NONE);
    assert_int_equal(replace(&b, "segment.ms", "soon"), KERR_INVALID_CONFIG);
    assert_int_equal(replace(&b, "segment.ms", NULL), KERR_INVALID_REQUEST);
    assert_true(slice_equal_str(describe(&b, 2, "t", "retention.ms")->value, "5000"));
    assert_int_equal(replace(&b, "segment.ms", "6000"), KERR_NONE);
    assert_true(slice_equal_str(describe(&b, 2, "t", "segment.ms")->value, "6000"));
    assert_true(slice_equal_str(describe(&b, 2, "t", "retention.ms")->value, "604800000"));
    bench_stop(&b);
}

/* The lists of a large topic: what is described is what was set, to the last entry. */
static void long_lists_are_described_whole(void **state)
{
    (void)state;
    struct bench b = {0};
    struct buf list;
    buf_init(&list);
    for (int32_t i = 0; i < 3000; i++) {
        buf_putf(&list, "%s%d:1", i == 0 ? "" : ",", i);
    }
    char *text = slice_dup(buf_slice(&list));
    bench_start(&b, NULL);
    bench_lead(&b);
    struct change change = {2, "t", "leader.replication.throttled.replicas", 0, text, false};
    assert_int_equal(alter(&b, &change)->error_code, KERR_NONE);
    assert_true(slice_equal_str(describe(&b, 2, "t", change.name)->value, text));
    bench_stop(&b);
    free(text);
    buf_deinit(&list);
}

/* A smaller message limit holds for the next produce. */
static void altered_limit_is_enforced(void **state)
{
    (void)state;
    struct bench b = {0};
    bench_start(&b, NULL);
    bench_lead(&b);
    bench_append(&b, 20);
    struct change change = {2, "t", "max.message.bytes", 0, "100", false};
    assert_int_equal(alter(&b, &change)->error_code, KERR_NONE);
    struct bench_produce p = {
        .topic = "t", .acks = 1, .version = 9, .records = bench_records(&b, 20)};
    assert_int_equal(bench_produce(&b, &p)->error_code, KERR_MESSAGE_TOO_LARGE);
    bench_stop(&b);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(topic_value_is_stored_and_described),
        cmocka_unit_test(lists_grow_and_shrink),
        cmocka_unit_test(broker_and_cluster_values_have_their_source),
        cmocka_unit_test(refusals_change_nothing_and_say_why),
        cmocka_unit_test(replacement_keeps_only_what_it_names),
        cmocka_unit_test(long_lists_are_described_whole),
        cmocka_unit_test(altered_limit_is_enforced),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
