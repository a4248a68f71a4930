/*
 * Topics: finding them, reading them from the metastore, and the one write a topic znode may have out.
 * That write carries everything that waits for the topic: new triples (U1), finished ones (B6), added
 * partitions, a missing id. Invariant: it starts from what memory knows to be stored, guarded by the
 * znode's version, so a change made by somebody else is never overwritten: it is merged and tried again.
 */
#include "control/core.h"

#include <stdlib.h>
#include <string.h>

/* ---- finding ---- */

struct core_topic *control_topic_find_any(const struct control *c, struct slice name)
{
    struct core_topic *t = NULL;
    if (!slice_is_null(name)) {
        HASH_FIND(hh, c->topics, name.ptr, name.len, t);
    }
    return t;
}

struct core_topic *control_topic_find(const struct control *c, struct slice name)
{
    struct core_topic *t = control_topic_find_any(c, name);
    return t == NULL || t->is_creating ? NULL : t;
}

struct core_topic *control_topic_find_id(const struct control *c, struct uuid id)
{
    struct core_topic *t = NULL;
    if (!uuid_is_zero(id)) {
        HASH_FIND(hh_id, c->topics_by_id, &id, sizeof id, t);
    }
    return t == NULL || t->is_creating ? NULL : t;
}

bool control_topic_is_moving(const struct core_topic *t)
{
    for (int32_t i = 0; i < t->partition_count; i++) {
        if (assignment_is_reassigning(&t->partitions[i]->stored)) {
            return true;
        }
    }
    return false;
}

/* ---- life ---- */

static char *collision_key(const char *name)
{
    char *key = xstrdup(name);
    for (char *at = key; *at != 0; at++) {
        if (*at == '.') {
            *at = '_';
        }
    }
    return key;
}

static void collision_add(struct control *c, struct core_topic *t)
{
    struct core_topic *other = NULL;
    t->collision = collision_key(t->name);
    size_t len = strlen(t->collision);
    HASH_FIND(hh_collision, c->topics_by_collision, t->collision, len, other);
    if (other == NULL) {
        t->has_collision_key = true;
        HASH_ADD_KEYPTR(hh_collision, c->topics_by_collision, t->collision, len, t);
    }
}

void control_topic_set_id(struct control *c, struct core_topic *t, struct uuid id)
{
    CHECK(uuid_is_zero(t->id));
    t->id = id;
    if (!uuid_is_zero(id)) {
        HASH_ADD(hh_id, c->topics_by_id, id, sizeof t->id, t);
    }
}

struct core_topic *control_topic_new(struct control *c, struct slice name, struct uuid id)
{
    struct core_topic *t = xalloc(sizeof *t);
    t->name = slice_dup(name);
    t->serial = c->next_serial++;
    t->min_insync_replicas = 1;
    list_init(&t->changes);
    list_init(&t->writing);
    list_init(&t->grows);
    list_init(&t->creates);
    list_init(&t->deletes);
    HASH_ADD_KEYPTR(hh, c->topics, t->name, name.len, t);
    collision_add(c, t);
    control_topic_set_id(c, t, id);
    list_push_back(&c->topic_list, &t->link);
    return t;
}

void control_topic_add_partitions(struct control *c, struct core_topic *t,
                                  const struct assignment *list, int32_t count)
{
    size_t total = (size_t)t->partition_count + (size_t)count;
    t->partitions = xrealloc(t->partitions, (total + 1) * sizeof(struct core_partition *));
    for (int32_t i = 0; i < count; i++) {
        struct core_partition *p = control_partition_new(c, t, t->partition_count, &list[i]);
        t->partitions[t->partition_count++] = p;
        control_partition_ready(c, p);
    }
}

static void ops_fail(struct control *c, struct list *ops, enum kerr error)
{
    struct core_op *op = NULL;
    while ((op = control_op_pop(ops)) != NULL) {
        control_op_fail(c, op, error, NULL);
    }
}

/* Writes that are out when a topic goes are forgotten: their answers find no write. */
static void writes_forget(struct control *c, struct core_topic *t)
{
    struct core_write *w = NULL;
    struct core_write *next = NULL;
    if (t->writes_pending == 0) {
        return;
    }
    HASH_ITER(hh, c->writes, w, next)
    {
        if (w->topic == t) {
            HASH_DEL(c->writes, w);
            c->writes_pending--;
            ids_deinit(&w->state.isr);
            free(w);
        }
    }
}

