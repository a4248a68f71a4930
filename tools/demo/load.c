/*
 * The demo's load: writes lines of text to a topic with librdkafka (acks=all, idempotent) while a
 * consumer of its own reads the topic back, and compares both by content and order per partition.
 *
 * Driven by lines on standard input: "phase NAME" starts a latency phase, "stop" ends writing; then the
 * rest is read and one JSON object is printed. Two threads: the main one writes, one reads; what they
 * share is handed over at the end (the reader is joined first).
 */
#include "base/alloc.h"
#include "base/hash.h"
#include "base/histogram.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <poll.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include <librdkafka/rdkafka.h>

#define PHASES_MAX     8
#define PARTITIONS_MAX 64
#define LINE_MAX_BYTES 8192
#define DRAIN_MS       60000

/* What went through one partition, in order: a hash of each record's content. */
struct stream {
    uint64_t *hashes;
    size_t count;
    size_t cap;
};

struct phase {
    char name[24];
    struct histogram latency;
};

struct load {
    const char *bootstrap;
    const char *topic;
    int32_t partition_count;
    int64_t records_per_second;
    char **files;
    int file_count;

    rd_kafka_t *producer;
    rd_kafka_topic_t *topic_handle;
    struct stream written[PARTITIONS_MAX]; /* acknowledged, in the order of their offsets */
    uint64_t bytes_written;
    uint64_t failed;
    uint64_t sent;
    struct phase phases[PHASES_MAX];
    int phase_count;

    pthread_t reader;
    struct stream read[PARTITIONS_MAX];
    _Atomic uint64_t read_count;
    _Atomic bool reader_stops;
};

/* Travels with each record to its delivery report. */
struct ticket {
    uint64_t hash;
    int64_t sent_us;
    int phase;
};

static int64_t now_us(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (int64_t)t.tv_sec * 1000000 + t.tv_nsec / 1000;
}

static void stream_add(struct stream *s, uint64_t hash)
{
    if (s->count == s->cap) {
        s->cap = s->cap == 0 ? 1024 : s->cap * 2;
        s->hashes = xrealloc(s->hashes, s->cap * sizeof *s->hashes);
    }
    s->hashes[s->count++] = hash;
}

static void on_delivery(rd_kafka_t *rk, const rd_kafka_message_t *message, void *opaque)
{
    (void)rk;
    struct load *load = opaque;
    struct ticket *ticket = message->_private;
    if (message->err != RD_KAFKA_RESP_ERR_NO_ERROR) {
        load->failed++;
        (void)fprintf(stderr, "load: a record was not written: %s\n",
                      rd_kafka_err2str(message->err));
    } else {
        stream_add(&load->written[message->partition], ticket->hash);
        load->bytes_written += message->len;
        histogram_add(&load->phases[ticket->phase].latency, now_us() - ticket->sent_us);
    }
    free(ticket);
}

static void conf_set(rd_kafka_conf_t *conf, const char *key, const char *value)
{
    char reason[256];
    if (rd_kafka_conf_set(conf, key, value, reason, sizeof reason) != RD_KAFKA_CONF_OK) {
        (void)fprintf(stderr, "load: %s=%s: %s\n", key, value, reason);
        exit(2);
    }
}

static rd_kafka_t *client_new(struct load *load, rd_kafka_type_t type)
{
    rd_kafka_conf_t *conf = rd_kafka_conf_new();
    conf_set(conf, "bootstrap.servers", load->bootstrap);
    conf_set(conf, "topic.metadata.refresh.interval.ms", "2000");
    if (type == RD_KAFKA_PRODUCER) {
        conf_set(conf, "enable.idempotence", "true"); /* implies acks=all */
        conf_set(conf, "linger.ms", "2");
        conf_set(conf, "message.timeout.ms", "60000");
        rd_kafka_conf_set_dr_msg_cb(conf, on_delivery);
        rd_kafka_conf_set_opaque(conf, load);
    } else {
        conf_set(conf, "group.id",
                 "demo"); /* a member of no group: partitions are assigned by hand */
        conf_set(conf, "auto.offset.reset", "earliest");
        conf_set(conf, "enable.auto.commit", "false");
        conf_set(conf, "fetch.wait.max.ms", "100");
    }
    char reason[256];
    rd_kafka_t *rk = rd_kafka_new(type, conf, reason, sizeof reason);
    if (rk == NULL) {
        (void)fprintf(stderr, "load: %s\n", reason);
        exit(2);
    }
    return rk;
}

/* ---- reading ---- */

