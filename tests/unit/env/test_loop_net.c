/*
 * Sockets of the real loop: an echo server and clients on one loop, over 127.0.0.1.
 * Each test runs until its condition holds; a watchdog timer ends one that hangs.
 */
#include "env/loop.h"

#include "base/alloc.h"

#include <setjmp.h>
#include <stdarg.h>

#include <arpa/inet.h>
#include <cmocka.h>
#include <netinet/in.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#define WATCHDOG_MS 20000

struct fixture {
    struct env *env;
    struct env_timer watchdog;
    struct env_listener *listener;
    struct env_conn *accepted; /* the latest */
    int accepted_count;
    int closed_count; /* accepted connections that ended */
    int last_err;
    int stop_after_closed; /* stops the loop when closed_count gets here */
    bool closes_at_once;
    bool is_late;
};

static void on_watchdog(void *arg)
{
    struct fixture *f = arg;
    f->is_late = true;
    loop_stop(f->env);
}

static void echo_readable(struct env_conn *c, void *arg)
{
    (void)arg;
    char bytes[4096];
    int64_t got = env_conn_read(c, bytes, sizeof bytes);
    if (got > 0) {
        struct iovec iov = {.iov_base = bytes, .iov_len = (size_t)got};
        assert_int_equal(env_conn_writev(c, &iov, 1), got);
    }
}

static void echo_closed(struct env_conn *c, void *arg, int err)
{
    struct fixture *f = arg;
    f->last_err = err;
    f->accepted = f->accepted == c ? NULL : f->accepted;
    if (++f->closed_count == f->stop_after_closed) {
        loop_stop(f->env);
    }
}

static const struct env_conn_handler echo = {.readable = echo_readable, .closed = echo_closed};

static void on_accept(void *arg, struct env_conn *c)
{
    struct fixture *f = arg;
    f->accepted_count++;
    if (f->closes_at_once) {
        env_conn_close(c);
        return;
    }
    f->accepted = c;
    env_conn_set_handler(c, &echo, f);
}

static int setup(void **state)
{
    struct fixture *f = xalloc(sizeof *f);
    struct errmsg em;
    f->env = loop_new(&(struct loop_config){.name = "test"}, &em);
    assert_non_null(f->env);
    env_timer_init(&f->watchdog, f->env, on_watchdog, f);
    assert_int_equal(env_listen(f->env, "127.0.0.1", 0, on_accept, f, &f->listener, &em), 0);
    assert_true(env_listener_port(f->listener) > 0);
    *state = f;
    return 0;
}

static int teardown(void **state)
{
    struct fixture *f = *state;
    env_listener_close(f->listener);
    loop_free(f->env);
    free(f);
    return 0;
}

static void run(struct fixture *f)
{
    env_timer_start(&f->watchdog, WATCHDOG_MS);
    loop_run(f->env);
    env_timer_stop(&f->watchdog);
    assert_false(f->is_late);
}

/* ---- a client that says something and collects what comes back ---- */

struct client {
    struct fixture *fixture;
    const char *say;
    char heard[64];
    size_t heard_len;
    int connected;
    int closed;
    int err;
    bool closes_when_heard;
    bool stops_when_closed;
};

static void client_connected(struct env_conn *c, void *arg)
{
    struct client *client = arg;
    client->connected++;
    struct iovec iov = {.iov_base = client->heard, .iov_len = strlen(client->say)};
    memcpy(client->heard, client->say, iov.iov_len);
    assert_int_equal(env_conn_writev(c, &iov, 1), iov.iov_len);
    memset(client->heard, 0, sizeof client->heard);
}

static void client_readable(struct env_conn *c, void *arg)
{
    struct client *client = arg;
    int64_t got = env_conn_read(c, client->heard + client->heard_len,
                                sizeof client->heard - client->heard_len);
    if (got > 0) {
        client->heard_len += (size_t)got;
        if (client->closes_when_heard && client->heard_len == strlen(client->say)) {
            env_conn_close(c);
            env_conn_close(c); /* idempotent */
            assert_int_equal(env_conn_read(c, client->heard, 1), -E_CLOSED);
        }
    }
}

