/*
 * The real env: life of the loop, timers, mailbox, disk pool, signals.
 * One uv_timer serves a heap of env_timers: it is armed for the smallest due time or earlier, never
 * later. Letters are kept in one list under a lock and swapped out in one go, so that senders and the
 * loop meet for a few instructions only. Everything runs on the loop's thread but loop_post,
 * loop_stop and the pool's thread.
 */
#include "env/loop_private.h"

#include "base/alloc.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/random.h>
#include <sys/resource.h>
#include <time.h>

#define LOOP_STACK_BYTES ((size_t)512 << 10)
#define POOL_STACK_BYTES ((size_t)256 << 10)

/* ---- clock and randomness ---- */

static int64_t clock_us(clockid_t id)
{
    struct timespec ts;
    CHECK(clock_gettime(id, &ts) == 0);
    return (int64_t)ts.tv_sec * 1000000 + ts.tv_nsec / 1000;
}

static int64_t loop_now_ms(const struct env *env)
{
    return (int64_t)uv_now(&loop_of(env)->uv);
}

static int64_t loop_now_us(const struct env *env)
{
    (void)env;
    return clock_us(CLOCK_MONOTONIC);
}

static int64_t loop_wall_ms(const struct env *env)
{
    (void)env;
    return clock_us(CLOCK_REALTIME) / 1000;
}

static uint64_t loop_random_u64(struct env *env)
{
    return prng_u64(&loop_of(env)->prng);
}

/* ---- timers ---- */

static void on_timer(uv_timer_t *handle);

static void timer_arm(struct loop *loop)
{
    const struct heap_node *first = heap_min(&loop->timers);
    if (first == NULL || (loop->armed_ms >= 0 && loop->armed_ms <= first->key)) {
        return;
    }
    int64_t delay = first->key - (int64_t)uv_now(&loop->uv);
    CHECK(uv_timer_start(&loop->timer, on_timer, delay < 0 ? 0 : (uint64_t)delay, 0) == 0);
    loop->armed_ms = first->key;
}

static void on_timer(uv_timer_t *handle)
{
    struct loop *loop = CONTAINER_OF(handle, struct loop, timer);
    int64_t now = (int64_t)uv_now(&loop->uv);
    uint64_t end =
        loop->timers.next_order; /* what is started from here on waits for the next turn */
    loop->armed_ms = -1;
    for (;;) {
        struct heap_node *first = heap_min(&loop->timers);
        if (first == NULL || first->key > now || first->order >= end) {
            break;
        }
        struct env_timer *t = CONTAINER_OF(first, struct env_timer, node);
        heap_remove(&loop->timers, first);
        t->fn(t->arg);
    }
    timer_arm(loop);
}

static void loop_timer_start(struct env_timer *t, int64_t delay_ms)
{
    struct loop *loop = loop_of(t->env);
    heap_remove(&loop->timers, &t->node);
    /* From the clock, not from the cached time: a timer never fires early after a long callback. */
    heap_insert(&loop->timers, &t->node, clock_us(CLOCK_MONOTONIC) / 1000 + delay_ms);
    timer_arm(loop);
}

static void loop_timer_stop(struct env_timer *t)
{
    heap_remove(&loop_of(t->env)->timers, &t->node);
}

/* ---- mailbox ---- */

static struct loop_letter *letter_new(env_fn fn, void *arg)
{
    struct loop_letter *letter = xalloc(sizeof *letter);
    *letter = (struct loop_letter){.fn = fn, .arg = arg};
    return letter;
}

static void mail_put(struct loop *loop, struct loop_letter *letter)
{
    CHECK(pthread_mutex_lock(&loop->mail_lock) == 0);
    bool was_empty = loop->mail.first == NULL;
    if (was_empty) {
        loop->mail.first = letter;
    } else {
        loop->mail.last->next = letter;
    }
    loop->mail.last = letter;
    /* Under the lock, so that loop_free, which takes it, never closes the handle under a sender. */
    if (was_empty) {
        CHECK(uv_async_send(&loop->mail_ready) == 0);
    }
    CHECK(pthread_mutex_unlock(&loop->mail_lock) == 0);
}

static struct loop_letter *mail_take(struct loop *loop)
{
    CHECK(pthread_mutex_lock(&loop->mail_lock) == 0);
    struct loop_letter *first = loop->mail.first;
    loop->mail = (struct loop_letters){0};
    CHECK(pthread_mutex_unlock(&loop->mail_lock) == 0);
    return first;
}

