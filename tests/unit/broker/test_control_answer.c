/*
 * Requests that wait for the controller: the connection, or the broker, may go meanwhile.
 */
#include "base/check.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "cluster.h"
#include "model/kerr.h"

static void create_start(struct cluster *c, const char *name, struct cluster_call *call)
{
    struct wire_create_topics_request_topics topic = {
        .name = slice_str(name), .num_partitions = 1, .replication_factor = 1};
    struct wire_create_topics_request req = {
        .topics = &topic, .topics_count = 1, .timeout_ms = 10000};
    struct wire_request_header header = {.api_key = WIRE_KEY_CREATE_TOPICS, .api_version = 7};
    struct buf frame;
    *call = (struct cluster_call){.cluster = c, .key = WIRE_KEY_CREATE_TOPICS, .version = 7};
    buf_init(&frame);
    wire_request_header_write(&header, &frame);
    wire_create_topics_request_encode(&req, &frame, 7);
    net_peer_call(c->brokers[0].peer, &frame, CLUSTER_PATIENCE_MS, cluster_answered, call);
}

/* The store answers late, so that a request to the controller is under way for a while. */
static void delay_store(struct cluster *c)
{
    int64_t ids[8];
    int32_t count = metastore_store_sessions(c->store, ids, 8);
    assert_true(count > 0 && count <= 8);
    for (int32_t i = 0; i < count; i++) {
        metastore_store_delay(c->store, ids[i], 500);
    }
}

static void request_is_carried_out_though_its_connection_goes(void **state)
{
    (void)state;
    struct cluster c = {0};
    struct cluster_call call;
    cluster_start(&c, 1);
    assert_null(cluster_partition(&c, 1, "t", 0));
    delay_store(&c);
    create_start(&c, "t", &call);
    cluster_run(&c, 100);
    assert_false(call.is_done);
    net_peer_reset(c.brokers[0].peer);
    cluster_run(&c, 3000);
    assert_int_equal(call.err, -E_CLOSED);
    assert_non_null(cluster_partition(&c, 1, "t", 0));
    cluster_stop(&c);
}

static void killed_broker_drops_what_waits(void **state)
{
    (void)state;
    struct cluster c = {0};
    struct cluster_call call;
    cluster_start(&c, 1);
    assert_null(cluster_partition(&c, 1, "t", 0));
    delay_store(&c);
    create_start(&c, "t", &call);
    cluster_run(&c, 100);
    cluster_kill(&c, 1);
    cluster_run(&c, 3000);
    assert_int_equal(call.err, -E_CLOSED);
    cluster_stop(&c);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(request_is_carried_out_though_its_connection_goes),
        cmocka_unit_test(killed_broker_drops_what_waits),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
