/*
 * The metastore on ZooKeeper: each session is one session of Debian's single-threaded C client, driven
 * by the loop of the env it was opened on. Contract of the sessions: metastore.h. Works on the real
 * loop only: the client opens sockets of its own.
 *
 * - Calls wait while there is no connection. Reads that a broken connection swallowed are sent again
 *   behind a sync; writes answer -E_UNKNOWN_OUTCOME, in their turn. So a read after such an answer
 *   shows what became of the write.
 * - A request beyond ZooKeeper's limit (jute.maxbuffer, 1 MiB for all of a multi) answers -E_TOO_LARGE
 *   and is not sent. -E_REFUSED: the access list of the node forbids it.
 * - The server says what the session time-out really is (between 2 and 20 of its ticks), and it alone
 *   says that a session expired: while it cannot be reached, DISCONNECTED stays the last word.
 * - A server whose history is older than what this session saw (restored, or emptied) is refused by
 *   the client for good; the session then stays disconnected, and trouble says so again and again.
 *
 * Nothing holds the loop: names are looked up by the env when a session begins and while it has no
 * connection, and closing a session waits for the server on the disk pool.
 */
#pragma once

#include "base/error.h"
#include "metastore/metastore.h"

/* Told when it begins and when its reason changes, one sentence. Runs on the session's env, never
 * from inside a call. */
typedef void (*metastore_zookeeper_trouble_fn)(void *arg, const char *text);

struct metastore_zookeeper_config {
    /* "host:port,host:port/chroot" as in Kafka's zookeeper.connect. Each port may be left out (2181),
     * and so may the chroot; the first session makes it when it is missing. */
    const char *connect;
    /* "user:password" of the digest scheme; NULL = none. */
    const char *digest;
    /* zookeeper.set.acl: what is created belongs to the digest's user alone, and everybody may read
     * it, except below the paths that hold secrets. Else everything is open. Spec section 1. */
    bool is_acl_set;
    metastore_zookeeper_trouble_fn on_trouble; /* may be NULL */
    void *arg;
};

/*
 * Checks and copies the configuration; nothing is resolved or connected yet. em names what is wrong
 * (-E_INVALID): an empty host list, a port that is none, a bad chroot, an ACL without a digest.
 */
int metastore_zookeeper_new(const struct metastore_zookeeper_config *config,
                            struct metastore_factory **ret_factory, struct errmsg *em) MUST_CHECK;
/* All its sessions must have been closed or abandoned before. NULL is fine. */
void metastore_zookeeper_free(struct metastore_factory *factory);
