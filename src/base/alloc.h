/*
 * Memory. xalloc for small fixed sizes (aborts when the machine has none left); budget_alloc for
 * sizes that a peer or a file chose: it may refuse, and every caller handles that.
 * A budget is owned by one shard. Tests make the n-th budget_alloc fail with budget_fail_at.
 */
#pragma once

#include "base/error.h"

#include <stddef.h>
#include <stdint.h>

/* Zeroed memory; never NULL. Free with free(). */
void *xalloc(size_t size);
void *xrealloc(void *ptr, size_t size);
/* Heap copies, never NULL. */
char *xstrdup(const char *text);
void *xmemdup(const void *ptr, size_t len);
/* Formatted heap string, never NULL. */
char *xasprintf(const char *format, ...) PRINTF_LIKE(1, 2);

struct budget {
    size_t max;      /* bytes */
    size_t used;     /* bytes */
    int64_t fail_at; /* test hook: refuse the call that counts this down to 0; 0 = off */
};

/* Counts size as used, or refuses: for memory that was allocated before and is used again. budget may
 * be NULL. */
bool budget_reserve(struct budget *budget, size_t size) MUST_CHECK;
void budget_release(struct budget *budget, size_t size);
/* NULL when size would pass max, or the machine refuses. Not zeroed. budget may be NULL: unbounded. */
void *budget_alloc(struct budget *budget, size_t size) MUST_CHECK;
/* size is what was asked for. ptr may be NULL. */
void budget_free(struct budget *budget, void *ptr, size_t size);
