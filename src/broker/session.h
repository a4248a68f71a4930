/*
 * The broker's life in the metastore: the base nodes, the cluster id, the registration in
 * /brokers/ids, and all of it again after the session expired (docs/spec/zookeeper-mode.md 4).
 *
 * Invariant: epoch is -1 unless this very session owns /brokers/ids/N. Callbacks come from the loop.
 */
#pragma once

#include "base/error.h"
#include "model/cluster.h"
#include "model/ibp.h"

struct broker_session;
struct env;
struct metastore;
struct metastore_factory;

struct broker_session_events {
    void *arg;
    /* A session is up, and no stranger holds our id: /config may be read through m,
     * broker_session_register comes next. Once a session. A cluster id that differs from an earlier
     * one is the receiver's to judge. */
    void (*connected)(void *arg, struct metastore *m, const char *cluster_id);
    /* /brokers/ids/N is ours, under this epoch. */
    void (*registered)(void *arg, int64_t epoch);
    /* The session expired; the metastore given by connected goes when this returns. Another session is
     * opened by itself. */
    void (*lost)(void *arg);
    /* Another session holds the id, before connected or after register; it is waited for, which the
     * text says. May be NULL. */
    void (*held)(void *arg, const char *text);
    /* A znode refuses what is needed, which is tried again until it does not; told once for a znode. Or
     * somebody deleted our registration: epoch stays, and nothing is done about it, for whoever deletes
     * one may be about to delete them all. A line for the log, with the mark of a warning. May be NULL. */
    void (*trouble)(void *arg, const char *line);
    /* The metastore has lost what it knew of the cluster, which was there before; told when that is
     * found, before connected. May be NULL. */
    void (*emptied)(void *arg, const char *cluster_id);
    /* It cannot go on: the id is taken by a living broker, a stored cluster id cannot be read. */
    void (*failed)(void *arg, const char *reason);
};

struct broker_session_config {
    struct env *env;
    struct metastore_factory *factory; /* borrowed */
    int64_t timeout_ms;
    enum ibp level;                    /* inter.broker.protocol.version */
    const struct model_broker *broker; /* what is registered; borrowed */
    const char *cluster_id;            /* what the log directories say; NULL = nothing */
};

struct broker_session *broker_session_new(const struct broker_session_config *config,
                                          const struct broker_session_events *events);
/* Registers; called once after each connected. While another session still holds the id, it waits for
 * that one to expire, up to twice the session time-out. */
void broker_session_register(struct broker_session *s);
/* What the metastore says of topics began after it had lost what it knew. From connected on. */
bool broker_session_is_remade(const struct broker_session *s);
/* Writes the notification that a log directory failed: the controller names all our replicas again, and
 * learns from the answers which are offline. Does nothing while there is no session: the next controller
 * names them anyway. */
void broker_session_ask_roles(struct broker_session *s);
/* is_clean: the registration goes at once; else the session is left to expire. NULL is fine. */
void broker_session_free(struct broker_session *s, bool is_clean);
