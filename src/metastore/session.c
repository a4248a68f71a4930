/*
 * The client half of a session with an embedded store (see message.h for the life of both halves).
 *
 * Everything here runs on the client's env. Calls are copied into messages and posted; whatever
 * comes back is delivered here unless the client has closed meanwhile.
 */
#include "metastore/message.h"

#include "base/alloc.h"
#include "base/check.h"

#include <stdlib.h>

struct metastore_client {
    struct metastore base;
    struct env *store_env;
    struct metastore_session *session; /* an address for messages */
    metastore_state_fn state;
    void *state_arg;
    bool is_closed; /* nothing is delivered any more */
};

static struct metastore_client *client_of(struct metastore *m)
{
    return CONTAINER_OF(m, struct metastore_client, base);
}

/* ---- calls ---- */

static struct metastore_message *call_new(struct metastore *m, enum metastore_message_kind kind,
                                          metastore_done_fn done, void *arg)
{
    struct metastore_client *c = client_of(m);
    CHECK(!c->is_closed);
    struct metastore_message *message = metastore_message_new(kind, c, c->session);
    message->done = done;
    message->done_arg = arg;
    return message;
}

static void read_send(struct metastore_message *message, struct slice path,
                      struct metastore_watcher watcher)
{
    message->path = slice_dup(path);
    /* A NUL inside would be cut off by the copy and name another node; "" is refused by the tree. */
    if (strlen(message->path) != path.len) {
        message->path[0] = 0;
    }
    message->watcher = watcher;
    env_post(message->client->store_env, metastore_session_receive, message);
}

static void client_get(struct metastore *m, struct slice path, metastore_watch_fn watch,
                       void *watch_arg, metastore_done_fn done, void *arg)
{
    read_send(call_new(m, MESSAGE_GET, done, arg), path,
              (struct metastore_watcher){.fn = watch, .arg = watch_arg});
}

static void client_exists(struct metastore *m, struct slice path, metastore_watch_fn watch,
                          void *watch_arg, metastore_done_fn done, void *arg)
{
    read_send(call_new(m, MESSAGE_EXISTS, done, arg), path,
              (struct metastore_watcher){.fn = watch, .arg = watch_arg});
}

static void client_children(struct metastore *m, struct slice path, metastore_watch_fn watch,
                            void *watch_arg, metastore_done_fn done, void *arg)
{
    read_send(call_new(m, MESSAGE_CHILDREN, done, arg), path,
              (struct metastore_watcher){.fn = watch, .arg = watch_arg});
}

/* Copies s to *at and moves *at on; null stays null. */
static struct slice bytes_take(uint8_t **at, struct slice s)
{
    if (slice_is_null(s)) {
        return SLICE_NULL;
    }
    struct slice copy = slice_of(*at, s.len);
    if (s.len > 0) {
        memcpy(*at, s.ptr, s.len);
    }
    *at += s.len;
    return copy;
}

static void client_multi(struct metastore *m, const struct metastore_op *ops, int32_t op_count,
                         metastore_done_fn done, void *arg)
{
    struct metastore_message *message = call_new(m, MESSAGE_MULTI, done, arg);
    size_t bytes = 1; /* so that empty data has an address inside the block */
    for (int32_t i = 0; i < op_count; i++) {
        bytes += ops[i].path.len + ops[i].data.len;
    }
    message->op_count = op_count;
    message->ops = xalloc((size_t)op_count * sizeof *ops + bytes);
    uint8_t *at = (uint8_t *)(message->ops + op_count);
    for (int32_t i = 0; i < op_count; i++) {
        message->ops[i] = ops[i];
        message->ops[i].path = bytes_take(&at, ops[i].path);
        message->ops[i].data = bytes_take(&at, ops[i].data);
    }
    env_post(message->client->store_env, metastore_session_receive, message);
}

/* ---- life ---- */

static void client_leave(struct metastore *m, enum metastore_message_kind kind)
{
    struct metastore_client *c = client_of(m);
    CHECK(!c->is_closed);
    c->is_closed = true;
    env_post(c->store_env, metastore_session_receive, metastore_message_new(kind, c, c->session));
}

static void client_close(struct metastore *m)
{
    client_leave(m, MESSAGE_CLOSE);
}

static void client_abandon(struct metastore *m)
{
    client_leave(m, MESSAGE_ABANDON);
}

static const struct metastore_ops client_ops = {
    .get = client_get,
    .exists = client_exists,
    .children = client_children,
    .multi = client_multi,
    .close = client_close,
    .abandon = client_abandon,
};

struct metastore *metastore_client_open(const struct metastore_client_config *config)
{
    struct metastore_client *c = xalloc(sizeof *c);
    c->base = (struct metastore){
        .ops = &client_ops, .env = config->env, .timeout_ms = config->timeout_ms};
    c->store_env = config->store_env;
    c->state = config->state;
    c->state_arg = config->arg;
    c->session = metastore_session_new(config->store, c, config->env, config->timeout_ms);
    env_post(c->store_env, metastore_session_receive,
             metastore_message_new(MESSAGE_OPEN, c, c->session));
    return &c->base;
}

static void client_deliver(struct metastore_client *c, const struct metastore_message *message)
{
    if (metastore_message_is_call(message)) {
        if (message->done != NULL) {
            message->done(message->done_arg, &message->result);
        }
    } else if (message->kind == MESSAGE_EVENT) {
        message->watcher.fn(message->watcher.arg, message->event, slice_str(message->path));
    } else {
        CHECK(message->kind == MESSAGE_STATE);
        c->base.session_id = message->session_id;
        if (c->state != NULL) {
            c->state(c->state_arg, message->state);
        }
    }
}

void metastore_client_receive(void *arg)
{
    struct metastore_message *message = arg;
    struct metastore_client *c = message->client;
    if (message->kind == MESSAGE_GONE) {
        CHECK(c->is_closed);
        free(c);
    } else if (!c->is_closed) {
        client_deliver(c, message);
    }
    metastore_message_free(message);
}
