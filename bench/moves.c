/*
 * Times moves through libklamm, for bench.py.
 *   bench-moves BOOTSTRAP empty TOPICS PARTITIONS   makes TOPICS topics of PARTITIONS empty partitions on
 *       brokers 1,2,3, replaces 3 by 4 in all of them with one request, deletes them again
 *   bench-moves BOOTSTRAP copy TOPIC TARGET         moves partition 0 of TOPIC to broker TARGET
 * Prints one JSON object: seconds until accepted and until nothing moves any more.
 */
#include "base/alloc.h"
#include "klamm/klamm.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define POLL_MS    5
#define TIMEOUT_MS 120000

static double now_s(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

static void must(int code, const struct klamm_error *err, const char *what)
{
    if (code != 0) {
        (void)fprintf(stderr, "bench-moves: %s: %s\n", what, err->message);
        exit(1);
    }
}

/* One of the partitions that still move goes to ret_topic (a heap copy) and ret_partition; false when
 * none moves. among NULL: of the whole cluster. */
static bool find_moving(struct klamm_client *client, const struct klamm_partition_refs *among,
                        char **ret_topic, int32_t *ret_partition)
{
    struct klamm_error err;
    struct klamm_reassignments *moving;
    must(klamm_list_reassignments(client, among, &moving, &err), &err, "list");
    bool is_moving = moving->count > 0;
    if (is_moving) {
        *ret_topic = xstrdup(moving->list[moving->count - 1].topic);
        *ret_partition = moving->list[moving->count - 1].partition;
    }
    klamm_reassignments_free(moving);
    return is_moving;
}

/* Watches one partition at a time: listing ten thousand every few milliseconds would be a load of its
 * own. */
static void wait_until_idle(struct klamm_client *client)
{
    struct klamm_error err;
    char *topic;
    struct klamm_partition_ref ref;
    while (find_moving(client, NULL, &topic, &ref.partition)) {
        ref.topic = topic;
        struct klamm_partition_refs one = {.list = &ref, .count = 1};
        char *same;
        int32_t partition;
        while (find_moving(client, &one, &same, &partition)) {
            free(same);
            must(klamm_wait(client, POLL_MS, &err), &err, "wait");
        }
        free(topic);
    }
}

/* Sends the targets as one request and prints the two times. */
static void move_and_time(struct klamm_client *client, const struct klamm_target *targets,
                          int32_t count)
{
    struct klamm_error err;
    struct klamm_partition_results *results;
    double start = now_s();
    struct klamm_alter alter = {.targets = targets, .target_count = count};
    must(klamm_alter_reassignments(client, &alter, &results, &err), &err, "alter");
    double accepted = now_s() - start;
    for (int32_t i = 0; i < results->count; i++) {
        if (results->list[i].code != 0) {
            (void)fprintf(stderr, "bench-moves: %s-%d: %s\n", results->list[i].topic,
                          results->list[i].partition, results->list[i].message);
            exit(1);
        }
    }
    klamm_partition_results_free(results);
    wait_until_idle(client);
    printf("{\"accept_s\":%.6f,\"done_s\":%.6f}\n", accepted, now_s() - start);
}

static void topics_create(struct klamm_client *client, char **names, int32_t topics,
                          int32_t partitions)
{
    static const int32_t brokers[] = {1, 2, 3};
    struct klamm_ids *rows = xalloc((size_t)partitions * sizeof *rows);
    for (int32_t p = 0; p < partitions; p++) {
        rows[p] = (struct klamm_ids){.list = brokers, .count = 3};
    }
    for (int32_t t = 0; t < topics; t++) {
        struct klamm_error err;
        struct klamm_topic_results *results;
        struct klamm_new_topic topic = {
            .name = names[t], .assignments = rows, .assignment_count = partitions};
        must(klamm_create_topics(client, &topic, 1, &results, &err), &err, "create");
        if (results->list[0].code != 0) {
            (void)fprintf(stderr, "bench-moves: create %s: %s\n", names[t],
                          results->list[0].message);
            exit(1);
        }
        klamm_topic_results_free(results);
    }
    free(rows);
}

/* Until each partition has all three replicas in sync. */
static void topics_wait(struct klamm_client *client, char **names, int32_t topics)
{
    union {
        char **in;
        const char *const *out;
    } list = {.in = names};
    for (;;) {
        struct klamm_error err;
        struct klamm_topics *described;
        must(klamm_describe_topics(client, list.out, topics, &described, &err), &err, "describe");
        int32_t missing = 0;
        for (int32_t t = 0; t < described->count; t++) {
            const struct klamm_topic *topic = &described->list[t];
            missing += topic->partition_count == 0;
            for (int32_t p = 0; p < topic->partition_count; p++) {
                missing += topic->partitions[p].leader_id < 0 || topic->partitions[p].isr.count < 3;
            }
        }
        klamm_topics_free(described);
        if (missing == 0) {
            return;
        }
        must(klamm_wait(client, 50, &err), &err, "wait");
    }
}

static void topics_delete(struct klamm_client *client, char **names, int32_t topics)
{
    struct klamm_error err;
    struct klamm_topic_results *results;
    union {
        char **in;
        const char *const *out;
    } list = {.in = names};
    must(klamm_delete_topics(client, list.out, topics, &results, &err), &err, "delete");
    klamm_topic_results_free(results);
}

static void run_empty(struct klamm_client *client, int32_t topics, int32_t partitions)
{
    static const int32_t target[] = {1, 2, 4};
    char **names = xalloc((size_t)topics * sizeof *names);
    struct klamm_target *targets = xalloc((size_t)topics * (size_t)partitions * sizeof *targets);
    for (int32_t t = 0; t < topics; t++) {
        names[t] = xasprintf("bench-empty-%d-%d", partitions, t);
        for (int32_t p = 0; p < partitions; p++) {
            targets[t * partitions + p] = (struct klamm_target){
                .topic = names[t], .partition = p, .replicas = {.list = target, .count = 3}};
        }
    }
    topics_create(client, names, topics, partitions);
    topics_wait(client, names, topics);
    move_and_time(client, targets, topics * partitions);
    topics_delete(client, names, topics);
    for (int32_t t = 0; t < topics; t++) {
        free(names[t]);
    }
    free(names);
    free(targets);
}

int main(int argc, char **argv)
{
    if (argc != 5 || (strcmp(argv[2], "empty") != 0 && strcmp(argv[2], "copy") != 0)) {
        (void)fprintf(stderr, "usage: bench-moves BOOTSTRAP empty TOPICS PARTITIONS\n"
                              "       bench-moves BOOTSTRAP copy TOPIC TARGET\n");
        return 2;
    }
    struct klamm_config config = {.bootstrap_servers = argv[1], .timeout_ms = TIMEOUT_MS};
    struct klamm_client *client;
    struct klamm_error err;
    must(klamm_connect(&config, &client, &err), &err, "connect");
    if (strcmp(argv[2], "empty") == 0) {
        run_empty(client, (int32_t)strtol(argv[3], NULL, 10), (int32_t)strtol(argv[4], NULL, 10));
    } else {
        int32_t to = (int32_t)strtol(argv[4], NULL, 10);
        struct klamm_target target = {
            .topic = argv[3], .partition = 0, .replicas = {.list = &to, .count = 1}};
        move_and_time(client, &target, 1);
    }
    klamm_close(client);
    return 0;
}
