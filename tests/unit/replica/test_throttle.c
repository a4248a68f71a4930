/*
 * Replication throttles: the mean is the rate, bursts are short, lists say whom it holds for.
 */
#include "replica/throttle.h"

#include "base/buf.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#define SECOND 1000000

/* Takes pieces whenever it may, for ten seconds: what passed is the rate within a piece. */
static void mean_is_the_rate(void **state)
{
    (void)state;
    static const int64_t rates[] = {100000, 1000000, 10000000, 200000000, 50000000000};
    for (size_t i = 0; i < sizeof rates / sizeof rates[0]; i++) {
        struct replica_throttle t = {0};
        int64_t now = 12345;
        int64_t passed = 0;
        replica_throttle_set(&t, rates[i], now);
        int64_t end = now + 10 * SECOND;
        int32_t piece = 0;
        while (now < end) {
            if (replica_throttle_is_exceeded(&t, now)) {
                now += replica_throttle_wait_ms(&t, now) * 1000;
                continue;
            }
            piece = replica_throttle_piece(&t, 8 << 20, now);
            replica_throttle_take(&t, piece, now);
            passed += piece;
            now += 1;
        }
        int64_t most_error = rates[i] / 10 + (64 << 10); /* of ten seconds */
        assert_in_range(passed, rates[i] * 10 - most_error, rates[i] * 10 + most_error);
    }
}

static void idle_time_is_not_saved_up(void **state)
{
    (void)state;
    struct replica_throttle t = {0};
    replica_throttle_set(&t, 10000000, 1);
    assert_true(replica_throttle_is_exceeded(&t, 1));
    int64_t now = 3600LL * SECOND;
    assert_false(replica_throttle_is_exceeded(&t, now));
    assert_int_equal(replica_throttle_piece(&t, 8 << 20, now), 1000000);
}

static void debt_is_paid_back(void **state)
{
    (void)state;
    struct replica_throttle t = {0};
    replica_throttle_set(&t, 1000000, 1);
    replica_throttle_take(&t, 3000000, 1);
    assert_true(replica_throttle_is_exceeded(&t, 2 * SECOND));
    assert_int_equal(replica_throttle_wait_ms(&t, 2 * SECOND), 1000); /* never longer */
    assert_true(replica_throttle_is_exceeded(&t, 3 * SECOND));
    int64_t wait_ms = replica_throttle_wait_ms(&t, 3 * SECOND);
    assert_in_range(wait_ms, 1, 100);
    assert_false(replica_throttle_is_exceeded(&t, 3 * SECOND + wait_ms * 1000));
}

static void no_rate_never_holds_and_zero_always_does(void **state)
{
    (void)state;
    struct replica_throttle t = {0};
    replica_throttle_set(&t, REPLICA_THROTTLE_NONE, 1);
    replica_throttle_take(&t, INT64_MAX / 2, 1);
    assert_false(replica_throttle_is_exceeded(&t, 1));
    assert_int_equal(replica_throttle_piece(&t, 77, 1), 77);
    replica_throttle_set(&t, 0, 2);
    assert_true(replica_throttle_is_exceeded(&t, 3600LL * SECOND));
    assert_int_equal(replica_throttle_wait_ms(&t, 3600LL * SECOND), 1000);
}

static void setting_the_same_rate_keeps_the_debt(void **state)
{
    (void)state;
    struct replica_throttle t = {0};
    replica_throttle_set(&t, 1000, 1);
    replica_throttle_take(&t, 5000, 1);
    replica_throttle_set(&t, 1000, 2);
    assert_int_equal(t.tokens, -5000);
    replica_throttle_set(&t, 2000, 3);
    assert_int_equal(t.tokens, 0);
}

static void lists_name_partition_and_broker(void **state)
{
    (void)state;
    static const struct {
        const char *list;
        int32_t partition;
        int32_t broker;
        bool has;
    } rows[] = {
        {"", 0, 1, false},     {"*", 5, 9, true},       {"0:1", 0, 1, true},
        {"0:1", 1, 0, false},  {"0:1,2:3", 2, 3, true}, {"0:1, 2:3", 2, 3, true},
        {"10:1", 0, 1, false}, {"0:11", 0, 1, false},   {"x:1,0:1", 0, 1, true},
        {"0:", 0, 0, false},   {":1", 0, 1, false},     {"0:99999999999", 0, 2147483647, false},
        {"0:1,", 0, 1, true},  {",", 0, 1, false},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        struct replica_throttle_list list = {0};
        replica_throttle_list_set(&list, slice_str(rows[i].list), rows[i].broker);
        assert_int_equal(replica_throttle_list_has(&list, rows[i].partition), rows[i].has);
        replica_throttle_list_deinit(&list);
    }
}

/* Unsorted, more than fit into the first block, entries of others between; then another text. */
static void lists_are_replaced(void **state)
{
    (void)state;
    struct replica_throttle_list list = {0};
    struct buf text;
    buf_init(&text);
    for (int32_t i = 99; i >= 0; i--) {
        buf_putf(&text, "%d:7,%d:8,", i, 1000 + i);
    }
    replica_throttle_list_set(&list, buf_slice(&text), 7);
    assert_int_equal(list.count, 100);
    for (int32_t i = 0; i < 100; i++) {
        assert_true(replica_throttle_list_has(&list, i));
        assert_false(replica_throttle_list_has(&list, 1000 + i));
    }
    replica_throttle_list_set(&list, slice_str("5:7"), 7);
    assert_int_equal(list.count, 1);
    replica_throttle_list_set(&list, slice_str("*"), 7);
    assert_true(replica_throttle_list_has(&list, 123456));
    replica_throttle_list_set(&list, SLICE_NULL, 7);
    assert_false(replica_throttle_list_has(&list, 5));
    buf_deinit(&text);
    replica_throttle_list_deinit(&list);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(mean_is_the_rate),
        cmocka_unit_test(idle_time_is_not_saved_up),
        cmocka_unit_test(debt_is_paid_back),
        cmocka_unit_test(no_rate_never_holds_and_zero_always_does),
        cmocka_unit_test(setting_the_same_rate_keeps_the_debt),
        cmocka_unit_test(lists_name_partition_and_broker),
        cmocka_unit_test(lists_are_replaced),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
