/*
 * Metadata, versions 0-13 (protocol.md 5.1): answered from the cache alone. A topic that is asked for
 * by name and does not exist is handed to auto_create when client and configuration allow it.
 */
#include "wire/metadata.h"

#include "base/check.h"
#include "broker/api/answers.h"
#include "broker/api/auto_create.h"
#include "broker/api/handlers.h"
#include "broker/config/settings.h"
#include "model/cluster.h"

static bool fill_brokers(struct api_request *r, struct wire_metadata_response *resp)
{
    const struct metadata *m = r->api->parts.metadata;
    int32_t count = metadata_broker_count(m);
    resp->brokers = api_array(r, count, sizeof *resp->brokers);
    if (resp->brokers == NULL) {
        return false;
    }
    resp->brokers_count = 0;
    for (int32_t i = 0; i < count; i++) {
        const struct metadata_broker *broker = metadata_broker_at(m, i);
        const struct metadata_endpoint *at = api_endpoint_of(r, broker);
        if (at != NULL) {
            resp->brokers[resp->brokers_count++] = (struct wire_metadata_response_brokers){
                .node_id = broker->id,
                .host = slice_str(at->host),
                .port = at->port,
                .rack = slice_str(broker->rack),
            };
        }
    }
    return true;
}

static bool fill_topic(struct api_request *r, const struct metadata_topic *topic,
                       struct wire_metadata_response_topics *out)
{
    out->name = slice_str(topic->name);
    out->topic_id = topic->id;
    out->is_internal = api_topic_is_internal(out->name);
    out->partitions = api_array(r, topic->partition_count, sizeof *out->partitions);
    if (out->partitions == NULL) {
        return false;
    }
    out->partitions_count = topic->partition_count;
    for (int32_t i = 0; i < topic->partition_count; i++) {
        const struct metadata_partition *p = &topic->partitions[i];
        struct api_partition_view view;
        if (!api_partition_view(r, p, &view)) {
            return false;
        }
        out->partitions[i] = (struct wire_metadata_response_topics_partitions){
            .error_code = view.error,
            .partition_index = p->index,
            .leader_id = view.leader,
            .leader_epoch = p->leader_epoch,
            .replica_nodes = p->replicas.list,
            .replica_nodes_count = p->replicas.count,
            .isr_nodes = p->isr.list,
            .isr_nodes_count = p->isr.count,
            .offline_replicas = view.offline,
            .offline_replicas_count = view.offline_count,
        };
    }
    return true;
}

static bool may_create(const struct api_request *r, const struct wire_metadata_request *req)
{
    bool is_asked = r->version < 4 || req->allow_auto_topic_creation;
    return is_asked && config_get_bool(settings_broker(r->api->parts.settings),
                                       CONFIG_BROKER_AUTO_CREATE_TOPICS);
}

/* One topic that was asked for, by name or, from v12 on, by id. */
static bool fill_asked(struct api_request *r, const struct wire_metadata_request *req,
                       const struct wire_metadata_request_topics *asked,
                       struct wire_metadata_response_topics *out)
{
    const struct metadata *m = r->api->parts.metadata;
    bool has_id = !uuid_is_zero(asked->topic_id);
    if (slice_is_null(asked->name) || (has_id && r->version < 12)) {
        const struct metadata_topic *by_id =
            has_id ? metadata_topic_find_id(m, asked->topic_id) : NULL;
        if (by_id != NULL && r->version >= 12) {
            return fill_topic(r, by_id, out);
        }
        out->topic_id = asked->topic_id;
        out->name = asked->name;
        out->error_code = has_id && r->version >= 12 ? KERR_UNKNOWN_TOPIC_ID : KERR_INVALID_REQUEST;
        return true;
    }
    const struct metadata_topic *topic = metadata_topic_find(m, asked->name);
    if (topic != NULL && api_is_allowed_on_topic(r, AUTH_OPERATION_DESCRIBE, asked->name)) {
        return fill_topic(r, topic, out);
    }
    out->name = asked->name;
    out->is_internal = api_topic_is_internal(asked->name);
    if (!api_is_allowed_on_topic(r, AUTH_OPERATION_DESCRIBE, asked->name)) {
        out->error_code = KERR_TOPIC_AUTHORIZATION_FAILED;
    } else if (!model_topic_name_is_valid(asked->name)) {
        out->error_code = KERR_INVALID_TOPIC_EXCEPTION;
    } else if (may_create(r, req)) {
        api_auto_create_add(r->api->auto_create, asked->name);
        out->error_code = KERR_LEADER_NOT_AVAILABLE;
    } else {
        out->error_code = KERR_UNKNOWN_TOPIC_OR_PARTITION;
    }
    return true;
}

/* Those the sender may know of. */
static bool fill_all(struct api_request *r, struct wire_metadata_response *resp)
{
    struct metadata *m = r->api->parts.metadata;
    for (const struct metadata_topic *topic = metadata_topic_next(m, NULL); topic != NULL;
         topic = metadata_topic_next(m, topic)) {
        struct wire_metadata_response_topics *out = &resp->topics[resp->topics_count];
        if (!api_is_allowed_on_topic(r, AUTH_OPERATION_DESCRIBE, slice_str(topic->name))) {
            continue;
        }
        wire_metadata_response_topics_init(out);
        resp->topics_count++;
        if (!fill_topic(r, topic, out)) {
            return false;
        }
    }
    return true;
}

static bool fill_each_asked(struct api_request *r, const struct wire_metadata_request *req,
                            struct wire_metadata_response *resp)
{
    resp->topics_count = req->topics_count;
    for (int32_t i = 0; i < req->topics_count; i++) {
        wire_metadata_response_topics_init(&resp->topics[i]);
        if (!fill_asked(r, req, &req->topics[i], &resp->topics[i])) {
            return false;
        }
    }
    api_auto_create_flush(r->api->auto_create);
    return true;
}

static bool fill_topics(struct api_request *r, const struct wire_metadata_request *req,
                        struct wire_metadata_response *resp)
{
    bool wants_all = req->topics_count < 0 || (r->version == 0 && req->topics_count == 0);
    int32_t count = wants_all ? metadata_topic_count(r->api->parts.metadata) : req->topics_count;
    resp->topics = api_array(r, count, sizeof *resp->topics);
    if (resp->topics == NULL) {
        return false;
    }
    if (!(wants_all ? fill_all(r, resp) : fill_each_asked(r, req, resp))) {
        return false;
    }
    for (int32_t i = 0; i < resp->topics_count; i++) {
        if (req->include_topic_authorized_operations && resp->topics[i].error_code == KERR_NONE) {
            resp->topics[i].topic_authorized_operations = api_topic_operations();
        }
    }
    return true;
}

void api_handle_metadata(struct api_request *r, const void *body)
{
    const struct wire_metadata_request *req = body;
    struct wire_metadata_response resp;
    wire_metadata_response_init(&resp);
    resp.cluster_id = slice_str(r->api->parts.cluster_id(r->api->parts.arg));
    resp.controller_id = api_controller_id(r);
    if (req->include_cluster_authorized_operations) {
        resp.cluster_authorized_operations = api_cluster_operations(r);
    }
    if (!fill_brokers(r, &resp) || !fill_topics(r, req, &resp)) {
        api_close(r);
        return;
    }
    api_respond(r, &resp);
}
