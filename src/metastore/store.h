/*
 * The embedded metastore: one tree that brokers of the same process share, in memory (tests, the
 * simulator) or kept on disk (klamm dev). Contract of the sessions: metastore.h.
 *
 * A store lives on one env. Sessions are opened through its factory from any env, the store's own
 * included; calls and answers travel between the two by env_post as messages that own their data.
 * Sessions need no heartbeats: one lives until its owner closes it, or abandons it and its time-out
 * passes, or a fault below ends it.
 *
 * Group commit: multis that arrive while the mailbox is drained, or while a commit runs, share one
 * transaction on the disk pool. Nothing that depends on a write (its answer, events, later reads)
 * leaves the store before the write is on disk.
 */
#pragma once

#include "env/env.h"
#include "metastore/metastore.h"

struct metastore_store;

/* When a commit fails nothing is answered, and it is tried again each second. em says why; NULL when
 * a later try succeeded. Runs on the store's env. */
typedef void (*metastore_store_stall_fn)(void *arg, const struct errmsg *em);

struct metastore_store_config {
    struct env *env;       /* home of the store */
    const char *directory; /* existing directory for its file; NULL = in memory only */
    size_t bytes_max;      /* of all nodes; writes beyond answer -E_TOO_LARGE; 0 = 1 GiB */
    metastore_store_stall_fn on_stall; /* may be NULL */
    void *arg;
};

/*
 * Opens or makes the store. Nodes found on disk are there again; ephemerals are gone, as all sessions
 * are. em names the file and the reason: -E_LOCKED (another store has it open), -E_UNSUPPORTED (made
 * by a newer klamm), -E_CORRUPT, -E_IO, ...  Runs before env's loop starts or on its thread.
 */
int metastore_store_new(const struct metastore_store_config *config,
                        struct metastore_store **ret_store, struct errmsg *em) MUST_CHECK;
/* Calls done(arg) on the store's env when every session is closed or abandoned, what they asked for is
 * on disk, and nothing is due any more. While commits fail it does not wait for the disk: what was not
 * answered is given up, as by a crash. Then metastore_store_free is allowed, inside done too. */
void metastore_store_stop(struct metastore_store *s, void (*done)(void *arg), void *arg);
/* Frees a stopped store, or one on which no session was ever opened. NULL is fine. */
void metastore_store_free(struct metastore_store *s);
/* Any thread; lives as long as s. An env on which sessions were opened must go on running what is
 * posted to it until the store was freed. */
struct metastore_factory *metastore_store_factory(struct metastore_store *s);

/*
 * Faults, and a look at every change, for tests and the simulator. All run on the store's env. Most faults
 * name a session by its id (metastore_session_id); they do nothing for one that is unknown or ended.
 */

/* Ends the session now: its ephemerals go, waiting calls answer -E_SESSION_EXPIRED (writes that were
 * carried out but not answered yet: -E_UNKNOWN_OUTCOME), then EXPIRED is told. */
void metastore_store_expire(struct metastore_store *s, int64_t session_id);
/* The session loses its connection: DISCONNECTED is told, and it expires when it stays so for its
 * time-out. Answers and events that had not left wait for the reconnection, and so do new calls; a
 * write that was carried out then answers -E_UNKNOWN_OUTCOME. */
void metastore_store_disconnect(struct metastore_store *s, int64_t session_id);
/* CONNECTED is told, then what waited, in order. */
void metastore_store_reconnect(struct metastore_store *s, int64_t session_id);
/* The session's next multi answers -E_UNKNOWN_OUTCOME; it is carried out if is_applied. */
void metastore_store_lose_write(struct metastore_store *s, int64_t session_id, bool is_applied);
/* No session may set the node, nor create or delete its children (-E_REFUSED), until it is called with
 * false. Nothing happens when there is no such node. */
void metastore_store_guard(struct metastore_store *s, struct slice path, bool is_guarded);
/* The same, with reading it and listing its children. */
void metastore_store_hide(struct metastore_store *s, struct slice path, bool is_hidden);
/* From now on each answer and event of the session leaves delay_ms late, in order; 0 = at once. */
void metastore_store_delay(struct metastore_store *s, int64_t session_id, int64_t delay_ms);
/* Calls fn for every change of a persistent node while it is carried out, whoever asked for it. data: the
 * new contents; NULL = the node is gone. All is borrowed; fn must not call the store. */
typedef void (*metastore_store_change_fn)(void *arg, struct slice path, const struct slice *data);
void metastore_store_on_change(struct metastore_store *s, metastore_store_change_fn fn, void *arg);
/* Sessions that live, in order of their ids: up to max ids to ret_ids; returns how many live. */
int32_t metastore_store_sessions(const struct metastore_store *s, int64_t *ret_ids, int32_t max);
