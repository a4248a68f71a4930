/*
 * Steps over the batch headers of a .log file, reading it in chunks through the shard's scratch memory:
 * one cursor of a plog_files may be in use at a time.
 */
#pragma once

#include "plog/files.h"
#include "record/batch.h"

/* Chunk for finding one batch near an index entry, and for reading everything. */
#define PLOG_CURSOR_NEAR ((size_t)8 << 10)
#define PLOG_CURSOR_SCAN PLOG_SCRATCH_SIZE

struct plog_cursor {
    /* private */
    struct plog_files *files; /* borrowed */
    const void *owner;        /* of the file, see cold.h */
    struct env_file *file;    /* borrowed */
    size_t chunk;             /* bytes read at once */
    uint64_t end;             /* nothing is read behind */
    uint64_t chunk_pos;       /* what scratch holds */
    size_t chunk_len;
    /* readable */
    uint64_t pos;       /* where the next batch starts */
    uint64_t batch_pos; /* where the batch last returned starts */
};

void plog_cursor_init(struct plog_cursor *c, struct plog_files *files, struct env_file *file,
                      size_t chunk);
/* From pos on, up to end (a batch that passes it is corrupt). */
void plog_cursor_seek(struct plog_cursor *c, uint64_t pos, uint64_t end);
/* 1 with a header, 0 at the end, -E_CORRUPT when the bytes at pos are no whole batch, -E_IO. */
int plog_cursor_next(struct plog_cursor *c, struct record_batch *ret_batch) MUST_CHECK;
/* The CRC of the batch last returned: 0, -E_CORRUPT, -E_IO. */
int plog_cursor_check_crc(struct plog_cursor *c, const struct record_batch *b) MUST_CHECK;
/* The bytes of the batch last returned, borrowed until the next call; -E_TOO_LARGE when the batch is
 * larger than the scratch memory. */
int plog_cursor_bytes(struct plog_cursor *c, const struct record_batch *b,
                      struct slice *ret_bytes) MUST_CHECK;
