/*
 * What brokers ask of the controller: AlterPartition, versions 0-3, ControlledShutdown, versions 0-3,
 * AllocateProducerIds, version 0 (docs/spec/zookeeper-mode.md sections 10 and 11). Only brokers may
 * (CLUSTER_ACTION).
 */
#include "wire/alter_partition.h"

#include "base/check.h"
#include "broker/api/control_answer.h"
#include "broker/api/handlers.h"
#include "wire/allocate_producer_ids.h"
#include "wire/controlled_shutdown.h"

/* ---- AlterPartition ---- */

static void fill_isr(const struct control_isr_result *result,
                     struct wire_alter_partition_response_topics_partitions *out)
{
    out->partition_index = result->partition;
    out->error_code = result->error;
    out->leader_id = result->leader;
    out->leader_epoch = result->leader_epoch;
    out->isr = result->isr.list;
    out->isr_count = result->isr.count;
    out->leader_recovery_state = result->recovery;
    out->partition_epoch = result->partition_epoch;
}

static bool is_same_topic(const struct control_isr_result *a, const struct control_isr_result *b)
{
    return uuid_equal(a->topic_id, b->topic_id) && slice_equal(a->topic, b->topic);
}

static void alter_done(struct api_request *r, const struct control_reply *reply)
{
    struct wire_alter_partition_response resp;
    wire_alter_partition_response_init(&resp);
    resp.error_code = reply->error;
    int32_t count = reply->error == KERR_NONE ? reply->count : 0;
    struct wire_alter_partition_response_topics_partitions *partitions =
        api_array(r, count, sizeof *partitions);
    resp.topics = api_array(r, count, sizeof *resp.topics);
    if (partitions == NULL || resp.topics == NULL) {
        api_close(r);
        return;
    }
    for (int32_t i = 0; i < count; i++) {
        const struct control_isr_result *result = &reply->isr_results[i];
        if (i == 0 || !is_same_topic(result, &reply->isr_results[i - 1])) {
            resp.topics[resp.topics_count].topic_name = result->topic;
            resp.topics[resp.topics_count].topic_id = result->topic_id;
            resp.topics[resp.topics_count].partitions = &partitions[i];
            resp.topics_count++;
        }
        resp.topics[resp.topics_count - 1].partitions_count++;
        fill_isr(result, &partitions[i]);
    }
    api_respond(r, &resp);
}

/* The proposed ISR, from whichever field the version has. */
static void isr_take(struct controller_ask *call, int16_t version,
                     const struct wire_alter_partition_request_topics_partitions *p,
                     struct control_isr_entry *entry)
{
    if (version < 3) {
        entry->isr_count = p->new_isr_count;
        entry->isr = controller_ask_ids(call, p->new_isr, p->new_isr_count);
        return;
    }
    int32_t *isr = controller_ask_array(call, p->new_isr_with_epochs_count, sizeof *isr);
    for (int32_t i = 0; isr != NULL && i < p->new_isr_with_epochs_count; i++) {
        isr[i] = p->new_isr_with_epochs[i].broker_id;
    }
    entry->isr = isr;
    entry->isr_count = p->new_isr_with_epochs_count;
}

static void alter_flatten(struct controller_ask *call, int16_t version,
                          const struct wire_alter_partition_request *req)
{
    struct control_alter_partition *alter = &call->request.alter_partition;
    int64_t count = 0;
    alter->broker = req->broker_id;
    alter->broker_epoch = req->broker_epoch;
    alter->knows_ineligible = version >= 2;
    for (int32_t i = 0; i < req->topics_count; i++) {
        count += req->topics[i].partitions_count;
    }
    struct control_isr_entry *entries = controller_ask_array(call, count, sizeof *entries);
    alter->entries = entries;
    for (int32_t i = 0; i < req->topics_count; i++) {
        const struct wire_alter_partition_request_topics *topic = &req->topics[i];
        struct slice name =
            version < 2 ? controller_ask_slice(call, topic->topic_name) : SLICE_NULL;
        for (int32_t j = 0; !call->failed && j < topic->partitions_count; j++) {
            const struct wire_alter_partition_request_topics_partitions *p = &topic->partitions[j];
            struct control_isr_entry *entry = &entries[alter->count++];
            entry->topic = name;
            entry->topic_id = topic->topic_id;
            entry->partition = p->partition_index;
            entry->leader_epoch = p->leader_epoch;
            entry->partition_epoch = p->partition_epoch;
            entry->recovery = p->leader_recovery_state;
            isr_take(call, version, p, entry);
        }
    }
}

