/*
 * The leader-epoch cache of a log (docs/spec/reassignment.md, 11.6 and 11.7): which epoch starts at
 * which offset, strictly rising in both. In memory; the owner stores the text form.
 */
#pragma once

#include "base/buf.h"
#include "base/error.h"

struct plog_epoch {
    int32_t epoch;
    int64_t start_offset;
};

struct plog_epochs {
    struct plog_epoch *list;
    int count;
    int cap;
};

void plog_epochs_deinit(struct plog_epochs *e);
/* epoch starts at start_offset: later entries with an epoch or start at or above go; an epoch that is
 * not newer than the last one left changes nothing. True when the cache changed. */
bool plog_epochs_assign(struct plog_epochs *e, int32_t epoch, int64_t start_offset);
/* -1 when empty. */
int32_t plog_epochs_latest(const struct plog_epochs *e);
/* The epoch a record at offset has, -1 when unknown. */
int32_t plog_epochs_at(const struct plog_epochs *e, int64_t offset);
/* The end-offset lookup of 11.6; log_end is LEO. */
void plog_epochs_find_end(const struct plog_epochs *e, int32_t epoch, int64_t log_end,
                          struct plog_epoch *ret_end);
/* Removes entries that start at or above end. True when the cache changed. */
bool plog_epochs_cut_end(struct plog_epochs *e, int64_t end);
/* Entries below start collapse onto it. True when the cache changed. */
bool plog_epochs_cut_start(struct plog_epochs *e, int64_t start);
/* Kafka's leader-epoch-checkpoint and back. -E_MALFORMED, -E_UNSUPPORTED. */
void plog_epochs_format(const struct plog_epochs *e, struct buf *out);
int plog_epochs_parse(struct slice text, struct plog_epochs *ret_epochs) MUST_CHECK;
