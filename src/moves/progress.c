/*
 * The arithmetic of progress. A replica has as many bytes to copy as its leader has; what it lacks now
 * decides the time left, what it had once is what counts as copied. Sizes come from other machines and
 * at other moments: they are bounded here, so that no sum or product overflows.
 */
#include "moves/progress.h"

#include "base/alloc.h"
#include "base/check.h"
#include "model/kerr.h"

#include <stdlib.h>

#define BYTES_MAX    ((int64_t)1 << 50) /* of one log: a petabyte */
#define RATE_MAX     ((int64_t)1 << 50) /* a second */
#define RATE_MIN_MS  500                /* a rate over less says nothing */
#define RATE_TOLD_MS 4500               /* one over less is told nobody: limits let bursts pass */
#define TAIL_MS      1000               /* less than this behind: it follows the tail */
#define BELOW_MS     12000 /* a limit has been below the writes so long: it is a reason */
#define QUIET_MS     7000  /* nothing was written so long: the writes are over */
#define FORMER_MS    30000 /* what was waited for elsewhere has to be found again until then */

static int64_t bytes_bound(int64_t bytes)
{
    return MIN(MAX(bytes, 0), BYTES_MAX);
}

/* ---- rates ---- */

static void rate_keep(struct moves_rate *rate)
{
    if (rate->count == MOVES_SAMPLES) {
        memmove(rate->samples, rate->samples + 1, sizeof rate->samples - sizeof rate->samples[0]);
        rate->count--;
    }
    rate->samples[rate->count].time_ms = rate->time_ms;
    rate->samples[rate->count].value = rate->value;
    rate->count++;
}

void moves_rate_add(struct moves_rate *rate, int64_t value, int64_t now_ms)
{
    if (rate->count > 0 && value < rate->value) {
        rate->count = 0;
    }
    rate->time_ms = now_ms;
    rate->value = value;
    if (rate->count == 0 || now_ms - rate->samples[rate->count - 1].time_ms >= MOVES_SAMPLE_MS) {
        rate_keep(rate);
    }
}

int64_t moves_rate_get(const struct moves_rate *rate)
{
    if (rate->count == 0 || rate->time_ms - rate->samples[0].time_ms < RATE_MIN_MS) {
        return -1;
    }
    int64_t elapsed_ms = rate->time_ms - rate->samples[0].time_ms;
    int64_t change = rate->value - rate->samples[0].value;
    return change >= INT64_MAX / 1000 ? change / elapsed_ms * 1000 : change * 1000 / elapsed_ms;
}

/* ---- what is heard ---- */

void moves_progress_init(struct moves_progress *m)
{
    *m = (struct moves_progress){
        .rate = -1,
        .eta_ms = -1,
        .leader = -1,
        .leader_log = {.log_end = -1, .write_rate = -1},
        .written_ms = -1,
    };
}

void moves_progress_deinit(struct moves_progress *m)
{
    free(m->replicas);
    free(m->staying);
    *m = (struct moves_progress){0};
}

static struct moves_replica *find_in(struct moves_replica *list, int32_t count, int32_t broker)
{
    for (int32_t i = 0; i < count; i++) {
        if (list[i].broker == broker) {
            return &list[i];
        }
    }
    return NULL;
}

static struct moves_replica *replica_find(const struct moves_progress *m, int32_t broker)
{
    return find_in(m->replicas, m->replica_count, broker);
}

static bool has_same_replicas(const struct moves_progress *m, const struct ids *adding)
{
    bool is_same = m->replica_count == adding->count;
    for (int32_t i = 0; is_same && i < adding->count; i++) {
        is_same = m->replicas[i].broker == adding->list[i];
    }
    return is_same;
}

