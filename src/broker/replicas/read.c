/*
 * Reads from a leader's log: spans for consumers and followers, follower progress, watches, and the
 * lookups by time and epoch.
 * Invariant: a follower's progress counts only when its fetch is answered without error or divergence.
 * Runs on the broker's env; nothing waits here.
 */
#include "plog/read.h"
#include "base/check.h"
#include "broker/replicas/internal.h"
#include "replica/isr.h"
#include "replica/truncate.h"

/* ---- fetch ---- */

/* The partition is here, led here and at the epoch the caller thinks. */
static int check_leader(const struct replicas_partition *p, struct uuid topic_id,
                        int32_t leader_epoch)
{
    if (p == NULL) {
        return -E_NOT_FOUND;
    }
    if (!uuid_is_zero(topic_id) && !uuid_is_zero(p->topic_id) &&
        !uuid_equal(topic_id, p->topic_id)) {
        return -E_ID_MISMATCH;
    }
    if (p->log == NULL || p->replicas->dirs[p->dir].is_offline) {
        return -E_OFFLINE;
    }
    return replica_core_check_leader(&p->core, leader_epoch);
}

/* A follower that is not in RS may know a newer RS than we do: it retries when it gave an epoch. */
static int check_follower(struct replicas_partition *p, const struct replicas_read *read,
                          struct replica_remote **ret_remote)
{
    *ret_remote = NULL;
    if (read->replica_id < 0) {
        return 0;
    }
    *ret_remote = replica_core_remote(&p->core, read->replica_id);
    if (*ret_remote == NULL) {
        return read->current_leader_epoch >= 0 ? -E_UNKNOWN_EPOCH : -E_NOT_LEADER;
    }
    return 0;
}

static int check_divergence(struct replicas_partition *p, struct replicas_read *read)
{
    if (read->last_fetched_epoch < 0) {
        return 0;
    }
    struct replica_epoch_end ours;
    plog_epoch_end(p->log, read->last_fetched_epoch, &ours.epoch, &ours.end);
    int err = replica_truncate_check(ours, read->last_fetched_epoch, read->fetch_offset,
                                     &read->is_diverging);
    if (err == 0 && read->is_diverging) {
        read->diverging_epoch = ours.epoch;
        read->diverging_end = ours.end;
    }
    return err;
}

static int64_t upper_of(const struct replicas_partition *p, int32_t replica_id,
                        bool is_read_committed)
{
    if (replica_id >= 0) {
        return p->core.log_end;
    }
    return is_read_committed ? replicas_partition_stable_offset(p) : p->core.high_watermark;
}

static int read_span(struct replicas_partition *p, struct replicas_read *read)
{
    if (read->fetch_offset > p->core.log_end) {
        return -E_OUT_OF_RANGE;
    }
    struct plog_read_args args = {
        .offset = read->fetch_offset,
        .upper = upper_of(p, read->replica_id, read->is_read_committed),
        .max_bytes = (uint32_t)MAX(read->bytes_max, 0),
        .min_one = read->is_minimum_needed,
    };
    if (args.offset >= args.upper || (args.max_bytes == 0 && !args.min_one)) {
        return 0;
    }
    if (read->replica_id >= 0) {
        int32_t allowed = replicas_limit_allows(p, read->replica_id, (int32_t)args.max_bytes);
        if (allowed == 0) {
            return 0;
        }
        args.min_one = args.min_one || allowed < (int32_t)args.max_bytes; /* as below */
        args.max_bytes = (uint32_t)allowed;
    }
    if (read->replica_id >= 0 && p->is_leader_throttled) {
        if (replicas_throttle_holds(p, read->replica_id)) {
            return 0;
        }
        struct replica_throttle *throttle = &p->replicas->leader_throttle;
        args.max_bytes = (uint32_t)replica_throttle_piece(throttle, (int32_t)args.max_bytes,
                                                          env_now_us(p->replicas->env));
        args.min_one = true; /* a batch larger than the piece is paid for afterwards */
    }
    struct plog_span span;
    struct plog_cold cold;
    int err = p->replicas->is_stopping ? plog_read(p->log, &args, &span)
                                       : plog_read_now(p->log, &args, &span, &cold);
    if (err == -E_AGAIN) {
        replicas_warm_start(p, read, &cold);
        return 0;
    }
    if (err != 0) {
        replicas_partition_log_error(p, err);
        return err;
    }
    if (span.len > 0) {
        read->file = span.file;
        read->pos = span.pos;
        read->len = span.len;
        replicas_limit_found(p, read->replica_id, (int64_t)span.len);
        replicas_warm_found(p, read, &span);
    }
    return 0;
}

