/*
 * The records inside a batch, docs/spec/protocol.md 3.1: an iterator over decompressed bytes, and the
 * builder that makes a batch. Used where records must be seen: lookups by time, compaction, internal
 * topics, tools and tests; never on the produce or fetch path.
 */
#pragma once

#include "base/alloc.h"
#include "base/buf.h"
#include "record/batch.h"

struct record {
    int64_t offset;
    int64_t timestamp;  /* ms; max_timestamp of the batch when that has log-append time */
    struct slice key;   /* null slice = null */
    struct slice value; /* null slice = null */
    int32_t header_count;
    struct slice headers; /* undecoded: header_count pairs, checked */
};

/* Iterates over the records of one batch; bytes may be compressed. Owns the decompressed copy. */
struct record_iter {
    struct record_batch batch;
    struct slice left;     /* records not yet read */
    int32_t index;         /* records read so far */
    struct budget *budget; /* charged with inflated */
    uint8_t *inflated;     /* NULL when the batch is not compressed */
    size_t inflated_cap;
};

/*
 * bytes is one whole batch and is borrowed until record_iter_deinit. inflated_max bounds the
 * decompressed records, budget (may be NULL) pays for them. As record_batch_parse, and
 * -E_UNSUPPORTED, -E_CORRUPT, -E_TOO_LARGE, -E_NO_MEMORY from decompression. The CRC is not checked.
 */
int record_iter_init(struct record_iter *it, struct slice bytes, size_t inflated_max,
                     struct budget *budget) MUST_CHECK;
void record_iter_deinit(struct record_iter *it);
/* 1 with a record, 0 after the last one, -E_MALFORMED when the bytes break their format or do not
 * hold exactly batch.count records. Slices are borrowed until record_iter_deinit. */
int record_iter_next(struct record_iter *it, struct record *ret_record) MUST_CHECK;

/* Takes one header off record.headers (advance a copy of it). 1, 0 at the end, -E_MALFORMED. */
int record_header_next(struct slice *headers, struct slice *ret_key,
                       struct slice *ret_value) MUST_CHECK;

struct record_header {
    const char *key;
    struct slice value;
};

struct record_input {
    struct slice key;
    struct slice value;
    int64_t timestamp; /* ms */
    const struct record_header *headers;
    int32_t header_count;
};

/* Builds one batch. Set the fields of batch that matter (codec in attributes, producer facts, base
 * offset, leader epoch); lengths, counts, timestamps and CRC are filled in. */
struct record_builder {
    struct record_batch batch;
    struct buf records; /* encoded, uncompressed */
};

/* The batch has no producer, no epoch, base offset 0 and this codec. */
void record_builder_init(struct record_builder *b, enum record_codec codec);
void record_builder_deinit(struct record_builder *b);
void record_builder_add(struct record_builder *b, const struct record_input *record);
/* Appends the finished batch to out and empties the builder for the next one, keeping its producer
 * facts. -E_INVALID when it is empty, -E_TOO_LARGE when a buffer's bound is passed, -E_UNSUPPORTED for an unknown codec. */
int record_builder_finish(struct record_builder *b, struct buf *out) MUST_CHECK;
