/*
 * What a follower makes of its leader's answers: truncation where logs parted, resync when out of
 * range, one broken partition among good ones (rows 69, 70).
 */
#include "world.h"

#include "model/kerr.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

static const int32_t both[] = {1, 2};
static const int32_t all[] = {1, 2, 3};

/* state: the level. */
static struct world *brokers(void **state, int32_t count)
{
    struct world *w = world_new(21, count);
    w->level = *(const enum ibp *)*state;
    for (int32_t id = 1; id <= count; id++) {
        world_start(w, id);
    }
    return w;
}

static void append_at(struct world *w, int32_t at, const struct world_partition *p, int32_t count)
{
    struct world_produce produce;
    world_append(w, at, p, count, &produce);
    world_produce_deinit(&produce);
}

/* Row 69: the old leader has records that the new one lacks. */
static void old_leader_truncates_to_the_common_point(void **state)
{
    struct world *w = brokers(state, 2);
    struct world_partition *p = world_create(w, "orders", 0, both, 2);
    append_at(w, 1, p, 10);
    world_await_high_watermark(w, 2, p, 10);
    /* 1 appends alone and dies; 2 takes over and appends something else. */
    world_kill(w, 2);
    append_at(w, 1, p, 7);
    world_kill(w, 1);
    world_start(w, 2);
    p->leader = 2;
    p->isr[0] = 2;
    p->isr_count = 1;
    world_announce(w, p, true);
    append_at(w, 2, p, 3);
    world_await_high_watermark(w, 2, p, 13);
    world_start(w, 1);
    assert_int_equal(world_info(w, 1, p).log_end, 17);
    assert_int_equal(world_send(w, 1, p), KERR_NONE);
    world_await_end(w, 1, p, 13);
    world_await_high_watermark(w, 1, p, 13);
    world_assert_same_log(w, 1, 2, p);
    world_free(w);
}

/* Several leaders that each appended alone: the follower goes back epoch by epoch. */
static void truncation_goes_back_over_several_epochs(void **state)
{
    struct world *w = brokers(state, 2);
    struct world_partition *p = world_create(w, "orders", 0, both, 2);
    append_at(w, 1, p, 10);
    world_await_high_watermark(w, 2, p, 10);
    world_kill(w, 2);
    for (int i = 0; i < 3; i++) {
        append_at(w, 1, p, 5);
        world_announce(w, p, true);
    }
    world_kill(w, 1);
    world_start(w, 2);
    p->leader = 2;
    p->isr[0] = 2;
    p->isr_count = 1;
    world_announce(w, p, true);
    append_at(w, 2, p, 1);
    world_start(w, 1);
    assert_int_equal(world_send(w, 1, p), KERR_NONE);
    world_await_end(w, 1, p, 11);
    world_assert_same_log(w, 1, 2, p);
    world_free(w);
}

static void committed_records_survive_a_change_of_leader(void **state)
{
    struct world *w = brokers(state, 3);
    struct world_partition *p = world_create(w, "orders", 0, all, 3);
    append_at(w, 1, p, 50);
    world_await_high_watermark(w, 1, p, 50);
    world_kill(w, 1);
    p->leader = 3;
    world_announce(w, p, true);
    append_at(w, 3, p, 5);
    world_await_end(w, 2, p, 55);
    world_start(w, 1);
    assert_int_equal(world_send(w, 1, p), KERR_NONE);
    world_await_end(w, 1, p, 55);
    world_await_high_watermark(w, 3, p, 55);
    world_assert_same_log(w, 1, 3, p);
    world_assert_same_log(w, 2, 3, p);
    world_free(w);
}

/* 2 led an epoch in which nothing was appended; 1 does not know it, and no record has to go. */
static void epoch_without_records_does_not_keep_a_follower_out(void **state)
{
    struct world *w = brokers(state, 2);
    struct world_partition *p = world_create(w, "orders", 0, both, 2);
    append_at(w, 1, p, 10);
    world_await_high_watermark(w, 2, p, 10);
    struct world_partition lonely = *p; /* 1 never hears of it */
    lonely.leader = 2;
    lonely.leader_epoch = p->leader_epoch = 1;
    lonely.partition_epoch = p->partition_epoch = 1;
    assert_int_equal(world_send(w, 2, &lonely), KERR_NONE);
    p->isr_count = 1;
    world_announce(w, p, true);
    world_await_isr(w, p, 2);
    append_at(w, 1, p, 1);
    world_await_high_watermark(w, 2, p, 11);
    world_assert_same_log(w, 1, 2, p);
    world_free(w);
}

