/*
 * Appends: who may, what acks=all waits for, and how every wait ends.
 */
#include "world.h"

#include "base/endian.h"
#include "model/kerr.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

static const int32_t both[] = {1, 2};

static struct world *two_brokers(void)
{
    struct world *w = world_new(7, 2);
    world_start(w, 1);
    world_start(w, 2);
    return w;
}

static void acks_one_is_answered_at_once(void **state)
{
    (void)state;
    struct world *w = two_brokers();
    struct world_partition *p = world_create(w, "orders", 0, both, 2);
    for (int64_t i = 0; i < 3; i++) {
        struct world_produce produce;
        world_append(w, 1, p, 10, &produce);
        assert_true(produce.is_done);
        assert_int_equal(produce.item.base_offset, i * 10);
        assert_int_equal(produce.item.log_start_offset, 0);
        assert_int_equal(produce.item.log_append_time_ms, -1);
        world_produce_deinit(&produce);
    }
    world_free(w);
}

static void acks_all_waits_for_every_member_in_sync(void **state)
{
    (void)state;
    struct world *w = two_brokers();
    struct world_partition *p = world_create(w, "orders", 0, both, 2);
    world_kill(w, 2);
    struct world_produce produce;
    world_append_acks(w, 1, p, -1, &produce);
    world_pass(w, 1000);
    assert_false(produce.is_done);
    world_start(w, 2);
    assert_int_equal(world_send(w, 2, p), KERR_NONE);
    world_pass(w, 3000);
    assert_true(produce.is_done);
    assert_int_equal(produce.item.err, 0);
    assert_int_equal(produce.item.base_offset, 0);
    world_produce_deinit(&produce);
    world_free(w);
}

static void acks_all_with_one_replica_needs_no_wait(void **state)
{
    (void)state;
    struct world *w = two_brokers();
    struct world_partition *p = world_create(w, "orders", 0, both, 1);
    struct world_produce produce;
    world_append_acks(w, 1, p, -1, &produce);
    assert_true(produce.is_done);
    assert_int_equal(produce.item.err, 0);
    world_produce_deinit(&produce);
    world_free(w);
}

static void time_out_leaves_the_records_appended(void **state)
{
    (void)state;
    struct world *w = two_brokers();
    struct world_partition *p = world_create(w, "orders", 0, both, 2);
    world_kill(w, 2);
    struct world_produce produce;
    world_append_acks(w, 1, p, -1, &produce);
    world_pass(w, 9000);
    assert_false(produce.is_done);
    world_pass(w, 1500);
    assert_true(produce.is_done);
    assert_int_equal(produce.item.err, -E_TIMEOUT);
    assert_int_equal(produce.item.base_offset, -1);
    assert_int_equal(world_info(w, 1, p).log_end, 1);
    world_produce_deinit(&produce);
    world_free(w);
}

static void too_small_isr_refuses_before_the_append(void **state)
{
    (void)state;
    struct world *w = two_brokers();
    w->min_insync_replicas = 2;
    struct world_partition *p = world_create(w, "orders", 0, both, 2);
    p->isr_count = 1;
    world_announce(w, p, true);
    world_kill(w, 2);
    struct world_produce produce;
    world_append_acks(w, 1, p, -1, &produce);
    assert_true(produce.is_done);
    assert_int_equal(produce.item.err, -E_NOT_ENOUGH_REPLICAS);
    assert_int_equal(world_info(w, 1, p).log_end, 0);
    world_produce_deinit(&produce);
    world_append(w, 1, p, 1, &produce); /* acks=1 does not ask */
    world_produce_deinit(&produce);
    world_free(w);
}

/* Design decision 10: a factor-1 partition that is being moved goes on under min.insync.replicas 2. */
static void moving_single_replica_accepts_acks_all(void **state)
{
    (void)state;
    struct world *w = two_brokers();
    w->min_insync_replicas = 2;
    struct world_partition *p = world_create(w, "orders", 0, both, 2);
    p->isr_count = 1;
    p->adding[0] = 2;
    p->adding_count = 1;
    world_kill(w, 2);
    world_announce(w, p, true);
    struct world_produce produce;
    world_append_acks(w, 1, p, -1, &produce);
    assert_true(produce.is_done);
    assert_int_equal(produce.item.err, 0);
    world_produce_deinit(&produce);
    world_free(w);
}

static void followers_and_strangers_refuse(void **state)
{
    (void)state;
    struct world *w = two_brokers();
    struct world_partition *p = world_create(w, "orders", 0, both, 2);
    struct world_produce produce;
    world_append_acks(w, 2, p, 1, &produce);
    assert_true(produce.is_done);
    assert_int_equal(produce.item.err, -E_NOT_LEADER);
    assert_int_equal(produce.item.leader, 1);
    assert_int_equal(produce.item.leader_epoch, 0);
    world_produce_deinit(&produce);
    struct world_partition other = *p;
    other.partition = 5;
    world_append_acks(w, 1, &other, 1, &produce);
    assert_int_equal(produce.item.err, -E_NOT_FOUND);
    world_produce_deinit(&produce);
    other = *p;
    other.topic_id.bytes[15] ^= 1;
    world_append_acks(w, 1, &other, 1, &produce);
    assert_int_equal(produce.item.err, -E_ID_MISMATCH);
    world_produce_deinit(&produce);
    world_free(w);
}

