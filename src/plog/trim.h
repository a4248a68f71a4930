/*
 * Making a log shorter: truncation at the end (a follower that diverged) and retention at the front.
 */
#pragma once

#include "plog/plog.h"

struct plog_removal;

/*
 * Removes every record at or above offset, cutting at the batch boundary at or below it; epochs,
 * producer state and indexes follow; synced when it returns. No effect when offset is at or above the
 * log end; never goes below the log start (then the log is empty at its start). The end offset
 * afterwards may be lower than offset. -E_IO and kin: the log is failed.
 */
int plog_truncate_to(struct plog *p, int64_t offset, struct errmsg *em) MUST_CHECK;
/*
 * Drops everything; the log is empty and starts at offset. The old folder is renamed to -delete first,
 * synced, and *ret_removal owns it (NULL when there were no files): drive it, see removal.h.
 * -E_IO and kin: the log is failed.
 */
int plog_truncate_fully(struct plog *p, int64_t offset, struct plog_removal **ret_removal,
                        struct errmsg *em) MUST_CHECK;

/*
 * Raises the log start (DeleteRecords, or a follower told by its leader). Bounded by the log end.
 * No effect when lower. Segments below go at the next plog_retain.
 */
void plog_raise_start(struct plog *p, int64_t offset);
/*
 * Applies retention by size, time and log start: whole segments below high_watermark leave the log,
 * their files renamed to .deleted. *ret_removal owns them: drive it (removal.h) when
 * file.delete.delay.ms has passed; NULL when nothing left. The log start rises with it and needs no
 * checkpoint for that. -E_IO and kin: the log is failed.
 */
int plog_retain(struct plog *p, int64_t wall_ms, int64_t high_watermark,
                struct plog_removal **ret_removal, struct errmsg *em) MUST_CHECK;
