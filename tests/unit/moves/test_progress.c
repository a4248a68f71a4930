/*
 * Progress: what was copied never goes down, rates are of the last seconds, a time left is only told
 * when there is one, and every reason has a since-when.
 */
#include "moves/progress.h"

#include "base/check.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#define MB      1000000LL
#define WALL_MS 1700000000000LL
#define BROKERS 8

/* One move, [1,2] -> [2,3] unless a test sets other lists, and what the controller knows of it. */
struct bench {
    struct moves_progress progress;
    struct moves_facts facts;
    struct ids adding;
    struct ids isr;
    struct ids offline;
    struct ids target;
    int64_t down_since[BROKERS];
    int32_t leader;
};

static int64_t down_since(void *arg, int32_t broker)
{
    const struct bench *b = arg;
    return b->down_since[broker];
}

static void set(struct ids *ids, int32_t a, int32_t b)
{
    ids_clear(ids);
    ids_add(ids, a);
    if (b > 0) {
        ids_add(ids, b);
    }
}

static void bench_init(struct bench *b)
{
    *b = (struct bench){.leader = 1};
    moves_progress_init(&b->progress);
    set(&b->adding, 3, 0);
    set(&b->isr, 1, 2);
    set(&b->target, 2, 3);
    b->facts = (struct moves_facts){.isr = &b->isr,
                                    .offline = &b->offline,
                                    .target = &b->target,
                                    .has_leader = true,
                                    .min_insync = 1,
                                    .limit_rate = -1,
                                    .down_since = down_since,
                                    .arg = b};
}

static void bench_deinit(struct bench *b)
{
    moves_progress_deinit(&b->progress);
    ids_deinit(&b->adding);
    ids_deinit(&b->isr);
    ids_deinit(&b->offline);
    ids_deinit(&b->target);
}

/* What a broker tells that knows no more than sizes. */
static struct moves_log log_of(int64_t size)
{
    return (struct moves_log){.size = size, .log_end = -1, .write_rate = -1, .throttle_rate = -1};
}

static void step(struct bench *b, int64_t now_ms)
{
    b->facts.now_ms = now_ms;
    b->facts.wall_ms = WALL_MS + now_ms;
    moves_progress_set(&b->progress, &b->adding, b->leader);
    moves_progress_step(&b->progress, &b->facts);
}

static void hear(struct bench *b, int64_t now_ms, int64_t leader_size, int64_t target_size)
{
    struct moves_log leader = log_of(leader_size);
    struct moves_log target = log_of(target_size);
    moves_progress_set(&b->progress, &b->adding, b->leader);
    moves_progress_heard(&b->progress, b->leader, &leader, now_ms);
    moves_progress_heard(&b->progress, 3, &target, now_ms);
    step(b, now_ms);
}

static void rate_is_the_mean_of_the_last_seconds(void **state)
{
    (void)state;
    struct moves_rate rate = {0};
    assert_int_equal(moves_rate_get(&rate), -1);
    moves_rate_add(&rate, 1000, 0);
    assert_int_equal(moves_rate_get(&rate), -1);
    moves_rate_add(&rate, 2000, 100);
    assert_int_equal(moves_rate_get(&rate), -1); /* too short to say anything */
    for (int64_t s = 1; s <= 30; s++) {
        moves_rate_add(&rate, 1000 + s * 500, s * 1000);
    }
    assert_int_equal(moves_rate_get(&rate), 500);
    /* It stands still: after twelve seconds nothing of the old rate is left. */
    for (int64_t s = 31; s <= 43; s++) {
        moves_rate_add(&rate, 16000, s * 1000);
    }
    assert_int_equal(moves_rate_get(&rate), 0);
    /* A smaller value starts anew. */
    moves_rate_add(&rate, 10, 44000);
    assert_int_equal(moves_rate_get(&rate), -1);
    moves_rate_add(&rate, 10010, 49000);
    assert_int_equal(moves_rate_get(&rate), 2000);
    moves_rate_add(&rate, INT64_MAX, 50000);
    assert_true(moves_rate_get(&rate) > 0);
}

