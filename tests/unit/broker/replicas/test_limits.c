/*
 * Limits of moves on a small cluster: they hold for adding replicas alone, on either side, follow leaders
 * and tables, and keep what was copied.
 */
#include "world.h"

#include "base/alloc.h"
#include "model/kerr.h"
#include "wire/update_metadata.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>

#include <cmocka.h>

#define RATE    500000
#define RECORDS 60000 /* of 30 batches, about 2 MB */
#define NONE    (-1)  /* no table at all */

static const int32_t alone[] = {1};
static const int32_t one_two[] = {1, 2};

static void append(struct world *w, const struct world_partition *p, int32_t batches)
{
    for (int32_t i = 0; i < batches; i++) {
        struct world_produce produce;
        world_append(w, p->leader, p, 2000, &produce);
        world_produce_deinit(&produce);
    }
}

/* Tells broker `to` a table with one group for orders-0; count 0: an empty one, NONE: none. */
static void tell(struct world *w, int32_t to, int32_t epoch, int32_t count, int64_t rate)
{
    int32_t partitions[] = {0};
    struct wire_update_metadata_request_move_limits_topics topic = {.topic = slice_str("orders"),
                                                                    .partition_indexes = partitions,
                                                                    .partition_indexes_count = 1};
    struct wire_update_metadata_request_move_limits group = {
        .rate = rate, .topics = &topic, .topics_count = 1};
    struct wire_update_metadata_request req;
    wire_update_metadata_request_init(&req);
    req.controller_epoch = epoch;
    req.move_limits = &group;
    req.move_limits_count = count;
    replicas_take_limits(world_replicas(w, to), &req);
}

static void tell_all(struct world *w, int32_t epoch, int64_t rate)
{
    for (int32_t id = 1; id <= w->broker_count; id++) {
        tell(w, id, epoch, 1, rate);
    }
}

static void add(struct world *w, struct world_partition *p, int32_t broker)
{
    p->replicas[p->replica_count++] = broker;
    p->adding[p->adding_count++] = broker;
    world_announce(w, p, true);
}

/* orders-0 and orders-1, led by 1 alone, with RECORDS each. */
static struct world *filled(int32_t brokers, struct world_partition **ret_p,
                            struct world_partition **ret_q)
{
    struct world *w = world_new(195, brokers);
    for (int32_t id = 1; id <= brokers; id++) {
        world_start(w, id);
    }
    *ret_p = world_create(w, "orders", 0, alone, 1);
    *ret_q = world_create(w, "orders", 1, alone, 1);
    append(w, *ret_p, 30);
    append(w, *ret_q, 30);
    return w;
}

static int64_t bytes_in(struct world *w, int32_t id)
{
    struct replicas_metrics metrics;
    replicas_metrics(world_replicas(w, id), &metrics);
    return (int64_t)metrics.replication_bytes_in;
}

/* ---- the rate ---- */

static void check_rate(bool is_at_leader, bool is_at_follower)
{
    struct world_partition *p;
    struct world_partition *q;
    struct world *w = filled(2, &p, &q);
    if (is_at_leader) {
        tell(w, 1, 1, 1, RATE);
    }
    if (is_at_follower) {
        tell(w, 2, 1, 1, RATE);
    }
    add(w, p, 2);
    add(w, q, 2);
    /* orders-1 has no limit: it is there in no time. */
    world_await_end(w, 2, q, RECORDS);
    assert_true(sim_world_now_ms(w->sim) < 2000);
    int64_t start_bytes = bytes_in(w, 2);
    world_pass(w, 2000);
    int64_t passed = bytes_in(w, 2) - start_bytes;
    assert_in_range(passed, 2 * RATE - 150000, 2 * RATE + 150000);
    world_await_end(w, 2, p, RECORDS);
    world_await_isr(w, p, 2);
    world_assert_same_log(w, 1, 2, p);
    world_free(w);
}

