/*
 * See tree.h. Nodes and watched paths are hashed by path; a node lists its children, a session its
 * ephemerals and watches.
 *
 * A multi runs its operations on the tree one by one and keeps an undo record for each. A refused
 * operation takes the records back in reverse; success fires watches and tells rows in order. Between
 * calls no undo record exists, so the tree only ever shows whole transactions.
 */
#include "metastore/tree.h"

#include "base/alloc.h"
#include "base/check.h"
#include "base/list.h"
#include "base/map.h"

#include <stdio.h>
#include <stdlib.h>

#define NODE_OVERHEAD_BYTES 256 /* what a node counts besides its path and data */
#define SEQUENCE_DIGITS     10

struct session {
    int64_t id;
    struct list ephemerals; /* struct node, oldest first */
    struct list watches;    /* struct watch */
    UT_hash_handle hh;
};

struct node {
    char *path; /* with NUL */
    size_t path_len;
    size_t name_pos; /* of the last component in path */
    uint8_t *data;   /* NULL = null data */
    size_t data_len;
    struct metastore_stat stat; /* child_count is kept in children */
    int32_t next_sequence;
    bool is_guarded;     /* metastore_tree_guard */
    bool is_hidden;      /* metastore_tree_hide */
    struct node *parent; /* NULL for the root */
    struct list children;
    struct list_node sibling;
    struct list_node owned; /* in its session's ephemerals */
    UT_hash_handle hh;
};

enum watch_kind {
    WATCH_NODE,     /* set by get and exists */
    WATCH_CHILDREN, /* set by children */
    WATCH_KIND_COUNT,
};

/* The watches on one path; exists while there are any. */
struct spot {
    char *path;
    struct list watches[WATCH_KIND_COUNT];
    UT_hash_handle hh;
};

struct watch {
    struct session *session;
    struct spot *spot;
    enum watch_kind kind;
    struct metastore_watcher watcher;
    struct list_node in_spot;
    struct list_node in_session;
};

struct metastore_tree {
    struct node *nodes; /* by path */
    struct node *root;
    struct spot *spots; /* by path */
    struct session *sessions;
    int64_t zxid;
    size_t bytes;
    size_t bytes_max;
    struct metastore_tree_sink sink;
};

/* How to take one operation back. */
struct undo {
    enum metastore_op_kind kind;
    struct node *node; /* create: the new one; set, delete: the old one */
    /* set */
    uint8_t *data;
    size_t data_len;
    struct metastore_stat stat;
    /* create with a sequence */
    bool has_sequence;
};

/* ---- paths ---- */

/* Where the last component starts. */
static size_t path_name_pos(struct slice path)
{
    size_t pos = path.len;
    while (path.ptr[pos - 1] != '/') {
        pos--;
    }
    return pos;
}

static struct slice path_parent(struct slice path)
{
    size_t pos = path_name_pos(path);
    return slice_of(path.ptr, pos == 1 ? 1 : pos - 1);
}

/* ---- nodes ---- */

static struct node *node_find(const struct metastore_tree *t, struct slice path)
{
    struct node *n = NULL;
    HASH_FIND(hh, t->nodes, path.ptr, path.len, n);
    return n;
}

static struct slice node_path(const struct node *n)
{
    return slice_of(n->path, n->path_len);
}

static struct slice node_data(const struct node *n)
{
    return slice_of(n->data, n->data_len);
}

static struct metastore_stat node_stat(const struct node *n)
{
    struct metastore_stat stat = n->stat;
    stat.child_count = (int32_t)n->children.count;
    return stat;
}

static size_t node_bytes(size_t path_len, size_t data_len)
{
    return NODE_OVERHEAD_BYTES + 2 * path_len + data_len;
}

/* Null stays null; empty data keeps an address. */
static uint8_t *data_copy(struct slice data)
{
    if (slice_is_null(data)) {
        return NULL;
    }
    return data.len == 0 ? xalloc(1) : xmemdup(data.ptr, data.len);
}

