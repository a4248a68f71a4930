/*
 * One partition: its state znode, and the order in which what is asked of it is done: it gets a state,
 * then a leader and an ISR of living members, then its move goes on, then requests take their turn.
 * Invariant: at most one write of the state is out; memory holds what is known to be stored.
 */
#include "control/core.h"

#include <stdlib.h>

struct core_partition *control_partition_new(struct control *c, struct core_topic *t, int32_t index,
                                             const struct assignment *a)
{
    struct core_partition *p = xalloc(sizeof *p);
    p->topic = t;
    p->index = index;
    p->seen_index = -1;
    p->state.leader = MODEL_LEADER_NONE;
    p->witness = -1;
    p->refused_version = -1;
    assignment_copy(&p->stored, a);
    list_init(&p->ops);
    t->stateless_count++;
    c->partition_count++;
    return p;
}

static void recount(struct control *c, struct core_partition *p, bool is_leaderless,
                    bool is_unpreferred)
{
    c->leaderless_count += is_leaderless - p->is_leaderless;
    c->unpreferred_count += is_unpreferred - p->is_unpreferred;
    p->is_leaderless = is_leaderless;
    p->is_unpreferred = is_unpreferred;
}

static void ops_fail(struct control *c, struct core_partition *p, enum kerr error)
{
    struct list_node *n = NULL;
    while ((n = list_pop(&p->ops)) != NULL) {
        control_op_fail(c, CONTAINER_OF(n, struct core_op, link), error, NULL);
    }
}

/* Whoever waits for the partition is told why it is left alone. */
static void held_answer(struct control *c, struct core_partition *p)
{
    struct list_node *n = NULL;
    while ((n = list_pop(&p->ops)) != NULL) {
        control_op_fail(c, CONTAINER_OF(n, struct core_op, link), KERR_UNKNOWN_SERVER_ERROR,
                        p->hold->why);
    }
    if (p->move != NULL) {
        control_move_held(c, p->move, p->hold->why);
    }
}

void control_partition_free(struct control *c, struct core_partition *p, enum kerr error)
{
    ops_fail(c, p, error);
    control_hold_free(c, &p->hold);
    control_move_free(c, p, error);
    control_legacy_refuse(c, p, "the topic is gone");
    control_tell_drop(c, p);
    list_remove(&c->ready, &p->ready);
    recount(c, p, false, false);
    c->partition_count--;
    if (!p->has_state) {
        p->topic->stateless_count--;
    }
    model_partition_state_deinit(&p->state);
    control_gone_forget(p);
    assignment_deinit(&p->stored);
    ids_deinit(&p->offline);
    ids_deinit(&p->deleting);
    free(p);
}

struct core_partition *control_partition_find(const struct control *c, struct slice topic,
                                              int32_t index)
{
    struct core_topic *t = control_topic_find(c, topic);
    if (t == NULL || index < 0 || index >= t->partition_count ||
        t->partitions[index]->stored.replicas.count == 0) {
        return NULL;
    }
    return t->partitions[index];
}

const struct ids *control_partition_replicas(const struct core_partition *p)
{
    const struct core_move *m = p->move;
    if (m != NULL && m->phase == PHASE_DROP) {
        return &m->shown;
    }
    return m != NULL && m->shows_target ? &m->target : &p->stored.replicas;
}

void control_partition_ready(struct control *c, struct core_partition *p)
{
    if (!list_has(&p->ready)) {
        list_push_back(&c->ready, &p->ready);
    }
}

/* ---- writes of the state ---- */

static uint32_t steps_of(enum core_why why)
{
    static const uint32_t steps[WHY_COUNT] = {
        [WHY_HAND_OVER] = 1 << CONTROL_STEP_HAND_OVER, [WHY_DROP] = 1 << CONTROL_STEP_DROP,
        [WHY_RAISE] = 1 << CONTROL_STEP_RAISE,         [WHY_LEAD] = 1 << CONTROL_STEP_LEAD,
        [WHY_SHRINK] = 1 << CONTROL_STEP_SHRINK,
    };
    return steps[why];
}

void control_partition_write(struct control *c, struct core_partition *p, enum core_why why,
                             struct model_partition_state *next)
{
    CHECK(p->write == NULL);
    struct core_write *w = control_write_add(
        c, p->has_state ? CONTROL_WRITE_STATE_SET : CONTROL_WRITE_STATE_CREATE, p->topic);
    w->had_raise = p->needs_raise;
    p->witness = -1;
    p->needs_raise = false;
    w->why = why;
    w->partition = p;
    w->state = *next;
    w->state.controller_epoch = c->epoch;
    control_members_note(p, &w->state);
    w->state.version = p->has_state ? p->state.version : -1;
    *next = (struct model_partition_state){0};
    p->write = w;
    control_write_emit(c, w)->steps = steps_of(why);
}

