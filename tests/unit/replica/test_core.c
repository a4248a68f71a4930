/*
 * The partition core: roles, follower progress, the high watermark, epochs
 * (docs/spec/reassignment.md 11.2 to 11.4, rows 64 to 66).
 */
#include "replica/core.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

static bool everybody_lives(void *arg, int32_t broker)
{
    (void)arg;
    return broker != 99; /* 99 is the dead one of these tests */
}

static struct replica_context at(int64_t now_ms)
{
    return (struct replica_context){
        .now_ms = now_ms, .lag_time_max_ms = 30000, .min_isr = 1, .is_alive = everybody_lives};
}

static struct ids ids_of(int32_t *list, int32_t count)
{
    return (struct ids){.list = list, .count = count};
}

/* Broker 1 leads {1,2,3} with ISR {1,2,3} at epoch 5, log end 100, high watermark 90. */
static struct replica_core leader(int64_t now_ms)
{
    static int32_t all[] = {1, 2, 3};
    struct replica_core c;
    replica_core_init(&c, 1, 100, 90);
    struct replica_state state = {.leader = 1,
                                  .leader_epoch = 5,
                                  .partition_epoch = 7,
                                  .isr = ids_of(all, 3),
                                  .replicas = ids_of(all, 3)};
    struct replica_context ctx = at(now_ms);
    bool is_new_epoch = false;
    assert_true(replica_core_apply(&c, &state, &ctx, &is_new_epoch));
    assert_true(is_new_epoch);
    return c;
}

static void fetched(struct replica_core *c, int32_t id, int64_t offset, int64_t now_ms)
{
    struct replica_remote *remote = replica_core_remote(c, id);
    assert_non_null(remote);
    replica_core_fetched(c, remote, offset, 0, now_ms);
}

static void new_leader_starts_its_epoch_at_the_log_end(void **state)
{
    (void)state;
    struct replica_core c = leader(1000);
    assert_int_equal(c.role, REPLICA_LEADER);
    assert_int_equal(c.epoch_start, 100);
    assert_int_equal(c.remote_count, 2);
    assert_int_equal(c.remotes[0].id, 2);
    assert_int_equal(c.remotes[0].log_end, -1);
    assert_int_equal(c.remotes[0].caught_up_ms, 1000);
    assert_int_equal(c.high_watermark, 90);
    replica_core_deinit(&c);
}

static void epoch_raise_of_the_same_leader_keeps_follower_ends(void **state)
{
    (void)state;
    static int32_t rs[] = {1, 2, 4};
    static int32_t isr[] = {1, 2};
    struct replica_core c = leader(1000);
    fetched(&c, 2, 100, 1100);
    struct replica_state next = {.leader = 1,
                                 .leader_epoch = 6,
                                 .partition_epoch = 8,
                                 .isr = ids_of(isr, 2),
                                 .replicas = ids_of(rs, 3)};
    struct replica_context ctx = at(2000);
    bool is_new_epoch = false;
    assert_true(replica_core_apply(&c, &next, &ctx, &is_new_epoch));
    assert_int_equal(replica_core_remote(&c, 2)->log_end, 100);
    assert_int_equal(replica_core_remote(&c, 2)->caught_up_ms, 2000);
    assert_null(replica_core_remote(&c, 3));
    assert_int_equal(replica_core_remote(&c, 4)->log_end, -1);
    assert_int_equal(replica_core_remote(&c, 4)->caught_up_ms, REPLICA_NEVER);
    replica_core_deinit(&c);
}

/* Unless the leader epoch is newer: then the state's znode was made anew, and counts from 0. */
static void older_partition_epoch_changes_nothing(void **state)
{
    (void)state;
    static int32_t rs[] = {1, 2};
    struct replica_core c = leader(1000);
    struct replica_state old = {.leader = 2,
                                .leader_epoch = 5,
                                .partition_epoch = 6,
                                .isr = ids_of(rs, 2),
                                .replicas = ids_of(rs, 2)};
    struct replica_context ctx = at(2000);
    bool is_new_epoch = false;
    assert_false(replica_core_apply(&c, &old, &ctx, &is_new_epoch));
    assert_int_equal(c.role, REPLICA_LEADER);
    assert_int_equal(c.state.partition_epoch, 7);
    old.leader_epoch = 6;
    assert_true(replica_core_apply(&c, &old, &ctx, &is_new_epoch));
    assert_int_equal(c.role, REPLICA_FOLLOWER);
    assert_int_equal(c.state.partition_epoch, 6);
    replica_core_deinit(&c);
}

