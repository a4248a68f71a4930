/*
 * What the files of the queue's driver share with each other and with the rest of the controller's driver.
 * Private to broker/controller/.
 */
#pragma once

#include "base/list.h"
#include "env/env.h"
#include "moves/moves.h"

#define CONTROLLER_MOVES_BYTES_MAX ((size_t)1 << 30)

struct controller;
struct controller_request_item;
struct control_reply;
struct moves_moving;

/* The queue of one term. */
struct controller_moves {
    struct moves *core;
    struct moves_effects effects;
    struct env_timer timer;
    bool is_stepping;
    bool is_told;                /* it has all that is stored: changes are told from then on */
    bool is_loaded;              /* it has worked through it */
    int32_t reads_due;           /* loading: answers */
    struct moves_moving *moving; /* loading: what moved, to be told from moving_at on */
    int32_t moving_count;
    int32_t moving_cap;
    int32_t moving_at;
    const char *moving_topic; /* of the last one told */
    struct env_timer moving_timer;
    struct list writes; /* moves_store.c: out */
    struct controller_size *sizes;
    struct env_timer size_timer;
    struct list requests; /* controller_request_item.link: the queue has them */
};

/* ---- moves.c ---- */
void controller_moves_start(struct controller *c);
/* The term is over: what the queue has to answer is refused. */
void controller_moves_reset(struct controller *c);
/* The controller is freed: nothing is answered any more. */
void controller_moves_free(struct controller *c);
/* The queue's alters that the core still had when it was freed. */
void controller_moves_alters_free(struct controller *c);
/* All that is stored was told: the queue works through it, is told of every partition that moves, and then
 * loading goes on with controller_legacy_load. */
void controller_moves_load_end(struct controller *c);
void controller_moves_step(struct controller *c, const struct moves_event *event);
void controller_moves_partition(struct controller *c, struct slice topic, int32_t partition);
void controller_moves_brokers(struct controller *c);
/* NULL while there is none that may be looked at. */
struct moves *controller_moves_core(const struct controller *c);

/* ---- sizes.c ---- */
void controller_sizes_init(struct controller *c, struct controller_moves *v);
void controller_sizes_free(struct controller_moves *v);
/* Bytes of the partition as its leader told last; -1 = unknown. */
int64_t controller_sizes_get(const struct controller *c, struct slice topic, int32_t partition);
void controller_sizes_heard(struct controller *c, int32_t broker, struct slice topic,
                            int32_t partition, int64_t bytes);

/* ---- moves_store.c ---- */
/* Reads the jobs, then goes on with controller_moves_load_end. */
void controller_moves_load(struct controller *c);
void controller_moves_store(struct controller *c, const struct moves_store *store);
void controller_moves_writes_free(struct controller_moves *v);

/* ---- moves_request.c ---- */
/* True: the queue has taken the request, and answers it. */
bool controller_moves_take(struct controller *c, struct controller_request_item *item);
void controller_moves_reply(struct controller *c, const struct moves_reply *reply);
void controller_moves_requests_end(struct controller *c, struct controller_moves *v);
