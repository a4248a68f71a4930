/*
 * AlterPartitionReassignments and ListPartitionReassignments over the wire
 * (docs/spec/reassignment.md sections 2 and 3).
 */
#include "base/check.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "auth/acl.h"
#include "cluster.h"
#include "model/kerr.h"
#include "wire/alter_partition_reassignments.h"
#include "wire/list_partition_reassignments.h"

typedef struct wire_alter_partition_reassignments_request_topics_partitions alter_partition;

static const struct wire_alter_partition_reassignments_response *
alter(struct cluster *c, int32_t broker, const char *topic, alter_partition *partitions,
      int32_t count)
{
    struct wire_alter_partition_reassignments_request_topics topics[] = {
        {.name = slice_str(topic), .partitions = partitions, .partitions_count = count},
        {.name = slice_str("empty")},
    };
    struct wire_alter_partition_reassignments_request req;
    wire_alter_partition_reassignments_request_init(&req);
    req.topics = topics;
    req.topics_count = 2;
    const struct wire_alter_partition_reassignments_response *resp =
        cluster_call_v(c, broker, WIRE_KEY_ALTER_PARTITION_REASSIGNMENTS, 0, &req);
    assert_non_null(resp);
    return resp;
}

static const struct wire_list_partition_reassignments_response *list_all(struct cluster *c,
                                                                         int32_t broker)
{
    struct wire_list_partition_reassignments_request req = {.topics_count = -1};
    const struct wire_list_partition_reassignments_response *resp =
        cluster_call(c, broker, WIRE_KEY_LIST_PARTITION_REASSIGNMENTS, &req);
    assert_non_null(resp);
    return resp;
}

static void replica_moves_and_the_old_one_goes(void **state)
{
    (void)state;
    struct cluster c = {0};
    cluster_start(&c, 3);
    assert_int_equal(cluster_create_topic(&c, "t", 1, 1), KERR_NONE);
    assert_int_equal(cluster_produce(&c, "t", 5), 0);
    int32_t from = cluster_partition(&c, 1, "t", 0)->leader_id;
    int32_t to[] = {from % 3 + 1};
    alter_partition move = {.replicas = to, .replicas_count = 1};
    const struct wire_alter_partition_reassignments_response *resp =
        alter(&c, cluster_controller(&c), "t", &move, 1);
    assert_int_equal(resp->error_code, KERR_NONE);
    assert_int_equal(resp->error_message.len, 0);
    assert_false(slice_is_null(resp->error_message));
    assert_int_equal(resp->responses_count, 1);
    assert_true(slice_equal_str(resp->responses[0].name, "t"));
    assert_int_equal(resp->responses[0].partitions[0].error_code, KERR_NONE);
    assert_true(slice_is_null(resp->responses[0].partitions[0].error_message));
    cluster_run(&c, 10000);
    const struct wire_metadata_response_topics_partitions *p = cluster_partition(&c, 1, "t", 0);
    assert_int_equal(p->replica_nodes_count, 1);
    assert_int_equal(p->replica_nodes[0], to[0]);
    assert_int_equal(p->leader_id, to[0]);
    assert_int_equal(list_all(&c, cluster_controller(&c))->topics_count, 0);
    assert_int_equal(cluster_produce(&c, "t", 1), 5);
    cluster_stop(&c);
}