/* Not linked into the tree yet. */
static struct node *node_new(struct slice path, struct slice data)
{
    struct node *n = xalloc(sizeof *n);
    n->path = slice_dup(path);
    n->path_len = path.len;
    n->name_pos = path_name_pos(path);
    n->data = data_copy(data);
    n->data_len = data.len;
    list_init(&n->children);
    return n;
}

static void node_free(struct node *n)
{
    free(n->path);
    free(n->data);
    free(n);
}

static struct session *session_find(const struct metastore_tree *t, int64_t id)
{
    struct session *s = NULL;
    HASH_FIND(hh, t->sessions, &id, sizeof id, s);
    return s;
}

static struct session *session_need(struct metastore_tree *t, int64_t id)
{
    struct session *s = session_find(t, id);
    if (s == NULL) {
        s = xalloc(sizeof *s);
        s->id = id;
        list_init(&s->ephemerals);
        list_init(&s->watches);
        HASH_ADD(hh, t->sessions, id, sizeof s->id, s);
    }
    return s;
}

static void node_link(struct metastore_tree *t, struct node *n, struct node *parent)
{
    n->parent = parent;
    list_push_back(&parent->children, &n->sibling);
    HASH_ADD_KEYPTR(hh, t->nodes, n->path, n->path_len, n);
    t->bytes += node_bytes(n->path_len, n->data_len);
    if (n->stat.ephemeral_owner != 0) {
        struct session *s = session_need(t, n->stat.ephemeral_owner);
        list_push_back(&s->ephemerals, &n->owned);
    }
}

static void node_unlink(struct metastore_tree *t, struct node *n)
{
    CHECK(list_is_empty(&n->children));
    list_remove(&n->parent->children, &n->sibling);
    HASH_DEL(t->nodes, n);
    t->bytes -= node_bytes(n->path_len, n->data_len);
    if (n->stat.ephemeral_owner != 0) {
        struct session *s = session_find(t, n->stat.ephemeral_owner);
        CHECK(s != NULL);
        list_remove(&s->ephemerals, &n->owned);
    }
}

static void node_set_data(struct metastore_tree *t, struct node *n, uint8_t *data, size_t data_len)
{
    t->bytes = t->bytes - n->data_len + data_len;
    n->data = data;
    n->data_len = data_len;
}

/* ---- watches ---- */

static struct spot *spot_find(const struct metastore_tree *t, struct slice path)
{
    struct spot *spot = NULL;
    HASH_FIND(hh, t->spots, path.ptr, path.len, spot);
    return spot;
}

static void watch_add(struct metastore_tree *t, struct slice path, enum watch_kind kind,
                      struct metastore_watcher watcher)
{
    if (watcher.fn == NULL) {
        return;
    }
    struct spot *spot = spot_find(t, path);
    if (spot == NULL) {
        spot = xalloc(sizeof *spot);
        spot->path = slice_dup(path);
        for (int i = 0; i < WATCH_KIND_COUNT; i++) {
            list_init(&spot->watches[i]);
        }
        HASH_ADD_KEYPTR(hh, t->spots, spot->path, path.len, spot);
    }
    struct list_node *at;
    list_foreach (at, &spot->watches[kind]) {
        const struct watch *other = CONTAINER_OF(at, struct watch, in_spot);
        if (other->watcher.session_id == watcher.session_id && other->watcher.fn == watcher.fn &&
            other->watcher.arg == watcher.arg) {
            return;
        }
    }
    struct watch *w = xalloc(sizeof *w);
    *w = (struct watch){.session = session_need(t, watcher.session_id),
                        .spot = spot,
                        .kind = kind,
                        .watcher = watcher};
    list_push_back(&spot->watches[kind], &w->in_spot);
    list_push_back(&w->session->watches, &w->in_session);
}

/* The spot goes with its last watch. */
static void watch_remove(struct metastore_tree *t, struct watch *w)
{
    struct spot *spot = w->spot;
    list_remove(&spot->watches[w->kind], &w->in_spot);
    list_remove(&w->session->watches, &w->in_session);
    free(w);
    for (int i = 0; i < WATCH_KIND_COUNT; i++) {
        if (!list_is_empty(&spot->watches[i])) {
            return;
        }
    }
    HASH_DEL(t->spots, spot);
    free(spot->path);
    free(spot);
}