static void client_closed(struct env_conn *c, void *arg, int err)
{
    (void)c;
    struct client *client = arg;
    client->closed++;
    client->err = err;
    if (client->stops_when_closed) {
        loop_stop(client->fixture->env);
    }
}

static const struct env_conn_handler client_handler = {
    .connected = client_connected, .readable = client_readable, .closed = client_closed};

static void connect_client(struct client *client, const char *host)
{
    struct fixture *f = client->fixture;
    (void)env_connect(f->env, host, env_listener_port(f->listener), &client_handler, client);
    assert_int_equal(client->connected + client->closed, 0); /* nothing from inside */
}

static void bytes_travel_both_ways(void **state)
{
    struct fixture *f = *state;
    struct client client = {.fixture = f, .say = "ping", .closes_when_heard = true};
    connect_client(&client, "127.0.0.1");
    f->stop_after_closed = 1;
    run(f);
    assert_string_equal(client.heard, "ping");
    assert_int_equal(client.connected, 1);
    assert_int_equal(client.closed, 1);
    assert_int_equal(client.err, 0);
    assert_int_equal(f->last_err, 0); /* an orderly end of the other side */
}

/* A file socket listens beside the fixture's port; a second listener on the same file is refused. */
static void file_sockets_carry_bytes_too(void **state)
{
    struct fixture *f = *state;
    char path[] = "/tmp/klamm-loop-XXXXXX";
    int fd = mkstemp(path);
    assert_true(fd >= 0);
    (void)close(fd);
    assert_int_equal(env_unlink(f->env, path), 0);
    char host[64];
    (void)snprintf(host, sizeof host, ENV_UNIX_PREFIX "%s", path);
    struct errmsg em;
    env_listener_close(f->listener);
    assert_int_equal(env_listen(f->env, host, 0, on_accept, f, &f->listener, &em), 0);
    struct env_listener *second = NULL;
    assert_int_equal(env_listen(f->env, host, 0, on_accept, f, &second, &em), -E_EXISTS);
    struct client client = {.fixture = f, .say = "ping", .closes_when_heard = true};
    connect_client(&client, host);
    f->stop_after_closed = 1;
    run(f);
    assert_string_equal(client.heard, "ping");
    assert_int_equal(env_unlink(f->env, path), 0);
    char long_host[200];
    memset(long_host, 'x', sizeof long_host - 1);
    long_host[sizeof long_host - 1] = '\0';
    memcpy(long_host, ENV_UNIX_PREFIX, strlen(ENV_UNIX_PREFIX));
    assert_int_equal(env_listen(f->env, long_host, 0, on_accept, f, &second, &em), -E_NOT_FOUND);
}

static void names_are_resolved(void **state)
{
    struct fixture *f = *state;
    struct client client = {.fixture = f, .say = "ping", .closes_when_heard = true};
    connect_client(&client, "localhost");
    f->stop_after_closed = 1;
    run(f);
    assert_string_equal(client.heard, "ping");
}

static void unknown_name_is_told_by_closed(void **state)
{
    struct fixture *f = *state;
    struct client client = {.fixture = f, .say = "", .stops_when_closed = true};
    connect_client(&client, "no such host");
    run(f);
    assert_int_equal(client.connected, 0);
    assert_int_equal(client.err, -E_NOT_FOUND);
}

static void refused_connection_is_told_by_closed(void **state)
{
    struct fixture *f = *state;
    struct errmsg em;
    struct env_listener *gone = NULL;
    assert_int_equal(env_listen(f->env, "127.0.0.1", 0, on_accept, f, &gone, &em), 0);
    uint16_t port = env_listener_port(gone);
    env_listener_close(gone);
    struct client client = {.fixture = f, .say = "", .stops_when_closed = true};
    (void)env_connect(f->env, "127.0.0.1", port, &client_handler, &client);
    run(f);
    assert_int_equal(client.connected, 0);
    assert_int_equal(client.closed, 1);
    assert_int_equal(client.err, -E_REFUSED);
}

