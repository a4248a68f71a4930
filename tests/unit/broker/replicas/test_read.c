/*
 * Reads, watches and lookups on a leader (docs/spec/reassignment.md 11.6, protocol.md ListOffsets).
 */
#include "world.h"

#include "model/kerr.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

static const int32_t both[] = {1, 2};

/* Broker 1 leads orders-0 with ISR {1, 2}; 2 is down. 10 + 10 records, none committed. */
static struct world *leader(struct world_partition **ret_partition)
{
    struct world *w = world_new(51, 2);
    world_start(w, 1);
    struct world_partition *p = world_create(w, "orders", 0, both, 2);
    for (int i = 0; i < 2; i++) {
        struct world_produce produce;
        world_append(w, 1, p, 10, &produce);
        world_produce_deinit(&produce);
    }
    *ret_partition = p;
    return w;
}

static struct replicas_read read_of(int32_t replica, int64_t offset)
{
    return (struct replicas_read){.topic = slice_str("orders"),
                                  .replica_id = replica,
                                  .current_leader_epoch = -1,
                                  .last_fetched_epoch = -1,
                                  .fetch_offset = offset,
                                  .log_start_offset = -1,
                                  .bytes_max = 1 << 20};
}

static void done(struct replicas_read *read)
{
    env_file_unref(read->file);
    read->file = NULL;
}

static void followers_see_the_end_and_consumers_what_is_committed(void **state)
{
    (void)state;
    struct world_partition *p;
    struct world *w = leader(&p);
    struct replicas_read consumer = read_of(REPLICAS_CONSUMER, 0);
    replicas_read(world_replicas(w, 1), &consumer);
    assert_int_equal(consumer.err, 0);
    assert_int_equal(consumer.len, 0);
    assert_int_equal(consumer.high_watermark, 0);
    struct replicas_read follower = read_of(2, 0);
    replicas_read(world_replicas(w, 1), &follower);
    assert_int_equal(follower.err, 0);
    assert_true(follower.len > 0);
    done(&follower);
    follower = read_of(2, 10); /* it has the first batch: that is committed now */
    replicas_read(world_replicas(w, 1), &follower);
    assert_int_equal(follower.high_watermark, 10);
    done(&follower);
    consumer = read_of(REPLICAS_CONSUMER, 0);
    replicas_read(world_replicas(w, 1), &consumer);
    assert_int_equal(consumer.high_watermark, 10);
    assert_int_equal(consumer.last_stable_offset, 10);
    assert_true(consumer.len > 0);
    done(&consumer);
    world_free(w);
}

/* Rows 65 and the table of 11.6. */
static void refusals_follow_the_table(void **state)
{
    (void)state;
    struct world_partition *p;
    struct world *w = leader(&p);
    p->leader_epoch = 5;
    assert_int_equal(world_send(w, 1, p), KERR_NONE);
    static const struct {
        int32_t replica;
        int32_t epoch;
        int32_t partition;
        int64_t offset;
        int err;
    } rows[] = {
        {2, 5, 0, 0, 0},
        {2, 4, 0, 0, -E_FENCED},
        {2, 6, 0, 0, -E_UNKNOWN_EPOCH},
        {3, 5, 0, 0, -E_UNKNOWN_EPOCH},
        {3, -1, 0, 0, -E_NOT_LEADER},
        {2, 5, 1, 0, -E_NOT_FOUND},
        {2, 5, 0, 21, -E_OUT_OF_RANGE},
        {2, 5, 0, -1, -E_OUT_OF_RANGE},
        {REPLICAS_CONSUMER, -1, 0, 20, 0},
        {REPLICAS_CONSUMER, -1, 0, 21, -E_OUT_OF_RANGE},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        struct replicas_read read = read_of(rows[i].replica, rows[i].offset);
        read.current_leader_epoch = rows[i].epoch;
        read.partition = rows[i].partition;
        replicas_read(world_replicas(w, 1), &read);
        assert_int_equal(read.err, rows[i].err);
        if (read.err != 0) {
            assert_int_equal(read.high_watermark, -1);
            assert_null(read.file);
        }
        done(&read);
    }
    world_free(w);
}

static void divergence_is_told_without_records(void **state)
{
    (void)state;
    struct world_partition *p;
    struct world *w = leader(&p);
    p->leader_epoch = 5;
    assert_int_equal(world_send(w, 1, p), KERR_NONE); /* epoch 0 ended at 20 */
    struct replicas_read read = read_of(2, 30);
    read.last_fetched_epoch = 0;
    replicas_read(world_replicas(w, 1), &read);
    assert_int_equal(read.err, 0);
    assert_true(read.is_diverging);
    assert_int_equal(read.diverging_epoch, 0);
    assert_int_equal(read.diverging_end, 20);
    assert_int_equal(read.len, 0);
    assert_int_equal(world_info(w, 1, p).high_watermark, 0); /* it counts as no progress */
    world_free(w);
}

