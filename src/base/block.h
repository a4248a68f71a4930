/*
 * A refcounted run of memory: request frames, response buffers. One home shard; the count is plain.
 */
#pragma once

#include "base/alloc.h"
#include "base/slice.h"

struct block {
    int32_t refs;
    size_t cap; /* bytes at data */
    size_t len; /* bytes in use */
    struct budget *budget;
    uint8_t *data; /* lies behind this struct */
};

/* One reference, len 0; NULL when the budget (may be NULL) refuses. */
struct block *block_new(struct budget *budget, size_t cap) MUST_CHECK;
struct block *block_ref(struct block *b);
void block_unref(struct block *b); /* NULL is fine */