/* A limit lets bursts pass: what the first seconds say is told nobody. */
static void no_rate_is_told_too_early(void **state)
{
    (void)state;
    struct bench b;
    bench_init(&b);
    hear(&b, 0, 100 * MB, 0);
    hear(&b, 600, 100 * MB, 0);
    assert_int_equal(b.progress.rate, -1);
    hear(&b, 1000, 100 * MB, 5 * MB);
    assert_int_equal(b.progress.rate, -1);
    assert_int_equal(b.progress.eta_ms, -1);
    hear(&b, 2000, 100 * MB, 5 * MB);
    hear(&b, 3000, 100 * MB, 5 * MB);
    assert_int_equal(b.progress.rate, -1);
    hear(&b, 5000, 100 * MB, 5 * MB);
    assert_int_equal(b.progress.rate, MB);
    assert_int_equal(b.progress.eta_ms, 95000);
    bench_deinit(&b);
}

static void bytes_rate_and_time_left_are_told(void **state)
{
    (void)state;
    struct bench b;
    bench_init(&b);
    step(&b, 0);
    assert_int_equal(b.progress.to_copy, 0);
    assert_int_equal(b.progress.eta_ms, -1);
    assert_int_equal(b.progress.replicas[0].state, MOVES_REPLICA_UNKNOWN);
    for (int64_t s = 0; s <= 10; s++) {
        hear(&b, s * 1000, 100 * MB, s * 2 * MB);
    }
    assert_int_equal(b.progress.to_copy, 100 * MB);
    assert_int_equal(b.progress.copied, 20 * MB);
    assert_int_equal(b.progress.rate, 2 * MB);
    assert_int_equal(b.progress.eta_ms, 40000);
    assert_int_equal(b.progress.wait.reason, MOVES_REASON_NONE);
    assert_int_equal(b.progress.replicas[0].state, MOVES_REPLICA_COPYING);
    assert_int_equal(b.progress.replicas[0].lag_bytes, 80 * MB);
    assert_int_equal(b.progress.replicas[0].lag_offsets, -1);
    struct moves_log leader = log_of(100 * MB);
    struct moves_log target = log_of(20 * MB);
    leader.log_end = 5000;
    target.log_end = 1000;
    moves_progress_heard(&b.progress, 1, &leader, 10000);
    moves_progress_heard(&b.progress, 3, &target, 10000);
    step(&b, 10000);
    assert_int_equal(b.progress.replicas[0].lag_offsets, 4000);
    ids_add(&b.isr, 3);
    step(&b, 11000);
    assert_int_equal(b.progress.copied, 100 * MB);
    assert_int_equal(b.progress.eta_ms, 0);
    assert_int_equal(b.progress.replicas[0].state, MOVES_REPLICA_IN_SYNC);
    bench_deinit(&b);
}

/* What is written while it copies has to be copied too. */
static void writes_lengthen_the_time_left(void **state)
{
    (void)state;
    struct bench b;
    bench_init(&b);
    for (int64_t s = 0; s <= 10; s++) {
        hear(&b, s * 1000, 50 * MB + s * MB, s * 3 * MB);
    }
    assert_int_equal(b.progress.to_copy, 60 * MB);
    assert_int_equal(b.progress.copied, 30 * MB);
    assert_int_equal(b.progress.eta_ms, 15000); /* 30 MB lack, 2 MB/s are gained */
    bench_deinit(&b);
}

