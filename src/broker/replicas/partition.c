/*
 * Topics and partitions as objects: making, finding, dropping; and what follows from a moved log end
 * or high watermark.
 * Invariant: a partition is in the table, in `all`, and counted by its topic and directory, or none of
 * these; its core's log end is its log's.
 * Runs on the broker's env.
 */
#include "base/alloc.h"
#include "base/check.h"
#include "broker/replicas/internal.h"

#include <ctype.h>
#include <stdlib.h>

/* ---- topics ---- */

bool replicas_topic_name_is_valid(struct slice name)
{
    if (name.len == 0 || name.len > REPLICAS_TOPIC_LEN_MAX || slice_equal_str(name, ".") ||
        slice_equal_str(name, "..")) {
        return false;
    }
    for (size_t i = 0; i < name.len; i++) {
        uint8_t c = name.ptr[i];
        if (c >= 128 || (!isalnum(c) && c != '.' && c != '_' && c != '-')) {
            return false;
        }
    }
    return true;
}

struct replicas_topic *replicas_topic_find(const struct replicas *r, struct slice name)
{
    struct replicas_topic *topic = NULL;
    if (name.len > 0) {
        HASH_FIND(hh, r->topics, name.ptr, name.len, topic);
    }
    return topic;
}

/* String.hashCode of Java: the choice of a fetcher follows it. */
static int32_t java_hash(struct slice name)
{
    uint32_t hash = 0;
    for (size_t i = 0; i < name.len; i++) {
        hash = hash * 31 + name.ptr[i];
    }
    return (int32_t)hash;
}

struct replicas_topic *replicas_topic_get(struct replicas *r, struct slice name)
{
    struct replicas_topic *topic = replicas_topic_find(r, name);
    if (topic != NULL) {
        return topic;
    }
    topic = xalloc(sizeof *topic + name.len + 1);
    memcpy(topic->name, name.ptr, name.len);
    topic->name_len = name.len;
    topic->java_hash = java_hash(name);
    list_init(&topic->partitions);
    r->hooks.topic_config(r->hooks.arg, topic->name, &topic->config);
    replicas_throttle_topic(r, topic);
    HASH_ADD(hh, r->topics, name, name.len, topic);
    return topic;
}

void replicas_topic_set_id(struct replicas *r, struct replicas_topic *topic, struct uuid id)
{
    if (uuid_equal(topic->id, id)) {
        return;
    }
    if (!uuid_is_zero(topic->id)) {
        HASH_DELETE(id_hh, r->topic_ids, topic);
    }
    topic->id = UUID_ZERO;
    if (!uuid_is_zero(id) && replicas_topic_by_id(r, id) == NULL) {
        topic->id = id;
        HASH_ADD(id_hh, r->topic_ids, id, sizeof topic->id, topic);
    }
}

struct replicas_topic *replicas_topic_by_id(const struct replicas *r, struct uuid id)
{
    struct replicas_topic *topic = NULL;
    HASH_FIND(id_hh, r->topic_ids, &id, sizeof id, topic);
    return topic;
}

static void topic_release(struct replicas *r, struct replicas_topic *topic)
{
    if (!list_is_empty(&topic->partitions)) {
        return;
    }
    replicas_topic_set_id(r, topic, UUID_ZERO);
    HASH_DELETE(hh, r->topics, topic);
    replica_throttle_list_deinit(&topic->leader_throttled);
    replica_throttle_list_deinit(&topic->follower_throttled);
    free(topic);
}

/* ---- partitions ---- */

struct replicas_partition *replicas_partition_at(const struct replicas *r,
                                                 struct replicas_topic *topic, int32_t index)
{
    struct replicas_key key = {.topic = topic, .index = index};
    struct replicas_partition *p = NULL;
    HASH_FIND(hh, r->partitions, &key, sizeof key, p);
    return p;
}

