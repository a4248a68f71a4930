/*
 * DeleteTopics, versions 1-6, and CreatePartitions, versions 0-3 (protocol.md 5.4): the controller
 * decides; a topic that the sender may not touch is answered here and not passed on.
 */
#include "wire/delete_topics.h"

#include "base/check.h"
#include "broker/api/control_answer.h"
#include "broker/api/handlers.h"
#include "broker/config/settings.h"
#include "broker/metadata/metadata.h"
#include "wire/create_partitions.h"

/* ---- DeleteTopics ---- */

struct deletion {
    struct wire_delete_topics_response resp; /* one row a topic asked for, in order */
    int32_t *passed_on;                      /* row of each topic given to the controller */
    int32_t passed_count;
};

/* The name by which permission is judged; null when an id is unknown. */
static struct slice name_of(const struct api_request *r, struct slice name, struct uuid id)
{
    if (!slice_is_null(name)) {
        return name;
    }
    const struct metadata_topic *topic = metadata_topic_find_id(r->api->parts.metadata, id);
    return topic == NULL ? SLICE_NULL : slice_str(topic->name);
}

static int16_t delete_refusal(const struct api_request *r,
                              const struct wire_delete_topics_response_responses *row)
{
    bool has_id = !uuid_is_zero(row->topic_id);
    if (!config_get_bool(settings_broker(r->api->parts.settings), CONFIG_BROKER_DELETE_TOPICS)) {
        return r->version < 3 ? KERR_INVALID_REQUEST : KERR_TOPIC_DELETION_DISABLED;
    }
    if (slice_is_null(row->name) == !has_id) {
        return KERR_INVALID_REQUEST;
    }
    struct slice name = name_of(r, row->name, row->topic_id);
    if (!slice_is_null(name) && !api_is_allowed_on_topic(r, AUTH_OPERATION_DELETE, name)) {
        return KERR_TOPIC_AUTHORIZATION_FAILED;
    }
    return KERR_NONE;
}

static void delete_done(struct api_request *r, const struct control_reply *reply)
{
    struct deletion *d = r->state;
    for (int32_t i = 0; i < d->passed_count; i++) {
        struct wire_delete_topics_response_responses *row = &d->resp.responses[d->passed_on[i]];
        if (reply->error != KERR_NONE) {
            row->error_code = reply->error;
            row->error_message = slice_str(reply->message);
            continue;
        }
        CHECK(i < reply->count);
        row->error_code = reply->results[i].error;
        row->error_message = slice_str(reply->results[i].message);
        if (slice_is_null(row->name)) {
            row->name = reply->results[i].topic;
        }
        if (uuid_is_zero(row->topic_id)) {
            row->topic_id = reply->results[i].topic_id;
        }
    }
    api_respond(r, &d->resp);
}

static bool deletion_fill(struct api_request *r, const struct wire_delete_topics_request *req,
                          struct deletion *d)
{
    int32_t count = r->version >= 6 ? req->topics_count : req->topic_names_count;
    wire_delete_topics_response_init(&d->resp);
    d->resp.responses = api_array(r, count, sizeof *d->resp.responses);
    d->passed_on = api_array(r, count, sizeof *d->passed_on);
    if (d->resp.responses == NULL || d->passed_on == NULL) {
        return false;
    }
    d->resp.responses_count = count;
    for (int32_t i = 0; i < count; i++) {
        struct wire_delete_topics_response_responses *row = &d->resp.responses[i];
        row->name = r->version >= 6 ? req->topics[i].name : req->topic_names[i];
        row->topic_id = r->version >= 6 ? req->topics[i].topic_id : UUID_ZERO;
        row->error_code = delete_refusal(r, row);
        if (row->error_code == KERR_NONE) {
            d->passed_on[d->passed_count++] = i;
        }
    }
    return true;
}

