/*
 * Memory that lives as long as one request. Freed all at once; chunks are kept by arena_reset.
 * Bounded: past max (bytes over all chunks) arena_alloc returns NULL, which decoders report as
 * -E_TOO_LARGE.
 */
#pragma once

#include "base/error.h"
#include "base/slice.h"

struct arena_chunk;

struct arena {
    struct arena_chunk *chunks; /* newest first */
    size_t used;                /* bytes handed out */
    size_t max;                 /* bytes */
};

void arena_init(struct arena *a, size_t max);
void arena_deinit(struct arena *a);
void arena_reset(struct arena *a);
/* Zeroed, aligned to 16; NULL when the bound is passed. */
void *arena_alloc(struct arena *a, size_t size) MUST_CHECK;
/* count * size with overflow check. */
void *arena_array(struct arena *a, size_t count, size_t size) MUST_CHECK;
/* Copy with closing NUL; NULL when the bound is passed. */
char *arena_str(struct arena *a, struct slice s) MUST_CHECK;
