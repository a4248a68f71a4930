/*
 * See server.h. libmicrohttpd keeps its sockets in an epoll set of its own; the env watches that set and
 * its next time-out, and lets the library run when either is due. A connection whose question is out is
 * suspended: the library forgets it until the answer resumes it.
 *
 * Invariant: a question is freed when both who was asked and the connection have let go of it.
 */
#include "http/server.h"

#include "base/alloc.h"
#include "base/check.h"
#include "base/list.h"
#include "env/env.h"

#include <arpa/inet.h>
#include <microhttpd.h>
#include <stdio.h>
#include <stdlib.h>

#define CONNECTION_BYTES ((size_t)16 << 10) /* request line and headers of one connection */
#define SWEEP_MS         250                /* how often overdue ones are looked for */
#define INTERNAL_ERROR   MHD_HTTP_INTERNAL_SERVER_ERROR

struct http_server {
    struct http_config config;
    struct MHD_Daemon *daemon;
    struct env *env; /* NULL until run */
    struct env_fd_watch *watch;
    struct env_timer due;   /* the library has something to do */
    struct env_timer sweep; /* while there are connections */
    bool has_room;          /* a connection went: one that was not accepted may be waiting */
    bool is_ending;         /* nobody is asked any more */
    struct list connections;
    struct list questions; /* out, in order of due_ms */
    struct errmsg said;    /* the last complaint of the library */
};

/* Beside each connection of the library. */
struct connection {
    struct list_node link; /* http_server.connections */
    int fd;
    int64_t since_ms; /* accepted */
};

struct http_question {
    struct list_node link;             /* http_server.questions while it is out */
    struct http_server *server;        /* NULL once that is gone */
    struct MHD_Connection *connection; /* NULL once that is gone */
    enum http_page page;
    int64_t due_ms;
    bool is_out;
    unsigned code; /* of the answer; 0 = there is none yet */
    struct buf body;
};

static const struct {
    const char *path;
    enum http_page page;
    const char *type;
} pages[] = {
    {"/metrics", HTTP_METRICS, "text/plain; version=0.0.4; charset=utf-8"},
    {"/healthz", HTTP_HEALTH, "text/plain; charset=utf-8"},
    {"/status", HTTP_STATUS, "application/json"},
};

/* ---- answers ---- */

static bool add_header(struct MHD_Response *response, const char *name, const char *value)
{
    return MHD_add_response_header(response, name, value) == MHD_YES;
}

/* Takes body. */
static enum MHD_Result send_body(struct MHD_Connection *c, unsigned code, const char *type,
                                 struct buf *body)
{
    struct MHD_Response *response =
        MHD_create_response_from_buffer(body->len, body->ptr, MHD_RESPMEM_MUST_FREE);
    if (response == NULL) {
        buf_deinit(body);
        return MHD_NO; /* closes the connection */
    }
    buf_init(body); /* its memory goes with the response */
    bool is_whole = add_header(response, MHD_HTTP_HEADER_CONTENT_TYPE, type) &&
                    add_header(response, MHD_HTTP_HEADER_CACHE_CONTROL, "no-store") &&
                    add_header(response, MHD_HTTP_HEADER_CONNECTION, "close");
    if (is_whole && code == MHD_HTTP_METHOD_NOT_ALLOWED) {
        is_whole = add_header(response, MHD_HTTP_HEADER_ALLOW, "GET, HEAD");
    }
    if (!is_whole) {
        code = INTERNAL_ERROR; /* no memory */
    }
    enum MHD_Result result = MHD_queue_response(c, code, response);
    MHD_destroy_response(response);
    return result;
}

static enum MHD_Result send_text(struct MHD_Connection *c, unsigned code, const char *text)
{
    struct buf body;
    buf_init(&body);
    buf_put_str(&body, text);
    return send_body(c, code, pages[HTTP_HEALTH].type, &body);
}

static enum MHD_Result send_answer(struct http_question *q, struct MHD_Connection *c)
{
    return send_body(c, q->code, pages[q->page].type, &q->body);
}

/* ---- questions ---- */

static void question_let_go(struct http_question *q)
{
    if (!q->is_out && q->connection == NULL) {
        buf_deinit(&q->body);
        free(q);
    }
}

static void run_soon(struct http_server *s)
{
    env_timer_start(&s->due, 0);
}

/* Takes body. */
static void question_settle(struct http_question *q, unsigned code, struct buf *body)
{
    q->code = buf_failed(body) ? INTERNAL_ERROR : code;
    q->body = *body;
    buf_init(body);
    MHD_resume_connection(q->connection);
    run_soon(q->server);
}

void http_answer(struct http_question *q, enum http_code code, struct buf *body)
{
    CHECK(q->is_out);
    q->is_out = false;
    if (q->server != NULL) {
        list_remove(&q->server->questions, &q->link);
    }
    if (q->connection != NULL && q->code == 0) {
        question_settle(q, (unsigned)code, body);
    } else {
        buf_deinit(body); /* too late */
        buf_init(body);
    }
    question_let_go(q);
}

