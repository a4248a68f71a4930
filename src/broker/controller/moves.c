/*
 * The driver of the queue of moves (moves/moves.h): a client of the controller's core. It feeds the queue with
 * what was stored (moves_store.c), with requests (moves_request.c), with what the core says of moves, and
 * performs its effects: alters go to the core as requests of its own.
 * Invariant: the queue is entered from one place at a time, and never enters the core: its alters wait in
 * controller.arrived. Runs on the driver's env.
 */
#include "broker/controller/moves.h"

#include "broker/controller/private.h"

#include <stdlib.h>

#define MOVING_TOLD_MAX 400 /* at a time */

/* An alter of the queue that the core has. */
struct alter_call {
    struct list_node link; /* controller.move_alters */
    struct controller *c;
    uint64_t term;
    uint64_t id;
    struct control_request request;
    struct arena arena;
};

/* ---- facts ---- */

static bool lookup_partition(void *arg, struct slice topic, int32_t partition,
                             struct moves_partition *ret)
{
    const struct controller *c = arg;
    struct control_view view;
    if (!control_view(c->core, topic, partition, &view)) {
        return false;
    }
    *ret = (struct moves_partition){view.assignment, view.leader,
                                    controller_sizes_get(c, topic, partition)};
    return true;
}

static bool lookup_is_live(void *arg, int32_t broker)
{
    const struct controller *c = arg;
    return control_has_live(c->core, broker);
}

/* ---- alters ---- */

static void alter_free(struct alter_call *call)
{
    list_remove(&call->c->move_alters, &call->link);
    arena_deinit(&call->arena);
    free(call);
}

static void alter_done(void *arg, const struct control_reply *reply)
{
    struct alter_call *call = arg;
    struct controller *c = call->c;
    if (call->term != c->term || c->moves == NULL) {
        alter_free(call);
        return;
    }
    int32_t count = call->request.alter.count;
    struct moves_altered *altered = xalloc(((size_t)count + 1) * sizeof *altered);
    for (int32_t i = 0; i < count; i++) {
        bool has_one = reply->error == KERR_NONE && i < reply->count;
        altered[i].error = has_one ? reply->results[i].error : reply->error;
        altered[i].message = has_one ? reply->results[i].message : reply->message;
        if (altered[i].error == KERR_NONE && altered[i].message != NULL) {
            altered[i].note =
                MOVES_NOTE_DERIVED; /* the only thing that the core remarks on success */
        }
    }
    controller_moves_step(c, &(struct moves_event){.kind = MOVES_ON_ALTERED,
                                                   .alter_id = call->id,
                                                   .altered = altered,
                                                   .altered_count = count});
    free(altered);
    alter_free(call);
}

static void *call_copy(struct alter_call *call, const void *from, int32_t count, size_t size)
{
    void *to = arena_array(&call->arena, (size_t)count + 1, size);
    CHECK(to != NULL);
    if (count > 0) {
        memcpy(to, from, (size_t)count * size);
    }
    return to;
}

static const struct ids *from_copy(struct alter_call *call, const struct ids *from)
{
    if (from == NULL) {
        return NULL;
    }
    struct ids *copy = call_copy(call, from, 1, sizeof *copy);
    copy->list = call_copy(call, from->list, from->count, sizeof *copy->list);
    return copy;
}

static void alter_send(struct controller *c, const struct moves_alter *alter)
{
    struct alter_call *call = xalloc(sizeof *call);
    *call = (struct alter_call){.c = c, .term = c->term, .id = alter->id};
    list_push_back(&c->move_alters, &call->link);
    arena_init(&call->arena, CONTROLLER_MOVES_BYTES_MAX);
    struct control_alter_entry *entries =
        call_copy(call, NULL, 0, (size_t)(alter->count + 1) * sizeof *entries);
    for (int32_t i = 0; i < alter->count; i++) {
        const struct moves_entry *e = &alter->entries[i];
        char *topic = arena_str(&call->arena, e->topic);
        CHECK(topic != NULL);
        entries[i] = (struct control_alter_entry){
            .topic = slice_of(topic, e->topic.len),
            .partition = e->partition,
            .is_cancel = e->is_cancel,
            .replicas = call_copy(call, e->replicas, e->replica_count, sizeof *e->replicas),
            .replica_count = e->replica_count,
            .from = from_copy(call, e->from)};
    }
    call->request =
        (struct control_request){.kind = CONTROL_ALTER_REASSIGNMENTS,
                                 .alter = {.entries = entries,
                                           .count = alter->count,
                                           .forbids_factor_change = alter->forbids_factor_change,
                                           .is_cancel_forced = alter->is_forced,
                                           .is_validate_only = alter->is_validate_only,
                                           .allows_dead_targets = alter->allows_dead_targets}};
    controller_request_own(c, &call->request, alter_done, call);
}

