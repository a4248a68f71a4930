/*
 * DeleteTopics and CreatePartitions over the wire, on a broker with its controller.
 */
#include "base/check.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "cluster.h"
#include "model/kerr.h"
#include "wire/create_partitions.h"
#include "wire/delete_topics.h"

static const struct wire_delete_topics_response *delete_by_name(struct cluster *c, int16_t version,
                                                                const char *name)
{
    struct slice names[] = {slice_str(name)};
    struct wire_delete_topics_request_topics topics[] = {{.name = slice_str(name)}};
    struct wire_delete_topics_request req = {.topics = topics,
                                             .topics_count = 1,
                                             .topic_names = names,
                                             .topic_names_count = 1,
                                             .timeout_ms = 10000};
    const struct wire_delete_topics_response *resp =
        cluster_call_v(c, 1, WIRE_KEY_DELETE_TOPICS, version, &req);
    assert_non_null(resp);
    assert_int_equal(resp->responses_count, 1);
    return resp;
}

static void every_version_deletes_by_name(void **state)
{
    (void)state;
    struct cluster c = {0};
    cluster_start(&c, 1);
    for (int16_t version = 1; version <= 6; version++) {
        assert_int_equal(cluster_create_topic(&c, "t", 1, 1), KERR_NONE);
        assert_int_equal(cluster_produce(&c, "t", 2), 0);
        const struct wire_delete_topics_response *resp = delete_by_name(&c, version, "t");
        assert_int_equal(resp->responses[0].error_code, KERR_NONE);
        assert_true(slice_equal_str(resp->responses[0].name, "t"));
        cluster_run(&c, 2000);
        assert_null(cluster_partition(&c, 1, "t", 0));
        assert_int_equal(delete_by_name(&c, version, "t")->responses[0].error_code,
                         KERR_UNKNOWN_TOPIC_OR_PARTITION);
    }
    cluster_stop(&c);
}

static void ids_name_topics_from_version_6_on(void **state)
{
    (void)state;
    struct cluster c = {0};
    cluster_start(&c, 1);
    assert_int_equal(cluster_create_topic(&c, "t", 1, 1), KERR_NONE);
    struct wire_metadata_request metadata = {.topics_count = -1};
    const struct wire_metadata_response *described =
        cluster_call(&c, 1, WIRE_KEY_METADATA, &metadata);
    struct uuid unknown = {{9, 9}};
    struct wire_delete_topics_request_topics topics[] = {
        {.topic_id = described->topics[0].topic_id},
        {.topic_id = unknown},
        {.name = slice_str("t"), .topic_id = unknown},
        {.topic_id = UUID_ZERO},
    };
    struct wire_delete_topics_request req = {
        .topics = topics, .topics_count = ARRAY_LEN(topics), .timeout_ms = 10000};
    const struct wire_delete_topics_response *resp =
        cluster_call_v(&c, 1, WIRE_KEY_DELETE_TOPICS, 6, &req);
    static const int16_t codes[] = {KERR_NONE, KERR_UNKNOWN_TOPIC_ID, KERR_INVALID_REQUEST,
                                    KERR_INVALID_REQUEST};
    for (size_t i = 0; i < ARRAY_LEN(codes); i++) {
        assert_int_equal(resp->responses[i].error_code, codes[i]);
    }
    assert_true(slice_equal_str(resp->responses[0].name, "t"));
    cluster_stop(&c);
}

static void deletion_can_be_switched_off(void **state)
{
    (void)state;
    static const struct broker_setting settings[] = {{"delete.topic.enable", "false"}};
    struct cluster c = {.settings = settings, .setting_count = 1};
    cluster_start(&c, 1);
    assert_int_equal(cluster_create_topic(&c, "t", 1, 1), KERR_NONE);
    assert_int_equal(delete_by_name(&c, 4, "t")->responses[0].error_code,
                     KERR_TOPIC_DELETION_DISABLED);
    assert_int_equal(delete_by_name(&c, 2, "t")->responses[0].error_code, KERR_INVALID_REQUEST);
    assert_non_null(cluster_partition(&c, 1, "t", 0));
    cluster_stop(&c);
}

static int16_t grow(struct cluster *c, const char *name, int32_t count,
                    struct wire_create_partitions_request_topics_assignments *assignments,
                    int32_t assignment_count)
{
    struct wire_create_partitions_request_topics topic = {.name = slice_str(name),
                                                          .count = count,
                                                          .assignments = assignments,
                                                          .assignments_count = assignment_count};
    struct wire_create_partitions_request req = {
        .topics = &topic, .topics_count = 1, .timeout_ms = 10000};
    const struct wire_create_partitions_response *resp =
        cluster_call(c, 1, WIRE_KEY_CREATE_PARTITIONS, &req);
    assert_non_null(resp);
    assert_int_equal(resp->results_count, 1);
    assert_true(slice_equal_str(resp->results[0].name, name));
    cluster_run(c, 1000);
    return resp->results[0].error_code;
}

static void partitions_are_added_up_to_the_new_count(void **state)
{
    (void)state;
    struct cluster c = {0};
    cluster_start(&c, 1);
    assert_int_equal(cluster_create_topic(&c, "t", 1, 1), KERR_NONE);
    assert_int_equal(grow(&c, "t", 3, NULL, -1), KERR_NONE);
    assert_int_equal(cluster_partition(&c, 1, "t", 2)->leader_id, 1);
    assert_int_equal(grow(&c, "t", 2, NULL, -1), KERR_INVALID_PARTITIONS);
    assert_int_equal(grow(&c, "none", 2, NULL, -1), KERR_UNKNOWN_TOPIC_OR_PARTITION);
    int32_t brokers[] = {1};
    struct wire_create_partitions_request_topics_assignments assignments[] = {
        {.broker_ids = brokers, .broker_ids_count = 1},
        {.broker_ids = brokers, .broker_ids_count = 1}};
    assert_int_equal(grow(&c, "t", 4, assignments, 2), KERR_INVALID_REPLICA_ASSIGNMENT);
    assert_int_equal(grow(&c, "t", 5, assignments, 2), KERR_NONE);
    assert_non_null(cluster_partition(&c, 1, "t", 4));
    cluster_stop(&c);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_version_deletes_by_name),
        cmocka_unit_test(ids_name_topics_from_version_6_on),
        cmocka_unit_test(deletion_can_be_switched_off),
        cmocka_unit_test(partitions_are_added_up_to_the_new_count),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
