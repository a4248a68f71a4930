/*
 * An abandoned connection tells nobody, whatever the env still has to say.
 */
#include "net/abandon.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

static int closes;

static void count_close(struct env_conn *c)
{
    (void)c;
    closes++;
}

static const struct env_ops ops = {.conn_close = count_close};

static void owners_readable(struct env_conn *c, void *arg)
{
    (void)c;
    (void)arg;
    fail();
}

static void owners_closed(struct env_conn *c, void *arg, int err)
{
    (void)c;
    (void)arg;
    (void)err;
    fail();
}

static const struct env_conn_handler owners = {.readable = owners_readable,
                                               .closed = owners_closed};

static void the_owner_hears_nothing_more(void **state)
{
    (void)state;
    struct env env = {.ops = &ops};
    struct env_conn conn = {.env = &env};
    env_conn_set_handler(&conn, &owners, &conn);
    net_abandon(&conn);
    assert_int_equal(closes, 1);
    assert_null(conn.arg);
    conn.handler->connected(&conn, conn.arg);
    conn.handler->readable(&conn, conn.arg);
    conn.handler->writable(&conn, conn.arg);
    conn.handler->closed(&conn, conn.arg, -E_CLOSED);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_owner_hears_nothing_more),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
