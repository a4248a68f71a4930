/*
 * The simulated client: Kafka requests to brokers by id over the simulated network, and what Metadata
 * said last. An answer with an older leader epoch than known is not believed (protocol.md 6.2).
 */
#pragma once

#include "base/reader.h"
#include "env/env.h"
#include "net/net.h"
#include "wire/wire.h"

#define CLIENT_BROKERS_MAX    8
#define CLIENT_PARTITIONS_MAX 8

struct client;

/* err 0: body is at the response's body (header read); its bytes live until the callback returns. */
typedef void (*client_done_fn)(void *arg, int err, struct reader *body);

/* Broker N is at 127.0.0.1:port + N, N from 1. */
struct client *client_new(struct env *env, int32_t broker_count, uint16_t port, const char *topic);
void client_free(struct client *c);
struct client_call {
    int32_t broker;
    int16_t key; /* WIRE_KEY_... */
    int16_t version;
    int64_t timeout_ms;
    const void *request; /* the generated struct of that api; used before client_send returns */
};

void client_send(struct client *c, const struct client_call *call, client_done_fn done, void *arg);
/* Asks a random broker, unless an answer is due already. */
void client_refresh(struct client *c);
/* -1 = unknown. */
int32_t client_leader(const struct client *c, int32_t partition);
int32_t client_leader_epoch(const struct client *c, int32_t partition);
int32_t client_controller(const struct client *c);