/* The leader lost its disk and starts empty (an unclean election): the follower cuts all it has. */
static void follower_beyond_an_empty_leader_cuts_its_log(void **state)
{
    struct world *w = brokers(state, 2);
    struct world_partition *p = world_create(w, "orders", 0, both, 2);
    append_at(w, 1, p, 10);
    world_await_high_watermark(w, 2, p, 10);
    assert_int_equal(world_stop_replica(w, 1, p, true, -1), KERR_NONE);
    p->isr_count = 1;
    world_announce(w, p, true);
    world_await_end(w, 2, p, 0);
    append_at(w, 1, p, 4);
    world_await_end(w, 2, p, 4);
    world_free(w);
}

/* Row 70: the follower's own disk fails for one partition's directory; the other directory serves. */
static void broken_directory_does_not_stop_the_other(void **state)
{
    (void)state;
    struct world *w = world_new(22, 2);
    w->dir_count = 2;
    world_start(w, 1);
    world_start(w, 2);
    struct world_partition *p = world_create(w, "orders", 0, both, 2);
    struct world_partition *q = world_create(w, "orders", 1, both, 2);
    append_at(w, 1, p, 1);
    append_at(w, 1, q, 1);
    world_await_end(w, 2, p, 1);
    world_await_end(w, 2, q, 1);
    assert_int_equal(world_info(w, 2, p).dir, 0);
    assert_int_equal(world_info(w, 2, q).dir, 1);
    sim_disk_break(w->brokers[2].node, "/data/0");
    append_at(w, 1, p, 1);
    append_at(w, 1, q, 1);
    world_await_end(w, 2, q, 2);
    world_pass(w, 1000);
    struct replicas_metrics metrics;
    replicas_metrics(world_replicas(w, 2), &metrics);
    assert_int_equal(metrics.failed_fetches, 1);
    assert_int_equal(metrics.offline, 1);
    assert_int_equal(w->brokers[2].dir_failures, 1);
    struct replicas_dir_info info;
    replicas_dir_get(world_replicas(w, 2), 0, &info);
    assert_true(info.is_offline);
    p->leader_epoch++;
    assert_int_equal(world_send(w, 2, p), KERR_KAFKA_STORAGE_ERROR);
    world_free(w);
}

/* Row 70: failed, counted, the other goes on; the next epoch clears the mark. */
static void fenced_partition_fails_until_its_epoch_is_told(void **state)
{
    struct world *w = brokers(state, 2);
    struct world_partition *p = world_create(w, "orders", 0, both, 2);
    struct world_partition *q = world_create(w, "orders", 1, both, 2);
    append_at(w, 1, p, 1);
    world_await_end(w, 2, p, 1);
    p->leader_epoch++;
    assert_int_equal(world_send(w, 1, p), KERR_NONE); /* the follower is not told */
    append_at(w, 1, p, 1);
    append_at(w, 1, q, 1);
    world_await_end(w, 2, q, 1);
    world_pass(w, 1000);
    struct replicas_metrics metrics;
    replicas_metrics(world_replicas(w, 2), &metrics);
    assert_int_equal(metrics.failed_fetches, 1);
    assert_int_equal(world_info(w, 2, p).log_end, 1);
    assert_int_equal(world_send(w, 2, p), KERR_NONE);
    world_await_end(w, 2, p, 2);
    replicas_metrics(world_replicas(w, 2), &metrics);
    assert_int_equal(metrics.failed_fetches, 0);
    world_assert_same_log(w, 1, 2, p);
    world_free(w);
}

