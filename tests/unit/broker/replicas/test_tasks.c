/*
 * Housekeeping: the clean stop, retention, deletion of files.
 */
#include "world.h"

#include "model/kerr.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>

#include <cmocka.h>

static const int32_t both[] = {1, 2};

static void append(struct world *w, int32_t at, const struct world_partition *p, int32_t count)
{
    struct world_produce produce;
    world_append(w, at, p, count, &produce);
    world_produce_deinit(&produce);
}

static void stopped(void *arg)
{
    ((struct world_broker *)arg)->was_stopped = true;
}

static void stop_clean(struct world *w, int32_t id)
{
    replicas_stop(world_replicas(w, id), stopped, &w->brokers[id]);
    assert_false(w->brokers[id].was_stopped);
    world_pass(w, 2000);
    assert_true(w->brokers[id].was_stopped);
}

/* Everything is synced and marked: not even a power loss takes anything, and the start trusts it. */
static void clean_stop_survives_a_power_loss(void **state)
{
    (void)state;
    struct world *w = world_new(71, 2);
    world_start(w, 1);
    struct world_partition *first = NULL;
    for (int32_t i = 0; i < 40; i++) {
        struct world_partition *p = world_create(w, "orders", i, both, 1);
        first = first == NULL ? p : first;
        append(w, 1, p, 10);
    }
    struct env *env = sim_node_env(w->brokers[1].node);
    stop_clean(w, 1);
    world_kill(w, 1);
    sim_node_start(w->brokers[1].node);
    sim_node_power_loss(w->brokers[1].node);
    sim_node_start(w->brokers[1].node);
    struct env_file *mark = NULL;
    assert_int_equal(env_file_open(env, "/data/0/.kafka_cleanshutdown", ENV_OPEN_READ, &mark), 0);
    env_file_unref(mark);
    world_start(w, 1);
    for (int32_t i = 0; i < 40; i++) {
        assert_int_equal(world_info(w, 1, &first[i]).log_end, 10);
        assert_int_equal(world_info(w, 1, &first[i]).high_watermark, 10);
    }
    assert_int_equal(env_file_open(env, "/data/0/.kafka_cleanshutdown", ENV_OPEN_READ, &mark),
                     -E_NOT_FOUND);
    world_free(w);
}

/* A stop while followers fetch, appends wait and files are being deleted. */
static void stop_is_possible_in_the_middle_of_everything(void **state)
{
    (void)state;
    struct world *w = world_new(72, 2);
    world_start(w, 1);
    world_start(w, 2);
    struct world_partition *p = world_create(w, "orders", 0, both, 2);
    struct world_partition *q = world_create(w, "orders", 1, both, 2);
    append(w, 1, p, 100);
    append(w, 1, q, 100);
    struct world_produce produce;
    world_append_acks(w, 1, p, -1, &produce);
    assert_int_equal(world_stop_replica(w, 1, q, true, -1), KERR_NONE);
    stop_clean(w, 2);
    stop_clean(w, 1);
    assert_false(produce.is_done);
    world_produce_deinit(&produce);
    world_free(w);
}

/* Freed at any of many moments, with jobs on the pool: nothing is touched afterwards. */
static void kill_is_possible_at_any_moment(void **state)
{
    (void)state;
    for (int64_t ms = 0; ms < 40; ms++) {
        struct world *w = world_new(100 + (uint64_t)ms, 2);
        sim_disk_slow(w->brokers[1].node, 20);
        sim_disk_slow(w->brokers[2].node, 20);
        world_start(w, 1);
        world_start(w, 2);
        struct world_partition *p = world_create(w, "orders", 0, both, 2);
        struct world_partition *q = world_create(w, "orders", 1, both, 2);
        struct world_produce produce;
        world_append_acks(w, 1, p, -1, &produce);
        append(w, 1, q, 10);
        world_pass(w, ms / 2);
        assert_int_equal(world_stop_replica(w, 1, q, true, -1), KERR_NONE);
        world_pass(w, ms);
        world_kill(w, 1 + (int32_t)(ms % 2));
        world_pass(w, 100);
        world_produce_deinit(&produce);
        world_free(w);
    }
}