/* Members of the target that do not arrive; what is known of them is kept. Called at each step. */
static void staying_set(struct moves_progress *m, const struct ids *target)
{
    int32_t count = 0;
    bool is_same = true;
    for (int32_t i = 0; i < target->count; i++) {
        if (replica_find(m, target->list[i]) == NULL) {
            is_same =
                is_same && count < m->staying_count && m->staying[count].broker == target->list[i];
            count++;
        }
    }
    if (is_same && count == m->staying_count) {
        return;
    }
    struct moves_replica *staying = xalloc((size_t)(count + 1) * sizeof *staying);
    count = 0;
    for (int32_t i = 0; i < target->count; i++) {
        int32_t broker = target->list[i];
        const struct moves_replica *known = find_in(m->staying, m->staying_count, broker);
        if (replica_find(m, broker) == NULL) {
            staying[count++] =
                known != NULL ? *known : (struct moves_replica){.broker = broker, .rate = -1};
        }
    }
    free(m->staying);
    m->staying = staying;
    m->staying_count = count;
}

void moves_progress_set(struct moves_progress *m, const struct ids *adding, int32_t leader)
{
    if (leader != m->leader && leader >= 0) {
        /* The size stays until the new leader tells its own. */
        m->leader = leader;
        m->leader_rate = (struct moves_rate){0};
        m->leader_log.write_rate = -1;
        m->leader_log.knows_no_limits = false;
    }
    if (has_same_replicas(m, adding)) {
        return;
    }
    struct moves_replica *replicas = xalloc((size_t)(adding->count + 1) * sizeof *replicas);
    for (int32_t i = 0; i < adding->count; i++) {
        const struct moves_replica *known = replica_find(m, adding->list[i]);
        if (known != NULL) {
            replicas[i] = *known;
        } else {
            replicas[i] = (struct moves_replica){.broker = adding->list[i],
                                                 .rate = -1,
                                                 .lag_bytes = -1,
                                                 .lag_offsets = -1,
                                                 .below_ms = -1};
        }
    }
    free(m->replicas);
    m->replicas = replicas;
    m->replica_count = adding->count;
}

/* known: what was heard before. */
static struct moves_log log_bound(const struct moves_log *log, const struct moves_log *known)
{
    struct moves_log bounded = *log;
    bounded.size = log->size < 0 ? known->size : bytes_bound(log->size);
    bounded.write_rate = MIN(MAX(log->write_rate, -1), RATE_MAX);
    bounded.throttle_rate = MIN(MAX(log->throttle_rate, -1), RATE_MAX);
    bounded.log_end = MAX(log->log_end, -1);
    return bounded;
}

void moves_progress_heard(struct moves_progress *m, int32_t broker, const struct moves_log *log,
                          int64_t now_ms)
{
    struct moves_replica *replica = replica_find(m, broker);
    if (replica != NULL) {
        replica->has_log = true;
        replica->log = log_bound(log, &replica->log);
        replica->copied = MAX(replica->copied, replica->log.size);
        moves_rate_add(&replica->size_rate, replica->log.size, now_ms);
    }
    replica = find_in(m->staying, m->staying_count, broker);
    if (replica != NULL) {
        replica->has_log = true;
        replica->log = log_bound(log, &replica->log);
    }
    if (broker == m->leader) {
        struct moves_log now = log_bound(log, &m->leader_log);
        if (m->has_leader_log && now.size > m->leader_log.size) {
            m->written_ms = now_ms;
        }
        m->has_leader_log = true;
        m->leader_log = now;
        moves_rate_add(&m->leader_rate, m->leader_log.size, now_ms);
    }
}

void moves_progress_restore(struct moves_progress *m, int32_t broker, int64_t copied)
{
    struct moves_replica *replica = replica_find(m, broker);
    if (replica != NULL) {
        replica->copied = MAX(replica->copied, bytes_bound(copied));
    }
}

void moves_progress_restore_wait(struct moves_progress *m, int32_t broker,
                                 const struct moves_wait *wait)
{
    struct moves_replica *replica = replica_find(m, broker);
    if (broker < 0) {
        m->former = (struct moves_former){.wait = *wait};
    } else if (replica != NULL) {
        replica->former = (struct moves_former){.wait = *wait};
    }
}