/* The sink only queues: it does not come back into the tree. */
static void watch_fire(struct metastore_tree *t, struct slice path, enum watch_kind kind,
                       enum metastore_event event)
{
    struct spot *spot = spot_find(t, path);
    size_t left = spot == NULL ? 0 : spot->watches[kind].count;
    for (; left > 0; left--) {
        struct watch *w = CONTAINER_OF(list_first(&spot->watches[kind]), struct watch, in_spot);
        t->sink.event(t->sink.arg, w->watcher, event, path);
        watch_remove(t, w);
    }
}

/* ---- life ---- */

struct metastore_tree *metastore_tree_new(size_t bytes_max, int64_t zxid,
                                          const struct metastore_tree_sink *sink)
{
    struct metastore_tree *t = xalloc(sizeof *t);
    t->zxid = zxid;
    t->bytes_max = bytes_max;
    t->sink = *sink;
    t->root = node_new(slice_str("/"), SLICE_NULL);
    HASH_ADD_KEYPTR(hh, t->nodes, t->root->path, t->root->path_len, t->root);
    return t;
}

void metastore_tree_free(struct metastore_tree *t)
{
    if (t == NULL) {
        return;
    }
    struct session *s;
    struct session *next_session;
    HASH_ITER(hh, t->sessions, s, next_session)
    {
        struct list_node *at;
        while ((at = list_first(&s->watches)) != NULL) {
            watch_remove(t, CONTAINER_OF(at, struct watch, in_session));
        }
        HASH_DEL(t->sessions, s);
        free(s);
    }
    struct node *n;
    struct node *next_node;
    HASH_ITER(hh, t->nodes, n, next_node)
    {
        HASH_DEL(t->nodes, n);
        node_free(n);
    }
    free(t);
}

int64_t metastore_tree_zxid(const struct metastore_tree *t)
{
    return t->zxid;
}

int metastore_tree_load(struct metastore_tree *t, const struct metastore_row *row)
{
    bool fits = metastore_path_is_valid(row->path) && row->data.len <= METASTORE_DATA_MAX &&
                row->czxid >= 0 && row->mzxid >= row->czxid && row->mzxid <= t->zxid &&
                row->version >= 0 && row->next_sequence >= 0;
    if (!fits) {
        return -E_CORRUPT;
    }
    struct node *n = t->root;
    if (row->path.len > 1) {
        struct node *parent = node_find(t, path_parent(row->path));
        if (parent == NULL || node_find(t, row->path) != NULL) {
            return -E_CORRUPT;
        }
        n = node_new(row->path, row->data);
        node_link(t, n, parent);
    } else {
        free(n->data);
        node_set_data(t, n, data_copy(row->data), row->data.len);
    }
    n->stat =
        (struct metastore_stat){.czxid = row->czxid, .mzxid = row->mzxid, .version = row->version};
    n->next_sequence = row->next_sequence;
    return 0;
}

/* ---- reads ---- */

int metastore_tree_get(struct metastore_tree *t, struct slice path,
                       struct metastore_watcher watcher, struct slice *ret_data,
                       struct metastore_stat *ret_stat)
{
    if (!metastore_path_is_valid(path)) {
        return -E_INVALID;
    }
    const struct node *n = node_find(t, path);
    if (n == NULL) {
        return -E_NOT_FOUND;
    }
    if (n->is_hidden) {
        return -E_REFUSED;
    }
    watch_add(t, path, WATCH_NODE, watcher);
    *ret_data = node_data(n);
    *ret_stat = node_stat(n);
    return 0;
}

int metastore_tree_exists(struct metastore_tree *t, struct slice path,
                          struct metastore_watcher watcher, struct metastore_stat *ret_stat)
{
    if (!metastore_path_is_valid(path)) {
        return -E_INVALID;
    }
    watch_add(t, path, WATCH_NODE, watcher);
    const struct node *n = node_find(t, path);
    if (n == NULL) {
        return -E_NOT_FOUND;
    }
    *ret_stat = node_stat(n);
    return 0;
}

