/*
 * A test bench for sessions: a simulated world with a store on one node and sessions on others, calls
 * that run the world until they are answered, and a log of events and states per session. For the
 * ZooKeeper backend the world is real: a loop on this thread and a server started by somebody else.
 * Include it once, after cmocka.
 */
#pragma once

#include "base/alloc.h"
#include "base/check.h"
#include "env/loop.h"
#include "metastore/store.h"
#include "metastore/zookeeper.h"
#include "sim/env/sim.h"

#include <dirent.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#define BENCH_LOG_MAX     64
#define BENCH_TIMEOUT_MS  1000
#define BENCH_REAL_MS     10000 /* of a session with a real server, on a machine that may be slow */
#define BENCH_PATIENCE_MS 60000

enum bench_backend {
    BENCH_MEMORY,
    BENCH_MEMORY_ONE_ENV, /* store and sessions on the same env, as in the simulator */
    BENCH_LOCAL,
    BENCH_ZOOKEEPER, /* the server that the environment's KLAMM_ZOOKEEPER names */
};

struct bench {
    enum bench_backend backend;
    struct env *env; /* of the sessions */
    struct metastore_factory *factory;
    int64_t timeout_ms;    /* of the sessions */
    int64_t lateness_ms;   /* by which a session's end may be late */
    struct env_timer poll; /* ZooKeeper: looks whether a run may end */
    struct bench_wait *wait;
    struct sim_world *world; /* NULL for ZooKeeper */
    struct sim_node *store_node;
    struct sim_node *client_node;
    struct metastore_store *store;
    char directory[64]; /* local: where the file lies */
    bool is_stopped;
    int stall_count;   /* commits that began to fail */
    int recover_count; /* and went on */
};

/* What a session was told, as text: "state connected", "event changed /a", "answer N". */
struct bench_session {
    struct bench *bench;
    struct metastore *m;
    char log[BENCH_LOG_MAX][96];
    int log_count;
};

struct bench_answer {
    struct bench_session *session; /* NULL: not logged */
    int number;
    bool is_done;
    int err;
    char data[64]; /* as text; "(null)" for null data */
    struct metastore_stat stat;
    char children[256]; /* joined by ',' */
    int32_t child_count;
    int32_t failed_op;
    int32_t op_count;
    struct metastore_stat op_stats[8];
    char op_paths[8][64];
};

static void bench_log(struct bench_session *s, const char *text)
{
    CHECK(s->log_count < BENCH_LOG_MAX);
    (void)snprintf(s->log[s->log_count++], sizeof s->log[0], "%s", text);
}

static inline void bench_state(void *arg, enum metastore_state state)
{
    static const char *const names[] = {"state connected", "state disconnected", "state expired"};
    bench_log(arg, names[state]);
}

static inline void bench_event(void *arg, enum metastore_event event, struct slice path)
{
    static const char *const names[] = {"created", "deleted", "changed", "children"};
    char text[96];
    (void)snprintf(text, sizeof text, "event %s %.*s", names[event], SLICE_ARG(path));
    bench_log(arg, text);
}

static inline void bench_done(void *arg, const struct metastore_result *r)
{
    struct bench_answer *a = arg;
    CHECK(!a->is_done);
    a->is_done = true;
    a->err = r->err;
    a->stat = r->stat;
    a->failed_op = r->failed_op;
    a->op_count = r->op_count;
    a->child_count = r->child_count;
    (void)snprintf(a->data, sizeof a->data, "%.*s",
                   slice_is_null(r->data) ? 6 : (int)MIN(r->data.len, 63),
                   slice_is_null(r->data) ? "(null)" : (const char *)r->data.ptr);
    a->children[0] = 0;
    for (int32_t i = 0; i < r->child_count && strlen(a->children) < 200; i++) {
        size_t len = strlen(a->children);
        (void)snprintf(a->children + len, sizeof a->children - len, "%s%.*s", i > 0 ? "," : "",
                       SLICE_ARG(r->children[i]));
    }
    for (int32_t i = 0; i < MIN(r->op_count, 8); i++) {
        a->op_stats[i] = r->op_stats[i];
        (void)snprintf(a->op_paths[i], sizeof a->op_paths[i], "%.*s", (int)r->op_paths[i].len,
                       slice_is_null(r->op_paths[i]) ? "" : (const char *)r->op_paths[i].ptr);
    }
    if (a->session != NULL) {
        char text[32];
        (void)snprintf(text, sizeof text, "answer %d", a->number);
        bench_log(a->session, text);
    }
}

/* ---- life ---- */

static inline void bench_stall(void *arg, const struct errmsg *em)
{
    struct bench *b = arg;
    b->stall_count += em != NULL;
    b->recover_count += em == NULL;
}