/* The target is cut off: the move stays, is listed, and is undone by a null list. */
static void running_move_is_listed_and_cancelled(void **state)
{
    (void)state;
    struct cluster c = {0};
    cluster_start(&c, 3);
    assert_int_equal(cluster_create_topic(&c, "t", 1, 1), KERR_NONE);
    int32_t controller = cluster_controller(&c);
    int32_t from = cluster_partition(&c, 1, "t", 0)->leader_id;
    int32_t to[] = {from == controller ? from % 3 + 1 : 6 - from - controller};
    for (int32_t i = 1; i <= 3; i++) {
        if (i != to[0]) {
            sim_net_partition(c.world, c.brokers[to[0] - 1].node, c.brokers[i - 1].node, true);
        }
    }
    alter_partition move = {.replicas = to, .replicas_count = 1};
    assert_int_equal(alter(&c, controller, "t", &move, 1)->error_code, KERR_NONE);
    const struct wire_list_partition_reassignments_response *listed = list_all(&c, controller);
    assert_int_equal(listed->error_code, KERR_NONE);
    assert_int_equal(listed->topics_count, 1);
    assert_true(slice_equal_str(listed->topics[0].name, "t"));
    assert_int_equal(listed->topics[0].partitions[0].replicas_count, 2);
    assert_int_equal(listed->topics[0].partitions[0].adding_replicas_count, 1);
    assert_int_equal(listed->topics[0].partitions[0].adding_replicas[0], to[0]);
    assert_int_equal(listed->topics[0].partitions[0].removing_replicas[0], from);

    alter_partition cancel = {.replicas_count = -1};
    const struct wire_alter_partition_reassignments_response *resp =
        alter(&c, controller, "t", &cancel, 1);
    assert_int_equal(resp->responses[0].partitions[0].error_code, KERR_NONE);
    sim_net_heal(c.world);
    cluster_run(&c, 5000);
    assert_int_equal(list_all(&c, controller)->topics_count, 0);
    resp = alter(&c, controller, "t", &cancel, 1);
    assert_int_equal(resp->responses[0].partitions[0].error_code, KERR_NO_REASSIGNMENT_IN_PROGRESS);
    cluster_stop(&c);
}

/* Decision 6. One broker that copies nothing, because it is cut off; the sizes are those of the others. */
static void details_are_told_to_those_alone_who_ask(void **state)
{
    (void)state;
    struct cluster c = {0};
    cluster_start(&c, 3);
    assert_int_equal(cluster_create_topic(&c, "t", 1, 1), KERR_NONE);
    assert_int_equal(cluster_produce(&c, "t", 5), 0);
    int32_t controller = cluster_controller(&c);
    int32_t from = cluster_partition(&c, 1, "t", 0)->leader_id;
    int32_t to[] = {from == controller ? from % 3 + 1 : 6 - from - controller};
    for (int32_t i = 1; i <= 3; i++) {
        if (i != to[0]) {
            sim_net_partition(c.world, c.brokers[to[0] - 1].node, c.brokers[i - 1].node, true);
        }
    }
    alter_partition move = {.replicas = to, .replicas_count = 1};
    assert_int_equal(alter(&c, controller, "t", &move, 1)->error_code, KERR_NONE);
    cluster_run(&c, 3000);
    const struct wire_list_partition_reassignments_response *listed = list_all(&c, controller);
    assert_null(listed->topics[0].partitions[0].details);
    assert_int_equal(listed->jobs_count, -1);
    assert_int_equal(listed->queued_count, 0);
    struct wire_list_partition_reassignments_request req = {.topics_count = -1,
                                                            .klamm_extensions = 1};
    listed = cluster_call(&c, controller, WIRE_KEY_LIST_PARTITION_REASSIGNMENTS, &req);
    const struct wire_list_partition_reassignments_response_topics_partitions_details *d =
        listed->topics[0].partitions[0].details;
    assert_non_null(d);
    assert_int_equal(listed->jobs_count, 0); /* not null: clients know a klamm controller by it */
    assert_true(d->bytes_to_copy > 0);
    assert_int_equal(d->bytes_copied, 0);
    assert_int_equal(d->adding_count, 1);
    assert_int_equal(d->adding[0].broker, to[0]);
    assert_int_equal(d->original_replicas_count, 1);
    assert_int_equal(d->original_replicas[0], from);
    assert_true(slice_equal_str(d->submitted_by, "User:ANONYMOUS"));
    req.klamm_extensions = 2; /* not a word we know */
    listed = cluster_call(&c, controller, WIRE_KEY_LIST_PARTITION_REASSIGNMENTS, &req);
    assert_null(listed->topics[0].partitions[0].details);
    sim_net_heal(c.world);
    cluster_stop(&c);
}

