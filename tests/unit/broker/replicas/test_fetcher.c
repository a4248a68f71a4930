/*
 * Fetchers: sessions name only what changed, partitions come and go, connections break and come back.
 */
#include "world.h"

#include "model/kerr.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

static const int32_t both[] = {1, 2};

static struct world *two_brokers(void)
{
    struct world *w = world_new(1, 2);
    world_start(w, 1);
    world_start(w, 2);
    return w;
}

static void append(struct world *w, const struct world_partition *p, int32_t count)
{
    struct world_produce produce;
    world_append(w, p->leader, p, count, &produce);
    world_produce_deinit(&produce);
}

struct look {
    const struct world_partition *partition;
    struct replicas_log_info info;
};

static void look_at(void *arg, const struct replicas_log_info *info)
{
    struct look *look = arg;
    if (info->partition == look->partition->partition) {
        look->info = *info;
        look->info.topic = NULL; /* was borrowed */
    }
}

/* What DescribeLogDirs would tell of p at broker 2. */
static struct replicas_log_info look(struct world *w, const struct world_partition *p)
{
    struct look look = {.partition = p};
    replicas_each_log(world_replicas(w, 2), 0, look_at, &look);
    return look.info;
}

static struct replicas_metrics metrics_of(struct world *w)
{
    struct replicas_metrics metrics;
    replicas_metrics(world_replicas(w, 2), &metrics);
    return metrics;
}

static void follower_copies_byte_for_byte(void **state)
{
    (void)state;
    struct world *w = two_brokers();
    struct world_partition *p = world_create(w, "orders", 0, both, 2);
    for (int i = 0; i < 20; i++) {
        append(w, p, 5);
    }
    world_await_end(w, 2, p, 100);
    world_await_high_watermark(w, 1, p, 100);
    world_await_high_watermark(w, 2, p, 100);
    world_assert_same_log(w, 1, 2, p);
    world_free(w);
}

/* It would hold up those in sync, and with them their writers. */
static void long_copy_has_a_connection_of_its_own(void **state)
{
    (void)state;
    struct world *w = world_new(43, 2);
    w->catch_up_lag_bytes = w->copy_cached_bytes_max = 100 << 20;
    w->fetch_catch_up_bytes_max = 50000;
    world_start(w, 1);
    world_start(w, 2);
    struct world_partition *tail = world_create(w, "orders", 0, both, 2);
    struct world_partition *long_one = world_create(w, "orders", 1, both, 1);
    for (int i = 0; i < 100; i++) {
        append(w, long_one, 1000);
    }
    append(w, tail, 1);
    world_await_end(w, 2, tail, 1);
    long_one->replicas[1] = long_one->adding[0] = 2;
    long_one->replica_count = 2;
    long_one->adding_count = 1;
    world_announce(w, long_one, true);
    const struct world_session *sessions = w->brokers[1].sessions;
    for (int ms = 0; ms < 5000 && sessions[WORLD_SESSIONS + 2].count == 0; ms++) {
        world_pass(w, 1);
    }
    assert_int_equal(sessions[WORLD_SESSIONS + 2].count, 1);
    assert_int_equal(sessions[2].count, 1);
    assert_int_equal(metrics_of(w).fetchers, 2);
    world_await_isr(w, long_one, 2);
    world_pass(w, 1000);
    assert_int_equal(sessions[2].count, 2);
    assert_int_equal(metrics_of(w).fetchers, 1);
    world_assert_same_log(w, 1, 2, long_one);
    world_free(w);
}

/* 40 idle partitions and a busy one: requests after the first name about one partition each. */
static void session_names_only_what_changed(void **state)
{
    (void)state;
    struct world *w = two_brokers();
    struct world_partition *busy = world_create(w, "busy", 0, both, 2);
    for (int32_t i = 0; i < 40; i++) {
        (void)world_create(w, "idle", i, both, 2);
    }
    append(w, busy, 1);
    world_await_end(w, 2, busy, 1);
    world_pass(w, 2000);
    int32_t named = w->brokers[1].fetch_partitions;
    int32_t requests = w->brokers[1].fetch_requests;
    for (int64_t i = 0; i < 30; i++) {
        append(w, busy, 1);
        world_await_end(w, 2, busy, 2 + i);
    }
    /* The first one was waiting at the leader already. */
    assert_true(w->brokers[1].fetch_requests - requests >= 29);
    assert_true(w->brokers[1].fetch_partitions - named <= w->brokers[1].fetch_requests - requests);
    world_free(w);
}

