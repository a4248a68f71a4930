/*
 * A growing output buffer, and the gaps in it.
 * Writing never fails at the call: past max (or when memory is refused) the buffer turns `failed`,
 * further puts do nothing, and the caller tests buf_failed once at the end.
 * A gap is a run of bytes that the reader will see but that is not stored here: the records of a
 * Fetch answer, sent from the page cache. Gaps are in order of pos.
 */
#pragma once

#include "base/error.h"
#include "base/slice.h"

struct buf_gap {
    size_t pos; /* where in buf the gap lies: before the byte at pos */
    size_t len; /* bytes that come from elsewhere */
};

struct buf {
    uint8_t *ptr;
    size_t len;
    size_t cap;
    size_t max; /* bytes; the default is 128 MiB */
    bool failed;
    struct buf_gap *gaps;
    size_t gap_count;
    size_t gap_cap;
    size_t gap_bytes; /* sum of the gaps' len */
};

void buf_init(struct buf *b);
void buf_init_max(struct buf *b, size_t max);
void buf_deinit(struct buf *b);
/* Keeps the memory. */
void buf_clear(struct buf *b);
static inline bool buf_failed(const struct buf *b)
{
    return b->failed;
}
static inline struct slice buf_slice(const struct buf *b)
{
    return slice_of(b->ptr, b->len);
}

/* Room for len more bytes; NULL when failed. The bytes count as written. */
uint8_t *buf_put_space(struct buf *b, size_t len);
void buf_put_u8(struct buf *b, uint8_t v);
void buf_put_u16(struct buf *b, uint16_t v); /* big-endian, as all */
void buf_put_u32(struct buf *b, uint32_t v);
void buf_put_u64(struct buf *b, uint64_t v);
void buf_put_bytes(struct buf *b, const void *ptr, size_t len);
void buf_put_slice(struct buf *b, struct slice s);
void buf_put_str(struct buf *b, const char *text); /* without NUL */
void buf_putf(struct buf *b, const char *format, ...) PRINTF_LIKE(2, 3);
void buf_put_uvarint(struct buf *b, uint64_t v);
void buf_put_varint(struct buf *b, int64_t v); /* zigzag */
void buf_put_gap(struct buf *b, size_t len);
/* Overwrites four bytes at pos, which must be written already. */
void buf_patch_u32(struct buf *b, size_t pos, uint32_t v);
/* Bytes a reader would see: stored plus gaps. */
static inline size_t buf_total(const struct buf *b)
{
    return b->len + b->gap_bytes;
}
