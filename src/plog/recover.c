/*
 * Recovery. Which bytes are trusted: after a clean stop all of them; else those of segments that end
 * below the recovery point. Everything else is read batch by batch, and the log ends where the first
 * bad byte, or the first hole between segments, is. Runs on the home env, blocking.
 */
#include "plog/recover.h"

#include "base/alloc.h"
#include "plog/checkpoint.h"
#include "plog/partition.h"
#include "plog/removal.h"
#include "plog/state.h"
#include "plog/text.h"

#include <inttypes.h>
#include <stdlib.h>

#define BASE_DIGITS    20
#define SMALL_FILE_MAX ((size_t)16 << 20)

/* ---- what is in the folder ---- */

struct offsets {
    int64_t *list;
    int count;
    int cap;
};

struct folder {
    struct offsets logs;      /* bases of .log files, rising */
    struct offsets snapshots; /* rising */
    char **orphans;           /* names that may belong to a missing .log, or are leftovers */
    int orphan_count;
    int orphan_cap;
    bool has_swap;
    bool has_truncated;
};

static void offsets_add(struct offsets *o, int64_t offset)
{
    if (o->count == o->cap) {
        o->cap = o->cap == 0 ? 8 : o->cap * 2;
        o->list = xrealloc(o->list, (size_t)o->cap * sizeof *o->list);
    }
    o->list[o->count++] = offset;
}

static bool offsets_has(const struct offsets *o, int64_t offset)
{
    for (int i = 0; i < o->count; i++) {
        if (o->list[i] == offset) {
            return true;
        }
    }
    return false;
}

static void folder_deinit(struct folder *f)
{
    for (int i = 0; i < f->orphan_count; i++) {
        free(f->orphans[i]);
    }
    free(f->orphans);
    free(f->logs.list);
    free(f->snapshots.list);
}

/* "<20 digits><suffix>" -> the offset; -1 when it is not of that form. */
static int64_t name_offset(const char *name, const char *suffix)
{
    int64_t offset = -1;
    size_t len = strlen(name);
    if (len != BASE_DIGITS + strlen(suffix) || strcmp(name + BASE_DIGITS, suffix) != 0 ||
        plog_text_number(slice_of(name, BASE_DIGITS), &offset) != 0) {
        return -1;
    }
    return offset;
}

static bool ends_with(const char *name, const char *suffix)
{
    size_t len = strlen(name);
    size_t suffix_len = strlen(suffix);
    return len >= suffix_len && strcmp(name + len - suffix_len, suffix) == 0;
}

static void add_orphan(struct folder *f, const char *name)
{
    if (f->orphan_count == f->orphan_cap) {
        f->orphan_cap = f->orphan_cap == 0 ? 8 : f->orphan_cap * 2;
        f->orphans = xrealloc(f->orphans, (size_t)f->orphan_cap * sizeof *f->orphans);
    }
    f->orphans[f->orphan_count++] = xstrdup(name);
}

static bool is_index_name(const char *name)
{
    return name_offset(name, PLOG_INDEX_SUFFIX) >= 0 || name_offset(name, PLOG_TIME_SUFFIX) >= 0 ||
           name_offset(name, PLOG_TXN_SUFFIX) >= 0;
}

static int folder_entry(void *arg, const char *name, bool is_dir)
{
    struct folder *f = arg;
    int64_t offset = -1;
    if (is_dir) {
        return 0;
    }
    if ((offset = name_offset(name, PLOG_LOG_SUFFIX)) >= 0) {
        offsets_add(&f->logs, offset);
    } else if ((offset = name_offset(name, PLOG_SNAPSHOT_SUFFIX)) >= 0) {
        offsets_add(&f->snapshots, offset);
    } else if (is_index_name(name) || ends_with(name, PLOG_DELETED_SUFFIX) ||
               ends_with(name, ".cleaned") || ends_with(name, ".tmp")) {
        add_orphan(f, name);
    } else if (ends_with(name, ".swap")) {
        f->has_swap = true;
    } else if (strcmp(name, PLOG_TRUNCATED_NAME) == 0) {
        f->has_truncated = true;
    }
    return 0;
}

