/*
 * Produce, versions 3-11 (protocol.md 5.1): every partition of the request becomes one append; the
 * records stay where they are in the frame. Answered at once, or when the high watermark has passed
 * (acks=all). acks=0 has no answer: an error closes the connection.
 *
 * Transactions are not coordinated yet, so transactional batches are refused (48) before they could
 * hold the last stable offset down.
 */
#include "wire/produce.h"

#include "base/check.h"
#include "base/endian.h"
#include "broker/api/answers.h"
#include "broker/api/handlers.h"
#include "broker/replicas/replicas.h"
#include "record/validate.h"

#define ADMIN_CLIENT_ID "__admin_client"

struct produce {
    const struct wire_produce_request *req;
    struct replicas_produce call;
    int16_t *codes; /* one a partition of the request */
    int32_t *items; /* one a partition of the request: its append, -1 = refused */
    int32_t count;  /* partitions of the request */
};

/* The protocol code for a batch that validation refused. */
static int16_t reason_code(enum record_reason reason)
{
    switch (reason) {
    case RECORD_OK:
        return KERR_NONE;
    case RECORD_TOO_LARGE:
        return KERR_MESSAGE_TOO_LARGE;
    case RECORD_BAD_LENGTH:
    case RECORD_BAD_CRC:
        return KERR_CORRUPT_MESSAGE;
    case RECORD_BAD_CODEC:
        return KERR_UNSUPPORTED_COMPRESSION_TYPE;
    case RECORD_BAD_TIMESTAMP:
        return KERR_INVALID_TIMESTAMP;
    case RECORD_EMPTY:
    case RECORD_NOT_ONE_BATCH:
    case RECORD_BAD_MAGIC:
    case RECORD_BAD_OFFSET:
    case RECORD_BAD_COUNT:
    case RECORD_IS_CONTROL:
    case RECORD_NO_SEQUENCES:
    case RECORD_NULL_KEY:
    case RECORD_BAD_RECORDS:
        return KERR_INVALID_RECORD;
    }
    return KERR_INVALID_RECORD;
}

static bool is_transactional(const struct wire_records *records)
{
    if (records->ptr == NULL || records->len < RECORD_HEADER_SIZE) {
        return false;
    }
    return (load_be16(records->ptr + RECORD_CRC_START) & RECORD_ATTR_TRANSACTIONAL) != 0;
}

/* What stops a partition before the log is asked. */
static int16_t refusal(const struct api_request *r, const struct wire_produce_request *req,
                       const struct wire_produce_request_topic_data *topic,
                       const struct wire_produce_request_topic_data_partition_data *partition)
{
    if (req->acks < -1 || req->acks > 1) {
        return KERR_INVALID_REQUIRED_ACKS;
    }
    if (!api_is_allowed_on_topic(r, AUTH_OPERATION_WRITE, topic->name)) {
        return KERR_TOPIC_AUTHORIZATION_FAILED;
    }
    if (api_topic_is_internal(topic->name) &&
        !slice_equal_str(r->header.client_id, ADMIN_CLIENT_ID)) {
        return KERR_INVALID_TOPIC_EXCEPTION;
    }
    if (!slice_is_null(req->transactional_id) || is_transactional(&partition->records)) {
        return KERR_INVALID_TXN_STATE;
    }
    return KERR_NONE;
}

/* ---- answering ---- */

static void fill_record_errors(struct api_request *r, const struct replicas_append *item,
                               struct wire_produce_response_responses_partition_responses *out)
{
    if (item->bad_index < 0) {
        return;
    }
    out->record_errors = api_array(r, 1, sizeof *out->record_errors);
    if (out->record_errors != NULL) {
        out->record_errors_count = 1;
        out->record_errors[0].batch_index = item->bad_index;
        out->record_errors[0].batch_index_error_message =
            slice_str(record_reason_text(item->reason));
    }
}

static void fill_partition(struct api_request *r, const struct replicas_append *item,
                           struct wire_produce_response_responses_partition_responses *out)
{
    if (item->reason != RECORD_OK) {
        out->error_code = reason_code(item->reason);
        out->error_message = slice_str(record_reason_text(item->reason));
        fill_record_errors(r, item, out);
        return;
    }
    out->error_code = api_error(API_ERROR_APPEND, item->err);
    if (item->err == 0) {
        out->base_offset = item->base_offset;
        out->log_append_time_ms = item->log_append_time_ms;
        out->log_start_offset = item->log_start_offset;
    }
    if (item->err == -E_NOT_LEADER) {
        out->current_leader.leader_id = item->leader;
        out->current_leader.leader_epoch = item->leader_epoch;
    }
}

/* Where clients find the leaders that the answer names. */
static bool fill_endpoints(struct api_request *r, const struct produce *p,
                           struct wire_produce_response *resp)
{
    int32_t *leaders = api_array(r, p->call.count, sizeof *leaders);
    int32_t count = 0;
    for (int32_t i = 0; leaders != NULL && i < p->call.count; i++) {
        if (p->call.items[i].err == -E_NOT_LEADER) {
            leaders[count++] = p->call.items[i].leader;
        }
    }
    struct api_endpoint *found = api_array(r, count, sizeof *found);
    resp->node_endpoints = api_array(r, count, sizeof *resp->node_endpoints);
    if (leaders == NULL || found == NULL || resp->node_endpoints == NULL) {
        return false;
    }
    resp->node_endpoints_count = api_endpoints(r, leaders, count, found, count);
    for (int32_t i = 0; i < resp->node_endpoints_count; i++) {
        resp->node_endpoints[i] = (struct wire_produce_response_node_endpoints){
            .node_id = found[i].node_id,
            .host = found[i].host,
            .port = found[i].port,
            .rack = found[i].rack,
        };
    }
    return true;
}