static void *reader_run(void *arg)
{
    struct load *load = arg;
    rd_kafka_t *rk = client_new(load, RD_KAFKA_CONSUMER);
    rd_kafka_topic_partition_list_t *all = rd_kafka_topic_partition_list_new(load->partition_count);
    for (int32_t p = 0; p < load->partition_count; p++) {
        rd_kafka_topic_partition_list_add(all, load->topic, p)->offset = 0;
    }
    rd_kafka_poll_set_consumer(rk);
    rd_kafka_assign(rk, all);
    while (!atomic_load(&load->reader_stops)) {
        rd_kafka_message_t *message = rd_kafka_consumer_poll(rk, 100);
        if (message == NULL) {
            continue;
        }
        if (message->err == RD_KAFKA_RESP_ERR_NO_ERROR) {
            stream_add(&load->read[message->partition], hash_bytes(message->payload, message->len));
            atomic_fetch_add(&load->read_count, 1);
        }
        rd_kafka_message_destroy(message);
    }
    rd_kafka_topic_partition_list_destroy(all);
    rd_kafka_consumer_close(rk);
    rd_kafka_destroy(rk);
    return NULL;
}

/* ---- writing ---- */

static void send_line(struct load *load, const char *line, size_t len)
{
    struct ticket *ticket = xalloc(sizeof *ticket);
    *ticket = (struct ticket){
        .hash = hash_bytes(line, len), .sent_us = now_us(), .phase = load->phase_count - 1};
    int32_t partition = (int32_t)(load->sent % (uint64_t)load->partition_count);
    union {
        const char *in;
        void *out;
    } payload = {.in = line}; /* librdkafka copies it, but asks for a plain pointer */
    while (rd_kafka_produce(load->topic_handle, partition, RD_KAFKA_MSG_F_COPY, payload.out, len,
                            NULL, 0, ticket) != 0) {
        if (rd_kafka_last_error() != RD_KAFKA_RESP_ERR__QUEUE_FULL) {
            (void)fprintf(stderr, "load: %s\n", rd_kafka_err2str(rd_kafka_last_error()));
            load->failed++;
            free(ticket);
            return;
        }
        rd_kafka_poll(load->producer, 10);
    }
    load->sent++;
}

/* Handles waiting commands; false after "stop" or the end of the input. */
static bool read_commands(struct load *load)
{
    static char text[256];
    static size_t used;
    for (;;) {
        struct pollfd input = {.fd = STDIN_FILENO, .events = POLLIN};
        if (poll(&input, 1, 0) <= 0) {
            return true;
        }
        ssize_t got = read(STDIN_FILENO, text + used, sizeof text - 1 - used);
        if (got <= 0) {
            return false;
        }
        used += (size_t)got;
        text[used] = '\0';
        char *end;
        while ((end = strchr(text, '\n')) != NULL) {
            *end = '\0';
            if (strcmp(text, "stop") == 0) {
                return false;
            }
            if (strncmp(text, "phase ", 6) == 0 && load->phase_count < PHASES_MAX) {
                struct phase *phase = &load->phases[load->phase_count++];
                (void)snprintf(phase->name, sizeof phase->name, "%s", text + 6);
            }
            used -= (size_t)(end + 1 - text);
            memmove(text, end + 1, used + 1);
        }
    }
}

/* Waits until the record that is due by the wanted rate may go. */
static void pace(struct load *load, int64_t started_us)
{
    int64_t due_us = started_us + (int64_t)load->sent * 1000000 / load->records_per_second;
    int64_t wait_ms = (due_us - now_us()) / 1000;
    rd_kafka_poll(load->producer, wait_ms > 0 ? (int)wait_ms : 0);
}

/* One pass over one file; false when writing has to stop. */
static bool write_file(struct load *load, const char *path, int64_t started_us)
{
    static char line[LINE_MAX_BYTES];
    FILE *file = fopen(path, "r");
    if (file == NULL) {
        (void)fprintf(stderr, "load: %s: %s\n", path, strerror(errno));
        return true;
    }
    bool goes_on = true;
    while (goes_on && fgets(line, sizeof line, file) != NULL) {
        size_t len = strcspn(line, "\n");
        if (len > 0) {
            send_line(load, line, len);
        }
        if (load->sent % 64 == 0) {
            pace(load, started_us);
            goes_on = read_commands(load);
        }
    }
    (void)fclose(file); /* it was only read */
    return goes_on;
}

static void write_all(struct load *load)
{
    int64_t started_us = now_us();
    for (;;) {
        uint64_t before = load->sent;
        for (int i = 0; i < load->file_count; i++) {
            if (!write_file(load, load->files[i], started_us)) {
                return;
            }
        }
        if (load->sent == before) {
            (void)fprintf(stderr, "load: no file has a line of text\n");
            exit(2);
        }
    }
}

/* ---- the result ---- */

static int hash_order(const void *a, const void *b)
{
    uint64_t x = *(const uint64_t *)a;
    uint64_t y = *(const uint64_t *)b;
    return x < y ? -1 : x > y;
}

