/*
 * What brokers will be told at the end of the step. A partition collects receivers while facts change;
 * the contents are made once, at the flush, from what is stored then. In one flush a broker gets
 * LeaderAndIsr, UpdateMetadata, StopReplica without and then with deletion (reassignment.md 5.5).
 */
#include "control/core.h"

#include <stdlib.h>
#include <string.h>

static struct core_tell *tell_of(struct control *c, struct core_partition *p)
{
    if (p->tell == NULL) {
        p->tell = xalloc(sizeof *p->tell);
        p->tell->partition = p;
        list_push_back(&c->tells, &p->tell->link);
    }
    return p->tell;
}

static void ids_add_once(struct ids *to, int32_t id)
{
    if (!ids_has(to, id)) {
        ids_add(to, id);
    }
}

void control_tell_state(struct control *c, struct core_partition *p, const struct ids *to)
{
    struct core_tell *tell = tell_of(c, p);
    tell->is_metadata_to_all = true;
    for (int32_t i = 0; i < to->count; i++) {
        ids_add_once(&tell->state_to, to->list[i]);
    }
}

void control_tell_again(struct control *c, struct core_partition *p, int32_t broker)
{
    ids_add_once(&tell_of(c, p)->state_to, broker);
}

void control_tell_new(struct control *c, struct core_partition *p, const struct ids *to)
{
    struct core_tell *tell = tell_of(c, p);
    tell->is_metadata_to_all = true;
    for (int32_t i = 0; i < to->count; i++) {
        ids_add_once(&tell->new_to, to->list[i]);
    }
}

void control_tell_metadata(struct control *c, struct core_partition *p)
{
    tell_of(c, p)->is_metadata_to_all = true;
}

void control_tell_metadata_to(struct control *c, struct core_partition *p, int32_t broker)
{
    ids_add_once(&tell_of(c, p)->metadata_to, broker);
}

void control_tell_stop(struct control *c, struct core_partition *p, int32_t broker, bool is_delete)
{
    struct core_tell *tell = tell_of(c, p);
    ids_add_once(is_delete ? &tell->stop_delete : &tell->stop, broker);
}

void control_tell_drop(struct control *c, struct core_partition *p)
{
    struct core_tell *tell = p->tell;
    if (tell == NULL) {
        return;
    }
    p->tell = NULL;
    list_remove(&c->tells, &tell->link);
    ids_deinit(&tell->state_to);
    ids_deinit(&tell->new_to);
    ids_deinit(&tell->metadata_to);
    ids_deinit(&tell->stop);
    ids_deinit(&tell->stop_delete);
    free(tell);
}

/* ---- the flush ---- */

/* All that one flush shares. tells and contents are parallel, in order of topic and partition. */
struct flush {
    struct control *c;
    int32_t count;
    struct core_tell **tells;
    struct control_partition *contents;
    int32_t broker_count;
    const struct core_broker **brokers; /* alive */
};

static int tell_compare(const void *a, const void *b)
{
    const struct core_partition *x = (*(struct core_tell *const *)a)->partition;
    const struct core_partition *y = (*(struct core_tell *const *)b)->partition;
    if (x->topic->serial != y->topic->serial) {
        return x->topic->serial < y->topic->serial ? -1 : 1;
    }
    return x->index < y->index ? -1 : x->index > y->index;
}

static struct ids offline_list(struct control *c, const struct core_partition *p)
{
    const struct ids *replicas = control_partition_replicas(p);
    struct ids offline = {0};
    for (int32_t i = 0; i < replicas->count; i++) {
        if (!control_replica_is_alive(c, p, replicas->list[i])) {
            if (offline.list == NULL) {
                offline.list = control_effect_array(c, (size_t)replicas->count, sizeof(int32_t));
            }
            offline.list[offline.count++] = replicas->list[i];
        }
    }
    return offline;
}