static void port_in_use_is_an_error(void **state)
{
    struct fixture *f = *state;
    struct errmsg em;
    struct env_listener *second = NULL;
    int err =
        env_listen(f->env, "127.0.0.1", env_listener_port(f->listener), on_accept, f, &second, &em);
    assert_int_equal(err, -E_EXISTS);
    assert_null(second);
    assert_non_null(strstr(em.text, "cannot listen on 127.0.0.1:"));
}

static void accepted_connection_may_be_closed_at_once(void **state)
{
    struct fixture *f = *state;
    f->closes_at_once = true;
    struct client client = {.fixture = f, .say = "ping", .stops_when_closed = true};
    connect_client(&client, "127.0.0.1");
    run(f);
    assert_int_equal(client.closed, 1);
    assert_int_equal(f->accepted_count, 1);
}

static void closing_before_connected_is_told_once(void **state)
{
    struct fixture *f = *state;
    struct client client = {.fixture = f, .say = "", .stops_when_closed = true};
    struct env_conn *c =
        env_connect(f->env, "localhost", env_listener_port(f->listener), &client_handler, &client);
    env_conn_close(c);
    assert_int_equal(client.closed, 0);
    run(f);
    assert_int_equal(client.connected, 0);
    assert_int_equal(client.closed, 1);
    assert_int_equal(client.err, 0);
}

/* ---- interest and back-pressure ---- */

struct flood {
    struct fixture *fixture;
    struct env_conn *sender;
    struct env_conn *receiver;
    uint64_t sent;
    uint64_t received;
    bool is_blocked; /* the sender met -E_AGAIN */
};

#define FLOOD_BYTES ((uint64_t)32 << 20)

static uint8_t flood_bytes[65536];

static void flood_send(struct env_conn *c, void *arg)
{
    struct flood *flood = arg;
    while (flood->sent < FLOOD_BYTES) {
        struct iovec iov = {.iov_base = flood_bytes, .iov_len = sizeof flood_bytes};
        int64_t wrote = env_conn_writev(c, &iov, 1);
        if (wrote == -E_AGAIN) {
            env_conn_want_write(c, true);
            if (!flood->is_blocked) {
                flood->is_blocked = true;
                assert_int_equal(flood->received, 0); /* its reading was off until here */
                env_conn_want_read(flood->receiver, true);
            }
            return;
        }
        assert_true(wrote > 0);
        flood->sent += (uint64_t)wrote;
    }
    env_conn_close(c);
}

static void flood_receive(struct env_conn *c, void *arg)
{
    struct flood *flood = arg;
    uint8_t bytes[65536];
    int64_t got = env_conn_read(c, bytes, sizeof bytes);
    if (got > 0) {
        flood->received += (uint64_t)got;
    }
}

static void flood_closed(struct env_conn *c, void *arg, int err)
{
    struct flood *flood = arg;
    assert_int_equal(err, 0);
    if (c == flood->receiver) {
        loop_stop(flood->fixture->env);
    }
}

static const struct env_conn_handler flood_sender = {
    .readable = flood_receive, .writable = flood_send, .closed = flood_closed};
static const struct env_conn_handler flood_receiver = {.readable = flood_receive,
                                                       .closed = flood_closed};

static void on_accept_flood(void *arg, struct env_conn *c)
{
    struct flood *flood = arg;
    flood->receiver = c;
    env_conn_set_handler(c, &flood_receiver, flood);
    env_conn_want_read(c, false);
    env_conn_want_write(flood->sender, true);
}

static void reading_off_blocks_the_sender_and_on_lets_it_finish(void **state)
{
    struct fixture *f = *state;
    struct flood flood = {.fixture = f};
    struct env_listener *l = NULL;
    struct errmsg em;
    assert_int_equal(env_listen(f->env, "", 0, on_accept_flood, &flood, &l, &em), 0);
    flood.sender = env_connect(f->env, "127.0.0.1", env_listener_port(l), &flood_sender, &flood);
    run(f);
    assert_true(flood.is_blocked);
    assert_true(flood.sent >= FLOOD_BYTES);
    assert_int_equal(flood.received, flood.sent);
    env_listener_close(l);
}

