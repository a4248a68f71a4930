/*
 * The asking side of the control socket, see dev_control.h: connects, sends one line, collects the
 * answer until the other side closes. Runs on a loop of its own, on the caller's thread.
 */
#include "cmd/dev_control.h"

#include "base/alloc.h"
#include "env/loop.h"

#include <stdio.h>
#include <stdlib.h>

#define ANSWER_BYTES_MAX ((size_t)1 << 20)

struct ask {
    struct env *env;
    char *line; /* with its line feed */
    size_t sent;
    struct buf answer;
    bool is_connected;
};

static void ask_connected(struct env_conn *conn, void *arg)
{
    struct ask *ask = arg;
    ask->is_connected = true;
    env_conn_want_write(conn, true);
}

static void ask_writable(struct env_conn *conn, void *arg)
{
    struct ask *ask = arg;
    size_t len = strlen(ask->line);
    struct iovec iov = {.iov_base = ask->line + ask->sent, .iov_len = len - ask->sent};
    int64_t taken = env_conn_writev(conn, &iov, 1);
    if (taken > 0) {
        ask->sent += (size_t)taken;
    }
    env_conn_want_write(conn, ask->sent < len);
}

static void ask_readable(struct env_conn *conn, void *arg)
{
    struct ask *ask = arg;
    char bytes[4096];
    int64_t len = env_conn_read(conn, bytes, sizeof bytes);
    if (len > 0) {
        buf_put_bytes(&ask->answer, bytes, (size_t)len);
    }
}

static void ask_closed(struct env_conn *conn, void *arg, int err)
{
    (void)conn;
    (void)err; /* is_connected and the answer say enough */
    struct ask *ask = arg;
    loop_stop(ask->env);
}

static const struct env_conn_handler ask_handler = {.connected = ask_connected,
                                                    .readable = ask_readable,
                                                    .writable = ask_writable,
                                                    .closed = ask_closed};

/* Returns the exit status. */
static int ask_print(const struct ask *ask, const char *directory)
{
    if (!ask->is_connected) {
        (void)fprintf(stderr, "klamm dev: no cluster is running in %s\n", directory);
        return 1;
    }
    struct slice answer = buf_slice(&ask->answer);
    if (buf_failed(&ask->answer) || answer.len < 2 || answer.ptr[1] != '\n') {
        (void)fprintf(stderr, "klamm dev: the cluster in %s ended before it answered\n", directory);
        return 1;
    }
    bool is_done = answer.ptr[0] == '0';
    (void)fwrite(answer.ptr + 2, 1, answer.len - 2, is_done ? stdout : stderr);
    return is_done ? 0 : 1;
}

int cmd_dev_control_send(const char *directory, const char *line)
{
    struct errmsg em;
    struct ask ask = {0};
    ask.env = loop_new(&(struct loop_config){.name = "klamm"}, &em);
    if (ask.env == NULL) {
        (void)fprintf(stderr, "klamm dev: %s\n", em.text);
        return 1;
    }
    char *host = xasprintf(ENV_UNIX_PREFIX "%s/" CMD_DEV_CONTROL_FILE, directory);
    ask.line = xasprintf("%s\n", line);
    buf_init_max(&ask.answer, ANSWER_BYTES_MAX);
    (void)env_connect(ask.env, host, 0, &ask_handler, &ask);
    loop_run(ask.env);
    int code = ask_print(&ask, directory);
    loop_free(ask.env);
    buf_deinit(&ask.answer);
    free(ask.line);
    free(host);
    return code;
}
