/*
 * ElectLeaders, versions 0-2 (protocol.md 5.5). Version 0 knows preferred elections only.
 */
#include "wire/elect_leaders.h"

#include "base/check.h"
#include "broker/api/control_answer.h"
#include "broker/api/handlers.h"

#define ELECTION_UNCLEAN 1

static void elect_answer(struct api_request *r, int16_t error, const struct control_result *results,
                         int32_t count)
{
    struct wire_elect_leaders_response resp;
    wire_elect_leaders_response_init(&resp);
    resp.error_code = error;
    struct wire_elect_leaders_response_replica_election_results_partition_result *partitions =
        api_array(r, count, sizeof *partitions);
    resp.replica_election_results = api_array(r, count, sizeof *resp.replica_election_results);
    if (partitions == NULL || resp.replica_election_results == NULL) {
        api_close(r);
        return;
    }
    for (int32_t i = 0; i < count; i++) {
        if (i == 0 || !slice_equal(results[i].topic, results[i - 1].topic)) {
            struct wire_elect_leaders_response_replica_election_results *topic =
                &resp.replica_election_results[resp.replica_election_results_count++];
            topic->topic = results[i].topic;
            topic->partition_result = &partitions[i];
        }
        resp.replica_election_results[resp.replica_election_results_count - 1]
            .partition_result_count++;
        partitions[i].partition_id = results[i].partition;
        partitions[i].error_code = results[i].error;
        partitions[i].error_message = slice_str(results[i].message);
    }
    api_respond(r, &resp);
}

static void elect_done(struct api_request *r, const struct control_reply *reply)
{
    elect_answer(r, reply->error, reply->results, reply->error == KERR_NONE ? reply->count : 0);
}

void api_handle_elect_leaders(struct api_request *r, const void *body)
{
    const struct wire_elect_leaders_request *req = body;
    int64_t count = 0;
    if (!api_is_allowed_on_cluster(r, AUTH_OPERATION_ALTER)) {
        elect_answer(r, KERR_CLUSTER_AUTHORIZATION_FAILED, NULL, 0);
        return;
    }
    struct controller_ask *call = controller_ask_new(CONTROL_ELECT_LEADERS);
    struct control_elect *elect = &call->request.elect;
    elect->is_unclean = r->version >= 1 && req->election_type == ELECTION_UNCLEAN;
    elect->wants_all = req->topic_partitions_count < 0;
    for (int32_t i = 0; i < req->topic_partitions_count; i++) {
        count += req->topic_partitions[i].partitions_count;
    }
    struct control_tp *entries = controller_ask_array(call, count, sizeof *entries);
    elect->entries = entries;
    for (int32_t i = 0; i < req->topic_partitions_count; i++) {
        struct slice name = controller_ask_slice(call, req->topic_partitions[i].topic);
        for (int32_t j = 0; !call->failed && j < req->topic_partitions[i].partitions_count; j++) {
            entries[elect->count].topic = name;
            entries[elect->count].partition = req->topic_partitions[i].partitions[j];
            elect->count++;
        }
    }
    api_control_answer(r, call, elect_done);
}
