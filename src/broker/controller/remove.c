/*
 * Removing a topic: /brokers/topics/T and all below, its settings, its entry in /admin/delete_topics
 * (docs/spec/zookeeper-mode.md section 15, row 15). Lists what is there, also what others put there,
 * then deletes it from below in guarded transactions; what changed meanwhile makes it start over. The
 * topic's own nodes go last, so that a controller that dies in between finds the topic still queued.
 * Runs on the driver's env.
 */
#include "broker/controller/private.h"

#include <stdlib.h>

#define TRIES_MAX  20
#define NODES_MAX  1000000
#define DEPTH_MAX  16 /* below the topic's own nodes */
#define LEAF_DEPTH 3 /* .../partitions/P/state: who looks below it only after a refusal is faster */

struct path_list {
    char **paths;
    int32_t count;
    int32_t cap;
};

struct controller_removal {
    struct list_node link; /* controller.removals */
    uint64_t write_id;
    char *topic;
    int32_t tries;
    int32_t pending; /* answers due */
    bool is_fenced;
    bool is_failed;     /* of this try */
    bool is_final;      /* another try would fail, too */
    char *failed_path;  /* of the first failure of this try; NULL = none yet */
    const char *reason; /* ... and why; a constant */
    int32_t node_count;
    struct path_list levels[DEPTH_MAX + 1]; /* by depth; first the topic's own nodes */
    struct path_list order;                 /* all of them, as they are deleted */
};

static void path_add(struct path_list *l, char *path)
{
    if (l->count == l->cap) {
        l->cap = l->cap == 0 ? 16 : l->cap * 2;
        l->paths = xrealloc(l->paths, (size_t)l->cap * sizeof *l->paths);
    }
    l->paths[l->count++] = path;
}

static void paths_free(struct path_list *l)
{
    for (int32_t i = 0; i < l->count; i++) {
        free(l->paths[i]);
    }
    free(l->paths);
    *l = (struct path_list){0};
}

static void try_clear(struct controller_removal *r)
{
    for (int32_t depth = 0; depth <= DEPTH_MAX; depth++) {
        paths_free(&r->levels[depth]);
    }
    paths_free(&r->order);
    free(r->failed_path);
    r->failed_path = NULL;
    r->is_failed = r->is_final = false;
    r->node_count = 0;
}

static void removal_free(struct controller *c, struct controller_removal *r)
{
    list_remove(&c->removals, &r->link);
    try_clear(r);
    free(r->topic);
    free(r);
}

static void fail(struct controller_removal *r, const char *path, const char *reason)
{
    r->is_failed = true;
    if (r->failed_path == NULL) {
        r->failed_path = xstrdup(path);
        r->reason = reason;
    }
}

static void fail_for_good(struct controller_removal *r, const char *path, const char *reason)
{
    fail(r, path, reason);
    r->is_final = true;
}

static void removal_try(struct controller *c, struct controller_removal *r);

/* ---- deleting ---- */

static void removal_over(struct controller *c, struct controller_removal *r)
{
    uint64_t id = r->write_id;
    if (r->is_fenced) {
        removal_free(c, r);
        controller_write_fenced(c, id);
    } else if (r->is_failed && r->tries < TRIES_MAX && !r->is_final) {
        removal_try(c, r);
    } else if (r->is_failed) {
        char *path = r->failed_path;
        char *message =
            xasprintf("the nodes of a topic cannot be removed: %s: %s", path, r->reason);
        r->failed_path = NULL;
        removal_free(c, r);
        controller_write_failed(c, id, path, message);
        free(message);
        free(path);
    } else {
        controller_topic_removed(c, slice_str(r->topic));
        removal_free(c, r);
        controller_write_done(c, id, CONTROL_WRITTEN, -1);
    }
}

/* The call's index: of the batch's first node in r->order. */
static void deleted(void *arg, const struct metastore_result *result)
{
    struct controller *c = NULL;
    void *item = NULL;
    int32_t first = ((struct controller_pending *)arg)->index;
    if (!controller_pending_end(arg, &c, &item)) {
        return;
    }
    struct controller_removal *r = item;
    if (result->err != 0) {
        r->is_fenced |= result->err != -E_UNKNOWN_OUTCOME && result->failed_op == 0;
        int32_t index = result->failed_op > 0 ? first + result->failed_op - 1 : first;
        if (result->err == -E_REFUSED) {
            fail_for_good(r, r->order.paths[index], error_name(result->err));
        } else {
            fail(r, r->order.paths[index], error_name(result->err));
        }
    }
    r->pending--;
    if (r->pending == 0) {
        removal_over(c, r);
    }
}

/* count: of ops, the check in front included. Sends the last count - 1 of what is in r->order. */
static void batch_send(struct controller *c, struct controller_removal *r, struct metastore_op *ops,
                       int32_t *count)
{
    if (*count > 1) {
        struct controller_pending *call = controller_pending_new(c, r);
        call->index = r->order.count - (*count - 1);
        r->pending++;
        metastore_multi(c->store, ops, *count, deleted, call);
        *count = 1;
    }
}

