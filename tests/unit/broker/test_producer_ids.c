/*
 * Producer ids through whole brokers: ids of one cluster are distinct, whichever broker gives them, and
 * idempotent batches are checked with them.
 */
#include "base/check.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "cluster.h"
#include "model/kerr.h"
#include "wire/init_producer_id.h"

static int64_t take(struct cluster *c, int32_t broker)
{
    struct wire_init_producer_id_request req;
    wire_init_producer_id_request_init(&req);
    const struct wire_init_producer_id_response *resp =
        cluster_call(c, broker, WIRE_KEY_INIT_PRODUCER_ID, &req);
    assert_non_null(resp);
    assert_int_equal(resp->error_code, KERR_NONE);
    assert_int_equal(resp->producer_epoch, 0);
    return resp->producer_id;
}

static void ids_are_distinct_over_brokers_and_restarts(void **state)
{
    (void)state;
    struct cluster c = {0};
    int64_t ids[40];
    int count = 0;
    cluster_start(&c, 2);
    for (int i = 0; i < 10; i++) {
        ids[count++] = take(&c, 1);
        ids[count++] = take(&c, 2);
    }
    int32_t other = 3 - cluster_controller(&c);
    cluster_kill(&c, other);
    cluster_run(&c, 10000);
    cluster_restart(&c, other);
    for (int i = 0; i < 10; i++) {
        ids[count++] = take(&c, 1);
        ids[count++] = take(&c, 2);
    }
    for (int i = 0; i < count; i++) {
        for (int j = 0; j < i; j++) {
            assert_int_not_equal(ids[i], ids[j]);
        }
    }
    cluster_stop(&c);
}

/* Below 3.0-IV0 each broker takes its blocks from the metastore itself. */
static void ids_are_distinct_at_an_old_level(void **state)
{
    (void)state;
    static const struct broker_setting settings[] = {{"inter.broker.protocol.version", "2.8"}};
    struct cluster c = {.settings = settings, .setting_count = 1};
    cluster_start(&c, 2);
    int32_t other = 3 - cluster_controller(&c);
    int64_t first = take(&c, other);
    int64_t second = take(&c, 3 - other);
    assert_int_equal(first / 1000, 0);
    assert_int_equal(second / 1000, 1);
    for (int64_t i = 1; i <= 1000; i++) {
        assert_int_equal(take(&c, other), i < 1000 ? first + i : 2000);
    }
    cluster_stop(&c);
}

/* One block is 1000 ids: the next one is fetched without anybody noticing. */
static void next_block_follows_the_first(void **state)
{
    (void)state;
    struct cluster c = {0};
    cluster_start(&c, 1);
    for (int64_t i = 0; i < 1005; i++) {
        assert_int_equal(take(&c, 1), i);
    }
    cluster_stop(&c);
}

static const struct wire_produce_response_responses_partition_responses *
send_batch(struct cluster *c, int64_t producer_id, int32_t sequence)
{
    struct record_builder builder;
    struct buf records;
    record_builder_init(&builder, RECORD_CODEC_NONE);
    builder.batch.producer_id = producer_id;
    builder.batch.producer_epoch = 0;
    builder.batch.base_sequence = sequence;
    struct record_input record = {.value = slice_str("v"), .timestamp = 1};
    record_builder_add(&builder, &record);
    buf_init(&records);
    assert_int_equal(record_builder_finish(&builder, &records), 0);
    struct wire_produce_request_topic_data_partition_data data = {
        .records = {.ptr = records.ptr, .len = records.len}};
    struct wire_produce_request_topic_data topic = {
        .name = slice_str("t"), .partition_data = &data, .partition_data_count = 1};
    struct wire_produce_request req = {
        .acks = -1, .timeout_ms = 5000, .topic_data = &topic, .topic_data_count = 1};
    const struct wire_produce_response *resp = cluster_call_v(c, 1, WIRE_KEY_PRODUCE, 9, &req);
    record_builder_deinit(&builder);
    buf_deinit(&records);
    assert_non_null(resp);
    return &resp->responses[0].partition_responses[0];
}

static void repeated_batch_is_stored_once_and_a_gap_is_refused(void **state)
{
    (void)state;
    struct cluster c = {0};
    cluster_start(&c, 1);
    assert_int_equal(cluster_create_topic(&c, "t", 1, 1), KERR_NONE);
    int64_t id = take(&c, 1);
    assert_int_equal(send_batch(&c, id, 0)->base_offset, 0);
    assert_int_equal(send_batch(&c, id, 1)->base_offset, 1);
    assert_int_equal(send_batch(&c, id, 0)->error_code, KERR_NONE);
    assert_int_equal(send_batch(&c, id, 0)->base_offset, 0);
    assert_int_equal(send_batch(&c, id, 5)->error_code, KERR_OUT_OF_ORDER_SEQUENCE_NUMBER);
    assert_int_equal(send_batch(&c, id, 2)->base_offset, 2);
    cluster_stop(&c);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(ids_are_distinct_over_brokers_and_restarts),
        cmocka_unit_test(ids_are_distinct_at_an_old_level),
        cmocka_unit_test(next_block_follows_the_first),
        cmocka_unit_test(repeated_batch_is_stored_once_and_a_gap_is_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
