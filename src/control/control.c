/*
 * The core's front: takes an event, sends it to the file that owns its concern, then works off what
 * became due: expansions of requests, sweeps, ready partitions, topic writes, messages, replies.
 * Invariant: after a step nothing is due that has_more, wake_ms or a pending write does not announce.
 * Pure; runs where the driver runs.
 */
#include "control/core.h"

#include <stdlib.h>

#define PARTITIONS_PER_STEP 400

struct control *control_new(const struct control_config *config)
{
    struct control *c = xalloc(sizeof *c);
    c->config = *config;
    if (c->config.partitions_per_step == 0) {
        c->config.partitions_per_step = PARTITIONS_PER_STEP;
    }
    prng_init(&c->prng, config->seed);
    list_init(&c->topic_list);
    list_init(&c->sweeps);
    list_init(&c->ready);
    list_init(&c->dirty_topics);
    list_init(&c->tells);
    list_init(&c->moves);
    list_init(&c->deleting);
    list_init(&c->settled);
    list_init(&c->gone);
    list_init(&c->requests);
    list_init(&c->expanding);
    list_init(&c->listings);
    list_init(&c->answered);
    list_init(&c->block_ops);
    list_init(&c->legacy);
    list_init(&c->legacy_unbound);
    c->legacy_version = -1;
    heap_init(&c->deadlines);
    heap_init(&c->holds);
    list_init(&c->held);
    c->next_write_id = 1;
    c->next_send_id = 1;
    c->next_serial = 1;
    return c;
}

/* Drops everything but the requests, which the caller has answered. */
static void state_drop(struct control *c)
{
    struct list_node *n = NULL;
    control_legacy_reset(c);
    while ((n = list_first(&c->topic_list)) != NULL) {
        control_topic_free(c, CONTAINER_OF(n, struct core_topic, link), KERR_NOT_CONTROLLER);
    }
    control_brokers_reset(c);
    control_gone_reset(c);
    struct core_write *w = NULL;
    struct core_write *next = NULL;
    HASH_ITER(hh, c->writes, w, next)
    {
        HASH_DEL(c->writes, w);
        ids_deinit(&w->state.isr);
        free(w);
    }
    c->writes_pending = 0;
    c->has_block = c->is_block_out = c->is_block_told = false;
    list_init(&c->block_ops);
    c->is_elected = c->is_active = c->is_resigning = false;
}

void control_free(struct control *c)
{
    if (c == NULL) {
        return;
    }
    struct control_effects unsent;
    control_effects_init(&unsent);
    c->out = &unsent;
    control_requests_fail_all(c);
    state_drop(c);
    control_requests_free_answered(c);
    heap_deinit(&c->deadlines);
    heap_deinit(&c->holds);
    control_effects_deinit(&unsent);
    free(c);
}

bool control_is_active(const struct control *c)
{
    return c->is_active;
}

int32_t control_moving_count(const struct control *c)
{
    int32_t count = 0;
    struct list_node *n = NULL;
    list_foreach (n, &c->moves) {
        const struct core_move *m = CONTAINER_OF(n, struct core_move, link);
        if (assignment_is_reassigning(&m->partition->stored)) {
            count++;
        }
    }
    return count;
}

bool control_has_moves(const struct control *c)
{
    return !list_is_empty(&c->moves);
}

void control_figures(const struct control *c, struct control_figures *ret)
{
    *ret = (struct control_figures){0};
    if (c->is_active) {
        *ret = (struct control_figures){
            .brokers = c->alive_count,
            .topics = (int32_t)c->topic_list.count,
            .deleting = (int32_t)c->deleting.count,
            .partitions = c->partition_count,
            .leaderless = c->leaderless_count,
            .unpreferred = c->unpreferred_count,
            .moves = (int32_t)c->moves.count,
            .queued = (int32_t)c->ready.count,
            .held = (int32_t)c->held.count,
        };
    }
}

int32_t control_writes_pending(const struct control *c)
{
    return c->writes_pending;
}

/* ---- writes ---- */

struct core_write *control_write_add(struct control *c, enum control_write_kind kind,
                                     struct core_topic *t)
{
    struct core_write *w = xalloc(sizeof *w);
    w->id = c->next_write_id++;
    w->kind = kind;
    w->topic = t;
    HASH_ADD(hh, c->writes, id, sizeof w->id, w);
    c->writes_pending++;
    if (t != NULL) {
        t->writes_pending++;
    }
    return w;
}

struct control_write *control_write_emit(struct control *c, const struct core_write *w)
{
    struct control_write *write = &control_effect_add(c, CONTROL_EFFECT_WRITE)->write;
    *write = (struct control_write){.id = w->id, .kind = w->kind, .partition = -1};
    if (w->topic != NULL) {
        write->topic = slice_str(w->topic->name);
    }
    if (w->partition != NULL) {
        write->partition = w->partition->index;
        write->state = &w->state;
    }
    return write;
}

