/*
 * A fake cluster and a client of it, for tests of single calls.
 */
#pragma once

#include "unit/client/fake_cluster.h"

#include "klamm/klamm.h"

struct fake_fixture {
    struct fake_cluster *cluster;
    struct klamm_client *client;
    struct klamm_error err;
};

static inline int fake_fixture_setup(void **state)
{
    struct fake_fixture *x = xalloc(sizeof *x);
    x->cluster = fake_cluster_new();
    char *bootstrap = fake_bootstrap(x->cluster);
    struct klamm_config config = {.bootstrap_servers = bootstrap, .timeout_ms = 10000};
    int code = klamm_connect(&config, &x->client, &x->err);
    free(bootstrap);
    *state = x;
    return code;
}

static inline int fake_fixture_teardown(void **state)
{
    struct fake_fixture *x = *state;
    klamm_close(x->client);
    fake_cluster_free(x->cluster);
    free(x);
    return 0;
}

#define FAKE_TEST(name)                                                                            \
    cmocka_unit_test_setup_teardown(name, fake_fixture_setup, fake_fixture_teardown)
