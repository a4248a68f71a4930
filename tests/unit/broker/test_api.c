/*
 * The server's core: frames that are no requests close the connection, answers keep the order of
 * their requests, a stop in the middle leaves nothing behind.
 */
#include "base/check.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "bench.h"
#include "model/kerr.h"
#include "wire/metadata.h"

static void raw_answered(void *arg, int err, struct block *frame, struct slice payload)
{
    struct bench_call *call = arg;
    (void)frame;
    (void)payload;
    call->is_done = true;
    call->err = err;
}

/* Sends the header of (key, version) and these body bytes; what became of the call. */
static int call_raw(struct bench *b, int16_t key, int16_t version, const char *body, size_t len)
{
    struct bench_call call = {0};
    struct buf frame;
    buf_init(&frame);
    buf_put_u16(&frame, (uint16_t)key);
    buf_put_u16(&frame, (uint16_t)version);
    buf_put_u32(&frame, 0);
    buf_put_u16(&frame, 0xffff);
    buf_put_bytes(&frame, body, len);
    net_peer_call(b->peer, &frame, 5000, raw_answered, &call);
    assert_true(sim_world_run(b->world, BENCH_PATIENCE_MS, bench_is_done, &call));
    return call.err;
}

static void what_is_no_request_closes_the_connection(void **state)
{
    (void)state;
    struct bench b = {0};
    bench_start(&b, NULL);
    assert_int_equal(call_raw(&b, 999, 0, "", 0), -E_CLOSED);
    assert_int_equal(call_raw(&b, WIRE_KEY_METADATA, 77, "", 0), -E_CLOSED);
    assert_int_equal(call_raw(&b, WIRE_KEY_PRODUCE, 1, "", 0), -E_CLOSED);
    assert_int_equal(call_raw(&b, WIRE_KEY_METADATA, 1, "\0\0", 2), -E_CLOSED);
    assert_int_equal(call_raw(&b, WIRE_KEY_METADATA, 1, "\x7f\xff\xff\xff", 4), -E_CLOSED);
    assert_int_equal(call_raw(&b, WIRE_KEY_METADATA, 1, "\0\0\0\0", 4), 0);
    bench_stop(&b);
}

/* The fetch waits; Metadata behind it on the same connection waits too. */
static void answers_keep_the_order_of_requests(void **state)
{
    (void)state;
    struct bench b = {0};
    bench_start(&b, NULL);
    bench_lead(&b);
    struct wire_fetch_request_topics_partitions partition;
    wire_fetch_request_topics_partitions_init(&partition);
    partition.partition_max_bytes = 1000;
    struct wire_fetch_request_topics topic = {
        .topic = slice_str("t"), .partitions = &partition, .partitions_count = 1};
    struct wire_fetch_request req;
    wire_fetch_request_init(&req);
    req.topics = &topic;
    req.topics_count = 1;
    req.max_wait_ms = 2000;
    req.min_bytes = 1;
    struct bench_call first = {.key = WIRE_KEY_FETCH, .version = 11};
    struct bench_call second = {.key = WIRE_KEY_METADATA, .version = 9};
    struct wire_metadata_request metadata;
    wire_metadata_request_init(&metadata);
    bench_call_start(&b, &first, &req);
    bench_call_start(&b, &second, &metadata);
    bench_run(&b, 1000);
    assert_false(first.is_done);
    assert_false(second.is_done);
    bench_run(&b, 2000);
    assert_true(first.is_done && second.is_done);
    assert_non_null(first.resp);
    assert_non_null(second.resp);
    bench_stop(&b);
}

static void parked_requests_end_with_the_server(void **state)
{
    (void)state;
    struct bench b = {0};
    bench_start(&b, NULL);
    bench_lead(&b);
    struct wire_fetch_request_topics_partitions partition;
    wire_fetch_request_topics_partitions_init(&partition);
    struct wire_fetch_request_topics topic = {
        .topic = slice_str("t"), .partitions = &partition, .partitions_count = 1};
    struct wire_fetch_request req;
    wire_fetch_request_init(&req);
    req.topics = &topic;
    req.topics_count = 1;
    req.max_wait_ms = 100000;
    req.min_bytes = 1;
    struct bench_call call = {.key = WIRE_KEY_FETCH, .version = 11};
    bench_call_start(&b, &call, &req);
    bench_run(&b, 100);
    assert_false(call.is_done);
    bench_stop(&b);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_is_no_request_closes_the_connection),
        cmocka_unit_test(answers_keep_the_order_of_requests),
        cmocka_unit_test(parked_requests_end_with_the_server),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
