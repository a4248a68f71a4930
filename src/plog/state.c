/*
 * What the verbs of a log have in common: its segments, its folder, the marks, the producer state and
 * its snapshots. Directory changes reach the disk in the order in which they are made, as journalling
 * file systems keep it; so files go newest first at the end of the log and oldest first at its start,
 * and any crash leaves a log without holes. Runs on the home env.
 */
#include "plog/state.h"

#include "base/alloc.h"
#include "plog/checkpoint.h"
#include "plog/flush.h"
#include "plog/partition.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#define SNAPSHOT_BYTES_MAX ((size_t)16 << 20)
#define SNAPSHOTS_KEPT     2 /* beside those of kept segments */

int plog_fail(struct plog *p, int err)
{
    bool is_content = err == -E_CORRUPT || err == -E_MALFORMED || err == -E_UNSUPPORTED ||
                      err == -E_TOO_LARGE || err == -E_OUT_OF_RANGE;
    if (err != 0 && !is_content && p->failure == 0) {
        p->failure = err;
    }
    return err;
}

char *plog_folder_path(const char *dir, const char *topic, int32_t partition)
{
    return xasprintf("%s/%s-%" PRId32, dir, topic, partition);
}

/* ---- segments ---- */

int plog_segment_at(const struct plog *p, int64_t offset)
{
    int low = 0;
    int high = p->segment_count;
    while (low < high) {
        int middle = low + (high - low) / 2;
        if (p->segments[middle]->base_offset <= offset) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    return low - 1;
}

void plog_push_segment(struct plog *p, struct plog_segment *s)
{
    CHECK(p->segment_count == 0 || plog_active(p)->base_offset < s->base_offset);
    if (p->segment_count == p->segment_cap) {
        p->segment_cap = p->segment_cap == 0 ? 2 : p->segment_cap * 2;
        p->segments = xrealloc(p->segments, (size_t)p->segment_cap * sizeof *p->segments);
    }
    p->segments[p->segment_count++] = s;
}

void plog_drop_segments(struct plog *p, int first, int count)
{
    CHECK(first >= 0 && count >= 0 && first + count <= p->segment_count);
    for (int i = first; i < first + count; i++) {
        plog_segment_free(p->segments[i]);
    }
    int behind = p->segment_count - first - count;
    if (behind > 0) {
        memmove(p->segments + first, p->segments + first + count,
                (size_t)behind * sizeof *p->segments);
    }
    p->segment_count -= count;
    plog_marks_clear(p);
    memset(p->trusts, 0, sizeof p->trusts);
}

static int ensure_folder(struct plog *p)
{
    if (p->has_folder) {
        return 0;
    }
    int err = env_mkdir(p->env, p->folder);
    if (err == 0 && !uuid_is_zero(p->topic_id)) {
        err = plog_partition_write_id(p->env, p->folder, p->topic_id, false);
    }
    if (err != 0) {
        return err;
    }
    p->has_folder = true;
    p->is_folder_new = true;
    p->is_epochs_dirty = true; /* its file is missing, even if it is to be empty */
    return p->recovery_point < p->recovery_point_high ? plog_write_truncated(p) : 0;
}

int plog_ensure_active(struct plog *p)
{
    if (p->segment_count > 0) {
        return 0;
    }
    struct plog_segment *s = NULL;
    int err = ensure_folder(p);
    if (err == 0) {
        err = plog_segment_create(p->files, p->folder, p->end_offset, &s);
    }
    if (err == 0) {
        plog_push_segment(p, s);
    }
    return plog_fail(p, err);
}

int plog_roll(struct plog *p, int64_t base_offset)
{
    CHECK(base_offset >= p->end_offset);
    struct plog_segment *s = NULL;
    int err = plog_segment_seal(plog_active(p));
    if (err == 0) {
        err = plog_write_snapshot(p);
    }
    if (err == 0) {
        err = plog_segment_create(p->files, p->folder, base_offset, &s);
    }
    if (err == 0) {
        plog_push_segment(p, s);
        plog_marks_clear(p); /* the end of one segment is the start of the next now */
    }
    return plog_fail(p, err);
}

int plog_sync_folder(struct plog *p)
{
    int err = env_dir_sync(p->env, p->folder);
    if (err == 0) {
        p->has_unlinked = false;
    }
    return err;
}

int plog_unlink_segment(struct plog *p, int64_t base_offset)
{
    p->has_unlinked = true;
    static const char *const suffixes[] = {PLOG_LOG_SUFFIX, PLOG_INDEX_SUFFIX, PLOG_TIME_SUFFIX,
                                           PLOG_TXN_SUFFIX};
    for (size_t i = 0; i < ARRAY_LEN(suffixes); i++) {
        char *path = plog_segment_path(p->folder, base_offset, suffixes[i]);
        int err = env_unlink(p->env, path);
        free(path);
        if (err != 0 && err != -E_NOT_FOUND) {
            return err;
        }
    }
    return 0;
}

/* ---- marks ---- */

void plog_mark_add(struct plog *p, struct plog_segment *s, int64_t offset, uint64_t pos)
{
    if (plog_mark_find(p, offset) == NULL) {
        p->marks[p->next_mark++ % PLOG_MARKS] = (struct plog_mark){s, offset, pos};
    }
}

const struct plog_mark *plog_mark_find(const struct plog *p, int64_t offset)
{
    for (int i = 0; i < PLOG_MARKS; i++) {
        if (p->marks[i].segment != NULL && p->marks[i].offset == offset) {
            return &p->marks[i];
        }
    }
    return NULL;
}

void plog_marks_clear(struct plog *p)
{
    memset(p->marks, 0, sizeof p->marks);
}

/* ---- recovery point ---- */

int plog_write_truncated(struct plog *p)
{
    char text[48];
    int len = snprintf(text, sizeof text, "0\n%" PRId64 "\n", p->recovery_point);
    int err =
        plog_file_replace(p->env, p->folder, PLOG_TRUNCATED_NAME, slice_of(text, (size_t)len));
    if (err == 0) {
        p->has_truncated = true;
    }
    return err;
}

int plog_lower_recovery_point(struct plog *p, int64_t offset)
{
    if (offset >= p->recovery_point) {
        return 0;
    }
    p->recovery_point = offset;
    return p->has_folder ? plog_write_truncated(p) : 0;
}

/* ---- producers ---- */

char *plog_snapshot_path(const struct plog *p, int64_t offset)
{
    return plog_segment_path(p->folder, offset, PLOG_SNAPSHOT_SUFFIX);
}

void plog_note_snapshot(struct plog *p, int64_t offset)
{
    int at = p->snapshot_count;
    while (at > 0 && p->snapshots[at - 1] >= offset) {
        at--;
    }
    if (at < p->snapshot_count && p->snapshots[at] == offset) {
        return;
    }
    if (p->snapshot_count == p->snapshot_cap) {
        p->snapshot_cap = p->snapshot_cap == 0 ? 4 : p->snapshot_cap * 2;
        p->snapshots = xrealloc(p->snapshots, (size_t)p->snapshot_cap * sizeof *p->snapshots);
    }
    memmove(p->snapshots + at + 1, p->snapshots + at,
            (size_t)(p->snapshot_count - at) * sizeof *p->snapshots);
    p->snapshots[at] = offset;
    p->snapshot_count++;
}

static int drop_snapshot(struct plog *p, int i)
{
    p->has_unlinked = true;
    char *path = plog_snapshot_path(p, p->snapshots[i]);
    int err = env_unlink(p->env, path);
    free(path);
    if (err != 0 && err != -E_NOT_FOUND) {
        return err;
    }
    p->snapshot_count--;
    memmove(p->snapshots + i, p->snapshots + i + 1,
            (size_t)(p->snapshot_count - i) * sizeof *p->snapshots);
    return 0;
}

static bool is_segment_base(const struct plog *p, int64_t offset)
{
    int i = plog_segment_at(p, offset);
    return i >= 0 && p->segments[i]->base_offset == offset;
}

/* Kept: the last two, and those at the base of a kept segment. */
int plog_drop_old_snapshots(struct plog *p)
{
    int err = 0;
    for (int i = p->snapshot_count - SNAPSHOTS_KEPT - 1; i >= 0 && err == 0; i--) {
        if (!is_segment_base(p, p->snapshots[i])) {
            err = drop_snapshot(p, i);
        }
    }
    return err;
}

int plog_write_snapshot(struct plog *p)
{
    struct buf out;
    struct env_file *file = NULL;
    buf_init(&out);
    plog_producers_format(&p->producers, &out);
    char *path = plog_snapshot_path(p, p->end_offset);
    int err = buf_failed(&out) ? -E_NO_MEMORY : 0;
    if (err == 0) {
        err = env_file_open(p->env, path, ENV_OPEN_WRITE | ENV_OPEN_CREATE, &file);
    }
    if (err == 0) {
        err = env_file_truncate(file, 0);
    }
    if (err == 0) {
        err = env_file_write(file, out.ptr, out.len, 0);
    }
    env_file_unref(file);
    free(path);
    buf_deinit(&out);
    if (err == 0) {
        plog_note_snapshot(p, p->end_offset);
        err = plog_drop_old_snapshots(p);
    }
    return err;
}

int plog_cut_snapshots(struct plog *p, int64_t offset)
{
    int err = 0;
    while (err == 0 && p->snapshot_count > 0 && p->snapshots[p->snapshot_count - 1] > offset) {
        err = drop_snapshot(p, p->snapshot_count - 1);
    }
    return err;
}

int plog_apply_producer(struct plog *p, struct plog_cursor *c, const struct record_batch *b)
{
    if (!record_batch_is_control(b)) {
        plog_producers_add(&p->producers, b);
        return 0;
    }
    struct slice bytes;
    struct plog_transaction_end end;
    int err = plog_cursor_bytes(c, b, &bytes);
    if (err == 0) {
        err = plog_producers_add_control(&p->producers, b, bytes, &end);
    }
    return err == 1 ? 0 : err;
}

/* Loads the newest snapshot that can be read; the others above it are of no use and go. */
static int load_snapshot(struct plog *p, int64_t *ret_offset)
{
    *ret_offset = p->start_offset;
    while (p->snapshot_count > 0) {
        int64_t offset = p->snapshots[p->snapshot_count - 1];
        struct buf bytes;
        buf_init(&bytes);
        char *path = plog_snapshot_path(p, offset);
        int err = plog_file_load(p->env, path, SNAPSHOT_BYTES_MAX, &bytes);
        free(path);
        int bad = err == 0 ? plog_producers_parse(&p->producers, buf_slice(&bytes)) : 0;
        buf_deinit(&bytes);
        if (err == 0 && bad == 0) {
            *ret_offset = MAX(offset, p->start_offset);
            return 0;
        }
        if (err != 0 && err != -E_NOT_FOUND && err != -E_TOO_LARGE) {
            return err;
        }
        err = drop_snapshot(p, p->snapshot_count - 1);
        if (err != 0) {
            return err;
        }
    }
    return 0;
}

static int replay_segment(struct plog *p, struct plog_segment *s, int64_t from)
{
    struct plog_place place;
    struct env_file *file = NULL;
    int err = plog_segment_locate(s, from, &place);
    if (err == 0) {
        err = plog_segment_file(s, &file);
    }
    if (err != 0) {
        return err;
    }
    struct plog_cursor c;
    plog_cursor_init(&c, p->files, file, PLOG_CURSOR_SCAN);
    plog_cursor_seek(&c, place.pos, s->size);
    struct record_batch b;
    int more = 0;
    while ((more = plog_cursor_next(&c, &b)) == 1) {
        int applied = plog_apply_producer(p, &c, &b);
        if (applied != 0 && applied != -E_MALFORMED && applied != -E_TOO_LARGE) {
            return applied;
        }
    }
    return more;
}

int plog_rebuild_producers(struct plog *p)
{
    int64_t from = 0;
    plog_producers_clear(&p->producers);
    int err = plog_cut_snapshots(p, p->end_offset);
    if (err == 0) {
        err = load_snapshot(p, &from);
    }
    for (int i = MAX(plog_segment_at(p, from), 0); i < p->segment_count && err == 0; i++) {
        if (p->segments[i]->next_offset > from) {
            err = replay_segment(p, p->segments[i], from);
        }
    }
    return err;
}

/* ---- the folder as a whole ---- */

void plog_detach_flush(struct plog *p)
{
    if (p->flush != NULL) {
        plog_flush_detach(p->flush);
        p->flush = NULL;
    }
}

#define NAME_MAX_BYTES 255

/* The name of a folder that was set aside; the topic part gives way when it would be too long. */
static char *aside_name(const struct plog *p, const char *suffix)
{
    char hex[33];
    (void)snprintf(hex, sizeof hex, "%016" PRIx64 "%016" PRIx64, env_random_u64(p->env),
                   env_random_u64(p->env));
    char *tail = xasprintf("-%" PRId32 ".%s%s", p->partition, hex, suffix);
    size_t topic_len = MIN(strlen(p->topic), NAME_MAX_BYTES - strlen(tail));
    char *name = xasprintf("%.*s%s", (int)topic_len, p->topic, tail);
    free(tail);
    return name;
}

int plog_rename_folder(struct plog *p, const char *suffix, char **ret_path)
{
    plog_detach_flush(p);
    plog_drop_segments(p, 0, p->segment_count);
    if (!p->has_folder) {
        *ret_path = NULL;
        return 0;
    }
    char *name = aside_name(p, suffix);
    char *path = xasprintf("%s/%s", p->dir, name);
    free(name);
    int err = env_rename(p->env, p->folder, path);
    if (err == 0) {
        err = env_dir_sync(p->env, p->dir);
    }
    if (err != 0) {
        free(path);
        return plog_fail(p, err);
    }
    p->has_folder = false;
    *ret_path = path;
    return 0;
}

void plog_restart_at(struct plog *p, int64_t offset)
{
    CHECK(p->segment_count == 0);
    p->start_offset = offset;
    p->end_offset = offset;
    p->recovery_point = offset;
    p->recovery_point_high = MAX(p->recovery_point_high, offset);
    p->has_truncated = false;
    p->is_folder_new = false;
    p->epochs.count = 0;
    p->is_epochs_dirty = false;
    plog_producers_clear(&p->producers);
    p->snapshot_count = 0;
    plog_marks_clear(p);
}
