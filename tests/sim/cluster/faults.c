/*
 * Mischief: process crashes, power loss, controlled stops, network partitions, session expiry, writes to
 * the metastore with unknown outcome, slow answers, slow and failing disks. A power loss is drawn only while no
 * other broker is down or catching up after one, and every ISR is whole: it must not hit the last live
 * in-sync replica (the excluded case, which options.loses_last_replica includes).
 */
#include "sim/cluster/cluster.h"

#define OBSERVE_MS 100

static void plan_start(struct cluster_broker *b)
{
    b->start_at_ms = sim_world_now_ms(b->cluster->world) + prng_range(b->cluster->prng, 100, 8000);
}

static int32_t brokers_up(const struct cluster *c)
{
    int32_t up = 0;
    for (int32_t i = 0; i < c->broker_count; i++) {
        up += c->brokers[i].broker != NULL && !c->brokers[i].is_stopping;
    }
    return up;
}

static void controlled_stop_done(void *arg)
{
    ((struct cluster_broker *)arg)->is_stopped = true;
}

static bool is_observed(void *arg)
{
    return ((struct cluster *)arg)->reads_due == 0;
}

/* What the metastore says at this moment: a step ago an ISR may have had more members. */
static bool observe_now(struct cluster *c)
{
    if (!sim_world_run(c->world, OBSERVE_MS, is_observed, c)) {
        return false;
    }
    cluster_observe(c);
    return sim_world_run(c->world, OBSERVE_MS, is_observed, c);
}

/* Every broker up, registered, and in every ISR that lists it, as the metastore says now. */
static bool power_loss_is_allowed(struct cluster *c)
{
    if (c->options.loses_last_replica) {
        return true;
    }
    if (!observe_now(c) || c->topic.partition_count < c->partition_count) {
        return false;
    }
    for (int32_t i = 0; i < c->broker_count; i++) {
        const struct cluster_broker *b = &c->brokers[i];
        if (b->broker == NULL || b->is_stopping || b->is_fatal || b->lost_power ||
            !broker_is_ready(b->broker)) {
            return false;
        }
    }
    for (int32_t p = 0; p < c->partition_count; p++) {
        if (c->states[p].isr.count < 2 ||
            !ids_same_set(&c->states[p].isr, &c->topic.partitions[p].replicas)) {
            return false;
        }
    }
    return true;
}

/* After a power loss: back in every ISR that it should be in, with the metastore freshly read. */
static void forget_power_losses(struct cluster *c)
{
    for (int32_t i = 0; i < c->broker_count; i++) {
        struct cluster_broker *b = &c->brokers[i];
        if (!b->lost_power || b->broker == NULL || !broker_is_ready(b->broker)) {
            continue;
        }
        bool is_whole = c->topic.partition_count == c->partition_count && c->reads_due == 0;
        for (int32_t p = 0; is_whole && p < c->partition_count; p++) {
            is_whole = !ids_has(&c->topic.partitions[p].replicas, b->id) ||
                       (ids_has(&c->states[p].isr, b->id) &&
                        ids_same_set(&c->states[p].isr, &c->topic.partitions[p].replicas));
        }
        if (is_whole) {
            b->lost_power = false;
        }
    }
}

static void fault_broker_down(struct cluster *c, struct cluster_broker *b)
{
    uint64_t kind = prng_below(c->prng, 10);
    if (b->broker == NULL || b->is_stopping || b->is_fatal) {
        return;
    }
    if (kind < 2) {
        sim_trace(c->world, "broker %d is asked to stop", b->id);
        b->is_stopping = true;
        broker_stop(b->broker, controlled_stop_done, b);
    } else if (kind < 5 && power_loss_is_allowed(c)) {
        cluster_broker_kill(b, true);
        plan_start(b);
    } else {
        cluster_broker_kill(b, false);
        plan_start(b);
    }
}

