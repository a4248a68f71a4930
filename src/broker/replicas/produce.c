/*
 * Appends by clients: checks, the append to the leader's log, and the purgatory where acks=all waits
 * for the high watermark.
 * Invariant: an append is linked to a partition exactly while it counts in its request's `pending`;
 * the parked ones of a partition are in order of required_offset, because logs only grow there.
 * Runs on the broker's env.
 */
#include "base/check.h"
#include "broker/replicas/internal.h"
#include "plog/append.h"

/* ---- purgatory ---- */

static void finish(struct replicas_produce *produce)
{
    struct replicas *r = produce->replicas;
    env_timer_stop(&produce->timer);
    list_remove(&r->parked, &produce->link);
    list_push_back(&r->finished, &produce->link);
    replicas_drain_soon(r);
}

static void fail_item(struct replicas_append *item, int err)
{
    item->err = err;
    item->base_offset = -1;
    item->log_append_time_ms = -1;
    item->log_start_offset = -1;
}

/* Takes item off its partition; the request finishes with its last one. */
static void settle(struct list *parked, struct replicas_append *item, int err)
{
    list_remove(parked, &item->link);
    if (err != 0) {
        fail_item(item, err);
    }
    if (--item->owner->pending == 0) {
        finish(item->owner);
    }
}

static bool has_enough_replicas(const struct replicas_partition *p)
{
    int32_t min_isr = p->key.topic->config.min_insync_replicas;
    return p->core.state.isr.count >= replica_core_min_isr(&p->core, min_isr);
}

void replicas_parked_advance(struct replicas_partition *p)
{
    int err = has_enough_replicas(p) ? 0 : -E_NOT_ENOUGH_REPLICAS_AFTER;
    struct list_node *node;
    while ((node = list_first(&p->parked)) != NULL) {
        struct replicas_append *item = CONTAINER_OF(node, struct replicas_append, link);
        if (item->required_offset > p->core.high_watermark) {
            return;
        }
        settle(&p->parked, item, err);
    }
}

void replicas_parked_fail(struct replicas_partition *p, int err)
{
    struct list_node *node;
    while ((node = list_first(&p->parked)) != NULL) {
        struct replicas_append *item = CONTAINER_OF(node, struct replicas_append, link);
        item->leader = p->core.state.leader;
        item->leader_epoch = p->core.state.leader_epoch;
        settle(&p->parked, item, err);
    }
}

void replicas_produce_drain(struct replicas *r)
{
    struct list_node *node;
    while ((node = list_pop(&r->finished)) != NULL) {
        struct replicas_produce *produce = CONTAINER_OF(node, struct replicas_produce, link);
        produce->replicas = NULL;
        produce->done(produce->arg, produce);
    }
}

/* The partition an item is parked at; it exists, or the item would have been settled. */
static struct list *parked_list(struct replicas *r, const struct replicas_append *item)
{
    struct replicas_partition *p = replicas_partition_find(r, item->topic, item->partition);
    CHECK(p != NULL);
    return &p->parked;
}

static void unpark(struct replicas_produce *produce, int err)
{
    for (int32_t i = 0; i < produce->count; i++) {
        struct replicas_append *item = &produce->items[i];
        if (list_has(&item->link)) {
            list_remove(parked_list(produce->replicas, item), &item->link);
            fail_item(item, err);
        }
    }
    produce->pending = 0;
    env_timer_stop(&produce->timer);
}

static void produce_timed_out(void *arg)
{
    struct replicas_produce *produce = arg;
    unpark(produce, -E_TIMEOUT);
    finish(produce);
}

void replicas_produce_cancel(struct replicas_produce *produce)
{
    struct replicas *r = produce->replicas;
    if (r == NULL) {
        return;
    }
    if (produce->pending > 0) {
        unpark(produce, -E_CANCELLED);
        list_remove(&r->parked, &produce->link);
    } else {
        list_remove(&r->finished, &produce->link);
    }
    produce->replicas = NULL;
}

/* ---- append ---- */

/* The partition may take the append: it is here, led here and, for acks=all, in enough places. */
static int check_partition(struct replicas_partition *p, struct replicas_append *item, int16_t acks)
{
    if (p == NULL) {
        return -E_NOT_FOUND;
    }
    if (!uuid_is_zero(item->topic_id) && !uuid_is_zero(p->topic_id) &&
        !uuid_equal(item->topic_id, p->topic_id)) {
        return -E_ID_MISMATCH;
    }
    if (p->log == NULL || p->replicas->dirs[p->dir].is_offline) {
        return -E_OFFLINE;
    }
    if (p->core.role != REPLICA_LEADER) {
        item->leader = p->core.state.leader;
        item->leader_epoch = p->core.state.leader_epoch;
        return -E_NOT_LEADER;
    }
    return acks == -1 && !has_enough_replicas(p) ? -E_NOT_ENOUGH_REPLICAS : 0;
}