static void reassignment_bytes_are_counted_apart(void **state)
{
    struct world *w = brokers(state, 3);
    struct world_partition *p = world_create(w, "orders", 0, both, 2);
    append_at(w, 1, p, 10);
    world_await_end(w, 2, p, 10);
    memcpy(p->replicas, all, sizeof all);
    p->replica_count = 3;
    p->adding[0] = 3;
    p->adding_count = 1;
    world_announce(w, p, true);
    world_await_end(w, 3, p, 10);
    struct replicas_metrics leader;
    struct replicas_metrics adding;
    struct replicas_metrics old;
    replicas_metrics(world_replicas(w, 1), &leader);
    replicas_metrics(world_replicas(w, 2), &old);
    replicas_metrics(world_replicas(w, 3), &adding);
    assert_int_equal(leader.reassigning, 1);
    assert_int_equal(leader.under_replicated, 0);
    assert_true(adding.reassignment_bytes_in > 0);
    assert_int_equal(adding.reassignment_bytes_in, leader.reassignment_bytes_out);
    assert_int_equal(adding.reassignment_bytes_in, adding.replication_bytes_in);
    assert_int_equal(old.reassignment_bytes_in, 0);
    assert_int_equal(leader.replication_bytes_out,
                     old.replication_bytes_in + adding.replication_bytes_in);
    world_free(w);
}

/* Below 2.7-IV1 it is asked before the first fetch of an epoch, from there on the fetch itself tells. */
static void the_level_says_who_finds_the_common_point(void **state)
{
    struct world *w = brokers(state, 2);
    struct world_partition *p = world_create(w, "orders", 0, both, 2);
    append_at(w, 1, p, 10);
    world_await_high_watermark(w, 2, p, 10);
    assert_int_equal(w->epoch_requests, 0); /* a log without epochs has nothing to ask about */
    world_announce(w, p, true);
    append_at(w, 1, p, 1);
    world_await_high_watermark(w, 2, p, 11);
    assert_int_equal(w->epoch_requests, ibp_has(w->level, IBP_TRUNCATION_ON_FETCH) ? 0 : 1);
    world_free(w);
}

/* The leader that is asked has gone: the question is put again when it is back. */
static void an_unanswered_question_is_put_again(void **state)
{
    struct world *w = brokers(state, 2);
    struct world_partition *p = world_create(w, "orders", 0, both, 2);
    append_at(w, 1, p, 10);
    world_await_high_watermark(w, 2, p, 10);
    world_kill(w, 1);
    p->leader_epoch++;
    p->partition_epoch++;
    assert_int_equal(world_send(w, 2, p), KERR_NONE);
    world_pass(w, 5000);
    world_start(w, 1);
    world_pass(w, 3000); /* now the leader says that it does not know the epoch yet */
    assert_int_equal(world_send(w, 1, p), KERR_NONE);
    append_at(w, 1, p, 1);
    world_await_high_watermark(w, 2, p, 11);
    world_assert_same_log(w, 1, 2, p);
    world_free(w);
}

#define AT(test, level)                                                                            \
    {                                                                                              \
#test " at level " #level, test, NULL, NULL, &levels[level]                                \
    }
#define AT_EACH(test)                                                                              \
    AT(test, IBP_2_2_IV0), AT(test, IBP_2_7_IV0), AT(test, IBP_2_7_IV1), AT(test, IBP_3_0_IV1),    \
        AT(test, IBP_3_9_IV0)

int main(void)
{
    enum ibp levels[IBP_END];
    for (enum ibp level = IBP_NEWEST; level < IBP_END; level++) {
        levels[level] = level;
    }
    const struct CMUnitTest tests[] = {
        AT_EACH(old_leader_truncates_to_the_common_point),
        AT_EACH(truncation_goes_back_over_several_epochs),
        AT_EACH(committed_records_survive_a_change_of_leader),
        AT_EACH(epoch_without_records_does_not_keep_a_follower_out),
        AT_EACH(follower_beyond_an_empty_leader_cuts_its_log),
        cmocka_unit_test(broken_directory_does_not_stop_the_other),
        AT_EACH(fenced_partition_fails_until_its_epoch_is_told),
        AT(reassignment_bytes_are_counted_apart, IBP_3_9_IV0),
        AT_EACH(the_level_says_who_finds_the_common_point),
        AT_EACH(an_unanswered_question_is_put_again),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
