/*
 * /admin/reassign_partitions, by which old tools ask for moves (docs/spec/reassignment.md section 8).
 * An entry stays in the znode while its move runs, so that the next controller finds it; it leaves when
 * the move is done, when it is no good, and before a request moves the same partition. The last one
 * takes the znode with it.
 * Invariant: every entry of the znode is in legacy or legacy_unbound; a partition points to at most
 * one entry, which points back; one write of the znode is out at most.
 */
#include "control/core.h"

#include <stdlib.h>

#define REFUSED_TOLD_MAX 20 /* lines for one znode */

static void entry_free(struct core_legacy *e)
{
    if (e->partition != NULL) {
        e->partition->legacy = NULL;
    }
    ids_deinit(&e->replicas);
    free(e->topic);
    free(e);
}

static void list_free(struct list *list)
{
    struct list_node *n = NULL;
    while ((n = list_pop(list)) != NULL) {
        entry_free(CONTAINER_OF(n, struct core_legacy, link));
    }
}

void control_legacy_reset(struct control *c)
{
    list_free(&c->legacy);
    list_free(&c->legacy_unbound);
    c->legacy_version = -1;
    c->legacy_refused = 0;
    c->is_legacy_dirty = false;
    c->legacy_write = NULL;
    c->is_legacy_delete_refused = false;
    control_hold_free(c, &c->legacy_hold);
}

/* ---- what is asked for ---- */

static void entry_log(struct control *c, const struct core_legacy *e, const char *why)
{
    struct errmsg em;
    c->legacy_refused++;
    if (c->legacy_refused > REFUSED_TOLD_MAX + 1) {
        return;
    }
    if (c->legacy_refused > REFUSED_TOLD_MAX) {
        (void)errmsg_set(&em, E_OK, "/admin/reassign_partitions: more entries are removed");
    } else if (model_topic_name_is_valid(slice_str(e->topic))) {
        (void)errmsg_set(&em, E_OK, "/admin/reassign_partitions: %s-%d is removed: %s", e->topic,
                         e->index, why);
    } else {
        (void)errmsg_set(&em, E_OK,
                         "/admin/reassign_partitions: an entry that names no valid topic "
                         "is removed");
    }
    control_log_add(c, CONTROL_WARNING, em.text);
}

static void entry_leave(struct control *c, struct core_legacy *e)
{
    if (e->state < LEGACY_LEAVING) {
        e->state = LEGACY_LEAVING;
        c->is_legacy_dirty = true;
    }
}

/* R7: it is removed and told. */
static void entry_refuse(struct control *c, struct core_legacy *e, const char *why)
{
    if (e->state < LEGACY_LEAVING) {
        entry_log(c, e, why);
    }
    entry_leave(c, e);
}

static void entry_bind(struct control *c, struct core_legacy *e)
{
    struct core_partition *p = control_partition_find(c, slice_str(e->topic), e->index);
    list_push_back(&c->legacy, &e->link);
    if (p == NULL) {
        entry_refuse(c, e, "there is no such partition");
    } else if (p->legacy != NULL) { /* as in a request (decision 4) */
        entry_refuse(c, e, "the partition is named more than once");
        entry_refuse(c, p->legacy, "the partition is named more than once");
    } else {
        e->partition = p;
        p->legacy = e;
        if (p->topic->deletion != DELETION_NONE) {
            entry_refuse(c, e, "the topic is being deleted");
        }
        control_partition_ready(c, p);
    }
}

bool control_legacy_bind(struct control *c)
{
    struct list_node *n = NULL;
    while (c->budget > 0 && (n = list_pop(&c->legacy_unbound)) != NULL) {
        c->budget--;
        entry_bind(c, CONTAINER_OF(n, struct core_legacy, link));
    }
    return list_is_empty(&c->legacy_unbound);
}

static struct core_legacy *entry_new(const struct control_legacy_move *move)
{
    struct core_legacy *e = xalloc(sizeof *e);
    e->topic = slice_dup(move->topic);
    e->index = move->partition;
    ids_copy(&e->replicas, &move->replicas);
    return e;
}

/* The partitions of the entries look for their turn without them. */
static void entries_forget(struct control *c)
{
    struct list_node *n = NULL;
    list_foreach (n, &c->legacy) {
        const struct core_legacy *e = CONTAINER_OF(n, struct core_legacy, link);
        if (e->partition != NULL) {
            control_partition_ready(c, e->partition);
        }
    }
    control_legacy_reset(c);
}

