/*
 * The metrics of a broker as text: every family of docs/metrics.md and no other, and values that follow
 * what the broker does.
 */
#include "broker/metrics.h"

#include "base/check.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "bench.h"

#define DOCUMENT (KLAMM_SOURCE_DIR "/docs/metrics.md")

static char *text_of(struct bench *b)
{
    struct broker_metrics_input in = {.replicas = b->replicas, .api = b->api};
    in.facts.state = BROKER_METRICS_RUNNING;
    in.facts.is_registered = true;
    in.facts.controller.is_active = true;
    in.facts.controller.epoch = 9;
    in.facts.controller.queue = 4;
    in.facts.controller.queued = 8;
    in.facts.controller.cluster = (struct control_figures){.brokers = 2,
                                                           .topics = 3,
                                                           .partitions = 30,
                                                           .leaderless = 5,
                                                           .unpreferred = 6,
                                                           .moves = 7,
                                                           .held = 11};
    struct buf out;
    buf_init(&out);
    broker_metrics_write(&in, &out);
    assert_false(buf_failed(&out));
    char *text = slice_dup(buf_slice(&out));
    buf_deinit(&out);
    return text;
}

/* The line is in the text, whole. */
static void assert_line(const char *text, const char *line)
{
    char *framed = xasprintf("\n%s\n", line);
    if (strstr(text, framed) == NULL) {
        fail_msg("no line %s in:\n%s", line, text);
    }
    free(framed);
}

static char *file_text(const char *path)
{
    FILE *file = fopen(path, "r");
    struct buf text;
    char piece[4096];
    size_t len;
    assert_non_null(file);
    buf_init(&text);
    while ((len = fread(piece, 1, sizeof piece, file)) > 0) {
        buf_put_bytes(&text, piece, len);
    }
    assert_int_equal(fclose(file), 0);
    char *copy = slice_dup(buf_slice(&text));
    buf_deinit(&text);
    return copy;
}

/* How often start + name + end occurs. */
static int occurrences(const char *text, const char *start, struct slice name, const char *end)
{
    char *wanted = xasprintf("%s%.*s%s", start, SLICE_ARG(name), end);
    int count = 0;
    for (const char *at = text; (at = strstr(at, wanted)) != NULL; at++) {
        count++;
    }
    free(wanted);
    return count;
}

/* Every line of `from` that begins with start names a family, up to stop; it must be in `in` once. */
static int compare_names(const char *from, const char *start, char stop, const char *in,
                         const char *around[2])
{
    int count = 0;
    for (const char *line = from; line != NULL; line = strchr(line, '\n')) {
        line += *line == '\n';
        if (strncmp(line, start, strlen(start)) != 0) {
            continue;
        }
        const char *name = line + strlen(start);
        struct slice found = slice_of(name, (size_t)(strchr(name, stop) - name));
        if (occurrences(in, around[0], found, around[1]) != 1) {
            fail_msg("family %.*s is not once on the other side", SLICE_ARG(found));
        }
        count++;
    }
    return count;
}

static void the_document_lists_every_family_and_no_other(void **state)
{
    (void)state;
    struct bench b = {0};
    bench_start(&b, NULL);
    char *text = text_of(&b);
    char *document = file_text(DOCUMENT);
    int told = compare_names(text, "# TYPE ", ' ', document, (const char *[2]){"| `", "` |"});
    int listed = compare_names(document, "| `k", '`', text, (const char *[2]){"# TYPE k", " "});
    assert_int_equal(told, listed);
    assert_true(told > 40);
    free(document);
    free(text);
    bench_stop(&b);
}

