/*
 * Further sessions by which a new controller reads the states of the partitions: a ZooKeeper server takes
 * the requests of one connection one by one, so several are read in a fraction of the time.
 * A reader is opened when the brokers have been read, and its session sees all that was stored before it
 * began: its reads are as new as the session's own would be to whoever writes under a version.
 * Invariant: a read is answered once, by a reader or, when that fails, by the controller's own session;
 * readers end with the load or with the term. Runs on the driver's env.
 */
#include "broker/controller/private.h"

#include <stdlib.h>

struct reader_session {
    struct controller_readers *readers;
    struct metastore *store;
    bool is_ready;
    struct list calls; /* reader_call: out */
};

struct reader_call {
    struct list_node link;
    struct reader_session *reader;
    char *path;
    metastore_done_fn done;
    struct controller_pending *call;
};

struct controller_readers {
    struct controller *c;
    int32_t count;
    int32_t turn; /* of the next read; count: our own session */
    struct reader_session list[];
};

static void call_end(struct reader_call *call)
{
    list_remove(&call->reader->calls, &call->link);
    free(call->path);
    free(call);
}

static void read_done(void *arg, const struct metastore_result *result)
{
    struct reader_call *call = arg;
    metastore_done_fn done = call->done;
    struct controller_pending *pending = call->call;
    if (result->err != 0 && result->err != -E_NOT_FOUND) {
        metastore_get(pending->c->store, slice_str(call->path), NULL, NULL, done, pending);
        call_end(call);
        return;
    }
    call_end(call);
    done(pending, result);
}

static void reader_state(void *arg, enum metastore_state state)
{
    struct reader_session *r = arg;
    r->is_ready = state == METASTORE_CONNECTED;
}

void controller_readers_open(struct controller *c)
{
    int32_t count = c->factory->readers;
    if (count == 0 || c->readers != NULL) {
        return;
    }
    struct controller_readers *readers =
        xalloc(sizeof *readers + (size_t)count * sizeof readers->list[0]);
    readers->c = c;
    readers->count = count;
    c->readers = readers;
    for (int32_t i = 0; i < count; i++) {
        struct reader_session *r = &readers->list[i];
        r->readers = readers;
        list_init(&r->calls);
        r->store =
            c->factory->open(c->factory, c->env, c->config.session_timeout_ms, reader_state, r);
    }
}

void controller_readers_close(struct controller *c)
{
    struct controller_readers *readers = c->readers;
    if (readers == NULL) {
        return;
    }
    c->readers = NULL;
    for (int32_t i = 0; i < readers->count; i++) {
        struct reader_session *r = &readers->list[i];
        struct list_node *n = NULL;
        metastore_close(r->store);
        while ((n = list_first(&r->calls)) != NULL) {
            struct reader_call *call = CONTAINER_OF(n, struct reader_call, link);
            struct controller *of = NULL;
            void *item = NULL;
            (void)controller_pending_end(call->call, &of, &item); /* nobody is told */
            call_end(call);
        }
    }
    free(readers);
}

/* Whose turn it is; NULL: our own session's. */
static struct reader_session *reader_next(struct controller_readers *readers)
{
    for (int32_t left = readers == NULL ? 0 : readers->count; left > 0; left--) {
        readers->turn = readers->turn == readers->count ? 0 : readers->turn + 1;
        if (readers->turn == readers->count) {
            return NULL;
        }
        if (readers->list[readers->turn].is_ready) {
            return &readers->list[readers->turn];
        }
    }
    return NULL;
}

void controller_readers_get(struct controller *c, struct slice path, metastore_done_fn done,
                            struct controller_pending *call)
{
    struct reader_session *r = reader_next(c->readers);
    if (r == NULL) {
        metastore_get(c->store, path, NULL, NULL, done, call);
        return;
    }
    struct reader_call *out = xalloc(sizeof *out);
    *out = (struct reader_call){.reader = r, .path = slice_dup(path), .done = done, .call = call};
    list_push_back(&r->calls, &out->link);
    metastore_get(r->store, path, NULL, NULL, read_done, out);
}
