/*
 * Limits of the queue (klamm.moves.max.*), checked when a move starts to be stored: then no more moves may run
 * than one of the limits that were in force lately allows. Limits that were lowered stop nothing that runs, so
 * only starts are looked at; who moves without a slot (it was paused, or a new controller found more than fit)
 * does not count. A move counts at the broker it copies from as long as that broker has led since well before
 * the start, else it is not known where the queue counts it.
 */
#include "base/check.h"
#include "broker/replicas/replicas.h"
#include "sim/cluster/cluster.h"

#include <assert.h>
#include <stdio.h>

#define LATE_MS                                                                                    \
    15000 /* so late the controller may know of other limits, and its own choice be stored */
#define SIZE_MS  1000  /* sizes are looked at so often ... */
#define STALE_MS 45000 /* ... and the queue's may be so old: it asks again before */

static_assert(STALE_MS / SIZE_MS < ARRAY_LEN(((struct cluster_caps *)0)->sizes[0]),
              "the sizes of as long ago are kept");

/* ---- limits ---- */

void cluster_caps_prepare(struct cluster *c, const struct moves_limits *limits)
{
    CHECK(c->caps.count < STORED_LIMITS_MAX);
    c->caps.history[c->caps.count] = *limits;
}

void cluster_caps_written(struct cluster *c)
{
    bool is_first = c->caps.count == 0 && c->brokers[0].broker == NULL; /* nobody knew others */
    c->caps.since_ms[c->caps.count++] = is_first ? INT64_MIN : sim_world_now_ms(c->world);
}

static int64_t laxer(int64_t a, int64_t b)
{
    return a < 0 || b < 0 ? MOVES_OFF : MAX(a, b);
}

/* The laxest of those that were in force within LATE_MS; before the first there was none. */
static struct moves_limits in_force(const struct cluster *c)
{
    const struct cluster_caps *k = &c->caps;
    struct moves_limits l = k->history[k->count - 1];
    int64_t from_ms = sim_world_now_ms(c->world) - LATE_MS;
    int32_t i = k->count - 1;
    for (; i > 0 && k->since_ms[i] > from_ms; i--) {
        const struct moves_limits *h = &k->history[i - 1];
        l.in_per_broker = (int32_t)laxer(l.in_per_broker, h->in_per_broker);
        l.out_per_broker = (int32_t)laxer(l.out_per_broker, h->out_per_broker);
        l.per_cluster = (int32_t)laxer(l.per_cluster, h->per_cluster);
        l.bytes_in_flight = laxer(l.bytes_in_flight, h->bytes_in_flight);
    }
    if (k->since_ms[i] > from_ms) {
        return (struct moves_limits){MOVES_OFF, MOVES_OFF, MOVES_OFF, MOVES_OFF};
    }
    return l;
}

/* ---- sizes ---- */

static void size_seen(void *arg, const struct replicas_log_info *info)
{
    int64_t *sizes = arg;
    bool is_ours = strcmp(info->topic, CLUSTER_TOPIC) == 0 && info->is_leader &&
                   info->partition < STORED_PARTITIONS_MAX;
    if (is_ours) {
        sizes[info->partition] = MAX(info->size, 0);
    }
}

void cluster_caps_step(struct cluster *c)
{
    struct cluster_caps *k = &c->caps;
    int64_t sizes[STORED_PARTITIONS_MAX] = {0};
    if (sim_world_now_ms(c->world) < k->sized_ms + SIZE_MS) {
        return;
    }
    k->sized_ms = sim_world_now_ms(c->world);
    for (int32_t i = 0; i < c->broker_count; i++) {
        const struct cluster_broker *b = &c->brokers[i];
        if (b->broker != NULL && !b->is_stopping && !b->is_fatal) {
            replicas_each_log(broker_replicas(b->broker), 0, size_seen, sizes);
        }
    }
    for (int32_t p = 0; p < STORED_PARTITIONS_MAX; p++) {
        k->sizes[p][k->size_count % (int64_t)ARRAY_LEN(k->sizes[p])] = sizes[p];
    }
    k->size_count++;
}

/* The smallest that the queue may think the partition had when its move started. */
static int64_t size_known(const struct cluster *c, int32_t p)
{
    const struct cluster_caps *k = &c->caps;
    int64_t smallest = INT64_MAX;
    int64_t age_ms = sim_world_now_ms(c->world) - k->started_ms[p] + STALE_MS;
    int64_t count = MIN(age_ms / SIZE_MS + 1, (int64_t)ARRAY_LEN(k->sizes[p]));
    if (age_ms / SIZE_MS + 1 > count || count > k->size_count) {
        return 0;
    }
    for (int64_t i = 1; i <= count; i++) {
        smallest =
            MIN(smallest, k->sizes[p][(k->size_count - i) % (int64_t)ARRAY_LEN(k->sizes[p])]);
    }
    return smallest;
}

/* ---- what runs ---- */

