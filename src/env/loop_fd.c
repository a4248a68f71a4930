/*
 * Sockets that a library opened, watched by uv_poll for it. The library does the I/O and closes the
 * socket; a watch only tells readiness.
 * Invariant: a watch in loop->fd_watches has an open poll handle; once it is taken out nobody is
 * called, and its memory goes with the handle. Runs on the loop's thread.
 */
#include "env/loop_private.h"

#include "base/alloc.h"

#include <stdlib.h>
#include <sys/socket.h>

struct loop_fd_watch {
    struct env_fd_watch watch;
    struct list_node link; /* in loop->fd_watches */
    struct env_fd_interest interest;
    uv_poll_t poll;
};

static void on_ready(uv_poll_t *poll, int status, int ready)
{
    struct loop_fd_watch *w = poll->data;
    int events = 0;
    events |= status != 0 || (ready & UV_READABLE) != 0 ? ENV_FD_READABLE : 0;
    events |= status != 0 || (ready & UV_WRITABLE) != 0 ? ENV_FD_WRITABLE : 0;
    events &= w->interest.events;
    if (events != 0) {
        w->interest.fn(w->interest.arg, events);
    }
}

static void on_closed(uv_handle_t *handle)
{
    free(handle->data);
}

int loop_fd_watch(struct env *env, const struct env_fd_interest *interest,
                  struct env_fd_watch **ret_watch)
{
    struct loop *loop = loop_of(env);
    struct loop_fd_watch *w = xalloc(sizeof *w);
    w->watch.env = env;
    w->interest = *interest;
    int failed = uv_poll_init(&loop->uv, &w->poll, interest->fd);
    if (failed != 0) {
        free(w);
        return -(int)error_from_errno(-failed);
    }
    w->poll.data = w;
    list_push_back(&loop->fd_watches, &w->link);
    int wanted = (interest->events & ENV_FD_READABLE) != 0 ? UV_READABLE : 0;
    wanted |= (interest->events & ENV_FD_WRITABLE) != 0 ? UV_WRITABLE : 0;
    CHECK(uv_poll_start(&w->poll, wanted, on_ready) == 0);
    *ret_watch = &w->watch;
    return 0;
}

void loop_fd_unwatch(struct env_fd_watch *watch)
{
    struct loop_fd_watch *w = CONTAINER_OF(watch, struct loop_fd_watch, watch);
    list_remove(&loop_of(watch->env)->fd_watches, &w->link);
    uv_close((uv_handle_t *)&w->poll, on_closed);
}

void loop_fd_shut_down(struct env *env, int fd)
{
    (void)env;
    (void)shutdown(fd, SHUT_RDWR); /* one that is not connected has nothing to end */
}

void loop_fd_drop(struct loop *loop)
{
    struct list_node *n;
    while ((n = list_first(&loop->fd_watches)) != NULL) {
        loop_fd_unwatch(&CONTAINER_OF(n, struct loop_fd_watch, link)->watch);
    }
}
