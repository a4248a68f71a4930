/*
 * Changing settings of topics and brokers: who is asked, what is stored, whose failure is whose.
 */
#include "unit/client/fake_fixture.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#define RATE "leader.replication.throttled.rate"
#define LIST "leader.replication.throttled.replicas"

static void assert_setting(struct fake_fixture *x, const char *owner, const char *name,
                           const char *expected)
{
    char *value = fake_setting(x->cluster, owner, name);
    if (expected == NULL) {
        assert_null(value);
    } else {
        assert_non_null(value);
        assert_string_equal(value, expected);
    }
    free(value);
}

/* Topics in one request, each broker by itself; results in the caller's order. */
static void each_alteration_reaches_who_serves_it(void **state)
{
    struct fake_fixture *x = *state;
    struct klamm_setting_change rate = {RATE, "1000"};
    struct klamm_setting_change list = {LIST, ""};
    struct klamm_alteration alterations[] = {
        {.broker_id = 5, .changes = &rate, .change_count = 1},
        {.topic = "foo", .changes = &list, .change_count = 1},
        {.topic = "ghost", .changes = &list, .change_count = 1},
        {.broker_id = 2, .changes = &rate, .change_count = 1},
    };
    struct klamm_alter_results *results = NULL;
    assert_int_equal(klamm_alter_settings(x->client, alterations, 4, &results, &x->err), 0);
    assert_int_equal(results->count, 4);
    assert_int_equal(results->list[0].code, 0);
    assert_null(results->list[0].message);
    assert_int_equal(results->list[1].code, 0);
    assert_int_equal(results->list[2].code, KERR_UNKNOWN_TOPIC_OR_PARTITION);
    assert_string_equal(results->list[2].message, "UNKNOWN_TOPIC_OR_PARTITION");
    assert_int_equal(results->list[3].code, 0);
    klamm_alter_results_free(results);
    assert_setting(x, "5", RATE, "1000");
    assert_setting(x, "2", RATE, "1000");
    assert_setting(x, "1", RATE, NULL);
    assert_setting(x, "foo", LIST, "");
    pthread_mutex_lock(&x->cluster->lock);
    assert_int_equal(x->cluster->counts[WIRE_KEY_INCREMENTAL_ALTER_CONFIGS], 3);
    pthread_mutex_unlock(&x->cluster->lock);
}

static void null_takes_a_setting_away(void **state)
{
    struct fake_fixture *x = *state;
    struct klamm_setting_change changes[] = {{RATE, "1000"}, {"retention.ms", "7"}};
    struct klamm_alteration alteration = {.broker_id = 3, .changes = changes, .change_count = 2};
    struct klamm_alter_results *results = NULL;
    assert_int_equal(klamm_alter_settings(x->client, &alteration, 1, &results, &x->err), 0);
    klamm_alter_results_free(results);
    assert_setting(x, "3", RATE, "1000");
    changes[0].value = NULL;
    alteration.change_count = 1;
    assert_int_equal(klamm_alter_settings(x->client, &alteration, 1, &results, &x->err), 0);
    klamm_alter_results_free(results);
    assert_setting(x, "3", RATE, NULL);
    assert_setting(x, "3", "retention.ms", "7");
}

/* Broker 6 is named but gone, broker 9 is not named at all: the others are served all the same. */
static void broker_that_is_gone_fails_alone(void **state)
{
    struct fake_fixture *x = *state;
    struct klamm_setting_change rate = {RATE, "1000"};
    struct klamm_alteration alterations[] = {
        {.broker_id = 6, .changes = &rate, .change_count = 1},
        {.broker_id = 9, .changes = &rate, .change_count = 1},
        {.broker_id = 1, .changes = &rate, .change_count = 1},
    };
    struct klamm_alter_results *results = NULL;
    pthread_mutex_lock(&x->cluster->lock);
    x->cluster->listed_dead_id = 6;
    pthread_mutex_unlock(&x->cluster->lock);
    fake_kill(x->cluster, 6);
    assert_int_equal(klamm_alter_settings(x->client, alterations, 3, &results, &x->err), 0);
    assert_int_equal(results->list[0].code, KLAMM_ERR_CONNECT);
    assert_int_equal(results->list[1].code, KLAMM_ERR_CONNECT);
    assert_string_equal(results->list[1].message, "broker 9 is not up");
    assert_int_equal(results->list[2].code, 0);
    klamm_alter_results_free(results);
    assert_setting(x, "1", RATE, "1000");
}

