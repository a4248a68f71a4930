/*
 * Rules 1-6 of docs/spec/protocol.md 3.5 in order, so that the reason given is the first that applies
 * there. Pure.
 */
#include "record/validate.h"

#include "base/check.h"
#include "record/records.h"

#define INFLATED_DEFAULT ((size_t)64 << 20)

struct record_limits record_limits_default(void)
{
    return (struct record_limits){.batch_bytes_max = SIZE_MAX,
                                  .allow_zstd = true,
                                  .timestamp_min = INT64_MIN,
                                  .timestamp_max = INT64_MAX,
                                  .inflated_bytes_max = INFLATED_DEFAULT};
}

static const struct {
    int err;
    const char *text;
} reasons[] = {
    [RECORD_OK] = {0, "fine"},
    [RECORD_EMPTY] = {-E_INVALID, "no records"},
    [RECORD_NOT_ONE_BATCH] = {-E_INVALID, "more than one record batch"},
    [RECORD_BAD_MAGIC] = {-E_INVALID, "record format other than version 2"},
    [RECORD_BAD_OFFSET] = {-E_INVALID, "base offset is not 0"},
    [RECORD_BAD_COUNT] = {-E_INVALID, "record count and offset deltas disagree"},
    [RECORD_IS_CONTROL] = {-E_INVALID, "clients may not write control batches"},
    [RECORD_NO_SEQUENCES] = {-E_INVALID, "producer id without epoch or sequence"},
    [RECORD_NULL_KEY] = {-E_INVALID, "record without key in a compacted topic"},
    [RECORD_TOO_LARGE] = {-E_TOO_LARGE, "batch is larger than max.message.bytes"},
    [RECORD_BAD_LENGTH] = {-E_CORRUPT, "impossible length in the batch header"},
    [RECORD_BAD_CRC] = {-E_CORRUPT, "CRC does not match"},
    [RECORD_BAD_CODEC] = {-E_UNSUPPORTED, "compression type not supported here"},
    [RECORD_BAD_RECORDS] = {-E_INVALID, "records break their format"},
    [RECORD_BAD_TIMESTAMP] = {-E_INVALID, "timestamp outside the allowed window"},
};

const char *record_reason_text(enum record_reason reason)
{
    CHECK((size_t)reason < ARRAY_LEN(reasons));
    return reasons[reason].text;
}

/* The frame of the batch: rule 1, 2, 3 and the lengths of 4. */
static enum record_reason check_frame(struct slice records, const struct record_limits *limits,
                                      struct record_batch *ret_batch)
{
    if (records.len == 0) {
        return RECORD_EMPTY;
    }
    int err = record_batch_parse(records, ret_batch);
    if (err == -E_UNSUPPORTED) {
        return RECORD_BAD_MAGIC;
    }
    if (err != 0 || ret_batch->len > records.len) {
        return RECORD_BAD_LENGTH;
    }
    if (ret_batch->len < records.len) {
        return RECORD_NOT_ONE_BATCH;
    }
    if (ret_batch->base_offset != 0) {
        return RECORD_BAD_OFFSET;
    }
    return ret_batch->len > limits->batch_bytes_max ? RECORD_TOO_LARGE : RECORD_OK;
}

/* Header facts: rules 4 (CRC), 5, 6 and the codec. */
static enum record_reason check_facts(struct slice records, const struct record_limits *limits,
                                      const struct record_batch *b)
{
    if (record_batch_check_crc(b, records) != 0) {
        return RECORD_BAD_CRC;
    }
    int codec = record_batch_codec(b);
    if (codec >= RECORD_CODEC_COUNT || (codec == RECORD_CODEC_ZSTD && !limits->allow_zstd)) {
        return RECORD_BAD_CODEC;
    }
    if (b->count <= 0 || b->count - 1 != b->last_offset_delta) {
        return RECORD_BAD_COUNT;
    }
    if (record_batch_is_control(b)) {
        return RECORD_IS_CONTROL;
    }
    if (b->producer_id >= 0 && (b->base_sequence < 0 || b->producer_epoch < 0)) {
        return RECORD_NO_SEQUENCES;
    }
    return b->producer_id < 0 && record_batch_is_transactional(b) ? RECORD_NO_SEQUENCES : RECORD_OK;
}

static enum record_reason check_record(const struct record_iter *it, const struct record *record,
                                       const struct record_limits *limits)
{
    if (record->offset != it->batch.base_offset + it->index - 1) {
        return RECORD_BAD_COUNT;
    }
    if (limits->require_keys && slice_is_null(record->key)) {
        return RECORD_NULL_KEY;
    }
    if (record->timestamp < limits->timestamp_min || record->timestamp > limits->timestamp_max) {
        return RECORD_BAD_TIMESTAMP;
    }
    return RECORD_OK;
}

static enum record_reason walk_records(struct slice records, const struct record_limits *limits,
                                       int32_t *ret_bad_index)
{
    struct record_iter it;
    if (record_iter_init(&it, records, limits->inflated_bytes_max, NULL) != 0) {
        return RECORD_BAD_RECORDS;
    }
    enum record_reason reason = RECORD_OK;
    while (reason == RECORD_OK) {
        struct record record;
        int more = record_iter_next(&it, &record);
        if (more == 0) {
            break;
        }
        reason = more < 0 ? RECORD_BAD_RECORDS : check_record(&it, &record, limits);
    }
    if (reason != RECORD_OK && reason != RECORD_BAD_RECORDS) {
        *ret_bad_index = it.index - 1;
    }
    record_iter_deinit(&it);
    return reason;
}

int record_validate(struct slice records, const struct record_limits *limits,
                    struct record_batch *ret_batch, enum record_reason *ret_reason,
                    int32_t *ret_bad_index)
{
    struct record_batch b;
    int32_t bad_index = -1;
    enum record_reason reason = check_frame(records, limits, &b);
    if (reason == RECORD_OK) {
        reason = check_facts(records, limits, &b);
    }
    if (reason == RECORD_OK && limits->walk_records) {
        reason = walk_records(records, limits, &bad_index);
    }
    *ret_reason = reason;
    if (ret_bad_index != NULL) {
        *ret_bad_index = bad_index;
    }
    if (reason == RECORD_OK) {
        *ret_batch = b;
    }
    return reasons[reason].err;
}
