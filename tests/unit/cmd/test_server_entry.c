/*
 * What comes before a broker: the metastore is waited for, ids are generated, and remembered ones found.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "cmd/server_entry.h"

#include "base/check.h"
#include "metastore/store.h"
#include "sim/env/sim.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct world {
    struct sim_world *world;
    struct env *env;
    struct metastore_store *store;
    int waits;
    int dones;
    int err;
    int32_t id;
};

static void world_start(struct world *w)
{
    struct errmsg em;
    *w = (struct world){0};
    w->world = sim_world_new(1);
    struct metastore_store_config config = {.env = sim_node_env(sim_node_new(w->world, "store"))};
    w->env = sim_node_env(sim_node_new(w->world, "broker"));
    assert_int_equal(metastore_store_new(&config, &w->store, &em), 0);
}

static void world_stop(struct world *w)
{
    (void)sim_world_run(w->world, 60000, NULL, NULL);
    metastore_store_free(w->store);
    sim_world_free(w->world);
}

static void on_waiting(void *arg, int64_t waited_ms)
{
    struct world *w = arg;
    w->waits++;
    assert_int_equal(waited_ms, 2000 * w->waits);
}

static void on_done(void *arg, int err, int32_t id)
{
    struct world *w = arg;
    w->dones++;
    w->err = err;
    w->id = id;
}

static void enter(struct world *w, bool is_id_wanted, struct metastore_factory *factory)
{
    struct cmd_server_entry_config config = {
        .env = w->env,
        .factory = factory,
        .session_timeout_ms = 6000,
        .patience_ms = 9000,
        .is_id_wanted = is_id_wanted,
        .reserved_id_max = 1000,
        .waiting = on_waiting,
        .done = on_done,
        .arg = w,
    };
    w->waits = 0;
    w->dones = 0;
    struct cmd_server_entry *e = cmd_server_entry_new(&config);
    (void)sim_world_run(w->world, 20000, NULL, NULL);
    assert_int_equal(w->dones, 1);
    cmd_server_entry_free(e);
}

static void generated_ids_count_up_from_the_reserved_ones(void **state)
{
    (void)state;
    struct world w;
    world_start(&w);
    for (int32_t i = 1; i <= 3; i++) {
        enter(&w, true, metastore_store_factory(w.store));
        assert_int_equal(w.err, 0);
        assert_int_equal(w.id, 1000 + i);
        assert_int_equal(w.waits, 0);
    }
    enter(&w, false, metastore_store_factory(w.store));
    assert_int_equal(w.err, 0);
    assert_int_equal(w.id, -1);
    world_stop(&w);
}

/* A metastore that never connects. */
static void silent_close(struct metastore *m)
{
    free(m);
}

static const struct metastore_ops silent_ops = {.close = silent_close, .abandon = silent_close};

static struct metastore *silent_open(struct metastore_factory *f, struct env *env,
                                     int64_t session_timeout_ms, metastore_state_fn on_state,
                                     void *arg)
{
    (void)f;
    (void)session_timeout_ms;
    (void)on_state;
    (void)arg;
    struct metastore *m = calloc(1, sizeof *m);
    assert_non_null(m);
    *m = (struct metastore){.ops = &silent_ops, .env = env};
    return m;
}

static void silent_metastore_is_told_of_and_given_up(void **state)
{
    (void)state;
    struct world w;
    struct metastore_factory silent = {.open = silent_open};
    world_start(&w);
    enter(&w, true, &silent);
    assert_int_equal(w.err, -E_TIMEOUT);
    assert_int_equal(w.id, -1);
    assert_int_equal(w.waits, 4);
    world_stop(&w);
}

static void meta_put(struct env *env, const char *directory, const char *text)
{
    char path[64];
    struct env_file *file = NULL;
    (void)snprintf(path, sizeof path, "%s/meta.properties", directory);
    assert_int_equal(env_mkdir(env, directory), 0);
    assert_int_equal(env_file_open(env, path, ENV_OPEN_WRITE | ENV_OPEN_CREATE, &file), 0);
    assert_int_equal(env_file_write(file, text, strlen(text), 0), 0);
    env_file_unref(file);
}

