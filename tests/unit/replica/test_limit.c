/*
 * Limits of moves: the table finds each partition's group, one pass shares what a bucket has, a new table
 * keeps the buckets of groups that go on.
 */
#include "replica/limit.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#define SECOND 1000000
#define MB     1000000

static struct replica_limits *two_groups(int64_t first_rate, int64_t second_rate)
{
    struct replica_limits *l = replica_limits_new();
    int32_t a = replica_limits_add_group(l, first_rate, 1);
    int32_t b = replica_limits_add_group(l, second_rate, 1);
    replica_limits_add(l, a, slice_str("orders"), 7);
    replica_limits_add(l, a, slice_str("orders"), 2);
    replica_limits_add(l, b, slice_str("ord"), 2);
    replica_limits_add(l, b, slice_str("orders"), 3);
    replica_limits_add(l, b, slice_str("orders"), 7); /* named before */
    return l;
}

static void each_partition_is_in_the_first_group_that_names_it(void **state)
{
    (void)state;
    struct replica_limits *l = two_groups(5, 0);
    replica_limits_seal(l, NULL);
    assert_int_equal(replica_limits_group_count(l), 2);
    assert_int_equal(replica_limits_find(l, slice_str("orders"), 7), 0);
    assert_int_equal(replica_limits_find(l, slice_str("orders"), 2), 0);
    assert_int_equal(replica_limits_find(l, slice_str("orders"), 3), 1);
    assert_int_equal(replica_limits_find(l, slice_str("ord"), 2), 1);
    assert_int_equal(replica_limits_find(l, slice_str("ord"), 3), REPLICA_LIMIT_UNGROUPED);
    assert_int_equal(replica_limits_find(l, slice_str("orders2"), 2), REPLICA_LIMIT_UNGROUPED);
    assert_int_equal(replica_limits_count(l), 4);
    static const char *const topics[] = {"ord", "orders", "orders", "orders"};
    static const int32_t partitions[] = {2, 2, 3, 7};
    static const int32_t groups[] = {1, 0, 1, 0};
    for (int32_t i = 0; i < 4; i++) {
        struct slice topic;
        int32_t partition;
        assert_int_equal(replica_limits_at(l, i, &topic, &partition), groups[i]);
        assert_true(slice_equal_str(topic, topics[i]));
        assert_int_equal(partition, partitions[i]);
    }
    assert_false(replica_limit_is_paused(replica_limits_group(l, 0)));
    assert_true(replica_limit_is_paused(replica_limits_group(l, 1)));
    replica_limits_free(l);
    replica_limits_free(NULL);
}

/* Fifty thousand partitions of one group, added from the last to the first. */
static void large_tables_are_found_in(void **state)
{
    (void)state;
    struct replica_limits *l = replica_limits_new();
    int32_t group = replica_limits_add_group(l, 1, 1);
    for (int32_t i = 49999; i >= 0; i--) {
        replica_limits_add(l, group, i % 2 == 0 ? slice_str("even") : slice_str("odd"), i);
    }
    replica_limits_seal(l, NULL);
    assert_int_equal(replica_limits_count(l), 50000);
    for (int32_t i = 0; i < 50000; i++) {
        bool is_even = i % 2 == 0;
        assert_int_equal(replica_limits_find(l, slice_str(is_even ? "even" : "odd"), i), group);
        assert_int_equal(replica_limits_find(l, slice_str(is_even ? "odd" : "even"), i),
                         REPLICA_LIMIT_UNGROUPED);
    }
    replica_limits_free(l);
}

static void no_rate_gives_all_and_zero_gives_nothing(void **state)
{
    (void)state;
    struct replica_limits *l = two_groups(-1, 0);
    replica_limits_seal(l, NULL);
    for (int direction = REPLICA_IN; direction <= REPLICA_OUT; direction++) {
        struct replica_limit *free_one = replica_limits_group(l, 0);
        struct replica_limit *paused = replica_limits_group(l, 1);
        assert_int_equal(replica_limit_piece(free_one, direction, 8 * MB, 1, SECOND), 8 * MB);
        assert_int_equal(replica_limit_piece(paused, direction, 8 * MB, 1, 3600LL * SECOND), 0);
        replica_limit_take(free_one, direction, 1000 * MB, SECOND);
        assert_int_equal(replica_limit_piece(free_one, direction, 8 * MB, 2, SECOND), 8 * MB);
    }
    replica_limits_free(l);
}

