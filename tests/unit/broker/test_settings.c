/*
 * The configuration of a broker as a whole: what is stored when it starts, what changes while it
 * runs, what is ignored, what replicas are given.
 */
#include "broker/config/settings.h"

#include "base/check.h"
#include "base/list.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "broker/replicas/replicas.h"
#include "metastore/metastore.h"
#include "metastore/path.h"
#include "metastore/store.h"
#include "metastore/znode.h"
#include "model/cluster.h"
#include "sim/env/sim.h"

#include <stdio.h>

struct world {
    struct sim_world *world;
    struct sim_node *node;
    struct metastore_store *store;
    struct metastore *session;
    struct settings *settings;
    int loaded;
    int changes;
    char last_topic[64]; /* of the latest change; "" = all */
    char log[256];
};

static void on_state(void *arg, enum metastore_state state)
{
    (void)arg;
    (void)state;
}

static void on_done(void *arg, const struct metastore_result *result)
{
    (void)arg;
    assert_true(result->err == 0 || result->err == -E_EXISTS);
}

static void on_changed(void *arg, const char *topic)
{
    struct world *w = arg;
    w->changes++;
    (void)snprintf(w->last_topic, sizeof w->last_topic, "%s", topic == NULL ? "" : topic);
}

static void on_loaded(void *arg)
{
    struct world *w = arg;
    w->loaded++;
}

static void on_log(void *arg, const char *line)
{
    struct world *w = arg;
    (void)snprintf(w->log, sizeof w->log, "%s", line);
}

static void write_node(struct world *w, const char *path, const char *data)
{
    struct metastore_op op = {
        .kind = METASTORE_CREATE, .path = slice_str(path), .data = slice_str(data), .version = -1};
    metastore_multi(w->session, &op, 1, on_done, w);
}

static void change_node(struct world *w, const char *path, const char *data, const char *entity)
{
    struct buf note;
    buf_init(&note);
    metastore_config_change_encode(&note, slice_str(entity));
    struct metastore_op ops[] = {
        {.kind = METASTORE_SET, .path = slice_str(path), .data = slice_str(data), .version = -1},
        {.kind = METASTORE_CREATE,
         .path = slice_str(METASTORE_CONFIG_CHANGE_NEW),
         .data = buf_slice(&note),
         .is_sequential = true},
    };
    metastore_multi(w->session, ops, 2, on_done, w);
    buf_deinit(&note);
}

static void world_start(struct world *w)
{
    struct errmsg em = {""};
    *w = (struct world){0};
    w->world = sim_world_new(3);
    w->node = sim_node_new(w->world, "node");
    struct env *env = sim_node_env(w->node);
    struct metastore_store_config config = {.env = env};
    assert_int_equal(metastore_store_new(&config, &w->store, &em), 0);
    struct metastore_factory *factory = metastore_store_factory(w->store);
    w->session = factory->open(factory, env, 6000, on_state, w);
    for (int32_t i = 0; i < metastore_path_root_count; i++) {
        write_node(w, metastore_path_roots[i], NULL);
    }
    w->settings = settings_new(7, on_log, w);
}

static void world_attach(struct world *w)
{
    struct settings_events events = {.arg = w, .changed = on_changed};
    settings_attach(w->settings, w->session, &events, on_loaded);
    (void)sim_world_run(w->world, 500, NULL, NULL);
}

static void world_stop(struct world *w)
{
    settings_free(w->settings);
    metastore_close(w->session);
    (void)sim_world_run(w->world, 500, NULL, NULL);
    metastore_store_free(w->store);
    sim_world_free(w->world);
}

static int64_t topic_number(const struct world *w, const char *topic, int key)
{
    return config_get_number(settings_topic(w->settings, slice_str(topic)), key);
}

