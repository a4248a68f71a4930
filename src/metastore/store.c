/*
 * The embedded metastore (store.h): the tree, the store halves of its sessions, and group commit.
 *
 * Everything here runs on the store's env, but metastore_store_factory's open and
 * metastore_session_new, which make objects for a message, and commit_work, which runs on the disk
 * pool and has the file and the batch to itself while it runs.
 *
 * Invariant: a message that could show a change carries the number of the batch that holds the
 * change, and leaves its session's outbox, in order, only when that batch is on disk.
 */
#include "metastore/store.h"

#include "base/alloc.h"
#include "base/check.h"
#include "metastore/local.h"
#include "metastore/message.h"

#include <stdlib.h>

#define STORE_BYTES_MAX_DEFAULT ((size_t)1 << 30)
#define COMMIT_RETRY_MS         1000

enum session_state {
    SESSION_CONNECTED,
    SESSION_DISCONNECTED, /* its expiry timer runs; abandoned ones too */
    SESSION_ENDED,        /* expired; kept until its client closes */
};

struct metastore_session {
    struct list_node link; /* in the store's sessions, by id */
    struct metastore_store *store;
    struct metastore_client *client; /* NULL once GONE was sent */
    struct env *client_env;
    int64_t id;
    int64_t timeout_ms;
    enum session_state state;
    struct list outbox;  /* messages to the client, in order */
    struct list waiting; /* calls that came while disconnected */
    struct env_timer expiry;
    struct env_timer release; /* for messages that are due later */
    int64_t delay_ms;
    bool loses_write;
    bool lost_write_is_applied;
};

struct metastore_store {
    struct metastore_factory factory;
    struct env *env;
    struct metastore_tree *tree;
    struct list sessions;
    int64_t session_id; /* the last one given */
    /* persistence; local is NULL in memory, then the rest stays zero */
    struct metastore_local *local;
    struct metastore_batch open;   /* what changed since the last flush */
    struct metastore_batch closed; /* what the running commit writes */
    uint64_t dirty_batch;          /* number of the newest batch with changes */
    uint64_t committed_batch;      /* all batches up to it are on disk */
    bool is_flush_posted;
    bool is_committing;
    bool is_retry_due; /* is_committing, and the last try failed */
    bool is_stalled;
    int commit_err;
    struct errmsg commit_em;
    struct env_timer retry;
    metastore_store_stall_fn on_stall;
    void *stall_arg;
    metastore_store_change_fn on_change; /* NULL = nobody looks */
    void *change_arg;
    env_fn on_stopped;
    void *stopped_arg;
};

/* ---- group commit ---- */

static void session_pump(struct metastore_session *s);
static void commit_start(struct metastore_store *store);
static void store_check_stopped(struct metastore_store *store);

static void commit_work(void *arg)
{
    struct metastore_store *store = arg;
    store->commit_err = metastore_local_commit(store->local, &store->closed, &store->commit_em);
}

/* The transaction was rolled back, and the batch is still here: the same rows can be written again.
 * Nothing that depends on them has left, so waiting is safe, and so is to end without them. */
static void commit_failed(struct metastore_store *store)
{
    if (!store->is_stalled && store->on_stall != NULL) {
        store->on_stall(store->stall_arg, &store->commit_em);
    }
    store->is_stalled = true;
    store->is_retry_due = true;
    env_timer_start(&store->retry, COMMIT_RETRY_MS);
    store_check_stopped(store);
}

static void commit_work_done(void *arg)
{
    struct metastore_store *store = arg;
    if (store->commit_err != 0) {
        commit_failed(store);
        return;
    }
    if (store->is_stalled && store->on_stall != NULL) {
        store->on_stall(store->stall_arg, NULL);
    }
    store->is_stalled = false;
    store->is_committing = false;
    store->committed_batch++;
    metastore_batch_clear(&store->closed);
    struct list_node *at;
    list_foreach (at, &store->sessions) {
        session_pump(CONTAINER_OF(at, struct metastore_session, link));
    }
    if (store->dirty_batch > store->committed_batch) {
        commit_start(store);
    }
    store_check_stopped(store);
}

