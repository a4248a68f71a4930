/*
 * The HTTP port on the real loop, with clients on the same loop that say exactly the bytes they are told
 * to. Each test runs the loop until its condition holds; a watchdog ends one that hangs.
 */
#include "http/server.h"

#include "base/alloc.h"
#include "base/check.h"
#include "env/loop.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>

#define WATCHDOG_MS 20000
#define CLIENTS_MAX 4
#define LONG_MS     3600000

struct fixture;

struct client {
    struct fixture *fixture;
    struct env_conn *conn; /* NULL once closed */
    const char *say;
    size_t said;
    struct buf got;
    bool stops_at_end;   /* the loop, when the connection is closed */
    const char *stop_at; /* or when this was got */
};

struct fixture {
    struct env *env;
    struct env_timer watchdog;
    bool is_late;
    struct http_config config;
    struct http_server *server;
    struct client clients[CLIENTS_MAX];
    int asked;
    bool is_silent;  /* questions are kept */
    bool is_failing; /* bodies turn failed */
    struct http_question *kept;
    enum http_code code;
};

static void on_watchdog(void *arg)
{
    struct fixture *f = arg;
    f->is_late = true;
    loop_stop(f->env);
}

/* ---- who is asked ---- */

struct answer {
    struct fixture *fixture;
    struct http_question *question;
    enum http_page page;
};

static void answer(void *arg)
{
    struct answer *a = arg;
    struct buf body;
    buf_init(&body);
    buf_putf(&body, "page %d\n", (int)a->page);
    body.failed = a->fixture->is_failing;
    http_answer(a->question, a->fixture->code, &body);
    assert_null(body.ptr);
    free(a);
}

static void on_ask(void *arg, struct http_question *q, enum http_page page)
{
    struct fixture *f = arg;
    f->asked++;
    if (f->is_silent) {
        f->kept = q;
        return;
    }
    struct answer a = {f, q, page};
    env_post(f->env, answer, xmemdup(&a, sizeof a));
}

/* ---- clients ---- */

static void client_writable(struct env_conn *c, void *arg)
{
    struct client *client = arg;
    size_t left = strlen(client->say) - client->said;
    struct iovec piece = {.iov_len = left};
    piece.iov_base = xmemdup(client->say + client->said, left + 1);
    int64_t count = left == 0 ? 0 : env_conn_writev(c, &piece, 1);
    client->said += count > 0 ? (size_t)count : 0;
    free(piece.iov_base);
    env_conn_want_write(c, client->said < strlen(client->say));
}

static void client_readable(struct env_conn *c, void *arg)
{
    struct client *client = arg;
    uint8_t piece[4096];
    int64_t len = env_conn_read(c, piece, sizeof piece);
    if (len <= 0) {
        return;
    }
    buf_put_bytes(&client->got, piece, (size_t)len);
    char *text = slice_dup(buf_slice(&client->got));
    bool is_there = client->stop_at != NULL && strstr(text, client->stop_at) != NULL;
    free(text);
    if (is_there) {
        loop_stop(client->fixture->env);
    }
}

static void client_closed(struct env_conn *c, void *arg, int err)
{
    struct client *client = arg;
    (void)c;
    (void)err;
    client->conn = NULL;
    if (client->stops_at_end) {
        loop_stop(client->fixture->env);
    }
}

static void client_connected(struct env_conn *c, void *arg)
{
    (void)arg;
    env_conn_want_write(c, true);
}

static const struct env_conn_handler client_handler = {
    .connected = client_connected,
    .readable = client_readable,
    .writable = client_writable,
    .closed = client_closed,
};

static struct client *connect_client(struct fixture *f, int index, const char *say)
{
    struct client *client = &f->clients[index];
    *client = (struct client){.fixture = f, .say = say};
    buf_init(&client->got);
    client->conn =
        env_connect(f->env, "127.0.0.1", http_server_port(f->server), &client_handler, client);
    return client;
}

/* What the server says until it closes; heap. */
static char *exchange(struct fixture *f, const char *say)
{
    struct client *client = connect_client(f, 0, say);
    client->stops_at_end = true;
    loop_run(f->env);
    assert_false(f->is_late);
    char *text = slice_dup(buf_slice(&client->got));
    buf_deinit(&client->got);
    return text;
}

static void assert_starts(const char *text, const char *start)
{
    if (strncmp(text, start, strlen(start)) != 0) {
        assert_string_equal(text, start);
    }
}

