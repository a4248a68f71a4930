/*
 * The APIs and versions we advertise (protocol.md section 4). A key is here only when it is
 * implemented. Produce starts at 0 because old librdkafka decides by that whether it may compress;
 * versions 0-2 have no schema and are refused by closing.
 */
#include "base/check.h"
#include "broker/api/api_versions.h"
#include "broker/api/handlers.h"
#include "broker/api/request.h"

#define ROW(name, min, max, handler)                                                               \
    {                                                                                              \
        .key = WIRE_KEY_##name, .min_version = min, .max_version = max, .fn = handler              \
    }

const struct api_row api_rows[] = {
    ROW(PRODUCE, 0, 11, api_handle_produce),
    ROW(FETCH, 4, 17, api_handle_fetch),
    ROW(LIST_OFFSETS, 1, 10, api_handle_list_offsets),
    ROW(METADATA, 0, 13, api_handle_metadata),
    ROW(LEADER_AND_ISR, 0, 7, api_handle_leader_and_isr),
    ROW(STOP_REPLICA, 0, 4, api_handle_stop_replica),
    ROW(UPDATE_METADATA, 0, 8, api_handle_update_metadata),
    ROW(CONTROLLED_SHUTDOWN, 0, 3, api_handle_controlled_shutdown),
    ROW(FIND_COORDINATOR, 0, 6, api_handle_find_coordinator),
    ROW(API_VERSIONS, 0, 4, api_versions_handle),
    ROW(CREATE_TOPICS, 2, 7, api_handle_create_topics),
    ROW(DELETE_TOPICS, 1, 6, api_handle_delete_topics),
    ROW(DELETE_RECORDS, 0, 2, api_handle_delete_records),
    ROW(INIT_PRODUCER_ID, 0, 5, api_handle_init_producer_id),
    ROW(OFFSET_FOR_LEADER_EPOCH, 2, 4, api_handle_offset_for_leader_epoch),
    ROW(DESCRIBE_CONFIGS, 1, 4, api_handle_describe_configs),
    ROW(ALTER_CONFIGS, 0, 2, api_handle_alter_configs),
    ROW(DESCRIBE_LOG_DIRS, 1, 4, api_handle_describe_log_dirs),
    ROW(CREATE_PARTITIONS, 0, 3, api_handle_create_partitions),
    ROW(ELECT_LEADERS, 0, 2, api_handle_elect_leaders),
    ROW(INCREMENTAL_ALTER_CONFIGS, 0, 1, api_handle_incremental_alter_configs),
    ROW(ALTER_PARTITION_REASSIGNMENTS, 0, 1, api_handle_alter_partition_reassignments),
    ROW(LIST_PARTITION_REASSIGNMENTS, 0, 0, api_handle_list_partition_reassignments),
    ROW(ALTER_PARTITION, 0, 3, api_handle_alter_partition),
    ROW(DESCRIBE_CLUSTER, 0, 2, api_handle_describe_cluster),
    ROW(ALLOCATE_PRODUCER_IDS, 0, 0, api_handle_allocate_producer_ids),
    ROW(DESCRIBE_TOPIC_PARTITIONS, 0, 0, api_handle_describe_topic_partitions),
};
const int32_t api_row_count = (int32_t)ARRAY_LEN(api_rows);
