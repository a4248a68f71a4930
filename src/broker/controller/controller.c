/*
 * The driver's front: sessions, terms, requests, and the step that hands one event to the core and
 * performs what it answers. Invariant: the core is never entered from inside a step; whatever could
 * call back at once (requests, read-backs) goes through a timer or an answer of the metastore.
 * Runs on the env of its config.
 */
#include "broker/controller/private.h"

#include <stdlib.h>
#include <string.h>

void controller_log(struct controller *c, enum control_level level, const char *text)
{
    if (c->config.log != NULL) {
        c->config.log(c->config.arg, level, text);
    }
}

/* ---- calls ---- */

struct controller_pending *controller_pending_new(struct controller *c, void *item)
{
    struct controller_pending *call = xalloc(sizeof *call);
    *call = (struct controller_pending){.c = c, .term = c->term, .item = item};
    list_push_back(&c->calls, &call->link);
    return call;
}

struct controller_pending *controller_pending_named(struct controller *c, struct slice name)
{
    struct controller_pending *call = controller_pending_new(c, NULL);
    call->name = slice_dup(name);
    return call;
}

char *controller_pending_take_name(struct controller_pending *call)
{
    char *name = call->name;
    call->name = NULL;
    return name;
}

static void call_free(struct controller_pending *call)
{
    free(call->name);
    free(call);
}

bool controller_pending_end(struct controller_pending *call, struct controller **ret_c,
                            void **ret_item)
{
    struct controller *c = call->c;
    bool is_current = call->term == c->term;
    *ret_c = c;
    *ret_item = call->item;
    list_remove(&c->calls, &call->link);
    call_free(call);
    return is_current;
}

static void calls_free(struct controller *c)
{
    struct list_node *n = NULL;
    while ((n = list_pop(&c->calls)) != NULL) {
        call_free(CONTAINER_OF(n, struct controller_pending, link));
    }
}

/* ---- terms ---- */

/* Everything of the term goes; the core answers what waits. */
static void term_end(struct controller *c)
{
    c->term++;
    env_timer_stop(&c->step_timer);
    controller_reads_free(c);
    controller_writes_free(c);
    controller_removals_free(c);
    controller_legacy_free(c);
    controller_peers_free(c);
    controller_progress_reset(c);
    controller_limits_free(c);
    controller_listings_end(c);
    controller_moves_reset(c);
    if (c->role == ROLE_LOADING || c->role == ROLE_ACTIVE) {
        c->role = ROLE_FOLLOWER;
        controller_step(c, &(struct control_event){.kind = CONTROL_ON_RESIGNED});
    }
    c->active_ms = -1;
    c->is_watching = false; /* an event of the old watch is of the old term */
}

void controller_resign(struct controller *c, const char *reason)
{
    bool was_steady =
        c->active_ms >= 0 && env_now_ms(c->env) - c->active_ms >= CONTROLLER_STEADY_MS;
    c->stand_ms = was_steady || c->stand_ms == 0 ? CONTROLLER_STAND_AGAIN_MS
                                                 : MIN(c->stand_ms * 2, CONTROLLER_STAND_MAX_MS);
    if (c->resign_told == NULL || strcmp(c->resign_told, reason) != 0) {
        struct errmsg em;
        (void)errmsg_set(&em, E_OK, "gives up the controller role: %s", reason);
        controller_log(c, CONTROL_WARNING, em.text);
        free(c->resign_told);
        c->resign_told = xstrdup(reason);
    }
    controller_leave(c);
    term_end(c);
    env_timer_start(&c->stand_timer, c->stand_ms);
}

void controller_active_note(struct controller *c)
{
    c->active_ms = env_now_ms(c->env);
    free(c->resign_told);
    c->resign_told = NULL;
}

/* ---- sessions ---- */

static void session_close(struct controller *c, bool is_clean)
{
    controller_readers_close(c);
    if (c->store != NULL) {
        if (is_clean) {
            metastore_close(c->store);
        } else {
            metastore_abandon(c->store);
        }
        c->store = NULL;
    }
    c->is_connected = false;
    calls_free(c);
}

static void session_state(void *arg, enum metastore_state state)
{
    struct controller *c = arg;
    if (state == METASTORE_CONNECTED) {
        c->is_connected = true;
        if (c->role == ROLE_IDLE) {
            controller_stand(c);
        }
    } else if (state == METASTORE_EXPIRED) {
        controller_log(c, CONTROL_WARNING, "the controller's metastore session expired");
        term_end(c);
        c->role = ROLE_IDLE;
        c->is_connected = false;
        env_timer_start(&c->reopen_timer, 0);
    }
}

