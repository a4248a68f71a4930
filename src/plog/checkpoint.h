/*
 * Kafka's checkpoint text files (docs/spec/log-format.md, 2): the entries in memory, text and back,
 * and the write that is either wholly there or not at all.
 */
#pragma once

#include "base/buf.h"
#include "base/error.h"
#include "env/env.h"

struct plog_checkpoint_entry {
    char *topic; /* owned */
    int32_t partition;
    int64_t offset;
};

struct plog_checkpoint {
    struct plog_checkpoint_entry *entries;
    size_t count;
    size_t cap;
};

void plog_checkpoint_deinit(struct plog_checkpoint *c);
/* topic is copied. */
void plog_checkpoint_add(struct plog_checkpoint *c, const char *topic, int32_t partition,
                         int64_t offset);
/* Sorts by topic and partition, for plog_checkpoint_find. */
void plog_checkpoint_sort(struct plog_checkpoint *c);
/* The offset of an entry in a sorted checkpoint, missing when there is none. */
int64_t plog_checkpoint_find(const struct plog_checkpoint *c, const char *topic, int32_t partition,
                             int64_t missing);
void plog_checkpoint_format(const struct plog_checkpoint *c, struct buf *out);
/* -E_MALFORMED with the line, -E_UNSUPPORTED for another version. Sorted afterwards. */
int plog_checkpoint_parse(struct slice text, struct plog_checkpoint *ret_entries,
                          struct errmsg *em) MUST_CHECK;

/* Writes dir/name through dir/name.tmp: sync, rename, sync of dir. May run on the disk pool. */
int plog_file_replace(struct env *env, const char *dir, const char *name,
                      struct slice content) MUST_CHECK;
/* Reads a whole small file (at most max bytes, else -E_TOO_LARGE) to the end of out. */
int plog_file_load(struct env *env, const char *path, size_t max, struct buf *out) MUST_CHECK;