/* A replica that still leads, or is still in the ISR, must hear of it though it left the list. */
static void tell_everybody(struct control *c, struct core_partition *p)
{
    control_tell_state(c, p, control_partition_replicas(p));
    control_tell_state(c, p, &p->state.isr);
}

static void op_written(struct control *c, struct core_partition *p)
{
    struct list_node *n = list_pop(&p->ops);
    CHECK(n != NULL);
    struct core_op *op = CONTAINER_OF(n, struct core_op, link);
    enum control_request_kind kind = op->request->body.kind;
    if (kind == CONTROL_ALTER_PARTITION) {
        control_tell_metadata(c, p);
        control_isr_answer(op, KERR_NONE);
        control_request_done(c, op->request);
    } else if (kind == CONTROL_ELECT_LEADERS) {
        tell_everybody(c, p);
        control_result_set(c, op, KERR_NONE, NULL);
    } else {
        CHECK(kind == CONTROL_SHUTDOWN);
        tell_everybody(c, p);
        control_shutdown_done(c, op);
    }
}

static void written(struct control *c, struct core_partition *p, enum core_why why)
{
    switch (why) {
    case WHY_CREATE:
        control_tell_new(c, p, control_partition_replicas(p));
        control_create_check(c, p->topic);
        break;
    case WHY_REPAIR:
        tell_everybody(c, p);
        control_move_repaired(p);
        break;
    case WHY_HAND_OVER:
    case WHY_DROP:
    case WHY_RAISE:
    case WHY_LEAD:
    case WHY_SHRINK:
        control_move_written(c, p, why);
        break;
    case WHY_OP:
        op_written(c, p);
        break;
    case WHY_COUNT:
    default:
        CHECK(false);
    }
}

static void state_exists(struct control *c, struct core_partition *p)
{
    control_gone_forget(p);
    if (!p->has_state) {
        p->has_state = true;
        p->topic->stateless_count--;
    }
    if (p->topic->stateless_count == 0) {
        control_create_settle(c, p->topic);
    }
}

/* Somebody else wrote the state (a leader of an old version, an earlier controller's last write, or a
 * broker that left the ISR before it registered): look again with what is there. The others have to
 * hear of it, for they know the epoch before. */
static void conflict(struct control *c, struct core_partition *p, const struct core_write *w,
                     const struct model_partition_state *present)
{
    CHECK(present != NULL);
    if (present->controller_epoch > c->epoch) {
        control_resign(c, "a partition state was written by a newer controller");
        return;
    }
    if (!control_members_take(c, p, present, false)) {
        return;
    }
    state_exists(c, p);
    struct list_node *n = list_first(&p->ops);
    if (w->why == WHY_OP && n != NULL) {
        struct core_op *op = CONTAINER_OF(n, struct core_op, link);
        if (op->request->body.kind == CONTROL_ALTER_PARTITION) {
            (void)list_pop(&p->ops);
            control_op_fail(c, op, KERR_INVALID_UPDATE_VERSION, NULL);
        }
    }
    tell_everybody(c, p);
}

static void watch(struct control *c, struct core_partition *p)
{
    if (!p->is_watched) {
        p->is_watched = true;
        control_effect_add(c, CONTROL_EFFECT_WATCH)->watched =
            (struct control_tp){slice_str(p->topic->name), p->index};
    }
}

void control_partition_lose(struct control *c, struct core_partition *p, const char *why)
{
    char *text =
        xasprintf("%s-%d is left alone: its state /brokers/topics/%s/partitions/%d/state %s",
                  p->topic->name, p->index, p->topic->name, p->index, why);
    control_log_add(c, CONTROL_WARNING, text);
    free(text);
    p->is_lost = true;
    ops_fail(c, p, KERR_UNKNOWN_TOPIC_OR_PARTITION);
    control_move_free(c, p, KERR_UNKNOWN_TOPIC_OR_PARTITION);
    control_legacy_refuse(c, p, "its state is lost");
}

static void missing(struct control *c, struct core_partition *p, const struct core_write *w)
{
    if (w->why == WHY_CREATE && p->topic->has_partitions_node) {
        p->topic->has_partitions_node = false; /* somebody removed it: make it again, once */
    } else {
        control_partition_lose(c, p, "is gone from the metastore");
    }
}