/* S13: more is written than may pass; then the limit is raised. */
static void s13_no_time_left_while_the_limit_is_below_the_writes(void **state)
{
    (void)state;
    struct bench b;
    bench_init(&b);
    b.facts.limit_rate = MB;
    for (int64_t s = 0; s <= 14; s++) {
        hear(&b, s * 1000, 50 * MB + s * 2 * MB, s * MB);
        assert_int_equal(b.progress.eta_ms, -1);
    }
    assert_int_equal(b.progress.wait.reason, MOVES_REASON_THROTTLED);
    assert_int_equal(b.progress.replicas[0].wait.reason, MOVES_REASON_THROTTLED);
    assert_int_equal(b.progress.wait.since_ms, WALL_MS + 1000);
    int64_t copied = b.progress.copied;
    b.facts.limit_rate = 5 * MB;
    for (int64_t s = 15; s <= 28; s++) {
        hear(&b, s * 1000, 50 * MB + s * 2 * MB, 14 * MB + (s - 14) * 5 * MB);
        assert_true(b.progress.copied >= copied);
        copied = b.progress.copied;
    }
    assert_int_equal(b.progress.wait.reason, MOVES_REASON_NONE);
    assert_int_equal(b.progress.wait.since_ms, WALL_MS + 15000);
    assert_true(b.progress.eta_ms > 0);
    bench_deinit(&b);
}

/* It keeps step with the writes: its rate is theirs, and still the end is near. */
static void at_the_tail_the_end_is_near(void **state)
{
    (void)state;
    struct bench b;
    bench_init(&b);
    for (int64_t s = 0; s <= 10; s++) {
        hear(&b, s * 1000, 50 * MB + s * MB, 50 * MB + s * MB - 1000);
    }
    assert_in_range(b.progress.eta_ms, 0, 1000);
    bench_deinit(&b);
}

/* S03: the target's log is cut, the leader deletes old segments, the same target is asked for again. */
static void s03_copied_never_goes_down(void **state)
{
    (void)state;
    struct bench b;
    bench_init(&b);
    hear(&b, 0, 100 * MB, 0);
    hear(&b, 1000, 100 * MB, 30 * MB);
    assert_int_equal(b.progress.copied, 30 * MB);
    hear(&b, 2000, 100 * MB, 10 * MB);
    assert_int_equal(b.progress.copied, 30 * MB);
    assert_int_equal(b.progress.replicas[0].lag_bytes, 90 * MB);
    hear(&b, 3000, 20 * MB, 12 * MB);
    assert_int_equal(b.progress.copied, 30 * MB);
    assert_int_equal(b.progress.to_copy, 30 * MB);
    step(&b, 4000);
    assert_int_equal(b.progress.copied, 30 * MB);
    bench_deinit(&b);
}

/* An override: who stays keeps its bytes, who goes takes them along. */
static void an_override_keeps_who_stays(void **state)
{
    (void)state;
    struct bench b;
    bench_init(&b);
    set(&b.adding, 3, 4);
    struct moves_log log = log_of(40 * MB);
    hear(&b, 1000, 100 * MB, 30 * MB);
    moves_progress_heard(&b.progress, 4, &log, 1000);
    moves_progress_heard(&b.progress, 6, &log, 1000); /* nobody of this move */
    step(&b, 1000);
    assert_int_equal(b.progress.copied, 70 * MB);
    assert_int_equal(b.progress.to_copy, 200 * MB);
    set(&b.adding, 5, 3);
    step(&b, 2000);
    assert_int_equal(b.progress.copied, 30 * MB);
    assert_int_equal(b.progress.replica_count, 2);
    assert_int_equal(b.progress.replicas[0].broker, 5);
    assert_int_equal(b.progress.replicas[0].copied, 0);
    assert_int_equal(b.progress.replicas[1].copied, 30 * MB);
    bench_deinit(&b);
}

