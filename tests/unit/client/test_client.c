/*
 * A client's life: bootstrap lists, reaching a cluster, waiting, names of codes.
 */
#include "unit/client/fake_cluster.h"

#include "klamm/klamm.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

static int connect_to(const char *bootstrap, struct klamm_client **ret, struct klamm_error *err)
{
    struct klamm_config config = {.bootstrap_servers = bootstrap, .timeout_ms = 10000};
    return klamm_connect(&config, ret, err);
}

static void wrong_bootstrap_lists_are_named(void **state)
{
    (void)state;
    static const char *const rows[][2] = {
        {"", "no bootstrap server is given"},
        {"host", "\"host\" is no bootstrap server: host:port is expected"},
        {"host:", "\"host:\" is no bootstrap server: host:port is expected"},
        {":9092", "\":9092\" is no bootstrap server: host:port is expected"},
        {"host:0", "\"host:0\" is no bootstrap server: host:port is expected"},
        {"host:65536", "\"host:65536\" is no bootstrap server: host:port is expected"},
        {"host:4294976388", "\"host:4294976388\" is no bootstrap server: host:port is expected"},
        {"host:9092,,host:9093", "\"\" is no bootstrap server: host:port is expected"},
        {"host:90x2", "\"host:90x2\" is no bootstrap server: host:port is expected"},
    };
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        struct klamm_client *client = NULL;
        struct klamm_error err = {0};
        assert_int_equal(connect_to(rows[i][0], &client, &err), KLAMM_ERR_ARGUMENT);
        assert_int_equal(err.code, KLAMM_ERR_ARGUMENT);
        assert_string_equal(err.message, rows[i][1]);
        assert_null(client);
    }
}

/* A list of servers that is longer than we try. */
static void bootstrap_list_is_bounded(void **state)
{
    (void)state;
    struct buf list;
    buf_init(&list);
    for (int i = 0; i < 101; i++) {
        buf_put_str(&list, "127.0.0.1:1,");
    }
    char *text = slice_dup(buf_slice(&list));
    struct klamm_client *client = NULL;
    struct klamm_error err = {0};
    assert_int_equal(connect_to(text, &client, &err), KLAMM_ERR_ARGUMENT);
    assert_string_equal(err.message, "more than 100 bootstrap servers");
    free(text);
    buf_deinit(&list);
}

static void cluster_is_described(void **state)
{
    struct fake_cluster *f = *state;
    char *bootstrap = fake_bootstrap(f);
    struct klamm_client *client = NULL;
    struct klamm_cluster *cluster = NULL;
    struct klamm_error err = {0};
    assert_int_equal(connect_to(bootstrap, &client, &err), 0);
    assert_int_equal(klamm_describe_cluster(client, &cluster, &err), 0);
    assert_string_equal(cluster->id, "fake");
    assert_int_equal(cluster->controller_id, 1);
    assert_int_equal(cluster->broker_count, FAKE_BROKERS);
    for (int32_t i = 0; i < FAKE_BROKERS; i++) {
        assert_int_equal(cluster->brokers[i].id, i + 1);
        assert_int_equal(cluster->brokers[i].port, f->brokers[i].port);
        assert_null(cluster->brokers[i].rack);
    }
    klamm_cluster_free(cluster);
    klamm_close(client);
    free(bootstrap);
}

/* The first server of the list refuses; the second one is alive. */
static void dead_bootstrap_server_is_passed_over(void **state)
{
    struct fake_cluster *f = *state;
    char *bootstrap = xasprintf("127.0.0.1:1, 127.0.0.1:%u", (unsigned)f->brokers[2].port);
    struct klamm_client *client = NULL;
    struct klamm_error err = {0};
    assert_int_equal(connect_to(bootstrap, &client, &err), 0);
    klamm_close(client);
    free(bootstrap);
}

static void unreachable_cluster_is_an_error(void **state)
{
    (void)state;
    struct klamm_client *client = NULL;
    struct klamm_error err = {0};
    struct klamm_config config = {.bootstrap_servers = "127.0.0.1:1", .timeout_ms = 300};
    assert_int_equal(klamm_connect(&config, &client, &err), KLAMM_ERR_CONNECT);
    assert_string_equal(err.message, "127.0.0.1:1: connection refused");
    assert_null(client);
}

static void waiting_takes_its_time(void **state)
{
    struct fake_cluster *f = *state;
    char *bootstrap = fake_bootstrap(f);
    struct klamm_client *client = NULL;
    struct klamm_error err = {0};
    assert_int_equal(connect_to(bootstrap, &client, &err), 0);
    int64_t before_us = env_now_us(f->env);
    assert_int_equal(klamm_wait(client, 30, &err), 0);
    assert_true(env_now_us(f->env) - before_us >= 29000);
    klamm_close(client);
    free(bootstrap);
}

static void codes_have_names(void **state)
{
    (void)state;
    assert_string_equal(klamm_code_name(0), "NONE");
    assert_string_equal(klamm_code_name(85), "NO_REASSIGNMENT_IN_PROGRESS");
    assert_string_equal(klamm_code_name(KLAMM_ERR_UNSUPPORTED), "UNSUPPORTED");
    assert_string_equal(klamm_code_name(1 << 20), "UNKNOWN_SERVER_ERROR");
    assert_string_equal(klamm_version(), "0.1.0");
    klamm_close(NULL);
}

static int setup(void **state)
{
    *state = fake_cluster_new();
    return 0;
}

static int teardown(void **state)
{
    fake_cluster_free(*state);
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(wrong_bootstrap_lists_are_named),
        cmocka_unit_test(bootstrap_list_is_bounded),
        cmocka_unit_test_setup_teardown(cluster_is_described, setup, teardown),
        cmocka_unit_test_setup_teardown(dead_bootstrap_server_is_passed_over, setup, teardown),
        cmocka_unit_test(unreachable_cluster_is_an_error),
        cmocka_unit_test_setup_teardown(waiting_takes_its_time, setup, teardown),
        cmocka_unit_test(codes_have_names),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
