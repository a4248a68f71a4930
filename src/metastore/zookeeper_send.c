/*
 * Calls as requests of the ZooKeeper client, and its answers as results. A single operation goes out
 * as the plain request, because a create then answers the node's stat; several go out as a multi.
 *
 * The client's multi tells the stat of a set only. When one creates nodes and sets none, a marker is
 * added behind it: a node below the root that is created, set and deleted again within the same
 * transaction. Nobody ever sees it, and its stat has the zxid that all of the multi got.
 *
 * Completions run inside the client, which runs inside drive.
 */
#include "metastore/zookeeper_private.h"

#include "base/alloc.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#define MARKER_OPS       3
#define REQUEST_OVERHEAD 256 /* headers, and the marker but for its path */
#define OP_OVERHEAD      96  /* header, lengths, flags and the longest access list */
#define SEQUENCE_DIGITS  10

size_t metastore_zk_request_bytes(const struct metastore_op *ops, int32_t op_count,
                                  size_t chroot_len)
{
    size_t bytes = REQUEST_OVERHEAD + MARKER_OPS * chroot_len;
    for (int32_t i = 0; i < op_count; i++) {
        bytes += OP_OVERHEAD + chroot_len + ops[i].path.len + ops[i].data.len;
    }
    return bytes;
}

static struct metastore_stat stat_of(const struct Stat *stat)
{
    return (struct metastore_stat){.czxid = stat->czxid,
                                   .mzxid = stat->mzxid,
                                   .version = stat->version,
                                   .child_count = stat->numChildren,
                                   .ephemeral_owner = stat->ephemeralOwner};
}

static struct metastore_result failure(int rc)
{
    return (struct metastore_result){.err = metastore_zk_error(rc), .failed_op = -1};
}

static struct metastore_zk_call *call_of(const void *data)
{
    return CONTAINER_OF(data, struct metastore_zk_call, link);
}

/* True when the call has been dealt with: it failed, for good or for now. */
static bool call_failed(struct metastore_zk_call *c, int rc)
{
    if (metastore_zk_is_lost(rc)) {
        metastore_zk_call_lose(c);
    } else if (rc != ZOK) {
        struct metastore_result result = failure(rc);
        result.failed_op = c->op_count == 1 ? 0 : -1;
        metastore_zk_call_complete(c, &result);
    }
    return rc != ZOK;
}

/* ---- reads ---- */

/* tidy: long: the client's signature. */
static void get_done(int rc, const char *value, int value_len, const struct Stat *stat,
                     const void *data)
{
    struct metastore_zk_call *c = call_of(data);
    if (call_failed(c, rc)) {
        return;
    }
    c->seen = (struct metastore_zk_seen){.czxid = stat->czxid, .zxid = stat->mzxid};
    struct metastore_result result = {.failed_op = -1, .stat = stat_of(stat)};
    if (value_len >= 0) {
        result.data = slice_of(value == NULL ? "" : value, (size_t)value_len);
    }
    metastore_zk_call_complete(c, &result);
}

static void exists_done(int rc, const struct Stat *stat, const void *data)
{
    struct metastore_zk_call *c = call_of(data);
    if (call_failed(c, rc)) {
        return;
    }
    c->seen = (struct metastore_zk_seen){.czxid = stat->czxid, .zxid = stat->mzxid};
    struct metastore_result result = {.failed_op = -1, .stat = stat_of(stat)};
    metastore_zk_call_complete(c, &result);
}

static int name_compare(const void *a, const void *b)
{
    return slice_compare(*(const struct slice *)a, *(const struct slice *)b);
}

static void children_done(int rc, const struct String_vector *names, const struct Stat *stat,
                          const void *data)
{
    struct metastore_zk_call *c = call_of(data);
    if (call_failed(c, rc)) {
        return;
    }
    c->seen = (struct metastore_zk_seen){.czxid = stat->czxid, .zxid = stat->pzxid};
    struct slice *children = xalloc(((size_t)names->count + 1) * sizeof *children);
    for (int32_t i = 0; i < names->count; i++) {
        children[i] = slice_str(names->data[i]);
    }
    qsort(children, (size_t)names->count, sizeof *children, name_compare);
    struct metastore_result result = {
        .failed_op = -1, .children = children, .child_count = names->count};
    metastore_zk_call_complete(c, &result);
    free(children);
}