static void each_partition_is_judged_alone(void **state)
{
    (void)state;
    struct cluster c = {0};
    cluster_start(&c, 1);
    assert_int_equal(cluster_create_topic(&c, "t", 5, 1), KERR_NONE);
    int32_t one[] = {1};
    int32_t twice[] = {1, 1};
    int32_t absent[] = {8};
    alter_partition partitions[] = {
        {.partition_index = 0, .replicas = one, .replicas_count = 1},
        {.partition_index = 1, .replicas = one, .replicas_count = 0},
        {.partition_index = 2, .replicas = twice, .replicas_count = 2},
        {.partition_index = 3, .replicas = absent, .replicas_count = 1},
        {.partition_index = 4, .replicas = one, .replicas_count = 1},
        {.partition_index = 4, .replicas = one, .replicas_count = 1},
        {.partition_index = 9, .replicas = one, .replicas_count = 1},
    };
    static const int16_t codes[] = {
        KERR_NONE,
        KERR_INVALID_REPLICA_ASSIGNMENT,
        KERR_INVALID_REPLICA_ASSIGNMENT,
        KERR_INVALID_REPLICA_ASSIGNMENT,
        KERR_INVALID_REQUEST,
        KERR_INVALID_REQUEST,
        KERR_UNKNOWN_TOPIC_OR_PARTITION,
    };
    const struct wire_alter_partition_reassignments_response *resp =
        alter(&c, 1, "t", partitions, ARRAY_LEN(partitions));
    assert_int_equal(resp->error_code, KERR_NONE);
    assert_int_equal(resp->responses[0].partitions_count, ARRAY_LEN(partitions));
    for (size_t i = 0; i < ARRAY_LEN(partitions); i++) {
        assert_int_equal(resp->responses[0].partitions[i].partition_index,
                         partitions[i].partition_index);
        assert_int_equal(resp->responses[0].partitions[i].error_code, codes[i]);
    }
    cluster_stop(&c);
}

static void other_brokers_say_not_controller_and_echo_nothing(void **state)
{
    (void)state;
    struct cluster c = {0};
    cluster_start(&c, 2);
    int32_t other = 3 - cluster_controller(&c);
    alter_partition cancel = {.replicas_count = -1};
    const struct wire_alter_partition_reassignments_response *resp =
        alter(&c, other, "t", &cancel, 1);
    assert_int_equal(resp->error_code, KERR_NOT_CONTROLLER);
    assert_int_equal(resp->responses_count, 0);
    const struct wire_list_partition_reassignments_response *listed = list_all(&c, other);
    assert_int_equal(listed->error_code, KERR_NOT_CONTROLLER);
    assert_int_equal(listed->topics_count, 0);
    struct wire_metadata_request ask = {.topics_count = 0};
    const struct wire_metadata_response *told = cluster_call(&c, other, WIRE_KEY_METADATA, &ask);
    assert_int_equal(list_all(&c, told->controller_id)->error_code, KERR_NONE);
    cluster_stop(&c);
}

/* Top level and each partition for alter; names with empty lists for list. */
static void refused_requests_are_echoed(void **state)
{
    (void)state;
    struct auth_acl acl = {.resource_type = AUTH_RESOURCE_CLUSTER,
                           .pattern = AUTH_PATTERN_LITERAL,
                           .operation = AUTH_OPERATION_CLUSTER_ACTION,
                           .permission = AUTH_PERMISSION_ALLOW,
                           .resource_name = slice_str(AUTH_CLUSTER_NAME),
                           .principal = slice_str(AUTH_PRINCIPAL_ANY),
                           .host = slice_str("*")};
    struct auth_acls acls = {.acls = &acl, .acl_count = 1};
    struct cluster c = {.acls = &acls};
    cluster_start(&c, 1);
    alter_partition partitions[] = {{.partition_index = 3, .replicas_count = -1},
                                    {.partition_index = 5, .replicas_count = -1}};
    const struct wire_alter_partition_reassignments_response *resp =
        alter(&c, 1, "t", partitions, 2);
    assert_int_equal(resp->error_code, KERR_CLUSTER_AUTHORIZATION_FAILED);
    assert_int_equal(resp->responses_count, 1);
    assert_int_equal(resp->responses[0].partitions_count, 2);
    assert_int_equal(resp->responses[0].partitions[0].partition_index, 3);
    assert_int_equal(resp->responses[0].partitions[0].error_code,
                     KERR_CLUSTER_AUTHORIZATION_FAILED);
    assert_int_equal(resp->responses[0].partitions[1].partition_index, 5);
    assert_int_equal(resp->responses[0].partitions[1].error_code,
                     KERR_CLUSTER_AUTHORIZATION_FAILED);

    int32_t indexes[] = {7};
    struct wire_list_partition_reassignments_request_topics topic = {
        .name = slice_str("t"), .partition_indexes = indexes, .partition_indexes_count = 1};
    struct wire_list_partition_reassignments_request req = {.topics = &topic, .topics_count = 1};
    const struct wire_list_partition_reassignments_response *listed =
        cluster_call(&c, 1, WIRE_KEY_LIST_PARTITION_REASSIGNMENTS, &req);
    assert_int_equal(listed->error_code, KERR_CLUSTER_AUTHORIZATION_FAILED);
    assert_int_equal(listed->topics_count, 1);
    assert_int_equal(listed->topics[0].partitions[0].partition_index, 7);
    assert_int_equal(listed->topics[0].partitions[0].replicas_count, 0);
    assert_int_equal(list_all(&c, 1)->topics_count, 0);
    cluster_stop(&c);
}

