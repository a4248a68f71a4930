/*
 * Removing a topic: /brokers/topics/T and all below, its settings, its entry in /admin/delete_topics
 * (docs/spec/zookeeper-mode.md section 15, row 15). Lists what is there, then deletes it from below in
 * guarded transactions; what changed meanwhile makes it start over. The topic's own nodes go last, so
 * that a controller that dies in between finds the topic still queued. Runs on the driver's env.
 */
#include "broker/controller/private.h"

#include <stdlib.h>

#define TRIES_MAX 20

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
    bool is_failed;            /* of this try */
    struct path_list leaves;   /* .../partitions/P/state */
    struct path_list branches; /* .../partitions/P */
    struct path_list roots;    /* the topic's nodes, in order of deletion */
};

static void path_add(struct path_list *l, struct slice path)
{
    if (l->count == l->cap) {
        l->cap = l->cap == 0 ? 16 : l->cap * 2;
        l->paths = xrealloc(l->paths, (size_t)l->cap * sizeof *l->paths);
    }
    l->paths[l->count++] = slice_dup(path);
}

static void paths_free(struct path_list *l)
{
    for (int32_t i = 0; i < l->count; i++) {
        free(l->paths[i]);
    }
    free(l->paths);
    *l = (struct path_list){0};
}

static void removal_free(struct controller *c, struct controller_removal *r)
{
    list_remove(&c->removals, &r->link);
    paths_free(&r->leaves);
    paths_free(&r->branches);
    paths_free(&r->roots);
    free(r->topic);
    free(r);
}

static void removal_try(struct controller *c, struct controller_removal *r);

/* ---- deleting ---- */

static void removal_over(struct controller *c, struct controller_removal *r)
{
    uint64_t id = r->write_id;
    if (r->is_fenced) {
        removal_free(c, r);
        controller_write_fenced(c, id);
    } else if (r->is_failed && r->tries < TRIES_MAX) {
        removal_try(c, r);
    } else if (r->is_failed) {
        removal_free(c, r);
        controller_write_failed(c, id, "the nodes of a topic cannot be removed");
    } else {
        controller_topic_removed(c, slice_str(r->topic));
        removal_free(c, r);
        controller_write_done(c, id, CONTROL_WRITTEN, -1);
    }
}

static void deleted(void *arg, const struct metastore_result *result)
{
    struct controller *c = NULL;
    void *item = NULL;
    if (!controller_pending_end(arg, &c, &item)) {
        return;
    }
    struct controller_removal *r = item;
    if (result->err != 0) {
        r->is_failed = true;
        r->is_fenced |= result->err != -E_UNKNOWN_OUTCOME && result->failed_op == 0;
    }
    r->pending--;
    if (r->pending == 0) {
        removal_over(c, r);
    }
}

static void batch_send(struct controller *c, struct controller_removal *r, struct metastore_op *ops,
                       int32_t *count)
{
    if (*count > 1) {
        r->pending++;
        metastore_multi(c->store, ops, *count, deleted, controller_pending_new(c, r));
        *count = 1;
    }
}

static void paths_delete(struct controller *c, struct controller_removal *r,
                         const struct path_list *l, struct metastore_op *ops, int32_t *count)
{
    for (int32_t i = 0; i < l->count; i++) {
        ops[(*count)++] = (struct metastore_op){
            .kind = METASTORE_DELETE, .path = slice_str(l->paths[i]), .version = -1};
        if (*count == METASTORE_OPS_MAX) {
            batch_send(c, r, ops, count);
        }
    }
}

static void removal_delete(struct controller *c, struct controller_removal *r)
{
    struct metastore_op *ops = xalloc(METASTORE_OPS_MAX * sizeof *ops);
    int32_t count = 1;
    ops[0] = (struct metastore_op){.kind = METASTORE_CHECK,
                                   .path = slice_str(METASTORE_CONTROLLER_EPOCH),
                                   .version = c->epoch_version};
    r->pending = 1; /* while batches leave */
    paths_delete(c, r, &r->leaves, ops, &count);
    paths_delete(c, r, &r->branches, ops, &count);
    if (count + r->roots.count > METASTORE_OPS_MAX) {
        batch_send(c, r, ops, &count);
    }
    paths_delete(c, r, &r->roots, ops, &count);
    batch_send(c, r, ops, &count);
    free(ops);
    r->pending--;
    if (r->pending == 0) {
        removal_over(c, r); /* nothing was there */
    }
}

/* ---- listing ---- */

static void listed(struct controller *c, struct controller_removal *r)
{
    r->pending--;
    if (r->pending == 0) {
        if (r->is_failed) {
            removal_over(c, r);
        } else {
            removal_delete(c, r);
        }
    }
}

/* Existence of one of the topic's own nodes; the call's name is its path. */
static void root_checked(void *arg, const struct metastore_result *result)
{
    struct controller *c = NULL;
    void *item = NULL;
    char *path = controller_pending_take_name(arg);
    if (controller_pending_end(arg, &c, &item)) {
        struct controller_removal *r = item;
        if (result->err == 0) {
            path_add(&r->roots, slice_str(path));
        } else if (result->err != -E_NOT_FOUND) {
            r->is_failed = true;
        }
        listed(c, r);
    }
    free(path);
}

static void root_check(struct controller *c, struct controller_removal *r, struct slice path)
{
    struct controller_pending *call = controller_pending_named(c, path);
    call->item = r;
    r->pending++;
    metastore_exists(c->store, path, NULL, NULL, root_checked, call);
}

static void partition_listed(void *arg, const struct metastore_result *result)
{
    struct controller *c = NULL;
    void *item = NULL;
    char *path = controller_pending_take_name(arg);
    if (controller_pending_end(arg, &c, &item)) {
        struct controller_removal *r = item;
        for (int32_t i = 0; result->err == 0 && i < result->child_count; i++) {
            struct metastore_path child;
            path_add(&r->leaves, metastore_path_child(&child, path, result->children[i]));
        }
        r->is_failed |= result->err != 0;
        listed(c, r);
    }
    free(path);
}

static void partitions_listed(void *arg, const struct metastore_result *result)
{
    struct controller *c = NULL;
    void *item = NULL;
    char *parent = controller_pending_take_name(arg);
    if (controller_pending_end(arg, &c, &item)) {
        struct controller_removal *r = item;
        for (int32_t i = 0; result->err == 0 && i < result->child_count; i++) {
            struct metastore_path path;
            struct slice child = metastore_path_child(&path, parent, result->children[i]);
            struct controller_pending *call = controller_pending_named(c, child);
            call->item = r;
            r->pending++;
            path_add(&r->branches, child);
            metastore_children(c->store, child, NULL, NULL, partition_listed, call);
        }
        r->is_failed |= result->err != 0 && result->err != -E_NOT_FOUND;
        listed(c, r);
    }
    free(parent);
}

static void removal_try(struct controller *c, struct controller_removal *r)
{
    struct metastore_path path;
    struct slice topic = slice_str(r->topic);
    r->tries++;
    r->is_failed = false;
    paths_free(&r->leaves);
    paths_free(&r->branches);
    paths_free(&r->roots);
    struct slice partitions = metastore_path_partitions(&path, topic);
    struct controller_pending *call = controller_pending_named(c, partitions);
    call->item = r;
    r->pending = 1;
    metastore_children(c->store, partitions, NULL, NULL, partitions_listed, call);
    root_check(c, r, metastore_path_partitions(&path, topic));
    root_check(c, r, metastore_path_topic(&path, topic));
    root_check(c, r, metastore_path_topic_config(&path, topic));
    root_check(c, r, metastore_path_delete_topic(&path, topic));
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