void api_handle_delete_topics(struct api_request *r, const void *body)
{
    const struct wire_delete_topics_request *req = body;
    struct deletion *d = arena_alloc(&r->arena, sizeof *d);
    if (d == NULL || !deletion_fill(r, req, d)) {
        api_close(r);
        return;
    }
    r->state = d;
    struct controller_ask *call = controller_ask_new(CONTROL_DELETE_TOPICS);
    struct control_delete_topics *delete_topics = &call->request.delete_topics;
    struct slice *names = controller_ask_array(call, d->passed_count, sizeof *names);
    struct uuid *ids = controller_ask_array(call, d->passed_count, sizeof *ids);
    for (int32_t i = 0; !call->failed && i < d->passed_count; i++) {
        names[i] = controller_ask_slice(call, d->resp.responses[d->passed_on[i]].name);
        ids[i] = d->resp.responses[d->passed_on[i]].topic_id;
    }
    delete_topics->names = names;
    delete_topics->ids = ids;
    delete_topics->count = d->passed_count;
    delete_topics->timeout_ms = req->timeout_ms;
    api_control_answer(r, call, delete_done);
}

/* ---- CreatePartitions ---- */

struct growth {
    struct wire_create_partitions_response resp;
    int32_t *passed_on;
    int32_t passed_count;
};

static void grow_done(struct api_request *r, const struct control_reply *reply)
{
    struct growth *g = r->state;
    for (int32_t i = 0; i < g->passed_count; i++) {
        struct wire_create_partitions_response_results *row = &g->resp.results[g->passed_on[i]];
        bool is_refused = reply->error != KERR_NONE;
        CHECK(is_refused || i < reply->count);
        row->error_code = is_refused ? reply->error : reply->results[i].error;
        row->error_message = slice_str(is_refused ? reply->message : reply->results[i].message);
    }
    api_respond(r, &g->resp);
}

static void grow_topic_fill(struct controller_ask *call,
                            const struct wire_create_partitions_request_topics *topic,
                            struct control_grow_topic *out)
{
    out->name = controller_ask_slice(call, topic->name);
    out->partition_count = topic->count;
    out->assignment_count = MAX(topic->assignments_count, 0);
    struct control_new_partition *assignments =
        controller_ask_array(call, out->assignment_count, sizeof *assignments);
    out->assignments = assignments;
    for (int32_t i = 0; !call->failed && i < out->assignment_count; i++) {
        assignments[i].replica_count = topic->assignments[i].broker_ids_count;
        assignments[i].replicas = controller_ask_ids(call, topic->assignments[i].broker_ids,
                                                     topic->assignments[i].broker_ids_count);
    }
}

void api_handle_create_partitions(struct api_request *r, const void *body)
{
    const struct wire_create_partitions_request *req = body;
    struct growth *g = arena_alloc(&r->arena, sizeof *g);
    if (g == NULL) {
        api_close(r);
        return;
    }
    r->state = g;
    wire_create_partitions_response_init(&g->resp);
    g->resp.results = api_array(r, req->topics_count, sizeof *g->resp.results);
    g->passed_on = api_array(r, req->topics_count, sizeof *g->passed_on);
    if (g->resp.results == NULL || g->passed_on == NULL) {
        api_close(r);
        return;
    }
    g->resp.results_count = req->topics_count;
    struct controller_ask *call = controller_ask_new(CONTROL_CREATE_PARTITIONS);
    struct control_create_partitions *grow = &call->request.create_partitions;
    struct control_grow_topic *topics =
        controller_ask_array(call, req->topics_count, sizeof *topics);
    for (int32_t i = 0; !call->failed && i < req->topics_count; i++) {
        g->resp.results[i].name = req->topics[i].name;
        if (!api_is_allowed_on_topic(r, AUTH_OPERATION_ALTER, req->topics[i].name)) {
            g->resp.results[i].error_code = KERR_TOPIC_AUTHORIZATION_FAILED;
            continue;
        }
        grow_topic_fill(call, &req->topics[i], &topics[g->passed_count]);
        g->passed_on[g->passed_count++] = i;
    }
    grow->topics = topics;
    grow->count = g->passed_count;
    grow->is_validate_only = req->validate_only;
    grow->timeout_ms = req->timeout_ms;
    api_control_answer(r, call, grow_done);
}
