/*
 * One look: count for each live broker what it should lead and does not, by the metadata cache; then
 * ask for the elections of the brokers beyond the limit. A preferred leader that is dead or not in
 * sync is not counted: an election would fail. At most one request is under way.
 */
#include "broker/rebalance.h"

#include "base/alloc.h"
#include "broker/controller/link.h"
#include "broker/metadata/metadata.h"

#include <stdlib.h>

struct broker_rebalance {
    struct broker_rebalance_config config;
    struct env_timer timer;
    bool is_active;
    bool is_asking;
};

/* What one live broker should lead. */
struct share {
    int32_t broker;
    int64_t preferred;
    int64_t missing;
};

static int share_compare(const void *a, const void *b)
{
    const struct share *x = a;
    const struct share *y = b;
    return (x->broker > y->broker) - (x->broker < y->broker);
}

/* shares are in order of broker, as the cache's brokers are. */
static struct share *share_find(struct share *shares, int32_t count, int32_t broker)
{
    struct share key = {.broker = broker};
    return bsearch(&key, shares, (size_t)count, sizeof key, share_compare);
}

/* Its preferred leader could lead it and does not. */
static bool is_misplaced(const struct metadata_partition *p)
{
    return p->leader != p->replicas.list[0] && ids_has(&p->isr, p->replicas.list[0]) &&
           !ids_has(&p->offline, p->replicas.list[0]);
}

static int64_t shares_count(struct metadata *m, struct share *shares, int32_t count)
{
    int64_t misplaced = 0;
    for (const struct metadata_topic *t = metadata_topic_next(m, NULL); t != NULL;
         t = metadata_topic_next(m, t)) {
        for (int32_t i = 0; i < t->partition_count; i++) {
            const struct metadata_partition *p = &t->partitions[i];
            struct share *share =
                p->replicas.count == 0 ? NULL : share_find(shares, count, p->replicas.list[0]);
            if (share != NULL) {
                share->preferred++;
                share->missing += is_misplaced(p);
                misplaced += is_misplaced(p);
            }
        }
    }
    return misplaced;
}

static bool is_beyond(const struct broker_rebalance *r, const struct share *share)
{
    return share != NULL && share->missing * 100 > share->preferred * r->config.percent_max;
}

/* The misplaced partitions of the brokers beyond the limit. */
static void entries_fill(const struct broker_rebalance *r, struct controller_ask *ask,
                         struct share *shares, int32_t count)
{
    struct metadata *m = r->config.metadata;
    struct control_elect *elect = &ask->request.elect;
    int64_t misplaced = shares_count(m, shares, count);
    struct control_tp *entries = controller_ask_array(ask, misplaced, sizeof *entries);
    elect->entries = entries;
    for (const struct metadata_topic *t = metadata_topic_next(m, NULL); t != NULL;
         t = metadata_topic_next(m, t)) {
        struct slice name = SLICE_NULL;
        for (int32_t i = 0; i < t->partition_count; i++) {
            const struct metadata_partition *p = &t->partitions[i];
            if (p->replicas.count == 0 || !is_misplaced(p) ||
                !is_beyond(r, share_find(shares, count, p->replicas.list[0]))) {
                continue;
            }
            if (slice_is_null(name)) {
                name = controller_ask_slice(ask, slice_str(t->name));
            }
            if (ask->failed) {
                return;
            }
            entries[elect->count].topic = name;
            entries[elect->count].partition = p->index;
            elect->count++;
        }
    }
}

static void elected(void *arg, const struct control_reply *reply)
{
    struct broker_rebalance *r = arg;
    (void)reply; /* What failed is found again by the next look. */
    r->is_asking = false;
}

static void look(void *arg)
{
    struct broker_rebalance *r = arg;
    int32_t count = metadata_broker_count(r->config.metadata);
    env_timer_start(&r->timer, r->config.interval_ms);
    if (r->is_asking || count == 0) {
        return;
    }
    struct share *shares = xalloc((size_t)count * sizeof *shares);
    for (int32_t i = 0; i < count; i++) {
        shares[i].broker = metadata_broker_at(r->config.metadata, i)->id;
    }
    struct controller_ask *ask = controller_ask_new(CONTROL_ELECT_LEADERS);
    entries_fill(r, ask, shares, count);
    if (ask->failed || ask->request.elect.count == 0) {
        controller_ask_free(ask);
    } else {
        r->is_asking = true;
        controller_link_send(r->config.controller, ask, elected, r);
    }
    free(shares);
}

struct broker_rebalance *broker_rebalance_new(const struct broker_rebalance_config *config)
{
    struct broker_rebalance *r = xalloc(sizeof *r);
    r->config = *config;
    env_timer_init(&r->timer, config->env, look, r);
    return r;
}

void broker_rebalance_free(struct broker_rebalance *r)
{
    if (r != NULL) {
        env_timer_stop(&r->timer);
        free(r);
    }
}

void broker_rebalance_set_active(struct broker_rebalance *r, bool is_active)
{
    if (is_active == r->is_active) {
        return;
    }
    r->is_active = is_active;
    if (is_active) {
        env_timer_start(&r->timer, r->config.interval_ms);
    } else {
        env_timer_stop(&r->timer);
    }
}