/* How far the follower has come, and what follows: it may join, and the high watermark may rise. */
static void note_follower(struct replicas_partition *p, struct replica_remote *remote,
                          const struct replicas_read *read)
{
    struct replica_context ctx = replicas_partition_context(p);
    if (read->log_start_offset > remote->log_start) {
        replicas_partition_notify(p, REPLICAS_LOW_WATERMARK);
    }
    replica_core_fetched(&p->core, remote, read->fetch_offset, read->log_start_offset, ctx.now_ms);
    if (replica_isr_expand(&p->core, remote, &ctx)) {
        replicas_isr_queue(p);
    }
    replicas_partition_advance(p);
}

static int read_partition(struct replicas_partition *p, struct replicas_read *read)
{
    int err = check_leader(p, read->topic_id, read->current_leader_epoch);
    struct replica_remote *remote = NULL;
    if (err == 0) {
        err = check_follower(p, read, &remote);
    }
    if (err != 0) {
        if (p != NULL) {
            read->leader = p->core.state.leader;
            read->leader_epoch = p->core.state.leader_epoch;
        }
        return err;
    }
    if (read->fetch_offset < plog_start_offset(p->log)) {
        return -E_OUT_OF_RANGE;
    }
    err = check_divergence(p, read);
    if (err == 0 && !read->is_diverging) {
        err = read_span(p, read);
        if (err == 0 && remote != NULL) {
            note_follower(p, remote, read);
        }
    }
    if (err == 0) {
        read->high_watermark = p->core.high_watermark;
        read->last_stable_offset = replicas_partition_stable_offset(p);
        read->log_start = plog_start_offset(p->log);
        read->readable_end = upper_of(p, read->replica_id, read->is_read_committed);
    }
    return err;
}

void replicas_read_begin(struct replicas *r)
{
    r->limit_pass++;
}

void replicas_read(struct replicas *r, struct replicas_read *read)
{
    read->high_watermark = -1;
    read->last_stable_offset = -1;
    read->log_start = -1;
    read->is_diverging = false;
    read->diverging_epoch = -1;
    read->diverging_end = -1;
    read->leader = -1;
    read->leader_epoch = -1;
    read->file = NULL;
    read->pos = 0;
    read->len = 0;
    read->readable_end = -1;
    read->err = read_partition(replicas_partition_find(r, read->topic, read->partition), read);
}

void replicas_follower_fetched(struct replicas *r, int32_t follower)
{
    int64_t now_ms = env_now_ms(r->env);
    for (int32_t i = 0; i < r->follower_count; i++) {
        if (r->followers[i].broker == follower) {
            r->followers[i].fetch_ms = now_ms;
            return;
        }
    }
    if (r->follower_count == REPLICAS_FOLLOWERS_MAX) {
        return; /* its partitions are judged by their own reads */
    }
    r->followers[r->follower_count++] =
        (struct replicas_follower){.broker = follower, .fetch_ms = now_ms};
}

void replicas_read_sent(struct replicas *r, const struct replicas_read *read)
{
    if (read->replica_id < 0) {
        r->totals.consumed_bytes += read->len;
        return;
    }
    if (read->len == 0) {
        return;
    }
    r->totals.replication_bytes_out += read->len;
    struct replicas_partition *p = replicas_partition_find(r, read->topic, read->partition);
    if (p == NULL || p->log == NULL) {
        return;
    }
    if (ids_has(&p->core.state.adding, read->replica_id)) {
        r->totals.reassignment_bytes_out += read->len;
    }
    if (p->is_leader_throttled) {
        replica_throttle_take(&r->leader_throttle, (int64_t)read->len, env_now_us(r->env));
    }
    replicas_limit_sent(p, read->replica_id, (int64_t)read->len);
    replicas_copy_sent(p, read);
}

