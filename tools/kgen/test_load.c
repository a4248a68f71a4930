/*
 * The load against a broker of two request kinds on the same loop: every batch arrives once and whole,
 * in flight as many as asked for, errors are gone round, and bad answers end it.
 */
#include "load.h"

#include "env/loop.h"
#include "model/kerr.h"
#include "record/batch.h"
#include "wire/header.h"
#include "wire/metadata.h"
#include "wire/produce.h"

#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>
#include <stdlib.h>

#define PARTITIONS 3

struct fixture {
    struct env *env;
    struct net_server *server;
    struct cluster cluster;
    struct load_result result;
    int batches[PARTITIONS]; /* that were accepted */
    int metadata_count;
    int fail_next; /* answer so many batches with fail_code */
    int16_t fail_code;
    int16_t acks;
    struct net_request
        *parked[16]; /* when park_max > 0: answered together when so many are there */
    int parked_count;
    int park_max;
};

static void answer_metadata(struct fixture *f, struct net_request *request,
                            const struct wire_request_header *header)
{
    struct wire_metadata_response_brokers broker = {
        .node_id = 7, .host = slice_str("127.0.0.1"), .port = net_server_port(f->server)};
    struct wire_metadata_response_topics_partitions partitions[PARTITIONS] = {0};
    for (int32_t i = 0; i < PARTITIONS; i++) {
        /* The first answer knows no leader of partition 1. */
        partitions[i].partition_index = i;
        partitions[i].leader_id = f->metadata_count == 0 && i == 1 ? -1 : 7;
    }
    struct wire_metadata_response_topics topic = {
        .name = slice_str("load"), .partitions = partitions, .partitions_count = PARTITIONS};
    struct wire_metadata_response response;
    wire_metadata_response_init(&response);
    response.brokers = &broker;
    response.brokers_count = 1;
    response.cluster_id = slice_str("c");
    response.topics = &topic;
    response.topics_count = 1;
    f->metadata_count++;
    struct buf b;
    buf_init(&b);
    wire_response_header_write(header, &b);
    wire_metadata_response_encode(&response, &b, header->api_version);
    net_respond(request, &b, NULL, 0);
}

static void answer_produce(struct net_request *request, const struct wire_request_header *header,
                           int32_t partition, int16_t code)
{
    struct wire_produce_response_responses_partition_responses answer = {.index = partition,
                                                                         .error_code = code};
    struct wire_produce_response_responses topic = {
        .name = slice_str("load"), .partition_responses = &answer, .partition_responses_count = 1};
    struct wire_produce_response response;
    wire_produce_response_init(&response);
    response.responses = &topic;
    response.responses_count = 1;
    struct buf b;
    buf_init(&b);
    wire_response_header_write(header, &b);
    wire_produce_response_encode(&response, &b, header->api_version);
    net_respond(request, &b, NULL, 0);
}

static void take_produce(struct fixture *f, struct net_request *request,
                         const struct wire_request_header *header, struct reader *r)
{
    struct arena arena;
    arena_init(&arena, 1 << 20);
    struct wire_produce_request produce;
    assert_int_equal(wire_produce_request_decode(&produce, r, header->api_version, &arena), 0);
    assert_int_equal(produce.topic_data_count, 1);
    assert_true(slice_equal_str(produce.topic_data[0].name, "load"));
    int32_t partition = produce.topic_data[0].partition_data[0].index;
    struct wire_records records = produce.topic_data[0].partition_data[0].records;
    struct slice bytes = slice_of(records.ptr, records.len);
    struct record_batch batch;
    assert_int_equal(record_batch_parse(bytes, &batch), 0);
    assert_int_equal(record_batch_check_crc(&batch, bytes), 0);
    assert_int_equal(batch.len, records.len);
    f->acks = produce.acks;
    arena_deinit(&arena);
    int16_t code = f->fail_next > 0 ? f->fail_code : KERR_NONE;
    f->fail_next -= f->fail_next > 0 ? 1 : 0;
    f->batches[partition] += code == KERR_NONE ? 1 : 0;
    if (f->park_max == 0) {
        answer_produce(request, header, partition, code);
        return;
    }
    f->parked[f->parked_count++] = request;
    if (f->parked_count == f->park_max) {
        while (f->parked_count > 0) { /* last first: the server puts them in order */
            struct net_request *parked = f->parked[--f->parked_count];
            struct reader again;
            reader_init(&again, slice_of(parked->frame->data, parked->frame->len));
            struct wire_request_header parked_header;
            assert_int_equal(wire_request_header_read(&parked_header, &again), 0);
            answer_produce(parked, &parked_header, 0, KERR_NONE);
        }
    }
}

static void on_request(void *arg, struct net_request *request)
{
    struct fixture *f = arg;
    struct reader r;
    reader_init(&r, slice_of(request->frame->data, request->frame->len));
    struct wire_request_header header;
    assert_int_equal(wire_request_header_read(&header, &r), 0);
    if (header.api_key == WIRE_KEY_METADATA) {
        answer_metadata(f, request, &header);
    } else {
        take_produce(f, request, &header, &r);
    }
}

static int setup(void **state)
{
    struct fixture *f = xalloc(sizeof *f);
    struct errmsg em;
    f->env = loop_new(&(struct loop_config){.name = "test"}, &em);
    assert_non_null(f->env);
    struct net_server_config config = {.host = "127.0.0.1",
                                       .connections_max = 100,
                                       .request_bytes_max = 1 << 20,
                                       .requests_in_flight_max = 100,
                                       .output_bytes_max = 1 << 20,
                                       .idle_ms = 60000};
    assert_int_equal(net_server_new(f->env, &config, on_request, NULL, f, &f->server, &em), 0);
    cluster_init(&f->cluster, f->env, "127.0.0.1", net_server_port(f->server));
    *state = f;
    return 0;
}

