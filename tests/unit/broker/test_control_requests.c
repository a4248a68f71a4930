/*
 * What the controller pushes: fencing by epochs, permission, and the effects that others see.
 */
#include "base/check.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "auth/acl.h"
#include "bench.h"
#include "model/kerr.h"
#include "wire/list_offsets.h"
#include "wire/offset_for_leader_epoch.h"
#include "wire/stop_replica.h"

static int16_t update(struct bench *b, int32_t controller_epoch, int64_t broker_epoch)
{
    struct wire_update_metadata_request req;
    wire_update_metadata_request_init(&req);
    req.controller_id = BENCH_BROKER;
    req.controller_epoch = controller_epoch;
    req.broker_epoch = broker_epoch;
    const struct wire_update_metadata_response *resp =
        bench_call(b, WIRE_KEY_UPDATE_METADATA, 8, &req);
    assert_non_null(resp);
    return resp->error_code;
}

static void stale_controllers_and_stale_receivers_are_fenced(void **state)
{
    (void)state;
    struct bench b = {0};
    bench_start(&b, NULL);
    assert_int_equal(update(&b, 5, b.epoch), KERR_NONE);
    assert_int_equal(update(&b, 4, b.epoch), KERR_STALE_CONTROLLER_EPOCH);
    assert_int_equal(update(&b, 5, b.epoch - 1), KERR_STALE_BROKER_EPOCH);
    assert_int_equal(update(&b, 5, -1), KERR_NONE);
    assert_int_equal(update(&b, 5, b.epoch + 1), KERR_NONE);
    assert_int_equal(b.metadata_changes, 3);
    bench_stop(&b);
}

/* What clients are told about t-0, by every request that reads or writes it. */
static void assert_told(struct bench *b, int16_t code)
{
    struct bench_produce produce = {
        .topic = "t", .acks = 1, .version = 9, .records = bench_records(b, 1)};
    assert_int_equal(bench_produce(b, &produce)->error_code, code);

    struct wire_fetch_request_topics_partitions fetched;
    wire_fetch_request_topics_partitions_init(&fetched);
    fetched.partition_max_bytes = 1000;
    struct wire_fetch_request_topics fetch_topic = {
        .topic = slice_str("t"), .partitions = &fetched, .partitions_count = 1};
    struct wire_fetch_request fetch;
    wire_fetch_request_init(&fetch);
    fetch.max_wait_ms = 50000;
    fetch.max_bytes = 1000;
    fetch.session_epoch = -1;
    fetch.topics = &fetch_topic;
    fetch.topics_count = 1;
    const struct wire_fetch_response *fetch_resp = bench_call(b, WIRE_KEY_FETCH, 12, &fetch);
    assert_int_equal(fetch_resp->responses[0].partitions[0].error_code, code);

    struct wire_list_offsets_request_topics_partitions listed = {.current_leader_epoch = -1,
                                                                 .timestamp = -1};
    struct wire_list_offsets_request_topics list_topic = {
        .name = slice_str("t"), .partitions = &listed, .partitions_count = 1};
    struct wire_list_offsets_request list = {
        .replica_id = -1, .topics = &list_topic, .topics_count = 1};
    const struct wire_list_offsets_response *list_resp =
        bench_call(b, WIRE_KEY_LIST_OFFSETS, 6, &list);
    assert_int_equal(list_resp->topics[0].partitions[0].error_code, code);

    struct wire_offset_for_leader_epoch_request_topics_partitions ended = {
        .current_leader_epoch = -1, .leader_epoch = 3};
    struct wire_offset_for_leader_epoch_request_topics end_topic = {
        .topic = slice_str("t"), .partitions = &ended, .partitions_count = 1};
    struct wire_offset_for_leader_epoch_request end = {
        .replica_id = -1, .topics = &end_topic, .topics_count = 1};
    const struct wire_offset_for_leader_epoch_response *end_resp =
        bench_call(b, WIRE_KEY_OFFSET_FOR_LEADER_EPOCH, 4, &end);
    assert_int_equal(end_resp->topics[0].partitions[0].error_code, code);
}

/* Row 25: 6 while the topic exists elsewhere, 3 when it is deleted. */
static void clients_of_a_stopped_replica_look_elsewhere(void **state)
{
    (void)state;
    struct bench b = {0};
    bench_start(&b, NULL);
    bench_lead(&b);
    bench_append(&b, 1);
    struct bench_partition moved = {.topic = "t",
                                    .id = bench_uuid(1),
                                    .leader = BENCH_OTHER,
                                    .leader_epoch = 4,
                                    .replicas = {BENCH_OTHER},
                                    .replica_count = 1};
    bench_stop_replica(&b, 4, false);
    assert_told(&b, KERR_NOT_LEADER_OR_FOLLOWER);
    bench_stop_replica(&b, 4, true);
    assert_int_equal(bench_update_metadata(&b, &moved), KERR_NONE);
    assert_told(&b, KERR_NOT_LEADER_OR_FOLLOWER);
    moved.leader = -2; /* being deleted */
    assert_int_equal(bench_update_metadata(&b, &moved), KERR_NONE);
    assert_told(&b, KERR_UNKNOWN_TOPIC_OR_PARTITION);
    bench_stop(&b);
}

