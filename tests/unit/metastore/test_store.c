/*
 * The store beyond the common contract: faults, and its life.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

#include "bench.h"

struct fixture {
    struct bench *bench;
    struct bench_session *a;
    struct bench_session *b;
    int64_t a_id;
};

static int setup(void **state)
{
    struct fixture *f = xalloc(sizeof *f);
    f->bench = bench_new(BENCH_MEMORY);
    f->a = bench_session_new(f->bench);
    f->b = bench_session_new(f->bench);
    f->a_id = metastore_session_id(f->a->m);
    *state = f;
    return 0;
}

static int teardown(void **state)
{
    struct fixture *f = *state;
    bench_session_close(f->a);
    bench_session_close(f->b);
    bench_free(f->bench);
    free(f);
    return 0;
}

static void assert_err(struct bench_answer a, int code)
{
    assert_string_equal(error_name(a.err), error_name(code));
}

#define assert_log(session, text)                                                                  \
    do {                                                                                           \
        char assert_log_[2048];                                                                    \
        assert_string_equal(bench_take_log(session, assert_log_), text);                           \
    } while (0)

static void expired_session_is_told_and_stays_dead(void **state)
{
    struct fixture *f = *state;
    struct metastore_op op = OP_EPHEMERAL("/e");
    assert_err(bench_op(f->a, op), 0);
    assert_err(bench_exists(f->b, "/e", true), 0);
    assert_err(bench_exists(f->a, "/never", true), -E_NOT_FOUND);
    metastore_store_expire(f->bench->store, f->a_id);
    bench_run(f->bench, 10);
    assert_log(f->a, "state expired");
    assert_log(f->b, "event deleted /e");
    assert_err(bench_op(f->a, op), -E_SESSION_EXPIRED);
    assert_err(bench_get(f->a, "/", true), -E_SESSION_EXPIRED);
    metastore_store_expire(f->bench->store, f->a_id); /* again: nothing */
    metastore_store_disconnect(f->bench->store, f->a_id);
    assert_err(bench_op(f->b, OP_CREATE("/never", NULL)), 0);
    bench_run(f->bench, 10);
    assert_log(f->a, "");
}

static void disconnected_session_waits_and_goes_on(void **state)
{
    struct fixture *f = *state;
    assert_err(bench_op(f->b, OP_CREATE("/x", "0")), 0);
    assert_err(bench_get(f->a, "/x", true), 0);
    metastore_store_disconnect(f->bench->store, f->a_id);
    assert_err(bench_op(f->b, OP_SET("/x", "1", -1)), 0);
    struct bench_answer set = {.session = f->a, .number = 1};
    struct bench_answer get = {.session = f->a, .number = 2};
    struct metastore_op op = OP_SET("/x", "2", 1);
    metastore_multi(f->a->m, &op, 1, bench_done, &set);
    metastore_get(f->a->m, slice_str("/x"), NULL, NULL, bench_done, &get);
    bench_run(f->bench, BENCH_TIMEOUT_MS / 2);
    assert_log(f->a, "state disconnected");
    assert_string_equal(bench_get(f->b, "/x", false).data, "1");
    metastore_store_reconnect(f->bench->store, f->a_id);
    bench_run(f->bench, 2 * BENCH_TIMEOUT_MS);
    assert_log(f->a, "state connected; event changed /x; answer 1; answer 2");
    assert_int_equal(set.err, 0);
    assert_string_equal(get.data, "2");
}

static void disconnected_session_expires_after_its_timeout(void **state)
{
    struct fixture *f = *state;
    assert_err(bench_op(f->a, OP_EPHEMERAL("/e")), 0);
    metastore_store_disconnect(f->bench->store, f->a_id);
    struct bench_answer get = {.session = f->a, .number = 1};
    metastore_get(f->a->m, slice_str("/"), NULL, NULL, bench_done, &get);
    bench_run(f->bench, BENCH_TIMEOUT_MS - 10);
    assert_err(bench_exists(f->b, "/e", false), 0);
    bench_run(f->bench, 20);
    assert_err(bench_exists(f->b, "/e", false), -E_NOT_FOUND);
    assert_log(f->a, "state disconnected; answer 1; state expired");
    assert_int_equal(get.err, -E_SESSION_EXPIRED);
}