/* ---- limits ---- */

static void limits_send(struct controller *c, const struct moves_limit_table *table)
{
    struct controller_limit *groups = xalloc(((size_t)table->count + 1) * sizeof *groups);
    struct control_tp *all = NULL;
    size_t total = 0;
    for (int32_t i = 0; i < table->count; i++) {
        total += (size_t)table->groups[i].count;
    }
    all = xalloc((total + 1) * sizeof *all);
    total = 0;
    for (int32_t i = 0; i < table->count; i++) {
        const struct moves_limit_group *g = &table->groups[i];
        groups[i] = (struct controller_limit){
            .rate = g->rate, .partitions = &all[total], .partition_count = g->count};
        for (int32_t j = 0; j < g->count; j++) {
            all[total++] = (struct control_tp){g->partitions[j].topic, g->partitions[j].partition};
        }
    }
    controller_limits_set(c, groups, table->count);
    free(all);
    free(groups);
}

/* ---- what moves when the queue is loaded ---- */

/* Of one topic adjacent ones share the name. */
struct moves_moving {
    char *topic; /* NULL: that of the one before */
    int32_t partition;
};

struct collecting {
    struct controller_moves *v;
    const uint8_t *last; /* the core's name */
};

static void moving_take(void *arg, const struct control_tp *tp)
{
    struct collecting *k = arg;
    struct controller_moves *v = k->v;
    if (v->moving_count == v->moving_cap) {
        v->moving_cap = v->moving_cap == 0 ? 64 : v->moving_cap * 2;
        v->moving = xrealloc(v->moving, (size_t)v->moving_cap * sizeof *v->moving);
    }
    bool is_same = k->last == tp->topic.ptr;
    v->moving[v->moving_count++] =
        (struct moves_moving){is_same ? NULL : slice_dup(tp->topic), tp->partition};
    k->last = tp->topic.ptr;
}

static void moving_collect(struct controller *c)
{
    control_each_moving(c->core, moving_take, &(struct collecting){.v = c->moves});
}

static void moving_free(struct controller_moves *v)
{
    for (int32_t i = 0; i < v->moving_count; i++) {
        free(v->moving[i].topic);
    }
    free(v->moving);
    v->moving = NULL;
    v->moving_count = v->moving_cap = v->moving_at = 0;
}

static void moving_tell(void *arg)
{
    struct controller *c = arg;
    struct controller_moves *v = c->moves;
    for (int32_t left = MOVING_TOLD_MAX; left > 0 && v->moving_at < v->moving_count; left--) {
        const struct moves_moving *m = &v->moving[v->moving_at++];
        v->moving_topic = m->topic != NULL ? m->topic : v->moving_topic;
        controller_moves_partition(c, slice_str(v->moving_topic), m->partition);
    }
    if (v->moving_at < v->moving_count) {
        env_timer_start(&v->moving_timer, 0);
        return;
    }
    moving_free(v);
    controller_legacy_load(c);
}

/* ---- steps ---- */

static void effect_perform(struct controller *c, const struct moves_effect *effect)
{
    switch (effect->kind) {
    case MOVES_EFFECT_ALTER:
        alter_send(c, &effect->alter);
        break;
    case MOVES_EFFECT_STORE:
        controller_moves_store(c, &effect->store);
        break;
    case MOVES_EFFECT_LIMITS:
        limits_send(c, &effect->limits);
        break;
    case MOVES_EFFECT_REPLY:
        controller_moves_reply(c, &effect->reply);
        break;
    case MOVES_EFFECT_LOG:
        controller_log(c, effect->is_trouble ? CONTROL_WARNING : CONTROL_INFO, effect->text);
        break;
    }
}

