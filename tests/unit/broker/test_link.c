/*
 * The link between a broker's env and its controller's: the same answers on one env and across two,
 * nothing after its end.
 */
#include "broker/controller/link.h"

#include "base/alloc.h"
#include "base/check.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>
#include <stdlib.h>

#include "metastore/path.h"
#include "metastore/store.h"
#include "metastore/znode.h"
#include "sim/env/sim.h"

struct world {
    struct sim_world *world;
    struct sim_node *store_node;
    struct sim_node *broker;
    struct sim_node *controller; /* may be the broker's node */
    struct metastore_store *store;
    struct metastore *session;
    struct controller_link *link;
    int64_t epoch; /* of broker 1's registration */
    int32_t active;
    int answers;
    int16_t error;
    int32_t count;
    char topic[16];
    struct controller_figures figures;
};

static void on_state(void *arg, enum metastore_state state)
{
    (void)arg;
    (void)state;
}

static void on_changed(void *arg, int32_t broker_id, int32_t epoch)
{
    struct world *w = arg;
    (void)epoch;
    w->active = broker_id;
}

static void on_registered(void *arg, const struct metastore_result *result)
{
    struct world *w = arg;
    w->epoch = result->op_stats[0].czxid;
}

static void on_made(void *arg, const struct metastore_result *result)
{
    (void)arg;
    assert_int_equal(result->err, 0);
}

static void register_broker(struct world *w)
{
    struct model_endpoint endpoint = {
        .listener = (char[]){"PLAINTEXT"}, .host = (char[]){"broker"}, .port = 1};
    struct model_broker broker = {.id = 1, .endpoints = &endpoint, .endpoint_count = 1};
    struct buf json;
    buf_init(&json);
    metastore_broker_encode(&json, &broker, IBP_NEWEST, 0);
    for (int32_t i = 0; i < metastore_path_root_count; i++) {
        struct metastore_op root = {.kind = METASTORE_CREATE,
                                    .path = slice_str(metastore_path_roots[i])};
        metastore_multi(w->session, &root, 1, on_made, w);
    }
    struct metastore_op op = {.kind = METASTORE_CREATE,
                              .path = slice_str("/brokers/ids/1"),
                              .data = buf_slice(&json),
                              .is_ephemeral = true};
    metastore_multi(w->session, &op, 1, on_registered, w);
    buf_deinit(&json);
}

static void world_start(struct world *w, bool is_one_env)
{
    struct errmsg em;
    *w = (struct world){.active = -1};
    w->world = sim_world_new(9);
    w->store_node = sim_node_new(w->world, "store");
    w->broker = sim_node_new(w->world, "broker");
    w->controller = is_one_env ? w->broker : sim_node_new(w->world, "controller");
    struct metastore_store_config config = {.env = sim_node_env(w->store_node)};
    assert_int_equal(metastore_store_new(&config, &w->store, &em), 0);
    struct metastore_factory *factory = metastore_store_factory(w->store);
    w->session = factory->open(factory, sim_node_env(w->broker), 6000, on_state, w);
    register_broker(w);
    char *listener = xstrdup("PLAINTEXT"); /* goes before the controller is made on its env */
    struct controller_config controller = {.broker_id = 1,
                                           .listener = listener,
                                           .session_timeout_ms = 6000,
                                           .socket_timeout_ms = 1000,
                                           .partitions_default = 1,
                                           .replication_factor_default = 1,
                                           .min_insync_replicas = 1};
    struct controller_link_config link = {.broker_env = sim_node_env(w->broker),
                                          .controller_env = sim_node_env(w->controller),
                                          .factory = factory,
                                          .controller = &controller,
                                          .changed = on_changed,
                                          .arg = w};
    w->link = controller_link_new(&link);
    free(listener);
    (void)sim_world_run(w->world, 2000, NULL, NULL);
}

static void world_stop(struct world *w)
{
    controller_link_free(w->link, true);
    metastore_close(w->session);
    (void)sim_world_run(w->world, 10000, NULL, NULL);
    metastore_store_free(w->store);
    sim_world_free(w->world);
}

static void on_reply(void *arg, const struct control_reply *reply)
{
    struct world *w = arg;
    w->answers++;
    w->error = reply->error;
    w->count = reply->count;
    if (reply->kind == CONTROL_CREATE_TOPICS && reply->count > 0) {
        (void)memcpy(w->topic, reply->created[0].topic.ptr, reply->created[0].topic.len);
        w->error = reply->created[0].error;
    }
}

static void list(struct world *w)
{
    struct controller_ask *ask = controller_ask_new(CONTROL_LIST_REASSIGNMENTS);
    ask->request.list.wants_all = true;
    controller_link_send(w->link, ask, on_reply, w);
}