/* S15: broker 3 dies after 37 MB of 100; it was gone before anybody looked. */
static void s15_a_dead_target_is_named_with_its_since(void **state)
{
    (void)state;
    struct bench b;
    bench_init(&b);
    for (int64_t s = 0; s <= 5; s++) {
        hear(&b, s * 1000, 100 * MB, 32 * MB + s * MB);
    }
    b.down_since[3] = WALL_MS + 5500;
    step(&b, 9000);
    assert_int_equal(b.progress.wait.reason, MOVES_REASON_TARGET_DOWN);
    assert_int_equal(b.progress.wait.since_ms, WALL_MS + 5500);
    assert_int_equal(b.progress.replicas[0].state, MOVES_REPLICA_DOWN);
    assert_int_equal(b.progress.copied, 37 * MB);
    assert_int_equal(b.progress.to_copy, 100 * MB);
    assert_int_equal(b.progress.rate, 0);
    assert_int_equal(b.progress.eta_ms, -1);
    b.down_since[3] = 0;
    hear(&b, 20000, 100 * MB, 37 * MB);
    assert_int_equal(b.progress.wait.reason, MOVES_REASON_NONE);
    assert_int_equal(b.progress.wait.since_ms, WALL_MS + 20000);
    bench_deinit(&b);
}

/* A new controller knows what the one before had heard of a broker that is down. */
static void what_was_known_is_restored(void **state)
{
    (void)state;
    struct bench b;
    bench_init(&b);
    moves_progress_set(&b.progress, &b.adding, 1);
    moves_progress_restore(&b.progress, 3, 37 * MB);
    moves_progress_restore(&b.progress, 3, -5);
    moves_progress_restore(&b.progress, 7, 99 * MB);
    b.down_since[3] = WALL_MS;
    struct moves_log leader = log_of(100 * MB);
    moves_progress_heard(&b.progress, 1, &leader, 0);
    step(&b, 0);
    assert_int_equal(b.progress.copied, 37 * MB);
    assert_int_equal(b.progress.to_copy, 100 * MB);
    assert_int_equal(b.progress.replicas[0].state, MOVES_REPLICA_DOWN);
    bench_deinit(&b);
}

/* A replica that stays in the list and is down holds the move up as one that arrives. */
static void a_dead_replica_that_stays_is_a_reason_too(void **state)
{
    (void)state;
    struct bench b;
    bench_init(&b);
    set(&b.isr, 1, 3);
    b.down_since[2] = WALL_MS + 100;
    hear(&b, 1000, MB, MB);
    assert_int_equal(b.progress.wait.reason, MOVES_REASON_TARGET_DOWN);
    assert_int_equal(b.progress.wait.since_ms, WALL_MS + 100);
    assert_int_equal(b.progress.replicas[0].state, MOVES_REPLICA_IN_SYNC);
    bench_deinit(&b);
}

/* ... and so does one whose directory failed, or that cannot fetch: its broker is registered all the while. */
static void a_failed_replica_that_stays_is_a_reason_too(void **state)
{
    (void)state;
    struct bench b;
    bench_init(&b);
    set(&b.isr, 1, 3);
    ids_add(&b.offline, 2);
    hear(&b, 1000, MB, MB);
    assert_int_equal(b.progress.wait.reason, MOVES_REASON_DIR_OFFLINE);
    assert_int_equal(b.progress.eta_ms, -1);
    ids_clear(&b.offline);
    struct moves_log log = log_of(MB);
    log.fetch_error = 13;
    moves_progress_heard(&b.progress, 2, &log, 2000);
    b.facts.is_paused = true; /* it is not what is paused */
    step(&b, 2000);
    step(&b, 3000);
    assert_int_equal(b.progress.wait.reason, MOVES_REASON_FETCH_ERROR);
    assert_int_equal(b.progress.wait.error, 13);
    assert_int_equal(b.progress.wait.since_ms, WALL_MS + 2000);
    set(&b.target, 3, 4); /* it does not stay any more */
    ids_add(&b.isr, 4);
    step(&b, 4000);
    assert_int_equal(b.progress.wait.reason, MOVES_REASON_NONE);
    bench_deinit(&b);
}

