/*
 * A segment's files. Invariants: base_offset <= next_offset; the entry (offset, pos) of .index means
 * that the batch at pos ends with that offset; the entry (timestamp, offset) of .timeindex means that
 * no batch up to the one that ends with offset has a larger timestamp: what Kafka's dump tool checks.
 * Runs on the home env.
 */
#include "plog/segment.h"

#include "base/alloc.h"

#include <inttypes.h>
#include <stdlib.h>

char *plog_segment_path(const char *folder, int64_t base_offset, const char *suffix)
{
    return xasprintf("%s/%020" PRId64 "%s", folder, base_offset, suffix);
}

/* ---- descriptors ---- */

void plog_segment_close_files(struct plog_segment *s)
{
    env_file_unref(s->log_file);
    env_file_unref(s->offsets_file);
    env_file_unref(s->times_file);
    s->log_file = s->offsets_file = s->times_file = NULL;
    list_remove(&s->files->open, &s->lru);
}

/* Closes the one that was used longest ago; false: there is none but s. */
static bool close_oldest(const struct plog_segment *s)
{
    struct list_node *oldest = list_first(&s->files->open);
    if (oldest == NULL || oldest == &s->lru) {
        return false;
    }
    plog_segment_close_files(CONTAINER_OF(oldest, struct plog_segment, lru));
    return true;
}

static int open_part(struct plog_segment *s, const char *suffix, int flags,
                     struct env_file **ret_file)
{
    char *path = plog_segment_path(s->folder, s->base_offset, suffix);
    int err = env_file_open(s->files->env, path, flags, ret_file);
    while (err == -E_TOO_MANY_FILES && close_oldest(s)) {
        err = env_file_open(s->files->env, path, flags, ret_file);
    }
    free(path);
    return err;
}

/* Marks s as used last, closing others beyond the bound. */
static void segment_use(struct plog_segment *s)
{
    struct list *open = &s->files->open;
    list_remove(open, &s->lru);
    while (open->count >= s->files->max_open) {
        plog_segment_close_files(CONTAINER_OF(list_first(open), struct plog_segment, lru));
    }
    list_push_back(open, &s->lru);
}

static int segment_open_log(struct plog_segment *s, int flags)
{
    int err = open_part(s, PLOG_LOG_SUFFIX, flags, &s->log_file);
    if (err == 0) {
        segment_use(s);
    }
    return err;
}

int plog_segment_file(struct plog_segment *s, struct env_file **ret_file)
{
    if (s->log_file == NULL) {
        int err = segment_open_log(s, ENV_OPEN_WRITE);
        if (err != 0) {
            return err;
        }
    } else if (s->files->open.head.prev != &s->lru) {
        segment_use(s);
    }
    *ret_file = s->log_file;
    return 0;
}

/* Opens the index files; create: make missing ones. Their use counts as one of the segment. */
static int segment_open_indexes(struct plog_segment *s, bool create)
{
    struct env_file *log = NULL;
    int flags = ENV_OPEN_WRITE | (create ? ENV_OPEN_CREATE : 0);
    int err = plog_segment_file(s, &log);
    if (err == 0 && s->offsets_file == NULL) {
        err = open_part(s, PLOG_INDEX_SUFFIX, flags, &s->offsets_file);
    }
    if (err == 0 && s->times_file == NULL) {
        err = open_part(s, PLOG_TIME_SUFFIX, flags, &s->times_file);
    }
    return err;
}

/* For searching: an index in memory needs no file. */
static int segment_open_for_search(struct plog_segment *s)
{
    return s->offsets.in_memory ? 0 : segment_open_indexes(s, false);
}

/* ---- life ---- */

static struct plog_segment *segment_new(struct plog_files *files, const char *folder,
                                        int64_t base_offset)
{
    struct plog_segment *s = xalloc(sizeof *s);
    s->files = files;
    s->folder = folder;
    s->base_offset = base_offset;
    s->next_offset = base_offset;
    s->first_timestamp = RECORD_NO_TIMESTAMP;
    s->max_timestamp = RECORD_NO_TIMESTAMP;
    s->max_timestamp_offset = base_offset;
    plog_index_init(&s->offsets, PLOG_INDEX_OFFSET_SIZE);
    plog_index_init(&s->times, PLOG_INDEX_TIME_SIZE);
    s->offsets.files = s->times.files = files;
    return s;
}