/* Leftovers go; index files stay where their .log is. */
static int remove_orphans(struct plog *p, const struct folder *f)
{
    for (int i = 0; i < f->orphan_count; i++) {
        const char *name = f->orphans[i];
        int64_t base = -1;
        if (is_index_name(name) && plog_text_number(slice_of(name, BASE_DIGITS), &base) == 0 &&
            offsets_has(&f->logs, base)) {
            continue;
        }
        char *path = xasprintf("%s/%s", p->folder, name);
        int err = env_unlink(p->env, path);
        free(path);
        if (err != 0 && err != -E_NOT_FOUND) {
            return err;
        }
    }
    return 0;
}

/* ---- segments ---- */

struct recovery {
    struct plog *p;
    bool is_clean;
    int64_t recovery_point;
    struct errmsg *em;
};

static void take_epoch(void *arg, const struct record_batch *b)
{
    struct plog *p = arg;
    if (b->leader_epoch >= 0 && b->leader_epoch != plog_epochs_latest(&p->epochs) &&
        plog_epochs_assign(&p->epochs, b->leader_epoch, b->base_offset)) {
        p->is_epochs_dirty = true;
    }
}

static void ignore_batch(void *arg, const struct record_batch *b)
{
    (void)arg;
    (void)b;
}

static int open_segments(struct plog *p, const struct folder *f)
{
    for (int i = 0; i < f->logs.count; i++) {
        struct plog_segment *s = NULL;
        int err = plog_segment_open(p->files, p->folder, f->logs.list[i], &s);
        if (err != 0) {
            return err;
        }
        plog_push_segment(p, s);
        if (i > 0) {
            p->segments[i - 1]->next_offset = s->base_offset;
        }
    }
    return 0;
}

/* A segment whose bytes are trusted; its indexes are rebuilt where they are missing or odd. */
static int load_trusted(const struct recovery *r, struct plog_segment *s, bool is_last)
{
    int64_t interval = r->p->config.index_interval_bytes;
    int64_t next_offset = s->next_offset;
    uint64_t bad = 0;
    int err = is_last ? plog_segment_activate(s, interval) : plog_segment_load(s);
    if (err != -E_CORRUPT && err != -E_NOT_FOUND) {
        return err;
    }
    err = plog_segment_recover(s, interval, ignore_batch, NULL, &bad);
    if (err == 0 && bad > 0) {
        return errmsg_set(r->em, E_CORRUPT,
                          "%s: %" PRIu64 " bad bytes in the segment of offset %" PRId64
                          ", which was synced",
                          r->p->folder, bad, s->base_offset);
    }
    if (err == 0 && !is_last) {
        s->next_offset = next_offset;
        err = plog_segment_seal(s);
    }
    /* The recovery point says that it is synced already. */
    return err == 0 ? plog_segment_sync(s) : err;
}

/* Segments from number i on are beyond the end: they go, the last one first. */
static int drop_behind(struct plog *p, int i)
{
    while (p->segment_count > i) {
        int64_t base_offset = plog_active(p)->base_offset;
        plog_drop_segments(p, p->segment_count - 1, 1);
        int err = plog_unlink_segment(p, base_offset);
        if (err != 0) {
            return err;
        }
    }
    return 0;
}

/* Reads the segments from number first on; the log ends at the first bad byte or hole. */
static int scan_segments(struct plog *p, int first)
{
    for (int i = first; i < p->segment_count; i++) {
        struct plog_segment *s = p->segments[i];
        uint64_t bad = 0;
        if (i > first && p->segments[i - 1]->next_offset != s->base_offset) {
            return drop_behind(p, i);
        }
        int err = plog_segment_recover(s, p->config.index_interval_bytes, take_epoch, p, &bad);
        if (err == 0 && bad > 0) {
            err = drop_behind(p, i + 1);
            if (err == 0) {
                err = plog_segment_cut(s);
            }
        }
        if (err != 0) {
            return err;
        }
    }
    return 0;
}

