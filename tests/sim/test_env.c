/*
 * The simulated environment itself: files over crashes and power loss, timers, pipes, partitions,
 * and that a seed repeats.
 */
#include "base/alloc.h"
#include "sim/env/sim.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static struct env_file *open_file(struct sim_node *n, const char *path, int flags)
{
    struct env_file *f = NULL;
    assert_int_equal(env_file_open(sim_node_env(n), path, flags, &f), 0);
    return f;
}

static size_t file_content(struct sim_node *n, const char *path, char *text, size_t size)
{
    struct env_file *f = NULL;
    size_t len = 0;
    memset(text, 0, size);
    if (env_file_open(sim_node_env(n), path, ENV_OPEN_READ, &f) != 0) {
        return SIZE_MAX;
    }
    assert_int_equal(env_file_read(f, text, size - 1, 0, &len), 0);
    env_file_unref(f);
    return len;
}

/* A process crash keeps the page cache: an unsynced write is there afterwards. */
static void crash_keeps_written_bytes(void **state)
{
    (void)state;
    struct sim_world *w = sim_world_new(1);
    struct sim_node *n = sim_node_new(w, "n");
    assert_int_equal(env_mkdir(sim_node_env(n), "/d/e"), 0);
    struct env_file *f = open_file(n, "/d/e/f", ENV_OPEN_WRITE | ENV_OPEN_CREATE);
    assert_int_equal(env_file_write(f, "hello", 5, 0), 0);
    env_file_unref(f);
    sim_node_crash(n);
    sim_node_start(n);
    char text[16];
    assert_int_equal(file_content(n, "/d/e/f", text, sizeof text), 5);
    assert_string_equal(text, "hello");
    sim_world_free(w);
}

/* Over many seeds: what was synced is always there, what was not is there in some and not in others. */
static void power_loss_keeps_only_synced_bytes_for_sure(void **state)
{
    (void)state;
    int with_tail = 0;
    int without_tail = 0;
    for (uint64_t seed = 1; seed <= 64; seed++) {
        struct sim_world *w = sim_world_new(seed);
        struct sim_node *n = sim_node_new(w, "n");
        assert_int_equal(env_mkdir(sim_node_env(n), "/d"), 0);
        struct env_file *f = open_file(n, "/d/f", ENV_OPEN_WRITE | ENV_OPEN_CREATE);
        assert_int_equal(env_file_write(f, "synced", 6, 0), 0);
        assert_int_equal(env_file_sync(f), 0);
        assert_int_equal(env_dir_sync(sim_node_env(n), "/d"), 0);
        assert_int_equal(env_file_write(f, "tail", 4, 6), 0);
        env_file_unref(f);
        sim_node_power_loss(n);
        sim_node_start(n);
        char text[16];
        size_t len = file_content(n, "/d/f", text, sizeof text);
        assert_true(len >= 6 && memcmp(text, "synced", 6) == 0);
        with_tail += len == 10;
        without_tail += len == 6;
        sim_world_free(w);
    }
    assert_true(with_tail > 5);
    assert_true(without_tail > 5);
}

/* A rename without a directory sync is lost in some power losses and kept in others, never half. */
static void power_loss_changes_the_boot_id_and_a_crash_does_not(void **state)
{
    (void)state;
    struct sim_world *w = sim_world_new(5);
    struct sim_node *n = sim_node_new(w, "n");
    struct uuid ids[3];
    assert_int_equal(env_boot_id(sim_node_env(n), &ids[0]), 0);
    sim_node_crash(n);
    sim_node_start(n);
    assert_int_equal(env_boot_id(sim_node_env(n), &ids[1]), 0);
    sim_node_power_loss(n);
    sim_node_start(n);
    assert_int_equal(env_boot_id(sim_node_env(n), &ids[2]), 0);
    assert_true(uuid_equal(ids[0], ids[1]));
    assert_false(uuid_equal(ids[1], ids[2]));
    sim_world_free(w);
}