void control_partition_lose_for_now(struct control *c, struct core_partition *p, const char *why)
{
    control_partition_lose(c, p, why);
    watch(c, p);
}

/* Nothing was stored. What asked for it is told, the rest is wanted again when the hold is over. */
static void failed(struct control *c, struct core_partition *p, const struct core_write *w,
                   const struct control_event *event)
{
    p->needs_raise = p->needs_raise || w->had_raise;
    control_hold_partition(c, p, event);
    held_answer(c, p);
}

static void unreadable(struct control *c, struct core_partition *p, const char *message)
{
    struct errmsg em;
    (void)errmsg_set(&em, E_MALFORMED, "cannot be read: %.200s", message == NULL ? "" : message);
    control_partition_lose_for_now(c, p, em.text);
}

void control_partition_written(struct control *c, struct core_write *w,
                               const struct control_event *event)
{
    struct core_partition *p = w->partition;
    CHECK(p->write == w);
    p->write = NULL;
    if (event->outcome != CONTROL_FAILED) {
        control_hold_end(c, &p->hold);
    }
    switch (event->outcome) {
    case CONTROL_WRITTEN:
        model_partition_state_deinit(&p->state);
        p->state = w->state;
        w->state.isr = (struct ids){0};
        p->state.version = event->version;
        control_members_written(p);
        state_exists(c, p);
        written(c, p, w->why);
        break;
    case CONTROL_CONFLICT:
        if (event->state == NULL) {
            unreadable(c, p, event->message);
        } else {
            conflict(c, p, w, event->state);
        }
        break;
    case CONTROL_MISSING:
        missing(c, p, w);
        break;
    case CONTROL_FAILED:
        failed(c, p, w, event);
        break;
    case CONTROL_FENCED:
    default:
        CHECK(false);
    }
    control_partition_ready(c, p);
}

/* What was unreadable is mended. Members may have restarted meanwhile: all are told under a new epoch. */
static void found(struct control *c, struct core_partition *p)
{
    struct errmsg em;
    (void)errmsg_set(&em, E_OK, "%s-%d: its state is back", p->topic->name, p->index);
    control_log_add(c, CONTROL_INFO, em.text);
    p->is_lost = false;
    p->needs_raise = true;
    state_exists(c, p);
    control_move_resume(c, p);
}

void control_partition_seen(struct control *c, const struct control_event *event)
{
    struct core_partition *p = control_partition_find(c, event->of.topic, event->of.partition);
    if (p != NULL && event->is_watch_over) {
        p->is_watched = false;
        control_partition_ready(c, p);
    }
    if (p == NULL || p->write != NULL ||
        (!p->is_lost && (!p->has_state || event->seen->version <= p->state.version))) {
        return; /* a write that is out will meet it */
    }
    if (event->seen->controller_epoch > c->epoch) {
        control_resign(c, "a partition state was written by a newer controller");
        return;
    }
    if (p->is_lost && event->seen->version == p->refused_version) {
        return;
    }
    if (!control_members_take(c, p, event->seen, false)) {
        return;
    }
    if (p->is_lost) {
        found(c, p);
    }
    control_tell_metadata(c, p);
    control_partition_ready(c, p);
}

void control_partition_watch(struct control *c, struct core_partition *p)
{
    if (p->has_state && !ibp_has(c->config.level, IBP_ALTER_PARTITION)) {
        watch(c, p);
    }
}

/* ---- a sign of life ---- */

bool control_partition_may_drop(struct control *c, struct core_partition *p,
                                const struct model_partition_state *next)
{
    if (next->isr.count != 1 || p->state.isr.count < 2 ||
        !ids_has(&p->state.isr, next->isr.list[0])) {
        return true;
    }
    int32_t member = next->isr.list[0];
    if (!control_replica_is_alive(c, p, member)) {
        return false;
    }
    if (p->witness != member) {
        p->witness = member;
        p->witness_send = 0;
        p->has_witness_answered = false;
        control_tell_again(c, p, member);
    }
    return p->has_witness_answered;
}

void control_partition_told(struct core_partition *p, int32_t broker, uint64_t send_id)
{
    if (p->witness == broker && p->witness_send == 0) {
        p->witness_send = send_id;
    }
}

void control_partition_answered(struct control *c, struct core_partition *p,
                                const struct control_event *event)
{
    if (p->witness == event->from.broker && p->witness_send != 0 &&
        event->send_id >= p->witness_send && !p->has_witness_answered) {
        p->has_witness_answered = true;
        control_partition_ready(c, p);
    }
}

/* ---- what to do next ---- */