static int load_segments(const struct recovery *r)
{
    struct plog *p = r->p;
    int first = p->segment_count;
    if (!r->is_clean) {
        /* A segment that ends at the recovery point was sealed after the last flush, so its indexes
         * are not synced: it is read too. */
        first = MAX(plog_segment_at(p, r->recovery_point - 1), 0);
    }
    int err = 0;
    for (int i = 0; i < first && err == 0; i++) {
        err = load_trusted(r, p->segments[i], i + 1 == p->segment_count);
    }
    if (err == 0) {
        err = scan_segments(p, first);
    }
    /* All but the last of those that were read are sealed again. */
    for (int i = first; i + 1 < p->segment_count && err == 0; i++) {
        err = plog_segment_seal(p->segments[i]);
    }
    return err;
}

/* ---- epochs ---- */

static int epochs_from_headers(struct plog *p)
{
    for (int i = 0; i < p->segment_count; i++) {
        struct plog_segment *s = p->segments[i];
        struct env_file *file = NULL;
        int err = plog_segment_file(s, &file);
        if (err != 0) {
            return err;
        }
        struct plog_cursor c;
        struct record_batch b;
        plog_cursor_init(&c, p->files, file, PLOG_CURSOR_NEAR);
        plog_cursor_seek(&c, 0, s->size);
        int more = 0;
        while ((more = plog_cursor_next(&c, &b)) == 1) {
            take_epoch(p, &b);
        }
        if (more < 0 && more != -E_CORRUPT) {
            return more;
        }
    }
    return 0;
}

/* Before the segments are read, which add what the file does not know. */
static int load_epochs(struct plog *p, struct errmsg *em)
{
    struct buf text;
    buf_init(&text);
    char *path = xasprintf("%s/" PLOG_EPOCHS_NAME, p->folder);
    int err = plog_file_load(p->env, path, SMALL_FILE_MAX, &text);
    free(path);
    if (err == 0) {
        err = plog_epochs_parse(buf_slice(&text), &p->epochs);
    }
    buf_deinit(&text);
    if (err == -E_UNSUPPORTED) {
        return errmsg_set(em, E_UNSUPPORTED, "%s: " PLOG_EPOCHS_NAME " has a newer version",
                          p->folder);
    }
    bool is_unusable = err == -E_NOT_FOUND || err == -E_MALFORMED || err == -E_TOO_LARGE;
    return is_unusable ? epochs_from_headers(p) : err;
}

/* ---- the whole ---- */

/* The recovery point that is safe: a truncation may have gone below what the checkpoint says. */
static int read_truncated(struct plog *p, int64_t *recovery_point, struct errmsg *em)
{
    struct buf text;
    buf_init(&text);
    char *path = xasprintf("%s/" PLOG_TRUNCATED_NAME, p->folder);
    int err = plog_file_load(p->env, path, SMALL_FILE_MAX, &text);
    free(path);
    struct slice rest = buf_slice(&text);
    struct slice line;
    int64_t version = -1;
    int64_t offset = 0;
    if (err == 0 && plog_text_line(&rest, &line) && plog_text_number(line, &version) == 0 &&
        version > 0) {
        err = errmsg_set(em, E_UNSUPPORTED, "%s: " PLOG_TRUNCATED_NAME " has a newer version",
                         p->folder);
    } else if (err == 0 && (version != 0 || !plog_text_line(&rest, &line) ||
                            plog_text_number(line, &offset) != 0)) {
        offset = 0; /* nothing is known: nothing is trusted */
    }
    buf_deinit(&text);
    if (err == 0) {
        *recovery_point = MIN(*recovery_point, MAX(offset, 0));
    }
    return err;
}

static int check_topic_id(struct plog *p, struct errmsg *em)
{
    struct uuid id = UUID_ZERO;
    int err = plog_partition_read_id(p->env, p->folder, &id);
    if (err != 0) {
        return errmsg_set(em, (enum error) - err, "%s: bad partition.metadata: %s", p->folder,
                          error_name(err));
    }
    if (!uuid_is_zero(id) && !uuid_is_zero(p->topic_id) && !uuid_equal(id, p->topic_id)) {
        char found[UUID_TEXT_SIZE];
        char wanted[UUID_TEXT_SIZE];
        uuid_format(id, found);
        uuid_format(p->topic_id, wanted);
        return errmsg_set(em, E_INVALID, "%s belongs to topic id %s, not %s", p->folder, found,
                          wanted);
    }
    if (uuid_is_zero(id) && !uuid_is_zero(p->topic_id)) {
        return plog_partition_write_id(p->env, p->folder, p->topic_id, true);
    }
    p->topic_id = id;
    return 0;
}

