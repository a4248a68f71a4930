/*
 * Dispatch to the implementation, and the few rules that are the same for all of them.
 * Runs on the env's thread, but for env_post and the file functions (see env.h).
 */
#include "env/env.h"

int64_t env_now_ms(const struct env *env)
{
    return env->ops->now_ms(env);
}

int64_t env_now_us(const struct env *env)
{
    return env->ops->now_us(env);
}

int64_t env_wall_ms(const struct env *env)
{
    return env->ops->wall_ms(env);
}

uint64_t env_random_u64(struct env *env)
{
    return env->ops->random_u64(env);
}

void env_timer_init(struct env_timer *t, struct env *env, env_fn fn, void *arg)
{
    *t = (struct env_timer){.env = env, .fn = fn, .arg = arg};
}

void env_timer_start(struct env_timer *t, int64_t delay_ms)
{
    t->env->ops->timer_start(t, delay_ms < 0 ? 0 : delay_ms);
}

void env_timer_stop(struct env_timer *t)
{
    if (t->env != NULL && env_timer_is_active(t)) {
        t->env->ops->timer_stop(t);
    }
}

void env_post(struct env *to, env_fn fn, void *arg)
{
    to->ops->post(to, fn, arg);
}

void env_work(struct env *env, env_fn work, env_fn done, void *arg)
{
    env->ops->work(env, work, done, arg);
}

int env_file_open(struct env *env, const char *path, int flags, struct env_file **ret_file)
{
    return env->ops->file_open(env, path, flags, ret_file);
}

struct env_file *env_file_ref(struct env_file *f)
{
    int32_t before = __atomic_fetch_add(&f->refs, 1, __ATOMIC_RELAXED);
    CHECK(before > 0);
    return f;
}

void env_file_unref(struct env_file *f)
{
    if (f == NULL) {
        return;
    }
    int32_t left = __atomic_sub_fetch(&f->refs, 1, __ATOMIC_ACQ_REL);
    CHECK(left >= 0);
    if (left == 0) {
        f->env->ops->file_close(f);
    }
}

int env_file_read(struct env_file *f, void *ptr, size_t len, uint64_t pos, size_t *ret_len)
{
    return f->env->ops->file_read(f, ptr, len, pos, ret_len);
}

int env_file_read_now(struct env_file *f, void *ptr, size_t len, uint64_t pos, size_t *ret_len)
{
    return f->env->ops->file_read_now(f, ptr, len, pos, ret_len);
}

bool env_file_is_cached(struct env_file *f, uint64_t pos, uint64_t len)
{
    return f->env->ops->file_is_cached(f, pos, len);
}

void env_file_warm(struct env_file *f, struct env_range range, env_fn done, void *arg)
{
    f->env->ops->file_warm(f, range, done, arg);
}

int env_file_writev(struct env_file *f, const struct iovec *iov, int count, uint64_t pos)
{
    return f->env->ops->file_writev(f, iov, count, pos);
}

int env_file_write(struct env_file *f, const void *ptr, size_t len, uint64_t pos)
{
    union {
        const void *in;
        void *out;
    } base = {.in = ptr}; /* struct iovec has no const form */
    struct iovec iov = {.iov_base = base.out, .iov_len = len};
    return f->env->ops->file_writev(f, &iov, 1, pos);
}

int env_file_size(struct env_file *f, uint64_t *ret_size)
{
    return f->env->ops->file_size(f, ret_size);
}

int env_file_truncate(struct env_file *f, uint64_t size)
{
    return f->env->ops->file_truncate(f, size);
}

int env_file_sync(struct env_file *f)
{
    return f->env->ops->file_sync(f);
}

void env_file_drop_behind(struct env_file *f, uint64_t pos, uint64_t len)
{
    f->env->ops->file_drop_behind(f, pos, len);
}

int env_rename(struct env *env, const char *from, const char *to)
{
    return env->ops->rename(env, from, to);
}

int env_unlink(struct env *env, const char *path)
{
    return env->ops->unlink(env, path);
}

int env_mkdir(struct env *env, const char *path)
{
    return env->ops->mkdir(env, path);
}

int env_rmdir(struct env *env, const char *path)
{
    return env->ops->rmdir(env, path);
}

int env_dir_sync(struct env *env, const char *path)
{
    return env->ops->dir_sync(env, path);
}

int env_dir_list(struct env *env, const char *path, env_dir_fn fn, void *arg)
{
    return env->ops->dir_list(env, path, fn, arg);
}

int env_lock(struct env *env, const char *path, struct env_file **ret_file)
{
    return env->ops->lock(env, path, ret_file);
}

int env_disk_space(struct env *env, const char *path, struct env_space *ret_space)
{
    return env->ops->disk_space(env, path, ret_space);
}

int env_boot_id(struct env *env, struct uuid *ret_id)
{
    return env->ops->boot_id(env, ret_id);
}

/* tidy: long: host and port are one address. */
int env_listen(struct env *env, const char *host, uint16_t port, env_accept_fn on_accept, void *arg,
               struct env_listener **ret_listener, struct errmsg *em)
{
    return env->ops->listen(env, host, port, on_accept, arg, ret_listener, em);
}

uint16_t env_listener_port(const struct env_listener *l)
{
    return l->port;
}

void env_listener_close(struct env_listener *l)
{
    if (l != NULL) {
        l->env->ops->listener_close(l);
    }
}

struct env_conn *env_connect(struct env *env, const char *host, uint16_t port,
                             const struct env_conn_handler *handler, void *arg)
{
    return env->ops->connect(env, host, port, handler, arg);
}

void env_conn_set_handler(struct env_conn *c, const struct env_conn_handler *handler, void *arg)
{
    c->handler = handler;
    c->arg = arg;
}

const char *env_conn_peer(const struct env_conn *c)
{
    return c->peer;
}

int64_t env_conn_read(struct env_conn *c, void *ptr, size_t len)
{
    return c->env->ops->conn_read(c, ptr, len);
}

int64_t env_conn_writev(struct env_conn *c, const struct iovec *iov, int count)
{
    return c->env->ops->conn_writev(c, iov, count);
}

void env_conn_hint_more(struct env_conn *c, bool more)
{
    c->has_more = more;
}

int64_t env_conn_sendfile(struct env_conn *c, struct env_file *f, uint64_t pos, size_t len)
{
    return c->env->ops->conn_sendfile(c, f, pos, len);
}

void env_conn_want_read(struct env_conn *c, bool on)
{
    if (c->wants_read != on) {
        c->wants_read = on;
        c->env->ops->conn_interest(c);
    }
}

void env_conn_want_write(struct env_conn *c, bool on)
{
    if (c->wants_write != on) {
        c->wants_write = on;
        c->env->ops->conn_interest(c);
    }
}

void env_conn_close(struct env_conn *c)
{
    c->env->ops->conn_close(c);
}

struct env_lookup *env_resolve(struct env *env, const char *host, env_resolve_fn fn, void *arg)
{
    return env->ops->resolve(env, host, fn, arg);
}

void env_resolve_cancel(struct env_lookup *l)
{
    if (l != NULL) {
        l->env->ops->resolve_cancel(l);
    }
}

int env_fd_watch(struct env *env, const struct env_fd_interest *interest,
                 struct env_fd_watch **ret_watch)
{
    CHECK(interest->events != 0);
    return env->ops->fd_watch(env, interest, ret_watch);
}

void env_fd_unwatch(struct env_fd_watch *w)
{
    if (w != NULL) {
        w->env->ops->fd_unwatch(w);
    }
}

void env_fd_shut_down(struct env *env, int fd)
{
    env->ops->fd_shut_down(env, fd);
}
