/*
 * Whole brokers: start, serve, replicate, stop cleanly, are killed, come back.
 */
#include "broker/broker.h"

#include "base/check.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "cluster.h"
#include "model/kerr.h"

static void one_broker_becomes_controller_and_serves(void **state)
{
    (void)state;
    struct cluster c = {0};
    cluster_start(&c, 1);
    assert_int_equal(c.brokers[0].ready, 1);
    assert_true(broker_is_controller(c.brokers[0].broker));
    assert_true(broker_epoch(c.brokers[0].broker) > 0);
    assert_int_equal(cluster_create_topic(&c, "t", 1, 1), KERR_NONE);
    assert_int_equal(cluster_produce(&c, "t", 3), 0);
    assert_int_equal(cluster_produce(&c, "t", 3), 3);
    cluster_stop(&c);
}

static void three_brokers_replicate_what_is_acknowledged(void **state)
{
    (void)state;
    struct cluster c = {0};
    cluster_start(&c, 3);
    assert_int_equal(cluster_create_topic(&c, "t", 3, 3), KERR_NONE);
    for (int64_t i = 0; i < 5; i++) {
        assert_int_equal(cluster_produce(&c, "t", 10), i * 10);
    }
    cluster_run(&c, 2000);
    for (int32_t id = 1; id <= 3; id++) {
        struct replicas_partition_info info;
        assert_true(replicas_partition_get(broker_replicas(c.brokers[id - 1].broker),
                                           slice_str("t"), 0, &info));
        assert_int_equal(info.log_end, 50);
        assert_int_equal(info.high_watermark, 50);
        const struct wire_metadata_response_topics_partitions *p =
            cluster_partition(&c, id, "t", 0);
        assert_int_equal(p->isr_nodes_count, 3);
    }
    cluster_stop(&c);
}

static void killed_leader_is_replaced_and_catches_up_on_return(void **state)
{
    (void)state;
    struct cluster c = {0};
    cluster_start(&c, 3);
    assert_int_equal(cluster_create_topic(&c, "t", 1, 3), KERR_NONE);
    assert_int_equal(cluster_produce(&c, "t", 4), 0);
    int32_t leader = cluster_partition(&c, 1, "t", 0)->leader_id;
    cluster_kill(&c, leader);
    cluster_run(&c, 20000);
    assert_int_equal(cluster_produce(&c, "t", 4), 4);
    int32_t next = cluster_partition(&c, cluster_controller(&c), "t", 0)->leader_id;
    assert_int_not_equal(next, leader);
    cluster_restart(&c, leader);
    cluster_run(&c, 10000);
    struct replicas_partition_info info;
    assert_true(replicas_partition_get(broker_replicas(c.brokers[leader - 1].broker),
                                       slice_str("t"), 0, &info));
    assert_int_equal(info.log_end, 8);
    assert_int_equal(cluster_partition(&c, leader, "t", 0)->isr_nodes_count, 3);
    cluster_stop(&c);
}

/* Each leaves the in-sync set, but the last cannot. */
static void what_a_power_loss_may_have_cost_is_told_as_trouble(void **state)
{
    (void)state;
    struct cluster c = {0};
    cluster_start(&c, 2);
    assert_int_equal(cluster_create_topic(&c, "t", 1, 2), KERR_NONE);
    assert_int_equal(cluster_produce(&c, "t", 4), 0);
    for (int32_t i = 0; i < 2; i++) {
        broker_free(c.brokers[i].broker);
        c.brokers[i].broker = NULL;
        sim_node_power_loss(c.brokers[i].node);
    }
    cluster_run(&c, 20000);
    cluster_restart(&c, 1);
    assert_string_equal(c.brokers[0].trouble, "records may be lost here: left 1 in-sync sets\n");
    cluster_restart(&c, 2);
    assert_string_equal(c.brokers[1].trouble,
                        "t-0: this broker is the only one in sync, and may lack records\n");
    cluster_stop(&c);
}

static int64_t log_end(struct cluster *c, int32_t id)
{
    struct replicas_partition_info info;
    assert_true(replicas_partition_get(broker_replicas(c->brokers[id - 1].broker), slice_str("t"),
                                       0, &info));
    return info.log_end;
}

static int32_t isr_count(struct cluster *c, int32_t id)
{
    struct replicas_partition_info info;
    assert_true(replicas_partition_get(broker_replicas(c->brokers[id - 1].broker), slice_str("t"),
                                       0, &info));
    return info.isr_count;
}

/* At every level of inter.broker.protocol.version: records are acknowledged by all, a follower leaves
 * the in-sync set and joins it again, leaders are replaced after a kill and by a clean stop. */
