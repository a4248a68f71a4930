/*
 * The metadata cache: what the controller told this broker about the cluster with UpdateMetadata, and
 * nothing else. Metadata answers, the controller's id, liveness for ISR growth and the map from topic
 * id to name come from here. Spec: docs/spec/zookeeper-mode.md section 9.
 *
 * Invariants: every topic has at least one partition; partitions are sorted by index; an id maps to
 * one topic. Pointers returned are borrowed until the next metadata_update. One home shard.
 */
#pragma once

#include "base/map.h"
#include "base/slice.h"
#include "base/uuid.h"
#include "model/ids.h"

struct metadata;
struct wire_update_metadata_request;

/* Where one listener of a broker is reached. */
struct metadata_endpoint {
    char *listener;
    char *host;
    uint16_t port;
};

struct metadata_broker {
    int32_t id;
    const char *host; /* of the cache's listener: one of endpoints */
    uint16_t port;
    char *rack; /* NULL = none */
    struct metadata_endpoint *endpoints;
    int32_t endpoint_count;
};

struct metadata_partition {
    int32_t index;
    int32_t leader; /* -1 = none */
    int32_t leader_epoch;
    int32_t partition_epoch;
    struct ids replicas;
    struct ids isr;
    struct ids offline; /* replicas on failed log directories; those on dead brokers are not here */
};

struct metadata_topic {
    char *name;
    struct uuid id; /* zero = none */
    struct metadata_partition *partitions;
    int32_t partition_count;
    /* Private. */
    int32_t partition_cap;
    UT_hash_handle hh;    /* by name */
    UT_hash_handle hh_id; /* by id, unless zero */
};

/* listener: the one by which brokers talk to each other; who does not have it does not count as a
 * broker. Borrowed, must outlive the cache. */
struct metadata *metadata_new(const char *listener);
void metadata_free(struct metadata *m);
/* Takes a request in whose epochs have been checked. Entries that break its form (a negative
 * partition, no name) are skipped. */
void metadata_update(struct metadata *m, const struct wire_update_metadata_request *req);
/* At least one update has arrived. */
bool metadata_is_known(const struct metadata *m);

/* The controller's broker id; -1 while unknown. */
int32_t metadata_controller(const struct metadata *m);
int32_t metadata_broker_count(const struct metadata *m);
/* In order of id; index < count. */
const struct metadata_broker *metadata_broker_at(const struct metadata *m, int32_t index);
/* NULL when it is not live. */
const struct metadata_broker *metadata_broker_find(const struct metadata *m, int32_t id);

/* NULL when the broker does not have that listener. */
const struct metadata_endpoint *metadata_endpoint_find(const struct metadata_broker *broker,
                                                       const char *listener);

int32_t metadata_topic_count(const struct metadata *m);
const struct metadata_topic *metadata_topic_find(const struct metadata *m, struct slice name);
const struct metadata_topic *metadata_topic_find_id(const struct metadata *m, struct uuid id);
/* All topics in order of name: start with NULL; NULL ends. */
const struct metadata_topic *metadata_topic_next(struct metadata *m,
                                                 const struct metadata_topic *topic);
/* NULL when there is no such partition. */
const struct metadata_partition *metadata_partition_find(const struct metadata_topic *topic,
                                                         int32_t index);
