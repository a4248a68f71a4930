/*
 * One seed from start to end: start the brokers, create the topic, let writers, readers, operator and
 * faults loose, heal, wait until everything settles, compare.
 */
#include "sim/cluster/cluster.h"

#include "base/alloc.h"
#include "broker/replicas/replicas.h"
#include "model/kerr.h"
#include "wire/create_topics.h"

#include <stdio.h>
#include <stdlib.h>

#define START_MS         30000
#define MISCHIEF_MIN_MS  10000
#define MISCHIEF_MAX_MS  40000
#define MISCHIEF_JOBS_MS 60000 /* so much longer, for some rounds */
#define SETTLE_MS        180000
#define SETTLE_JOBS_MS   900000 /* a round is ended, and undone job by job */
#define STEP_MS          100
#define CREATE_VERSION   5

void cluster_fail(struct cluster *c, const char *format, ...)
{
    if (cluster_has_failed(c)) {
        return;
    }
    va_list args;
    va_start(args, format);
    (void)vsnprintf(c->failure, sizeof c->failure, format, args); /* a cut reason is fine */
    va_end(args);
    sim_trace(c->world, "FAILURE: %s", c->failure);
}

static void session_state(void *arg, enum metastore_state state)
{
    if (state == METASTORE_EXPIRED) {
        cluster_fail(arg, "the checker's own session expired");
    }
}

static struct cluster *cluster_new(const struct cluster_options *options)
{
    struct cluster *c = xalloc(sizeof *c);
    c->options = *options;
    c->world = sim_world_new(options->seed);
    c->prng = sim_world_prng(c->world);
    cluster_crashes_init(c);
    cluster_watcher_init(c);
    c->broker_count = (int32_t)prng_range(c->prng, 3, CLUSTER_BROKERS_MAX);
    c->partition_count = (int32_t)prng_range(c->prng, 1, CLUSTER_PARTITIONS_MAX);
    for (int i = 0; options->mixes_levels && i < 2; i++) {
        c->levels[i] = (enum ibp)prng_range(c->prng, IBP_NEWEST + 1, IBP_END - 1);
    }
    c->store_node = sim_node_new(c->world, "store");
    struct errmsg em = {""};
    struct metastore_store_config config = {.env = sim_node_env(c->store_node)};
    int err = metastore_store_new(&config, &c->store, &em);
    CHECKF(err == 0, "%s", em.text);
    c->client_node = sim_node_new(c->world, "client");
    struct env *env = sim_node_env(c->client_node);
    struct metastore_factory *factory = metastore_store_factory(c->store);
    c->session = factory->open(factory, env, 3600 * 1000, session_state, c);
    cluster_stored_init(c);
    cluster_jobs_init(c);
    cluster_operator_init(c);
    cluster_limits_init(c);
    cluster_cold_init(c);
    c->client = client_new(env, c->broker_count, CLUSTER_PORT, CLUSTER_TOPIC);
    for (int32_t i = 0; i < c->broker_count; i++) {
        char name[24];
        (void)snprintf(name, sizeof name, "broker-%d", i + 1);
        c->brokers[i] = (struct cluster_broker){
            .cluster = c, .id = i + 1, .node = sim_node_new(c->world, name)};
        cluster_broker_start(&c->brokers[i]);
    }
    cluster_clocks_skew(c);
    return c;
}

static void cluster_free(struct cluster *c)
{
    cluster_workload_free(c);
    cluster_operator_free(c);
    cluster_jobs_free(c);
    cluster_crashes_free(c);
    client_free(c->client);
    for (int32_t i = 0; i < c->broker_count; i++) {
        if (c->brokers[i].broker != NULL) {
            cluster_broker_kill(&c->brokers[i], false);
        }
    }
    metastore_close(c->session);
    (void)sim_world_run(c->world, 1000, NULL, NULL); /* the farewells arrive */
    metastore_store_free(c->store);
    cluster_stored_free(c);
    cluster_checks_free(c);
    sim_world_free(c->world);
    free(c);
}

