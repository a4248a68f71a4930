/*
 * Produce over the wire: appending, acks, refusals and their codes.
 */
#include "base/check.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "bench.h"
#include "model/kerr.h"

static void appended_batches_get_rising_offsets_in_every_version(void **state)
{
    (void)state;
    struct bench b = {0};
    bench_start(&b, NULL);
    bench_lead(&b);
    for (int16_t version = 3; version <= 11; version++) {
        struct bench_produce p = {
            .topic = "t", .acks = 1, .version = version, .records = bench_records(&b, 2)};
        const struct wire_produce_response_responses_partition_responses *resp =
            bench_produce(&b, &p);
        assert_non_null(resp);
        assert_int_equal(resp->error_code, KERR_NONE);
        assert_int_equal(resp->base_offset, (version - 3) * 2);
        assert_int_equal(resp->log_append_time_ms, -1);
        assert_int_equal(resp->log_start_offset, version >= 5 ? 0 : -1);
    }
    bench_stop(&b);
}

static void acks_all_is_answered_when_the_only_replica_has_it(void **state)
{
    (void)state;
    struct bench b = {0};
    bench_start(&b, NULL);
    bench_lead(&b);
    struct bench_produce p = {
        .topic = "t", .acks = -1, .version = 9, .records = bench_records(&b, 3)};
    const struct wire_produce_response_responses_partition_responses *resp = bench_produce(&b, &p);
    assert_int_equal(resp->error_code, KERR_NONE);
    assert_int_equal(resp->base_offset, 0);
    bench_stop(&b);
}

/* Broker 2 is in the ISR and never fetches. */
static void acks_all_times_out_while_a_member_lags(void **state)
{
    (void)state;
    struct bench b = {0};
    bench_start(&b, NULL);
    struct bench_partition two = {.topic = "t",
                                  .id = bench_uuid(1),
                                  .leader = BENCH_BROKER,
                                  .leader_epoch = 1,
                                  .replicas = {BENCH_BROKER, BENCH_OTHER},
                                  .replica_count = 2};
    assert_int_equal(bench_update_metadata(&b, &two), KERR_NONE);
    bench_leader_and_isr(&b, &two);
    struct bench_produce p = {
        .topic = "t", .acks = -1, .version = 9, .records = bench_records(&b, 1)};
    const struct wire_produce_response_responses_partition_responses *resp = bench_produce(&b, &p);
    assert_int_equal(resp->error_code, KERR_REQUEST_TIMED_OUT);
    assert_int_equal(resp->base_offset, -1);
    bench_stop(&b);
}

static void refusals_name_the_protocol_code(void **state)
{
    (void)state;
    struct bench b = {0};
    bench_start(&b, NULL);
    bench_lead(&b);
    struct wire_records good = bench_records(&b, 1);
    uint8_t *broken = (uint8_t *)arena_str(&b.arena, slice_of(good.ptr, good.len));
    broken[good.len - 1] ^= 1;
    uint8_t *transactional = (uint8_t *)arena_str(&b.arena, slice_of(good.ptr, good.len));
    transactional[RECORD_CRC_START + 1] |= RECORD_ATTR_TRANSACTIONAL;
    const struct {
        struct bench_produce p;
        int16_t code;
    } rows[] = {
        {{"none", 0, 1, 9, good}, KERR_UNKNOWN_TOPIC_OR_PARTITION},
        {{"t", 5, 1, 9, good}, KERR_UNKNOWN_TOPIC_OR_PARTITION},
        {{"t", 0, 2, 9, good}, KERR_INVALID_REQUIRED_ACKS},
        {{"t", 0, 1, 9, {NULL, 0}}, KERR_INVALID_RECORD},
        {{"t", 0, 1, 9, {good.ptr, good.len - 1}}, KERR_CORRUPT_MESSAGE},
        {{"t", 0, 1, 9, {broken, good.len}}, KERR_CORRUPT_MESSAGE},
        {{"t", 0, 1, 9, {transactional, good.len}}, KERR_INVALID_TXN_STATE},
        {{"__consumer_offsets", 0, 1, 9, good}, KERR_INVALID_TOPIC_EXCEPTION},
    };
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        const struct wire_produce_response_responses_partition_responses *resp =
            bench_produce(&b, &rows[i].p);
        assert_non_null(resp);
        assert_int_equal(resp->error_code, rows[i].code);
        assert_int_equal(resp->base_offset, -1);
    }
    assert_int_equal(bench_append(&b, 1), 0);
    bench_stop(&b);
}

