/*
 * Controlled shutdown without a controller that helps: the tries are bounded and spaced.
 */
#include "broker/shutdown.h"

#include "base/check.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "broker/controller/channel.h"
#include "broker/metadata/metadata.h"
#include "sim/env/sim.h"

struct world {
    struct sim_world *world;
    struct sim_node *node;
    struct metadata *metadata;
    struct controller_channel *channel;
    struct broker_shutdown *shutdown;
    int done;
    int64_t done_ms;
};

static void on_done(void *arg)
{
    struct world *w = arg;
    w->done++;
    w->done_ms = sim_world_now_ms(w->world);
    broker_shutdown_free(w->shutdown);
    w->shutdown = NULL;
}

static void world_start(struct world *w, int32_t retries_max)
{
    *w = (struct world){0};
    w->world = sim_world_new(1);
    w->node = sim_node_new(w->world, "n");
    w->metadata = metadata_new("PLAINTEXT");
    w->channel = controller_channel_new(sim_node_env(w->node), 1, w->metadata);
    struct broker_shutdown_config config = {.env = sim_node_env(w->node),
                                            .channel = w->channel,
                                            .broker_id = 1,
                                            .broker_epoch = 5,
                                            .timeout_ms = 1000,
                                            .retries_max = retries_max,
                                            .backoff_ms = 700,
                                            .done = on_done,
                                            .arg = w};
    w->shutdown = broker_shutdown_new(&config);
}

static void world_stop(struct world *w)
{
    broker_shutdown_free(w->shutdown);
    controller_channel_free(w->channel);
    metadata_free(w->metadata);
    sim_world_free(w->world);
}

static void tries_are_used_up_and_then_it_goes_on(void **state)
{
    (void)state;
    struct world w;
    world_start(&w, 3);
    assert_int_equal(w.done, 0);
    (void)sim_world_run(w.world, 10000, NULL, NULL);
    assert_int_equal(w.done, 1);
    assert_true(w.done_ms >= 3 * 700 && w.done_ms < 3 * 700 + 100);
    world_stop(&w);
}

static void without_tries_nobody_is_asked(void **state)
{
    (void)state;
    struct world w;
    world_start(&w, 0);
    assert_int_equal(w.done, 0);
    (void)sim_world_run(w.world, 100, NULL, NULL);
    assert_int_equal(w.done, 1);
    assert_true(w.done_ms < 10);
    world_stop(&w);
}

static void freed_shutdown_never_calls_back(void **state)
{
    (void)state;
    struct world w;
    world_start(&w, 3);
    (void)sim_world_run(w.world, 1000, NULL, NULL);
    broker_shutdown_free(w.shutdown);
    w.shutdown = NULL;
    (void)sim_world_run(w.world, 10000, NULL, NULL);
    assert_int_equal(w.done, 0);
    world_stop(&w);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(tries_are_used_up_and_then_it_goes_on),
        cmocka_unit_test(without_tries_nobody_is_asked),
        cmocka_unit_test(freed_shutdown_never_calls_back),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