static void commit_retry(void *arg)
{
    struct metastore_store *store = arg;
    store->is_retry_due = false;
    env_work(store->env, commit_work, commit_work_done, store);
}

static void commit_start(struct metastore_store *store)
{
    CHECK(!store->is_committing);
    CHECK(store->dirty_batch == store->committed_batch + 1);
    store->closed = store->open;
    store->closed.zxid = metastore_tree_zxid(store->tree);
    store->open = (struct metastore_batch){0};
    store->is_committing = true;
    env_work(store->env, commit_work, commit_work_done, store);
}

static void store_flush(void *arg)
{
    struct metastore_store *store = arg;
    store->is_flush_posted = false;
    if (!store->is_committing && store->dirty_batch > store->committed_batch) {
        commit_start(store);
    }
    store_check_stopped(store);
}

/* Called for every change of the tree: it belongs to the open batch now. The flush is posted, so that
 * it comes behind all calls that are in the mailbox already. */
static void store_touch(struct metastore_store *store)
{
    if (store->local == NULL) {
        return;
    }
    store->dirty_batch = store->committed_batch + 1 + store->is_committing;
    if (!store->is_committing && !store->is_flush_posted) {
        store->is_flush_posted = true;
        env_post(store->env, store_flush, store);
    }
}

/* ---- sessions: what leaves ---- */

static void session_post(struct metastore_session *s, struct metastore_message *m)
{
    env_post(s->client_env, metastore_client_receive, m);
}

/* Sends what may leave. An ended session still has its last answers to give. */
static void session_pump(struct metastore_session *s)
{
    const struct metastore_store *store = s->store;
    while (s->state != SESSION_DISCONNECTED && !list_is_empty(&s->outbox)) {
        struct list_node *first = list_first(&s->outbox);
        struct metastore_message *m = CONTAINER_OF(first, struct metastore_message, link);
        if (m->batch > store->committed_batch) {
            return;
        }
        int64_t wait_ms = m->due_ms - env_now_ms(store->env);
        if (wait_ms > 0) {
            env_timer_start(&s->release, wait_ms);
            return;
        }
        list_remove(&s->outbox, first);
        session_post(s, m);
    }
}

static void session_release(void *arg)
{
    session_pump(arg);
}

static void session_send(struct metastore_session *s, struct metastore_message *m)
{
    m->batch = s->store->dirty_batch;
    m->due_ms = env_now_ms(s->store->env) + s->delay_ms;
    list_push_back(&s->outbox, &m->link);
    session_pump(s);
}

static struct metastore_message *state_message(struct metastore_session *s,
                                               enum metastore_state state)
{
    struct metastore_message *m = metastore_message_new(MESSAGE_STATE, s->client, s);
    m->state = state;
    m->session_id = s->id;
    return m;
}

static struct metastore_session *session_find(const struct metastore_store *store, int64_t id)
{
    struct list_node *at;
    list_foreach (at, &store->sessions) {
        struct metastore_session *s = CONTAINER_OF(at, struct metastore_session, link);
        if (s->id == id) {
            return s;
        }
    }
    return NULL;
}

/* ---- the tree's sink ---- */

static void sink_event(void *arg, struct metastore_watcher watcher, enum metastore_event event,
                       struct slice path)
{
    struct metastore_store *store = arg;
    store_touch(store);
    struct metastore_session *s = session_find(store, watcher.session_id);
    if (s == NULL || s->client == NULL) {
        return; /* abandoned: its watches live until it expires, but nobody listens */
    }
    struct metastore_message *m = metastore_message_new(MESSAGE_EVENT, s->client, s);
    m->watcher = watcher;
    m->event = event;
    m->path = slice_dup(path);
    session_send(s, m);
}

