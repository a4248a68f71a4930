/*
 * The contract of metastore.h as tests: each is one clause, and runs against every backend. A backend
 * that passes can carry a broker. Include it once, after cmocka and bench.h; the includer has main.
 */
#pragma once

#include "bench.h"

struct fixture {
    struct bench *bench;
    struct bench_session *a;
    struct bench_session *b;
    bool is_closed;
};

static inline int fixture_setup(void **state, enum bench_backend backend)
{
    struct fixture *f = xalloc(sizeof *f);
    f->bench = backend == BENCH_ZOOKEEPER ? bench_new_zookeeper() : bench_new(backend);
    f->a = bench_session_new(f->bench);
    f->b = bench_session_new(f->bench);
    *state = f;
    return 0;
}

static void close_session(struct bench_session **s)
{
    if (*s != NULL) {
        bench_session_close(*s);
        *s = NULL;
    }
}

static int teardown(void **state)
{
    struct fixture *f = *state;
    close_session(&f->a);
    close_session(&f->b);
    bench_free(f->bench);
    free(f);
    return 0;
}

#define assert_answer(answer, code)                                                                \
    do {                                                                                           \
        struct bench_answer assert_answer_ = (answer);                                             \
        assert_string_equal(error_name(assert_answer_.err), error_name(code));                     \
    } while (0)

#define assert_log(session, text)                                                                  \
    do {                                                                                           \
        char assert_log_[2048];                                                                    \
        assert_string_equal(bench_take_log(session, assert_log_), text);                           \
    } while (0)

static void created_node_is_read_back_by_other_sessions(void **state)
{
    struct fixture *f = *state;
    struct bench_answer made = bench_op(f->a, OP_CREATE("/x", "hello"));
    assert_answer(made, 0);
    assert_string_equal(made.op_paths[0], "/x");
    struct bench_answer got = bench_get(f->b, "/x", false);
    assert_answer(got, 0);
    assert_string_equal(got.data, "hello");
    assert_int_equal(got.stat.version, 0);
    assert_int_equal(got.stat.czxid, made.op_stats[0].czxid);
    assert_int_equal(got.stat.mzxid, got.stat.czxid);
    assert_int_equal(got.stat.ephemeral_owner, 0);
}

static void null_and_empty_data_stay_apart(void **state)
{
    struct fixture *f = *state;
    assert_answer(bench_op(f->a, OP_CREATE("/null", NULL)), 0);
    assert_answer(bench_op(f->a, OP_CREATE("/empty", "")), 0);
    assert_string_equal(bench_get(f->b, "/null", false).data, "(null)");
    assert_string_equal(bench_get(f->b, "/empty", false).data, "");
}

static void set_is_compare_and_set(void **state)
{
    struct fixture *f = *state;
    assert_answer(bench_op(f->a, OP_CREATE("/x", "0")), 0);
    struct bench_answer set = bench_op(f->a, OP_SET("/x", "1", 0));
    assert_answer(set, 0);
    assert_int_equal(set.op_stats[0].version, 1);
    assert_true(set.op_stats[0].mzxid > set.op_stats[0].czxid);
    struct bench_answer refused = bench_op(f->b, OP_SET("/x", "2", 0));
    assert_answer(refused, -E_BAD_VERSION);
    assert_int_equal(refused.failed_op, 0);
    assert_string_equal(bench_get(f->b, "/x", false).data, "1");
    assert_answer(bench_op(f->b, OP_SET("/x", "3", -1)), 0);
    assert_int_equal(bench_get(f->a, "/x", false).stat.version, 2);
}

