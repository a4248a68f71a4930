/*
 * A broker's life in the metastore: registration, expiry, ids in use, the cluster id.
 */
#include "broker/session.h"

#include "base/check.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "metastore/metastore.h"
#include "metastore/path.h"
#include "metastore/store.h"
#include "sim/env/sim.h"

#include <stdio.h>

#define TIMEOUT_MS 6000

struct member {
    struct broker_session *session;
    struct metastore *metastore;
    int connected;
    int lost;
    int64_t epoch;
    char cluster_id[32];
    char failed[128];
    char held[160];    /* "" = not told */
    char trouble[160]; /* the same */
};

struct world {
    struct sim_world *world;
    struct sim_node *store_node;
    struct sim_node *node;
    struct metastore_store *store;
    struct model_broker broker;
    struct model_endpoint endpoint;
    char listener[16];
    char host[16];
};

static void on_connected(void *arg, struct metastore *m, const char *cluster_id)
{
    struct member *member = arg;
    member->connected++;
    member->metastore = m;
    (void)snprintf(member->cluster_id, sizeof member->cluster_id, "%s", cluster_id);
    broker_session_register(member->session);
}

static void on_registered(void *arg, int64_t epoch)
{
    struct member *member = arg;
    member->epoch = epoch;
}

static void on_lost(void *arg)
{
    struct member *member = arg;
    member->lost++;
    member->epoch = -1;
}

static void on_held(void *arg, const char *text)
{
    struct member *member = arg;
    assert_string_equal(member->held, "");
    (void)snprintf(member->held, sizeof member->held, "%s", text);
}

static void on_trouble(void *arg, const char *text)
{
    struct member *member = arg;
    assert_string_equal(member->trouble, "");
    (void)snprintf(member->trouble, sizeof member->trouble, "%s", text);
}

static void on_failed(void *arg, const char *reason)
{
    struct member *member = arg;
    (void)snprintf(member->failed, sizeof member->failed, "%s", reason);
}

static void on_nothing(void *arg, const struct metastore_result *result)
{
    (void)arg;
    assert_int_equal(result->err, 0);
}

static void world_start(struct world *w)
{
    struct errmsg em;
    *w = (struct world){0};
    w->world = sim_world_new(2);
    w->store_node = sim_node_new(w->world, "store");
    w->node = sim_node_new(w->world, "broker");
    struct metastore_store_config config = {.env = sim_node_env(w->store_node)};
    assert_int_equal(metastore_store_new(&config, &w->store, &em), 0);
    (void)snprintf(w->listener, sizeof w->listener, "PLAINTEXT");
    (void)snprintf(w->host, sizeof w->host, "broker");
    w->endpoint = (struct model_endpoint){.listener = w->listener, .host = w->host, .port = 9092};
    w->broker = (struct model_broker){.id = 4, .endpoints = &w->endpoint, .endpoint_count = 1};
}

static void world_stop(struct world *w)
{
    (void)sim_world_run(w->world, 3 * TIMEOUT_MS, NULL, NULL);
    metastore_store_free(w->store);
    sim_world_free(w->world);
}

static void member_start(struct world *w, struct member *member, const char *cluster_id)
{
    struct broker_session_config config = {.env = sim_node_env(w->node),
                                           .factory = metastore_store_factory(w->store),
                                           .timeout_ms = TIMEOUT_MS,
                                           .broker = &w->broker,
                                           .cluster_id = cluster_id};
    struct broker_session_events events = {.arg = member,
                                           .connected = on_connected,
                                           .registered = on_registered,
                                           .lost = on_lost,
                                           .held = on_held,
                                           .trouble = on_trouble,
                                           .failed = on_failed};
    *member = (struct member){.epoch = -1};
    member->session = broker_session_new(&config, &events);
}

static void run(struct world *w, int64_t ms)
{
    (void)sim_world_run(w->world, ms, NULL, NULL);
}