/* One that stays and only lags is waited for too: told when nothing else is left to wait for. */
static void a_replica_that_stays_and_lags_is_told_last(void **state)
{
    (void)state;
    struct bench b;
    bench_init(&b);
    set(&b.isr, 1, 0);
    hear(&b, 1000, 10 * MB, MB);
    assert_int_equal(b.progress.wait.reason, MOVES_REASON_NONE);
    set(&b.isr, 1, 3);
    hear(&b, 2000, 10 * MB, 10 * MB);
    assert_int_equal(b.progress.wait.reason, MOVES_REASON_STAYING);
    assert_int_equal(b.progress.eta_ms, -1);
    b.facts.has_leader = false;
    step(&b, 3000);
    assert_int_equal(b.progress.wait.reason, MOVES_REASON_NO_LEADER);
    b.facts.has_leader = true;
    b.facts.min_insync = 3;
    step(&b, 4000);
    assert_int_equal(b.progress.wait.reason, MOVES_REASON_MIN_ISR);
    b.facts.min_insync = 1;
    ids_add(&b.isr, 2);
    step(&b, 5000);
    assert_int_equal(b.progress.wait.reason, MOVES_REASON_NONE);
    assert_int_equal(b.progress.eta_ms, 0);
    bench_deinit(&b);
}

/* What brokers tell about themselves: full disk, failed directory, error, limit. */
static void what_the_target_tells_becomes_the_reason(void **state)
{
    (void)state;
    struct bench b;
    bench_init(&b);
    hear(&b, 0, 10 * MB, MB);
    struct moves_log log = log_of(MB);
    log.fetch_error = 13;
    moves_progress_heard(&b.progress, 3, &log, 1000);
    step(&b, 1000);
    assert_int_equal(b.progress.wait.reason, MOVES_REASON_FETCH_ERROR);
    assert_int_equal(b.progress.wait.error, 13);
    assert_int_equal(b.progress.wait.since_ms, WALL_MS + 1000);
    assert_int_equal(b.progress.replicas[0].state, MOVES_REPLICA_FAILED);
    log.fetch_error = 56;
    log.size = -1;
    moves_progress_heard(&b.progress, 3, &log, 1500);
    step(&b, 1500);
    assert_int_equal(b.progress.wait.reason, MOVES_REASON_DIR_OFFLINE);
    assert_int_equal(b.progress.copied, MB);
    log.is_disk_full = true;
    moves_progress_heard(&b.progress, 3, &log, 2000);
    step(&b, 2000);
    assert_int_equal(b.progress.wait.reason, MOVES_REASON_DISK_FULL);
    log = log_of(MB);
    moves_progress_heard(&b.progress, 3, &log, 3000);
    ids_add(&b.offline, 3);
    step(&b, 4000);
    assert_int_equal(b.progress.wait.reason, MOVES_REASON_DIR_OFFLINE);
    bench_deinit(&b);
}

/* For so many seconds 2000 bytes a second are written and both ends tell these limits, 0 = none. */
static enum moves_reason limited(struct bench *b, int64_t from_s, int64_t target_rate,
                                 int64_t leader_rate)
{
    for (int64_t s = from_s; s < from_s + 15; s++) {
        struct moves_log target = log_of(MB);
        struct moves_log leader = log_of(10 * MB + s * 2000);
        leader.write_rate = 2000;
        target.is_throttled = target_rate > 0;
        target.throttle_rate = target_rate;
        leader.is_throttled = leader_rate > 0;
        leader.throttle_rate = leader_rate;
        moves_progress_heard(&b->progress, 3, &target, s * 1000);
        moves_progress_heard(&b->progress, 1, &leader, s * 1000);
        step(b, s * 1000);
    }
    return b->progress.wait.reason;
}