/* Design decision 9: 35 on top and for every partition that was named. */
static void moves_are_refused_below_2_4(void **state)
{
    (void)state;
    static const struct broker_setting settings[] = {{"inter.broker.protocol.version", "2.3"}};
    struct cluster c = {.settings = settings, .setting_count = 1};
    cluster_start(&c, 1);
    assert_int_equal(cluster_create_topic(&c, "t", 2, 1), KERR_NONE);
    int32_t one[] = {1};
    alter_partition partitions[] = {
        {.partition_index = 0, .replicas = one, .replicas_count = 1},
        {.partition_index = 7, .replicas_count = -1},
    };
    const struct wire_alter_partition_reassignments_response *altered =
        alter(&c, 1, "t", partitions, 2);
    assert_int_equal(altered->error_code, KERR_UNSUPPORTED_VERSION);
    assert_true(slice_equal_str(
        altered->error_message,
        "inter.broker.protocol.version 2.3-IV1 has no moves; they need 2.4 or later"));
    assert_int_equal(altered->responses_count, 1);
    assert_int_equal(altered->responses[0].partitions_count, 2);
    for (int32_t i = 0; i < 2; i++) {
        assert_int_equal(altered->responses[0].partitions[i].partition_index,
                         partitions[i].partition_index);
        assert_int_equal(altered->responses[0].partitions[i].error_code, KERR_UNSUPPORTED_VERSION);
    }
    assert_int_equal(list_all(&c, 1)->error_code, KERR_UNSUPPORTED_VERSION);
    int32_t indexes[] = {0, 3};
    struct wire_list_partition_reassignments_request_topics topic = {
        .name = slice_str("t"), .partition_indexes = indexes, .partition_indexes_count = 2};
    struct wire_list_partition_reassignments_request req = {.topics = &topic, .topics_count = 1};
    const struct wire_list_partition_reassignments_response *listed =
        cluster_call(&c, 1, WIRE_KEY_LIST_PARTITION_REASSIGNMENTS, &req);
    assert_int_equal(listed->error_code, KERR_UNSUPPORTED_VERSION);
    assert_int_equal(listed->topics_count, 1);
    assert_int_equal(listed->topics[0].partitions_count, 2);
    assert_int_equal(listed->topics[0].partitions[1].partition_index, 3);
    assert_int_equal(listed->topics[0].partitions[1].replicas_count, 0);
    assert_int_equal(cluster_produce(&c, "t", 1), 0);
    cluster_stop(&c);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(replica_moves_and_the_old_one_goes),
        cmocka_unit_test(running_move_is_listed_and_cancelled),
        cmocka_unit_test(details_are_told_to_those_alone_who_ask),
        cmocka_unit_test(each_partition_is_judged_alone),
        cmocka_unit_test(other_brokers_say_not_controller_and_echo_nothing),
        cmocka_unit_test(refused_requests_are_echoed),
        cmocka_unit_test(moves_are_refused_below_2_4),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
