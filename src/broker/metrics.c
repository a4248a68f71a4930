/*
 * See metrics.h. One table for the facts that have no labels; directories and partitions follow.
 */
#include "broker/metrics.h"

#include "base/check.h"
#include "broker/api/api.h"
#include "broker/metrics_moves.h"
#include "metric/metric.h"
#include "metric/text.h"

#include <stddef.h>
#include <stdio.h>

/* ---- facts without labels ---- */

struct row {
    enum metric_kind kind;
    const char *name;
    size_t offset; /* in broker_metrics_facts */
    size_t size;
    const char *help;
};

#define FACT(field)                                                                                \
    offsetof(struct broker_metrics_facts, field),                                                  \
        sizeof(((struct broker_metrics_facts *)NULL)->field)
#define MANAGER    "kafka_server_replicamanager_"
#define TOPICS     "kafka_server_brokertopicmetrics_"
#define FETCHERS   "kafka_server_replicafetchermanager_"
#define CONTROLLER "kafka_controller_kafkacontroller_"

static const struct row rows[] = {
    {METRIC_GAUGE, "kafka_server_kafkaserver_brokerstate", FACT(state),
     "1 starting, 3 running, 6 stopping."},
    {METRIC_GAUGE, "klamm_broker_registered", FACT(is_registered),
     "1 while the broker is registered in the metastore."},
    {METRIC_GAUGE, "kafka_server_socket_server_metrics_connection_count", FACT(connections),
     "Open connections of clients and brokers."},
    {METRIC_GAUGE, MANAGER "partitioncount", FACT(replicas.partitions), "Hosted partitions."},
    {METRIC_GAUGE, MANAGER "leadercount", FACT(replicas.leaders), "Partitions led here."},
    {METRIC_GAUGE, MANAGER "underreplicatedpartitions", FACT(replicas.under_replicated),
     "Led partitions with fewer in-sync replicas than they have replicas without adding ones "
     "(KIP-352)."},
    {METRIC_GAUGE, MANAGER "underminisrpartitioncount", FACT(replicas.under_min_isr),
     "Led partitions with fewer in-sync replicas than the effective min.insync.replicas."},
    {METRIC_GAUGE, MANAGER "atminisrpartitioncount", FACT(replicas.at_min_isr),
     "Led partitions with exactly as many in-sync replicas as the effective "
     "min.insync.replicas."},
    {METRIC_GAUGE, MANAGER "reassigningpartitions", FACT(replicas.reassigning),
     "Led partitions that are being moved: with adding or removing replicas."},
    {METRIC_GAUGE, MANAGER "offlinereplicacount", FACT(replicas.offline),
     "Hosted replicas in failed log directories."},
    {METRIC_COUNTER, MANAGER "isrexpands_total", FACT(replicas.isr_expands),
     "In-sync sets that grew, as their leader committed it."},
    {METRIC_COUNTER, MANAGER "isrshrinks_total", FACT(replicas.isr_shrinks),
     "In-sync sets that shrank, as their leader committed it."},
    {METRIC_COUNTER, MANAGER "failedisrupdates_total", FACT(replicas.isr_update_failures),
     "Changes of in-sync sets that the controller refused."},
    {METRIC_COUNTER, TOPICS "messagesin_total", FACT(replicas.produced_records),
     "Records that clients appended."},
    {METRIC_COUNTER, TOPICS "bytesin_total", FACT(replicas.produced_bytes),
     "Bytes of record batches that clients appended."},
    {METRIC_COUNTER, TOPICS "bytesout_total", FACT(replicas.consumed_bytes),
     "Bytes of record batches sent to consumers."},
    {METRIC_COUNTER, TOPICS "replicationbytesin_total", FACT(replicas.replication_bytes_in),
     "Bytes of record batches that this broker's followers appended."},
    {METRIC_COUNTER, TOPICS "replicationbytesout_total", FACT(replicas.replication_bytes_out),
     "Bytes of record batches sent to followers."},
    {METRIC_COUNTER, TOPICS "reassignmentbytesin_total", FACT(replicas.reassignment_bytes_in),
     "The part of the bytes in that was appended while the local replica was being added."},
    {METRIC_COUNTER, TOPICS "reassignmentbytesout_total", FACT(replicas.reassignment_bytes_out),
     "The part of the bytes out that went to replicas being added."},
    {METRIC_GAUGE, FETCHERS "maxlag", FACT(replicas.max_lag),
     "Records that the followers here are behind their leaders, at most."},
    {METRIC_GAUGE, FETCHERS "failedpartitionscount", FACT(replicas.failed_fetches),
     "Partitions whose copying stopped for good until the controller tells news."},
    {METRIC_GAUGE, "klamm_replica_retried_partitions", FACT(replicas.retried_fetches),
     "Partitions whose copying met an error and is tried again with a growing delay."},
    {METRIC_GAUGE, "klamm_replica_paused_partitions", FACT(replicas.paused_fetches),
     "Partitions whose copying waits because their moves are paused."},
    {METRIC_GAUGE, "klamm_replica_fetchers", FACT(replicas.fetchers),
     "Connections that copy from leaders."},
    {METRIC_COUNTER, "klamm_replica_fetcher_restarts_total", FACT(replicas.fetch_restarts),
     "Times that a fetcher lost its connection, its session or its leader's good will and began "
     "anew."},
    {METRIC_GAUGE, CONTROLLER "activecontrollercount", FACT(controller.is_active),
     "1 on the active controller."},
    {METRIC_GAUGE, CONTROLLER "activebrokercount", FACT(controller.cluster.brokers),
     "Live brokers; 0 but on the active controller, as all that follow."},
    {METRIC_GAUGE, CONTROLLER "globaltopiccount", FACT(controller.cluster.topics), "Topics."},
    {METRIC_GAUGE, CONTROLLER "globalpartitioncount", FACT(controller.cluster.partitions),
     "Partitions."},
    {METRIC_GAUGE, CONTROLLER "offlinepartitionscount", FACT(controller.cluster.leaderless),
     "Partitions without a leader."},
    {METRIC_GAUGE, CONTROLLER "preferredreplicaimbalancecount",
     FACT(controller.cluster.unpreferred),
     "Partitions that the first of their replica list does not lead."},
    {METRIC_GAUGE, CONTROLLER "topicstodeletecount", FACT(controller.cluster.deleting),
     "Topics that wait for their deletion or are in it."},
    {METRIC_GAUGE, "kafka_controller_controllereventmanager_eventqueuesize", FACT(controller.queue),
     "Requests and partitions that the controller has yet to look at."},
    {METRIC_GAUGE, "klamm_controller_epoch", FACT(controller.epoch),
     "The controller epoch; -1 but on the active controller."},
    {METRIC_GAUGE, "klamm_controller_left_alone", FACT(controller.cluster.held),
     "Partitions and topics that are left alone, because a znode of them cannot be written."},
    {METRIC_GAUGE, "klamm_moves_running", FACT(controller.cluster.moves),
     "Moves that the controller carries out."},
    {METRIC_GAUGE, "klamm_moves_queued", FACT(controller.queued),
     "Moves that wait in the controller's queue."},
    {METRIC_GAUGE, "klamm_moves_left_out", FACT(moves_left_out),
     "Running moves without series of their own, because there are too many."},
    {METRIC_GAUGE, "kafka_log_logmanager_offlinelogdirectorycount", FACT(dirs_offline),
     "Log directories that have failed."},
    {METRIC_GAUGE, "klamm_metrics_partitions_left_out", FACT(logs_left_out),
     "Hosted partitions without series of their own, because there are too many."},
};