static void a_limit_at_either_end_counts(void **state)
{
    (void)state;
    struct bench b;
    bench_init(&b);
    hear(&b, 0, 10 * MB, MB);
    assert_int_equal(limited(&b, 1, 1000, 0), MOVES_REASON_THROTTLED);
    assert_int_equal(limited(&b, 20, 0, 3000), MOVES_REASON_NONE);
    assert_int_equal(limited(&b, 40, 0, 1500), MOVES_REASON_THROTTLED);
    bench_deinit(&b);
}

/* Two brokers of another software: the copy goes on whatever the job's rate is, paused or not. */
static void a_copy_that_obeys_no_limit_is_told(void **state)
{
    (void)state;
    struct bench b;
    bench_init(&b);
    b.facts.limit_rate = 1000;
    struct moves_log leader = log_of(10 * MB);
    struct moves_log target = log_of(0);
    leader.knows_no_limits = true;
    for (int64_t s = 0; s <= 30; s++) {
        leader.size += 2000;
        target.size += 5000;
        target.knows_no_limits = s > 0; /* nothing is said on the word of one end */
        moves_progress_heard(&b.progress, 1, &leader, s * 1000);
        moves_progress_heard(&b.progress, 3, &target, s * 1000);
        step(&b, s * 1000);
        moves_progress_heard(&b.progress, 1, &leader, s * 1000);
        step(&b, s * 1000);
        assert_int_equal(b.progress.replicas[0].ignores_limits, s > 0);
    }
    assert_int_equal(b.progress.wait.reason, MOVES_REASON_NONE);
    b.facts.is_paused = true;
    step(&b, 30000);
    assert_int_equal(b.progress.wait.reason, MOVES_REASON_PAUSED);
    assert_in_range(b.progress.rate, 4900, 5100);
    b.leader = 2; /* which may be klamm's */
    step(&b, 31000);
    assert_false(b.progress.replicas[0].ignores_limits);
    assert_int_equal(b.progress.rate, 0);
    b.leader = 1;
    step(&b, 31000);
    moves_progress_heard(&b.progress, 1, &leader, 31000);
    set(&b.isr, 1, 3);
    step(&b, 32000);
    assert_false(b.progress.replicas[0].ignores_limits);
    bench_deinit(&b);
}

/* Much is written in a short time, and the mean of the last seconds is above the limit for a while. */
static void a_burst_is_no_reason(void **state)
{
    (void)state;
    struct bench b;
    bench_init(&b);
    b.facts.limit_rate = MB / 1000;
    for (int64_t s = 0; s <= 60; s++) {
        hear(&b, s * 1000, 50 * MB + (s < 5 ? 0 : s < 9 ? s - 5 : 4) * 10 * MB, s * 1000);
        assert_int_equal(b.progress.wait.reason, MOVES_REASON_NONE);
    }
    /* One after the other, with pauses: that is no end. */
    for (int64_t s = 61; s <= 90; s++) {
        hear(&b, s * 1000, 90 * MB + s / 5 * 10 * MB, s * 1000);
    }
    assert_int_equal(b.progress.wait.reason, MOVES_REASON_THROTTLED);
    bench_deinit(&b);
}

