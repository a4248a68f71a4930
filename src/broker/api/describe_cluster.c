/*
 * DescribeCluster, versions 0-2, and DescribeTopicPartitions, version 0 (protocol.md 5.5): views of the
 * metadata cache for tools.
 */
#include "wire/describe_cluster.h"

#include "base/check.h"
#include "broker/api/answers.h"
#include "broker/api/handlers.h"
#include "wire/describe_topic_partitions.h"

#include <stdlib.h>

#define ENDPOINT_TYPE_BROKERS 1
#define PARTITIONS_MAX        2000 /* of one DescribeTopicPartitions answer */

void api_handle_describe_cluster(struct api_request *r, const void *body)
{
    const struct wire_describe_cluster_request *req = body;
    const struct metadata *m = r->api->parts.metadata;
    struct wire_describe_cluster_response resp;
    wire_describe_cluster_response_init(&resp);
    if (req->endpoint_type != ENDPOINT_TYPE_BROKERS) {
        resp.error_code = KERR_MISMATCHED_ENDPOINT_TYPE;
        resp.error_message = slice_str("this listener serves brokers");
        api_respond(r, &resp);
        return;
    }
    resp.cluster_id = slice_str(r->api->parts.cluster_id(r->api->parts.arg));
    resp.controller_id = api_controller_id(r);
    int32_t count = metadata_broker_count(m);
    resp.brokers = api_array(r, count, sizeof *resp.brokers);
    if (resp.brokers == NULL) {
        api_close(r);
        return;
    }
    resp.brokers_count = 0;
    for (int32_t i = 0; i < count; i++) {
        const struct metadata_broker *broker = metadata_broker_at(m, i);
        const struct metadata_endpoint *at = api_endpoint_of(r, broker);
        if (at != NULL) {
            resp.brokers[resp.brokers_count++] = (struct wire_describe_cluster_response_brokers){
                .broker_id = broker->id,
                .host = slice_str(at->host),
                .port = at->port,
                .rack = slice_str(broker->rack),
            };
        }
    }
    if (req->include_cluster_authorized_operations) {
        resp.cluster_authorized_operations = api_cluster_operations(r);
    }
    api_respond(r, &resp);
}

/* ---- DescribeTopicPartitions ---- */

/* The answer while it is filled. */
struct pages {
    struct api_request *r;
    struct wire_describe_topic_partitions_response *resp;
    int32_t left; /* partitions that still fit */
    struct slice cursor_topic;
    int32_t cursor_partition;
};

static int name_compare(const void *a, const void *b)
{
    const struct slice *x = a;
    const struct slice *y = b;
    return slice_compare(*x, *y);
}

/* The topics asked for, in order of name, or all. */
static bool names_collect(struct api_request *r,
                          const struct wire_describe_topic_partitions_request *req,
                          struct slice **ret_names, int32_t *ret_count)
{
    struct metadata *m = r->api->parts.metadata;
    int32_t count = req->topics_count == 0 ? metadata_topic_count(m) : req->topics_count;
    struct slice *names = api_array(r, count, sizeof *names);
    const struct metadata_topic *topic = NULL;
    if (names == NULL) {
        return false;
    }
    for (int32_t i = 0; i < count; i++) {
        if (req->topics_count == 0) {
            topic = metadata_topic_next(m, topic);
            names[i] = slice_str(topic->name);
        } else {
            names[i] = req->topics[i].name;
        }
    }
    qsort(names, (size_t)count, sizeof *names, name_compare);
    *ret_names = names;
    *ret_count = count;
    return true;
}

static bool page_partition(struct pages *pages, const struct metadata_partition *p,
                           struct wire_describe_topic_partitions_response_topics_partitions *out)
{
    struct api_partition_view view;
    if (!api_partition_view(pages->r, p, &view)) {
        return false;
    }
    wire_describe_topic_partitions_response_topics_partitions_init(out);
    out->error_code = view.error;
    out->partition_index = p->index;
    out->leader_id = view.leader;
    out->leader_epoch = p->leader_epoch;
    out->replica_nodes = p->replicas.list;
    out->replica_nodes_count = p->replicas.count;
    out->isr_nodes = p->isr.list;
    out->isr_nodes_count = p->isr.count;
    out->eligible_leader_replicas_count = -1;
    out->last_known_elr_count = -1;
    out->offline_replicas = view.offline;
    out->offline_replicas_count = view.offline_count;
    return true;
}

static bool set_cursor(struct pages *pages, struct slice name, int32_t partition)
{
    pages->resp->next_cursor = api_array(pages->r, 1, sizeof *pages->resp->next_cursor);
    if (pages->resp->next_cursor == NULL) {
        return false;
    }
    pages->resp->next_cursor->topic_name = name;
    pages->resp->next_cursor->partition_index = partition;
    return true;
}

static bool page_topic(struct pages *pages, struct slice name)
{
    struct wire_describe_topic_partitions_response_topics *out =
        &pages->resp->topics[pages->resp->topics_count++];
    const struct metadata_topic *topic = metadata_topic_find(pages->r->api->parts.metadata, name);
    wire_describe_topic_partitions_response_topics_init(out);
    out->name = name;
    out->is_internal = api_topic_is_internal(name);
    if (!api_is_allowed_on_topic(pages->r, AUTH_OPERATION_DESCRIBE, name)) {
        out->error_code = KERR_TOPIC_AUTHORIZATION_FAILED;
        return true;
    }
    if (topic == NULL) {
        out->error_code = KERR_UNKNOWN_TOPIC_OR_PARTITION;
        return true;
    }
    out->topic_id = topic->id;
    out->topic_authorized_operations = api_topic_operations();
    out->partitions =
        api_array(pages->r, MIN(topic->partition_count, pages->left), sizeof *out->partitions);
    if (out->partitions == NULL) {
        return false;
    }
    bool is_cursor = slice_equal(name, pages->cursor_topic);
    for (int32_t i = 0; i < topic->partition_count; i++) {
        const struct metadata_partition *p = &topic->partitions[i];
        if (is_cursor && p->index < pages->cursor_partition) {
            continue;
        }
        if (pages->left == 0) {
            return set_cursor(pages, name, p->index);
        }
        if (!page_partition(pages, p, &out->partitions[out->partitions_count])) {
            return false;
        }
        out->partitions_count++;
        pages->left--;
    }
    return true;
}

void api_handle_describe_topic_partitions(struct api_request *r, const void *body)
{
    const struct wire_describe_topic_partitions_request *req = body;
    struct wire_describe_topic_partitions_response resp;
    struct slice *names;
    int32_t count;
    wire_describe_topic_partitions_response_init(&resp);
    struct pages pages = {
        .r = r,
        .resp = &resp,
        .left = MAX(1, MIN(req->response_partition_limit, PARTITIONS_MAX)),
    };
    if (req->cursor != NULL) {
        pages.cursor_topic = req->cursor->topic_name;
        pages.cursor_partition = req->cursor->partition_index;
    }
    if (!names_collect(r, req, &names, &count)) {
        api_close(r);
        return;
    }
    resp.topics = api_array(r, count, sizeof *resp.topics);
    bool is_ok = resp.topics != NULL;
    for (int32_t i = 0; is_ok && i < count && resp.next_cursor == NULL; i++) {
        bool is_before = req->cursor != NULL && slice_compare(names[i], pages.cursor_topic) < 0;
        if (is_before) {
            continue;
        }
        is_ok = pages.left > 0 ? page_topic(&pages, names[i]) : set_cursor(&pages, names[i], 0);
    }
    if (is_ok) {
        api_respond(r, &resp);
    } else {
        api_close(r);
    }
}
