/*
 * Pieces of answers: endpoints, partitions as clients see them, authorised operations.
 */
#include "broker/api/answers.h"

#include "base/check.h"
#include "base/error.h"

bool api_topic_is_internal(struct slice name)
{
    return slice_equal_str(name, "__consumer_offsets") ||
           slice_equal_str(name, "__transaction_state");
}

static bool has_node(const struct api_endpoint *list, int32_t count, int32_t id)
{
    for (int32_t i = 0; i < count; i++) {
        if (list[i].node_id == id) {
            return true;
        }
    }
    return false;
}

const struct metadata_endpoint *api_endpoint_of(const struct api_request *r,
                                                const struct metadata_broker *broker)
{
    return metadata_endpoint_find(broker, r->listener);
}

int32_t api_endpoints(const struct api_request *r, const int32_t *ids, int32_t count,
                      struct api_endpoint *ret, int32_t max)
{
    const struct metadata *m = r->api->parts.metadata;
    int32_t found = 0;
    for (int32_t i = 0; i < count && found < max; i++) {
        const struct metadata_broker *broker = ids[i] < 0 ? NULL : metadata_broker_find(m, ids[i]);
        const struct metadata_endpoint *at = broker == NULL ? NULL : api_endpoint_of(r, broker);
        if (at != NULL && !has_node(ret, found, ids[i])) {
            ret[found++] = (struct api_endpoint){
                .node_id = broker->id,
                .host = slice_str(at->host),
                .port = at->port,
                .rack = slice_str(broker->rack),
            };
        }
    }
    return found;
}

int api_not_hosted(const struct metadata *m, struct slice topic, int32_t partition,
                   struct api_leader *ret_leader)
{
    const struct metadata_topic *t = metadata_topic_find(m, topic);
    const struct metadata_partition *p = t == NULL ? NULL : metadata_partition_find(t, partition);
    if (p == NULL) {
        *ret_leader = (struct api_leader){.id = -1, .epoch = -1};
        return -E_NOT_FOUND;
    }
    *ret_leader = (struct api_leader){.id = p->leader, .epoch = p->leader_epoch};
    return -E_NOT_LEADER;
}

bool api_partition_view(struct api_request *r, const struct metadata_partition *p,
                        struct api_partition_view *ret_view)
{
    const struct metadata *m = r->api->parts.metadata;
    const struct metadata_broker *leader =
        p->leader < 0 ? NULL : metadata_broker_find(m, p->leader);
    bool is_reachable = leader != NULL && api_endpoint_of(r, leader) != NULL;
    /* Versions before 6 do not know the other code. */
    bool is_hidden = leader != NULL && !is_reachable && r->version >= 6;
    ret_view->error = is_reachable ? KERR_NONE
                      : is_hidden  ? KERR_LISTENER_NOT_FOUND
                                   : KERR_LEADER_NOT_AVAILABLE;
    ret_view->leader = is_reachable ? p->leader : -1;
    ret_view->offline_count = 0;
    ret_view->offline = api_array(r, p->replicas.count, sizeof(int32_t));
    if (ret_view->offline == NULL) {
        return false;
    }
    for (int32_t i = 0; i < p->replicas.count; i++) {
        int32_t id = p->replicas.list[i];
        if (metadata_broker_find(m, id) == NULL || ids_has(&p->offline, id)) {
            ret_view->offline[ret_view->offline_count++] = id;
        }
    }
    return true;
}

int32_t api_controller_id(const struct api_request *r)
{
    const struct metadata *m = r->api->parts.metadata;
    int32_t id = metadata_controller(m);
    return id >= 0 && metadata_broker_find(m, id) != NULL ? id : -1;
}

int32_t api_topic_operations(void)
{
    return 1 << AUTH_OPERATION_READ | 1 << AUTH_OPERATION_WRITE | 1 << AUTH_OPERATION_CREATE |
           1 << AUTH_OPERATION_DELETE | 1 << AUTH_OPERATION_ALTER | 1 << AUTH_OPERATION_DESCRIBE |
           1 << AUTH_OPERATION_DESCRIBE_CONFIGS | 1 << AUTH_OPERATION_ALTER_CONFIGS;
}

int32_t api_cluster_operations(const struct api_request *r)
{
    static const enum auth_operation operations[] = {
        AUTH_OPERATION_CREATE,           AUTH_OPERATION_ALTER,
        AUTH_OPERATION_DESCRIBE,         AUTH_OPERATION_CLUSTER_ACTION,
        AUTH_OPERATION_DESCRIBE_CONFIGS, AUTH_OPERATION_ALTER_CONFIGS,
        AUTH_OPERATION_IDEMPOTENT_WRITE,
    };
    int32_t mask = 0;
    for (size_t i = 0; i < ARRAY_LEN(operations); i++) {
        if (api_is_allowed_on_cluster(r, operations[i])) {
            mask |= 1 << operations[i];
        }
    }
    return mask;
}