static void power_loss_keeps_a_prefix_of_renames(void **state)
{
    (void)state;
    int old_name = 0;
    int new_name = 0;
    for (uint64_t seed = 1; seed <= 64; seed++) {
        struct sim_world *w = sim_world_new(seed);
        struct sim_node *n = sim_node_new(w, "n");
        assert_int_equal(env_mkdir(sim_node_env(n), "/d"), 0);
        struct env_file *f = open_file(n, "/d/a", ENV_OPEN_WRITE | ENV_OPEN_CREATE);
        assert_int_equal(env_file_write(f, "x", 1, 0), 0);
        assert_int_equal(env_file_sync(f), 0);
        env_file_unref(f);
        assert_int_equal(env_dir_sync(sim_node_env(n), "/d"), 0);
        assert_int_equal(env_rename(sim_node_env(n), "/d/a", "/d/b"), 0);
        sim_node_power_loss(n);
        sim_node_start(n);
        char text[4];
        bool has_a = file_content(n, "/d/a", text, sizeof text) == 1;
        bool has_b = file_content(n, "/d/b", text, sizeof text) == 1;
        assert_true(has_a != has_b);
        old_name += has_a;
        new_name += has_b;
        sim_world_free(w);
    }
    assert_true(old_name > 5);
    assert_true(new_name > 5);
}

static void disk_faults_are_told(void **state)
{
    (void)state;
    struct sim_world *w = sim_world_new(3);
    struct sim_node *n = sim_node_new(w, "n");
    struct env_file *f = open_file(n, "/f", ENV_OPEN_WRITE | ENV_OPEN_CREATE);
    sim_disk_capacity(n, 4);
    assert_int_equal(env_file_write(f, "12345", 5, 0), -E_DISK_FULL);
    sim_disk_capacity(n, -1);
    sim_disk_fail_at(n, 1, E_IO);
    assert_int_equal(env_file_sync(f), -E_IO);
    assert_int_equal(env_file_sync(f), 0);
    sim_disk_break(n, "/f");
    assert_int_equal(env_file_sync(f), -E_IO);
    sim_disk_break(n, NULL);
    env_file_unref(f);
    sim_world_free(w);
}

/* ---- an echo pair ---- */

struct echo {
    struct sim_node *server;
    struct sim_node *client;
    struct env_listener *listener;
    struct env_conn *accepted;
    struct env_conn *conn;
    char received[64];
    size_t received_len;
    int client_closed; /* -1 = not yet */
    int server_closed;
};

static void server_readable(struct env_conn *c, void *arg)
{
    (void)arg;
    char bytes[64];
    int64_t len = env_conn_read(c, bytes, sizeof bytes);
    if (len > 0) {
        struct iovec iov = {bytes, (size_t)len};
        assert_int_equal(env_conn_writev(c, &iov, 1), len);
    }
}

static void server_gone(struct env_conn *c, void *arg, int err)
{
    (void)c;
    ((struct echo *)arg)->server_closed = -err;
    ((struct echo *)arg)->accepted = NULL;
}

static void client_connected(struct env_conn *c, void *arg)
{
    (void)arg;
    char hello[] = "hello";
    struct iovec iov = {hello, 5};
    assert_int_equal(env_conn_writev(c, &iov, 1), 5);
}

static void client_readable(struct env_conn *c, void *arg)
{
    struct echo *e = arg;
    int64_t len = env_conn_read(c, e->received + e->received_len, 8);
    if (len > 0) {
        e->received_len += (size_t)len;
    }
}

static void client_gone(struct env_conn *c, void *arg, int err)
{
    (void)c;
    ((struct echo *)arg)->client_closed = -err;
    ((struct echo *)arg)->conn = NULL;
}

static const struct env_conn_handler server_handler = {.readable = server_readable,
                                                       .closed = server_gone};
static const struct env_conn_handler client_handler = {
    .connected = client_connected, .readable = client_readable, .closed = client_gone};

static void on_accept(void *arg, struct env_conn *c)
{
    ((struct echo *)arg)->accepted = c;
    env_conn_set_handler(c, &server_handler, arg);
}

static struct sim_world *echo_new(struct echo *e, uint64_t seed)
{
    struct sim_world *w = sim_world_new(seed);
    *e = (struct echo){.client_closed = -1, .server_closed = -1};
    e->server = sim_node_new(w, "server");
    e->client = sim_node_new(w, "client");
    struct errmsg em;
    assert_int_equal(
        env_listen(sim_node_env(e->server), "127.0.0.1", 0, on_accept, e, &e->listener, &em), 0);
    e->conn = env_connect(sim_node_env(e->client), "127.0.0.1", env_listener_port(e->listener),
                          &client_handler, e);
    return w;
}

