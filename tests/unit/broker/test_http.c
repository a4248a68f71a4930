/*
 * The way from the HTTP port to a broker and back, on two real loops: the broker's, where the clients
 * are too, and the one that serves. A watchdog ends a test that hangs.
 */
#include "broker/http.h"

#include "base/alloc.h"
#include "base/check.h"
#include "env/loop.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>
#include <stdlib.h>

#define WATCHDOG_MS 20000
#define CLIENTS_MAX 3

struct fixture;

struct client {
    struct fixture *fixture;
    struct env_conn *conn;
    const char *say;
    struct buf got;
};

struct fixture {
    struct env *env;
    struct env *http_env;
    struct env_timer watchdog;
    bool is_late;
    struct broker_http *http;
    struct client clients[CLIENTS_MAX];
    int open;
    int gathered;
    int written;  /* pages */
    bool is_slow; /* gathering ends when the test says so */
    int wanted;   /* gatherings; then the loop stops */
    bool is_well;
};

static void on_watchdog(void *arg)
{
    struct fixture *f = arg;
    f->is_late = true;
    loop_stop(f->env);
}

/* ---- the broker's part ---- */

static void on_gather(void *arg)
{
    struct fixture *f = arg;
    f->gathered++;
    if (!f->is_slow) {
        broker_http_gathered(f->http);
    } else if (f->gathered == f->wanted) {
        loop_stop(f->env);
    }
}

static void on_metrics(void *arg, struct buf *out)
{
    struct fixture *f = arg;
    f->written++;
    buf_put_str(out, "some_metric 1\n");
}

static void on_status(void *arg, struct buf *out)
{
    struct fixture *f = arg;
    f->written++;
    buf_put_str(out, "{}\n");
}

static bool on_health(void *arg, struct buf *out)
{
    struct fixture *f = arg;
    f->written++;
    buf_put_str(out, "so so\n");
    return f->is_well;
}

/* ---- clients ---- */

static void client_connected(struct env_conn *c, void *arg)
{
    (void)arg;
    env_conn_want_write(c, true);
}

static void client_writable(struct env_conn *c, void *arg)
{
    struct client *client = arg;
    struct iovec piece = {.iov_len = strlen(client->say)};
    piece.iov_base = xmemdup(client->say, piece.iov_len + 1);
    assert_int_equal(env_conn_writev(c, &piece, 1), piece.iov_len); /* a few bytes always fit */
    free(piece.iov_base);
    env_conn_want_write(c, false);
}

static void client_readable(struct env_conn *c, void *arg)
{
    struct client *client = arg;
    uint8_t piece[1024];
    int64_t len = env_conn_read(c, piece, sizeof piece);
    if (len > 0) {
        buf_put_bytes(&client->got, piece, (size_t)len);
    }
}

static void client_closed(struct env_conn *c, void *arg, int err)
{
    struct client *client = arg;
    (void)c;
    (void)err;
    client->conn = NULL;
    if (--client->fixture->open == 0) {
        loop_stop(client->fixture->env);
    }
}

static const struct env_conn_handler client_handler = {
    .connected = client_connected,
    .readable = client_readable,
    .writable = client_writable,
    .closed = client_closed,
};

static void ask(struct fixture *f, int index, const char *say)
{
    struct client *client = &f->clients[index];
    client->fixture = f;
    client->say = say;
    f->open++;
    client->conn =
        env_connect(f->env, "127.0.0.1", broker_http_port(f->http), &client_handler, client);
}

static void run(struct fixture *f)
{
    loop_run(f->env);
    assert_false(f->is_late);
}

static void assert_answer(struct fixture *f, int index, const char *start, const char *body)
{
    struct client *client = &f->clients[index];
    char *text = slice_dup(buf_slice(&client->got));
    if (strncmp(text, start, strlen(start)) != 0) {
        assert_string_equal(text, start);
    }
    assert_string_equal(strstr(text, "\r\n\r\n") + 4, body);
    free(text);
    buf_clear(&client->got);
}

/* ---- the bench ---- */

static void serve(struct fixture *f)
{
    struct errmsg em = {""};
    struct broker_http_config config = {.env = f->env,
                                        .http_env = f->http_env,
                                        .host = "127.0.0.1",
                                        .gather = on_gather,
                                        .metrics = on_metrics,
                                        .status = on_status,
                                        .health = on_health,
                                        .arg = f};
    int err = broker_http_new(&config, &f->http, &em);
    assert_string_equal(em.text, "");
    assert_int_equal(err, 0);
    assert_int_not_equal(broker_http_port(f->http), 0);
}

static int setup(void **state)
{
    static struct fixture fixture;
    struct errmsg em = {""};
    fixture = (struct fixture){.is_well = true};
    fixture.env = loop_new(&(struct loop_config){.name = "broker"}, &em);
    fixture.http_env = loop_new(&(struct loop_config){.name = "http"}, &em);
    assert_non_null(fixture.env);
    assert_non_null(fixture.http_env);
    assert_int_equal(loop_start(fixture.http_env, &em), 0);
    env_timer_init(&fixture.watchdog, fixture.env, on_watchdog, &fixture);
    env_timer_start(&fixture.watchdog, WATCHDOG_MS);
    for (int i = 0; i < CLIENTS_MAX; i++) {
        buf_init(&fixture.clients[i].got);
    }
    *state = &fixture;
    return 0;
}