static void leader_keeps_the_rate(void **state)
{
    (void)state;
    check_rate(true, false);
}

static void follower_keeps_the_rate(void **state)
{
    (void)state;
    check_rate(false, true);
}

static void both_sides_together_keep_the_rate(void **state)
{
    (void)state;
    check_rate(true, true);
}

static void a_changed_rate_keeps_what_is_copied(void **state)
{
    (void)state;
    struct world_partition *p;
    struct world_partition *q;
    struct world *w = filled(2, &p, &q);
    tell_all(w, 1, RATE);
    add(w, p, 2);
    world_pass(w, 1000);
    int64_t end = world_info(w, 2, p).log_end;
    assert_in_range(end, 1, RECORDS / 2);
    int64_t slow = bytes_in(w, 2);
    tell_all(w, 1, 4 * RATE);
    assert_true(world_info(w, 2, p).log_end >= end);
    world_pass(w, 500);
    assert_in_range(bytes_in(w, 2) - slow, 2 * RATE - 300000, 2 * RATE + 300000);
    world_await_isr(w, p, 2);
    world_assert_same_log(w, 1, 2, p);
    world_free(w);
}

/* The table names the partition before the broker has it. */
static void a_table_holds_for_partitions_that_come_later(void **state)
{
    (void)state;
    struct world_partition *p;
    struct world_partition *q;
    struct world *w = filled(2, &p, &q);
    tell(w, 2, 1, 1, 0);
    add(w, p, 2);
    add(w, q, 2);
    world_await_end(w, 2, q, RECORDS);
    assert_true(world_info(w, 2, p).log_end <= RECORDS / 30);
    world_free(w);
}

/* ---- pause ---- */

/* On one side alone as on both: nothing comes, the neighbour goes on, nobody turns round and round; and
 * what is there stays when it goes on. */
static void check_pause(bool is_at_leader, bool is_at_follower)
{
    struct world_partition *p;
    struct world_partition *q;
    struct world *w = filled(2, &p, &q);
    tell_all(w, 1, RATE);
    add(w, p, 2);
    world_pass(w, 1000);
    if (is_at_leader) {
        tell(w, 1, 1, 1, 0);
    }
    if (is_at_follower) {
        tell(w, 2, 1, 1, 0);
    }
    world_pass(w, 100); /* what is on its way arrives */
    int64_t end = world_info(w, 2, p).log_end;
    assert_in_range(end, 1, RECORDS / 2);
    int64_t copied = bytes_in(w, 2);
    int32_t requests = w->brokers[1].fetch_requests;
    world_pass(w, 10000);
    assert_int_equal(world_info(w, 2, p).log_end, end);
    assert_in_range(w->brokers[1].fetch_requests - requests, 0, 40); /* two long polls a second */
    add(w, q, 2);
    world_await_end(w, 2, q, RECORDS);
    assert_int_equal(world_info(w, 2, p).log_end, end);
    int64_t both = bytes_in(w, 2);
    tell_all(w, 1, -1);
    world_pass(w, 500);
    assert_int_equal(world_info(w, 2, p).log_end, RECORDS);
    /* Both logs hold the same: nothing of the first was copied twice. */
    int64_t whole = both - copied;
    assert_in_range(copied + bytes_in(w, 2) - both, whole - 1000, whole + 1000);
    world_await_isr(w, p, 2);
    world_free(w);
}

static void a_paused_partition_waits_for_its_leader(void **state)
{
    (void)state;
    check_pause(true, false);
}

static void a_paused_partition_waits_by_itself(void **state)
{
    (void)state;
    check_pause(false, true);
}

static void a_paused_partition_waits_on_both_sides(void **state)
{
    (void)state;
    check_pause(true, true);
}

/* ---- whom it does not hold for ---- */

