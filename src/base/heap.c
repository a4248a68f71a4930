/*
 * The heap. Invariant: nodes[i] is not after its children, and nodes[i]->index == i + 1.
 */
#include "base/heap.h"

#include "base/alloc.h"
#include "base/check.h"

#include <stdlib.h>

void heap_init(struct heap *h)
{
    *h = (struct heap){0};
}

void heap_deinit(struct heap *h)
{
    free(h->nodes);
    *h = (struct heap){0};
}

static bool node_before(const struct heap_node *a, const struct heap_node *b)
{
    return a->key < b->key || (a->key == b->key && a->order < b->order);
}

static void heap_put(struct heap *h, size_t i, struct heap_node *n)
{
    h->nodes[i] = n;
    n->index = i + 1;
}

static void heap_up(struct heap *h, size_t i, struct heap_node *n)
{
    while (i > 0 && node_before(n, h->nodes[(i - 1) / 2])) {
        heap_put(h, i, h->nodes[(i - 1) / 2]);
        i = (i - 1) / 2;
    }
    heap_put(h, i, n);
}

static void heap_down(struct heap *h, size_t i, struct heap_node *n)
{
    for (;;) {
        size_t child = 2 * i + 1;
        if (child >= h->count) {
            break;
        }
        if (child + 1 < h->count && node_before(h->nodes[child + 1], h->nodes[child])) {
            child++;
        }
        if (!node_before(h->nodes[child], n)) {
            break;
        }
        heap_put(h, i, h->nodes[child]);
        i = child;
    }
    heap_put(h, i, n);
}

void heap_insert(struct heap *h, struct heap_node *n, int64_t key)
{
    CHECK(n->index == 0);
    if (h->count == h->cap) {
        h->cap = h->cap == 0 ? 16 : h->cap * 2;
        h->nodes = xrealloc(h->nodes, h->cap * sizeof(struct heap_node *));
    }
    n->key = key;
    n->order = h->next_order++;
    heap_up(h, h->count++, n);
}

void heap_remove(struct heap *h, struct heap_node *n)
{
    if (n->index == 0) {
        return;
    }
    size_t i = n->index - 1;
    CHECK(i < h->count && h->nodes[i] == n);
    n->index = 0;
    struct heap_node *last = h->nodes[--h->count];
    if (last == n) {
        return;
    }
    if (i > 0 && node_before(last, h->nodes[(i - 1) / 2])) {
        heap_up(h, i, last);
    } else {
        heap_down(h, i, last);
    }
}

struct heap_node *heap_min(const struct heap *h)
{
    return h->count == 0 ? NULL : h->nodes[0];
}