static void batch_over_the_topic_limit_is_too_large(void **state)
{
    (void)state;
    static const char *const settings[] = {"message.max.bytes", "100", NULL};
    struct bench b = {0};
    bench_start(&b, settings);
    bench_lead(&b);
    struct bench_produce p = {
        .topic = "t", .acks = 1, .version = 9, .records = bench_records(&b, 20)};
    assert_int_equal(bench_produce(&b, &p)->error_code, KERR_MESSAGE_TOO_LARGE);
    bench_stop(&b);
}

/* From version 10 on the answer says who leads and where. */
static void follower_names_the_leader(void **state)
{
    (void)state;
    struct bench b = {0};
    bench_start(&b, NULL);
    struct bench_partition other = {.topic = "t",
                                    .id = bench_uuid(1),
                                    .leader = BENCH_OTHER,
                                    .leader_epoch = 6,
                                    .replicas = {BENCH_OTHER, BENCH_BROKER},
                                    .replica_count = 2};
    assert_int_equal(bench_update_metadata(&b, &other), KERR_NONE);
    bench_leader_and_isr(&b, &other);
    struct wire_produce_request_topic_data_partition_data partition = {.records =
                                                                           bench_records(&b, 1)};
    struct wire_produce_request_topic_data topic = {
        .name = slice_str("t"), .partition_data = &partition, .partition_data_count = 1};
    struct wire_produce_request req;
    wire_produce_request_init(&req);
    req.acks = 1;
    req.topic_data = &topic;
    req.topic_data_count = 1;
    const struct wire_produce_response *resp = bench_call(&b, WIRE_KEY_PRODUCE, 10, &req);
    const struct wire_produce_response_responses_partition_responses *p =
        &resp->responses[0].partition_responses[0];
    assert_int_equal(p->error_code, KERR_NOT_LEADER_OR_FOLLOWER);
    assert_int_equal(p->current_leader.leader_id, BENCH_OTHER);
    assert_int_equal(p->current_leader.leader_epoch, 6);
    assert_int_equal(resp->node_endpoints_count, 1);
    assert_int_equal(resp->node_endpoints[0].node_id, BENCH_OTHER);
    assert_true(slice_equal_str(resp->node_endpoints[0].host, "other"));
    assert_int_equal(resp->node_endpoints[0].port, 9999);
    assert_true(slice_equal_str(resp->node_endpoints[0].rack, "r2"));
    bench_stop(&b);
}

/* acks=0 has no answer: the next request's answer comes instead; an error closes the connection. */
static void acks_zero_is_not_answered(void **state)
{
    (void)state;
    struct bench b = {0};
    bench_start(&b, NULL);
    bench_lead(&b);
    struct bench_produce bad = {
        .topic = "none", .acks = 0, .version = 9, .records = bench_records(&b, 1)};
    assert_null(bench_produce(&b, &bad));
    assert_int_equal(bench_append(&b, 1), 0);
    bench_stop(&b);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(appended_batches_get_rising_offsets_in_every_version),
        cmocka_unit_test(acks_all_is_answered_when_the_only_replica_has_it),
        cmocka_unit_test(acks_all_times_out_while_a_member_lags),
        cmocka_unit_test(refusals_name_the_protocol_code),
        cmocka_unit_test(batch_over_the_topic_limit_is_too_large),
        cmocka_unit_test(follower_names_the_leader),
        cmocka_unit_test(acks_zero_is_not_answered),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