static void replicas_that_are_not_added_are_not_held(void **state)
{
    (void)state;
    struct world *w = world_new(196, 2);
    world_start(w, 1);
    world_start(w, 2);
    struct world_partition *p = world_create(w, "orders", 0, one_two, 2);
    tell_all(w, 1, 0);
    append(w, p, 10);
    world_await_end(w, 2, p, 20000); /* in sync */
    world_kill(w, 2);
    append(w, p, 10);
    p->isr_count = 1;
    world_announce(w, p, true);
    world_start(w, 2);
    tell(w, 2, 1, 1, 0);
    assert_int_equal(world_send(w, 2, p), 0);
    world_await_end(w, 2, p, 40000); /* ordinary catching up */
    world_await_isr(w, p, 2);
    world_free(w);
}

/* Two replicas are being added; the one that is in sync goes on while the move is paused, also across a
 * change of epoch, where it does not know how far behind it is. */
static void added_replicas_in_sync_are_not_held(void **state)
{
    (void)state;
    struct world *w = world_new(197, 3);
    world_start(w, 1);
    world_start(w, 2);
    struct world_partition *p = world_create(w, "orders", 0, alone, 1);
    append(w, p, 5);
    p->replicas[1] = p->adding[0] = 2;
    p->replicas[2] = p->adding[1] = 3;
    p->replica_count = 3;
    p->adding_count = 2;
    world_announce(w, p, true);
    world_await_isr(w, p, 2);
    tell(w, 1, 1, 1, 0);
    tell(w, 2, 1, 1, 0);
    append(w, p, 5);
    world_await_end(w, 2, p, 20000);
    world_announce(w, p, true);
    append(w, p, 5);
    world_await_end(w, 2, p, 30000);
    world_start(w, 3);
    tell(w, 3, 1, 1, 0);
    assert_int_equal(world_send(w, 3, p), 0);
    world_pass(w, 3000);
    assert_true(world_info(w, 3, p).log_end <= 2000);
    assert_int_equal(p->isr_count, 2);
    world_free(w);
}

/* ---- whose word holds ---- */

static void a_newer_controller_clears_the_table(void **state)
{
    (void)state;
    struct world_partition *p;
    struct world_partition *q;
    struct world *w = filled(2, &p, &q);
    tell_all(w, 5, 0);
    add(w, p, 2);
    world_pass(w, 1000);
    int64_t end = world_info(w, 2, p).log_end;
    assert_true(end < RECORDS / 2);
    tell(w, 1, 5, NONE, 0); /* the same controller says something else */
    tell(w, 2, 5, NONE, 0);
    world_pass(w, 1000);
    assert_int_equal(world_info(w, 2, p).log_end, end);
    tell(w, 1, 6, NONE, 0);
    tell(w, 2, 6, NONE, 0);
    world_pass(w, 1000);
    assert_int_equal(world_info(w, 2, p).log_end, RECORDS);
    world_free(w);
}

/* Two copies are held back; the table that comes names neither: both go on at once. */
static void an_empty_table_lets_everything_go(void **state)
{
    (void)state;
    for (int side = 1; side <= 2; side++) {
        struct world_partition *p;
        struct world_partition *q;
        struct world *w = filled(2, &p, &q);
        tell(w, side, 1, 1, 10); /* what is owed after one piece takes hours */
        add(w, p, 2);
        world_pass(w, 3000);
        assert_true(world_info(w, 2, p).log_end < RECORDS);
        tell(w, side, 1, 0, 0);
        world_pass(w, 500);
        assert_int_equal(world_info(w, 2, p).log_end, RECORDS);
        world_free(w);
    }
}

