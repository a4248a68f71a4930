/*
 * Moving replicas: the phases U, A and B (docs/spec/reassignment.md section 6), override, cancel and
 * resume. Decisions 1, 5 and 13 of the design. What may be asked for: alter.c.
 * Invariant: the triple stays in the topic znode until the new replicas are in sync, one of them
 * leads, the ISR holds no removed replica and those were told to delete (B6 is the last change).
 */
#include "control/core.h"

#include <stdlib.h>

/* ---- phases ---- */

static void phase_set(struct core_move *m, enum core_phase phase)
{
    static const unsigned char allowed[PHASE_COUNT] = {
        [PHASE_ASSIGN] = 1 << PHASE_DROP | 1 << PHASE_COPY, /* stored; or not: back */
        [PHASE_DROP] = 1 << PHASE_START | 1 << PHASE_ASSIGN,
        [PHASE_START] = 1 << PHASE_ASSIGN | 1 << PHASE_DROP | 1 << PHASE_COPY | 1 << PHASE_SHRINK |
                        1 << PHASE_STORE,
        [PHASE_COPY] = 1 << PHASE_ASSIGN | 1 << PHASE_DROP | 1 << PHASE_START | 1 << PHASE_SHRINK,
        [PHASE_SHRINK] = 1 << PHASE_STORE | 1 << PHASE_START,
        [PHASE_STORE] = 0,
    };
    CHECKF((allowed[m->phase] >> phase & 1) != 0, "from %d to %d", m->phase, phase);
    m->phase = phase;
}

static struct core_move *move_new(struct control *c, struct core_partition *p,
                                  enum core_phase phase)
{
    struct core_move *m = xalloc(sizeof *m);
    m->partition = p;
    m->phase = phase;
    m->is_fresh = true;
    m->started_ms = c->now_ms;
    list_init(&m->answers);
    assignment_target(&p->stored, &m->target);
    list_push_back(&c->moves, &m->link);
    p->move = m;
    return m;
}

/* To PHASE_DROP: until the dropped have left, they count as replicas. One of them may be the only one
 * that has everything, and must be able to lead on. */
static void drop_enter(struct core_move *m)
{
    ids_copy(&m->shown, &m->partition->stored.replicas);
    for (int32_t i = 0; i < m->dropped.count && !m->is_sparing; i++) {
        ids_add(&m->shown, m->dropped.list[i]);
    }
    m->is_handed_over = false;
    m->phase = PHASE_DROP;
}

static void change_leave(struct core_move *m)
{
    struct core_topic *t = m->partition->topic;
    list_remove(m->is_change_out ? &t->writing : &t->changes, &m->change);
}

static void answers_set(struct control *c, struct core_move *m, enum kerr error,
                        const char *message)
{
    struct list_node *n = NULL;
    while ((n = list_pop(&m->answers)) != NULL) {
        control_result_set(c, CONTAINER_OF(n, struct core_op, link), error, message);
    }
}

void control_move_free(struct control *c, struct core_partition *p, enum kerr error)
{
    struct core_move *m = p->move;
    if (m == NULL) {
        return;
    }
    p->move = NULL;
    if (error != KERR_NONE) {
        control_moved(c, p); /* its topic goes, or the change could not be stored */
    }
    answers_set(c, m, error, NULL);
    change_leave(m);
    list_remove(&c->moves, &m->link);
    ids_deinit(&m->target);
    ids_deinit(&m->dropped);
    ids_deinit(&m->shown);
    assignment_deinit(&m->next);
    free(m);
}

static void move_log(struct control *c, const struct core_partition *p, enum control_level level,
                     const char *what)
{
    struct errmsg em;
    (void)errmsg_set(&em, E_OK, "%s-%d: %s", p->topic->name, p->index, what);
    control_log_add(c, level, em.text);
}

static void wait_log(struct control *c, struct core_move *m, const char *what)
{
    if (!m->is_wait_logged) {
        m->is_wait_logged = true;
        move_log(c, m->partition, CONTROL_WARNING, what);
    }
}

/* B7, B8. */
static void move_finish(struct control *c, struct core_partition *p)
{
    control_tell_metadata(c, p);
    control_legacy_finished(c, p, &p->move->target);
    answers_set(c, p->move, KERR_NONE, p->move->note);
    control_move_free(c, p, KERR_NONE);
}

static void change_add(struct control *c, struct core_move *m)
{
    m->has_next = true;
    m->is_change_out = false;
    list_push_back(&m->partition->topic->changes, &m->change);
    control_topic_dirty(c, m->partition->topic);
}

/* ---- phase U ---- */