static void sink_put(void *arg, const struct metastore_row *row)
{
    struct metastore_store *store = arg;
    store_touch(store);
    if (store->local != NULL) {
        metastore_batch_put(&store->open, row);
    }
    if (store->on_change != NULL) {
        store->on_change(store->change_arg, row->path, &row->data);
    }
}

static void sink_removed(void *arg, struct slice path)
{
    struct metastore_store *store = arg;
    store_touch(store);
    if (store->local != NULL) {
        metastore_batch_remove(&store->open, path);
    }
    if (store->on_change != NULL) {
        store->on_change(store->change_arg, path, NULL);
    }
}

/* ---- sessions: calls ---- */

static void call_multi(struct metastore_session *s, struct metastore_message *m)
{
    struct metastore_store *store = s->store;
    bool is_lost = s->loses_write;
    s->loses_write = false;
    if (is_lost && !s->lost_write_is_applied) {
        metastore_message_fail(m, -E_UNKNOWN_OUTCOME);
        return;
    }
    size_t count = (size_t)m->op_count + 1; /* never zero */
    m->op_stats = xalloc(count * sizeof *m->op_stats);
    m->op_texts = xalloc(count * sizeof *m->op_texts);
    struct metastore_multi_result answer = {.stats = m->op_stats, .paths = m->op_texts};
    int64_t zxid = metastore_tree_zxid(store->tree);
    metastore_tree_multi(store->tree, s->id, m->ops, m->op_count, &answer);
    if (metastore_tree_zxid(store->tree) != zxid) {
        store_touch(store);
        m->is_applied = true;
    }
    if (answer.err != 0 || is_lost) {
        metastore_message_fail(m, is_lost ? -E_UNKNOWN_OUTCOME : answer.err);
        m->result.failed_op = is_lost ? -1 : answer.failed_op;
        return;
    }
    m->op_paths = xalloc(count * sizeof *m->op_paths);
    for (int32_t i = 0; i < m->op_count; i++) {
        m->op_paths[i] = slice_str(m->op_texts[i]);
    }
    m->result.op_stats = m->op_stats;
    m->result.op_paths = m->op_paths;
    m->result.op_count = m->op_count;
}

static void call_get(struct metastore_session *s, struct metastore_message *m)
{
    struct slice data = SLICE_NULL;
    m->result.err =
        metastore_tree_get(s->store->tree, slice_str(m->path), m->watcher, &data, &m->result.stat);
    if (!slice_is_null(data)) {
        m->data = data.len == 0 ? xalloc(1) : xmemdup(data.ptr, data.len);
        m->result.data = slice_of(m->data, data.len);
    }
}

static void call_carry_out(struct metastore_session *s, struct metastore_message *m)
{
    struct metastore_tree *tree = s->store->tree;
    struct slice path = slice_str(m->path);
    m->watcher.session_id = s->id;
    if (m->kind == MESSAGE_GET) {
        call_get(s, m);
    } else if (m->kind == MESSAGE_EXISTS) {
        m->result.err = metastore_tree_exists(tree, path, m->watcher, &m->result.stat);
    } else if (m->kind == MESSAGE_CHILDREN) {
        m->result.err =
            metastore_tree_children(tree, path, m->watcher, &m->names, &m->result.child_count);
        m->result.children = m->names;
    } else {
        CHECK(m->kind == MESSAGE_MULTI);
        call_multi(s, m);
    }
    session_send(s, m);
}

static void session_call(struct metastore_session *s, struct metastore_message *m)
{
    if (s->state == SESSION_ENDED) {
        metastore_message_fail(m, -E_SESSION_EXPIRED);
        session_send(s, m);
    } else if (s->state == SESSION_DISCONNECTED) {
        list_push_back(&s->waiting, &m->link);
    } else {
        call_carry_out(s, m);
    }
}

/* ---- sessions: life ---- */

