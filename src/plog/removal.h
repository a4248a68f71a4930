/*
 * Deleting files in small steps on the disk pool: an unlink of a gigabyte blocks for a third of a
 * second, so large files are cut down first, 64 MiB a step.
 */
#pragma once

#include "plog/plog.h"

#define PLOG_DELETE_SUFFIX "-delete"
#define PLOG_FUTURE_SUFFIX "-future"
#define PLOG_STRAY_SUFFIX  "-stray"

struct plog_removal;

/*
 * Takes the partition off: renames its folder to <topic>-<p>.<32 hex>-delete (synced) and frees p.
 * Always frees p. *ret_removal owns the rest, NULL when there were no files.
 * -E_IO and kin: the folder stays, the directory is offline.
 */
int plog_remove(struct plog *p, struct plog_removal **ret_removal, struct errmsg *em) MUST_CHECK;
/* The same with the suffix -stray; the folder stays on disk until somebody removes it. Frees p. */
int plog_set_aside(struct plog *p, struct errmsg *em) MUST_CHECK;
/* For a folder or file left over from an earlier run; path NULL: nothing yet. */
struct plog_removal *plog_removal_new(struct env *env, const char *path);
/* One more file or folder. */
void plog_removal_add(struct plog_removal *r, const char *path);

/* One bounded step. Runs on the disk pool. 1 = more to do, 0 = all gone, -E_... = gave up (what is
 * left is tried again at the next start; nothing depends on it). */
int plog_removal_step(struct plog_removal *r) MUST_CHECK;
/* NULL is fine; files that are left stay. */
void plog_removal_free(struct plog_removal *r);
