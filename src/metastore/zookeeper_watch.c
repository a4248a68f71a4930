/*
 * Watches of a ZooKeeper session. The client keeps them and sets them again on each connection; here
 * is what it is given as their context.
 *
 * Invariant: a watch is in the hash while reads that carry it are under way or it is set; else among
 * the spent ones while the client holds it; else among the dead. One that dies may still be named by a
 * callback the client has queued, so its memory goes only when drive ends. Runs on the session's env.
 */
#include "metastore/zookeeper_private.h"

#include "base/alloc.h"

#include <stdlib.h>

#define WATCH_OVERHEAD 4 /* bytes beside a path, where the client lists it */

static void watch_free(struct metastore_zk_watch *w)
{
    free(w->key);
    free(w);
}

/* Takes it out of the hash when nobody waits for it and nobody is about to. */
static void watch_release(struct metastore_zk_watch *w)
{
    struct metastore_zk_session *s = w->session;
    if (w->reads == 0 && !w->is_set) {
        HASH_DEL(s->watches, w);
        list_push_back(w->is_held ? &s->spent_watches : &s->dead_watches, &w->link);
    }
}

/* tidy: long: the fn and arg of a watch are one value. */
struct metastore_zk_watch *metastore_zk_watch_join(struct metastore_zk_session *s,
                                                   struct slice path, bool is_children,
                                                   metastore_watch_fn fn, void *arg)
{
    size_t key_len = sizeof(struct metastore_zk_watch_key) + path.len;
    struct metastore_zk_watch_key *key = xalloc(key_len + 1); /* with the path's NUL */
    *key = (struct metastore_zk_watch_key){.fn = fn, .arg = arg, .is_children = is_children};
    memcpy(key + 1, path.ptr, path.len);
    struct metastore_zk_watch *w;
    HASH_FIND(hh, s->watches, key, key_len, w);
    if (w == NULL) {
        w = xalloc(sizeof *w);
        w->session = s;
        w->key = key;
        w->key_len = key_len;
        w->bytes = WATCH_OVERHEAD + strlen(s->factory->chroot) + path.len;
        HASH_ADD_KEYPTR(hh, s->watches, w->key, w->key_len, w);
    } else {
        free(key);
    }
    w->reads++;
    return w;
}

void metastore_zk_watch_hold(struct metastore_zk_watch *w, bool is_held)
{
    if (is_held && !w->is_held) {
        w->session->held_bytes += w->bytes;
    } else if (!is_held && w->is_held) {
        w->session->held_bytes -= w->bytes;
    }
    w->is_held = is_held;
}

void metastore_zk_watch_leave(struct metastore_zk_watch *w, const struct metastore_zk_seen *seen)
{
    if (w == NULL) {
        return;
    }
    CHECK(w->reads > 0);
    w->reads--;
    if (seen != NULL) {
        w->is_set = true;
        metastore_zk_watch_hold(w, true);
        w->seen = *seen;
    }
    watch_release(w);
}

/* False for what is no change of a node. */
static bool event_of(int type, enum metastore_event *ret_event)
{
    if (type == ZOO_CREATED_EVENT) {
        *ret_event = METASTORE_CREATED;
    } else if (type == ZOO_DELETED_EVENT) {
        *ret_event = METASTORE_DELETED;
    } else if (type == ZOO_CHANGED_EVENT) {
        *ret_event = METASTORE_CHANGED;
    } else if (type == ZOO_CHILD_EVENT) {
        *ret_event = METASTORE_CHILDREN_CHANGED;
    } else {
        return false;
    }
    return true;
}

void metastore_zk_watch_tell(struct metastore_zk_watch *w, enum metastore_event event)
{
    CHECK(w->is_set);
    w->is_set = false;
    watch_release(w);
    w->key->fn(w->key->arg, event, slice_str(metastore_zk_watch_path(w)));
}

/* tidy: long: the client's signature. */
void metastore_zk_watch_fire(zhandle_t *handle, int type, int state, const char *path,
                             void *context)
{
    (void)handle;
    (void)state; /* states of the session come to all watches, and are told elsewhere */
    (void)path;
    struct metastore_zk_watch *w = context;
    struct metastore_zk_session *s = w->session;
    enum metastore_event event;
    if (s->is_closed || !w->is_held || !event_of(type, &event)) {
        return;
    }
    s->has_progress = true;
    metastore_zk_watch_hold(w, false);
    if (w->is_set) {
        metastore_zk_watch_tell(w, event);
    } else if (list_has(&w->link)) {
        list_remove(&s->spent_watches, &w->link);
        list_push_back(&s->dead_watches, &w->link);
    }
}

void metastore_zk_watches_release(struct metastore_zk_session *s)
{
    struct list_node *n;
    while ((n = list_pop(&s->spent_watches)) != NULL) {
        metastore_zk_watch_hold(CONTAINER_OF(n, struct metastore_zk_watch, link), false);
        list_push_back(&s->dead_watches, n);
    }
    for (struct metastore_zk_watch *w = s->watches; w != NULL; w = w->hh.next) {
        metastore_zk_watch_hold(w, false);
    }
}

void metastore_zk_watches_bury(struct metastore_zk_session *s)
{
    struct list_node *n;
    while ((n = list_pop(&s->dead_watches)) != NULL) {
        watch_free(CONTAINER_OF(n, struct metastore_zk_watch, link));
    }
}

void metastore_zk_watches_free(struct metastore_zk_session *s)
{
    metastore_zk_watches_release(s);
    metastore_zk_watches_bury(s);
    struct metastore_zk_watch *w;
    struct metastore_zk_watch *next;
    HASH_ITER(hh, s->watches, w, next)
    {
        HASH_DEL(s->watches, w);
        watch_free(w);
    }
}
