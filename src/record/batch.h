/*
 * The header of a record batch (magic 2), docs/spec/protocol.md 3.1: parsed once into a struct, and
 * the two places a broker rewrites, neither of which the CRC covers.
 * Nothing here looks into the records: that is record/records.h.
 */
#pragma once

#include "base/error.h"
#include "base/slice.h"

#define RECORD_HEADER_SIZE    61 /* bytes before the records */
#define RECORD_LENGTH_END     12 /* bytes before and in batch_length */
#define RECORD_CRC_START      21 /* the CRC covers from here to the end */
#define RECORD_NO_TIMESTAMP   (-1)
#define RECORD_NO_PRODUCER_ID (-1)
#define RECORD_NO_SEQUENCE    (-1)
#define RECORD_NO_EPOCH       (-1)

enum record_codec {
    RECORD_CODEC_NONE = 0,
    RECORD_CODEC_GZIP = 1,
    RECORD_CODEC_SNAPPY = 2,
    RECORD_CODEC_LZ4 = 3,
    RECORD_CODEC_ZSTD = 4,
    RECORD_CODEC_COUNT
};

enum record_attributes {
    RECORD_ATTR_CODEC_MASK = 7,
    RECORD_ATTR_LOG_APPEND_TIME = 8,
    RECORD_ATTR_TRANSACTIONAL = 16,
    RECORD_ATTR_CONTROL = 32,
    RECORD_ATTR_DELETE_HORIZON = 64,
};

struct record_batch {
    int64_t base_offset;
    size_t len; /* bytes of the whole batch, header included; >= RECORD_HEADER_SIZE */
    int32_t leader_epoch;
    uint32_t crc;
    uint16_t attributes;
    int32_t last_offset_delta; /* >= 0 */
    int64_t base_timestamp;    /* ms */
    int64_t max_timestamp;     /* ms */
    int64_t producer_id;       /* -1 = none */
    int16_t producer_epoch;
    int32_t base_sequence;
    int32_t count; /* records; 0 is possible after compaction */
};

static inline int64_t record_batch_last_offset(const struct record_batch *b)
{
    return b->base_offset + b->last_offset_delta;
}
static inline int64_t record_batch_next_offset(const struct record_batch *b)
{
    return record_batch_last_offset(b) + 1;
}
static inline bool record_batch_is_control(const struct record_batch *b)
{
    return (b->attributes & RECORD_ATTR_CONTROL) != 0;
}
static inline bool record_batch_is_transactional(const struct record_batch *b)
{
    return (b->attributes & RECORD_ATTR_TRANSACTIONAL) != 0;
}
static inline int record_batch_codec(const struct record_batch *b)
{
    return b->attributes & RECORD_ATTR_CODEC_MASK;
}
/* The sequence of the last record; sequences wrap from 2^31-1 to 0. */
int32_t record_batch_last_sequence(const struct record_batch *b);
/* The sequence that lies `step` records behind `sequence`. */
int32_t record_sequence_add(int32_t sequence, int32_t step);

/*
 * Reads the header at the start of bytes, which may be only a part of the batch (61 bytes are
 * enough). -E_TRUNCATED: fewer than 61 bytes. -E_UNSUPPORTED: magic is not 2. -E_MALFORMED: a length,
 * delta, count or offset that cannot be. The CRC and the batch's presence are not looked at.
 */
int record_batch_parse(struct slice bytes, struct record_batch *ret_batch) MUST_CHECK;
/* bytes starts with the whole batch b: 0, or -E_CORRUPT when the CRC does not fit. */
int record_batch_check_crc(const struct record_batch *b, struct slice bytes) MUST_CHECK;

/* Writes base offset and leader epoch into the batch (at least 61 bytes) and into b. */
void record_batch_assign(struct record_batch *b, uint8_t *bytes, int64_t base_offset,
                         int32_t leader_epoch);
/* Turns the batch into one of log-append time: sets bit 3 and max_timestamp, renews the CRC. */
void record_batch_stamp(struct record_batch *b, uint8_t *bytes, int64_t timestamp);

/* Writes the header of a whole batch of b->len bytes whose records are in place; b->crc is not used,
 * the CRC is computed. */
void record_batch_encode(const struct record_batch *b, uint8_t *bytes);

/*
 * Steps over a run of batches. *bytes is advanced behind the batch; ret_bytes (may be NULL) is the
 * batch itself. Returns 1 with a batch, 0 at the end or at a partial last batch (*bytes is what is
 * left), else as record_batch_parse.
 */
int record_batch_next(struct slice *bytes, struct record_batch *ret_batch,
                      struct slice *ret_bytes) MUST_CHECK;
