/*
 * What the parts of the ZooKeeper backend share: zookeeper.c (configuration, access lists),
 * zookeeper_hosts.c (names), zookeeper_session.c (the connection and its states), zookeeper_call.c (the queue of calls),
 * zookeeper_send.c (calls as requests of the client and back), zookeeper_watch.c and
 * zookeeper_rearm.c (watches on a new handle).
 *
 * The client library is entered from metastore_zk_session's drive function alone, with the socket not
 * watched; whatever it calls back runs inside that. So a call of metastore.h only queues.
 */
#pragma once

#include "base/list.h"
#include "base/map.h"
#include "env/env.h"
#include "metastore/zookeeper.h"

#include <zookeeper/zookeeper.h>

/* ---- zookeeper.c ---- */

struct metastore_zk_factory {
    struct metastore_factory base;
    char *hosts;  /* "name:port,name:port" */
    char *chroot; /* "" or "/a/b" */
    char *digest; /* NULL = none */
    bool is_acl_set;
    struct ACL owner[2]; /* all to the creator, reading to everybody */
    struct ACL_vector owner_and_readers;
    metastore_zookeeper_trouble_fn on_trouble;
    void *arg;
};

/* The access list of a node that is to be created; path is without the chroot. Lives as long as f. */
const struct ACL_vector *metastore_zk_acl(const struct metastore_zk_factory *f, struct slice path);
/* The path as the servers have it; owned by the caller. */
char *metastore_zk_path(const struct metastore_zk_factory *f, struct slice path);
/* What a call answers for a code of the client. */
int metastore_zk_error(int rc);
/* True for codes that leave open whether the request was carried out: the connection or the session
 * ended first. */
bool metastore_zk_is_lost(int rc);

/* ---- zookeeper_session.c ---- */

enum metastore_zk_phase {
    METASTORE_ZK_CONNECTING, /* at first, and after each loss */
    METASTORE_ZK_ROOTLESS,   /* connected, but the chroot is not there yet */
    METASTORE_ZK_READY,      /* connected: calls are sent */
    METASTORE_ZK_EXPIRED,    /* for good */
};

struct metastore_zk_session {
    struct metastore base;
    const struct metastore_zk_factory *factory;
    metastore_state_fn state;
    void *state_arg;

    char *hosts; /* "address:port,address:port" of the latest lookup; NULL = none found yet */
    bool has_new_hosts; /* the client does not know them yet */
    struct metastore_zk_lookup {
        struct env_lookup *lookup; /* NULL = none under way */
        struct env_timer again;
        size_t pos;      /* of the next name in the factory's hosts */
        char *found;     /* as hosts, so far */
        bool has_failed; /* no name had an address; told by drive */
    } lookup;

    zhandle_t *handle; /* NULL until hosts are known */
    clientid_t id;     /* the session a new handle goes on with; zero = a new one */
    int fd;            /* the client's socket; -1 = none */
    struct env_fd_watch *fd_watch;
    struct env_timer timer; /* the client's next deadline, or at once */
    enum metastore_zk_phase phase;
    bool has_root;       /* the chroot was found or made */
    bool was_ready;      /* CONNECTED was told at least once */
    bool is_driving;     /* inside drive: the library may be on the stack */
    bool is_woken;       /* drive once more */
    bool is_expiring;    /* the client gave the session up; told at the end of drive */
    bool is_closed;      /* nobody is called any more */
    bool is_abandoned;   /* closed without telling the servers */
    bool has_progress;   /* the library called back */
    int root_rc;         /* what making the chroot answered, when not plainly good */
    int64_t root_due_ms; /* when it is tried again */
    int64_t lost_ms;     /* when the connection was lost; 0 = it was not, or that is told */
    int trouble_rc;      /* what was told last; ZOK = nothing since READY */

    /* Calls in the order they were made: first those in sent, then returned, then waiting. */
    struct list sent;     /* with the client, or finished behind one that is */
    struct list returned; /* lost with the connection; empty while calls are with the client */
    struct list waiting;
    struct metastore_zk_watch *watches; /* hash */
    struct list spent_watches;          /* told already, but the client still has them */
    struct list dead_watches;           /* freed when drive ends */
    size_t held_bytes;                  /* of the paths of held watches, as the client lists them */
};

/* The metastore_factory's open. */
struct metastore *metastore_zk_session_open(struct metastore_factory *f, struct env *env,
                                            int64_t session_timeout_ms, metastore_state_fn state,
                                            void *arg);
/* Something is to be done: drive soon. */
void metastore_zk_session_wake(struct metastore_zk_session *s);

/* ---- zookeeper_hosts.c ---- */

void metastore_zk_hosts_init(struct metastore_zk_session *s);
/* Looks all names up, unless that is under way; the session is woken when hosts were found or not. As
 * long as it does not connect, it is done again and again. */
void metastore_zk_hosts_look_up(struct metastore_zk_session *s);
void metastore_zk_hosts_deinit(struct metastore_zk_session *s);

/* ---- zookeeper_call.c ---- */

/* A node as a watch saw it last. */
struct metastore_zk_seen {
    int64_t czxid; /* 0 = there was none */
    int64_t zxid;  /* of the last change that the watch is for: mzxid, or pzxid for children */
};

enum metastore_zk_call_kind {
    METASTORE_ZK_GET,
    METASTORE_ZK_EXISTS,
    METASTORE_ZK_CHILDREN,
    METASTORE_ZK_MULTI,
};