/* DELETE_DROP: the next entry that comes shows it again. */
static void drop_failed(struct control *c, const char *message)
{
    struct errmsg em;
    (void)errmsg_set(&em, E_REFUSED, "an entry for no topic cannot be removed: %.300s", message);
    control_log_add(c, CONTROL_WARNING, em.text);
}

static void write_done(struct control *c, const struct control_event *event)
{
    struct core_write *w = NULL;
    HASH_FIND(hh, c->writes, &event->write_id, sizeof event->write_id, w);
    if (w == NULL) {
        return; /* of an earlier term */
    }
    HASH_DEL(c->writes, w);
    c->writes_pending--;
    if (w->topic != NULL) {
        w->topic->writes_pending--;
    }
    if (event->outcome == CONTROL_FENCED) {
        control_resign(c, "another controller was elected: a guarded write was refused");
    } else if (w->partition != NULL) {
        control_partition_written(c, w, event);
    } else if (w->kind == CONTROL_WRITE_PRODUCER_BLOCK) {
        control_block_written(c, w, event);
    } else if (w->kind == CONTROL_WRITE_LEGACY) {
        control_legacy_written(c, w, event);
    } else if (w->topic != NULL) {
        control_topic_written(c, w, event);
    } else if (event->outcome == CONTROL_FAILED) {
        drop_failed(c, event->message == NULL ? "a write failed" : event->message);
    }
    ids_deinit(&w->state.isr);
    free(w);
}

/* ---- answers of brokers ---- */

static struct core_partition *answer_partition(const struct control *c,
                                               const struct control_answer_partition *a)
{
    if (!slice_is_null(a->topic)) {
        return control_partition_find(c, a->topic, a->partition);
    }
    struct core_topic *t = control_topic_find_id(c, a->topic_id);
    return t == NULL || a->partition < 0 || a->partition >= t->partition_count
               ? NULL
               : t->partitions[a->partition];
}

/* LeaderAndIsr: a storage error marks the replica offline, success clears the mark (7.7). */
static void replica_judged(struct control *c, struct core_partition *p, int32_t broker,
                           int16_t error)
{
    bool was_offline = ids_has(&p->offline, broker);
    if (error == KERR_KAFKA_STORAGE_ERROR && !was_offline) {
        ids_add(&p->offline, broker);
    } else if (error == KERR_NONE && was_offline) {
        ids_remove(&p->offline, broker);
    } else {
        return;
    }
    control_tell_metadata(c, p);
    control_partition_ready(c, p);
}

static void answered(struct control *c, const struct control_event *event)
{
    const struct core_broker *b = control_broker_find(c, event->from.broker);
    if (b == NULL || !b->is_alive || b->model.epoch != event->from.broker_epoch) {
        return;
    }
    for (int32_t i = 0; i < event->answer_count; i++) {
        const struct control_answer_partition *a = &event->answers[i];
        struct core_partition *p = answer_partition(c, a);
        if (p == NULL) {
            continue;
        }
        if (event->send_kind == CONTROL_SEND_LEADER_AND_ISR) {
            replica_judged(c, p, event->from.broker, a->error);
            control_partition_answered(c, p, event);
            control_move_answered(c, p, event, a->error);
        } else if (event->is_deletion) {
            control_delete_answer(c, p, event->from.broker, a->error);
        }
    }
}

/* ---- the step ---- */

static void elected(struct control *c, const struct control_event *event)
{
    CHECK(!c->is_elected);
    c->is_elected = true;
    c->epoch = event->controller_epoch;
}

static void loaded(struct control *c)
{
    CHECK(c->is_elected && !c->is_active);
    c->is_active = true;
    struct errmsg em;
    (void)errmsg_set(&em, E_OK, "controller with epoch %d: %d brokers, %zu topics, %zu moves",
                     c->epoch, c->alive_count, c->topic_list.count, c->moves.count);
    control_log_add(c, CONTROL_INFO, em.text);
    control_brokers_loaded(c);
    control_brokers_tell(c);
    control_sweep_start(c, SWEEP_LOAD, -1, NULL);
}

static void resigned(struct control *c)
{
    control_requests_fail_all(c);
    state_drop(c);
}

/* Facts that come while the new controller reads, and later as changes. */
static void fact(struct control *c, const struct control_event *event)
{
    if (event->kind == CONTROL_ON_BROKERS) {
        if (c->is_active) {
            control_brokers_set(c, event);
        } else {
            control_brokers_load(c, event);
        }
    } else if (event->kind == CONTROL_ON_TOPIC) {
        control_topic_read(c, &event->topic);
    } else if (event->kind == CONTROL_ON_TOPIC_GONE) {
        control_topic_gone(c, event->name);
    } else if (event->kind == CONTROL_ON_TOPIC_CONFIG) {
        control_topic_config(c, event);
    } else if (event->kind == CONTROL_ON_DELETE_TOPICS) {
        control_delete_names(c, event);
    } else if (event->kind == CONTROL_ON_PRODUCER_BLOCK) {
        c->has_block = event->block != NULL;
        c->block = c->has_block ? *event->block : (struct model_producer_block){.version = -1};
    } else if (event->kind == CONTROL_ON_LEGACY) {
        control_legacy_set(c, &event->legacy);
    } else if (event->kind == CONTROL_ON_STATE) {
        control_partition_seen(c, event);
    }
}

