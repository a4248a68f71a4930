/*
 * One partition's log on disk, in Kafka's format (docs/spec/log-format.md): open, close, facts.
 * The verbs have headers of their own: append.h, read.h, flush.h, trim.h (truncation and retention),
 * removal.h (deletion). The log directory around it is dir.h.
 *
 * A plog lives on its home env and is touched there alone; only the parts of flush.h and removal.h
 * that say so run on the disk pool. Nothing exists on disk until the first append (design, decision
 * 12). After a failed write or flush the plog is failed: every later call that needs the disk answers
 * -E_OFFLINE, and the caller takes the whole directory offline (and must not mark it clean).
 */
#pragma once

#include "base/error.h"
#include "base/uuid.h"
#include "env/env.h"
#include "plog/files.h"

struct plog;

/* What a topic's configuration means for its logs; Kafka's names in the comments. */
struct plog_config {
    int64_t segment_bytes_max;    /* segment.bytes */
    int64_t segment_ms;           /* segment.ms, between timestamps of a segment */
    int64_t index_bytes_max;      /* segment.index.bytes, for each of the two indexes */
    int64_t index_interval_bytes; /* index.interval.bytes */
    int64_t retention_bytes;      /* retention.bytes, -1 = no bound */
    int64_t retention_ms;         /* retention.ms, -1 = no bound */
    int64_t producer_expiry_ms;   /* producer.id.expiration.ms */
    bool delete_old;              /* cleanup.policy contains "delete" */
};

/* Kafka's defaults. */
struct plog_config plog_config_default(void);

/* ---- life ---- */

struct plog_open_args {
    struct plog_files *files; /* borrowed until plog_close */
    const char *dir;          /* the log directory, copied */
    const char *topic;        /* copied */
    int32_t partition;
    struct uuid topic_id;             /* written to partition.metadata when the folder is made;
                                         zero = none */
    const struct plog_config *config; /* copied */
    bool is_clean;                    /* the directory was stopped cleanly: trust the files */
    int64_t recovery_point;           /* from the checkpoint, 0 when absent */
    int64_t log_start_offset;         /* from the checkpoint, 0 when absent */
};

/*
 * Opens the log of a partition, which may have no folder yet. Unclean: every segment from the one
 * that holds the recovery point on is scanned, the log is cut at the first bad byte, indexes, epochs
 * and producer state are rebuilt. Blocks for as long as that takes.
 * An empty log starts at log_start_offset. Errors: -E_IO and kin (directory offline), -E_UNSUPPORTED
 * (files of a newer version), -E_INVALID (partition.metadata names another topic id), -E_CORRUPT.
 */
int plog_open(const struct plog_open_args *args, struct plog **ret_plog,
              struct errmsg *em) MUST_CHECK;
/*
 * The clean stop: writes the last time index entry, producer snapshot and epochs, and syncs all that
 * is not yet synced. Blocks. Call plog_free afterwards in any case; a failure means the directory must
 * not be marked clean. Does nothing for a log without files.
 */
int plog_close_clean(struct plog *p, struct errmsg *em) MUST_CHECK;
/* Forgets the log without writing anything (as a crash of the process would). NULL is fine. A flush
 * that is running goes on without it. */
void plog_free(struct plog *p);
/* Takes effect from the next append or retention run on. */
void plog_set_config(struct plog *p, const struct plog_config *config);
/* Sets the topic id of a log that had none; written at once when the folder exists. */
int plog_set_topic_id(struct plog *p, struct uuid id) MUST_CHECK;

/* ---- facts; all cheap ---- */

const char *plog_topic(const struct plog *p);
int32_t plog_partition(const struct plog *p);
const char *plog_dir_path(const struct plog *p); /* the log directory */
const char *plog_path(const struct plog *p);     /* the partition's folder */
struct uuid plog_topic_id(const struct plog *p); /* as on disk or as given; zero = none */
/* First offset that can be read. */
int64_t plog_start_offset(const struct plog *p);
/* The offset the next record gets (LEO). */
int64_t plog_end_offset(const struct plog *p);
/* Everything below is synced. What the recovery-point checkpoint holds; it may fall by truncation. */
int64_t plog_recovery_point(const struct plog *p);
/* Bytes in .log files. */
int64_t plog_bytes(const struct plog *p);
/* Bytes of the .log files at or above offset, a whole segment counted when offset lies inside. */
int64_t plog_bytes_from(const struct plog *p, int64_t offset);
int plog_segment_count(const struct plog *p);
/* Whether the folder exists on disk. */
bool plog_has_files(const struct plog *p);
/* 0, or the -E_... of the write or flush that failed. */
int plog_failure(const struct plog *p);
/* The first offset below high_watermark that a read-committed consumer must not see yet: of the oldest
 * transaction that is open, or whose end is not below the high watermark; high_watermark when none. */
int64_t plog_last_stable_offset(struct plog *p, int64_t high_watermark);

/* ---- leader epochs, docs/spec/reassignment.md 11.6, 11.7 ---- */

/* An epoch starts at the end of the log: call when becoming leader. Older or equal ones: no effect. */
void plog_epoch_start(struct plog *p, int32_t epoch);
/* The latest epoch known, -1 when none. */
int32_t plog_epoch_latest(const struct plog *p);
/* The epoch of a record at offset (any, also the end), -1 when unknown. */
int32_t plog_epoch_at(const struct plog *p, int64_t offset);
/* The end-offset lookup of 11.6: the table's answers, (-1, -1) for undefined. */
void plog_epoch_end(const struct plog *p, int32_t epoch, int32_t *ret_epoch, int64_t *ret_end);

/* ---- producers ---- */

/* Forgets producers that were idle for producer_expiry_ms and have no open transaction. Run it every
 * few minutes. */
void plog_expire_producers(struct plog *p, int64_t wall_ms);
int plog_producer_count(const struct plog *p);
