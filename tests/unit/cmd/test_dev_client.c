/*
 * The client of the control socket against sockets that do not behave; the good case is in
 * test_dev_control.c.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/alloc.h"
#include "env/loop.h"
#include "output.h"

static void nobody_there_is_told(void **state)
{
    (void)state;
    assert_sent("/tmp/klamm-nowhere", "status", 1,
                "klamm dev: no cluster is running in /tmp/klamm-nowhere\n");
}

static void on_accept(void *arg, struct env_conn *conn)
{
    (void)arg;
    env_conn_close(conn);
}

static void end_without_an_answer_is_told(void **state)
{
    (void)state;
    char directory[] = "/tmp/klamm-client-XXXXXX";
    assert_non_null(mkdtemp(directory));
    struct errmsg em;
    struct env *env = loop_new(&(struct loop_config){.name = "server"}, &em);
    assert_non_null(env);
    char *path = xasprintf("%s/" CMD_DEV_CONTROL_FILE, directory);
    char *host = xasprintf(ENV_UNIX_PREFIX "%s", path);
    struct env_listener *listener = NULL;
    assert_int_equal(env_listen(env, host, 0, on_accept, NULL, &listener, &em), 0);
    assert_int_equal(loop_start(env, &em), 0);
    char *expected =
        xasprintf("klamm dev: the cluster in %s ended before it answered\n", directory);
    assert_sent(directory, "status", 1, expected);
    loop_stop(env);
    loop_free(env); /* closes the listener too */
    assert_int_equal(unlink(path), 0);
    assert_int_equal(rmdir(directory), 0);
    free(expected);
    free(host);
    free(path);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(nobody_there_is_told),
        cmocka_unit_test(end_without_an_answer_is_told),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
