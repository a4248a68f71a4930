/*
 * AlterPartitionReassignments, versions 0-1, and ListPartitionReassignments, version 0
 * (docs/spec/reassignment.md sections 2 and 3): permission is checked here, all else by the controller.
 * Every top-level error but NOT_CONTROLLER echoes each requested partition (3.3).
 */
#include "wire/alter_partition_reassignments.h"

#include "base/check.h"
#include "broker/api/control_answer.h"
#include "broker/api/handlers.h"
#include "broker/controller/moves_call.h"
#include "broker/controller/report.h"
#include "wire/list_partition_reassignments.h"

/* Why a request that may come from anybody is refused as a whole. */
struct refusal {
    int16_t error; /* KERR_NONE: it is not */
    struct errmsg em;
};

/* Below 2.4-IV0 no move is accepted: brokers of that level would not keep it (design decision 9). */
static struct refusal refusal_of(const struct api_request *r, enum auth_operation operation)
{
    struct refusal refusal = {.error = KERR_NONE};
    if (!api_is_allowed_on_cluster(r, operation)) {
        refusal.error = KERR_CLUSTER_AUTHORIZATION_FAILED;
        (void)errmsg_set(&refusal.em, E_OK, "%s on the cluster is not allowed",
                         operation == AUTH_OPERATION_ALTER ? "ALTER" : "DESCRIBE");
    } else if (!ibp_has(r->api->level, IBP_REASSIGNMENTS)) {
        refusal.error = KERR_UNSUPPORTED_VERSION;
        (void)errmsg_set(&refusal.em, E_OK,
                         "inter.broker.protocol.version %s has no moves; they need 2.4 or later",
                         ibp_name(r->api->level));
    }
    return refusal;
}

/* ---- alter ---- */

static int64_t alter_count(const struct wire_alter_partition_reassignments_request *req)
{
    int64_t count = 0;
    for (int32_t i = 0; i < req->topics_count; i++) {
        count += req->topics[i].partitions_count;
    }
    return count;
}

/* The request's shape with one answer a partition: results (one an entry, in order), or error
 * repeated when results is NULL. */
static bool alter_fill(struct api_request *r, const struct control_result *results, int16_t error,
                       struct wire_alter_partition_reassignments_response *resp)
{
    const struct wire_alter_partition_reassignments_request *req = r->body;
    int64_t at = 0;
    resp->responses = api_array(r, req->topics_count, sizeof *resp->responses);
    if (resp->responses == NULL) {
        return false;
    }
    for (int32_t i = 0; i < req->topics_count; i++) {
        const struct wire_alter_partition_reassignments_request_topics *topic = &req->topics[i];
        if (topic->partitions_count == 0) {
            continue;
        }
        struct wire_alter_partition_reassignments_response_responses *out =
            &resp->responses[resp->responses_count++];
        out->name = topic->name;
        out->partitions_count = topic->partitions_count;
        out->partitions = api_array(r, topic->partitions_count, sizeof *out->partitions);
        if (out->partitions == NULL) {
            return false;
        }
        for (int32_t j = 0; j < topic->partitions_count; j++, at++) {
            out->partitions[j].partition_index = topic->partitions[j].partition_index;
            out->partitions[j].error_code = results == NULL ? error : results[at].error;
            if (results != NULL) {
                out->partitions[j].error_message = slice_str(results[at].message);
                out->partitions[j].note = req->klamm_extensions == 1 ? results[at].note : 0;
            }
        }
    }
    return true;
}

static void alter_answer(struct api_request *r, const struct control_result *results, int16_t error,
                         const char *message)
{
    const struct wire_alter_partition_reassignments_request *req = r->body;
    struct wire_alter_partition_reassignments_response resp;
    wire_alter_partition_reassignments_response_init(&resp);
    resp.allow_replication_factor_change = req->allow_replication_factor_change;
    resp.error_code = error;
    resp.error_message = slice_str(message);
    if (error != KERR_NOT_CONTROLLER && !alter_fill(r, results, error, &resp)) {
        api_close(r);
        return;
    }
    api_respond(r, &resp);
}

/* What a selector found: results of one topic are adjacent, or make several entries of it. */
static bool selected_fill(struct api_request *r, const struct control_reply *reply,
                          struct wire_alter_partition_reassignments_response *resp)
{
    struct wire_alter_partition_reassignments_response_responses_partitions *partitions =
        api_array(r, reply->count, sizeof *partitions);
    resp->responses = api_array(r, reply->count, sizeof *resp->responses);
    if (partitions == NULL || resp->responses == NULL) {
        return false;
    }
    for (int32_t i = 0; i < reply->count; i++) {
        const struct control_result *result = &reply->results[i];
        if (i == 0 || !slice_equal(result->topic, reply->results[i - 1].topic)) {
            resp->responses[resp->responses_count].name = result->topic;
            resp->responses[resp->responses_count++].partitions = &partitions[i];
        }
        resp->responses[resp->responses_count - 1].partitions_count++;
        partitions[i].partition_index = result->partition;
        partitions[i].error_code = result->error;
        partitions[i].error_message = slice_str(result->message);
        partitions[i].note = result->note;
    }
    return true;
}

