/*
 * What a follower does with its leader's answers: append, truncate where the logs parted, resync when
 * out of range; each partition for itself, so that a broken one never holds up the others (KIP-461,
 * docs/spec/reassignment.md 11.7 and 11.8).
 * Invariant: an answer counts only if the partition's leader epoch and log end are still those that
 * were sent.
 * Runs on the broker's env.
 */
#include "base/check.h"
#include "broker/replicas/internal.h"
#include "model/kerr.h"
#include "plog/append.h"
#include "plog/read.h"
#include "plog/trim.h"
#include "replica/truncate.h"
#include "wire/fetch.h"
#include "wire/list_offsets.h"
#include "wire/offset_for_leader_epoch.h"

/* ---- cutting ---- */

bool replicas_truncate(struct replicas_partition *p, int64_t offset)
{
    struct errmsg em;
    int err = plog_truncate_to(p->log, offset, &em);
    if (err != 0) {
        replicas_dir_fail(p->replicas, p->dir, err, em.text);
        return false;
    }
    replicas_partition_log_moved(p);
    replicas_fetch_touch(p);
    return true;
}

static bool restart_at(struct replicas_partition *p, int64_t offset)
{
    struct replicas *r = p->replicas;
    struct plog_removal *removal = NULL;
    struct errmsg em;
    int err = plog_truncate_fully(p->log, offset, &removal, &em);
    if (err != 0) {
        replicas_dir_fail(r, p->dir, err, em.text);
        return false;
    }
    replicas_removal_add(r, removal, r->config.file_delete_delay_ms);
    r->dirs[p->dir].is_dirty[PLOG_CHECKPOINT_LOG_START] = true;
    replicas_partition_log_moved(p);
    replicas_fetch_touch(p);
    return true;
}

/* Cuts where the leader says that its epoch ends. False when the log failed. *ret_is_final: what is left
 * is a beginning of the leader's log; else it is to be asked about what is our latest epoch then.
 * *ret_is_changed: something went. */
static bool cut_to_leader(struct replicas_partition *p, struct replica_epoch_end leader,
                          bool *ret_is_final, bool *ret_is_changed)
{
    struct replica_truncate_input in = {
        .leader = leader,
        .initial = p->fetch.initial_offset,
        .log_start = plog_start_offset(p->log),
        .log_end = p->core.log_end,
    };
    plog_epoch_end(p->log, leader.epoch, &in.own.epoch, &in.own.end);
    struct replica_truncation cut = replica_truncate_offset(&in);
    int32_t latest = plog_epoch_latest(p->log);
    bool is_cut = cut.offset < p->core.log_end;
    /* Even where no record goes, an epoch without records may, one that this broker led and the leader
     * does not know. */
    if (!replicas_truncate(p, cut.offset)) {
        replicas_fetch_fail(p, -E_OFFLINE);
        return false;
    }
    *ret_is_final = cut.is_final;
    *ret_is_changed = is_cut || plog_epoch_latest(p->log) != latest;
    return true;
}

static void diverged(struct replicas_partition *p, struct replica_epoch_end leader)
{
    bool is_final;
    bool is_changed;
    /* Final or not, the next fetch names what is our latest epoch then. */
    if (cut_to_leader(p, leader, &is_final, &is_changed) && !is_changed) {
        /* The leader says we differ, our epochs say we do not: asking again would not end. */
        replicas_fetch_delay(p);
    }
}

/* ---- records ---- */

/* A replica that starts inside a batch of the leader (its log start moved there) takes that batch
 * whole: its empty log begins at the batch, and the log start is raised again afterwards. */
static bool starts_inside(const struct replicas_partition *p, struct slice records,
                          int64_t *ret_base)
{
    struct record_batch first;
    if (p->core.log_end != plog_start_offset(p->log) || record_batch_parse(records, &first) != 0) {
        return false;
    }
    *ret_base = first.base_offset;
    return first.base_offset < p->core.log_end &&
           record_batch_next_offset(&first) > p->core.log_end;
}

static void note_bytes(struct replicas_partition *p, int64_t bytes)
{
    struct replicas *r = p->replicas;
    int32_t limit = p->fetch.is_far_behind ? r->config.fetch_catch_up_bytes_max
                                           : r->config.fetch_partition_bytes_max;
    p->fetch.is_far_behind = bytes >= limit / 2;
    /* A limited copy comes in small pieces: that it is behind is known from the high watermark. */
    bool is_copy = p->fetch.is_far_behind || p->fetch.lag > 0;
    p->fetch.streak_bytes = is_copy ? p->fetch.streak_bytes + bytes : 0;
    if (p->is_follower_throttled) {
        replica_throttle_take(&r->follower_throttle, bytes, env_now_us(r->env));
    }
    if (replicas_limit_holds(p)) {
        replica_limit_take(p->limit->core, REPLICA_IN, bytes, env_now_us(r->env));
    }
    r->totals.replication_bytes_in += (uint64_t)bytes;
    if (ids_has(&p->core.state.adding, r->config.broker_id)) {
        r->totals.reassignment_bytes_in += (uint64_t)bytes;
    }
}

