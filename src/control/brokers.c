/*
 * Which brokers there are, and the walks over all partitions that follow when that changes.
 * Invariant: a broker that went and came back, however fast, is alive again only after a down sweep
 * has made sure that no partition still counts on its former life (reassignment.md 7.6): it may come
 * back with less on its disk than it had acknowledged.
 */
#include "control/core.h"

#include <stdlib.h>

struct core_broker *control_broker_find(const struct control *c, int32_t id)
{
    struct core_broker *b = NULL;
    HASH_FIND(hh, c->brokers, &id, sizeof id, b);
    return b;
}

bool control_broker_is_live(const struct control *c, int32_t id)
{
    const struct core_broker *b = control_broker_find(c, id);
    return b != NULL && b->is_alive && !b->is_shutting_down;
}

static struct core_broker *broker_add(struct control *c, const struct model_broker *model)
{
    struct core_broker *b = xalloc(sizeof *b);
    model_broker_copy(&b->model, model);
    b->is_registered = true;
    HASH_ADD(hh, c->brokers, model.id, sizeof b->model.id, b);
    return b;
}

static void broker_remove(struct control *c, struct core_broker *b)
{
    HASH_DEL(c->brokers, b);
    model_broker_deinit(&b->model);
    free(b);
}

static void broker_set_alive(struct control *c, struct core_broker *b, bool is_alive)
{
    if (b->is_alive != is_alive) {
        b->is_alive = is_alive;
        c->alive_count += is_alive ? 1 : -1;
        (void)control_effect_add(c, CONTROL_EFFECT_BROKERS); /* it has no body */
    }
}

/* It came, and has not been told of all topics. */
static bool is_new(const struct control *c, int32_t broker)
{
    struct list_node *n = NULL;
    list_foreach (n, &c->sweeps) {
        const struct core_sweep *s = CONTAINER_OF(n, struct core_sweep, link);
        if (s->kind == SWEEP_UP && s->broker == broker && s->pass == 0) {
            return true;
        }
    }
    return false;
}

/* Who is alive, to all of them (-1) but those that are new: they would serve clients as soon as they know
 * themselves, without knowing a topic. Or to one. */
static void brokers_tell(struct control *c, int32_t to)
{
    size_t max = HASH_COUNT(c->brokers) + 1;
    const struct model_broker **brokers = control_effect_array(c, max, sizeof(void *));
    struct control_receiver *receivers = control_effect_array(c, max, sizeof *receivers);
    int32_t count = 0;
    int32_t receiver_count = 0;
    for (const struct core_broker *b = c->brokers; b != NULL; b = b->hh.next) {
        if (b->is_alive) {
            brokers[count++] = &b->model;
            if (to < 0 ? !is_new(c, b->model.id) : b->model.id == to) {
                receivers[receiver_count++] =
                    (struct control_receiver){b->model.id, b->model.epoch};
            }
        }
    }
    if (receiver_count > 0) {
        control_effect_add(c, CONTROL_EFFECT_SEND)->send =
            (struct control_send){.id = c->next_send_id++,
                                  .kind = CONTROL_SEND_UPDATE_METADATA,
                                  .controller_epoch = c->epoch,
                                  .receivers = receivers,
                                  .receiver_count = receiver_count,
                                  .brokers = brokers,
                                  .broker_count = count};
    }
}

void control_brokers_tell(struct control *c)
{
    brokers_tell(c, -1);
}

static void broker_log(struct control *c, const struct core_broker *b, const char *what)
{
    struct errmsg em;
    (void)errmsg_set(&em, E_OK, "broker %d %s (epoch %lld)", b->model.id, what,
                     (long long)b->model.epoch);
    control_log_add(c, CONTROL_INFO, em.text);
}

static void sweep_free(struct control *c, struct core_sweep *s)
{
    list_remove(&c->sweeps, &s->link);
    free(s);
}

static void broker_up(struct control *c, struct core_broker *b)
{
    broker_set_alive(c, b, true);
    broker_log(c, b, "came");
    control_sweep_start(c, SWEEP_UP, b->model.id, NULL);
}

static void broker_down(struct control *c, struct core_broker *b)
{
    broker_log(c, b, "went");
    broker_set_alive(c, b, false);
    b->is_shutting_down = false;
    struct list_node *n = NULL;
    struct list_node *tmp = NULL;
    list_foreach_safe (n, tmp, &c->sweeps) {
        struct core_sweep *s = CONTAINER_OF(n, struct core_sweep, link);
        if (s->kind == SWEEP_UP && s->broker == b->model.id) {
            sweep_free(c, s);
        }
    }
    if (!b->is_failing) {
        b->is_failing = true;
        control_sweep_start(c, SWEEP_DOWN, b->model.id, NULL);
    }
}