static int name_compare(const void *a, const void *b)
{
    return slice_compare(*(const struct slice *)a, *(const struct slice *)b);
}

int metastore_tree_children(struct metastore_tree *t, struct slice path,
                            struct metastore_watcher watcher, struct slice **ret_names,
                            int32_t *ret_count)
{
    if (!metastore_path_is_valid(path)) {
        return -E_INVALID;
    }
    const struct node *n = node_find(t, path);
    if (n == NULL) {
        return -E_NOT_FOUND;
    }
    if (n->is_hidden) {
        return -E_REFUSED;
    }
    watch_add(t, path, WATCH_CHILDREN, watcher);
    size_t names_bytes = 0;
    struct list_node *at;
    list_foreach (at, &n->children) {
        const struct node *child = CONTAINER_OF(at, struct node, sibling);
        names_bytes += child->path_len - child->name_pos;
    }
    /* The array and the names behind it, so that the answer needs one free and borrows nothing. */
    size_t count = n->children.count;
    struct slice *names = count == 0 ? NULL : xalloc(count * sizeof *names + names_bytes);
    uint8_t *text = (uint8_t *)(names + count);
    size_t i = 0;
    list_foreach (at, &n->children) {
        const struct node *child = CONTAINER_OF(at, struct node, sibling);
        size_t len = child->path_len - child->name_pos;
        memcpy(text, child->path + child->name_pos, len);
        names[i++] = slice_of(text, len);
        text += len;
    }
    if (count > 0) {
        qsort(names, count, sizeof *names, name_compare);
    }
    *ret_names = names;
    *ret_count = (int32_t)count;
    return 0;
}

/* ---- multi ---- */

static int create_apply(struct metastore_tree *t, int64_t session_id, const struct metastore_op *op,
                        struct undo *undo)
{
    char text[METASTORE_PATH_MAX + SEQUENCE_DIGITS + 2];
    struct slice path = op->path;
    if (op->is_sequential && op->path.len > 0 && op->path.len <= METASTORE_PATH_MAX) {
        /* The digits may be the whole name, so the path is checked with them. */
        memcpy(text, op->path.ptr, op->path.len);
        memset(text + op->path.len, '0', SEQUENCE_DIGITS);
        path = slice_of(text, op->path.len + SEQUENCE_DIGITS);
    }
    if (!metastore_path_is_valid(path)) {
        return -E_INVALID;
    }
    if (path.len == 1) {
        return -E_EXISTS;
    }
    struct node *parent = node_find(t, path_parent(path));
    if (parent == NULL) {
        return -E_NOT_FOUND;
    }
    if (parent->is_guarded) {
        return -E_REFUSED;
    }
    if (parent->stat.ephemeral_owner != 0) {
        return -E_INVALID;
    }
    if (op->is_sequential) {
        if (parent->next_sequence == INT32_MAX) {
            return -E_TOO_LARGE;
        }
        (void)snprintf(text + op->path.len, SEQUENCE_DIGITS + 1, "%010d", parent->next_sequence);
    }
    if (node_find(t, path) != NULL) {
        return -E_EXISTS;
    }
    if (t->bytes + node_bytes(path.len, op->data.len) > t->bytes_max) {
        return -E_TOO_LARGE;
    }
    struct node *n = node_new(path, op->data);
    n->stat = (struct metastore_stat){.czxid = t->zxid + 1,
                                      .mzxid = t->zxid + 1,
                                      .ephemeral_owner = op->is_ephemeral ? session_id : 0};
    node_link(t, n, parent);
    parent->next_sequence += op->is_sequential;
    *undo = (struct undo){.kind = METASTORE_CREATE, .node = n, .has_sequence = op->is_sequential};
    return 0;
}

