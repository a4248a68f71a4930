/*
 * ListOffsets and OffsetForLeaderEpoch over the wire.
 */
#include "base/check.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "bench.h"
#include "model/kerr.h"
#include "wire/list_offsets.h"
#include "wire/offset_for_leader_epoch.h"

static const struct wire_list_offsets_response_topics_partitions *
list(struct bench *b, int16_t version, int64_t timestamp, int32_t leader_epoch)
{
    struct wire_list_offsets_request_topics_partitions partition = {
        .current_leader_epoch = leader_epoch, .timestamp = timestamp};
    struct wire_list_offsets_request_topics topic = {
        .name = slice_str("t"), .partitions = &partition, .partitions_count = 1};
    struct wire_list_offsets_request req;
    wire_list_offsets_request_init(&req);
    req.replica_id = -1;
    req.topics = &topic;
    req.topics_count = 1;
    const struct wire_list_offsets_response *resp =
        bench_call(b, WIRE_KEY_LIST_OFFSETS, version, &req);
    assert_non_null(resp);
    assert_int_equal(resp->topics_count, 1);
    assert_int_equal(resp->topics[0].partitions_count, 1);
    return &resp->topics[0].partitions[0];
}

static void ends_and_times_are_found_in_every_version(void **state)
{
    (void)state;
    struct bench b = {0};
    bench_start(&b, NULL);
    bench_lead(&b);
    bench_append(&b, 5);
    for (int16_t version = 1; version <= 10; version++) {
        const struct wire_list_offsets_response_topics_partitions *p = list(&b, version, -1, -1);
        assert_int_equal(p->error_code, KERR_NONE);
        assert_int_equal(p->offset, 5);
        assert_int_equal(p->timestamp, -1);
        assert_int_equal(p->leader_epoch, version >= 4 ? 3 : -1);
        p = list(&b, version, -2, -1);
        assert_int_equal(p->offset, 0);
        p = list(&b, version, 1003, -1);
        assert_int_equal(p->offset, 3);
        assert_int_equal(p->timestamp, 1003);
        p = list(&b, version, 5000, -1);
        assert_int_equal(p->error_code, KERR_NONE);
        assert_int_equal(p->offset, -1);
    }
    bench_stop(&b);
}

static void epochs_are_checked(void **state)
{
    (void)state;
    struct bench b = {0};
    bench_start(&b, NULL);
    bench_lead(&b);
    assert_int_equal(list(&b, 4, -1, 2)->error_code, KERR_FENCED_LEADER_EPOCH);
    assert_int_equal(list(&b, 4, -1, 4)->error_code, KERR_UNKNOWN_LEADER_EPOCH);
    assert_int_equal(list(&b, 4, -1, 4)->offset, -1);
    assert_int_equal(list(&b, 4, -1, 3)->error_code, KERR_NONE);
    bench_stop(&b);
}

static const struct wire_offset_for_leader_epoch_response_topics_partitions *
epoch_end(struct bench *b, int16_t version, const char *name, int32_t epoch)
{
    struct wire_offset_for_leader_epoch_request_topics_partitions partition = {
        .current_leader_epoch = -1, .leader_epoch = epoch};
    struct wire_offset_for_leader_epoch_request_topics topic = {
        .topic = slice_str(name), .partitions = &partition, .partitions_count = 1};
    struct wire_offset_for_leader_epoch_request req;
    wire_offset_for_leader_epoch_request_init(&req);
    req.topics = &topic;
    req.topics_count = 1;
    const struct wire_offset_for_leader_epoch_response *resp =
        bench_call(b, WIRE_KEY_OFFSET_FOR_LEADER_EPOCH, version, &req);
    assert_non_null(resp);
    return &resp->topics[0].partitions[0];
}

static void epochs_end_where_the_next_begins(void **state)
{
    (void)state;
    struct bench b = {0};
    bench_start(&b, NULL);
    bench_lead(&b);
    bench_append(&b, 4);
    for (int16_t version = 2; version <= 4; version++) {
        const struct wire_offset_for_leader_epoch_response_topics_partitions *p =
            epoch_end(&b, version, "t", 3);
        assert_int_equal(p->error_code, KERR_NONE);
        assert_int_equal(p->leader_epoch, 3);
        assert_int_equal(p->end_offset, 4);
        p = epoch_end(&b, version, "none", 3);
        assert_int_equal(p->error_code, KERR_UNKNOWN_TOPIC_OR_PARTITION);
        assert_int_equal(p->end_offset, -1);
    }
    bench_stop(&b);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(ends_and_times_are_found_in_every_version),
        cmocka_unit_test(epochs_are_checked),
        cmocka_unit_test(epochs_end_where_the_next_begins),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
