/*
 * Sending and counting. Invariant: started = finished + the shots in `alive`; each of them waits for
 * its answer, or in `delayed` to be sent again. Everything runs on the env's thread but the pacer, which sleeps until
 * a batch is due and posts, because the loop's own timers are too coarse for latencies.
 */
#include "load.h"

#include "base/check.h"
#include "env/loop.h"
#include "model/kerr.h"
#include "record/records.h"
#include "wire/header.h"
#include "wire/produce.h"

#include <pthread.h>
#include <stdlib.h>
#include <time.h>

#define PRODUCE_VERSION 7 /* offered by every broker from 2.1 to today */
#define REQUEST_MS      30000
#define FIND_MS         30000
#define RETRY_MS        20
#define SHOT_TRIES_MAX  200
#define RECORD_OVERHEAD 24 /* bytes around a value, at most */
#define WARMUP_PART     10 /* open loop: the first tenth is not counted */

/* A stream of batches: the partitions it goes round, over one of the connections to their leaders. */
struct lane {
    int32_t *partitions;
    int32_t count;
    int32_t next;
    int32_t connection;
};

struct load {
    struct env *env;
    struct cluster *cluster;
    const struct load_config *config;
    struct load_result *result;
    struct errmsg *em;
    int err;
    struct buf batch;
    int32_t batch_records;
    uint64_t total; /* batches */
    uint64_t started;
    uint64_t finished;
    int64_t begun_us;
    struct lane *lanes;
    int32_t lane_count;
    struct list alive;   /* struct shot by alive_link */
    struct list delayed; /* struct shot by link */
    struct env_timer retry;
    struct arena arena;
    pthread_t pacer;
    bool has_pacer;
    atomic_bool is_over; /* ends the pacer */
};

/* One batch on its way. */
struct shot {
    struct list_node alive_link;
    struct list_node link;
    struct load *load;
    struct lane *lane;
    int32_t partition;
    int tries;
    uint64_t index;
    int64_t scheduled_us;
};

static void load_fail(struct load *load, int err, const char *why)
{
    if (load->err == 0) {
        load->err = errmsg_set(load->em, (enum error) - err, "%s: %s", load->config->topic, why);
        loop_stop(load->env);
    }
}

/* ---- the batch ---- */

static int batch_build(struct load *load)
{
    const struct load_config *config = load->config;
    size_t len = (size_t)config->record_size;
    uint8_t *value = xalloc(len);
    for (size_t i = 0; i < len; i++) {
        value[i] = (uint8_t)('a' + env_random_u64(load->env) % 26);
    }
    struct record_builder builder;
    record_builder_init(&builder, RECORD_CODEC_NONE);
    struct record_input input = {
        .key = SLICE_NULL, .value = slice_of(value, len), .timestamp = env_wall_ms(load->env)};
    size_t room = (size_t)config->batch_bytes - RECORD_HEADER_SIZE;
    do {
        record_builder_add(&builder, &input);
        load->batch_records++;
    } while (builder.records.len + len + RECORD_OVERHEAD <= room);
    int err = record_builder_finish(&builder, &load->batch);
    record_builder_deinit(&builder);
    free(value);
    return err;
}

static void put_produce(const struct load *load, int32_t partition, struct buf *b)
{
    struct wire_request_header header = {.api_key = WIRE_KEY_PRODUCE,
                                         .api_version = PRODUCE_VERSION,
                                         .client_id = slice_str("kgen")};
    wire_request_header_write(&header, b);
    struct wire_produce_request_topic_data_partition_data data = {
        .index = partition, .records = {.ptr = load->batch.ptr, .len = load->batch.len}};
    struct wire_produce_request_topic_data topic = {
        .name = slice_str(load->config->topic), .partition_data = &data, .partition_data_count = 1};
    struct wire_produce_request request;
    wire_produce_request_init(&request);
    request.transactional_id = SLICE_NULL;
    request.acks = load->config->acks;
    request.timeout_ms = REQUEST_MS;
    request.topic_data = &topic;
    request.topic_data_count = 1;
    wire_produce_request_encode(&request, b, PRODUCE_VERSION);
}

/* ---- shots ---- */

static void shot_send(struct shot *shot);

static void lane_shoot(struct load *load, struct lane *lane, int64_t scheduled_us)
{
    struct shot *shot = xalloc(sizeof *shot);
    *shot = (struct shot){.load = load,
                          .lane = lane,
                          .partition = lane->partitions[lane->next],
                          .index = load->started++,
                          .scheduled_us = scheduled_us};
    list_push_back(&load->alive, &shot->alive_link);
    lane->next = (lane->next + 1) % lane->count;
    shot_send(shot);
}