/* The old session cannot be freed inside its own callback: a timer comes here. */
static void session_reopen(void *arg)
{
    struct controller *c = arg;
    session_close(c, true);
    if (c->broker_epoch >= 0) {
        c->store =
            c->factory->open(c->factory, c->env, c->config.session_timeout_ms, session_state, c);
    }
}

static void stand_again(void *arg)
{
    struct controller *c = arg;
    controller_stand(c);
}

void controller_set_broker_epoch(struct controller *c, int64_t epoch)
{
    bool was_registered = c->broker_epoch >= 0;
    c->broker_epoch = epoch;
    if (epoch >= 0 && !was_registered) {
        env_timer_start(&c->reopen_timer, 0);
    } else if (epoch < 0 && was_registered) {
        term_end(c);
        c->role = ROLE_IDLE;
        env_timer_stop(&c->stand_timer);
        env_timer_start(&c->reopen_timer, 0);
    }
}

/* ---- requests ---- */

void controller_request_pass(struct controller *c, struct controller_request_item *item)
{
    struct control_event event = {.kind = CONTROL_ON_REQUEST, .request = *item->request};
    event.request.token = item->token;
    controller_step(c, &event);
}

static void requests_start(void *arg)
{
    struct controller *c = arg;
    struct list_node *n = NULL;
    while ((n = list_pop(&c->arrived)) != NULL) {
        struct controller_request_item *item =
            CONTAINER_OF(n, struct controller_request_item, link);
        if (!controller_moves_take(c, item) && !controller_list_take(c, item)) {
            controller_request_pass(c, item);
        }
    }
}

static void request_add(struct controller *c, struct controller_request_item fields)
{
    struct controller_request_item *item = xmemdup(&fields, sizeof fields);
    item->token = c->next_token++;
    HASH_ADD(hh, c->requests, token, sizeof item->token, item);
    list_push_back(&c->arrived, &item->link);
    if (!env_timer_is_active(&c->request_timer)) {
        env_timer_start(&c->request_timer, 0);
    }
}

void controller_request(struct controller *c, const struct control_request *request,
                        controller_done_fn done, void *arg)
{
    request_add(c, (struct controller_request_item){.request = request, .done = done, .arg = arg});
}

void controller_request_own(struct controller *c, const struct control_request *request,
                            controller_done_fn done, void *arg)
{
    request_add(c, (struct controller_request_item){
                       .request = request, .done = done, .arg = arg, .is_own = true});
}

struct controller_request_item *controller_request_find(const struct controller *c, uint64_t token)
{
    struct controller_request_item *item = NULL;
    HASH_FIND(hh, c->requests, &token, sizeof token, item);
    CHECK(item != NULL);
    return item;
}

void controller_request_answer(struct controller *c, struct controller_request_item *item,
                               const struct control_reply *reply)
{
    HASH_DEL(c->requests, item);
    item->done(item->arg, reply);
    controller_listing_free(c, item->listing);
    free(item);
}

static void reply(struct controller *c, const struct control_reply *reply)
{
    struct controller_request_item *item = controller_request_find(c, reply->token);
    if (reply->kind == CONTROL_LIST_REASSIGNMENTS && reply->error == 0) {
        controller_list_answer(c, item, reply);
        return;
    }
    if (reply->kind == CONTROL_ALTER_REASSIGNMENTS && reply->error == 0 &&
        !item->request->alter.is_validate_only) {
        controller_progress_submitted(c, &item->request->alter, reply);
    }
    controller_request_answer(c, item, reply);
}

/* ---- the step ---- */

static void effect_perform(struct controller *c, const struct control_effect *effect)
{
    switch (effect->kind) {
    case CONTROL_EFFECT_WRITE:
        controller_write_add(c, &effect->write);
        break;
    case CONTROL_EFFECT_SEND:
        controller_send(c, &effect->send);
        break;
    case CONTROL_EFFECT_REPLY:
        reply(c, &effect->reply);
        break;
    case CONTROL_EFFECT_WATCH:
        controller_state_watch(c, &effect->watched);
        break;
    case CONTROL_EFFECT_RESIGN:
        c->resign_reason = effect->text;
        break;
    case CONTROL_EFFECT_LOG:
        controller_log(c, effect->level, effect->text);
        break;
    case CONTROL_EFFECT_MOVED:
        controller_moves_partition(c, effect->moved.topic, effect->moved.partition);
        break;
    case CONTROL_EFFECT_BROKERS:
        controller_moves_brokers(c);
        break;
    default:
        CHECK(false);
    }
}

