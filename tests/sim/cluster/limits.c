/*
 * Limits of moves at random: brokers are told tables as their controller could have told them, not all the
 * same one and not all at once. A copy may be paused or slow for ever; everything else has to go on, and
 * the copies too once the limits are lifted. In every other run, drawn from a generator of its own.
 */
#include "broker/replicas/replicas.h"
#include "sim/cluster/cluster.h"
#include "wire/update_metadata.h"

static const int64_t rates[] = {0, 500, 20000, -1};

#define RATES     ARRAY_LEN(rates)
#define PRNG_SALT 0x11d17

void cluster_limits_init(struct cluster *c)
{
    prng_init(&c->limits_prng, c->options.seed ^ PRNG_SALT);
    c->has_limits = prng_chance(&c->limits_prng, 1, 2);
}

/* Each partition is in the group of one rate, or in none. */
static void tell(struct cluster *c, bool has_limits)
{
    int32_t partitions[RATES][CLUSTER_PARTITIONS_MAX];
    struct wire_update_metadata_request_move_limits_topics topics[RATES] = {{.topic = SLICE_NULL}};
    struct wire_update_metadata_request_move_limits groups[RATES];
    struct wire_update_metadata_request req;
    wire_update_metadata_request_init(&req);
    for (size_t i = 0; i < RATES; i++) {
        topics[i].topic = slice_str(CLUSTER_TOPIC);
        topics[i].partition_indexes = partitions[i];
        groups[i] = (struct wire_update_metadata_request_move_limits){
            .rate = rates[i], .topics = &topics[i], .topics_count = 1};
    }
    for (int32_t p = 0; p < c->partition_count; p++) {
        uint64_t group = prng_below(&c->limits_prng, RATES + 1);
        if (group < RATES) {
            partitions[group][topics[group].partition_indexes_count++] = p;
        }
    }
    req.controller_epoch = -1; /* whoever is controller: the table alone counts */
    req.move_limits = groups;
    req.move_limits_count = has_limits ? (int32_t)RATES : 0;
    for (int32_t i = 0; i < c->broker_count; i++) {
        struct cluster_broker *b = &c->brokers[i];
        bool is_told = !has_limits || prng_chance(&c->limits_prng, 3, 4);
        if (is_told && b->broker != NULL && !b->is_stopping && !b->is_fatal) {
            replicas_take_limits(broker_replicas(b->broker), &req);
        }
    }
    sim_trace(c->world, "limits of moves are %s", has_limits ? "others" : "lifted");
}

void cluster_limits_step(struct cluster *c)
{
    if (c->has_limits && prng_chance(&c->limits_prng, 1, 30)) {
        tell(c, prng_chance(&c->limits_prng, 3, 4));
    }
}

void cluster_limits_end(struct cluster *c)
{
    if (c->has_limits) {
        tell(c, false);
    }
}
