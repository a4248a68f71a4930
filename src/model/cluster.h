/*
 * The cluster's stored facts as nouns: brokers, topics, partition states. metastore/ encodes them as
 * Kafka's znodes (docs/spec/zookeeper-mode.md section 2), control/ decides about them, broker/ carries
 * them between the two. Plain data: every struct owns what it points to unless a field says otherwise.
 */
#pragma once

#include "base/uuid.h"
#include "model/assignment.h"

#define MODEL_LEADER_NONE    (-1) /* no leader */
#define MODEL_LEADER_DELETED (-2) /* UpdateMetadata only: the topic is being deleted */
#define MODEL_TOPIC_NAME_MAX 249  /* bytes */

/* Where a broker listens. security_protocol: 0 PLAINTEXT, 1 SSL, 2 SASL_PLAINTEXT, 3 SASL_SSL. */
struct model_endpoint {
    char *listener; /* "PLAINTEXT" */
    char *host;
    int32_t port;
    int16_t security_protocol;
};

/* A registration, /brokers/ids/N. */
struct model_broker {
    int32_t id;
    int64_t epoch; /* czxid of the znode; not part of its JSON */
    char *rack;    /* NULL = none */
    struct model_endpoint *endpoints;
    int32_t endpoint_count;
};

void model_broker_deinit(struct model_broker *b);
/* to must be initialised (zeroed); what it held is freed. */
void model_broker_copy(struct model_broker *to, const struct model_broker *from);
/* Same id, rack and endpoints in the same order; the epoch does not count. */
bool model_broker_equal(const struct model_broker *a, const struct model_broker *b);

enum model_recovery {
    MODEL_RECOVERED = 0,
    MODEL_RECOVERING = 1, /* after an unclean election */
};

/* /brokers/topics/T/partitions/P/state. */
struct model_partition_state {
    int32_t controller_epoch; /* of the controller that decided it */
    int32_t leader;           /* MODEL_LEADER_NONE = none */
    int32_t leader_epoch;
    struct ids isr;
    enum model_recovery recovery;
    bool
        has_outsiders; /* its writer knew that the leader or members of the ISR are not in the list of
                           replicas; about the record, not part of the state */
    int32_t version;   /* znode version = partition epoch; not part of the JSON */
};

void model_partition_state_deinit(struct model_partition_state *s);
/* to must be initialised (zeroed). */
void model_partition_state_copy(struct model_partition_state *to,
                                const struct model_partition_state *from);
/* Everything but has_outsiders and the version. */
bool model_partition_state_equal(const struct model_partition_state *a,
                                 const struct model_partition_state *b);

/* /brokers/topics/T. partitions is dense: index = partition number; a number that the znode leaves out
 * has an empty replica list. */
struct model_topic {
    char *name;
    struct uuid id;  /* zero = the znode has none */
    int32_t version; /* znode version; not part of the JSON */
    int32_t partition_count;
    struct assignment *partitions;
};

void model_topic_deinit(struct model_topic *t);

/* One key of /config/topics/T and the like. Borrowed. */
struct model_setting {
    struct slice key;
    struct slice value;
};

/* /latest_producer_id_block: ids [start, end] were given to broker. */
struct model_producer_block {
    int32_t broker;
    int64_t start;
    int64_t end;     /* inclusive */
    int32_t version; /* znode version; not part of the JSON */
};
#define MODEL_PRODUCER_BLOCK_SIZE 1000

/* 1 to 249 bytes of [a-zA-Z0-9._-], not "." or "..". */
bool model_topic_name_is_valid(struct slice name);
