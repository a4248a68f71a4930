/*
 * The metastore: a tree of versioned nodes with compare-and-set, multi, ephemerals, one-shot watches
 * and sessions, as ZooKeeper has them. Spec: docs/spec/zookeeper-mode.md; design section 4.
 *
 * One struct metastore is one session, bound to one env: every callback runs on that env's thread,
 * never from inside the call. Calls of one session are carried out and answered in order.
 *
 * Contract that all backends keep (tests/unit/metastore/test_conformance.c):
 *  - A watch is registered together with the read that names it, fires at most once, and its event is
 *    delivered before the answer of any read of this session that shows the change.
 *  - A multi is atomic and gets one zxid. czxid rises strictly, over restarts too.
 *  - Ephemerals go when their session closes or expires. After EXPIRED the session is dead: every
 *    call answers -E_SESSION_EXPIRED; make a new one.
 *  - -E_UNKNOWN_OUTCOME from a write: it may or may not have happened; read back before going on.
 *  - metastore_close drops all callbacks that are still due.
 */
#pragma once

#include "base/error.h"
#include "base/slice.h"

struct env;
struct metastore;

struct metastore_stat {
    int64_t czxid;   /* transaction that created the node; a broker's epoch */
    int64_t mzxid;   /* transaction of the last set */
    int32_t version; /* number of sets; 0 when created */
    int32_t child_count;
    int64_t ephemeral_owner; /* session id, 0 = persistent */
};

enum metastore_event {
    METASTORE_CREATED,
    METASTORE_DELETED,
    METASTORE_CHANGED, /* data */
    METASTORE_CHILDREN_CHANGED,
};

enum metastore_state {
    METASTORE_CONNECTED,    /* also after the first connect */
    METASTORE_DISCONNECTED, /* the session may still live */
    METASTORE_EXPIRED,
};

/* What a call answers. Everything is borrowed until the callback returns. */
struct metastore_result {
    int err;                      /* 0, -E_NOT_FOUND, -E_EXISTS, -E_BAD_VERSION, -E_NOT_EMPTY,
                                     -E_UNKNOWN_OUTCOME, -E_SESSION_EXPIRED, -E_TOO_LARGE,
                                     -E_INVALID (bad path, child of an ephemeral), -E_CLOSED,
                                     -E_REFUSED (an access list), -E_SYSTEM (ZooKeeper, anything
                                     else) */
    struct slice data;            /* get */
    struct metastore_stat stat;   /* get, exists; multi: see op_stats */
    const struct slice *children; /* children: names, in byte order */
    int32_t child_count;
    int32_t failed_op;                     /* multi: index of the op that refused, -1 = none */
    const struct metastore_stat *op_stats; /* multi: one an op (create, set: the new stat) */
    const struct slice
        *op_paths; /* multi: the final path of each create (sequential ones differ) */
    int32_t op_count;
};

typedef void (*metastore_done_fn)(void *arg, const struct metastore_result *result);
typedef void (*metastore_watch_fn)(void *arg, enum metastore_event event, struct slice path);
typedef void (*metastore_state_fn)(void *arg, enum metastore_state state);

enum metastore_op_kind {
    METASTORE_CREATE,
    METASTORE_SET,
    METASTORE_DELETE, /* the node must have no children */
    METASTORE_CHECK,  /* refuses unless the node has this version */
};

struct metastore_op {
    enum metastore_op_kind kind;
    struct slice path;  /* "/a/b"; copied by the call */
    struct slice data;  /* create, set; at most METASTORE_DATA_MAX; copied by the call */
    int32_t version;    /* set, delete, check: expected version; -1 = any */
    bool is_ephemeral;  /* create */
    bool is_sequential; /* create: ten digits are appended */
};

#define METASTORE_DATA_MAX (1024 * 1024 - 1024) /* bytes of one node, ZooKeeper's default limit */
#define METASTORE_OPS_MAX  1000                 /* operations of one multi we send */

/* watch may be NULL: no watch. On -E_NOT_FOUND a watch of get and children is NOT set; of exists it is
 * (it fires at creation). */
void metastore_get(struct metastore *m, struct slice path, metastore_watch_fn watch,
                   void *watch_arg, metastore_done_fn done, void *arg);
void metastore_exists(struct metastore *m, struct slice path, metastore_watch_fn watch,
                      void *watch_arg, metastore_done_fn done, void *arg);
void metastore_children(struct metastore *m, struct slice path, metastore_watch_fn watch,
                        void *watch_arg, metastore_done_fn done, void *arg);
void metastore_multi(struct metastore *m, const struct metastore_op *ops, int32_t op_count,
                     metastore_done_fn done, void *arg);
/* The session's id; 0 before the first CONNECTED. */
int64_t metastore_session_id(const struct metastore *m);
/* How long the session outlives its connection, as agreed with the server: that may differ from what was
 * asked for. Before the first CONNECTED, what was asked for. */
int64_t metastore_session_timeout_ms(const struct metastore *m);
/* Ends the session: its ephemerals go at once. Frees m; no callback runs afterwards. */
void metastore_close(struct metastore *m);
/* Frees m without telling the store, as a killed process would: the session expires by time-out. */
void metastore_abandon(struct metastore *m);

/* ---- for backends ---- */

struct metastore_ops {
    void (*get)(struct metastore *m, struct slice path, metastore_watch_fn watch, void *watch_arg,
                metastore_done_fn done, void *arg);
    void (*exists)(struct metastore *m, struct slice path, metastore_watch_fn watch,
                   void *watch_arg, metastore_done_fn done, void *arg);
    void (*children)(struct metastore *m, struct slice path, metastore_watch_fn watch,
                     void *watch_arg, metastore_done_fn done, void *arg);
    void (*multi)(struct metastore *m, const struct metastore_op *ops, int32_t op_count,
                  metastore_done_fn done, void *arg);
    void (*close)(struct metastore *m);
    void (*abandon)(struct metastore *m);
};

struct metastore {
    const struct metastore_ops *ops;
    struct env *env;
    int64_t session_id;
    int64_t timeout_ms;
};

/* How a broker gets sessions, whatever the backend: made by store.h (in-memory and local) or by
 * zookeeper.h. */
struct metastore_factory {
    /* Starts a session whose callbacks run on env. Never fails at once: state tells. */
    struct metastore *(*open)(struct metastore_factory *f, struct env *env,
                              int64_t session_timeout_ms, metastore_state_fn state, void *arg);
    /* How many further sessions make many reads faster. What is read by a session is at least as new as all
     * that was stored before it was opened, by whomever. */
    int32_t readers;
};