void plog_segment_free(struct plog_segment *s)
{
    if (s != NULL) {
        plog_segment_close_files(s);
        plog_index_deinit(&s->offsets);
        plog_index_deinit(&s->times);
        free(s);
    }
}

/* Empty indexes in memory; files of an earlier segment with this base must not show through. */
static int segment_reset_indexes(struct plog_segment *s)
{
    plog_index_reset(&s->offsets);
    plog_index_reset(&s->times);
    s->unindexed = 0;
    s->first_timestamp = RECORD_NO_TIMESTAMP;
    s->max_timestamp = RECORD_NO_TIMESTAMP;
    s->max_timestamp_offset = s->base_offset;
    s->is_loaded = true;
    int err = segment_open_indexes(s, false);
    if (err == -E_NOT_FOUND) {
        err = 0; /* made when there is something to write */
    }
    if (err == 0 && s->offsets_file != NULL) {
        err = env_file_truncate(s->offsets_file, 0);
    }
    if (err == 0 && s->times_file != NULL) {
        err = env_file_truncate(s->times_file, 0);
    }
    return err;
}

int plog_segment_create(struct plog_files *files, const char *folder, int64_t base_offset,
                        struct plog_segment **ret_segment)
{
    struct plog_segment *s = segment_new(files, folder, base_offset);
    int err = segment_open_log(s, ENV_OPEN_WRITE | ENV_OPEN_CREATE);
    if (err == 0) {
        err = env_file_truncate(s->log_file, 0);
    }
    if (err != 0) {
        plog_segment_free(s);
        return err;
    }
    plog_index_reset(&s->offsets);
    plog_index_reset(&s->times);
    s->is_loaded = true;
    s->is_dirty = true;
    *ret_segment = s;
    return 0;
}

int plog_segment_open(struct plog_files *files, const char *folder, int64_t base_offset,
                      struct plog_segment **ret_segment)
{
    struct plog_segment *s = segment_new(files, folder, base_offset);
    int err = segment_open_log(s, ENV_OPEN_WRITE);
    if (err == 0) {
        err = env_file_size(s->log_file, &s->size);
    }
    if (err == 0 && s->size > INT32_MAX) {
        err = -E_CORRUPT; /* positions are 31 bits */
    }
    if (err != 0) {
        plog_segment_free(s);
        return err;
    }
    *ret_segment = s;
    return 0;
}

/* ---- loading and recovery ---- */

/* An entry at the end must be above the one before: an index that was preallocated and not trimmed ends
 * in zeros. */
static int check_rising_end(const struct plog_index *x, struct env_file *file,
                            enum plog_index_field field)
{
    int64_t last = 0;
    int64_t before = -1;
    int err = x->count == 0 ? 0 : plog_index_get(x, file, x->count - 1, field, &last);
    if (err == 0 && x->count > 1) {
        err = plog_index_get(x, file, x->count - 2, field, &before);
    }
    return err == 0 && last <= before ? -E_CORRUPT : err;
}

/* The last entry of .index must point into the segment. */
static int check_offsets(struct plog_segment *s)
{
    int64_t pos = 1;
    int err = check_rising_end(&s->offsets, s->offsets_file, PLOG_INDEX_OFFSET);
    if (err == 0 && s->offsets.count > 0) {
        err = plog_index_get(&s->offsets, s->offsets_file, s->offsets.count - 1,
                             PLOG_INDEX_POSITION, &pos);
    }
    bool is_inside = s->offsets.count == 0 || (pos > 0 && (uint64_t)pos < s->size);
    return err == 0 && !is_inside ? -E_CORRUPT : err;
}

