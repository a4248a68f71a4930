/*
 * Walking and building the records of a batch.
 * Invariant of the iterator: `left` holds the records from `index` on; a batch whose bytes end before
 * or after its count is malformed. Pure.
 */
#include "record/records.h"

#include "base/check.h"
#include "base/reader.h"
#include "record/codec.h"

#include <stdlib.h>

int record_iter_init(struct record_iter *it, struct slice bytes, size_t inflated_max,
                     struct budget *budget)
{
    *it = (struct record_iter){.budget = budget};
    struct record_batch b;
    int err = record_batch_parse(bytes, &b);
    if (err != 0) {
        return err;
    }
    if (b.len > bytes.len) {
        return -E_TRUNCATED;
    }
    it->batch = b;
    it->left = slice_of(bytes.ptr + RECORD_HEADER_SIZE, b.len - RECORD_HEADER_SIZE);
    /* An empty batch that compaction kept has no compressed block at all. */
    if (record_batch_codec(&b) == RECORD_CODEC_NONE || (b.count == 0 && it->left.len == 0)) {
        return 0;
    }
    struct record_inflated out;
    err = record_inflate(record_batch_codec(&b), it->left, inflated_max, budget, &out);
    if (err != 0) {
        return err;
    }
    it->inflated = out.ptr;
    it->inflated_cap = out.cap;
    it->left = slice_of(out.ptr, out.len);
    return 0;
}

void record_iter_deinit(struct record_iter *it)
{
    if (it != NULL && it->inflated != NULL) {
        budget_free(it->budget, it->inflated, it->inflated_cap);
        it->inflated = NULL;
    }
}

/* A varint length and that many bytes; -1 is null where allowed. */
static struct slice read_nullable(struct reader *r)
{
    int64_t len = reader_varint(r);
    if (len < -1 || len > INT32_MAX) {
        reader_fail(r, -E_MALFORMED);
    }
    return r->err != 0 || len < 0 ? SLICE_NULL : reader_bytes(r, (size_t)len);
}

static void skip_headers(struct reader *r, int64_t count)
{
    for (int64_t i = 0; i < count && r->err == 0; i++) {
        struct slice key = read_nullable(r);
        if (slice_is_null(key)) {
            reader_fail(r, -E_MALFORMED);
        }
        (void)read_nullable(r); /* only stepped over here */
    }
}

/* body is exactly one record, without its length. */
static int record_parse(const struct record_batch *b, struct slice body, struct record *ret_record)
{
    struct reader r;
    reader_init(&r, body);
    (void)reader_u8(&r); /* attributes: unused, readers ignore them */
    int64_t timestamp_delta = reader_varint(&r);
    int64_t offset_delta = reader_varint(&r);
    struct slice key = read_nullable(&r);
    struct slice value = read_nullable(&r);
    int64_t header_count = reader_varint(&r);
    if (header_count < 0 || (size_t)header_count > reader_left(&r) / 2) {
        reader_fail(&r, -E_MALFORMED);
    }
    const uint8_t *headers = r.ptr;
    skip_headers(&r, header_count);
    int64_t timestamp = 0;
    if (__builtin_add_overflow(b->base_timestamp, timestamp_delta, &timestamp) ||
        offset_delta < 0 || offset_delta > b->last_offset_delta || reader_left(&r) != 0) {
        reader_fail(&r, -E_MALFORMED);
    }
    if (r.err != 0) {
        return -E_MALFORMED;
    }
    bool is_append_time = (b->attributes & RECORD_ATTR_LOG_APPEND_TIME) != 0;
    *ret_record = (struct record){
        .offset = b->base_offset + offset_delta,
        .timestamp = is_append_time ? b->max_timestamp : timestamp,
        .key = key,
        .value = value,
        .header_count = (int32_t)header_count,
        .headers = slice_of(headers, (size_t)(r.end - headers)),
    };
    return 0;
}

int record_iter_next(struct record_iter *it, struct record *ret_record)
{
    if (it->index == it->batch.count) {
        return it->left.len == 0 ? 0 : -E_MALFORMED;
    }
    struct reader r;
    reader_init(&r, it->left);
    int64_t len = reader_varint(&r);
    if (r.err != 0 || len < 0 || (uint64_t)len > reader_left(&r)) {
        return -E_MALFORMED;
    }
    struct slice body = reader_bytes(&r, (size_t)len);
    int err = record_parse(&it->batch, body, ret_record);
    if (err != 0) {
        return err;
    }
    it->left = slice_of(r.ptr, reader_left(&r));
    it->index++;
    return 1;
}