/* The paths move to r->order. */
static void paths_delete(struct controller *c, struct controller_removal *r, struct path_list *l,
                         struct metastore_op *ops, int32_t *count)
{
    for (int32_t i = 0; i < l->count; i++) {
        ops[(*count)++] = (struct metastore_op){
            .kind = METASTORE_DELETE, .path = slice_str(l->paths[i]), .version = -1};
        path_add(&r->order, l->paths[i]);
        if (*count == METASTORE_OPS_MAX) {
            batch_send(c, r, ops, count);
        }
    }
    free(l->paths);
    *l = (struct path_list){0};
}

static void removal_delete(struct controller *c, struct controller_removal *r)
{
    struct metastore_op *ops = xalloc(METASTORE_OPS_MAX * sizeof *ops);
    int32_t count = 1;
    ops[0] = (struct metastore_op){.kind = METASTORE_CHECK,
                                   .path = slice_str(METASTORE_CONTROLLER_EPOCH),
                                   .version = c->epoch_version};
    r->pending = 1; /* while batches leave */
    for (int32_t depth = DEPTH_MAX; depth > 0; depth--) {
        paths_delete(c, r, &r->levels[depth], ops, &count);
    }
    if (count + r->levels[0].count > METASTORE_OPS_MAX) {
        batch_send(c, r, ops, &count);
    }
    paths_delete(c, r, &r->levels[0], ops, &count);
    batch_send(c, r, ops, &count);
    free(ops);
    r->pending--;
    if (r->pending == 0) {
        removal_over(c, r); /* nothing was there */
    }
}

/* ---- listing ---- */

static void node_list(struct controller *c, struct controller_removal *r, struct slice path,
                      int32_t depth);

static void child_found(struct controller *c, struct controller_removal *r, const char *parent,
                        struct slice name, int32_t depth)
{
    char *path = xasprintf("%s/%.*s", parent, SLICE_ARG(name));
    if (depth > DEPTH_MAX) {
        fail_for_good(r, path, "nested too deep");
        free(path);
        return;
    }
    if (++r->node_count > NODES_MAX) {
        fail_for_good(r, path, "one of too many nodes");
        free(path);
        return;
    }
    path_add(&r->levels[depth], path);
    if (depth < LEAF_DEPTH || r->tries > 1) {
        node_list(c, r, slice_str(path), depth);
    }
}

/* The call's name is the path, its index the depth. */
static void node_listed(void *arg, const struct metastore_result *result)
{
    struct controller *c = NULL;
    void *item = NULL;
    int32_t depth = ((struct controller_pending *)arg)->index;
    char *path = controller_pending_take_name(arg);
    if (!controller_pending_end(arg, &c, &item)) {
        free(path);
        return;
    }
    struct controller_removal *r = item;
    if (result->err == 0) {
        for (int32_t i = 0; i < result->child_count && !r->is_final; i++) {
            child_found(c, r, path, result->children[i], depth + 1);
        }
        if (depth == 0) {
            path_add(&r->levels[0], xstrdup(path));
        }
    } else if (result->err == -E_REFUSED) {
        fail_for_good(r, path, error_name(result->err));
    } else if (result->err != -E_NOT_FOUND || depth > 0) {
        fail(r, path, error_name(result->err));
    }
    free(path);
    r->pending--;
    if (r->pending == 0 && r->is_failed) {
        removal_over(c, r);
    } else if (r->pending == 0) {
        removal_delete(c, r);
    }
}

static void node_list(struct controller *c, struct controller_removal *r, struct slice path,
                      int32_t depth)
{
    struct controller_pending *call = controller_pending_named(c, path);
    call->item = r;
    call->index = depth;
    r->pending++;
    metastore_children(c->store, path, NULL, NULL, node_listed, call);
}

static void removal_try(struct controller *c, struct controller_removal *r)
{
    struct metastore_path path;
    struct slice topic = slice_str(r->topic);
    r->tries++;
    try_clear(r);
    node_list(c, r, metastore_path_topic(&path, topic), 0);
    node_list(c, r, metastore_path_topic_config(&path, topic), 0);
    node_list(c, r, metastore_path_delete_topic(&path, topic), 0);
}

void controller_remove_topic(struct controller *c, uint64_t write_id, struct slice name)
{
    struct controller_removal *r = xalloc(sizeof *r);
    *r = (struct controller_removal){.write_id = write_id, .topic = slice_dup(name)};
    list_push_back(&c->removals, &r->link);
    removal_try(c, r);
}

void controller_removals_free(struct controller *c)
{
    struct list_node *n = NULL;
    while ((n = list_first(&c->removals)) != NULL) {
        removal_free(c, CONTAINER_OF(n, struct controller_removal, link));
    }
}