/* U1. Takes next's memory. */
static void assign_start(struct control *c, struct core_partition *p, struct assignment *next)
{
    struct core_move *m = p->move;
    if (m == NULL) {
        m = move_new(c, p, PHASE_ASSIGN);
    } else {
        m->before = m->phase;
        m->is_fresh = false;
        m->is_raised = false;
        phase_set(m, PHASE_ASSIGN);
    }
    assignment_deinit(&m->next);
    m->next = *next;
    *next = (struct assignment){0};
    change_add(c, m);
}

static void dropped_update(struct core_move *m, const struct ids *was, const struct ids *is)
{
    for (int32_t i = 0; i < was->count; i++) {
        if (!ids_has(is, was->list[i]) && !ids_has(&m->dropped, was->list[i])) {
            ids_add(&m->dropped, was->list[i]);
        }
    }
    for (int32_t i = 0; i < is->count; i++) {
        ids_remove(&m->dropped, is->list[i]);
    }
}

/* U2. */
static void assign_stored(struct control *c, struct core_move *m)
{
    struct core_partition *p = m->partition;
    bool was_moving = assignment_is_reassigning(&p->stored);
    dropped_update(m, &p->stored.replicas, &m->next.replicas);
    assignment_copy(&p->stored, &m->next);
    control_moved(c, p);
    assignment_target(&p->stored, &m->target);
    m->shows_target = false;
    m->is_wait_logged = false;
    phase_set(m, PHASE_DROP);
    drop_enter(m);
    if (assignment_is_reassigning(&p->stored)) {
        move_log(c, p, CONTROL_INFO, was_moving ? "move goes to another target" : "move starts");
    } else if (was_moving) {
        move_log(c, p, CONTROL_INFO, "move is cancelled");
    }
}

enum control_step control_move_step(const struct core_move *m)
{
    if (m->phase == PHASE_STORE) {
        return CONTROL_STEP_STORE;
    }
    if (!assignment_is_reassigning(&m->partition->stored)) {
        return CONTROL_STEP_ASSIGN;
    }
    return assignment_is_reassigning(&m->next) ? CONTROL_STEP_OVERRIDE : CONTROL_STEP_CANCEL;
}

void control_move_stored(struct control *c, struct core_move *m)
{
    struct core_partition *p = m->partition;
    m->has_next = false;
    if (m->phase == PHASE_ASSIGN) {
        assign_stored(c, m);
    } else {
        CHECK(m->phase == PHASE_STORE);
        assignment_copy(&p->stored, &m->next);
        control_moved(c, p);
        move_log(c, p, CONTROL_INFO, "move is done");
        move_finish(c, p);
    }
    control_partition_ready(c, p);
}

void control_move_held(struct control *c, struct core_move *m, const char *message)
{
    answers_set(c, m, KERR_UNKNOWN_SERVER_ERROR, message);
}

void control_move_store_failed(struct control *c, struct core_move *m, const char *message)
{
    struct core_partition *p = m->partition;
    CHECK(m->phase == PHASE_ASSIGN);
    m->has_next = false;
    answers_set(c, m, KERR_UNKNOWN_SERVER_ERROR, message);
    control_legacy_failed(c, p, message);
    if (m->is_fresh) {
        control_move_free(c, p, KERR_UNKNOWN_SERVER_ERROR);
    } else {
        m->phase = m->before;
    }
    control_partition_ready(c, p);
}

/* U3: who takes over from a leader that is dropped. -1 = nobody. */
static int32_t drop_successor(const struct control *c, const struct core_partition *p)
{
    int32_t leader = control_elect_first(c, p, &p->move->target);
    if (leader < 0) {
        leader = control_elect_first(c, p, &p->stored.replicas);
    }
    return leader;
}

/* They are not in the ISR, and nobody can put them there any more. */
static void dropped_stop(struct control *c, struct core_partition *p)
{
    struct core_move *m = p->move;
    for (int32_t i = 0; i < m->dropped.count; i++) {
        control_tell_stop(c, p, m->dropped.list[i], false);
        if (!m->is_sparing) {
            control_tell_stop(c, p, m->dropped.list[i], true);
        }
    }
    ids_clear(&m->dropped);
}

enum progress {
    MOVE_WAITS,
    MOVE_WRITES,
    MOVE_GOES_ON,
    MOVE_IS_OVER, /* and freed */
};