int record_header_next(struct slice *headers, struct slice *ret_key, struct slice *ret_value)
{
    if (headers->len == 0) {
        return 0;
    }
    struct reader r;
    reader_init(&r, *headers);
    struct slice key = read_nullable(&r);
    struct slice value = read_nullable(&r);
    if (r.err != 0 || slice_is_null(key)) {
        return -E_MALFORMED;
    }
    *ret_key = key;
    *ret_value = value;
    *headers = slice_of(r.ptr, reader_left(&r));
    return 1;
}

/* ---- building ---- */

void record_builder_init(struct record_builder *b, enum record_codec codec)
{
    *b = (struct record_builder){.batch = {.leader_epoch = RECORD_NO_EPOCH,
                                           .attributes = (uint16_t)codec,
                                           .base_timestamp = RECORD_NO_TIMESTAMP,
                                           .max_timestamp = RECORD_NO_TIMESTAMP,
                                           .producer_id = RECORD_NO_PRODUCER_ID,
                                           .producer_epoch = RECORD_NO_EPOCH,
                                           .base_sequence = RECORD_NO_SEQUENCE}};
    buf_init(&b->records);
}

void record_builder_deinit(struct record_builder *b)
{
    buf_deinit(&b->records);
}

static size_t varint_size(int64_t v)
{
    uint64_t raw = ((uint64_t)v << 1) ^ (uint64_t)(v >> 63);
    size_t size = 1;
    while (raw >= 0x80) {
        raw >>= 7;
        size++;
    }
    return size;
}

static size_t nullable_size(struct slice s)
{
    return slice_is_null(s) ? varint_size(-1) : varint_size((int64_t)s.len) + s.len;
}

static void put_nullable(struct buf *out, struct slice s)
{
    buf_put_varint(out, slice_is_null(s) ? -1 : (int64_t)s.len);
    buf_put_slice(out, s);
}

void record_builder_add(struct record_builder *b, const struct record_input *record)
{
    if (b->batch.count == 0) {
        b->batch.base_timestamp = record->timestamp;
        b->batch.max_timestamp = record->timestamp;
    }
    b->batch.max_timestamp = MAX(b->batch.max_timestamp, record->timestamp);
    int64_t timestamp_delta = record->timestamp - b->batch.base_timestamp;
    int64_t offset_delta = b->batch.count;
    size_t size = 1 + varint_size(timestamp_delta) + varint_size(offset_delta) +
                  nullable_size(record->key) + nullable_size(record->value) +
                  varint_size(record->header_count);
    for (int32_t i = 0; i < record->header_count; i++) {
        size += nullable_size(slice_str(record->headers[i].key));
        size += nullable_size(record->headers[i].value);
    }
    struct buf *out = &b->records;
    buf_put_varint(out, (int64_t)size);
    buf_put_u8(out, 0);
    buf_put_varint(out, timestamp_delta);
    buf_put_varint(out, offset_delta);
    put_nullable(out, record->key);
    put_nullable(out, record->value);
    buf_put_varint(out, record->header_count);
    for (int32_t i = 0; i < record->header_count; i++) {
        put_nullable(out, slice_str(record->headers[i].key));
        put_nullable(out, record->headers[i].value);
    }
    b->batch.count++;
}

int record_builder_finish(struct record_builder *b, struct buf *out)
{
    if (b->batch.count == 0) {
        return -E_INVALID;
    }
    size_t start = out->len;
    (void)buf_put_space(out, RECORD_HEADER_SIZE); /* a failure shows in buf_failed below */
    int err = 0;
    if (record_batch_codec(&b->batch) == RECORD_CODEC_NONE) {
        buf_put_slice(out, buf_slice(&b->records));
    } else {
        err = record_deflate(record_batch_codec(&b->batch), buf_slice(&b->records), out);
    }
    if (err == 0 && (buf_failed(&b->records) || buf_failed(out))) {
        err = -E_TOO_LARGE;
    }
    if (err == 0) {
        b->batch.len = out->len - start;
        b->batch.last_offset_delta = b->batch.count - 1;
        record_batch_encode(&b->batch, out->ptr + start);
    }
    buf_clear(&b->records);
    b->batch.count = 0;
    return err;
}