static void watches_tell_what_they_were_asked_to(void **state)
{
    (void)state;
    struct world_partition *p;
    struct world *w = leader(&p);
    struct world_seen data = {0};
    struct world_seen mark = {0};
    struct replicas_watch data_watch = {
        .arg = &data, .fn = world_on_watch, .mask = REPLICAS_NEW_DATA};
    struct replicas_watch mark_watch = {
        .arg = &mark, .fn = world_on_watch, .mask = REPLICAS_HIGH_WATERMARK};
    struct replicas *r = world_replicas(w, 1);
    assert_true(replicas_watch_start(r, &data_watch, slice_str("orders"), 0));
    assert_true(replicas_watch_start(r, &mark_watch, slice_str("orders"), 0));
    struct world_produce produce;
    world_append(w, 1, p, 1, &produce);
    world_produce_deinit(&produce);
    assert_int_equal(data.calls, 0); /* never from inside a call */
    world_append(w, 1, p, 1, &produce);
    world_produce_deinit(&produce);
    world_pass(w, 10);
    assert_int_equal(data.calls, 1);
    assert_int_equal(data.events, REPLICAS_NEW_DATA);
    assert_int_equal(mark.calls, 0);
    struct replicas_read follower = read_of(2, 20);
    replicas_read(r, &follower);
    done(&follower);
    world_pass(w, 10);
    assert_int_equal(mark.events, REPLICAS_HIGH_WATERMARK);
    assert_int_equal(data.calls, 1);
    replicas_watch_stop(&data_watch);
    world_append(w, 1, p, 1, &produce);
    world_produce_deinit(&produce);
    world_pass(w, 10);
    assert_int_equal(data.calls, 1);
    assert_int_equal(world_stop_replica(w, 1, p, true, -1), KERR_NONE);
    world_pass(w, 10);
    assert_int_equal(mark.events, REPLICAS_HIGH_WATERMARK | REPLICAS_GONE);
    assert_false(replicas_watch_start(r, &mark_watch, slice_str("orders"), 0));
    world_free(w);
}

static void fresh_leader_does_not_know_the_latest_offset(void **state)
{
    (void)state;
    struct world_partition *p;
    struct world *w = leader(&p);
    p->leader_epoch = 5;
    assert_int_equal(world_send(w, 1, p), KERR_NONE); /* high watermark 0, epoch start 20 */
    struct replicas_offset_query query = {.topic = slice_str("orders"),
                                          .replica_id = REPLICAS_CONSUMER,
                                          .current_leader_epoch = -1,
                                          .timestamp = -1};
    assert_int_equal(replicas_find_offset(world_replicas(w, 1), &query), -E_NOT_AVAILABLE);
    query.replica_id = 2;
    assert_int_equal(replicas_find_offset(world_replicas(w, 1), &query), 0);
    assert_int_equal(query.ret_offset, 20);
    query.replica_id = REPLICAS_CONSUMER;
    query.timestamp = -2;
    assert_int_equal(replicas_find_offset(world_replicas(w, 1), &query), 0);
    assert_int_equal(query.ret_offset, 0);
    world_free(w);
}

static void offsets_are_found_by_time(void **state)
{
    (void)state;
    struct world_partition *p;
    struct world *w = leader(&p);
    struct replicas_read follower = read_of(2, 20);
    replicas_read(world_replicas(w, 1), &follower);
    done(&follower);
    static const struct {
        int64_t timestamp;
        int64_t offset;
        int64_t found;
    } rows[] = {
        {0, 0, 1000}, {1004, 4, 1004}, {1010, -1, -1}, {-3, 9, 1009},
        {-4, 0, -1},  {-5, -1, -1},    {-1, 20, -1},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        struct replicas_offset_query query = {.topic = slice_str("orders"),
                                              .replica_id = REPLICAS_CONSUMER,
                                              .current_leader_epoch = 0,
                                              .timestamp = rows[i].timestamp};
        assert_int_equal(replicas_find_offset(world_replicas(w, 1), &query), 0);
        assert_int_equal(query.ret_offset, rows[i].offset);
        assert_int_equal(query.ret_timestamp, rows[i].found);
    }
    struct replicas_offset_query query = {
        .topic = slice_str("orders"), .replica_id = -1, .current_leader_epoch = 1, .timestamp = -1};
    assert_int_equal(replicas_find_offset(world_replicas(w, 1), &query), -E_UNKNOWN_EPOCH);
    query.current_leader_epoch = -1;
    query.timestamp = -7;
    assert_int_equal(replicas_find_offset(world_replicas(w, 1), &query), -E_UNSUPPORTED);
    world_free(w);
}

static void epoch_ends_are_looked_up(void **state)
{
    (void)state;
    struct world_partition *p;
    struct world *w = leader(&p);
    p->leader_epoch = 5;
    assert_int_equal(world_send(w, 1, p), KERR_NONE);
    static const struct {
        int32_t asked;
        int32_t epoch;
        int64_t end;
    } rows[] = {{0, 0, 20}, {3, 0, 20}, {5, 5, 20}, {6, -1, -1}, {-1, -1, -1}};
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        struct replicas_epoch_query query = {
            .topic = slice_str("orders"), .current_leader_epoch = 5, .leader_epoch = rows[i].asked};
        assert_int_equal(replicas_find_epoch_end(world_replicas(w, 1), &query), 0);
        assert_int_equal(query.ret_epoch, rows[i].epoch);
        assert_int_equal(query.ret_end_offset, rows[i].end);
    }
    world_free(w);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(followers_see_the_end_and_consumers_what_is_committed),
        cmocka_unit_test(refusals_follow_the_table),
        cmocka_unit_test(divergence_is_told_without_records),
        cmocka_unit_test(watches_tell_what_they_were_asked_to),
        cmocka_unit_test(fresh_leader_does_not_know_the_latest_offset),
        cmocka_unit_test(offsets_are_found_by_time),
        cmocka_unit_test(epoch_ends_are_looked_up),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