static void question_give_up(struct http_question *q)
{
    if (q->connection != NULL && q->code == 0) {
        struct buf body;
        buf_init(&body);
        buf_put_str(&body, "the broker does not answer\n");
        question_settle(q, HTTP_UNAVAILABLE, &body);
    }
}

static enum MHD_Result question_start(struct http_server *s, struct MHD_Connection *c,
                                      enum http_page page, void **ret_state)
{
    struct http_question *q = xalloc(sizeof *q);
    *q = (struct http_question){.server = s,
                                .connection = c,
                                .page = page,
                                .due_ms = env_now_ms(s->env) + s->config.answer_ms,
                                .is_out = true};
    buf_init(&q->body);
    list_push_back(&s->questions, &q->link);
    *ret_state = q;
    MHD_suspend_connection(c);
    s->config.ask(s->config.arg, q, page);
    return MHD_YES;
}

/* ---- requests ---- */

static bool has_body(struct MHD_Connection *c)
{
    const char *length =
        MHD_lookup_connection_value(c, MHD_HEADER_KIND, MHD_HTTP_HEADER_CONTENT_LENGTH);
    return (length != NULL && strcmp(length, "0") != 0) ||
           MHD_lookup_connection_value(c, MHD_HEADER_KIND, MHD_HTTP_HEADER_TRANSFER_ENCODING) !=
               NULL;
}

/* Called with the headers, and again when the connection was resumed. tidy: long: the library's form. */
static enum MHD_Result on_request(void *arg, struct MHD_Connection *c, const char *url,
                                  const char *method, const char *version, const char *upload,
                                  size_t *upload_len, void **state)
{
    struct http_server *s = arg;
    (void)version;
    (void)upload;
    (void)upload_len;
    if (*state != NULL) {
        return send_answer(*state, c);
    }
    if (strcmp(method, MHD_HTTP_METHOD_GET) != 0 && strcmp(method, MHD_HTTP_METHOD_HEAD) != 0) {
        return send_text(c, MHD_HTTP_METHOD_NOT_ALLOWED, "only GET and HEAD\n");
    }
    if (has_body(c)) {
        return send_text(c, MHD_HTTP_CONTENT_TOO_LARGE, "no body is taken\n");
    }
    for (size_t i = 0; i < ARRAY_LEN(pages); i++) {
        if (strcmp(url, pages[i].path) != 0) {
            continue;
        }
        if (s->is_ending) { /* the library aborts when it ends with a connection that waits */
            return send_text(c, HTTP_UNAVAILABLE, "the broker is ending\n");
        }
        return question_start(s, c, pages[i].page, state);
    }
    return send_text(c, MHD_HTTP_NOT_FOUND, "there are /metrics, /healthz and /status\n");
}

/* The exchange is over, one way or another. */
static void on_completed(void *arg, struct MHD_Connection *c, void **state,
                         enum MHD_RequestTerminationCode reason)
{
    struct http_question *q = *state;
    (void)arg;
    (void)c;
    (void)reason;
    if (q != NULL) {
        q->connection = NULL;
        *state = NULL;
        question_let_go(q);
    }
}

static void on_connection(void *arg, struct MHD_Connection *c, void **context,
                          enum MHD_ConnectionNotificationCode what)
{
    struct http_server *s = arg;
    struct connection *beside = *context;
    if (what == MHD_CONNECTION_NOTIFY_STARTED) {
        const union MHD_ConnectionInfo *info =
            MHD_get_connection_info(c, MHD_CONNECTION_INFO_CONNECTION_FD);
        beside = xalloc(sizeof *beside);
        beside->fd = info->connect_fd;
        beside->since_ms = env_now_ms(s->env);
        list_push_back(&s->connections, &beside->link);
        *context = beside;
        if (!env_timer_is_active(&s->sweep)) {
            env_timer_start(&s->sweep, SWEEP_MS);
        }
    } else if (beside != NULL) {
        list_remove(&s->connections, &beside->link);
        free(beside);
        *context = NULL;
        s->has_room = true;
    }
}

/* ---- driving the library ---- */

static void run(struct http_server *s)
{
    MHD_UNSIGNED_LONG_LONG timeout_ms;
    s->has_room = false;
    if (MHD_run(s->daemon) != MHD_YES) {
        env_timer_start(&s->due, SWEEP_MS);
    } else if (s->has_room) {
        run_soon(s); /* at its limit the library stops to listen, and looks again in its next run */
    } else if (MHD_get_timeout(s->daemon, &timeout_ms) == MHD_YES) {
        env_timer_start(&s->due, (int64_t)MIN(timeout_ms, (MHD_UNSIGNED_LONG_LONG)INT32_MAX));
    }
}

static void on_due(void *arg)
{
    run(arg);
}

static void on_ready(void *arg, int events)
{
    (void)events;
    run(arg);
}

