/*
 * The peer against a scripted server on the same loop: matching of answers, time-outs, lost
 * connections, reset and free at awkward moments. A request's first byte after the header says what
 * the server does with it.
 */
#include "net/net.h"

#include "base/endian.h"
#include "env/loop.h"

#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>

#define WATCHDOG_MS 20000
#define CALLS_MAX   64

struct fixture {
    struct env *env;
    struct env_timer watchdog;
    struct net_server *server;
    struct net_peer *peer;
    struct net_request *parked[CALLS_MAX];
    int parked_count;
    int orphan_count;
    int accepted_requests;
    uint16_t port;
    bool is_late;
    int answers_left; /* stops the loop at 0 */
    char log[256];    /* what each answer was, in order */
};

/* ---- the server ---- */

static void respond(struct net_request *request, uint32_t correlation_id, const char *text)
{
    struct buf body;
    buf_init(&body);
    buf_put_u32(&body, correlation_id);
    buf_put_str(&body, text);
    net_respond(request, &body, NULL, 0);
}

static void respond_large(struct net_request *request, uint32_t correlation_id)
{
    struct buf body;
    buf_init(&body);
    buf_put_u32(&body, correlation_id);
    memset(buf_put_space(&body, 300000), 'L', 300000);
    net_respond(request, &body, NULL, 0);
}

/* e: echo. p: park. c: close. w: wrong correlation id. s: short answer. L: large. T: too large. */
static void on_request(void *arg, struct net_request *request)
{
    struct fixture *f = arg;
    const struct block *frame = request->frame;
    assert_true(frame->len >= 9);
    uint32_t id = load_be32(frame->data + 4);
    f->accepted_requests++;
    switch (frame->data[8]) {
    case 'p':
        f->parked[f->parked_count++] = request;
        break;
    case 'c':
        net_close_conn(request);
        break;
    case 'w':
        respond(request, id + 1, "x");
        break;
    case 's': {
        struct buf body;
        buf_init(&body);
        buf_put_u16(&body, 1);
        net_respond(request, &body, NULL, 0);
        break;
    }
    case 'L':
        respond_large(request, id);
        break;
    default: {
        char text[16];
        (void)snprintf(text, sizeof text, "%.*s", (int)(frame->len - 8),
                       (const char *)frame->data + 8);
        respond(request, id, text);
        break;
    }
    }
}

static void on_orphan(void *arg, struct net_request *request)
{
    struct fixture *f = arg;
    (void)request;
    f->orphan_count++;
}

static void serve(struct fixture *f)
{
    struct net_server_config config = {.host = "127.0.0.1",
                                       .port = f->port,
                                       .connections_max = 100,
                                       .request_bytes_max = 1 << 20,
                                       .requests_in_flight_max = 100,
                                       .output_bytes_max = 1 << 20,
                                       .idle_ms = 60000};
    struct errmsg em;
    assert_int_equal(net_server_new(f->env, &config, on_request, on_orphan, f, &f->server, &em), 0);
    f->port = net_server_port(f->server);
}

static void unserve(struct fixture *f)
{
    net_server_close(f->server);
    for (int i = 0; i < f->parked_count; i++) {
        net_no_response(f->parked[i]);
    }
    f->parked_count = 0;
    net_server_free(f->server);
    f->server = NULL;
}

/* ---- calls ---- */

struct call {
    struct fixture *fixture;
    int id;
    int answered;
    int err;
    char text[16];
    size_t len;
    void (*then)(struct fixture *fixture); /* run inside the callback */
};

static void on_answer(void *arg, int err, struct block *frame, struct slice payload)
{
    struct call *call = arg;
    struct fixture *f = call->fixture;
    call->answered++;
    call->err = err;
    call->len = payload.len;
    if (err == 0) {
        assert_non_null(frame);
        assert_ptr_equal(payload.ptr, frame->data);
        (void)snprintf(call->text, sizeof call->text, "%.*s", (int)MIN(payload.len - 4, 15),
                       (const char *)payload.ptr + 4);
    } else {
        assert_null(frame);
    }
    size_t at = strlen(f->log);
    (void)snprintf(f->log + at, sizeof f->log - at, "%d:%s ", call->id,
                   err == 0 ? call->text : error_name(err));
    if (--f->answers_left == 0) {
        loop_stop(f->env);
    }
    if (call->then != NULL) {
        call->then(f);
    }
}

static void put_request(struct buf *request, const char *text)
{
    buf_init(request);
    buf_put_u32(request, 0x00120003); /* api key and version */
    buf_put_u32(request, 0xdeadbeef); /* overwritten with the correlation id */
    buf_put_str(request, text);
}

