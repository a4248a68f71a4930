/*
 * The way from this broker to the active controller: one connection to the broker that the last
 * UpdateMetadata named, requests in Kafka's formats. The controller may be this broker itself: then it
 * goes over the loopback like all others.
 * Versions are the callers' choice; docs/spec/zookeeper-mode.md section 12 says which are safe.
 */
#pragma once

#include "base/error.h"
#include "env/env.h"

struct controller_channel;
struct metadata;

/* resp is the decoded answer, borrowed until the callback returns; NULL when err is not 0:
 * -E_CLOSED, -E_TIMEOUT, -E_REFUSED, -E_MALFORMED. */
typedef void (*controller_channel_done_fn)(void *arg, int err, const void *resp);

struct controller_channel_call {
    int16_t key;
    int16_t version;
    int64_t timeout_ms;
    controller_channel_done_fn done;
    void *arg;
};

/* metadata must outlive the channel. */
struct controller_channel *controller_channel_new(struct env *env, int32_t broker_id,
                                                  const struct metadata *metadata);
/* Calls that are due are dropped without a callback. NULL is fine. */
void controller_channel_free(struct controller_channel *c);
/* The metadata cache changed: when the controller or its endpoint did, calls under way get
 * -E_CLOSED. */
void controller_channel_metadata_changed(struct controller_channel *c);
/* Sends req, the request struct of call->key; it is encoded at once. 0: done comes later, once.
 * -E_NOT_AVAILABLE (no controller is known), -E_TOO_LARGE (it does not fit the encoding): done will
 * not come. */
int controller_channel_call(struct controller_channel *c,
                            const struct controller_channel_call *call, const void *req) MUST_CHECK;