static bool echo_answered(void *arg)
{
    return ((struct echo *)arg)->received_len == 5;
}

static bool client_is_closed(void *arg)
{
    return ((struct echo *)arg)->client_closed >= 0;
}

static void bytes_travel_both_ways_and_a_close_is_seen(void **state)
{
    (void)state;
    struct echo e;
    struct sim_world *w = echo_new(&e, 4);
    assert_true(sim_world_run(w, 1000, echo_answered, &e));
    assert_memory_equal(e.received, "hello", 5);
    env_conn_close(e.accepted);
    assert_true(sim_world_run(w, 1000, client_is_closed, &e));
    assert_int_equal(e.client_closed, 0);
    assert_int_equal(e.server_closed, 0);
    env_listener_close(e.listener);
    sim_world_free(w);
}

static void a_partition_holds_bytes_until_it_heals(void **state)
{
    (void)state;
    struct echo e;
    struct sim_world *w = echo_new(&e, 5);
    sim_net_partition(w, e.server, e.client, true);
    assert_false(sim_world_run(w, 500, echo_answered, &e));
    sim_net_heal(w);
    assert_true(sim_world_run(w, 1000, echo_answered, &e));
    sim_net_partition(w, e.server, e.client, true);
    client_connected(e.conn, &e); /* sends again */
    assert_true(sim_world_run(w, 20000, client_is_closed, &e));
    assert_int_equal(e.client_closed, E_TIMEOUT);
    env_listener_close(e.listener);
    sim_world_free(w);
}

static void a_crashed_peer_closes_its_connections(void **state)
{
    (void)state;
    struct echo e;
    struct sim_world *w = echo_new(&e, 6);
    assert_true(sim_world_run(w, 1000, echo_answered, &e));
    env_listener_close(e.listener);
    sim_node_crash(e.server);
    assert_true(sim_world_run(w, 1000, client_is_closed, &e));
    assert_int_equal(e.client_closed, E_CLOSED);
    sim_world_free(w);
}

static void a_seed_repeats(void **state)
{
    (void)state;
    uint64_t steps[2];
    int64_t now_us[2];
    for (int i = 0; i < 2; i++) {
        struct echo e;
        struct sim_world *w = echo_new(&e, 7);
        assert_true(sim_world_run(w, 1000, echo_answered, &e));
        steps[i] = sim_world_steps(w);
        now_us[i] = env_now_us(sim_node_env(e.client));
        env_listener_close(e.listener);
        sim_world_free(w);
    }
    assert_int_equal(steps[0], steps[1]);
    assert_int_equal(now_us[0], now_us[1]);
}

struct ticks {
    struct env_timer timer;
    int count;
};

static void tick(void *arg)
{
    struct ticks *t = arg;
    if (++t->count < 3) {
        env_timer_start(&t->timer, 10);
    }
}

static void timers_fire_in_virtual_time(void **state)
{
    (void)state;
    struct sim_world *w = sim_world_new(8);
    struct sim_node *n = sim_node_new(w, "n");
    struct ticks t = {.count = 0};
    env_timer_init(&t.timer, sim_node_env(n), tick, &t);
    env_timer_start(&t.timer, 10);
    assert_false(sim_world_run(w, 25, NULL, NULL));
    assert_int_equal(t.count, 2);
    env_timer_stop(&t.timer);
    assert_false(sim_world_run(w, 100, NULL, NULL));
    assert_int_equal(t.count, 2);
    sim_world_free(w);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(crash_keeps_written_bytes),
        cmocka_unit_test(power_loss_keeps_only_synced_bytes_for_sure),
        cmocka_unit_test(power_loss_keeps_a_prefix_of_renames),
        cmocka_unit_test(power_loss_changes_the_boot_id_and_a_crash_does_not),
        cmocka_unit_test(disk_faults_are_told),
        cmocka_unit_test(bytes_travel_both_ways_and_a_close_is_seen),
        cmocka_unit_test(a_partition_holds_bytes_until_it_heals),
        cmocka_unit_test(a_crashed_peer_closes_its_connections),
        cmocka_unit_test(a_seed_repeats),
        cmocka_unit_test(timers_fire_in_virtual_time),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
