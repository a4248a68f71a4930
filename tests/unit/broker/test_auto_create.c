/*
 * Automatic creation of topics: each name is asked for once at a time, the number is bounded.
 */
#include "broker/api/auto_create.h"

#include "base/check.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "broker/controller/channel.h"
#include "broker/metadata/metadata.h"
#include "cluster.h"
#include "model/kerr.h"

/* Without a controller nothing is sent, and the names may be asked for again. */
static void names_are_forgotten_when_nobody_can_be_asked(void **state)
{
    (void)state;
    struct sim_world *w = sim_world_new(1);
    struct sim_node *node = sim_node_new(w, "n");
    struct metadata *m = metadata_new("PLAINTEXT");
    struct controller_channel *channel = controller_channel_new(sim_node_env(node), 1, m);
    struct auto_create *a = api_auto_create_new(channel);
    for (int round = 0; round < 3; round++) {
        for (int i = 0; i < AUTO_CREATE_MAX + 10; i++) {
            char name[16];
            (void)snprintf(name, sizeof name, "t%d", i);
            api_auto_create_add(a, slice_str(name));
            api_auto_create_add(a, slice_str(name));
        }
        if (round < 2) {
            api_auto_create_flush(a);
        }
    }
    api_auto_create_free(a);
    controller_channel_free(channel);
    metadata_free(m);
    sim_world_free(w);
}

static const struct wire_metadata_response *ask(struct cluster *c, int32_t broker, bool allow,
                                                struct wire_metadata_request_topics *topics,
                                                int32_t count)
{
    struct wire_metadata_request req = {
        .topics = topics, .topics_count = count, .allow_auto_topic_creation = allow};
    const struct wire_metadata_response *resp = cluster_call(c, broker, WIRE_KEY_METADATA, &req);
    assert_non_null(resp);
    assert_int_equal(resp->topics_count, count);
    return resp;
}

/* A broker that is not the controller asks the one that is. */
static void any_broker_has_topics_created(void **state)
{
    (void)state;
    static const struct broker_setting settings[] = {{"num.partitions", "2"}};
    struct cluster c = {.settings = settings, .setting_count = 1};
    cluster_start(&c, 2);
    int32_t other = 3 - cluster_controller(&c);
    struct wire_metadata_request_topics topics[] = {
        {.name = slice_str("a")}, {.name = slice_str("b")}, {.name = slice_str("no good")}};
    const struct wire_metadata_response *resp = ask(&c, other, true, topics, 3);
    assert_int_equal(resp->topics[0].error_code, KERR_LEADER_NOT_AVAILABLE);
    assert_int_equal(resp->topics[1].error_code, KERR_LEADER_NOT_AVAILABLE);
    assert_int_equal(resp->topics[2].error_code, KERR_INVALID_TOPIC_EXCEPTION);
    cluster_run(&c, 2000);
    resp = ask(&c, other, true, topics, 2);
    for (int32_t i = 0; i < 2; i++) {
        assert_int_equal(resp->topics[i].error_code, KERR_NONE);
        assert_int_equal(resp->topics[i].partitions_count, 2);
    }
    cluster_stop(&c);
}

static void client_and_configuration_must_both_allow_it(void **state)
{
    (void)state;
    static const struct broker_setting settings[] = {{"auto.create.topics.enable", "false"}};
    struct wire_metadata_request_topics topic = {.name = slice_str("a")};
    struct cluster c = {0};
    cluster_start(&c, 1);
    assert_int_equal(ask(&c, 1, false, &topic, 1)->topics[0].error_code,
                     KERR_UNKNOWN_TOPIC_OR_PARTITION);
    cluster_stop(&c);
    c = (struct cluster){.settings = settings, .setting_count = 1};
    cluster_start(&c, 1);
    assert_int_equal(ask(&c, 1, true, &topic, 1)->topics[0].error_code,
                     KERR_UNKNOWN_TOPIC_OR_PARTITION);
    cluster_run(&c, 1000);
    assert_int_equal(ask(&c, 1, true, &topic, 1)->topics[0].error_code,
                     KERR_UNKNOWN_TOPIC_OR_PARTITION);
    cluster_stop(&c);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(names_are_forgotten_when_nobody_can_be_asked),
        cmocka_unit_test(any_broker_has_topics_created),
        cmocka_unit_test(client_and_configuration_must_both_allow_it),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
