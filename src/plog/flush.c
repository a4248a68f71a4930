/*
 * A flush owns references to the files it syncs and copies of all else it needs, so that the pool
 * never looks at the log. Invariant: while a log has a flush, flush->plog is that log.
 */
#include "plog/flush.h"

#include "base/alloc.h"
#include "plog/checkpoint.h"
#include "plog/partition.h"
#include "plog/state.h"

#include <stdlib.h>

#define FILES_PER_SEGMENT 3

struct plog_flush {
    struct plog *plog; /* NULL when it went away; home only */
    int64_t target;    /* the recovery point when all goes well; home only */
    struct env *env;
    char *dir;
    char *folder;
    struct env_file **files; /* to sync */
    int file_count;
    struct buf epochs; /* content of the epochs file */
    bool has_epochs;
    bool is_folder_new;
    struct uuid topic_id; /* to write durably when the folder is new */
    int err;
};

static void flush_free(struct plog_flush *f)
{
    for (int i = 0; i < f->file_count; i++) {
        env_file_unref(f->files[i]);
    }
    free(f->files);
    buf_deinit(&f->epochs);
    free(f->dir);
    free(f->folder);
    free(f);
}

static void flush_add_file(struct plog_flush *f, struct env_file *file)
{
    if (file != NULL) {
        f->files[f->file_count++] = env_file_ref(file);
    }
}

/* Takes a dirty segment's files, index entries brought up first. */
static int flush_add_segment(struct plog_flush *f, struct plog_segment *s)
{
    struct env_file *file = NULL;
    int err = plog_segment_write_indexes(s);
    if (err == 0) {
        err = plog_segment_file(s, &file);
    }
    if (err != 0) {
        return err;
    }
    flush_add_file(f, file);
    flush_add_file(f, s->offsets_file);
    flush_add_file(f, s->times_file);
    s->is_dirty = false;
    return 0;
}

static bool has_work(const struct plog *p)
{
    if (!p->has_folder || p->flush != NULL || p->failure != 0) {
        return false;
    }
    bool is_dirty = p->segment_count > 0 && plog_active(p)->is_dirty;
    return is_dirty || p->recovery_point < p->end_offset || p->is_epochs_dirty || p->is_folder_new;
}

struct plog_flush *plog_flush_begin(struct plog *p)
{
    if (!has_work(p)) {
        return NULL;
    }
    struct plog_flush *f = xalloc(sizeof *f);
    f->plog = p;
    f->target = p->end_offset;
    f->env = p->env;
    f->dir = xstrdup(p->dir);
    f->folder = xstrdup(p->folder);
    f->files = xalloc((size_t)p->segment_count * FILES_PER_SEGMENT * sizeof *f->files);
    buf_init(&f->epochs);
    f->has_epochs = p->is_epochs_dirty;
    f->is_folder_new = p->is_folder_new;
    f->topic_id = p->topic_id;
    int err = 0;
    for (int i = 0; i < p->segment_count && err == 0; i++) {
        if (p->segments[i]->is_dirty) {
            err = flush_add_segment(f, p->segments[i]);
        }
    }
    if (f->has_epochs) {
        plog_epochs_format(&p->epochs, &f->epochs);
        err = err == 0 && buf_failed(&f->epochs) ? -E_NO_MEMORY : err;
    }
    if (err != 0) {
        (void)plog_fail(p, err); /* told by plog_failure and by the next call */
        flush_free(f);
        return NULL;
    }
    p->is_epochs_dirty = false;
    p->is_folder_new = false;
    p->flush = f;
    return f;
}

void plog_flush_run(struct plog_flush *f)
{
    int err = 0;
    for (int i = 0; i < f->file_count && err == 0; i++) {
        err = env_file_sync(f->files[i]);
    }
    if (err == 0 && f->is_folder_new && !uuid_is_zero(f->topic_id)) {
        err = plog_partition_write_id(f->env, f->folder, f->topic_id, true);
    }
    if (err == 0 && f->has_epochs) {
        err = plog_file_replace(f->env, f->folder, PLOG_EPOCHS_NAME, buf_slice(&f->epochs));
    }
    if (err == 0) {
        err = env_dir_sync(f->env, f->folder);
    }
    if (err == 0 && f->is_folder_new) {
        err = env_dir_sync(f->env, f->dir);
    }
    f->err = err;
}

/* The recovery point may hide what was truncated only until it is past all that was ever told. */
static int remove_truncated(struct plog *p)
{
    char *path = xasprintf("%s/%s", p->folder, PLOG_TRUNCATED_NAME);
    int err = env_unlink(p->env, path);
    free(path);
    if (err == 0 || err == -E_NOT_FOUND) {
        p->has_truncated = false;
        return 0;
    }
    return err;
}

int plog_flush_end(struct plog_flush *f)
{
    struct plog *p = f->plog;
    int err = f->err;
    int64_t target = f->target;
    flush_free(f);
    if (p == NULL) {
        return 0;
    }
    p->flush = NULL;
    if (err != 0) {
        return plog_fail(p, err);
    }
    CHECK(target <= p->end_offset && p->recovery_point <= p->recovery_point_high);
    p->recovery_point = MAX(p->recovery_point, target);
    if (p->recovery_point >= p->recovery_point_high) {
        p->recovery_point_high = p->recovery_point;
        if (p->has_truncated) {
            err = remove_truncated(p);
        }
    }
    return plog_fail(p, err);
}

void plog_flush_detach(struct plog_flush *f)
{
    f->plog = NULL;
}

void plog_flush_lower(struct plog_flush *f, int64_t offset)
{
    f->target = MIN(f->target, offset);
}

int plog_flush_now(struct plog *p)
{
    struct plog_flush *f = plog_flush_begin(p);
    if (f == NULL) {
        return p->failure;
    }
    plog_flush_run(f);
    return plog_flush_end(f);
}