/* Who is overdue: questions get an answer all the same, connections that dawdle are cut. */
static void on_sweep(void *arg)
{
    struct http_server *s = arg;
    int64_t now_ms = env_now_ms(s->env);
    struct list_node *node;
    list_foreach (node, &s->questions) {
        struct http_question *q = CONTAINER_OF(node, struct http_question, link);
        if (q->due_ms > now_ms) {
            break;
        }
        question_give_up(q);
    }
    list_foreach (node, &s->connections) {
        const struct connection *c = CONTAINER_OF(node, struct connection, link);
        if (now_ms - c->since_ms > s->config.exchange_ms) {
            env_fd_shut_down(s->env, c->fd); /* the library sees its end and closes it */
        }
    }
    if (!list_is_empty(&s->connections)) {
        env_timer_start(&s->sweep, SWEEP_MS);
    }
}

/* ---- life ---- */

static void on_said(void *arg, const char *format, va_list args) PRINTF_LIKE(2, 0);

static void on_said(void *arg, const char *format, va_list args)
{
    struct http_server *s = arg;
    (void)vsnprintf(s->said.text, sizeof s->said.text, format, args);
    s->said.text[strcspn(s->said.text, "\n")] = '\0';
}

union address {
    struct sockaddr any;
    struct sockaddr_in v4;
    struct sockaddr_in6 v6;
};

static bool address_parse(const char *host, uint16_t port, union address *ret)
{
    *ret = (union address){0};
    if (inet_pton(AF_INET, host, &ret->v4.sin_addr) == 1) {
        ret->v4.sin_family = AF_INET;
        ret->v4.sin_port = htons(port);
        return true;
    }
    if (inet_pton(AF_INET6, host, &ret->v6.sin6_addr) == 1) {
        ret->v6.sin6_family = AF_INET6;
        ret->v6.sin6_port = htons(port);
        return true;
    }
    return false;
}

bool http_host_is_literal(const char *host)
{
    union address address;
    return address_parse(host, 0, &address);
}

int http_server_open(const struct http_config *config, struct http_server **ret_server,
                     struct errmsg *em)
{
    union address address;
    if (!address_parse(config->host, config->port, &address)) {
        return errmsg_set(em, E_INVALID, "\"%.100s\" is no literal address", config->host);
    }
    struct http_server *s = xalloc(sizeof *s);
    s->config = *config;
    s->config.host = NULL;
    list_init(&s->connections);
    list_init(&s->questions);
    unsigned flags = MHD_USE_EPOLL | MHD_ALLOW_SUSPEND_RESUME | MHD_USE_ERROR_LOG;
    flags |= address.any.sa_family == AF_INET6 ? MHD_USE_IPv6 : 0;
    s->daemon = MHD_start_daemon(
        flags, config->port, NULL, NULL, on_request, s, MHD_OPTION_EXTERNAL_LOGGER, on_said, s,
        MHD_OPTION_SOCK_ADDR, &address.any, MHD_OPTION_CONNECTION_LIMIT,
        (unsigned)config->connections_max, MHD_OPTION_CONNECTION_MEMORY_LIMIT, CONNECTION_BYTES,
        MHD_OPTION_CONNECTION_TIMEOUT, (unsigned)config->idle_s, MHD_OPTION_NOTIFY_COMPLETED,
        on_completed, s, MHD_OPTION_NOTIFY_CONNECTION, on_connection, s,
        MHD_OPTION_STRICT_FOR_CLIENT, 1, MHD_OPTION_END);
    if (s->daemon == NULL) {
        (void)errmsg_set(em, E_SYSTEM, "HTTP at %s port %u: %s", config->host,
                         (unsigned)config->port,
                         s->said.text[0] == '\0' ? "cannot listen" : s->said.text);
        free(s);
        return -E_SYSTEM;
    }
    *ret_server = s;
    return 0;
}

uint16_t http_server_port(const struct http_server *s)
{
    const union MHD_DaemonInfo *info = MHD_get_daemon_info(s->daemon, MHD_DAEMON_INFO_BIND_PORT);
    return info == NULL ? 0 : info->port;
}

void http_server_run(struct http_server *s, struct env *env)
{
    const union MHD_DaemonInfo *info = MHD_get_daemon_info(s->daemon, MHD_DAEMON_INFO_EPOLL_FD);
    CHECK(s->env == NULL && info != NULL);
    s->env = env;
    env_timer_init(&s->due, env, on_due, s);
    env_timer_init(&s->sweep, env, on_sweep, s);
    struct env_fd_interest interest = {
        .fd = info->epoll_fd, .events = ENV_FD_READABLE, .fn = on_ready, .arg = s};
    int err = env_fd_watch(env, &interest, &s->watch);
    CHECK(err == 0); /* the set is ours and nobody watches it yet */
    run_soon(s);
}

void http_server_free(struct http_server *s)
{
    if (s == NULL) {
        return;
    }
    struct list_node *node;
    s->is_ending = true;
    while ((node = list_pop(&s->questions)) != NULL) {
        struct http_question *q = CONTAINER_OF(node, struct http_question, link);
        question_give_up(q);
        q->server = NULL;
    }
    if (s->env != NULL) {
        (void)MHD_run(
            s->daemon); /* the suspended ones wake up, as the library wants it before the end */
        env_timer_stop(&s->due);
        env_timer_stop(&s->sweep);
        env_fd_unwatch(s->watch);
    }
    MHD_stop_daemon(s->daemon);
    CHECK(list_is_empty(&s->connections));
    free(s);
}