/* A new controller hears of it some looks later, and tells the since of the former one. */
static void what_was_waited_for_holds_on(void **state)
{
    (void)state;
    static const struct moves_wait error = {MOVES_REASON_FETCH_ERROR, 13, WALL_MS - 50000};
    static const struct moves_wait few = {MOVES_REASON_MIN_ISR, 0, WALL_MS - 70000};
    struct bench b;
    bench_init(&b);
    moves_progress_set(&b.progress, &b.adding, 1);
    moves_progress_restore_wait(&b.progress, 3, &error);
    moves_progress_restore_wait(&b.progress, 7, &error); /* nobody's */
    step(&b, 0);
    hear(&b, 1000, 10 * MB, MB);
    uint32_t changes = b.progress.changes;
    struct moves_log log = log_of(MB);
    log.fetch_error = 13;
    moves_progress_heard(&b.progress, 3, &log, 2000);
    step(&b, 2000);
    assert_int_equal(b.progress.wait.reason, MOVES_REASON_FETCH_ERROR);
    assert_int_equal(b.progress.wait.since_ms, WALL_MS - 50000);
    assert_int_equal(b.progress.replicas[0].wait.since_ms, WALL_MS - 50000);
    assert_int_equal(b.progress.changes, changes + 2);
    step(&b, 3000);
    assert_int_equal(b.progress.wait.since_ms, WALL_MS - 50000);
    assert_int_equal(b.progress.changes, changes + 2);
    hear(&b, 4000, 10 * MB, MB);
    moves_progress_heard(&b.progress, 3, &log, 5000);
    step(&b, 5000);
    assert_int_equal(b.progress.wait.since_ms, WALL_MS + 5000); /* another time */
    moves_progress_restore_wait(&b.progress, -1, &few);
    set(&b.isr, 3, 0);
    b.facts.min_insync = 2;
    step(&b, 6000);
    assert_int_equal(b.progress.wait.reason, MOVES_REASON_MIN_ISR);
    assert_int_equal(b.progress.wait.since_ms, WALL_MS - 70000);
    bench_deinit(&b);
}

/* What was waited for is over, or something else is. */
static void what_is_not_found_again_is_over(void **state)
{
    (void)state;
    static const struct moves_wait error = {MOVES_REASON_FETCH_ERROR, 13, WALL_MS - 50000};
    struct moves_log log = log_of(MB);
    log.fetch_error = 13;
    struct bench b;
    bench_init(&b);
    moves_progress_set(&b.progress, &b.adding, 1);
    moves_progress_restore_wait(&b.progress, 3, &error);
    hear(&b, 0, 10 * MB, MB);
    hear(&b, 40000, 10 * MB, MB);
    moves_progress_heard(&b.progress, 3, &log, 41000);
    step(&b, 41000);
    assert_int_equal(b.progress.wait.since_ms, WALL_MS + 41000);
    moves_progress_restore_wait(&b.progress, 3, &error);
    b.facts.has_leader = false;
    step(&b, 42000);
    b.facts.has_leader = true;
    step(&b, 43000);
    assert_int_equal(b.progress.wait.reason, MOVES_REASON_FETCH_ERROR);
    assert_int_equal(b.progress.wait.since_ms, WALL_MS + 43000);
    bench_deinit(&b);
}

/* What the controller alone knows. */
static void what_the_controller_knows_becomes_the_reason(void **state)
{
    (void)state;
    struct bench b;
    bench_init(&b);
    hear(&b, 0, 10 * MB, MB);
    b.facts.has_leader = false;
    step(&b, 1000);
    assert_int_equal(b.progress.wait.reason, MOVES_REASON_NO_LEADER);
    b.facts.has_leader = true;
    b.facts.is_paused = true;
    step(&b, 2000);
    assert_int_equal(b.progress.wait.reason, MOVES_REASON_PAUSED);
    assert_int_equal(b.progress.replicas[0].state, MOVES_REPLICA_PAUSED);
    assert_int_equal(b.progress.copied, MB);
    b.facts.is_paused = false;
    /* Copied, but too few are in sync, and nobody is known to be down. */
    set(&b.isr, 3, 0);
    b.facts.min_insync = 2;
    step(&b, 3000);
    assert_int_equal(b.progress.wait.reason, MOVES_REASON_MIN_ISR);
    step(&b, 4000);
    assert_int_equal(b.progress.wait.since_ms, WALL_MS + 3000);
    set(&b.isr, 2, 3);
    b.facts.is_stopping = true;
    step(&b, 5000);
    assert_int_equal(b.progress.wait.reason, MOVES_REASON_OLD_REPLICAS);
    step(&b, 6000);
    assert_int_equal(b.progress.wait.since_ms, WALL_MS + 5000);
    bench_deinit(&b);
}