/* The new leader has the same table, and holds the adding replica to it. */
static void a_limit_follows_the_leader(void **state)
{
    (void)state;
    struct world *w = world_new(198, 3);
    for (int32_t id = 1; id <= 3; id++) {
        world_start(w, id);
    }
    struct world_partition *p = world_create(w, "orders", 0, one_two, 2);
    append(w, p, 30);
    world_await_end(w, 2, p, RECORDS);
    tell(w, 1, 1, 1, RATE);
    tell(w, 2, 1, 1, RATE);
    add(w, p, 3);
    world_pass(w, 1000);
    int64_t before = bytes_in(w, 3);
    assert_in_range(before, RATE - 200000, RATE + 200000);
    p->leader = 2;
    world_announce(w, p, true);
    world_pass(w, 1000);
    assert_in_range(bytes_in(w, 3) - before, RATE - 200000, RATE + 200000);
    world_await_isr(w, p, 3);
    world_assert_same_log(w, 2, 3, p);
    world_free(w);
}

/* A broker hosts at most 1,000,000 partitions: what a table names beyond that is not kept. */
static void a_table_is_bounded(void **state)
{
    (void)state;
    struct world_partition *p;
    struct world_partition *q;
    struct world *w = filled(2, &p, &q);
    const int32_t bound = 1000000;
    int32_t *many = xalloc((size_t)(bound + 1) * sizeof *many);
    for (int32_t i = 0; i < bound; i++) {
        many[i] = bound - i; /* orders-1 is the last one that fits */
    }
    struct wire_update_metadata_request_move_limits_topics topic = {.topic = slice_str("orders"),
                                                                    .partition_indexes = many,
                                                                    .partition_indexes_count =
                                                                        bound + 1};
    struct wire_update_metadata_request_move_limits group = {.topics = &topic, .topics_count = 1};
    struct wire_update_metadata_request req;
    wire_update_metadata_request_init(&req);
    req.controller_epoch = 1;
    req.move_limits = &group;
    req.move_limits_count = 1;
    replicas_take_limits(world_replicas(w, 2), &req);
    free(many);
    add(w, p, 2);
    add(w, q, 2);
    world_await_end(w, 2, p, RECORDS);
    assert_true(world_info(w, 2, q).log_end < RECORDS);
    world_free(w);
}

/* The move is cancelled while it is held: the replica goes, and the table names what is not here. */
static void a_held_partition_may_go(void **state)
{
    (void)state;
    struct world_partition *p;
    struct world_partition *q;
    struct world *w = filled(2, &p, &q);
    tell_all(w, 1, 10);
    add(w, p, 2);
    world_pass(w, 1000);
    assert_int_equal(world_stop_replica(w, 2, p, true, p->leader_epoch), 0);
    p->replica_count = 1;
    p->adding_count = 0;
    world_announce(w, p, true);
    world_pass(w, 3000);
    tell_all(w, 1, 0);
    add(w, p, 2);
    world_pass(w, 1000);
    assert_true(world_info(w, 2, p).log_end <= RECORDS / 30);
    assert_int_equal(world_stop_replica(w, 2, p, true, p->leader_epoch), 0);
    tell_all(w, 1, -1);
    world_pass(w, 1000);
    world_free(w);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(leader_keeps_the_rate),
        cmocka_unit_test(follower_keeps_the_rate),
        cmocka_unit_test(both_sides_together_keep_the_rate),
        cmocka_unit_test(a_changed_rate_keeps_what_is_copied),
        cmocka_unit_test(a_table_holds_for_partitions_that_come_later),
        cmocka_unit_test(a_paused_partition_waits_for_its_leader),
        cmocka_unit_test(a_paused_partition_waits_by_itself),
        cmocka_unit_test(a_paused_partition_waits_on_both_sides),
        cmocka_unit_test(replicas_that_are_not_added_are_not_held),
        cmocka_unit_test(added_replicas_in_sync_are_not_held),
        cmocka_unit_test(a_newer_controller_clears_the_table),
        cmocka_unit_test(an_empty_table_lets_everything_go),
        cmocka_unit_test(a_limit_follows_the_leader),
        cmocka_unit_test(a_held_partition_may_go),
        cmocka_unit_test(a_table_is_bounded),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
