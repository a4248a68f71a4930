/*
 * Blocks of producer ids as brokers take them below inter.broker.protocol.version 3.0-IV0: from
 * /latest_producer_id_block, by a guarded write of their own (docs/spec/zookeeper-mode.md 2.8).
 * Runs on the broker's env.
 */
#pragma once

#include "base/error.h"

#include <stdint.h>

struct broker_producer_blocks;
struct metastore;

struct broker_producer_blocks *broker_producer_blocks_new(int32_t broker_id);
/* From now on through session m. */
void broker_producer_blocks_start(struct broker_producer_blocks *b, struct metastore *m);
/* Before the session goes: what is under way is answered with -E_CLOSED. NULL is fine. */
void broker_producer_blocks_stop(struct broker_producer_blocks *b);
/* After the session it was started with is closed; no answer comes any more. NULL is fine. */
void broker_producer_blocks_free(struct broker_producer_blocks *b);

/* The ids [start, start + count) are ours when err is 0. */
typedef void (*broker_producer_blocks_fn)(void *arg, int err, int64_t start, int64_t count);
/* done comes once, from the loop or from broker_producer_blocks_stop; the next take only after it.
 * -E_NOT_AVAILABLE: there is no session; then done does not come. */
int broker_producer_blocks_take(struct broker_producer_blocks *b, broker_producer_blocks_fn done,
                                void *arg) MUST_CHECK;
