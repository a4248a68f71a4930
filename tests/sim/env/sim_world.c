/*
 * Virtual time: two heaps, of events and of timers; the earlier one goes next. An event belongs to one
 * incarnation of a node and is dropped when that has ended. Invariant: time never runs backwards.
 */
#include "internal.h"

#include "base/alloc.h"

#include <stdio.h>
#include <stdlib.h>

#define SIM_WALL_START_MS 1767225600000 /* 2026-01-01 */

static int64_t sim_now_ms(const struct env *env)
{
    return sim_of(env)->world->now_us / 1000;
}

static int64_t sim_now_us(const struct env *env)
{
    return sim_of(env)->world->now_us;
}

static int64_t sim_wall_ms(const struct env *env)
{
    struct sim_node *n = sim_of(env);
    return SIM_WALL_START_MS + n->world->now_us / 1000 + n->clock_skew_ms;
}

static uint64_t sim_random(struct env *env)
{
    return prng_u64(&sim_of(env)->world->prng);
}

static void sim_timer_stop(struct env_timer *t)
{
    heap_remove(&sim_of(t->env)->world->timers, &t->node);
}

static void sim_timer_start(struct env_timer *t, int64_t delay_ms)
{
    struct sim_node *n = sim_of(t->env);
    sim_timer_stop(t);
    int64_t jitter_us = prng_range(&n->world->prng, 1, 200);
    heap_insert(&n->world->timers, &t->node, n->world->now_us + delay_ms * 1000 + jitter_us);
}

static struct sim_event *event_add(struct sim_node *home, int64_t delay_us, env_fn fn, void *arg)
{
    struct sim_event *e = xalloc(sizeof *e);
    e->home = home;
    e->incarnation = home->incarnation;
    e->fn = fn;
    e->arg = arg;
    heap_insert(&home->world->events, &e->node, home->world->now_us + delay_us);
    return e;
}

void sim_schedule(struct sim_node *home, int64_t delay_us, env_fn fn, env_fn drop, void *arg)
{
    event_add(home, delay_us, fn, arg)->drop = drop;
}

void sim_schedule_message(struct sim_node *home, int64_t delay_us, env_fn fn, void *arg)
{
    event_add(home, delay_us, fn, arg)->is_message = true;
}

void sim_post(struct env *to, env_fn fn, void *arg)
{
    struct sim_node *n = sim_of(to);
    int64_t at = n->world->now_us + prng_range(&n->world->prng, 1, 60);
    n->last_post_us = MAX(at, n->last_post_us);
    event_add(n, n->last_post_us - n->world->now_us, fn, arg)->is_message = true;
}

struct sim_work {
    struct env *env;
    env_fn work;
    env_fn done;
    void *arg;
};

static void sim_work_run(void *arg)
{
    struct sim_work *work = arg;
    work->work(work->arg);
    sim_post(work->env, work->done, work->arg);
    free(work);
}

static void sim_work_start(struct env *env, env_fn work, env_fn done, void *arg)
{
    struct sim_node *n = sim_of(env);
    struct sim_work *item = xalloc(sizeof *item);
    *item = (struct sim_work){.env = env, .work = work, .done = done, .arg = arg};
    int64_t cost = prng_range(&n->world->prng, 100, 2000);
    if (n->disk.slow_ms > 0) {
        cost += prng_range(&n->world->prng, 0, n->disk.slow_ms * 1000);
    }
    n->last_work_us = MAX(n->last_work_us, n->world->now_us) + cost;
    event_add(n, n->last_work_us - n->world->now_us, sim_work_run, item)->is_message = true;
}

/* One lookup; it knows nothing, which a timer tells. */
struct sim_lookup {
    struct env_lookup lookup;
    struct env_timer timer;
    env_resolve_fn fn;
    void *arg;
};

static void sim_resolve_cancel(struct env_lookup *lookup)
{
    struct sim_lookup *l = CONTAINER_OF(lookup, struct sim_lookup, lookup);
    env_timer_stop(&l->timer);
    free(l);
}

static void sim_resolved(void *arg)
{
    struct sim_lookup *l = arg;
    env_resolve_fn fn = l->fn;
    void *fn_arg = l->arg;
    free(l);
    fn(fn_arg, NULL, 0);
}

static struct env_lookup *sim_resolve(struct env *env, const char *host, env_resolve_fn fn,
                                      void *arg)
{
    (void)host;
    struct sim_lookup *l = xalloc(sizeof *l);
    l->lookup.env = env;
    l->fn = fn;
    l->arg = arg;
    env_timer_init(&l->timer, env, sim_resolved, l);
    env_timer_start(&l->timer, 1);
    return &l->lookup;
}

static int sim_boot_id(struct env *env, struct uuid *ret_id)
{
    const struct sim_node *n = sim_of(env);
    *ret_id = uuid_from_random((uint64_t)n->index, n->power_losses);
    return 0;
}

