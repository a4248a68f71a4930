/*
 * TCP and UNIX sockets through uv_poll: the loop tells readiness, the owner reads and writes.
 * Invariants: a conn's `closed` runs once, from the loop and last; its descriptor is closed when
 * closing begins, so the other side sees it at once; its memory goes after `closed`. Runs on the
 * loop's thread, but for name resolution, which libuv does on its own pool.
 */
#include "env/loop_private.h"

#include "base/alloc.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netdb.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/sendfile.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#define ACCEPT_BATCH    64  /* connections taken in one turn of the loop */
#define ACCEPT_PAUSE_MS 100 /* when the process has no descriptors left */
#define LISTEN_BACKLOG  1024
#define IOV_WRITE_MAX   1024 /* the kernel's IOV_MAX */

union address {
    struct sockaddr any;
    struct sockaddr_in v4;
    struct sockaddr_in6 v6;
    struct sockaddr_un local;
    struct sockaddr_storage storage;
};

enum conn_state {
    CONN_RESOLVING,
    CONN_CONNECTING,
    CONN_OPEN,
    CONN_CLOSING,
};

struct loop_conn {
    struct env_conn conn;
    struct list_node link; /* in loop->conns */
    enum conn_state state;
    int fd;          /* -1 = none */
    bool is_counted; /* in accepted_count, while it has fd */
    int err;         /* what closed will tell */
    int events;      /* what poll is started for */
    bool has_poll;
    bool is_resolving; /* lookup is with libuv */
    uv_poll_t poll;
    uv_getaddrinfo_t lookup;
    uint16_t port;
    struct env_timer end; /* tells closed where no uv handle can */
};

struct loop_listener {
    struct env_listener listener;
    struct list_node link; /* in loop->listeners */
    int fd;
    bool is_closing;
    bool is_loopback;
    uv_poll_t poll;
    env_accept_fn on_accept;
    void *arg;
    struct env_timer resume;
};

/* Open connections that this process accepted, on all loops; atomic, only a bound. */
static int64_t accepted_count;

static struct loop_conn *conn_of(struct env_conn *c)
{
    return CONTAINER_OF(c, struct loop_conn, conn);
}

/* ---- addresses and options ---- */

static bool address_is_local(const union address *a)
{
    return a->any.sa_family == AF_UNIX;
}

static socklen_t address_len(const union address *a)
{
    if (address_is_local(a)) {
        return sizeof a->local;
    }
    return a->any.sa_family == AF_INET6 ? sizeof a->v6 : sizeof a->v4;
}

static bool address_is_loopback(const union address *a)
{
    if (a->any.sa_family == AF_INET6) {
        return IN6_IS_ADDR_LOOPBACK(&a->v6.sin6_addr);
    }
    return !address_is_local(a) && ntohl(a->v4.sin_addr.s_addr) >> 24 == 127;
}

static uint16_t address_port(const union address *a)
{
    if (address_is_local(a)) {
        return 0;
    }
    return ntohs(a->any.sa_family == AF_INET6 ? a->v6.sin6_port : a->v4.sin_port);
}

/* True when host needs no resolver. An empty host is every address. */
static bool address_parse(const char *host, uint16_t port, union address *ret_address)
{
    static const char local[] = ENV_UNIX_PREFIX;
    union address a = {0};
    if (strncmp(host, local, sizeof local - 1) == 0) {
        const char *path = host + sizeof local - 1;
        _Static_assert(sizeof a.local.sun_path == ENV_UNIX_PATH_MAX + 1, "room for the NUL");
        if (strlen(path) > ENV_UNIX_PATH_MAX) {
            return false;
        }
        a.local.sun_family = AF_UNIX;
        memcpy(a.local.sun_path, path, strlen(path));
    } else if (host[0] == '\0' || inet_pton(AF_INET, host, &a.v4.sin_addr) == 1) {
        a.v4.sin_family = AF_INET;
        a.v4.sin_port = htons(port);
    } else if (inet_pton(AF_INET6, host, &a.v6.sin6_addr) == 1) {
        a.v6.sin6_family = AF_INET6;
        a.v6.sin6_port = htons(port);
    } else {
        return false;
    }
    *ret_address = a;
    return true;
}

