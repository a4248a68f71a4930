/*
 * Records that are not in memory: they are left out of a read, read into memory, and then watches fire.
 */
#include "world.h"

#include "model/kerr.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

static const int32_t alone[] = {1};
static const int32_t both[] = {1, 2};

#define PIECE_BYTES 50000 /* one batch */

/* Broker 1 leads orders-0 of about so many kilobytes. */
static struct world *leader(const int32_t *replicas, int32_t count, int32_t kilobytes,
                            struct world_partition **ret_partition)
{
    struct world *w = world_new(91, 2);
    world_start(w, 1);
    struct world_partition *p = world_create(w, "orders", 0, replicas, count);
    for (int32_t done = 0; done < kilobytes; done += 40) {
        struct world_produce produce;
        world_append(w, 1, p, 1000, &produce); /* about 40 KB */
        world_produce_deinit(&produce);
    }
    *ret_partition = p;
    return w;
}

static struct replicas_read read_at(struct world *w, int32_t replica, int64_t offset)
{
    struct replicas_read read = {.topic = slice_str("orders"),
                                 .replica_id = replica,
                                 .current_leader_epoch = -1,
                                 .last_fetched_epoch = -1,
                                 .fetch_offset = offset,
                                 .log_start_offset = -1,
                                 .bytes_max = PIECE_BYTES,
                                 .is_minimum_needed = true};
    replicas_read_begin(world_replicas(w, 1));
    replicas_read(world_replicas(w, 1), &read);
    assert_int_equal(read.err, 0);
    return read;
}

static void done(struct replicas_read *read)
{
    env_file_unref(read->file);
    read->file = NULL;
}

static struct sim_node *node(struct world *w)
{
    return w->brokers[1].node;
}

/* Reads as a fetch does that waits: again when it is told. Returns how often it had to wait. */
static int read_waiting(struct world *w, int64_t offset, struct replicas_read *ret_read)
{
    struct world_seen seen = {0};
    struct replicas_watch watch = {.arg = &seen, .fn = world_on_watch, .mask = REPLICAS_WARM};
    assert_true(replicas_watch_start(world_replicas(w, 1), &watch, slice_str("orders"), 0));
    int waits = 0;
    for (;;) {
        *ret_read = read_at(w, REPLICAS_CONSUMER, offset);
        if (ret_read->len > 0) {
            break;
        }
        assert_true(waits < 20);
        waits++;
        int calls = seen.calls;
        world_pass(w, 100);
        assert_int_equal(seen.calls, calls + 1);
        assert_int_equal(seen.events, REPLICAS_WARM);
    }
    replicas_watch_stop(&watch);
    return waits;
}

static void cold_records_are_told_of_when_they_are_there(void **state)
{
    (void)state;
    struct world_partition *p;
    struct world *w = leader(alone, 1, 400, &p);
    struct replicas_read read = read_at(w, REPLICAS_CONSUMER, 0);
    size_t len = read.len;
    assert_true(len > 0);
    done(&read);
    sim_disk_chill(node(w), 100);
    read = read_at(w, REPLICAS_CONSUMER, 0);
    assert_int_equal(read.len, 0);
    assert_null(read.file);
    int64_t end = world_info(w, 1, p).log_end;
    assert_int_equal(read.high_watermark, end);
    assert_int_equal(read.readable_end, end);
    assert_true(read_waiting(w, 0, &read) > 0); /* the job is under way */
    assert_int_equal(read.len, len);
    assert_true(sim_disk_warmings(node(w)) > 0);
    done(&read);
    world_free(w);
}

/* It does not matter for how far a follower has come whether there is anything for it yet. */
static void progress_of_a_follower_counts_when_its_records_are_cold(void **state)
{
    (void)state;
    struct world_partition *p;
    struct world *w = leader(both, 2, 400, &p);
    sim_disk_chill(node(w), 100);
    struct replicas_read read = read_at(w, 2, 3000);
    assert_int_equal(read.len, 0);
    assert_int_equal(read.high_watermark, 3000);
    world_free(w);
}

