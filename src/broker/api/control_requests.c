/*
 * What the controller pushes: LeaderAndIsr, StopReplica, UpdateMetadata (docs/spec/zookeeper-mode.md
 * sections 7 to 9). Only brokers may send them (CLUSTER_ACTION), stale ones are fenced by epochs.
 */
#include "broker/api/handlers.h"
#include "broker/api/request.h"
#include "broker/config/settings.h"
#include "broker/metadata/metadata.h"
#include "broker/replicas/replicas.h"
#include "model/cluster.h"
#include "wire/leader_and_isr.h"
#include "wire/stop_replica.h"
#include "wire/update_metadata.h"

/* New topics come with their settings, so that these hold from the first record on. */
static void take_settings(struct api_request *r, const struct wire_leader_and_isr_request *req)
{
    const struct api_parts *parts = &r->api->parts;
    if (replicas_check_controller(parts->replicas, req->controller_epoch, req->broker_epoch) != 0) {
        return; /* it is answered all the same */
    }
    for (int32_t i = 0; i < req->topic_states_count; i++) {
        const struct wire_leader_and_isr_request_topic_states *topic = &req->topic_states[i];
        struct model_setting *list =
            topic->settings_count < 0 ? NULL : api_array(r, topic->settings_count, sizeof *list);
        if (list == NULL || !model_topic_name_is_valid(topic->topic_name)) {
            continue;
        }
        for (int32_t k = 0; k < topic->settings_count; k++) {
            list[k] = (struct model_setting){.key = topic->settings[k].key,
                                             .value = topic->settings[k].value};
        }
        settings_topic_created(parts->settings, topic->topic_name, list, topic->settings_count);
    }
}

void api_handle_leader_and_isr(struct api_request *r, const void *body)
{
    struct wire_leader_and_isr_response resp;
    wire_leader_and_isr_response_init(&resp);
    int err = 0;
    if (api_is_allowed_on_cluster(r, AUTH_OPERATION_CLUSTER_ACTION)) {
        take_settings(r, body);
        err = replicas_leader_and_isr(r->api->parts.replicas, body, r->version, &r->arena, &resp);
    } else {
        resp.error_code = KERR_CLUSTER_AUTHORIZATION_FAILED;
    }
    if (err < 0) {
        api_close(r);
    } else {
        api_respond(r, &resp);
    }
}

void api_handle_stop_replica(struct api_request *r, const void *body)
{
    struct wire_stop_replica_response resp;
    wire_stop_replica_response_init(&resp);
    int err = 0;
    if (api_is_allowed_on_cluster(r, AUTH_OPERATION_CLUSTER_ACTION)) {
        err = replicas_stop_replica(r->api->parts.replicas, body, r->version, &r->arena, &resp);
    } else {
        resp.error_code = KERR_CLUSTER_AUTHORIZATION_FAILED;
    }
    if (err < 0) {
        api_close(r);
    } else {
        api_respond(r, &resp);
    }
}

void api_handle_update_metadata(struct api_request *r, const void *body)
{
    const struct wire_update_metadata_request *req = body;
    const struct api_parts *parts = &r->api->parts;
    struct wire_update_metadata_response resp;
    wire_update_metadata_response_init(&resp);
    if (!api_is_allowed_on_cluster(r, AUTH_OPERATION_CLUSTER_ACTION)) {
        resp.error_code = KERR_CLUSTER_AUTHORIZATION_FAILED;
        api_respond(r, &resp);
        return;
    }
    int err = replicas_check_controller(parts->replicas, req->controller_epoch, req->broker_epoch);
    resp.error_code = api_error(API_ERROR_CONTROL, err);
    if (err == 0) {
        replicas_take_limits(parts->replicas, req);
        metadata_update(parts->metadata, req);
        parts->metadata_changed(parts->arg);
    }
    api_respond(r, &resp);
}
