/*
 * The tree on disk: one SQLite file, and batches of changed rows on their way into it.
 *
 * One transaction a batch, in WAL mode with synchronous=FULL: a batch is on disk when
 * metastore_local_commit returned 0, and not at all when it failed. Ephemerals are never written, so
 * opening the file is what ends all sessions. The highest zxid is part of every batch.
 * Any thread, one at a time.
 */
#pragma once

#include "metastore/tree.h"

#define METASTORE_LOCAL_FILE "metastore.db"

/* ---- batches ---- */

struct metastore_change; /* a row to write or remove, in one heap block */

struct metastore_batch {
    struct metastore_change **changes;
    size_t count;
    size_t cap;
    int64_t zxid; /* the highest of the batch */
};

void metastore_batch_put(struct metastore_batch *b, const struct metastore_row *row);
void metastore_batch_remove(struct metastore_batch *b, struct slice path);
/* Empties it, and keeps no memory. */
void metastore_batch_clear(struct metastore_batch *b);

/* ---- the file ---- */

struct metastore_local;

/* Opens or makes the file and locks it until it is closed. -E_LOCKED, -E_UNSUPPORTED (newer format),
 * -E_CORRUPT, -E_DISK_FULL, -E_IO; em names the file. */
int metastore_local_open(const char *directory, struct metastore_local **ret_local,
                         struct errmsg *em) MUST_CHECK;
/* The highest zxid stored. */
int64_t metastore_local_zxid(const struct metastore_local *l);
/* Puts every row into the empty tree. -E_CORRUPT when they do not form one. */
int metastore_local_load(struct metastore_local *l, struct metastore_tree *t,
                         struct errmsg *em) MUST_CHECK;
int metastore_local_commit(struct metastore_local *l, const struct metastore_batch *b,
                           struct errmsg *em) MUST_CHECK;
void metastore_local_close(struct metastore_local *l); /* NULL is fine */
