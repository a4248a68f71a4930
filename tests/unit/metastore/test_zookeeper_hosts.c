/*
 * Names of ZooKeeper hosts become addresses before the client sees them. Nobody listens at any of
 * them; only what every machine knows by itself is looked up.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "zookeeper_fixture.h"

#define NO_NAME_BYTES 300 /* no name is that long, so the resolver knows without asking */

/* Runs a session on other hosts than the fixture's until its first trouble. Its addresses then are
 * copied out. */
static void run_on(struct fixture *f, const char *connect, char ret_hosts[256])
{
    metastore_close(f->m);
    struct metastore_zookeeper_config config = {
        .connect = connect, .on_trouble = fixture_trouble, .arg = f};
    struct metastore_factory *factory = NULL;
    struct errmsg em = {""};
    assert_int_equal(metastore_zookeeper_new(&config, &factory, &em), 0);
    f->m = factory->open(factory, f->env, 5000, fixture_state, f);
    f->trouble_count = 0;
    fixture_run(f, 1);
    const struct metastore_zk_session *s = CONTAINER_OF(f->m, struct metastore_zk_session, base);
    (void)snprintf(ret_hosts, 256, "%s", s->hosts == NULL ? "none" : s->hosts);
    metastore_close(f->m);
    f->m = NULL;
    metastore_zookeeper_free(factory);
}

static void addresses_are_kept_with_their_ports(void **state)
{
    char hosts[256];
    run_on(*state, "127.0.0.1:1,[::1]:2,127.0.0.2:3/k", hosts);
    assert_string_equal(hosts, "127.0.0.1:1,::1:2,127.0.0.2:3");
}

static void names_become_addresses(void **state)
{
    char hosts[256];
    run_on(*state, "localhost:1", hosts);
    assert_null(strstr(hosts, "localhost"));
    assert_true(strstr(hosts, "127.0.0.1:1") != NULL || strstr(hosts, "::1:1") != NULL);
}

static void unknown_names_are_left_out(void **state)
{
    char connect[NO_NAME_BYTES + 64];
    char hosts[256];
    memset(connect, 'x', NO_NAME_BYTES);
    (void)snprintf(connect + NO_NAME_BYTES, 64, ":1,127.0.0.1:2");
    run_on(*state, connect, hosts);
    assert_string_equal(hosts, "127.0.0.1:2");
}

static void no_address_at_all_is_trouble(void **state)
{
    struct fixture *f = *state;
    char connect[NO_NAME_BYTES + 1] = "";
    char hosts[256];
    memset(connect, 'x', NO_NAME_BYTES);
    run_on(f, connect, hosts);
    assert_string_equal(hosts, "none");
    assert_non_null(strstr(f->trouble, "no host has an address"));
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, fixture_setup, fixture_teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(addresses_are_kept_with_their_ports),
        TEST(names_become_addresses),
        TEST(unknown_names_are_left_out),
        TEST(no_address_at_all_is_trouble),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