static void first_broker_names_the_cluster_for_all(void **state)
{
    (void)state;
    struct world w;
    struct member first;
    struct member second;
    world_start(&w);
    member_start(&w, &first, NULL);
    run(&w, 2000);
    assert_int_equal(first.connected, 1);
    assert_true(first.epoch > 0);
    assert_int_equal(strlen(first.cluster_id), 22);
    broker_session_free(first.session, true);
    member_start(&w, &second, NULL);
    run(&w, 2000);
    assert_string_equal(second.cluster_id, first.cluster_id);
    assert_true(second.epoch > first.epoch);
    broker_session_free(second.session, true);
    world_stop(&w);
}

static void cluster_id_of_the_directories_is_kept(void **state)
{
    (void)state;
    struct world w;
    struct member member;
    world_start(&w);
    member_start(&w, &member, "abcdefghijklmnopqrstuv");
    run(&w, 2000);
    assert_string_equal(member.cluster_id, "abcdefghijklmnopqrstuv");
    broker_session_free(member.session, true);
    world_stop(&w);
}

static void expired_broker_registers_again_under_a_new_epoch(void **state)
{
    (void)state;
    struct world w;
    struct member member;
    world_start(&w);
    member_start(&w, &member, NULL);
    run(&w, 2000);
    int64_t epoch = member.epoch;
    metastore_store_expire(w.store, metastore_session_id(member.metastore));
    run(&w, 2000);
    assert_int_equal(member.lost, 1);
    assert_int_equal(member.connected, 2);
    assert_true(member.epoch > epoch);
    broker_session_free(member.session, true);
    world_stop(&w);
}

/* A killed broker comes back before its old session has expired. */
static void id_of_a_dead_session_is_waited_for(void **state)
{
    (void)state;
    struct world w;
    struct member member;
    world_start(&w);
    member_start(&w, &member, NULL);
    run(&w, 2000);
    int64_t epoch = member.epoch;
    broker_session_free(member.session, false);
    member_start(&w, &member, NULL);
    run(&w, 2000);
    assert_int_equal(member.epoch, -1);
    run(&w, TIMEOUT_MS);
    assert_true(member.epoch > epoch);
    assert_string_equal(member.failed, "");
    broker_session_free(member.session, true);
    world_stop(&w);
}

static void id_of_a_living_broker_is_fatal(void **state)
{
    (void)state;
    struct world w;
    struct member first;
    struct member second;
    world_start(&w);
    member_start(&w, &first, NULL);
    run(&w, 2000);
    member_start(&w, &second, NULL);
    run(&w, 3 * TIMEOUT_MS);
    assert_string_equal(second.held, "broker id 4 is registered by broker:9092; waiting up to "
                                     "12000 ms for that session to end");
    assert_string_equal(second.failed, "broker id 4 is in use by another broker (broker:9092)");
    assert_int_equal(second.connected, 0);
    assert_int_equal(second.epoch, -1);
    assert_true(first.epoch > 0);
    broker_session_free(first.session, true);
    broker_session_free(second.session, true);
    world_stop(&w);
}

/* The answer to the registration is lost: reading tells that it is ours. */
static void unknown_outcome_is_read_back(void **state)
{
    (void)state;
    for (int is_applied = 0; is_applied <= 1; is_applied++) {
        struct world w;
        struct member member;
        world_start(&w);
        member_start(&w, &member, NULL);
        run(&w, 2000);
        metastore_store_expire(w.store, metastore_session_id(member.metastore));
        while (member.connected < 2) {
            assert_true(sim_world_step(w.world));
        }
        metastore_store_lose_write(w.store, metastore_session_id(member.metastore),
                                   is_applied == 1);
        run(&w, 3000);
        assert_true(member.epoch > 0);
        assert_string_equal(member.failed, "");
        broker_session_free(member.session, true);
        world_stop(&w);
    }
}

static void failed_directory_is_told_once_registered(void **state)
{
    (void)state;
    struct world w;
    struct member member;
    world_start(&w);
    member_start(&w, &member, NULL);
    broker_session_ask_roles(member.session);
    run(&w, 2000);
    broker_session_ask_roles(member.session);
    run(&w, 1000);
    assert_true(member.epoch > 0);
    broker_session_free(member.session, true);
    world_stop(&w);
}