static bool fill_response(struct api_request *r, const struct produce *p,
                          struct wire_produce_response *resp)
{
    const struct wire_produce_request *req = p->req;
    int32_t at = 0;
    resp->responses = api_array(r, req->topic_data_count, sizeof *resp->responses);
    if (resp->responses == NULL) {
        return false;
    }
    resp->responses_count = req->topic_data_count;
    for (int32_t i = 0; i < req->topic_data_count; i++) {
        const struct wire_produce_request_topic_data *topic = &req->topic_data[i];
        struct wire_produce_response_responses *out = &resp->responses[i];
        out->name = topic->name;
        out->partition_responses_count = topic->partition_data_count;
        out->partition_responses =
            api_array(r, topic->partition_data_count, sizeof *out->partition_responses);
        if (out->partition_responses == NULL) {
            return false;
        }
        for (int32_t j = 0; j < topic->partition_data_count; j++, at++) {
            struct wire_produce_response_responses_partition_responses *answer =
                &out->partition_responses[j];
            wire_produce_response_responses_partition_responses_init(answer);
            answer->index = topic->partition_data[j].index;
            answer->base_offset = -1;
            answer->error_code = p->codes[at];
            if (p->items[at] >= 0) {
                fill_partition(r, &p->call.items[p->items[at]], answer);
            }
        }
    }
    return fill_endpoints(r, p, resp);
}

static bool has_error(const struct produce *p)
{
    for (int32_t i = 0; i < p->count; i++) {
        if (p->items[i] < 0 || p->call.items[p->items[i]].err < 0 ||
            p->call.items[p->items[i]].reason != RECORD_OK) {
            return true;
        }
    }
    return false;
}

/* Partitions that were not here, or went while the request was parked, may be elsewhere. */
static void redirect(const struct api_request *r, struct produce *p)
{
    for (int32_t i = 0; i < p->call.count; i++) {
        struct replicas_append *item = &p->call.items[i];
        if (item->err == -E_NOT_FOUND) {
            struct api_leader leader;
            item->err =
                api_not_hosted(r->api->parts.metadata, item->topic, item->partition, &leader);
            item->leader = leader.id;
            item->leader_epoch = leader.epoch;
        }
    }
}

static void answer(struct api_request *r)
{
    struct produce *p = r->state;
    redirect(r, p);
    struct wire_produce_response resp;
    wire_produce_response_init(&resp);
    if (p->req->acks == 0) {
        if (has_error(p)) {
            api_close(r);
        } else {
            api_no_response(r);
        }
    } else if (fill_response(r, p, &resp)) {
        api_respond(r, &resp);
    } else {
        api_close(r);
    }
}

/* ---- appending ---- */

static void produce_done(void *arg, struct replicas_produce *call)
{
    (void)call;
    answer(arg);
}

static void produce_orphaned(struct api_request *r)
{
    struct produce *p = r->state;
    replicas_produce_cancel(&p->call);
}

static int32_t count_partitions(const struct wire_produce_request *req)
{
    int64_t count = 0;
    for (int32_t i = 0; i < req->topic_data_count; i++) {
        count += req->topic_data[i].partition_data_count;
    }
    return count > WIRE_COUNT_MAX ? -1 : (int32_t)count;
}

/* The frame is ours to write into; the decoder only lends it read-only. */
static uint8_t *writable(const struct api_request *r, const uint8_t *ptr)
{
    return ptr == NULL ? NULL : r->net->frame->data + (ptr - r->net->frame->data);
}

static void fill_items(struct api_request *r, struct produce *p)
{
    const struct wire_produce_request *req = p->req;
    int32_t at = 0;
    for (int32_t i = 0; i < req->topic_data_count; i++) {
        const struct wire_produce_request_topic_data *topic = &req->topic_data[i];
        for (int32_t j = 0; j < topic->partition_data_count; j++, at++) {
            const struct wire_produce_request_topic_data_partition_data *partition =
                &topic->partition_data[j];
            p->codes[at] = refusal(r, req, topic, partition);
            p->items[at] = p->codes[at] != KERR_NONE ? -1 : p->call.count;
            if (p->codes[at] == KERR_NONE) {
                p->call.items[p->call.count++] = (struct replicas_append){
                    .topic = topic->name,
                    .partition = partition->index,
                    .records = writable(r, partition->records.ptr),
                    .records_len = partition->records.len,
                    .bad_index = -1,
                };
            }
        }
    }
}

void api_handle_produce(struct api_request *r, const void *body)
{
    struct produce *p = arena_alloc(&r->arena, sizeof *p);
    int32_t count = count_partitions(body);
    if (p == NULL || count < 0) {
        api_close(r);
        return;
    }
    r->state = p;
    p->req = body;
    p->count = count;
    p->codes = api_array(r, count, sizeof *p->codes);
    p->items = api_array(r, count, sizeof *p->items);
    p->call.items = api_array(r, count, sizeof *p->call.items);
    if (p->codes == NULL || p->items == NULL || p->call.items == NULL) {
        api_close(r);
        return;
    }
    p->call.acks = p->req->acks;
    p->call.allow_zstd = r->version >= 7;
    p->call.timeout_ms = p->req->timeout_ms;
    p->call.done = produce_done;
    p->call.arg = r;
    fill_items(r, p);
    if (p->call.count == 0 || replicas_produce(r->api->parts.replicas, &p->call)) {
        answer(r);
    } else {
        api_park(r, produce_orphaned);
    }
}