void control_topic_free(struct control *c, struct core_topic *t, enum kerr error)
{
    control_sweeps_leave(c, t);
    writes_forget(c, t);
    for (int32_t i = 0; i < t->partition_count; i++) {
        control_partition_free(c, t->partitions[i], error);
    }
    control_grow_forget(t);
    control_hold_free(c, &t->hold);
    ops_fail(c, &t->grows, error);
    ops_fail(c, &t->creates, error);
    ops_fail(c, &t->deletes, error == KERR_UNKNOWN_TOPIC_OR_PARTITION ? KERR_NONE : error);
    list_remove(&c->topic_list, &t->link);
    list_remove(&c->dirty_topics, &t->dirty);
    list_remove(&c->deleting, &t->deleting);
    control_create_forget(c, t);
    HASH_DELETE(hh, c->topics, t);
    if (!uuid_is_zero(t->id)) {
        HASH_DELETE(hh_id, c->topics_by_id, t);
    }
    if (t->has_collision_key) {
        HASH_DELETE(hh_collision, c->topics_by_collision, t);
    }
    free(t->partitions);
    free(t->collision);
    free(t->name);
    free(t);
}

/* ---- reading ---- */

/* Whether a member of the ISR registered after the state was last written: it restarted while nobody
 * watched. */
static bool has_restarted(const struct control *c, const struct model_partition_state *state,
                          int64_t mzxid)
{
    for (int32_t i = 0; i < state->isr.count; i++) {
        const struct core_broker *b = control_broker_find(c, state->isr.list[i]);
        if (b != NULL && b->model.epoch > mzxid) {
            return true;
        }
    }
    return false;
}

static void partition_load(struct control *c, struct core_partition *p,
                           const struct control_topic_read *read)
{
    const struct model_partition_state *state = read->states[p->index];
    bool is_list_newer = read->state_mzxids != NULL && read->state_mzxids[p->index] <= read->mzxid;
    if (state != NULL) {
        if (!control_members_take(c, p, state, is_list_newer)) {
            return;
        }
        p->has_state = true;
        p->topic->stateless_count--;
        p->needs_raise =
            read->state_mzxids != NULL && has_restarted(c, state, read->state_mzxids[p->index]);
    }
    control_move_resume(c, p);
}

static void topic_add(struct control *c, const struct control_topic_read *read)
{
    const struct model_topic *node = read->topic;
    struct core_topic *t = control_topic_new(c, slice_str(node->name), node->id);
    t->version = node->version;
    t->has_partitions_node = read->has_partitions_node;
    t->min_insync_replicas = read->min_insync_replicas;
    t->is_unclean_election_enabled = read->is_unclean_election_enabled;
    control_topic_add_partitions(c, t, node->partitions, node->partition_count);
    control_gone_recall(c, t);
    for (int32_t i = 0; i < t->partition_count; i++) {
        if (read->states != NULL) {
            partition_load(c, t->partitions[i], read);
        } else {
            control_move_resume(c, t->partitions[i]); /* somebody created it with a move */
        }
    }
    t->needs_id = uuid_is_zero(node->id) && ibp_has(c->config.level, IBP_TOPIC_IDS);
    if (t->needs_id || !t->has_partitions_node) {
        control_topic_dirty(c, t);
    }
}

/* Somebody else changed the znode: more partitions are taken over; of the others memory knows better. */
static void topic_merge(struct control *c, struct core_topic *t,
                        const struct control_topic_read *read)
{
    const struct model_topic *node = read->topic;
    t->version = node->version;
    if (uuid_is_zero(t->id) && !uuid_is_zero(node->id)) {
        control_topic_set_id(c, t, node->id);
        t->needs_id = false;
    }
    if (node->partition_count > t->partition_count) {
        control_topic_add_partitions(c, t, &node->partitions[t->partition_count],
                                     node->partition_count - t->partition_count);
    }
}

static bool is_same_topic(const struct core_topic *t, const struct model_topic *node)
{
    return uuid_is_zero(t->id) || uuid_is_zero(node->id) || uuid_equal(t->id, node->id);
}

void control_topic_read(struct control *c, const struct control_topic_read *read)
{
    struct slice name = slice_str(read->topic->name);
    struct core_topic *t = control_topic_find_any(c, name);
    if (t != NULL && t->is_creating) {
        return; /* our own create; its answer is on the way */
    }
    if (t != NULL && !is_same_topic(t, read->topic)) {
        control_topic_free(c, t, KERR_UNKNOWN_TOPIC_OR_PARTITION);
        t = NULL;
    }
    if (t == NULL) {
        topic_add(c, read);
    } else if (read->topic->version > t->version && t->write == NULL) {
        /* With a write out the conflict that follows brings the znode again. */
        topic_merge(c, t, read);
    }
}

void control_topic_gone(struct control *c, struct slice name)
{
    struct core_topic *t = control_topic_find(c, name);
    if (t != NULL) {
        control_gone_remember(c, t);
        control_topic_free(c, t, KERR_UNKNOWN_TOPIC_OR_PARTITION);
    }
}