/* Fits the cache to the log. The file may have been written when the log start was higher than the
 * checkpoint of it says: then the epochs below are missing and are read from the batches. */
static int settle_epochs(struct plog *p)
{
    bool is_cut = plog_epochs_cut_end(&p->epochs, p->end_offset);
    bool is_short =
        p->start_offset < p->end_offset && plog_epochs_at(&p->epochs, p->start_offset) < 0;
    int err = 0;
    if (is_short) {
        p->epochs.count = 0;
        err = epochs_from_headers(p);
    }
    if (plog_epochs_cut_start(&p->epochs, p->start_offset) || is_cut || is_short) {
        p->is_epochs_dirty = true;
    }
    return err;
}

/* The log's offsets once its segments are in memory. */
static int settle(struct plog *p, const struct plog_open_args *args, int64_t recovery_point)
{
    if (p->segment_count == 0) {
        p->start_offset = p->end_offset = args->log_start_offset;
    } else {
        p->end_offset = plog_active(p)->next_offset;
        p->start_offset = MAX(p->segments[0]->base_offset, args->log_start_offset);
    }
    p->recovery_point_high = args->recovery_point;
    if (p->start_offset > p->end_offset) {
        /* All that is left lies below the log start, as Kafka: start afresh there. */
        char *path = NULL;
        int err = plog_rename_folder(p, PLOG_DELETE_SUFFIX, &path);
        free(path); /* removed at the next start */
        if (err == 0) {
            plog_restart_at(p, args->log_start_offset);
        }
        return err;
    }
    p->recovery_point = args->is_clean ? p->end_offset : MIN(recovery_point, p->end_offset);
    p->recovery_point_high = MAX(p->recovery_point_high, p->recovery_point);
    int err = settle_epochs(p);
    return err == 0 ? plog_rebuild_producers(p) : err;
}

static int recover_folder(struct plog *p, const struct plog_open_args *args, struct folder *f,
                          struct errmsg *em)
{
    if (f->has_swap) {
        return errmsg_set(em, E_UNSUPPORTED,
                          "%s: a compaction by Kafka is unfinished; start and stop Kafka here once",
                          p->folder);
    }
    struct recovery r = {p, args->is_clean, args->recovery_point, em};
    p->has_folder = true;
    p->has_truncated = f->has_truncated;
    int err = remove_orphans(p, f);
    if (err == 0) {
        err = check_topic_id(p, em);
    }
    if (err == 0 && f->has_truncated) { /* also after a clean stop: its version may be newer */
        err = read_truncated(p, &r.recovery_point, em);
    }
    if (err == 0) {
        err = open_segments(p, f);
    }
    if (err == 0) {
        err = load_epochs(p, em);
    }
    for (int i = 0; i < f->snapshots.count; i++) {
        plog_note_snapshot(p, f->snapshots.list[i]);
    }
    if (err == 0) {
        err = load_segments(&r);
    }
    if (err == 0) {
        err = settle(p, args, r.recovery_point);
    }
    return err == 0 && p->has_unlinked && p->has_folder ? plog_sync_folder(p) : err;
}

int plog_recover(struct plog *p, const struct plog_open_args *args, struct errmsg *em)
{
    struct folder f = {0};
    if (em != NULL) {
        em->text[0] = '\0';
    }
    int err = env_dir_list(p->env, p->folder, folder_entry, &f);
    if (err == 0) {
        err = recover_folder(p, args, &f, em);
    } else if (err == -E_NOT_FOUND) {
        err = 0;
        p->start_offset = p->end_offset = p->recovery_point = args->log_start_offset;
        p->recovery_point_high = MAX(args->recovery_point, args->log_start_offset);
    }
    folder_deinit(&f);
    if (err != 0 && em != NULL && em->text[0] == '\0') {
        (void)errmsg_set(em, (enum error) - err, "%s: cannot open the log: %s", p->folder,
                         error_name(err));
    }
    return err;
}
