/*
 * How long a broker lets others wait, for bench.py.
 *   bench-probe HOST PORT TOPIC INTERVAL_MS
 * asks one broker for three things again and again, INTERVAL_MS after each answer, each over a connection of
 * its own: Metadata of TOPIC; ListPartitionReassignments of its partition 0, which goes to the controller's
 * thread; Produce of one small batch to it, acks=1. Ends when its input does, and prints one JSON object:
 * for each of the three the number of answers, of those with an error code, of connections that broke, and
 * microseconds (median, 99th percentile, longest). An error code is an answer too: in time, the client knows.
 */
#include "base/alloc.h"
#include "base/arena.h"
#include "base/buf.h"
#include "base/check.h"
#include "base/endian.h"
#include "base/histogram.h"
#include "model/kerr.h"
#include "record/records.h"
#include "wire/header.h"
#include "wire/list_partition_reassignments.h"
#include "wire/metadata.h"
#include "wire/produce.h"

#include <arpa/inet.h>
#include <netinet/tcp.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#define FRAME_MAX         (1 << 20)
#define ARENA_MAX         ((size_t)64 << 20)
#define ANSWER_SECONDS    60
#define RECORD_BYTES      100
#define METADATA_VERSION  4
#define PRODUCE_VERSION   7
#define MICROS_PER_SECOND 1000000

enum kind {
    KIND_METADATA,
    KIND_LIST,
    KIND_PRODUCE,
    KIND_COUNT,
};

static const char *const names[] = {
    [KIND_METADATA] = "metadata",
    [KIND_LIST] = "list",
    [KIND_PRODUCE] = "produce",
};

struct probe {
    enum kind kind;
    const char *host;
    uint16_t port;
    const char *topic;
    int32_t interval_ms;
    struct buf frame; /* the request, its size first */
    int16_t key;
    int16_t version;
    int fd; /* -1 = not connected */
    uint8_t *answer;
    struct histogram waits;
    uint64_t refused; /* answers with an error code */
    uint64_t broken;  /* connections that ended, or could not be made */
    pthread_t thread;
};

static volatile sig_atomic_t is_over; /* written by the main thread, read by the others */

static int64_t now_us(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (int64_t)t.tv_sec * MICROS_PER_SECOND + t.tv_nsec / 1000;
}

/* ---- requests ---- */

static void metadata_put(const struct probe *p, struct buf *b)
{
    struct wire_metadata_request_topics topic;
    struct wire_metadata_request request;
    wire_metadata_request_topics_init(&topic);
    topic.name = slice_str(p->topic);
    wire_metadata_request_init(&request);
    request.allow_auto_topic_creation = false;
    request.topics = &topic;
    request.topics_count = 1;
    wire_metadata_request_encode(&request, b, p->version);
}

static void list_put(const struct probe *p, struct buf *b)
{
    int32_t partition = 0;
    struct wire_list_partition_reassignments_request_topics topic;
    struct wire_list_partition_reassignments_request request;
    wire_list_partition_reassignments_request_topics_init(&topic);
    topic.name = slice_str(p->topic);
    topic.partition_indexes = &partition;
    topic.partition_indexes_count = 1;
    wire_list_partition_reassignments_request_init(&request);
    request.topics = &topic;
    request.topics_count = 1;
    wire_list_partition_reassignments_request_encode(&request, b, p->version);
}

static void produce_put(const struct probe *p, struct buf *b)
{
    uint8_t value[RECORD_BYTES];
    struct record_builder builder;
    struct buf batch;
    memset(value, 'v', sizeof value);
    buf_init(&batch);
    record_builder_init(&builder, RECORD_CODEC_NONE);
    record_builder_add(&builder, &(struct record_input){.key = SLICE_NULL,
                                                        .value = slice_of(value, sizeof value),
                                                        .timestamp = (int64_t)time(NULL) * 1000});
    CHECK(record_builder_finish(&builder, &batch) == 0);
    struct wire_produce_request_topic_data_partition_data data = {
        .records = {.ptr = batch.ptr, .len = batch.len}};
    struct wire_produce_request_topic_data topic = {
        .name = slice_str(p->topic), .partition_data = &data, .partition_data_count = 1};
    struct wire_produce_request request;
    wire_produce_request_init(&request);
    request.acks = 1;
    request.timeout_ms = ANSWER_SECONDS * 1000;
    request.topic_data = &topic;
    request.topic_data_count = 1;
    wire_produce_request_encode(&request, b, p->version);
    record_builder_deinit(&builder);
    buf_deinit(&batch);
}

static void frame_make(struct probe *p)
{
    static const struct {
        int16_t key;
        int16_t version;
        void (*put)(const struct probe *p, struct buf *b);
    } requests[] = {
        [KIND_METADATA] = {WIRE_KEY_METADATA, METADATA_VERSION, metadata_put},
        [KIND_LIST] = {WIRE_KEY_LIST_PARTITION_REASSIGNMENTS, 0, list_put},
        [KIND_PRODUCE] = {WIRE_KEY_PRODUCE, PRODUCE_VERSION, produce_put},
    };
    struct wire_request_header header;
    uint8_t size[4] = {0};
    p->key = requests[p->kind].key;
    p->version = requests[p->kind].version;
    wire_request_header_init(&header);
    header.api_key = p->key;
    header.api_version = p->version;
    header.client_id = slice_str("bench-probe");
    buf_init(&p->frame);
    buf_put_bytes(&p->frame, size, sizeof size);
    wire_request_header_write(&header, &p->frame);
    requests[p->kind].put(p, &p->frame);
    CHECK(!buf_failed(&p->frame));
    store_be32(p->frame.ptr, (uint32_t)(p->frame.len - sizeof size));
}

/* ---- answers ---- */