/* They hold from the first record on, before any broker can have read them from the metastore. */
static void a_new_topic_comes_with_its_settings(void **state)
{
    (void)state;
    struct bench b = {0};
    bench_start(&b, NULL);
    struct bench_partition p = {.topic = "t",
                                .id = bench_uuid(1),
                                .leader = BENCH_BROKER,
                                .leader_epoch = 3,
                                .replicas = {BENCH_BROKER},
                                .replica_count = 1};
    struct wire_leader_and_isr_request_topic_states_settings settings[] = {
        {.key = slice_str("max.message.bytes"), .value = slice_str("10")},
        {.key = slice_str("no.such.key"), .value = slice_str("1")},
    };
    assert_int_equal(bench_update_metadata(&b, &p), KERR_NONE);
    bench_leader_and_isr_with(&b, &p, settings, 2);
    assert_int_equal(config_get_number(settings_topic(b.settings, slice_str("t")),
                                       CONFIG_TOPIC_MAX_MESSAGE_BYTES),
                     10);
    struct bench_produce produce = {
        .topic = "t", .acks = 1, .version = 9, .records = bench_records(&b, 1)};
    assert_int_equal(bench_produce(&b, &produce)->error_code, KERR_MESSAGE_TOO_LARGE);
    bench_stop(&b);
}

/* Of a controller whose time is over nothing is taken. */
static void settings_of_a_stale_controller_are_not_taken(void **state)
{
    (void)state;
    struct bench b = {0};
    bench_start(&b, NULL);
    assert_int_equal(update(&b, 5, b.epoch), KERR_NONE);
    struct wire_leader_and_isr_request_topic_states_settings setting = {
        .key = slice_str("max.message.bytes"), .value = slice_str("10")};
    struct wire_leader_and_isr_request_topic_states topics[] = {
        {.topic_name = slice_str("t"), .settings = &setting, .settings_count = 1},
        {.topic_name = slice_str("no/name"), .settings = &setting, .settings_count = 1},
    };
    struct wire_leader_and_isr_request req;
    wire_leader_and_isr_request_init(&req);
    req.controller_epoch = 4;
    req.broker_epoch = b.epoch;
    req.topic_states = topics;
    req.topic_states_count = 2;
    const struct config_set *before = settings_topic(b.settings, slice_str("t"));
    assert_non_null(bench_call(&b, WIRE_KEY_LEADER_AND_ISR, 7, &req));
    assert_ptr_equal(settings_topic(b.settings, slice_str("t")), before);
    req.controller_epoch = 5;
    assert_non_null(bench_call(&b, WIRE_KEY_LEADER_AND_ISR, 7, &req));
    assert_ptr_not_equal(settings_topic(b.settings, slice_str("t")), before);
    assert_ptr_equal(settings_topic(b.settings, slice_str("no/name")), before);
    bench_stop(&b);
}

static void only_brokers_may_push(void **state)
{
    (void)state;
    struct auth_acl acl = {.resource_type = AUTH_RESOURCE_CLUSTER,
                           .pattern = AUTH_PATTERN_LITERAL,
                           .operation = AUTH_OPERATION_CLUSTER_ACTION,
                           .permission = AUTH_PERMISSION_DENY,
                           .resource_name = slice_str(AUTH_CLUSTER_NAME),
                           .principal = slice_str(AUTH_PRINCIPAL_ANY),
                           .host = slice_str("*")};
    struct auth_acls acls = {.acls = &acl, .acl_count = 1};
    struct bench b = {.acls = &acls};
    bench_start(&b, NULL);
    assert_int_equal(update(&b, 1, b.epoch), KERR_CLUSTER_AUTHORIZATION_FAILED);
    struct wire_leader_and_isr_request leader;
    wire_leader_and_isr_request_init(&leader);
    leader.controller_epoch = 1;
    leader.broker_epoch = b.epoch;
    const struct wire_leader_and_isr_response *resp =
        bench_call(&b, WIRE_KEY_LEADER_AND_ISR, 7, &leader);
    assert_int_equal(resp->error_code, KERR_CLUSTER_AUTHORIZATION_FAILED);
    struct wire_stop_replica_request stop;
    wire_stop_replica_request_init(&stop);
    stop.controller_epoch = 1;
    stop.broker_epoch = b.epoch;
    const struct wire_stop_replica_response *stopped =
        bench_call(&b, WIRE_KEY_STOP_REPLICA, 4, &stop);
    assert_int_equal(stopped->error_code, KERR_CLUSTER_AUTHORIZATION_FAILED);
    bench_stop(&b);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(stale_controllers_and_stale_receivers_are_fenced),
        cmocka_unit_test(clients_of_a_stopped_replica_look_elsewhere),
        cmocka_unit_test(a_new_topic_comes_with_its_settings),
        cmocka_unit_test(settings_of_a_stale_controller_are_not_taken),
        cmocka_unit_test(only_brokers_may_push),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
