/*
 * Writers and readers. A writer repeats a batch, with the same producer id and sequence, until it is
 * acknowledged by acks=all; so the partition must hold exactly the numbers 0, 1, 2, ... in order, and a
 * reader checks that from the first record on.
 */
#include "base/alloc.h"
#include "model/kerr.h"
#include "record/records.h"
#include "sim/cluster/cluster.h"
#include "wire/fetch.h"
#include "wire/produce.h"

#include <stdio.h>
#include <stdlib.h>

#define PRODUCE_VERSION   8
#define FETCH_VERSION     11
#define CALL_TIMEOUT_MS   4000
#define BATCH_RECORDS_MAX 20
#define PRODUCER_ID_BASE  1000
#define ARENA_BYTES       (1 << 20)

/* ---- writers ---- */

static void writer_later(struct cluster_writer *w, int64_t min_ms, int64_t max_ms)
{
    env_timer_start(&w->timer, prng_range(w->cluster->prng, min_ms, max_ms));
}

static void writer_retry(struct cluster_writer *w)
{
    client_refresh(w->cluster->client);
    writer_later(w, 20, 200);
}

static void produce_answered(struct cluster_writer *w, const struct wire_produce_response *response)
{
    struct cluster *c = w->cluster;
    if (response->responses_count != 1 || response->responses[0].partition_responses_count != 1) {
        cluster_fail(c, "a Produce answer does not name its one partition");
        return;
    }
    const struct wire_produce_response_responses_partition_responses *p =
        &response->responses[0].partition_responses[0];
    switch (p->error_code) {
    case KERR_NONE:
        w->next += w->batch_count;
        w->acked = w->next;
        w->batch_count = 0;
        writer_later(w, 0, 40);
        break;
    case KERR_UNKNOWN_TOPIC_OR_PARTITION:
    case KERR_LEADER_NOT_AVAILABLE:
    case KERR_NOT_LEADER_OR_FOLLOWER:
    case KERR_REQUEST_TIMED_OUT:
    case KERR_NOT_ENOUGH_REPLICAS:
    case KERR_NOT_ENOUGH_REPLICAS_AFTER_APPEND:
    case KERR_KAFKA_STORAGE_ERROR:
        writer_retry(w);
        break;
    case KERR_OUT_OF_ORDER_SEQUENCE_NUMBER:
        if (w->asked != c->states[w->partition].leader) {
            writer_retry(w); /* a leader that nobody could tell of its successor, and its records */
            break;
        }
        /* fall through */
    default:
        if (c->options.loses_last_replica) {
            if (w->is_stopped) {
                w->batch_count = 0; /* what came before it is lost: it is never taken */
            }
            writer_retry(w);
            break;
        }
        cluster_fail(c, "partition %d: Produce of %lld answers %s", w->partition,
                     (long long)w->next, kerr_name(p->error_code));
    }
}

static void produce_done(void *arg, int err, struct reader *body)
{
    struct cluster_writer *w = arg;
    w->is_busy = false;
    struct arena arena;
    arena_init(&arena, ARENA_BYTES);
    struct wire_produce_response response;
    if (err != 0 || wire_produce_response_decode(&response, body, PRODUCE_VERSION, &arena) != 0) {
        writer_retry(w);
    } else {
        produce_answered(w, &response);
    }
    arena_deinit(&arena);
}

static void batch_build(const struct cluster_writer *w, struct buf *out)
{
    struct record_builder builder;
    record_builder_init(&builder, RECORD_CODEC_NONE);
    builder.batch.producer_id = PRODUCER_ID_BASE + w->partition;
    builder.batch.producer_epoch = 0;
    builder.batch.base_sequence = (int32_t)w->next;
    for (int32_t i = 0; i < w->batch_count; i++) {
        char text[32];
        int len = snprintf(text, sizeof text, "%lld", (long long)w->next + i);
        struct record_input record = {.key = SLICE_NULL,
                                      .value = slice_of(text, (size_t)len),
                                      .timestamp = env_wall_ms(w->timer.env)};
        record_builder_add(&builder, &record);
    }
    CHECK(record_builder_finish(&builder, out) == 0);
    record_builder_deinit(&builder);
}

static void writer_send(struct cluster_writer *w, int32_t leader)
{
    struct buf batch;
    buf_init(&batch);
    batch_build(w, &batch);
    struct wire_produce_request_topic_data_partition_data partition;
    wire_produce_request_topic_data_partition_data_init(&partition);
    partition.index = w->partition;
    partition.records = (struct wire_records){.ptr = batch.ptr, .len = batch.len};
    struct wire_produce_request_topic_data topic;
    wire_produce_request_topic_data_init(&topic);
    topic.name = slice_str(CLUSTER_TOPIC);
    topic.partition_data = &partition;
    topic.partition_data_count = 1;
    struct wire_produce_request request;
    wire_produce_request_init(&request);
    request.acks = -1;
    request.timeout_ms = 1500;
    request.topic_data = &topic;
    request.topic_data_count = 1;
    w->is_busy = true;
    w->asked = leader;
    struct client_call call = {.broker = leader,
                               .key = WIRE_KEY_PRODUCE,
                               .version = PRODUCE_VERSION,
                               .timeout_ms = CALL_TIMEOUT_MS,
                               .request = &request};
    client_send(w->cluster->client, &call, produce_done, w);
    buf_deinit(&batch);
}

