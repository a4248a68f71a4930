/*
 * The inside of a log, shared by the verbs (append, read, flush, trim, recover). Private to plog/.
 *
 * Invariants: segments are in order of base offset, each ends where the next begins (or below, after
 * compaction by Kafka), and the last one is active; no segments means an empty log.
 * start_offset <= end_offset; recovery_point <= end_offset.
 */
#pragma once

#include "plog/epochs.h"
#include "plog/plog.h"
#include "plog/producers.h"
#include "plog/segment.h"

#define PLOG_MARKS  16
#define PLOG_TRUSTS 8

#define PLOG_EPOCHS_NAME     "leader-epoch-checkpoint"
#define PLOG_TRUNCATED_NAME  "klamm-truncated"
#define PLOG_SNAPSHOT_SUFFIX ".snapshot"
#define PLOG_DELETED_SUFFIX  ".deleted"

/* A known batch boundary: reads near the tail find their way without touching an index. */
struct plog_mark {
    struct plog_segment *segment; /* NULL = unused */
    int64_t offset;               /* base offset of the batch at pos */
    uint64_t pos;
};

/* A range that was warmed. */
struct plog_trust {
    const void *owner; /* see cold.h; NULL = unused */
    uint64_t pos;
    uint64_t len;
    int64_t at_ms;
};

struct plog {
    struct plog_files *files;
    struct env *env;
    char *dir;
    char *folder; /* dir/topic-partition */
    char *topic;
    int32_t partition;
    struct uuid topic_id;
    struct plog_config config;

    struct plog_segment **segments;
    int segment_count;
    int segment_cap;
    int64_t start_offset;
    int64_t end_offset;
    int64_t recovery_point;      /* everything below is synced */
    int64_t recovery_point_high; /* the largest value the checkpoint on disk may hold */
    int failure;                 /* 0 or -E_... */

    bool has_folder;
    bool is_folder_new;   /* its creation is not synced */
    bool has_truncated;   /* the file PLOG_TRUNCATED_NAME exists */
    bool has_unlinked;    /* files were unlinked since the folder was synced last */
    bool is_epochs_dirty; /* the epochs differ from their file */

    struct plog_epochs epochs;
    struct plog_producers producers;
    int64_t *snapshots; /* offsets of the .snapshot files, rising */
    int snapshot_count;
    int snapshot_cap;
    struct plog_mark marks[PLOG_MARKS];
    unsigned next_mark;
    struct plog_trust trusts[PLOG_TRUSTS];
    unsigned next_trust;
    struct plog_flush *flush; /* the one running, or NULL */
};

/* Records that a disk operation failed, and returns err. Errors of content do not fail the log. */
int plog_fail(struct plog *p, int err);
/* dir/topic-partition, heap. */
char *plog_folder_path(const char *dir, const char *topic, int32_t partition);
static inline struct plog_segment *plog_active(const struct plog *p)
{
    return p->segment_count == 0 ? NULL : p->segments[p->segment_count - 1];
}
/* The number of the last segment with a base at or below offset, -1 none. */
int plog_segment_at(const struct plog *p, int64_t offset);
void plog_push_segment(struct plog *p, struct plog_segment *s);
/* Forgets (closes) segments [first, first + count). Files stay. */
void plog_drop_segments(struct plog *p, int first, int count);

/* Makes the folder and an active segment where there is none yet. */
int plog_ensure_active(struct plog *p) MUST_CHECK;
/* Seals the active segment and starts a new one with this base (at or above the log end). */
int plog_roll(struct plog *p, int64_t base_offset) MUST_CHECK;
/* Syncs the folder: what was unlinked must not come back once other files cover its offsets. */
int plog_sync_folder(struct plog *p) MUST_CHECK;
/* Unlinks the three files of a segment, and its .txnindex. */
int plog_unlink_segment(struct plog *p, int64_t base_offset) MUST_CHECK;

void plog_mark_add(struct plog *p, struct plog_segment *s, int64_t offset, uint64_t pos);
/* NULL when offset is no known boundary. */
const struct plog_mark *plog_mark_find(const struct plog *p, int64_t offset);
void plog_marks_clear(struct plog *p);

/* Notes that everything at or above offset may be missing after a crash although the checkpoint on
 * disk may say otherwise. Durable when it returns if there is a folder. */
int plog_lower_recovery_point(struct plog *p, int64_t offset) MUST_CHECK;
int plog_write_truncated(struct plog *p) MUST_CHECK;

/* Writes the producer snapshot at the log end (not synced), and drops those nobody needs. */
int plog_write_snapshot(struct plog *p) MUST_CHECK;
int plog_drop_old_snapshots(struct plog *p) MUST_CHECK;
void plog_note_snapshot(struct plog *p, int64_t offset);
/* Unlinks snapshots above offset. */
int plog_cut_snapshots(struct plog *p, int64_t offset) MUST_CHECK;
char *plog_snapshot_path(const struct plog *p, int64_t offset);
/* A flush that is running goes on, and its result is not for this log any more. */
void plog_detach_flush(struct plog *p);
/* Renames the folder to <topic>-<p>.<32 hex><suffix>, synced; closes the segments. The log has no
 * files afterwards. *ret_path (heap) is the new path, NULL when there was no folder. */
int plog_rename_folder(struct plog *p, const char *suffix, char **ret_path) MUST_CHECK;
/* Empty, starting at offset; what was on disk has been renamed away. */
void plog_restart_at(struct plog *p, int64_t offset);
/* Feeds a batch to the producer state; reads a control batch through the cursor. */
int plog_apply_producer(struct plog *p, struct plog_cursor *c,
                        const struct record_batch *b) MUST_CHECK;
/* Builds the producer state of the log end from the newest good snapshot and the batches behind it. */
int plog_rebuild_producers(struct plog *p) MUST_CHECK;