static void assert_has(const char *text, const char *part)
{
    if (strstr(text, part) == NULL) {
        assert_string_equal(text, part);
    }
}

/* ---- the bench ---- */

static int setup(void **state)
{
    static struct fixture fixture;
    struct errmsg em = {""};
    fixture = (struct fixture){.code = HTTP_OK};
    fixture.env = loop_new(&(struct loop_config){.name = "test"}, &em);
    assert_non_null(fixture.env);
    env_timer_init(&fixture.watchdog, fixture.env, on_watchdog, &fixture);
    env_timer_start(&fixture.watchdog, WATCHDOG_MS);
    fixture.config = (struct http_config){.host = "127.0.0.1",
                                          .connections_max = 3,
                                          .idle_s = 30,
                                          .exchange_ms = LONG_MS,
                                          .answer_ms = LONG_MS,
                                          .ask = on_ask,
                                          .arg = &fixture};
    *state = &fixture;
    return 0;
}

static void serve(struct fixture *f)
{
    struct errmsg em = {""};
    int err = http_server_open(&f->config, &f->server, &em);
    assert_string_equal(em.text, "");
    assert_int_equal(err, 0);
    assert_int_not_equal(http_server_port(f->server), 0);
    http_server_run(f->server, f->env);
}

static void on_done(void *arg)
{
    loop_stop(arg);
}

static int teardown(void **state)
{
    struct fixture *f = *state;
    http_server_free(f->server);
    for (int i = 0; i < CLIENTS_MAX; i++) {
        f->clients[i].stops_at_end = false;
        f->clients[i].stop_at = NULL;
        if (f->clients[i].conn != NULL) {
            env_conn_close(f->clients[i].conn);
        }
    }
    env_post(f->env, on_done, f->env);
    loop_run(f->env); /* what was closed is told */
    for (int i = 0; i < CLIENTS_MAX; i++) {
        buf_deinit(&f->clients[i].got);
    }
    env_timer_stop(&f->watchdog);
    loop_free(f->env);
    return 0;
}

/* ---- what is served ---- */

static void each_page_is_asked_for_and_told(void **state)
{
    struct fixture *f = *state;
    static const struct {
        const char *path;
        const char *type;
        const char *body;
    } cases[] = {
        {"/metrics", "Content-Type: text/plain; version=0.0.4; charset=utf-8\r\n", "page 0\n"},
        {"/healthz", "Content-Type: text/plain; charset=utf-8\r\n", "page 1\n"},
        {"/status?pretty", "Content-Type: application/json\r\n", "page 2\n"},
    };
    serve(f);
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        char *say =
            xasprintf("GET %s HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n", cases[i].path);
        char *text = exchange(f, say);
        assert_starts(text, "HTTP/1.1 200 OK\r\n");
        assert_has(text, cases[i].type);
        assert_has(text, "Content-Length: 7\r\n");
        assert_string_equal(strstr(text, "\r\n\r\n") + 4, cases[i].body);
        free(text);
        free(say);
    }
    assert_int_equal(f->asked, 3);
}

static void a_head_is_the_answer_without_its_body(void **state)
{
    struct fixture *f = *state;
    serve(f);
    char *text = exchange(f, "HEAD /metrics HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n");
    assert_starts(text, "HTTP/1.1 200 OK\r\n");
    assert_has(text, "Content-Length: 7\r\n");
    assert_string_equal(strstr(text, "\r\n\r\n") + 4, "");
    free(text);
}

static void a_code_of_trouble_is_passed_on(void **state)
{
    struct fixture *f = *state;
    f->code = HTTP_UNAVAILABLE;
    serve(f);
    char *text = exchange(f, "GET /healthz HTTP/1.0\r\n\r\n");
    assert_starts(text, "HTTP/1.1 503 ");
    assert_has(text, "page 1\n");
    free(text);
}

static void a_body_that_could_not_be_made_is_a_500(void **state)
{
    struct fixture *f = *state;
    f->is_failing = true;
    serve(f);
    char *text = exchange(f, "GET /metrics HTTP/1.0\r\n\r\n");
    assert_starts(text, "HTTP/1.1 500 ");
    free(text);
}

static void a_connection_is_for_one_request(void **state)
{
    struct fixture *f = *state;
    serve(f);
    char *text = exchange(f, "GET /metrics HTTP/1.1\r\nHost: x\r\n\r\n"
                             "GET /status HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n");
    assert_has(text, "Connection: close\r\n");
    assert_string_equal(strstr(text, "\r\n\r\n") + 4, "page 0\n");
    assert_int_equal(f->asked, 1);
    free(text);
}