static void step_later(struct controller *c)
{
    if (c->effects.has_more || c->is_limits_untold) {
        env_timer_start(&c->step_timer, 0);
    } else if (c->effects.wake_ms != INT64_MAX) {
        env_timer_start(&c->step_timer, c->effects.wake_ms - env_now_ms(c->env));
    }
}

static void events_take(struct controller *c, const struct control_event *events, int32_t count)
{
    control_step(c->core, env_now_ms(c->env), events, count, &c->effects);
    for (int32_t i = 0; i < c->effects.count; i++) {
        effect_perform(c, &c->effects.list[i]);
    }
}

/* Changed limits go out before anything that follows from the step's own events. */
static void limits_tell(struct controller *c)
{
    if (c->is_limits_untold) {
        c->is_limits_untold = false;
        events_take(c, &(struct control_event){.kind = CONTROL_ON_TELL_BROKERS}, 1);
    }
}

void controller_step_all(struct controller *c, const struct control_event *events, int32_t count)
{
    CHECK(!c->is_stepping);
    if (c->is_ended) {
        return;
    }
    c->is_stepping = true;
    c->resign_reason = NULL;
    env_timer_stop(&c->step_timer);
    limits_tell(c);
    events_take(c, events, count);
    controller_writes_flush(c);
    step_later(c);
    controller_progress_arm(c);
    c->is_stepping = false;
    if (c->resign_reason != NULL && !c->is_ended) {
        char *reason = xstrdup(c->resign_reason);
        controller_resign(c, reason);
        free(reason);
    }
}

void controller_step(struct controller *c, const struct control_event *event)
{
    controller_step_all(c, event, 1);
}

static void step_tick(void *arg)
{
    struct controller *c = arg;
    controller_step(c, &(struct control_event){.kind = CONTROL_ON_TICK});
}

/* ---- life ---- */

struct controller *controller_new(struct env *env, struct metastore_factory *factory,
                                  const struct controller_config *config)
{
    struct controller *c = xalloc(sizeof *c);
    c->env = env;
    c->factory = factory;
    c->config = *config;
    c->listener = xstrdup(config->listener);
    c->config.listener = c->listener;
    c->core = control_new(&(struct control_config){
        .broker_id = config->broker_id,
        .seed = env_random_u64(env),
        .level = config->level,
        .partitions_default = config->partitions_default,
        .replication_factor_default = config->replication_factor_default,
        .refuses_deletions = config->refuses_deletions,
    });
    control_effects_init(&c->effects);
    c->broker_epoch = -1;
    c->known_id = -1;
    c->active_ms = -1;
    c->next_token = 1;
    env_timer_init(&c->reopen_timer, env, session_reopen, c);
    env_timer_init(&c->stand_timer, env, stand_again, c);
    env_timer_init(&c->step_timer, env, step_tick, c);
    env_timer_init(&c->unfit_timer, env, controller_writes_refuse_unfit, c);
    env_timer_init(&c->request_timer, env, requests_start, c);
    controller_listings_init(c);
    list_init(&c->calls);
    list_init(&c->arrived);
    list_init(&c->readings);
    list_init(&c->writes_new);
    list_init(&c->writes_judged);
    list_init(&c->writes_unfit);
    list_init(&c->batches);
    list_init(&c->removals);
    list_init(&c->move_alters);
    controller_progress_new(c);
    c->move_limits = (struct moves_limits){MOVES_OFF, MOVES_OFF, MOVES_OFF, MOVES_OFF};
    return c;
}

static void requests_free(struct controller *c)
{
    struct controller_request_item *item = NULL;
    struct controller_request_item *next = NULL;
    HASH_ITER(hh, c->requests, item, next)
    {
        HASH_DEL(c->requests, item);
        controller_listing_free(c, item->listing);
        free(item);
    }
}

void controller_free(struct controller *c, bool is_clean)
{
    if (c == NULL) {
        return;
    }
    env_timer_stop(&c->reopen_timer);
    env_timer_stop(&c->stand_timer);
    env_timer_stop(&c->step_timer);
    env_timer_stop(&c->request_timer);
    env_timer_stop(&c->unfit_timer);
    env_timer_stop(&c->listing_timer);
    session_close(c, is_clean);
    controller_reads_free(c);
    controller_writes_free(c);
    controller_removals_free(c);
    controller_legacy_free(c);
    controller_preferred_free(c);
    controller_peers_free(c);
    controller_progress_free(c);
    controller_limits_free(c);
    controller_moves_free(c);
    requests_free(c);
    control_free(c->core);
    controller_moves_alters_free(c);
    control_effects_deinit(&c->effects);
    free(c->listener);
    free(c->resign_told);
    free(c);
}

bool controller_is_active(const struct controller *c)
{
    return c->role == ROLE_ACTIVE;
}
