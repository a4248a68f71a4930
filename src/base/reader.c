/*
 * The sticky reader. Invariant: ptr <= end; once err is set, ptr does not move.
 */
#include "base/reader.h"

#include "base/endian.h"
#include "base/error.h"

void reader_init(struct reader *r, struct slice input)
{
    static const uint8_t nothing;
    const uint8_t *start = input.ptr == NULL ? &nothing : input.ptr;
    *r = (struct reader){.ptr = start, .end = start + input.len, .err = 0};
}

void reader_fail(struct reader *r, int err)
{
    if (r->err == 0) {
        r->err = err;
    }
}

static const uint8_t *reader_take(struct reader *r, size_t len)
{
    if (r->err != 0) {
        return NULL;
    }
    if (len > reader_left(r)) {
        r->err = -E_TRUNCATED;
        return NULL;
    }
    const uint8_t *at = r->ptr;
    r->ptr += len;
    return at;
}

uint8_t reader_u8(struct reader *r)
{
    const uint8_t *at = reader_take(r, 1);
    return at == NULL ? 0 : *at;
}

uint16_t reader_u16(struct reader *r)
{
    const uint8_t *at = reader_take(r, 2);
    return at == NULL ? 0 : load_be16(at);
}

uint32_t reader_u32(struct reader *r)
{
    const uint8_t *at = reader_take(r, 4);
    return at == NULL ? 0 : load_be32(at);
}

uint64_t reader_u64(struct reader *r)
{
    const uint8_t *at = reader_take(r, 8);
    return at == NULL ? 0 : load_be64(at);
}

static uint64_t reader_leb(struct reader *r, int bytes_max, uint64_t value_max)
{
    uint64_t value = 0;
    for (int i = 0; i < bytes_max; i++) {
        const uint8_t *at = reader_take(r, 1);
        if (at == NULL) {
            return 0;
        }
        uint64_t part = *at & 0x7f;
        if (i == 9 && part > 1) {
            break;
        }
        value |= part << (7 * i);
        if ((*at & 0x80) == 0) {
            if (value > value_max) {
                break;
            }
            return value;
        }
    }
    reader_fail(r, -E_MALFORMED);
    return 0;
}

uint32_t reader_uvarint32(struct reader *r)
{
    return (uint32_t)reader_leb(r, 5, UINT32_MAX);
}

uint64_t reader_uvarint64(struct reader *r)
{
    return reader_leb(r, 10, UINT64_MAX);
}

int64_t reader_varint(struct reader *r)
{
    uint64_t raw = reader_uvarint64(r);
    return (int64_t)(raw >> 1) ^ -(int64_t)(raw & 1);
}

struct slice reader_bytes(struct reader *r, size_t len)
{
    const uint8_t *at = reader_take(r, len);
    return at == NULL ? SLICE_NULL : slice_of(at, len);
}

void reader_skip(struct reader *r, size_t len)
{
    (void)reader_take(r, len); /* a failure stays in r->err */
}
