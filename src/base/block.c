/*
 * Refcounted memory. Invariant: refs > 0 while anybody holds it. Runs on the block's home shard.
 */
#include "base/block.h"

#include "base/check.h"

struct block *block_new(struct budget *budget, size_t cap)
{
    if (cap > SIZE_MAX / 2) {
        return NULL;
    }
    struct block *b = budget_alloc(budget, sizeof *b + cap);
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

void block_unref(struct block *b)
{
    if (b == NULL) {
        return;
    }
    CHECK(b->refs > 0);
    if (--b->refs == 0) {
        budget_free(b->budget, b, sizeof *b + b->cap);
    }
}
