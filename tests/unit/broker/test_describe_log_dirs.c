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

static void a_partition_named_twice_is_listed_once(void **state)
{
    (void)state;
    struct bench b = {0};
    bench_start(&b, NULL);
    bench_lead(&b);
    int32_t partitions[] = {7, 0, 0};
    struct wire_describe_log_dirs_request_topics topics[] = {
        {.topic = slice_str("t"), .partitions = partitions, .partitions_count = 3},
        {.topic = slice_str("other"), .partitions = partitions, .partitions_count = 3},
        {.topic = slice_str("t"), .partitions = partitions, .partitions_count = 2}};
    const struct wire_describe_log_dirs_response *resp = describe(&b, 4, topics, 3);
    assert_int_equal(resp->results[0].topics_count + resp->results[1].topics_count, 1);
    for (int32_t i = 0; i < 2; i++) {
        if (resp->results[i].topics_count == 1) {
            assert_int_equal(resp->results[i].topics[0].partitions_count, 1);
            assert_int_equal(resp->results[i].topics[0].partitions[0].partition_index, 0);
        }
    }
    bench_stop(&b);
}

typedef struct wire_describe_log_dirs_response_results_topics_partitions partition_row;

/* The only partition that is listed, asked for with or without details. */
static const partition_row *only_one(struct bench *b, int16_t version, int8_t extensions)
{
    struct wire_describe_log_dirs_request req = {.topics_count = -1,
                                                 .klamm_extensions = extensions};
    const struct wire_describe_log_dirs_response *resp =
        bench_call(b, WIRE_KEY_DESCRIBE_LOG_DIRS, version, &req);
    assert_non_null(resp);
    const partition_row *found = NULL;
    for (int32_t i = 0; i < resp->results_count; i++) {
        for (int32_t j = 0; j < resp->results[i].topics_count; j++) {
            assert_null(found);
            assert_int_equal(resp->results[i].topics[j].partitions_count, 1);
            found = &resp->results[i].topics[j].partitions[0];
        }
    }
    assert_non_null(found);
    return found;
}

/* Both directories are on one disk, as those hear who ask. */
static void a_disk_is_told_to_those_who_ask(void **state)
{
    (void)state;
    struct bench b = {0};
    bench_start(&b, NULL);
    for (int8_t extensions = 0; extensions <= 1; extensions++) {
        struct wire_describe_log_dirs_request req = {.topics_count = -1,
                                                     .klamm_extensions = extensions};
        const struct wire_describe_log_dirs_response *resp =
            bench_call(&b, WIRE_KEY_DESCRIBE_LOG_DIRS, 4, &req);
        assert_int_equal(resp->results_count, 2);
        assert_int_equal(resp->results[0].disk != 0, extensions);
        assert_int_equal(resp->results[0].disk, resp->results[1].disk);
    }
    bench_stop(&b);
}

static void details_are_told_to_those_who_ask(void **state)
{
    (void)state;
    struct bench b = {0};
    bench_start(&b, NULL);
    bench_lead(&b);
    size_t bytes = bench_records(&b, 1000).len;
    bench_append(&b, 1000);
    assert_null(only_one(&b, 4, 0)->details);
    assert_null(only_one(&b, 4, 2)->details); /* a later klamm's, not this one's */
    for (int16_t version = 2; version <= 4; version++) {
        const partition_row *row = only_one(&b, version, 1);
        assert_non_null(row->details);
        assert_int_equal(row->partition_size, bytes);
        assert_int_equal(row->details->fetch_error_code, KERR_NONE);
        assert_true(row->details->is_leader);
        assert_false(row->details->is_throttled);
        assert_false(row->details->disk_full);
        assert_int_equal(row->details->throttle_rate, -1);
        assert_int_equal(row->details->log_start_offset, 0);
        assert_int_equal(row->details->log_end_offset, 1000);
        assert_in_range(row->details->write_rate, bytes / 10, bytes);
    }
    bench_run(&b, 20000);
    assert_int_equal(only_one(&b, 4, 1)->details->write_rate, 0);
    bench_stop(&b);
}

/* A follower whose leader has no address; then one whose leader does not answer is in
 * unit/replicas/test_fetcher. */
static void what_a_copy_waits_for_is_told(void **state)
{
    (void)state;
    struct bench b = {0};
    bench_start(&b, NULL);
    struct bench_partition p = {.topic = "t",
                                .id = bench_uuid(1),
                                .leader = BENCH_OTHER,
                                .leader_epoch = 3,
                                .replicas = {BENCH_OTHER, BENCH_BROKER},
                                .replica_count = 2};
    assert_int_equal(bench_update_metadata(&b, &p), 0);
    bench_leader_and_isr(&b, &p);
    const partition_row *row = only_one(&b, 4, 1);
    assert_int_equal(row->details->fetch_error_code, KERR_LEADER_NOT_AVAILABLE);
    assert_false(row->details->is_leader);
    assert_int_equal(row->details->write_rate, -1);
    bench_stop(&b);
}

/* Its partitions are listed with what they wait for, and only to those who ask. */
static void partitions_of_a_full_directory_are_told(void **state)
{
    (void)state;
    struct bench b = {0};
    bench_start(&b, NULL);
    bench_lead(&b);
    bench_append(&b, 3);
    sim_disk_capacity(b.server, 0);
    struct bench_produce refused = {
        .topic = "t", .acks = 1, .version = 9, .records = bench_records(&b, 3)};
    assert_int_equal(bench_produce(&b, &refused)->error_code, KERR_KAFKA_STORAGE_ERROR);
    sim_disk_capacity(b.server, -1);
    bench_run(&b, 100);
    const struct wire_describe_log_dirs_response *resp = describe(&b, 4, NULL, -1);
    assert_int_equal(resp->results[0].topics_count + resp->results[1].topics_count, 0);
    const partition_row *row = only_one(&b, 4, 1);
    assert_int_equal(row->partition_size, -1);
    assert_int_equal(row->details->fetch_error_code, KERR_KAFKA_STORAGE_ERROR);
    assert_true(row->details->disk_full);
    assert_int_equal(row->details->log_end_offset, -1);
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
        cmocka_unit_test(a_partition_named_twice_is_listed_once),
        cmocka_unit_test(a_disk_is_told_to_those_who_ask),
        cmocka_unit_test(details_are_told_to_those_who_ask),
        cmocka_unit_test(what_a_copy_waits_for_is_told),
        cmocka_unit_test(partitions_of_a_full_directory_are_told),
        cmocka_unit_test(describe_on_the_cluster_is_needed),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
