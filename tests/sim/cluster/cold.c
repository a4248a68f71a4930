/*
 * Memory pressure at random: now and then pages of a broker's files go out of memory. Whatever a broker
 * sends from a file it must have asked for, or had warmed, before: its loop never waits for the disk. In
 * half of the runs, drawn from a generator of its own.
 */
#include "sim/cluster/cluster.h"

#define PRNG_SALT 0xc01d

void cluster_cold_init(struct cluster *c)
{
    prng_init(&c->cold.prng, c->options.seed ^ PRNG_SALT);
    c->cold.is_there = prng_chance(&c->cold.prng, 1, 2);
}

void cluster_cold_step(struct cluster *c)
{
    static const int32_t shares[] = {5, 50, 100};
    struct prng *p = &c->cold.prng;
    if (!c->cold.is_there || !prng_chance(p, 1, 10)) {
        return;
    }
    struct cluster_broker *b = &c->brokers[prng_below(p, (uint64_t)c->broker_count)];
    sim_disk_chill(b->node, shares[prng_below(p, ARRAY_LEN(shares))]);
}

void cluster_cold_power_lost(struct cluster_broker *b)
{
    if (b->cluster->cold.is_there) {
        sim_disk_chill(b->node, 100);
    }
}

void cluster_cold_check(struct cluster *c)
{
    for (int32_t i = 0; i < c->broker_count; i++) {
        if (sim_disk_cold_sends(c->brokers[i].node) > 0) {
            cluster_fail(c, "broker %d sent records that were not in memory", c->brokers[i].id);
        }
    }
}
