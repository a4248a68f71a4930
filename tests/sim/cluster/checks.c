/*
 * The invariants (design section 6): one leader an epoch; what was acknowledged is read, in order and
 * once (workload.c); undo is exact (operator.c); after healing everything settles; then all replicas of
 * a partition hold the same bytes.
 */
#include "base/alloc.h"
#include "broker/replicas/replicas.h"
#include "metastore/path.h"
#include "metastore/znode.h"
#include "sim/cluster/cluster.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct state_read {
    struct cluster *cluster;
    int32_t partition;
};

static void topic_observed(void *arg, const struct metastore_result *result)
{
    struct cluster *c = arg;
    struct model_topic topic = {0};
    struct errmsg em = {""};
    c->reads_due--;
    if (result->err != 0) {
        return;
    }
    if (metastore_topic_decode(result->data, slice_str(CLUSTER_TOPIC), &topic, &em) != 0) {
        cluster_fail(c, "topic znode: %s", em.text);
        return;
    }
    model_topic_deinit(&c->topic);
    c->topic = topic;
}

static void state_trace(struct cluster *c, int32_t partition,
                        const struct model_partition_state *state)
{
    char isr[64] = "";
    size_t used = 0;
    for (int32_t i = 0; i < state->isr.count && used < sizeof isr; i++) {
        used += (size_t)snprintf(isr + used, sizeof isr - used, " %d", state->isr.list[i]);
    }
    sim_trace(c->world, "stored: partition %d leader %d epoch %d ISR%s", partition, state->leader,
              state->leader_epoch, isr);
}

static void state_observed(void *arg, const struct metastore_result *result)
{
    struct state_read *read = arg;
    struct cluster *c = read->cluster;
    struct errmsg em = {""};
    struct model_partition_state state = {0};
    c->reads_due--;
    if (result->err == 0) {
        if (metastore_partition_state_decode(result->data, &state, &em) != 0) {
            cluster_fail(c, "state znode of %d: %s", read->partition, em.text);
        } else {
            if (!model_partition_state_equal(&state, &c->states[read->partition])) {
                state_trace(c, read->partition, &state);
            }
            model_partition_state_deinit(&c->states[read->partition]);
            c->states[read->partition] = state;
        }
    }
    free(read);
}

static void plan_observed(void *arg, const struct metastore_result *result)
{
    struct cluster *c = arg;
    struct errmsg em = {""};
    struct metastore_legacy_move *moves = NULL;
    int32_t count = 0;
    c->reads_due--;
    if (result->err == 0 && metastore_legacy_moves_decode(result->data, &moves, &count, &em) != 0) {
        cluster_fail(c, "the plan of moves: %s", em.text);
    }
    if (result->err == 0 || result->err == -E_NOT_FOUND) {
        if (c->has_plan != (result->err == 0)) {
            sim_trace(c->world, "stored: the plan of moves %s", c->has_plan ? "went" : "came");
        }
        c->has_plan = result->err == 0;
    }
    for (int32_t i = 0; i < count; i++) {
        if (strcmp(moves[i].topic, CLUSTER_TOPIC) == 0 && moves[i].partition < c->partition_count) {
            cluster_operator_planned(c, moves[i].partition);
        }
    }
    metastore_legacy_moves_free(moves, count);
}

void cluster_observe(struct cluster *c)
{
    if (c->reads_due > 0) {
        return;
    }
    c->reads_due = 2 + c->partition_count;
    metastore_get(c->session, slice_str(METASTORE_REASSIGN), NULL, NULL, plan_observed, c);
    metastore_get(c->session, slice_str("/brokers/topics/" CLUSTER_TOPIC), NULL, NULL,
                  topic_observed, c);
    for (int32_t p = 0; p < c->partition_count; p++) {
        struct state_read *read = xalloc(sizeof *read);
        *read = (struct state_read){.cluster = c, .partition = p};
        char path[96];
        (void)snprintf(path, sizeof path, "/brokers/topics/%s/partitions/%d/state", CLUSTER_TOPIC,
                       p);
        metastore_get(c->session, slice_str(path), NULL, NULL, state_observed, read);
    }
}

static void leader_seen(struct cluster *c, int32_t partition, int32_t epoch, int32_t broker)
{
    if (epoch < 0) {
        return;
    }
    while (epoch >= c->leaders_cap[partition]) {
        int32_t cap = c->leaders_cap[partition] == 0 ? 64 : c->leaders_cap[partition] * 2;
        c->leaders[partition] = xrealloc(c->leaders[partition], (size_t)cap * sizeof(int32_t));
        for (int32_t i = c->leaders_cap[partition]; i < cap; i++) {
            c->leaders[partition][i] = -1;
        }
        c->leaders_cap[partition] = cap;
    }
    int32_t *known = &c->leaders[partition][epoch];
    if (*known != -1 && *known != broker) {
        cluster_fail(c, "partition %d: brokers %d and %d both lead epoch %d", partition, *known,
                     broker, epoch);
    }
    *known = broker;
}

static void log_end_seen(struct cluster_broker *b, int32_t partition, int64_t log_end)
{
    if (log_end < b->log_ends[partition]) {
        sim_trace(b->cluster->world, "broker %d: log of partition %d ends at %lld, before at %lld",
                  b->id, partition, (long long)log_end, (long long)b->log_ends[partition]);
    }
    b->log_ends[partition] = log_end;
}

