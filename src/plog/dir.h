/*
 * A log directory (docs/spec/log-format.md, 1 and 2): its lock, identity, clean-shutdown mark,
 * checkpoints, and the partition folders in it. Runs on the home env; the checkpoint functions touch
 * only what they are given and may run on the disk pool.
 */
#pragma once

#include "base/error.h"
#include "base/uuid.h"
#include "env/env.h"
#include "plog/checkpoint.h"

struct plog_dir;

/*
 * Makes the directory when missing and takes its lock. Nothing that was there is changed: it may be
 * somebody else's. -E_LOCKED: in use; the message names the directory. -E_UNSUPPORTED: klamm-boot has a
 * newer version. -E_IO: no directory; and kin.
 */
int plog_dir_open(struct env *env, const char *path, struct plog_dir **ret_dir,
                  struct errmsg *em) MUST_CHECK;
/* The directory is ours, its logs will be opened: reads and removes the clean-shutdown mark. */
int plog_dir_begin(struct plog_dir *d, struct errmsg *em) MUST_CHECK;
/* Gives the lock back, writes nothing. NULL is fine. */
void plog_dir_free(struct plog_dir *d);
const char *plog_dir_name(const struct plog_dir *d);
/* Whether the last stop was clean: the segments need no recovery. Known after plog_dir_begin. */
bool plog_dir_was_clean(const struct plog_dir *d);
/* After every log was closed cleanly. Durable when it returns. Leaves the mark out of a directory that
 * may lack records, so that this is not forgotten. */
int plog_dir_mark_clean(struct plog_dir *d, struct errmsg *em) MUST_CHECK;
/* Whether records that were acknowledged may be gone from it: its last stop was not clean, and it is
 * not known (from the file klamm-boot) that the page cache of that time is still there. So for a new
 * directory, which may stand in for a lost one. */
bool plog_dir_may_lack_records(const struct plog_dir *d);
/* Nobody counts on what may be missing any more: writes the present boot id into klamm-boot. Durable
 * when it returns. */
int plog_dir_accept_records(struct plog_dir *d, struct errmsg *em) MUST_CHECK;

struct plog_dir_meta {
    int32_t broker_id;
    char cluster_id[64]; /* "" = none in the file */
};

/* Reads meta.properties. -E_NOT_FOUND: a new directory. -E_UNSUPPORTED: version other than 0.
 * -E_MALFORMED. */
int plog_dir_read_meta(struct plog_dir *d, struct plog_dir_meta *ret_meta,
                       struct errmsg *em) MUST_CHECK;
int plog_dir_write_meta(struct plog_dir *d, const struct plog_dir_meta *meta,
                        struct errmsg *em) MUST_CHECK;
/* Writes meta.properties into a new directory, or compares: -E_INVALID names both ids. */
int plog_dir_claim(struct plog_dir *d, const struct plog_dir_meta *meta,
                   struct errmsg *em) MUST_CHECK;

enum plog_checkpoint_kind {
    PLOG_CHECKPOINT_HIGH_WATERMARK, /* replication-offset-checkpoint */
    PLOG_CHECKPOINT_RECOVERY_POINT, /* recovery-point-offset-checkpoint */
    PLOG_CHECKPOINT_LOG_START,      /* log-start-offset-checkpoint */
    PLOG_CHECKPOINT_CLEANER,        /* cleaner-offset-checkpoint */
};

/* A missing file is an empty checkpoint. -E_MALFORMED, -E_UNSUPPORTED (newer version): the caller
 * decides whether absence is safe. */
int plog_dir_read_checkpoint(struct env *env, const char *dir, enum plog_checkpoint_kind kind,
                             struct plog_checkpoint *ret_entries, struct errmsg *em) MUST_CHECK;
/* Temporary file, sync, rename, sync of the directory. May run on the disk pool. */
int plog_dir_write_checkpoint(struct env *env, const char *dir, enum plog_checkpoint_kind kind,
                              const struct plog_checkpoint *entries, struct errmsg *em) MUST_CHECK;

enum plog_folder_kind {
    PLOG_FOLDER_LIVE,
    PLOG_FOLDER_DELETE,
    PLOG_FOLDER_FUTURE,
    PLOG_FOLDER_STRAY,
};

struct plog_folder {
    enum plog_folder_kind kind;
    const char *name;   /* as on disk, borrowed */
    struct slice topic; /* borrowed; possibly shortened for the kinds with a suffix */
    int32_t partition;
    struct uuid topic_id; /* from partition.metadata; zero = none */
};

/* Calls fn for each partition folder, by name. Other entries are passed over. Stops at fn's first
 * error. -E_UNSUPPORTED: a partition.metadata of a newer version. */
typedef int (*plog_folder_fn)(void *arg, const struct plog_folder *folder);
int plog_dir_list_folders(struct plog_dir *d, plog_folder_fn fn, void *arg,
                          struct errmsg *em) MUST_CHECK;