static void fault_network(struct cluster *c, struct cluster_broker *b)
{
    struct cluster_broker *other = &c->brokers[prng_below(c->prng, (uint64_t)c->broker_count)];
    if (prng_chance(c->prng, 1, 3)) {
        sim_trace(c->world, "network heals");
        sim_net_heal(c->world);
    } else if (other != b) {
        sim_net_partition(c->world, b->node, other->node, true);
    } else {
        sim_net_partition(c->world, b->node, c->client_node, true);
    }
}

static void fault_metastore(struct cluster *c)
{
    int64_t sessions[32];
    int32_t count = MIN(metastore_store_sessions(c->store, sessions, 32), 32);
    if (count == 0) {
        return;
    }
    int64_t session = sessions[prng_below(c->prng, (uint64_t)count)];
    if (session == metastore_session_id(c->session)) {
        return;
    }
    switch (prng_below(c->prng, 6)) {
    case 0:
        sim_trace(c->world, "session %lld expires", (long long)session);
        metastore_store_expire(c->store, session);
        break;
    case 1:
        sim_trace(c->world, "session %lld is cut off", (long long)session);
        metastore_store_disconnect(c->store, session);
        break;
    case 2:
        for (int32_t i = 0; i < count; i++) {
            metastore_store_reconnect(c->store, sessions[i]);
        }
        break;
    case 3:
    case 4: {
        bool is_applied = prng_chance(c->prng, 1, 2);
        sim_trace(c->world, "session %lld loses a write (%s)", (long long)session,
                  is_applied ? "done" : "not done");
        metastore_store_lose_write(c->store, session, is_applied);
        break;
    }
    default:
        metastore_store_delay(c->store, session, prng_range(c->prng, 0, 300));
    }
}

/* A disk that fails for a while takes its broker's only log directory offline; one that fails once may
 * do so, or hit something that can be tried again. */
static void fault_disk(struct cluster *c, struct cluster_broker *b)
{
    switch (prng_below(c->prng, 3)) {
    case 0:
        sim_trace(c->world, "the disk of broker %d fails for a while", b->id);
        sim_disk_break(b->node, "/data");
        b->disk_heals_at_ms = sim_world_now_ms(c->world) + prng_range(c->prng, 100, 5000);
        break;
    case 1:
        sim_disk_fail_at(b->node, prng_range(c->prng, 1, 50),
                         prng_chance(c->prng, 1, 2) ? E_IO : E_DISK_FULL);
        break;
    default:
        sim_disk_slow(b->node, prng_range(c->prng, 0, 200));
    }
}

void cluster_faults_step(struct cluster *c)
{
    forget_power_losses(c);
    if (!prng_chance(c->prng, 1, 12)) {
        return;
    }
    struct cluster_broker *b = &c->brokers[prng_below(c->prng, (uint64_t)c->broker_count)];
    uint64_t kind = prng_below(c->prng, 10);
    if (kind < 4) {
        if (brokers_up(c) > 1) {
            fault_broker_down(c, b);
        }
    } else if (kind < 6) {
        fault_network(c, b);
    } else if (kind < 9) {
        fault_metastore(c);
    } else {
        fault_disk(c, b);
    }
}

void cluster_faults_end(struct cluster *c)
{
    int64_t sessions[32];
    int32_t count = MIN(metastore_store_sessions(c->store, sessions, 32), 32);
    for (int32_t i = 0; i < count; i++) {
        metastore_store_delay(c->store, sessions[i], 0);
        metastore_store_reconnect(c->store, sessions[i]);
    }
    sim_net_heal(c->world);
    for (int32_t i = 0; i < c->broker_count; i++) {
        struct cluster_broker *b = &c->brokers[i];
        cluster_broker_heal_disk(b);
        sim_disk_fail_at(b->node, 0, E_IO);
        if (b->broker == NULL) {
            b->start_at_ms = MAX(sim_world_now_ms(c->world), 1);
        }
    }
}