/* The node of a set, delete or check, or an error. */
static int op_node(const struct metastore_tree *t, const struct metastore_op *op,
                   struct node **ret_node)
{
    if (!metastore_path_is_valid(op->path)) {
        return -E_INVALID;
    }
    struct node *n = node_find(t, op->path);
    if (n == NULL) {
        return -E_NOT_FOUND;
    }
    if (op->version != -1 && op->version != n->stat.version) {
        return -E_BAD_VERSION;
    }
    *ret_node = n;
    return 0;
}

static int set_apply(struct metastore_tree *t, const struct metastore_op *op, struct undo *undo)
{
    struct node *n;
    int err = op_node(t, op, &n);
    if (err != 0) {
        return err;
    }
    if (n->is_guarded) {
        return -E_REFUSED;
    }
    if (n->stat.version == INT32_MAX || t->bytes - n->data_len + op->data.len > t->bytes_max) {
        return -E_TOO_LARGE;
    }
    *undo = (struct undo){.kind = METASTORE_SET,
                          .node = n,
                          .data = n->data,
                          .data_len = n->data_len,
                          .stat = n->stat};
    node_set_data(t, n, data_copy(op->data), op->data.len);
    n->stat.version++;
    n->stat.mzxid = t->zxid + 1;
    return 0;
}

static int delete_apply(struct metastore_tree *t, const struct metastore_op *op, struct undo *undo)
{
    struct node *n;
    int err = op_node(t, op, &n);
    if (err != 0) {
        return err;
    }
    if (n == t->root) {
        return -E_INVALID;
    }
    if (n->parent->is_guarded) {
        return -E_REFUSED;
    }
    if (!list_is_empty(&n->children)) {
        return -E_NOT_EMPTY;
    }
    node_unlink(t, n);
    *undo = (struct undo){.kind = METASTORE_DELETE, .node = n};
    return 0;
}

static int op_apply(struct metastore_tree *t, int64_t session_id, const struct metastore_op *op,
                    struct undo *undo)
{
    if (op->data.len > METASTORE_DATA_MAX) {
        return -E_TOO_LARGE;
    }
    struct node *n;
    *undo = (struct undo){.kind = METASTORE_CHECK};
    switch (op->kind) {
    case METASTORE_CREATE:
        return create_apply(t, session_id, op, undo);
    case METASTORE_SET:
        return set_apply(t, op, undo);
    case METASTORE_DELETE:
        return delete_apply(t, op, undo);
    case METASTORE_CHECK:
        return op_node(t, op, &n);
    }
    CHECKF(false, "op kind %d", (int)op->kind);
    return -E_INVALID;
}

static void op_undo(struct metastore_tree *t, struct undo *undo)
{
    struct node *n = undo->node;
    switch (undo->kind) {
    case METASTORE_CREATE:
        n->parent->next_sequence -= undo->has_sequence;
        node_unlink(t, n);
        node_free(n);
        break;
    case METASTORE_SET:
        free(n->data);
        node_set_data(t, n, undo->data, undo->data_len);
        n->stat = undo->stat;
        break;
    case METASTORE_DELETE:
        node_link(t, n, n->parent);
        break;
    case METASTORE_CHECK:
        break;
    }
}

static void tell_put(struct metastore_tree *t, const struct node *n)
{
    if (n->stat.ephemeral_owner != 0) {
        return;
    }
    struct metastore_row row = {.path = node_path(n),
                                .data = node_data(n),
                                .czxid = n->stat.czxid,
                                .mzxid = n->stat.mzxid,
                                .version = n->stat.version,
                                .next_sequence = n->next_sequence};
    t->sink.put(t->sink.arg, &row);
}

static void tell_removed(struct metastore_tree *t, const struct node *n)
{
    watch_fire(t, node_path(n), WATCH_NODE, METASTORE_DELETED);
    watch_fire(t, node_path(n), WATCH_CHILDREN, METASTORE_DELETED);
    watch_fire(t, node_path(n->parent), WATCH_CHILDREN, METASTORE_CHILDREN_CHANGED);
    if (n->stat.ephemeral_owner == 0) {
        t->sink.removed(t->sink.arg, node_path(n));
    }
}