static void stored_values_are_read_at_the_start(void **state)
{
    (void)state;
    struct world w;
    world_start(&w);
    write_node(&w, "/config/topics/t",
               "{\"version\":1,\"config\":{\"retention.ms\":\"5\",\"segment.bytes\":\"100\"}}");
    write_node(&w, "/config/brokers/<default>",
               "{\"version\":1,\"config\":{\"min.insync.replicas\":\"2\"}}");
    write_node(&w, "/config/brokers/7",
               "{\"version\":1,\"config\":{\"message.max.bytes\":\"300\"}}");
    write_node(&w, "/config/brokers/8",
               "{\"version\":1,\"config\":{\"message.max.bytes\":\"400\"}}");
    world_attach(&w);
    assert_int_equal(w.loaded, 1);
    assert_int_equal(topic_number(&w, "t", CONFIG_TOPIC_RETENTION_MS), 5);
    assert_int_equal(topic_number(&w, "t", CONFIG_TOPIC_MIN_INSYNC_REPLICAS), 2);
    assert_int_equal(topic_number(&w, "u", CONFIG_TOPIC_MAX_MESSAGE_BYTES), 300);
    struct replicas_topic_config config;
    settings_fill_topic(w.settings, slice_str("t"), &config);
    assert_int_equal(config.log.retention_ms, 5);
    assert_int_equal(config.log.segment_bytes_max, 100);
    assert_int_equal(config.min_insync_replicas, 2);
    assert_int_equal(config.message_bytes_max, 300);
    assert_true(config.log.delete_old);
    assert_false(config.is_compacted);
    world_stop(&w);
}

static void throttles_are_passed_to_the_replicas(void **state)
{
    (void)state;
    struct world w;
    world_start(&w);
    write_node(&w, "/config/topics/t",
               "{\"version\":1,\"config\":{\"leader.replication.throttled.replicas\":\"0:7\"}}");
    write_node(&w, "/config/brokers/7",
               "{\"version\":1,\"config\":{\"follower.replication.throttled.rate\":\"300\"}}");
    world_attach(&w);
    struct replicas_topic_config config;
    settings_fill_topic(w.settings, slice_str("t"), &config);
    assert_string_equal(config.leader_throttled, "0:7");
    assert_string_equal(config.follower_throttled, "");
    struct replicas_rates rates;
    settings_fill_rates(w.settings, &rates);
    assert_int_equal(rates.leader, INT64_MAX);
    assert_int_equal(rates.follower, 300);
    world_stop(&w);
}

/* 13.1: the properties file is not read for them; broker, then cluster, then no bound. */
static void rates_come_from_the_store_alone(void **state)
{
    (void)state;
    struct world w;
    struct errmsg em;
    struct replicas_rates rates;
    world_start(&w);
    assert_int_equal(settings_put(w.settings, "leader.replication.throttled.rate", "5", &em),
                     -E_NOT_FOUND);
    assert_string_equal(em.text, "Configuration leader.replication.throttled.rate holds only when "
                                 "set while running");
    write_node(&w, "/config/brokers/<default>",
               "{\"version\":1,\"config\":{\"follower.replication.throttled.rate\":\"200\"}}");
    write_node(&w, "/config/brokers/7", "{\"version\":1,\"config\":{}}");
    world_attach(&w);
    settings_fill_rates(w.settings, &rates);
    assert_int_equal(rates.leader, INT64_MAX);
    assert_int_equal(rates.follower, 200);
    change_node(&w, "/config/brokers/7",
                "{\"version\":1,\"config\":{\"follower.replication.throttled.rate\":\"300\"}}",
                "brokers/7");
    (void)sim_world_run(w.world, 500, NULL, NULL);
    settings_fill_rates(w.settings, &rates);
    assert_int_equal(rates.follower, 300);
    world_stop(&w);
}

/* Else records would be deleted by the defaults. */
static void settings_that_cannot_be_read_change_nothing(void **state)
{
    (void)state;
    struct world w;
    world_start(&w);
    write_node(&w, "/config/topics/t",
               "{\"version\":1,\"config\":{\"retention.ms\":\"-1\",\"segment.bytes\":\"100\"}}");
    world_attach(&w);
    static const char *const nodes[] = {"{oops",
                                        "{\"version\":2,\"config\":{\"retention.ms\":\"5\"}}"};
    for (size_t i = 0; i < ARRAY_LEN(nodes); i++) {
        change_node(&w, "/config/topics/t", nodes[i], "topics/t");
        (void)sim_world_run(w.world, 500, NULL, NULL);
        assert_int_equal(topic_number(&w, "t", CONFIG_TOPIC_RETENTION_MS), -1);
        assert_int_equal(topic_number(&w, "t", CONFIG_TOPIC_SEGMENT_BYTES), 100);
    }
    assert_string_equal(w.log, "stored configuration of t: /config/topics/t cannot be read: "
                               "settings of version 2, known are 1 to 1: ignored");
    change_node(&w, "/config/topics/t", "{\"version\":1,\"config\":{\"retention.ms\":\"9\"}}",
                "topics/t");
    (void)sim_world_run(w.world, 500, NULL, NULL);
    assert_int_equal(topic_number(&w, "t", CONFIG_TOPIC_RETENTION_MS), 9);
    world_stop(&w);
}