/* ---- since when ---- */

static bool is_equal(const struct moves_wait *a, const struct moves_wait *b)
{
    return a->reason == b->reason && a->error == b->error;
}

/* Takes what holds now; counts a change. A new controller hears some things late: what it finds again counts
 * from when the former one found it. */
static void wait_note(struct moves_progress *m, struct moves_wait *wait,
                      struct moves_former *former, struct moves_wait now,
                      const struct moves_facts *facts)
{
    former->until_ms = former->until_ms == 0 ? facts->now_ms + FORMER_MS : former->until_ms;
    if (former->wait.since_ms != 0 && is_equal(&former->wait, &now)) {
        now.since_ms = former->wait.since_ms;
        former->wait.since_ms = 0;
    } else if (now.reason != MOVES_REASON_NONE || facts->now_ms >= former->until_ms) {
        former->wait.since_ms = 0;
    }
    m->changes += !is_equal(wait, &now);
    moves_wait_note(wait, now, facts->wall_ms);
}

/* ---- one replica ---- */

/* Bytes a second that arrive at the leader; -1 = unknown. */
static int64_t write_rate(const struct moves_progress *m)
{
    return m->leader_log.write_rate >= 0 ? m->leader_log.write_rate
                                         : moves_rate_get(&m->leader_rate);
}

/* Both ends hold a copy back: the lower rate counts. */
static void throttle_take(struct moves_reason_facts *about, const struct moves_log *log)
{
    about->is_throttled |= log->is_throttled;
    if (log->throttle_rate > 0 &&
        (about->throttle_rate <= 0 || log->throttle_rate < about->throttle_rate)) {
        about->throttle_rate = log->throttle_rate;
    }
}

/* A burst is no reason, only what lasts: told from when it began. */
static struct moves_wait lasting(const struct moves_progress *m, struct moves_replica *r,
                                 struct moves_wait wait, const struct moves_facts *facts)
{
    bool is_below = wait.reason == MOVES_REASON_THROTTLED;
    bool is_quiet = m->written_ms < 0 || facts->now_ms - m->written_ms >= QUIET_MS;
    if (!is_below || is_quiet) {
        r->below_ms = -1;
    } else if (r->below_ms < 0) {
        r->below_ms = facts->now_ms;
    }
    if (!is_below) {
        return wait;
    }
    if (r->below_ms < 0 || facts->now_ms - r->below_ms < BELOW_MS) {
        return (struct moves_wait){MOVES_REASON_NONE, 0, 0};
    }
    if (r->wait.reason != MOVES_REASON_THROTTLED) {
        wait.since_ms = facts->wall_ms - (facts->now_ms - r->below_ms);
    }
    return wait;
}

static struct moves_wait replica_wait(const struct moves_progress *m, const struct moves_replica *r,
                                      const struct moves_facts *facts)
{
    int64_t down_since_ms = facts->down_since(facts->arg, r->broker);
    struct moves_reason_facts about = {
        .is_paused = facts->is_paused,
        .is_in_sync = ids_has(facts->isr, r->broker),
        .is_alive = down_since_ms == 0,
        .down_since_ms = down_since_ms,
        .is_dir_offline = ids_has(facts->offline, r->broker),
        .has_leader = facts->has_leader,
        .throttle_rate = r->ignores_limits ? -1 : facts->limit_rate,
        .write_rate = write_rate(m),
        .copy_rate = r->rate,
    };
    about.is_throttled = about.throttle_rate > 0;
    if (r->has_log) {
        about.is_disk_full = r->log.is_disk_full;
        about.is_dir_offline |= r->log.fetch_error == KERR_KAFKA_STORAGE_ERROR;
        about.fetch_error = r->log.fetch_error;
        throttle_take(&about, &r->log);
    }
    if (m->has_leader_log) {
        throttle_take(&about, &m->leader_log);
    }
    return moves_reason_of(&about);
}