/* Forced, and nobody is left in the ISR: what a target replica has becomes the truth. */
static void drop_uncleanly(const struct control *c, const struct core_partition *p,
                           struct model_partition_state *next)
{
    const struct ids *target = &p->move->target;
    next->leader = MODEL_LEADER_NONE;
    for (int32_t i = target->count - 1; i >= 0; i--) {
        if (control_replica_is_online(c, p, target->list[i])) {
            next->leader = target->list[i];
        }
    }
    ids_add(&next->isr, next->leader >= 0 ? next->leader : target->list[0]);
    next->recovery = MODEL_RECOVERING;
}

/* Waits for the leader to answer what it was told last. A broker that lost power can count as alive and
 * in sync until its session expires; what others hold may not be deleted on the word of one that does
 * not answer. */
static void leader_await(struct core_move *m)
{
    m->awaits_leader = true;
    m->leader_send = 0;
}

void control_move_told(struct core_partition *p, int32_t broker, uint64_t send_id)
{
    struct core_move *m = p->move;
    if (m != NULL && m->awaits_leader && m->leader_send == 0 && p->state.leader == broker) {
        m->leader_send = send_id;
    }
}

void control_move_answered(struct control *c, struct core_partition *p,
                           const struct control_event *event, int16_t error)
{
    struct core_move *m = p->move;
    /* 11: it has that epoch already, the request arrived twice. */
    if (m != NULL && m->awaits_leader && m->leader_send != 0 &&
        p->state.leader == event->from.broker && event->send_id >= m->leader_send &&
        (error == KERR_NONE || error == KERR_STALE_CONTROLLER_EPOCH)) {
        m->awaits_leader = false;
        control_partition_ready(c, p);
    }
}

void control_move_repaired(struct core_partition *p)
{
    if (p->move != NULL && (p->move->phase == PHASE_SHRINK || p->move->phase == PHASE_DROP)) {
        leader_await(p->move);
    }
}

/* U3, first: the leader that stays, or takes over, gets a new epoch. */
static bool hand_over_start(struct control *c, struct core_partition *p)
{
    int32_t leader = p->state.leader;
    if (ids_has(&p->move->dropped, leader)) {
        leader = drop_successor(c, p);
    }
    if (leader < 0) {
        return false;
    }
    struct model_partition_state next = {0};
    model_partition_state_copy(&next, &p->state);
    if (next.leader != leader) {
        next.leader = leader;
        next.recovery = MODEL_RECOVERED;
    }
    next.leader_epoch++;
    control_partition_write(c, p, WHY_HAND_OVER, &next);
    return true;
}

/* U3, then: the dropped leave the ISR, all in one write. */
static void drop_start(struct control *c, struct core_partition *p)
{
    struct core_move *m = p->move;
    struct model_partition_state next = {0};
    model_partition_state_copy(&next, &p->state);
    ids_minus(&next.isr, &p->state.isr, &m->dropped);
    next.leader_epoch++;
    if (next.isr.count == 0) {
        drop_uncleanly(c, p, &next);
    } else if (ids_has(&m->dropped, next.leader)) {
        next.leader = MODEL_LEADER_NONE;
    }
    control_partition_write(c, p, WHY_DROP, &next);
}

static bool has_dropped(const struct core_partition *p)
{
    bool has = ids_has(&p->move->dropped, p->state.leader);
    for (int32_t i = 0; !has && i < p->state.isr.count; i++) {
        has = ids_has(&p->move->dropped, p->state.isr.list[i]);
    }
    return has;
}

/* While nobody can follow a leader that is dropped (in the spirit of decision 5), the drop waits, unless
 * the operator forced it. */
static enum progress drop_run(struct control *c, struct core_partition *p)
{
    struct core_move *m = p->move;
    if (!p->has_state || !has_dropped(p)) {
        /* They are stopped behind the next write of the state: below 2.7-IV2 the leader may have taken
         * one into the ISR by itself, which that write meets, and from then on it cannot. */
        phase_set(m, PHASE_START);
        return MOVE_GOES_ON;
    }
    if (m->is_handed_over && m->awaits_leader) {
        return MOVE_WRITES; /* nothing may come in between */
    }
    bool can_go =
        m->is_handed_over && p->state.leader >= 0 && !ids_has(&m->dropped, p->state.leader);
    if (can_go) {
        drop_start(c, p);
        return MOVE_WRITES;
    }
    m->is_handed_over = false;
    if (hand_over_start(c, p)) {
        return MOVE_WRITES;
    }
    if (m->is_forced) {
        drop_start(c, p);
        return MOVE_WRITES;
    }
    wait_log(c, m, "replicas are to be dropped, but no other one in sync can lead: waiting");
    return MOVE_WAITS;
}

/* ---- phases A and B ---- */

