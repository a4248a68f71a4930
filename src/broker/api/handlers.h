/*
 * The handlers, one file each unless they belong together. All have the contract of request.h.
 */
#pragma once

struct api_request;

void api_handle_produce(struct api_request *r, const void *body);
void api_handle_fetch(struct api_request *r, const void *body);
void api_handle_list_offsets(struct api_request *r, const void *body);
void api_handle_metadata(struct api_request *r, const void *body);
void api_handle_leader_and_isr(struct api_request *r, const void *body);
void api_handle_stop_replica(struct api_request *r, const void *body);
void api_handle_update_metadata(struct api_request *r, const void *body);
void api_handle_controlled_shutdown(struct api_request *r, const void *body);
void api_handle_find_coordinator(struct api_request *r, const void *body);
void api_handle_create_topics(struct api_request *r, const void *body);
void api_handle_delete_topics(struct api_request *r, const void *body);
void api_handle_delete_records(struct api_request *r, const void *body);
void api_handle_init_producer_id(struct api_request *r, const void *body);
void api_handle_offset_for_leader_epoch(struct api_request *r, const void *body);
void api_handle_describe_configs(struct api_request *r, const void *body);
void api_handle_describe_log_dirs(struct api_request *r, const void *body);
void api_handle_create_partitions(struct api_request *r, const void *body);
void api_handle_elect_leaders(struct api_request *r, const void *body);
void api_handle_alter_configs(struct api_request *r, const void *body);
void api_handle_incremental_alter_configs(struct api_request *r, const void *body);
void api_handle_alter_partition_reassignments(struct api_request *r, const void *body);
void api_handle_list_partition_reassignments(struct api_request *r, const void *body);
void api_handle_alter_partition(struct api_request *r, const void *body);
void api_handle_describe_cluster(struct api_request *r, const void *body);
void api_handle_allocate_producer_ids(struct api_request *r, const void *body);
void api_handle_describe_topic_partitions(struct api_request *r, const void *body);