static void high_watermark_is_the_least_end_in_sync(void **state)
{
    (void)state;
    struct replica_core c = leader(1000);
    struct replica_context ctx = at(1100);
    assert_false(replica_core_advance(&c, &ctx)); /* nobody has fetched yet */
    fetched(&c, 2, 100, 1100);
    fetched(&c, 3, 95, 1100);
    assert_true(replica_core_advance(&c, &ctx));
    assert_int_equal(c.high_watermark, 95);
    assert_false(replica_core_advance(&c, &ctx));
    fetched(&c, 3, 100, 1200);
    assert_true(replica_core_advance(&c, &ctx));
    assert_int_equal(c.high_watermark, 100);
    replica_core_deinit(&c);
}

/* Row 64, and why we differ: after B3 the ISR still holds 4, which is not in RS any more. If the leader
 * died now, 4 could be elected: what it does not have is not committed yet. */
static void members_outside_the_replica_set_hold_it_back_until_they_left(void **state)
{
    (void)state;
    static int32_t rs[] = {1, 2, 3};
    static int32_t isr[] = {1, 2, 3, 4};
    struct replica_core c;
    replica_core_init(&c, 1, 100, 90);
    struct replica_state s = {
        .leader = 1, .leader_epoch = 5, .isr = ids_of(isr, 4), .replicas = ids_of(rs, 3)};
    struct replica_context ctx = at(1000);
    bool is_new_epoch = false;
    assert_true(replica_core_apply(&c, &s, &ctx, &is_new_epoch));
    assert_null(replica_core_remote(&c, 4));
    fetched(&c, 2, 100, 1000);
    fetched(&c, 3, 100, 1000);
    assert_false(replica_core_advance(&c, &ctx));
    assert_int_equal(c.high_watermark, 90);
    s.partition_epoch = 1;
    s.leader_epoch = 6;
    s.isr.count = 3;
    assert_true(replica_core_apply(&c, &s, &ctx, &is_new_epoch));
    assert_true(replica_core_advance(&c, &ctx));
    assert_int_equal(c.high_watermark, 100);
    replica_core_deinit(&c);
}

/* A replica outside the ISR that is in step by time is waited for, a dead one is not. */
static void replica_about_to_join_is_not_overtaken(void **state)
{
    (void)state;
    static int32_t rs[] = {1, 2, 99};
    static int32_t isr[] = {1};
    struct replica_core c;
    replica_core_init(&c, 1, 100, 90);
    struct replica_state s = {
        .leader = 1, .leader_epoch = 5, .isr = ids_of(isr, 1), .replicas = ids_of(rs, 3)};
    struct replica_context ctx = at(1000);
    bool is_new_epoch = false;
    assert_true(replica_core_apply(&c, &s, &ctx, &is_new_epoch));
    fetched(&c, 2, 100, 1000);
    fetched(&c, 99, 100, 1000);
    replica_core_set_log_end(&c, 120);
    assert_true(replica_core_advance(&c, &ctx));
    assert_int_equal(c.high_watermark, 100);
    struct replica_context late = at(1000 + 30001);
    assert_true(replica_core_advance(&c, &late));
    assert_int_equal(c.high_watermark, 120);
    replica_core_deinit(&c);
}

/* Design decision 10: RS [1,2] AR [2] with min.insync.replicas 2 goes on with ISR {1}. */
static void minimum_is_bounded_by_the_settled_replicas(void **state)
{
    (void)state;
    static int32_t rs[] = {1, 2};
    static int32_t one[] = {1};
    static int32_t adding[] = {2};
    struct replica_core c;
    replica_core_init(&c, 1, 10, 0);
    struct replica_state s = {.leader = 1,
                              .leader_epoch = 1,
                              .isr = ids_of(one, 1),
                              .replicas = ids_of(rs, 2),
                              .adding = ids_of(adding, 1)};
    struct replica_context ctx = at(1000);
    ctx.min_isr = 2;
    bool is_new_epoch = false;
    assert_true(replica_core_apply(&c, &s, &ctx, &is_new_epoch));
    assert_int_equal(replica_core_min_isr(&c, 2), 1);
    assert_true(replica_core_advance(&c, &ctx));
    assert_int_equal(c.high_watermark, 10);
    assert_true(replica_core_is_reassigning(&c));
    assert_false(replica_core_is_under_replicated(&c));
    replica_core_deinit(&c);
}

