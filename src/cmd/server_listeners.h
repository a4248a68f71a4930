/*
 * Where a broker listens, what of it is told to others, and by which listener brokers talk to each
 * other: listeners, advertised.listeners, listener.security.protocol.map and inter.broker.listener.name
 * taken together. Pure.
 */
#pragma once

#include "broker/broker.h"
#include "model/config.h"

struct cmd_server_listener {
    char *name; /* in upper case, as brokers tell it each other */
    char *host; /* "" = every address */
    uint16_t port;
    char *advertised_host;    /* "" = the machine's name */
    uint16_t advertised_port; /* 0 = the one it listens on */
    bool is_hidden;           /* not among the advertised ones */
};

struct cmd_server_listeners {
    struct cmd_server_listener list[BROKER_LISTENERS_MAX];
    int32_t count;
    int32_t inter_broker; /* index */
};

/* -E_INVALID with the property at fault and the reason; then nothing is to be released. */
int cmd_server_listeners_parse(const struct config_set *set, struct cmd_server_listeners *ret,
                               int *ret_key, struct errmsg *em) MUST_CHECK;
void cmd_server_listeners_deinit(struct cmd_server_listeners *l);