static int64_t fact_load(const struct broker_metrics_facts *facts, const struct row *row)
{
    const uint8_t *at = (const uint8_t *)facts + row->offset;
    if (row->size == sizeof(int64_t)) {
        int64_t value;
        memcpy(&value, at, sizeof value);
        return value;
    }
    if (row->size == sizeof(int32_t)) {
        int32_t value;
        memcpy(&value, at, sizeof value);
        return value;
    }
    CHECK(row->size == sizeof(bool));
    return *at;
}

static void write_facts(const struct broker_metrics_facts *facts, struct buf *out)
{
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        metric_text_family(out, rows[i].kind, rows[i].name, rows[i].help);
        metric_text_value(out, rows[i].name, "", fact_load(facts, &rows[i]));
    }
}

/* ---- directories and partitions ---- */

/* Series of several families side by side; each becomes one run of the text. */
struct families {
    struct buf dir_total;
    struct buf dir_usable;
    struct buf dir_bytes;
    struct buf log_size;
    struct buf log_start;
    struct buf log_end;
    struct buf under_replicated;
};

#define FAMILY(field) offsetof(struct families, field)

static const struct family {
    const char *name;
    size_t offset;
    const char *help;
} family_rows[] = {
    {"klamm_log_dir_total_bytes", FAMILY(dir_total), "Size of the file system of a log directory."},
    {"klamm_log_dir_usable_bytes", FAMILY(dir_usable),
     "What is free in the file system of a log directory."},
    {"klamm_log_dir_log_bytes", FAMILY(dir_bytes), "Size of all logs in a log directory."},
    {"kafka_log_log_size", FAMILY(log_size), "Size of a partition's log in bytes."},
    {"kafka_log_log_logstartoffset", FAMILY(log_start), "First offset of a partition's log."},
    {"kafka_log_log_logendoffset", FAMILY(log_end), "Next offset of a partition's log."},
    {"kafka_cluster_partition_underreplicated", FAMILY(under_replicated),
     "1 for a led partition that is under-replicated (KIP-352), 0 for any other hosted one."},
};