/* ---- sendfile ---- */

struct file_sender {
    struct client client;
    struct env_file *file;
};

static void file_connected(struct env_conn *c, void *arg)
{
    struct file_sender *s = arg;
    s->client.connected++;
    assert_int_equal(env_conn_sendfile(c, s->file, 2, 4), 4);
    assert_int_equal(env_conn_sendfile(c, s->file, 100, 4), -E_TRUNCATED);
}

static const struct env_conn_handler file_handler = {
    .connected = file_connected, .readable = client_readable, .closed = client_closed};

static void sendfile_sends_a_range_and_names_a_short_file(void **state)
{
    struct fixture *f = *state;
    char path[] = "/tmp/klamm-sendfile-XXXXXX";
    char *dir = mkdtemp(path);
    assert_non_null(dir);
    char *name = xasprintf("%s/data", dir);
    struct file_sender s = {
        .client = {
            .fixture = f, .say = "cdef", .closes_when_heard = true, .stops_when_closed = true}};
    assert_int_equal(env_file_open(f->env, name, ENV_OPEN_WRITE | ENV_OPEN_CREATE, &s.file), 0);
    assert_int_equal(env_file_write(s.file, "abcdefgh", 8, 0), 0);
    (void)env_connect(f->env, "127.0.0.1", env_listener_port(f->listener), &file_handler, &s);
    run(f);
    assert_int_equal(s.client.connected, 1);
    env_file_unref(s.file);
    assert_int_equal(env_unlink(f->env, name), 0);
    assert_int_equal(env_rmdir(f->env, dir), 0);
    free(name);
}

/* ---- running out of descriptors ---- */

#define DESCRIPTORS_MAX 64
#define CONNECTIONS_MAX (DESCRIPTORS_MAX / 2)

static void stop(void *arg)
{
    struct fixture *f = arg;
    loop_stop(f->env);
}

static void on_accept_and_stop(void *arg, struct env_conn *c)
{
    struct fixture *f = arg;
    on_accept(arg, c);
    loop_stop(f->env);
}

/* The connection waits in the kernel's queue while no descriptor is left, and is taken afterwards. */
static void accepting_pauses_without_descriptors_and_resumes(void **state)
{
    struct fixture *f = *state;
    struct rlimit before;
    assert_int_equal(getrlimit(RLIMIT_NOFILE, &before), 0);
    struct env_listener *l = NULL;
    struct errmsg em;
    assert_int_equal(env_listen(f->env, "127.0.0.1", 0, on_accept_and_stop, f, &l, &em), 0);
    struct client client = {.fixture = f, .say = "x"};
    struct env_conn *c =
        env_connect(f->env, "127.0.0.1", env_listener_port(l), &client_handler, &client);
    struct rlimit few = {.rlim_cur = DESCRIPTORS_MAX, .rlim_max = before.rlim_max};
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &few), 0);
    int taken[DESCRIPTORS_MAX];
    int taken_count = 0;
    for (int fd = dup(0); fd >= 0; fd = dup(0)) {
        taken[taken_count++] = fd;
    }
    struct env_timer timer;
    env_timer_init(&timer, f->env, stop, f);
    env_timer_start(&timer, 30);
    run(f);
    assert_int_equal(client.connected, 1);
    assert_int_equal(f->accepted_count, 0);
    while (taken_count > 0) {
        assert_int_equal(close(taken[--taken_count]), 0);
    }
    run(f);
    assert_int_equal(f->accepted_count, 1);
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &before), 0);
    env_conn_close(c);
    env_listener_close(l);
    f->stop_after_closed = 1;
    run(f);
}

/* In a process of its own: connects CONNECTIONS_MAX times and once more, and ends with the number of the
 * first one that was closed. */
