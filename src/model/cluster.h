/*
 * The nouns of a cluster as the metastore stores them: brokers, topics, partition states. What their
 * JSON looks like is known to metastore/ alone (docs/spec/zookeeper-mode.md section 2).
 * Structs own their memory; a zeroed one is valid and empty; deinit leaves it zeroed.
 */
#pragma once

#include "base/uuid.h"
#include "model/assignment.h"

#define MODEL_NO_LEADER (-1)

enum model_protocol {
    MODEL_PLAINTEXT = 0, /* the protocol's security protocol ids */
    MODEL_SSL = 1,
    MODEL_SASL_PLAINTEXT = 2,
    MODEL_SASL_SSL = 3,
};

struct model_endpoint {
    char *listener; /* name, such as "PLAINTEXT" */
    enum model_protocol protocol;
    char *host; /* IPv6 without brackets */
    uint16_t port;
};

struct model_broker {
    int32_t id;
    int64_t epoch; /* czxid of its registration */
    struct model_endpoint *endpoints;
    int32_t endpoint_count;
    char *rack; /* NULL = none */
};

struct model_partition_state {
    int32_t leader; /* MODEL_NO_LEADER = none */
    int32_t leader_epoch;
    int32_t controller_epoch; /* of the controller that wrote it */
    int32_t partition_epoch;  /* version of the znode */
    bool is_recovering;       /* leader_recovery_state 1: after an unclean election */
    struct ids isr;
};

/* What `/brokers/topics/T` holds. */
struct model_topic {
    char *name;
    struct uuid id;                /* zero = none stored */
    struct assignment *partitions; /* index = partition */
    int32_t partition_count;
};

/* One entry of the legacy `/admin/reassign_partitions`. */
struct model_legacy_move {
    char *topic;
    int32_t partition;
    struct ids replicas;
};

void model_broker_deinit(struct model_broker *b);
void model_broker_copy(struct model_broker *to,
                       const struct model_broker *from); /* to is deinited first */
/* NULL when the broker has no such listener. */
const struct model_endpoint *model_broker_endpoint(const struct model_broker *b,
                                                   struct slice listener);
/* Copies its arguments. */
void model_broker_add_endpoint(struct model_broker *b, const struct model_endpoint *endpoint);

void model_partition_state_deinit(struct model_partition_state *s);
void model_partition_state_copy(struct model_partition_state *to,
                                const struct model_partition_state *from);

void model_topic_deinit(struct model_topic *t);
void model_topic_copy(struct model_topic *to, const struct model_topic *from);
/* Empties t and gives it a name and count empty assignments. */
void model_topic_reset(struct model_topic *t, struct slice name, int32_t partition_count);

void model_legacy_moves_free(struct model_legacy_move *moves, int32_t count);