/* Prefers IPv4: servers on "localhost" commonly listen there alone. */
static union address address_choose(const struct addrinfo *found, uint16_t port)
{
    CHECK(found != NULL);
    const struct addrinfo *best = found;
    for (const struct addrinfo *at = found; at != NULL; at = at->ai_next) {
        if (at->ai_family == AF_INET) {
            best = at;
            break;
        }
    }
    union address a = {0};
    memcpy(&a, best->ai_addr, MIN((size_t)best->ai_addrlen, sizeof a));
    if (a.any.sa_family == AF_INET6) {
        a.v6.sin6_port = htons(port);
    } else {
        a.v4.sin_port = htons(port);
    }
    return a;
}

static const struct addrinfo lookup_hints = {.ai_family = AF_UNSPEC, .ai_socktype = SOCK_STREAM};

static void address_format(const union address *a, char *text, size_t size)
{
    char host[INET6_ADDRSTRLEN] = "";
    if (address_is_local(a)) {
        (void)snprintf(text, size, "unix");
        return;
    }
    bool is_v6 = a->any.sa_family == AF_INET6;
    const void *raw = is_v6 ? (const void *)&a->v6.sin6_addr : (const void *)&a->v4.sin_addr;
    CHECK(inet_ntop(a->any.sa_family, raw, host, sizeof host) != NULL);
    (void)snprintf(text, size, is_v6 ? "[%s]:%u" : "%s:%u", host, address_port(a)); /* fits */
}

/* The system's choice may be made for long fat networks and costs several times the CPU on loopback.
 * Best effort: the connection works with any. */
static void use_congestion_control(const struct loop *loop, int fd)
{
    size_t len = strlen(loop->congestion_control);
    if (len > 0) {
        (void)setsockopt(fd, IPPROTO_TCP, TCP_CONGESTION, loop->congestion_control, (socklen_t)len);
    }
}

static void use_options(const struct loop *loop, int fd, bool is_loopback)
{
    int on = 1;
    (void)setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on); /* best effort */
    if (is_loopback) {
        use_congestion_control(loop, fd);
    }
}

/* ---- the end of a connection ---- */

static void conn_free(struct loop_conn *c)
{
    struct loop *loop = loop_of(c->conn.env);
    list_remove(&loop->conns, &c->link);
    free(c);
}

static void conn_end(struct loop_conn *c)
{
    CHECK(c->state == CONN_CLOSING && c->fd < 0);
    if (!loop_of(c->conn.env)->is_dying && c->conn.handler != NULL) {
        c->conn.handler->closed(&c->conn, c->conn.arg, c->err);
    }
    conn_free(c);
}

static void on_poll_closed(uv_handle_t *handle)
{
    conn_end(handle->data);
}

static void on_end(void *arg)
{
    conn_end(arg);
}

/* Begins the end; err is what closed tells. Does nothing when it has begun. */
static void conn_fail(struct loop_conn *c, int err)
{
    if (c->state == CONN_CLOSING) {
        return;
    }
    c->state = CONN_CLOSING;
    c->err = err;
    if (c->has_poll) {
        uv_close((uv_handle_t *)&c->poll, on_poll_closed);
    } else if (c->is_resolving) {
        (void)uv_cancel((uv_req_t *)&c->lookup); /* on_resolved comes in any case */
    } else {
        env_timer_start(&c->end, 0);
    }
    if (c->fd >= 0) {
        (void)close(c->fd); /* nobody is left to tell */
        c->fd = -1;
        (void)__atomic_fetch_sub(&accepted_count, c->is_counted, __ATOMIC_RELAXED);
    }
}

static int socket_code(int error_number)
{
    return -(int)error_from_errno(error_number);
}

/* The reason the kernel keeps for a socket that polls as broken. */
static int socket_error(int fd)
{
    int error_number = 0;
    socklen_t len = sizeof error_number;
    if (getsockopt(fd, SOL_SOCKET, SO_ERROR, &error_number, &len) != 0) {
        error_number = errno;
    }
    return error_number;
}

/* ---- readiness ---- */

static void on_conn_poll(uv_poll_t *handle, int status, int events);

static void conn_poll_update(struct loop_conn *c)
{
    int events = 0;
    if (c->state == CONN_CONNECTING) {
        events = UV_WRITABLE;
    } else if (c->state == CONN_OPEN) {
        events = (c->conn.wants_read ? UV_READABLE : 0) | (c->conn.wants_write ? UV_WRITABLE : 0);
    } else {
        return;
    }
    if (events == c->events) {
        return;
    }
    c->events = events;
    int failed =
        events == 0 ? uv_poll_stop(&c->poll) : uv_poll_start(&c->poll, events, on_conn_poll);
    CHECKF(failed == 0, "uv_poll: %s", uv_strerror(failed));
}

