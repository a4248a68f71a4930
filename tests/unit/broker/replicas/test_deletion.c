/*
 * Deleted records: the log start goes up at the leader, then at its followers, and stays up.
 */
#include "world.h"

#include "model/kerr.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

static const int32_t alone[] = {1};
static const int32_t one_two[] = {1, 2};

/* Batches of 100 records. */
static void append(struct world *w, const struct world_partition *p, int32_t batches)
{
    for (int32_t i = 0; i < batches; i++) {
        struct world_produce produce;
        world_append(w, p->leader, p, 100, &produce);
        world_produce_deinit(&produce);
    }
}

static struct world *filled(int32_t brokers, const int32_t *list, int32_t count,
                            struct world_partition **ret_p)
{
    struct world *w = world_new(295, brokers);
    for (int32_t id = 1; id <= brokers; id++) {
        world_start(w, id);
    }
    *ret_p = world_create(w, "orders", 0, list, count);
    append(w, *ret_p, 3);
    world_await_high_watermark(w, 1, *ret_p, 300);
    return w;
}

static int delete_below(struct world *w, int32_t at, int64_t offset, int64_t *ret_wanted)
{
    struct replicas_deletion d = {
        .topic = slice_str("orders"), .partition = 0, .offset = offset, .wanted = -9};
    int err = replicas_delete_records(world_replicas(w, at), &d);
    *ret_wanted = d.wanted;
    return err;
}

static int64_t low_watermark(struct world *w, int32_t at)
{
    int64_t low = -9;
    assert_int_equal(replicas_low_watermark(world_replicas(w, at), slice_str("orders"), 0, &low),
                     0);
    return low;
}

static void followers_take_the_new_start_over(void **state)
{
    (void)state;
    struct world_partition *p;
    struct world *w = filled(2, one_two, 2, &p);
    int64_t wanted;
    assert_int_equal(delete_below(w, 1, 137, &wanted), 0);
    assert_int_equal(wanted, 137);
    assert_int_equal(world_info(w, 1, p).log_start, 137);
    assert_true(low_watermark(w, 1) < 137);
    world_pass(w, 2000);
    assert_int_equal(world_info(w, 2, p).log_start, 137);
    assert_int_equal(low_watermark(w, 1), 137);
    assert_int_equal(delete_below(w, 1, -1, &wanted), 0); /* all of it */
    assert_int_equal(wanted, 300);
    world_pass(w, 2000);
    assert_int_equal(world_info(w, 2, p).log_start, 300);
    assert_int_equal(low_watermark(w, 1), 300);
    world_free(w);
}

static void the_low_watermark_counts_those_that_matter(void **state)
{
    (void)state;
    struct world_partition *p;
    struct world *w = filled(3, one_two, 2, &p);
    int64_t wanted;
    world_kill(w, 2); /* dead ones do not count */
    assert_int_equal(delete_below(w, 1, 50, &wanted), 0);
    assert_int_equal(low_watermark(w, 1), 50);
    world_kill(w, 3);
    p->replicas[2] = p->adding[0] = 3;
    p->replica_count = 3;
    p->adding_count = 1;
    world_announce(w, p, true);
    world_start(w, 3); /* alive and being added, but it was told nothing: it has no start yet */
    assert_int_equal(low_watermark(w, 1), 50);
    world_free(w);
}

static void refusals_have_a_reason(void **state)
{
    (void)state;
    struct world_partition *p;
    struct world *w = filled(2, one_two, 2, &p);
    int64_t wanted;
    assert_int_equal(delete_below(w, 1, 301, &wanted), -E_OUT_OF_RANGE);
    assert_int_equal(delete_below(w, 1, -2, &wanted), -E_OUT_OF_RANGE);
    assert_int_equal(delete_below(w, 2, 5, &wanted), -E_NOT_LEADER);
    struct replicas_deletion d = {.topic = slice_str("orders"), .partition = 9, .offset = 0};
    assert_int_equal(replicas_delete_records(world_replicas(w, 1), &d), -E_NOT_FOUND);
    int64_t low;
    assert_int_equal(replicas_low_watermark(world_replicas(w, 2), d.topic, 0, &low), -E_NOT_LEADER);
    assert_int_equal(world_info(w, 1, p).log_start, 0);
    w->is_compacted_only = true;
    replicas_topic_config_changed(world_replicas(w, 1), "orders");
    assert_int_equal(delete_below(w, 1, 5, &wanted), -E_REFUSED);
    world_free(w);
}

/* It is on disk before the minute is over in which log starts are usually written. */
static void the_start_survives_a_kill(void **state)
{
    (void)state;
    struct world_partition *p;
    struct world *w = filled(1, alone, 1, &p);
    int64_t wanted;
    assert_int_equal(delete_below(w, 1, 37, &wanted), 0);
    world_pass(w, 1000);
    world_kill(w, 1);
    world_start(w, 1);
    assert_int_equal(world_info(w, 1, p).log_start, 37);
    world_free(w);
}

/* S36: the start lies inside a batch; a replica that joins has the same start and the same records. */
static void s36_a_new_replica_starts_inside_a_batch(void **state)
{
    (void)state;
    struct world_partition *p;
    struct world *w = filled(2, alone, 1, &p);
    int64_t wanted;
    assert_int_equal(delete_below(w, 1, 37, &wanted), 0);
    p->replicas[1] = p->adding[0] = 2;
    p->replica_count = 2;
    p->adding_count = 1;
    world_announce(w, p, true);
    world_await_end(w, 2, p, 300);
    world_await_isr(w, p, 2);
    world_pass(w, 1000);
    assert_int_equal(world_info(w, 1, p).log_start, 37);
    assert_int_equal(world_info(w, 2, p).log_start, 37);
    world_assert_same_log(w, 1, 2, p);
    world_free(w);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(followers_take_the_new_start_over),
        cmocka_unit_test(the_low_watermark_counts_those_that_matter),
        cmocka_unit_test(refusals_have_a_reason),
        cmocka_unit_test(the_start_survives_a_kill),
        cmocka_unit_test(s36_a_new_replica_starts_inside_a_batch),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
