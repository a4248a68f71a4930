/*
 * What brokers ask of the controller, over the wire: AlterPartition, ControlledShutdown,
 * AllocateProducerIds.
 */
#include "base/check.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "auth/acl.h"
#include "cluster.h"
#include "model/kerr.h"
#include "wire/allocate_producer_ids.h"
#include "wire/alter_partition.h"
#include "wire/controlled_shutdown.h"

static void producer_ids_come_in_blocks_that_never_overlap(void **state)
{
    (void)state;
    struct cluster c = {0};
    cluster_start(&c, 1);
    int64_t next = 0;
    for (int i = 0; i < 3; i++) {
        struct wire_allocate_producer_ids_request req = {
            .broker_id = 1, .broker_epoch = broker_epoch(c.brokers[0].broker)};
        const struct wire_allocate_producer_ids_response *resp =
            cluster_call(&c, 1, WIRE_KEY_ALLOCATE_PRODUCER_IDS, &req);
        assert_non_null(resp);
        assert_int_equal(resp->error_code, KERR_NONE);
        assert_int_equal(resp->producer_id_start, next);
        assert_int_equal(resp->producer_id_len, 1000);
        next += 1000;
    }
    cluster_stop(&c);
}

static void stale_brokers_are_fenced(void **state)
{
    (void)state;
    struct cluster c = {0};
    cluster_start(&c, 1);
    int64_t epoch = broker_epoch(c.brokers[0].broker);
    for (int16_t version = 2; version <= 3; version++) {
        struct wire_controlled_shutdown_request req = {.broker_id = 1, .broker_epoch = epoch - 1};
        const struct wire_controlled_shutdown_response *resp =
            cluster_call_v(&c, 1, WIRE_KEY_CONTROLLED_SHUTDOWN, version, &req);
        assert_int_equal(resp->error_code, KERR_STALE_BROKER_EPOCH);
    }
    struct wire_alter_partition_request alter = {.broker_id = 1, .broker_epoch = epoch - 1};
    const struct wire_alter_partition_response *resp =
        cluster_call(&c, 1, WIRE_KEY_ALTER_PARTITION, &alter);
    assert_int_equal(resp->error_code, KERR_STALE_BROKER_EPOCH);
    cluster_stop(&c);
}

/* By name up to version 1, by id from 2; the proposed members come in two forms. */
static void isr_changes_are_judged_in_every_version(void **state)
{
    (void)state;
    struct cluster c = {0};
    cluster_start(&c, 1);
    assert_int_equal(cluster_create_topic(&c, "t", 1, 1), KERR_NONE);
    struct wire_metadata_request metadata = {.topics_count = -1};
    const struct wire_metadata_response *described =
        cluster_call(&c, 1, WIRE_KEY_METADATA, &metadata);
    for (int16_t version = 0; version <= 3; version++) {
        int32_t isr[] = {1};
        struct wire_alter_partition_request_topics_partitions_new_isr_with_epochs member = {
            .broker_id = 1, .broker_epoch = -1};
        struct wire_alter_partition_request_topics_partitions partition = {
            .leader_epoch = 99,
            .new_isr = isr,
            .new_isr_count = 1,
            .new_isr_with_epochs = &member,
            .new_isr_with_epochs_count = 1,
        };
        struct wire_alter_partition_request_topics topic = {.topic_name = slice_str("t"),
                                                            .topic_id =
                                                                described->topics[0].topic_id,
                                                            .partitions = &partition,
                                                            .partitions_count = 1};
        struct wire_alter_partition_request req = {.broker_id = 1,
                                                   .broker_epoch =
                                                       broker_epoch(c.brokers[0].broker),
                                                   .topics = &topic,
                                                   .topics_count = 1};
        const struct wire_alter_partition_response *resp =
            cluster_call_v(&c, 1, WIRE_KEY_ALTER_PARTITION, version, &req);
        assert_int_equal(resp->error_code, KERR_NONE);
        assert_int_equal(resp->topics_count, 1);
        assert_int_equal(slice_equal_str(resp->topics[0].topic_name, "t"), version < 2);
        assert_int_equal(uuid_is_zero(resp->topics[0].topic_id), version < 2);
        assert_int_equal(resp->topics[0].partitions[0].error_code, KERR_NOT_CONTROLLER);
    }
    cluster_stop(&c);
}

static void other_brokers_are_no_controller(void **state)
{
    (void)state;
    struct cluster c = {0};
    cluster_start(&c, 2);
    int32_t other = 3 - cluster_controller(&c);
    struct wire_controlled_shutdown_request stop = {.broker_id = other, .broker_epoch = -1};
    const struct wire_controlled_shutdown_response *stopped =
        cluster_call(&c, other, WIRE_KEY_CONTROLLED_SHUTDOWN, &stop);
    assert_int_equal(stopped->error_code, KERR_STALE_CONTROLLER_EPOCH);
    struct wire_allocate_producer_ids_request ids = {.broker_id = other, .broker_epoch = -1};
    const struct wire_allocate_producer_ids_response *resp =
        cluster_call(&c, other, WIRE_KEY_ALLOCATE_PRODUCER_IDS, &ids);
    assert_int_equal(resp->error_code, KERR_NOT_CONTROLLER);
    cluster_stop(&c);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(producer_ids_come_in_blocks_that_never_overlap),
        cmocka_unit_test(stale_brokers_are_fenced),
        cmocka_unit_test(isr_changes_are_judged_in_every_version),
        cmocka_unit_test(other_brokers_are_no_controller),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
