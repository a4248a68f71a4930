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

static void stopped_replica_is_gone_for_clients(void **state)
{
    (void)state;
    struct bench b = {0};
    bench_start(&b, NULL);
    bench_lead(&b);
    bench_append(&b, 1);
    struct wire_stop_replica_request_topic_states_partition_states partition = {
        .leader_epoch = 4, .delete_partition = true};
    struct wire_stop_replica_request_topic_states topic = {
        .topic_name = slice_str("t"), .partition_states = &partition, .partition_states_count = 1};
    struct wire_stop_replica_request req;
    wire_stop_replica_request_init(&req);
    req.controller_epoch = 1;
    req.broker_epoch = b.epoch;
    req.topic_states = &topic;
    req.topic_states_count = 1;
    const struct wire_stop_replica_response *resp = bench_call(&b, WIRE_KEY_STOP_REPLICA, 4, &req);
    assert_non_null(resp);
    assert_int_equal(resp->error_code, KERR_NONE);
    assert_int_equal(resp->partition_errors_count, 1);
    assert_int_equal(resp->partition_errors[0].error_code, KERR_NONE);
    struct bench_produce p = {
        .topic = "t", .acks = 1, .version = 9, .records = bench_records(&b, 1)};
    int16_t code = bench_produce(&b, &p)->error_code;
    assert_true(code == KERR_UNKNOWN_TOPIC_OR_PARTITION || code == KERR_NOT_LEADER_OR_FOLLOWER);
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
        cmocka_unit_test(stopped_replica_is_gone_for_clients),
        cmocka_unit_test(only_brokers_may_push),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