static void cluster_of_any_level_serves_and_heals(void **state)
{
    (void)state;
    for (enum ibp level = IBP_NEWEST + 1; level < IBP_END; level++) {
        const struct broker_setting settings[] = {
            {"inter.broker.protocol.version", ibp_name(level)},
            {"replica.lag.time.max.ms", "2000"},
            {"auto.leader.rebalance.enable", "false"}};
        struct cluster c = {.settings = settings, .setting_count = ARRAY_LEN(settings)};
        cluster_start(&c, 3);
        assert_int_equal(cluster_create_topic(&c, "t", 1, 3), KERR_NONE);
        assert_int_equal(cluster_produce(&c, "t", 4), 0);
        int32_t leader = cluster_partition(&c, 1, "t", 0)->leader_id;
        int32_t follower = leader % 3 + 1;
        cluster_kill(&c, follower);
        int64_t killed_ms = sim_world_now_ms(c.world);
        assert_int_equal(cluster_produce(&c, "t", 4), 4); /* waits until the follower is out */
        assert_int_equal(isr_count(&c, leader), 2);
        assert_true(sim_world_now_ms(c.world) - killed_ms < 4000); /* its session is 6 s */
        cluster_run(&c, 16000);
        cluster_restart(&c, follower);
        cluster_run(&c, 10000);
        leader = cluster_partition(&c, cluster_controller(&c), "t", 0)->leader_id;
        assert_int_equal(isr_count(&c, leader), 3);
        assert_true(cluster_stop_broker(&c, leader) < 1000);
        cluster_run(&c, 1000);
        assert_int_equal(cluster_produce(&c, "t", 4), 8);
        cluster_boot(&c, leader);
        cluster_run(&c, 10000);
        for (int32_t id = 1; id <= 3; id++) {
            assert_int_equal(log_end(&c, id), 12);
        }
        leader = cluster_partition(&c, cluster_controller(&c), "t", 0)->leader_id;
        assert_int_equal(isr_count(&c, leader), 3);
        cluster_stop(&c);
    }
}

/* Clients are told the listener that they ask by; brokers replicate over theirs. */
static void two_listeners_serve_brokers_and_clients(void **state)
{
    (void)state;
    struct cluster c = {.has_two_listeners = true};
    cluster_start(&c, 3);
    assert_int_equal(cluster_create_topic(&c, "t", 1, 3), KERR_NONE);
    assert_int_equal(cluster_produce(&c, "t", 4), 0);
    assert_int_equal(cluster_produce(&c, "t", 4), 4);
    struct wire_metadata_request req = {.topics_count = -1};
    const struct wire_metadata_response *resp = cluster_call(&c, 1, WIRE_KEY_METADATA, &req);
    assert_int_equal(resp->brokers_count, 3);
    for (int32_t i = 0; i < 3; i++) {
        const struct cluster_broker *b = &c.brokers[resp->brokers[i].node_id - 1];
        assert_int_equal(resp->brokers[i].port, broker_port(b->broker, 1));
        assert_int_not_equal(resp->brokers[i].port, broker_port(b->broker, 0));
    }
    assert_int_equal(isr_count(&c, cluster_partition(&c, 1, "t", 0)->leader_id), 3);
    cluster_stop(&c);
}

static void clean_stop_hands_leadership_over_first(void **state)
{
    (void)state;
    struct cluster c = {0};
    cluster_start(&c, 3);
    assert_int_equal(cluster_create_topic(&c, "t", 1, 3), KERR_NONE);
    assert_int_equal(cluster_produce(&c, "t", 4), 0);
    int32_t leader = cluster_partition(&c, 1, "t", 0)->leader_id;
    int64_t took = cluster_stop_broker(&c, leader);
    assert_true(took < 4000);
    cluster_run(&c, 2000);
    assert_int_equal(cluster_produce(&c, "t", 4), 4);
    cluster_boot(&c, leader);
    assert_true(sim_world_run(c.world, CLUSTER_PATIENCE_MS, cluster_all_ready, &c));
    cluster_run(&c, 5000);
    assert_int_equal(cluster_partition(&c, leader, "t", 0)->isr_nodes_count, 3);
    cluster_stop(&c);
}

/* The only broker is the only replica of everything: nothing to hand over, no waiting. */
static void only_broker_stops_at_once_and_keeps_its_records(void **state)
{
    (void)state;
    struct cluster c = {0};
    cluster_start(&c, 1);
    assert_int_equal(cluster_create_topic(&c, "t", 1, 1), KERR_NONE);
    assert_int_equal(cluster_produce(&c, "t", 4), 0);
    assert_true(cluster_stop_broker(&c, 1) < 4000);
    cluster_boot(&c, 1);
    assert_true(sim_world_run(c.world, CLUSTER_PATIENCE_MS, cluster_all_ready, &c));
    cluster_run(&c, 2000);
    assert_int_equal(cluster_produce(&c, "t", 1), 4);
    cluster_stop(&c);
}