static void call_start(struct fixture *f, struct call *call, const char *text, int64_t timeout_ms)
{
    struct buf request;
    put_request(&request, text);
    call->fixture = f;
    net_peer_call(f->peer, &request, timeout_ms, on_answer, call);
    assert_null(request.ptr);
}

static void on_watchdog(void *arg)
{
    struct fixture *f = arg;
    f->is_late = true;
    loop_stop(f->env);
}

static void run(struct fixture *f, int answers)
{
    f->answers_left = answers;
    env_timer_start(&f->watchdog, WATCHDOG_MS);
    loop_run(f->env);
    env_timer_stop(&f->watchdog);
    assert_false(f->is_late);
}

static int setup(void **state)
{
    struct fixture *f = xalloc(sizeof *f);
    struct errmsg em;
    f->env = loop_new(&(struct loop_config){.name = "test"}, &em);
    assert_non_null(f->env);
    env_timer_init(&f->watchdog, f->env, on_watchdog, f);
    serve(f);
    struct net_peer_config config = {.host = "127.0.0.1",
                                     .port = f->port,
                                     .response_bytes_max = 1 << 20,
                                     .backoff_ms = 20,
                                     .connect_timeout_ms = 5000};
    f->peer = net_peer_new(f->env, &config);
    *state = f;
    return 0;
}

static int teardown(void **state)
{
    struct fixture *f = *state;
    net_peer_free(f->peer);
    if (f->server != NULL) {
        unserve(f);
    }
    loop_free(f->env);
    free(f);
    return 0;
}

/* ---- answers ---- */

static void pipelined_calls_are_answered_in_order(void **state)
{
    struct fixture *f = *state;
    struct call calls[3] = {{.id = 1}, {.id = 2}, {.id = 3}};
    call_start(f, &calls[0], "e-one", 5000);
    call_start(f, &calls[1], "e-two", 5000);
    call_start(f, &calls[2], "e-three", 5000);
    assert_int_equal(net_peer_pending(f->peer), 3);
    assert_string_equal(f->log, ""); /* nothing from inside */
    run(f, 3);
    assert_string_equal(f->log, "1:e-one 2:e-two 3:e-three ");
    assert_int_equal(net_peer_pending(f->peer), 0);
}

static struct block *kept;

static void keep_frame(void *arg, int err, struct block *frame, struct slice payload)
{
    struct fixture *f = arg;
    assert_int_equal(err, 0);
    assert_int_equal(payload.len, 300004);
    assert_int_equal(payload.ptr[300003], 'L');
    kept = block_ref(frame);
    if (--f->answers_left == 0) {
        loop_stop(f->env);
    }
}

static void frame_may_be_kept_and_is_otherwise_used_again(void **state)
{
    struct fixture *f = *state;
    struct block *seen[4];
    for (int i = 0; i < 4; i++) {
        struct buf request;
        put_request(&request, "L");
        net_peer_call(f->peer, &request, 5000, keep_frame, f);
        run(f, 1);
        seen[i] = kept;
        if (i != 1) {
            block_unref(kept);
        }
    }
    assert_ptr_equal(seen[0], seen[1]);
    assert_ptr_not_equal(seen[1], seen[2]); /* it was kept */
    assert_ptr_equal(seen[2], seen[3]);
    assert_int_equal(seen[1]->data[300003], 'L');
    net_peer_free(f->peer);
    f->peer = NULL;
    block_unref(seen[1]); /* also after the peer */
}

/* ---- failures ---- */

static void timeout_of_a_sent_call_drops_the_connection(void **state)
{
    struct fixture *f = *state;
    struct call calls[3] = {{.id = 1}, {.id = 2}, {.id = 3}};
    call_start(f, &calls[0], "p", 5000);
    call_start(f, &calls[1], "p", 30);
    run(f, 2);
    assert_string_equal(f->log, "2:timed out 1:closed ");
    call_start(f, &calls[2], "e-again", 5000);
    run(f, 1);
    assert_string_equal(f->log, "2:timed out 1:closed 3:e-again ");
    assert_int_equal(f->orphan_count, 2);
}

static void lost_connection_fails_what_was_sent(void **state)
{
    struct fixture *f = *state;
    struct call calls[3] = {{.id = 1}, {.id = 2}, {.id = 3}};
    call_start(f, &calls[0], "e", 5000);
    call_start(f, &calls[1], "c", 5000);
    call_start(f, &calls[2], "p", 5000);
    run(f, 3);
    assert_string_equal(f->log, "1:e 2:closed 3:closed ");
}