void control_legacy_set(struct control *c, const struct control_legacy *legacy)
{
    entries_forget(c);
    if (legacy->version < 0) {
        return;
    }
    struct errmsg em;
    bool is_held = !ibp_has(c->config.level, IBP_REASSIGNMENTS); /* decision 9 */
    (void)errmsg_set(&em, E_OK, "/admin/reassign_partitions asks for %d moves%s", legacy->count,
                     is_held ? ": they wait until inter.broker.protocol.version is 2.4-IV0 or later"
                             : "");
    control_log_add(c, is_held ? CONTROL_WARNING : CONTROL_INFO, em.text);
    if (is_held) {
        return;
    }
    for (int32_t i = 0; i < legacy->count; i++) {
        list_push_back(&c->legacy_unbound, &entry_new(&legacy->moves[i])->link);
    }
    c->legacy_version = legacy->version;
    c->is_legacy_dirty = legacy->count == 0;
}

/* ---- running ---- */

static int list_check(const struct core_legacy *e, struct errmsg *em)
{
    if (e->replicas.count == 0) { /* it would remove all replicas */
        return errmsg_set(em, E_INVALID, "the replica list is empty");
    }
    if (ids_has_duplicate(&e->replicas)) {
        return errmsg_set(em, E_INVALID, "the replica list names a broker twice");
    }
    for (int32_t i = 0; i < e->replicas.count; i++) {
        if (e->replicas.list[i] < 0) {
            return errmsg_set(em, E_INVALID, "the replica list names broker %d",
                              e->replicas.list[i]);
        }
    }
    return 0;
}

/* What may not start now waits in the znode: nobody can be told, and the ISR may be another one soon. */
static bool entry_start(struct control *c, struct core_legacy *e)
{
    struct errmsg em = {0};
    if (control_move_to(c, e->partition, &e->replicas, &em) == 0) {
        e->state = LEGACY_ASIDE;
        return true;
    }
    if (!e->is_wait_logged) {
        struct errmsg line;
        (void)errmsg_set(&line, E_INVALID, "/admin/reassign_partitions: %s-%d waits: %.200s",
                         e->topic, e->index, em.text);
        control_log_add(c, CONTROL_WARNING, line.text);
        e->is_wait_logged = true;
    }
    return false;
}

bool control_legacy_run(struct control *c, struct core_partition *p, bool is_waiting)
{
    struct core_legacy *e = p->legacy;
    if (e == NULL || e->state != LEGACY_NEW ||
        (!is_waiting && p->move != NULL && p->move->phase != PHASE_START)) {
        return false;
    }
    struct errmsg em = {0};
    if (list_check(e, &em) != 0) {
        entry_refuse(c, e, em.text);
        return true;
    }
    return entry_start(c, e);
}

bool control_legacy_yields(struct control *c, struct core_partition *p)
{
    if (p->legacy == NULL) {
        return false;
    }
    entry_leave(c, p->legacy);
    return true;
}

void control_legacy_finished(struct control *c, struct core_partition *p, const struct ids *target)
{
    struct core_legacy *e = p->legacy;
    if (e != NULL && e->state == LEGACY_ASIDE && ids_equal(&e->replicas, target)) {
        entry_leave(c, e);
    }
}

void control_legacy_failed(struct control *c, struct core_partition *p, const char *why)
{
    if (p->legacy != NULL && p->legacy->state == LEGACY_ASIDE) {
        entry_refuse(c, p->legacy, why);
    }
}

void control_legacy_refuse(struct control *c, struct core_partition *p, const char *why)
{
    struct core_legacy *e = p->legacy;
    if (e != NULL) {
        e->partition = NULL;
        p->legacy = NULL;
        entry_refuse(c, e, why);
    }
}

/* ---- the znode ---- */

/* What stays. */
static struct control_legacy *plan_compose(struct control *c)
{
    struct control_legacy *plan = control_effect_array(c, 1, sizeof *plan);
    struct control_legacy_move *moves = control_effect_array(c, c->legacy.count + 1, sizeof *moves);
    *plan = (struct control_legacy){.moves = moves, .version = c->legacy_version};
    struct list_node *n = NULL;
    list_foreach (n, &c->legacy) {
        struct core_legacy *e = CONTAINER_OF(n, struct core_legacy, link);
        if (e->state == LEGACY_LEAVING) {
            e->state = LEGACY_OUT;
        } else {
            moves[plan->count++] = (struct control_legacy_move){
                .topic = slice_str(e->topic), .partition = e->index, .replicas = e->replicas};
        }
    }
    return plan;
}

static bool has_nothing_left(const struct control *c)
{
    const struct list_node *n = NULL;
    list_foreach (n, &c->legacy) {
        if (CONTAINER_OF(n, struct core_legacy, link)->state < LEGACY_LEAVING) {
            return false;
        }
    }
    return true;
}

