/*
 * DescribeLogDirs over the wire: every directory, every replica in exactly one of them.
 */
#include "base/check.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "auth/acl.h"
#include "bench.h"
#include "model/kerr.h"
#include "wire/describe_log_dirs.h"

static const struct wire_describe_log_dirs_response *
describe(struct bench *b, int16_t version, struct wire_describe_log_dirs_request_topics *topics,
         int32_t count)
{
    struct wire_describe_log_dirs_request req = {.topics = topics, .topics_count = count};
    const struct wire_describe_log_dirs_response *resp =
        bench_call(b, WIRE_KEY_DESCRIBE_LOG_DIRS, version, &req);
    assert_non_null(resp);
    return resp;
}

static void replicas_are_listed_with_their_size(void **state)
{
    (void)state;
    struct bench b = {0};
    bench_start(&b, NULL);
    bench_lead(&b);
    size_t bytes = bench_records(&b, 3).len;
    bench_append(&b, 3);
    for (int16_t version = 1; version <= 4; version++) {
        const struct wire_describe_log_dirs_response *resp = describe(&b, version, NULL, -1);
        assert_int_equal(resp->results_count, 2);
        assert_true(slice_equal_str(resp->results[0].log_dir, "/data/a"));
        assert_true(slice_equal_str(resp->results[1].log_dir, "/data/b"));
        int32_t found = 0;
        for (int32_t i = 0; i < 2; i++) {
            assert_int_equal(resp->results[i].error_code, KERR_NONE);
            for (int32_t j = 0; j < resp->results[i].topics_count; j++) {
                found++;
                assert_true(slice_equal_str(resp->results[i].topics[j].name, "t"));
                assert_int_equal(resp->results[i].topics[j].partitions_count, 1);
                assert_int_equal(resp->results[i].topics[j].partitions[0].partition_size, bytes);
                assert_int_equal(resp->results[i].topics[j].partitions[0].offset_lag, 0);
            }
        }
        assert_int_equal(found, 1);
    }
    bench_stop(&b);
}

static void topics_not_asked_for_are_left_out(void **state)
{
    (void)state;
    struct bench b = {0};
    bench_start(&b, NULL);
    bench_lead(&b);
    int32_t partitions[] = {0};
    struct wire_describe_log_dirs_request_topics topics[] = {
        {.topic = slice_str("other"), .partitions = partitions, .partitions_count = 1}};
    const struct wire_describe_log_dirs_response *resp = describe(&b, 4, topics, 1);
    assert_int_equal(resp->results[0].topics_count + resp->results[1].topics_count, 0);
    topics[0].topic = slice_str("t");
    resp = describe(&b, 4, topics, 1);
    assert_int_equal(resp->results[0].topics_count + resp->results[1].topics_count, 1);
    bench_stop(&b);
}

static void describe_on_the_cluster_is_needed(void **state)
{
    (void)state;
    struct auth_acl acl = {.resource_type = AUTH_RESOURCE_CLUSTER,
                           .pattern = AUTH_PATTERN_LITERAL,
                           .operation = AUTH_OPERATION_DESCRIBE,
                           .permission = AUTH_PERMISSION_DENY,
                           .resource_name = slice_str(AUTH_CLUSTER_NAME),
                           .principal = slice_str(AUTH_PRINCIPAL_ANONYMOUS),
                           .host = slice_str("*")};
    struct auth_acls acls = {.acls = &acl, .acl_count = 1};
    struct bench b = {.acls = &acls};
    bench_start(&b, NULL);
    const struct wire_describe_log_dirs_response *resp = describe(&b, 3, NULL, -1);
    assert_int_equal(resp->error_code, KERR_CLUSTER_AUTHORIZATION_FAILED);
    assert_int_equal(resp->results_count, 0);
    bench_stop(&b);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(replicas_are_listed_with_their_size),
        cmocka_unit_test(topics_not_asked_for_are_left_out),
        cmocka_unit_test(describe_on_the_cluster_is_needed),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