/* 0, or the error of the log or the bytes. */
static int append(struct replicas_partition *p, struct slice records)
{
    struct plog_appended appended;
    struct errmsg em;
    int64_t base;
    int err = plog_append_follower(p->log, records, &appended, &em);
    if (err == -E_OUT_OF_RANGE && starts_inside(p, records, &base)) {
        if (!restart_at(p, base)) {
            return -E_OFFLINE;
        }
        err = plog_append_follower(p->log, records, &appended, &em);
    }
    if (err == 0) {
        note_bytes(p, appended.bytes);
        replicas_copy_appended(p, &appended);
        replicas_partition_log_moved(p);
        replicas_fetch_touch(p);
    }
    return err;
}

/* A log that failed is offline with its directory. Anything else may be the wire or the leader's disk: the
 * next copy may be good, and until then it is told (KIP-461). */
static void append_failed(struct replicas_partition *p, int err)
{
    replicas_partition_log_error(p, err);
    if (plog_failure(p->log) != 0 || p->replicas->dirs[p->dir].is_offline) {
        replicas_fetch_fail(p, err);
        return;
    }
    replicas_fetch_delay(p);
    p->fetch.error = err;
}

static void follow_marks(struct replicas_partition *p, int64_t high_watermark, int64_t log_start)
{
    p->fetch.lag = MAX(high_watermark - p->core.log_end, 0);
    p->fetch.refusal_count = 0;
    p->fetch.leader_code = 0;
    p->fetch.error = 0;
    if (replica_core_follow_high_watermark(&p->core, high_watermark)) {
        replicas_partition_high_watermark_moved(p);
    }
    int64_t start = MIN(log_start, p->core.high_watermark);
    if (start > plog_start_offset(p->log)) {
        plog_raise_start(p->log, start);
        p->replicas->dirs[p->dir].is_dirty[PLOG_CHECKPOINT_LOG_START] = true;
        replicas_partition_notify(p, REPLICAS_HIGH_WATERMARK);
        replicas_fetch_touch(p);
    }
}

/* ---- answers ---- */

static void refused(struct replicas_partition *p, int16_t code)
{
    switch (code) {
    case KERR_OFFSET_OUT_OF_RANGE:
        replicas_fetch_ask(p, REPLICAS_FETCH_LATEST);
        return;
    case KERR_FENCED_LEADER_EPOCH:
        /* Our epoch is the one that was sent: only news from the controller can help. */
        replicas_fetch_fail(p, -E_FENCED);
        return;
    default:
        replicas_fetch_delay(p);
        p->fetch.leader_code = code;
        return;
    }
}

/* What was sent last is what this answer is about, and nothing was decided since. */
static bool is_current(const struct replicas_partition *p)
{
    return p->fetch.sent_request <= p->fetch.fetcher->answer_count &&
           p->core.state.leader_epoch == p->fetch.sent_epoch;
}

static void partition_answered(struct replicas_partition *p,
                               const struct wire_fetch_response_responses_partitions *a)
{
    if (!is_current(p)) {
        return;
    }
    if (a->error_code != KERR_NONE) {
        refused(p, a->error_code);
        return;
    }
    if (p->core.log_end != p->fetch.sent_offset) {
        return;
    }
    if (a->diverging_epoch.epoch >= 0 || a->diverging_epoch.end_offset >= 0) {
        diverged(p, (struct replica_epoch_end){.epoch = a->diverging_epoch.epoch,
                                               .end = a->diverging_epoch.end_offset});
        return;
    }
    int err = a->records.len == 0 ? 0 : append(p, slice_of(a->records.ptr, a->records.len));
    if (err != 0) {
        append_failed(p, err);
        return;
    }
    follow_marks(p, a->high_watermark, a->log_start_offset);
    if (replicas_limit_pauses(p)) {
        replicas_fetch_pause(p);
    } else {
        replicas_fetch_choose(p);
    }
}

/* The partition, when it still copies by way of f. */
static struct replicas_partition *partition_of(struct replicas_fetcher *f,
                                               struct replicas_topic *topic, int32_t index)
{
    struct replicas_partition *p = replicas_partition_at(f->replicas, topic, index);
    bool is_ours = p != NULL && p->fetch.fetcher == f && p->log != NULL &&
                   !f->replicas->dirs[p->dir].is_offline;
    return is_ours ? p : NULL;
}