static void shot_done(struct shot *shot)
{
    struct load *load = shot->load;
    struct lane *lane = shot->lane;
    int64_t now_us = env_now_us(load->env);
    bool is_open = load->config->rate > 0;
    if (!is_open || shot->index >= load->total / WARMUP_PART) {
        histogram_add(&load->result->latency_us, now_us - shot->scheduled_us);
    }
    list_remove(&load->alive, &shot->alive_link);
    free(shot);
    if (++load->finished == load->total) {
        load->result->seconds = (double)(now_us - load->begun_us) / 1e6;
        loop_stop(load->env);
    } else if (!is_open && load->started < load->total && load->err == 0) {
        lane_shoot(load, lane, now_us);
    }
}

static void on_found_again(void *arg, int err, const char *why)
{
    if (err != 0) {
        load_fail(arg, err, why);
    }
}

static void shot_delay(struct shot *shot, const char *why)
{
    struct load *load = shot->load;
    if (++shot->tries > SHOT_TRIES_MAX) {
        load_fail(load, -E_TIMEOUT, why);
    }
    load->result->retries++;
    list_push_back(&load->delayed, &shot->link);
    cluster_find(load->cluster, FIND_MS, on_found_again, load);
    if (!env_timer_is_active(&load->retry)) {
        env_timer_start(&load->retry, RETRY_MS);
    }
}

static void on_retry(void *arg)
{
    struct load *load = arg;
    for (size_t left = load->delayed.count; left > 0 && load->err == 0; left--) {
        shot_send(CONTAINER_OF(list_pop(&load->delayed), struct shot, link));
    }
}

/* The error code of the one partition, or -1 when the answer cannot be read. */
static int16_t answer_code(struct load *load, struct slice payload)
{
    struct reader r;
    reader_init(&r, payload);
    arena_reset(&load->arena);
    struct wire_response_header header;
    struct wire_produce_response response;
    if (wire_response_header_read(&header, &r, WIRE_KEY_PRODUCE, PRODUCE_VERSION) != 0 ||
        wire_produce_response_decode(&response, &r, PRODUCE_VERSION, &load->arena) != 0 ||
        response.responses_count != 1 || response.responses[0].partition_responses_count != 1) {
        return KERR_UNKNOWN_SERVER_ERROR;
    }
    return response.responses[0].partition_responses[0].error_code;
}

static void on_answer(void *arg, int err, struct block *frame, struct slice payload)
{
    (void)frame;
    struct shot *shot = arg;
    struct load *load = shot->load;
    if (err != 0) {
        shot_delay(shot, error_name(err));
        return;
    }
    int16_t code = answer_code(load, payload);
    switch (code) {
    case KERR_NONE:
        shot_done(shot);
        break;
    case KERR_UNKNOWN_TOPIC_OR_PARTITION:
    case KERR_LEADER_NOT_AVAILABLE:
    case KERR_NOT_LEADER_OR_FOLLOWER:
    case KERR_REQUEST_TIMED_OUT:
    case KERR_NOT_ENOUGH_REPLICAS:
    case KERR_NOT_ENOUGH_REPLICAS_AFTER_APPEND:
    case KERR_KAFKA_STORAGE_ERROR:
        shot_delay(shot, "the partition stays unavailable");
        break;
    default: {
        char *why = xasprintf("partition %d: error code %d", shot->partition, code);
        load_fail(load, -E_INVALID, why);
        free(why);
        break;
    }
    }
}

static void shot_send(struct shot *shot)
{
    struct load *load = shot->load;
    struct net_peer *peer = cluster_peer(load->cluster, shot->partition, shot->lane->connection);
    if (peer == NULL) {
        shot_delay(shot, "the partition has no leader");
        return;
    }
    struct buf b;
    buf_init(&b);
    put_produce(load, shot->partition, &b);
    net_peer_call(peer, &b, REQUEST_MS, on_answer, shot);
}

/* ---- the two loops ---- */

static void fire(void *arg)
{
    struct load *load = arg;
    if (load->err != 0) {
        return;
    }
    double behind_s = (double)load->started / load->config->rate;
    struct lane *lane = &load->lanes[load->started % (uint64_t)load->lane_count];
    lane_shoot(load, lane, load->begun_us + (int64_t)(behind_s * 1e6));
}

static void *pacer_main(void *arg)
{
    struct load *load = arg;
    double interval_us = 1e6 / load->config->rate;
    for (uint64_t i = 0; i < load->total && !atomic_load(&load->is_over); i++) {
        int64_t due_us = load->begun_us + (int64_t)((double)i * interval_us);
        struct timespec due = {.tv_sec = due_us / 1000000, .tv_nsec = due_us % 1000000 * 1000};
        while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &due, NULL) != 0) {
        }
        env_post(load->env, fire, load);
    }
    return NULL;
}

static void lane_init(struct lane *lane, int32_t connection, int32_t partitions)
{
    *lane = (struct lane){.connection = connection,
                          .partitions = xalloc((size_t)partitions * sizeof(int32_t))};
}