/* ---- watches ---- */

/* tidy: long: topic and partition are one name. */
bool replicas_watch_start(struct replicas *r, struct replicas_watch *watch, struct slice topic,
                          int32_t partition)
{
    CHECK(watch->partition == NULL);
    struct replicas_partition *p = replicas_partition_find(r, topic, partition);
    if (p == NULL) {
        return false;
    }
    watch->replicas = r;
    watch->partition = p;
    watch->events = 0;
    list_push_back(&p->watches, &watch->link);
    return true;
}

void replicas_watch_stop(struct replicas_watch *watch)
{
    if (watch->replicas == NULL) {
        return;
    }
    list_remove(&watch->replicas->ready, &watch->ready_link);
    if (watch->partition != NULL) {
        list_remove(&watch->partition->watches, &watch->link);
        watch->partition = NULL;
    }
    watch->replicas = NULL;
}

void replicas_watch_drain(struct replicas *r)
{
    /* What a callback makes ready is for the next drain, so that this loop ends. */
    for (size_t left = r->ready.count; left > 0; left--) {
        struct list_node *node = list_pop(&r->ready);
        if (node == NULL) {
            return;
        }
        struct replicas_watch *watch = CONTAINER_OF(node, struct replicas_watch, ready_link);
        int events = watch->events;
        watch->events = 0;
        if (watch->partition == NULL) {
            watch->replicas = NULL;
        }
        watch->fn(watch->arg, watch, events);
    }
    if (!list_is_empty(&r->ready)) {
        replicas_drain_soon(r);
    }
}

/* ---- lookups ---- */

static int find_by_time(struct replicas_partition *p, struct replicas_offset_query *query)
{
    struct plog_time_hit hit = {.offset = -1, .timestamp = -1, .leader_epoch = -1};
    int64_t upper = upper_of(p, query->replica_id, query->is_read_committed);
    int err = query->timestamp == -3 ? plog_find_max_time(p->log, &hit)
                                     : plog_find_time(p->log, query->timestamp, upper, &hit);
    if (err != 0) {
        replicas_partition_log_error(p, err);
        return err;
    }
    if (hit.offset < 0 && query->replica_id < 0 && upper < p->core.epoch_start) {
        return -E_NOT_AVAILABLE; /* it may lie in what is not committed yet */
    }
    query->ret_offset = hit.offset;
    query->ret_timestamp = hit.timestamp;
    query->ret_leader_epoch = hit.leader_epoch;
    return 0;
}

int replicas_find_offset(struct replicas *r, struct replicas_offset_query *query)
{
    query->ret_timestamp = -1;
    query->ret_offset = -1;
    query->ret_leader_epoch = -1;
    struct replicas_partition *p = replicas_partition_find(r, query->topic, query->partition);
    int err = check_leader(p, UUID_ZERO, query->current_leader_epoch);
    if (err != 0) {
        return err;
    }
    switch (query->timestamp) {
    case -1:
        query->ret_offset = upper_of(p, query->replica_id, query->is_read_committed);
        query->ret_leader_epoch = p->core.state.leader_epoch;
        /* A fresh leader does not know yet how far its predecessor had committed. */
        if (query->replica_id < 0 && query->ret_offset < p->core.epoch_start) {
            query->ret_offset = -1;
            return -E_NOT_AVAILABLE;
        }
        return 0;
    case -2:
    case -4:
        query->ret_offset = plog_start_offset(p->log);
        query->ret_leader_epoch = plog_epoch_at(p->log, query->ret_offset);
        return 0;
    case -5:
        return 0;
    default:
        return query->timestamp < -3 ? -E_UNSUPPORTED : find_by_time(p, query);
    }
}

int replicas_find_epoch_end(struct replicas *r, struct replicas_epoch_query *query)
{
    query->ret_epoch = -1;
    query->ret_end_offset = -1;
    struct replicas_partition *p = replicas_partition_find(r, query->topic, query->partition);
    int err = check_leader(p, UUID_ZERO, query->current_leader_epoch);
    if (err == 0) {
        plog_epoch_end(p->log, query->leader_epoch, &query->ret_epoch, &query->ret_end_offset);
    }
    return err;
}
