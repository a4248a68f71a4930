/*
 * A loop of tries: ask -> answer -> (done, or wait -> ask). An answer that says partitions remain, an
 * error, a lost connection and a missing controller are all just failed tries.
 */
#include "broker/shutdown.h"

#include "base/alloc.h"
#include "broker/controller/channel.h"
#include "wire/controlled_shutdown.h"

#include <stdlib.h>

struct broker_shutdown {
    struct broker_shutdown_config config;
    int32_t tries;
    struct env_timer timer;
};

static void try_next(struct broker_shutdown *s, int64_t delay_ms)
{
    env_timer_start(&s->timer, delay_ms);
}

static void answer_arrived(void *arg, int err, const void *body)
{
    struct broker_shutdown *s = arg;
    const struct wire_controlled_shutdown_response *resp = body;
    if (err == 0 && resp->error_code == 0 && resp->remaining_partitions_count <= 0) {
        s->tries = s->config.retries_max;
        try_next(s, 0);
        return;
    }
    try_next(s, s->config.backoff_ms);
}

static void step(void *arg)
{
    struct broker_shutdown *s = arg;
    if (s->tries >= s->config.retries_max) {
        s->config.done(s->config.arg);
        return;
    }
    s->tries++;
    struct wire_controlled_shutdown_request req;
    wire_controlled_shutdown_request_init(&req);
    req.broker_id = s->config.broker_id;
    req.broker_epoch = s->config.broker_epoch;
    struct controller_channel_call call = {
        .key = WIRE_KEY_CONTROLLED_SHUTDOWN,
        .version = ibp_version(s->config.level, IBP_CALL_CONTROLLED_SHUTDOWN),
        .timeout_ms = s->config.timeout_ms,
        .done = answer_arrived,
        .arg = s,
    };
    if (controller_channel_call(s->config.channel, &call, &req) < 0) {
        try_next(s, s->config.backoff_ms);
    }
}

struct broker_shutdown *broker_shutdown_new(const struct broker_shutdown_config *config)
{
    struct broker_shutdown *s = xalloc(sizeof *s);
    s->config = *config;
    env_timer_init(&s->timer, config->env, step, s);
    try_next(s, 0);
    return s;
}

void broker_shutdown_free(struct broker_shutdown *s)
{
    if (s == NULL) {
        return;
    }
    env_timer_stop(&s->timer);
    free(s);
}
