/*
 * The server on a real loop, with raw clients over 127.0.0.1: order of answers, limits, memory, and
 * bytes that are no protocol. Requests are scripted by their first byte. Each test runs until its
 * condition holds; a watchdog timer ends one that hangs.
 */
#include "net/net.h"

#include "net/abandon.h"

#include "base/endian.h"
#include "env/loop.h"

#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>

#define WATCHDOG_MS 20000
#define PARKED_MAX  64
#define HEARD_MAX   (1 << 20)

struct fixture {
    struct env *env;
    struct env_timer watchdog;
    struct net_server *server;
    struct budget budget;
    struct env_file *file; /* what 'f' answers are sent from */
    struct net_request *parked[PARKED_MAX];
    int parked_count;
    int request_count;
    int orphan_count;
    int stop_after_requests; /* stops the loop when request_count gets here */
    int stop_after_orphans;
    bool parks_large; /* large frames wait until the test answers them */
    bool is_late;
};

/* ---- the server's side ---- */

static void answer(struct net_request *request, const char *text)
{
    struct buf body;
    buf_init(&body);
    buf_put_str(&body, text);
    net_respond(request, &body, NULL, 0);
}

static void answer_file(struct fixture *f, struct net_request *request, uint64_t pos, size_t len)
{
    struct buf body;
    buf_init(&body);
    buf_put_str(&body, "[");
    buf_put_gap(&body, len);
    buf_put_str(&body, "]");
    struct span span = {.kind = SPAN_FILE, .file = env_file_ref(f->file), .pos = pos, .len = len};
    net_respond(request, &body, &span, 1);
}

static void park(struct fixture *f, struct net_request *request)
{
    assert_true(f->parked_count < PARKED_MAX);
    f->parked[f->parked_count++] = request;
}

/* e: echo. p: park. n: no answer. c: close. f: file. t: file too short. L: large. */
static void on_request(void *arg, struct net_request *request)
{
    struct fixture *f = arg;
    char text[64];
    (void)snprintf(text, sizeof text, "%.*s", (int)MIN(request->frame->len, 20),
                   (const char *)request->frame->data);
    f->request_count++;
    switch (text[0]) {
    case 'p':
        park(f, request);
        break;
    case 'n':
        net_no_response(request);
        break;
    case 'c':
        net_close_conn(request);
        break;
    case 'f':
        answer_file(f, request, 0, 5);
        break;
    case 't':
        answer_file(f, request, 1000000, 5);
        break;
    case 'L':
        if (f->parks_large) {
            park(f, request);
            break;
        }
        answer(request, text);
        break;
    default:
        answer(request, text);
        break;
    }
    if (f->request_count == f->stop_after_requests) {
        loop_stop(f->env);
    }
}

static void on_orphan(void *arg, struct net_request *request)
{
    struct fixture *f = arg;
    assert_true(request->orphaned);
    assert_null(request->conn);
    assert_string_equal(net_request_peer(request), "");
    if (++f->orphan_count == f->stop_after_orphans) {
        loop_stop(f->env);
    }
}

/* ---- the clients' side ---- */

struct client {
    struct fixture *fixture;
    struct env_conn *conn;
    struct buf say; /* sent when connected */
    size_t said;
    uint8_t *heard;
    size_t heard_len;
    size_t stop_at_len; /* stops the loop when so much was heard */
    bool is_closed;
    bool stops_when_closed;
    bool ignores_answers;
};

static void client_write(struct env_conn *c, void *arg)
{
    struct client *client = arg;
    while (client->said < client->say.len) {
        struct iovec iov = {.iov_base = client->say.ptr + client->said,
                            .iov_len = client->say.len - client->said};
        int64_t wrote = env_conn_writev(c, &iov, 1);
        if (wrote < 0) {
            env_conn_want_write(c, wrote == -E_AGAIN);
            return;
        }
        client->said += (size_t)wrote;
    }
    env_conn_want_write(c, false);
}

static void client_connected(struct env_conn *c, void *arg)
{
    struct client *client = arg;
    if (client->ignores_answers) {
        env_conn_want_read(c, false);
    }
    client_write(c, arg);
}