static void on_stop(void *arg)
{
    loop_stop(arg);
}

/* As the hosts of brokers end: the serving loop first, then the broker's with the last echo. */
static int teardown(void **state)
{
    struct fixture *f = *state;
    broker_http_free(f->http);
    loop_stop(f->http_env);
    loop_free(f->http_env);
    env_post(f->env, on_stop, f->env);
    loop_run(f->env);
    env_timer_stop(&f->watchdog);
    for (int i = 0; i < CLIENTS_MAX; i++) {
        if (f->clients[i].conn != NULL) {
            env_conn_close(f->clients[i].conn);
            f->open = -1; /* the loop below is ended otherwise */
        }
    }
    env_post(f->env, on_stop, f->env);
    loop_run(f->env);
    for (int i = 0; i < CLIENTS_MAX; i++) {
        buf_deinit(&f->clients[i].got);
    }
    loop_free(f->env);
    return 0;
}

/* ---- tests ---- */

static void pages_come_from_the_broker(void **state)
{
    struct fixture *f = *state;
    serve(f);
    ask(f, 0, "GET /metrics HTTP/1.0\r\n\r\n");
    run(f);
    assert_answer(f, 0, "HTTP/1.1 200 ", "some_metric 1\n");
    ask(f, 0, "GET /status HTTP/1.0\r\n\r\n");
    run(f);
    assert_answer(f, 0, "HTTP/1.1 200 ", "{}\n");
    ask(f, 0, "GET /healthz HTTP/1.0\r\n\r\n");
    run(f);
    assert_answer(f, 0, "HTTP/1.1 200 ", "so so\n");
    f->is_well = false;
    ask(f, 0, "GET /healthz HTTP/1.0\r\n\r\n");
    run(f);
    assert_answer(f, 0, "HTTP/1.1 503 ", "so so\n");
    assert_int_equal(f->gathered, 2); /* health needs none */
    assert_int_equal(f->written, 4);
}

/* Whoever asks while facts are gathered shares them, and the page that is written from them. */
static void who_asks_together_shares_the_work(void **state)
{
    struct fixture *f = *state;
    f->is_slow = true;
    f->wanted = 1;
    serve(f);
    ask(f, 0, "GET /metrics HTTP/1.0\r\n\r\n");
    run(f);
    ask(f, 1, "GET /metrics HTTP/1.0\r\n\r\n");
    ask(f, 2, "GET /status HTTP/1.0\r\n\r\n");
    while (broker_http_waiting(f->http) < 3) {
        env_post(f->env, on_stop, f->env);
        run(f);
    }
    broker_http_gathered(f->http);
    run(f);
    assert_int_equal(f->gathered, 1);
    assert_int_equal(f->written, 2);
    assert_answer(f, 0, "HTTP/1.1 200 ", "some_metric 1\n");
    assert_answer(f, 1, "HTTP/1.1 200 ", "some_metric 1\n");
    assert_answer(f, 2, "HTTP/1.1 200 ", "{}\n");
}

/* A controller that is busy holds metrics up, and must not make the broker look ill. */
static void health_does_not_wait_for_facts(void **state)
{
    struct fixture *f = *state;
    f->is_slow = true;
    f->wanted = 1;
    serve(f);
    ask(f, 0, "GET /metrics HTTP/1.0\r\n\r\n");
    run(f);
    ask(f, 1, "GET /healthz HTTP/1.0\r\n\r\n");
    while (f->clients[1].conn != NULL) {
        env_post(f->env, on_stop, f->env);
        run(f);
    }
    assert_answer(f, 1, "HTTP/1.1 200 ", "so so\n");
    assert_int_equal(f->gathered, 1);
    broker_http_gathered(f->http);
    run(f);
    assert_answer(f, 0, "HTTP/1.1 200 ", "some_metric 1\n");
}

static void the_end_answers_who_waits(void **state)
{
    struct fixture *f = *state;
    f->is_slow = true;
    f->wanted = 1;
    serve(f);
    ask(f, 0, "GET /metrics HTTP/1.0\r\n\r\n");
    run(f);
    broker_http_free(f->http);
    f->http = NULL;
    run(f); /* answered, or closed with the server */
    assert_int_equal(f->written, 0);
}

static void the_end_of_an_idle_port_is_quiet(void **state)
{
    struct fixture *f = *state;
    serve(f);
    broker_http_free(f->http);
    f->http = NULL;
    broker_http_free(NULL);
    assert_int_equal(f->gathered, 0);
}

static void a_port_in_use_is_refused(void **state)
{
    struct fixture *f = *state;
    struct broker_http *second = NULL;
    struct errmsg em = {""};
    serve(f);
    struct broker_http_config config = {.env = f->env,
                                        .http_env = f->http_env,
                                        .host = "127.0.0.1",
                                        .port = broker_http_port(f->http)};
    assert_int_equal(broker_http_new(&config, &second, &em), -E_SYSTEM);
    assert_non_null(strstr(em.text, "HTTP at 127.0.0.1 port "));
    assert_null(second);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(pages_come_from_the_broker),       TEST(who_asks_together_shares_the_work),
        TEST(the_end_answers_who_waits),        TEST(health_does_not_wait_for_facts),
        TEST(the_end_of_an_idle_port_is_quiet), TEST(a_port_in_use_is_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
