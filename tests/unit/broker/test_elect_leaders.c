/*
 * ElectLeaders over the wire.
 */
#include "base/check.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "cluster.h"
#include "model/kerr.h"
#include "wire/elect_leaders.h"

static const struct wire_elect_leaders_response *
elect(struct cluster *c, int16_t version,
      struct wire_elect_leaders_request_topic_partitions *topics, int32_t count)
{
    struct wire_elect_leaders_request req;
    wire_elect_leaders_request_init(&req);
    req.topic_partitions = topics;
    req.topic_partitions_count = count;
    const struct wire_elect_leaders_response *resp =
        cluster_call_v(c, cluster_controller(c), WIRE_KEY_ELECT_LEADERS, version, &req);
    assert_non_null(resp);
    return resp;
}

static void elections_that_are_not_needed_are_told_one_by_one(void **state)
{
    (void)state;
    struct cluster c = {0};
    cluster_start(&c, 1);
    assert_int_equal(cluster_create_topic(&c, "t", 2, 1), KERR_NONE);
    int32_t partitions[] = {0, 1, 7};
    struct wire_elect_leaders_request_topic_partitions topic = {
        .topic = slice_str("t"), .partitions = partitions, .partitions_count = 3};
    static const int16_t codes[] = {KERR_ELECTION_NOT_NEEDED, KERR_ELECTION_NOT_NEEDED,
                                    KERR_UNKNOWN_TOPIC_OR_PARTITION};
    for (int16_t version = 0; version <= 2; version++) {
        const struct wire_elect_leaders_response *resp = elect(&c, version, &topic, 1);
        assert_int_equal(resp->error_code, KERR_NONE);
        assert_int_equal(resp->replica_election_results_count, 1);
        assert_int_equal(resp->replica_election_results[0].partition_result_count, 3);
        for (int32_t i = 0; i < 3; i++) {
            assert_int_equal(resp->replica_election_results[0].partition_result[i].partition_id,
                             partitions[i]);
            assert_int_equal(resp->replica_election_results[0].partition_result[i].error_code,
                             codes[i]);
        }
        assert_int_equal(elect(&c, version, NULL, -1)->replica_election_results_count, 0);
    }
    cluster_stop(&c);
}

/* The preferred leader dies, returns, and is elected on request. */
static void preferred_leader_gets_its_place_back(void **state)
{
    (void)state;
    static const struct broker_setting settings[] = {{"auto.leader.rebalance.enable", "false"}};
    struct cluster c = {.settings = settings, .setting_count = 1};
    cluster_start(&c, 3);
    assert_int_equal(cluster_create_topic(&c, "t", 1, 3), KERR_NONE);
    int32_t preferred = cluster_partition(&c, 1, "t", 0)->replica_nodes[0];
    cluster_kill(&c, preferred);
    cluster_run(&c, 20000);
    cluster_restart(&c, preferred);
    cluster_run(&c, 10000);
    assert_int_not_equal(cluster_partition(&c, 1, "t", 0)->leader_id, preferred);
    const struct wire_elect_leaders_response *resp = elect(&c, 2, NULL, -1);
    assert_int_equal(resp->replica_election_results_count, 1);
    assert_int_equal(resp->replica_election_results[0].partition_result[0].error_code, KERR_NONE);
    cluster_run(&c, 1000);
    assert_int_equal(cluster_partition(&c, 1, "t", 0)->leader_id, preferred);
    cluster_stop(&c);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(elections_that_are_not_needed_are_told_one_by_one),
        cmocka_unit_test(preferred_leader_gets_its_place_back),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