static int16_t code_of(const struct probe *p, const void *body)
{
    if (p->kind == KIND_METADATA) {
        const struct wire_metadata_response *m = body;
        return m->topics_count == 1 ? m->topics[0].error_code : KERR_UNKNOWN_SERVER_ERROR;
    }
    if (p->kind == KIND_LIST) {
        return ((const struct wire_list_partition_reassignments_response *)body)->error_code;
    }
    const struct wire_produce_response *m = body;
    return m->responses_count == 1 && m->responses[0].partition_responses_count == 1
               ? m->responses[0].partition_responses[0].error_code
               : KERR_UNKNOWN_SERVER_ERROR;
}

/* True when it is an answer; ret_code: what it says. */
static bool answer_read(const struct probe *p, size_t len, int16_t *ret_code)
{
    const struct wire_message *message = wire_api_find(p->key)->response;
    struct wire_response_header header;
    struct arena a;
    struct reader r;
    arena_init(&a, ARENA_MAX);
    reader_init(&r, slice_of(p->answer, len));
    void *body = arena_alloc(&a, wire_message_size(message));
    bool is_read = body != NULL &&
                   wire_response_header_read(&header, &r, p->key, p->version) == 0 &&
                   wire_message_decode(message, body, &r, p->version, &a) == 0;
    if (is_read) {
        *ret_code = code_of(p, body);
    }
    arena_deinit(&a);
    return is_read;
}

/* ---- the connection ---- */

static bool all_read(int fd, uint8_t *to, size_t len)
{
    size_t at = 0;
    while (at < len) {
        ssize_t got = recv(fd, to + at, len - at, 0);
        if (got <= 0) {
            return false;
        }
        at += (size_t)got;
    }
    return true;
}

static bool probe_connect(struct probe *p)
{
    struct sockaddr_in to = {.sin_family = AF_INET, .sin_port = htons(p->port)};
    struct timeval patience = {.tv_sec = ANSWER_SECONDS};
    int on = 1;
    p->fd = socket(AF_INET, SOCK_STREAM, 0);
    CHECK(p->fd >= 0 && inet_pton(AF_INET, p->host, &to.sin_addr) == 1);
    (void)setsockopt(p->fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
    (void)setsockopt(p->fd, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience);
    if (connect(p->fd, (struct sockaddr *)&to, sizeof to) != 0) {
        (void)close(p->fd);
        p->fd = -1;
    }
    return p->fd >= 0;
}

/* One question. False: the connection is of no use any more. */
static bool probe_ask(struct probe *p)
{
    int64_t start_us = now_us();
    uint8_t size[4];
    int16_t code = KERR_NONE;
    if (send(p->fd, p->frame.ptr, p->frame.len, MSG_NOSIGNAL) != (ssize_t)p->frame.len ||
        !all_read(p->fd, size, sizeof size)) {
        return false;
    }
    uint32_t len = load_be32(size);
    if (len > FRAME_MAX || !all_read(p->fd, p->answer, len)) {
        return false;
    }
    histogram_add(&p->waits, now_us() - start_us);
    if (!answer_read(p, len, &code)) {
        return false;
    }
    p->refused += code != KERR_NONE;
    return true;
}

static void *probe_main(void *arg)
{
    struct probe *p = arg;
    struct timespec pause = {.tv_sec = p->interval_ms / 1000,
                             .tv_nsec = (long)(p->interval_ms % 1000) * 1000000};
    while (!is_over) {
        if ((p->fd < 0 && !probe_connect(p)) || !probe_ask(p)) {
            p->broken++;
            if (p->fd >= 0) {
                (void)close(p->fd);
                p->fd = -1;
            }
        }
        (void)nanosleep(&pause, NULL);
    }
    if (p->fd >= 0) {
        (void)close(p->fd);
    }
    return NULL;
}

/* ---- all of it ---- */

static void probe_print(const struct probe *p, bool is_last)
{
    const struct histogram *h = &p->waits;
    printf("\"%s\": {\"answers\": %llu, \"refused\": %llu, \"broken\": %llu, \"p50_us\": %lld, "
           "\"p99_us\": %lld, \"max_us\": %lld}%s",
           names[p->kind], (unsigned long long)h->total, (unsigned long long)p->refused,
           (unsigned long long)p->broken, (long long)histogram_quantile(h, 0.5),
           (long long)histogram_quantile(h, 0.99), (long long)h->max, is_last ? "}\n" : ", ");
}

int main(int argc, char **argv)
{
    if (argc != 5) {
        (void)fprintf(stderr, "usage: bench-probe HOST PORT TOPIC INTERVAL_MS\n");
        return 2;
    }
    struct probe *probes = xalloc(KIND_COUNT * sizeof *probes);
    for (int32_t i = 0; i < KIND_COUNT; i++) {
        struct probe *p = &probes[i];
        *p = (struct probe){.kind = (enum kind)i,
                            .host = argv[1],
                            .port = (uint16_t)strtol(argv[2], NULL, 10),
                            .topic = argv[3],
                            .interval_ms = (int32_t)strtol(argv[4], NULL, 10),
                            .fd = -1,
                            .answer = xalloc(FRAME_MAX)};
        histogram_init(&p->waits);
        frame_make(p);
        CHECK(pthread_create(&p->thread, NULL, probe_main, p) == 0);
    }
    char ignored[16];
    while (read(STDIN_FILENO, ignored, sizeof ignored) > 0) {
    }
    is_over = 1;
    printf("{");
    for (int32_t i = 0; i < KIND_COUNT; i++) {
        CHECK(pthread_join(probes[i].thread, NULL) == 0);
        probe_print(&probes[i], i + 1 == KIND_COUNT);
        buf_deinit(&probes[i].frame);
        free(probes[i].answer);
    }
    free(probes);
    return 0;
}