/* One registration as it is now. True when the list of alive brokers changed. */
static bool broker_seen(struct control *c, const struct model_broker *model, uint64_t serial)
{
    struct core_broker *b = control_broker_find(c, model->id);
    if (b == NULL) {
        b = broker_add(c, model);
        b->seen = serial;
        broker_up(c, b);
        return true;
    }
    b->seen = serial;
    if (!b->is_registered || b->model.epoch != model->epoch) {
        bool was_alive = b->is_alive;
        if (was_alive) {
            broker_down(c, b);
        }
        model_broker_copy(&b->model, model);
        b->is_registered = true;
        b->is_shutting_down = false;
        return was_alive;
    }
    if (!model_broker_equal(&b->model, model)) {
        model_broker_copy(&b->model, model);
        return b->is_alive;
    }
    return false;
}

void control_brokers_set(struct control *c, const struct control_event *event)
{
    uint64_t serial = c->next_serial++;
    bool is_changed = false;
    for (int32_t i = 0; i < event->broker_count; i++) {
        is_changed |= broker_seen(c, &event->brokers[i], serial);
    }
    struct core_broker *b = NULL;
    struct core_broker *next = NULL;
    HASH_ITER(hh, c->brokers, b, next)
    {
        if (b->seen != serial && b->is_registered) {
            b->is_registered = false;
            if (b->is_alive) {
                broker_down(c, b);
                is_changed = true;
            }
        }
    }
    if (is_changed) {
        control_brokers_tell(c);
    }
}

static void late_free(struct control *c)
{
    for (int32_t i = 0; i < c->late_broker_count; i++) {
        model_broker_deinit(&c->late_brokers[i]);
    }
    free(c->late_brokers);
    c->late_brokers = NULL;
    c->late_broker_count = 0;
}

void control_brokers_load(struct control *c, const struct control_event *event)
{
    if (c->brokers == NULL) {
        for (int32_t i = 0; i < event->broker_count; i++) {
            broker_set_alive(c, broker_add(c, &event->brokers[i]), true);
        }
        return;
    }
    late_free(c);
    c->late_brokers = xalloc((size_t)(event->broker_count + 1) * sizeof *c->late_brokers);
    c->late_broker_count = event->broker_count;
    for (int32_t i = 0; i < event->broker_count; i++) {
        model_broker_copy(&c->late_brokers[i], &event->brokers[i]);
    }
}

void control_brokers_loaded(struct control *c)
{
    if (c->late_brokers != NULL) {
        control_brokers_set(c, &(struct control_event){.kind = CONTROL_ON_BROKERS,
                                                       .brokers = c->late_brokers,
                                                       .broker_count = c->late_broker_count});
        late_free(c);
    }
}

void control_brokers_reset(struct control *c)
{
    late_free(c);
    struct core_broker *b = NULL;
    struct core_broker *next = NULL;
    HASH_ITER(hh, c->brokers, b, next)
    {
        broker_remove(c, b);
    }
    c->alive_count = 0;
    struct list_node *n = NULL;
    while ((n = list_first(&c->sweeps)) != NULL) {
        sweep_free(c, CONTAINER_OF(n, struct core_sweep, link));
    }
}

/* ---- sweeps ---- */

static struct core_topic *topic_first(const struct control *c)
{
    struct list_node *n = list_first(&c->topic_list);
    return n == NULL ? NULL : CONTAINER_OF(n, struct core_topic, link);
}

static struct core_topic *topic_next(const struct control *c, const struct core_topic *t)
{
    struct list_node *n = t->link.next;
    return n == &c->topic_list.head ? NULL : CONTAINER_OF(n, struct core_topic, link);
}

static void pass_start(struct control *c, struct core_sweep *s, int32_t pass)
{
    s->pass = pass;
    s->topic = topic_first(c);
    s->partition = 0;
}

void control_sweep_start(struct control *c, enum core_sweep_kind kind, int32_t broker,
                         struct core_request *request)
{
    struct core_sweep *s = xalloc(sizeof *s);
    *s = (struct core_sweep){.kind = kind, .broker = broker, .request = request};
    pass_start(c, s, 0);
    list_push_back(&c->sweeps, &s->link);
}

void control_sweeps_leave(struct control *c, const struct core_topic *t)
{
    struct list_node *n = NULL;
    list_foreach (n, &c->sweeps) {
        struct core_sweep *s = CONTAINER_OF(n, struct core_sweep, link);
        if (s->topic == t) {
            s->topic = topic_next(c, t);
            s->partition = 0;
        }
    }
}