static void step_later(struct controller *c)
{
    struct controller_moves *v = c->moves;
    if (v->effects.has_more) {
        env_timer_start(&v->timer, 0);
    } else if (v->effects.wake_ms != INT64_MAX) {
        env_timer_start(&v->timer, MAX(0, v->effects.wake_ms - env_now_ms(c->env)));
    }
}

/* The queue has loaded its jobs: it is told of everything that moves, in pieces, then loading goes on. */
static void load_check(struct controller *c)
{
    struct controller_moves *v = c->moves;
    if (v->is_told && !v->is_loaded && moves_is_loaded(v->core)) {
        v->is_loaded = true;
        moving_collect(c);
        env_timer_start(&v->moving_timer, 0);
    }
}

void controller_moves_step(struct controller *c, const struct moves_event *event)
{
    struct controller_moves *v = c->moves;
    CHECK(v != NULL && !v->is_stepping);
    if (c->is_ended) {
        return;
    }
    v->is_stepping = true;
    env_timer_stop(&v->timer);
    moves_step(v->core, env_now_ms(c->env), env_wall_ms(c->env), event, &v->effects);
    for (int32_t i = 0; i < v->effects.count; i++) {
        effect_perform(c, &v->effects.list[i]);
    }
    v->is_stepping = false;
    step_later(c);
    load_check(c);
}

static void tick(void *arg)
{
    controller_moves_step(arg, &(struct moves_event){.kind = MOVES_ON_TICK});
}

/* ---- what the core and the brokers say ---- */

void controller_moves_partition(struct controller *c, struct slice topic, int32_t partition)
{
    if (c->moves != NULL && c->moves->is_told) {
        controller_moves_step(c, &(struct moves_event){.kind = MOVES_ON_PARTITION,
                                                       .topic = topic,
                                                       .partition = partition});
    }
}

void controller_moves_brokers(struct controller *c)
{
    if (c->moves != NULL && c->moves->is_told) {
        controller_moves_step(c, &(struct moves_event){.kind = MOVES_ON_BROKERS});
    }
}

void controller_set_move_limits(struct controller *c, const struct moves_limits *limits)
{
    c->move_limits = *limits;
    if (c->moves != NULL) {
        controller_moves_step(c, &(struct moves_event){.kind = MOVES_ON_LIMITS, .limits = *limits});
    }
}

struct moves *controller_moves_core(const struct controller *c)
{
    return c->moves != NULL && c->moves->is_loaded ? c->moves->core : NULL;
}

/* ---- life: as long as a term ---- */

void controller_moves_start(struct controller *c)
{
    struct controller_moves *v = xalloc(sizeof *v);
    c->moves = v;
    v->core = moves_new(&(struct moves_lookup){c, lookup_partition, lookup_is_live});
    moves_effects_init(&v->effects);
    env_timer_init(&v->timer, c->env, tick, c);
    env_timer_init(&v->moving_timer, c->env, moving_tell, c);
    controller_sizes_init(c, v);
    list_init(&v->writes);
    list_init(&v->requests);
    controller_moves_step(c,
                          &(struct moves_event){.kind = MOVES_ON_LIMITS, .limits = c->move_limits});
}

void controller_moves_load_end(struct controller *c)
{
    c->moves->is_told = true;
    controller_moves_step(c, &(struct moves_event){.kind = MOVES_ON_LOADED});
}

static void moves_free_all(struct controller_moves *v)
{
    env_timer_stop(&v->timer);
    env_timer_stop(&v->moving_timer);
    env_timer_stop(&v->size_timer);
    moving_free(v);
    controller_moves_writes_free(v);
    moves_free(v->core);
    moves_effects_deinit(&v->effects);
    controller_sizes_free(v);
    free(v);
}

void controller_moves_reset(struct controller *c)
{
    struct controller_moves *v = c->moves;
    if (v != NULL) {
        c->moves = NULL;
        controller_moves_requests_end(c, v);
        moves_free_all(v);
    }
}

void controller_moves_free(struct controller *c)
{
    if (c->moves != NULL) {
        moves_free_all(c->moves);
        c->moves = NULL;
    }
}

void controller_moves_alters_free(struct controller *c)
{
    struct list_node *n = NULL;
    while ((n = list_first(&c->move_alters)) != NULL) {
        alter_free(CONTAINER_OF(n, struct alter_call, link));
    }
}