static inline void bench_open_store(struct bench *b)
{
    const char *directory = b->backend == BENCH_LOCAL ? b->directory : NULL;
    struct metastore_store_config config = {.env = sim_node_env(b->store_node),
                                            .directory = directory,
                                            .on_stall = bench_stall,
                                            .arg = b};
    struct errmsg em = {""};
    int err = metastore_store_new(&config, &b->store, &em);
    CHECKF(err == 0, "%s", em.text);
    b->factory = metastore_store_factory(b->store);
}

static inline struct bench *bench_new(enum bench_backend backend)
{
    struct bench *b = xalloc(sizeof *b);
    b->backend = backend;
    b->world = sim_world_new(1);
    b->store_node = sim_node_new(b->world, "store");
    b->client_node =
        backend == BENCH_MEMORY_ONE_ENV ? b->store_node : sim_node_new(b->world, "client");
    (void)snprintf(b->directory, sizeof b->directory, "/tmp/klamm-metastore-XXXXXX");
    if (backend == BENCH_LOCAL) {
        CHECK(mkdtemp(b->directory) != NULL);
    }
    bench_open_store(b);
    b->env = sim_node_env(b->client_node);
    b->timeout_ms = BENCH_TIMEOUT_MS;
    b->lateness_ms = 100;
    return b;
}

/* ---- running ---- */

struct bench_wait {
    int64_t end_us;
    bool (*fn)(void *arg); /* may be NULL */
    void *arg;
    bool is_true;
};

static inline void bench_poll(void *arg)
{
    struct bench *b = arg;
    struct bench_wait *w = b->wait;
    w->is_true = w->fn != NULL && w->fn(w->arg);
    if (w->is_true || env_now_us(b->env) >= w->end_us) {
        loop_stop(b->env);
    } else {
        env_timer_start(&b->poll, 1);
    }
}

/* Runs until fn(arg) or for ms; tells fn's last word. */
static inline bool bench_run_for(struct bench *b, int64_t ms, bool (*fn)(void *arg), void *arg)
{
    if (b->world != NULL) {
        return sim_world_run(b->world, ms, fn, arg);
    }
    struct bench_wait w = {.end_us = env_now_us(b->env) + ms * 1000, .fn = fn, .arg = arg};
    b->wait = &w;
    env_timer_start(&b->poll, 0);
    loop_run(b->env);
    return w.is_true;
}

static inline bool bench_run_until(struct bench *b, bool (*fn)(void *arg), void *arg)
{
    return bench_run_for(b, BENCH_PATIENCE_MS, fn, arg);
}

static inline void bench_run(struct bench *b, int64_t ms)
{
    (void)bench_run_for(b, ms, NULL, NULL);
}

/* Each bench has a chroot of its own, so that tests do not meet. */
static inline struct bench *bench_new_zookeeper(void)
{
    struct bench *b = xalloc(sizeof *b);
    b->backend = BENCH_ZOOKEEPER;
    b->timeout_ms = BENCH_REAL_MS;
    b->lateness_ms = BENCH_PATIENCE_MS;
    struct loop_config loop = {.name = "bench"};
    struct errmsg em = {""};
    b->env = loop_new(&loop, &em);
    CHECKF(b->env != NULL, "%s", em.text);
    env_timer_init(&b->poll, b->env, bench_poll, b);
    const char *server = getenv("KLAMM_ZOOKEEPER");
    CHECKF(server != NULL, "KLAMM_ZOOKEEPER is not set: %s", "host:port of a ZooKeeper server");
    char connect[128];
    (void)snprintf(connect, sizeof connect, "%s/bench/%" PRIx64, server, env_random_u64(b->env));
    struct metastore_zookeeper_config config = {.connect = connect};
    int err = metastore_zookeeper_new(&config, &b->factory, &em);
    CHECKF(err == 0, "%s", em.text);
    return b;
}

static inline void bench_stopped(void *arg)
{
    struct bench *b = arg;
    b->is_stopped = true;
}

static inline bool bench_flag(void *arg)
{
    return *(bool *)arg;
}

static inline void bench_close_store(struct bench *b)
{
    b->is_stopped = false;
    metastore_store_stop(b->store, bench_stopped, b);
    bool is_stopped = sim_world_run(b->world, BENCH_PATIENCE_MS, bench_flag, &b->is_stopped);
    CHECK(is_stopped);
    /* The last messages to the clients free their halves. */
    (void)sim_world_run(b->world, 10, NULL, NULL);
    metastore_store_free(b->store);
    b->store = NULL;
}

static inline void bench_remove_directory(const char *directory)
{
    DIR *dir = opendir(directory);
    struct dirent *entry;
    while (dir != NULL && (entry = readdir(dir)) != NULL) {
        char path[400];
        (void)snprintf(path, sizeof path, "%s/%s", directory, entry->d_name);
        (void)unlink(path); /* "." and ".." refuse */
    }
    if (dir != NULL) {
        closedir(dir);
    }
    (void)rmdir(directory);
}

