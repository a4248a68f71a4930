/*
 * What travels between the two halves of a session: the client half (session.c, on the client's env)
 * and the store half (store.c, on the store's env). A message owns its data and has one owner at a
 * time; a call goes to the store and comes back as its own answer.
 *
 * Life of the halves: metastore_open allocates both and posts OPEN. From then on the store half is
 * touched by the store alone and the client half by the client alone; to the other side each is only
 * an address. CLOSE or ABANDON is the last message of a client; the store answers GONE, which is the
 * last one the store sends, and GONE frees the client half.
 */
#pragma once

#include "base/list.h"
#include "env/env.h"
#include "metastore/tree.h"

struct metastore_client;
struct metastore_session;
struct metastore_store;

enum metastore_message_kind {
    /* to the store */
    MESSAGE_OPEN,
    MESSAGE_CLOSE,
    MESSAGE_ABANDON,
    /* there and back */
    MESSAGE_GET,
    MESSAGE_EXISTS,
    MESSAGE_CHILDREN,
    MESSAGE_MULTI,
    /* to the client */
    MESSAGE_EVENT,
    MESSAGE_STATE,
    MESSAGE_GONE,
};

struct metastore_message {
    struct list_node link;
    enum metastore_message_kind kind;
    struct metastore_client *client;
    struct metastore_session *session;
    /* the store's: when it may leave */
    uint64_t batch; /* transaction that must be on disk before; 0 = none */
    int64_t due_ms; /* env_now_ms of the store */
    /* calls */
    metastore_done_fn done;
    void *done_arg;
    struct metastore_op *ops; /* one block with the bytes its slices point to */
    int32_t op_count;
    bool is_applied; /* a multi that changed the tree */
    /* calls but multi, events */
    char *path;
    struct metastore_watcher watcher;
    enum metastore_event event;
    /* state */
    enum metastore_state state;
    int64_t session_id;
    /* answers: what result borrows */
    struct metastore_result result;
    uint8_t *data;
    struct slice *names;
    struct metastore_stat *op_stats;
    char **op_texts;
    struct slice *op_paths;
};

struct metastore_message *metastore_message_new(enum metastore_message_kind kind,
                                                struct metastore_client *client,
                                                struct metastore_session *session);
void metastore_message_free(struct metastore_message *m);
/* Turns the call into an answer without content. */
void metastore_message_fail(struct metastore_message *m, int err);
static inline bool metastore_message_is_call(const struct metastore_message *m)
{
    return m->kind >= MESSAGE_GET && m->kind <= MESSAGE_MULTI;
}

/* Store half, made by the client (see above), freed by the store. */
struct metastore_session *metastore_session_new(struct metastore_store *s,
                                                struct metastore_client *client,
                                                struct env *client_env, int64_t timeout_ms);
/* env_fn of the store's env and of the client's; arg is the message. */
void metastore_session_receive(void *message);
void metastore_client_receive(void *message);

/* Client half: what metastore_factory.open of a store does. */
struct metastore_client_config {
    struct metastore_store *store;
    struct env *store_env;
    struct env *env; /* the client's */
    int64_t timeout_ms;
    metastore_state_fn state; /* may be NULL */
    void *arg;
};
struct metastore *metastore_client_open(const struct metastore_client_config *config);
