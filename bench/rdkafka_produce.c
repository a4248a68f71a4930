/*
 * The independent client of the produce benchmark: librdkafka, closed loop, for bench.py.
 *   bench-rdkafka BOOTSTRAP TOPIC ACKS RECORD_BYTES RECORDS
 * Prints one JSON object: seconds from the first record to the last acknowledgement, and failures.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <librdkafka/rdkafka.h>

struct tally {
    long acknowledged;
    long failed;
};

static double now_s(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

static void on_delivery(rd_kafka_t *rk, const rd_kafka_message_t *message, void *opaque)
{
    (void)rk;
    struct tally *tally = opaque;
    if (message->err == RD_KAFKA_RESP_ERR_NO_ERROR) {
        tally->acknowledged++;
    } else {
        tally->failed++;
    }
}

static void conf_set(rd_kafka_conf_t *conf, const char *key, const char *value)
{
    char reason[256];
    if (rd_kafka_conf_set(conf, key, value, reason, sizeof reason) != RD_KAFKA_CONF_OK) {
        (void)fprintf(stderr, "bench-rdkafka: %s=%s: %s\n", key, value, reason);
        exit(2);
    }
}

int main(int argc, char **argv)
{
    if (argc != 6) {
        (void)fprintf(stderr, "usage: bench-rdkafka BOOTSTRAP TOPIC ACKS RECORD_BYTES RECORDS\n");
        return 2;
    }
    size_t record_bytes = strtoul(argv[4], NULL, 10);
    long records = strtol(argv[5], NULL, 10);
    struct tally tally = {0};
    rd_kafka_conf_t *conf = rd_kafka_conf_new();
    conf_set(conf, "bootstrap.servers", argv[1]);
    conf_set(conf, "acks", argv[3]);
    conf_set(conf, "linger.ms", "5");
    conf_set(conf, "batch.size", "16384");
    conf_set(conf, "queue.buffering.max.messages", "200000");
    rd_kafka_conf_set_dr_msg_cb(conf, on_delivery);
    rd_kafka_conf_set_opaque(conf, &tally);
    char reason[256];
    rd_kafka_t *rk = rd_kafka_new(RD_KAFKA_PRODUCER, conf, reason, sizeof reason);
    if (rk == NULL) {
        (void)fprintf(stderr, "bench-rdkafka: %s\n", reason);
        return 2;
    }
    rd_kafka_topic_t *topic = rd_kafka_topic_new(rk, argv[2], NULL);
    char *payload = malloc(record_bytes);
    if (payload == NULL || record_bytes == 0) {
        (void)fprintf(stderr, "bench-rdkafka: RECORD_BYTES is not usable\n");
        return 2;
    }
    memset(payload, 'x', record_bytes);
    double start = now_s();
    for (long i = 0; i < records; i++) {
        while (rd_kafka_produce(topic, RD_KAFKA_PARTITION_UA, RD_KAFKA_MSG_F_COPY, payload,
                                record_bytes, NULL, 0, NULL) != 0) {
            rd_kafka_poll(rk, 5);
        }
        if (i % 1024 == 0) {
            rd_kafka_poll(rk, 0);
        }
    }
    rd_kafka_flush(rk, 120000);
    double seconds = now_s() - start;
    printf("{\"seconds\":%.6f,\"acknowledged\":%ld,\"failed\":%ld}\n", seconds, tally.acknowledged,
           tally.failed);
    free(payload);
    rd_kafka_topic_destroy(topic);
    rd_kafka_destroy(rk);
    return tally.failed == 0 && tally.acknowledged == records ? 0 : 1;
}