/* The answer is delayed, so the write is carried out when the connection breaks. */
static void write_in_flight_at_disconnection_has_unknown_outcome(void **state)
{
    struct fixture *f = *state;
    metastore_store_delay(f->bench->store, f->a_id, 100);
    struct bench_answer set = {0};
    struct bench_answer refused = {0};
    struct metastore_op ops[] = {OP_CREATE("/x", "0"), OP_SET("/x", "1", 7)};
    metastore_multi(f->a->m, &ops[0], 1, bench_done, &set);
    metastore_multi(f->a->m, &ops[1], 1, bench_done, &refused);
    bench_run(f->bench, 50);
    metastore_store_disconnect(f->bench->store, f->a_id);
    metastore_store_reconnect(f->bench->store, f->a_id);
    bench_wait(f->bench, &refused);
    assert_err(set, -E_UNKNOWN_OUTCOME);
    assert_err(refused, -E_BAD_VERSION);
    assert_string_equal(bench_get(f->a, "/x", false).data, "0");
}

static void write_in_flight_at_expiry_has_unknown_outcome(void **state)
{
    struct fixture *f = *state;
    metastore_store_delay(f->bench->store, f->a_id, 100);
    struct bench_answer set = {0};
    struct bench_answer get = {0};
    struct metastore_op op = OP_CREATE("/x", "0");
    metastore_multi(f->a->m, &op, 1, bench_done, &set);
    metastore_get(f->a->m, slice_str("/x"), NULL, NULL, bench_done, &get);
    bench_run(f->bench, 50);
    metastore_store_expire(f->bench->store, f->a_id);
    bench_wait(f->bench, &get);
    assert_err(set, -E_UNKNOWN_OUTCOME);
    assert_err(get, -E_SESSION_EXPIRED);
    assert_err(bench_get(f->b, "/x", false), 0);
}

static void lost_write_is_carried_out_or_not_as_asked(void **state)
{
    struct fixture *f = *state;
    metastore_store_lose_write(f->bench->store, f->a_id, true);
    assert_err(bench_op(f->a, OP_CREATE("/yes", NULL)), -E_UNKNOWN_OUTCOME);
    metastore_store_lose_write(f->bench->store, f->a_id, false);
    assert_err(bench_op(f->a, OP_CREATE("/no", NULL)), -E_UNKNOWN_OUTCOME);
    assert_err(bench_exists(f->a, "/yes", false), 0);
    assert_err(bench_exists(f->a, "/no", false), -E_NOT_FOUND);
    assert_err(bench_op(f->a, OP_CREATE("/no", NULL)), 0);
}

static void delayed_session_keeps_its_order(void **state)
{
    struct fixture *f = *state;
    struct bench_answer answers[3] = {{0}};
    for (int i = 0; i < 3; i++) {
        answers[i].session = f->a;
        answers[i].number = i;
    }
    int64_t start_ms = sim_world_now_ms(f->bench->world);
    metastore_store_delay(f->bench->store, f->a_id, 200);
    metastore_get(f->a->m, slice_str("/"), NULL, NULL, bench_done, &answers[0]);
    bench_run(f->bench, 50);
    metastore_store_delay(f->bench->store, f->a_id, 0); /* later answers may not overtake */
    metastore_get(f->a->m, slice_str("/"), NULL, NULL, bench_done, &answers[1]);
    metastore_get(f->a->m, slice_str("/"), NULL, NULL, bench_done, &answers[2]);
    bench_wait(f->bench, &answers[2]);
    assert_log(f->a, "answer 0; answer 1; answer 2");
    assert_true(sim_world_now_ms(f->bench->world) - start_ms >= 200);
}