static void bad_records_are_refused_with_a_reason(void **state)
{
    (void)state;
    struct world *w = two_brokers();
    struct world_partition *p = world_create(w, "orders", 0, both, 1);
    struct world_produce produce;
    world_append(w, 1, p, 1, &produce);
    produce.records.ptr[produce.records.len - 1] ^= 0xff;
    assert_true(replicas_produce(world_replicas(w, 1), &produce.produce));
    assert_int_equal(produce.item.err, -E_CORRUPT);
    assert_int_equal(produce.item.reason, RECORD_BAD_CRC);
    assert_int_equal(world_info(w, 1, p).log_end, 1);
    world_produce_deinit(&produce);
    world_free(w);
}

/* Row 26: the partition leaves while acks=all waits. */
static void stop_replica_ends_the_wait_at_once(void **state)
{
    (void)state;
    for (int is_deleted = 0; is_deleted <= 1; is_deleted++) {
        struct world *w = two_brokers();
        struct world_partition *p = world_create(w, "orders", 0, both, 2);
        world_kill(w, 2);
        struct world_produce produce;
        world_append_acks(w, 1, p, -1, &produce);
        world_pass(w, 10);
        assert_false(produce.is_done);
        assert_int_equal(world_stop_replica(w, 1, p, is_deleted != 0, 0), KERR_NONE);
        world_pass(w, 5);
        assert_true(produce.is_done);
        assert_int_equal(produce.item.err, -E_NOT_LEADER);
        world_produce_deinit(&produce);
        world_free(w);
    }
}

static void losing_leadership_ends_the_wait_at_once(void **state)
{
    (void)state;
    struct world *w = two_brokers();
    struct world_partition *p = world_create(w, "orders", 0, both, 2);
    world_kill(w, 2);
    struct world_produce produce;
    world_append_acks(w, 1, p, -1, &produce);
    p->leader = 2;
    world_announce(w, p, true);
    world_pass(w, 5);
    assert_true(produce.is_done);
    assert_int_equal(produce.item.err, -E_NOT_LEADER);
    assert_int_equal(produce.item.leader, 2);
    world_produce_deinit(&produce);
    world_free(w);
}

/* The laggard falls out of the set; what waited for it goes on without it. */
static void shrink_lets_the_waiting_go_on(void **state)
{
    (void)state;
    struct world *w = world_new(11, 2);
    w->lag_time_max_ms = 4000;
    world_start(w, 1);
    world_start(w, 2);
    struct world_partition *p = world_create(w, "orders", 0, both, 2);
    world_kill(w, 2);
    struct world_produce produce;
    world_append_acks(w, 1, p, -1, &produce);
    world_pass(w, 3000);
    assert_false(produce.is_done);
    world_pass(w, 4000);
    assert_true(produce.is_done);
    assert_int_equal(produce.item.err, 0);
    assert_int_equal(p->isr_count, 1);
    world_produce_deinit(&produce);
    world_free(w);
}

static void cancelled_request_is_not_called(void **state)
{
    (void)state;
    struct world *w = two_brokers();
    struct world_partition *p = world_create(w, "orders", 0, both, 2);
    struct world_produce produce;
    world_append_acks(w, 1, p, -1, &produce);
    assert_false(produce.is_done);
    replicas_produce_cancel(&produce.produce);
    world_await_high_watermark(w, 1, p, 1);
    world_pass(w, 20000);
    assert_false(produce.is_done);
    world_produce_deinit(&produce);
    world_free(w);
}

/* Several partitions in one request: it is finished when the last one is. */
static void request_waits_for_all_its_partitions(void **state)
{
    (void)state;
    struct world *w = two_brokers();
    struct world_partition *p = world_create(w, "orders", 0, both, 2);
    struct world_partition *q = world_create(w, "orders", 1, both, 1);
    struct world_produce first;
    struct world_produce second;
    world_append(w, 1, p, 1, &first);
    world_append(w, 1, q, 1, &second);
    world_await_high_watermark(w, 1, p, 1);
    struct replicas_append items[] = {first.item, second.item, second.item};
    items[2].partition = 77;
    store_be64(first.records.ptr, 0); /* the first append has written its offset there */
    store_be64(second.records.ptr, 0);
    first.produce.items = items;
    first.produce.count = 3;
    first.produce.acks = -1;
    first.is_done = replicas_produce(world_replicas(w, 1), &first.produce);
    assert_false(first.is_done);
    world_pass(w, 1000);
    assert_true(first.is_done);
    assert_int_equal(items[0].err, 0);
    assert_int_equal(items[0].base_offset, 1);
    assert_int_equal(items[1].err, 0);
    assert_int_equal(items[1].base_offset, 1);
    assert_int_equal(items[2].err, -E_NOT_FOUND);
    world_produce_deinit(&first);
    world_produce_deinit(&second);
    world_free(w);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(acks_one_is_answered_at_once),
        cmocka_unit_test(acks_all_waits_for_every_member_in_sync),
        cmocka_unit_test(acks_all_with_one_replica_needs_no_wait),
        cmocka_unit_test(time_out_leaves_the_records_appended),
        cmocka_unit_test(too_small_isr_refuses_before_the_append),
        cmocka_unit_test(moving_single_replica_accepts_acks_all),
        cmocka_unit_test(followers_and_strangers_refuse),
        cmocka_unit_test(bad_records_are_refused_with_a_reason),
        cmocka_unit_test(stop_replica_ends_the_wait_at_once),
        cmocka_unit_test(losing_leadership_ends_the_wait_at_once),
        cmocka_unit_test(shrink_lets_the_waiting_go_on),
        cmocka_unit_test(cancelled_request_is_not_called),
        cmocka_unit_test(request_waits_for_all_its_partitions),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