/* Libraries with sockets of their own have no place in a simulated world. */
static int sim_fd_watch(struct env *env, const struct env_fd_interest *interest,
                        struct env_fd_watch **ret_watch)
{
    (void)env;
    (void)interest;
    (void)ret_watch;
    return -E_UNSUPPORTED;
}

static void sim_fd_unwatch(struct env_fd_watch *w)
{
    CHECK(w == NULL); /* none was ever made */
}

static void sim_fd_shut_down(struct env *env, int fd)
{
    (void)env;
    (void)fd;
}

const struct env_ops sim_env_ops = {
    .now_ms = sim_now_ms,
    .now_us = sim_now_us,
    .wall_ms = sim_wall_ms,
    .random_u64 = sim_random,
    .timer_start = sim_timer_start,
    .timer_stop = sim_timer_stop,
    .post = sim_post,
    .work = sim_work_start,
    .file_open = sim_file_open,
    .file_close = sim_file_close,
    .file_read = sim_file_read,
    .file_read_now = sim_file_read_now,
    .file_is_cached = sim_file_is_cached,
    .file_warm = sim_file_warm,
    .file_writev = sim_file_writev,
    .file_size = sim_file_size,
    .file_truncate = sim_file_truncate,
    .file_sync = sim_file_sync,
    .file_drop_behind = sim_file_drop_behind,
    .rename = sim_rename,
    .unlink = sim_unlink,
    .mkdir = sim_mkdir,
    .rmdir = sim_rmdir,
    .dir_sync = sim_dir_sync,
    .dir_list = sim_dir_list,
    .lock = sim_lock,
    .disk_space = sim_disk_space,
    .boot_id = sim_boot_id,
    .listen = sim_listen,
    .listener_close = sim_listener_close,
    .connect = sim_connect,
    .conn_read = sim_conn_read,
    .conn_writev = sim_conn_writev,
    .conn_sendfile = sim_conn_sendfile,
    .conn_interest = sim_conn_interest,
    .conn_close = sim_conn_close,
    .resolve = sim_resolve,
    .resolve_cancel = sim_resolve_cancel,
    .fd_watch = sim_fd_watch,
    .fd_unwatch = sim_fd_unwatch,
    .fd_shut_down = sim_fd_shut_down,
};

struct sim_world *sim_world_new(uint64_t seed)
{
    struct sim_world *w = xalloc(sizeof *w);
    prng_init(&w->prng, seed);
    prng_init(&w->cold_prng, ~seed);
    heap_init(&w->events);
    heap_init(&w->timers);
    w->delay_min_us = 50;
    w->delay_max_us = 300;
    w->next_port = 20000;
    return w;
}

static void event_drop(struct sim_event *e)
{
    if (e->drop != NULL) {
        e->drop(e->arg);
    }
    free(e);
}

/* The node's earliest event that is a message, or with is_message false any that is none. */
static struct sim_event *node_next_event(struct sim_node *n, bool is_message)
{
    struct heap *events = &n->world->events;
    struct sim_event *first = NULL;
    for (size_t i = 0; i < events->count; i++) {
        struct sim_event *e = CONTAINER_OF(events->nodes[i], struct sim_event, node);
        if (e->home == n && e->is_message == is_message &&
            (first == NULL || e->node.key < first->node.key ||
             (e->node.key == first->node.key && e->node.order < first->node.order))) {
            first = e;
        }
    }
    return first;
}

/* Messages in flight still run, so that they free what they own, but the disk does nothing more. */
static void node_drain(struct sim_node *n)
{
    struct sim_event *e;
    while ((e = node_next_event(n, true)) != NULL) {
        heap_remove(&n->world->events, &e->node);
        e->fn(e->arg);
        free(e);
    }
    while ((e = node_next_event(n, false)) != NULL) {
        heap_remove(&n->world->events, &e->node);
        event_drop(e);
    }
}

static void node_end(struct sim_node *n, int64_t notice_ms)
{
    CHECKF(n->is_alive, "%s is down already", n->name);
    n->is_alive = false;
    n->disk.is_gone = true;
    sim_net_node_down(n, notice_ms);
    node_drain(n);
    n->disk.is_gone = false;
    n->incarnation++;
    for (size_t i = 0; i < n->world->timers.count; i++) {
        struct env_timer *t = CONTAINER_OF(n->world->timers.nodes[i], struct env_timer, node);
        CHECKF(t->env != &n->env, "%s ended with a timer running", n->name);
    }
    CHECKF(n->disk.open_files == 0, "%s ended with %d files open", n->name, n->disk.open_files);
    n->last_post_us = n->last_work_us = n->last_warm_us = 0;
}

void sim_node_crash(struct sim_node *n)
{
    sim_trace(n->world, "%s: process crash", n->name);
    node_end(n, 0);
}