static void remembered_id_is_the_one_of_all_directories(void **state)
{
    (void)state;
    static const struct {
        const char *first; /* NULL = no file */
        const char *second;
        int err;
        int32_t id;
        const char *message;
    } rows[] = {
        {NULL, NULL, 0, -1, ""},
        {NULL, "version=0\nbroker.id=1003\n", 0, 1003, ""},
        {"broker.id=4\n", "broker.id=4\n", 0, 4, ""},
        {"broker.id=4\n", "broker.id=5\n", -E_INVALID, -1,
         "/a belongs to broker 4, /b to broker 5"},
        {"broker.id=x\n", NULL, -E_INVALID, -1, "/a/meta.properties: broker.id has a bad value"},
        {"version=0\n", NULL, -E_INVALID, -1, "/a/meta.properties: broker.id is missing"},
    };
    static const char *const directories[] = {"/a", "/b"};
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        struct world w;
        struct errmsg em = {""};
        int32_t id = -1;
        world_start(&w);
        if (rows[i].first != NULL) {
            meta_put(w.env, "/a", rows[i].first);
        }
        if (rows[i].second != NULL) {
            meta_put(w.env, "/b", rows[i].second);
        }
        assert_int_equal(cmd_server_entry_remembered_id(w.env, directories, 2, &id, &em),
                         rows[i].err);
        assert_int_equal(id, rows[i].id);
        assert_string_equal(em.text, rows[i].message);
        world_stop(&w);
    }
}

/* Where some directory tells the id it is only offline; else nobody may take a new one. */
static void a_log_directory_that_is_a_file_is_named(void **state)
{
    (void)state;
    static const char *const directories[] = {"/a", "/b"};
    struct world w;
    struct errmsg em = {""};
    struct env_file *file = NULL;
    int32_t id = -1;
    world_start(&w);
    assert_int_equal(env_file_open(w.env, "/a", ENV_OPEN_WRITE | ENV_OPEN_CREATE, &file), 0);
    env_file_unref(file);
    assert_int_equal(cmd_server_entry_remembered_id(w.env, directories, 2, &id, &em), -E_IO);
    assert_string_equal(em.text, "log directory /a: it is not a directory");
    meta_put(w.env, "/b", "broker.id=4\n");
    assert_int_equal(cmd_server_entry_remembered_id(w.env, directories, 2, &id, &em), 0);
    assert_int_equal(id, 4);
    world_stop(&w);
}

/* Nodes that are there need not be made; writing to the sequence must be allowed. */
static void a_refusal_ends_it_at_once(void **state)
{
    (void)state;
    struct world w;
    world_start(&w);
    metastore_store_guard(w.store, slice_str("/"), true);
    enter(&w, true, metastore_store_factory(w.store));
    assert_int_equal(w.err, -E_REFUSED);
    metastore_store_guard(w.store, slice_str("/"), false);
    enter(&w, true, metastore_store_factory(w.store));
    assert_int_equal(w.id, 1001);
    metastore_store_guard(w.store, slice_str("/"), true);
    metastore_store_guard(w.store, slice_str("/brokers"), true);
    enter(&w, true, metastore_store_factory(w.store));
    assert_int_equal(w.id, 1002);
    metastore_store_guard(w.store, slice_str("/brokers/seqid"), true);
    enter(&w, true, metastore_store_factory(w.store));
    assert_int_equal(w.err, -E_REFUSED);
    assert_int_equal(w.waits, 0);
    world_stop(&w);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_refusal_ends_it_at_once),
        cmocka_unit_test(generated_ids_count_up_from_the_reserved_ones),
        cmocka_unit_test(silent_metastore_is_told_of_and_given_up),
        cmocka_unit_test(remembered_id_is_the_one_of_all_directories),
        cmocka_unit_test(a_log_directory_that_is_a_file_is_named),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
