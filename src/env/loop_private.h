/*
 * What the parts of the real loop share: loop.c (life, timers, mailbox, disk pool), loop_disk.c
 * (files and directories), loop_net.c (sockets), loop_resolve.c (names) and loop_fd.c (sockets of
 * libraries). Not for anybody outside env/.
 */
#pragma once

#include "env/loop.h"

#include "base/prng.h"

#include <pthread.h>
#include <sys/resource.h>
#include <uv.h>

/* One posted call. */
struct loop_letter {
    struct loop_letter *next;
    env_fn fn;
    void *arg;
};

/* A first-in first-out chain of letters. */
struct loop_letters {
    struct loop_letter *first;
    struct loop_letter *last;
};

struct loop_job {
    struct list_node link;
    env_fn work;
    void *arg;                /* work's */
    struct loop_letter *done; /* posted after work; NULL = nobody waits */
};

/* A thread for work that waits for the disk. Started at the first job, ended by loop_free. */
struct loop_pool {
    struct loop *loop;
    const char *name; /* the end of the thread's */
    pthread_t thread;
    bool has_thread;
    pthread_mutex_t lock; /* guards what follows */
    pthread_cond_t wakeup;
    struct list jobs;
    struct list idle_jobs; /* run while there are no jobs */
    bool is_ending;
    /* Of its thread alone. */
    int32_t aheads; /* files of which loop_disk.c reads ahead */
};

struct loop {
    struct env env;
    uv_loop_t uv;
    uv_async_t mail_ready;
    uv_timer_t timer;
    uv_signal_t signals[2]; /* in use when has_signals */
    bool has_signals;
    bool is_dying; /* loop_free runs: nobody is called any more */
    void (*on_signal)(void *arg, int signal);
    void *on_signal_arg;

    struct heap timers; /* env_timer by due time, ms of uv_now */
    int64_t armed_ms;   /* when `timer` fires; -1 = it is off */
    struct prng prng;
    char name[16];
    char congestion_control[16]; /* "" = leave the system's */

    pthread_mutex_t mail_lock; /* guards mail */
    struct loop_letters mail;

    pthread_t thread;
    bool has_thread;
    struct loop_pool pool;  /* env_work */
    struct loop_pool reads; /* env_file_warm: a reader does not wait for somebody's sync */

    struct list conns;      /* struct loop_conn by link, until freed */
    struct list listeners;  /* struct loop_listener by link, until freed */
    struct list lookups;    /* struct loop_lookup by link, until answered */
    struct list fd_watches; /* struct loop_fd_watch by link, until unwatched */
};

static inline struct loop *loop_of(const struct env *env)
{
    return CONTAINER_OF(env, struct loop, env);
}

/* Of so many descriptors those that accepted connections leave: without any, log directories would fail. */
static inline rlim_t loop_files_share(rlim_t descriptors)
{
    return MIN(descriptors / 2, 65536);
}

/* ---- loop.c ---- */

/* A job of the pool: work(work_arg) there, then done(done_arg) on the loop. */
struct loop_task {
    env_fn work;
    void *work_arg;
    env_fn done; /* NULL = nobody waits for it */
    void *done_arg;
    bool is_idle; /* comes after all that are not */
};
/* From the loop's thread or the pool's. */
void loop_pool_add(struct loop_pool *pool, const struct loop_task *task);
/* What nobody needs any more is left out. */
bool loop_pool_is_ending(struct loop_pool *pool);

/* ---- loop_disk.c: the file part of struct env_ops, see env.h ---- */

int loop_file_open(struct env *env, const char *path, int flags, struct env_file **ret_file);
void loop_file_close(struct env_file *f);
int loop_file_read(struct env_file *f, void *ptr, size_t len, uint64_t pos, size_t *ret_len);
int loop_file_read_now(struct env_file *f, void *ptr, size_t len, uint64_t pos, size_t *ret_len);
bool loop_file_is_cached(struct env_file *f, uint64_t pos, uint64_t len);
void loop_file_warm(struct env_file *f, struct env_range range, env_fn done, void *arg);
int loop_file_writev(struct env_file *f, const struct iovec *iov, int count, uint64_t pos);
int loop_file_size(struct env_file *f, uint64_t *ret_size);
int loop_file_truncate(struct env_file *f, uint64_t size);
int loop_file_sync(struct env_file *f);
void loop_file_drop_behind(struct env_file *f, uint64_t pos, uint64_t len);
int loop_rename(struct env *env, const char *from, const char *to);
int loop_unlink(struct env *env, const char *path);
int loop_mkdir(struct env *env, const char *path);
int loop_rmdir(struct env *env, const char *path);
int loop_dir_sync(struct env *env, const char *path);
int loop_dir_list(struct env *env, const char *path, env_dir_fn fn, void *arg);
int loop_lock(struct env *env, const char *path, struct env_file **ret_file);
int loop_disk_space(struct env *env, const char *path, struct env_space *ret_space);
int loop_boot_id(struct env *env, struct uuid *ret_id);
/* The descriptor, for sendfile. */
int loop_file_fd(const struct env_file *f);

/* ---- loop_net.c: the network part ---- */

int loop_listen(struct env *env, const char *host, uint16_t port, env_accept_fn on_accept,
                void *arg, struct env_listener **ret_listener, struct errmsg *em);
void loop_listener_close(struct env_listener *l);
struct env_conn *loop_connect(struct env *env, const char *host, uint16_t port,
                              const struct env_conn_handler *handler, void *arg);
int64_t loop_conn_read(struct env_conn *c, void *ptr, size_t len);
int64_t loop_conn_writev(struct env_conn *c, const struct iovec *iov, int count);
int64_t loop_conn_sendfile(struct env_conn *c, struct env_file *f, uint64_t pos, size_t len);
void loop_conn_interest(struct env_conn *c);
void loop_conn_close(struct env_conn *c);
/* Closes every socket without a callback. The memory goes when the uv loop has run its closing. */
void loop_net_drop(struct loop *loop);

/* ---- loop_resolve.c ---- */

struct env_lookup *loop_resolve(struct env *env, const char *host, env_resolve_fn fn, void *arg);
void loop_resolve_cancel(struct env_lookup *l);
/* Cancels all. Their memory goes when the uv loop has run. */
void loop_resolve_drop(struct loop *loop);

/* ---- loop_fd.c: sockets that libraries own ---- */

int loop_fd_watch(struct env *env, const struct env_fd_interest *interest,
                  struct env_fd_watch **ret_watch);
void loop_fd_unwatch(struct env_fd_watch *w);
void loop_fd_shut_down(struct env *env, int fd);
/* Ends every watch. The memory goes when the uv loop has run its closing. */
void loop_fd_drop(struct loop *loop);