static void high_watermark_waits_under_the_minimum(void **state)
{
    (void)state;
    struct replica_core c = leader(1000);
    struct replica_context ctx = at(1000);
    ctx.min_isr = 2;
    fetched(&c, 2, 100, 1000);
    fetched(&c, 3, 100, 1000);
    c.state.isr.count = 1;
    assert_false(replica_core_advance(&c, &ctx));
    c.state.isr.count = 2;
    assert_true(replica_core_advance(&c, &ctx));
    replica_core_deinit(&c);
}

/* A follower that always reaches the end of one fetch ago counts as caught up at that fetch. */
static void steady_follower_is_caught_up_as_of_its_previous_fetch(void **state)
{
    (void)state;
    struct replica_core c = leader(1000);
    fetched(&c, 2, 90, 2000); /* our end is 100 */
    replica_core_set_log_end(&c, 150);
    fetched(&c, 2, 100, 3000);
    assert_int_equal(replica_core_remote(&c, 2)->caught_up_ms, 2000);
    fetched(&c, 2, 150, 4000);
    assert_int_equal(replica_core_remote(&c, 2)->caught_up_ms, 4000);
    fetched(&c, 2, 150, 5000);
    assert_int_equal(replica_core_remote(&c, 2)->caught_up_ms, 5000);
    replica_core_deinit(&c);
}

static void follower_mark_is_bounded_by_its_own_end(void **state)
{
    (void)state;
    struct replica_core c;
    replica_core_init(&c, 2, 50, 10);
    assert_true(replica_core_follow_high_watermark(&c, 80));
    assert_int_equal(c.high_watermark, 50);
    assert_false(replica_core_follow_high_watermark(&c, 40));
    replica_core_set_log_end(&c, 30);
    assert_int_equal(c.high_watermark, 30);
    replica_core_deinit(&c);
}

/* Row 65 and the epoch test of fetches: 74, 75, 6. */
static void epochs_of_requests_are_compared_before_the_role(void **state)
{
    (void)state;
    struct replica_core c = leader(1000);
    assert_int_equal(replica_core_check_leader(&c, -1), 0);
    assert_int_equal(replica_core_check_leader(&c, 5), 0);
    assert_int_equal(replica_core_check_leader(&c, 4), -E_FENCED);
    assert_int_equal(replica_core_check_leader(&c, 6), -E_UNKNOWN_EPOCH);
    replica_core_stop(&c);
    assert_int_equal(replica_core_check_leader(&c, 5), -E_NOT_LEADER);
    assert_int_equal(c.role, REPLICA_IDLE);
    replica_core_deinit(&c);
}

static void under_replication_ignores_replicas_being_added(void **state)
{
    (void)state;
    static int32_t rs[] = {1, 2, 3, 4};
    static int32_t adding[] = {4};
    static int32_t isr[] = {1, 2, 3};
    struct replica_core c;
    replica_core_init(&c, 1, 0, 0);
    struct replica_state s = {.leader = 1,
                              .leader_epoch = 1,
                              .isr = ids_of(isr, 3),
                              .replicas = ids_of(rs, 4),
                              .adding = ids_of(adding, 1)};
    struct replica_context ctx = at(0);
    bool is_new_epoch = false;
    assert_true(replica_core_apply(&c, &s, &ctx, &is_new_epoch));
    assert_false(replica_core_is_under_replicated(&c));
    c.state.isr.count = 2; /* row 72 */
    assert_true(replica_core_is_under_replicated(&c));
    replica_core_deinit(&c);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(new_leader_starts_its_epoch_at_the_log_end),
        cmocka_unit_test(epoch_raise_of_the_same_leader_keeps_follower_ends),
        cmocka_unit_test(older_partition_epoch_changes_nothing),
        cmocka_unit_test(high_watermark_is_the_least_end_in_sync),
        cmocka_unit_test(members_outside_the_replica_set_hold_it_back_until_they_left),
        cmocka_unit_test(replica_about_to_join_is_not_overtaken),
        cmocka_unit_test(minimum_is_bounded_by_the_settled_replicas),
        cmocka_unit_test(high_watermark_waits_under_the_minimum),
        cmocka_unit_test(steady_follower_is_caught_up_as_of_its_previous_fetch),
        cmocka_unit_test(follower_mark_is_bounded_by_its_own_end),
        cmocka_unit_test(epochs_of_requests_are_compared_before_the_role),
        cmocka_unit_test(under_replication_ignores_replicas_being_added),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
