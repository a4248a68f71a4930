/*
 * The batch header: fixed fields at fixed places, read without a cursor.
 * Invariant: a parsed batch has len >= RECORD_HEADER_SIZE and base_offset + last_offset_delta does not
 * overflow, so that offset arithmetic on it needs no further checks. Pure.
 */
#include "record/batch.h"

#include "base/check.h"
#include "base/crc32c.h"
#include "base/endian.h"

#define MAGIC 2

enum place {
    AT_BASE_OFFSET = 0,
    AT_LENGTH = 8,
    AT_LEADER_EPOCH = 12,
    AT_MAGIC = 16,
    AT_CRC = 17,
    AT_ATTRIBUTES = 21,
    AT_LAST_OFFSET_DELTA = 23,
    AT_BASE_TIMESTAMP = 27,
    AT_MAX_TIMESTAMP = 35,
    AT_PRODUCER_ID = 43,
    AT_PRODUCER_EPOCH = 51,
    AT_BASE_SEQUENCE = 53,
    AT_COUNT = 57,
};

int32_t record_sequence_add(int32_t sequence, int32_t step)
{
    return (int32_t)(((uint32_t)sequence + (uint32_t)step) & INT32_MAX);
}

int32_t record_batch_last_sequence(const struct record_batch *b)
{
    return b->base_sequence < 0 ? RECORD_NO_SEQUENCE
                                : record_sequence_add(b->base_sequence, b->last_offset_delta);
}

int record_batch_parse(struct slice bytes, struct record_batch *ret_batch)
{
    const uint8_t *p = bytes.ptr;
    /* The magic byte lies at the same place in all versions: tell a foreign one before the rest. */
    if (bytes.len > AT_MAGIC && p[AT_MAGIC] != MAGIC) {
        return -E_UNSUPPORTED;
    }
    if (bytes.len < RECORD_HEADER_SIZE) {
        return -E_TRUNCATED;
    }
    int32_t length = (int32_t)load_be32(p + AT_LENGTH);
    if (length < RECORD_HEADER_SIZE - RECORD_LENGTH_END || length > INT32_MAX - RECORD_LENGTH_END) {
        return -E_MALFORMED;
    }
    struct record_batch b = {
        .base_offset = (int64_t)load_be64(p + AT_BASE_OFFSET),
        .len = (size_t)length + RECORD_LENGTH_END,
        .leader_epoch = (int32_t)load_be32(p + AT_LEADER_EPOCH),
        .crc = load_be32(p + AT_CRC),
        .attributes = load_be16(p + AT_ATTRIBUTES),
        .last_offset_delta = (int32_t)load_be32(p + AT_LAST_OFFSET_DELTA),
        .base_timestamp = (int64_t)load_be64(p + AT_BASE_TIMESTAMP),
        .max_timestamp = (int64_t)load_be64(p + AT_MAX_TIMESTAMP),
        .producer_id = (int64_t)load_be64(p + AT_PRODUCER_ID),
        .producer_epoch = (int16_t)load_be16(p + AT_PRODUCER_EPOCH),
        .base_sequence = (int32_t)load_be32(p + AT_BASE_SEQUENCE),
        .count = (int32_t)load_be32(p + AT_COUNT),
    };
    if (b.base_offset < 0 || b.last_offset_delta < 0 || b.count < 0 ||
        b.base_offset > INT64_MAX - 1 - b.last_offset_delta) {
        return -E_MALFORMED;
    }
    *ret_batch = b;
    return 0;
}

int record_batch_check_crc(const struct record_batch *b, struct slice bytes)
{
    CHECK(bytes.len >= b->len);
    uint32_t crc = crc32c(0, bytes.ptr + RECORD_CRC_START, b->len - RECORD_CRC_START);
    return crc == b->crc ? 0 : -E_CORRUPT;
}

void record_batch_assign(struct record_batch *b, uint8_t *bytes, int64_t base_offset,
                         int32_t leader_epoch)
{
    DCHECK(base_offset >= 0);
    store_be64(bytes + AT_BASE_OFFSET, (uint64_t)base_offset);
    store_be32(bytes + AT_LEADER_EPOCH, (uint32_t)leader_epoch);
    b->base_offset = base_offset;
    b->leader_epoch = leader_epoch;
}

void record_batch_stamp(struct record_batch *b, uint8_t *bytes, int64_t timestamp)
{
    b->attributes |= RECORD_ATTR_LOG_APPEND_TIME;
    b->max_timestamp = timestamp;
    store_be16(bytes + AT_ATTRIBUTES, b->attributes);
    store_be64(bytes + AT_MAX_TIMESTAMP, (uint64_t)timestamp);
    b->crc = crc32c(0, bytes + RECORD_CRC_START, b->len - RECORD_CRC_START);
    store_be32(bytes + AT_CRC, b->crc);
}

int record_batch_next(struct slice *bytes, struct record_batch *ret_batch, struct slice *ret_bytes)
{
    struct record_batch b;
    int err = record_batch_parse(*bytes, &b);
    if (err == -E_TRUNCATED) {
        return 0;
    }
    if (err != 0) {
        return err;
    }
    if (b.len > bytes->len) {
        return 0;
    }
    *ret_batch = b;
    if (ret_bytes != NULL) {
        *ret_bytes = slice_of(bytes->ptr, b.len);
    }
    *bytes = slice_of(bytes->ptr + b.len, bytes->len - b.len);
    return 1;
}

void record_batch_encode(const struct record_batch *b, uint8_t *bytes)
{
    CHECK(b->len >= RECORD_HEADER_SIZE && b->len <= INT32_MAX);
    store_be64(bytes + AT_BASE_OFFSET, (uint64_t)b->base_offset);
    store_be32(bytes + AT_LENGTH, (uint32_t)(b->len - RECORD_LENGTH_END));
    store_be32(bytes + AT_LEADER_EPOCH, (uint32_t)b->leader_epoch);
    bytes[AT_MAGIC] = MAGIC;
    store_be16(bytes + AT_ATTRIBUTES, b->attributes);
    store_be32(bytes + AT_LAST_OFFSET_DELTA, (uint32_t)b->last_offset_delta);
    store_be64(bytes + AT_BASE_TIMESTAMP, (uint64_t)b->base_timestamp);
    store_be64(bytes + AT_MAX_TIMESTAMP, (uint64_t)b->max_timestamp);
    store_be64(bytes + AT_PRODUCER_ID, (uint64_t)b->producer_id);
    store_be16(bytes + AT_PRODUCER_EPOCH, (uint16_t)b->producer_epoch);
    store_be32(bytes + AT_BASE_SEQUENCE, (uint32_t)b->base_sequence);
    store_be32(bytes + AT_COUNT, (uint32_t)b->count);
    store_be32(bytes + AT_CRC, crc32c(0, bytes + RECORD_CRC_START, b->len - RECORD_CRC_START));
}
