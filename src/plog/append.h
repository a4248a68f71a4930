/*
 * Appending to a log: as leader (offsets are given here) and as follower (bytes stay as they came).
 * One pwritev a call, unless a segment is full; nothing is allocated and nothing is synced.
 */
#pragma once

#include "plog/plog.h"
#include "record/batch.h"

/* One batch to append, and what became of it. */
struct plog_entry {
    uint8_t *bytes;            /* the whole batch; base offset and leader epoch are overwritten */
    struct record_batch batch; /* its header, from record_validate; base_offset set on return */
    int err;                   /* out: 0 or -E_..., see plog_append_leader */
    bool is_duplicate;        /* out: the producer sent it before; base_offset is the one of then */
    int64_t base_offset;      /* out: offset of the first record */
    int64_t log_start_offset; /* out: of the log, for the answer */
};

/*
 * Appends entries in order; each has its own answer in entry->err:
 *   0                it is in the log, or is_duplicate
 *   -E_FENCED        producer epoch older than a known one (47)
 *   -E_OUT_OF_ORDER  producer sequence has a gap (45)
 *   -E_INVALID       transactional state does not allow it (48)
 *   -E_TOO_LARGE     larger than a segment (18)
 *   -E_IO ...        the write failed
 * Returns 0, or -E_IO, -E_DISK_FULL, -E_OFFLINE...: the log is failed now (or was); entries that are
 * not in the log carry it too. The caller has checked the batches with record_validate: CRC and counts
 * are not looked at again. leader_epoch >= 0 is written into each batch.
 */
int plog_append_leader(struct plog *p, struct plog_entry *entries, int count,
                       int32_t leader_epoch) MUST_CHECK;

struct plog_appended {
    int64_t first_offset; /* of the first batch appended; the log end when none was */
    int64_t last_offset;  /* of the last */
    int64_t bytes;        /* appended */
    int batch_count;
    int64_t max_timestamp; /* ms, -1 when none */
};

/*
 * Appends batches as a leader sent them, CRC checked here (nobody else need). A partial last batch
 * is left out. Base offsets must rise from the log end on; gaps are fine (compaction at the leader).
 * All or nothing but for write errors: -E_CORRUPT, -E_MALFORMED, -E_UNSUPPORTED: bad bytes, ask again.
 * -E_OUT_OF_RANGE: a batch starts below the log end. -E_IO and kin: the log is failed.
 */
int plog_append_follower(struct plog *p, struct slice records, struct plog_appended *ret_appended,
                         struct errmsg *em) MUST_CHECK;
