/*
 * Names become addresses: the system's resolver on libuv's own threads, so that a name server that
 * does not answer holds up nobody but who asked.
 * Invariant: a lookup is in loop->lookups until it answers or is cancelled; a cancelled one calls
 * nobody, and its memory goes when libuv gives the request back. Runs on the loop's thread.
 */
#include "env/loop_private.h"

#include "base/alloc.h"

#include <arpa/inet.h>
#include <netdb.h>
#include <stdlib.h>

struct loop_lookup {
    struct env_lookup lookup;
    struct list_node link; /* in loop->lookups */
    env_resolve_fn fn;     /* NULL = cancelled */
    void *arg;
    uv_getaddrinfo_t request;
    struct env_timer refused; /* tells that libuv did not take the request */
};

static struct loop_lookup *lookup_of(struct env_lookup *l)
{
    return CONTAINER_OF(l, struct loop_lookup, lookup);
}

static void lookup_answer(struct loop_lookup *l, const struct slice *addresses, int32_t count)
{
    env_resolve_fn fn = l->fn;
    void *arg = l->arg;
    list_remove(&loop_of(l->lookup.env)->lookups, &l->link);
    free(l);
    if (fn != NULL) {
        fn(arg, addresses, count);
    }
}

/* False for a family that is no address of the internet. */
static bool address_print(const struct addrinfo *from, char text[INET6_ADDRSTRLEN])
{
    union {
        const struct sockaddr *any;
        const struct sockaddr_in *v4;
        const struct sockaddr_in6 *v6;
    } at = {.any = from->ai_addr};
    if (from->ai_family == AF_INET) {
        return inet_ntop(AF_INET, &at.v4->sin_addr, text, INET6_ADDRSTRLEN) != NULL;
    }
    return from->ai_family == AF_INET6 &&
           inet_ntop(AF_INET6, &at.v6->sin6_addr, text, INET6_ADDRSTRLEN) != NULL;
}

static void on_resolved(uv_getaddrinfo_t *request, int status, struct addrinfo *found)
{
    struct loop_lookup *l = request->data;
    char texts[ENV_ADDRESSES_MAX][INET6_ADDRSTRLEN];
    struct slice addresses[ENV_ADDRESSES_MAX];
    int32_t count = 0;
    const struct addrinfo *at = status == 0 ? found : NULL;
    for (; at != NULL && count < ENV_ADDRESSES_MAX; at = at->ai_next) {
        if (address_print(at, texts[count])) {
            addresses[count] = slice_str(texts[count]);
            count++;
        }
    }
    uv_freeaddrinfo(found);
    lookup_answer(l, addresses, count);
}

static void on_refused(void *arg)
{
    lookup_answer(arg, NULL, 0);
}

struct env_lookup *loop_resolve(struct env *env, const char *host, env_resolve_fn fn, void *arg)
{
    static const struct addrinfo hints = {.ai_family = AF_UNSPEC, .ai_socktype = SOCK_STREAM};
    struct loop *loop = loop_of(env);
    struct loop_lookup *l = xalloc(sizeof *l);
    l->lookup.env = env;
    l->fn = fn;
    l->arg = arg;
    l->request.data = l;
    env_timer_init(&l->refused, env, on_refused, l);
    list_push_back(&loop->lookups, &l->link);
    if (uv_getaddrinfo(&loop->uv, &l->request, on_resolved, host, NULL, &hints) != 0) {
        env_timer_start(&l->refused, 0); /* a name too long, or an empty one */
    }
    return &l->lookup;
}

void loop_resolve_cancel(struct env_lookup *lookup)
{
    struct loop_lookup *l = lookup_of(lookup);
    l->fn = NULL;
    if (env_timer_is_active(&l->refused)) {
        env_timer_stop(&l->refused);
        lookup_answer(l, NULL, 0);
    } else {
        (void)uv_cancel((uv_req_t *)&l->request); /* one that runs ends by itself */
    }
}

void loop_resolve_drop(struct loop *loop)
{
    struct list_node *n;
    struct list_node *tmp;
    list_foreach_safe (n, tmp, &loop->lookups) {
        loop_resolve_cancel(&CONTAINER_OF(n, struct loop_lookup, link)->lookup);
    }
}