static void sessions_are_listed_while_they_live(void **state)
{
    struct fixture *f = *state;
    int64_t ids[4] = {0};
    assert_int_equal(metastore_store_sessions(f->bench->store, ids, 1), 2);
    assert_int_equal(ids[0], f->a_id);
    assert_int_equal(ids[1], 0);
    metastore_store_expire(f->bench->store, f->a_id);
    assert_int_equal(metastore_store_sessions(f->bench->store, ids, 4), 1);
    assert_int_equal(ids[0], metastore_session_id(f->b->m));
}

static void change_seen(void *arg, struct slice path, const struct slice *data)
{
    char *log = arg;
    size_t used = strlen(log);
    (void)snprintf(log + used, 256 - used, "%.*s=%.*s;", SLICE_ARG(path),
                   data == NULL ? 4 : (int)data->len,
                   data == NULL ? "gone" : (const char *)data->ptr);
}

/* Whoever asked; not what was refused, nor ephemerals. */
static void every_change_is_seen_as_it_is_carried_out(void **state)
{
    struct fixture *f = *state;
    char log[256] = "";
    struct metastore_op create = OP_CREATE("/n", "1");
    struct metastore_op set = OP_SET("/n", "2", 0);
    struct metastore_op ephemeral = OP_EPHEMERAL("/e");
    struct metastore_op delete = OP_DELETE("/n", -1);
    metastore_store_on_change(f->bench->store, change_seen, log);
    assert_err(bench_op(f->a, create), 0);
    assert_err(bench_op(f->b, set), 0);
    assert_err(bench_op(f->a, set), -E_BAD_VERSION);
    assert_err(bench_op(f->a, ephemeral), 0);
    assert_err(bench_op(f->a, delete), 0);
    metastore_store_on_change(f->bench->store, NULL, NULL);
    assert_non_null(strstr(log, "/n=1;/n=2;"));
    assert_non_null(strstr(log, "/n=gone;"));
    assert_null(strstr(log, "/e"));
}

static void stop_waits_for_the_last_client(void **state)
{
    struct fixture *f = *state;
    metastore_store_stop(f->bench->store, bench_stopped, f->bench);
    bench_run(f->bench, 1000);
    assert_false(f->bench->is_stopped);
    metastore_close(f->a->m);
    bench_run(f->bench, 1000);
    assert_false(f->bench->is_stopped);
    metastore_abandon(f->b->m); /* nobody waits for its time-out */
    assert_true(sim_world_run(f->bench->world, 10, bench_flag, &f->bench->is_stopped));
    bench_run(f->bench, 10);
    metastore_store_free(f->bench->store);
    bench_open_store(f->bench);
    free(f->a);
    free(f->b);
    f->a = bench_session_new(f->bench);
    f->b = bench_session_new(f->bench);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(expired_session_is_told_and_stays_dead, setup, teardown),
        cmocka_unit_test_setup_teardown(disconnected_session_waits_and_goes_on, setup, teardown),
        cmocka_unit_test_setup_teardown(disconnected_session_expires_after_its_timeout, setup,
                                        teardown),
        cmocka_unit_test_setup_teardown(write_in_flight_at_disconnection_has_unknown_outcome, setup,
                                        teardown),
        cmocka_unit_test_setup_teardown(write_in_flight_at_expiry_has_unknown_outcome, setup,
                                        teardown),
        cmocka_unit_test_setup_teardown(lost_write_is_carried_out_or_not_as_asked, setup, teardown),
        cmocka_unit_test_setup_teardown(delayed_session_keeps_its_order, setup, teardown),
        cmocka_unit_test_setup_teardown(sessions_are_listed_while_they_live, setup, teardown),
        cmocka_unit_test_setup_teardown(every_change_is_seen_as_it_is_carried_out, setup, teardown),
        cmocka_unit_test_setup_teardown(stop_waits_for_the_last_client, setup, teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
