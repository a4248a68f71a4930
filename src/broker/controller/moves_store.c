/*
 * The queue's jobs in the metastore: read once by a new controller, then written piece by piece. Each write is
 * a transaction of its own behind a check of the controller's epoch, and may be made again: so an unknown
 * outcome is met by another try, and a node that is there already, or gone already, by the other operation.
 * Runs on the driver's env.
 */
#include "broker/controller/moves.h"

#include "broker/controller/private.h"
#include "metastore/znode_job.h"

#include <stdlib.h>

#define READ_BYTES_MAX ((size_t)64 << 20) /* of one piece, decoded */
#define TRIES_MAX      20

struct moves_write {
    struct list_node link; /* controller_moves.writes */
    uint64_t id;
    enum metastore_op_kind kind;
    bool is_removal;
    char *path;
    struct buf data;
    int32_t tries;
};

/* ---- writing ---- */

static void write_free(struct controller_moves *v, struct moves_write *w)
{
    list_remove(&v->writes, &w->link);
    buf_deinit(&w->data);
    free(w->path);
    free(w);
}

void controller_moves_writes_free(struct controller_moves *v)
{
    struct list_node *n = NULL;
    while ((n = list_first(&v->writes)) != NULL) {
        write_free(v, CONTAINER_OF(n, struct moves_write, link));
    }
}

static void write_send(struct controller *c, struct moves_write *w);

static void write_over(struct controller *c, struct moves_write *w, const char *message)
{
    struct moves_event event = {.kind = MOVES_ON_STORED, .store_id = w->id, .message = message};
    write_free(c->moves, w);
    controller_moves_step(c, &event);
}

/* The node is there, or is not, against what was thought: the other operation does it. */
static bool write_turn(struct moves_write *w, int err)
{
    if (w->kind == METASTORE_CREATE && err == -E_EXISTS) {
        w->kind = METASTORE_SET;
        return true;
    }
    if (w->kind == METASTORE_SET && err == -E_NOT_FOUND) {
        w->kind = METASTORE_CREATE;
        return true;
    }
    /* A removal behind which another one is made again. */
    return err == -E_UNKNOWN_OUTCOME || (w->is_removal && err == -E_NOT_EMPTY);
}

static void write_done(void *arg, const struct metastore_result *result)
{
    struct controller *c = NULL;
    void *item = NULL;
    if (!controller_pending_end(arg, &c, &item) || c->moves == NULL) {
        return;
    }
    struct moves_write *w = item;
    w->tries++;
    if (result->err == 0 || (w->is_removal && result->err == -E_NOT_FOUND)) {
        write_over(c, w, NULL);
    } else if (result->err == -E_BAD_VERSION) {
        controller_resign(c, "another controller writes the queue of moves");
    } else if (result->err == -E_SESSION_EXPIRED || result->err == -E_CLOSED) {
        return; /* the term ends soon, and this with it */
    } else if (w->tries < TRIES_MAX && write_turn(w, result->err)) {
        write_send(c, w);
    } else {
        write_over(c, w, error_name(result->err));
    }
}

static void write_send(struct controller *c, struct moves_write *w)
{
    struct metastore_op ops[] = {
        {.kind = METASTORE_CHECK,
         .path = slice_str(METASTORE_CONTROLLER_EPOCH),
         .version = c->epoch_version},
        {.kind = w->kind, .path = slice_str(w->path), .data = buf_slice(&w->data), .version = -1},
    };
    metastore_multi(c->store, ops, 2, write_done, controller_pending_new(c, w));
}

void controller_moves_store(struct controller *c, const struct moves_store *store)
{
    struct metastore_path path;
    struct moves_write *w = xalloc(sizeof *w);
    bool is_job = store->kind == MOVES_STORE_JOB || store->kind == MOVES_REMOVE_JOB;
    w->id = store->id;
    w->is_removal = store->kind == MOVES_REMOVE_JOB || store->kind == MOVES_REMOVE_PIECE;
    w->kind = w->is_removal ? METASTORE_DELETE : METASTORE_SET;
    w->path = slice_dup(is_job ? metastore_path_job(&path, store->job)
                               : metastore_path_job_piece(&path, store->job, store->piece));
    buf_init(&w->data);
    if (store->kind == MOVES_STORE_JOB) {
        metastore_job_encode(&w->data, store->node);
    } else if (store->kind == MOVES_STORE_PIECE) {
        metastore_job_piece_encode(&w->data, store->contents);
    }
    list_push_back(&c->moves->writes, &w->link);
    write_send(c, w);
}