void sim_node_power_loss(struct sim_node *n)
{
    sim_trace(n->world, "%s: power loss", n->name);
    node_end(n, prng_range(&n->world->prng, 0, 3000));
    n->power_losses++;
    sim_disk_lose_power(n);
}

void sim_node_skew_clock(struct sim_node *n, int64_t ms)
{
    n->clock_skew_ms = ms;
}

void sim_node_start(struct sim_node *n)
{
    CHECKF(!n->is_alive, "%s is up already", n->name);
    n->is_alive = true;
}

struct sim_node *sim_node_new(struct sim_world *w, const char *name)
{
    CHECK(w->node_count < SIM_NODES_MAX);
    struct sim_node *n = xalloc(sizeof *n);
    n->env.ops = &sim_env_ops;
    n->world = w;
    n->index = w->node_count;
    n->is_alive = true;
    (void)snprintf(n->name, sizeof n->name, "%s", name); /* a cut name is fine */
    list_init(&n->conns);
    list_init(&n->listeners);
    sim_disk_init(&n->disk);
    w->nodes[w->node_count++] = n;
    return n;
}

void sim_world_free(struct sim_world *w)
{
    for (int32_t i = 0; i < w->node_count; i++) {
        struct sim_node *n = w->nodes[i];
        if (n->is_alive) {
            node_end(n, 0);
        }
    }
    while (heap_min(&w->events) != NULL) {
        struct sim_event *e = CONTAINER_OF(heap_min(&w->events), struct sim_event, node);
        heap_remove(&w->events, &e->node);
        event_drop(e);
    }
    for (int32_t i = 0; i < w->node_count; i++) {
        sim_disk_deinit(&w->nodes[i]->disk);
        free(w->nodes[i]);
    }
    heap_deinit(&w->events);
    heap_deinit(&w->timers);
    free(w);
}

struct prng *sim_world_prng(struct sim_world *w)
{
    return &w->prng;
}

int64_t sim_world_now_ms(const struct sim_world *w)
{
    return w->now_us / 1000;
}

uint64_t sim_world_steps(const struct sim_world *w)
{
    return w->steps;
}

static int64_t next_due_us(const struct sim_world *w)
{
    const struct heap_node *event = heap_min(&w->events);
    const struct heap_node *timer = heap_min(&w->timers);
    int64_t due = event == NULL ? INT64_MAX : event->key;
    return timer != NULL && timer->key < due ? timer->key : due;
}

bool sim_world_step(struct sim_world *w)
{
    struct heap_node *event = heap_min(&w->events);
    struct heap_node *timer = heap_min(&w->timers);
    if (event == NULL && timer == NULL) {
        return false;
    }
    w->steps++;
    w->now_us = MAX(w->now_us, next_due_us(w));
    if (event == NULL || (timer != NULL && timer->key < event->key)) {
        struct env_timer *t = CONTAINER_OF(timer, struct env_timer, node);
        heap_remove(&w->timers, timer);
        t->fn(t->arg);
        return true;
    }
    struct sim_event *e = CONTAINER_OF(event, struct sim_event, node);
    heap_remove(&w->events, event);
    if (!e->is_message && (!e->home->is_alive || e->incarnation != e->home->incarnation)) {
        event_drop(e);
        return true;
    }
    e->fn(e->arg);
    free(e);
    return true;
}

bool sim_world_run(struct sim_world *w, int64_t for_ms, bool (*done)(void *arg), void *arg)
{
    int64_t end_us = w->now_us + for_ms * 1000;
    for (;;) {
        if (done != NULL && done(arg)) {
            return true;
        }
        if (next_due_us(w) > end_us) {
            w->now_us = end_us;
            return false;
        }
        (void)sim_world_step(w); /* something is due: it steps */
    }
}

struct env *sim_node_env(struct sim_node *n)
{
    return &n->env;
}

const char *sim_node_name(const struct sim_node *n)
{
    return n->name;
}

bool sim_node_is_alive(const struct sim_node *n)
{
    return n->is_alive;
}

void sim_trace(struct sim_world *w, const char *format, ...)
{
    char *line = w->trace[w->trace_count++ % SIM_TRACE_MAX];
    int used = snprintf(line, SIM_TRACE_SIZE, "%10.3f ", (double)w->now_us / 1e6);
    va_list args;
    va_start(args, format);
    (void)vsnprintf(line + used, SIM_TRACE_SIZE - (size_t)used, format,
                    args); /* cut lines are fine */
    va_end(args);
}

void sim_trace_print(const struct sim_world *w)
{
    uint64_t first = w->trace_count > SIM_TRACE_MAX ? w->trace_count - SIM_TRACE_MAX : 0;
    for (uint64_t i = first; i < w->trace_count; i++) {
        (void)fprintf(stderr, "%s\n", w->trace[i % SIM_TRACE_MAX]);
    }
}