static inline void bench_free(struct bench *b)
{
    if (b->backend == BENCH_ZOOKEEPER) {
        env_timer_stop(&b->poll);
        loop_free(b->env);
        metastore_zookeeper_free(b->factory);
        free(b);
        return;
    }
    if (b->store != NULL) {
        bench_close_store(b);
    }
    sim_world_free(b->world);
    if (b->backend == BENCH_LOCAL) {
        bench_remove_directory(b->directory);
    }
    free(b);
}

/* ---- sessions ---- */

static inline bool bench_has_log(void *arg)
{
    return ((struct bench_session *)arg)->log_count > 0;
}

static inline struct bench_session *bench_session_new(struct bench *b)
{
    struct bench_session *s = xalloc(sizeof *s);
    s->bench = b;
    s->m = b->factory->open(b->factory, b->env, b->timeout_ms, bench_state, s);
    CHECK(s->log_count == 0); /* never from inside the call */
    bool is_connected = bench_run_until(b, bench_has_log, s);
    CHECK(is_connected);
    CHECK(strcmp(s->log[0], "state connected") == 0);
    s->log_count = 0;
    return s;
}

static inline void bench_session_close(struct bench_session *s)
{
    metastore_close(s->m);
    free(s);
}

static inline void bench_wait(struct bench *b, struct bench_answer *a)
{
    bool is_done = bench_run_until(b, bench_flag, &a->is_done);
    CHECK(is_done);
}

/* Joined by ';', and forgotten. */
static inline const char *bench_take_log(struct bench_session *s, char text[2048])
{
    text[0] = 0;
    for (int i = 0; i < s->log_count; i++) {
        size_t len = strlen(text);
        (void)snprintf(text + len, 2048 - len, "%s%s", i > 0 ? "; " : "", s->log[i]);
    }
    s->log_count = 0;
    return text;
}

/* ---- calls ---- */

static inline struct bench_answer bench_get(struct bench_session *s, const char *path, bool watch)
{
    struct bench_answer a = {0};
    metastore_get(s->m, slice_str(path), watch ? bench_event : NULL, s, bench_done, &a);
    CHECK(!a.is_done);
    bench_wait(s->bench, &a);
    return a;
}

static inline struct bench_answer bench_exists(struct bench_session *s, const char *path,
                                               bool watch)
{
    struct bench_answer a = {0};
    metastore_exists(s->m, slice_str(path), watch ? bench_event : NULL, s, bench_done, &a);
    CHECK(!a.is_done);
    bench_wait(s->bench, &a);
    return a;
}

static inline struct bench_answer bench_children(struct bench_session *s, const char *path,
                                                 bool watch)
{
    struct bench_answer a = {0};
    metastore_children(s->m, slice_str(path), watch ? bench_event : NULL, s, bench_done, &a);
    CHECK(!a.is_done);
    bench_wait(s->bench, &a);
    return a;
}

static inline struct bench_answer bench_multi(struct bench_session *s,
                                              const struct metastore_op *ops, int32_t count)
{
    struct bench_answer a = {0};
    metastore_multi(s->m, ops, count, bench_done, &a);
    CHECK(!a.is_done);
    bench_wait(s->bench, &a);
    return a;
}

#define OP_CREATE(p, d)                                                                            \
    ((struct metastore_op){.kind = METASTORE_CREATE, .path = slice_str(p), .data = slice_str(d)})
#define OP_EPHEMERAL(p)                                                                            \
    ((struct metastore_op){.kind = METASTORE_CREATE, .path = slice_str(p), .is_ephemeral = true})
#define OP_SEQUENTIAL(p)                                                                           \
    ((struct metastore_op){.kind = METASTORE_CREATE, .path = slice_str(p), .is_sequential = true})
#define OP_SET(p, d, v)                                                                            \
    ((struct metastore_op){                                                                        \
        .kind = METASTORE_SET, .path = slice_str(p), .data = slice_str(d), .version = (v)})
#define OP_DELETE(p, v)                                                                            \
    ((struct metastore_op){.kind = METASTORE_DELETE, .path = slice_str(p), .version = (v)})
#define OP_CHECK(p, v)                                                                             \
    ((struct metastore_op){.kind = METASTORE_CHECK, .path = slice_str(p), .version = (v)})

static inline struct bench_answer bench_op(struct bench_session *s, struct metastore_op op)
{
    return bench_multi(s, &op, 1);
}

/* Afterwards the session has the events of every change that was answered before: they come before the
 * answer of a read that shows them. */
static inline void bench_settle(struct bench_session *s)
{
    struct bench_answer a = bench_exists(s, "/", false);
    CHECK(a.err == 0);
}

/* Runs until the session sees that the node is gone. */
static inline void bench_wait_gone(struct bench_session *s, const char *path)
{
    int64_t end_us = env_now_us(s->bench->env) + BENCH_PATIENCE_MS * 1000;
    while (bench_exists(s, path, false).err != -E_NOT_FOUND) {
        CHECK(env_now_us(s->bench->env) < end_us);
        bench_run(s->bench, 5);
    }
}