static void notifications_are_followed(void **state)
{
    (void)state;
    struct world w;
    world_start(&w);
    write_node(&w, "/config/topics/t", "{\"version\":1,\"config\":{}}");
    world_attach(&w);
    w.changes = 0;
    change_node(&w, "/config/topics/t",
                "{\"version\":1,\"config\":{\"cleanup.policy\":\"compact\"}}", "topics/t");
    (void)sim_world_run(w.world, 500, NULL, NULL);
    assert_int_equal(w.changes, 1);
    assert_string_equal(w.last_topic, "t");
    struct replicas_topic_config config;
    settings_fill_topic(w.settings, slice_str("t"), &config);
    assert_true(config.is_compacted);
    assert_false(config.log.delete_old);
    change_node(&w, "/config/topics/t", "{\"version\":1,\"config\":{\"retention.ms\":\"9\"}}",
                "topics/t");
    (void)sim_world_run(w.world, 500, NULL, NULL);
    assert_int_equal(topic_number(&w, "t", CONFIG_TOPIC_RETENTION_MS), 9);
    assert_int_equal(w.loaded, 1);
    world_stop(&w);
}

static void what_cannot_be_accepted_is_ignored_and_told(void **state)
{
    (void)state;
    struct world w;
    world_start(&w);
    write_node(&w, "/config/topics/t",
               "{\"version\":1,\"config\":{\"retention.ms\":\"never\",\"segment.ms\":\"8\"}}");
    world_attach(&w);
    assert_int_equal(w.loaded, 1);
    assert_int_equal(topic_number(&w, "t", CONFIG_TOPIC_SEGMENT_MS), 8);
    assert_int_equal(topic_number(&w, "t", CONFIG_TOPIC_RETENTION_MS), 604800000);
    assert_string_equal(w.log, "stored configuration of t: Invalid value never for configuration "
                               "retention.ms: not a whole number: ignored");
    world_stop(&w);
}

/* Another session: what is gone from the store meanwhile is gone here. */
static void values_of_an_earlier_session_are_forgotten(void **state)
{
    (void)state;
    struct world w;
    world_start(&w);
    write_node(&w, "/config/topics/t", "{\"version\":1,\"config\":{\"retention.ms\":\"5\"}}");
    world_attach(&w);
    settings_detach(w.settings);
    struct metastore_op op = {
        .kind = METASTORE_DELETE, .path = slice_str("/config/topics/t"), .version = -1};
    metastore_multi(w.session, &op, 1, on_done, &w);
    (void)sim_world_run(w.world, 500, NULL, NULL);
    assert_int_equal(topic_number(&w, "t", CONFIG_TOPIC_RETENTION_MS), 5);
    world_attach(&w);
    assert_int_equal(w.loaded, 2);
    assert_int_equal(topic_number(&w, "t", CONFIG_TOPIC_RETENTION_MS), 604800000);
    world_stop(&w);
}

static bool is_step_over(void *arg)
{
    int *steps = arg;
    return --*steps < 0;
}

/* A broker that stops detaches long before it closes its session, whatever was asked at that moment: the lists,
 * an entity, a notification. */
static void what_is_answered_after_a_detach_is_for_nobody(void **state)
{
    (void)state;
    for (int steps = 0; steps < 40; steps++) {
        struct world w;
        int left = steps;
        world_start(&w);
        write_node(&w, "/config/topics/t", "{\"version\":1,\"config\":{\"retention.ms\":\"5\"}}");
        if (steps % 2 == 1) {
            world_attach(&w);
            change_node(&w, "/config/topics/t",
                        "{\"version\":1,\"config\":{\"retention.ms\":\"6\"}}", "topics/t");
        } else {
            struct settings_events events = {.arg = &w, .changed = on_changed};
            settings_attach(w.settings, w.session, &events, on_loaded);
        }
        (void)sim_world_run(w.world, 500, is_step_over, &left);
        settings_detach(w.settings);
        int changes = w.changes;
        int loaded = w.loaded;
        (void)sim_world_run(w.world, 500, NULL, NULL);
        assert_int_equal(w.changes, changes);
        assert_int_equal(w.loaded, loaded);
        world_stop(&w);
    }
}