/* Its pieces are read ahead: it waits at the start, and not for each of them. */
static void reader_that_goes_on_does_not_wait_again(void **state)
{
    (void)state;
    struct world_partition *p;
    struct world *w = leader(alone, 1, 6000, &p);
    int64_t end = world_info(w, 1, p).log_end;
    sim_disk_chill(node(w), 100);
    int waits = 0;
    int pieces = 0;
    for (int64_t offset = 0; offset < end; offset += 1000) {
        struct replicas_read read;
        waits += read_waiting(w, offset, &read);
        done(&read);
        pieces++;
        world_pass(w, 20);
    }
    assert_true(pieces >= 150);
    assert_true(waits < 30);
    assert_true(sim_disk_warmings(node(w)) > (uint64_t)waits);
    assert_int_equal(sim_disk_cold_sends(node(w)), 0);
    world_free(w);
}

/* One job at a time, and both come to their records. */
static void two_readers_take_turns(void **state)
{
    (void)state;
    struct world_partition *p;
    struct world *w = leader(alone, 1, 4000, &p);
    sim_disk_chill(node(w), 100);
    struct replicas_read first = read_at(w, REPLICAS_CONSUMER, 0);
    struct replicas_read second = read_at(w, REPLICAS_CONSUMER, 80000);
    assert_int_equal(first.len, 0);
    assert_int_equal(second.len, 0);
    (void)read_waiting(w, 80000, &second);
    (void)read_waiting(w, 0, &first);
    done(&first);
    done(&second);
    world_free(w);
}

/* The partition goes, or the broker, while the disk is asked. */
static void job_outlives_its_partition(void **state)
{
    (void)state;
    for (int how = 0; how < 3; how++) {
        struct world_partition *p;
        struct world *w = leader(alone, 1, 400, &p);
        sim_disk_chill(node(w), 100);
        struct replicas_read read = read_at(w, REPLICAS_CONSUMER, 0);
        assert_int_equal(read.len, 0);
        if (how == 0) {
            assert_int_equal(world_stop_replica(w, 1, p, true, -1), KERR_NONE);
            world_pass(w, 1000);
            struct replicas_partition_info info;
            assert_false(
                replicas_partition_get(world_replicas(w, 1), slice_str("orders"), 0, &info));
        } else if (how == 1) {
            world_kill(w, 1);
            world_start(w, 1);
            assert_int_equal(world_send(w, 1, p), KERR_NONE);
            (void)read_waiting(w, 0, &read);
            done(&read);
        } else {
            sim_disk_break(node(w), "/");
            world_pass(w, 1000);
            assert_int_equal(sim_disk_warmings(node(w)), 1);
        }
        world_free(w);
    }
}

/* A copy of what is not in memory comes to its end, and nothing is sent that the loop would wait for. */
static void cold_partition_is_copied(void **state)
{
    (void)state;
    struct world_partition *p;
    struct world *w = leader(alone, 1, 2000, &p);
    w->fetch_catch_up_bytes_max = PIECE_BYTES;
    world_start(w, 2);
    p->replicas[1] = p->adding[0] = 2;
    p->replica_count = 2;
    p->adding_count = 1;
    sim_disk_chill(node(w), 100);
    world_announce(w, p, true);
    world_await_isr(w, p, 2);
    world_assert_same_log(w, 1, 2, p);
    assert_true(sim_disk_warmings(node(w)) > 0);
    assert_int_equal(sim_disk_cold_sends(node(w)), 0);
    world_free(w);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(cold_records_are_told_of_when_they_are_there),
        cmocka_unit_test(progress_of_a_follower_counts_when_its_records_are_cold),
        cmocka_unit_test(reader_that_goes_on_does_not_wait_again),
        cmocka_unit_test(two_readers_take_turns),
        cmocka_unit_test(job_outlives_its_partition),
        cmocka_unit_test(cold_partition_is_copied),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
