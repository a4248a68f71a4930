/*
 * The server of a broker: the listener, the table of APIs and their versions, and one handler file
 * per API. Requests are decoded here, answered in place or parked; E_ codes become protocol codes
 * (errors.h) here and nowhere else. Spec: docs/spec/protocol.md.
 *
 * Everything runs on parts->env. The parts are borrowed and must outlive the api; what calls back into
 * requests (replicas, controller, channel) is closed before api_free.
 */
#pragma once

#include "base/error.h"
#include "base/uuid.h"
#include "env/env.h"

struct api;
struct buf;
struct auth_acls;
struct broker_producer_blocks;
struct controller_channel;
struct controller_link;
struct metadata;
struct replicas;
struct settings;

/* A place to listen. Answers name brokers by where they have the listener that was asked. */
struct api_listener {
    const char *name;
    const char *host; /* "" = every address */
    uint16_t port;    /* 0 = any free one */
};

/* The rest of the broker, as handlers see it. */
struct api_parts {
    struct env *env;
    int32_t broker_id;
    const struct api_listener *listeners; /* used by api_new alone; the names as long as the rest */
    int32_t listener_count;
    struct settings *settings;
    struct metadata *metadata;
    struct replicas *replicas;
    struct controller_link *controller;
    struct controller_channel *channel; /* to the active controller */
    /* Where blocks of producer ids come from below 3.0-IV0; NULL = from the controller. */
    struct broker_producer_blocks *blocks;
    const struct auth_acls *acls; /* NULL = everybody may do everything */
    void *arg;
    /* "" while unknown. Borrowed. */
    const char *(*cluster_id)(void *arg);
    /* Our registration; -1 while there is none. */
    int64_t (*broker_epoch)(void *arg);
    /* An UpdateMetadata was taken into the cache. */
    void (*metadata_changed)(void *arg);
};

/* Listens. */
int api_new(const struct api_parts *parts, struct api **ret_api, struct errmsg *em) MUST_CHECK;
/* Of the listener with that index. */
uint16_t api_port(const struct api *a, int32_t index);
int32_t api_connection_count(const struct api *a);
/* The families of requests, as Prometheus text. */
void api_write_metrics(const struct api *a, struct buf *out);
/* Closes the listener, all connections and all requests; parked ones are never answered. NULL is
 * fine. */
void api_free(struct api *a);
