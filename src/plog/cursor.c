/*
 * Reading headers in chunks. Invariant: scratch holds [chunk_pos, chunk_pos + chunk_len) of the file.
 * Runs on the home env.
 */
#include "plog/cursor.h"

#include "base/crc32c.h"
#include "plog/cold.h"

void plog_cursor_init(struct plog_cursor *c, struct plog_files *files, struct env_file *file,
                      size_t chunk)
{
    CHECK(chunk <= PLOG_SCRATCH_SIZE);
    *c = (struct plog_cursor){.files = files, .file = file, .chunk = chunk};
}

void plog_cursor_seek(struct plog_cursor *c, uint64_t pos, uint64_t end)
{
    CHECK(pos <= end);
    c->pos = pos;
    c->batch_pos = pos;
    c->end = end;
}

/* Makes at least one byte, and `want` if the file has them, available at pos. */
static int cursor_fill(struct plog_cursor *c, uint64_t pos, size_t want, struct slice *ret_bytes)
{
    bool is_inside = pos >= c->chunk_pos && pos + want <= c->chunk_pos + c->chunk_len;
    if (!is_inside) {
        size_t len = (size_t)MIN((uint64_t)MAX(c->chunk, want), c->end - pos);
        CHECK(len <= PLOG_SCRATCH_SIZE);
        c->chunk_pos = pos;
        c->chunk_len = 0;
        struct plog_cold_file from = {.owner = c->owner, .file = c->file, .pos = pos};
        int err = plog_cold_read(c->files, &from, c->files->scratch, len, &c->chunk_len);
        if (err != 0) {
            return err;
        }
    }
    size_t skip = (size_t)(pos - c->chunk_pos);
    *ret_bytes = slice_of(c->files->scratch + skip, c->chunk_len - skip);
    return 0;
}

int plog_cursor_next(struct plog_cursor *c, struct record_batch *ret_batch)
{
    if (c->pos == c->end) {
        return 0;
    }
    if (c->end - c->pos < RECORD_HEADER_SIZE) {
        return -E_CORRUPT;
    }
    struct slice bytes;
    int err = cursor_fill(c, c->pos, RECORD_HEADER_SIZE, &bytes);
    if (err != 0) {
        return err;
    }
    struct record_batch b;
    if (record_batch_parse(bytes, &b) != 0 || b.len > c->end - c->pos) {
        return -E_CORRUPT;
    }
    c->batch_pos = c->pos;
    c->pos += b.len;
    *ret_batch = b;
    return 1;
}

int plog_cursor_check_crc(struct plog_cursor *c, const struct record_batch *b)
{
    uint32_t crc = 0;
    uint64_t at = c->batch_pos + RECORD_CRC_START;
    while (at < c->pos) {
        struct slice bytes;
        int err = cursor_fill(c, at, 1, &bytes);
        if (err != 0) {
            return err;
        }
        if (bytes.len == 0) {
            return -E_CORRUPT; /* the file is shorter than it said */
        }
        size_t len = (size_t)MIN((uint64_t)bytes.len, c->pos - at);
        crc = crc32c(crc, bytes.ptr, len);
        at += len;
    }
    return crc == b->crc ? 0 : -E_CORRUPT;
}

int plog_cursor_bytes(struct plog_cursor *c, const struct record_batch *b, struct slice *ret_bytes)
{
    if (b->len > PLOG_SCRATCH_SIZE) {
        return -E_TOO_LARGE;
    }
    struct slice bytes;
    int err = cursor_fill(c, c->batch_pos, b->len, &bytes);
    if (err != 0) {
        return err;
    }
    if (bytes.len < b->len) {
        return -E_CORRUPT;
    }
    *ret_bytes = slice_of(bytes.ptr, b->len);
    return 0;
}