/* The session is closed, so that nothing answers what it was asked last. */
static void what_is_never_answered_goes_with_the_settings(void **state)
{
    (void)state;
    struct world w;
    world_start(&w);
    struct settings_events events = {.arg = &w, .changed = on_changed};
    settings_attach(w.settings, w.session, &events, on_loaded);
    settings_detach(w.settings);
    world_stop(&w);
    assert_int_equal(w.changes, 0);
}

static void on_counted(void *arg, const struct metastore_result *result)
{
    int32_t *count = arg;
    *count = result->child_count;
}

/* More notifications than are kept: the oldest go. */
static void old_notifications_are_dropped(void **state)
{
    (void)state;
    struct world w;
    world_start(&w);
    for (int i = 0; i < 1100; i++) {
        struct metastore_op op = {.kind = METASTORE_CREATE,
                                  .path = slice_str(METASTORE_CONFIG_CHANGE_NEW),
                                  .is_sequential = true};
        metastore_multi(w.session, &op, 1, on_done, &w);
    }
    world_attach(&w);
    (void)sim_world_run(w.world, 5000, NULL, NULL);
    int32_t count = -1;
    metastore_children(w.session, slice_str(METASTORE_CONFIG_CHANGES), NULL, NULL, on_counted,
                       &count);
    (void)sim_world_run(w.world, 500, NULL, NULL);
    assert_int_equal(count, 1000);
    world_stop(&w);
}

static void a_new_topic_has_its_settings_before_they_are_read(void **state)
{
    (void)state;
    static const struct model_setting list[] = {
        {{(const uint8_t *)"retention.ms", 12}, {(const uint8_t *)"5000", 4}},
        {{(const uint8_t *)"no.such.key", 11}, {(const uint8_t *)"1", 1}}};
    struct world w;
    world_start(&w);
    world_attach(&w);
    settings_topic_created(w.settings, slice_str("new"), list, 2);
    assert_int_equal(topic_number(&w, "new", CONFIG_TOPIC_RETENTION_MS), 5000);
    assert_non_null(strstr(w.log, "no.such.key"));
    /* What is stored wins when it is read. */
    write_node(&w, "/config/topics/new", "{\"version\":1,\"config\":{}}");
    change_node(&w, "/config/topics/new", "{\"version\":1,\"config\":{\"retention.ms\":\"7000\"}}",
                "topics/new");
    (void)sim_world_run(w.world, 500, NULL, NULL);
    assert_int_equal(topic_number(&w, "new", CONFIG_TOPIC_RETENTION_MS), 7000);
    /* A late word about the creation does not undo it for long. */
    settings_topic_created(w.settings, slice_str("new"), list, 1);
    assert_int_equal(topic_number(&w, "new", CONFIG_TOPIC_RETENTION_MS), 5000);
    (void)sim_world_run(w.world, 500, NULL, NULL);
    assert_int_equal(topic_number(&w, "new", CONFIG_TOPIC_RETENTION_MS), 7000);
    /* Another topic of a known name, without settings. */
    settings_topic_created(w.settings, slice_str("new"), NULL, 0);
    assert_int_equal(topic_number(&w, "new", CONFIG_TOPIC_RETENTION_MS), 604800000);
    world_stop(&w);
}

static void a_new_topic_is_told_of_without_a_session_too(void **state)
{
    (void)state;
    static const struct model_setting list[] = {
        {{(const uint8_t *)"retention.ms", 12}, {(const uint8_t *)"5000", 4}}};
    struct world w;
    world_start(&w);
    settings_topic_created(w.settings, slice_str("a"), NULL, 0);
    settings_topic_created(w.settings, slice_str("b"), list, 1);
    settings_topic_created(w.settings, slice_str("b"), list, 1);
    assert_int_equal(topic_number(&w, "a", CONFIG_TOPIC_RETENTION_MS), 604800000);
    assert_int_equal(topic_number(&w, "b", CONFIG_TOPIC_RETENTION_MS), 5000);
    world_stop(&w);
}

static bool deletes_old(const struct world *w, const char *topic)
{
    struct replicas_topic_config config;
    settings_fill_topic(w->settings, slice_str(topic), &config);
    return config.log.delete_old;
}

