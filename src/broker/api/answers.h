/*
 * Pieces that several handlers put into their answers.
 */
#pragma once

#include "broker/api/request.h"
#include "broker/metadata/metadata.h"

/* "__consumer_offsets" and "__transaction_state". */
bool api_topic_is_internal(struct slice name);

/* A place among the node_endpoints of Produce and Fetch answers. */
struct api_endpoint {
    int32_t node_id;
    struct slice host;
    int32_t port;
    struct slice rack;
};

/* Where who sent r reaches the broker: at the listener that r came by. NULL: it does not have that. */
const struct metadata_endpoint *api_endpoint_of(const struct api_request *r,
                                                const struct metadata_broker *broker);
/* The distinct brokers among ids (negative ones are skipped) that can be reached: at most max are
 * written to ret. Returns how many. The text is borrowed from the metadata cache. */
int32_t api_endpoints(const struct api_request *r, const int32_t *ids, int32_t count,
                      struct api_endpoint *ret, int32_t max);

struct api_leader {
    int32_t id; /* -1 = none, or unknown */
    int32_t epoch;
};

/* What it means to a client that a partition is not hosted here (docs/spec/reassignment.md 10.2):
 * -E_NOT_LEADER with its leader when the cluster has it elsewhere, so that the client looks again;
 * -E_NOT_FOUND when nobody has it. */
int api_not_hosted(const struct metadata *m, struct slice topic, int32_t partition,
                   struct api_leader *ret_leader);

/* How clients see one partition: who leads, with the error to say, and which replicas are offline. */
struct api_partition_view {
    int16_t error; /* 0, LEADER_NOT_AVAILABLE, or LISTENER_NOT_FOUND: it cannot be reached */
    int32_t leader;
    int32_t *offline; /* from the arena */
    int32_t offline_count;
};
/* False past the arena's bound. */
bool api_partition_view(struct api_request *r, const struct metadata_partition *p,
                        struct api_partition_view *ret_view) MUST_CHECK;

/* The controller, when it is a live broker; else -1. */
int32_t api_controller_id(const struct api_request *r);
/* Bit n = ACL operation n. */
int32_t api_topic_operations(void);
int32_t api_cluster_operations(const struct api_request *r);