static int read_send(struct metastore_zk_call *c)
{
    zhandle_t *handle = c->session->handle;
    watcher_fn watcher = c->watch == NULL ? NULL : metastore_zk_watch_fire;
    if (c->kind == METASTORE_ZK_GET) {
        return zoo_awget(handle, c->path, watcher, c->watch, get_done, &c->link);
    }
    if (c->kind == METASTORE_ZK_EXISTS) {
        return zoo_awexists(handle, c->path, watcher, c->watch, exists_done, &c->link);
    }
    return zoo_awget_children2(handle, c->path, watcher, c->watch, children_done, &c->link);
}

/* ---- answers of writes ---- */

static struct metastore_stat created_stat(const struct metastore_zk_call *c,
                                          const struct metastore_op *op, int64_t zxid)
{
    return (struct metastore_stat){.czxid = zxid,
                                   .mzxid = zxid,
                                   .ephemeral_owner =
                                       op->is_ephemeral ? c->session->base.session_id : 0};
}

/* Without the chroot. */
static struct slice created_path(const struct metastore_zk_call *c,
                                 const struct metastore_zk_op *at)
{
    if (!at->op.is_sequential) {
        return at->op.path;
    }
    size_t chroot_len = strlen(c->session->factory->chroot);
    CHECK(strlen(at->made) >= chroot_len);
    return slice_str(at->made + chroot_len);
}

/* zxid: of the transaction that did it all. */
static void write_succeeded(struct metastore_zk_call *c, int64_t zxid)
{
    struct metastore_stat *stats = xalloc((size_t)c->op_count * sizeof *stats);
    struct slice *paths = xalloc((size_t)c->op_count * sizeof *paths);
    for (int32_t i = 0; i < c->op_count; i++) {
        const struct metastore_zk_op *at = &c->ops[i];
        if (at->op.kind == METASTORE_CREATE) {
            stats[i] = created_stat(c, &at->op, zxid);
            paths[i] = created_path(c, at);
        } else if (at->op.kind == METASTORE_SET) {
            stats[i] = stat_of(&at->stat);
        }
    }
    struct metastore_result result = {
        .failed_op = -1, .op_stats = stats, .op_paths = paths, .op_count = c->op_count};
    metastore_zk_call_complete(c, &result);
    free(stats);
    free(paths);
}

static void create_done(int rc, const char *path, const struct Stat *stat, const void *data)
{
    struct metastore_zk_call *c = call_of(data);
    if (call_failed(c, rc)) {
        return;
    }
    if (c->ops[0].made != NULL) {
        (void)snprintf(c->ops[0].made, (size_t)c->ops[0].made_size, "%s", path);
    }
    write_succeeded(c, stat->czxid);
}

static void set_done(int rc, const struct Stat *stat, const void *data)
{
    struct metastore_zk_call *c = call_of(data);
    if (call_failed(c, rc)) {
        return;
    }
    c->ops[0].stat = *stat;
    write_succeeded(c, stat->mzxid);
}

static void delete_done(int rc, const void *data)
{
    struct metastore_zk_call *c = call_of(data);
    if (!call_failed(c, rc)) {
        write_succeeded(c, 0);
    }
}

/* The operation that refused. The client marks those before it as good, those behind as not run. */
static void multi_refused(struct metastore_zk_call *c, int rc)
{
    struct metastore_result result = failure(rc);
    for (int32_t i = 0; i < c->op_count; i++) {
        int at = c->results[i].err;
        if (at != ZOK && at != ZRUNTIMEINCONSISTENCY) {
            result = failure(at);
            result.failed_op = i;
            break;
        }
    }
    metastore_zk_call_complete(c, &result);
}

static void multi_done(int rc, const void *data)
{
    struct metastore_zk_call *c = call_of(data);
    if (metastore_zk_is_lost(rc)) {
        metastore_zk_call_lose(c);
        return;
    }
    if (rc != ZOK) {
        multi_refused(c, rc);
        return;
    }
    int64_t zxid = c->marker_stat.mzxid;
    for (int32_t i = 0; i < c->op_count; i++) {
        zxid = c->ops[i].op.kind == METASTORE_SET ? c->ops[i].stat.mzxid : zxid;
    }
    write_succeeded(c, zxid);
}

/* ---- writes ---- */