void control_topic_config(struct control *c, const struct control_event *event)
{
    struct core_topic *t = control_topic_find(c, event->name);
    if (t == NULL) {
        return;
    }
    t->min_insync_replicas = event->min_insync_replicas;
    if (!t->is_unclean_election_enabled && event->is_unclean_election_enabled) {
        for (int32_t i = 0; i < t->partition_count; i++) {
            control_partition_ready(c, t->partitions[i]);
        }
    }
    t->is_unclean_election_enabled = event->is_unclean_election_enabled;
}

/* ---- writing ---- */

void control_topic_dirty(struct control *c, struct core_topic *t)
{
    if (!list_has(&t->dirty)) {
        list_push_back(&c->dirty_topics, &t->dirty);
    }
}

static struct uuid id_draw(struct control *c)
{
    return uuid_from_random(prng_u64(&c->prng), prng_u64(&c->prng));
}

/* It is not told to brokers before it is stored: the next controller would draw another one. */
static void id_forget(struct control *c, struct core_topic *t)
{
    if (t->needs_id && !uuid_is_zero(t->id)) {
        HASH_DELETE(hh_id, c->topics_by_id, t);
        t->id = UUID_ZERO;
    }
}

/* Somebody waits for the answer: it is tried at once. */
static bool has_asker(const struct core_topic *t)
{
    const struct list_node *n = NULL;
    bool is_asked = !list_is_empty(&t->grows);
    list_foreach (n, &t->changes) {
        is_asked |= CONTAINER_OF(n, struct core_move, change)->phase == PHASE_ASSIGN;
    }
    return is_asked;
}

static bool has_change(const struct core_topic *t)
{
    return !list_is_empty(&t->changes) || t->grow != NULL || t->needs_id;
}

/* The znode as it is to be: the waiting changes move to `writing`. */
static struct model_topic *node_compose(struct control *c, struct core_topic *t,
                                        const struct assignment *added, int32_t added_count)
{
    struct model_topic *node = control_effect_array(c, 1, sizeof *node);
    int32_t count = t->partition_count + added_count;
    *node = (struct model_topic){
        .name = t->name, .id = t->id, .version = t->version, .partition_count = count};
    node->partitions = control_effect_array(c, (size_t)count + 1, sizeof *node->partitions);
    for (int32_t i = 0; i < t->partition_count; i++) {
        node->partitions[i] = t->partitions[i]->stored;
    }
    struct list_node *n = NULL;
    while ((n = list_pop(&t->changes)) != NULL) {
        struct core_move *m = CONTAINER_OF(n, struct core_move, change);
        m->is_change_out = true;
        list_push_back(&t->writing, n);
        node->partitions[m->partition->index] = m->next;
    }
    for (int32_t i = 0; i < added_count; i++) {
        node->partitions[t->partition_count + i] = added[i];
    }
    return node;
}

/* What the write that is out means to the moves in it. */
static uint32_t writing_steps(const struct core_topic *t)
{
    uint32_t steps = 0;
    const struct list_node *n = NULL;
    list_foreach (n, &t->writing) {
        steps |= 1U << control_move_step(CONTAINER_OF(n, struct core_move, change));
    }
    return steps;
}

/* Starts the topic's next write, if something waits for one. */
static void topic_flush(struct control *c, struct core_topic *t)
{
    if (t->write != NULL || t->is_creating || t->deletion != DELETION_NONE) {
        return; /* looked at again when that is over */
    }
    if (control_is_held(t->hold) && (!t->has_partitions_node || !has_asker(t))) {
        return;
    }
    if (!t->has_partitions_node) {
        t->write = control_write_add(c, CONTROL_WRITE_PARTITIONS_NODE, t);
        (void)control_write_emit(c, t->write);
        return;
    }
    control_grow_next(c, t);
    if (!has_change(t)) {
        if (!control_is_held(t->hold)) {
            control_hold_end(c, &t->hold); /* what was refused is not wanted any more */
        }
        return;
    }
    if (t->needs_id && uuid_is_zero(t->id)) {
        control_topic_set_id(c, t, id_draw(c));
    }
    struct model_topic *node = node_compose(c, t, t->grow, t->grow_count);
    t->write = control_write_add(c, CONTROL_WRITE_TOPIC_SET, t);
    struct control_write *write = control_write_emit(c, t->write);
    write->topic_node = node;
    write->steps = writing_steps(t);
}

void control_topics_flush(struct control *c)
{
    struct list_node *n = NULL;
    while ((n = list_pop(&c->dirty_topics)) != NULL) {
        topic_flush(c, CONTAINER_OF(n, struct core_topic, dirty));
    }
}