static void facts_have_a_line_each(void **state)
{
    (void)state;
    struct bench b = {0};
    bench_start(&b, NULL);
    char *text = text_of(&b);
    static const char *const lines[] = {
        "kafka_server_kafkaserver_brokerstate 3",
        "klamm_broker_registered 1",
        "kafka_server_socket_server_metrics_connection_count 0",
        "kafka_server_replicamanager_partitioncount 0",
        "kafka_controller_kafkacontroller_activecontrollercount 1",
        "kafka_controller_kafkacontroller_activebrokercount 2",
        "kafka_controller_kafkacontroller_globaltopiccount 3",
        "kafka_controller_kafkacontroller_globalpartitioncount 30",
        "kafka_controller_kafkacontroller_offlinepartitionscount 5",
        "kafka_controller_kafkacontroller_preferredreplicaimbalancecount 6",
        "klamm_moves_running 7",
        "klamm_moves_queued 8",
        "klamm_controller_left_alone 11",
        "klamm_controller_epoch 9",
        "kafka_controller_controllereventmanager_eventqueuesize 4",
        "kafka_log_logmanager_offlinelogdirectorycount 0",
        "klamm_log_dir_log_bytes{dir=\"/data/a\"} 0",
        "klamm_log_dir_log_bytes{dir=\"/data/b\"} 0",
        "kafka_network_requestmetrics_requests_total{request=\"Produce\"} 0",
        "# TYPE kafka_network_requestmetrics_totaltime_seconds histogram",
    };
    for (size_t i = 0; i < ARRAY_LEN(lines); i++) {
        assert_line(text, lines[i]);
    }
    free(text);
    bench_stop(&b);
}

static void what_clients_write_and_read_is_counted(void **state)
{
    (void)state;
    struct bench b = {0};
    bench_start(&b, NULL);
    bench_lead(&b);
    size_t bytes = bench_records(&b, 3).len;
    bench_append(&b, 3);
    struct wire_fetch_request_topics_partitions partition;
    wire_fetch_request_topics_partitions_init(&partition);
    partition.partition_max_bytes = 1 << 20;
    struct wire_fetch_request_topics topic = {
        .topic = slice_str("t"), .partitions = &partition, .partitions_count = 1};
    struct wire_fetch_request req;
    wire_fetch_request_init(&req);
    req.max_bytes = 1 << 20;
    req.topics = &topic;
    req.topics_count = 1;
    assert_non_null(bench_call(&b, WIRE_KEY_FETCH, 11, &req));
    assert_non_null(bench_call(&b, WIRE_KEY_FETCH, 11, &req));
    topic.topic = slice_str("none");
    assert_non_null(
        bench_call(&b, WIRE_KEY_FETCH, 11, &req)); /* one error code: of the partition */
    char *text = text_of(&b);
    char *lines[] = {
        xasprintf("kafka_server_brokertopicmetrics_messagesin_total 3"),
        xasprintf("kafka_server_brokertopicmetrics_bytesin_total %zu", bytes),
        xasprintf("kafka_server_brokertopicmetrics_bytesout_total %zu", 2 * bytes),
        xasprintf("kafka_server_brokertopicmetrics_replicationbytesout_total 0"),
        xasprintf("kafka_server_replicamanager_partitioncount 1"),
        xasprintf("kafka_server_replicamanager_leadercount 1"),
        xasprintf("kafka_server_socket_server_metrics_connection_count 1"),
        xasprintf("kafka_network_requestmetrics_requests_total{request=\"Produce\"} 1"),
        xasprintf("kafka_network_requestmetrics_errors_total{request=\"Produce\"} 0"),
        xasprintf("kafka_network_requestmetrics_requests_total{request=\"Fetch\"} 3"),
        xasprintf("kafka_network_requestmetrics_errors_total{request=\"Fetch\"} 1"),
        xasprintf("kafka_network_requestmetrics_totaltime_seconds_count{request=\"Fetch\"} 3"),
        xasprintf("kafka_log_log_size{topic=\"t\",partition=\"0\"} %zu", bytes),
        xasprintf("kafka_log_log_logstartoffset{topic=\"t\",partition=\"0\"} 0"),
        xasprintf("kafka_log_log_logendoffset{topic=\"t\",partition=\"0\"} 3"),
        xasprintf("kafka_cluster_partition_underreplicated{topic=\"t\",partition=\"0\"} 0"),
    };
    for (size_t i = 0; i < ARRAY_LEN(lines); i++) {
        assert_line(text, lines[i]);
        free(lines[i]);
    }
    free(text);
    bench_stop(&b);
}

