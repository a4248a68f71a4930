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
 * sync is never retried). When the log was freed in between, f->plog is gone: call plog_flush_abandon
 * instead.
 */
int plog_flush_end(struct plog_flush *f) MUST_CHECK;
/* Frees f without touching the log: call it from the done function when the plog is freed already. */
void plog_flush_abandon(struct plog_flush *f);