static void event_take(struct control *c, const struct control_event *event)
{
    switch (event->kind) {
    case CONTROL_ON_ELECTED:
        elected(c, event);
        break;
    case CONTROL_ON_LOADED:
        loaded(c);
        break;
    case CONTROL_ON_RESIGNED:
        resigned(c);
        break;
    case CONTROL_ON_WRITE_DONE:
        write_done(c, event);
        break;
    case CONTROL_ON_ANSWER:
        answered(c, event);
        break;
    case CONTROL_ON_REQUEST:
        control_request_start(c, &event->request);
        break;
    case CONTROL_ON_TELL_BROKERS:
        if (c->is_active) {
            control_brokers_tell(c);
        }
        break;
    case CONTROL_ON_TICK:
        break;
    case CONTROL_ON_LOG_DIR_FAILURE:
        if (c->is_active) {
            control_sweep_start(c, SWEEP_ASK, event->failed_broker, NULL);
        }
        break;
    case CONTROL_ON_BROKERS:
    case CONTROL_ON_TOPIC:
    case CONTROL_ON_TOPIC_GONE:
    case CONTROL_ON_TOPIC_CONFIG:
    case CONTROL_ON_DELETE_TOPICS:
    case CONTROL_ON_PRODUCER_BLOCK:
    case CONTROL_ON_LEGACY:
    case CONTROL_ON_STATE:
        if (c->is_elected) {
            fact(c, event);
        }
        break;
    default:
        CHECKF(false, "event %d", event->kind);
    }
}

static void work(struct control *c)
{
    int32_t half = c->config.partitions_per_step / 2 + 1;
    c->budget = half;
    if (!control_legacy_bind(c)) {
        c->out->has_more = true;
        return;
    }
    control_requests_expand(c);
    bool has_sweep = control_sweeps_run(c);
    c->budget += half; /* walks never starve what is ready */
    struct list_node *n = NULL;
    while (c->budget > 0 && !c->is_resigning && (n = list_pop(&c->ready)) != NULL) {
        c->budget--;
        control_partition_advance(c, CONTAINER_OF(n, struct core_partition, ready));
    }
    /* The end of a drain: what it completed shares one write a topic (decision 13). */
    if (list_is_empty(&c->ready) && list_is_empty(&c->expanding) && !has_sweep) {
        control_topics_flush(c);
        control_legacy_flush(c);
    }
    c->out->has_more = has_sweep || !list_is_empty(&c->ready) || !list_is_empty(&c->expanding);
}

void control_step(struct control *c, int64_t now_ms, const struct control_event *events,
                  int32_t count, struct control_effects *out)
{
    control_effects_reset(out);
    control_requests_free_answered(c);
    control_create_forget_settled(c);
    c->out = out;
    c->now_ms = now_ms;
    for (int32_t i = 0; i < count; i++) {
        if (!c->is_resigning || events[i].kind == CONTROL_ON_RESIGNED ||
            events[i].kind == CONTROL_ON_REQUEST) {
            event_take(c, &events[i]);
        }
    }
    if (c->is_active && !c->is_resigning) {
        control_requests_expire(c);
        control_holds_release(c);
        work(c);
        control_tell_flush(c);
        control_listings_run(c);
        out->has_more = out->has_more || !list_is_empty(&c->listings);
    }
    control_requests_flush(c);
    const struct heap_node *deadline = heap_min(&c->deadlines);
    const struct heap_node *hold = heap_min(&c->holds);
    out->wake_ms = MIN(deadline == NULL ? INT64_MAX : deadline->key,
                       hold == NULL || !c->is_active ? INT64_MAX : hold->key);
    c->out = NULL;
}

bool control_view(const struct control *c, struct slice topic, int32_t partition,
                  struct control_view *ret)
{
    const struct core_partition *p = control_partition_find(c, topic, partition);
    if (p == NULL || p->topic->deletion != DELETION_NONE || p->stored.replicas.count == 0) {
        return false;
    }
    *ret = (struct control_view){.assignment = &p->stored,
                                 .leader = p->has_state ? p->state.leader : MODEL_LEADER_NONE};
    return true;
}

void control_each_moving(const struct control *c,
                         void (*fn)(void *arg, const struct control_tp *tp), void *arg)
{
    struct list_node *n = NULL;
    list_foreach (n, &c->moves) {
        const struct core_partition *p = CONTAINER_OF(n, struct core_move, link)->partition;
        struct control_tp tp = {slice_str(p->topic->name), p->index};
        fn(arg, &tp);
    }
}

bool control_has_live(const struct control *c, int32_t broker)
{
    return control_broker_is_live(c, broker);
}