static void on_connected(struct loop_conn *c)
{
    int error_number = socket_error(c->fd);
    if (error_number != 0) {
        conn_fail(c, socket_code(error_number));
        return;
    }
    c->state = CONN_OPEN;
    conn_poll_update(c);
    if (c->conn.handler->connected != NULL) {
        c->conn.handler->connected(&c->conn, c->conn.arg);
    }
}

static void on_conn_poll(uv_poll_t *handle, int status, int events)
{
    struct loop_conn *c = handle->data;
    if (status < 0) {
        int error_number = socket_error(c->fd);
        conn_fail(c, error_number == 0 ? -E_CLOSED : socket_code(error_number));
        return;
    }
    if (c->state == CONN_CONNECTING) {
        on_connected(c);
        return;
    }
    if ((events & UV_READABLE) != 0 && c->state == CONN_OPEN && c->conn.wants_read) {
        c->conn.handler->readable(&c->conn, c->conn.arg);
    }
    if ((events & UV_WRITABLE) != 0 && c->state == CONN_OPEN && c->conn.wants_write) {
        c->conn.handler->writable(&c->conn, c->conn.arg);
    }
}

static struct loop_conn *conn_new(struct loop *loop, const struct env_conn_handler *handler,
                                  void *arg)
{
    struct loop_conn *c = xalloc(sizeof *c);
    c->conn =
        (struct env_conn){.env = &loop->env, .handler = handler, .arg = arg, .wants_read = true};
    c->fd = -1;
    env_timer_init(&c->end, &loop->env, on_end, c);
    list_push_back(&loop->conns, &c->link);
    return c;
}

/* Takes fd over. 0 or -E_...; on failure fd is closed. */
static int conn_adopt(struct loop_conn *c, int fd)
{
    struct loop *loop = loop_of(c->conn.env);
    int failed = uv_poll_init(&loop->uv, &c->poll, fd);
    if (failed != 0) {
        (void)close(fd); /* unused */
        return socket_code(-failed);
    }
    c->poll.data = c;
    c->has_poll = true;
    c->fd = fd;
    return 0;
}

/* ---- connecting ---- */