static enum moves_replica_state replica_state(const struct moves_replica *r, bool is_in_sync)
{
    switch (r->wait.reason) {
    case MOVES_REASON_TARGET_DOWN:
        return MOVES_REPLICA_DOWN;
    case MOVES_REASON_DISK_FULL:
    case MOVES_REASON_DIR_OFFLINE:
    case MOVES_REASON_FETCH_ERROR:
        return MOVES_REPLICA_FAILED;
    case MOVES_REASON_PAUSED:
        return MOVES_REPLICA_PAUSED;
    case MOVES_REASON_STAYING:
    case MOVES_REASON_NONE:
    case MOVES_REASON_SLOT:
    case MOVES_REASON_NO_LEADER:
    case MOVES_REASON_THROTTLED:
    case MOVES_REASON_MIN_ISR:
    case MOVES_REASON_OLD_REPLICAS:
    case MOVES_REASON_COUNT:
    default:
        return is_in_sync   ? MOVES_REPLICA_IN_SYNC
               : r->has_log ? MOVES_REPLICA_COPYING
                            : MOVES_REPLICA_UNKNOWN;
    }
}

static void replica_step(struct moves_progress *m, struct moves_replica *r,
                         const struct moves_facts *facts)
{
    bool is_in_sync = ids_has(facts->isr, r->broker);
    bool is_alive = facts->down_since(facts->arg, r->broker) == 0;
    r->ignores_limits = !is_in_sync && r->has_log && r->log.knows_no_limits && m->has_leader_log &&
                        m->leader_log.knows_no_limits;
    bool is_held = facts->is_paused && !r->ignores_limits;
    r->rate = !is_alive || is_held ? 0 : moves_rate_get(&r->size_rate);
    struct moves_wait wait = lasting(m, r, replica_wait(m, r, facts), facts);
    wait_note(m, &r->wait, &r->former, wait, facts);
    int64_t window_ms =
        r->size_rate.count == 0 ? 0 : r->size_rate.time_ms - r->size_rate.samples[0].time_ms;
    if (is_alive && !is_held && window_ms < RATE_TOLD_MS) {
        r->rate = -1;
    }
    r->state = replica_state(r, is_in_sync);
    if (is_in_sync && m->has_leader_log) {
        r->copied = MAX(r->copied, m->leader_log.size); /* sizes are of different moments */
    }
    r->lag_bytes = is_in_sync                          ? 0
                   : !m->has_leader_log || !r->has_log ? -1
                                                       : MAX(m->leader_log.size - r->log.size, 0);
    r->lag_offsets = is_in_sync ? 0
                     : m->leader_log.log_end < 0 || !r->has_log || r->log.log_end < 0
                         ? -1
                         : MAX(m->leader_log.log_end - r->log.log_end, 0);
}

/* A move ends when all of its target is in sync. What only lags is told when nothing else is left to wait for. */
static void staying_step(const struct moves_progress *m, struct moves_replica *r,
                         const struct moves_facts *facts, bool is_copied)
{
    struct moves_facts own = *facts;
    own.is_paused = false; /* pauses and the job's limit are for those that arrive */
    own.limit_rate = -1;
    struct moves_wait wait = replica_wait(m, r, &own);
    if (wait.reason == MOVES_REASON_THROTTLED || wait.reason == MOVES_REASON_NO_LEADER) {
        wait.reason = MOVES_REASON_NONE;
    }
    if (wait.reason == MOVES_REASON_NONE && is_copied && !ids_has(facts->isr, r->broker)) {
        wait.reason = MOVES_REASON_STAYING;
    }
    moves_wait_note(&r->wait, wait, facts->wall_ms);
}