/* The last entry of .timeindex holds the largest timestamp. */
static int check_times(struct plog_segment *s)
{
    int64_t timestamp = RECORD_NO_TIMESTAMP;
    int64_t relative = 0;
    int err = check_rising_end(&s->times, s->times_file, PLOG_INDEX_TIME);
    if (err == 0 && s->times.count > 0) {
        uint32_t last = s->times.count - 1;
        err = plog_index_get(&s->times, s->times_file, last, PLOG_INDEX_TIME, &timestamp);
        if (err == 0) {
            err = plog_index_get(&s->times, s->times_file, last, PLOG_INDEX_TIME_OFFSET, &relative);
        }
    }
    if (err == 0 && relative < 0) {
        err = -E_CORRUPT;
    }
    if (err == 0) {
        s->max_timestamp = timestamp;
        s->max_timestamp_offset = s->base_offset + relative;
    }
    return err;
}

static int segment_read_first(struct plog_segment *s)
{
    struct plog_cursor c;
    plog_cursor_init(&c, s->files, s->log_file, RECORD_HEADER_SIZE);
    c.owner = s;
    plog_cursor_seek(&c, 0, s->size);
    struct record_batch b;
    int more = plog_cursor_next(&c, &b);
    if (more == 1) {
        s->first_timestamp = b.max_timestamp;
    }
    return more < 0 ? more : 0;
}

int plog_segment_load(struct plog_segment *s)
{
    if (s->is_loaded) {
        return 0;
    }
    int err = segment_open_indexes(s, false);
    if (err == 0) {
        err = plog_index_attach(&s->offsets, s->offsets_file);
    }
    if (err == 0) {
        err = plog_index_attach(&s->times, s->times_file);
    }
    if (err == 0) {
        err = check_offsets(s);
    }
    if (err == 0) {
        err = check_times(s);
    }
    if (err == 0) {
        err = segment_read_first(s);
    }
    if (err == 0) {
        s->is_loaded = true;
    }
    return err;
}

/* Headers from the last index entry to size: brings next_offset, unindexed and max_timestamp up to
 * date. The batch at the last entry is in the index already, so its bytes count from zero. */
static int segment_resume(struct plog_segment *s, int64_t index_interval)
{
    int64_t from = 0;
    int err = 0;
    if (s->offsets.count > 0) {
        err = plog_index_get(&s->offsets, NULL, s->offsets.count - 1, PLOG_INDEX_POSITION, &from);
    }
    uint64_t end = s->size;
    if (err != 0 || (uint64_t)from > end) {
        return err != 0 ? err : -E_CORRUPT;
    }
    s->size = (uint64_t)from;
    s->next_offset = s->base_offset;
    s->unindexed = 0;
    struct plog_cursor c;
    plog_cursor_init(&c, s->files, s->log_file, PLOG_CURSOR_NEAR);
    plog_cursor_seek(&c, (uint64_t)from, end);
    struct record_batch b;
    int more = 0;
    while ((more = plog_cursor_next(&c, &b)) == 1) {
        if (b.base_offset < s->next_offset ||
            record_batch_last_offset(&b) - s->base_offset > INT32_MAX) {
            more = -E_CORRUPT;
            break;
        }
        plog_segment_note(s, &b, index_interval);
    }
    if (more < 0) {
        s->size = end;
    }
    return more;
}

int plog_segment_activate(struct plog_segment *s, int64_t index_interval)
{
    int err = plog_segment_load(s);
    if (err == 0) {
        err = segment_open_for_search(s);
    }
    if (err == 0) {
        err = plog_index_load(&s->offsets, s->offsets_file);
    }
    if (err == 0) {
        err = plog_index_load(&s->times, s->times_file);
    }
    struct env_file *log = NULL;
    if (err == 0) {
        err = plog_segment_file(s, &log);
    }
    return err == 0 ? segment_resume(s, index_interval) : err;
}