struct replicas_partition *replicas_partition_find(const struct replicas *r, struct slice topic,
                                                   int32_t index)
{
    struct replicas_topic *t = replicas_topic_find(r, topic);
    return t == NULL ? NULL : replicas_partition_at(r, t, index);
}

struct replicas_partition *replicas_partition_new(struct replicas *r, struct replicas_topic *topic,
                                                  int32_t index, int32_t dir, struct plog *log)
{
    CHECK(replicas_partition_at(r, topic, index) == NULL);
    struct replicas_partition *p = xalloc(sizeof *p);
    p->key = (struct replicas_key){.topic = topic, .index = index};
    p->replicas = r;
    p->dir = dir;
    p->log = log;
    p->isr_leader_epoch = -1;
    p->told_by = -1;
    int64_t end = log == NULL ? 0 : plog_end_offset(log);
    int64_t start = log == NULL ? 0 : plog_start_offset(log);
    replica_core_init(&p->core, r->config.broker_id, end, start);
    if (log != NULL) {
        p->topic_id = plog_topic_id(log);
        p->flushed_segments = plog_segment_count(log);
        if (!uuid_is_zero(p->topic_id)) {
            replicas_topic_set_id(r, topic, p->topic_id);
        }
    }
    list_init(&p->parked);
    list_init(&p->watches);
    p->limited_ms = REPLICA_NEVER;
    replicas_warm_init(p);
    replicas_throttle_partition(p);
    replicas_limit_attach(p);
    HASH_ADD(hh, r->partitions, key, sizeof p->key, p);
    list_push_back(&r->all, &p->link);
    list_push_back(&topic->partitions, &p->topic_link);
    r->dirs[dir].log_count++;
    return p;
}

static void end_watches(struct replicas_partition *p)
{
    replicas_partition_notify(p, REPLICAS_GONE);
    struct list_node *node;
    while ((node = list_pop(&p->watches)) != NULL) {
        CONTAINER_OF(node, struct replicas_watch, link)->partition = NULL;
    }
}

static void delete_log(struct replicas_partition *p, enum replicas_fate fate)
{
    struct replicas *r = p->replicas;
    struct plog_removal *removal = NULL;
    struct errmsg em;
    int err = fate == REPLICAS_FATE_STRAY ? plog_set_aside(p->log, &em)
                                          : plog_remove(p->log, &removal, &em);
    p->log = NULL;
    if (err != 0) {
        replicas_dir_fail(r, p->dir, err, em.text);
        return;
    }
    replicas_removal_add(r, removal, r->config.file_delete_delay_ms);
    if (fate == REPLICAS_FATE_STRAY) {
        replicas_dir_delete_strays(r, p->dir, slice_str(replicas_partition_topic(p)),
                                   replicas_partition_index(p));
    }
    for (int kind = PLOG_CHECKPOINT_HIGH_WATERMARK; kind <= PLOG_CHECKPOINT_LOG_START; kind++) {
        r->dirs[p->dir].is_dirty[kind] = true;
    }
}

void replicas_partition_drop(struct replicas_partition *p, enum replicas_fate fate)
{
    struct replicas *r = p->replicas;
    replicas_fetch_stop(p); /* first: KAFKA-10371 */
    replicas_isr_drop(p);
    replicas_parked_fail(p, -E_NOT_LEADER);
    end_watches(p);
    list_remove(&r->held, &p->throttle_link);
    replicas_limit_detach(p);
    replicas_flush_forget(p);
    replicas_warm_forget(p);
    if (p->log != NULL && fate != REPLICAS_FATE_KEEP) {
        delete_log(p, fate);
    } else {
        plog_free(p->log);
    }
    HASH_DELETE(hh, r->partitions, p);
    list_remove(&r->all, &p->link);
    r->dirs[p->dir].log_count--;
    list_remove(&p->key.topic->partitions, &p->topic_link);
    topic_release(r, p->key.topic);
    replica_core_deinit(&p->core);
    free(p);
}

