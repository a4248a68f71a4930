/*
 * Sessions that help a new controller to read: the metastore's factory is made to ask for them and counts
 * what each is asked. The third broker has none of the replicas, so that killing it while it is controller
 * changes no state.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "unit/broker/controller/cluster.h"

#define READERS    2
#define PARTITIONS 12

/* What was opened since watch_readers. */
static struct {
    struct metastore *(*open)(struct metastore_factory *f, struct env *env,
                              int64_t session_timeout_ms, metastore_state_fn state, void *arg);
    const struct metastore_ops *ops;
    struct metastore_ops counting;
    int32_t count;
    int32_t closed;
    struct metastore *sessions[READERS];
    int32_t gets[READERS];
} opened;

/* tidy: long: the interface of a backend. */
static void get_counted(struct metastore *m, struct slice path, metastore_watch_fn watch,
                        void *watch_arg, metastore_done_fn done, void *arg)
{
    assert_null(watch);
    for (int32_t i = 0; i < opened.count; i++) {
        opened.gets[i] += opened.sessions[i] == m;
    }
    opened.ops->get(m, path, watch, watch_arg, done, arg);
}

static void close_counted(struct metastore *m)
{
    opened.closed++;
    opened.ops->close(m);
}

static struct metastore *open_counted(struct metastore_factory *f, struct env *env,
                                      int64_t session_timeout_ms, metastore_state_fn state,
                                      void *arg)
{
    struct metastore *m = opened.open(f, env, session_timeout_ms, state, arg);
    assert_true(opened.count < READERS);
    opened.ops = m->ops;
    opened.counting = *m->ops;
    opened.counting.get = get_counted;
    opened.counting.close = close_counted;
    m->ops = &opened.counting;
    opened.sessions[opened.count++] = m;
    return m;
}

static void watch_readers(struct cluster *k)
{
    struct metastore_factory *f = metastore_store_factory(k->store);
    memset(&opened, 0, sizeof opened);
    opened.open = f->open;
    f->open = open_counted;
    f->readers = READERS;
}

static void unwatch_readers(struct cluster *k)
{
    metastore_store_factory(k->store)->open = opened.open;
}

/* A cluster of three with a topic on 1 and 2, whose controller has just been killed. */
static struct cluster *bereft(uint64_t seed)
{
    struct cluster *k = cluster_new(3, seed);
    int32_t id = cluster_wait_controller(k);
    struct ids list = {.count = 2, .list = (int32_t[]){1 + id % 3, 1 + (id + 1) % 3}};
    assert_string_equal(cluster_create(k, id, "t", PARTITIONS, list), "0;");
    cluster_run(k, 1000);
    for (int32_t i = 1; i <= 3; i++) {
        buf_clear(&k->brokers[i].told);
    }
    cluster_kill(k, id);
    watch_readers(k);
    return k;
}

/* A controller that has sent some of the reads and not had all the answers; NULL = none yet. */
static struct controller *reading(struct cluster *k)
{
    for (int32_t id = 1; id <= 3; id++) {
        struct controller *c = k->brokers[id].controller;
        if (c != NULL && c->states_out == PARTITIONS) {
            return c;
        }
    }
    return NULL;
}

static bool is_reading(void *arg)
{
    return reading(arg) != NULL;
}

static struct controller *wait_reading(struct cluster *k)
{
    assert_true(sim_world_run(k->world, CLUSTER_PATIENCE_MS, is_reading, k));
    return reading(k);
}

/* The controller knows all states: everybody who has a replica was told of each under its old epoch. */
static void assert_loaded(struct cluster *k)
{
    const struct controller *c = k->brokers[cluster_wait_controller(k)].controller;
    assert_null(c->readers);
    assert_int_equal(c->states_out, 0);
    cluster_run(k, 1000);
    for (int32_t id = 1; id <= 3; id++) {
        const char *told = cluster_text(&k->brokers[id].told);
        for (int32_t i = 0; k->brokers[id].controller != NULL && i < PARTITIONS; i++) {
            char *start = xasprintf("leader t-%d ", i);
            assert_non_null(strstr(told, start));
            free(start);
        }
        assert_null(strstr(told, "epoch 1;"));
    }
}

static void states_are_read_by_several_sessions(void **state)
{
    (void)state;
    struct cluster *k = bereft(61);
    assert_loaded(k);
    assert_int_equal(opened.count, READERS);
    assert_int_equal(opened.closed, READERS);
    /* The third turn is the controller's own session's. */
    assert_int_equal(opened.gets[0], PARTITIONS / 3);
    assert_int_equal(opened.gets[1], PARTITIONS / 3);
    unwatch_readers(k);
    cluster_free(k);
}

static void what_a_reader_cannot_tell_the_own_session_reads(void **state)
{
    (void)state;
    struct cluster *k = bereft(62);
    (void)wait_reading(k);
    assert_true(opened.gets[0] > 0);
    for (int32_t i = 0; i < READERS; i++) {
        metastore_store_expire(k->store, metastore_session_id(opened.sessions[i]));
    }
    assert_loaded(k);
    assert_int_equal(opened.closed, READERS);
    unwatch_readers(k);
    cluster_free(k);
}

/* The others stand for election at once, and one of them reads all of it again. */
static void readers_end_with_the_term(void **state)
{
    (void)state;
    struct cluster *k = bereft(63);
    struct controller *c = wait_reading(k);
    assert_true(opened.gets[0] > 0);
    controller_resign(c, "test");
    assert_null(c->readers);
    assert_int_equal(c->states_out, 0);
    assert_int_equal(opened.closed, READERS);
    unwatch_readers(k);
    assert_loaded(k);
    cluster_free(k);
}

static void controller_may_be_freed_while_it_reads(void **state)
{
    (void)state;
    struct cluster *k = bereft(64);
    const struct controller *c = wait_reading(k);
    cluster_kill(k, c == k->brokers[1].controller ? 1 : c == k->brokers[2].controller ? 2 : 3);
    assert_int_equal(opened.closed, READERS);
    unwatch_readers(k);
    (void)cluster_wait_controller(k);
    cluster_free(k);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(states_are_read_by_several_sessions),
        cmocka_unit_test(what_a_reader_cannot_tell_the_own_session_reads),
        cmocka_unit_test(readers_end_with_the_term),
        cmocka_unit_test(controller_may_be_freed_while_it_reads),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