int plog_segment_recover(struct plog_segment *s, int64_t index_interval, plog_segment_batch_fn fn,
                         void *arg, uint64_t *ret_bad)
{
    struct env_file *file = NULL;
    int err = plog_segment_file(s, &file);
    if (err == 0) {
        err = segment_reset_indexes(s);
    }
    if (err != 0) {
        return err;
    }
    uint64_t end = s->size;
    s->size = 0;
    s->next_offset = s->base_offset;
    s->is_dirty = true;
    struct plog_cursor c;
    plog_cursor_init(&c, s->files, file, PLOG_CURSOR_SCAN);
    plog_cursor_seek(&c, 0, end);
    struct record_batch b;
    int more = 0;
    while ((more = plog_cursor_next(&c, &b)) == 1) {
        bool is_in_order = b.base_offset >= s->next_offset &&
                           record_batch_last_offset(&b) - s->base_offset <= INT32_MAX;
        more = is_in_order ? plog_cursor_check_crc(&c, &b) : -E_CORRUPT;
        if (more != 0) {
            break;
        }
        plog_segment_note(s, &b, index_interval);
        fn(arg, &b);
    }
    if (more != 0 && more != -E_CORRUPT) {
        return more;
    }
    *ret_bad = end - s->size;
    return 0;
}

int plog_segment_cut(struct plog_segment *s)
{
    struct env_file *file = NULL;
    int err = plog_segment_file(s, &file);
    if (err == 0) {
        err = env_file_truncate(file, s->size);
    }
    /* Synced: what is cut must not come back behind batches that are appended in its place. */
    return err == 0 ? env_file_sync(file) : err;
}

/* ---- growing ---- */

static void segment_add_time(struct plog_segment *s)
{
    int64_t last = RECORD_NO_TIMESTAMP;
    if (s->times.count > 0) {
        int err = plog_index_get(&s->times, NULL, s->times.count - 1, PLOG_INDEX_TIME, &last);
        CHECK(err == 0); /* it is in memory */
    }
    if (s->max_timestamp > last) {
        plog_index_add_time(&s->times, s->max_timestamp,
                            (int32_t)(s->max_timestamp_offset - s->base_offset));
    }
}

void plog_segment_note(struct plog_segment *s, const struct record_batch *b, int64_t index_interval)
{
    int64_t relative = record_batch_last_offset(b) - s->base_offset;
    CHECK(s->offsets.in_memory && relative >= 0 && relative <= INT32_MAX);
    CHECK(s->size <= INT32_MAX && b->base_offset >= s->next_offset);
    if (b->max_timestamp > s->max_timestamp) {
        s->max_timestamp = b->max_timestamp;
        s->max_timestamp_offset = record_batch_last_offset(b);
    }
    if (s->size == 0) {
        s->first_timestamp = b->max_timestamp;
    }
    if (s->unindexed > (uint64_t)index_interval) {
        plog_index_add_offset(&s->offsets, (int32_t)relative, (int32_t)s->size);
        segment_add_time(s);
        s->unindexed = 0;
    }
    s->unindexed += b->len;
    s->size += b->len;
    s->next_offset = record_batch_next_offset(b);
}

/* Index files made here replace whatever an earlier segment of this base left behind. */
int plog_segment_write_indexes(struct plog_segment *s)
{
    bool is_first = s->offsets_file == NULL && s->times_file == NULL && s->offsets.written == 0 &&
                    s->times.written == 0;
    if (is_first || plog_index_unwritten(&s->offsets) + plog_index_unwritten(&s->times) > 0) {
        s->is_dirty = true;
    }
    int err = segment_open_indexes(s, true);
    if (err == 0 && is_first) {
        err = env_file_truncate(s->offsets_file, 0);
        if (err == 0) {
            err = env_file_truncate(s->times_file, 0);
        }
    }
    if (err == 0) {
        err = plog_index_write(&s->offsets, s->offsets_file);
    }
    return err == 0 ? plog_index_write(&s->times, s->times_file) : err;
}

int plog_segment_finish(struct plog_segment *s)
{
    CHECK(s->offsets.in_memory);
    segment_add_time(s);
    return plog_segment_write_indexes(s);
}