static void messages_drop(struct list *list)
{
    struct list_node *at;
    while ((at = list_pop(list)) != NULL) {
        metastore_message_free(CONTAINER_OF(at, struct metastore_message, link));
    }
}

static void session_free(struct metastore_session *s)
{
    messages_drop(&s->outbox);
    messages_drop(&s->waiting);
    env_timer_stop(&s->expiry);
    env_timer_stop(&s->release);
    list_remove(&s->store->sessions, &s->link);
    store_check_stopped(s->store);
    free(s);
}

/* Its ephemerals and watches go. */
static void session_end(struct metastore_session *s)
{
    CHECK(s->state != SESSION_ENDED);
    s->state = SESSION_ENDED;
    env_timer_stop(&s->expiry);
    int64_t zxid = metastore_tree_zxid(s->store->tree);
    metastore_tree_end_session(s->store->tree, s->id);
    if (metastore_tree_zxid(s->store->tree) != zxid) {
        store_touch(s->store);
    }
}

/* Carried out, answer on its way: whoever loses the connection now cannot know. The lost answer waits
 * for no batch: it says nothing. */
static void outbox_lose_writes(struct metastore_session *s)
{
    struct list_node *at;
    list_foreach (at, &s->outbox) {
        struct metastore_message *m = CONTAINER_OF(at, struct metastore_message, link);
        if (m->kind == MESSAGE_MULTI && m->is_applied) {
            metastore_message_fail(m, -E_UNKNOWN_OUTCOME);
            m->batch = 0;
        }
    }
}

/* The session is dead: events go, other answers become E_SESSION_EXPIRED, and nothing waits. */
static void outbox_expire(struct metastore_session *s)
{
    outbox_lose_writes(s);
    struct list_node *at;
    struct list_node *next;
    list_foreach_safe (at, next, &s->outbox) {
        struct metastore_message *m = CONTAINER_OF(at, struct metastore_message, link);
        if (m->kind == MESSAGE_EVENT) {
            list_remove(&s->outbox, at);
            metastore_message_free(m);
            continue;
        }
        if (metastore_message_is_call(m) && m->result.err != -E_UNKNOWN_OUTCOME) {
            metastore_message_fail(m, -E_SESSION_EXPIRED);
        }
        m->batch = 0;
        m->due_ms = 0;
    }
    while ((at = list_pop(&s->waiting)) != NULL) {
        struct metastore_message *m = CONTAINER_OF(at, struct metastore_message, link);
        metastore_message_fail(m, -E_SESSION_EXPIRED);
        list_push_back(&s->outbox, at);
    }
}

static void session_expire(void *arg)
{
    struct metastore_session *s = arg;
    session_end(s);
    if (s->client == NULL) {
        session_free(s);
        return;
    }
    outbox_expire(s);
    list_push_back(&s->outbox, &state_message(s, METASTORE_EXPIRED)->link);
    session_pump(s);
}

/* The client half may go: nothing is sent to it after this. */
static void session_let_client_go(struct metastore_session *s)
{
    messages_drop(&s->outbox);
    messages_drop(&s->waiting);
    session_post(s, metastore_message_new(MESSAGE_GONE, s->client, s));
    s->client = NULL;
}

static void session_close(struct metastore_session *s)
{
    session_let_client_go(s);
    if (s->state != SESSION_ENDED) {
        session_end(s);
    }
    session_free(s);
}

static void session_abandon(struct metastore_session *s)
{
    session_let_client_go(s);
    if (s->state == SESSION_ENDED) {
        session_free(s);
        return;
    }
    if (s->state == SESSION_CONNECTED) {
        s->state = SESSION_DISCONNECTED;
        env_timer_start(&s->expiry, s->timeout_ms);
    }
    store_check_stopped(s->store);
}