/* One lane for each leader and connection; with more connections than partitions they share. */
static void lanes_make_closed(struct load *load, int32_t partitions)
{
    const struct cluster *c = load->cluster;
    int32_t connections = load->config->connections;
    load->lanes = xalloc((size_t)c->broker_count * (size_t)connections * sizeof *load->lanes);
    for (int32_t b = 0; b < c->broker_count; b++) {
        for (int32_t k = 0; k < connections; k++) {
            struct lane *lane = &load->lanes[load->lane_count];
            lane_init(lane, k, partitions);
            int32_t seen = 0;
            for (int32_t p = 0; p < partitions; p++) {
                if (c->leaders[p] == b && (seen++ % connections == k || partitions < connections)) {
                    lane->partitions[lane->count++] = p;
                }
            }
            if (lane->count > 0) {
                load->lane_count++;
            } else {
                free(lane->partitions);
            }
        }
    }
}

/* Open loop: one lane for each connection, all over all partitions. */
static void lanes_make_open(struct load *load, int32_t partitions)
{
    load->lane_count = load->config->connections;
    load->lanes = xalloc((size_t)load->lane_count * sizeof *load->lanes);
    for (int32_t k = 0; k < load->lane_count; k++) {
        lane_init(&load->lanes[k], k, partitions);
        load->lanes[k].next = k % partitions;
        for (int32_t p = 0; p < partitions; p++) {
            load->lanes[k].partitions[load->lanes[k].count++] = p;
        }
    }
}

static void begin_closed(struct load *load)
{
    load->begun_us = env_now_us(load->env);
    for (int32_t i = 0; i < load->config->inflight; i++) {
        for (int32_t k = 0; k < load->lane_count && load->started < load->total; k++) {
            lane_shoot(load, &load->lanes[k], env_now_us(load->env));
        }
    }
}

static void begin_open(struct load *load)
{
    load->begun_us = env_now_us(load->env);
    CHECK(pthread_create(&load->pacer, NULL, pacer_main, load) == 0);
    load->has_pacer = true;
}

static void on_found(void *arg, int err, const char *why)
{
    struct load *load = arg;
    int32_t there = load->cluster->partition_count;
    int32_t wanted = load->config->partitions;
    if (err != 0) {
        load_fail(load, err, why);
    } else if (wanted > there) {
        load_fail(load, -E_INVALID, "it has fewer partitions than asked for");
    } else if (load->config->rate > 0) {
        lanes_make_open(load, wanted == 0 ? there : wanted);
        begin_open(load);
    } else {
        lanes_make_closed(load, wanted == 0 ? there : wanted);
        begin_closed(load);
    }
}

static uint64_t total_batches(const struct load *load)
{
    uint64_t per_batch = (uint64_t)load->batch_records;
    uint64_t len = load->batch.len;
    const struct load_config *config = load->config;
    uint64_t total = config->bytes > 0 ? (config->bytes + len - 1) / len
                                       : (config->records + per_batch - 1) / per_batch;
    return MAX(total, 1);
}

static void load_deinit(struct load *load)
{
    if (load->has_pacer) {
        atomic_store(&load->is_over, true);
        CHECK(pthread_join(load->pacer, NULL) == 0);
    }
    env_timer_stop(&load->retry);
    for (struct list_node *n = list_pop(&load->alive); n != NULL; n = list_pop(&load->alive)) {
        free(CONTAINER_OF(n, struct shot, alive_link));
    }
    for (int32_t i = 0; i < load->lane_count; i++) {
        free(load->lanes[i].partitions);
    }
    free(load->lanes);
    arena_deinit(&load->arena);
    buf_deinit(&load->batch);
}

int load_run(struct env *env, struct cluster *cluster, const struct load_config *config,
             struct load_result *ret_result, struct errmsg *em)
{
    struct load load = {
        .env = env, .cluster = cluster, .config = config, .result = ret_result, .em = em};
    buf_init(&load.batch);
    arena_init(&load.arena, (size_t)1 << 20);
    list_init(&load.alive);
    list_init(&load.delayed);
    env_timer_init(&load.retry, env, on_retry, &load);
    histogram_init(&ret_result->latency_us);
    cluster->topic = config->topic;
    cluster->connections = config->connections;
    int err = batch_build(&load);
    if (err != 0) {
        err = errmsg_set(em, (enum error) - err, "cannot build a batch: %s", error_name(err));
    } else {
        load.total = total_batches(&load);
        cluster_find(cluster, FIND_MS, on_found, &load);
        loop_run(env);
        err = load.err;
        ret_result->batches = load.finished;
        ret_result->records = load.finished * (uint64_t)load.batch_records;
        ret_result->bytes = load.finished * load.batch.len;
    }
    load_deinit(&load);
    return err;
}