/* A copy that lives as long as the effects: a move may end, and free its target, in this same step. */
static struct ids replicas_hold(struct control *c, const struct core_partition *p)
{
    const struct ids *replicas = control_partition_replicas(p);
    struct ids held = *replicas;
    if (replicas != &p->stored.replicas) {
        size_t size = (size_t)replicas->count * sizeof(int32_t);
        held.list = control_effect_array(c, (size_t)replicas->count, sizeof(int32_t));
        memcpy(held.list, replicas->list, size);
    }
    return held;
}

static void content_make(struct control *c, const struct core_partition *p,
                         struct control_partition *ret)
{
    *ret = (struct control_partition){
        .topic = slice_str(p->topic->name),
        .topic_id = p->topic->id,
        .partition = p->index,
        .state = p->state,
        .replicas = replicas_hold(c, p),
        .offline = offline_list(c, p),
        .stop_epoch = p->has_state ? p->state.leader_epoch : -1,
        .has_settings = p->topic->has_settings,
        .settings = p->topic->settings,
        .setting_count = p->topic->setting_count,
    };
    if (p->move == NULL || !p->move->shows_target) {
        ret->adding = p->stored.adding;
        ret->removing = p->stored.removing;
    }
    if (p->topic->deletion != DELETION_NONE) {
        ret->state.leader = MODEL_LEADER_DELETED;
        ret->stop_epoch = -2;
    }
}

static void flush_init(struct flush *f, struct control *c)
{
    *f = (struct flush){.c = c};
    f->tells = control_effect_array(c, c->tells.count, sizeof(struct core_tell *));
    struct list_node *n = NULL;
    list_foreach (n, &c->tells) {
        f->tells[f->count++] = CONTAINER_OF(n, struct core_tell, link);
    }
    qsort(f->tells, (size_t)f->count, sizeof(struct core_tell *), tell_compare);
    f->contents = control_effect_array(c, (size_t)f->count, sizeof *f->contents);
    for (int32_t i = 0; i < f->count; i++) {
        content_make(c, f->tells[i]->partition, &f->contents[i]);
    }
    f->brokers = control_effect_array(c, HASH_COUNT(c->brokers) + 1, sizeof(struct core_broker *));
    for (const struct core_broker *b = c->brokers; b != NULL; b = b->hh.next) {
        if (b->is_alive) {
            f->brokers[f->broker_count++] = b;
        }
    }
}

enum batch {
    BATCH_LEADER_AND_ISR,
    BATCH_METADATA_TO_ONE,
    BATCH_STOP,
    BATCH_STOP_DELETE,
    BATCH_STOP_TOPIC, /* of topics being deleted */
};

/* Does the batch for this broker hold the partition? */
static bool batch_has(enum batch batch, const struct core_tell *tell, int32_t broker)
{
    const struct core_partition *p = tell->partition;
    bool is_deleting = p->topic->deletion != DELETION_NONE;
    switch (batch) {
    case BATCH_LEADER_AND_ISR:
        return p->has_state && !is_deleting &&
               (ids_has(&tell->new_to, broker) || ids_has(&tell->state_to, broker));
    case BATCH_METADATA_TO_ONE:
        return p->has_state && !tell->is_metadata_to_all && ids_has(&tell->metadata_to, broker);
    case BATCH_STOP:
        return ids_has(&tell->stop, broker);
    case BATCH_STOP_DELETE:
        return !is_deleting && ids_has(&tell->stop_delete, broker);
    case BATCH_STOP_TOPIC:
        return is_deleting && ids_has(&tell->stop_delete, broker);
    default:
        CHECK(false);
        return false;
    }
}

static struct control_send *send_add(struct flush *f, enum control_send_kind kind)
{
    struct control *c = f->c;
    const struct model_broker **brokers =
        control_effect_array(c, (size_t)f->broker_count + 1, sizeof(struct model_broker *));
    for (int32_t i = 0; i < f->broker_count; i++) {
        brokers[i] = &f->brokers[i]->model;
    }
    struct control_send *send = &control_effect_add(c, CONTROL_EFFECT_SEND)->send;
    send->id = c->next_send_id++;
    send->kind = kind;
    send->controller_epoch = c->epoch;
    send->brokers = brokers;
    send->broker_count = f->broker_count;
    return send;
}

