/*
 * The one door to the kernel: clock, randomness, timers, mailboxes, disk and network of one shard.
 *
 * An env is a shard: one thread, one event loop. Every object here has one home env and is touched on
 * it alone; the exceptions are env_post (any thread), and the file functions, which env_work may also
 * run on the disk pool. Everything above env/ reaches the kernel through this header, so the same
 * code runs on the real loop (env/loop.h) and on the simulator's (tests/sim), which implement
 * struct env_ops.
 *
 * Callbacks run on the env's thread, never from inside the call that registered them.
 */
#pragma once

#include "base/error.h"
#include "base/heap.h"
#include "base/list.h"
#include "base/slice.h"
#include "base/uuid.h"

#include <sys/uio.h>

struct env;
struct env_file;
struct env_conn;
struct env_listener;
struct env_timer;

typedef void (*env_fn)(void *arg);

/* ---- clock and randomness ---- */

/* Monotonic time. Cached for the present callback on the real loop: cheap. */
int64_t env_now_ms(const struct env *env);
/* Monotonic, read from the clock at each call. */
int64_t env_now_us(const struct env *env);
/* Milliseconds since 1970, for record timestamps and stored times. */
int64_t env_wall_ms(const struct env *env);
uint64_t env_random_u64(struct env *env);

/* ---- timers ---- */

/* Embedded in its owner; must be stopped before the owner goes. Fields are private. */
struct env_timer {
    struct heap_node node;
    struct env *env;
    env_fn fn;
    void *arg;
};

void env_timer_init(struct env_timer *t, struct env *env, env_fn fn, void *arg);
/* One shot. Re-arming moves it. delay_ms <= 0 means: as soon as possible, but not from here. */
void env_timer_start(struct env_timer *t, int64_t delay_ms);
void env_timer_stop(struct env_timer *t);
static inline bool env_timer_is_active(const struct env_timer *t)
{
    return heap_has(&t->node);
}

/* ---- mailboxes and the disk pool ---- */

/* Runs fn(arg) on `to`'s thread. Callable from any thread; in order for one sender. The message owns
 * arg: when `to` is destroyed first, fn never runs (arg leaks only at process end). */
void env_post(struct env *to, env_fn fn, void *arg);
/* Runs work(arg) on the disk pool, then done(arg) on env. Work of one env runs in order, one at a
 * time. work may use the file functions only. done always runs unless env is destroyed. */
void env_work(struct env *env, env_fn work, env_fn done, void *arg);

/* ---- disk ----
 * Paths are absolute or relative to the process. All return 0 or -E_... (E_DISK_FULL, E_IO,
 * E_NOT_FOUND, E_EXISTS, ...). Reads and writes are complete or fail; EINTR is handled inside. */

enum env_open_flags {
    ENV_OPEN_READ = 1,
    ENV_OPEN_WRITE = 2, /* implies read */
    ENV_OPEN_CREATE = 4,
    ENV_OPEN_EXCLUSIVE = 8, /* with CREATE: fail with E_EXISTS */
};

/* Files and devices; directories, FIFOs and sockets get -E_INVALID, and never block. */
int env_file_open(struct env *env, const char *path, int flags,
                  struct env_file **ret_file) MUST_CHECK;
struct env_file *env_file_ref(struct env_file *f);
/* Closes at the last reference. NULL is fine. A file may be renamed or unlinked while it is open. */
void env_file_unref(struct env_file *f);
/* Reads up to len bytes at pos; *ret_len < len only at the end of the file. */
int env_file_read(struct env_file *f, void *ptr, size_t len, uint64_t pos,
                  size_t *ret_len) MUST_CHECK;
/* As env_file_read, but -E_AGAIN where it would have to wait for the disk. Where the system cannot tell,
 * it waits. */
int env_file_read_now(struct env_file *f, void *ptr, size_t len, uint64_t pos,
                      size_t *ret_len) MUST_CHECK;
/* Whether [pos, pos + len) can be sent without waiting for the disk, as far as samples of it tell. True
 * where the system cannot tell, and for ranges too short to be worth the question. */