static bool has_folder(struct world *w, int32_t id, const char *prefix)
{
    char path[64];
    (void)snprintf(path, sizeof path, "/data/0/%s", prefix); /* fits */
    struct env_file *file = NULL;
    char name[128];
    (void)snprintf(name, sizeof name, "%s/%020d.log", path, 0); /* fits */
    int err = env_file_open(sim_node_env(w->brokers[id].node), name, ENV_OPEN_READ, &file);
    env_file_unref(file);
    return err == 0;
}

static int count_deleted(void *arg, const char *name, bool is_dir)
{
    (void)is_dir;
    *(int32_t *)arg += strstr(name, "-delete") != NULL || strstr(name, "-stray") != NULL;
    return 0;
}

static int32_t deleted_folders(struct world *w, int32_t id)
{
    int32_t count = 0;
    assert_int_equal(
        env_dir_list(sim_node_env(w->brokers[id].node), "/data/0", count_deleted, &count), 0);
    return count;
}

/* Renamed at once, gone after file.delete.delay.ms; a kill before that leaves it to the next start. */
static void deleted_files_go_after_the_delay(void **state)
{
    (void)state;
    struct world *w = world_new(73, 1);
    world_start(w, 1);
    struct world_partition *p = world_create(w, "orders", 0, both, 1);
    struct world_partition *q = world_create(w, "orders", 1, both, 1);
    append(w, 1, p, 10);
    append(w, 1, q, 10);
    assert_true(has_folder(w, 1, "orders-0"));
    assert_int_equal(world_stop_replica(w, 1, p, true, -1), KERR_NONE);
    assert_false(has_folder(w, 1, "orders-0"));
    assert_int_equal(deleted_folders(w, 1), 1);
    world_pass(w, 59000);
    assert_int_equal(deleted_folders(w, 1), 1);
    world_pass(w, 2000);
    assert_int_equal(deleted_folders(w, 1), 0);
    assert_int_equal(world_stop_replica(w, 1, q, true, -1), KERR_NONE);
    assert_int_equal(deleted_folders(w, 1), 1);
    world_kill(w, 1);
    world_start(w, 1);
    world_pass(w, 1000);
    assert_int_equal(deleted_folders(w, 1), 0);
    world_free(w);
}

/* The same by way of -stray, and only for a replica without a role. */
static void stray_is_set_aside_and_deleted_after_the_delay(void **state)
{
    (void)state;
    struct world *w = world_new(74, 1);
    world_start(w, 1);
    struct replicas *r = world_replicas(w, 1);
    struct world_partition *p = world_create(w, "orders", 0, both, 1);
    append(w, 1, p, 10);
    assert_false(replicas_set_aside(r, slice_str("orders"), 0));
    assert_int_equal(world_stop_replica(w, 1, p, false, -1), KERR_NONE);
    assert_false(replicas_set_aside(r, slice_str("orders"), 1));
    assert_true(replicas_set_aside(r, slice_str("orders"), 0));
    assert_false(has_folder(w, 1, "orders-0"));
    assert_int_equal(deleted_folders(w, 1), 1);
    world_pass(w, 30000);
    assert_int_equal(deleted_folders(w, 1), 1);
    world_kill(w, 1);
    world_start(w, 1);
    world_pass(w, 59000);
    assert_int_equal(deleted_folders(w, 1), 1);
    world_pass(w, 2000);
    assert_int_equal(deleted_folders(w, 1), 0);
    world_free(w);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(clean_stop_survives_a_power_loss),
        cmocka_unit_test(stop_is_possible_in_the_middle_of_everything),
        cmocka_unit_test(kill_is_possible_at_any_moment),
        cmocka_unit_test(deleted_files_go_after_the_delay),
        cmocka_unit_test(stray_is_set_aside_and_deleted_after_the_delay),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