void replicas_fetch_answered(struct replicas_fetcher *f, const struct wire_fetch_response *resp)
{
    for (int32_t t = 0; t < resp->responses_count; t++) {
        const struct wire_fetch_response_responses *topic = &resp->responses[t];
        struct replicas_topic *local = f->is_by_id
                                           ? replicas_topic_by_id(f->replicas, topic->topic_id)
                                           : replicas_topic_find(f->replicas, topic->topic);
        for (int32_t i = 0; local != NULL && i < topic->partitions_count; i++) {
            struct replicas_partition *p =
                partition_of(f, local, topic->partitions[i].partition_index);
            if (p != NULL && p->fetch.state == REPLICAS_FETCH_ON && p->fetch.is_in_session) {
                partition_answered(p, &topic->partitions[i]);
            }
        }
    }
}

static void latest_answered(struct replicas_partition *p, int64_t leader_end)
{
    if (replica_resync_latest(p->core.log_end, leader_end) == REPLICA_RESYNC_EARLIEST) {
        replicas_fetch_ask(p, REPLICAS_FETCH_EARLIEST);
        return;
    }
    if (replicas_truncate(p, leader_end)) {
        replicas_fetch_resume(p);
    } else {
        replicas_fetch_fail(p, -E_OFFLINE);
    }
}

static void earliest_answered(struct replicas_partition *p, int64_t leader_start)
{
    if (replica_resync_earliest(p->core.log_end, leader_start) == REPLICA_RESYNC_RESTART &&
        !restart_at(p, leader_start)) {
        replicas_fetch_fail(p, -E_OFFLINE);
        return;
    }
    replicas_fetch_resume(p);
}

static void offset_answered(struct replicas_partition *p,
                            const struct wire_list_offsets_response_topics_partitions *a)
{
    if (!is_current(p)) {
        return;
    }
    p->fetch.is_asked = false;
    if (a->error_code == KERR_FENCED_LEADER_EPOCH) {
        replicas_fetch_fail(p, -E_FENCED);
    } else if (a->error_code != KERR_NONE || a->offset < 0) {
        replicas_fetch_delay(p);
        p->fetch.leader_code = a->error_code;
    } else if (p->fetch.state == REPLICAS_FETCH_LATEST) {
        latest_answered(p, a->offset);
    } else {
        earliest_answered(p, a->offset);
    }
}

void replicas_offsets_answered(struct replicas_fetcher *f,
                               const struct wire_list_offsets_response *resp)
{
    for (int32_t t = 0; t < resp->topics_count; t++) {
        const struct wire_list_offsets_response_topics *topic = &resp->topics[t];
        struct replicas_topic *local = replicas_topic_find(f->replicas, topic->name);
        for (int32_t i = 0; local != NULL && i < topic->partitions_count; i++) {
            struct replicas_partition *p =
                partition_of(f, local, topic->partitions[i].partition_index);
            if (p != NULL && p->fetch.is_asked && p->fetch.state != REPLICAS_FETCH_EPOCH) {
                offset_answered(p, &topic->partitions[i]);
            }
        }
    }
}

static void
epoch_end_answered(struct replicas_partition *p,
                   const struct wire_offset_for_leader_epoch_response_topics_partitions *a)
{
    struct replica_epoch_end leader = {.epoch = a->leader_epoch, .end = a->end_offset};
    bool is_final;
    bool is_changed;
    if (!is_current(p)) {
        return;
    }
    p->fetch.is_asked = false;
    if (a->error_code == KERR_FENCED_LEADER_EPOCH) {
        replicas_fetch_fail(p, -E_FENCED);
    } else if (a->error_code != KERR_NONE) {
        replicas_fetch_delay(p);
    } else if (cut_to_leader(p, leader, &is_final, &is_changed)) {
        p->fetch.is_parted = !is_final;
        if (is_final || is_changed) {
            replicas_fetch_resume(p);
        } else {
            replicas_fetch_delay(p);
        }
    }
}

void replicas_epochs_answered(struct replicas_fetcher *f,
                              const struct wire_offset_for_leader_epoch_response *resp)
{
    for (int32_t t = 0; t < resp->topics_count; t++) {
        const struct wire_offset_for_leader_epoch_response_topics *topic = &resp->topics[t];
        struct replicas_topic *local = replicas_topic_find(f->replicas, topic->topic);
        for (int32_t i = 0; local != NULL && i < topic->partitions_count; i++) {
            struct replicas_partition *p = partition_of(f, local, topic->partitions[i].partition);
            if (p != NULL && p->fetch.is_asked && p->fetch.state == REPLICAS_FETCH_EPOCH) {
                epoch_end_answered(p, &topic->partitions[i]);
            }
        }
    }
}
