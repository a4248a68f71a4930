/*
 * Reading from a log: which bytes of which file hold the records from an offset on. The bytes
 * themselves are never copied here; they go out by sendfile.
 */
#pragma once

#include "plog/plog.h"

/* Bytes of a file that are not in memory. */
struct plog_cold {
    struct env_file *file; /* a reference the caller owns */
    uint64_t pos;
    uint64_t len;
    bool is_log;       /* of the log itself, not of an index */
    const void *owner; /* private */
};

struct plog_read_args {
    int64_t offset;     /* first record wanted; the batch that holds it may start below */
    int64_t upper;      /* no batch with a record at or above this is returned: the high watermark,
                           the last stable offset, or INT64_MAX for the log end */
    uint32_t max_bytes; /* whole batches up to this size */
    bool min_one;       /* return the first batch even if it is larger than max_bytes */
};

/* Bytes of one segment file. */
struct plog_span {
    struct env_file *file; /* a reference the caller owns (env_file_unref); NULL when len is 0 */
    uint64_t pos;
    uint32_t len;
    int64_t next_offset; /* behind the last record in it; args.offset when len is 0 */
};

/*
 * Finds the span of whole batches from args->offset on, within one segment. len 0 with 0 returned:
 * nothing there yet (offset at upper or at the end), or the first batch does not fit.
 * -E_OUT_OF_RANGE: offset below the log start or above the log end. -E_IO, -E_CORRUPT, -E_OFFLINE.
 * The lookup may wait for the disk, and so may whoever sends the span.
 */
int plog_read(struct plog *p, const struct plog_read_args *args,
              struct plog_span *ret_span) MUST_CHECK;
/* The same without waiting. -E_AGAIN: what is in *ret_cold has to be read into memory first
 * (env_file_warm, then plog_warmed). A span that is not in memory is cut to 8 MiB before. */
int plog_read_now(struct plog *p, const struct plog_read_args *args, struct plog_span *ret_span,
                  struct plog_cold *ret_cold) MUST_CHECK;
/* The range was read into memory: for some seconds it is given out even if it is gone again, so that a
 * reader comes on under any pressure. Of cold, the file is not looked at. */
void plog_warmed(struct plog *p, const struct plog_cold *cold);

struct plog_time_hit {
    int64_t offset;    /* of the record, -1 when no record qualifies */
    int64_t timestamp; /* of it, -1 */
    int32_t leader_epoch;
};

/* The first record (offset >= log start, < upper) whose timestamp is at least timestamp. 0 with offset -1 when there is none. -E_IO, -E_CORRUPT, -E_OFFLINE. */
int plog_find_time(struct plog *p, int64_t timestamp, int64_t upper,
                   struct plog_time_hit *ret_hit) MUST_CHECK;
/* The first record below the log end with the largest timestamp of the log (ListOffsets -3). */
int plog_find_max_time(struct plog *p, struct plog_time_hit *ret_hit) MUST_CHECK;
