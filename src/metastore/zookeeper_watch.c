/*
 * Watches of a ZooKeeper session. The client keeps them and sets them again on each connection; here
 * is what it is given as their context.
 *
 * Invariant: a watch is in the hash while reads that carry it are under way or the client holds it
 * (is_set). One that leaves the hash may still be named by a callback the client has queued, so its
 * memory goes only when drive ends. Runs on the session's env.
 */
#include "metastore/zookeeper_private.h"

#include "base/alloc.h"

#include <stdlib.h>

/* What makes two registrations one watch; the path's bytes follow it in memory. */
struct watch_key {
    metastore_watch_fn fn;
    void *arg;
    size_t is_children; /* as wide as the others: no padding in a hashed struct */
};

struct metastore_zk_watch {
    struct metastore_zk_session *session;
    struct watch_key *key;
    size_t key_len;
    int32_t reads; /* under way */
    bool is_set;
    struct list_node dead;
    UT_hash_handle hh;
};

static const char *watch_path(const struct metastore_zk_watch *w)
{
    return (const char *)(w->key + 1);
}

static void watch_free(struct metastore_zk_watch *w)
{
    free(w->key);
    free(w);
}

static void watch_release(struct metastore_zk_watch *w)
{
    if (w->reads == 0 && !w->is_set) {
        HASH_DEL(w->session->watches, w);
        list_push_back(&w->session->dead_watches, &w->dead);
    }
}

/* tidy: long: the fn and arg of a watch are one value. */
struct metastore_zk_watch *metastore_zk_watch_join(struct metastore_zk_session *s,
                                                   struct slice path, bool is_children,
                                                   metastore_watch_fn fn, void *arg)
{
    size_t key_len = sizeof(struct watch_key) + path.len;
    struct watch_key *key = xalloc(key_len + 1); /* with the path's NUL */
    *key = (struct watch_key){.fn = fn, .arg = arg, .is_children = is_children};
    memcpy(key + 1, path.ptr, path.len);
    struct metastore_zk_watch *w;
    HASH_FIND(hh, s->watches, key, key_len, w);
    if (w == NULL) {
        w = xalloc(sizeof *w);
        w->session = s;
        w->key = key;
        w->key_len = key_len;
        HASH_ADD_KEYPTR(hh, s->watches, w->key, w->key_len, w);
    } else {
        free(key);
    }
    w->reads++;
    return w;
}

void metastore_zk_watch_leave(struct metastore_zk_watch *w, bool is_set)
{
    if (w == NULL) {
        return;
    }
    CHECK(w->reads > 0);
    w->reads--;
    w->is_set = w->is_set || is_set;
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

/* tidy: long: the client's signature. */
void metastore_zk_watch_fire(zhandle_t *handle, int type, int state, const char *path,
                             void *context)
{
    (void)handle;
    (void)state; /* states of the session come to all watches, and are told elsewhere */
    (void)path;
    struct metastore_zk_watch *w = context;
    enum metastore_event event;
    if (w->session->is_closed || !w->is_set || !event_of(type, &event)) {
        return;
    }
    w->session->has_progress = true;
    w->is_set = false;
    watch_release(w);
    w->key->fn(w->key->arg, event, slice_str(watch_path(w)));
}

void metastore_zk_watches_bury(struct metastore_zk_session *s)
{
    struct list_node *n;
    while ((n = list_pop(&s->dead_watches)) != NULL) {
        watch_free(CONTAINER_OF(n, struct metastore_zk_watch, dead));
    }
}

void metastore_zk_watches_free(struct metastore_zk_session *s)
{
    metastore_zk_watches_bury(s);
    struct metastore_zk_watch *w;
    struct metastore_zk_watch *next;
    HASH_ITER(hh, s->watches, w, next)
    {
        HASH_DEL(s->watches, w);
        watch_free(w);
    }
}