/* What it lacks and what is written meanwhile, at its rate; -1 = never, as far as is known. */
static int64_t replica_eta(const struct moves_progress *m, const struct moves_replica *r)
{
    int64_t written = MAX(write_rate(m), 0);
    bool waits = r->wait.reason != MOVES_REASON_NONE;
    if (r->state == MOVES_REPLICA_IN_SYNC) {
        return 0;
    }
    if (waits || r->lag_bytes < 0 || r->rate <= 0) {
        return -1;
    }
    if (r->lag_bytes * 1000 <= r->rate * TAIL_MS) {
        return r->lag_bytes * 1000 / r->rate;
    }
    return r->rate <= written ? -1 : r->lag_bytes * 1000 / (r->rate - written);
}

/* ---- the whole ---- */

/* What is not to be seen at the arriving replicas. */
static struct moves_wait own_wait(const struct moves_progress *m, const struct moves_facts *facts)
{
    struct moves_wait wait = {MOVES_REASON_NONE, 0, 0};
    bool is_copied = true;
    if (facts->is_stopping) {
        return (struct moves_wait){MOVES_REASON_OLD_REPLICAS, 0, 0};
    }
    for (int32_t i = 0; i < m->replica_count; i++) {
        is_copied = is_copied && m->replicas[i].state == MOVES_REPLICA_IN_SYNC;
    }
    for (int32_t i = 0; i < m->staying_count; i++) {
        staying_step(m, &m->staying[i], facts, is_copied);
        if (m->staying[i].wait.reason != MOVES_REASON_NONE) {
            wait = moves_wait_worse(wait, m->staying[i].wait);
        }
    }
    bool is_fault = wait.reason != MOVES_REASON_NONE && wait.reason != MOVES_REASON_STAYING;
    if (!is_fault && !facts->has_leader) {
        return (struct moves_wait){MOVES_REASON_NO_LEADER, 0, 0};
    }
    if (!is_fault && is_copied && facts->isr->count < facts->min_insync) {
        return (struct moves_wait){MOVES_REASON_MIN_ISR, 0, 0};
    }
    return wait;
}

static void sums_make(struct moves_progress *m)
{
    m->to_copy = m->copied = m->rate = m->eta_ms = 0;
    for (int32_t i = 0; i < m->replica_count; i++) {
        const struct moves_replica *r = &m->replicas[i];
        int64_t eta_ms = replica_eta(m, r);
        m->copied += r->copied;
        m->to_copy += m->has_leader_log ? MAX(m->leader_log.size, r->copied) : r->copied;
        if (r->state != MOVES_REPLICA_IN_SYNC) {
            m->rate = r->rate < 0 || m->rate < 0 ? -1 : m->rate + r->rate;
        }
        m->eta_ms = eta_ms < 0 || m->eta_ms < 0 ? -1 : MAX(m->eta_ms, eta_ms);
    }
}

/* As it would be noted after what was noted before. */
static struct moves_wait dated(const struct moves_wait *before, struct moves_wait now,
                               int64_t wall_ms)
{
    struct moves_wait noted = *before;
    moves_wait_note(&noted, now, wall_ms);
    return noted;
}

void moves_progress_step(struct moves_progress *m, const struct moves_facts *facts)
{
    staying_set(m, facts->target);
    for (int32_t i = 0; i < m->replica_count; i++) {
        replica_step(m, &m->replicas[i], facts);
    }
    sums_make(m);
    struct moves_wait wait = own_wait(m, facts);
    if (wait.reason != MOVES_REASON_NONE) {
        wait = dated(&m->wait, wait, facts->wall_ms);
    }
    for (int32_t i = 0; i < m->replica_count; i++) {
        if (m->replicas[i].wait.reason != MOVES_REASON_NONE) {
            wait = moves_wait_worse(wait, m->replicas[i].wait);
        }
    }
    if (wait.reason != MOVES_REASON_NONE) {
        m->eta_ms = -1;
    }
    wait_note(m, &m->wait, &m->former, wait, facts);
}