static bool is_complete(const struct core_partition *p)
{
    return !assignment_is_reassigning(&p->stored) ||
           (p->has_state && ids_subset(&p->move->target, &p->state.isr));
}

/* A1 */
static void raise_start(struct control *c, struct core_partition *p)
{
    struct model_partition_state next = {0};
    model_partition_state_copy(&next, &p->state);
    next.leader_epoch++;
    control_partition_write(c, p, WHY_RAISE, &next);
}

/* B3. False: no target replica can lead. */
static bool lead_start(struct control *c, struct core_partition *p)
{
    const struct core_move *m = p->move;
    int32_t leader = p->state.leader;
    if (!p->has_state) {
        return false;
    }
    if (!ids_has(&m->target, leader) || !control_replica_is_online(c, p, leader)) {
        leader = control_elect_first(c, p, &m->target);
    }
    if (leader < 0) {
        return false;
    }
    struct model_partition_state next = {0};
    model_partition_state_copy(&next, &p->state);
    if (next.leader != leader) {
        next.leader = leader;
        next.recovery = MODEL_RECOVERED;
    }
    next.leader_epoch++;
    control_partition_write(c, p, WHY_LEAD, &next);
    return true;
}

/* B5, after B4. */
static void shrink_finish(struct control *c, struct core_partition *p)
{
    const struct ids *removing = &p->stored.removing;
    for (int32_t i = 0; i < removing->count; i++) {
        control_tell_stop(c, p, removing->list[i], false);
        control_tell_stop(c, p, removing->list[i], true);
    }
    control_tell_metadata(c, p);
}

/* B6. Left out when the znode says it already: a list in another order, or a cancel, was stored by U1. */
static enum progress store_start(struct control *c, struct core_partition *p)
{
    struct core_move *m = p->move;
    phase_set(m, PHASE_STORE);
    assignment_deinit(&m->next);
    m->next = (struct assignment){0};
    ids_copy(&m->next.replicas, &m->target);
    if (assignment_equal(&m->next, &p->stored) && p->stored.original.count == 0) {
        move_finish(c, p);
        return MOVE_IS_OVER;
    }
    change_add(c, m);
    return MOVE_WRITES;
}

/* B4: all removed replicas leave the ISR in one write (decision 13). */
static enum progress shrink_run(struct control *c, struct core_partition *p)
{
    struct model_partition_state next = {0};
    if (p->stored.removing.count > 0 && p->move->awaits_leader) {
        return MOVE_WRITES; /* nothing may come in between */
    }
    for (int32_t i = 0; i < p->state.isr.count; i++) {
        if (ids_has(&p->move->target, p->state.isr.list[i])) {
            ids_add(&next.isr, p->state.isr.list[i]);
        }
    }
    if (next.isr.count == p->state.isr.count || next.isr.count == 0) {
        ids_deinit(&next.isr);
        shrink_finish(c, p);
        return store_start(c, p);
    }
    struct ids isr = next.isr;
    next = p->state;
    next.isr = isr;
    next.leader_epoch++;
    control_partition_write(c, p, WHY_SHRINK, &next);
    return MOVE_WRITES;
}

static enum progress start_run(struct control *c, struct core_partition *p)
{
    struct core_move *m = p->move;
    bool is_raised = m->is_raised;
    bool is_moving = assignment_is_reassigning(&p->stored);
    if (p->has_state && m->dropped.count > 0 && has_dropped(p)) {
        phase_set(m, PHASE_DROP);
        drop_enter(m);
        return MOVE_GOES_ON;
    }
    m->is_raised = false;
    if (!p->has_state) {
        dropped_stop(c, p);
    }
    if (is_complete(p)) {
        if ((is_moving || !is_raised) && lead_start(c, p)) {
            return MOVE_WRITES;
        }
        if (!is_moving) {
            dropped_stop(c, p);       /* there is no leader that could take one in */
            return store_start(c, p); /* nothing is taken away: it needs no leader */
        }
    } else if (p->has_state && !is_raised) {
        raise_start(c, p);
        return MOVE_WRITES;
    }
    phase_set(m, PHASE_COPY);
    return MOVE_GOES_ON;
}

static enum progress copy_run(struct control *c, struct core_partition *p)
{
    if (!is_complete(p)) {
        return MOVE_WAITS;
    }
    if (lead_start(c, p)) {
        return MOVE_WRITES;
    }
    wait_log(c, p->move, "in sync, but none of the target replicas can lead: waiting");
    return MOVE_WAITS;
}