bool env_file_is_cached(struct env_file *f, uint64_t pos, uint64_t len);
struct env_range {
    uint64_t pos;
    uint64_t len; /* bytes that are waited for */
    uint64_t
        ahead; /* bytes behind them that are read next, if nothing newer is asked of the file */
};
/* Reads the range into memory, away from the env's thread, then calls done(arg) on it. What lies behind
 * the end of the file is left out, and errors are left to whoever reads the bytes. Such jobs run in order,
 * one at a time, beside those of env_work. Holds the file meanwhile. done always runs unless the env is
 * destroyed. */
void env_file_warm(struct env_file *f, struct env_range range, env_fn done, void *arg);
/* Writes everything at pos. On failure an unknown prefix may be written. iov is not changed. */
int env_file_writev(struct env_file *f, const struct iovec *iov, int count,
                    uint64_t pos) MUST_CHECK;
int env_file_write(struct env_file *f, const void *ptr, size_t len, uint64_t pos) MUST_CHECK;
int env_file_size(struct env_file *f, uint64_t *ret_size) MUST_CHECK;
int env_file_truncate(struct env_file *f, uint64_t size) MUST_CHECK;
/* Data and size reach the disk before it returns. A failed sync must never be retried as if clean. */
int env_file_sync(struct env_file *f) MUST_CHECK;
/* Hints for large sequential copies: start writing back [pos, pos+len), then forget what lies below
 * pos. Best effort. */
void env_file_drop_behind(struct env_file *f, uint64_t pos, uint64_t len);

int env_rename(struct env *env, const char *from, const char *to) MUST_CHECK;
int env_unlink(struct env *env, const char *path) MUST_CHECK;
/* Makes the directory and its parents; fine when it exists. */
int env_mkdir(struct env *env, const char *path) MUST_CHECK;
int env_rmdir(struct env *env, const char *path) MUST_CHECK;
/* Makes renames, creations and unlinks in the directory durable. */
int env_dir_sync(struct env *env, const char *path) MUST_CHECK;
/* Calls fn for each entry but "." and "..", in byte order of the names. Stops at fn's first error. */
typedef int (*env_dir_fn)(void *arg, const char *name, bool is_dir);
int env_dir_list(struct env *env, const char *path, env_dir_fn fn, void *arg) MUST_CHECK;
/* Takes an exclusive lock on the file (made when missing), held until the file is unref'd.
 * -E_LOCKED when another holder exists, in this process too. */
int env_lock(struct env *env, const char *path, struct env_file **ret_file) MUST_CHECK;
struct env_space {
    int64_t total;  /* bytes of the file system */
    int64_t usable; /* of them, free for us */
    uint64_t disk;  /* equal for paths on the same file system; never 0 */
};
int env_disk_space(struct env *env, const char *path, struct env_space *ret_space) MUST_CHECK;
/* Names the present run of the machine. While it stays the same, what was written and not synced has
 * outlived the process that wrote it. */
int env_boot_id(struct env *env, struct uuid *ret_id) MUST_CHECK;

/* ---- network (TCP) ---- */

/* readable and writable are level signals: they repeat while the condition holds and interest is on.
 * closed comes once, last, also after env_conn_close by us; the conn is freed after it returns.
 * err: 0 = closed by us or orderly by the peer, else -E_... . Inside readable/writable it is fine to
 * call env_conn_close. */
struct env_conn_handler {
    void (*connected)(struct env_conn *c, void *arg); /* outgoing ones only; may be NULL */
    void (*readable)(struct env_conn *c, void *arg);
    void (*writable)(struct env_conn *c, void *arg); /* only while env_conn_want_write(c, true) */
    void (*closed)(struct env_conn *c, void *arg, int err);
};

/* The accepted conn has no handler yet: on_accept must call env_conn_set_handler or env_conn_close. */
typedef void (*env_accept_fn)(void *arg, struct env_conn *c);

/* A host of the form "unix:PATH" is a socket in the file system, for the processes of one machine; its
 * port does not count. The path is at most ENV_UNIX_PATH_MAX bytes long. The listener does not remove
 * the file. Not in the simulator. */
