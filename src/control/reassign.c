/*
 * Moving replicas: validation (docs/spec/reassignment.md 3.5), the phases U, A and B (section 6),
 * override, cancel and resume. Decisions 1 to 5, 8, 13 of the design.
 * Invariant: the triple stays in the topic znode until the new replicas are in sync, one of them
 * leads, the ISR holds no removed replica and those were told to delete (B6 is the last change).
 */
#include "control/core.h"

#include "base/buf.h"

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
    for (int32_t i = 0; i < m->dropped.count; i++) {
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

static void move_log(struct control *c, const struct core_partition *p, const char *what)
{
    struct errmsg em;
    (void)errmsg_set(&em, E_OK, "%s-%d: %s", p->topic->name, p->index, what);
    control_log_add(c, CONTROL_INFO, em.text);
}

static void wait_log(struct control *c, struct core_move *m, const char *what)
{
    if (!m->is_wait_logged) {
        m->is_wait_logged = true;
        move_log(c, m->partition, what);
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
        move_log(c, p, was_moving ? "move goes to another target" : "move starts");
    } else if (was_moving) {
        move_log(c, p, "move is cancelled");
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
        move_log(c, p, "move is done");
        move_finish(c, p);
    }
    control_partition_ready(c, p);
}

void control_move_store_failed(struct control *c, struct core_move *m, const char *message)
{
    struct core_partition *p = m->partition;
    CHECK(m->phase == PHASE_ASSIGN);
    m->has_next = false;
    answers_set(c, m, KERR_UNKNOWN_SERVER_ERROR, message);
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
        control_tell_stop(c, p, m->dropped.list[i], true);
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

/* The leader and ISR members that are not in the list. */
static void extras(const struct core_partition *p, struct ids *ret)
{
    ids_minus(ret, &p->state.isr, &p->stored.replicas);
    if (p->has_state && p->state.leader >= 0 && !ids_has(&p->stored.replicas, p->state.leader) &&
        !ids_has(ret, p->state.leader)) {
        ids_add(ret, p->state.leader);
    }
}

void control_move_resume(struct control *c, struct core_partition *p)
{
    struct ids extra = {0};
    extras(p, &extra);
    if (extra.count > 0 || assignment_is_reassigning(&p->stored)) {
        struct core_move *m = move_new(c, p, PHASE_START);
        m->is_resumed = true;
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
        extras(p, &m->dropped);
        phase_set(m, PHASE_DROP);
        drop_enter(m);
    }
}

/* ---- Alter ---- */

/* P1 to P4. p is NULL for a partition nobody knows: then every id counts as new. */
static enum kerr list_check(const struct control *c, const struct core_partition *p,
                            const struct core_request *r, int32_t index, struct errmsg *em)
{
    const struct control_alter_entry *e = &r->body.alter.entries[index];
    bool allows_dead = r->body.alter.allows_dead_targets;
    struct ids list = {0};
    int32_t known = (int32_t)HASH_COUNT(c->brokers) + (p == NULL ? 0 : p->stored.replicas.count);
    if (e->replica_count == 0) {
        (void)errmsg_set(em, E_INVALID, "the replica list is empty");
        return KERR_INVALID_REPLICA_ASSIGNMENT;
    }
    if (e->replica_count > known && !allows_dead) {
        (void)errmsg_set(em, E_INVALID, "the replica list names more brokers than there are");
        return KERR_INVALID_REPLICA_ASSIGNMENT;
    }
    ids_set(&list, e->replicas, e->replica_count);
    enum kerr error = KERR_NONE;
    if (ids_has_duplicate(&list)) {
        (void)errmsg_set(em, E_INVALID, "the replica list names a broker twice");
        error = KERR_INVALID_REPLICA_ASSIGNMENT;
    }
    struct ids origin = {0};
    if (p != NULL) {
        assignment_origin(&p->stored, &origin);
    }
    for (int32_t i = 0; error == KERR_NONE && i < list.count; i++) {
        int32_t id = list.list[i];
        if (id < 0 || (!allows_dead && !ids_has(&origin, id) && !control_broker_is_live(c, id))) {
            (void)errmsg_set(em, E_INVALID, "broker %d is not alive", id);
            error = KERR_INVALID_REPLICA_ASSIGNMENT;
        }
    }
    ids_deinit(&origin);
    ids_deinit(&list);
    return error;
}

/* Decision 2, and the same care for an override: the list after the change must keep what the partition
 * lives on. A running move is stopped by next when next no longer moves. */
static enum kerr strand_check(const struct core_partition *p, const struct assignment *next,
                              struct errmsg *em)
{
    int32_t isr_count = p->state.isr.count;
    int32_t kept = ids_common_count(&p->state.isr, &next->replicas);
    if (!p->has_state || kept == isr_count) {
        return KERR_NONE;
    }
    int32_t wanted = MIN(p->topic->min_insync_replicas, next->replicas.count);
    bool is_undo = !assignment_is_reassigning(next);
    if (kept > 0 && !(is_undo && kept < wanted && kept < isr_count)) {
        return KERR_NONE;
    }
    struct buf names;
    buf_init(&names);
    for (int32_t i = 0; i < next->replicas.count; i++) {
        if (!ids_has(&p->state.isr, next->replicas.list[i])) {
            buf_putf(&names, "%s%d", names.len == 0 ? "" : ", ", next->replicas.list[i]);
        }
    }
    struct slice shown = slice_of(names.ptr, MIN(names.len, ERRMSG_SIZE / 2));
    (void)errmsg_set(em, E_INVALID,
                     "refused: %d of %d in-sync replicas would remain; not in sync: broker %.*s",
                     kept, isr_count, SLICE_ARG(shown));
    buf_deinit(&names);
    return KERR_INVALID_REPLICA_ASSIGNMENT;
}

/* The triple that the entry asks for. */
static enum kerr alter_next(const struct control *c, const struct core_op *op,
                            struct assignment *ret, const char **ret_note, struct errmsg *em)
{
    const struct core_partition *p = op->partition;
    const struct control_alter *alter = &op->request->body.alter;
    const struct control_alter_entry *e = &alter->entries[op->index];
    if (e->from != NULL && !assignment_undoes_to(&p->stored, e->from)) {
        (void)errmsg_set(em, E_INVALID, "the partition has moved meanwhile");
        return KERR_INVALID_UPDATE_VERSION;
    }
    if (e->is_cancel) {
        if (!assignment_is_reassigning(&p->stored)) {
            (void)errmsg_set(em, E_NOT_FOUND, "no move is in progress");
            return KERR_NO_REASSIGNMENT_IN_PROGRESS;
        }
        if (!assignment_undo_target(&p->stored, &ret->replicas)) {
            *ret_note = "the list from before the move is not stored: its order may differ";
        }
        return alter->is_cancel_forced ? KERR_NONE : strand_check(p, ret, em);
    }
    enum kerr error = list_check(c, p, op->request, op->index, em);
    if (error != KERR_NONE) {
        return error;
    }
    int32_t factor = p->stored.replicas.count - p->stored.removing.count;
    if (alter->forbids_factor_change && e->replica_count != factor) {
        (void)errmsg_set(em, E_INVALID, "the replication factor would change from %d to %d", factor,
                         e->replica_count);
        return KERR_INVALID_REPLICATION_FACTOR;
    }
    struct ids target = {0};
    ids_set(&target, e->replicas, e->replica_count);
    assignment_reassign(&p->stored, &target, ret);
    ids_deinit(&target);
    return alter->is_cancel_forced ? KERR_NONE : strand_check(p, ret, em);
}

/* Phase U when the triple is another one; else A or B once more. */
static void move_begin(struct control *c, struct core_partition *p, struct assignment *next)
{
    if (!assignment_equal(next, &p->stored)) {
        assign_start(c, p, next);
    } else if (p->move == NULL) {
        (void)move_new(c, p, PHASE_START);
    } else if (p->move->phase == PHASE_COPY) {
        phase_set(p->move, PHASE_START);
    }
}

int control_move_to(struct control *c, struct core_partition *p, const struct ids *target,
                    struct errmsg *em)
{
    struct assignment next = {0};
    assignment_reassign(&p->stored, target, &next);
    int err = strand_check(p, &next, em) == KERR_NONE ? 0 : -E_INVALID;
    if (err == 0) {
        move_begin(c, p, &next);
        p->move->note = NULL;
        p->move->is_forced = false;
    }
    assignment_deinit(&next);
    return err;
}

bool control_alter_run(struct control *c, struct core_op *op)
{
    struct core_partition *p = op->partition;
    struct assignment next = {0};
    const char *note = NULL;
    struct errmsg em = {0};
    enum kerr error = alter_next(c, op, &next, &note, &em);
    bool is_real = !op->request->body.alter.is_validate_only;
    if (error == KERR_NONE && is_real && control_legacy_yields(c, p)) {
        assignment_deinit(&next);
        return true;
    }
    (void)list_pop(&p->ops);
    if (error != KERR_NONE || !is_real) {
        control_result_set(c, op, error, error != KERR_NONE ? em.text : note);
        assignment_deinit(&next);
        return false;
    }
    move_begin(c, p, &next);
    p->move->note = note;
    p->move->is_forced = op->request->body.alter.is_cancel_forced;
    list_push_back(&p->move->answers, &op->link);
    assignment_deinit(&next);
    return false;
}

/* ---- Alter: from a request to operations ---- */

struct core_seen {
    struct slice topic;
    int32_t partition;
    int32_t index;
    uint64_t hash;
    UT_hash_handle hh;
};

/* The entry that named the same partition before, or -1. */
static int32_t seen_before(struct control *c, struct core_request *r, int32_t index)
{
    const struct control_alter_entry *e = &r->body.alter.entries[index];
    struct core_partition *p = control_partition_find(c, e->topic, e->partition);
    if (p != NULL) {
        int32_t before = p->seen_request == r->serial ? p->seen_index : -1;
        p->seen_request = r->serial;
        p->seen_index = index;
        return before;
    }
    uint64_t hash = hash_bytes(e->topic.ptr, e->topic.len) ^ (uint64_t)(uint32_t)e->partition;
    struct core_seen *seen = NULL;
    HASH_FIND(hh, r->seen, &hash, sizeof hash, seen);
    if (seen != NULL) {
        return slice_equal(seen->topic, e->topic) && seen->partition == e->partition ? seen->index
                                                                                     : -1;
    }
    seen = xalloc(sizeof *seen);
    *seen = (struct core_seen){
        .topic = e->topic, .partition = e->partition, .index = index, .hash = hash};
    HASH_ADD(hh, r->seen, hash, sizeof seen->hash, seen);
    return -1;
}

void control_seen_clear(struct core_request *r)
{
    struct core_seen *seen = NULL;
    struct core_seen *next = NULL;
    HASH_ITER(hh, r->seen, seen, next)
    {
        HASH_DEL(r->seen, seen);
        free(seen);
    }
}

static void duplicate_mark(struct core_request *r, int32_t index)
{
    r->results[index].error = KERR_INVALID_REQUEST;
}

static void entry_start(struct control *c, struct core_request *r, int32_t index)
{
    const struct control_alter_entry *e = &r->body.alter.entries[index];
    struct core_op *op = control_op_new(r, index);
    if (r->results[index].error != KERR_NONE) {
        control_result_set(c, op, KERR_INVALID_REQUEST,
                           "the partition is named more than once in the request");
        return;
    }
    struct core_partition *p = control_partition_find(c, e->topic, e->partition);
    if (p != NULL && p->topic->deletion == DELETION_NONE) {
        op->partition = p;
        list_push_back(&p->ops, &op->link);
        control_partition_ready(c, p);
        return;
    }
    struct errmsg em = {0};
    enum kerr error = KERR_NO_REASSIGNMENT_IN_PROGRESS;
    if (e->is_cancel) {
        (void)errmsg_set(&em, E_NOT_FOUND, "no move is in progress");
    } else {
        error = list_check(c, p, r, index, &em);
    }
    if (error == KERR_NONE) {
        error = KERR_UNKNOWN_TOPIC_OR_PARTITION;
        (void)errmsg_set(&em, E_NOT_FOUND,
                         p == NULL ? "there is no such partition" : "the topic is being deleted");
    }
    control_result_set(c, op, error, em.text);
}

void control_alter_expand(struct control *c, struct core_request *r)
{
    int32_t count = r->body.alter.count;
    for (; r->pass == 0 && r->cursor < count && c->budget > 0; r->cursor++, c->budget--) {
        int32_t before = seen_before(c, r, r->cursor);
        if (before >= 0) {
            duplicate_mark(r, before);
            duplicate_mark(r, r->cursor);
        }
    }
    if (r->pass == 0 && r->cursor == count) {
        control_seen_clear(r);
        r->pass = 1;
        r->cursor = 0;
    }
    for (; r->pass == 1 && r->cursor < count && c->budget > 0; r->cursor++, c->budget--) {
        entry_start(c, r, r->cursor);
    }
    if (r->pass == 1 && r->cursor == count) {
        r->is_expanding = false;
        list_remove(&c->expanding, &r->expanding);
        control_request_done(c, r);
    }
}

/* ---- List ---- */

static bool is_listed(const struct core_partition *p)
{
    return p->topic->deletion == DELETION_NONE && assignment_is_reassigning(&p->stored);
}

static void moving_fill(const struct control *c, struct core_request *r,
                        const struct core_partition *p, struct control_moving *list)
{
    const struct core_move *m = p->move;
    struct control_moving *moving = &list[r->reply.count++];
    *moving = (struct control_moving){.topic = slice_str(p->topic->name),
                                      .partition = p->index,
                                      .replicas = p->stored.replicas,
                                      .adding = p->stored.adding,
                                      .removing = p->stored.removing,
                                      .original = p->stored.original,
                                      .isr = p->state.isr,
                                      .offline = p->offline,
                                      .leader = p->has_state ? p->state.leader : MODEL_LEADER_NONE,
                                      .started_ms = c->now_ms};
    moving->has_leader = moving->leader >= 0 && control_replica_is_alive(c, p, moving->leader);
    moving->min_insync =
        MIN(p->topic->min_insync_replicas, p->stored.replicas.count - p->stored.adding.count);
    if (m != NULL) {
        moving->is_stopping = m->phase == PHASE_DROP || m->phase == PHASE_SHRINK;
        moving->started_ms = m->started_ms;
        moving->is_resumed = m->is_resumed;
    }
}

static int moving_compare(const void *a, const void *b)
{
    const struct control_moving *x = a;
    const struct control_moving *y = b;
    int order = slice_compare(x->topic, y->topic);
    return order != 0 ? order : (x->partition > y->partition) - (x->partition < y->partition);
}

void control_list_run(struct control *c, struct core_request *r)
{
    const struct control_list *body = &r->body.list;
    size_t max = body->wants_all ? c->moves.count : (size_t)MAX(body->count, 0);
    struct control_moving *list = control_effect_array(c, max + 1, sizeof *list);
    struct list_node *n = NULL;
    if (body->wants_all) {
        list_foreach (n, &c->moves) {
            const struct core_partition *p = CONTAINER_OF(n, struct core_move, link)->partition;
            if (is_listed(p)) {
                moving_fill(c, r, p, list);
            }
        }
    }
    for (int32_t i = 0; !body->wants_all && i < body->count; i++) {
        struct core_partition *p =
            control_partition_find(c, body->entries[i].topic, body->entries[i].partition);
        if (p != NULL && is_listed(p) && p->seen_request != r->serial) {
            p->seen_request = r->serial; /* named twice, listed once */
            moving_fill(c, r, p, list);
        }
    }
    qsort(list, (size_t)r->reply.count, sizeof *list, moving_compare);
    r->reply.moving = list;
}