static void on_mail(uv_async_t *handle)
{
    struct loop *loop = CONTAINER_OF(handle, struct loop, mail_ready);
    for (struct loop_letter *letter = mail_take(loop); letter != NULL;) {
        struct loop_letter *next = letter->next;
        env_fn fn = letter->fn;
        void *arg = letter->arg;
        free(letter);
        fn(arg);
        letter = next;
    }
}

static void loop_post(struct env *to, env_fn fn, void *arg)
{
    mail_put(loop_of(to), letter_new(fn, arg));
}

/* ---- disk pool ---- */

/* Waits for a job; NULL when the pool ends and nothing is left. */
static struct loop_job *pool_next(struct loop_pool *pool)
{
    CHECK(pthread_mutex_lock(&pool->lock) == 0);
    while (list_is_empty(&pool->jobs) && list_is_empty(&pool->idle_jobs) && !pool->is_ending) {
        CHECK(pthread_cond_wait(&pool->wakeup, &pool->lock) == 0);
    }
    struct list_node *n = list_pop(&pool->jobs);
    n = n == NULL ? list_pop(&pool->idle_jobs) : n;
    CHECK(pthread_mutex_unlock(&pool->lock) == 0);
    return n == NULL ? NULL : CONTAINER_OF(n, struct loop_job, link);
}

static void *pool_main(void *arg)
{
    struct loop_pool *pool = arg;
    char name[16];
    /* Cut on purpose. */
    (void)snprintf(name, sizeof name, "%.10s-%s", pool->loop->name, pool->name);
    (void)pthread_setname_np(pthread_self(), name); /* for people only */
    for (;;) {
        struct loop_job *job = pool_next(pool);
        if (job == NULL) {
            return NULL;
        }
        job->work(job->arg);
        if (job->done != NULL) {
            mail_put(pool->loop, job->done);
        }
        free(job);
    }
}

static int thread_start(pthread_t *ret_thread, size_t stack_bytes, void *(*fn)(void *), void *arg)
{
    pthread_attr_t attr;
    CHECK(pthread_attr_init(&attr) == 0);
    CHECK(pthread_attr_setstacksize(&attr, stack_bytes) == 0);
    int failed = pthread_create(ret_thread, &attr, fn, arg);
    CHECK(pthread_attr_destroy(&attr) == 0);
    return -(int)error_from_errno(failed);
}

void loop_pool_add(struct loop_pool *pool, const struct loop_task *task)
{
    if (!pool->has_thread) {
        int err = thread_start(&pool->thread, POOL_STACK_BYTES, pool_main, pool);
        CHECKF(err == 0, "cannot start the %s thread: %s", pool->name, error_name(err));
        pool->has_thread = true;
    }
    struct loop_job *job = xalloc(sizeof *job);
    *job = (struct loop_job){.work = task->work,
                             .arg = task->work_arg,
                             .done = task->done == NULL ? NULL
                                                        : letter_new(task->done, task->done_arg)};
    CHECK(pthread_mutex_lock(&pool->lock) == 0);
    list_push_back(task->is_idle ? &pool->idle_jobs : &pool->jobs, &job->link);
    CHECK(pthread_cond_signal(&pool->wakeup) == 0);
    CHECK(pthread_mutex_unlock(&pool->lock) == 0);
}

bool loop_pool_is_ending(struct loop_pool *pool)
{
    CHECK(pthread_mutex_lock(&pool->lock) == 0);
    bool is_ending = pool->is_ending;
    CHECK(pthread_mutex_unlock(&pool->lock) == 0);
    return is_ending;
}

static void loop_work(struct env *env, env_fn work, env_fn done, void *arg)
{
    struct loop_task task = {.work = work, .work_arg = arg, .done = done, .done_arg = arg};
    loop_pool_add(&loop_of(env)->pool, &task);
}

static void pool_init(struct loop *loop, struct loop_pool *pool, const char *name)
{
    pool->loop = loop;
    pool->name = name;
    CHECK(pthread_mutex_init(&pool->lock, NULL) == 0);
    CHECK(pthread_cond_init(&pool->wakeup, NULL) == 0);
    list_init(&pool->jobs);
    list_init(&pool->idle_jobs);
}

static void pool_deinit(struct loop_pool *pool)
{
    if (pool->has_thread) {
        CHECK(pthread_mutex_lock(&pool->lock) == 0);
        pool->is_ending = true;
        CHECK(pthread_cond_signal(&pool->wakeup) == 0);
        CHECK(pthread_mutex_unlock(&pool->lock) == 0);
        CHECK(pthread_join(pool->thread, NULL) == 0);
    }
    CHECK(pthread_cond_destroy(&pool->wakeup) == 0);
    CHECK(pthread_mutex_destroy(&pool->lock) == 0);
}

