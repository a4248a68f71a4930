/*
 * Truncation and retention. At the end of the log files go newest first, at its start oldest first
 * (see state.c). Runs on the home env.
 */
#include "plog/trim.h"

#include "base/alloc.h"
#include "plog/flush.h"
#include "plog/removal.h"
#include "plog/state.h"

#include <stdlib.h>

/* Segments behind number i go, the last one first. */
static int drop_tail(struct plog *p, int i)
{
    int err = 0;
    while (err == 0 && p->segment_count > i + 1) {
        int64_t base_offset = plog_active(p)->base_offset;
        plog_drop_segments(p, p->segment_count - 1, 1);
        err = plog_unlink_segment(p, base_offset);
    }
    return err;
}

/* The cut went below the log start: nothing that can be read is left. */
static int restart_at_start(struct plog *p)
{
    struct plog_segment *s = NULL;
    int err = drop_tail(p, -1);
    if (err == 0) {
        err = plog_segment_create(p->files, p->folder, p->start_offset, &s);
    }
    if (err == 0) {
        plog_push_segment(p, s);
    }
    return err;
}

static int truncate_files(struct plog *p, int64_t offset)
{
    int i = plog_segment_at(p, offset);
    CHECK(i >= 0);
    int err = drop_tail(p, i);
    if (err == 0) {
        err = plog_segment_truncate(p->segments[i], offset, p->config.index_interval_bytes);
    }
    if (err == 0 && p->segments[i]->next_offset < p->start_offset) {
        err = restart_at_start(p);
    }
    if (err != 0) {
        return err;
    }
    p->end_offset = plog_active(p)->next_offset;
    err = plog_cut_snapshots(p, p->end_offset);
    if (err == 0) {
        err = plog_segment_sync(plog_active(p));
    }
    if (err == 0) {
        err = plog_sync_folder(p);
    }
    /* Last, when nothing is appended yet: until then the end of the log itself is the bound. */
    return err == 0 ? plog_lower_recovery_point(p, p->end_offset) : err;
}

int plog_truncate_to(struct plog *p, int64_t offset, struct errmsg *em)
{
    if (p->failure != 0) {
        return errmsg_set(em, E_OFFLINE, "%s: the log is offline", p->folder);
    }
    offset = MAX(offset, p->start_offset);
    if (offset >= p->end_offset) {
        /* An epoch may start at the end, of a time as leader without a record: another leader does
         * not know it, and would tell of the divergence for ever. */
        if (plog_epochs_cut_end(&p->epochs, p->end_offset)) {
            p->is_epochs_dirty = true;
        }
        return 0;
    }
    CHECK(p->segment_count > 0);
    plog_marks_clear(p);
    int err = truncate_files(p, offset);
    if (err == 0) {
        if (p->flush != NULL) {
            plog_flush_lower(p->flush, p->end_offset);
        }
        (void)plog_epochs_cut_end(&p->epochs, p->end_offset);
        p->is_epochs_dirty = true;
        err = plog_rebuild_producers(p);
    }
    if (err != 0) {
        /* Half truncated is no state to go on with, whatever the error was. */
        p->failure = p->failure == 0 ? err : p->failure;
        return errmsg_set(em, (enum error) - err, "%s: cannot truncate to %lld: %s", p->folder,
                          (long long)offset, error_name(err));
    }
    return 0;
}

int plog_truncate_fully(struct plog *p, int64_t offset, struct plog_removal **ret_removal,
                        struct errmsg *em)
{
    CHECK(offset >= 0);
    if (p->failure != 0) {
        return errmsg_set(em, E_OFFLINE, "%s: the log is offline", p->folder);
    }
    char *path = NULL;
    int err = plog_rename_folder(p, PLOG_DELETE_SUFFIX, &path);
    if (err != 0) {
        return errmsg_set(em, (enum error) - err, "%s: cannot rename the folder: %s", p->folder,
                          error_name(err));
    }
    plog_restart_at(p, offset);
    *ret_removal = path == NULL ? NULL : plog_removal_new(p->env, path);
    free(path);
    return 0;
}