/* A wrong password, as a rule: it says so once, and goes on when it may. */
static void a_refused_registration_is_told_and_tried_again(void **state)
{
    (void)state;
    static const struct {
        const char *path;
        bool is_hidden;
        const char *told;
    } rows[] = {
        {"/brokers/ids", false,
         "warning: /brokers/ids/4 cannot be created: refused by its access list; "},
        {"/cluster/id", true, "warning: /cluster/id cannot be read: refused by its access list; "},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        struct world w;
        struct member member;
        struct slice path = slice_str(rows[i].path);
        world_start(&w);
        member_start(&w, &member, NULL);
        run(&w, 2000);
        broker_session_free(member.session, true);
        metastore_store_guard(w.store, path, !rows[i].is_hidden);
        metastore_store_hide(w.store, path, rows[i].is_hidden);
        member_start(&w, &member, NULL);
        run(&w, 10000);
        assert_int_equal(member.epoch, -1);
        assert_memory_equal(member.trouble, rows[i].told, strlen(rows[i].told));
        metastore_store_guard(w.store, path, false);
        metastore_store_hide(w.store, path, false);
        run(&w, 2000);
        assert_true(member.epoch > 0);
        assert_string_equal(member.failed, "");
        broker_session_free(member.session, true);
        world_stop(&w);
    }
}

/* The base nodes are there; only what is below them must be open. */
static void base_nodes_that_exist_need_not_be_made(void **state)
{
    (void)state;
    struct world w;
    struct member member;
    world_start(&w);
    metastore_store_guard(w.store, slice_str("/"), true);
    member_start(&w, &member, NULL);
    run(&w, 5000);
    assert_non_null(strstr(member.trouble, metastore_path_roots[0]));
    assert_non_null(strstr(member.trouble, " cannot be created: refused by its access list; "));
    metastore_store_guard(w.store, slice_str("/"), false);
    run(&w, 2000);
    assert_true(member.epoch > 0);
    broker_session_free(member.session, true);
    metastore_store_guard(w.store, slice_str("/"), true);
    metastore_store_guard(w.store, slice_str("/brokers"), true);
    member_start(&w, &member, NULL);
    run(&w, 2000);
    assert_true(member.epoch > 0);
    assert_string_equal(member.trouble, "");
    broker_session_free(member.session, true);
    world_stop(&w);
}

/* The session lives, and with it the broker: it is told, once, and left so. */
static void a_deleted_registration_is_told(void **state)
{
    (void)state;
    struct world w;
    struct member member;
    world_start(&w);
    member_start(&w, &member, NULL);
    run(&w, 2000);
    struct slice path = slice_str("/brokers/ids/4");
    struct metastore_op ops[] = {
        {.kind = METASTORE_SET, .path = path, .data = slice_str("{}"), .version = -1},
        {.kind = METASTORE_DELETE, .path = path, .version = -1}};
    int64_t epoch = member.epoch;
    metastore_multi(member.metastore, &ops[0], 1, on_nothing, NULL);
    run(&w, 2000);
    assert_string_equal(member.trouble, "");
    metastore_multi(member.metastore, &ops[1], 1, on_nothing, NULL);
    run(&w, 2000);
    const char *told = "warning: the registration of broker 4 was deleted by somebody: ";
    assert_memory_equal(member.trouble, told, strlen(told));
    assert_int_equal(member.epoch, epoch);
    metastore_store_expire(w.store, metastore_session_id(member.metastore));
    run(&w, 2000);
    assert_true(member.epoch > epoch);
    assert_int_equal(member.lost, 1);
    broker_session_free(member.session, true);
    world_stop(&w);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_deleted_registration_is_told),
        cmocka_unit_test(a_refused_registration_is_told_and_tried_again),
        cmocka_unit_test(base_nodes_that_exist_need_not_be_made),
        cmocka_unit_test(first_broker_names_the_cluster_for_all),
        cmocka_unit_test(cluster_id_of_the_directories_is_kept),
        cmocka_unit_test(expired_broker_registers_again_under_a_new_epoch),
        cmocka_unit_test(id_of_a_dead_session_is_waited_for),
        cmocka_unit_test(id_of_a_living_broker_is_fatal),
        cmocka_unit_test(unknown_outcome_is_read_back),
        cmocka_unit_test(failed_directory_is_told_once_registered),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
