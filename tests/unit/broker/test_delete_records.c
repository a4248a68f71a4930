/*
 * DeleteRecords over the wire: each partition is judged alone, the answer waits for the followers.
 */
#include "base/check.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "auth/acl.h"
#include "bench.h"
#include "model/kerr.h"
#include "wire/delete_records.h"

struct deletion {
    const char *topic;
    int32_t partition;
    int64_t offset;
    int32_t timeout_ms;
    int16_t version;
};

static struct wire_delete_records_request
request_of(const struct deletion *d, struct wire_delete_records_request_topics *topic,
           struct wire_delete_records_request_topics_partitions *partition)
{
    *partition = (struct wire_delete_records_request_topics_partitions){
        .partition_index = d->partition, .offset = d->offset};
    *topic = (struct wire_delete_records_request_topics){
        .name = slice_str(d->topic), .partitions = partition, .partitions_count = 1};
    return (struct wire_delete_records_request){
        .topics = topic, .topics_count = 1, .timeout_ms = d->timeout_ms};
}

static const struct wire_delete_records_response_topics_partitions *
partition_of(const struct wire_delete_records_response *resp)
{
    assert_non_null(resp);
    assert_int_equal(resp->topics_count, 1);
    assert_int_equal(resp->topics[0].partitions_count, 1);
    return &resp->topics[0].partitions[0];
}

static void check(struct bench *b, struct deletion d, int16_t error, int64_t low)
{
    struct wire_delete_records_request_topics topic;
    struct wire_delete_records_request_topics_partitions partition;
    struct wire_delete_records_request req = request_of(&d, &topic, &partition);
    const struct wire_delete_records_response_topics_partitions *p =
        partition_of(bench_call(b, WIRE_KEY_DELETE_RECORDS, d.version, &req));
    assert_int_equal(p->partition_index, d.partition);
    assert_int_equal(p->error_code, error);
    assert_int_equal(p->low_watermark, low);
}

static void records_of_a_lone_leader_go_at_once(void **state)
{
    (void)state;
    struct bench b = {0};
    bench_start(&b, NULL);
    bench_lead(&b);
    bench_append(&b, 10);
    for (int16_t version = 0; version <= 2; version++) {
        check(&b, (struct deletion){"t", 0, 3 + version, 1000, version}, KERR_NONE, 3 + version);
    }
    check(&b, (struct deletion){"t", 0, 2, 1000, 2}, KERR_NONE, 5); /* gone already */
    check(&b, (struct deletion){"t", 0, -1, 1000, 2}, KERR_NONE, 10);
    bench_stop(&b);
}

static void each_partition_is_judged_alone(void **state)
{
    (void)state;
    struct bench b = {0};
    bench_start(&b, NULL);
    bench_lead(&b);
    bench_append(&b, 10);
    check(&b, (struct deletion){"t", 0, 11, 1000, 2}, KERR_OFFSET_OUT_OF_RANGE, -1);
    check(&b, (struct deletion){"t", 0, -2, 1000, 2}, KERR_OFFSET_OUT_OF_RANGE, -1);
    check(&b, (struct deletion){"t", 7, 0, 1000, 2}, KERR_UNKNOWN_TOPIC_OR_PARTITION, -1);
    check(&b, (struct deletion){"none", 0, 0, 1000, 2}, KERR_UNKNOWN_TOPIC_OR_PARTITION, -1);
    struct wire_delete_records_request_topics_partitions partitions[] = {
        {.partition_index = 0, .offset = 4}, {.partition_index = 1, .offset = 4}};
    struct wire_delete_records_request_topics topic = {
        .name = slice_str("t"), .partitions = partitions, .partitions_count = 2};
    struct wire_delete_records_request req = {
        .topics = &topic, .topics_count = 1, .timeout_ms = 1000};
    const struct wire_delete_records_response *resp =
        bench_call(&b, WIRE_KEY_DELETE_RECORDS, 2, &req);
    assert_non_null(resp);
    assert_int_equal(resp->topics[0].partitions[0].error_code, KERR_NONE);
    assert_int_equal(resp->topics[0].partitions[0].low_watermark, 4);
    assert_int_equal(resp->topics[0].partitions[1].error_code, KERR_UNKNOWN_TOPIC_OR_PARTITION);
    bench_stop(&b);
}

/* Broker 1 leads, 2 follows in name only: it never says that it has followed. */
static void lead_two(struct bench *b)
{
    struct bench_partition p = {.topic = "t",
                                .id = bench_uuid(1),
                                .leader = BENCH_BROKER,
                                .leader_epoch = 3,
                                .replicas = {BENCH_BROKER, BENCH_OTHER},
                                .replica_count = 2};
    assert_int_equal(bench_update_metadata(b, &p), 0);
    bench_leader_and_isr(b, &p);
}

static void a_follower_that_does_not_follow_takes_the_time(void **state)
{
    (void)state;
    struct bench b = {0};
    bench_start(&b, NULL);
    lead_two(&b);
    int64_t start_ms = sim_world_now_ms(b.world);
    check(&b, (struct deletion){"t", 0, 0, 700, 2}, KERR_REQUEST_TIMED_OUT, -1);
    assert_in_range(sim_world_now_ms(b.world) - start_ms, 700, 800);
    check(&b, (struct deletion){"t", 0, 0, 0, 2}, KERR_REQUEST_TIMED_OUT, -1);
    bench_stop(&b);
}