static bool is_selecting(const struct wire_alter_partition_reassignments_request *req)
{
    return req->action != MOVES_ACTION_ALTER && req->action != MOVES_ACTION_SUBMIT;
}

static void alter_done(struct api_request *r, const struct control_reply *reply)
{
    const struct wire_alter_partition_reassignments_request *req = r->body;
    const char *message = reply->message == NULL ? "" : reply->message;
    if (reply->error != KERR_NONE) {
        alter_answer(r, NULL, reply->error, message);
        return;
    }
    struct wire_alter_partition_reassignments_response resp;
    wire_alter_partition_reassignments_response_init(&resp);
    resp.allow_replication_factor_change = req->allow_replication_factor_change;
    resp.error_message = slice_str(message);
    resp.job = req->klamm_extensions == 1 ? reply->job : SLICE_NULL;
    CHECK(is_selecting(req) || reply->count == alter_count(req));
    bool is_filled = is_selecting(req) ? selected_fill(r, reply, &resp)
                                       : alter_fill(r, reply->results, KERR_NONE, &resp);
    if (!is_filled) {
        api_close(r);
        return;
    }
    api_respond(r, &resp);
}

/* What the queue of moves is to know of it; NULL when the memory is full. */
static const struct moves_call *
alter_call(struct controller_ask *call,
           const struct wire_alter_partition_reassignments_request *req)
{
    struct moves_call *moves = controller_ask_array(call, 1, sizeof *moves);
    if (moves == NULL) {
        return NULL;
    }
    *moves =
        (struct moves_call){.action = (enum moves_action)req->action,
                            .job = controller_ask_slice(call, req->job),
                            .brokers = controller_ask_ids(call, req->brokers, req->brokers_count),
                            .broker_count = req->brokers_count,
                            .rate = req->rate,
                            .priority = req->priority,
                            .is_one_at_a_time = req->one_at_a_time};
    return moves;
}

static void alter_flatten(struct controller_ask *call, const struct api_request *r,
                          const struct wire_alter_partition_reassignments_request *req)
{
    struct control_alter *alter = &call->request.alter;
    alter->submitted_by = controller_ask_slice(call, slice_str(AUTH_PRINCIPAL_ANONYMOUS));
    alter->client_id = controller_ask_slice(call, r->header.client_id);
    struct control_alter_entry *entries =
        controller_ask_array(call, alter_count(req) + req->topics_count, sizeof *entries);
    alter->entries = entries;
    alter->forbids_factor_change = !req->allow_replication_factor_change;
    alter->is_cancel_forced = req->force_cancel;
    alter->is_validate_only = req->validate_only;
    for (int32_t i = 0; i < req->topics_count; i++) {
        struct slice name = controller_ask_slice(call, req->topics[i].name);
        if (req->topics[i].partitions_count == 0 && is_selecting(req) && !call->failed) {
            entries[alter->count++] =
                (struct control_alter_entry){.topic = name, .partition = MOVES_WHOLE_TOPIC};
        }
        for (int32_t j = 0; !call->failed && j < req->topics[i].partitions_count; j++) {
            const struct wire_alter_partition_reassignments_request_topics_partitions *p =
                &req->topics[i].partitions[j];
            struct control_alter_entry *entry = &entries[alter->count++];
            entry->topic = name;
            entry->partition = MAX(p->partition_index, -1); /* never MOVES_WHOLE_TOPIC */
            entry->is_cancel = p->replicas_count < 0;
            entry->replica_count = MAX(p->replicas_count, 0);
            entry->replicas = controller_ask_ids(call, p->replicas, entry->replica_count);
        }
    }
}

void api_handle_alter_partition_reassignments(struct api_request *r, const void *body)
{
    struct refusal refusal = refusal_of(r, AUTH_OPERATION_ALTER);
    if (refusal.error != KERR_NONE) {
        alter_answer(r, NULL, refusal.error, refusal.em.text);
        return;
    }
    const struct wire_alter_partition_reassignments_request *req = body;
    if (req->action < 0 || req->action >= MOVES_ACTIONS) {
        alter_answer(r, NULL, KERR_INVALID_REQUEST, "there is no such action");
        return;
    }
    struct controller_ask *call = controller_ask_new(CONTROL_ALTER_REASSIGNMENTS);
    alter_flatten(call, r, req);
    call->request.alter.moves = alter_call(call, req);
    api_control_answer(r, call, alter_done);
}

/* ---- list ---- */