int plog_segment_seal(struct plog_segment *s)
{
    int err = plog_segment_finish(s);
    if (err == 0) {
        plog_index_release(&s->offsets);
        plog_index_release(&s->times);
    }
    return err;
}

int plog_segment_sync(struct plog_segment *s)
{
    struct env_file *file = NULL;
    int err = plog_segment_file(s, &file);
    if (err == 0) {
        err = env_file_sync(file);
    }
    if (err == 0 && s->offsets_file != NULL) {
        err = env_file_sync(s->offsets_file);
    }
    if (err == 0 && s->times_file != NULL) {
        err = env_file_sync(s->times_file);
    }
    if (err == 0) {
        s->is_dirty = false;
    }
    return err;
}

/* ---- finding ---- */

/* The position of the last index entry whose field is at most key, 0 when there is none. */
static int index_floor(struct plog_segment *s, enum plog_index_field field, int64_t key,
                       uint64_t *ret_pos)
{
    uint32_t count = 0;
    int64_t pos = 0;
    int err = plog_segment_load(s);
    if (err == 0) {
        err = segment_open_for_search(s);
    }
    if (err == 0) {
        err = plog_index_search(&s->offsets, s->offsets_file, field, key, &count);
    }
    if (err == 0 && count > 0) {
        err = plog_index_get(&s->offsets, s->offsets_file, count - 1, PLOG_INDEX_POSITION, &pos);
    }
    if (err == 0 && (pos < 0 || (uint64_t)pos > s->size)) {
        err = -E_CORRUPT;
    }
    if (err == 0) {
        *ret_pos = (uint64_t)pos;
    }
    return err;
}

static int cursor_at(struct plog_segment *s, uint64_t pos, struct plog_cursor *ret_cursor)
{
    struct env_file *file = NULL;
    int err = plog_segment_file(s, &file);
    if (err == 0) {
        plog_cursor_init(ret_cursor, s->files, file, PLOG_CURSOR_NEAR);
        ret_cursor->owner = s;
        plog_cursor_seek(ret_cursor, pos, s->size);
    }
    return err;
}

int plog_segment_locate(struct plog_segment *s, int64_t offset, struct plog_place *ret_place)
{
    if (offset >= s->next_offset) {
        *ret_place = (struct plog_place){s->size, s->next_offset};
        return 0;
    }
    uint64_t pos = 0;
    struct plog_cursor c;
    int err = index_floor(s, PLOG_INDEX_OFFSET, offset - s->base_offset, &pos);
    if (err == 0) {
        err = cursor_at(s, pos, &c);
    }
    if (err != 0) {
        return err;
    }
    struct record_batch b;
    int more = 0;
    while ((more = plog_cursor_next(&c, &b)) == 1) {
        if (record_batch_last_offset(&b) >= offset) {
            *ret_place = (struct plog_place){c.batch_pos, b.base_offset};
            return 0;
        }
    }
    if (more == 0) {
        *ret_place = (struct plog_place){s->size, s->next_offset};
    }
    return more;
}

int plog_segment_locate_pos(struct plog_segment *s, uint64_t start, uint64_t pos_max,
                            struct plog_place *ret_place)
{
    if (pos_max >= s->size) {
        *ret_place = (struct plog_place){s->size, s->next_offset};
        return 0;
    }
    uint64_t pos = 0;
    struct plog_cursor c;
    int err = index_floor(s, PLOG_INDEX_POSITION, (int64_t)pos_max, &pos);
    if (err == 0) {
        err = cursor_at(s, MAX(pos, start), &c);
    }
    if (err != 0) {
        return err;
    }
    struct record_batch b;
    int more = 0;
    while ((more = plog_cursor_next(&c, &b)) == 1) {
        if (c.pos > pos_max) {
            *ret_place = (struct plog_place){c.batch_pos, b.base_offset};
            return 0;
        }
    }
    return more < 0 ? more : -E_CORRUPT;
}