static void visit_load(struct control *c, struct core_partition *p)
{
    if (p->has_state) {
        control_tell_state(c, p, control_partition_replicas(p));
    }
    control_partition_ready(c, p);
}

static void visit_up(struct control *c, const struct core_sweep *s, struct core_partition *p)
{
    if (s->pass == 0) {
        control_tell_metadata_to(c, p, s->broker);
        return;
    }
    if (p->state.leader == s->broker || ids_has(&p->state.isr, s->broker)) {
        p->needs_raise = true;
        control_move_restart(c, p, s->broker);
        control_partition_ready(c, p);
    } else if (ids_has(control_partition_replicas(p), s->broker)) {
        control_tell_state(c, p, &(struct ids){.count = 1, .list = (int32_t[]){s->broker}});
        control_move_restart(c, p, s->broker);
        control_partition_ready(c, p);
    }
}

/* False: the partition still counts on the broker; look again later. */
static bool visit_down(struct control *c, const struct core_sweep *s, struct core_partition *p)
{
    if (s->pass == 0) {
        ids_remove(&p->offline, s->broker);
        if (p->witness == s->broker) {
            p->witness = -1;
        }
        control_delete_broker_down(c, p, s->broker);
        if (ids_has(control_partition_replicas(p), s->broker) || p->state.leader == s->broker ||
            ids_has(&p->state.isr, s->broker)) {
            control_tell_metadata(c, p);
            control_partition_ready(c, p);
        }
        return true;
    }
    return control_partition_is_clear_of(c, p, s->broker);
}

/* One partition. False: the sweep must wait there. */
static bool sweep_visit(struct control *c, struct core_sweep *s, struct core_partition *p)
{
    switch (s->kind) {
    case SWEEP_LOAD:
        visit_load(c, p);
        return true;
    case SWEEP_UP:
        visit_up(c, s, p);
        return true;
    case SWEEP_DOWN:
        return visit_down(c, s, p);
    case SWEEP_ASK:
        if (ids_has(control_partition_replicas(p), s->broker)) {
            control_tell_state(c, p, &(struct ids){.count = 1, .list = (int32_t[]){s->broker}});
        }
        return true;
    case SWEEP_SHUTDOWN:
        control_shutdown_visit(c, s->request, p);
        return true;
    default:
        CHECK(false);
        return true;
    }
}

static void down_over(struct control *c, int32_t broker)
{
    struct core_broker *b = control_broker_find(c, broker);
    CHECK(b != NULL && b->is_failing);
    b->is_failing = false;
    if (b->is_registered) {
        broker_up(c, b);
        control_brokers_tell(c);
    } else {
        broker_remove(c, b);
    }
}

/* A pass ended. True when the sweep is over (and freed). */
static bool pass_over(struct control *c, struct core_sweep *s)
{
    int32_t passes = s->kind == SWEEP_UP || s->kind == SWEEP_DOWN ? 2 : 1;
    if (s->kind == SWEEP_UP && s->pass == 0) {
        /* A broker gets the whole metadata before its replicas (zookeeper-mode.md 15, row 6). */
        control_tell_flush(c);
        brokers_tell(c, s->broker); /* also where there is no topic to tell of */
    }
    if (s->pass + 1 < passes) {
        pass_start(c, s, s->pass + 1);
        return false;
    }
    struct core_sweep over = *s;
    sweep_free(c, s);
    if (over.kind == SWEEP_DOWN) {
        down_over(c, over.broker);
    } else if (over.kind == SWEEP_SHUTDOWN) {
        over.request->is_expanding = false;
        control_request_done(c, over.request);
    } else {
        control_delete_advance_all(c);
    }
    return true;
}

static void sweep_run(struct control *c, struct core_sweep *s)
{
    s->is_blocked = false;
    for (;;) {
        if (s->topic == NULL) {
            if (pass_over(c, s)) {
                return;
            }
        } else if (s->partition >= s->topic->partition_count) {
            s->topic = topic_next(c, s->topic);
            s->partition = 0;
        } else if (c->budget <= 0) {
            return;
        } else if (!sweep_visit(c, s, s->topic->partitions[s->partition])) {
            s->is_blocked = true;
            return;
        } else {
            c->budget--;
            s->partition++;
        }
    }
}

bool control_sweeps_run(struct control *c)
{
    struct list_node *n = NULL;
    struct list_node *tmp = NULL;
    list_foreach_safe (n, tmp, &c->sweeps) {
        sweep_run(c, CONTAINER_OF(n, struct core_sweep, link));
    }
    list_foreach (n, &c->sweeps) {
        if (!CONTAINER_OF(n, struct core_sweep, link)->is_blocked) {
            return true;
        }
    }
    return false;
}