/* What one pass hands out is what the bucket has, however many partitions ask; the next pass starts
 * anew, and the directions do not know of each other. */
static void one_pass_shares_the_bucket(void **state)
{
    (void)state;
    struct replica_limits *l = two_groups(10 * MB, 0);
    replica_limits_seal(l, NULL);
    struct replica_limit *limit = replica_limits_group(l, 0);
    int64_t handed_out = 0;
    int32_t piece;
    for (int i = 0; i < 100; i++) {
        piece = replica_limit_piece(limit, REPLICA_OUT, 200000, 1, SECOND);
        replica_limit_promise(limit, REPLICA_OUT, piece);
        handed_out += piece;
    }
    assert_int_equal(piece, 0);
    assert_in_range(handed_out, 1 * MB, 1 * MB + REPLICA_LIMIT_PIECE);
    assert_int_equal(replica_limit_piece(limit, REPLICA_IN, 8 * MB, 1, SECOND), 1 * MB);
    assert_int_equal(replica_limit_piece(limit, REPLICA_OUT, 8 * MB, 2, SECOND), 1 * MB);
    replica_limits_free(l);
}

/* Partitions that take turns for ten seconds: the mean is the rate, within a piece or a bucket. */
static void mean_is_the_rate(void **state)
{
    (void)state;
    static const int64_t rates[] = {100000, 10 * MB, 200 * MB};
    for (size_t i = 0; i < sizeof rates / sizeof rates[0]; i++) {
        struct replica_limits *l = two_groups(rates[i], 0);
        replica_limits_seal(l, NULL);
        struct replica_limit *limit = replica_limits_group(l, 0);
        int64_t passed = 0;
        int64_t now = 1;
        for (uint64_t pass = 1; now < 10LL * SECOND; pass++) {
            int32_t piece = replica_limit_piece(limit, REPLICA_IN, 8 << 20, pass, now);
            if (piece == 0) {
                now += replica_limit_wait_ms(limit, REPLICA_IN, now) * 1000;
                continue;
            }
            replica_limit_promise(limit, REPLICA_IN, piece);
            replica_limit_take(limit, REPLICA_IN, piece, now);
            passed += piece;
            now += 100;
        }
        int64_t most_error = rates[i] / 10 + REPLICA_LIMIT_PIECE; /* of ten seconds */
        assert_in_range(passed, 10 * rates[i] - most_error, 10 * rates[i] + most_error);
        replica_limits_free(l);
    }
}

/* A debt stays with a group whose rate stays, and is forgotten with the rate. */
static void groups_that_go_on_keep_their_buckets(void **state)
{
    (void)state;
    struct replica_limits *before = two_groups(10 * MB, 0);
    replica_limits_seal(before, NULL);
    replica_limit_take(replica_limits_group(before, 0), REPLICA_OUT, 50 * MB, 1);
    struct replica_limits *same = replica_limits_new();
    (void)replica_limits_add_group(same, 3, 1);
    int32_t group = replica_limits_add_group(same, 10 * MB, 1);
    replica_limits_add(same, group, slice_str("new"), 0);
    replica_limits_add(same, group, slice_str("orders"), 2);
    replica_limits_seal(same, before);
    struct replica_limit *kept = replica_limits_group(same, group);
    assert_int_equal(replica_limit_piece(kept, REPLICA_OUT, MB, 1, 2 * SECOND), 0);
    assert_int_equal(replica_limit_piece(kept, REPLICA_IN, MB, 1, 2 * SECOND), MB);
    struct replica_limits *raised = two_groups(20 * MB, 0);
    replica_limits_seal(raised, same);
    assert_int_equal(
        replica_limit_piece(replica_limits_group(raised, 0), REPLICA_OUT, MB, 1, 2 * SECOND), MB);
    replica_limits_free(before);
    replica_limits_free(same);
    replica_limits_free(raised);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_partition_is_in_the_first_group_that_names_it),
        cmocka_unit_test(large_tables_are_found_in),
        cmocka_unit_test(no_rate_gives_all_and_zero_gives_nothing),
        cmocka_unit_test(one_pass_shares_the_bucket),
        cmocka_unit_test(mean_is_the_rate),
        cmocka_unit_test(groups_that_go_on_keep_their_buckets),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
