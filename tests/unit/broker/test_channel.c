/*
 * The way to the active controller: follows the metadata cache, tells lost calls, decodes answers. The
 * controller is a scripted server.
 */
#include "broker/controller/channel.h"

#include "base/check.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "base/alloc.h"
#include "broker/metadata/metadata.h"
#include "net/net.h"
#include "sim/env/sim.h"
#include "wire/allocate_producer_ids.h"
#include "wire/header.h"
#include "wire/update_metadata.h"

struct world {
    struct sim_world *world;
    struct sim_node *broker;
    struct sim_node *controller;
    struct metadata *metadata;
    struct controller_channel *channel;
    struct net_server *server;
    bool is_silent; /* the controller never answers */
    bool is_odd;    /* it answers garbage */
    int requests;
    struct net_request *parked[4];
    int parked_count;
};

struct answer {
    int count;
    int err;
    int64_t start;
};

static void on_request(void *arg, struct net_request *request)
{
    struct world *w = arg;
    struct wire_request_header header;
    struct reader r;
    struct buf body;
    w->requests++;
    reader_init(&r, slice_of(request->frame->data, request->frame->len));
    assert_int_equal(wire_request_header_read(&header, &r), 0);
    assert_int_equal(header.api_key, WIRE_KEY_ALLOCATE_PRODUCER_IDS);
    assert_true(slice_equal_str(header.client_id, "7"));
    if (w->is_silent) {
        w->parked[w->parked_count++] = request;
        return;
    }
    buf_init(&body);
    wire_response_header_write(&header, &body);
    struct wire_allocate_producer_ids_response resp = {.producer_id_start = 5000,
                                                       .producer_id_len = 10};
    if (!w->is_odd) {
        wire_allocate_producer_ids_response_encode(&resp, &body, 0);
    }
    net_respond(request, &body, NULL, 0);
}

static void world_start(struct world *w)
{
    struct errmsg em;
    struct net_server_config config = {.host = "controller",
                                       .connections_max = 10,
                                       .request_bytes_max = 1000,
                                       .requests_in_flight_max = 10,
                                       .output_bytes_max = 1 << 20,
                                       .idle_ms = 60000};
    *w = (struct world){0};
    w->world = sim_world_new(5);
    w->broker = sim_node_new(w->world, "broker");
    w->controller = sim_node_new(w->world, "controller");
    w->metadata = metadata_new("PLAINTEXT");
    w->channel = controller_channel_new(sim_node_env(w->broker), 7, w->metadata);
    assert_int_equal(
        net_server_new(sim_node_env(w->controller), &config, on_request, NULL, w, &w->server, &em),
        0);
}

static void world_stop(struct world *w)
{
    controller_channel_free(w->channel);
    net_server_close(w->server);
    for (int i = 0; i < w->parked_count; i++) {
        net_no_response(w->parked[i]);
    }
    net_server_free(w->server);
    metadata_free(w->metadata);
    (void)sim_world_run(w->world, 1000, NULL, NULL);
    sim_world_free(w->world);
}

/* Broker `controller` is said to be the controller; broker 3 lives at the scripted server. */
static void tell_controller(struct world *w, int32_t controller)
{
    struct wire_update_metadata_request_live_brokers_endpoints endpoint = {
        .port = net_server_port(w->server),
        .host = slice_str("controller"),
        .listener = slice_str("PLAINTEXT")};
    struct wire_update_metadata_request_live_brokers broker = {
        .id = 3, .endpoints = &endpoint, .endpoints_count = 1};
    struct wire_update_metadata_request req;
    wire_update_metadata_request_init(&req);
    req.controller_id = controller;
    req.live_brokers = &broker;
    req.live_brokers_count = 1;
    metadata_update(w->metadata, &req);
    controller_channel_metadata_changed(w->channel);
}

static void on_answer(void *arg, int err, const void *resp)
{
    struct answer *answer = arg;
    const struct wire_allocate_producer_ids_response *ids = resp;
    answer->count++;
    answer->err = err;
    answer->start = ids == NULL ? -1 : ids->producer_id_start;
}