/* ---- life ---- */

static const struct env_ops loop_ops = {
    .now_ms = loop_now_ms,
    .now_us = loop_now_us,
    .wall_ms = loop_wall_ms,
    .random_u64 = loop_random_u64,
    .timer_start = loop_timer_start,
    .timer_stop = loop_timer_stop,
    .post = loop_post,
    .work = loop_work,
    .file_open = loop_file_open,
    .file_close = loop_file_close,
    .file_read = loop_file_read,
    .file_read_now = loop_file_read_now,
    .file_is_cached = loop_file_is_cached,
    .file_warm = loop_file_warm,
    .file_writev = loop_file_writev,
    .file_size = loop_file_size,
    .file_truncate = loop_file_truncate,
    .file_sync = loop_file_sync,
    .file_drop_behind = loop_file_drop_behind,
    .rename = loop_rename,
    .unlink = loop_unlink,
    .mkdir = loop_mkdir,
    .rmdir = loop_rmdir,
    .dir_sync = loop_dir_sync,
    .dir_list = loop_dir_list,
    .lock = loop_lock,
    .disk_space = loop_disk_space,
    .boot_id = loop_boot_id,
    .listen = loop_listen,
    .listener_close = loop_listener_close,
    .connect = loop_connect,
    .conn_read = loop_conn_read,
    .conn_writev = loop_conn_writev,
    .conn_sendfile = loop_conn_sendfile,
    .conn_interest = loop_conn_interest,
    .conn_close = loop_conn_close,
    .resolve = loop_resolve,
    .resolve_cancel = loop_resolve_cancel,
    .fd_watch = loop_fd_watch,
    .fd_unwatch = loop_fd_unwatch,
    .fd_shut_down = loop_fd_shut_down,
};

static void seed(struct loop *loop)
{
    uint64_t random = 0;
    if (getrandom(&random, sizeof random, 0) != (ssize_t)sizeof random) {
        random = (uint64_t)clock_us(CLOCK_REALTIME); /* distinct is enough: it makes no secrets */
    }
    prng_init(&loop->prng, random);
}

struct env *loop_new(const struct loop_config *config, struct errmsg *em)
{
    struct loop *loop = xalloc(sizeof *loop);
    loop->env.ops = &loop_ops;
    loop->armed_ms = -1;
    const char *control = config->congestion_control;
    (void)snprintf(loop->name, sizeof loop->name, "%s", config->name); /* cut on purpose */
    (void)snprintf(loop->congestion_control, sizeof loop->congestion_control, "%s",
                   control == NULL ? "cubic" : control); /* a cut name is refused by the kernel */
    (void)signal(SIGPIPE, SIG_IGN);                      /* writes report E_CLOSED instead */
    int failed = uv_loop_init(&loop->uv);
    if (failed != 0) {
        (void)errmsg_set(em, E_SYSTEM, "cannot make an event loop: %s", uv_strerror(failed));
        free(loop);
        return NULL;
    }
    failed = uv_async_init(&loop->uv, &loop->mail_ready, on_mail);
    if (failed != 0) {
        (void)errmsg_set(em, E_SYSTEM, "cannot make a mailbox: %s", uv_strerror(failed));
        CHECK(uv_loop_close(&loop->uv) == 0);
        free(loop);
        return NULL;
    }
    CHECK(uv_timer_init(&loop->uv, &loop->timer) == 0);
    CHECK(pthread_mutex_init(&loop->mail_lock, NULL) == 0);
    heap_init(&loop->timers);
    pool_init(loop, &loop->pool, "disk");
    pool_init(loop, &loop->reads, "read");
    list_init(&loop->conns);
    list_init(&loop->listeners);
    list_init(&loop->lookups);
    list_init(&loop->fd_watches);
    seed(loop);
    return &loop->env;
}

void loop_run(struct env *env)
{
    (void)uv_run(&loop_of(env)->uv, UV_RUN_DEFAULT); /* tells only that handles are left */
}

static void *loop_main(void *arg)
{
    struct loop *loop = arg;
    (void)pthread_setname_np(pthread_self(), loop->name); /* for people only */
    loop_run(&loop->env);
    return NULL;
}

