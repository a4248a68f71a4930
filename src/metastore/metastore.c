/*
 * Dispatch of a session's calls to its backend. Holds no state; runs on the session's env.
 */
#include "metastore/metastore.h"

#include "base/check.h"

void metastore_get(struct metastore *m, struct slice path, metastore_watch_fn watch,
                   void *watch_arg, metastore_done_fn done, void *arg)
{
    m->ops->get(m, path, watch, watch_arg, done, arg);
}

void metastore_exists(struct metastore *m, struct slice path, metastore_watch_fn watch,
                      void *watch_arg, metastore_done_fn done, void *arg)
{
    m->ops->exists(m, path, watch, watch_arg, done, arg);
}

void metastore_children(struct metastore *m, struct slice path, metastore_watch_fn watch,
                        void *watch_arg, metastore_done_fn done, void *arg)
{
    m->ops->children(m, path, watch, watch_arg, done, arg);
}

void metastore_multi(struct metastore *m, const struct metastore_op *ops, int32_t op_count,
                     metastore_done_fn done, void *arg)
{
    CHECK(op_count >= 0);
    m->ops->multi(m, ops, op_count, done, arg);
}

int64_t metastore_session_id(const struct metastore *m)
{
    return m->session_id;
}

int64_t metastore_session_timeout_ms(const struct metastore *m)
{
    return m->timeout_ms;
}

void metastore_close(struct metastore *m)
{
    if (m != NULL) {
        m->ops->close(m);
    }
}

void metastore_abandon(struct metastore *m)
{
    if (m != NULL) {
        m->ops->abandon(m);
    }
}