static void session_open(struct metastore_session *s)
{
    struct metastore_store *store = s->store;
    CHECK(store->on_stopped == NULL);
    s->id = ++store->session_id;
    env_timer_init(&s->expiry, store->env, session_expire, s);
    env_timer_init(&s->release, store->env, session_release, s);
    list_push_back(&store->sessions, &s->link);
    session_send(s, state_message(s, METASTORE_CONNECTED));
}

struct metastore_session *metastore_session_new(struct metastore_store *store,
                                                struct metastore_client *client,
                                                struct env *client_env, int64_t timeout_ms)
{
    struct metastore_session *s = xalloc(sizeof *s);
    s->store = store;
    s->client = client;
    s->client_env = client_env;
    s->timeout_ms = timeout_ms;
    list_init(&s->outbox);
    list_init(&s->waiting);
    return s;
}

void metastore_session_receive(void *arg)
{
    struct metastore_message *m = arg;
    struct metastore_session *s = m->session;
    if (metastore_message_is_call(m)) {
        session_call(s, m);
        return;
    }
    enum metastore_message_kind kind = m->kind;
    metastore_message_free(m);
    if (kind == MESSAGE_OPEN) {
        session_open(s);
    } else if (kind == MESSAGE_CLOSE) {
        session_close(s);
    } else {
        CHECK(kind == MESSAGE_ABANDON);
        session_abandon(s);
    }
}

/* ---- the store's life ---- */

static struct metastore *factory_open(struct metastore_factory *f, struct env *env,
                                      int64_t session_timeout_ms, metastore_state_fn state,
                                      void *arg)
{
    struct metastore_store *store = CONTAINER_OF(f, struct metastore_store, factory);
    struct metastore_client_config config = {.store = store,
                                             .store_env = store->env,
                                             .env = env,
                                             .timeout_ms = session_timeout_ms,
                                             .state = state,
                                             .arg = arg};
    return metastore_client_open(&config);
}

int metastore_store_new(const struct metastore_store_config *config,
                        struct metastore_store **ret_store, struct errmsg *em)
{
    struct metastore_store *store = xalloc(sizeof *store);
    store->factory.open = factory_open;
    store->env = config->env;
    store->on_stall = config->on_stall;
    store->stall_arg = config->arg;
    list_init(&store->sessions);
    env_timer_init(&store->retry, store->env, commit_retry, store);
    int err = 0;
    if (config->directory != NULL) {
        err = metastore_local_open(config->directory, &store->local, em);
    }
    if (err == 0) {
        struct metastore_tree_sink sink = {
            .event = sink_event, .put = sink_put, .removed = sink_removed, .arg = store};
        size_t bytes_max = config->bytes_max == 0 ? STORE_BYTES_MAX_DEFAULT : config->bytes_max;
        int64_t zxid = store->local == NULL ? 0 : metastore_local_zxid(store->local);
        store->tree = metastore_tree_new(bytes_max, zxid, &sink);
    }
    if (err == 0 && store->local != NULL) {
        err = metastore_local_load(store->local, store->tree, em);
    }
    if (err != 0) {
        metastore_store_free(store);
        return err;
    }
    *ret_store = store;
    return 0;
}

/* Posts on_stopped once: no client is there, and nothing is due but what could not be written. Abandoned
 * sessions need not wait. */
static void store_check_stopped(struct metastore_store *store)
{
    bool is_busy = (store->is_committing && !store->is_retry_due) || store->is_flush_posted;
    if (store->on_stopped == NULL || is_busy) {
        return;
    }
    struct list_node *at;
    list_foreach (at, &store->sessions) {
        if (CONTAINER_OF(at, struct metastore_session, link)->client != NULL) {
            return;
        }
    }
    list_foreach (at, &store->sessions) {
        env_timer_stop(&CONTAINER_OF(at, struct metastore_session, link)->expiry);
    }
    env_timer_stop(&store->retry);
    env_post(store->env, store->on_stopped, store->stopped_arg);
    store->on_stopped = NULL;
}

