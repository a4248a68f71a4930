/*
 * A refcounted run of memory: request frames, response buffers. One home shard; the count is plain.
 * A pool keeps freed blocks for the next taker: touching a fresh page costs as much as a dozen system
 * calls on some machines, so memory that was used once is the cheapest there is.
 */
#pragma once

#include "base/alloc.h"
#include "base/slice.h"

struct block_pool;

struct block {
    int32_t refs;
    size_t cap; /* bytes at data */
    size_t len; /* bytes in use */
    struct budget *budget;
    struct block_pool *pool; /* private: where it goes at the last reference; NULL = it is freed */
    struct block *next;      /* private: in the pool */
    uint8_t *data;           /* lies behind this struct */
};

/* One reference, len 0; NULL when the budget (may be NULL) refuses. */
struct block *block_new(struct budget *budget, size_t cap) MUST_CHECK;
struct block *block_ref(struct block *b);
void block_unref(struct block *b); /* NULL is fine */

/* Keeps at most keep_max bytes of unused blocks, which no budget counts. */
struct block_pool *block_pool_new(size_t keep_max);
/* Blocks still out are freed at their last reference. NULL is fine. */
void block_pool_free(struct block_pool *pool);
/* As block_new, with cap rounded up to a power of two; from the kept ones when one fits. */
struct block *block_pool_get(struct block_pool *pool, struct budget *budget, size_t cap) MUST_CHECK;
/* Moves what b holds into a block of at least cap, consuming b, which must be the pool's, have one
 * reference and no budget. NULL when the machine refuses: b is untouched. */
struct block *block_pool_grow(struct block *b, size_t cap) MUST_CHECK;
/* What block_pool_get(cap) takes from a budget. */
size_t block_pool_cost(size_t cap);
/* From here on b counts in budget, where the caller reserved block_pool_cost(b->cap) before. */
void block_charge(struct block *b, struct budget *budget);
/* Frees what is kept. */
void block_pool_trim(struct block_pool *pool);
/* Whether block_pool_get(cap) needs no new memory. */
bool block_pool_has(const struct block_pool *pool, size_t cap);
