/*
 * Index entries in memory or in a file behind the same search.
 * Invariant: written <= count; without memory written == count. Runs on the home env.
 */
#include "plog/index.h"

#include "base/alloc.h"
#include "base/check.h"
#include "base/endian.h"
#include "plog/cold.h"

#include <stdlib.h>

#define FIRST_CAP 16

void plog_index_init(struct plog_index *x, uint32_t entry_size)
{
    *x = (struct plog_index){.entry_size = entry_size};
}

void plog_index_deinit(struct plog_index *x)
{
    free(x->entries);
    x->entries = NULL;
}

void plog_index_reset(struct plog_index *x)
{
    x->count = 0;
    x->written = 0;
    x->in_memory = true;
}

void plog_index_release(struct plog_index *x)
{
    CHECK(x->written == x->count);
    free(x->entries);
    x->entries = NULL;
    x->cap = 0;
    x->in_memory = false;
}

int plog_index_attach(struct plog_index *x, struct env_file *file)
{
    uint64_t size = 0;
    int err = env_file_size(file, &size);
    if (err != 0) {
        return err;
    }
    if (size % x->entry_size != 0 || size > INT32_MAX) {
        return -E_CORRUPT;
    }
    x->count = (uint32_t)(size / x->entry_size);
    x->written = x->count;
    return 0;
}

static void index_reserve(struct plog_index *x, uint32_t count)
{
    if (count > x->cap) {
        uint32_t cap = MAX(MAX(FIRST_CAP, count), x->cap * 2);
        x->entries = xrealloc(x->entries, (size_t)cap * x->entry_size);
        x->cap = cap;
    }
}

int plog_index_load(struct plog_index *x, struct env_file *file)
{
    if (x->in_memory) {
        return 0;
    }
    index_reserve(x, x->count);
    size_t want = (size_t)x->count * x->entry_size;
    size_t got = 0;
    int err = want == 0 ? 0 : env_file_read(file, x->entries, want, 0, &got);
    if (err == 0 && got < want) {
        err = -E_CORRUPT;
    }
    if (err != 0) {
        return err;
    }
    x->in_memory = true;
    return 0;
}

static uint8_t *index_add(struct plog_index *x)
{
    CHECK(x->in_memory);
    index_reserve(x, x->count + 1);
    return x->entries + (size_t)x->count++ * x->entry_size;
}

void plog_index_add_offset(struct plog_index *x, int32_t relative_offset, int32_t pos)
{
    uint8_t *entry = index_add(x);
    store_be32(entry, (uint32_t)relative_offset);
    store_be32(entry + 4, (uint32_t)pos);
}

void plog_index_add_time(struct plog_index *x, int64_t timestamp, int32_t relative_offset)
{
    uint8_t *entry = index_add(x);
    store_be64(entry, (uint64_t)timestamp);
    store_be32(entry + 8, (uint32_t)relative_offset);
}

int plog_index_write(struct plog_index *x, struct env_file *file)
{
    if (x->written == x->count) {
        return 0;
    }
    uint64_t pos = (uint64_t)x->written * x->entry_size;
    size_t len = (size_t)plog_index_unwritten(x) * x->entry_size;
    int err = env_file_write(file, x->entries + pos, len, pos);
    if (err == 0) {
        x->written = x->count;
    }
    return err;
}

int plog_index_cut(struct plog_index *x, struct env_file *file, uint32_t count)
{
    CHECK(count <= x->count);
    int err = 0;
    if (x->written > count && file != NULL) {
        err = env_file_truncate(file, (uint64_t)count * x->entry_size);
    }
    if (err == 0) {
        x->count = count;
        x->written = MIN(x->written, count);
    }
    return err;
}

static int64_t entry_field(const uint8_t *entry, enum plog_index_field field)
{
    switch (field) {
    case PLOG_INDEX_OFFSET:
        return (int32_t)load_be32(entry);
    case PLOG_INDEX_POSITION:
        return (int32_t)load_be32(entry + 4);
    case PLOG_INDEX_TIME:
        return (int64_t)load_be64(entry);
    case PLOG_INDEX_TIME_OFFSET:
        return (int32_t)load_be32(entry + 8);
    }
    CHECKF(false, "field %d", (int)field);
    return 0;
}

int plog_index_get(const struct plog_index *x, struct env_file *file, uint32_t i,
                   enum plog_index_field field, int64_t *ret_value)
{
    CHECK(i < x->count);
    uint64_t pos = (uint64_t)i * x->entry_size;
    if (x->in_memory) {
        *ret_value = entry_field(x->entries + pos, field);
        return 0;
    }
    uint8_t entry[PLOG_INDEX_TIME_SIZE];
    size_t got = 0;
    struct plog_cold_file from = {
        .owner = x, .file = file, .pos = pos, .size = (uint64_t)x->count * x->entry_size};
    int err = plog_cold_read(x->files, &from, entry, x->entry_size, &got);
    if (err == 0 && got < x->entry_size) {
        err = -E_CORRUPT;
    }
    if (err == 0) {
        *ret_value = entry_field(entry, field);
    }
    return err;
}

int plog_index_search(const struct plog_index *x, struct env_file *file,
                      enum plog_index_field field, int64_t key, uint32_t *ret_count)
{
    uint32_t low = 0;
    uint32_t high = x->count;
    while (low < high) {
        uint32_t middle = low + (high - low) / 2;
        int64_t value = 0;
        int err = plog_index_get(x, file, middle, field, &value);
        if (err != 0) {
            return err;
        }
        if (value <= key) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    *ret_count = low;
    return 0;
}