void cluster_check_leaders(struct cluster *c)
{
    for (int32_t i = 0; i < c->broker_count; i++) {
        struct cluster_broker *b = &c->brokers[i];
        struct replicas *replicas = b->broker == NULL ? NULL : broker_replicas(b->broker);
        for (int32_t p = 0; replicas != NULL && p < c->partition_count; p++) {
            struct replicas_partition_info info;
            if (!replicas_partition_get(replicas, slice_str(CLUSTER_TOPIC), p, &info)) {
                continue;
            }
            log_end_seen(b, p, info.log_end);
            if (info.is_leader) {
                leader_seen(c, p, info.leader_epoch, b->id);
            }
        }
    }
}

/* Where records may be lost, a reader may wait for them for ever. */
static bool is_served(const struct cluster *c, int32_t partition)
{
    return c->writers[partition].batch_count == 0 &&
           (c->options.loses_last_replica ||
            c->readers[partition].expected >= c->writers[partition].acked);
}

/* A controller below 2.4-IV0 leaves the plan of an old tool where it is (decision 9). */
static bool plan_may_wait(const struct cluster *c)
{
    return c->options.mixes_levels &&
           (!ibp_has(c->levels[0], IBP_REASSIGNMENTS) || !ibp_has(c->levels[1], IBP_REASSIGNMENTS));
}

/* What a dead controller told nobody to delete goes when brokers find that it is not theirs. */
static bool is_tidy(const struct cluster *c)
{
    for (int32_t i = 0; c->options.crossed != NULL && i < c->broker_count; i++) {
        struct replicas *replicas = broker_replicas(c->brokers[i].broker);
        for (int32_t p = 0; p < c->partition_count; p++) {
            struct replicas_partition_info info;
            if (!ids_has(&c->topic.partitions[p].replicas, c->brokers[i].id) &&
                replicas_partition_get(replicas, slice_str(CLUSTER_TOPIC), p, &info)) {
                return false;
            }
        }
    }
    return true;
}

bool cluster_is_settled(struct cluster *c)
{
    if ((c->op.has_queue && !c->op.is_finished) || !cluster_jobs_are_over(c)) {
        return false;
    }
    if (cluster_crash_is_checked(c) || c->reads_due > 0 || (c->has_plan && !plan_may_wait(c)) ||
        c->topic.partition_count != c->partition_count) {
        return false;
    }
    for (int32_t i = 0; i < c->broker_count; i++) {
        if (c->brokers[i].broker == NULL || !broker_is_ready(c->brokers[i].broker)) {
            return false; /* until it registers, the ISRs may still show its former life */
        }
    }
    for (int32_t p = 0; p < c->partition_count; p++) {
        const struct assignment *a = &c->topic.partitions[p];
        const struct model_partition_state *s = &c->states[p];
        if (assignment_is_reassigning(a) || !ids_same_set(&a->replicas, &s->isr) || s->leader < 0 ||
            !is_served(c, p)) {
            return false;
        }
    }
    return is_tidy(c);
}

/* ---- logs on disk ---- */

struct log_bytes {
    struct env *env;
    const char *dir;
    struct buf bytes;
};

static int log_add(void *arg, const char *name, bool is_dir)
{
    struct log_bytes *log = arg;
    size_t len = strlen(name);
    if (is_dir || len < 4 || strcmp(name + len - 4, ".log") != 0) {
        return 0;
    }
    char *path = xasprintf("%s/%s", log->dir, name);
    struct env_file *f = NULL;
    int err = env_file_open(log->env, path, ENV_OPEN_READ, &f);
    uint64_t size = 0;
    if (err == 0) {
        err = env_file_size(f, &size);
    }
    uint8_t *to = err == 0 && size > 0 ? buf_put_space(&log->bytes, (size_t)size) : NULL;
    size_t got = 0;
    if (to != NULL) {
        err = env_file_read(f, to, (size_t)size, 0, &got);
    }
    env_file_unref(f);
    free(path);
    return err;
}

static void log_read(struct cluster_broker *b, int32_t partition, struct log_bytes *log)
{
    char dir[64];
    (void)snprintf(dir, sizeof dir, "/data/%s-%d", CLUSTER_TOPIC, partition);
    *log = (struct log_bytes){.env = sim_node_env(b->node), .dir = dir};
    buf_init(&log->bytes);
    int err = env_dir_list(log->env, dir, log_add, log);
    if (err != 0 && err != -E_NOT_FOUND) {
        cluster_fail(b->cluster, "broker %d: %s cannot be read: %s", b->id, dir, error_name(err));
    }
}

void cluster_check_logs(struct cluster *c)
{
    for (int32_t p = 0; p < c->partition_count; p++) {
        const struct ids *replicas = &c->topic.partitions[p].replicas;
        struct log_bytes first;
        log_read(&c->brokers[replicas->list[0] - 1], p, &first);
        for (int32_t i = 1; i < replicas->count; i++) {
            struct log_bytes other;
            log_read(&c->brokers[replicas->list[i] - 1], p, &other);
            if (!slice_equal(buf_slice(&first.bytes), buf_slice(&other.bytes))) {
                cluster_fail(
                    c, "partition %d: the logs of brokers %d (%zu bytes) and %d (%zu bytes) differ",
                    p, replicas->list[0], first.bytes.len, replicas->list[i], other.bytes.len);
            }
            buf_deinit(&other.bytes);
        }
        if (first.bytes.len == 0 && c->writers[p].acked > 0 && !c->options.loses_last_replica) {
            cluster_fail(c, "partition %d: %lld records were acknowledged and the log is empty", p,
                         (long long)c->writers[p].acked);
        }
        buf_deinit(&first.bytes);
    }
}

void cluster_checks_free(struct cluster *c)
{
    model_topic_deinit(&c->topic);
    for (int32_t p = 0; p < CLUSTER_PARTITIONS_MAX; p++) {
        model_partition_state_deinit(&c->states[p]);
        free(c->leaders[p]);
    }
}
