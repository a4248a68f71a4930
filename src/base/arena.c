/*
 * The request arena: a list of chunks, the newest in use. Invariant: used <= max.
 */
#include "base/arena.h"

#include <stdlib.h>

#define ARENA_CHUNK_BYTES ((size_t)4096)

struct arena_chunk {
    struct arena_chunk *next;
    size_t cap; /* bytes of data */
    size_t len;
    _Alignas(16) uint8_t data[];
};

void arena_init(struct arena *a, size_t max)
{
    *a = (struct arena){.max = max};
}

static void chunks_free(struct arena_chunk *chunk)
{
    while (chunk != NULL) {
        struct arena_chunk *next = chunk->next;
        free(chunk);
        chunk = next;
    }
}

void arena_deinit(struct arena *a)
{
    if (a != NULL) {
        chunks_free(a->chunks);
        a->chunks = NULL;
        a->used = 0;
    }
}

void arena_reset(struct arena *a)
{
    if (a->chunks != NULL) {
        chunks_free(a->chunks->next);
        a->chunks->next = NULL;
        a->chunks->len = 0;
    }
    a->used = 0;
}

void *arena_alloc(struct arena *a, size_t size)
{
    if (size > SIZE_MAX - 15) {
        return NULL;
    }
    size = (size + 15) & ~(size_t)15;
    if (size > a->max - a->used) {
        return NULL;
    }
    struct arena_chunk *chunk = a->chunks;
    if (chunk == NULL || size > chunk->cap - chunk->len) {
        size_t cap = chunk == NULL ? ARENA_CHUNK_BYTES : chunk->cap * 2;
        cap = cap > ((size_t)1 << 20) ? (size_t)1 << 20 : cap;
        cap = size > cap ? size : cap;
        chunk = malloc(sizeof *chunk + cap);
        if (chunk == NULL) {
            return NULL;
        }
        chunk->next = a->chunks;
        chunk->cap = cap;
        chunk->len = 0;
        a->chunks = chunk;
    }
    void *at = chunk->data + chunk->len;
    chunk->len += size;
    a->used += size;
    memset(at, 0, size);
    return at;
}

void *arena_array(struct arena *a, size_t count, size_t size)
{
    size_t bytes;
    if (__builtin_mul_overflow(count, size, &bytes)) {
        return NULL;
    }
    return arena_alloc(a, bytes);
}

char *arena_str(struct arena *a, struct slice s)
{
    char *copy = arena_alloc(a, s.len + 1);
    if (copy != NULL && s.len > 0) {
        memcpy(copy, s.ptr, s.len);
    }
    return copy;
}