#define ENV_UNIX_PREFIX   "unix:"
#define ENV_UNIX_PATH_MAX 107

/* port 0: any free one, see env_listener_port. host is a literal address, a name, or "unix:PATH". */
int env_listen(struct env *env, const char *host, uint16_t port, env_accept_fn on_accept, void *arg,
               struct env_listener **ret_listener, struct errmsg *em) MUST_CHECK;
uint16_t env_listener_port(const struct env_listener *l);
void env_listener_close(struct env_listener *l); /* frees it; NULL is fine */

/* Starts connecting. Always succeeds; a failure is told by closed. Reading interest starts on. */
struct env_conn *env_connect(struct env *env, const char *host, uint16_t port,
                             const struct env_conn_handler *handler, void *arg);
/* handler must outlive the conn (static). */
void env_conn_set_handler(struct env_conn *c, const struct env_conn_handler *handler, void *arg);
/* "127.0.0.1:54321" of the other side; borrowed until closed. */
const char *env_conn_peer(const struct env_conn *c);
/* Bytes read (> 0), -E_AGAIN, or -E_CLOSED and others when the conn is finished (closed will come). */
int64_t env_conn_read(struct env_conn *c, void *ptr, size_t len) MUST_CHECK;
/* Bytes taken (> 0), -E_AGAIN, or -E_CLOSED and others. Partial writes are usual. */
int64_t env_conn_writev(struct env_conn *c, const struct iovec *iov, int count) MUST_CHECK;
/* Whether more bytes follow the next writev at once, so that they may leave together: the other side
 * wakes up once. A hint; stays until it is changed. */
void env_conn_hint_more(struct env_conn *c, bool more);
/* From the file to the socket without a copy; as writev. -E_TRUNCATED when the file ends early. */
int64_t env_conn_sendfile(struct env_conn *c, struct env_file *f, uint64_t pos,
                          size_t len) MUST_CHECK;
/* Interest; both calls are cheap when nothing changes. Reading starts on, writing off. */
void env_conn_want_read(struct env_conn *c, bool on);
void env_conn_want_write(struct env_conn *c, bool on);
/* Closes soon: closed follows from the loop, with err 0. Idempotent. */
void env_conn_close(struct env_conn *c);

/* ---- names ---- */

#define ENV_ADDRESSES_MAX 16

struct env_lookup;

/* addresses are literal ("10.0.0.1", "::1"), at most ENV_ADDRESSES_MAX, borrowed until fn returns;
 * count 0 = the name is not known, or nobody could be asked. */
typedef void (*env_resolve_fn)(void *arg, const struct slice *addresses, int32_t count);

/* Looks a host's addresses up without holding the loop; fn is called once. A literal address is its
 * own answer. The simulator knows no names. */
struct env_lookup *env_resolve(struct env *env, const char *host, env_resolve_fn fn, void *arg);
/* fn is not called any more. Only before it was; NULL is fine. */
void env_resolve_cancel(struct env_lookup *l);

/* ---- sockets of foreign libraries ---- */

enum env_fd_events {
    ENV_FD_READABLE = 1,
    ENV_FD_WRITABLE = 2,
};

struct env_fd_watch;

/* What to watch. fn is told which of the events hold; it repeats while they do. A socket in error
 * counts as all that was asked for, so that the library finds the error itself. */
struct env_fd_interest {
    int fd;     /* a socket the library opened and goes on owning */
    int events; /* of enum env_fd_events, at least one */
    void (*fn)(void *arg, int events);
    void *arg;
};

/* The watch must be ended before the library may close fd: the number might be another socket's next.
 * -E_UNSUPPORTED in the simulator, -E_EXISTS while fd is watched already. */
int env_fd_watch(struct env *env, const struct env_fd_interest *interest,
                 struct env_fd_watch **ret_watch) MUST_CHECK;
/* Frees it; fn runs no more. Allowed inside fn. NULL is fine. */
void env_fd_unwatch(struct env_fd_watch *w);
/* Ends the connection but leaves fd open: what the library sends or reads from now on fails. Does
 * nothing in the simulator. */