/* ---- reading ---- */

static void read_over(struct controller *c)
{
    c->moves->reads_due--;
    if (c->moves->reads_due == 0) {
        controller_moves_load_end(c);
    }
}

static void unreadable(struct controller *c, const char *name, const struct errmsg *why)
{
    struct errmsg em;
    (void)errmsg_set(&em, E_MALFORMED, "job %s of the queue of moves cannot be read: %.300s", name,
                     why->text);
    controller_log(c, CONTROL_WARNING, em.text);
}

static void piece_read(void *arg, const struct metastore_result *result)
{
    struct controller *c = NULL;
    void *item = NULL;
    int32_t index = ((struct controller_pending *)arg)->index;
    char *name = controller_pending_take_name(arg);
    if (controller_pending_end(arg, &c, &item)) {
        struct model_job_piece piece = {0};
        struct arena arena;
        struct errmsg em = {0};
        arena_init(&arena, READ_BYTES_MAX);
        int err = result->err;
        if (err == 0) {
            err = metastore_job_piece_decode(result->data, &piece, &arena, &em);
        }
        if (err != 0 && err != -E_NOT_FOUND) {
            unreadable(c, name, &em);
        }
        controller_moves_step(c, &(struct moves_event){.kind = MOVES_ON_PIECE,
                                                       .job_id = slice_str(name),
                                                       .piece = index,
                                                       .contents = err == 0 ? &piece : NULL});
        arena_deinit(&arena);
        read_over(c);
    }
    free(name);
}

static void job_read(void *arg, const struct metastore_result *result)
{
    struct controller *c = NULL;
    void *item = NULL;
    char *name = controller_pending_take_name(arg);
    if (controller_pending_end(arg, &c, &item)) {
        struct model_job job = {.id = slice_str(name)};
        struct arena arena;
        struct errmsg em = {0};
        arena_init(&arena, READ_BYTES_MAX);
        int err = result->err;
        if (err == 0) {
            err = metastore_job_decode(result->data, &job, &arena, &em);
        }
        if (err == 0) {
            controller_moves_step(c, &(struct moves_event){.kind = MOVES_ON_JOB, .job = &job});
        } else if (err != -E_NOT_FOUND) {
            unreadable(c, name, &em);
        }
        arena_deinit(&arena);
        read_over(c);
    }
    free(name);
}

/* -1 when the name is no piece. */
static int32_t piece_index(struct slice name)
{
    int32_t index = 0;
    for (size_t i = 0; i < name.len; i++) {
        if (name.ptr[i] < '0' || name.ptr[i] > '9' || index > INT16_MAX) {
            return -1;
        }
        index = index * 10 + (name.ptr[i] - '0');
    }
    return name.len == 0 ? -1 : index;
}

static void pieces_listed(void *arg, const struct metastore_result *result)
{
    struct controller *c = NULL;
    void *item = NULL;
    char *name = controller_pending_take_name(arg);
    if (controller_pending_end(arg, &c, &item)) {
        for (int32_t i = 0; result->err == 0 && i < result->child_count; i++) {
            struct metastore_path path;
            int32_t index = piece_index(result->children[i]);
            if (index < 0) {
                continue;
            }
            struct controller_pending *call = controller_pending_named(c, slice_str(name));
            call->index = index;
            c->moves->reads_due++;
            metastore_get(c->store, metastore_path_job_piece(&path, slice_str(name), index), NULL,
                          NULL, piece_read, call);
        }
        read_over(c);
    }
    free(name);
}

static void jobs_listed(void *arg, const struct metastore_result *result)
{
    struct controller *c = NULL;
    void *item = NULL;
    if (!controller_pending_end(arg, &c, &item)) {
        return;
    }
    for (int32_t i = 0; result->err == 0 && i < result->child_count; i++) {
        struct metastore_path path;
        struct slice name = result->children[i];
        if (name.len > MODEL_JOB_ID_MAX) {
            continue;
        }
        c->moves->reads_due += 2;
        metastore_get(c->store, metastore_path_job(&path, name), NULL, NULL, job_read,
                      controller_pending_named(c, name));
        metastore_children(c->store, metastore_path_job(&path, name), NULL, NULL, pieces_listed,
                           controller_pending_named(c, name));
    }
    read_over(c);
}

void controller_moves_load(struct controller *c)
{
    controller_moves_start(c);
    c->moves->reads_due = 1;
    metastore_children(c->store, slice_str(METASTORE_JOBS), NULL, NULL, jobs_listed,
                       controller_pending_new(c, NULL));
}
