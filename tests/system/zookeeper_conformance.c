/*
 * The contract of metastore.h against a real ZooKeeper, whose address KLAMM_ZOOKEEPER has. Started by
 * test_zookeeper_conformance.py, which starts the server.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "unit/metastore/conformance.h"

static int setup_zookeeper(void **state)
{
    return fixture_setup(state, BENCH_ZOOKEEPER);
}

int main(void)
{
    const struct CMUnitTest tests[] = {CONFORMANCE_LIST(setup_zookeeper)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
