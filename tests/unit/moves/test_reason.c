/*
 * Reasons: the closed list with its texts, which one holds, and since when.
 */
#include "moves/reason.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

/* A replica that copies undisturbed. */
static const struct moves_reason_facts copying = {
    .is_alive = true, .has_leader = true, .throttle_rate = -1, .write_rate = 0, .copy_rate = 1000};

static void assert_reason(struct moves_reason_facts facts, enum moves_reason reason, int line)
{
    struct moves_wait wait = moves_reason_of(&facts);
    if (wait.reason != reason) {
        fail_msg("line %d: '%s', expected '%s'", line, moves_reason_text(wait.reason),
                 moves_reason_text(reason));
    }
}

/* The numbers are on the wire: they never change. */
static void numbers_and_texts_are_fixed(void **state)
{
    (void)state;
    static const char *const expected[] = {"advancing",
                                           "waiting for a slot",
                                           "target down",
                                           "target disk full",
                                           "target log dir offline",
                                           "leader unknown",
                                           "fetch error",
                                           "throttled below the write rate",
                                           "below min ISR",
                                           "waiting for old replicas to stop",
                                           "paused",
                                           "waiting for a replica that stays"};
    assert_int_equal(MOVES_REASON_COUNT, 12);
    for (int32_t i = 0; i < MOVES_REASON_COUNT; i++) {
        assert_string_equal(moves_reason_text(i), expected[i]);
        assert_true(i == MOVES_REASON_NONE || strstr(moves_reason_help(i), "`klamm ") != NULL);
    }
    assert_string_equal(moves_reason_help(MOVES_REASON_NONE), "");
    assert_string_equal(moves_reason_text(-1), "unknown reason");
    assert_string_equal(moves_reason_text(MOVES_REASON_COUNT), "unknown reason");
    assert_string_equal(moves_reason_help(127), "");
}

/* Each fact alone, on a replica that copies otherwise. */
static void each_fact_has_its_reason(void **state)
{
    (void)state;
    struct moves_reason_facts f = copying;
    assert_reason(f, MOVES_REASON_NONE, __LINE__);
    f.is_paused = true;
    assert_reason(f, MOVES_REASON_PAUSED, __LINE__);
    f = copying;
    f.is_alive = false;
    assert_reason(f, MOVES_REASON_TARGET_DOWN, __LINE__);
    f = copying;
    f.is_disk_full = true;
    assert_reason(f, MOVES_REASON_DISK_FULL, __LINE__);
    f = copying;
    f.is_dir_offline = true;
    assert_reason(f, MOVES_REASON_DIR_OFFLINE, __LINE__);
    f = copying;
    f.has_leader = false;
    assert_reason(f, MOVES_REASON_NO_LEADER, __LINE__);
    f = copying;
    f.fetch_error = 13;
    assert_reason(f, MOVES_REASON_FETCH_ERROR, __LINE__);
    assert_int_equal(moves_reason_of(&f).error, 13);
}

/* The cause wins over what follows from it; whoever is in sync waits for nothing. */
static void causes_win_over_what_follows_from_them(void **state)
{
    (void)state;
    struct moves_reason_facts f = {.is_paused = true,
                                   .is_disk_full = true,
                                   .is_dir_offline = true,
                                   .fetch_error = 56,
                                   .down_since_ms = 77,
                                   .write_rate = -1,
                                   .copy_rate = -1};
    assert_reason(f, MOVES_REASON_PAUSED, __LINE__);
    f.is_paused = false;
    assert_reason(f, MOVES_REASON_TARGET_DOWN, __LINE__);
    assert_int_equal(moves_reason_of(&f).since_ms, 77);
    f.is_alive = true;
    assert_reason(f, MOVES_REASON_DISK_FULL, __LINE__);
    f.is_disk_full = false;
    assert_reason(f, MOVES_REASON_DIR_OFFLINE, __LINE__);
    f.is_dir_offline = false;
    assert_reason(f, MOVES_REASON_NO_LEADER, __LINE__);
    f.has_leader = true;
    assert_reason(f, MOVES_REASON_FETCH_ERROR, __LINE__);
    f.is_in_sync = true;
    assert_reason(f, MOVES_REASON_NONE, __LINE__);
}

