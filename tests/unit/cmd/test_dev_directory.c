/*
 * The directory of a development cluster, on a simulated disk.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/alloc.h"
#include "cmd/dev_directory.h"
#include "sim/env/sim.h"

#include <stdlib.h>

struct fixture {
    struct sim_world *world;
    struct env *env;
};

static int setup(void **state)
{
    struct fixture *f = xalloc(sizeof *f);
    f->world = sim_world_new(1);
    f->env = sim_node_env(sim_node_new(f->world, "host"));
    *state = f;
    return 0;
}

static int teardown(void **state)
{
    struct fixture *f = *state;
    sim_world_free(f->world);
    free(f);
    return 0;
}

static void make_file(struct env *env, const char *path)
{
    struct env_file *file = NULL;
    assert_int_equal(env_file_open(env, path, ENV_OPEN_WRITE | ENV_OPEN_CREATE, &file), 0);
    env_file_unref(file);
}

static void missing_directory_is_made_and_brokers_are_counted(void **state)
{
    struct fixture *f = *state;
    struct cmd_dev_directory d;
    struct errmsg em;
    assert_int_equal(cmd_dev_directory_open(f->env, "/a/b", false, &d, &em), 0);
    assert_int_equal(d.broker_found, 0);
    char *path = cmd_dev_directory_broker(&d, 4, 0);
    assert_string_equal(path, "/a/b/broker-4");
    assert_int_equal(env_mkdir(f->env, path), 0);
    free(path);
    assert_int_equal(env_mkdir(f->env, "/a/b/broker-1"), 0);
    assert_int_equal(env_mkdir(f->env, "/a/b/broker-x"), 0);
    assert_int_equal(env_mkdir(f->env, "/a/b/broker-7.2"), 0);
    assert_int_equal(env_mkdir(f->env, "/a/b/broker-99999999999"), 0);
    make_file(f->env, "/a/b/broker-9");
    cmd_dev_directory_close(&d);
    assert_int_equal(cmd_dev_directory_open(f->env, "/a/b", false, &d, &em), 0);
    assert_int_equal(d.broker_found, 4);
    cmd_dev_directory_close(&d);
}

static void second_cluster_in_a_directory_is_refused(void **state)
{
    struct fixture *f = *state;
    struct cmd_dev_directory d;
    struct cmd_dev_directory second;
    struct errmsg em;
    assert_int_equal(cmd_dev_directory_open(f->env, "/a", false, &d, &em), 0);
    assert_int_equal(cmd_dev_directory_open(f->env, "/a", true, &second, &em), -E_LOCKED);
    assert_string_equal(em.text, "/a is in use by another klamm dev");
    cmd_dev_directory_close(&d);
    assert_int_equal(cmd_dev_directory_open(f->env, "/a", true, &second, &em), 0);
    cmd_dev_directory_close(&second);
}

static int count_entry(void *arg, const char *name, bool is_dir)
{
    (void)is_dir;
    int *count = arg;
    *count += strcmp(name, ".lock") != 0;
    return 0;
}

static void in_memory_cluster_leaves_only_what_was_there(void **state)
{
    struct fixture *f = *state;
    struct cmd_dev_directory d;
    struct errmsg em;
    assert_int_equal(env_mkdir(f->env, "/a/broker-2"), 0);
    for (int round = 0; round < 2; round++) {
        assert_int_equal(cmd_dev_directory_open(f->env, "/a", true, &d, &em), 0);
        assert_int_equal(d.broker_found, 0);
        char *path = cmd_dev_directory_broker(&d, 1, 0);
        assert_string_equal(path, "/a/in-memory/broker-1");
        free(path);
        path = cmd_dev_directory_broker(&d, 1, 1);
        assert_string_equal(path, "/a/in-memory/broker-1.2");
        free(path);
        assert_int_equal(env_mkdir(f->env, "/a/in-memory/broker-1/t-0"), 0);
        make_file(f->env, "/a/in-memory/broker-1/t-0/00000000000000000000.log");
        make_file(f->env, "/a/in-memory/broker-1/meta.properties");
        cmd_dev_directory_close(&d);
        int count = 0;
        assert_int_equal(env_dir_list(f->env, "/a", count_entry, &count), 0);
        assert_int_equal(count, 1);
    }
}

/* Each disk operation of the start fails once. */
static void failing_disk_is_told_with_the_path(void **state)
{
    struct fixture *f = *state;
    int failures = 0;
    int err = -1;
    for (int64_t at = 1; err != 0; at++) {
        assert_in_range(at, 1, 100);
        struct sim_node *node = sim_node_new(f->world, "failing");
        sim_disk_fail_at(node, at, E_IO);
        struct cmd_dev_directory d;
        struct errmsg em = {""};
        err = cmd_dev_directory_open(sim_node_env(node), "/a", false, &d, &em);
        if (err != 0) {
            assert_non_null(strstr(em.text, "/a"));
            assert_int_equal(sim_disk_open_files(node), 0);
            failures++;
        } else {
            cmd_dev_directory_close(&d);
        }
    }
    assert_true(failures > 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(missing_directory_is_made_and_brokers_are_counted, setup,
                                        teardown),
        cmocka_unit_test_setup_teardown(second_cluster_in_a_directory_is_refused, setup, teardown),
        cmocka_unit_test_setup_teardown(in_memory_cluster_leaves_only_what_was_there, setup,
                                        teardown),
        cmocka_unit_test_setup_teardown(failing_disk_is_told_with_the_path, setup, teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