/* ---- what is refused ---- */

static void strange_requests_are_refused_and_nobody_is_asked(void **state)
{
    struct fixture *f = *state;
    static const struct {
        const char *say;
        const char *start;
    } cases[] = {
        {"GET / HTTP/1.0\r\n\r\n", "HTTP/1.1 404 "},
        {"GET /metrics/ HTTP/1.0\r\n\r\n", "HTTP/1.1 404 "},
        {"GET /../metrics HTTP/1.0\r\n\r\n", "HTTP/1.1 404 "},
        {"POST /metrics HTTP/1.0\r\nContent-Length: 1\r\n\r\nx", "HTTP/1.1 405 "},
        {"DELETE /status HTTP/1.0\r\n\r\n", "HTTP/1.1 405 "},
        {"GET /metrics HTTP/1.0\r\nContent-Length: 5\r\n\r\nhello", "HTTP/1.1 413 "},
        {"GET /metrics HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n",
         "HTTP/1.1 413 "},
    };
    serve(f);
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        char *text = exchange(f, cases[i].say);
        assert_starts(text, cases[i].start);
        free(text);
    }
    char *text = exchange(f, "PUT /metrics HTTP/1.0\r\n\r\n");
    assert_has(text, "Allow: GET, HEAD\r\n");
    free(text);
    assert_int_equal(f->asked, 0);
}

static void bytes_that_are_no_http_end_the_connection(void **state)
{
    struct fixture *f = *state;
    serve(f);
    free(exchange(f, "\x16\x03\x01\x02 not a request at all\r\n\r\n\r\n"));
    free(exchange(f, "GET\r\n\r\n"));
    assert_int_equal(f->asked, 0);
    char *text = exchange(f, "GET /metrics HTTP/1.0\r\n\r\n");
    assert_starts(text, "HTTP/1.1 200 ");
    free(text);
}

static void endless_headers_are_refused(void **state)
{
    struct fixture *f = *state;
    struct buf say;
    buf_init(&say);
    buf_put_str(&say, "GET /metrics HTTP/1.1\r\nHost: x\r\n");
    for (int i = 0; i < 4000; i++) {
        buf_putf(&say, "X-Header-%d: some value\r\n", i);
    }
    buf_put_u8(&say, 0);
    serve(f);
    struct client *client = connect_client(f, 0, (const char *)say.ptr);
    client->stops_at_end = true;
    loop_run(f->env); /* the server may reset it while the client still speaks: no answer then */
    assert_false(f->is_late);
    assert_int_equal(f->asked, 0);
    buf_deinit(&say);
}

static void a_connection_too_many_is_closed(void **state)
{
    struct fixture *f = *state;
    f->is_silent = true;
    f->config.connections_max = 1;
    serve(f);
    (void)connect_client(f, 1, ""); /* it says nothing and stays */
    struct client *second = connect_client(f, 2, "GET /metrics HTTP/1.0\r\n\r\n");
    second->stops_at_end = true;
    env_conn_close(f->clients[1].conn);
    f->is_silent = false;
    loop_run(f->env); /* served or closed, but not left hanging for ever */
    assert_false(f->is_late);
}

/* ---- time ---- */

static void a_question_without_an_answer_ends_in_503(void **state)
{
    struct fixture *f = *state;
    f->is_silent = true;
    f->config.answer_ms = 1;
    serve(f);
    char *text = exchange(f, "GET /metrics HTTP/1.0\r\n\r\n");
    assert_starts(text, "HTTP/1.1 503 ");
    assert_has(text, "the broker does not answer\n");
    free(text);
    struct buf body;
    buf_init(&body);
    buf_put_str(&body, "too late");
    http_answer(f->kept, HTTP_OK, &body);
    assert_null(body.ptr);
}

static void who_takes_too_long_is_cut(void **state)
{
    struct fixture *f = *state;
    f->config.exchange_ms = 1;
    serve(f);
    char *text = exchange(f, "GET /metrics HT");
    assert_string_equal(text, "");
    free(text);
}

/* ---- the end ---- */

