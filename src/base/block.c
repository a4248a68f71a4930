/*
 * Refcounted memory. Invariant: refs > 0 while anybody holds it; a block in a pool has none and
 * counts in no budget. A pool lives until it was freed and its last block came back. Runs on the
 * block's home shard.
 */
#include "base/block.h"

#include "base/check.h"

#include <stdlib.h>

#define POOL_CLASS_MIN_BITS 10 /* 1 KiB */
#define POOL_CLASSES        16 /* up to 32 MiB; larger blocks are not kept */

struct block_pool {
    struct block *kept[POOL_CLASSES];
    size_t kept_bytes;
    size_t keep_max;
    size_t out; /* blocks with references */
    bool is_freed;
};

/* What one block of that capacity costs. */
static size_t block_size(size_t cap)
{
    return sizeof(struct block) + cap;
}

struct block *block_new(struct budget *budget, size_t cap)
{
    if (cap > SIZE_MAX / 2) {
        return NULL;
    }
    struct block *b = budget_alloc(budget, block_size(cap));
    if (b != NULL) {
        *b = (struct block){.refs = 1, .cap = cap, .budget = budget, .data = (uint8_t *)(b + 1)};
    }
    return b;
}

struct block *block_ref(struct block *b)
{
    CHECK(b->refs > 0);
    b->refs++;
    return b;
}

/* The class that holds cap; POOL_CLASSES when none does. */
static int class_of(size_t cap)
{
    int size_class = 0;
    while (size_class < POOL_CLASSES && cap > (size_t)1 << (POOL_CLASS_MIN_BITS + size_class)) {
        size_class++;
    }
    return size_class;
}

static void pool_take_back(struct block_pool *pool, struct block *b)
{
    int size_class = class_of(b->cap);
    pool->out--;
    if (!pool->is_freed && size_class < POOL_CLASSES &&
        b->cap <= pool->keep_max - pool->kept_bytes) {
        budget_release(b->budget, block_size(b->cap));
        b->budget = NULL;
        b->next = pool->kept[size_class];
        pool->kept[size_class] = b;
        pool->kept_bytes += b->cap;
        return;
    }
    budget_free(b->budget, b, block_size(b->cap));
    if (pool->is_freed && pool->out == 0) {
        free(pool);
    }
}

void block_unref(struct block *b)
{
    if (b == NULL) {
        return;
    }
    CHECK(b->refs > 0);
    if (--b->refs > 0) {
        return;
    }
    if (b->pool != NULL) {
        pool_take_back(b->pool, b);
    } else {
        budget_free(b->budget, b, block_size(b->cap));
    }
}

struct block_pool *block_pool_new(size_t keep_max)
{
    struct block_pool *pool = xalloc(sizeof *pool);
    pool->keep_max = keep_max;
    return pool;
}

void block_pool_trim(struct block_pool *pool)
{
    for (int i = 0; i < POOL_CLASSES; i++) {
        while (pool->kept[i] != NULL) {
            struct block *b = pool->kept[i];
            pool->kept[i] = b->next;
            free(b);
        }
    }
    pool->kept_bytes = 0;
}

void block_pool_free(struct block_pool *pool)
{
    if (pool == NULL) {
        return;
    }
    block_pool_trim(pool);
    pool->is_freed = true;
    if (pool->out == 0) {
        free(pool);
    }
}

bool block_pool_has(const struct block_pool *pool, size_t cap)
{
    int size_class = class_of(cap);
    return size_class < POOL_CLASSES && pool->kept[size_class] != NULL;
}

static size_t round_up(size_t cap)
{
    int size_class = class_of(cap);
    return size_class < POOL_CLASSES ? (size_t)1 << (POOL_CLASS_MIN_BITS + size_class) : cap;
}

struct block *block_pool_get(struct block_pool *pool, struct budget *budget, size_t cap)
{
    CHECK(!pool->is_freed);
    int size_class = class_of(cap);
    size_t rounded = round_up(cap);
    struct block *b = NULL;
    if (block_pool_has(pool, cap)) {
        if (!budget_reserve(budget, block_size(rounded))) {
            return NULL;
        }
        b = pool->kept[size_class];
        pool->kept[size_class] = b->next;
        pool->kept_bytes -= b->cap;
        b->refs = 1;
        b->len = 0;
        b->next = NULL;
        b->budget = budget;
    } else {
        b = block_new(budget, rounded);
    }
    if (b != NULL) {
        b->pool = pool;
        pool->out++;
    }
    return b;
}

struct block *block_pool_grow(struct block *b, size_t cap)
{
    CHECK(b->refs == 1 && b->pool != NULL && b->budget == NULL && cap >= b->len);
    struct block *larger = block_pool_get(b->pool, NULL, cap);
    if (larger != NULL) {
        memcpy(larger->data, b->data, b->len);
        larger->len = b->len;
        block_unref(b);
    }
    return larger;
}

size_t block_pool_cost(size_t cap)
{
    return block_size(round_up(cap));
}

void block_charge(struct block *b, struct budget *budget)
{
    CHECK(b->budget == NULL);
    b->budget = budget;
}
