/*
 * A cluster's controller dies, for bench.py.
 *   bench-failover BOOTSTRAP create TOPICS PARTITIONS BROKERS FACTOR
 *       makes TOPICS topics of PARTITIONS partitions, spread over brokers 1..BROKERS
 *   bench-failover BOOTSTRAP settle TOPICS PARTITIONS BROKERS FACTOR
 *       waits until all their replicas are in sync
 *   bench-failover BOOTSTRAP kill TOPICS BROKERS CONTROLLER PID
 *       kills process PID, the broker CONTROLLER, and prints one JSON object of moments (seconds of the
 *       monotonic clock): killed, accepted (another one took an Alter), told (every other broker's
 *       metadata names living leaders for all partitions)
 */
#include "base/alloc.h"
#include "base/buf.h"
#include "base/check.h"
#include "client/client.h"
#include "klamm/klamm.h"
#include "wire/alter_partition_reassignments.h"
#include "wire/metadata.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define POLL_MS    5
#define CALL_MS    30000
#define TIMEOUT_MS 600000

struct bench {
    struct klamm_client *client;
    int32_t topics;
    int32_t brokers;
    int32_t dead; /* the broker that was killed */
};

static double now_s(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

static void must(int code, const struct klamm_error *err, const char *what)
{
    if (code != 0) {
        (void)fprintf(stderr, "bench-failover: %s: %s\n", what, err->message);
        exit(1);
    }
}

static char *topic_name(int32_t index)
{
    return xasprintf("failover-%d", index);
}

/* ---- create ---- */

static void topic_create(const struct bench *b, int32_t index, int32_t partitions, int32_t factor)
{
    struct klamm_error err;
    struct klamm_topic_results *results;
    struct klamm_ids *rows = xalloc((size_t)partitions * sizeof *rows);
    int32_t *ids = xalloc((size_t)partitions * (size_t)factor * sizeof *ids);
    for (int32_t p = 0; p < partitions; p++) {
        for (int32_t i = 0; i < factor; i++) {
            ids[p * factor + i] = 1 + (p + i) % b->brokers;
        }
        rows[p] = (struct klamm_ids){.list = &ids[p * factor], .count = factor};
    }
    char *name = topic_name(index);
    struct klamm_new_topic topic = {
        .name = name, .assignments = rows, .assignment_count = partitions};
    must(klamm_create_topics(b->client, &topic, 1, &results, &err), &err, "create");
    if (results->list[0].code != 0) {
        (void)fprintf(stderr, "bench-failover: create %s: %s\n", name, results->list[0].message);
        exit(1);
    }
    klamm_topic_results_free(results);
    free(name);
    free(ids);
    free(rows);
}

static void topic_wait(const struct bench *b, int32_t index, int32_t factor)
{
    char *name = topic_name(index);
    const char *names[] = {name};
    struct klamm_error err;
    int32_t missing = 1;
    while (missing > 0) {
        struct klamm_topics *described;
        must(klamm_describe_topics(b->client, names, 1, &described, &err), &err, "describe");
        const struct klamm_topic *topic = &described->list[0];
        missing = topic->partition_count == 0 ? 1 : 0;
        for (int32_t p = 0; p < topic->partition_count; p++) {
            missing +=
                topic->partitions[p].leader_id < 0 || topic->partitions[p].isr.count < factor;
        }
        klamm_topics_free(described);
        if (missing > 0) {
            must(klamm_wait(b->client, 50, &err), &err, "wait");
        }
    }
    free(name);
}

/* ---- kill ---- */

/* The broker's own code for an Alter that changes nothing; the call's where there was no answer. */
static int alter_try(const struct bench *b, struct client_node *node)
{
    struct wire_alter_partition_reassignments_request_topics_partitions partition;
    struct wire_alter_partition_reassignments_request_topics topic;
    struct wire_alter_partition_reassignments_request request;
    struct wire_alter_partition_reassignments_response response;
    struct client_call call = {
        .key = WIRE_KEY_ALTER_PARTITION_REASSIGNMENTS, .request = &request, .response = &response};
    int32_t list[] = {1, 2};
    struct klamm_error err;
    char *name = topic_name(0);
    wire_alter_partition_reassignments_request_topics_partitions_init(&partition);
    partition.replicas = list;
    partition.replicas_count = 2;
    wire_alter_partition_reassignments_request_topics_init(&topic);
    topic.name = slice_str(name);
    topic.partitions = &partition;
    topic.partitions_count = 1;
    wire_alter_partition_reassignments_request_init(&request);
    request.topics = &topic;
    request.topics_count = 1;
    int64_t deadline_ms = env_now_ms(b->client->env) + CALL_MS;
    int code = client_call_node(b->client, node, &call, deadline_ms, &err);
    if (code == 0) {
        code = response.error_code;
    }
    if (code == 0 && response.responses_count == 1) {
        code = response.responses[0].partitions[0].error_code;
    }
    client_call_deinit(&call);
    free(name);
    return code;
}

/* True when every partition of the topic has a leader that lives, as this broker knows. */
static bool is_told(const struct bench *b, struct client_node *node, int32_t index)
{
    struct wire_metadata_request_topics topic;
    struct wire_metadata_request request;
    struct wire_metadata_response response;
    struct client_call call = {
        .key = WIRE_KEY_METADATA, .version_min = 4, .request = &request, .response = &response};
    struct klamm_error err;
    char *name = topic_name(index);
    wire_metadata_request_topics_init(&topic);
    topic.name = slice_str(name);
    wire_metadata_request_init(&request);
    request.allow_auto_topic_creation = false;
    request.topics = &topic;
    request.topics_count = 1;
    int64_t deadline_ms = env_now_ms(b->client->env) + CALL_MS;
    bool is_good = client_call_node(b->client, node, &call, deadline_ms, &err) == 0 &&
                   response.topics_count == 1 && response.topics[0].partitions_count > 0;
    for (int32_t p = 0; is_good && p < response.topics[0].partitions_count; p++) {
        int32_t leader = response.topics[0].partitions[p].leader_id;
        is_good = leader >= 0 && leader != b->dead;
    }
    client_call_deinit(&call);
    free(name);
    return is_good;
}

static struct client_node *node_of(const struct bench *b, int32_t id)
{
    struct client_node *node = client_find_broker(b->client, id);
    if (node == NULL) {
        (void)fprintf(stderr, "bench-failover: broker %d is not up\n", id);
        exit(1);
    }
    return node;
}

static void poll_wait(const struct bench *b, double start_s)
{
    struct klamm_error err;
    if (now_s() - start_s > (double)TIMEOUT_MS / 1000) {
        (void)fprintf(stderr, "bench-failover: it takes too long\n");
        exit(1);
    }
    must(klamm_wait(b->client, POLL_MS, &err), &err, "wait");
}

static void run_kill(const struct bench *b, pid_t pid)
{
    for (int32_t id = 1; id <= b->brokers; id++) {
        if (id != b->dead) {
            (void)is_told(b, node_of(b, id), 0); /* connects */
        }
    }
    double killed_s = now_s();
    if (kill(pid, SIGKILL) != 0) {
        (void)fprintf(stderr, "bench-failover: process %d cannot be killed\n", (int)pid);
        exit(1);
    }
    bool is_accepted = false;
    while (!is_accepted) {
        for (int32_t id = 1; id <= b->brokers && !is_accepted; id++) {
            is_accepted = id != b->dead && alter_try(b, node_of(b, id)) == 0;
        }
        if (!is_accepted) {
            poll_wait(b, killed_s);
        }
    }
    double accepted_s = now_s();
    for (int32_t id = 1; id <= b->brokers; id++) {
        for (int32_t t = 0; t < b->topics && id != b->dead; t++) {
            while (!is_told(b, node_of(b, id), t)) {
                poll_wait(b, killed_s);
            }
        }
    }
    printf("{\"killed\":%.6f,\"accepted\":%.6f,\"told\":%.6f}\n", killed_s, accepted_s, now_s());
}

static int32_t number(const char *text)
{
    return (int32_t)strtol(text, NULL, 10);
}

int main(int argc, char **argv)
{
    bool is_create = argc == 7 && strcmp(argv[2], "create") == 0;
    bool is_settle = argc == 7 && strcmp(argv[2], "settle") == 0;
    bool is_kill = argc == 7 && strcmp(argv[2], "kill") == 0;
    if (!is_create && !is_settle && !is_kill) {
        (void)fprintf(stderr,
                      "usage: bench-failover BOOTSTRAP create|settle TOPICS PARTITIONS BROKERS "
                      "FACTOR\n"
                      "       bench-failover BOOTSTRAP kill TOPICS BROKERS CONTROLLER PID\n");
        return 2;
    }
    struct klamm_config config = {.bootstrap_servers = argv[1], .timeout_ms = TIMEOUT_MS};
    struct bench b = {.topics = number(argv[3]), .brokers = number(argv[is_kill ? 4 : 5])};
    struct klamm_error err;
    must(klamm_connect(&config, &b.client, &err), &err, "connect");
    must(client_refresh(b.client, env_now_ms(b.client->env) + CALL_MS, &err), &err, "brokers");
    for (int32_t t = 0; is_create && t < b.topics; t++) {
        topic_create(&b, t, number(argv[4]), number(argv[6]));
    }
    for (int32_t t = 0; is_settle && t < b.topics; t++) {
        topic_wait(&b, t, number(argv[6]));
    }
    if (is_kill) {
        b.dead = number(argv[5]);
        run_kill(&b, (pid_t)number(argv[6]));
    }
    klamm_close(b.client);
    return 0;
}
