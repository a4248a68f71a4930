/*
 * The client half: what it copies, and that it may go at any moment. The common contract is tested in
 * test_conformance.c.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "bench.h"

static void arguments_are_copied_by_the_call(void **state)
{
    (void)state;
    struct bench *b = bench_new(BENCH_MEMORY);
    struct bench_session *s = bench_session_new(b);
    char path[] = "/abc";
    char data[] = "data";
    struct metastore_op op = OP_CREATE(path, data);
    struct bench_answer made = {0};
    struct bench_answer got = {0};
    metastore_multi(s->m, &op, 1, bench_done, &made);
    metastore_get(s->m, slice_str(path), NULL, NULL, bench_done, &got);
    memset(path, 'x', 4);
    memset(data, 'x', 4);
    op = (struct metastore_op){0};
    bench_wait(b, &got);
    assert_int_equal(made.err, 0);
    assert_string_equal(got.data, "data");
    bench_session_close(s);
    bench_free(b);
}

static void read_of_a_path_with_a_nul_is_refused(void **state)
{
    (void)state;
    struct bench *b = bench_new(BENCH_MEMORY);
    struct bench_session *s = bench_session_new(b);
    assert_int_equal(bench_op(s, OP_CREATE("/a", "x")).err, 0);
    struct bench_answer got = {0};
    metastore_get(s->m, slice_of("/a\0b", 4), NULL, NULL, bench_done, &got);
    bench_wait(b, &got);
    assert_int_equal(got.err, -E_INVALID);
    bench_session_close(s);
    bench_free(b);
}

static void must_not_run(void *arg, enum metastore_state state)
{
    (void)arg;
    (void)state;
    fail();
}

static void session_may_close_before_it_is_connected(void **state)
{
    (void)state;
    struct bench *b = bench_new(BENCH_MEMORY);
    struct metastore_factory *factory = metastore_store_factory(b->store);
    struct env *env = sim_node_env(b->client_node);
    metastore_close(factory->open(factory, env, 100, must_not_run, NULL));
    metastore_abandon(factory->open(factory, env, 100, must_not_run, NULL));
    bench_run(b, 1000);
    bench_free(b);
}

static void call_without_callback_is_carried_out(void **state)
{
    (void)state;
    struct bench *b = bench_new(BENCH_MEMORY);
    struct bench_session *s = bench_session_new(b);
    struct metastore_op op = OP_CREATE("/a", "x");
    metastore_multi(s->m, &op, 1, NULL, NULL);
    assert_string_equal(bench_get(s, "/a", false).data, "x");
    bench_session_close(s);
    bench_free(b);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(arguments_are_copied_by_the_call),
        cmocka_unit_test(read_of_a_path_with_a_nul_is_refused),
        cmocka_unit_test(session_may_close_before_it_is_connected),
        cmocka_unit_test(call_without_callback_is_carried_out),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