int loop_start(struct env *env, struct errmsg *em)
{
    struct loop *loop = loop_of(env);
    CHECK(!loop->has_thread);
    int err = thread_start(&loop->thread, LOOP_STACK_BYTES, loop_main, loop);
    if (err != 0) {
        return errmsg_set(em, (enum error) - err, "cannot start thread %s: %s", loop->name,
                          error_name(err));
    }
    loop->has_thread = true;
    return 0;
}

static void stop_now(void *arg)
{
    struct loop *loop = arg;
    uv_stop(&loop->uv);
}

void loop_stop(struct env *env)
{
    loop_post(env, stop_now, loop_of(env));
}

static void drop_letters(struct loop *loop)
{
    for (struct loop_letter *letter = mail_take(loop); letter != NULL;) {
        struct loop_letter *next = letter->next;
        free(letter);
        letter = next;
    }
}

void loop_free(struct env *env)
{
    if (env == NULL) {
        return;
    }
    struct loop *loop = loop_of(env);
    if (loop->has_thread) {
        CHECK(pthread_join(loop->thread, NULL) == 0);
    }
    pool_deinit(&loop->reads);
    pool_deinit(&loop->pool);
    loop->is_dying = true;
    drop_letters(loop);
    while (heap_min(&loop->timers) != NULL) {
        heap_remove(&loop->timers, heap_min(&loop->timers));
    }
    loop_net_drop(loop);
    loop_resolve_drop(loop);
    loop_fd_drop(loop);
    uv_close((uv_handle_t *)&loop->mail_ready, NULL);
    uv_close((uv_handle_t *)&loop->timer, NULL);
    for (size_t i = 0; loop->has_signals && i < ARRAY_LEN(loop->signals); i++) {
        uv_close((uv_handle_t *)&loop->signals[i], NULL);
    }
    (void)uv_run(&loop->uv, UV_RUN_DEFAULT); /* runs what is closing; the check follows */
    CHECK(uv_loop_close(&loop->uv) == 0);
    CHECK(pthread_mutex_destroy(&loop->mail_lock) == 0);
    heap_deinit(&loop->timers);
    free(loop);
}

struct env *loop_spawn(const char *name, struct errmsg *em)
{
    struct env *env = loop_new(&(struct loop_config){.name = name}, em);
    if (env != NULL && loop_start(env, em) != 0) {
        loop_free(env);
        env = NULL;
    }
    return env;
}

void loop_end(struct env *env)
{
    if (env != NULL) {
        loop_stop(env);
        loop_free(env);
    }
}

/* ---- process-wide matters ---- */

int64_t loop_raise_file_limit(void)
{
    struct rlimit limit;
    if (getrlimit(RLIMIT_NOFILE, &limit) != 0) {
        return 0;
    }
    rlim_t before = limit.rlim_cur;
    limit.rlim_cur = limit.rlim_max;
    if (setrlimit(RLIMIT_NOFILE, &limit) != 0) {
        limit.rlim_cur = before;
    }
    return (int64_t)loop_files_share(limit.rlim_cur);
}

char *loop_host_name(void)
{
    char name[UV_MAXHOSTNAMESIZE];
    size_t size = sizeof name;
    return uv_os_gethostname(name, &size) != 0 || name[0] == '\0' ? NULL : xstrdup(name);
}

void loop_ignore_signals(void)
{
    (void)signal(SIGINT, SIG_IGN);
    (void)signal(SIGTERM, SIG_IGN);
}

static void on_uv_signal(uv_signal_t *handle, int number)
{
    struct loop *loop = handle->data;
    loop->on_signal(loop->on_signal_arg, number);
}

int loop_on_signal(struct env *env, void (*fn)(void *arg, int signal), void *arg, struct errmsg *em)
{
    static const int numbers[] = {SIGINT, SIGTERM};
    struct loop *loop = loop_of(env);
    CHECK(!loop->has_signals);
    loop->on_signal = fn;
    loop->on_signal_arg = arg;
    loop->has_signals = true;
    for (size_t i = 0; i < ARRAY_LEN(numbers); i++) {
        CHECK(uv_signal_init(&loop->uv, &loop->signals[i]) == 0);
        loop->signals[i].data = loop;
    }
    for (size_t i = 0; i < ARRAY_LEN(numbers); i++) {
        int failed = uv_signal_start(&loop->signals[i], on_uv_signal, numbers[i]);
        if (failed != 0) {
            return errmsg_set(em, E_SYSTEM, "cannot watch signal %d: %s", numbers[i],
                              uv_strerror(failed));
        }
    }
    return 0;
}
