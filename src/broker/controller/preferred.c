/*
 * /admin/preferred_replica_election, by which old tools ask for the election of preferred leaders
 * (docs/spec/zookeeper-mode.md 2.4): watched for its creation, read, asked of the core as a request of
 * our own, and deleted whatever came of it. Invariant: the watch on its existence is always set, and
 * one election is asked for at a time. Runs on the driver's env.
 */
#include "broker/controller/private.h"

#include <stdlib.h>

struct controller_preferred {
    struct controller *c;
    uint64_t term;
    struct metastore_legacy_move *partitions;
    struct control_tp *entries; /* points into partitions */
    struct control_request request;
};

static void look(struct controller *c);

static void preferred_free(struct controller_preferred *p)
{
    if (p != NULL) {
        metastore_legacy_moves_free(p->partitions, p->request.elect.count);
        free(p->entries);
        free(p);
    }
}

void controller_preferred_free(struct controller *c)
{
    preferred_free(c->preferred);
    c->preferred = NULL;
}

static void node_deleted(void *arg, const struct metastore_result *result)
{
    struct controller *c = NULL;
    void *item = NULL;
    if (controller_pending_end(arg, &c, &item) && result->err == -E_UNKNOWN_OUTCOME) {
        look(c);
    }
}

static void node_delete(struct controller *c)
{
    struct metastore_op ops[] = {
        {.kind = METASTORE_CHECK,
         .path = slice_str(METASTORE_CONTROLLER_EPOCH),
         .version = c->epoch_version},
        {.kind = METASTORE_DELETE, .path = slice_str(METASTORE_ELECT), .version = -1},
    };
    metastore_multi(c->store, ops, 2, node_deleted, controller_pending_new(c, NULL));
}

static void elected(void *arg, const struct control_reply *reply)
{
    struct controller_preferred *p = arg;
    struct controller *c = p->c;
    int32_t count = 0;
    for (int32_t i = 0; reply->error == KERR_NONE && i < reply->count; i++) {
        count += reply->results[i].error == KERR_NONE ||
                 reply->results[i].error == KERR_ELECTION_NOT_NEEDED;
    }
    if (p->term == c->term && reply->error == KERR_NONE) {
        struct errmsg em;
        (void)errmsg_set(&em, E_OK, "%s: %d of %d partitions have their preferred leader",
                         METASTORE_ELECT, count, reply->count);
        controller_log(c, CONTROL_INFO, em.text);
        node_delete(c);
    }
    c->preferred = NULL;
    preferred_free(p);
}

static void elect(struct controller *c, struct metastore_legacy_move *partitions, int32_t count)
{
    struct controller_preferred *p = xalloc(sizeof *p);
    *p = (struct controller_preferred){.c = c, .term = c->term, .partitions = partitions};
    p->entries = xalloc((size_t)(count + 1) * sizeof *p->entries);
    for (int32_t i = 0; i < count; i++) {
        p->entries[i] =
            (struct control_tp){slice_str(partitions[i].topic), partitions[i].partition};
    }
    p->request.kind = CONTROL_ELECT_LEADERS;
    p->request.elect = (struct control_elect){.entries = p->entries, .count = count};
    c->preferred = p;
    controller_request(c, &p->request, elected, p);
}

static void node_read(void *arg, const struct metastore_result *result)
{
    struct controller *c = NULL;
    void *item = NULL;
    if (!controller_pending_end(arg, &c, &item) || result->err != 0 || c->preferred != NULL) {
        return;
    }
    struct metastore_legacy_move *partitions = NULL;
    int32_t count = 0;
    struct errmsg em;
    if (metastore_partitions_decode(result->data, &partitions, &count, &em) != 0) {
        struct errmsg line;
        (void)errmsg_set(&line, E_MALFORMED, "%s cannot be read and is deleted: %.300s",
                         METASTORE_ELECT, em.text);
        controller_log(c, CONTROL_WARNING, line.text);
        node_delete(c);
        return;
    }
    elect(c, partitions, count);
}

static void node_seen(void *arg, const struct metastore_result *result)
{
    struct controller *c = NULL;
    void *item = NULL;
    if (controller_pending_end(arg, &c, &item) && result->err == 0) {
        metastore_get(c->store, slice_str(METASTORE_ELECT), NULL, NULL, node_read,
                      controller_pending_new(c, NULL));
    }
}

static void node_changed(void *arg, enum metastore_event event, struct slice path)
{
    struct controller *c = NULL;
    void *item = NULL;
    (void)event;
    (void)path;
    if (controller_pending_end(arg, &c, &item)) {
        look(c);
    }
}

static void look(struct controller *c)
{
    metastore_exists(c->store, slice_str(METASTORE_ELECT), node_changed,
                     controller_pending_new(c, NULL), node_seen, controller_pending_new(c, NULL));
}

void controller_preferred_start(struct controller *c)
{
    look(c);
}