/* S13: 2 MB/s are written, 1 MB/s may pass; with 5 MB/s it converges. */
static void s13_a_limit_below_the_writes_is_a_reason(void **state)
{
    (void)state;
    struct moves_reason_facts f = copying;
    f.is_throttled = true;
    f.throttle_rate = 1000000;
    f.write_rate = 2000000;
    f.copy_rate = -1;
    assert_reason(f, MOVES_REASON_THROTTLED, __LINE__);
    f.throttle_rate = 5000000;
    assert_reason(f, MOVES_REASON_NONE, __LINE__);
    f.throttle_rate = -1; /* a broker that does not tell the limit: what passes counts */
    f.copy_rate = 1900000;
    assert_reason(f, MOVES_REASON_THROTTLED, __LINE__);
    f.copy_rate = 2100000;
    assert_reason(f, MOVES_REASON_NONE, __LINE__);
    f.copy_rate = -1;
    assert_reason(f, MOVES_REASON_NONE, __LINE__);
    f.throttle_rate = 1000000;
    f.write_rate = 0; /* nothing is written: slow, and it ends */
    assert_reason(f, MOVES_REASON_NONE, __LINE__);
    f.write_rate = 2000000;
    f.is_throttled = false;
    assert_reason(f, MOVES_REASON_NONE, __LINE__);
}

static void since_stays_while_the_reason_does(void **state)
{
    (void)state;
    struct moves_wait wait = {0};
    moves_wait_note(&wait, (struct moves_wait){.reason = MOVES_REASON_NONE}, 100);
    assert_int_equal(wait.since_ms, 100);
    moves_wait_note(&wait, (struct moves_wait){.reason = MOVES_REASON_FETCH_ERROR, .error = 6},
                    200);
    moves_wait_note(&wait, (struct moves_wait){.reason = MOVES_REASON_FETCH_ERROR, .error = 6},
                    300);
    assert_int_equal(wait.since_ms, 200);
    moves_wait_note(&wait, (struct moves_wait){.reason = MOVES_REASON_FETCH_ERROR, .error = 9},
                    400);
    assert_int_equal(wait.since_ms, 400);
    assert_int_equal(wait.error, 9);
    /* The broker was down before the move was looked at. */
    moves_wait_note(&wait, (struct moves_wait){MOVES_REASON_TARGET_DOWN, 0, 50}, 500);
    assert_int_equal(wait.since_ms, 50);
    assert_int_equal(wait.reason, MOVES_REASON_TARGET_DOWN);
}

static void the_worse_of_two_comes_first(void **state)
{
    (void)state;
    struct moves_wait down = {MOVES_REASON_TARGET_DOWN, 0, 20};
    struct moves_wait slow = {MOVES_REASON_THROTTLED, 0, 10};
    struct moves_wait earlier = {MOVES_REASON_TARGET_DOWN, 0, 15};
    assert_int_equal(moves_wait_worse(down, slow).reason, MOVES_REASON_TARGET_DOWN);
    assert_int_equal(moves_wait_worse(slow, down).reason, MOVES_REASON_TARGET_DOWN);
    assert_int_equal(moves_wait_worse(down, earlier).since_ms, 15);
    assert_int_equal(moves_wait_worse(earlier, down).since_ms, 15);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(numbers_and_texts_are_fixed),
        cmocka_unit_test(each_fact_has_its_reason),
        cmocka_unit_test(causes_win_over_what_follows_from_them),
        cmocka_unit_test(s13_a_limit_below_the_writes_is_a_reason),
        cmocka_unit_test(since_stays_while_the_reason_does),
        cmocka_unit_test(the_worse_of_two_comes_first),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
