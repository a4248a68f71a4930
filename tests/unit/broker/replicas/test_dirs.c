/*
 * Log directories: whose they are, what survives a restart, where new logs go, what a failed one does.
 */
#include "world.h"

#include "model/kerr.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

static const int32_t alone[] = {1};

static void append(struct world *w, const struct world_partition *p, int32_t count)
{
    struct world_produce produce;
    world_append(w, 1, p, count, &produce);
    world_produce_deinit(&produce);
}

static void no_config(void *arg, const char *topic, struct replicas_topic_config *ret_config)
{
    (void)arg;
    (void)topic;
    *ret_config = (struct replicas_topic_config){.log = plog_config_default()};
}

static int open_as(struct sim_node *node, int32_t broker, struct replicas **ret, struct errmsg *em)
{
    static const char *const dirs[] = {"/data/0"};
    struct replicas_config config;
    replicas_config_default(&config);
    config.broker_id = broker;
    config.log_dirs = dirs;
    config.log_dir_count = 1;
    struct replicas_hooks hooks = {.topic_config = no_config};
    return replicas_open(sim_node_env(node), &config, &hooks, ret, em);
}

static void directory_of_another_broker_is_refused(void **state)
{
    (void)state;
    struct sim_world *sim = sim_world_new(61);
    struct sim_node *node = sim_node_new(sim, "node");
    struct replicas *r = NULL;
    struct errmsg em = {""};
    assert_int_equal(open_as(node, 1, &r, &em), 0);
    assert_null(replicas_cluster_id(r));
    assert_int_equal(replicas_bind_cluster(r, "first", &em), 0);
    assert_string_equal(replicas_cluster_id(r), "first");
    replicas_free(r);
    assert_int_equal(open_as(node, 2, &r, &em), -E_INVALID);
    assert_string_equal(em.text, "/data/0 belongs to broker 1, this is broker 2");
    assert_int_equal(open_as(node, 1, &r, &em), 0);
    assert_string_equal(replicas_cluster_id(r), "first");
    assert_int_equal(replicas_bind_cluster(r, "second", &em), -E_INVALID);
    assert_string_equal(em.text,
                        "the log directories belong to cluster first, the metastore to second");
    replicas_free(r);
    sim_world_free(sim);
}

static void broker_without_a_working_directory_does_not_start(void **state)
{
    (void)state;
    struct sim_world *sim = sim_world_new(63);
    struct sim_node *node = sim_node_new(sim, "node");
    sim_disk_break(node, "/data");
    struct replicas *r = NULL;
    struct errmsg em = {""};
    assert_int_equal(open_as(node, 1, &r, &em), -E_OFFLINE);
    assert_string_equal(em.text, "no log directory can be used; /data/0: it cannot be opened: "
                                 "input/output error");
    sim_world_free(sim);
}

/* A killed broker finds its records; its high watermark is the checkpointed one at most 5 s old. */
static void records_survive_a_kill(void **state)
{
    (void)state;
    struct world *w = world_new(64, 1);
    world_start(w, 1);
    struct world_partition *p = world_create(w, "orders", 0, alone, 1);
    append(w, p, 10);
    world_pass(w, 6000);
    append(w, p, 5);
    world_kill(w, 1);
    world_start(w, 1);
    struct replicas_partition_info info = world_info(w, 1, p);
    assert_int_equal(info.log_end, 15);
    assert_int_equal(info.high_watermark, 10);
    assert_int_equal(info.leader_epoch, -1);
    assert_false(info.is_leader);
    world_announce(w, p, true);
    assert_int_equal(world_info(w, 1, p).high_watermark, 15);
    world_free(w);
}

static void new_logs_go_where_the_fewest_are(void **state)
{
    (void)state;
    struct world *w = world_new(65, 1);
    w->dir_count = 2;
    world_start(w, 1);
    int32_t count[2] = {0};
    for (int32_t i = 0; i < 6; i++) {
        struct world_partition *p = world_create(w, "orders", i, alone, 1);
        count[world_info(w, 1, p).dir]++;
    }
    assert_int_equal(count[0], 3);
    assert_int_equal(count[1], 3);
    assert_int_equal(replicas_dir_count(world_replicas(w, 1)), 2);
    world_free(w);
}

/* Row 49 and reassignment.md 7.7: a new replica goes into the good directory; one that could lie in the
 * bad one is not made again. */
static void failed_directory_takes_only_its_own_logs_down(void **state)
{
    (void)state;
    struct world *w = world_new(66, 1);
    w->dir_count = 2;
    world_start(w, 1);
    struct world_partition *p = world_create(w, "orders", 0, alone, 1);
    struct world_partition *q = world_create(w, "orders", 1, alone, 1);
    append(w, p, 1);
    append(w, q, 1);
    sim_disk_break(w->brokers[1].node, "/data/0");
    struct world_produce produce;
    world_append_acks(w, 1, p, 1, &produce);
    assert_int_equal(produce.item.err, -E_OFFLINE);
    world_produce_deinit(&produce);
    world_pass(w, 100);
    assert_int_equal(w->brokers[1].dir_failures, 1);
    assert_int_equal(world_info(w, 1, p).log_end, -1);
    append(w, q, 1);
    assert_int_equal(world_info(w, 1, q).log_end, 2);
    p->leader_epoch++;
    assert_int_equal(world_send(w, 1, p), KERR_KAFKA_STORAGE_ERROR);
    assert_int_equal(world_stop_replica(w, 1, p, true, -1), KERR_KAFKA_STORAGE_ERROR); /* row 50 */
    struct world_partition *fresh = world_create(w, "orders", 2, alone, 1);            /* is_new */
    assert_int_equal(world_info(w, 1, fresh).dir, 1);
    append(w, fresh, 1);
    world_free(w);
}

static void count_log(void *arg, const struct replicas_log_info *info)
{
    int64_t *sizes = arg;
    sizes[info->partition] = info->size;
    assert_string_equal(info->topic, "orders");
    assert_int_equal(info->offset_lag, 0);
}

/* Design decision 12: nothing on disk before the first append. */
static void empty_logs_have_size_zero(void **state)
{
    (void)state;
    struct world *w = world_new(67, 1);
    world_start(w, 1);
    struct world_partition *p = world_create(w, "orders", 0, alone, 1);
    (void)world_create(w, "orders", 1, alone, 1);
    append(w, p, 10);
    int64_t sizes[2] = {-1, -1};
    replicas_each_log(world_replicas(w, 1), 0, count_log, sizes);
    assert_true(sizes[0] > 0);
    assert_int_equal(sizes[1], 0);
    world_free(w);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(directory_of_another_broker_is_refused),
        cmocka_unit_test(broker_without_a_working_directory_does_not_start),
        cmocka_unit_test(records_survive_a_kill),
        cmocka_unit_test(new_logs_go_where_the_fewest_are),
        cmocka_unit_test(failed_directory_takes_only_its_own_logs_down),
        cmocka_unit_test(empty_logs_have_size_zero),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