void api_handle_alter_partition(struct api_request *r, const void *body)
{
    if (!api_is_allowed_on_cluster(r, AUTH_OPERATION_CLUSTER_ACTION)) {
        struct wire_alter_partition_response resp;
        wire_alter_partition_response_init(&resp);
        resp.error_code = KERR_CLUSTER_AUTHORIZATION_FAILED;
        api_respond(r, &resp);
        return;
    }
    struct controller_ask *call = controller_ask_new(CONTROL_ALTER_PARTITION);
    alter_flatten(call, r->version, body);
    api_control_answer(r, call, alter_done);
}

/* ---- ControlledShutdown ---- */

static void shutdown_done(struct api_request *r, const struct control_reply *reply)
{
    struct wire_controlled_shutdown_response resp;
    wire_controlled_shutdown_response_init(&resp);
    resp.error_code =
        reply->error == KERR_NOT_CONTROLLER ? KERR_STALE_CONTROLLER_EPOCH : reply->error;
    int32_t count = reply->error == KERR_NONE ? reply->count : 0;
    resp.remaining_partitions = api_array(r, count, sizeof *resp.remaining_partitions);
    if (resp.remaining_partitions == NULL) {
        api_close(r);
        return;
    }
    resp.remaining_partitions_count = count;
    for (int32_t i = 0; i < count; i++) {
        resp.remaining_partitions[i].topic_name = reply->remaining[i].topic;
        resp.remaining_partitions[i].partition_index = reply->remaining[i].partition;
    }
    api_respond(r, &resp);
}

void api_handle_controlled_shutdown(struct api_request *r, const void *body)
{
    const struct wire_controlled_shutdown_request *req = body;
    if (!api_is_allowed_on_cluster(r, AUTH_OPERATION_CLUSTER_ACTION)) {
        struct wire_controlled_shutdown_response resp;
        wire_controlled_shutdown_response_init(&resp);
        resp.error_code = KERR_CLUSTER_AUTHORIZATION_FAILED;
        api_respond(r, &resp);
        return;
    }
    struct controller_ask *call = controller_ask_new(CONTROL_SHUTDOWN);
    call->request.shutdown.broker = req->broker_id;
    call->request.shutdown.broker_epoch = req->broker_epoch;
    api_control_answer(r, call, shutdown_done);
}

/* ---- AllocateProducerIds ---- */

static void allocate_done(struct api_request *r, const struct control_reply *reply)
{
    struct wire_allocate_producer_ids_response resp;
    wire_allocate_producer_ids_response_init(&resp);
    resp.error_code = reply->error;
    if (reply->error == KERR_NONE) {
        CHECK(reply->count == 1);
        resp.producer_id_start = reply->block->start;
        resp.producer_id_len = (int32_t)(reply->block->end - reply->block->start + 1);
    }
    api_respond(r, &resp);
}

void api_handle_allocate_producer_ids(struct api_request *r, const void *body)
{
    const struct wire_allocate_producer_ids_request *req = body;
    if (!api_is_allowed_on_cluster(r, AUTH_OPERATION_CLUSTER_ACTION)) {
        struct wire_allocate_producer_ids_response resp;
        wire_allocate_producer_ids_response_init(&resp);
        resp.error_code = KERR_CLUSTER_AUTHORIZATION_FAILED;
        api_respond(r, &resp);
        return;
    }
    struct controller_ask *call = controller_ask_new(CONTROL_ALLOCATE_PRODUCER_IDS);
    call->request.allocate_producer_ids.broker = req->broker_id;
    call->request.allocate_producer_ids.broker_epoch = req->broker_epoch;
    api_control_answer(r, call, allocate_done);
}
