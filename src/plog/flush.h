/*
 * Making a log durable without blocking its shard: begin (home) -> run (disk pool) -> end (home).
 * The recovery point moves only in end, and only over bytes that were synced in between.
 */
#pragma once

#include "plog/plog.h"

struct plog_flush;

/* Collects what is not synced yet. NULL when there is nothing to do, a flush of this log is running,
 * or the log is failed or has no files. */
struct plog_flush *plog_flush_begin(struct plog *p) MUST_CHECK;
/* Syncs. Runs on the disk pool (or at home, blocking). Touches nothing but the flush. */
void plog_flush_run(struct plog_flush *f);
/*
 * Moves the recovery point and frees f; 0, or the error of the sync: the log is failed now (a failed
 * sync is never retried). When the log was freed, removed or fully truncated in between, only frees.
 */
int plog_flush_end(struct plog_flush *f) MUST_CHECK;
/* All three steps at once, blocking. */
int plog_flush_now(struct plog *p) MUST_CHECK;
/* For the log itself: it goes away, the flush stays. */
void plog_flush_detach(struct plog_flush *f);
/* For the log itself: only what lies below offset may count as synced by f. */
void plog_flush_lower(struct plog_flush *f, int64_t offset);