static struct record_limits record_limits_of(const struct replicas_partition *p, bool allow_zstd)
{
    const struct replicas_topic_config *config = &p->key.topic->config;
    int64_t now = env_wall_ms(p->replicas->env);
    struct record_limits limits = record_limits_default();
    limits.batch_bytes_max = (size_t)MAX(config->message_bytes_max, 0);
    limits.allow_zstd = allow_zstd;
    limits.require_keys = config->is_compacted;
    if (!config->uses_append_time) {
        if (config->timestamp_before_max_ms < now) {
            limits.timestamp_min = now - config->timestamp_before_max_ms;
        }
        if (config->timestamp_after_max_ms < INT64_MAX - now) {
            limits.timestamp_max = now + config->timestamp_after_max_ms;
        }
    }
    bool has_window =
        !config->uses_append_time &&
        (config->timestamp_before_max_ms < now || config->timestamp_after_max_ms < INT64_MAX - now);
    limits.walk_records = config->walks_records || config->is_compacted || has_window;
    return limits;
}

/* What plog says about producers has names of its own outside. */
static int entry_error(int err)
{
    switch (err) {
    case -E_FENCED:
        return -E_PRODUCER_FENCED;
    case -E_INVALID:
        return -E_TRANSACTION_STATE;
    default:
        return err;
    }
}

static int append_entry(struct replicas_partition *p, struct replicas_append *item,
                        struct plog_entry *entry)
{
    struct replicas *r = p->replicas;
    if (p->key.topic->config.uses_append_time) {
        item->log_append_time_ms = env_wall_ms(r->env);
        record_batch_stamp(&entry->batch, item->records, item->log_append_time_ms);
    }
    int err = plog_append_leader(p->log, entry, 1, p->core.state.leader_epoch);
    if (err != 0) {
        replicas_partition_log_error(p, err);
        return -E_OFFLINE;
    }
    if (entry->err != 0) {
        return entry_error(entry->err);
    }
    item->base_offset = entry->base_offset;
    item->log_start_offset = entry->log_start_offset;
    item->required_offset = entry->base_offset + entry->batch.last_offset_delta + 1;
    if (!entry->is_duplicate) {
        r->totals.produced_bytes += entry->batch.len;
        r->totals.produced_batches++;
        r->totals.produced_records += (uint64_t)entry->batch.last_offset_delta + 1;
        replica_meter_add(&p->written, (int64_t)entry->batch.len, env_now_ms(r->env));
        replicas_partition_log_moved(p);
    }
    return 0;
}

/* A duplicate may wait for less than those in front of it. */
static void park(struct replicas_partition *p, struct replicas_append *item)
{
    struct list_node *node = p->parked.head.prev;
    while (node != &p->parked.head &&
           CONTAINER_OF(node, struct replicas_append, link)->required_offset >
               item->required_offset) {
        node = node->prev;
    }
    list_insert_after(&p->parked, node, &item->link);
}

/* Appends one item; true when it has to wait for the high watermark. */
static bool append_item(struct replicas *r, struct replicas_append *item,
                        const struct replicas_produce *produce)
{
    item->reason = RECORD_OK;
    item->bad_index = -1;
    item->leader = -1;
    item->leader_epoch = -1;
    item->log_append_time_ms = -1;
    struct replicas_partition *p = replicas_partition_find(r, item->topic, item->partition);
    int err = check_partition(p, item, produce->acks);
    if (err != 0) {
        fail_item(item, err);
        return false;
    }
    struct record_limits limits = record_limits_of(p, produce->allow_zstd);
    struct plog_entry entry = {.bytes = item->records};
    err = record_validate(slice_of(item->records, item->records_len), &limits, &entry.batch,
                          &item->reason, &item->bad_index);
    if (err == 0) {
        err = append_entry(p, item, &entry);
    }
    if (err != 0) {
        fail_item(item, err);
        return false;
    }
    item->err = 0;
    if (produce->acks != -1) {
        return false;
    }
    if (item->required_offset <= p->core.high_watermark) {
        if (!has_enough_replicas(p)) {
            fail_item(item, -E_NOT_ENOUGH_REPLICAS_AFTER);
        }
        return false;
    }
    park(p, item);
    return true;
}

bool replicas_produce(struct replicas *r, struct replicas_produce *produce)
{
    produce->replicas = r;
    produce->pending = 1; /* held until all items are in, so that none of them finishes it */
    produce->link = (struct list_node){0};
    env_timer_init(&produce->timer, r->env, produce_timed_out, produce);
    for (int32_t i = 0; i < produce->count; i++) {
        struct replicas_append *item = &produce->items[i];
        item->owner = produce;
        item->link = (struct list_node){0};
        if (append_item(r, item, produce)) {
            produce->pending++;
        }
    }
    if (--produce->pending == 0) {
        produce->replicas = NULL;
        return true;
    }
    env_timer_start(&produce->timer, produce->timeout_ms);
    list_push_back(&r->parked, &produce->link);
    return false;
}