/* What is moving, in the controller's order; entries of one topic follow each other. */
static bool list_fill(struct api_request *r, const struct control_reply *reply,
                      struct wire_list_partition_reassignments_response *resp)
{
    struct wire_list_partition_reassignments_response_topics_partitions *partitions =
        api_array(r, reply->count, sizeof *partitions);
    resp->topics = api_array(r, reply->count, sizeof *resp->topics);
    if (partitions == NULL || resp->topics == NULL) {
        return false;
    }
    for (int32_t i = 0; i < reply->count; i++) {
        const struct control_moving *moving = &reply->moving[i];
        if (i == 0 || !slice_equal(moving->topic, reply->moving[i - 1].topic)) {
            resp->topics[resp->topics_count].name = moving->topic;
            resp->topics[resp->topics_count].partitions = &partitions[i];
            resp->topics_count++;
        }
        resp->topics[resp->topics_count - 1].partitions_count++;
        partitions[i].partition_index = moving->partition;
        partitions[i].replicas = moving->replicas.list;
        partitions[i].replicas_count = moving->replicas.count;
        partitions[i].adding_replicas = moving->adding.list;
        partitions[i].adding_replicas_count = moving->adding.count;
        partitions[i].removing_replicas = moving->removing.list;
        partitions[i].removing_replicas_count = moving->removing.count;
        partitions[i].details = moving->details;
    }
    return true;
}

static void list_done(struct api_request *r, const struct control_reply *reply)
{
    const struct wire_list_partition_reassignments_request *req = r->body;
    struct wire_list_partition_reassignments_response resp;
    wire_list_partition_reassignments_response_init(&resp);
    resp.error_code = reply->error;
    resp.error_message = slice_str(reply->message == NULL ? "" : reply->message);
    bool is_short = req->klamm_extensions == 1 && reply->report == NULL; /* out of memory */
    if (reply->error == KERR_NONE && (is_short || !list_fill(r, reply, &resp))) {
        api_close(r);
        return;
    }
    if (reply->report != NULL) {
        resp.jobs = reply->report->jobs; /* perhaps empty, but not null: this is klamm */
        resp.jobs_count = reply->report->job_count;
        resp.queued = reply->report->queued;
        resp.queued_count = reply->report->queued_count;
    }
    api_respond(r, &resp);
}

/* Refused: what was asked for is echoed with empty lists. */
static void list_refuse(struct api_request *r,
                        const struct wire_list_partition_reassignments_request *req,
                        const struct refusal *refusal)
{
    struct wire_list_partition_reassignments_response resp;
    wire_list_partition_reassignments_response_init(&resp);
    resp.error_code = refusal->error;
    resp.error_message = slice_str(refusal->em.text);
    resp.topics_count = MAX(req->topics_count, 0);
    resp.topics = api_array(r, resp.topics_count, sizeof *resp.topics);
    for (int32_t i = 0; resp.topics != NULL && i < resp.topics_count; i++) {
        struct wire_list_partition_reassignments_response_topics *out = &resp.topics[i];
        out->name = req->topics[i].name;
        out->partitions_count = req->topics[i].partition_indexes_count;
        out->partitions = api_array(r, out->partitions_count, sizeof *out->partitions);
        if (out->partitions == NULL) {
            resp.topics = NULL;
            break;
        }
        for (int32_t j = 0; j < out->partitions_count; j++) {
            out->partitions[j].partition_index = req->topics[i].partition_indexes[j];
        }
    }
    if (resp.topics == NULL) {
        api_close(r);
        return;
    }
    api_respond(r, &resp);
}

static void list_flatten(struct controller_ask *call,
                         const struct wire_list_partition_reassignments_request *req)
{
    struct control_list *list = &call->request.list;
    int64_t count = 0;
    list->wants_all = req->topics_count < 0;
    list->memory = req->klamm_extensions == 1 ? &call->arena : NULL;
    for (int32_t i = 0; i < req->topics_count; i++) {
        count += req->topics[i].partition_indexes_count;
    }
    struct control_tp *entries = controller_ask_array(call, count, sizeof *entries);
    list->entries = entries;
    for (int32_t i = 0; i < req->topics_count; i++) {
        struct slice name = controller_ask_slice(call, req->topics[i].name);
        for (int32_t j = 0; !call->failed && j < req->topics[i].partition_indexes_count; j++) {
            entries[list->count].topic = name;
            entries[list->count].partition = req->topics[i].partition_indexes[j];
            list->count++;
        }
    }
}

void api_handle_list_partition_reassignments(struct api_request *r, const void *body)
{
    struct refusal refusal = refusal_of(r, AUTH_OPERATION_DESCRIBE);
    if (refusal.error != KERR_NONE) {
        list_refuse(r, body, &refusal);
        return;
    }
    struct controller_ask *call = controller_ask_new(CONTROL_LIST_REASSIGNMENTS);
    list_flatten(call, body);
    api_control_answer(r, call, list_done);
}