/* ---- the topic ---- */

static void create_done(void *arg, int err, struct reader *body)
{
    struct cluster *c = arg;
    struct arena arena;
    arena_init(&arena, 1 << 20);
    struct wire_create_topics_response response;
    if (err == 0 &&
        wire_create_topics_response_decode(&response, body, CREATE_VERSION, &arena) == 0 &&
        response.topics_count == 1) {
        sim_trace(c->world, "create: %s", kerr_name(response.topics[0].error_code));
    }
    c->op.is_busy = false;
    arena_deinit(&arena);
}

static void create_send(struct cluster *c)
{
    int32_t ids[CLUSTER_PARTITIONS_MAX][3];
    struct wire_create_topics_request_topics_assignments rows[CLUSTER_PARTITIONS_MAX];
    int32_t factor = (int32_t)prng_range(c->prng, 1, 3);
    for (int32_t p = 0; p < c->partition_count; p++) {
        wire_create_topics_request_topics_assignments_init(&rows[p]);
        rows[p].partition_index = p;
        rows[p].broker_ids = ids[p];
        rows[p].broker_ids_count = factor;
        for (int32_t i = 0; i < factor; i++) {
            ids[p][i] = 1 + (p + i) % c->broker_count;
        }
    }
    struct wire_create_topics_request_topics topic;
    wire_create_topics_request_topics_init(&topic);
    topic.name = slice_str(CLUSTER_TOPIC);
    topic.num_partitions = -1;
    topic.replication_factor = -1;
    topic.assignments = rows;
    topic.assignments_count = c->partition_count;
    struct wire_create_topics_request request;
    wire_create_topics_request_init(&request);
    request.topics = &topic;
    request.topics_count = 1;
    request.timeout_ms = 5000;
    c->op.is_busy = true;
    struct client_call call = {.broker = client_controller(c->client),
                               .key = WIRE_KEY_CREATE_TOPICS,
                               .version = CREATE_VERSION,
                               .timeout_ms = 10000,
                               .request = &request};
    client_send(c->client, &call, create_done, c);
}

static bool topic_is_ready(void *arg)
{
    struct cluster *c = arg;
    if (c->topic.partition_count != c->partition_count) {
        return false;
    }
    for (int32_t p = 0; p < c->partition_count; p++) {
        if (c->states[p].leader < 1) {
            return false;
        }
    }
    return true;
}

static void cluster_start(struct cluster *c)
{
    int64_t end_ms = sim_world_now_ms(c->world) + START_MS;
    while (!topic_is_ready(c) && sim_world_now_ms(c->world) < end_ms && !cluster_has_failed(c)) {
        (void)sim_world_run(c->world, STEP_MS, NULL, NULL); /* a fixed stretch of time */
        cluster_brokers_tend(c);
        cluster_observe(c);
        client_refresh(c->client);
        int32_t controller = client_controller(c->client);
        if (!c->op.is_busy && controller >= 1 && controller <= c->broker_count) {
            create_send(c);
        }
    }
    if (!topic_is_ready(c)) {
        cluster_fail(c, "the topic has no leaders %d s after the start", START_MS / 1000);
    }
    c->op.is_busy = false;
}

/* What is asked of the metastore at the start has been answered at the end. */
static void cluster_step(struct cluster *c)
{
    cluster_observe(c);
    cluster_run_for(c, STEP_MS);
    cluster_crashes_check(c);
    cluster_brokers_tend(c);
    cluster_check_leaders(c);
    cluster_caps_step(c);
    cluster_cold_check(c);
}