static int create_mode(const struct metastore_op *op)
{
    return (op->is_ephemeral ? ZOO_EPHEMERAL : 0) | (op->is_sequential ? ZOO_SEQUENCE : 0);
}

/* The client's way to say null is a length of -1. */
static int data_len(struct slice data)
{
    return slice_is_null(data) ? -1 : (int)data.len;
}

static const char *data_ptr(struct slice data)
{
    return (const char *)data.ptr;
}

static int single_send(struct metastore_zk_call *c)
{
    zhandle_t *handle = c->session->handle;
    const struct metastore_zk_op *at = &c->ops[0];
    const struct metastore_op *op = &at->op;
    if (op->kind == METASTORE_CREATE) {
        return zoo_acreate2(handle, at->path, data_ptr(op->data), data_len(op->data),
                            metastore_zk_acl(c->session->factory, op->path), create_mode(op),
                            create_done, &c->link);
    }
    if (op->kind == METASTORE_SET) {
        return zoo_aset(handle, at->path, data_ptr(op->data), data_len(op->data), op->version,
                        set_done, &c->link);
    }
    CHECK(op->kind == METASTORE_DELETE);
    return zoo_adelete(handle, at->path, op->version, delete_done, &c->link);
}

static void request_init(const struct metastore_zk_call *c, struct metastore_zk_op *at,
                         struct zoo_op *ret_request)
{
    const struct metastore_op *op = &at->op;
    switch (op->kind) {
    case METASTORE_CREATE:
        zoo_create_op_init(ret_request, at->path, data_ptr(op->data), data_len(op->data),
                           metastore_zk_acl(c->session->factory, op->path), create_mode(op),
                           at->made, at->made_size);
        break;
    case METASTORE_SET:
        zoo_set_op_init(ret_request, at->path, data_ptr(op->data), data_len(op->data), op->version,
                        &at->stat);
        break;
    case METASTORE_DELETE:
        zoo_delete_op_init(ret_request, at->path, op->version);
        break;
    case METASTORE_CHECK:
        zoo_check_op_init(ret_request, at->path, op->version);
        break;
    }
}

static bool needs_marker(const struct metastore_zk_call *c)
{
    bool creates = false;
    for (int32_t i = 0; i < c->op_count; i++) {
        if (c->ops[i].op.kind == METASTORE_SET) {
            return false;
        }
        creates = creates || c->ops[i].op.kind == METASTORE_CREATE;
    }
    return creates;
}

static void marker_init(struct metastore_zk_call *c, struct zoo_op *ret_requests)
{
    const struct metastore_zk_factory *f = c->session->factory;
    c->marker =
        xasprintf("%s/klamm-marker-%" PRIx64, f->chroot, (uint64_t)c->session->base.session_id);
    zoo_create_op_init(&ret_requests[0], c->marker, NULL, -1, metastore_zk_acl(f, slice_str("/")),
                       0, NULL, 0);
    zoo_set_op_init(&ret_requests[1], c->marker, NULL, -1, 0, &c->marker_stat);
    zoo_delete_op_init(&ret_requests[2], c->marker, 1);
}

static int multi_send(struct metastore_zk_call *c)
{
    int32_t count = c->op_count;
    c->requests = xalloc(((size_t)count + MARKER_OPS) * sizeof *c->requests);
    c->results = xalloc(((size_t)count + MARKER_OPS) * sizeof *c->results);
    for (int32_t i = 0; i < c->op_count; i++) {
        request_init(c, &c->ops[i], &c->requests[i]);
    }
    if (needs_marker(c)) {
        marker_init(c, &c->requests[count]);
        count += MARKER_OPS;
    }
    return zoo_amulti(c->session->handle, count, c->requests, c->results, multi_done, &c->link);
}

static void made_init(struct metastore_zk_op *at)
{
    if (at->op.kind == METASTORE_CREATE && at->op.is_sequential) {
        size_t size = strlen(at->path) + SEQUENCE_DIGITS + 1;
        at->made = xalloc(size);
        at->made_size = (int)size;
    }
}

int metastore_zk_send(struct metastore_zk_call *c)
{
    if (c->kind != METASTORE_ZK_MULTI) {
        return read_send(c);
    }
    for (int32_t i = 0; i < c->op_count; i++) {
        made_init(&c->ops[i]);
    }
    return c->op_count == 1 && c->ops[0].op.kind != METASTORE_CHECK ? single_send(c)
                                                                    : multi_send(c);
}