void env_fd_shut_down(struct env *env, int fd);

/* ---- for implementations ----
 * The objects of an implementation start with these structs. */

struct env_ops {
    int64_t (*now_ms)(const struct env *env);
    int64_t (*now_us)(const struct env *env);
    int64_t (*wall_ms)(const struct env *env);
    uint64_t (*random_u64)(struct env *env);
    void (*timer_start)(struct env_timer *t, int64_t delay_ms);
    void (*timer_stop)(struct env_timer *t);
    void (*post)(struct env *to, env_fn fn, void *arg);
    void (*work)(struct env *env, env_fn work, env_fn done, void *arg);

    int (*file_open)(struct env *env, const char *path, int flags, struct env_file **ret_file);
    void (*file_close)(struct env_file *f); /* at the last reference; frees it */
    int (*file_read)(struct env_file *f, void *ptr, size_t len, uint64_t pos, size_t *ret_len);
    int (*file_read_now)(struct env_file *f, void *ptr, size_t len, uint64_t pos, size_t *ret_len);
    bool (*file_is_cached)(struct env_file *f, uint64_t pos, uint64_t len);
    void (*file_warm)(struct env_file *f, struct env_range range, env_fn done, void *arg);
    int (*file_writev)(struct env_file *f, const struct iovec *iov, int count, uint64_t pos);
    int (*file_size)(struct env_file *f, uint64_t *ret_size);
    int (*file_truncate)(struct env_file *f, uint64_t size);
    int (*file_sync)(struct env_file *f);
    void (*file_drop_behind)(struct env_file *f, uint64_t pos, uint64_t len);
    int (*rename)(struct env *env, const char *from, const char *to);
    int (*unlink)(struct env *env, const char *path);
    int (*mkdir)(struct env *env, const char *path);
    int (*rmdir)(struct env *env, const char *path);
    int (*dir_sync)(struct env *env, const char *path);
    int (*dir_list)(struct env *env, const char *path, env_dir_fn fn, void *arg);
    int (*lock)(struct env *env, const char *path, struct env_file **ret_file);
    int (*disk_space)(struct env *env, const char *path, struct env_space *ret_space);
    int (*boot_id)(struct env *env, struct uuid *ret_id);

    int (*listen)(struct env *env, const char *host, uint16_t port, env_accept_fn on_accept,
                  void *arg, struct env_listener **ret_listener, struct errmsg *em);
    void (*listener_close)(struct env_listener *l);
    struct env_conn *(*connect)(struct env *env, const char *host, uint16_t port,
                                const struct env_conn_handler *handler, void *arg);
    int64_t (*conn_read)(struct env_conn *c, void *ptr, size_t len);
    int64_t (*conn_writev)(struct env_conn *c, const struct iovec *iov, int count);
    int64_t (*conn_sendfile)(struct env_conn *c, struct env_file *f, uint64_t pos, size_t len);
    void (*conn_interest)(struct env_conn *c); /* want_read or want_write changed */
    void (*conn_close)(struct env_conn *c);

    struct env_lookup *(*resolve)(struct env *env, const char *host, env_resolve_fn fn, void *arg);
    void (*resolve_cancel)(struct env_lookup *l);

    int (*fd_watch)(struct env *env, const struct env_fd_interest *interest,
                    struct env_fd_watch **ret_watch);
    void (*fd_unwatch)(struct env_fd_watch *w);
    void (*fd_shut_down)(struct env *env, int fd);
};

struct env {
    const struct env_ops *ops;
};

struct env_file {
    struct env *env; /* where it was opened; only its ops are used on the pool */
    int32_t refs;    /* atomic on the real loop: the pool holds references too */
};

struct env_listener {
    struct env *env;
    uint16_t port;
};

struct env_lookup {
    struct env *env;
};

struct env_fd_watch {
    struct env *env;
};

struct env_conn {
    struct env *env;
    const struct env_conn_handler *handler;
    void *arg;
    bool wants_read;
    bool wants_write;
    bool has_more; /* env_conn_hint_more */
    char peer[64];
};
