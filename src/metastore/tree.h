/*
 * The engine of the embedded metastore: nodes, versions, zxids, ephemerals, one-shot watches and
 * atomic multis. No I/O and no clock; one owner. Sessions are numbers to it.
 *
 * What a change causes (watch events, rows to persist) is told to a sink after the whole multi
 * succeeded, so a refused multi leaves no trace.
 */
#pragma once

#include "metastore/metastore.h"
#include "metastore/path.h"

struct metastore_tree;

/* Who waits: opaque to the tree, handed back with the event. Two registrations of one session with
 * the same fn and arg on the same path are one watch. */
struct metastore_watcher {
    int64_t session_id;
    metastore_watch_fn fn; /* NULL = no watch */
    void *arg;
};

/* What a persistent node is on disk. Borrowed during the call. */
struct metastore_row {
    struct slice path;
    struct slice data; /* null data is the null slice */
    int64_t czxid;
    int64_t mzxid;
    int32_t version;
    int32_t next_sequence; /* number of the next sequential child */
};

struct metastore_tree_sink {
    void (*event)(void *arg, struct metastore_watcher watcher, enum metastore_event event,
                  struct slice path);
    /* The persistent node was created or changed. */
    void (*put)(void *arg, const struct metastore_row *row);
    /* The persistent node is gone. */
    void (*removed)(void *arg, struct slice path);
    void *arg;
};

/* What a multi answers; arrays are the caller's, op_count long. */
struct metastore_multi_result {
    int err;                      /* as metastore_result.err */
    int32_t failed_op;            /* -1 = none */
    struct metastore_stat *stats; /* filled on success */
    char **paths;                 /* filled on success: heap copies for creates, NULL for others */
};

/* zxid: the last one used before. sink is copied. */
struct metastore_tree *metastore_tree_new(size_t bytes_max, int64_t zxid,
                                          const struct metastore_tree_sink *sink);
void metastore_tree_free(struct metastore_tree *t);
int64_t metastore_tree_zxid(const struct metastore_tree *t);
/* Puts a row read from disk; parents come first. Tells the sink nothing. -E_CORRUPT when it does not
 * fit the tree. "/" may come too: it carries the root's data and sequence. */
int metastore_tree_load(struct metastore_tree *t, const struct metastore_row *row) MUST_CHECK;

/* ret_data is borrowed until the next change. Watches are set as metastore.h says. */
int metastore_tree_get(struct metastore_tree *t, struct slice path,
                       struct metastore_watcher watcher, struct slice *ret_data,
                       struct metastore_stat *ret_stat) MUST_CHECK;
int metastore_tree_exists(struct metastore_tree *t, struct slice path,
                          struct metastore_watcher watcher,
                          struct metastore_stat *ret_stat) MUST_CHECK;
/* *ret_names: one heap block, an array of *ret_count slices in byte order; free() it. NULL when empty. */
int metastore_tree_children(struct metastore_tree *t, struct slice path,
                            struct metastore_watcher watcher, struct slice **ret_names,
                            int32_t *ret_count) MUST_CHECK;
/* All or nothing, one zxid. */
void metastore_tree_multi(struct metastore_tree *t, int64_t session_id,
                          const struct metastore_op *ops, int32_t op_count,
                          struct metastore_multi_result *result);
/* The session's ephemerals go (one zxid when there are any), and its watches. */
void metastore_tree_end_session(struct metastore_tree *t, int64_t session_id);
/* A fault, for tests: the node has an access list by which nobody may set it, nor create and delete its
 * children (-E_REFUSED), until it is taken away. Without such a node nothing happens. */
void metastore_tree_guard(struct metastore_tree *t, struct slice path, bool is_guarded);
/* The same, with a list by which nobody may read it or list its children. */
void metastore_tree_hide(struct metastore_tree *t, struct slice path, bool is_hidden);
