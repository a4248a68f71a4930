/*
 * One broker of `klamm dev` as the host sees it: it is started, stopped, killed and asked, and tells
 * what became of it. The struct broker itself lives on a loop of its own; everything here is called
 * on the host's env, and so are the callbacks.
 *
 * Life: new (stopped) -> start -> running -> stop or kill -> start ... -> free when it is down.
 */
#pragma once

#include "broker/broker.h"
#include "cmd/dev_status.h"

struct env;
struct cmd_dev_broker;

/* `broker` of the callback changed its state, answered cmd_dev_broker_ask, or has a line for the
 * operator. Never from inside a call. */
struct cmd_dev_broker_events {
    void (*changed)(void *arg, struct cmd_dev_broker *b);
    void (*answered)(void *arg, struct cmd_dev_broker *b);
    void (*said)(void *arg, struct cmd_dev_broker *b, const char *line);
    void *arg;
};

struct cmd_dev_broker_config {
    struct env *host_env;
    struct env *env; /* the broker's own; runs until cmd_dev_broker_free */
    struct env *controller_env;
    struct metastore_factory *factory;
    struct broker_config broker;     /* copied, texts are borrowed; listeners is set from: */
    struct broker_listener listener; /* texts are borrowed; port 0 = any at the first start */
    struct cmd_dev_broker_events events;
};

struct cmd_dev_broker *cmd_dev_broker_new(const struct cmd_dev_broker_config *config);
/* It must be down. */
void cmd_dev_broker_free(struct cmd_dev_broker *b);

/* As far as known; is_controller and epoch are those of the last answer. Borrowed texts. */
struct cmd_dev_status cmd_dev_broker_status(const struct cmd_dev_broker *b);
/* Stopped, killed or failed: no struct broker is there. */
bool cmd_dev_broker_is_down(const struct cmd_dev_broker *b);

/* It must be down. Ends in RUNNING or FAILED. */
void cmd_dev_broker_start(struct cmd_dev_broker *b);
/* It must be RUNNING. Ends in STOPPED, or FAILED. */
void cmd_dev_broker_stop(struct cmd_dev_broker *b);
/* It must not be down. Ends in KILLED. */
void cmd_dev_broker_kill(struct cmd_dev_broker *b);
/* Ends in answered, also when the broker is down. */
void cmd_dev_broker_ask(struct cmd_dev_broker *b);