static void calls_wait_for_a_server_that_comes_later(void **state)
{
    struct fixture *f = *state;
    struct call calls[2] = {{.id = 1}, {.id = 2}};
    unserve(f);
    call_start(f, &calls[0], "e", 60);
    call_start(f, &calls[1], "e", 10000);
    run(f, 1);
    assert_string_equal(f->log, "1:refused ");
    serve(f);
    run(f, 1);
    assert_string_equal(f->log, "1:refused 2:e ");
}

/* With gives_up nobody waits for a server that may come later; the next call tries anew. */
static void impatient_peer_tells_a_refusal_at_once(void **state)
{
    struct fixture *f = *state;
    struct call calls[2] = {{.id = 1}, {.id = 2}};
    unserve(f);
    net_peer_free(f->peer);
    struct net_peer_config config = {.host = "127.0.0.1",
                                     .port = f->port,
                                     .response_bytes_max = 1000,
                                     .backoff_ms = 1,
                                     .connect_timeout_ms = 5000,
                                     .gives_up = true};
    f->peer = net_peer_new(f->env, &config);
    call_start(f, &calls[0], "e", 3600000);
    run(f, 1);
    assert_string_equal(f->log, "1:refused ");
    serve(f);
    call_start(f, &calls[1], "e", 5000);
    run(f, 1);
    assert_string_equal(f->log, "1:refused 2:e ");
}

static void wrong_answers_drop_the_connection(void **state)
{
    struct fixture *f = *state;
    static const char *const texts[] = {"w", "s"};
    for (int i = 0; i < 2; i++) {
        struct call calls[3] = {{.id = 1}, {.id = 2}, {.id = 3}};
        f->log[0] = '\0';
        call_start(f, &calls[0], texts[i], 5000);
        call_start(f, &calls[1], "p", 5000);
        run(f, 2);
        assert_string_equal(f->log, "1:malformed 2:closed ");
        call_start(f, &calls[2], "e", 5000);
        run(f, 1);
        assert_string_equal(f->log, "1:malformed 2:closed 3:e ");
    }
}

static void answer_above_the_limit_is_malformed(void **state)
{
    struct fixture *f = *state;
    net_peer_free(f->peer);
    struct net_peer_config config = {.host = "127.0.0.1",
                                     .port = f->port,
                                     .response_bytes_max = 1000,
                                     .backoff_ms = 1,
                                     .connect_timeout_ms = 5000};
    f->peer = net_peer_new(f->env, &config);
    struct call call = {.id = 1};
    call_start(f, &call, "L", 5000);
    run(f, 1);
    assert_int_equal(call.err, -E_MALFORMED);
}

static void failed_request_is_told(void **state)
{
    struct fixture *f = *state;
    struct call call = {.id = 1, .fixture = f};
    struct buf request;
    buf_init_max(&request, 10);
    buf_put_str(&request, "more than ten");
    net_peer_call(f->peer, &request, 5000, on_answer, &call);
    assert_int_equal(call.answered, 0);
    run(f, 1);
    assert_int_equal(call.err, -E_TOO_LARGE);
}

/* ---- a server that never answers the handshake ---- */

static struct env_ops silent_ops;
static struct env_conn silent_conn;

static struct env_conn *silent_connect(struct env *env, const char *host, uint16_t port,
                                       const struct env_conn_handler *handler, void *arg)
{
    (void)host;
    (void)port;
    silent_conn = (struct env_conn){.env = env, .handler = handler, .arg = arg};
    return &silent_conn;
}

static void silent_close(struct env_conn *c)
{
    assert_ptr_equal(c, &silent_conn);
}

static void use_silent_server(struct fixture *f, bool gives_up)
{
    net_peer_free(f->peer);
    silent_ops = *f->env->ops;
    silent_ops.connect = silent_connect;
    silent_ops.conn_close = silent_close;
    f->env->ops = &silent_ops;
    struct net_peer_config config = {.host = "127.0.0.1",
                                     .port = 9,
                                     .response_bytes_max = 1000,
                                     .backoff_ms = 10,
                                     .connect_timeout_ms = 20,
                                     .gives_up = gives_up};
    f->peer = net_peer_new(f->env, &config);
}

static void connecting_times_out_and_is_tried_again(void **state)
{
    struct fixture *f = *state;
    const struct env_ops *ops = f->env->ops;
    use_silent_server(f, false);
    struct call call = {.id = 1};
    call_start(f, &call, "e", 100);
    int64_t begun_us = env_now_us(f->env);
    run(f, 1);
    assert_int_equal(call.err, -E_TIMEOUT);
    assert_true(env_now_us(f->env) - begun_us >= 99000);
    net_peer_free(f->peer);
    f->peer = NULL;
    f->env->ops = ops;
}

