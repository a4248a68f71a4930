/*
 * Which copies go past the page cache: long ones, and short ones that come together.
 */
#include "world.h"

#include "wire/update_metadata.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

static const int32_t alone[] = {1};

#define LAG_BYTES    50000
#define CACHED_BYTES 600000
#define PIECE_BYTES  30000

static struct world *two_brokers(void)
{
    struct world *w = world_new(77, 2);
    w->catch_up_lag_bytes = LAG_BYTES;
    w->copy_cached_bytes_max = CACHED_BYTES;
    w->fetch_catch_up_bytes_max = PIECE_BYTES;
    world_start(w, 1);
    world_start(w, 2);
    return w;
}

/* Broker 2 begins to copy a partition of about kilobytes. */
static struct world_partition *copy_begin(struct world *w, int32_t index, int32_t kilobytes)
{
    struct world_partition *p = world_create(w, "orders", index, alone, 1);
    for (int32_t done = 0; done < kilobytes; done += 40) {
        struct world_produce produce;
        world_append(w, 1, p, 1000, &produce); /* about 40 KB */
        world_produce_deinit(&produce);
    }
    p->replicas[1] = p->adding[0] = 2;
    p->replica_count = 2;
    p->adding_count = 1;
    world_announce(w, p, true);
    return p;
}

static void copy_await(struct world *w, struct world_partition *p)
{
    world_await_isr(w, p, 2);
    world_assert_same_log(w, 1, 2, p);
}

static void copy(struct world *w, int32_t index, int32_t kilobytes)
{
    copy_await(w, copy_begin(w, index, kilobytes));
}

static uint64_t dropped(struct world *w, int32_t id)
{
    return sim_disk_dropped(w->brokers[id].node);
}

static uint64_t replicated_bytes(struct world *w)
{
    struct replicas_metrics metrics;
    replicas_metrics(world_replicas(w, 2), &metrics);
    return metrics.replication_bytes_in;
}

static void short_copy_stays_cached(void **state)
{
    (void)state;
    struct world *w = two_brokers();
    copy(w, 0, 400);
    assert_int_equal(dropped(w, 1), 0);
    assert_int_equal(dropped(w, 2), 0);
    world_free(w);
}

/* From its start, but for what it takes to be seen as a long one, and for its end. */
static void long_copy_goes_past_the_cache(void **state)
{
    (void)state;
    struct world *w = two_brokers();
    copy(w, 0, 2000);
    uint64_t size = replicated_bytes(w);
    for (int32_t id = 1; id <= 2; id++) {
        assert_in_range(dropped(w, id), size / 2, size - LAG_BYTES + PIECE_BYTES);
    }
    world_free(w);
}

/* A rate makes the pieces small: the copy is a long one all the same. */
static void limited_copy_goes_past_the_cache(void **state)
{
    (void)state;
    struct world *w = two_brokers();
    int32_t partitions[] = {0};
    struct wire_update_metadata_request_move_limits_topics topic = {.topic = slice_str("orders"),
                                                                    .partition_indexes = partitions,
                                                                    .partition_indexes_count = 1};
    struct wire_update_metadata_request_move_limits group = {
        .rate = 100000, .topics = &topic, .topics_count = 1};
    struct wire_update_metadata_request req;
    wire_update_metadata_request_init(&req);
    req.controller_epoch = 1;
    req.move_limits = &group;
    req.move_limits_count = 1;
    for (int32_t id = 1; id <= 2; id++) {
        replicas_take_limits(world_replicas(w, id), &req);
    }
    copy(w, 0, 2000);
    assert_true(sim_world_now_ms(w->sim) > 8000);
    uint64_t size = replicated_bytes(w);
    for (int32_t id = 1; id <= 2; id++) {
        assert_in_range(dropped(w, id), size / 2, size - LAG_BYTES + PIECE_BYTES);
    }
    world_free(w);
}

static void short_copies_together_are_a_long_one(void **state)
{
    (void)state;
    struct world *w = two_brokers();
    for (int32_t i = 0; i < 8; i++) {
        copy(w, i, 400);
    }
    assert_true(dropped(w, 1) > 0);
    assert_true(dropped(w, 2) > 0);
    uint64_t before = dropped(w, 2);
    world_pass(w, 60000);
    copy(w, 8, 400); /* what came before is written by now */
    assert_int_equal(dropped(w, 2), before);
    world_free(w);
}

/* What is still to come counts: they go past the cache from their start. */
static void copies_at_the_same_time_are_a_long_one(void **state)
{
    (void)state;
    struct world *w = two_brokers();
    struct world_partition *p[5];
    for (int32_t i = 0; i < (int32_t)ARRAY_LEN(p); i++) {
        p[i] = copy_begin(w, i, 800);
    }
    for (size_t i = 0; i < ARRAY_LEN(p); i++) {
        copy_await(w, p[i]);
    }
    uint64_t size = replicated_bytes(w);
    uint64_t ends = ARRAY_LEN(p) * (LAG_BYTES + PIECE_BYTES); /* stay cached */
    assert_in_range(dropped(w, 1), size - ends, size);
    assert_in_range(dropped(w, 2), size - 2 * ends, size); /* the beginnings too */
    copy(w, 5, 40);                                        /* nothing is left over from them */
    world_pass(w, 60000);
    uint64_t before = dropped(w, 2);
    copy(w, 6, 400);
    assert_int_equal(dropped(w, 2), before);
    world_free(w);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(short_copy_stays_cached),
        cmocka_unit_test(long_copy_goes_past_the_cache),
        cmocka_unit_test(limited_copy_goes_past_the_cache),
        cmocka_unit_test(short_copies_together_are_a_long_one),
        cmocka_unit_test(copies_at_the_same_time_are_a_long_one),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