int plog_segment_batch_end(struct plog_segment *s, uint64_t pos, struct plog_place *ret_place)
{
    struct plog_cursor c;
    struct record_batch b;
    int err = cursor_at(s, pos, &c);
    if (err != 0) {
        return err;
    }
    int more = plog_cursor_next(&c, &b);
    if (more == 1) {
        *ret_place = (struct plog_place){c.pos, record_batch_next_offset(&b)};
    }
    return more == 1 ? 0 : (more == 0 ? -E_CORRUPT : more);
}

int plog_segment_locate_time(struct plog_segment *s, int64_t timestamp, struct plog_place start,
                             struct plog_place *ret_place)
{
    int err = plog_segment_load(s);
    if (err == 0) {
        err = segment_open_for_search(s);
    }
    uint32_t count = 0;
    if (err == 0) {
        err = plog_index_search(&s->times, s->times_file, PLOG_INDEX_TIME, timestamp - 1, &count);
    }
    int64_t relative = 0;
    if (err == 0 && count > 0) {
        err =
            plog_index_get(&s->times, s->times_file, count - 1, PLOG_INDEX_TIME_OFFSET, &relative);
    }
    uint64_t pos = 0;
    if (err == 0) {
        err = index_floor(s, PLOG_INDEX_OFFSET, relative, &pos);
    }
    struct plog_cursor c;
    if (err == 0) {
        err = cursor_at(s, MAX(pos, start.pos), &c);
    }
    if (err != 0) {
        return err;
    }
    struct record_batch b;
    int more = 0;
    while ((more = plog_cursor_next(&c, &b)) == 1) {
        if (b.max_timestamp >= timestamp) {
            *ret_place = (struct plog_place){c.batch_pos, b.base_offset};
            return 1;
        }
    }
    return more;
}

/* ---- truncation ---- */

/* Keeps the index entries of batches before place. */
static int truncate_indexes(struct plog_segment *s, const struct plog_place *place)
{
    uint32_t offsets_kept = 0;
    uint32_t times_kept = 0;
    int err = plog_index_search(&s->offsets, NULL, PLOG_INDEX_POSITION, (int64_t)place->pos - 1,
                                &offsets_kept);
    if (err == 0) {
        err = plog_index_search(&s->times, NULL, PLOG_INDEX_TIME_OFFSET,
                                place->base_offset - s->base_offset - 1, &times_kept);
    }
    if (err == 0 && (s->offsets.written > 0 || s->times.written > 0)) {
        err = segment_open_indexes(s, true);
    }
    if (err == 0) {
        err = plog_index_cut(&s->offsets, s->offsets_file, offsets_kept);
    }
    return err == 0 ? plog_index_cut(&s->times, s->times_file, times_kept) : err;
}

/* The largest timestamp that the last time index entry vouches for. */
static void restore_max_timestamp(struct plog_segment *s)
{
    s->max_timestamp = RECORD_NO_TIMESTAMP;
    s->max_timestamp_offset = s->base_offset;
    if (s->times.count > 0) {
        uint32_t last = s->times.count - 1;
        int64_t relative = 0;
        int err = plog_index_get(&s->times, NULL, last, PLOG_INDEX_TIME, &s->max_timestamp);
        CHECK(err == 0); /* it is in memory */
        err = plog_index_get(&s->times, NULL, last, PLOG_INDEX_TIME_OFFSET, &relative);
        CHECK(err == 0);
        s->max_timestamp_offset = s->base_offset + relative;
    }
}

int plog_segment_truncate(struct plog_segment *s, int64_t offset, int64_t index_interval)
{
    struct plog_place place = {0, 0};
    struct env_file *file = NULL;
    int err = plog_segment_activate(s, index_interval);
    if (err == 0) {
        err = plog_segment_locate(s, offset, &place);
    }
    if (err == 0) {
        err = plog_segment_file(s, &file);
    }
    if (err == 0) {
        err = env_file_truncate(file, place.pos);
    }
    if (err == 0) {
        err = truncate_indexes(s, &place);
    }
    if (err != 0) {
        return err;
    }
    s->size = place.pos;
    s->is_dirty = true;
    restore_max_timestamp(s);
    return segment_resume(s, index_interval);
}
