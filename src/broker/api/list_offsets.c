/*
 * ListOffsets, versions 1-10, and OffsetForLeaderEpoch, versions 2-4 (protocol.md 5.1): lookups in one
 * partition after the other, answered at once.
 */
#include "wire/list_offsets.h"

#include "base/error.h"
#include "broker/api/answers.h"
#include "broker/api/handlers.h"
#include "broker/api/request.h"
#include "broker/replicas/replicas.h"
#include "wire/offset_for_leader_epoch.h"

/* The error with -E_NOT_FOUND made -E_NOT_LEADER for what is hosted elsewhere. */
static int redirect(const struct api_request *r, int err, struct slice topic, int32_t partition)
{
    struct api_leader leader;
    return err == -E_NOT_FOUND ? api_not_hosted(r->api->parts.metadata, topic, partition, &leader)
                               : err;
}

/* OFFSET_NOT_AVAILABLE is known from v5 on; older clients retry on LEADER_NOT_AVAILABLE. */
static int16_t offset_code(const struct api_request *r, int err)
{
    if (err == -E_NOT_AVAILABLE && r->version < 5) {
        return KERR_LEADER_NOT_AVAILABLE;
    }
    return api_error(API_ERROR_PARTITION, err);
}

static void find_offset(struct api_request *r, const struct wire_list_offsets_request *req,
                        const struct wire_list_offsets_request_topics *topic, int32_t index,
                        struct wire_list_offsets_response_topics_partitions *out)
{
    const struct wire_list_offsets_request_topics_partitions *p = &topic->partitions[index];
    struct replicas_offset_query query = {
        .topic = topic->name,
        .partition = p->partition_index,
        .replica_id = req->replica_id,
        .is_read_committed = req->isolation_level == 1,
        .current_leader_epoch = p->current_leader_epoch,
        .timestamp = p->timestamp,
    };
    wire_list_offsets_response_topics_partitions_init(out);
    out->partition_index = p->partition_index;
    if (!api_is_allowed_on_topic(r, AUTH_OPERATION_DESCRIBE, topic->name)) {
        out->error_code = KERR_TOPIC_AUTHORIZATION_FAILED;
        return;
    }
    int err = replicas_find_offset(r->api->parts.replicas, &query);
    err = redirect(r, err, query.topic, query.partition);
    out->error_code = offset_code(r, err);
    if (err == 0) {
        out->timestamp = query.ret_timestamp;
        out->offset = query.ret_offset;
        out->leader_epoch = query.ret_leader_epoch;
    }
}

void api_handle_list_offsets(struct api_request *r, const void *body)
{
    const struct wire_list_offsets_request *req = body;
    struct wire_list_offsets_response resp;
    wire_list_offsets_response_init(&resp);
    resp.topics = api_array(r, req->topics_count, sizeof *resp.topics);
    if (resp.topics == NULL) {
        api_close(r);
        return;
    }
    resp.topics_count = req->topics_count;
    for (int32_t i = 0; i < req->topics_count; i++) {
        const struct wire_list_offsets_request_topics *topic = &req->topics[i];
        struct wire_list_offsets_response_topics *out = &resp.topics[i];
        out->name = topic->name;
        out->partitions_count = topic->partitions_count;
        out->partitions = api_array(r, topic->partitions_count, sizeof *out->partitions);
        if (out->partitions == NULL) {
            api_close(r);
            return;
        }
        for (int32_t j = 0; j < topic->partitions_count; j++) {
            find_offset(r, req, topic, j, &out->partitions[j]);
        }
    }
    api_respond(r, &resp);
}

static void find_epoch_end(struct api_request *r,
                           const struct wire_offset_for_leader_epoch_request_topics *topic,
                           int32_t index,
                           struct wire_offset_for_leader_epoch_response_topics_partitions *out)
{
    const struct wire_offset_for_leader_epoch_request_topics_partitions *p =
        &topic->partitions[index];
    struct replicas_epoch_query query = {
        .topic = topic->topic,
        .partition = p->partition,
        .current_leader_epoch = p->current_leader_epoch,
        .leader_epoch = p->leader_epoch,
    };
    wire_offset_for_leader_epoch_response_topics_partitions_init(out);
    out->partition = p->partition;
    if (!api_is_allowed_on_cluster(r, AUTH_OPERATION_CLUSTER_ACTION) &&
        !api_is_allowed_on_topic(r, AUTH_OPERATION_DESCRIBE, topic->topic)) {
        out->error_code = KERR_TOPIC_AUTHORIZATION_FAILED;
        return;
    }
    int err = replicas_find_epoch_end(r->api->parts.replicas, &query);
    err = redirect(r, err, query.topic, query.partition);
    out->error_code = api_error(API_ERROR_PARTITION, err);
    if (err == 0) {
        out->leader_epoch = query.ret_epoch;
        out->end_offset = query.ret_end_offset;
    }
}

void api_handle_offset_for_leader_epoch(struct api_request *r, const void *body)
{
    const struct wire_offset_for_leader_epoch_request *req = body;
    struct wire_offset_for_leader_epoch_response resp;
    wire_offset_for_leader_epoch_response_init(&resp);
    resp.topics = api_array(r, req->topics_count, sizeof *resp.topics);
    if (resp.topics == NULL) {
        api_close(r);
        return;
    }
    resp.topics_count = req->topics_count;
    for (int32_t i = 0; i < req->topics_count; i++) {
        const struct wire_offset_for_leader_epoch_request_topics *topic = &req->topics[i];
        struct wire_offset_for_leader_epoch_response_topics *out = &resp.topics[i];
        out->topic = topic->topic;
        out->partitions_count = topic->partitions_count;
        out->partitions = api_array(r, topic->partitions_count, sizeof *out->partitions);
        if (out->partitions == NULL) {
            api_close(r);
            return;
        }
        for (int32_t j = 0; j < topic->partitions_count; j++) {
            find_epoch_end(r, topic, j, &out->partitions[j]);
        }
    }
    api_respond(r, &resp);
}
