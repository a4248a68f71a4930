/*
 * Pieces of answers: which endpoints are told, which topics are internal.
 */
#include "broker/api/answers.h"

#include "base/check.h"
#include "base/error.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "wire/update_metadata.h"

static struct metadata *cache_of(const int32_t *ids, int32_t count)
{
    struct metadata *m = metadata_new("PLAINTEXT");
    struct wire_update_metadata_request_live_brokers brokers[4] = {{0}};
    struct wire_update_metadata_request_live_brokers_endpoints endpoint = {
        .port = 1, .host = slice_str("h"), .listener = slice_str("PLAINTEXT")};
    struct wire_update_metadata_request req;
    wire_update_metadata_request_init(&req);
    for (int32_t i = 0; i < count; i++) {
        brokers[i].id = ids[i];
        brokers[i].endpoints = &endpoint;
        brokers[i].endpoints_count = 1;
    }
    req.live_brokers = brokers;
    req.live_brokers_count = count;
    metadata_update(m, &req);
    return m;
}

static void endpoints_are_those_of_live_brokers_once_each(void **state)
{
    (void)state;
    struct metadata *m = cache_of((int32_t[]){1, 2, 3}, 3);
    struct api api = {.parts = {.metadata = m}};
    struct api_request r = {.api = &api, .listener = "PLAINTEXT"};
    struct api_endpoint found[8];
    static const int32_t ids[] = {2, -1, 9, 2, 3};
    assert_int_equal(api_endpoints(&r, ids, ARRAY_LEN(ids), found, 8), 2);
    assert_int_equal(found[0].node_id, 2);
    assert_true(slice_equal_str(found[0].host, "h"));
    assert_true(slice_is_null(found[0].rack));
    assert_int_equal(found[1].node_id, 3);
    assert_int_equal(api_endpoints(&r, ids, ARRAY_LEN(ids), found, 1), 1);
    assert_int_equal(api_endpoints(&r, ids, 0, found, 8), 0);
    r.listener = "CLIENT"; /* they do not have it */
    assert_int_equal(api_endpoints(&r, ids, ARRAY_LEN(ids), found, 8), 0);
    metadata_free(m);
}

static void absent_partitions_are_elsewhere_or_nowhere(void **state)
{
    (void)state;
    struct metadata *m = cache_of((int32_t[]){1}, 1);
    struct wire_update_metadata_request_topic_states_partition_states partition = {
        .partition_index = 2, .leader = 5, .leader_epoch = 7};
    struct wire_update_metadata_request_topic_states topic = {
        .topic_name = slice_str("t"), .partition_states = &partition, .partition_states_count = 1};
    struct wire_update_metadata_request req;
    wire_update_metadata_request_init(&req);
    req.topic_states = &topic;
    req.topic_states_count = 1;
    metadata_update(m, &req);
    struct api_leader leader;
    assert_int_equal(api_not_hosted(m, slice_str("t"), 2, &leader), -E_NOT_LEADER);
    assert_int_equal(leader.id, 5);
    assert_int_equal(leader.epoch, 7);
    assert_int_equal(api_not_hosted(m, slice_str("t"), 1, &leader), -E_NOT_FOUND);
    assert_int_equal(leader.id, -1);
    assert_int_equal(leader.epoch, -1);
    assert_int_equal(api_not_hosted(m, slice_str("none"), 2, &leader), -E_NOT_FOUND);
    metadata_free(m);
}

static void only_the_two_coordinators_topics_are_internal(void **state)
{
    (void)state;
    assert_true(api_topic_is_internal(slice_str("__consumer_offsets")));
    assert_true(api_topic_is_internal(slice_str("__transaction_state")));
    assert_false(api_topic_is_internal(slice_str("__consumer_offset")));
    assert_false(api_topic_is_internal(slice_str("t")));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(endpoints_are_those_of_live_brokers_once_each),
        cmocka_unit_test(absent_partitions_are_elsewhere_or_nowhere),
        cmocka_unit_test(only_the_two_coordinators_topics_are_internal),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