/* One operation of a multi, with what it answers. */
struct metastore_zk_op {
    struct metastore_op op; /* path and data are owned by the call */
    char *path;             /* with the chroot */
    char *made;             /* sequential: room for the final path, with the chroot; else NULL */
    int made_size;
    struct Stat stat; /* set, and a create that stands alone */
};

struct metastore_zk_call {
    struct list_node link;
    struct metastore_zk_session *session;
    enum metastore_zk_call_kind kind;
    metastore_done_fn done;
    void *arg;
    bool is_finished; /* err and failed_op are the answer, once its turn comes */
    int err;
    int32_t failed_op;
    /* reads */
    char *path;                       /* with the chroot */
    struct metastore_zk_watch *watch; /* NULL = none */
    struct metastore_zk_seen seen;    /* by a read that was answered */
    /* multi */
    struct metastore_zk_op *ops;
    int32_t op_count;
    struct zoo_op *requests; /* with the client; NULL before */
    struct zoo_op_result *results;
    struct Stat marker_stat; /* see zookeeper_send.c */
    char *marker;
};

/* The calls of struct metastore_ops. */
void metastore_zk_get(struct metastore *m, struct slice path, metastore_watch_fn watch,
                      void *watch_arg, metastore_done_fn done, void *arg);
void metastore_zk_exists(struct metastore *m, struct slice path, metastore_watch_fn watch,
                         void *watch_arg, metastore_done_fn done, void *arg);
void metastore_zk_children(struct metastore *m, struct slice path, metastore_watch_fn watch,
                           void *watch_arg, metastore_done_fn done, void *arg);
void metastore_zk_multi(struct metastore *m, const struct metastore_op *ops, int32_t op_count,
                        metastore_done_fn done, void *arg);
/* Gives everything that waits to the client. Only while READY. */
void metastore_zk_calls_send(struct metastore_zk_session *s);
/* Answers finished calls up to the first that is not. */
void metastore_zk_calls_answer(struct metastore_zk_session *s);
/* The session is over: what waits answers -E_SESSION_EXPIRED. */
void metastore_zk_calls_expire(struct metastore_zk_session *s);
/* Frees all without an answer. */
void metastore_zk_calls_free(struct metastore_zk_session *s);
/* The client's answer came: those before it are told, then it, and it is freed. */
void metastore_zk_call_complete(struct metastore_zk_call *c, const struct metastore_result *result);
/* The connection ended before the client had an answer. */
void metastore_zk_call_lose(struct metastore_zk_call *c);

/* ---- zookeeper_send.c ---- */

/* Gives the call to the client; a code of the client when it refuses. */
int metastore_zk_send(struct metastore_zk_call *c);
/* Upper bound of the bytes the request takes on the wire. */
size_t metastore_zk_request_bytes(const struct metastore_op *ops, int32_t op_count,
                                  size_t chroot_len);

/* ---- zookeeper_watch.c ---- */

/* What makes two registrations one watch; the path's bytes and a NUL follow it in memory. */
struct metastore_zk_watch_key {
    metastore_watch_fn fn;
    void *arg;
    size_t is_children; /* as wide as the others: no padding in what is hashed */
};

struct metastore_zk_watch {
    struct metastore_zk_session *session;
    struct metastore_zk_watch_key *key;
    size_t key_len;
    size_t bytes;
    int32_t reads; /* under way */
    bool is_set;   /* somebody waits for its event */
    bool is_held;  /* the client will fire it */
    struct metastore_zk_seen seen;
    struct list_node link; /* in spent_watches or dead_watches, and then not in the hash */
    UT_hash_handle hh;
};

/* Without the chroot. */
static inline const char *metastore_zk_watch_path(const struct metastore_zk_watch *w)
{
    return (const char *)(w->key + 1);
}

/* The watch for a read that is about to wait; the same one for the same path, kind, fn and arg. */
struct metastore_zk_watch *metastore_zk_watch_join(struct metastore_zk_session *s,
                                                   struct slice path, bool is_children,
                                                   metastore_watch_fn fn, void *arg);
/* The client holds it from now on, or does so no more. */
void metastore_zk_watch_hold(struct metastore_zk_watch *w, bool is_held);
/* The read is over. seen: the client holds the watch now, and this is what the read showed; NULL = it
 * does not. w NULL is fine. */
void metastore_zk_watch_leave(struct metastore_zk_watch *w, const struct metastore_zk_seen *seen);
/* Tells the event, once. The client may go on holding the watch; nothing comes of it then. */
void metastore_zk_watch_tell(struct metastore_zk_watch *w, enum metastore_event event);
/* The client's callback; context is the watch. */
void metastore_zk_watch_fire(zhandle_t *handle, int type, int state, const char *path,
                             void *context);
/* The client's handle is gone: no watch is held any more. */
void metastore_zk_watches_release(struct metastore_zk_session *s);
/* Frees those that nobody needs any more. */
void metastore_zk_watches_bury(struct metastore_zk_session *s);
void metastore_zk_watches_free(struct metastore_zk_session *s);

/* ---- zookeeper_rearm.c ---- */

/* True when the watches are too many for the one request in which the client would set them again. */
bool metastore_zk_rearm_is_due(const struct metastore_zk_session *s);
/* Reads every node whose watch is set but not held, with that watch, and tells what changed meanwhile.
 * Goes before other calls, so that their answers come after those events. */
void metastore_zk_rearm(struct metastore_zk_session *s);
/* The event that happened to a node between two looks; false = none. now NULL: it is gone. */
bool metastore_zk_rearm_compare(const struct metastore_zk_watch *w,
                                const struct metastore_zk_seen *now,
                                enum metastore_event *ret_event);