struct replica_context replicas_partition_context(const struct replicas_partition *p)
{
    const struct replicas *r = p->replicas;
    return (struct replica_context){
        .now_ms = env_now_ms(r->env),
        .lag_time_max_ms = r->config.lag_time_max_ms,
        .min_isr = p->key.topic->config.min_insync_replicas,
        .is_alive = r->hooks.is_alive,
        .arg = r->hooks.arg,
    };
}

int64_t replicas_partition_stable_offset(const struct replicas_partition *p)
{
    return p->log == NULL ? -1 : plog_last_stable_offset(p->log, p->core.high_watermark);
}

/* ---- what follows from moves ---- */

void replicas_partition_notify(struct replicas_partition *p, int events)
{
    struct replicas *r = p->replicas;
    struct list_node *node;
    list_foreach (node, &p->watches) {
        struct replicas_watch *watch = CONTAINER_OF(node, struct replicas_watch, link);
        int told = events & (watch->mask | REPLICAS_ROLE | REPLICAS_GONE);
        if (told == 0) {
            continue;
        }
        watch->events |= told;
        if (!list_has(&watch->ready_link)) {
            list_push_back(&r->ready, &watch->ready_link);
        }
    }
    if (!list_is_empty(&r->ready)) {
        replicas_drain_soon(r);
    }
}

void replicas_partition_high_watermark_moved(struct replicas_partition *p)
{
    p->replicas->dirs[p->dir].is_dirty[PLOG_CHECKPOINT_HIGH_WATERMARK] = true;
    replicas_parked_advance(p);
    replicas_partition_notify(p, REPLICAS_HIGH_WATERMARK);
}

void replicas_partition_advance(struct replicas_partition *p)
{
    struct replica_context ctx = replicas_partition_context(p);
    if (replica_core_advance(&p->core, &ctx)) {
        replicas_partition_high_watermark_moved(p);
    }
}

/* Followers that had everything until now were in step until they were last heard of, although their
 * sessions do not read idle partitions. */
static void note_caught_up(struct replicas_partition *p)
{
    const struct replicas *r = p->replicas;
    for (int32_t i = 0; i < p->core.remote_count; i++) {
        struct replica_remote *remote = &p->core.remotes[i];
        for (int32_t j = 0; remote->log_end == p->core.log_end && j < r->follower_count; j++) {
            if (r->followers[j].broker == remote->id) {
                remote->caught_up_ms = MAX(remote->caught_up_ms, r->followers[j].fetch_ms);
                break;
            }
        }
    }
}

void replicas_partition_log_moved(struct replicas_partition *p)
{
    int64_t old_end = p->core.log_end;
    int64_t old_mark = p->core.high_watermark;
    note_caught_up(p);
    replica_core_set_log_end(&p->core, plog_end_offset(p->log));
    if (p->core.high_watermark < plog_start_offset(p->log)) {
        p->core.high_watermark = plog_start_offset(p->log);
    }
    if (p->core.high_watermark != old_mark) {
        replicas_partition_high_watermark_moved(p);
    }
    if (p->core.log_end > old_end) {
        replicas_partition_notify(p, REPLICAS_NEW_DATA);
        if (plog_segment_count(p->log) > p->flushed_segments) {
            replicas_flush_queue(p);
        }
    }
    if (p->core.role == REPLICA_LEADER) {
        replicas_partition_advance(p);
    }
}

void replicas_partition_log_error(struct replicas_partition *p, int err)
{
    if (p->log != NULL && plog_failure(p->log) != 0) {
        struct errmsg em;
        (void)errmsg_set(&em, E_IO, "log of %s-%d: %s", replicas_partition_topic(p),
                         replicas_partition_index(p),
                         error_name(err)); /* only the text is wanted */
        replicas_dir_fail(p->replicas, p->dir, err, em.text);
    }
}
