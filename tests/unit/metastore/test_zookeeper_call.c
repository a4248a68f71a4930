/*
 * The queue of calls while no server answers: what is refused at once, and in which order. The rest is
 * tested against a real server, in tests/system.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "zookeeper_fixture.h"

#include "base/alloc.h"

#include <stdlib.h>

static void never(void *arg, enum metastore_event event, struct slice path)
{
    (void)arg;
    (void)event;
    (void)path;
    fail();
}

static void bad_paths_are_refused_in_order_and_never_at_once(void **state)
{
    struct fixture *f = *state;
    struct answer a[3] = {{f, 0}, {f, 1}, {f, 2}};
    metastore_get(f->m, slice_str("x"), never, f, fixture_done, &a[0]);
    metastore_exists(f->m, slice_str("/x/"), never, f, fixture_done, &a[1]);
    metastore_children(f->m, slice_str("/../x"), NULL, NULL, fixture_done, &a[2]);
    assert_int_equal(f->answer_count, 0);
    fixture_run(f, 3);
    assert_string_equal(f->answers, "0:invalid@-1; 1:invalid@-1; 2:invalid@-1; ");
}

static void bad_multis_are_refused_with_the_operation(void **state)
{
    struct fixture *f = *state;
    struct answer a[5] = {{f, 0}, {f, 1}, {f, 2}, {f, 3}, {f, 4}};
    char *big = xalloc(METASTORE_DATA_MAX + 2);
    memset(big, 'x', METASTORE_DATA_MAX + 1);
    struct metastore_op ops[3] = {
        {.kind = METASTORE_CHECK, .path = slice_str("/x"), .version = -1},
        {.kind = METASTORE_CREATE, .path = slice_str("/x"), .data = slice_str(big)},
        {.kind = METASTORE_DELETE, .path = slice_str("/"), .version = -1},
    };
    metastore_multi(f->m, ops, 2, fixture_done, &a[0]);
    metastore_multi(f->m, &ops[2], 1, fixture_done, &a[1]);
    /* Two nodes that are allowed one by one are too much for one request. */
    ops[0] = ops[1];
    ops[0].data.len = ops[1].data.len = METASTORE_DATA_MAX / 2;
    ops[2] = ops[0];
    metastore_multi(f->m, ops, 3, fixture_done, &a[2]);
    metastore_multi(f->m, ops, 0, fixture_done, &a[3]);
    struct metastore_op *many = xalloc((METASTORE_OPS_MAX + 1) * sizeof *many);
    metastore_multi(f->m, many, METASTORE_OPS_MAX + 1, fixture_done, &a[4]);
    free(many);
    free(big);
    fixture_run(f, 5);
    assert_string_equal(f->answers,
                        "0:too large@1; 1:invalid@0; 2:too large@-1; 3:ok@-1; 4:too large@-1; ");
}

/* The good call in the middle waits for a server, so the last one waits for it. */
static void refused_call_waits_for_those_before_it(void **state)
{
    struct fixture *f = *state;
    struct answer a[3] = {{f, 0}, {f, 1}, {f, 2}};
    metastore_get(f->m, slice_str("bad"), NULL, NULL, fixture_done, &a[0]);
    metastore_get(f->m, slice_str("/good"), never, f, fixture_done, &a[1]);
    metastore_get(f->m, slice_str("bad"), NULL, NULL, fixture_done, &a[2]);
    f->trouble_count =
        1; /* the first trouble comes after the first answer, and is the second stop */
    fixture_run(f, 2);
    assert_string_equal(f->answers, "0:invalid@-1; ");
}

static void session_s_end_answers_all_in_order(void **state)
{
    struct fixture *f = *state;
    struct metastore_zk_session *s = CONTAINER_OF(f->m, struct metastore_zk_session, base);
    struct answer a[3] = {{f, 0}, {f, 1}, {f, 2}};
    struct metastore_op op = {.kind = METASTORE_CREATE, .path = slice_str("/x")};
    metastore_get(f->m, slice_str("/good"), never, f, fixture_done, &a[0]);
    metastore_multi(f->m, &op, 1, fixture_done, &a[1]);
    metastore_get(f->m, slice_str("bad"), NULL, NULL, fixture_done, &a[2]);
    metastore_zk_calls_expire(s);
    fixture_run(f, 3);
    assert_string_equal(f->answers, "0:session expired@-1; 1:session expired@-1; 2:invalid@-1; ");
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, fixture_setup, fixture_teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(bad_paths_are_refused_in_order_and_never_at_once),
        TEST(bad_multis_are_refused_with_the_operation),
        TEST(refused_call_waits_for_those_before_it),
        TEST(session_s_end_answers_all_in_order),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