static void writer_run(void *arg)
{
    struct cluster_writer *w = arg;
    if (w->is_busy || (w->is_stopped && w->batch_count == 0)) {
        return;
    }
    if (w->batch_count == 0) {
        w->batch_count = (int32_t)prng_range(w->cluster->prng, 1, BATCH_RECORDS_MAX);
    }
    int32_t leader = client_leader(w->cluster->client, w->partition);
    if (leader < 0) {
        writer_retry(w);
    } else {
        writer_send(w, leader);
    }
}

/* ---- readers ---- */

static void reader_later(struct cluster_reader *r, int64_t min_ms, int64_t max_ms)
{
    env_timer_start(&r->timer, prng_range(r->cluster->prng, min_ms, max_ms));
}

static void reader_take_record(struct cluster_reader *r, const struct record *record)
{
    if (record->offset < r->offset) {
        return; /* a batch may start before what was asked for */
    }
    char *text = slice_dup(record->value);
    int64_t number = strtoll(text, NULL, 10);
    if (number != r->expected && !r->cluster->options.loses_last_replica) {
        cluster_fail(r->cluster, "partition %d offset %lld: read record %lld, expected %lld",
                     r->partition, (long long)record->offset, (long long)number,
                     (long long)r->expected);
    }
    r->expected = number + 1;
    r->offset = record->offset + 1;
    free(text);
}

static void reader_take_batches(struct cluster_reader *r, struct slice bytes)
{
    struct record_batch batch;
    struct slice whole;
    while (record_batch_next(&bytes, &batch, &whole) == 1) {
        if (record_batch_check_crc(&batch, whole) != 0) {
            cluster_fail(r->cluster, "partition %d: a fetched batch is corrupt", r->partition);
            return;
        }
        struct record_iter it;
        if (record_iter_init(&it, whole, ARENA_BYTES, NULL) != 0) {
            cluster_fail(r->cluster, "partition %d: a fetched batch is malformed", r->partition);
            return;
        }
        struct record record;
        while (record_iter_next(&it, &record) == 1) {
            reader_take_record(r, &record);
        }
        record_iter_deinit(&it);
    }
}

static void fetch_answered(struct cluster_reader *r, const struct wire_fetch_response *response)
{
    if (response->error_code != 0 || response->responses_count != 1 ||
        response->responses[0].partitions_count != 1) {
        reader_later(r, 20, 100);
        return;
    }
    const struct wire_fetch_response_responses_partitions *p =
        &response->responses[0].partitions[0];
    if (p->error_code == KERR_NONE) {
        reader_take_batches(r, slice_of(p->records.ptr, p->records.len));
        reader_later(r, 0, 20);
        return;
    }
    if (p->error_code == KERR_OFFSET_OUT_OF_RANGE) {
        if (!r->cluster->options.loses_last_replica) {
            cluster_fail(r->cluster, "partition %d: offset %lld that was read is gone",
                         r->partition, (long long)r->offset);
        }
        r->offset = r->expected = 0;
    }
    client_refresh(r->cluster->client);
    reader_later(r, 20, 200);
}

static void fetch_done(void *arg, int err, struct reader *body)
{
    struct cluster_reader *r = arg;
    r->is_busy = false;
    struct arena arena;
    arena_init(&arena, ARENA_BYTES);
    struct wire_fetch_response response;
    if (err != 0 || wire_fetch_response_decode(&response, body, FETCH_VERSION, &arena) != 0) {
        client_refresh(r->cluster->client);
        reader_later(r, 20, 200);
    } else {
        fetch_answered(r, &response);
    }
    arena_deinit(&arena);
}

static void reader_run(void *arg)
{
    struct cluster_reader *r = arg;
    int32_t leader = client_leader(r->cluster->client, r->partition);
    if (leader < 0) {
        client_refresh(r->cluster->client);
        reader_later(r, 20, 200);
        return;
    }
    struct wire_fetch_request_topics_partitions partition;
    wire_fetch_request_topics_partitions_init(&partition);
    partition.partition = r->partition;
    partition.current_leader_epoch = client_leader_epoch(r->cluster->client, r->partition);
    partition.fetch_offset = r->offset;
    partition.partition_max_bytes = 64 * 1024;
    struct wire_fetch_request_topics topic;
    wire_fetch_request_topics_init(&topic);
    topic.topic = slice_str(CLUSTER_TOPIC);
    topic.partitions = &partition;
    topic.partitions_count = 1;
    struct wire_fetch_request request;
    wire_fetch_request_init(&request);
    request.max_wait_ms = 200;
    request.min_bytes = 1;
    request.topics = &topic;
    request.topics_count = 1;
    request.rack_id = slice_str("");
    r->is_busy = true;
    struct client_call call = {.broker = leader,
                               .key = WIRE_KEY_FETCH,
                               .version = FETCH_VERSION,
                               .timeout_ms = CALL_TIMEOUT_MS,
                               .request = &request};
    client_send(r->cluster->client, &call, fetch_done, r);
}

void cluster_workload_start(struct cluster *c)
{
    struct env *env = sim_node_env(c->client_node);
    for (int32_t p = 0; p < c->partition_count; p++) {
        struct cluster_writer *w = &c->writers[p];
        *w = (struct cluster_writer){.cluster = c, .partition = p};
        env_timer_init(&w->timer, env, writer_run, w);
        writer_later(w, 0, 50);
        struct cluster_reader *r = &c->readers[p];
        *r = (struct cluster_reader){.cluster = c, .partition = p};
        env_timer_init(&r->timer, env, reader_run, r);
        reader_later(r, 0, 50);
    }
}

void cluster_workload_free(struct cluster *c)
{
    for (int32_t p = 0; p < c->partition_count; p++) {
        env_timer_stop(&c->writers[p].timer);
        env_timer_stop(&c->readers[p].timer);
    }
}