/* After a write that left the topic in place. */
static void topic_settle(struct control *c, struct core_topic *t)
{
    control_topic_dirty(c, t);
    control_delete_advance(c, t);
}

static void all_ready(struct control *c, struct core_topic *t)
{
    for (int32_t i = 0; i < t->partition_count; i++) {
        control_partition_ready(c, t->partitions[i]);
    }
}

static void set_written(struct control *c, struct core_topic *t, int32_t version)
{
    t->version = version;
    struct list_node *n = NULL;
    while ((n = list_pop(&t->writing)) != NULL) {
        control_move_stored(c, CONTAINER_OF(n, struct core_move, change));
    }
    control_grow_done(c, t, KERR_NONE, NULL);
    if (t->needs_id) {
        t->needs_id = false;
        all_ready(c, t);
        for (int32_t i = 0; i < t->partition_count; i++) {
            if (t->partitions[i]->has_state) {
                control_tell_metadata(c, t->partitions[i]);
            }
        }
    }
}

/* What was in the refused write waits again. */
static void changes_return(struct core_topic *t)
{
    struct list_node *n = NULL;
    while ((n = list_pop(&t->writing)) != NULL) {
        CONTAINER_OF(n, struct core_move, change)->is_change_out = false;
        list_push_back(&t->changes, n);
    }
}

/* Nothing was stored. New partitions are refused, as new topics are; new triples are given up; finished
 * moves must be stored and wait again. */
static void set_failed(struct control *c, struct core_topic *t, const struct control_event *event)
{
    const char *message = event->message == NULL ? "a write failed" : event->message;
    struct list finished;
    list_init(&finished);
    struct list_node *n = NULL;
    bool gave_up = control_grow_done(c, t, KERR_INVALID_REQUEST, message);
    id_forget(c, t);
    while ((n = list_pop(&t->writing)) != NULL) {
        struct core_move *m = CONTAINER_OF(n, struct core_move, change);
        if (m->phase == PHASE_ASSIGN) {
            control_move_store_failed(c, m, message);
            gave_up = true;
        } else {
            list_push_back(&finished, n);
        }
    }
    while ((n = list_pop(&finished)) != NULL) {
        CONTAINER_OF(n, struct core_move, change)->is_change_out = false;
        list_push_back(&t->changes, n);
    }
    if (!gave_up || has_change(t)) {
        control_hold_topic(c, t, event);
    }
    topic_settle(c, t);
}

static void set_conflict(struct control *c, struct core_topic *t,
                         const struct control_topic_read *read)
{
    CHECK(read != NULL);
    if (!is_same_topic(t, read->topic)) {
        control_topic_free(c, t, KERR_UNKNOWN_TOPIC_OR_PARTITION);
        topic_add(c, read);
        return;
    }
    control_hold_end(c, &t->hold); /* who may not write is refused before versions are compared */
    control_grow_retry(t);
    changes_return(t);
    topic_merge(c, t, read);
    topic_settle(c, t);
}

static void set_done(struct control *c, struct core_topic *t, const struct control_event *event)
{
    if (event->outcome == CONTROL_WRITTEN) {
        control_hold_end(c, &t->hold);
        set_written(c, t, event->version);
        topic_settle(c, t);
    } else if (event->outcome == CONTROL_CONFLICT) {
        set_conflict(c, t, event->read);
    } else if (event->outcome == CONTROL_MISSING) {
        control_gone_remember(c, t);
        control_topic_free(c, t, KERR_UNKNOWN_SERVER_ERROR);
    } else {
        set_failed(c, t, event);
    }
}

static void partitions_node_done(struct control *c, struct core_topic *t,
                                 const struct control_event *event)
{
    if (event->outcome == CONTROL_WRITTEN || event->outcome == CONTROL_CONFLICT) {
        control_hold_end(c, &t->hold);
        t->has_partitions_node = true;
        all_ready(c, t);
        topic_settle(c, t);
    } else if (event->outcome == CONTROL_MISSING) {
        control_topic_free(c, t, KERR_UNKNOWN_TOPIC_OR_PARTITION);
    } else {
        control_hold_topic(c, t, event);
        topic_settle(c, t);
    }
}

void control_topic_written(struct control *c, struct core_write *w,
                           const struct control_event *event)
{
    struct core_topic *t = w->topic;
    if (t->write == w) {
        t->write = NULL;
    }
    if (w->kind == CONTROL_WRITE_TOPIC_CREATE) {
        control_create_written(c, t, event);
    } else if (w->kind == CONTROL_WRITE_TOPIC_SET) {
        set_done(c, t, event);
    } else if (w->kind == CONTROL_WRITE_PARTITIONS_NODE) {
        partitions_node_done(c, t, event);
    } else {
        control_delete_written(c, w, event);
    }
}