static int ask(struct world *w, struct answer *answer)
{
    struct wire_allocate_producer_ids_request req = {.broker_id = 7};
    struct controller_channel_call call = {.key = WIRE_KEY_ALLOCATE_PRODUCER_IDS,
                                           .timeout_ms = 2000,
                                           .done = on_answer,
                                           .arg = answer};
    *answer = (struct answer){0};
    return controller_channel_call(w->channel, &call, &req);
}

static void nobody_is_asked_while_no_controller_is_known(void **state)
{
    (void)state;
    struct world w;
    struct answer answer;
    world_start(&w);
    assert_int_equal(ask(&w, &answer), -E_NOT_AVAILABLE);
    tell_controller(&w, 4); /* not a live broker */
    assert_int_equal(ask(&w, &answer), -E_NOT_AVAILABLE);
    (void)sim_world_run(w.world, 3000, NULL, NULL);
    assert_int_equal(answer.count, 0);
    world_stop(&w);
}

static void answers_are_decoded(void **state)
{
    (void)state;
    struct world w;
    struct answer answer;
    world_start(&w);
    tell_controller(&w, 3);
    assert_int_equal(ask(&w, &answer), 0);
    assert_int_equal(answer.count, 0);
    (void)sim_world_run(w.world, 1000, NULL, NULL);
    assert_int_equal(answer.count, 1);
    assert_int_equal(answer.err, 0);
    assert_int_equal(answer.start, 5000);
    world_stop(&w);
}

static void garbage_and_silence_are_errors(void **state)
{
    (void)state;
    struct world w;
    struct answer answer;
    world_start(&w);
    tell_controller(&w, 3);
    w.is_odd = true;
    assert_int_equal(ask(&w, &answer), 0);
    (void)sim_world_run(w.world, 1000, NULL, NULL);
    assert_int_equal(answer.err, -E_MALFORMED);
    w.is_silent = true;
    assert_int_equal(ask(&w, &answer), 0);
    (void)sim_world_run(w.world, 5000, NULL, NULL);
    assert_int_equal(answer.count, 1);
    assert_int_equal(answer.err, -E_TIMEOUT);
    world_stop(&w);
}

static void calls_to_the_old_controller_are_told_lost(void **state)
{
    (void)state;
    struct world w;
    struct answer first;
    struct answer second;
    world_start(&w);
    tell_controller(&w, 3);
    w.is_silent = true;
    assert_int_equal(ask(&w, &first), 0);
    assert_int_equal(ask(&w, &second), 0);
    (void)sim_world_run(w.world, 500, NULL, NULL);
    tell_controller(&w, 3); /* nothing changed: they go on */
    (void)sim_world_run(w.world, 100, NULL, NULL);
    assert_int_equal(first.count, 0);
    tell_controller(&w, -1);
    assert_int_equal(first.count, 0);
    (void)sim_world_run(w.world, 100, NULL, NULL);
    assert_int_equal(first.count, 1);
    assert_int_equal(first.err, -E_CLOSED);
    assert_int_equal(second.err, -E_CLOSED);
    world_stop(&w);
}

static void calls_due_are_dropped_with_the_channel(void **state)
{
    (void)state;
    struct world w;
    struct answer answer;
    world_start(&w);
    tell_controller(&w, 3);
    w.is_silent = true;
    assert_int_equal(ask(&w, &answer), 0);
    (void)sim_world_run(w.world, 100, NULL, NULL);
    world_stop(&w);
    assert_int_equal(answer.count, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(nobody_is_asked_while_no_controller_is_known),
        cmocka_unit_test(answers_are_decoded),
        cmocka_unit_test(garbage_and_silence_are_errors),
        cmocka_unit_test(calls_to_the_old_controller_are_told_lost),
        cmocka_unit_test(calls_due_are_dropped_with_the_channel),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
