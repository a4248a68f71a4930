/*
 * Controlled shutdown as the leaving broker does it: asks the controller to move its leaderships away,
 * again and again until none remains or the tries are used up (docs/spec/zookeeper-mode.md 10).
 */
#pragma once

#include "env/env.h"
#include "model/ibp.h"

struct broker_shutdown;
struct controller_channel;

struct broker_shutdown_config {
    struct env *env;
    struct controller_channel *channel; /* borrowed */
    enum ibp level;                     /* inter.broker.protocol.version */
    int32_t broker_id;
    int64_t broker_epoch;
    int64_t timeout_ms;  /* of one try */
    int32_t retries_max; /* controlled.shutdown.max.retries; 0 = do not ask at all */
    int64_t backoff_ms;  /* controlled.shutdown.retry.backoff.ms */
    env_fn done;         /* once, from the loop */
    void *arg;
};

struct broker_shutdown *broker_shutdown_new(const struct broker_shutdown_config *config);
/* The channel must be freed right after, before the loop is reached: an answer may be due. Also from
 * inside done. NULL is fine. */
void broker_shutdown_free(struct broker_shutdown *s);