static void create_refuses_existing_orphans_and_bad_paths(void **state)
{
    struct fixture *f = *state;
    assert_answer(bench_op(f->a, OP_CREATE("/x", NULL)), 0);
    assert_answer(bench_op(f->a, OP_CREATE("/x", NULL)), -E_EXISTS);
    assert_answer(bench_op(f->a, OP_CREATE("/no/parent", NULL)), -E_NOT_FOUND);
    static const char *const bad[] = {"", "x", "/x/", "//", "/x//y", "/./y", "/../y"};
    for (size_t i = 0; i < ARRAY_LEN(bad); i++) {
        assert_answer(bench_op(f->a, OP_CREATE(bad[i], NULL)), -E_INVALID);
        assert_answer(bench_get(f->a, bad[i], true), -E_INVALID);
        assert_answer(bench_exists(f->a, bad[i], true), -E_INVALID);
        assert_answer(bench_children(f->a, bad[i], true), -E_INVALID);
    }
    struct metastore_op with_nul = {.kind = METASTORE_CREATE, .path = slice_of("/y\0z", 4)};
    assert_answer(bench_op(f->a, with_nul), -E_INVALID);
}

static void delete_needs_version_and_no_children(void **state)
{
    struct fixture *f = *state;
    assert_answer(bench_op(f->a, OP_CREATE("/x", NULL)), 0);
    assert_answer(bench_op(f->a, OP_CREATE("/x/y", NULL)), 0);
    assert_answer(bench_op(f->a, OP_DELETE("/x", -1)), -E_NOT_EMPTY);
    assert_answer(bench_op(f->a, OP_DELETE("/x/y", 1)), -E_BAD_VERSION);
    assert_answer(bench_op(f->a, OP_DELETE("/x/y", 0)), 0);
    assert_answer(bench_op(f->a, OP_DELETE("/x", -1)), 0);
    assert_answer(bench_op(f->a, OP_DELETE("/x", -1)), -E_NOT_FOUND);
    assert_answer(bench_exists(f->a, "/x", false), -E_NOT_FOUND);
}

static void children_come_in_byte_order(void **state)
{
    struct fixture *f = *state;
    assert_answer(bench_children(f->a, "/d", false), -E_NOT_FOUND);
    assert_answer(bench_op(f->a, OP_CREATE("/d", NULL)), 0);
    assert_int_equal(bench_children(f->a, "/d", false).child_count, 0);
    static const char *const names[] = {"/d/b", "/d/10", "/d/a-1", "/d/2", "/d/a"};
    for (size_t i = 0; i < ARRAY_LEN(names); i++) {
        assert_answer(bench_op(f->a, OP_CREATE(names[i], NULL)), 0);
    }
    assert_answer(bench_op(f->a, OP_CREATE("/d/a/deeper", NULL)), 0);
    struct bench_answer got = bench_children(f->b, "/d", false);
    assert_string_equal(got.children, "10,2,a,a-1,b");
    assert_int_equal(bench_get(f->b, "/d", false).stat.child_count, 5);
}

static void sequential_names_rise_and_are_answered(void **state)
{
    struct fixture *f = *state;
    assert_answer(bench_op(f->a, OP_CREATE("/q", NULL)), 0);
    char last[64] = "";
    for (int i = 0; i < 3; i++) {
        struct bench_answer made = bench_op(f->a, OP_SEQUENTIAL("/q/n_"));
        assert_answer(made, 0);
        assert_int_equal(strlen(made.op_paths[0]), strlen("/q/n_") + 10);
        assert_true(strcmp(made.op_paths[0], last) > 0);
        (void)snprintf(last, sizeof last, "%s", made.op_paths[0]);
        assert_answer(bench_op(f->a, OP_DELETE(last, -1)), 0); /* numbers are not used again */
    }
}

static void multi_is_atomic_and_has_one_zxid(void **state)
{
    struct fixture *f = *state;
    struct metastore_op good[] = {OP_CREATE("/m", "a"), OP_CREATE("/m/c", NULL),
                                  OP_SET("/m", "b", 0), OP_CHECK("/m", 1)};
    struct bench_answer done = bench_multi(f->a, good, 4);
    assert_answer(done, 0);
    assert_int_equal(done.op_count, 4);
    assert_int_equal(done.op_stats[0].czxid, done.op_stats[1].czxid);
    assert_int_equal(done.op_stats[2].mzxid, done.op_stats[0].czxid);
    assert_int_equal(done.op_stats[0].version, 0);
    assert_int_equal(done.op_stats[2].version, 1);

    struct metastore_op bad[] = {OP_SET("/m", "lost", 1), OP_DELETE("/m/c", -1),
                                 OP_CREATE("/m/d", NULL), OP_SEQUENTIAL("/m/s"), OP_CHECK("/m", 7)};
    struct bench_answer refused = bench_multi(f->a, bad, 5);
    assert_answer(refused, -E_BAD_VERSION);
    assert_int_equal(refused.failed_op, 4);
    assert_int_equal(refused.op_count, 0);
    struct bench_answer got = bench_get(f->b, "/m", false);
    assert_string_equal(got.data, "b");
    assert_int_equal(got.stat.version, 1);
    assert_string_equal(bench_children(f->b, "/m", false).children, "c");
}