void plog_raise_start(struct plog *p, int64_t offset)
{
    offset = MIN(offset, p->end_offset);
    if (offset > p->start_offset) {
        p->start_offset = offset;
        if (plog_epochs_cut_start(&p->epochs, offset)) {
            p->is_epochs_dirty = true;
        }
    }
}

/* ---- retention ---- */

struct retention {
    int64_t wall_ms;
    int64_t high_watermark;
    int64_t bytes_left; /* in the log when the segments looked at before are gone */
};

/* Is this segment, the first one left, to go? end_offset is where the next one begins. */
static bool is_due(const struct plog *p, const struct plog_segment *s, int64_t end_offset,
                   const struct retention *r)
{
    const struct plog_config *config = &p->config;
    if (end_offset > r->high_watermark) {
        return false;
    }
    if (end_offset <= p->start_offset) {
        return true;
    }
    bool is_old = config->retention_ms >= 0 && s->max_timestamp >= 0 &&
                  r->wall_ms - s->max_timestamp > config->retention_ms;
    bool is_beyond =
        config->retention_bytes >= 0 && r->bytes_left - (int64_t)s->size >= config->retention_bytes;
    return config->delete_old && (is_old || is_beyond);
}

/* How many segments from the front are due; the active one counts as any other. */
static int count_due(const struct plog *p, int64_t wall_ms, int64_t high_watermark)
{
    struct retention r = {wall_ms, high_watermark, plog_bytes(p)};
    int count = 0;
    while (count < p->segment_count) {
        const struct plog_segment *s = p->segments[count];
        bool is_active = count + 1 == p->segment_count;
        int64_t end_offset = is_active ? s->next_offset : p->segments[count + 1]->base_offset;
        if ((is_active && s->size == 0) || !is_due(p, s, end_offset, &r)) {
            break;
        }
        r.bytes_left -= (int64_t)s->size;
        count++;
    }
    return count;
}

/* Renames a segment's files out of the way and gives them to the removal. */
static int set_aside(struct plog *p, int64_t base_offset, struct plog_removal *removal)
{
    static const char *const suffixes[] = {PLOG_LOG_SUFFIX, PLOG_INDEX_SUFFIX, PLOG_TIME_SUFFIX,
                                           PLOG_TXN_SUFFIX};
    for (size_t i = 0; i < ARRAY_LEN(suffixes); i++) {
        char *from = plog_segment_path(p->folder, base_offset, suffixes[i]);
        char *to = xasprintf("%s" PLOG_DELETED_SUFFIX, from);
        int err = env_rename(p->env, from, to);
        if (err == 0) {
            plog_removal_add(removal, to);
        }
        free(to);
        free(from);
        if (err != 0 && err != -E_NOT_FOUND) {
            return err;
        }
    }
    return 0;
}

static int retain_first(struct plog *p, struct plog_removal *removal)
{
    CHECK(p->segment_count >= 2);
    int64_t base_offset = p->segments[0]->base_offset;
    plog_drop_segments(p, 0, 1);
    plog_raise_start(p, p->segments[0]->base_offset);
    return set_aside(p, base_offset, removal);
}

int plog_retain(struct plog *p, int64_t wall_ms, int64_t high_watermark,
                struct plog_removal **ret_removal, struct errmsg *em)
{
    *ret_removal = NULL;
    if (p->failure != 0) {
        return errmsg_set(em, E_OFFLINE, "%s: the log is offline", p->folder);
    }
    int due = count_due(p, wall_ms, high_watermark);
    if (due == 0) {
        return 0;
    }
    int err = due == p->segment_count ? plog_roll(p, p->end_offset) : 0;
    struct plog_removal *removal = plog_removal_new(p->env, NULL);
    for (int i = 0; i < due && err == 0; i++) {
        err = retain_first(p, removal);
    }
    if (err == 0) {
        err = plog_drop_old_snapshots(p);
    }
    if (err != 0) {
        plog_removal_free(removal);
        (void)plog_fail(p, err); /* the same error is returned */
        return errmsg_set(em, (enum error) - err, "%s: cannot remove old segments: %s", p->folder,
                          error_name(err));
    }
    *ret_removal = removal;
    return 0;
}
