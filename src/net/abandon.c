/*
 * A connection between its owner's end and its own: the handler that ignores everything. No state.
 * Runs on the connection's env.
 */
#include "net/abandon.h"

static void ignore(struct env_conn *c, void *arg)
{
    (void)c;
    (void)arg;
}

static void ignore_closed(struct env_conn *c, void *arg, int err)
{
    (void)c;
    (void)arg;
    (void)err;
}

static const struct env_conn_handler ignoring = {
    .connected = ignore, .readable = ignore, .writable = ignore, .closed = ignore_closed};

void net_abandon(struct env_conn *c)
{
    env_conn_set_handler(c, &ignoring, NULL);
    env_conn_close(c);
}