static void client_readable(struct env_conn *c, void *arg)
{
    struct client *client = arg;
    int64_t got =
        env_conn_read(c, client->heard + client->heard_len, HEARD_MAX - client->heard_len);
    if (got > 0) {
        client->heard_len += (size_t)got;
        if (client->stop_at_len != 0 && client->heard_len >= client->stop_at_len) {
            loop_stop(client->fixture->env);
        }
    }
}

static void client_closed(struct env_conn *c, void *arg, int err)
{
    (void)c;
    (void)err;
    struct client *client = arg;
    client->is_closed = true;
    client->conn = NULL;
    if (client->stops_when_closed) {
        loop_stop(client->fixture->env);
    }
}

static const struct env_conn_handler client_handler = {.connected = client_connected,
                                                       .readable = client_readable,
                                                       .writable = client_write,
                                                       .closed = client_closed};

static void client_init(struct client *client, struct fixture *f)
{
    *client = (struct client){.fixture = f, .heard = xalloc(HEARD_MAX)};
    buf_init(&client->say);
}

static void client_deinit(struct client *client)
{
    if (client->conn != NULL) {
        net_abandon(client->conn);
    }
    buf_deinit(&client->say);
    free(client->heard);
}

static void say(struct client *client, const char *text)
{
    buf_put_u32(&client->say, (uint32_t)strlen(text));
    buf_put_str(&client->say, text);
}

static void say_large(struct client *client, uint32_t len)
{
    buf_put_u32(&client->say, len);
    memset(buf_put_space(&client->say, len), 'L', len);
}

static void client_start(struct client *client)
{
    struct fixture *f = client->fixture;
    client->conn =
        env_connect(f->env, "127.0.0.1", net_server_port(f->server), &client_handler, client);
}

static void assert_heard(const struct client *client, const char *bytes, size_t len)
{
    assert_int_equal(client->heard_len, len);
    assert_memory_equal(client->heard, bytes, len);
}

/* ---- the frame around ---- */

static const struct net_server_config default_config = {.host = "127.0.0.1",
                                                        .connections_max = 100,
                                                        .request_bytes_max = 1 << 20,
                                                        .requests_in_flight_max = 100,
                                                        .output_bytes_max = 1 << 20,
                                                        .idle_ms = 60000};

static void on_watchdog(void *arg)
{
    struct fixture *f = arg;
    f->is_late = true;
    loop_stop(f->env);
}

static int setup(void **state)
{
    struct fixture *f = xalloc(sizeof *f);
    struct errmsg em;
    f->env = loop_new(&(struct loop_config){.name = "test"}, &em);
    assert_non_null(f->env);
    env_timer_init(&f->watchdog, f->env, on_watchdog, f);
    *state = f;
    return 0;
}

static void serve(struct fixture *f, const struct net_server_config *config)
{
    struct errmsg em;
    assert_int_equal(net_server_new(f->env, config, on_request, on_orphan, f, &f->server, &em), 0);
}