struct verdict {
    uint64_t written;
    uint64_t read;
    uint64_t lost;
    uint64_t duplicated;
    uint64_t misordered; /* partitions whose order differs though the contents are the same */
};

static void compare(const struct stream *written, const struct stream *read, struct verdict *v)
{
    v->written += written->count;
    v->read += read->count;
    if (written->count == read->count &&
        (written->count == 0 ||
         memcmp(written->hashes, read->hashes, written->count * sizeof(uint64_t)) == 0)) {
        return;
    }
    uint64_t lost = 0;
    uint64_t duplicated = 0;
    size_t i = 0;
    size_t j = 0;
    if (written->count > 0) {
        qsort(written->hashes, written->count, sizeof(uint64_t), hash_order);
    }
    if (read->count > 0) {
        qsort(read->hashes, read->count, sizeof(uint64_t), hash_order);
    }
    while (i < written->count || j < read->count) {
        if (j == read->count || (i < written->count && written->hashes[i] < read->hashes[j])) {
            lost++;
            i++;
        } else if (i == written->count || read->hashes[j] < written->hashes[i]) {
            duplicated++;
            j++;
        } else {
            i++;
            j++;
        }
    }
    v->lost += lost;
    v->duplicated += duplicated;
    v->misordered += lost == 0 && duplicated == 0;
}

static void print_result(struct load *load)
{
    struct verdict v = {0};
    for (int32_t p = 0; p < load->partition_count; p++) {
        compare(&load->written[p], &load->read[p], &v);
    }
    printf(
        "{\"written\":%" PRIu64 ",\"read\":%" PRIu64 ",\"lost\":%" PRIu64 ",\"duplicated\":%" PRIu64
        ",\"misordered\":%" PRIu64 ",\"failed\":%" PRIu64 ",\"bytes\":%" PRIu64 ",\"phases\":[",
        v.written, v.read, v.lost, v.duplicated, v.misordered, load->failed, load->bytes_written);
    for (int i = 0; i < load->phase_count; i++) {
        struct phase *phase = &load->phases[i];
        printf("%s{\"name\":\"%s\",\"records\":%" PRIu64 ",\"p50_us\":%" PRId64
               ",\"p99_us\":%" PRId64 ",\"max_us\":%" PRId64 "}",
               i == 0 ? "" : ",", phase->name, phase->latency.total,
               histogram_quantile(&phase->latency, 0.5), histogram_quantile(&phase->latency, 0.99),
               phase->latency.max);
    }
    printf("]}\n");
}

static void load_init(struct load *load, int argc, char **argv)
{
    if (argc < 6) {
        (void)fprintf(stderr,
                      "usage: demo-load BOOTSTRAP TOPIC PARTITIONS RECORDS_PER_SECOND FILE...\n");
        exit(2);
    }
    load->bootstrap = argv[1];
    load->topic = argv[2];
    load->partition_count = (int32_t)strtol(argv[3], NULL, 10);
    load->records_per_second = strtol(argv[4], NULL, 10);
    load->files = argv + 5;
    load->file_count = argc - 5;
    if (load->partition_count < 1 || load->partition_count > PARTITIONS_MAX ||
        load->records_per_second < 1) {
        (void)fprintf(stderr, "demo-load: PARTITIONS is 1..%d, RECORDS_PER_SECOND above 0\n",
                      PARTITIONS_MAX);
        exit(2);
    }
    (void)snprintf(load->phases[0].name, sizeof load->phases[0].name, "start");
    load->phase_count = 1;
}

int main(int argc, char **argv)
{
    struct load *load = xalloc(sizeof *load);
    load_init(load, argc, argv);
    load->producer = client_new(load, RD_KAFKA_PRODUCER);
    load->topic_handle = rd_kafka_topic_new(load->producer, load->topic, NULL);
    if (pthread_create(&load->reader, NULL, reader_run, load) != 0) {
        (void)fprintf(stderr, "demo-load: no thread\n");
        return 2;
    }
    write_all(load);
    rd_kafka_flush(load->producer, DRAIN_MS);
    uint64_t acknowledged = 0;
    for (int32_t p = 0; p < load->partition_count; p++) {
        acknowledged += load->written[p].count;
    }
    int64_t deadline_us = now_us() + (int64_t)DRAIN_MS * 1000;
    while (atomic_load(&load->read_count) < acknowledged && now_us() < deadline_us) {
        (void)poll(NULL, 0, 20); /* until the reader has caught up */
    }
    (void)poll(NULL, 0, 500); /* a record too many would come now */
    atomic_store(&load->reader_stops, true);
    pthread_join(load->reader, NULL);
    print_result(load);
    rd_kafka_topic_destroy(load->topic_handle);
    rd_kafka_destroy(load->producer);
    for (int32_t p = 0; p < load->partition_count; p++) {
        free(load->written[p].hashes);
        free(load->read[p].hashes);
    }
    free(load);
    return 0;
}