static void create(struct world *w, const char *name)
{
    struct controller_ask *ask = controller_ask_new(CONTROL_CREATE_TOPICS);
    struct control_new_topic *topic = controller_ask_array(ask, 1, sizeof *topic);
    topic->name = controller_ask_slice(ask, slice_str(name));
    topic->partition_count = 1;
    topic->replication_factor = 1;
    ask->request.create_topics.topics = topic;
    ask->request.create_topics.count = 1;
    ask->request.create_topics.timeout_ms = 5000;
    assert_false(ask->failed);
    controller_link_send(w->link, ask, on_reply, w);
}

static void check_answers(bool is_one_env)
{
    struct world w;
    world_start(&w, is_one_env);
    list(&w);
    assert_int_equal(w.answers, 0);
    (void)sim_world_run(w.world, 1000, NULL, NULL);
    assert_int_equal(w.answers, 1);
    assert_int_equal(w.error, KERR_NOT_CONTROLLER);

    controller_link_set_epoch(w.link, w.epoch);
    (void)sim_world_run(w.world, 3000, NULL, NULL);
    assert_int_equal(w.active, 1);
    create(&w, "made");
    (void)sim_world_run(w.world, 3000, NULL, NULL);
    assert_int_equal(w.answers, 2);
    assert_int_equal(w.error, KERR_NONE);
    assert_string_equal(w.topic, "made");
    list(&w);
    (void)sim_world_run(w.world, 1000, NULL, NULL);
    assert_int_equal(w.error, KERR_NONE);
    assert_int_equal(w.count, 0);

    controller_link_set_epoch(w.link, -1);
    (void)sim_world_run(w.world, 3000, NULL, NULL);
    list(&w);
    (void)sim_world_run(w.world, 1000, NULL, NULL);
    assert_int_equal(w.error, KERR_NOT_CONTROLLER);
    world_stop(&w);
}

static void answers_come_on_one_env(void **state)
{
    (void)state;
    check_answers(true);
}

static void answers_cross_between_two_envs(void **state)
{
    (void)state;
    check_answers(false);
}

/* Calls under way when the link ends are dropped, and their memory with them. */
static void nothing_is_answered_after_the_end(void **state)
{
    (void)state;
    for (int is_one_env = 0; is_one_env <= 1; is_one_env++) {
        struct world w;
        world_start(&w, is_one_env == 1);
        controller_link_set_epoch(w.link, w.epoch);
        (void)sim_world_run(w.world, 3000, NULL, NULL);
        create(&w, "late");
        list(&w);
        world_stop(&w);
        assert_int_equal(w.answers, 0);
    }
}

static void on_figures(void *arg, const struct controller_figures *figures)
{
    struct world *w = arg;
    w->answers++;
    w->figures = *figures;
}

static struct controller_figures figures_of(struct world *w)
{
    int before = w->answers;
    controller_link_ask_figures(w->link, on_figures, w);
    (void)sim_world_run(w->world, 1000, NULL, NULL);
    assert_int_equal(w->answers, before + 1);
    return w->figures;
}

static void figures_cross_the_link(void **state)
{
    (void)state;
    for (int is_one_env = 0; is_one_env <= 1; is_one_env++) {
        struct world w;
        world_start(&w, is_one_env == 1);
        struct controller_figures f = figures_of(&w);
        assert_false(f.is_active);
        assert_int_equal(f.epoch, -1);
        assert_int_equal(f.cluster.brokers, 0);
        controller_link_set_epoch(w.link, w.epoch);
        (void)sim_world_run(w.world, 3000, NULL, NULL);
        create(&w, "made");
        (void)sim_world_run(w.world, 3000, NULL, NULL);
        f = figures_of(&w);
        assert_true(f.is_active);
        assert_int_equal(f.epoch, 1);
        assert_int_equal(f.queue, 0);
        assert_int_equal(f.cluster.brokers, 1);
        assert_int_equal(f.cluster.topics, 1);
        assert_int_equal(f.cluster.partitions, 1);
        int before = w.answers;
        controller_link_ask_figures(w.link, on_figures, &w);
        world_stop(&w);
        assert_int_equal(w.answers, before + is_one_env); /* on one env it came at once */
    }
}

static void asks_are_bounded(void **state)
{
    (void)state;
    struct controller_ask *ask = controller_ask_new(CONTROL_ALTER_REASSIGNMENTS);
    assert_non_null(controller_ask_array(ask, 0, 8));
    assert_true(slice_is_null(controller_ask_slice(ask, SLICE_NULL)));
    assert_false(ask->failed);
    assert_null(controller_ask_array(ask, (int64_t)1 << 40, 8));
    assert_true(ask->failed);
    assert_true(slice_is_null(controller_ask_slice(ask, slice_str("x"))));
    assert_null(controller_ask_ids(ask, NULL, 0));
    controller_ask_free(ask);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(answers_come_on_one_env),
        cmocka_unit_test(answers_cross_between_two_envs),
        cmocka_unit_test(nothing_is_answered_after_the_end),
        cmocka_unit_test(figures_cross_the_link),
        cmocka_unit_test(asks_are_bounded),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
