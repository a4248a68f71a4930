/*
 * Metadata over the wire: all, none, by name, by id, unknown and forbidden topics.
 */
#include "base/check.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "auth/acl.h"
#include "bench.h"
#include "model/kerr.h"
#include "wire/metadata.h"

static const struct wire_metadata_response *
ask(struct bench *b, int16_t version, struct wire_metadata_request_topics *topics, int32_t count)
{
    struct wire_metadata_request req;
    wire_metadata_request_init(&req);
    req.topics = topics;
    req.topics_count = count;
    req.allow_auto_topic_creation = false;
    const struct wire_metadata_response *resp = bench_call(b, WIRE_KEY_METADATA, version, &req);
    assert_non_null(resp);
    return resp;
}

static void every_version_describes_the_cluster(void **state)
{
    (void)state;
    struct bench b = {0};
    bench_start(&b, NULL);
    bench_lead(&b);
    for (int16_t version = 0; version <= 13; version++) {
        const struct wire_metadata_response *resp = ask(&b, version, NULL, version == 0 ? 0 : -1);
        assert_int_equal(resp->brokers_count, 2);
        assert_int_equal(resp->brokers[0].node_id, BENCH_BROKER);
        assert_int_equal(resp->brokers[0].port, api_port(b.api, 0));
        assert_true(slice_equal_str(resp->brokers[0].host, "server"));
        assert_int_equal(resp->controller_id, version >= 1 ? BENCH_BROKER : -1);
        if (version >= 2) {
            assert_true(slice_equal_str(resp->cluster_id, BENCH_CLUSTER_ID));
        }
        assert_int_equal(resp->topics_count, 1);
        const struct wire_metadata_response_topics *topic = &resp->topics[0];
        assert_true(slice_equal_str(topic->name, "t"));
        assert_true(uuid_equal(topic->topic_id, version >= 10 ? bench_uuid(1) : UUID_ZERO));
        assert_int_equal(topic->partitions_count, 1);
        assert_int_equal(topic->partitions[0].error_code, KERR_NONE);
        assert_int_equal(topic->partitions[0].leader_id, BENCH_BROKER);
        assert_int_equal(topic->partitions[0].leader_epoch, version >= 7 ? 3 : -1);
        assert_int_equal(topic->partitions[0].replica_nodes_count, 1);
    }
    bench_stop(&b);
}

static void empty_is_none_from_version_1_on(void **state)
{
    (void)state;
    struct bench b = {0};
    bench_start(&b, NULL);
    bench_lead(&b);
    assert_int_equal(ask(&b, 1, NULL, 0)->topics_count, 0);
    assert_int_equal(ask(&b, 9, NULL, 0)->topics_count, 0);
    bench_stop(&b);
}

static void topics_are_found_by_name_and_by_id(void **state)
{
    (void)state;
    struct bench b = {0};
    bench_start(&b, NULL);
    bench_lead(&b);
    struct wire_metadata_request_topics names[] = {
        {.name = slice_str("t")}, {.name = slice_str("none")}, {.name = slice_str("a b")}};
    const struct wire_metadata_response *resp = ask(&b, 9, names, 3);
    assert_int_equal(resp->topics_count, 3);
    assert_int_equal(resp->topics[0].error_code, KERR_NONE);
    assert_int_equal(resp->topics[1].error_code, KERR_UNKNOWN_TOPIC_OR_PARTITION);
    assert_true(slice_equal_str(resp->topics[1].name, "none"));
    assert_int_equal(resp->topics[2].error_code, KERR_INVALID_TOPIC_EXCEPTION);

    struct wire_metadata_request_topics ids[] = {{.topic_id = bench_uuid(1)},
                                                 {.topic_id = bench_uuid(5)}};
    resp = ask(&b, 12, ids, 2);
    assert_true(slice_equal_str(resp->topics[0].name, "t"));
    assert_int_equal(resp->topics[1].error_code, KERR_UNKNOWN_TOPIC_ID);
    assert_true(slice_is_null(resp->topics[1].name));
    assert_int_equal(ask(&b, 10, ids, 2)->topics[0].error_code, KERR_INVALID_REQUEST);
    bench_stop(&b);
}

/* The leader is not among the live brokers. */
static void partition_without_live_leader_says_so(void **state)
{
    (void)state;
    struct bench b = {0};
    bench_start(&b, NULL);
    struct bench_partition p = {.topic = "t",
                                .id = bench_uuid(1),
                                .leader = 77,
                                .leader_epoch = 1,
                                .replicas = {77, BENCH_OTHER},
                                .replica_count = 2};
    assert_int_equal(bench_update_metadata(&b, &p), 0);
    const struct wire_metadata_response *resp = ask(&b, 9, NULL, -1);
    const struct wire_metadata_response_topics_partitions *partition =
        &resp->topics[0].partitions[0];
    assert_int_equal(partition->error_code, KERR_LEADER_NOT_AVAILABLE);
    assert_int_equal(partition->leader_id, -1);
    assert_int_equal(partition->offline_replicas_count, 1);
    assert_int_equal(partition->offline_replicas[0], 77);
    bench_stop(&b);
}

static void forbidden_topics_are_hidden(void **state)
{
    (void)state;
    struct auth_acl acl = {.resource_type = AUTH_RESOURCE_TOPIC,
                           .pattern = AUTH_PATTERN_LITERAL,
                           .operation = AUTH_OPERATION_ALL,
                           .permission = AUTH_PERMISSION_DENY,
                           .resource_name = slice_str("t"),
                           .principal = slice_str(AUTH_PRINCIPAL_ANY),
                           .host = slice_str("*")};
    struct auth_acls acls = {.acls = &acl, .acl_count = 1, .is_open_without_acl = true};
    struct bench b = {.acls = &acls};
    bench_start(&b, NULL);
    bench_lead(&b);
    assert_int_equal(ask(&b, 9, NULL, -1)->topics_count, 0);
    struct wire_metadata_request_topics name = {.name = slice_str("t")};
    const struct wire_metadata_response *resp = ask(&b, 9, &name, 1);
    assert_int_equal(resp->topics[0].error_code, KERR_TOPIC_AUTHORIZATION_FAILED);
    assert_int_equal(resp->topics[0].partitions_count, 0);
    bench_stop(&b);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_version_describes_the_cluster),
        cmocka_unit_test(empty_is_none_from_version_1_on),
        cmocka_unit_test(topics_are_found_by_name_and_by_id),
        cmocka_unit_test(partition_without_live_leader_says_so),
        cmocka_unit_test(forbidden_topics_are_hidden),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