/* The leader fails over: the size stays known, the rate of writes starts anew. */
static void a_new_leader_keeps_what_was_known(void **state)
{
    (void)state;
    struct bench b;
    bench_init(&b);
    for (int64_t s = 0; s <= 3; s++) {
        hear(&b, s * 1000, 100 * MB, s * MB);
    }
    b.leader = -1;
    b.facts.has_leader = false;
    step(&b, 4000);
    assert_int_equal(b.progress.to_copy, 100 * MB);
    b.leader = 2;
    b.facts.has_leader = true;
    step(&b, 5000);
    assert_int_equal(b.progress.to_copy, 100 * MB);
    hear(&b, 6000, 99 * MB, 3 * MB);
    assert_int_equal(b.progress.to_copy, 99 * MB);
    assert_int_equal(b.progress.wait.reason, MOVES_REASON_NONE);
    bench_deinit(&b);
}

/* Brokers that tell nonsense: nothing overflows, nothing turns negative. */
static void senseless_numbers_do_no_harm(void **state)
{
    (void)state;
    static const int64_t numbers[] = {INT64_MIN, -1, 0, 1, INT64_MAX};
    struct bench b;
    bench_init(&b);
    set(&b.adding, 3, 4);
    for (size_t i = 0; i < ARRAY_LEN(numbers) * ARRAY_LEN(numbers); i++) {
        int64_t n = numbers[i % ARRAY_LEN(numbers)];
        struct moves_log log = {.size = numbers[i / ARRAY_LEN(numbers)],
                                .log_end = n,
                                .write_rate = n,
                                .throttle_rate = n,
                                .is_throttled = true};
        for (int32_t broker = 1; broker <= 4; broker++) {
            moves_progress_heard(&b.progress, broker, &log, (int64_t)i * 700);
        }
        step(&b, (int64_t)i * 700);
        assert_true(b.progress.copied >= 0 && b.progress.to_copy >= b.progress.copied);
        assert_true(b.progress.eta_ms >= -1 && b.progress.rate >= -1);
        assert_true(b.progress.replicas[0].lag_bytes >= -1);
        assert_true(b.progress.replicas[0].lag_offsets >= -1);
    }
    bench_deinit(&b);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(rate_is_the_mean_of_the_last_seconds),
        cmocka_unit_test(no_rate_is_told_too_early),
        cmocka_unit_test(bytes_rate_and_time_left_are_told),
        cmocka_unit_test(writes_lengthen_the_time_left),
        cmocka_unit_test(s13_no_time_left_while_the_limit_is_below_the_writes),
        cmocka_unit_test(at_the_tail_the_end_is_near),
        cmocka_unit_test(s03_copied_never_goes_down),
        cmocka_unit_test(an_override_keeps_who_stays),
        cmocka_unit_test(s15_a_dead_target_is_named_with_its_since),
        cmocka_unit_test(what_was_known_is_restored),
        cmocka_unit_test(a_dead_replica_that_stays_is_a_reason_too),
        cmocka_unit_test(a_failed_replica_that_stays_is_a_reason_too),
        cmocka_unit_test(a_replica_that_stays_and_lags_is_told_last),
        cmocka_unit_test(what_the_target_tells_becomes_the_reason),
        cmocka_unit_test(a_limit_at_either_end_counts),
        cmocka_unit_test(a_copy_that_obeys_no_limit_is_told),
        cmocka_unit_test(a_burst_is_no_reason),
        cmocka_unit_test(what_was_waited_for_holds_on),
        cmocka_unit_test(what_is_not_found_again_is_over),
        cmocka_unit_test(what_the_controller_knows_becomes_the_reason),
        cmocka_unit_test(a_new_leader_keeps_what_was_known),
        cmocka_unit_test(senseless_numbers_do_no_harm),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
