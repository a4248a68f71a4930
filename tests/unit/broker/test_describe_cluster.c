/*
 * DescribeCluster and DescribeTopicPartitions over the wire.
 */
#include "base/check.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "bench.h"
#include "model/kerr.h"
#include "wire/describe_cluster.h"
#include "wire/describe_topic_partitions.h"

static void cluster_is_described_in_every_version(void **state)
{
    (void)state;
    struct bench b = {0};
    bench_start(&b, NULL);
    bench_lead(&b);
    for (int16_t version = 0; version <= 2; version++) {
        struct wire_describe_cluster_request req;
        wire_describe_cluster_request_init(&req);
        req.include_cluster_authorized_operations = true;
        const struct wire_describe_cluster_response *resp =
            bench_call(&b, WIRE_KEY_DESCRIBE_CLUSTER, version, &req);
        assert_non_null(resp);
        assert_int_equal(resp->error_code, KERR_NONE);
        assert_true(slice_equal_str(resp->cluster_id, BENCH_CLUSTER_ID));
        assert_int_equal(resp->controller_id, BENCH_BROKER);
        assert_int_equal(resp->brokers_count, 2);
        assert_true(slice_equal_str(resp->brokers[1].host, "other"));
        /* Create, alter, describe, cluster action, describe and alter configs, idempotent write. */
        assert_int_equal(resp->cluster_authorized_operations, 0x1fa0);
    }
    bench_stop(&b);
}

static void controllers_are_not_described_here(void **state)
{
    (void)state;
    struct bench b = {0};
    bench_start(&b, NULL);
    struct wire_describe_cluster_request req;
    wire_describe_cluster_request_init(&req);
    req.endpoint_type = 2;
    const struct wire_describe_cluster_response *resp =
        bench_call(&b, WIRE_KEY_DESCRIBE_CLUSTER, 1, &req);
    assert_int_equal(resp->error_code, KERR_MISMATCHED_ENDPOINT_TYPE);
    assert_int_equal(resp->brokers_count, 0);
    bench_stop(&b);
}

/* Topic "a" with partitions 0..count-1 and "b" with partition 0. */
static void fill_cache(struct bench *b, int32_t count)
{
    struct bench_partition p = {.topic = "a",
                                .id = bench_uuid(1),
                                .leader = BENCH_BROKER,
                                .leader_epoch = 1,
                                .replicas = {BENCH_BROKER},
                                .replica_count = 1};
    for (p.partition = 0; p.partition < count; p.partition++) {
        assert_int_equal(bench_update_metadata(b, &p), 0);
    }
    p.topic = "b";
    p.id = bench_uuid(2);
    p.partition = 0;
    assert_int_equal(bench_update_metadata(b, &p), 0);
}

static const struct wire_describe_topic_partitions_response *
page(struct bench *b, int32_t limit, struct wire_describe_topic_partitions_request_cursor *cursor)
{
    struct wire_describe_topic_partitions_request req;
    wire_describe_topic_partitions_request_init(&req);
    req.response_partition_limit = limit;
    req.cursor = cursor;
    const struct wire_describe_topic_partitions_response *resp =
        bench_call(b, WIRE_KEY_DESCRIBE_TOPIC_PARTITIONS, 0, &req);
    assert_non_null(resp);
    return resp;
}

static void pages_follow_each_other_without_gap_or_overlap(void **state)
{
    (void)state;
    struct bench b = {0};
    bench_start(&b, NULL);
    fill_cache(&b, 5);
    const struct wire_describe_topic_partitions_response *resp = page(&b, 2, NULL);
    assert_int_equal(resp->topics_count, 1);
    assert_int_equal(resp->topics[0].partitions_count, 2);
    assert_non_null(resp->next_cursor);
    assert_true(slice_equal_str(resp->next_cursor->topic_name, "a"));
    assert_int_equal(resp->next_cursor->partition_index, 2);

    struct wire_describe_topic_partitions_request_cursor cursor = {.topic_name = slice_str("a"),
                                                                   .partition_index = 2};
    resp = page(&b, 3, &cursor);
    assert_int_equal(resp->topics_count, 1);
    assert_int_equal(resp->topics[0].partitions_count, 3);
    assert_int_equal(resp->topics[0].partitions[0].partition_index, 2);
    assert_non_null(resp->next_cursor);
    assert_true(slice_equal_str(resp->next_cursor->topic_name, "b"));
    assert_int_equal(resp->next_cursor->partition_index, 0);

    cursor.topic_name = slice_str("b");
    cursor.partition_index = 0;
    resp = page(&b, 3, &cursor);
    assert_int_equal(resp->topics_count, 1);
    assert_true(slice_equal_str(resp->topics[0].name, "b"));
    assert_null(resp->next_cursor);
    bench_stop(&b);
}

static void named_topics_come_in_order_of_name(void **state)
{
    (void)state;
    struct bench b = {0};
    bench_start(&b, NULL);
    fill_cache(&b, 1);
    struct wire_describe_topic_partitions_request_topics names[] = {
        {slice_str("b")}, {slice_str("none")}, {slice_str("a")}};
    struct wire_describe_topic_partitions_request req;
    wire_describe_topic_partitions_request_init(&req);
    req.topics = names;
    req.topics_count = 3;
    const struct wire_describe_topic_partitions_response *resp =
        bench_call(&b, WIRE_KEY_DESCRIBE_TOPIC_PARTITIONS, 0, &req);
    assert_int_equal(resp->topics_count, 3);
    assert_true(slice_equal_str(resp->topics[0].name, "a"));
    assert_true(slice_equal_str(resp->topics[1].name, "b"));
    assert_true(uuid_equal(resp->topics[1].topic_id, bench_uuid(2)));
    assert_int_equal(resp->topics[2].error_code, KERR_UNKNOWN_TOPIC_OR_PARTITION);
    bench_stop(&b);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(cluster_is_described_in_every_version),
        cmocka_unit_test(controllers_are_not_described_here),
        cmocka_unit_test(pages_follow_each_other_without_gap_or_overlap),
        cmocka_unit_test(named_topics_come_in_order_of_name),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