static void refusals_carry_the_servers_words(void **state)
{
    struct fake_fixture *x = *state;
    struct klamm_setting_change rate = {RATE, "x"};
    struct klamm_alteration alteration = {.broker_id = 1, .changes = &rate, .change_count = 1};
    struct klamm_alter_results *results = NULL;
    x->cluster->settings_code = KERR_INVALID_CONFIG;
    assert_int_equal(klamm_alter_settings(x->client, &alteration, 1, &results, &x->err), 0);
    assert_int_equal(results->list[0].code, KERR_INVALID_CONFIG);
    assert_string_equal(results->list[0].message, "a bad value");
    klamm_alter_results_free(results);
}

/* Any broker keeps them. */
static void settings_of_the_whole_cluster_are_set_and_read(void **state)
{
    struct fake_fixture *x = *state;
    struct klamm_setting_change change = {"klamm.moves.max.per.cluster", "7"};
    struct klamm_alteration both[] = {
        {.broker_id = KLAMM_ALL_BROKERS, .changes = &change, .change_count = 1},
        {.broker_id = 2, .changes = &change, .change_count = 1}};
    struct klamm_alter_results *results = NULL;
    struct klamm_settings *settings = NULL;
    assert_int_equal(klamm_alter_settings(x->client, both, 2, &results, &x->err), 0);
    assert_int_equal(results->list[0].code, 0);
    assert_int_equal(results->list[1].code, 0);
    klamm_alter_results_free(results);
    assert_int_equal(
        klamm_describe_broker_settings(x->client, KLAMM_ALL_BROKERS, &settings, &x->err), 0);
    assert_int_equal(settings->count, 1);
    assert_string_equal(settings->list[0].name, "klamm.moves.max.per.cluster");
    assert_string_equal(settings->list[0].value, "7");
    klamm_settings_free(settings);
}

static void wrong_calls_send_nothing(void **state)
{
    struct fake_fixture *x = *state;
    struct klamm_setting_change rate = {RATE, "1"};
    struct klamm_setting_change nameless = {"", "1"};
    struct klamm_alteration wrong[][2] = {
        {{.broker_id = 1, .changes = &rate, .change_count = 1}, {.broker_id = 1}},
        {{.topic = "foo", .changes = &rate, .change_count = 1}, {.topic = "foo"}},
        {{.topic = ""}, {.broker_id = 1}},
        {{.broker_id = -2}, {.broker_id = 1}},
        {{.broker_id = 1, .changes = &nameless, .change_count = 1}, {.broker_id = 2}},
    };
    struct klamm_alter_results *results = NULL;
    for (size_t i = 0; i < ARRAY_LEN(wrong); i++) {
        assert_int_equal(klamm_alter_settings(x->client, wrong[i], 2, &results, &x->err),
                         KLAMM_ERR_ARGUMENT);
    }
    assert_null(results);
    pthread_mutex_lock(&x->cluster->lock);
    assert_int_equal(x->cluster->counts[WIRE_KEY_INCREMENTAL_ALTER_CONFIGS], 0);
    pthread_mutex_unlock(&x->cluster->lock);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        FAKE_TEST(each_alteration_reaches_who_serves_it),
        FAKE_TEST(null_takes_a_setting_away),
        FAKE_TEST(broker_that_is_gone_fails_alone),
        FAKE_TEST(refusals_carry_the_servers_words),
        FAKE_TEST(settings_of_the_whole_cluster_are_set_and_read),
        FAKE_TEST(wrong_calls_send_nothing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
