/*
 * A borrowed run of bytes. Never owns; never outlives what it points into.
 * ptr NULL means "null" where the protocol knows null; an empty slice has a pointer and len 0.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

struct slice {
    const uint8_t *ptr; /* NULL = null */
    size_t len;         /* bytes */
};

#define SLICE_NULL ((struct slice){NULL, 0})
/* printf("%.*s", SLICE_ARG(s)) */
#define SLICE_ARG(s) ((int)(s).len), ((const char *)(s).ptr)

static inline struct slice slice_of(const void *ptr, size_t len)
{
    return (struct slice){ptr, len};
}

/* text may be NULL: the null slice. */
static inline struct slice slice_str(const char *text)
{
    return (struct slice){(const uint8_t *)text, text == NULL ? 0 : strlen(text)};
}

static inline bool slice_is_null(struct slice s)
{
    return s.ptr == NULL;
}

static inline bool slice_equal(struct slice a, struct slice b)
{
    return a.len == b.len && (a.len == 0 || memcmp(a.ptr, b.ptr, a.len) == 0);
}

static inline bool slice_equal_str(struct slice a, const char *text)
{
    return slice_equal(a, slice_str(text));
}

/* Order of bytes, shorter first when one is a prefix. */
int slice_compare(struct slice a, struct slice b);
/* Heap copy with a closing NUL, never NULL. */
char *slice_dup(struct slice s);