static void cluster_settle(struct cluster *c)
{
    c->op.is_stopped = true;
    for (int32_t p = 0; p < c->partition_count; p++) {
        c->writers[p].is_stopped = true;
    }
    cluster_faults_end(c);
    cluster_limits_end(c);
    int64_t settle_ms = c->jobs.is_there ? SETTLE_JOBS_MS : SETTLE_MS;
    int64_t end_ms = sim_world_now_ms(c->world) + settle_ms;
    int settled = 0; /* twice in a row: the second reading was made after the first */
    while (!cluster_has_failed(c) && settled < 3) {
        cluster_step(c);
        settled = cluster_is_settled(c) ? settled + 1 : 0;
        if (settled == 0 && sim_world_now_ms(c->world) > end_ms) {
            cluster_fail(c, "%d s after healing the cluster has not settled",
                         (int)(settle_ms / 1000));
        }
    }
}

/* What each broker thinks of the partition. */
static void describe_replicas(struct cluster *c, int32_t partition)
{
    for (int32_t i = 0; i < c->broker_count; i++) {
        struct cluster_broker *b = &c->brokers[i];
        struct replicas *replicas = b->broker == NULL ? NULL : broker_replicas(b->broker);
        struct replicas_partition_info info;
        if (replicas != NULL &&
            replicas_partition_get(replicas, slice_str(CLUSTER_TOPIC), partition, &info)) {
            sim_trace(
                c->world,
                "  broker %d: %s, leader %d epoch %d, log end %lld, high watermark %lld, failed %d",
                b->id, info.is_leader ? "leads" : "follows", info.leader, info.leader_epoch,
                (long long)info.log_end, (long long)info.high_watermark, info.failed_error);
        }
    }
}

static void describe_unsettled(struct cluster *c)
{
    for (int32_t p = 0; p < c->partition_count && p < c->topic.partition_count; p++) {
        const struct assignment *a = &c->topic.partitions[p];
        const struct model_partition_state *s = &c->states[p];
        char text[160];
        int used = snprintf(text, sizeof text, "RS");
        for (int32_t i = 0; i < a->replicas.count; i++) {
            used += snprintf(text + used, sizeof text - (size_t)used, " %d", a->replicas.list[i]);
        }
        used += snprintf(text + used, sizeof text - (size_t)used, ", %d adding, %d removing, ISR",
                         a->adding.count, a->removing.count);
        for (int32_t i = 0; i < s->isr.count; i++) {
            used += snprintf(text + used, sizeof text - (size_t)used, " %d", s->isr.list[i]);
        }
        sim_trace(c->world,
                  "partition %d: %s, leader %d epoch %d, acked %lld, read %lld, in flight %d", p,
                  text, s->leader, s->leader_epoch, (long long)c->writers[p].acked,
                  (long long)c->readers[p].expected, c->writers[p].batch_count);
        describe_replicas(c, p);
    }
}

bool cluster_run(const struct cluster_options *options)
{
    struct cluster *c = cluster_new(options);
    cluster_start(c);
    if (!cluster_has_failed(c)) {
        cluster_workload_start(c);
        cluster_operator_start(c);
        cluster_jobs_start(c);
    }
    int64_t end_ms = sim_world_now_ms(c->world) +
                     prng_range(c->prng, MISCHIEF_MIN_MS, MISCHIEF_MAX_MS) +
                     (c->jobs.is_there ? MISCHIEF_JOBS_MS : 0);
    while (!cluster_has_failed(c) && sim_world_now_ms(c->world) < end_ms) {
        cluster_step(c);
        cluster_faults_step(c);
        cluster_limits_step(c);
        cluster_cold_step(c);
        cluster_watcher_step(c);
    }
    if (!cluster_has_failed(c)) {
        cluster_settle(c);
    }
    if (!cluster_has_failed(c)) {
        cluster_check_logs(c);
    }
    bool has_passed = !cluster_has_failed(c);
    if (!has_passed || options->is_traced) {
        describe_unsettled(c);
        sim_trace_print(c->world);
    }
    if (!has_passed) {
        (void)fprintf(stderr, "seed %llu: %s\n", (unsigned long long)options->seed, c->failure);
    }
    cluster_free(c);
    return has_passed;
}
