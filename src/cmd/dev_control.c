/*
 * The serving side of the control socket, see dev_control.h. A request is its connection: it lives
 * until the connection has closed and, once its line was handed on, until it was answered.
 */
#include "cmd/dev_control.h"

#include "base/alloc.h"
#include "base/check.h"

#include <stdlib.h>

#define REQUESTS_MAX 64 /* further connections are closed at once */

struct cmd_dev_control {
    struct env *env;
    struct env_listener *listener;
    struct list requests;
    char *path;
    cmd_dev_request_fn on_request;
    void *arg;
};

enum request_state {
    REQUEST_READING,
    REQUEST_ASKED, /* with the owner, who answers */
    REQUEST_ANSWERING,
};

struct cmd_dev_request {
    struct list_node link;           /* in control->requests */
    struct cmd_dev_control *control; /* NULL: freed */
    struct env_conn *conn;           /* NULL: closed */
    enum request_state state;
    char line[CMD_DEV_CONTROL_LINE_MAX];
    size_t line_len;
    struct buf answer;
    size_t sent;
};

static void request_free(struct cmd_dev_request *r)
{
    if (r->control != NULL) {
        list_remove(&r->control->requests, &r->link);
    }
    buf_deinit(&r->answer);
    free(r);
}

static void request_readable(struct env_conn *conn, void *arg)
{
    struct cmd_dev_request *r = arg;
    char bytes[CMD_DEV_CONTROL_LINE_MAX];
    int64_t len = env_conn_read(conn, bytes, sizeof bytes);
    if (len <= 0 || r->state != REQUEST_READING) {
        return; /* the end is told by closed; what follows the line does not count */
    }
    size_t taken = MIN((size_t)len, sizeof r->line - r->line_len);
    memcpy(r->line + r->line_len, bytes, taken);
    r->line_len += taken;
    const char *end = memchr(r->line, '\n', r->line_len);
    if (end != NULL && r->control != NULL) {
        r->state = REQUEST_ASKED;
        r->control->on_request(r->control->arg, r, slice_of(r->line, (size_t)(end - r->line)));
    } else if (r->line_len == sizeof r->line || r->control == NULL) {
        env_conn_close(conn);
    }
}

static void request_writable(struct env_conn *conn, void *arg)
{
    struct cmd_dev_request *r = arg;
    struct iovec iov = {.iov_base = r->answer.ptr + r->sent, .iov_len = r->answer.len - r->sent};
    int64_t len = env_conn_writev(conn, &iov, 1);
    if (len > 0) {
        r->sent += (size_t)len;
    }
    if (r->sent == r->answer.len) {
        env_conn_close(conn);
    }
}

static void request_closed(struct env_conn *conn, void *arg, int err)
{
    (void)conn;
    (void)err; /* a client that went away has no use for it */
    struct cmd_dev_request *r = arg;
    r->conn = NULL;
    if (r->state != REQUEST_ASKED) {
        request_free(r);
    }
}

static const struct env_conn_handler request_handler = {
    .readable = request_readable, .writable = request_writable, .closed = request_closed};

static void control_accept(void *arg, struct env_conn *conn)
{
    struct cmd_dev_control *c = arg;
    if (c->requests.count >= REQUESTS_MAX) {
        env_conn_close(conn);
        return;
    }
    struct cmd_dev_request *r = xalloc(sizeof *r);
    r->control = c;
    r->conn = conn;
    buf_init(&r->answer);
    list_push_back(&c->requests, &r->link);
    env_conn_set_handler(conn, &request_handler, r);
}

void cmd_dev_request_answer(struct cmd_dev_request *r, bool is_done, struct slice text)
{
    CHECK(r->state == REQUEST_ASKED);
    r->state = REQUEST_ANSWERING;
    if (r->conn == NULL) {
        request_free(r);
        return;
    }
    buf_put_str(&r->answer, is_done ? "0\n" : "1\n");
    buf_put_slice(&r->answer, text);
    env_conn_want_write(r->conn, true);
}

int cmd_dev_control_new(struct env *env, const char *directory, cmd_dev_request_fn on_request,
                        void *arg, struct cmd_dev_control **ret_control, struct errmsg *em)
{
    struct cmd_dev_control *c = xalloc(sizeof *c);
    c->env = env;
    c->on_request = on_request;
    c->arg = arg;
    c->path = xasprintf("%s/" CMD_DEV_CONTROL_FILE, directory);
    list_init(&c->requests);
    int err = 0;
    if (strlen(c->path) > ENV_UNIX_PATH_MAX) {
        err = errmsg_set(em, E_TOO_LARGE, "%s: the path of a socket has at most %d bytes", c->path,
                         ENV_UNIX_PATH_MAX);
    }
    if (err == 0) {
        err = env_unlink(env, c->path);
        err = err == -E_NOT_FOUND ? 0 : err;
        if (err != 0) {
            (void)errmsg_set(em, E_IO, "%s: cannot be replaced: %s", c->path, error_name(err));
        }
    }
    if (err == 0) {
        char *host = xasprintf(ENV_UNIX_PREFIX "%s", c->path);
        err = env_listen(env, host, 0, control_accept, c, &c->listener, em);
        free(host);
    }
    if (err != 0) {
        cmd_dev_control_free(c);
        return err;
    }
    *ret_control = c;
    return 0;
}

void cmd_dev_control_free(struct cmd_dev_control *c)
{
    if (c == NULL) {
        return;
    }
    if (c->listener != NULL) {
        env_listener_close(c->listener);
        int err = env_unlink(c->env, c->path);
        (void)err; /* the next start replaces it */
    }
    struct list_node *at;
    while ((at = list_pop(&c->requests)) != NULL) {
        struct cmd_dev_request *r = CONTAINER_OF(at, struct cmd_dev_request, link);
        r->control = NULL;
        if (r->state == REQUEST_READING) {
            env_conn_close(r->conn);
        }
    }
    free(c->path);
    free(c);
}