static int teardown(void **state)
{
    struct fixture *f = *state;
    net_server_close(f->server);
    for (int i = 0; i < f->parked_count; i++) {
        answer(f->parked[i], "too late");
    }
    net_server_free(f->server);
    assert_int_equal(f->budget.used, 0);
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

static void answer_parked(struct fixture *f, int index, const char *text)
{
    struct net_request *request = f->parked[index];
    for (int i = index; i < f->parked_count - 1; i++) {
        f->parked[i] = f->parked[i + 1];
    }
    f->parked_count--;
    answer(request, text);
}

/* ---- answers ---- */

static void answers_leave_in_order_of_requests(void **state)
{
    struct fixture *f = *state;
    serve(f, &default_config);
    struct client client;
    client_init(&client, f);
    say(&client, "e1");
    say(&client, "p2");
    say(&client, "e3");
    say(&client, "n4");
    say(&client, "p5");
    say(&client, "e6");
    f->stop_after_requests = 6;
    client_start(&client);
    run(f);
    client.stop_at_len = 30;
    answer_parked(f, 1, "p5");
    answer_parked(f, 0, "p2");
    run(f);
    assert_heard(&client, "\0\0\0\2e1\0\0\0\2p2\0\0\0\2e3\0\0\0\2p5\0\0\0\2e6", 30);
    client_deinit(&client);
}

static void file_ranges_are_sent(void **state)
{
    struct fixture *f = *state;
    serve(f, &default_config);
    char dir[] = "/tmp/klamm-server-XXXXXX";
    assert_non_null(mkdtemp(dir));
    char *path = xasprintf("%s/data", dir);
    int flags = ENV_OPEN_WRITE | ENV_OPEN_CREATE;
    assert_int_equal(env_file_open(f->env, path, flags, &f->file), 0);
    assert_int_equal(env_file_write(f->file, "hello world", 11, 0), 0);
    struct client client;
    client_init(&client, f);
    say(&client, "e");
    say(&client, "f");
    say(&client, "e");
    say(&client, "t"); /* breaks its promise: closed */
    say(&client, "e");
    client.stops_when_closed = true;
    client_start(&client);
    run(f);
    assert_true(client.heard_len >= 21);
    assert_memory_equal(client.heard, "\0\0\0\1e\0\0\0\7[hello]\0\0\0\1e", 21);
    client_deinit(&client);
    env_file_unref(f->file);
    assert_int_equal(env_unlink(f->env, path), 0);
    assert_int_equal(env_rmdir(f->env, dir), 0);
    free(path);
}

static void closing_request_lets_earlier_answers_leave(void **state)
{
    struct fixture *f = *state;
    serve(f, &default_config);
    struct client client;
    client_init(&client, f);
    say(&client, "p1");
    say(&client, "c2");
    f->stop_after_requests = 2;
    client_start(&client);
    run(f);
    assert_false(client.is_closed);
    client.stops_when_closed = true;
    answer_parked(f, 0, "p1");
    run(f);
    assert_heard(&client, "\0\0\0\2p1", 6);
    assert_int_equal(net_server_connection_count(f->server), 0);
    client_deinit(&client);
}

static void failed_body_closes_the_connection(void **state)
{
    struct fixture *f = *state;
    serve(f, &default_config);
    struct client client;
    client_init(&client, f);
    say(&client, "p1");
    f->stop_after_requests = 1;
    client_start(&client);
    run(f);
    struct buf body;
    buf_init_max(&body, 1);
    buf_put_str(&body, "too long");
    client.stops_when_closed = true;
    f->parked_count = 0;
    net_respond(f->parked[0], &body, NULL, 0);
    run(f);
    assert_heard(&client, "", 0);
    client_deinit(&client);
}

/* ---- the connection goes first ---- */

static void requests_of_a_lost_connection_turn_orphaned(void **state)
{
    struct fixture *f = *state;
    serve(f, &default_config);
    struct client client;
    client_init(&client, f);
    say(&client, "p1");
    say(&client, "e2"); /* answered, and waiting behind p1 */
    say(&client, "p3");
    f->stop_after_requests = 3;
    client_start(&client);
    run(f);
    void **user = net_conn_user(f->parked[0]->conn);
    assert_null(*user);
    *user = f;
    assert_ptr_equal(*net_conn_user(f->parked[1]->conn), f);
    assert_int_equal(strncmp(net_request_peer(f->parked[0]), "127.0.0.1:", 10), 0);
    f->stop_after_orphans = 2;
    env_conn_close(client.conn);
    run(f);
    assert_int_equal(f->orphan_count, 2);
    answer_parked(f, 0, "unheard");
    net_no_response(f->parked[0]);
    f->parked_count = 0;
    client_deinit(&client);
}

static void closing_the_server_orphans_without_telling(void **state)
{
    struct fixture *f = *state;
    serve(f, &default_config);
    struct client client;
    client_init(&client, f);
    say(&client, "p1");
    f->stop_after_requests = 1;
    client_start(&client);
    run(f);
    net_server_close(f->server);
    assert_int_equal(f->orphan_count, 0);
    assert_true(f->parked[0]->orphaned);
    client.stops_when_closed = true;
    run(f);
    client_deinit(&client);
}

/* ---- limits ---- */

static void further_connections_are_closed_at_once(void **state)
{
    struct fixture *f = *state;
    struct net_server_config config = default_config;
    config.connections_max = 2;
    serve(f, &config);
    struct client clients[3];
    for (int i = 0; i < 3; i++) {
        client_init(&clients[i], f);
        say(&clients[i], "p");
        clients[i].stops_when_closed = true;
        client_start(&clients[i]);
    }
    run(f);
    assert_int_equal(net_server_connection_count(f->server), 2);
    assert_int_equal(clients[0].is_closed + clients[1].is_closed + clients[2].is_closed, 1);
    for (int i = 0; i < 3; i++) {
        clients[i].stops_when_closed = false;
        client_deinit(&clients[i]);
    }
}

static void requests_in_flight_are_bounded(void **state)
{
    struct fixture *f = *state;
    struct net_server_config config = default_config;
    config.requests_in_flight_max = 3;
    serve(f, &config);
    struct client client;
    client_init(&client, f);
    for (int i = 0; i < 10; i++) {
        say(&client, "p");
    }
    f->stop_after_requests = 3;
    client_start(&client);
    run(f);
    for (int answered = 0; answered < 10; answered++) {
        int expected = MIN(3 + answered, 10);
        assert_int_equal(f->request_count, expected);
        assert_true(f->parked_count <= 3);
        f->stop_after_requests = expected + 1;
        client.stop_at_len = expected == 10 ? 50 : 0;
        if (expected == 10) {
            while (f->parked_count > 0) {
                answer_parked(f, 0, "p");
            }
        } else {
            answer_parked(f, 0, "p");
        }
        run(f);
        if (expected == 10) {
            break;
        }
    }
    assert_int_equal(f->request_count, 10);
    assert_int_equal(client.heard_len, 50);
    client_deinit(&client);
}

/* A client that asks and never reads: the answers that wait are bounded, so it is not read either. */
static void queued_output_is_bounded(void **state)
{
    struct fixture *f = *state;
    struct net_server_config config = default_config;
    config.output_bytes_max = 64 << 10;
    config.idle_ms = 300; /* and such a client is idle: it is closed in the end */
    serve(f, &config);
    struct client client;
    client_init(&client, f);
    client.ignores_answers = true;
    for (int i = 0; i < 1000000; i++) {
        say(&client, "eeeeeeeeeeeeeeeeeeee");
    }
    client_start(&client);
    client.stops_when_closed = true;
    env_timer_start(&f->watchdog, WATCHDOG_MS);
    while (net_server_connection_count(f->server) == 0 || f->request_count < 1000) {
        f->stop_after_requests = f->request_count + 1000;
        loop_run(f->env);
    }
    client.stops_when_closed = false;
    f->stop_after_requests = 0;
    struct env_timer probe;
    env_timer_init(&probe, f->env, (env_fn)loop_stop, f->env);
    while (net_server_connection_count(f->server) > 0 && !f->is_late) {
        env_timer_start(&probe, 20);
        loop_run(f->env);
    }
    assert_false(f->is_late);
    assert_true(f->request_count < 1000000);
    client_deinit(&client);
}

static void idle_connections_are_closed_and_waiting_ones_kept(void **state)
{
    struct fixture *f = *state;
    struct net_server_config config = default_config;
    config.idle_ms = 50;
    serve(f, &config);
    struct client idle;
    struct client waiting;
    client_init(&idle, f);
    client_init(&waiting, f);
    say(&idle, "e");
    say(&waiting, "p");
    idle.stops_when_closed = true;
    waiting.stops_when_closed = true;
    client_start(&waiting);
    client_start(&idle);
    run(f);
    assert_true(idle.is_closed);
    assert_false(waiting.is_closed);
    assert_int_equal(net_server_connection_count(f->server), 1);
    answer_parked(f, 0, "p");
    run(f); /* now it is idle as well */
    assert_heard(&waiting, "\0\0\0\1p", 5);
    client_deinit(&idle);
    client_deinit(&waiting);
}

/* ---- memory ---- */

static void reading_pauses_while_the_budget_refuses_and_resumes(void **state)
{
    struct fixture *f = *state;
    struct net_server_config config = default_config;
    f->budget.max = 600 << 10;
    f->parks_large = true;
    config.budget = &f->budget;
    serve(f, &config);
    struct client clients[3];
    for (int i = 0; i < 3; i++) {
        client_init(&clients[i], f);
        say_large(&clients[i], 400 << 10); /* only one fits at a time */
        client_start(&clients[i]);
    }
    for (int done = 0; done < 3; done++) {
        f->stop_after_requests = done + 1;
        run(f);
        assert_int_equal(f->parked_count, 1);
        assert_int_equal(f->parked[0]->frame->len, 400 << 10);
        /* Small requests pass meanwhile. */
        struct client small;
        client_init(&small, f);
        say(&small, "e");
        small.stop_at_len = 5;
        f->stop_after_requests = 0;
        client_start(&small);
        run(f);
        f->request_count--;
        client_deinit(&small);
        answer_parked(f, 0, "done");
    }
    for (int i = 0; i < 3; i++) {
        client_deinit(&clients[i]);
    }
}

/* One client declares a large frame, stops in its middle, and keeps the memory from another. */
static void stalled_frame_gives_way_when_memory_is_short(void **state)
{
    struct fixture *f = *state;
    struct net_server_config config = default_config;
    f->budget.max = 700 << 10;
    config.budget = &f->budget;
    serve(f, &config);
    struct client stalled;
    struct client honest;
    client_init(&stalled, f);
    client_init(&honest, f);
    say(&stalled, "e");
    buf_put_u32(&stalled.say, 500 << 10);
    buf_put_str(&stalled.say, "LLL");
    say_large(&honest, 500 << 10);
    stalled.stop_at_len = 5;
    client_start(&stalled);
    run(f);
    assert_true(f->budget.used >= 500 << 10);
    honest.stop_at_len = 24;
    client_start(&honest);
    run(f);
    assert_true(stalled.is_closed || net_server_connection_count(f->server) == 1);
    client_deinit(&stalled);
    client_deinit(&honest);
}

/* ---- bytes that are no protocol ---- */

static void impossible_sizes_close_the_connection(void **state)
{
    struct fixture *f = *state;
    serve(f, &default_config);
    static const char *const starts[] = {"\xff\xff\xff\xff", "\x80\0\0\0", "\0\x10\0\1",
                                         "GET / HTTP/1.1\r\n\r\n", "\x16\x03\x01\x02\x00\x01"};
    for (size_t i = 0; i < ARRAY_LEN(starts); i++) {
        struct client client;
        client_init(&client, f);
        say(&client, "e");
        buf_put_bytes(&client.say, starts[i], 4);
        client.stops_when_closed = true;
        client_start(&client);
        run(f);
        assert_heard(&client, "\0\0\0\1e", 5); /* what came before was answered */
        client_deinit(&client);
    }
    assert_int_equal(f->request_count, ARRAY_LEN(starts));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(answers_leave_in_order_of_requests, setup, teardown),
        cmocka_unit_test_setup_teardown(file_ranges_are_sent, setup, teardown),
        cmocka_unit_test_setup_teardown(closing_request_lets_earlier_answers_leave, setup,
                                        teardown),
        cmocka_unit_test_setup_teardown(failed_body_closes_the_connection, setup, teardown),
        cmocka_unit_test_setup_teardown(requests_of_a_lost_connection_turn_orphaned, setup,
                                        teardown),
        cmocka_unit_test_setup_teardown(closing_the_server_orphans_without_telling, setup,
                                        teardown),
        cmocka_unit_test_setup_teardown(further_connections_are_closed_at_once, setup, teardown),
        cmocka_unit_test_setup_teardown(requests_in_flight_are_bounded, setup, teardown),
        cmocka_unit_test_setup_teardown(queued_output_is_bounded, setup, teardown),
        cmocka_unit_test_setup_teardown(idle_connections_are_closed_and_waiting_ones_kept, setup,
                                        teardown),
        cmocka_unit_test_setup_teardown(reading_pauses_while_the_budget_refuses_and_resumes, setup,
                                        teardown),
        cmocka_unit_test_setup_teardown(stalled_frame_gives_way_when_memory_is_short, setup,
                                        teardown),
        cmocka_unit_test_setup_teardown(impossible_sizes_close_the_connection, setup, teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