/* An idle session is not polled more than once in fetch_wait_max_ms. */
static void idle_partitions_cost_one_request_a_wait(void **state)
{
    (void)state;
    struct world *w = two_brokers();
    (void)world_create(w, "idle", 0, both, 2);
    world_pass(w, 2000);
    int32_t requests = w->brokers[1].fetch_requests;
    int32_t named = w->brokers[1].fetch_partitions;
    world_pass(w, 10000);
    int32_t more = w->brokers[1].fetch_requests - requests;
    assert_true(more >= 15 && more <= 21);
    assert_int_equal(w->brokers[1].fetch_partitions - named, 0);
    world_free(w);
}

/* A partition that is added during a long poll does not wait for the end of it. */
static void added_partition_is_fetched_at_once(void **state)
{
    (void)state;
    struct world *w = two_brokers();
    (void)world_create(w, "first", 0, both, 2);
    world_pass(w, 1100); /* somewhere inside a long poll */
    struct world_partition *p = world_create(w, "second", 0, both, 2);
    struct world_produce produce;
    world_append_acks(w, 1, p, -1, &produce);
    assert_false(produce.is_done);
    world_pass(w, 50);
    assert_true(produce.is_done);
    assert_int_equal(produce.item.err, 0);
    world_produce_deinit(&produce);
    world_free(w);
}

static void leader_without_sessions_gets_full_requests(void **state)
{
    (void)state;
    struct world *w = two_brokers();
    w->is_session_refused = true;
    struct world_partition *p = world_create(w, "orders", 0, both, 2);
    struct world_partition *q = world_create(w, "orders", 1, both, 2);
    append(w, p, 3);
    append(w, q, 4);
    world_await_end(w, 2, p, 3);
    world_await_end(w, 2, q, 4);
    append(w, p, 3);
    world_await_end(w, 2, p, 6);
    world_free(w);
}

/* The leader dies with its session and comes back with its log: the follower begins a new session. */
static void follower_goes_on_after_the_leader_restarts(void **state)
{
    (void)state;
    struct world *w = two_brokers();
    struct world_partition *p = world_create(w, "orders", 0, both, 2);
    append(w, p, 10);
    world_await_end(w, 2, p, 10);
    assert_int_equal(metrics_of(w).fetch_restarts, 0);
    assert_int_equal(look(w, p).fetch_error, 0);
    world_kill(w, 1);
    world_pass(w, 10000);
    uint64_t restarts = metrics_of(w).fetch_restarts;
    assert_in_range(restarts, 1, 11); /* one a second at most: replica.fetch.backoff.ms */
    assert_int_equal(look(w, p).fetch_error, -E_CLOSED);
    world_start(w, 1);
    world_announce(w, p, true);
    append(w, p, 10);
    world_await_end(w, 2, p, 20);
    world_await_high_watermark(w, 2, p, 20);
    assert_int_equal(look(w, p).fetch_error, 0);
    world_pass(w, 5000);
    assert_in_range(metrics_of(w).fetch_restarts, restarts, restarts + 2);
    world_assert_same_log(w, 1, 2, p);
    world_free(w);
}

/* Row 70: the leader's copy of one partition cannot be read; the other one goes on. */
static void refused_partition_does_not_stop_the_others(void **state)
{
    (void)state;
    struct world *w = two_brokers();
    struct world_partition *p = world_create(w, "orders", 0, both, 2);
    struct world_partition *q = world_create(w, "orders", 1, both, 2);
    w->brokers[1].refuse_error = KERR_KAFKA_STORAGE_ERROR;
    w->brokers[1].refuse_partition = 0;
    append(w, p, 5);
    append(w, q, 5);
    world_await_end(w, 2, q, 5);
    assert_int_equal(world_info(w, 2, p).log_end, 0);
    int32_t requests = w->brokers[1].fetch_requests;
    world_pass(w, 10000);
    /* Backed off, not hammered: about one extra request a second. */
    assert_true(w->brokers[1].fetch_requests - requests < 60);
    /* And to be seen, the fetcher being sound. */
    assert_int_equal(look(w, p).leader_code, KERR_KAFKA_STORAGE_ERROR);
    assert_int_equal(look(w, q).leader_code, KERR_NONE);
    assert_int_equal(metrics_of(w).retried_fetches, 1);
    assert_int_equal(metrics_of(w).fetch_restarts, 0);
    w->brokers[1].refuse_error = 0;
    world_await_end(w, 2, p, 5);
    assert_int_equal(look(w, p).leader_code, KERR_NONE);
    assert_int_equal(metrics_of(w).retried_fetches, 0);
    world_free(w);
}

static void stopped_partition_is_forgotten(void **state)
{
    (void)state;
    struct world *w = two_brokers();
    struct world_partition *p = world_create(w, "orders", 0, both, 2);
    struct world_partition *q = world_create(w, "orders", 1, both, 2);
    append(w, p, 1);
    append(w, q, 1);
    world_await_end(w, 2, p, 1);
    world_await_end(w, 2, q, 1);
    assert_int_equal(world_stop_replica(w, 2, p, false, -1), KERR_NONE);
    append(w, p, 1);
    append(w, q, 1);
    world_await_end(w, 2, q, 2);
    world_pass(w, 3000);
    assert_int_equal(world_info(w, 2, p).log_end, 1);
    assert_int_equal(w->brokers[1].sessions[2].count, 1);
    world_free(w);
}