static void giving_up_ends_waiting_when_connecting_times_out(void **state)
{
    struct fixture *f = *state;
    const struct env_ops *ops = f->env->ops;
    use_silent_server(f, true);
    struct call call = {.id = 1};
    call_start(f, &call, "e", 1000000);
    run(f, 1);
    assert_int_equal(call.err, -E_TIMEOUT);
    net_peer_free(f->peer);
    f->peer = NULL;
    f->env->ops = ops;
}

/* ---- reset and free ---- */

static void reset_fails_pending_calls_at_once_and_the_next_connects(void **state)
{
    struct fixture *f = *state;
    struct call calls[4] = {{.id = 1}, {.id = 2}, {.id = 3}, {.id = 4}};
    call_start(f, &calls[0], "e", 5000);
    run(f, 1);
    call_start(f, &calls[1], "p", 5000);
    call_start(f, &calls[2], "p", 5000);
    net_peer_reset(f->peer);
    assert_string_equal(f->log, "1:e 2:closed 3:closed ");
    call_start(f, &calls[3], "e", 5000);
    run(f, 1);
    assert_string_equal(f->log, "1:e 2:closed 3:closed 4:e ");
}

static struct call follow_up = {.id = 9};

static void reset_and_call(struct fixture *f)
{
    net_peer_reset(f->peer);
    call_start(f, &follow_up, "e-next", 5000);
}

static void callback_may_reset_and_call_again(void **state)
{
    struct fixture *f = *state;
    struct call calls[2] = {{.id = 1, .then = reset_and_call}, {.id = 2}};
    call_start(f, &calls[0], "e", 5000);
    call_start(f, &calls[1], "e", 5000);
    run(f, 3);
    assert_string_equal(f->log, "1:e 2:closed 9:e-next ");
}

static void free_peer(struct fixture *f)
{
    net_peer_free(f->peer);
    f->peer = NULL;
    loop_stop(f->env);
}

static void callback_may_free_the_peer(void **state)
{
    struct fixture *f = *state;
    static const char *const texts[] = {"e", "c", "w"};
    for (int i = 0; i < 3; i++) {
        struct call calls[3] = {{.id = 1, .then = free_peer}, {.id = 2}, {.id = 3}};
        for (int k = 0; k < 3; k++) {
            call_start(f, &calls[k], texts[i], 5000);
        }
        run(f, 100);
        assert_int_equal(calls[0].answered, 1);
        assert_int_equal(calls[1].answered + calls[2].answered, 0);
        assert_null(f->peer);
        struct net_peer_config config = {.host = "127.0.0.1",
                                         .port = f->port,
                                         .response_bytes_max = 1 << 20,
                                         .backoff_ms = 1,
                                         .connect_timeout_ms = 5000};
        f->peer = net_peer_new(f->env, &config);
    }
}

static void freeing_drops_calls_without_a_word(void **state)
{
    struct fixture *f = *state;
    struct call calls[2] = {{.id = 1}, {.id = 2}};
    call_start(f, &calls[0], "p", 5000);
    net_peer_free(f->peer);
    f->peer = NULL;
    assert_int_equal(calls[0].answered, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(pipelined_calls_are_answered_in_order, setup, teardown),
        cmocka_unit_test_setup_teardown(frame_may_be_kept_and_is_otherwise_used_again, setup,
                                        teardown),
        cmocka_unit_test_setup_teardown(timeout_of_a_sent_call_drops_the_connection, setup,
                                        teardown),
        cmocka_unit_test_setup_teardown(lost_connection_fails_what_was_sent, setup, teardown),
        cmocka_unit_test_setup_teardown(calls_wait_for_a_server_that_comes_later, setup, teardown),
        cmocka_unit_test_setup_teardown(impatient_peer_tells_a_refusal_at_once, setup, teardown),
        cmocka_unit_test_setup_teardown(wrong_answers_drop_the_connection, setup, teardown),
        cmocka_unit_test_setup_teardown(answer_above_the_limit_is_malformed, setup, teardown),
        cmocka_unit_test_setup_teardown(failed_request_is_told, setup, teardown),
        cmocka_unit_test_setup_teardown(connecting_times_out_and_is_tried_again, setup, teardown),
        cmocka_unit_test_setup_teardown(giving_up_ends_waiting_when_connecting_times_out, setup,
                                        teardown),
        cmocka_unit_test_setup_teardown(reset_fails_pending_calls_at_once_and_the_next_connects,
                                        setup, teardown),
        cmocka_unit_test_setup_teardown(callback_may_reset_and_call_again, setup, teardown),
        cmocka_unit_test_setup_teardown(callback_may_free_the_peer, setup, teardown),
        cmocka_unit_test_setup_teardown(freeing_drops_calls_without_a_word, setup, teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