static void receiver_set(struct control *c, struct control_send *send, const struct core_broker *b)
{
    struct control_receiver *receiver = control_effect_array(c, 1, sizeof *receiver);
    *receiver = (struct control_receiver){b->model.id, b->model.epoch};
    send->receivers = receiver;
    send->receiver_count = 1;
}

static int32_t batch_count(const struct flush *f, enum batch batch, int32_t broker)
{
    int32_t count = 0;
    for (int32_t k = 0; k < f->count; k++) {
        count += batch_has(batch, f->tells[k], broker);
    }
    return count;
}

static void batch_send(struct flush *f, enum batch batch, enum control_send_kind kind)
{
    for (int32_t i = 0; i < f->broker_count; i++) {
        const struct core_broker *b = f->brokers[i];
        int32_t count = batch_count(f, batch, b->model.id);
        if (count == 0) {
            continue;
        }
        struct control_partition *list = control_effect_array(f->c, (size_t)count, sizeof *list);
        int32_t at = 0;
        for (int32_t k = 0; at < count; k++) {
            if (batch_has(batch, f->tells[k], b->model.id)) {
                list[at] = f->contents[k];
                list[at].is_new = ids_has(&f->tells[k]->new_to, b->model.id);
                list[at].is_delete = batch == BATCH_STOP_DELETE || batch == BATCH_STOP_TOPIC;
                at++;
            }
        }
        struct control_send *send = send_add(f, kind);
        for (int32_t k = 0; batch == BATCH_LEADER_AND_ISR && k < f->count; k++) {
            if (batch_has(batch, f->tells[k], b->model.id)) {
                control_move_told(f->tells[k]->partition, b->model.id, send->id);
                control_partition_told(f->tells[k]->partition, b->model.id, send->id);
            }
        }
        receiver_set(f->c, send, b);
        send->partitions = list;
        send->partition_count = count;
        send->is_deletion = batch == BATCH_STOP_TOPIC;
    }
}

static void metadata_send_all(struct flush *f)
{
    struct control_partition *list = control_effect_array(f->c, (size_t)f->count, sizeof *list);
    int32_t count = 0;
    for (int32_t k = 0; k < f->count; k++) {
        if (f->tells[k]->is_metadata_to_all && f->tells[k]->partition->has_state) {
            list[count++] = f->contents[k];
        }
    }
    if (count == 0 || f->broker_count == 0) {
        return;
    }
    struct control_send *send = send_add(f, CONTROL_SEND_UPDATE_METADATA);
    struct control_receiver *receivers =
        control_effect_array(f->c, (size_t)f->broker_count, sizeof *receivers);
    for (int32_t i = 0; i < f->broker_count; i++) {
        receivers[i] =
            (struct control_receiver){f->brokers[i]->model.id, f->brokers[i]->model.epoch};
    }
    send->receivers = receivers;
    send->receiver_count = f->broker_count;
    send->partitions = list;
    send->partition_count = count;
}

void control_tell_flush(struct control *c)
{
    if (list_is_empty(&c->tells)) {
        return;
    }
    struct flush f;
    flush_init(&f, c);
    batch_send(&f, BATCH_LEADER_AND_ISR, CONTROL_SEND_LEADER_AND_ISR);
    metadata_send_all(&f);
    batch_send(&f, BATCH_METADATA_TO_ONE, CONTROL_SEND_UPDATE_METADATA);
    batch_send(&f, BATCH_STOP, CONTROL_SEND_STOP_REPLICA);
    batch_send(&f, BATCH_STOP_DELETE, CONTROL_SEND_STOP_REPLICA);
    batch_send(&f, BATCH_STOP_TOPIC, CONTROL_SEND_STOP_REPLICA);
    struct list_node *n = NULL;
    while ((n = list_first(&c->tells)) != NULL) {
        control_tell_drop(c, CONTAINER_OF(n, struct core_tell, link)->partition);
    }
}
