/*
 * What a broker checks of the records a client sends, docs/spec/protocol.md 3.5, rules 1-6: header
 * facts and one CRC pass over the bytes. Records are walked only when asked.
 */
#pragma once

#include "record/batch.h"

/* Why a batch is refused; the comment names the protocol error it becomes. */
enum record_reason {
    RECORD_OK = 0,
    RECORD_EMPTY,         /* INVALID_RECORD 87: records null or empty */
    RECORD_NOT_ONE_BATCH, /* 87: bytes behind the first batch */
    RECORD_BAD_MAGIC,     /* 87 */
    RECORD_BAD_OFFSET,    /* 87: base offset is not 0 */
    RECORD_BAD_COUNT,     /* 87: count and last offset delta disagree, or records do */
    RECORD_IS_CONTROL,    /* 87: clients must not write control batches */
    RECORD_NO_SEQUENCES,  /* 87: a producer id without a sequence or epoch */
    RECORD_NULL_KEY,      /* 87: topic compacted, key null */
    RECORD_TOO_LARGE,     /* MESSAGE_TOO_LARGE 10 */
    RECORD_BAD_LENGTH,    /* CORRUPT_MESSAGE 2: lengths that cannot be */
    RECORD_BAD_CRC,       /* 2 */
    RECORD_BAD_CODEC,     /* UNSUPPORTED_COMPRESSION_TYPE 76: ids 5-7, or zstd where not allowed */
    RECORD_BAD_RECORDS,   /* 87: the records themselves break their format (walked only) */
    RECORD_BAD_TIMESTAMP, /* INVALID_TIMESTAMP 32: outside the allowed window (walked only) */
};

struct record_limits {
    size_t batch_bytes_max;    /* max.message.bytes */
    bool allow_zstd;           /* false for Produce below version 7 */
    bool walk_records;         /* decode every record: compact topics, time limits, paranoia */
    bool require_keys;         /* topic is compacted; needs walk_records */
    int64_t timestamp_min;     /* ms, smallest record timestamp allowed; needs walk_records */
    int64_t timestamp_max;     /* ms, largest; INT64_MAX = no limit */
    size_t inflated_bytes_max; /* bound for a decompressed batch when walking */
};

/* Limits that refuse nothing but what the format forbids; set the fields you mean to bound. */
struct record_limits record_limits_default(void);

/*
 * Checks that records hold exactly one batch a client may append; ret_batch is its header, ready for
 * plog_append_leader, which relies on this check and does not look at the CRC again.
 * 0, or -E_INVALID, -E_TOO_LARGE, -E_CORRUPT, -E_UNSUPPORTED with *ret_reason saying exactly why.
 * ret_bad_index (may be NULL): the index of the record at fault when records were walked, else -1.
 */
int record_validate(struct slice records, const struct record_limits *limits,
                    struct record_batch *ret_batch, enum record_reason *ret_reason,
                    int32_t *ret_bad_index) MUST_CHECK;
/* A sentence part for the reason, for error_message fields. */
const char *record_reason_text(enum record_reason reason);
