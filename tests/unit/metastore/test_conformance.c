/*
 * The contract of metastore.h, run against the embedded backends (conformance.h; the ZooKeeper backend
 * runs it in tests/system).
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "conformance.h"

static int setup_memory(void **state)
{
    return fixture_setup(state, BENCH_MEMORY);
}

static int setup_one_env(void **state)
{
    return fixture_setup(state, BENCH_MEMORY_ONE_ENV);
}

static int setup_local(void **state)
{
    return fixture_setup(state, BENCH_LOCAL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        CONFORMANCE_LIST(setup_memory),
        CONFORMANCE_LIST(setup_one_env),
        CONFORMANCE_LIST(setup_local),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
