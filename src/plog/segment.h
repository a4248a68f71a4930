/*
 * One segment of a log: the .log file and its two indexes. Knows batches, not their meaning for the
 * log. The active segment has its indexes in memory (their files trail behind and are brought up by
 * plog_segment_write_indexes); a sealed one has them in its files only. Index facts of a sealed
 * segment are read at first need.
 */
#pragma once

#include "plog/cursor.h"
#include "plog/index.h"

struct plog_segment {
    struct list_node lru;     /* in files->open while log_file is open */
    struct plog_files *files; /* borrowed */
    const char *folder;       /* borrowed from the log */
    int64_t base_offset;
    int64_t next_offset;          /* behind the last record */
    uint64_t size;                /* bytes of .log */
    uint64_t unindexed;           /* bytes since the last index entry */
    int64_t first_timestamp;      /* max_timestamp of the first batch, ms; -1 unknown */
    int64_t max_timestamp;        /* ms, -1 none; see plog_segment_load */
    int64_t max_timestamp_offset; /* last offset of the batch that has it */
    struct plog_index offsets;
    struct plog_index times;
    struct env_file *log_file; /* these three NULL when closed */
    struct env_file *offsets_file;
    struct env_file *times_file;
    bool is_loaded; /* index facts and max_timestamp are known */
    bool is_dirty;  /* has bytes that no sync covers */
};

#define PLOG_LOG_SUFFIX   ".log"
#define PLOG_INDEX_SUFFIX ".index"
#define PLOG_TIME_SUFFIX  ".timeindex"
#define PLOG_TXN_SUFFIX   ".txnindex"

/* <folder>/<20 digits><suffix>, heap. */
char *plog_segment_path(const char *folder, int64_t base_offset, const char *suffix);

/* A new, empty, active segment: makes the .log file (whatever was there is gone). */
int plog_segment_create(struct plog_files *files, const char *folder, int64_t base_offset,
                        struct plog_segment **ret_segment) MUST_CHECK;
/* An existing one, nothing read but the size; next_offset is the base until somebody sets it. */
int plog_segment_open(struct plog_files *files, const char *folder, int64_t base_offset,
                      struct plog_segment **ret_segment) MUST_CHECK;
/* Closes and frees; files stay. NULL is fine. */
void plog_segment_free(struct plog_segment *s);
/* Closes the descriptors; they are opened again at need. */
void plog_segment_close_files(struct plog_segment *s);
/* The open .log file, borrowed; counts as a use. */
int plog_segment_file(struct plog_segment *s, struct env_file **ret_file) MUST_CHECK;

/* Index facts of a sealed segment. -E_CORRUPT, -E_NOT_FOUND: the indexes are no good, rebuild. */
int plog_segment_load(struct plog_segment *s) MUST_CHECK;
/* Makes an existing segment active: indexes into memory, headers behind the last index entry read.
 * -E_CORRUPT, -E_NOT_FOUND: recover it. */
int plog_segment_activate(struct plog_segment *s, int64_t index_interval) MUST_CHECK;

typedef void (*plog_segment_batch_fn)(void *arg, const struct record_batch *b);
/*
 * Reads the whole segment, checks every batch (CRC, offsets rising) and builds the indexes anew. The
 * segment is active afterwards and ends at the first bad byte; fn sees each good batch. *ret_bad: bytes
 * behind it that are still in the file: plog_segment_cut removes them.
 */
int plog_segment_recover(struct plog_segment *s, int64_t index_interval, plog_segment_batch_fn fn,
                         void *arg, uint64_t *ret_bad) MUST_CHECK;
/* Cuts the file to the segment's size, synced. */
int plog_segment_cut(struct plog_segment *s) MUST_CHECK;

/* Accounts for a batch that lies at the end of the file now: size, next_offset, indexes. Active only. */
void plog_segment_note(struct plog_segment *s, const struct record_batch *b,
                       int64_t index_interval);
/* Brings the index files up to the memory; makes them when missing. */
int plog_segment_write_indexes(struct plog_segment *s) MUST_CHECK;
/* As before a clean stop or a roll: adds the last time index entry, writes the indexes. */
int plog_segment_finish(struct plog_segment *s) MUST_CHECK;
/* Active to sealed: finishes, and gives the memory of the indexes back. */
int plog_segment_seal(struct plog_segment *s) MUST_CHECK;
/* Syncs the files, blocking. */
int plog_segment_sync(struct plog_segment *s) MUST_CHECK;

/* Where a batch starts. */
struct plog_place {
    uint64_t pos;
    int64_t base_offset; /* of the batch there; next_offset of the segment at its end */
};

/* The first batch whose last record is at or above offset, or the end of the segment. */
int plog_segment_locate(struct plog_segment *s, int64_t offset,
                        struct plog_place *ret_place) MUST_CHECK;
/* The last batch start at or below pos_max that is reachable from start (a batch start itself); the
 * segment's end counts as one. */
int plog_segment_locate_pos(struct plog_segment *s, uint64_t start, uint64_t pos_max,
                            struct plog_place *ret_place) MUST_CHECK;
/* Where the batch that starts at pos ends. */
int plog_segment_batch_end(struct plog_segment *s, uint64_t pos,
                           struct plog_place *ret_place) MUST_CHECK;
/* The first batch at or above start whose max_timestamp is at least timestamp: 1, 0 none. */
int plog_segment_locate_time(struct plog_segment *s, int64_t timestamp, struct plog_place start,
                             struct plog_place *ret_place) MUST_CHECK;

/* Cuts the segment before the batch that holds offset (activates it). Nothing is synced. */
int plog_segment_truncate(struct plog_segment *s, int64_t offset,
                          int64_t index_interval) MUST_CHECK;
