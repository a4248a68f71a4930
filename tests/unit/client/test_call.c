/*
 * What one call survives and what it does not: a controller that moves, lost connections, brokers that
 * go, servers without an API.
 */
#include "unit/client/fake_fixture.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

/* Metadata names broker 2 twice before it tells the truth: the call asks again until it fits. */
static void controller_is_found_again(void **state)
{
    struct fake_fixture *x = *state;
    struct klamm_reassignments *moves = NULL;
    pthread_mutex_lock(&x->cluster->lock);
    x->cluster->controller_id = 4;
    x->cluster->misled = 2;
    x->cluster->lost_controller_id = 2;
    pthread_mutex_unlock(&x->cluster->lock);
    assert_int_equal(klamm_list_reassignments(x->client, NULL, &moves, &x->err), 0);
    assert_int_equal(moves->count, 0);
    klamm_reassignments_free(moves);
}

/* The connection is lost behind the request: a list is simply asked again. */
static void repeatable_call_survives_lost_connections(void **state)
{
    struct fake_fixture *x = *state;
    struct klamm_reassignments *moves = NULL;
    pthread_mutex_lock(&x->cluster->lock);
    x->cluster->drop_key = WIRE_KEY_LIST_PARTITION_REASSIGNMENTS;
    x->cluster->drops = 2;
    pthread_mutex_unlock(&x->cluster->lock);
    assert_int_equal(klamm_list_reassignments(x->client, NULL, &moves, &x->err), 0);
    pthread_mutex_lock(&x->cluster->lock);
    assert_int_equal(x->cluster->counts[WIRE_KEY_LIST_PARTITION_REASSIGNMENTS], 3);
    pthread_mutex_unlock(&x->cluster->lock);
    klamm_reassignments_free(moves);
}

/* Creating a topic twice would be answered with "exists": it is sent once and the caller is told. */
static void creation_is_not_repeated_blindly(void **state)
{
    struct fake_fixture *x = *state;
    struct klamm_topic_results *results = NULL;
    struct klamm_new_topic topic = {.name = "bar", .partition_count = -1, .replication_factor = -1};
    pthread_mutex_lock(&x->cluster->lock);
    x->cluster->drop_key = WIRE_KEY_CREATE_TOPICS;
    x->cluster->drops = 1;
    pthread_mutex_unlock(&x->cluster->lock);
    assert_int_equal(klamm_create_topics(x->client, &topic, 1, &results, &x->err),
                     KLAMM_ERR_CONNECT);
    assert_null(results);
    pthread_mutex_lock(&x->cluster->lock);
    assert_int_equal(x->cluster->counts[WIRE_KEY_CREATE_TOPICS], 1);
    pthread_mutex_unlock(&x->cluster->lock);
}

static void missing_api_is_named(void **state)
{
    struct fake_fixture *x = *state;
    struct klamm_reassignments *moves = NULL;
    pthread_mutex_lock(&x->cluster->lock);
    x->cluster->missing_key = WIRE_KEY_LIST_PARTITION_REASSIGNMENTS;
    pthread_mutex_unlock(&x->cluster->lock);
    char *expected = xasprintf("127.0.0.1:%u does not offer ListPartitionReassignments (API 46)",
                               (unsigned)x->cluster->brokers[0].port);
    assert_int_equal(klamm_list_reassignments(x->client, NULL, &moves, &x->err),
                     KLAMM_ERR_UNSUPPORTED);
    assert_string_equal(x->err.message, expected);
    free(expected);
}

/* A broker that is asked by name and is down: told soon, not after the whole timeout. */
static void dead_broker_is_told(void **state)
{
    struct fake_fixture *x = *state;
    struct klamm_log_dirs *dirs = NULL;
    int64_t before_us = env_now_us(x->cluster->env);
    fake_kill(x->cluster, 6);
    assert_int_equal(klamm_describe_log_dirs(x->client, 6, NULL, &dirs, &x->err),
                     KLAMM_ERR_CONNECT);
    assert_true(env_now_us(x->cluster->env) - before_us < 9000000);
    assert_int_equal(klamm_describe_log_dirs(x->client, 77, NULL, &dirs, &x->err),
                     KLAMM_ERR_CONNECT);
    assert_string_equal(x->err.message, "broker 77 is not up");
}

static void keep_message(void *arg, const char *message)
{
    char **kept = arg;
    assert_null(*kept); /* once a call */
    *kept = xstrdup(message);
}

/* S40: Metadata names the wrong controller three times, each of which costs a pause that is longer than
 * what counts as slow here; a call that is answered at once says nothing. */
static void slow_call_says_what_it_waits_for(void **state)
{
    struct fake_fixture *x = *state;
    struct klamm_client *client = NULL;
    struct klamm_reassignments *moves = NULL;
    char *message = NULL;
    char *bootstrap = fake_bootstrap(x->cluster);
    struct klamm_config config = {.bootstrap_servers = bootstrap,
                                  .timeout_ms = 600000,
                                  .on_slow = keep_message,
                                  .on_slow_arg = &message,
                                  .slow_ms = 50};
    pthread_mutex_lock(&x->cluster->lock);
    x->cluster->controller_id = 4;
    x->cluster->misled = 3;
    x->cluster->lost_controller_id = 2;
    pthread_mutex_unlock(&x->cluster->lock);
    assert_int_equal(klamm_connect(&config, &client, &x->err), 0);
    assert_int_equal(klamm_list_reassignments(client, NULL, &moves, &x->err), 0);
    assert_non_null(message);
    assert_string_equal(message, "the controller has not answered ListPartitionReassignments yet; "
                                 "waiting for up to 600 s more");
    klamm_reassignments_free(moves);
    free(message);
    message = NULL;
    /* With less patience than that the failure alone is told. */
    pthread_mutex_lock(&x->cluster->lock);
    x->cluster->controller_id = 3;
    x->cluster->misled = INT32_MAX;
    pthread_mutex_unlock(&x->cluster->lock);
    klamm_set_timeout(client, 50);
    assert_int_not_equal(klamm_list_reassignments(client, NULL, &moves, &x->err), 0);
    assert_null(message);
    klamm_close(client);
    free(bootstrap);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        FAKE_TEST(controller_is_found_again),
        FAKE_TEST(repeatable_call_survives_lost_connections),
        FAKE_TEST(creation_is_not_repeated_blindly),
        FAKE_TEST(missing_api_is_named),
        FAKE_TEST(dead_broker_is_told),
        FAKE_TEST(slow_call_says_what_it_waits_for),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
