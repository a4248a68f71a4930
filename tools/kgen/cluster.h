/*
 * Who leads the partitions of one topic: asked by Metadata, kept with connections to the leaders.
 * Everything runs on the env's thread.
 */
#pragma once

#include "net/net.h"

struct cluster_broker {
    int32_t id;
    char *host;
    uint16_t port;
    struct net_peer **peers; /* one for each connection; made at the first use */
};

struct cluster {
    struct env *env;
    const char *topic;   /* borrowed */
    int32_t connections; /* to each broker */
    struct net_peer *bootstrap;
    struct cluster_broker *brokers;
    int32_t broker_count;
    int32_t *leaders; /* index in brokers by partition; -1 = none */
    int32_t partition_count;
    struct env_timer retry;
    int64_t deadline_ms; /* of the present search */
    void (*done)(void *arg, int err, const char *why);
    void *arg;
    bool is_asking;
};

void cluster_init(struct cluster *c, struct env *env, const char *host, uint16_t port);
void cluster_deinit(struct cluster *c);
/* Asks until every partition has a leader or timeout_ms is over; then calls done, with a sentence when
 * err is not 0. One search at a time: further calls while it runs do nothing. */
void cluster_find(struct cluster *c, int64_t timeout_ms,
                  void (*done)(void *arg, int err, const char *why), void *arg);
/* The connection to the partition's leader; NULL when it has none. */
struct net_peer *cluster_peer(struct cluster *c, int32_t partition, int32_t connection);