void cluster_caps_moved(struct cluster *c, int32_t partition, const struct assignment *was,
                        const struct assignment *is)
{
    struct cluster_caps *k = &c->caps;
    bool is_start = assignment_is_reassigning(is) && !assignment_equal(was, is);
    if (is_start) {
        k->started_ms[partition] = sim_world_now_ms(c->world);
        k->is_loose[partition] = false;
        k->has_start = true;
    }
}

static bool counts(const struct cluster *c, int32_t p)
{
    return assignment_is_reassigning(&c->stored.now[p]) && !c->caps.is_loose[p];
}

static int32_t cluster_count(const struct cluster *c)
{
    int32_t count = 0;
    for (int32_t p = 0; p < c->partition_count; p++) {
        count += counts(c, p);
    }
    return count;
}

static void check_broker(struct cluster *c, int32_t broker, const struct moves_limits *l)
{
    const struct cluster_stored *s = &c->stored;
    int32_t in = 0;
    int32_t out = 0;
    for (int32_t p = 0; p < c->partition_count; p++) {
        const struct ids *adding = &s->now[p].adding;
        in += counts(c, p) && ids_has(adding, broker);
        out += counts(c, p) && adding->count > 0 && s->leaders[p] == broker &&
               s->led_since_ms[p] < c->caps.started_ms[p] - LATE_MS;
    }
    if (l->in_per_broker >= 0 && in > l->in_per_broker) {
        cluster_fail(c, "%d moves bring a replica to broker %d, and %d may", in, broker,
                     l->in_per_broker);
    }
    if (l->out_per_broker >= 0 && out > l->out_per_broker) {
        cluster_fail(c, "%d moves copy from broker %d, and %d may", out, broker, l->out_per_broker);
    }
}

static void check_bytes(struct cluster *c, const struct moves_limits *l)
{
    int64_t bytes = 0;
    int32_t copying = 0;
    for (int32_t p = 0; p < c->partition_count; p++) {
        int64_t size = counts(c, p) ? size_known(c, p) * c->stored.now[p].adding.count : 0;
        bytes += size;
        copying += size > 0;
    }
    if (l->bytes_in_flight >= 0 && bytes > l->bytes_in_flight && copying > 1) {
        cluster_fail(c, "%d moves have %lld bytes to copy, and %lld may be", copying,
                     (long long)bytes, (long long)l->bytes_in_flight);
    }
}

/* A target that is down, or shuts down, makes its move give its slots back. It has them again later, also when
 * others have taken them. */
static void loosen(struct cluster *c)
{
    for (int32_t p = 0; p < c->partition_count; p++) {
        const struct ids *adding = &c->stored.now[p].adding;
        for (int32_t i = 0; i < adding->count; i++) {
            int32_t id = adding->list[i];
            const struct cluster_broker *b =
                id >= 1 && id <= c->broker_count ? &c->brokers[id - 1] : NULL;
            /* One that starts is not registered yet: a controller that came meanwhile never saw it go. */
            if (b != NULL && (c->caps.is_gone[id] || b->broker == NULL || b->is_stopping ||
                              !broker_is_ready(b->broker))) {
                c->caps.is_loose[p] = true;
            }
        }
    }
}

/* The stored registrations are not to be seen here (they are no persistent nodes). */
void cluster_caps_logged(struct cluster *c, const char *line)
{
    int id = 0;
    char what[16];
    bool is_told = sscanf(line, "controller: broker %d %15s (epoch", &id, what) == 2;
    if (is_told && id >= 1 && id <= STORED_BROKERS_MAX) {
        c->caps.is_gone[id] = strcmp(what, "went") == 0;
        loosen(c);
    }
}

void cluster_caps_check(struct cluster *c)
{
    struct cluster_caps *k = &c->caps;
    if (!k->has_start) {
        return;
    }
    k->has_start = false;
    loosen(c);
    if (k->count == 0) {
        return;
    }
    struct moves_limits l = in_force(c);
    int32_t count = cluster_count(c);
    if (l.per_cluster >= 0 && count > l.per_cluster) {
        cluster_fail(c, "%d partitions move at a time, and %d may", count, l.per_cluster);
    }
    for (int32_t broker = 1; broker <= c->broker_count; broker++) {
        check_broker(c, broker, &l);
    }
    check_bytes(c, &l);
}

/* What runs under a new controller beyond the limits has no slots there. That may be another move than the one
 * that had none under the former: one that was resumed and waited is not known from those that did not. */
void cluster_caps_controller(struct cluster *c)
{
    struct cluster_caps *k = &c->caps;
    bool is_beyond = k->count > 1;
    for (int32_t p = 0; p < c->partition_count; p++) {
        is_beyond = is_beyond || (k->is_loose[p] && assignment_is_reassigning(&c->stored.now[p]));
    }
    for (int32_t p = 0; is_beyond && p < STORED_PARTITIONS_MAX; p++) {
        k->is_loose[p] = assignment_is_reassigning(&c->stored.now[p]);
    }
}