static void multi_may_delete_and_create_the_same_node(void **state)
{
    struct fixture *f = *state;
    assert_answer(bench_op(f->a, OP_CREATE("/x", "old")), 0);
    struct metastore_op ops[] = {OP_DELETE("/x", 0), OP_CREATE("/x", "new"),
                                 OP_CREATE("/x/y", NULL), OP_DELETE("/x/y", -1)};
    struct bench_answer done = bench_multi(f->a, ops, 4);
    assert_answer(done, 0);
    struct bench_answer got = bench_get(f->b, "/x", false);
    assert_string_equal(got.data, "new");
    assert_int_equal(got.stat.czxid, done.op_stats[1].czxid);
    assert_int_equal(bench_children(f->b, "/x", false).child_count, 0);
}

static void limits_are_kept(void **state)
{
    struct fixture *f = *state;
    char *big = xalloc(METASTORE_DATA_MAX + 2);
    memset(big, 'x', METASTORE_DATA_MAX + 1);
    assert_answer(bench_op(f->a, OP_CREATE("/big", big)), -E_TOO_LARGE);
    big[METASTORE_DATA_MAX] = 0;
    assert_answer(bench_op(f->a, OP_CREATE("/big", big)), 0);
    free(big);
    struct metastore_op *ops = xalloc((METASTORE_OPS_MAX + 1) * sizeof *ops);
    for (int i = 0; i <= METASTORE_OPS_MAX; i++) {
        ops[i] = OP_CHECK("/big", -1);
    }
    assert_answer(bench_multi(f->a, ops, METASTORE_OPS_MAX + 1), -E_TOO_LARGE);
    assert_answer(bench_multi(f->a, ops, METASTORE_OPS_MAX), 0);
    free(ops);
}

static void watches_fire_once_for_what_they_name(void **state)
{
    struct fixture *f = *state;
    assert_answer(bench_op(f->a, OP_CREATE("/w", "0")), 0);
    assert_answer(bench_get(f->b, "/w", true), 0);
    assert_answer(bench_op(f->a, OP_CREATE("/w/c", NULL)),
                  0); /* data watch: children do not count */
    assert_answer(bench_op(f->a, OP_SET("/w", "1", -1)), 0);
    assert_answer(bench_op(f->a, OP_SET("/w", "2", -1)), 0);
    assert_answer(bench_children(f->b, "/w", true), 0);
    assert_answer(bench_op(f->a, OP_SET("/w", "3", -1)), 0); /* child watch: data does not count */
    assert_answer(bench_op(f->a, OP_SET("/w/c", "x", -1)), 0);
    assert_answer(bench_op(f->a, OP_CREATE("/w/d", NULL)), 0);
    assert_answer(bench_op(f->a, OP_DELETE("/w/d", -1)), 0);
    bench_settle(f->b);
    assert_log(f->b, "event changed /w; event children /w");
    assert_answer(bench_get(f->b, "/w/c", true), 0);
    assert_answer(bench_op(f->a, OP_DELETE("/w/c", -1)), 0);
    bench_settle(f->b);
    assert_log(f->b, "event deleted /w/c");
}

static void exists_watch_waits_for_creation_and_others_do_not(void **state)
{
    struct fixture *f = *state;
    assert_answer(bench_exists(f->b, "/later", true), -E_NOT_FOUND);
    assert_answer(bench_get(f->b, "/later", true), -E_NOT_FOUND);
    assert_answer(bench_children(f->b, "/later", true), -E_NOT_FOUND);
    assert_answer(bench_op(f->a, OP_CREATE("/later", NULL)), 0);
    bench_settle(f->b);
    assert_log(f->b, "event created /later");
}