void metastore_store_stop(struct metastore_store *store, void (*done)(void *arg), void *arg)
{
    CHECK(store->on_stopped == NULL);
    store->on_stopped = done;
    store->stopped_arg = arg;
    store_check_stopped(store);
}

void metastore_store_free(struct metastore_store *store)
{
    if (store == NULL) {
        return;
    }
    CHECK(store->is_committing == store->is_retry_due && !store->is_flush_posted);
    struct list_node *at;
    while ((at = list_first(&store->sessions)) != NULL) {
        struct metastore_session *s = CONTAINER_OF(at, struct metastore_session, link);
        CHECK(s->client == NULL);
        session_free(s);
    }
    metastore_tree_free(store->tree);
    metastore_batch_clear(&store->open);
    metastore_batch_clear(&store->closed);
    metastore_local_close(store->local);
    free(store);
}

struct metastore_factory *metastore_store_factory(struct metastore_store *store)
{
    return &store->factory;
}

/* ---- faults ---- */

static struct metastore_session *session_find_live(const struct metastore_store *store, int64_t id)
{
    struct metastore_session *s = session_find(store, id);
    return s == NULL || s->state == SESSION_ENDED ? NULL : s;
}

void metastore_store_expire(struct metastore_store *store, int64_t session_id)
{
    struct metastore_session *s = session_find_live(store, session_id);
    if (s != NULL) {
        session_expire(s);
    }
}

void metastore_store_disconnect(struct metastore_store *store, int64_t session_id)
{
    struct metastore_session *s = session_find_live(store, session_id);
    if (s == NULL || s->state != SESSION_CONNECTED) {
        return;
    }
    s->state = SESSION_DISCONNECTED;
    env_timer_stop(&s->release);
    env_timer_start(&s->expiry, s->timeout_ms);
    outbox_lose_writes(s);
    session_post(s, state_message(s, METASTORE_DISCONNECTED));
}

void metastore_store_reconnect(struct metastore_store *store, int64_t session_id)
{
    struct metastore_session *s = session_find_live(store, session_id);
    if (s == NULL || s->state != SESSION_DISCONNECTED || s->client == NULL) {
        return;
    }
    s->state = SESSION_CONNECTED;
    env_timer_stop(&s->expiry);
    session_post(s, state_message(s, METASTORE_CONNECTED));
    session_pump(s);
    struct list_node *at;
    while ((at = list_pop(&s->waiting)) != NULL) {
        call_carry_out(s, CONTAINER_OF(at, struct metastore_message, link));
    }
}

void metastore_store_lose_write(struct metastore_store *store, int64_t session_id, bool is_applied)
{
    struct metastore_session *s = session_find_live(store, session_id);
    if (s != NULL) {
        s->loses_write = true;
        s->lost_write_is_applied = is_applied;
    }
}

void metastore_store_guard(struct metastore_store *store, struct slice path, bool is_guarded)
{
    metastore_tree_guard(store->tree, path, is_guarded);
}

void metastore_store_hide(struct metastore_store *store, struct slice path, bool is_hidden)
{
    metastore_tree_hide(store->tree, path, is_hidden);
}

void metastore_store_delay(struct metastore_store *store, int64_t session_id, int64_t delay_ms)
{
    struct metastore_session *s = session_find_live(store, session_id);
    if (s != NULL) {
        s->delay_ms = delay_ms;
    }
}

void metastore_store_on_change(struct metastore_store *store, metastore_store_change_fn fn,
                               void *arg)
{
    store->on_change = fn;
    store->change_arg = arg;
}

int32_t metastore_store_sessions(const struct metastore_store *store, int64_t *ret_ids, int32_t max)
{
    int32_t count = 0;
    struct list_node *at;
    list_foreach (at, &store->sessions) {
        const struct metastore_session *s = CONTAINER_OF(at, struct metastore_session, link);
        if (s->state != SESSION_ENDED) {
            if (count < max) {
                ret_ids[count] = s->id;
            }
            count++;
        }
    }
    return count;
}
