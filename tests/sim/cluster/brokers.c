/*
 * Lives and deaths of the simulated brokers.
 */
#include "sim/cluster/cluster.h"

#include <stdio.h>
#include <string.h>

static void on_fatal(void *arg, const char *reason)
{
    struct cluster_broker *b = arg;
    sim_trace(b->cluster->world, "broker %d gives up: %s", b->id, reason);
    b->is_fatal = true;
}

static void on_ready(void *arg)
{
    struct cluster_broker *b = arg;
    sim_trace(b->cluster->world, "broker %d is ready", b->id);
}

static void on_log(void *arg, const char *line)
{
    struct cluster_broker *b = arg;
    sim_trace(b->cluster->world, "broker %d: %s", b->id, line);
    /* Nobody edits anything here: every state is one that controllers and leaders can leave behind. */
    if (strstr(line, "is left alone: its state") != NULL ||
        strstr(line, "has no replica in sync") != NULL) {
        cluster_fail(b->cluster, "broker %d: %s", b->id, line);
    }
    cluster_caps_logged(b->cluster, line);
}

static bool is_end(void *arg, const char *point)
{
    return cluster_crash_here(arg, point);
}

void cluster_broker_start(struct cluster_broker *b)
{
    static const char *const log_dirs[] = {"/data"};
    struct cluster *c = b->cluster;
    enum ibp level = c->options.mixes_levels ? c->levels[prng_below(c->prng, 2)] : IBP_NEWEST;
    const struct broker_setting settings[] = {
        {"replica.lag.time.max.ms", "2000"},    {"replica.fetch.wait.max.ms", "100"},
        {"replica.fetch.backoff.ms", "100"},    {"controlled.shutdown.retry.backoff.ms", "200"},
        {"auto.create.topics.enable", "false"}, {"log.segment.delete.delay.ms", "1000"},
        {"min.insync.replicas", "1"},           {"log.segment.bytes", "16384"},
        {"replica.fetch.max.bytes", "1024"},    {"inter.broker.protocol.version", ibp_name(level)},
    };
    CHECK(b->broker == NULL);
    if (!sim_node_is_alive(b->node)) {
        sim_node_start(b->node);
    }
    b->start_at_ms = 0;
    b->is_stopping = b->is_stopped = b->is_fatal = false;
    struct broker_listener listener = {
        .name = BROKER_LISTENER, .host = "127.0.0.1", .port = (uint16_t)(CLUSTER_PORT + b->id)};
    struct broker_config config = {.id = b->id,
                                   .listeners = &listener,
                                   .listener_count = 1,
                                   .log_dirs = log_dirs,
                                   .log_dir_count = 1,
                                   .session_timeout_ms = CLUSTER_SESSION_MS,
                                   .log = on_log,
                                   .log_arg = b,
                                   .faults = {is_end, b},
                                   .settings = settings,
                                   .setting_count = ARRAY_LEN(settings)};
    struct errmsg em = {""};
    struct env *env = sim_node_env(b->node);
    b->broker = broker_new(env, env, &config, metastore_store_factory(c->store), &em);
    CHECKF(b->broker != NULL, "%s", em.text);
    struct broker_events events = {.on_ready = on_ready, .on_fatal = on_fatal, .arg = b};
    sim_trace(c->world, "broker %d starts at level %s", b->id, ibp_name(level));
    if (broker_start(b->broker, &events, &em) != 0) {
        sim_trace(c->world, "broker %d does not start: %s", b->id, em.text);
        b->is_fatal = true;
    }
}

void cluster_broker_kill(struct cluster_broker *b, bool is_power_loss)
{
    broker_free(b->broker);
    b->broker = NULL;
    b->is_stopping = b->is_stopped = b->is_fatal = false;
    if (is_power_loss) {
        b->lost_power = true;
        sim_node_power_loss(b->node);
        cluster_cold_power_lost(b);
    } else {
        sim_node_crash(b->node);
    }
}

void cluster_broker_heal_disk(struct cluster_broker *b)
{
    b->disk_heals_at_ms = 0;
    sim_disk_break(b->node, NULL);
    sim_disk_slow(b->node, 0);
}

void cluster_brokers_tend(struct cluster *c)
{
    int64_t now_ms = sim_world_now_ms(c->world);
    for (int32_t i = 0; i < c->broker_count; i++) {
        struct cluster_broker *b = &c->brokers[i];
        if (b->disk_heals_at_ms != 0 && b->disk_heals_at_ms <= now_ms) {
            cluster_broker_heal_disk(b);
        }
        if (b->broker != NULL && (b->is_stopped || b->is_fatal)) {
            cluster_broker_kill(b, false);
            b->start_at_ms = now_ms + prng_range(c->prng, 100, 2000);
        }
        if (b->broker == NULL && b->start_at_ms != 0 && b->start_at_ms <= now_ms) {
            cluster_broker_start(b);
        }
    }
}