static void refused_multi_fires_nothing(void **state)
{
    struct fixture *f = *state;
    assert_answer(bench_op(f->a, OP_CREATE("/w", "0")), 0);
    assert_answer(bench_get(f->b, "/w", true), 0);
    struct metastore_op ops[] = {OP_SET("/w", "1", -1), OP_CHECK("/nowhere", -1)};
    assert_answer(bench_multi(f->a, ops, 2), -E_NOT_FOUND);
    bench_settle(f->b);
    assert_log(f->b, "");
}

static void event_comes_before_a_read_that_shows_the_change(void **state)
{
    struct fixture *f = *state;
    assert_answer(bench_op(f->a, OP_CREATE("/w", "0")), 0);
    assert_answer(bench_get(f->b, "/w", true), 0);
    /* Both on their way at once: whatever the order of arrival, seeing "1" means the event was first. */
    struct bench_answer set = {0};
    struct bench_answer reads[4] = {{0}};
    struct metastore_op op = OP_SET("/w", "1", -1);
    metastore_multi(f->a->m, &op, 1, bench_done, &set);
    for (int i = 0; i < 4; i++) {
        reads[i].session = f->b;
        reads[i].number = i;
        metastore_get(f->b->m, slice_str("/w"), NULL, NULL, bench_done, &reads[i]);
        bench_run(f->bench, 1);
    }
    bench_wait(f->bench, &set);
    bench_wait(f->bench, &reads[3]);
    assert_string_equal(reads[3].data, "1");
    bool is_told = false;
    for (int i = 0; i < f->b->log_count; i++) {
        is_told = is_told || strcmp(f->b->log[i], "event changed /w") == 0;
        int number = -1;
        if (sscanf(f->b->log[i], "answer %d", &number) == 1 &&
            strcmp(reads[number].data, "1") == 0) {
            assert_true(is_told);
        }
    }
}

static void answers_come_in_order_of_the_calls(void **state)
{
    struct fixture *f = *state;
    struct bench_answer answers[6] = {{0}};
    struct metastore_op ops[] = {OP_CREATE("/o", "0"), OP_SET("/o", "1", 0), OP_SET("/o", "2", 1)};
    for (int i = 0; i < 6; i++) {
        answers[i].session = f->a;
        answers[i].number = i;
    }
    for (int i = 0; i < 3; i++) {
        metastore_multi(f->a->m, &ops[i], 1, bench_done, &answers[2 * i]);
        metastore_get(f->a->m, slice_str("/o"), NULL, NULL, bench_done, &answers[2 * i + 1]);
    }
    bench_wait(f->bench, &answers[5]);
    assert_log(f->a, "answer 0; answer 1; answer 2; answer 3; answer 4; answer 5");
    assert_string_equal(answers[1].data, "0");
    assert_string_equal(answers[3].data, "1");
    assert_string_equal(answers[5].data, "2");
}

static void ephemerals_go_with_a_closed_session(void **state)
{
    struct fixture *f = *state;
    assert_answer(bench_op(f->a, OP_CREATE("/e", NULL)), 0);
    struct bench_answer made = bench_op(f->a, OP_EPHEMERAL("/e/1"));
    assert_answer(made, 0);
    assert_int_equal(made.op_stats[0].ephemeral_owner, metastore_session_id(f->a->m));
    assert_answer(bench_op(f->a, OP_CREATE("/e/1/child", NULL)), -E_INVALID);
    assert_answer(bench_get(f->b, "/e/1", true), 0);
    assert_answer(bench_children(f->b, "/e", true), 0);
    close_session(&f->a);
    bench_wait_gone(f->b, "/e/1");
    assert_log(f->b, "event deleted /e/1; event children /e");
}