/* As broker 2: a fetch at offset 0 with that log start. */
static void follow(struct bench *b, int64_t log_start)
{
    struct wire_fetch_request_topics_partitions partition;
    wire_fetch_request_topics_partitions_init(&partition);
    partition.current_leader_epoch = 3;
    partition.last_fetched_epoch = -1;
    partition.log_start_offset = log_start;
    partition.partition_max_bytes = 1000;
    struct wire_fetch_request_topics topic = {
        .topic = slice_str("t"), .partitions = &partition, .partitions_count = 1};
    struct wire_fetch_request req;
    wire_fetch_request_init(&req);
    req.replica_id = BENCH_OTHER;
    req.session_epoch = -1;
    req.max_bytes = 1000;
    req.topics = &topic;
    req.topics_count = 1;
    const struct wire_fetch_response *resp = bench_call(b, WIRE_KEY_FETCH, 12, &req);
    assert_non_null(resp);
    assert_int_equal(resp->responses[0].partitions[0].error_code, KERR_NONE);
}

static void the_answer_comes_when_the_follower_has_followed(void **state)
{
    (void)state;
    struct bench b = {0};
    bench_start(&b, NULL);
    lead_two(&b);
    struct deletion d = {"t", 0, 0, 60000, 2};
    struct wire_delete_records_request_topics topic;
    struct wire_delete_records_request_topics_partitions partition;
    struct wire_delete_records_request req = request_of(&d, &topic, &partition);
    struct bench_call call = {.key = WIRE_KEY_DELETE_RECORDS, .version = 2};
    struct net_peer *usual = b.peer;
    struct net_peer *other = bench_peer_new(&b);
    b.peer = other;
    bench_call_start(&b, &call, &req);
    b.peer = usual;
    bench_run(&b, 1000);
    assert_false(call.is_done);
    follow(&b, 0);
    bench_run(&b, 100);
    assert_true(call.is_done);
    const struct wire_delete_records_response_topics_partitions *p = partition_of(call.resp);
    assert_int_equal(p->error_code, KERR_NONE);
    assert_int_equal(p->low_watermark, 0);
    net_peer_free(other);
    bench_stop(&b);
}

/* The client goes away, the partition goes away: nobody is left to be told, nothing is leaked. */
static void waiting_ends_with_the_client_or_the_partition(void **state)
{
    (void)state;
    struct bench b = {0};
    bench_start(&b, NULL);
    lead_two(&b);
    struct deletion d = {"t", 0, 0, 60000, 2};
    struct wire_delete_records_request_topics topic;
    struct wire_delete_records_request_topics_partitions partition;
    struct wire_delete_records_request req = request_of(&d, &topic, &partition);
    struct bench_call lost = {.key = WIRE_KEY_DELETE_RECORDS, .version = 2};
    struct bench_call call = lost;
    struct net_peer *usual = b.peer;
    b.peer = bench_peer_new(&b);
    bench_call_start(&b, &lost, &req);
    bench_run(&b, 100);
    net_peer_free(b.peer);
    struct net_peer *other = bench_peer_new(&b);
    b.peer = other;
    bench_call_start(&b, &call, &req);
    b.peer = usual;
    bench_run(&b, 100);
    assert_false(call.is_done);
    bench_stop_replica(&b, 3, true);
    bench_run(&b, 100);
    assert_true(call.is_done);
    assert_int_equal(partition_of(call.resp)->error_code, KERR_NOT_LEADER_OR_FOLLOWER);
    net_peer_free(other);
    bench_stop(&b);
}

static void delete_on_the_topic_is_needed(void **state)
{
    (void)state;
    struct auth_acl list[] = {
        {.resource_type = AUTH_RESOURCE_CLUSTER,
         .operation = AUTH_OPERATION_ALL,
         .resource_name = slice_str(AUTH_CLUSTER_NAME)},
        {.resource_type = AUTH_RESOURCE_TOPIC,
         .operation = AUTH_OPERATION_WRITE,
         .resource_name = slice_str("t")},
    };
    for (size_t i = 0; i < ARRAY_LEN(list); i++) {
        list[i].pattern = AUTH_PATTERN_LITERAL;
        list[i].permission = AUTH_PERMISSION_ALLOW;
        list[i].principal = slice_str(AUTH_PRINCIPAL_ANONYMOUS);
        list[i].host = slice_str("*");
    }
    struct auth_acls acls = {.acls = list, .acl_count = ARRAY_LEN(list)};
    struct bench b = {.acls = &acls};
    bench_start(&b, NULL);
    bench_lead(&b);
    bench_append(&b, 10);
    check(&b, (struct deletion){"t", 0, 5, 1000, 2}, KERR_TOPIC_AUTHORIZATION_FAILED, -1);
    bench_stop(&b);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(records_of_a_lone_leader_go_at_once),
        cmocka_unit_test(each_partition_is_judged_alone),
        cmocka_unit_test(a_follower_that_does_not_follow_takes_the_time),
        cmocka_unit_test(the_answer_comes_when_the_follower_has_followed),
        cmocka_unit_test(waiting_ends_with_the_client_or_the_partition),
        cmocka_unit_test(delete_on_the_topic_is_needed),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
