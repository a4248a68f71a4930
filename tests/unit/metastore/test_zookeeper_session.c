/*
 * A ZooKeeper session that finds no server: what it tells, and that it can end at any moment. States,
 * loss and expiry are tested against a real server, in tests/system.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "zookeeper_fixture.h"

static void refused_connection_is_trouble_told_once(void **state)
{
    struct fixture *f = *state;
    fixture_run(f, 1);
    assert_non_null(strstr(f->trouble, "ZooKeeper 127.0.0.1:"));
    assert_non_null(strstr(f->trouble, "connection loss"));
    /* A turn of the loop later the next attempts fail in the same way. */
    f->is_late = false;
    env_timer_start(&f->watchdog, 300);
    loop_run(f->env);
    assert_int_equal(f->trouble_count, 1);
    assert_int_equal(f->state_count, 0);
    assert_int_equal(metastore_session_id(f->m), 0);
}

static void session_ends_before_it_began(void **state)
{
    struct fixture *f = *state;
    struct answer a = {f, 0};
    metastore_get(f->m, slice_str("/x"), NULL, NULL, fixture_done, &a);
    metastore_close(f->m);
    f->m = f->factory->open(f->factory, f->env, 5000, fixture_state, f);
    metastore_abandon(f->m);
    f->m = NULL;
    env_timer_start(&f->watchdog, 50);
    loop_run(f->env);
    assert_string_equal(f->answers, "");
    assert_int_equal(f->trouble_count, 0);
}

static void on_trouble_close(void *arg, const char *text)
{
    struct fixture *f = arg;
    metastore_close(f->m);
    f->m = NULL;
    fixture_trouble(f, text);
}

static void session_may_end_inside_trouble(void **state)
{
    struct fixture *f = *state;
    struct metastore_zk_factory *factory =
        CONTAINER_OF(f->factory, struct metastore_zk_factory, base);
    factory->on_trouble = on_trouble_close;
    fixture_run(f, 1);
    assert_null(f->m);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, fixture_setup, fixture_teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(refused_connection_is_trouble_told_once),
        TEST(session_ends_before_it_began),
        TEST(session_may_end_inside_trouble),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