static int teardown(void **state)
{
    struct fixture *f = *state;
    cluster_deinit(&f->cluster);
    net_server_free(f->server);
    loop_free(f->env);
    free(f);
    return 0;
}

static struct load_config default_config(void)
{
    return (struct load_config){.topic = "load",
                                .acks = 1,
                                .record_size = 100,
                                .batch_bytes = 1000,
                                .records = 2000,
                                .inflight = 5,
                                .connections = 1};
}

static void closed_loop_sends_every_batch_once(void **state)
{
    struct fixture *f = *state;
    struct load_config config = default_config();
    struct errmsg em;
    assert_int_equal(load_run(f->env, &f->cluster, &config, &f->result, &em), 0);
    uint64_t accepted = (uint64_t)(f->batches[0] + f->batches[1] + f->batches[2]);
    assert_int_equal(f->metadata_count, 2); /* the first lacked a leader */
    assert_int_equal(f->result.batches, accepted);
    assert_int_equal(f->result.latency_us.total, accepted);
    assert_int_equal(f->result.retries, 0);
    assert_true(f->result.records >= 2000 && f->result.records < 2010);
    assert_true(f->result.bytes <= accepted * 1000 && f->result.bytes > accepted * 850);
    assert_true(abs(f->batches[0] - f->batches[2]) <= 1);
    assert_int_equal(f->acks, 1);
    assert_true(f->result.seconds > 0);
}

/* The broker answers only when five batches are there: fewer in flight would hang, more overflow. */
static void closed_loop_keeps_its_number_in_flight(void **state)
{
    struct fixture *f = *state;
    f->park_max = 5;
    struct load_config config = default_config();
    config.partitions = 1;
    config.acks = -1;
    config.records = 160; /* 20 batches of 8 */
    struct errmsg em;
    assert_int_equal(load_run(f->env, &f->cluster, &config, &f->result, &em), 0);
    assert_int_equal(f->result.batches, 20);
    assert_int_equal(f->batches[0], f->result.batches);
    assert_int_equal(f->acks, -1);
}

static void connections_share_the_partitions(void **state)
{
    struct fixture *f = *state;
    struct load_config config = default_config();
    config.connections = 7;
    struct errmsg em;
    assert_int_equal(load_run(f->env, &f->cluster, &config, &f->result, &em), 0);
    assert_int_equal(net_server_connection_count(f->server), 8); /* and the bootstrap one */
    assert_true(f->batches[0] > 0 && f->batches[1] > 0 && f->batches[2] > 0);
}

static void open_loop_keeps_to_the_clock(void **state)
{
    struct fixture *f = *state;
    struct load_config config = default_config();
    config.rate = 1000;
    config.bytes = 100000; /* 100 batches and some: a tenth of a second */
    config.records = 0;
    struct errmsg em;
    assert_int_equal(load_run(f->env, &f->cluster, &config, &f->result, &em), 0);
    assert_true(f->result.seconds >= (double)(f->result.batches - 1) / 1000);
    assert_int_equal(f->result.latency_us.total,
                     f->result.batches - f->result.batches / 10); /* without the first tenth */
}

static void passing_errors_are_gone_round(void **state)
{
    struct fixture *f = *state;
    f->fail_next = 3;
    f->fail_code = KERR_NOT_LEADER_OR_FOLLOWER;
    struct load_config config = default_config();
    struct errmsg em;
    assert_int_equal(load_run(f->env, &f->cluster, &config, &f->result, &em), 0);
    assert_int_equal(f->result.retries, 3);
    assert_int_equal(f->result.batches, (uint64_t)(f->batches[0] + f->batches[1] + f->batches[2]));
    assert_true(f->metadata_count >= 3);
}

static void other_errors_end_the_load(void **state)
{
    struct fixture *f = *state;
    f->fail_next = 1;
    f->fail_code = KERR_MESSAGE_TOO_LARGE;
    struct load_config config = default_config();
    struct errmsg em;
    assert_int_equal(load_run(f->env, &f->cluster, &config, &f->result, &em), -E_INVALID);
    assert_string_equal(em.text, "load: partition 0: error code 10");
}

static void too_few_partitions_are_named(void **state)
{
    struct fixture *f = *state;
    struct load_config config = default_config();
    config.partitions = 4;
    struct errmsg em;
    assert_int_equal(load_run(f->env, &f->cluster, &config, &f->result, &em), -E_INVALID);
    assert_string_equal(em.text, "load: it has fewer partitions than asked for");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(closed_loop_sends_every_batch_once, setup, teardown),
        cmocka_unit_test_setup_teardown(closed_loop_keeps_its_number_in_flight, setup, teardown),
        cmocka_unit_test_setup_teardown(connections_share_the_partitions, setup, teardown),
        cmocka_unit_test_setup_teardown(open_loop_keeps_to_the_clock, setup, teardown),
        cmocka_unit_test_setup_teardown(passing_errors_are_gone_round, setup, teardown),
        cmocka_unit_test_setup_teardown(other_errors_end_the_load, setup, teardown),
        cmocka_unit_test_setup_teardown(too_few_partitions_are_named, setup, teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