/* The broker starts, with defaults in their place, but deletes nothing by them: that is told with the
 * path. */
static void settings_that_may_not_be_read_are_told(void **state)
{
    (void)state;
    static const struct {
        const char *path;
        const char *entity;
    } rows[] = {{"/config/topics/t", "t"},
                {"/config/brokers/7", "the broker"},
                {"/config/brokers/<default>", "the broker"}};
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        struct world w;
        char line[160];
        world_start(&w);
        write_node(&w, rows[i].path, "{\"version\":1,\"config\":{\"retention.ms\":\"5\"}}");
        (void)sim_world_run(w.world, 500, NULL, NULL);
        metastore_store_hide(w.store, slice_str(rows[i].path), true);
        world_attach(&w);
        (void)snprintf(line, sizeof line,
                       "stored configuration of %s: %s cannot be read: refused: ignored",
                       rows[i].entity, rows[i].path);
        assert_string_equal(w.log, line);
        assert_int_equal(w.loaded, 1);
        assert_int_equal(topic_number(&w, "t", CONFIG_TOPIC_RETENTION_MS), 604800000);
        assert_false(deletes_old(&w, "t"));
        assert_int_equal(deletes_old(&w, "other"), i == 0);
        w.changes = 0;
        metastore_store_hide(w.store, slice_str(rows[i].path), false);
        change_node(&w, rows[i].path, "{\"version\":1,\"config\":{}}",
                    rows[i].path + strlen("/config/"));
        (void)sim_world_run(w.world, 500, NULL, NULL);
        assert_int_equal(w.changes, 1);
        assert_true(deletes_old(&w, "t"));
        world_stop(&w);
    }
}

/* Without them nothing starts: the defaults might delete records. */
static void lists_that_may_not_be_read_are_told_and_tried_again(void **state)
{
    (void)state;
    static const char *const paths[] = {"/config/topics", "/config/changes"};
    for (size_t i = 0; i < sizeof paths / sizeof paths[0]; i++) {
        struct world w;
        char line[128];
        world_start(&w);
        write_node(&w, "/config/topics/t", "{\"version\":1,\"config\":{\"retention.ms\":\"5\"}}");
        (void)sim_world_run(w.world, 500, NULL, NULL);
        metastore_store_hide(w.store, slice_str(paths[i]), true);
        world_attach(&w);
        (void)sim_world_run(w.world, 5000, NULL, NULL);
        (void)snprintf(line, sizeof line,
                       "stored configuration cannot be read: %s: refused; tried again", paths[i]);
        assert_string_equal(w.log, line);
        assert_int_equal(w.loaded, i);
        metastore_store_hide(w.store, slice_str(paths[i]), false);
        (void)sim_world_run(w.world, 1500, NULL, NULL);
        assert_int_equal(w.loaded, 1);
        assert_int_equal(topic_number(&w, "t", CONFIG_TOPIC_RETENTION_MS), 5);
        change_node(&w, "/config/topics/t", "{\"version\":1,\"config\":{\"retention.ms\":\"6\"}}",
                    "topics/t");
        (void)sim_world_run(w.world, 1500, NULL, NULL);
        assert_int_equal(topic_number(&w, "t", CONFIG_TOPIC_RETENTION_MS), 6);
        world_stop(&w);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(settings_that_may_not_be_read_are_told),
        cmocka_unit_test(lists_that_may_not_be_read_are_told_and_tried_again),
        cmocka_unit_test(stored_values_are_read_at_the_start),
        cmocka_unit_test(throttles_are_passed_to_the_replicas),
        cmocka_unit_test(rates_come_from_the_store_alone),
        cmocka_unit_test(settings_that_cannot_be_read_change_nothing),
        cmocka_unit_test(notifications_are_followed),
        cmocka_unit_test(what_cannot_be_accepted_is_ignored_and_told),
        cmocka_unit_test(values_of_an_earlier_session_are_forgotten),
        cmocka_unit_test(what_is_answered_after_a_detach_is_for_nobody),
        cmocka_unit_test(what_is_never_answered_goes_with_the_settings),
        cmocka_unit_test(old_notifications_are_dropped),
        cmocka_unit_test(a_new_topic_has_its_settings_before_they_are_read),
        cmocka_unit_test(a_new_topic_is_told_of_without_a_session_too),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
