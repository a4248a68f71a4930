/*
 * The output buffer. Invariant: len <= cap <= max, and gaps are sorted by pos.
 */
#include "base/buf.h"

#include "base/check.h"
#include "base/endian.h"

#include <stdio.h>
#include <stdlib.h>

#define BUF_MAX_DEFAULT ((size_t)128 << 20)

void buf_init(struct buf *b)
{
    buf_init_max(b, BUF_MAX_DEFAULT);
}

void buf_init_max(struct buf *b, size_t max)
{
    *b = (struct buf){.max = max};
}

void buf_deinit(struct buf *b)
{
    if (b != NULL) {
        free(b->ptr);
        free(b->gaps);
        *b = (struct buf){0};
    }
}

void buf_clear(struct buf *b)
{
    b->len = 0;
    b->failed = false;
    b->gap_count = 0;
    b->gap_bytes = 0;
}

static bool buf_grow(struct buf *b, size_t need)
{
    size_t cap = b->cap < 256 ? 256 : b->cap;
    while (cap < need) {
        cap *= 2;
    }
    if (cap > b->max) {
        cap = b->max;
    }
    uint8_t *moved = need <= cap ? realloc(b->ptr, cap) : NULL;
    if (moved == NULL) {
        b->failed = true;
        return false;
    }
    b->ptr = moved;
    b->cap = cap;
    return true;
}

uint8_t *buf_put_space(struct buf *b, size_t len)
{
    if (b->failed || len > b->max - b->len) {
        b->failed = true;
        return NULL;
    }
    if ((b->ptr == NULL || b->len + len > b->cap) && !buf_grow(b, b->len + len)) {
        return NULL;
    }
    uint8_t *at = b->ptr + b->len;
    b->len += len;
    return at;
}

void buf_put_u8(struct buf *b, uint8_t v)
{
    uint8_t *at = buf_put_space(b, 1);
    if (at != NULL) {
        *at = v;
    }
}

void buf_put_u16(struct buf *b, uint16_t v)
{
    uint8_t *at = buf_put_space(b, 2);
    if (at != NULL) {
        store_be16(at, v);
    }
}

void buf_put_u32(struct buf *b, uint32_t v)
{
    uint8_t *at = buf_put_space(b, 4);
    if (at != NULL) {
        store_be32(at, v);
    }
}

void buf_put_u64(struct buf *b, uint64_t v)
{
    uint8_t *at = buf_put_space(b, 8);
    if (at != NULL) {
        store_be64(at, v);
    }
}

void buf_put_bytes(struct buf *b, const void *ptr, size_t len)
{
    uint8_t *at = len == 0 ? NULL : buf_put_space(b, len);
    if (at != NULL) {
        memcpy(at, ptr, len);
    }
}

void buf_put_slice(struct buf *b, struct slice s)
{
    buf_put_bytes(b, s.ptr, s.len);
}

void buf_put_str(struct buf *b, const char *text)
{
    buf_put_bytes(b, text, strlen(text));
}

void buf_putf(struct buf *b, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    char *text = NULL;
    int len = vasprintf(&text, format, args);
    va_end(args);
    if (len < 0) {
        b->failed = true;
        return;
    }
    buf_put_bytes(b, text, (size_t)len);
    free(text);
}

void buf_put_uvarint(struct buf *b, uint64_t v)
{
    while (v >= 0x80) {
        buf_put_u8(b, (uint8_t)(v | 0x80));
        v >>= 7;
    }
    buf_put_u8(b, (uint8_t)v);
}

void buf_put_varint(struct buf *b, int64_t v)
{
    buf_put_uvarint(b, ((uint64_t)v << 1) ^ (uint64_t)(v >> 63));
}

void buf_put_gap(struct buf *b, size_t len)
{
    if (len == 0 || b->failed) {
        return;
    }
    if (b->gap_count == b->gap_cap) {
        size_t cap = b->gap_cap == 0 ? 8 : b->gap_cap * 2;
        struct buf_gap *moved = realloc(b->gaps, cap * sizeof *moved);
        if (moved == NULL) {
            b->failed = true;
            return;
        }
        b->gaps = moved;
        b->gap_cap = cap;
    }
    b->gaps[b->gap_count++] = (struct buf_gap){.pos = b->len, .len = len};
    b->gap_bytes += len;
}

void buf_patch_u32(struct buf *b, size_t pos, uint32_t v)
{
    if (!b->failed) {
        CHECK(pos + 4 <= b->len);
        store_be32(b->ptr + pos, v);
    }
}
