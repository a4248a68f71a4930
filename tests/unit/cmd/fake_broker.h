/*
 * Brokers that only pretend, for tests of what hosts them: the linker prefers these functions to those
 * of src/broker. A fake one registers nothing; it is ready, fails or hangs as its settings say:
 *   new=fail, start=fail, ready=never, ready=fatal, stop=never, say=line
 * Include it once.
 */
#pragma once

#include "base/alloc.h"
#include "broker/broker.h"
#include "env/env.h"

#include <stdlib.h>

struct broker {
    struct env *env;
    int32_t id;
    uint16_t port;
    uint16_t http_port;
    const char *wish; /* "ready=never", ... of the first setting; "" = none */
    struct broker_events events;
    struct env_timer soon;
    bool is_ready;
    void (*stopped)(void *arg);
    void *stopped_arg;
};

static int fake_broker_count; /* that live */

static bool fake_wants(const struct broker *b, const char *wish)
{
    return strcmp(b->wish, wish) == 0;
}

struct broker *broker_new(struct env *env, struct env *controller_env,
                          const struct broker_config *config, struct metastore_factory *factory,
                          struct errmsg *em)
{
    (void)controller_env;
    (void)factory;
    const char *wish = config->setting_count == 0 ? "" : config->settings[0].key;
    if (strcmp(wish, "new=fail") == 0) {
        (void)errmsg_set(em, E_INVALID, "a setting is wrong");
        return NULL;
    }
    if (strcmp(wish, "say=line") == 0 && config->log != NULL) {
        config->log(config->log_arg, "a setting is unknown");
    }
    struct broker *b = xalloc(sizeof *b);
    b->env = env;
    b->id = config->id;
    b->wish = wish;
    uint16_t port = config->listeners[0].port;
    b->port = port == 0 ? (uint16_t)(50000 + config->id) : port;
    b->http_port = config->http_env == NULL ? 0
                   : config->http_port == 0 ? (uint16_t)(60000 + config->id)
                                            : config->http_port;
    __atomic_add_fetch(&fake_broker_count, 1, __ATOMIC_SEQ_CST);
    return b;
}

static void fake_ready(void *arg)
{
    struct broker *b = arg;
    if (fake_wants(b, "ready=fatal")) {
        b->events.on_fatal(b->events.arg, "the id is in use");
    } else if (!fake_wants(b, "ready=never")) {
        b->is_ready = true;
        b->events.on_ready(b->events.arg);
    }
}

static void fake_stopped(void *arg)
{
    struct broker *b = arg;
    b->stopped(b->stopped_arg);
}

int broker_start(struct broker *b, const struct broker_events *events, struct errmsg *em)
{
    if (fake_wants(b, "start=fail")) {
        return errmsg_set(em, E_EXISTS, "the port is taken");
    }
    b->events = *events;
    env_timer_init(&b->soon, b->env, fake_ready, b);
    env_timer_start(&b->soon, 5);
    return 0;
}

void broker_stop(struct broker *b, void (*done)(void *arg), void *arg)
{
    b->stopped = done;
    b->stopped_arg = arg;
    env_timer_stop(&b->soon);
    env_timer_init(&b->soon, b->env, fake_stopped, b);
    if (!fake_wants(b, "stop=never")) {
        env_timer_start(&b->soon, 5);
    }
}

void broker_free(struct broker *b)
{
    if (b != NULL) {
        env_timer_stop(&b->soon);
        __atomic_sub_fetch(&fake_broker_count, 1, __ATOMIC_SEQ_CST);
        free(b);
    }
}

int32_t broker_id(const struct broker *b)
{
    return b->id;
}

uint16_t broker_port(const struct broker *b, int32_t listener)
{
    return (uint16_t)(b->port + listener);
}

uint16_t broker_metrics_port(const struct broker *b)
{
    return b->http_port;
}

int64_t broker_epoch(const struct broker *b)
{
    return b->is_ready ? 100 + b->id : -1;
}

bool broker_is_ready(const struct broker *b)
{
    return b->is_ready;
}

bool broker_is_controller(const struct broker *b)
{
    return b->id == 1;
}
