/*
 * Producer ids for idempotent producers: blocks of them come from the controller
 * (AllocateProducerIds), single ids are handed out here. A block that was begun is never used again
 * after a restart.
 */
#pragma once

#include "base/error.h"

#include <stdint.h>

struct api_parts;
struct producer_ids;

#define PRODUCER_IDS_WAITING_MAX 10000

/* err 0, or -E_... when the controller gave no block: the client tries again. */
typedef void (*api_producer_ids_fn)(void *arg, int err, int64_t producer_id);

/* parts is borrowed. */
struct producer_ids *api_producer_ids_new(const struct api_parts *parts);
/* After the channel. Waiting callers are dropped without a callback. NULL is fine. */
void api_producer_ids_free(struct producer_ids *p);
/* One id. done runs inside the call when an id is at hand, else later, once. */
void api_producer_ids_take(struct producer_ids *p, api_producer_ids_fn done, void *arg);