static void connect_many(uint16_t port)
{
    struct pollfd polls[CONNECTIONS_MAX + 1];
    struct sockaddr_in to = {
        .sin_family = AF_INET, .sin_port = htons(port), .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    for (int i = 0; i <= CONNECTIONS_MAX; i++) {
        polls[i] = (struct pollfd){.fd = socket(AF_INET, SOCK_STREAM, 0), .events = POLLIN};
        if (connect(polls[i].fd, (struct sockaddr *)&to, sizeof to) != 0) {
            _exit(255);
        }
    }
    int ready = poll(polls, CONNECTIONS_MAX + 1, WATCHDOG_MS);
    int first = 0;
    while (ready == 1 && polls[first].revents == 0) {
        first++;
    }
    _exit(ready == 1 ? first : 254);
}

/* Connections cannot take the descriptors that files need: half of all is never given to them. */
static void accepting_leaves_descriptors_to_files(void **state)
{
    struct fixture *f = *state;
    struct rlimit before;
    assert_int_equal(getrlimit(RLIMIT_NOFILE, &before), 0);
    pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        connect_many(env_listener_port(f->listener));
    }
    struct rlimit few = {.rlim_cur = DESCRIPTORS_MAX, .rlim_max = before.rlim_max};
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &few), 0);
    f->stop_after_closed = CONNECTIONS_MAX; /* with the other process */
    run(f);
    int status = 0;
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFEXITED(status));
    assert_int_equal(WEXITSTATUS(status), CONNECTIONS_MAX);
    assert_int_equal(f->accepted_count, CONNECTIONS_MAX);
    struct client late = {.fixture = f, .say = "x", .closes_when_heard = true};
    connect_client(&late, "127.0.0.1"); /* there is room again */
    f->stop_after_closed++;
    run(f);
    assert_string_equal(late.heard, "x");
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &before), 0);
}

/* ---- life ---- */

static void free_closes_live_sockets_without_calling(void **state)
{
    (void)state;
    struct fixture f = {0};
    struct errmsg em;
    f.env = loop_new(&(struct loop_config){.name = "dropped"}, &em);
    assert_non_null(f.env);
    assert_int_equal(env_listen(f.env, "127.0.0.1", 0, on_accept, &f, &f.listener, &em), 0);
    struct client clients[4];
    static const char *const hosts[] = {"127.0.0.1", "localhost", "127.0.0.1", "::1"};
    for (int i = 0; i < 4; i++) {
        clients[i] = (struct client){.fixture = &f, .say = "x"};
        connect_client(&clients[i], hosts[i]);
    }
    loop_free(f.env);
    for (int i = 0; i < 4; i++) {
        assert_int_equal(clients[i].connected + clients[i].closed, 0);
    }
    assert_int_equal(f.accepted_count, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(bytes_travel_both_ways, setup, teardown),
        cmocka_unit_test_setup_teardown(file_sockets_carry_bytes_too, setup, teardown),
        cmocka_unit_test_setup_teardown(names_are_resolved, setup, teardown),
        cmocka_unit_test_setup_teardown(unknown_name_is_told_by_closed, setup, teardown),
        cmocka_unit_test_setup_teardown(refused_connection_is_told_by_closed, setup, teardown),
        cmocka_unit_test_setup_teardown(port_in_use_is_an_error, setup, teardown),
        cmocka_unit_test_setup_teardown(accepted_connection_may_be_closed_at_once, setup, teardown),
        cmocka_unit_test_setup_teardown(closing_before_connected_is_told_once, setup, teardown),
        cmocka_unit_test_setup_teardown(reading_off_blocks_the_sender_and_on_lets_it_finish, setup,
                                        teardown),
        cmocka_unit_test_setup_teardown(sendfile_sends_a_range_and_names_a_short_file, setup,
                                        teardown),
        cmocka_unit_test_setup_teardown(accepting_leaves_descriptors_to_files, setup, teardown),
        cmocka_unit_test_setup_teardown(accepting_pauses_without_descriptors_and_resumes, setup,
                                        teardown),
        cmocka_unit_test(free_closes_live_sockets_without_calling),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
