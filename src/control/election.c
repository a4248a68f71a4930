/*
 * Who leads (docs/spec/reassignment.md section 5.4), as pure choices over one partition. Every choice
 * that changes the leader or the ISR raises the leader epoch by exactly one.
 */
#include "control/core.h"

bool control_replica_is_alive(const struct control *c, const struct core_partition *p, int32_t id)
{
    const struct core_broker *b = control_broker_find(c, id);
    return b != NULL && b->is_alive && !ids_has(&p->offline, id);
}

bool control_replica_is_online(const struct control *c, const struct core_partition *p, int32_t id)
{
    return control_replica_is_alive(c, p, id) && control_broker_is_live(c, id);
}

int32_t control_elect_first(const struct control *c, const struct core_partition *p,
                            const struct ids *order)
{
    for (int32_t i = 0; i < order->count; i++) {
        if (ids_has(&p->state.isr, order->list[i]) &&
            control_replica_is_online(c, p, order->list[i])) {
            return order->list[i];
        }
    }
    return MODEL_LEADER_NONE;
}

static int32_t first_online(const struct control *c, const struct core_partition *p)
{
    const struct ids *replicas = control_partition_replicas(p);
    for (int32_t i = 0; i < replicas->count; i++) {
        if (control_replica_is_online(c, p, replicas->list[i])) {
            return replicas->list[i];
        }
    }
    return MODEL_LEADER_NONE;
}

/* isr := the members of the present ISR that are alive. */
static void isr_alive(const struct control *c, const struct core_partition *p, struct ids *isr)
{
    ids_clear(isr);
    for (int32_t i = 0; i < p->state.isr.count; i++) {
        if (control_replica_is_alive(c, p, p->state.isr.list[i])) {
            ids_add(isr, p->state.isr.list[i]);
        }
    }
}

static void lead_uncleanly(const struct control *c, struct model_partition_state *next,
                           int32_t leader)
{
    next->leader = leader;
    ids_clear(&next->isr);
    ids_add(&next->isr, leader);
    next->recovery =
        ibp_has(c->config.level, IBP_RECOVERY_STATE) ? MODEL_RECOVERING : MODEL_RECOVERED;
    next->leader_epoch++;
}

bool control_elect_repair(const struct control *c, const struct core_partition *p,
                          struct model_partition_state *next)
{
    isr_alive(c, p, &next->isr);
    if (p->state.leader >= 0 && control_replica_is_alive(c, p, p->state.leader)) {
        next->leader_epoch++;
        return next->isr.count < p->state.isr.count || p->needs_raise;
    }
    int32_t leader = control_elect_first(c, p, control_partition_replicas(p));
    if (leader >= 0) {
        next->leader = leader;
        next->recovery = MODEL_RECOVERED;
        next->leader_epoch++;
        return true;
    }
    if (p->topic->is_unclean_election_enabled) {
        leader = first_online(c, p);
        if (leader >= 0) {
            lead_uncleanly(c, next, leader);
            return true;
        }
    }
    /* Nobody can lead. The ISR stays: each of its members holds all committed records, so that any of
     * them may lead when it comes back. */
    if (p->state.leader == MODEL_LEADER_NONE) {
        return false;
    }
    ids_copy(&next->isr, &p->state.isr);
    next->leader = MODEL_LEADER_NONE;
    next->leader_epoch++;
    return true;
}

/* isr := those of list that are online. */
static void isr_online(const struct control *c, const struct core_partition *p,
                       const struct ids *list, struct ids *isr)
{
    ids_clear(isr);
    for (int32_t i = 0; i < list->count; i++) {
        if (control_replica_is_online(c, p, list->list[i])) {
            ids_add(isr, list->list[i]);
        }
    }
}

/* A partition that moves without ever having had a state was put back by somebody: those that are to be
 * added have nothing yet. */
bool control_elect_create(const struct control *c, const struct core_partition *p,
                          struct model_partition_state *next)
{
    const struct ids *replicas = control_partition_replicas(p);
    struct ids old = {0};
    ids_minus(&old, replicas, &p->stored.adding);
    isr_online(c, p, &old, &next->isr);
    ids_deinit(&old);
    if (next->isr.count == 0) {
        isr_online(c, p, replicas, &next->isr);
    }
    if (next->isr.count == 0) {
        return false;
    }
    next->leader = next->isr.list[0];
    next->leader_epoch = 0;
    next->recovery = MODEL_RECOVERED;
    return true;
}

enum kerr control_elect_asked(const struct control *c, const struct core_partition *p,
                              bool is_unclean, struct model_partition_state *next)
{
    int32_t preferred = control_partition_replicas(p)->list[0];
    if (!is_unclean) {
        if (p->state.leader == preferred) {
            return KERR_ELECTION_NOT_NEEDED;
        }
        if (!p->has_state || !ids_has(&p->state.isr, preferred) ||
            !control_replica_is_online(c, p, preferred)) {
            return KERR_PREFERRED_LEADER_NOT_AVAILABLE;
        }
        next->leader = preferred;
        next->leader_epoch++;
        return KERR_NONE;
    }
    if (p->has_state && p->state.leader >= 0 && control_replica_is_alive(c, p, p->state.leader)) {
        return KERR_ELECTION_NOT_NEEDED;
    }
    int32_t leader = first_online(c, p);
    if (!p->has_state || leader < 0) {
        return KERR_ELIGIBLE_LEADERS_NOT_AVAILABLE;
    }
    lead_uncleanly(c, next, leader);
    return KERR_NONE;
}

static bool is_shutting_down(const struct control *c, int32_t id)
{
    const struct core_broker *b = control_broker_find(c, id);
    return b != NULL && b->is_shutting_down;
}

bool control_elect_shutdown(const struct control *c, const struct core_partition *p, int32_t broker,
                            struct model_partition_state *next)
{
    if (p->state.leader != broker) {
        /* Without a leader it may be the only one alive that has everything. */
        if (!ids_has(&p->state.isr, broker) || p->state.leader < 0 ||
            !control_replica_is_alive(c, p, p->state.leader)) {
            return false;
        }
        ids_remove(&next->isr, broker);
        next->leader_epoch++;
        return true;
    }
    int32_t leader = control_elect_first(c, p, control_partition_replicas(p));
    if (leader < 0) {
        return false;
    }
    ids_clear(&next->isr);
    for (int32_t i = 0; i < p->state.isr.count; i++) {
        if (!is_shutting_down(c, p->state.isr.list[i])) {
            ids_add(&next->isr, p->state.isr.list[i]);
        }
    }
    next->leader = leader;
    next->recovery = MODEL_RECOVERED;
    next->leader_epoch++;
    return true;
}
