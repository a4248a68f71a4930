/*
 * /admin/reassign_partitions (docs/spec/reassignment.md section 8): watched for its creation, read, and
 * told to the core, which starts the moves and writes what is left.
 * Invariant: the watch on its existence is always set. The znode is told from another of the same path
 * by its creation zxid: changes of the one that was read are not news (R1). A plan is told only when
 * every topic that was there before it is known: it may have been made for a topic just created. Runs on
 * the driver's env.
 */
#include "broker/controller/private.h"

#include <stdlib.h>

static void look(struct controller *c);

static void news_free(struct controller *c)
{
    metastore_legacy_moves_free(c->legacy_news, c->legacy_news_count);
    c->legacy_news = NULL;
    c->legacy_news_count = 0;
    c->has_legacy_news = false;
}

void controller_legacy_free(struct controller *c)
{
    news_free(c);
    c->legacy_czxid = 0;
}

/* Borrows from moves. */
static struct control_legacy legacy_of(const struct metastore_legacy_move *moves, int32_t count,
                                       int32_t version)
{
    struct control_legacy_move *list = xalloc((size_t)(count + 1) * sizeof *list);
    for (int32_t i = 0; i < count; i++) {
        list[i] = (struct control_legacy_move){.topic = slice_str(moves[i].topic),
                                               .partition = moves[i].partition,
                                               .replicas = moves[i].replicas};
    }
    return (struct control_legacy){.moves = list, .count = count, .version = version};
}

static void legacy_free(struct control_legacy *legacy)
{
    union {
        const struct control_legacy_move *in;
        struct control_legacy_move *out;
    } view = {.in = legacy->moves}; /* made by legacy_of */
    free(view.out);
}

void controller_legacy_tell(struct controller *c)
{
    if (!c->has_legacy_news || !controller_topics_are_known(c)) {
        return;
    }
    struct metastore_legacy_move *moves = c->legacy_news;
    int32_t count = c->legacy_news_count;
    struct control_legacy legacy = legacy_of(moves, count, c->legacy_news_version);
    c->legacy_news = NULL; /* the step may end the term, which frees what is there */
    c->legacy_news_count = 0;
    c->has_legacy_news = false;
    controller_step(c, &(struct control_event){.kind = CONTROL_ON_LEGACY, .legacy = legacy});
    legacy_free(&legacy);
    metastore_legacy_moves_free(moves, count);
}

/* moves: owned. */
static void news_set(struct controller *c, struct metastore_legacy_move *moves, int32_t count,
                     int32_t version)
{
    news_free(c);
    c->legacy_news = moves;
    c->legacy_news_count = count;
    c->legacy_news_version = version;
    c->has_legacy_news = true;
    uint64_t term = c->term;
    bool is_loading = c->role == ROLE_LOADING;
    controller_legacy_tell(c);
    if (is_loading && term == c->term) {
        controller_loaded(c);
    }
}

static void none_there(struct controller *c)
{
    c->legacy_czxid = 0;
    news_set(c, NULL, 0, -1);
}

/* R11: what cannot be read counts as empty, and stays. */
static int moves_read(struct controller *c, struct slice json, struct metastore_legacy_move **moves,
                      int32_t *count)
{
    struct errmsg em;
    int err = metastore_legacy_moves_decode(json, moves, count, &em);
    if (err != 0) {
        struct errmsg line;
        (void)errmsg_set(&line, E_MALFORMED, "%s cannot be read and is left alone: %.300s",
                         METASTORE_REASSIGN, em.text);
        controller_log(c, CONTROL_WARNING, line.text);
    }
    return err;
}

static void node_read(void *arg, const struct metastore_result *result)
{
    struct controller *c = NULL;
    void *item = NULL;
    if (!controller_pending_end(arg, &c, &item)) {
        return;
    }
    struct metastore_legacy_move *moves = NULL;
    int32_t count = 0;
    if (result->err != 0) {
        if (result->err != -E_NOT_FOUND) {
            controller_log(c, CONTROL_WARNING, METASTORE_REASSIGN " cannot be read");
        }
        none_there(c); /* the watch tells of another */
        return;
    }
    c->legacy_czxid = result->stat.czxid;
    bool is_good = moves_read(c, result->data, &moves, &count) == 0;
    news_set(c, moves, count, is_good ? result->stat.version : -1);
}

static void node_seen(void *arg, const struct metastore_result *result)
{
    struct controller *c = NULL;
    void *item = NULL;
    if (!controller_pending_end(arg, &c, &item)) {
        return;
    }
    if (result->err == 0 && result->stat.czxid != c->legacy_czxid) {
        metastore_get(c->store, slice_str(METASTORE_REASSIGN), NULL, NULL, node_read,
                      controller_pending_new(c, NULL));
    } else if (result->err == -E_NOT_FOUND && (c->legacy_czxid != 0 || c->role == ROLE_LOADING)) {
        none_there(c);
    } else if (result->err != 0 && result->err != -E_NOT_FOUND) {
        controller_resign(c, METASTORE_REASSIGN " cannot be read");
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
    metastore_exists(c->store, slice_str(METASTORE_REASSIGN), node_changed,
                     controller_pending_new(c, NULL), node_seen, controller_pending_new(c, NULL));
}

void controller_legacy_load(struct controller *c)
{
    look(c);
}

/* ---- writes of the core ---- */

void controller_legacy_encode(struct buf *b, const struct control_legacy *legacy)
{
    struct metastore_legacy_move *moves = xalloc((size_t)(legacy->count + 1) * sizeof *moves);
    for (int32_t i = 0; i < legacy->count; i++) {
        moves[i] = (struct metastore_legacy_move){.topic = slice_dup(legacy->moves[i].topic),
                                                  .partition = legacy->moves[i].partition};
        ids_copy(&moves[i].replicas, &legacy->moves[i].replicas);
    }
    metastore_legacy_moves_encode(b, moves, legacy->count);
    metastore_legacy_moves_free(moves, legacy->count);
}

void controller_legacy_conflict(struct controller *c, uint64_t write_id,
                                const struct metastore_result *result)
{
    struct metastore_legacy_move *moves = NULL;
    int32_t count = 0;
    bool is_good = moves_read(c, result->data, &moves, &count) == 0;
    struct control_legacy legacy = legacy_of(moves, count, is_good ? result->stat.version : -1);
    controller_step(c, &(struct control_event){.kind = CONTROL_ON_WRITE_DONE,
                                               .write_id = write_id,
                                               .outcome = CONTROL_CONFLICT,
                                               .conflict_legacy = &legacy});
    legacy_free(&legacy);
    metastore_legacy_moves_free(moves, count);
}