static void wrong_settings_refuse_the_start(void **state)
{
    (void)state;
    static const char *const dirs[] = {"/data"};
    static const struct broker_setting wrong[] = {{"num.partitions", "many"}};
    struct sim_world *w = sim_world_new(1);
    struct sim_node *node = sim_node_new(w, "n");
    struct env *env = sim_node_env(node);
    struct broker_listener listener = {.name = BROKER_LISTENER, .host = "n"};
    struct broker_config config = {.id = 1,
                                   .listeners = &listener,
                                   .listener_count = 1,
                                   .log_dirs = dirs,
                                   .log_dir_count = 1,
                                   .settings = wrong,
                                   .setting_count = 1};
    struct errmsg em = {""};
    assert_null(broker_new(env, env, &config, NULL, &em));
    assert_string_equal(em.text,
                        "Invalid value many for configuration num.partitions: not a whole number");
    config.setting_count = 0;
    config.id = -1;
    assert_null(broker_new(env, env, &config, NULL, &em));
    sim_world_free(w);
}

static void unnamed_topics_are_created_when_clients_ask(void **state)
{
    (void)state;
    struct cluster c = {0};
    cluster_start(&c, 1);
    struct wire_metadata_request_topics topic = {.name = slice_str("fresh")};
    struct wire_metadata_request req = {
        .topics = &topic, .topics_count = 1, .allow_auto_topic_creation = true};
    const struct wire_metadata_response *resp = cluster_call(&c, 1, WIRE_KEY_METADATA, &req);
    assert_int_equal(resp->topics[0].error_code, KERR_LEADER_NOT_AVAILABLE);
    cluster_run(&c, 1000);
    assert_non_null(cluster_partition(&c, 1, "fresh", 0));
    assert_int_equal(cluster_produce(&c, "fresh", 1), 0);
    cluster_stop(&c);
}

/* Steps of the world between the start of a broker, or of its clean stop, and its end. */
static const int moments[] = {0, 1, 2, 3, 5, 8, 13, 21, 34, 55, 89, 144, 233, 377, 610};

static void steps(struct cluster *c, int count)
{
    for (int i = 0; i < count; i++) {
        (void)sim_world_step(c->world);
    }
}

static void broker_may_be_killed_at_any_moment_of_its_start(void **state)
{
    (void)state;
    struct cluster c = {0};
    cluster_start(&c, 2);
    assert_int_equal(cluster_create_topic(&c, "t", 1, 2), KERR_NONE);
    assert_int_equal(cluster_produce(&c, "t", 3), 0);
    for (size_t i = 0; i < ARRAY_LEN(moments); i++) {
        cluster_kill(&c, 2);
        cluster_run(&c, 7000);
        sim_node_start(c.brokers[1].node);
        cluster_boot(&c, 2);
        steps(&c, moments[i]);
    }
    assert_true(sim_world_run(c.world, CLUSTER_PATIENCE_MS, cluster_all_ready, &c));
    cluster_run(&c, 10000);
    assert_int_equal(cluster_produce(&c, "t", 1), 3);
    assert_int_equal(cluster_partition(&c, 1, "t", 0)->isr_nodes_count, 2);
    cluster_stop(&c);
}

static void clean_stop_may_be_cut_short_at_any_moment(void **state)
{
    (void)state;
    struct cluster c = {0};
    cluster_start(&c, 2);
    assert_int_equal(cluster_create_topic(&c, "t", 1, 2), KERR_NONE);
    assert_int_equal(cluster_produce(&c, "t", 3), 0);
    for (size_t i = 0; i < ARRAY_LEN(moments); i++) {
        broker_stop(c.brokers[1].broker, cluster_on_stopped, &c.brokers[1]);
        steps(&c, moments[i]);
        cluster_kill(&c, 2);
        cluster_run(&c, 7000);
        cluster_restart(&c, 2);
    }
    cluster_run(&c, 10000);
    assert_int_equal(cluster_produce(&c, "t", 1), 3);
    cluster_stop(&c);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(one_broker_becomes_controller_and_serves),
        cmocka_unit_test(three_brokers_replicate_what_is_acknowledged),
        cmocka_unit_test(killed_leader_is_replaced_and_catches_up_on_return),
        cmocka_unit_test(what_a_power_loss_may_have_cost_is_told_as_trouble),
        cmocka_unit_test(cluster_of_any_level_serves_and_heals),
        cmocka_unit_test(two_listeners_serve_brokers_and_clients),
        cmocka_unit_test(clean_stop_hands_leadership_over_first),
        cmocka_unit_test(only_broker_stops_at_once_and_keeps_its_records),
        cmocka_unit_test(broker_may_be_killed_at_any_moment_of_its_start),
        cmocka_unit_test(clean_stop_may_be_cut_short_at_any_moment),
        cmocka_unit_test(wrong_settings_refuse_the_start),
        cmocka_unit_test(unnamed_topics_are_created_when_clients_ask),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
