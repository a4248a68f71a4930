/*
 * An intrusive binary min-heap ordered by (key, insertion). Used for timers and deadlines.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct heap_node {
    int64_t key;
    uint64_t order; /* breaks ties: earlier inserted first */
    size_t index;   /* place + 1; 0 = not in the heap */
};

struct heap {
    struct heap_node **nodes;
    size_t count;
    size_t cap;
    uint64_t next_order;
};

void heap_init(struct heap *h);
void heap_deinit(struct heap *h); /* nodes are not freed */
/* n must not be in a heap. */
void heap_insert(struct heap *h, struct heap_node *n, int64_t key);
/* Does nothing when n is in none. */
void heap_remove(struct heap *h, struct heap_node *n);
/* The smallest, or NULL. */
struct heap_node *heap_min(const struct heap *h);
static inline bool heap_has(const struct heap_node *n)
{
    return n->index != 0;
}