bool control_move_advance(struct control *c, struct core_partition *p)
{
    enum progress progress = MOVE_GOES_ON;
    while (progress == MOVE_GOES_ON) {
        switch (p->move->phase) {
        case PHASE_ASSIGN:
        case PHASE_STORE:
            return true; /* the topic's write will tell */
        case PHASE_DROP:
            progress = drop_run(c, p);
            break;
        case PHASE_START:
            progress = start_run(c, p);
            break;
        case PHASE_COPY:
            progress = copy_run(c, p);
            break;
        case PHASE_SHRINK:
            progress = shrink_run(c, p);
            break;
        case PHASE_COUNT:
        default:
            CHECK(false);
        }
    }
    if (progress == MOVE_WAITS) {
        control_partition_watch(c, p);
        answers_set(c, p->move, KERR_NONE, p->move->note);
    }
    return progress == MOVE_WRITES;
}

void control_move_written(struct control *c, struct core_partition *p, enum core_why why)
{
    struct core_move *m = p->move;
    CHECK(m != NULL);
    struct ids origin = {0};
    switch (why) {
    case WHY_HAND_OVER:
        m->is_handed_over = true;
        leader_await(m);
        control_tell_state(c, p, &m->shown);
        break;
    case WHY_DROP:
        assignment_origin(&p->stored, &origin);
        control_tell_state(c, p, &origin);
        control_tell_new(c, p, &p->stored.adding);
        ids_deinit(&origin);
        dropped_stop(c, p);
        phase_set(m, PHASE_START);
        m->is_raised = true;
        break;
    case WHY_RAISE:
        phase_set(m, PHASE_COPY);
        dropped_stop(c, p);
        assignment_origin(&p->stored, &origin);
        control_tell_state(c, p, &origin);
        control_tell_new(c, p, &p->stored.adding);
        ids_deinit(&origin);
        break;
    case WHY_LEAD:
        phase_set(m, PHASE_SHRINK);
        dropped_stop(c, p);
        m->shows_target = true;
        leader_await(m);
        control_tell_state(c, p, &m->target);
        break;
    case WHY_SHRINK:
        control_tell_state(c, p, &m->target);
        shrink_finish(c, p);
        (void)store_start(c, p);
        break;
    case WHY_CREATE:
    case WHY_REPAIR:
    case WHY_OP:
    case WHY_COUNT:
    default:
        CHECK(false);
    }
}

void control_move_check_leader(struct control *c, struct core_partition *p)
{
    struct core_move *m = p->move;
    if (m == NULL || m->phase != PHASE_SHRINK) {
        return;
    }
    bool can_lead =
        (ids_has(&m->target, p->state.leader) && control_replica_is_alive(c, p, p->state.leader)) ||
        control_elect_first(c, p, &m->target) >= 0;
    if (!can_lead) {
        m->shows_target = false;
        phase_set(m, PHASE_START);
    }
}

void control_move_restart(struct control *c, struct core_partition *p, int32_t broker)
{
    struct core_move *m = p->move;
    (void)c;
    if (m != NULL && m->phase == PHASE_COPY && ids_has(&m->target, broker)) {
        phase_set(m, PHASE_START);
    }
}

void control_move_resume(struct control *c, struct core_partition *p)
{
    struct ids extra = {0};
    control_members_outside(p, &extra);
    if (extra.count > 0 || assignment_is_reassigning(&p->stored)) {
        struct core_move *m = move_new(c, p, PHASE_START);
        m->is_resumed = true;
        m->is_sparing = p->has_strangers;
        control_moved(c, p);
        if (extra.count > 0) {
            ids_move(&m->dropped, &extra);
            drop_enter(m);
        }
    }
    ids_deinit(&extra);
}

void control_move_check_members(struct control *c, struct core_partition *p)
{
    struct core_move *m = p->move;
    if (!p->has_state || (m != NULL && m->phase != PHASE_COPY) ||
        (ids_subset(&p->state.isr, &p->stored.replicas) &&
         (p->state.leader < 0 || ids_has(&p->stored.replicas, p->state.leader)))) {
        return;
    }
    if (m == NULL) {
        control_move_resume(c, p);
    } else {
        m->is_sparing |= p->has_strangers;
        control_members_outside(p, &m->dropped);
        phase_set(m, PHASE_DROP);
        drop_enter(m);
    }
}

void control_move_begin(struct control *c, struct core_partition *p, struct assignment *next)
{
    if (!assignment_equal(next, &p->stored)) {
        assign_start(c, p, next);
    } else if (p->move == NULL) {
        (void)move_new(c, p, PHASE_START);
    } else if (p->move->phase == PHASE_COPY) {
        phase_set(p->move, PHASE_START);
    }
}
