/*
 * Limits of moves at random: brokers are told tables as their controller could have told them, not all the
 * same one and not all at once. A copy may be paused or slow for ever; everything else has to go on, and
 * the copies too once the limits are lifted. A new controller's first request, and a restart, clear a broker's
 * table: it is told again at once, so that the limits are in force. In every other run without a queue, whose
 * own tables they would fight; drawn from a generator of its own.
 */
#include "broker/replicas/replicas.h"
#include "sim/cluster/cluster.h"
#include "wire/update_metadata.h"

static const int64_t rates[] = {0, 500, 20000, -1};

#define RATES     ARRAY_LEN(rates)
#define PRNG_SALT 0x11d17

void cluster_limits_init(struct cluster *c)
{
    prng_init(&c->limits.prng, c->options.seed ^ PRNG_SALT);
    bool is_drawn = prng_chance(&c->limits.prng, 1, 2);
    c->limits.is_there = is_drawn && !c->op.has_queue && !c->jobs.is_there;
}

/* Each partition is in the group of one rate, or in none. */
static void table_draw(struct cluster *c)
{
    c->limits.count = 0;
    for (int32_t p = 0; p < c->partition_count; p++) {
        c->limits.groups[p] = (int32_t)prng_below(&c->limits.prng, RATES + 1);
        c->limits.count += c->limits.groups[p] < (int32_t)RATES;
    }
}

static void broker_tell(struct cluster *c, struct cluster_broker *b, bool has_limits)
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
        int32_t group = c->limits.groups[p];
        if (group < (int32_t)RATES) {
            partitions[group][topics[group].partition_indexes_count++] = p;
        }
    }
    req.controller_epoch = -1; /* whoever is controller: the table alone counts */
    req.move_limits = groups;
    req.move_limits_count = has_limits ? (int32_t)RATES : 0;
    replicas_take_limits(broker_replicas(b->broker), &req);
}

static bool can_be_told(const struct cluster_broker *b)
{
    return b->broker != NULL && !b->is_stopping && !b->is_fatal;
}

static void tell(struct cluster *c, bool has_limits)
{
    for (int32_t i = 0; i < c->broker_count; i++) {
        struct cluster_broker *b = &c->brokers[i];
        bool is_told = !has_limits || prng_chance(&c->limits.prng, 3, 4);
        if (is_told && can_be_told(b)) {
            broker_tell(c, b, has_limits);
        }
        c->limits.is_told[i] = has_limits && is_told;
    }
    sim_trace(c->world, "limits of moves are %s", has_limits ? "others" : "lifted");
}

/* Where something else than what was told is in force. */
static void tell_again(struct cluster *c)
{
    for (int32_t i = 0; i < c->broker_count; i++) {
        struct cluster_broker *b = &c->brokers[i];
        if (c->limits.is_told[i] && can_be_told(b) &&
            replicas_limits_count(broker_replicas(b->broker)) != c->limits.count) {
            broker_tell(c, b, true);
        }
    }
}

void cluster_limits_step(struct cluster *c)
{
    if (c->limits.is_there && prng_chance(&c->limits.prng, 1, 30)) {
        bool has_limits = prng_chance(&c->limits.prng, 3, 4);
        table_draw(c);
        tell(c, has_limits);
    }
    tell_again(c);
}

void cluster_limits_end(struct cluster *c)
{
    if (c->limits.is_there) {
        tell(c, false);
    }
}
