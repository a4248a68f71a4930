/*
 * The sticky reader: read everything, test err once. After the first failure every read returns 0 or
 * the null slice and the position stays. Never reads past the end.
 */
#pragma once

#include "base/slice.h"

struct reader {
    const uint8_t *ptr;
    const uint8_t *end;
    int err; /* 0, -E_TRUNCATED, -E_MALFORMED, -E_TOO_LARGE */
};

void reader_init(struct reader *r, struct slice input);
static inline size_t reader_left(const struct reader *r)
{
    return (size_t)(r->end - r->ptr);
}
/* Sets err when none is set. */
void reader_fail(struct reader *r, int err);
uint8_t reader_u8(struct reader *r);
uint16_t reader_u16(struct reader *r); /* big-endian, as all */
uint32_t reader_u32(struct reader *r);
uint64_t reader_u64(struct reader *r);
/* At most 5 bytes, value fits 32 bits. */
uint32_t reader_uvarint32(struct reader *r);
/* At most 10 bytes. */
uint64_t reader_uvarint64(struct reader *r);
int64_t reader_varint(struct reader *r); /* zigzag, 64 bits */
/* Borrowed from the input. */
struct slice reader_bytes(struct reader *r, size_t len);
void reader_skip(struct reader *r, size_t len);