/* All replicas are led elsewhere: nothing is asked any more, and coming back works. */
static void fetcher_ends_with_its_last_partition(void **state)
{
    (void)state;
    struct world *w = two_brokers();
    struct world_partition *p = world_create(w, "orders", 0, both, 2);
    append(w, p, 1);
    world_await_end(w, 2, p, 1);
    p->leader = 2;
    world_announce(w, p, true);
    world_pass(w, 1000);
    int32_t requests = w->brokers[1].fetch_requests;
    world_pass(w, 5000);
    assert_int_equal(w->brokers[1].fetch_requests, requests);
    append(w, p, 1);
    world_await_end(w, 1, p, 2);
    world_assert_same_log(w, 1, 2, p);
    world_free(w);
}

/* LeaderAndIsr came before the metadata that names the leader's endpoint. */
static void leader_without_endpoint_is_fetched_once_it_is_known(void **state)
{
    (void)state;
    struct world *w = world_new(3, 2);
    world_start(w, 2);
    struct world_partition *p = world_create(w, "orders", 0, both, 2);
    world_pass(w, 1000);
    world_start(w, 1); /* tells replicas_metadata_changed */
    assert_int_equal(world_send(w, 1, p), KERR_NONE);
    append(w, p, 7);
    world_await_end(w, 2, p, 7);
    world_free(w);
}

/* The follower asks in the versions of its level; what it lost sight of it finds again. */
static void requests_have_the_versions_of_the_level(void **state)
{
    (void)state;
    static const struct {
        enum ibp level;
        int16_t fetch;
        int16_t offsets;
    } rows[] = {
        {IBP_2_2_IV0, 10, 4}, {IBP_2_4_IV1, 11, 5}, {IBP_2_8_IV1, 12, 6},
        {IBP_3_1_IV0, 13, 7}, {IBP_3_5_IV0, 14, 8}, {IBP_3_9_IV0, 17, 9},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct world *w = world_new(1, 2);
        w->level = rows[i].level;
        world_start(w, 1);
        world_start(w, 2);
        struct world_partition *p = world_create(w, "orders", 0, both, 2);
        append(w, p, 5);
        world_await_end(w, 2, p, 5);
        assert_int_equal(w->fetch_version, rows[i].fetch);
        assert_int_equal(world_stop_replica(w, 1, p, true, -1), KERR_NONE);
        world_announce(w, p, true); /* the leader is empty now: out of range, or diverged */
        world_await_end(w, 2, p, 0);
        append(w, p, 2);
        world_await_end(w, 2, p, 2);
        world_assert_same_log(w, 1, 2, p);
        if (w->offsets_version != 0) {
            assert_int_equal(w->offsets_version, rows[i].offsets);
        }
        world_free(w);
    }
}

/* The controller is of a level without ids: the leader would not know them. */
static void topics_are_named_where_the_cache_has_no_ids(void **state)
{
    (void)state;
    struct world *w = two_brokers();
    struct world_partition *p = world_create(w, "orders", 0, both, 2);
    append(w, p, 5);
    world_await_end(w, 2, p, 5);
    assert_int_equal(w->fetch_version, 17);
    w->lacks_topic_ids = true;
    append(w, p, 5);
    world_await_end(w, 2, p, 10);
    append(w, p, 5);
    world_await_end(w, 2, p, 15);
    assert_int_equal(w->fetch_version, 12);
    world_assert_same_log(w, 1, 2, p);
    world_free(w);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(follower_copies_byte_for_byte),
        cmocka_unit_test(session_names_only_what_changed),
        cmocka_unit_test(idle_partitions_cost_one_request_a_wait),
        cmocka_unit_test(added_partition_is_fetched_at_once),
        cmocka_unit_test(long_copy_has_a_connection_of_its_own),
        cmocka_unit_test(leader_without_sessions_gets_full_requests),
        cmocka_unit_test(follower_goes_on_after_the_leader_restarts),
        cmocka_unit_test(refused_partition_does_not_stop_the_others),
        cmocka_unit_test(stopped_partition_is_forgotten),
        cmocka_unit_test(fetcher_ends_with_its_last_partition),
        cmocka_unit_test(leader_without_endpoint_is_fetched_once_it_is_known),
        cmocka_unit_test(requests_have_the_versions_of_the_level),
        cmocka_unit_test(topics_are_named_where_the_cache_has_no_ids),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