/* Who may not write the znode may be able to delete it. */
bool control_legacy_is_stuck(const struct control *c)
{
    return control_is_held(c->legacy_hold) && (!has_nothing_left(c) || c->is_legacy_delete_refused);
}

void control_legacy_flush(struct control *c)
{
    if (!c->is_legacy_dirty || c->legacy_write != NULL || !list_is_empty(&c->legacy_unbound) ||
        control_legacy_is_stuck(c)) {
        return;
    }
    c->is_legacy_dirty = false;
    const struct control_legacy *plan = plan_compose(c);
    c->legacy_write = control_write_add(c, CONTROL_WRITE_LEGACY, NULL);
    struct control_write *write = control_write_emit(c, c->legacy_write);
    write->legacy = plan;
    write->steps = 1U << CONTROL_STEP_LEGACY;
}

/* Nothing was stored: what the write left out is still in the znode. */
static void out_failed(struct control *c, const struct control_event *event)
{
    struct list_node *n = NULL;
    bool is_delete = true;
    list_foreach (n, &c->legacy) {
        struct core_legacy *e = CONTAINER_OF(n, struct core_legacy, link);
        is_delete &= e->state == LEGACY_OUT;
        if (e->state == LEGACY_OUT) {
            e->state = LEGACY_LEAVING;
        }
        if (e->partition != NULL) {
            control_partition_ready(c, e->partition); /* a request that waits for it has to know */
        }
    }
    c->is_legacy_dirty = true;
    c->is_legacy_delete_refused = is_delete;
    control_hold_legacy(c, event);
}

static void out_over(struct control *c)
{
    struct list_node *n = NULL;
    struct list_node *tmp = NULL;
    list_foreach_safe (n, tmp, &c->legacy) {
        struct core_legacy *e = CONTAINER_OF(n, struct core_legacy, link);
        if (e->state != LEGACY_OUT) {
            continue;
        }
        list_remove(&c->legacy, n);
        if (e->partition != NULL) {
            control_partition_ready(c, e->partition);
        }
        entry_free(e);
    }
    if (list_is_empty(&c->legacy)) {
        control_log_add(c, CONTROL_INFO, "/admin/reassign_partitions is done, and deleted");
        control_legacy_reset(c);
    }
}

/* Somebody changed the znode. What it says beyond what we know is not asked for (R1), but kept. */
static enum core_legacy_state state_now(const struct core_partition *p, const struct core_legacy *e)
{
    if (p == NULL) {
        return LEGACY_LEAVING;
    }
    if (p->legacy == NULL) {
        return LEGACY_ASIDE;
    }
    if (p->legacy->state >= LEGACY_LEAVING) {
        return LEGACY_LEAVING;
    }
    return ids_equal(&p->legacy->replicas, &e->replicas) ? p->legacy->state : LEGACY_ASIDE;
}

static void conflict(struct control *c, const struct control_legacy *now)
{
    struct list entries;
    list_init(&entries);
    for (int32_t i = 0; i < now->count; i++) {
        struct core_legacy *e = entry_new(&now->moves[i]);
        e->state = state_now(control_partition_find(c, slice_str(e->topic), e->index), e);
        list_push_back(&entries, &e->link);
    }
    entries_forget(c);
    c->legacy_version = now->version;
    c->is_legacy_dirty = now->version >= 0;
    struct list_node *n = NULL;
    while ((n = list_pop(&entries)) != NULL) {
        struct core_legacy *e = CONTAINER_OF(n, struct core_legacy, link);
        struct core_partition *p = control_partition_find(c, slice_str(e->topic), e->index);
        list_push_back(&c->legacy, n);
        if (p == NULL || p->legacy != NULL) {
            e->state = LEGACY_LEAVING;
        } else {
            e->partition = p;
            p->legacy = e;
        }
    }
}

void control_legacy_written(struct control *c, struct core_write *w,
                            const struct control_event *event)
{
    if (c->legacy_write != w) {
        return; /* of a znode before this one */
    }
    c->legacy_write = NULL;
    switch (event->outcome) {
    case CONTROL_WRITTEN:
        control_hold_end(c, &c->legacy_hold);
        c->legacy_version = event->version;
        out_over(c);
        break;
    case CONTROL_CONFLICT:
        conflict(c, event->conflict_legacy);
        break;
    case CONTROL_MISSING:
        entries_forget(c);
        break;
    case CONTROL_FAILED:
        out_failed(c, event);
        break;
    case CONTROL_FENCED:
    default:
        CHECK(false);
    }
}