static bool state_create(struct control *c, struct core_partition *p)
{
    if (p->stored.replicas.count == 0) {
        return false;
    }
    if (!p->topic->has_partitions_node) {
        control_topic_dirty(c, p->topic);
        return false;
    }
    struct model_partition_state next = {0};
    if (!control_gone_elect(c, p, &next) && !control_elect_create(c, p, &next)) {
        ids_deinit(&next.isr);
        return false;
    }
    control_partition_write(c, p, WHY_CREATE, &next);
    return true;
}

/* The usual case, without allocating. */
static bool is_healthy(const struct control *c, const struct core_partition *p)
{
    if (p->state.leader < 0 || p->needs_raise || !control_replica_is_alive(c, p, p->state.leader)) {
        return false;
    }
    for (int32_t i = 0; i < p->state.isr.count; i++) {
        if (!control_replica_is_alive(c, p, p->state.isr.list[i])) {
            return false;
        }
    }
    return true;
}

static bool repair_choose(const struct control *c, const struct core_partition *p,
                          struct model_partition_state *next)
{
    if (!p->has_state || is_healthy(c, p)) {
        return false;
    }
    model_partition_state_copy(next, &p->state);
    return control_elect_repair(c, p, next);
}

/* True when it started a write. */
static bool repair(struct control *c, struct core_partition *p)
{
    struct model_partition_state next = {0};
    bool is_written = repair_choose(c, p, &next) && control_partition_may_drop(c, p, &next);
    if (is_written) {
        control_partition_write(c, p, WHY_REPAIR, &next);
    }
    ids_deinit(&next.isr);
    return is_written;
}

bool control_partition_is_clear_of(const struct control *c, const struct core_partition *p,
                                   int32_t broker)
{
    if (p->write != NULL) {
        return false;
    }
    if (p->is_lost || control_is_held(p->hold) || p->topic->deletion != DELETION_NONE ||
        (p->state.leader != broker && !ids_has(&p->state.isr, broker))) {
        return true;
    }
    struct model_partition_state next = {0};
    bool is_needed = repair_choose(c, p, &next);
    ids_deinit(&next.isr);
    return !is_needed;
}

/* The first operation. True when it stays first: it started a write, or waits for a sign of life. */
static bool op_run(struct control *c, struct core_partition *p)
{
    struct core_op *op = CONTAINER_OF(list_first(&p->ops), struct core_op, link);
    switch (op->request->body.kind) {
    case CONTROL_ALTER_REASSIGNMENTS:
        return control_alter_run(c, op);
    case CONTROL_ALTER_PARTITION:
        return control_isr_run(c, op);
    case CONTROL_ELECT_LEADERS:
        return control_elect_run(c, op);
    case CONTROL_SHUTDOWN:
        return control_shutdown_run(c, op);
    case CONTROL_LIST_REASSIGNMENTS:
    case CONTROL_CREATE_TOPICS:
    case CONTROL_CREATE_PARTITIONS:
    case CONTROL_DELETE_TOPICS:
    case CONTROL_ALLOCATE_PRODUCER_IDS:
    default:
        CHECK(false);
        return false;
    }
}

/* Whatever changes a partition has it looked at: then the figures follow. */
static void recount_as_stored(struct control *c, struct core_partition *p)
{
    const struct ids *replicas = control_partition_replicas(p);
    bool counts = p->has_state && p->topic->deletion == DELETION_NONE && replicas->count > 0;
    recount(c, p, counts && p->state.leader < 0, counts && p->state.leader != replicas->list[0]);
}

void control_partition_advance(struct control *c, struct core_partition *p)
{
    recount_as_stored(c, p);
    if (p->topic->deletion != DELETION_NONE) {
        ops_fail(c, p, KERR_UNKNOWN_TOPIC_OR_PARTITION);
        control_delete_advance(c, p->topic);
        return;
    }
    if (p->is_lost) {
        ops_fail(c, p, KERR_UNKNOWN_TOPIC_OR_PARTITION);
    }
    if (control_is_held(p->hold)) {
        held_answer(c, p);
        return;
    }
    while (p->write == NULL && !p->is_lost && !c->is_resigning) {
        if (!p->has_state && state_create(c, p)) {
            return;
        }
        control_move_check_leader(c, p);
        if (repair(c, p)) {
            return;
        }
        control_move_check_members(c, p);
        if (control_legacy_run(c, p, false)) {
            continue;
        }
        if (p->move != NULL && control_move_advance(c, p)) {
            return;
        }
        if (control_legacy_run(c, p, true)) {
            continue;
        }
        if (list_is_empty(&p->ops) || op_run(c, p)) {
            return;
        }
    }
}
