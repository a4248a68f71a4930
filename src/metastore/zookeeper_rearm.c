/*
 * Watches that outgrew the client. On each new connection it sets all its watches in one request, and
 * a server drops the connection of who sends more than 1 MiB at once: with too many watches a session
 * would be connected and lost for ever. So the handle is then replaced by a fresh one that goes on
 * with the session (zookeeper_session.c) and knows no watches, and each watched node is read again.
 *
 * What a read shows is compared with what was seen when the watch was set; a difference is its event.
 * The client cannot be made to forget a watch it was just given, so one that was told on the spot is
 * spent: the client's own event for it goes nowhere.
 */
#include "metastore/zookeeper_private.h"

#include <stdlib.h>

/* Half of what a server takes: the limit is the operator's to lower, and paths are counted once for
 * each watch. */
#define SET_WATCHES_BYTES_MAX ((size_t)512 * 1024)

bool metastore_zk_rearm_is_due(const struct metastore_zk_session *s)
{
    return s->held_bytes > SET_WATCHES_BYTES_MAX;
}

bool metastore_zk_rearm_compare(const struct metastore_zk_watch *w,
                                const struct metastore_zk_seen *now,
                                enum metastore_event *ret_event)
{
    if (w->seen.czxid == 0) {
        *ret_event = METASTORE_CREATED;
        return now != NULL;
    }
    if (now == NULL || now->czxid != w->seen.czxid) {
        *ret_event = METASTORE_DELETED; /* and perhaps made anew */
        return true;
    }
    *ret_event = w->key->is_children != 0 ? METASTORE_CHILDREN_CHANGED : METASTORE_CHANGED;
    return now->zxid != w->seen.zxid;
}

/* rc: ZOK or ZNONODE when it was read; is_held: the client has the watch again. */
static void rearm_done(struct metastore_zk_watch *w, int rc, const struct metastore_zk_seen *now,
                       bool is_held)
{
    struct metastore_zk_session *s = w->session;
    if (s->is_closed) {
        return;
    }
    s->has_progress = true;
    CHECK(w->reads > 0);
    w->reads--;
    if (metastore_zk_is_lost(rc)) {
        return; /* still set, not held: read again on the next connection */
    }
    metastore_zk_watch_hold(w, is_held);
    enum metastore_event event;
    if (metastore_zk_rearm_compare(w, now, &event)) {
        metastore_zk_watch_tell(w, event);
    } else if (!is_held) {
        /* It may not be read any more. Whoever waits finds out by reading. */
        metastore_zk_watch_tell(w, w->key->is_children != 0 ? METASTORE_CHILDREN_CHANGED
                                                            : METASTORE_CHANGED);
    }
}

static void node_done(int rc, const struct Stat *stat, const void *data)
{
    struct metastore_zk_watch *w = CONTAINER_OF(data, struct metastore_zk_watch, link);
    struct metastore_zk_seen now = w->seen;
    if (rc == ZOK) {
        now = (struct metastore_zk_seen){.czxid = stat->czxid, .zxid = stat->mzxid};
    }
    rearm_done(w, rc, rc == ZNONODE ? NULL : &now, rc == ZOK || rc == ZNONODE);
}

static void children_done(int rc, const struct String_vector *names, const struct Stat *stat,
                          const void *data)
{
    (void)names;
    struct metastore_zk_watch *w = CONTAINER_OF(data, struct metastore_zk_watch, link);
    struct metastore_zk_seen now = w->seen;
    if (rc == ZOK) {
        now = (struct metastore_zk_seen){.czxid = stat->czxid, .zxid = stat->pzxid};
    }
    rearm_done(w, rc, rc == ZNONODE ? NULL : &now, rc == ZOK);
}

void metastore_zk_rearm(struct metastore_zk_session *s)
{
    for (struct metastore_zk_watch *w = s->watches; w != NULL; w = w->hh.next) {
        if (!w->is_set || w->is_held) {
            continue;
        }
        char *path = metastore_zk_path(s->factory, slice_str(metastore_zk_watch_path(w)));
        int rc =
            w->key->is_children != 0
                ? zoo_awget_children2(s->handle, path, metastore_zk_watch_fire, w, children_done,
                                      &w->link)
                : zoo_awexists(s->handle, path, metastore_zk_watch_fire, w, node_done, &w->link);
        free(path);
        if (rc != ZOK) {
            return; /* the session is ending */
        }
        w->reads++;
    }
}