static void the_end_does_not_wait_for_answers(void **state)
{
    struct fixture *f = *state;
    f->is_silent = true;
    serve(f);
    struct client *client = connect_client(f, 0, "GET /metrics HTTP/1.0\r\n\r\n");
    while (f->kept == NULL) { /* the watchdog bounds it */
        env_post(f->env, on_done, f->env);
        loop_run(f->env);
        assert_false(f->is_late);
    }
    http_server_free(f->server);
    f->server = NULL;
    client->stops_at_end = true;
    loop_run(f->env);
    assert_false(f->is_late);
    struct buf body;
    buf_init(&body);
    http_answer(f->kept, HTTP_OK, &body);
    assert_int_equal(f->asked, 1);
}

static void who_asks_while_the_server_ends_is_told_so(void **state)
{
    struct fixture *f = *state;
    serve(f);
    struct client *late = connect_client(f, 1, "GET /metrics HTTP/1.0\r\n");
    free(exchange(f, "GET /healthz HTTP/1.0\r\n\r\n")); /* the earlier one is accepted by then */
    assert_int_equal(late->said, strlen(late->say));
    char rest[] = "\r\n";
    struct iovec piece = {.iov_base = rest, .iov_len = strlen(rest)};
    assert_int_equal(env_conn_writev(late->conn, &piece, 1), piece.iov_len);
    http_server_free(f->server);
    f->server = NULL;
    late->stops_at_end = true;
    loop_run(f->env);
    assert_false(f->is_late);
    char *text = slice_dup(buf_slice(&late->got));
    assert_starts(text, "HTTP/1.1 503 ");
    assert_has(text, "the broker is ending\n");
    free(text);
    assert_int_equal(f->asked, 1);
}

static void a_server_that_never_ran_can_go(void **state)
{
    struct fixture *f = *state;
    struct errmsg em;
    assert_int_equal(http_server_open(&f->config, &f->server, &em), 0);
}

static void wrong_addresses_are_named(void **state)
{
    struct fixture *f = *state;
    struct http_server *second = NULL;
    struct errmsg em = {""};
    f->config.host = "localhost";
    assert_int_equal(http_server_open(&f->config, &second, &em), -E_INVALID);
    assert_string_equal(em.text, "\"localhost\" is no literal address");
    f->config.host = "127.0.0.1";
    serve(f);
    f->config.port = http_server_port(f->server);
    assert_int_equal(http_server_open(&f->config, &second, &em), -E_SYSTEM);
    char *start = xasprintf("HTTP at 127.0.0.1 port %u: ", (unsigned)f->config.port);
    assert_starts(em.text, start);
    free(start);
    assert_null(second);
}

static void literal_addresses_are_told_from_names(void **state)
{
    (void)state;
    static const char *const literal[] = {"127.0.0.1", "0.0.0.0", "::", "::1", "fe80::1"};
    static const char *const other[] = {"", "localhost", "1.2.3", "127.0.0.1:80", "[::1]", "*"};
    for (size_t i = 0; i < ARRAY_LEN(literal); i++) {
        assert_true(http_host_is_literal(literal[i]));
    }
    for (size_t i = 0; i < ARRAY_LEN(other); i++) {
        assert_false(http_host_is_literal(other[i]));
    }
}

static void ipv6_is_served_too(void **state)
{
    struct fixture *f = *state;
    struct errmsg em = {""};
    f->config.host = "::1";
    if (http_server_open(&f->config, &f->server, &em) != 0) {
        assert_has(em.text, "HTTP at ::1"); /* a machine without IPv6 */
        return;
    }
    assert_int_not_equal(http_server_port(f->server), 0);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(each_page_is_asked_for_and_told),
        TEST(a_head_is_the_answer_without_its_body),
        TEST(a_code_of_trouble_is_passed_on),
        TEST(a_body_that_could_not_be_made_is_a_500),
        TEST(a_connection_is_for_one_request),
        TEST(strange_requests_are_refused_and_nobody_is_asked),
        TEST(bytes_that_are_no_http_end_the_connection),
        TEST(endless_headers_are_refused),
        TEST(a_connection_too_many_is_closed),
        TEST(a_question_without_an_answer_ends_in_503),
        TEST(who_takes_too_long_is_cut),
        TEST(the_end_does_not_wait_for_answers),
        TEST(who_asks_while_the_server_ends_is_told_so),
        TEST(a_server_that_never_ran_can_go),
        TEST(wrong_addresses_are_named),
        cmocka_unit_test(literal_addresses_are_told_from_names),
        TEST(ipv6_is_served_too),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