static struct buf *family_buf(struct families *f, size_t offset)
{
    return (struct buf *)((uint8_t *)f + offset);
}

struct walk {
    struct broker_metrics_input *in;
    struct families *families;
    int32_t told;
    int64_t dir_bytes;
};

static void write_log(void *arg, const struct replicas_log_info *info)
{
    struct walk *w = arg;
    char labels[REPLICAS_TOPIC_LEN_MAX + 48];
    if (info->is_offline) {
        return;
    }
    w->dir_bytes += info->size;
    if (w->told == BROKER_METRICS_LOGS_MAX) {
        w->in->facts.logs_left_out++;
        return;
    }
    w->told++;
    /* Nothing in a topic's name needs escapes. */
    (void)snprintf(labels, sizeof labels, "topic=\"%s\",partition=\"%d\"", info->topic,
                   info->partition);
    struct families *f = w->families;
    metric_text_value(&f->log_size, "kafka_log_log_size", labels, info->size);
    metric_text_value(&f->log_start, "kafka_log_log_logstartoffset", labels, info->log_start);
    metric_text_value(&f->log_end, "kafka_log_log_logendoffset", labels, info->log_end);
    metric_text_value(&f->under_replicated, "kafka_cluster_partition_underreplicated", labels,
                      info->is_under_replicated);
}

static void write_dir(struct walk *w, int32_t index)
{
    struct replicas_dir_info info;
    struct buf labels;
    replicas_dir_get(w->in->replicas, index, &info);
    w->in->facts.dirs_offline += info.is_offline;
    w->dir_bytes = 0;
    replicas_each_log(w->in->replicas, index, write_log, w);
    buf_init(&labels);
    metric_label(&labels, "dir", info.path);
    buf_put_u8(&labels, 0);
    const char *text = (const char *)labels.ptr;
    struct families *f = w->families;
    if (!info.is_offline) {
        metric_text_value(&f->dir_total, "klamm_log_dir_total_bytes", text, info.total_bytes);
        metric_text_value(&f->dir_usable, "klamm_log_dir_usable_bytes", text, info.usable_bytes);
        metric_text_value(&f->dir_bytes, "klamm_log_dir_log_bytes", text, w->dir_bytes);
    }
    buf_deinit(&labels);
}

void broker_metrics_write(struct broker_metrics_input *in, struct buf *out)
{
    struct families families;
    struct walk walk = {.in = in, .families = &families};
    for (size_t i = 0; i < ARRAY_LEN(family_rows); i++) {
        buf_init(family_buf(&families, family_rows[i].offset));
    }
    replicas_metrics(in->replicas, &in->facts.replicas);
    in->facts.connections = api_connection_count(in->api);
    in->facts.dirs_offline = 0;
    in->facts.logs_left_out = 0;
    in->facts.moves_left_out = 0;
    for (int32_t i = 0; i < MOVES_REASON_COUNT; i++) {
        in->facts.moves_left_out += in->facts.controller.by_reason[i];
    }
    in->facts.moves_left_out -= in->facts.controller.move_count;
    for (int32_t i = 0; i < replicas_dir_count(in->replicas); i++) {
        write_dir(&walk, i);
    }
    write_facts(&in->facts, out);
    for (size_t i = 0; i < ARRAY_LEN(family_rows); i++) {
        struct buf *series = family_buf(&families, family_rows[i].offset);
        metric_text_family(out, METRIC_GAUGE, family_rows[i].name, family_rows[i].help);
        buf_put_slice(out, buf_slice(series));
        out->failed = out->failed || buf_failed(series);
        buf_deinit(series);
    }
    broker_metrics_moves_write(&in->facts.controller, out);
    api_write_metrics(in->api, out);
}
