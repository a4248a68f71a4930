/*
 * InitProducerId, versions 0-5, and FindCoordinator, versions 0-6 (protocol.md 5.2, 5.3). Producer
 * ids for idempotence are given by every broker. There are no group or transaction coordinators yet:
 * clients that look for one are told to try again (15), which they survive.
 */
#include "wire/find_coordinator.h"

#include "broker/api/handlers.h"
#include "broker/api/producer_ids.h"
#include "broker/api/request.h"
#include "wire/init_producer_id.h"

#define KEY_TYPE_MAX 1 /* 0 group, 1 transactional id */

static const char no_coordinator[] = "this broker coordinates no groups and no transactions";

static void answer_producer_id(struct api_request *r, int16_t error, int64_t producer_id)
{
    struct wire_init_producer_id_response resp;
    wire_init_producer_id_response_init(&resp);
    resp.error_code = error;
    resp.producer_id = producer_id;
    resp.producer_epoch = error == KERR_NONE ? 0 : -1;
    api_respond(r, &resp);
}

static void producer_id_taken(void *arg, int err, int64_t producer_id)
{
    answer_producer_id(arg, err == 0 ? KERR_NONE : KERR_COORDINATOR_LOAD_IN_PROGRESS, producer_id);
}

void api_handle_init_producer_id(struct api_request *r, const void *body)
{
    const struct wire_init_producer_id_request *req = body;
    if (!slice_is_null(req->transactional_id)) {
        answer_producer_id(r,
                           req->transactional_id.len == 0 ? KERR_INVALID_REQUEST
                                                          : KERR_COORDINATOR_NOT_AVAILABLE,
                           -1);
        return;
    }
    api_park(r, NULL);
    api_producer_ids_take(r->api->producer_ids, producer_id_taken, r);
}

/* v4 and later: one row a key. */
static bool fill_coordinators(struct api_request *r,
                              const struct wire_find_coordinator_request *req, int16_t error,
                              struct wire_find_coordinator_response *resp)
{
    resp->coordinators = api_array(r, req->coordinator_keys_count, sizeof *resp->coordinators);
    if (resp->coordinators == NULL) {
        return false;
    }
    resp->coordinators_count = req->coordinator_keys_count;
    for (int32_t i = 0; i < req->coordinator_keys_count; i++) {
        resp->coordinators[i] = (struct wire_find_coordinator_response_coordinators){
            .key = req->coordinator_keys[i],
            .node_id = -1,
            .port = -1,
            .error_code = error,
            .error_message = slice_str(no_coordinator),
        };
    }
    return true;
}

void api_handle_find_coordinator(struct api_request *r, const void *body)
{
    const struct wire_find_coordinator_request *req = body;
    bool is_known = req->key_type >= 0 && req->key_type <= KEY_TYPE_MAX;
    int16_t error = is_known ? KERR_COORDINATOR_NOT_AVAILABLE : KERR_INVALID_REQUEST;
    struct wire_find_coordinator_response resp;
    wire_find_coordinator_response_init(&resp);
    resp.error_code = error;
    resp.error_message = slice_str(no_coordinator);
    resp.node_id = -1;
    resp.port = -1;
    if (r->version >= 4 && !fill_coordinators(r, req, error, &resp)) {
        api_close(r);
        return;
    }
    api_respond(r, &resp);
}