/* An unknown key, and a version that is not served: both close the connection. */
static void requests_that_are_refused_are_counted(void **state)
{
    (void)state;
    struct bench b = {0};
    bench_start(&b, NULL);
    for (int i = 0; i < 2; i++) {
        struct buf frame;
        struct bench_call call = {.key = WIRE_KEY_PRODUCE, .version = 3, .bench = &b};
        buf_init(&frame);
        buf_put_u16(&frame, i == 0 ? 9999 : WIRE_KEY_PRODUCE);
        buf_put_u16(&frame, i == 0 ? 0 : 1);
        buf_put_u32(&frame, 1);
        buf_put_u16(&frame, 0xffff);
        net_peer_call(b.peer, &frame, BENCH_PATIENCE_MS, bench_answered, &call);
        assert_true(sim_world_run(b.world, BENCH_PATIENCE_MS, bench_is_done, &call));
        assert_int_equal(call.err, -E_CLOSED);
    }
    char *text = text_of(&b);
    assert_line(text, "klamm_network_unknown_requests_total 1");
    assert_line(text, "kafka_network_requestmetrics_requests_total{request=\"Produce\"} 1");
    assert_line(text, "kafka_network_requestmetrics_errors_total{request=\"Produce\"} 1");
    free(text);
    bench_stop(&b);
}

static void a_failed_directory_is_counted_and_tells_no_sizes(void **state)
{
    (void)state;
    struct bench b = {0};
    bench_start(&b, NULL);
    bench_lead(&b);
    bench_append(&b, 1); /* t-0 lies in the first directory */
    sim_disk_break(b.server, "/data/a");
    struct bench_produce produce = {
        .topic = "t", .acks = 1, .version = 9, .records = bench_records(&b, 1)};
    assert_int_not_equal(bench_produce(&b, &produce)->error_code, 0);
    bench_run(&b, 100);
    char *text = text_of(&b);
    assert_line(text, "kafka_log_logmanager_offlinelogdirectorycount 1");
    assert_line(text, "kafka_server_replicamanager_offlinereplicacount 1");
    assert_line(text, "klamm_log_dir_log_bytes{dir=\"/data/b\"} 0");
    assert_null(strstr(text, "{dir=\"/data/a\"}"));
    assert_null(strstr(text, "kafka_log_log_size{"));
    free(text);
    bench_stop(&b);
}

static void partitions_beyond_the_bound_are_only_counted(void **state)
{
    (void)state;
    struct bench b = {0};
    bench_start(&b, NULL);
    struct bench_partition p = {.topic = "t", .id = bench_uuid(1), .leader = 1, .leader_epoch = 3};
    p.replicas[0] = 1;
    p.replica_count = 1;
    assert_int_equal(bench_update_metadata(&b, &p), 0);
    for (p.partition = 0; p.partition < BROKER_METRICS_LOGS_MAX + 3; p.partition++) {
        bench_leader_and_isr(&b, &p);
    }
    char *text = text_of(&b);
    assert_line(text, "klamm_metrics_partitions_left_out 3");
    assert_line(text, "kafka_server_replicamanager_leadercount 2003");
    int told = 0;
    for (const char *at = text; (at = strstr(at, "\nkafka_log_log_size{")) != NULL; at++) {
        told++;
    }
    assert_int_equal(told, BROKER_METRICS_LOGS_MAX);
    free(text);
    bench_stop(&b);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_document_lists_every_family_and_no_other),
        cmocka_unit_test(facts_have_a_line_each),
        cmocka_unit_test(what_clients_write_and_read_is_counted),
        cmocka_unit_test(requests_that_are_refused_are_counted),
        cmocka_unit_test(a_failed_directory_is_counted_and_tells_no_sizes),
        cmocka_unit_test(partitions_beyond_the_bound_are_only_counted),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