/* The operation holds for good: fires watches, tells rows, frees what undo kept. A node that a later
 * operation of the same multi deletes is still there: its own record comes later. */
static void op_finish(struct metastore_tree *t, struct undo *undo)
{
    struct node *n = undo->node;
    switch (undo->kind) {
    case METASTORE_CREATE:
        watch_fire(t, node_path(n), WATCH_NODE, METASTORE_CREATED);
        watch_fire(t, node_path(n->parent), WATCH_CHILDREN, METASTORE_CHILDREN_CHANGED);
        tell_put(t, n);
        if (undo->has_sequence) {
            tell_put(t, n->parent);
        }
        break;
    case METASTORE_SET:
        watch_fire(t, node_path(n), WATCH_NODE, METASTORE_CHANGED);
        tell_put(t, n);
        free(undo->data);
        break;
    case METASTORE_DELETE:
        tell_removed(t, n);
        node_free(n);
        break;
    case METASTORE_CHECK:
        break;
    }
}

/* What the op's answer says, taken right after it was applied: a later op may change the node again. */
static void op_answer(const struct undo *undo, int32_t index, struct metastore_multi_result *result)
{
    result->stats[index] = (struct metastore_stat){0};
    result->paths[index] = NULL;
    if (undo->kind == METASTORE_CREATE || undo->kind == METASTORE_SET) {
        result->stats[index] = node_stat(undo->node);
    }
    if (undo->kind == METASTORE_CREATE) {
        result->paths[index] = xstrdup(undo->node->path);
    }
}

void metastore_tree_multi(struct metastore_tree *t, int64_t session_id,
                          const struct metastore_op *ops, int32_t op_count,
                          struct metastore_multi_result *result)
{
    result->err = 0;
    result->failed_op = -1;
    if (op_count < 0 || op_count > METASTORE_OPS_MAX) {
        result->err = -E_TOO_LARGE;
        return;
    }
    struct undo *undo = xalloc(((size_t)op_count + 1) * sizeof *undo);
    int32_t applied = 0;
    while (applied < op_count && result->err == 0) {
        result->err = op_apply(t, session_id, &ops[applied], &undo[applied]);
        if (result->err == 0) {
            op_answer(&undo[applied], applied, result);
            applied++;
        }
    }
    if (result->err != 0) {
        result->failed_op = applied;
        while (applied > 0) {
            applied--;
            free(result->paths[applied]);
            result->paths[applied] = NULL;
            op_undo(t, &undo[applied]);
        }
    } else {
        bool has_change = false;
        for (int32_t i = 0; i < op_count; i++) {
            has_change = has_change || undo[i].kind != METASTORE_CHECK;
        }
        t->zxid += has_change;
        for (int32_t i = 0; i < op_count; i++) {
            op_finish(t, &undo[i]);
        }
    }
    free(undo);
}

void metastore_tree_end_session(struct metastore_tree *t, int64_t session_id)
{
    struct session *s = session_find(t, session_id);
    if (s == NULL) {
        return;
    }
    struct list_node *at;
    while ((at = list_first(&s->watches)) != NULL) {
        watch_remove(t, CONTAINER_OF(at, struct watch, in_session));
    }
    t->zxid += !list_is_empty(&s->ephemerals);
    while ((at = list_first(&s->ephemerals)) != NULL) {
        struct node *n = CONTAINER_OF(at, struct node, owned);
        node_unlink(t, n);
        tell_removed(t, n);
        node_free(n);
    }
    HASH_DEL(t->sessions, s);
    free(s);
}

void metastore_tree_guard(struct metastore_tree *t, struct slice path, bool is_guarded)
{
    struct node *n = node_find(t, path);
    if (n != NULL) {
        n->is_guarded = is_guarded;
    }
}

void metastore_tree_hide(struct metastore_tree *t, struct slice path, bool is_hidden)
{
    struct node *n = node_find(t, path);
    if (n != NULL) {
        n->is_hidden = is_hidden;
    }
}
