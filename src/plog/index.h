/*
 * A sparse index of a segment (docs/spec/log-format.md, 3): .index (offset -> position, 8 bytes an
 * entry) or .timeindex (timestamp -> offset, 12 bytes).
 * The index of the active segment is in memory and its file trails behind; that of a closed one is
 * only in its file and is searched by pread.
 */
#pragma once

#include "env/env.h"

/* What a search compares. */
enum plog_index_field {
    PLOG_INDEX_OFFSET,      /* .index: relative offset, i32 at 0 */
    PLOG_INDEX_POSITION,    /* .index: position, i32 at 4 */
    PLOG_INDEX_TIME,        /* .timeindex: timestamp, i64 at 0 */
    PLOG_INDEX_TIME_OFFSET, /* .timeindex: relative offset, i32 at 8 */
};

#define PLOG_INDEX_OFFSET_SIZE 8
#define PLOG_INDEX_TIME_SIZE   12

struct plog_files;

struct plog_index {
    struct plog_files *files; /* of the log; NULL: reads wait for the disk */
    uint32_t entry_size;      /* bytes */
    uint32_t count;           /* entries */
    uint32_t written;         /* of these, entries that are in the file; count when not in memory */
    uint32_t cap;             /* entries that fit the memory */
    uint8_t *entries;         /* NULL = not in memory */
    bool in_memory;
};

void plog_index_init(struct plog_index *x, uint32_t entry_size);
void plog_index_deinit(struct plog_index *x);
/* Empty and in memory. */
void plog_index_reset(struct plog_index *x);
/* Forgets the memory; everything must be written. */
void plog_index_release(struct plog_index *x);
/* Takes the size of the file as the count. -E_CORRUPT when it is not a multiple of the entry size. */
int plog_index_attach(struct plog_index *x, struct env_file *file) MUST_CHECK;
/* Reads an attached index into memory. */
int plog_index_load(struct plog_index *x, struct env_file *file) MUST_CHECK;
/* In memory only. */
void plog_index_add_offset(struct plog_index *x, int32_t relative_offset, int32_t pos);
void plog_index_add_time(struct plog_index *x, int64_t timestamp, int32_t relative_offset);
static inline uint32_t plog_index_unwritten(const struct plog_index *x)
{
    return x->count - x->written;
}
/* Brings the file up to the memory. */
int plog_index_write(struct plog_index *x, struct env_file *file) MUST_CHECK;
/* Keeps the first count entries; file may be NULL when there is none yet. */
int plog_index_cut(struct plog_index *x, struct env_file *file, uint32_t count) MUST_CHECK;
/* Entry i's field. file may be NULL for an index in memory. */
int plog_index_get(const struct plog_index *x, struct env_file *file, uint32_t i,
                   enum plog_index_field field, int64_t *ret_value) MUST_CHECK;
/* The number of entries whose field is at most key: the last of them is the one at or below. */
int plog_index_search(const struct plog_index *x, struct env_file *file,
                      enum plog_index_field field, int64_t key, uint32_t *ret_count) MUST_CHECK;