static void connect_to(struct loop_conn *c, const union address *a)
{
    struct loop *loop = loop_of(c->conn.env);
    int fd = socket(a->any.sa_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    if (fd < 0) {
        conn_fail(c, socket_code(errno));
        return;
    }
    use_options(loop, fd, address_is_loopback(a));
    int err = conn_adopt(c, fd);
    if (err != 0) {
        conn_fail(c, err);
        return;
    }
    int failed = connect(fd, &a->any, address_len(a)) != 0 ? errno : 0;
    if (failed != 0 && failed != EINPROGRESS && failed != EINTR) {
        conn_fail(c, socket_code(failed));
        return;
    }
    c->state = CONN_CONNECTING; /* also when it is done: connected comes from the loop */
    conn_poll_update(c);
}

static void on_resolved(uv_getaddrinfo_t *lookup, int status, struct addrinfo *found)
{
    struct loop_conn *c = lookup->data;
    c->is_resolving = false;
    if (c->state == CONN_CLOSING) {
        conn_end(c);
    } else if (status != 0 || found == NULL) {
        conn_fail(c, -E_NOT_FOUND);
    } else {
        union address a = address_choose(found, c->port);
        connect_to(c, &a);
    }
    uv_freeaddrinfo(found);
}

struct env_conn *loop_connect(struct env *env, const char *host, uint16_t port,
                              const struct env_conn_handler *handler, void *arg)
{
    struct loop *loop = loop_of(env);
    struct loop_conn *c = conn_new(loop, handler, arg);
    (void)snprintf(c->conn.peer, sizeof c->conn.peer, "%.56s:%u", host,
                   port); /* a long name is cut */
    c->port = port;
    union address a;
    if (address_parse(host, port, &a)) {
        connect_to(c, &a);
        return &c->conn;
    }
    c->state = CONN_RESOLVING;
    c->lookup.data = c;
    int failed = uv_getaddrinfo(&loop->uv, &c->lookup, on_resolved, host, NULL, &lookup_hints);
    c->is_resolving = failed == 0;
    if (failed != 0) {
        conn_fail(c, -E_NOT_FOUND);
    }
    return &c->conn;
}

/* ---- accepting ---- */

static void on_listener_poll(uv_poll_t *handle, int status, int events);

static void listener_start(struct loop_listener *l)
{
    CHECK(uv_poll_start(&l->poll, UV_READABLE, on_listener_poll) == 0);
}

static void on_resume(void *arg)
{
    listener_start(arg);
}

/* Whether one more connection would take what is left to files. Commands of this machine are served all
 * the same. */
static bool is_one_too_many(const union address *from)
{
    struct rlimit limit;
    if (from->any.sa_family == AF_UNIX || getrlimit(RLIMIT_NOFILE, &limit) != 0) {
        return false;
    }
    int64_t most = (int64_t)(limit.rlim_cur - loop_files_share(limit.rlim_cur));
    return __atomic_load_n(&accepted_count, __ATOMIC_RELAXED) >= most;
}

static void listener_take(struct loop_listener *l, int fd, const union address *from)
{
    struct loop *loop = loop_of(l->listener.env);
    if (!l->is_loopback && address_is_loopback(from)) {
        use_congestion_control(loop, fd); /* otherwise it was inherited */
    }
    struct loop_conn *c = conn_new(loop, NULL, NULL);
    address_format(from, c->conn.peer, sizeof c->conn.peer);
    if (conn_adopt(c, fd) != 0) {
        conn_free(c);
        return;
    }
    c->state = CONN_OPEN;
    c->is_counted = true;
    (void)__atomic_fetch_add(&accepted_count, 1, __ATOMIC_RELAXED);
    l->on_accept(l->arg, &c->conn);
    CHECK(c->conn.handler != NULL || c->state == CONN_CLOSING);
    conn_poll_update(c);
}

static void on_listener_poll(uv_poll_t *handle, int status, int events)
{
    struct loop_listener *l = handle->data;
    (void)events;
    for (int i = 0; i < ACCEPT_BATCH && status == 0 && !l->is_closing; i++) {
        union address from = {0};
        socklen_t len = sizeof from;
        int fd = accept4(l->fd, &from.any, &len, SOCK_NONBLOCK | SOCK_CLOEXEC);
        if (fd >= 0 && is_one_too_many(&from)) {
            (void)close(fd); /* nothing was said yet */
        } else if (fd >= 0) {
            listener_take(l, fd, &from);
        } else if (errno == EAGAIN) {
            return;
        } else if (errno == EMFILE || errno == ENFILE || errno == ENOBUFS || errno == ENOMEM) {
            /* The socket stays readable: without a pause this would spin. */
            CHECK(uv_poll_stop(&l->poll) == 0);
            env_timer_start(&l->resume, ACCEPT_PAUSE_MS);
            return;
        } /* any other error belongs to the one connection that was not to be */
    }
}

static int listen_resolve(const char *host, uint16_t port, union address *ret_address,
                          struct errmsg *em)
{
    if (address_parse(host, port, ret_address)) {
        return 0;
    }
    struct addrinfo *found = NULL;
    int failed = getaddrinfo(host, NULL, &lookup_hints, &found);
    if (failed != 0 || found == NULL) {
        return errmsg_set(em, E_NOT_FOUND, "cannot resolve %s: %s", host, gai_strerror(failed));
    }
    *ret_address = address_choose(found, port);
    freeaddrinfo(found);
    return 0;
}

/* A listening socket at `a`, which afterwards holds the port in use. */
static int listen_open(const struct loop *loop, union address *a, int *ret_fd)
{
    int fd = socket(a->any.sa_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    if (fd < 0) {
        return errno;
    }
    int on = 1;
    socklen_t len = sizeof *a;
    use_options(loop, fd, address_is_loopback(a));
    if (setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on) != 0 ||
        bind(fd, &a->any, address_len(a)) != 0 || listen(fd, LISTEN_BACKLOG) != 0 ||
        getsockname(fd, &a->any, &len) != 0) {
        int error_number = errno;
        (void)close(fd); /* unused */
        return error_number;
    }
    *ret_fd = fd;
    return 0;
}

/* tidy: long: host and port are one address. */
int loop_listen(struct env *env, const char *host, uint16_t port, env_accept_fn on_accept,
                void *arg, struct env_listener **ret_listener, struct errmsg *em)
{
    struct loop *loop = loop_of(env);
    union address a = {0};
    int err = listen_resolve(host, port, &a, em);
    if (err != 0) {
        return err;
    }
    int fd = -1;
    int failed = listen_open(loop, &a, &fd);
    if (failed != 0) {
        enum error code = failed == EADDRINUSE ? E_EXISTS : error_from_errno(failed);
        return errmsg_set(em, code, "cannot listen on %s:%u: %s", host, port, uv_strerror(-failed));
    }
    struct loop_listener *l = xalloc(sizeof *l);
    l->listener = (struct env_listener){.env = env, .port = address_port(&a)};
    l->fd = fd;
    l->is_loopback = address_is_loopback(&a);
    l->on_accept = on_accept;
    l->arg = arg;
    env_timer_init(&l->resume, env, on_resume, l);
    CHECK(uv_poll_init(&loop->uv, &l->poll, fd) == 0);
    l->poll.data = l;
    list_push_back(&loop->listeners, &l->link);
    listener_start(l);
    *ret_listener = &l->listener;
    return 0;
}

static void on_listener_closed(uv_handle_t *handle)
{
    struct loop_listener *l = handle->data;
    list_remove(&loop_of(l->listener.env)->listeners, &l->link);
    free(l);
}

void loop_listener_close(struct env_listener *listener)
{
    struct loop_listener *l = CONTAINER_OF(listener, struct loop_listener, listener);
    CHECK(!l->is_closing);
    l->is_closing = true;
    env_timer_stop(&l->resume);
    uv_close((uv_handle_t *)&l->poll, on_listener_closed);
    (void)close(l->fd); /* nothing to lose */
}

/* ---- moving bytes ---- */

/* What a failed call means; anything but -E_AGAIN begins the end of the connection. */
static int64_t conn_io_failed(struct loop_conn *c, int error_number)
{
    if (error_number == EAGAIN || error_number == EINTR) {
        return -E_AGAIN;
    }
    int err = socket_code(error_number);
    conn_fail(c, err);
    return err;
}

int64_t loop_conn_read(struct env_conn *conn, void *ptr, size_t len)
{
    struct loop_conn *c = conn_of(conn);
    if (c->state != CONN_OPEN) {
        return c->state == CONN_CLOSING ? -E_CLOSED : -E_AGAIN;
    }
    ssize_t got = recv(c->fd, ptr, len, 0);
    if (got < 0) {
        return conn_io_failed(c, errno);
    }
    if (got == 0) {
        conn_fail(c, 0);
        return -E_CLOSED;
    }
    return got;
}

int64_t loop_conn_writev(struct env_conn *conn, const struct iovec *iov, int count)
{
    struct loop_conn *c = conn_of(conn);
    if (c->state != CONN_OPEN) {
        return c->state == CONN_CLOSING ? -E_CLOSED : -E_AGAIN;
    }
    union {
        const struct iovec *in;
        struct iovec *out;
    } vector = {.in = iov}; /* struct msghdr has no const form */
    struct msghdr message = {.msg_iov = vector.out,
                             .msg_iovlen = (size_t)MIN(count, IOV_WRITE_MAX)};
    ssize_t wrote = sendmsg(c->fd, &message, MSG_NOSIGNAL | (conn->has_more ? MSG_MORE : 0));
    return wrote < 0 ? conn_io_failed(c, errno) : wrote;
}

int64_t loop_conn_sendfile(struct env_conn *conn, struct env_file *f, uint64_t pos, size_t len)
{
    struct loop_conn *c = conn_of(conn);
    if (c->state != CONN_OPEN) {
        return c->state == CONN_CLOSING ? -E_CLOSED : -E_AGAIN;
    }
    off_t at = (off_t)pos;
    ssize_t sent = sendfile(c->fd, loop_file_fd(f), &at, len);
    if (sent < 0) {
        return conn_io_failed(c, errno);
    }
    return sent == 0 ? -E_TRUNCATED : sent;
}

void loop_conn_interest(struct env_conn *c)
{
    conn_poll_update(conn_of(c));
}

void loop_conn_close(struct env_conn *c)
{
    conn_fail(conn_of(c), 0);
}

void loop_net_drop(struct loop *loop)
{
    struct list_node *n;
    struct list_node *tmp;
    list_foreach_safe (n, tmp, &loop->listeners) {
        struct loop_listener *l = CONTAINER_OF(n, struct loop_listener, link);
        if (!l->is_closing) {
            loop_listener_close(&l->listener);
        }
    }
    list_foreach_safe (n, tmp, &loop->conns) {
        struct loop_conn *c = CONTAINER_OF(n, struct loop_conn, link);
        conn_fail(c, 0);
        if (!c->has_poll && !c->is_resolving) {
            env_timer_stop(&c->end);
            conn_end(c);
        }
    }
}