static void ephemerals_of_an_abandoned_session_go_after_its_timeout(void **state)
{
    struct fixture *f = *state;
    int64_t timeout_ms = f->bench->timeout_ms;
    int64_t start_ms = env_now_us(f->bench->env) / 1000;
    struct bench_answer made = bench_op(f->a, OP_EPHEMERAL("/e"));
    metastore_abandon(f->a->m);
    bench_run(f->bench, timeout_ms / 2);
    assert_answer(bench_exists(f->b, "/e", false), 0);
    bench_wait_gone(f->b, "/e");
    int64_t lived_ms = env_now_us(f->bench->env) / 1000 - start_ms;
    assert_in_range(lived_ms, timeout_ms - 100, timeout_ms + f->bench->lateness_ms);
    free(f->a);
    f->a = bench_session_new(f->bench);
    struct bench_answer again = bench_op(f->a, OP_EPHEMERAL("/e"));
    assert_answer(again, 0);
    assert_true(again.op_stats[0].czxid > made.op_stats[0].czxid);
}

static void closed_session_calls_nobody_back(void **state)
{
    struct fixture *f = *state;
    assert_answer(bench_op(f->b, OP_CREATE("/x", NULL)), 0);
    assert_answer(bench_get(f->a, "/x", true), 0);
    struct bench_answer late = {0};
    metastore_get(f->a->m, slice_str("/x"), NULL, NULL, bench_done, &late);
    metastore_close(f->a->m);
    assert_answer(bench_op(f->b, OP_SET("/x", "1", -1)), 0);
    bench_run(f->bench, 100);
    assert_false(late.is_done);
    assert_log(f->a, "");
    free(f->a);
    f->a = NULL;
}

static void session_may_close_inside_its_own_callback_done(void *arg,
                                                           const struct metastore_result *r)
{
    assert_int_equal(r->err, 0);
    struct fixture *f = arg;
    metastore_close(f->a->m);
    f->is_closed = true;
}

static void session_may_close_inside_its_own_callback(void **state)
{
    struct fixture *f = *state;
    metastore_get(f->a->m, slice_str("/"), NULL, NULL,
                  session_may_close_inside_its_own_callback_done, f);
    assert_true(bench_run_until(f->bench, bench_flag, &f->is_closed));
    free(f->a);
    f->a = NULL;
    assert_answer(bench_exists(f->b, "/", false), 0);
}

#define CONFORMANCE(test, setup)                                                                   \
    {                                                                                              \
#test " (" #setup ")", test, setup, teardown, NULL                                         \
    }
#define CONFORMANCE_LIST(setup)                                                                    \
    CONFORMANCE(created_node_is_read_back_by_other_sessions, setup),                               \
        CONFORMANCE(null_and_empty_data_stay_apart, setup),                                        \
        CONFORMANCE(set_is_compare_and_set, setup),                                                \
        CONFORMANCE(create_refuses_existing_orphans_and_bad_paths, setup),                         \
        CONFORMANCE(delete_needs_version_and_no_children, setup),                                  \
        CONFORMANCE(children_come_in_byte_order, setup),                                           \
        CONFORMANCE(sequential_names_rise_and_are_answered, setup),                                \
        CONFORMANCE(multi_is_atomic_and_has_one_zxid, setup),                                      \
        CONFORMANCE(multi_may_delete_and_create_the_same_node, setup),                             \
        CONFORMANCE(limits_are_kept, setup),                                                       \
        CONFORMANCE(watches_fire_once_for_what_they_name, setup),                                  \
        CONFORMANCE(exists_watch_waits_for_creation_and_others_do_not, setup),                     \
        CONFORMANCE(refused_multi_fires_nothing, setup),                                           \
        CONFORMANCE(event_comes_before_a_read_that_shows_the_change, setup),                       \
        CONFORMANCE(answers_come_in_order_of_the_calls, setup),                                    \
        CONFORMANCE(ephemerals_go_with_a_closed_session, setup),                                   \
        CONFORMANCE(ephemerals_of_an_abandoned_session_go_after_its_timeout, setup),               \
        CONFORMANCE(closed_session_calls_nobody_back, setup),                                      \
        CONFORMANCE(session_may_close_inside_its_own_callback, setup)
