/*
 * Fetch over the wire: limits, waiting, epochs, topic ids and incremental sessions. The records that
 * arrive are the bytes that lie in the log, sent from the file.
 */
#include "base/check.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "bench.h"
#include "model/kerr.h"

typedef const struct wire_fetch_response_responses_partitions *partition_ptr;

/* One partition of "t" (id 1) and how it is fetched. */
struct ask {
    int16_t version;
    int32_t partition;
    int64_t offset;
    int32_t partition_bytes;
    int32_t bytes;
    int32_t min_bytes;
    int32_t wait_ms;
    int32_t session_id;
    int32_t session_epoch;
    int32_t leader_epoch;
    int32_t last_fetched_epoch;
    struct uuid id;
    bool has_no_topics;
};

static struct ask ask_default(void)
{
    return (struct ask){
        .version = 12,
        .partition_bytes = 1 << 20,
        .bytes = 1 << 20,
        .min_bytes = 1,
        .session_epoch = -1,
        .leader_epoch = -1,
        .last_fetched_epoch = -1,
        .id = bench_uuid(1),
    };
}

/* The request's arrays; must live until the call returns. */
struct asking {
    struct wire_fetch_request_topics_partitions partition;
    struct wire_fetch_request_topics topic;
    struct wire_fetch_request req;
};

static void asking_fill(struct asking *a, const struct ask *ask)
{
    wire_fetch_request_init(&a->req);
    wire_fetch_request_topics_init(&a->topic);
    wire_fetch_request_topics_partitions_init(&a->partition);
    a->partition.partition = ask->partition;
    a->partition.fetch_offset = ask->offset;
    a->partition.partition_max_bytes = ask->partition_bytes;
    a->partition.current_leader_epoch = ask->leader_epoch;
    a->partition.last_fetched_epoch = ask->last_fetched_epoch;
    a->topic.topic = slice_str("t");
    a->topic.topic_id = ask->id;
    a->topic.partitions = &a->partition;
    a->topic.partitions_count = 1;
    a->req.max_wait_ms = ask->wait_ms;
    a->req.min_bytes = ask->min_bytes;
    a->req.max_bytes = ask->bytes;
    a->req.session_id = ask->session_id;
    a->req.session_epoch = ask->session_epoch;
    a->req.topics = &a->topic;
    a->req.topics_count = ask->has_no_topics ? 0 : 1;
}

static const struct wire_fetch_response *fetch(struct bench *b, const struct ask *ask)
{
    struct asking a;
    asking_fill(&a, ask);
    const struct wire_fetch_response *resp = bench_call(b, WIRE_KEY_FETCH, ask->version, &a.req);
    assert_non_null(resp);
    return resp;
}

static partition_ptr only_partition(const struct wire_fetch_response *resp)
{
    assert_int_equal(resp->error_code, KERR_NONE);
    assert_int_equal(resp->responses_count, 1);
    assert_int_equal(resp->responses[0].partitions_count, 1);
    return &resp->responses[0].partitions[0];
}

static int batch_count(const struct wire_records *records)
{
    struct slice bytes = slice_of(records->ptr, records->len);
    struct record_batch batch;
    int count = 0;
    while (record_batch_next(&bytes, &batch, NULL) == 1) {
        count++;
    }
    assert_int_equal(bytes.len, 0);
    return count;
}

static void every_version_returns_what_was_appended(void **state)
{
    (void)state;
    struct bench b = {0};
    bench_start(&b, NULL);
    bench_lead(&b);
    bench_append(&b, 2);
    bench_append(&b, 3);
    for (int16_t version = 4; version <= 17; version++) {
        struct ask ask = ask_default();
        ask.version = version;
        const struct wire_fetch_response *resp = fetch(&b, &ask);
        partition_ptr p = only_partition(resp);
        assert_int_equal(p->error_code, KERR_NONE);
        assert_int_equal(p->high_watermark, 5);
        assert_int_equal(p->last_stable_offset, 5);
        assert_int_equal(batch_count(&p->records), 2);
        struct record_batch batch;
        assert_int_equal(record_batch_parse(slice_of(p->records.ptr, p->records.len), &batch), 0);
        assert_int_equal(batch.base_offset, 0);
        assert_int_equal(batch.leader_epoch, 3);
        assert_int_equal(resp->session_id, 0);
    }
    bench_stop(&b);
}

static void limits_cut_at_batches_but_the_first_is_whole(void **state)
{
    (void)state;
    struct bench b = {0};
    bench_start(&b, NULL);
    bench_lead(&b);
    bench_append(&b, 5);
    bench_append(&b, 5);
    size_t one = bench_records(&b, 5).len;
    struct ask ask = ask_default();
    ask.partition_bytes = 1;
    assert_int_equal(only_partition(fetch(&b, &ask))->records.len, one);
    ask.partition_bytes = (int32_t)(2 * one - 1);
    assert_int_equal(only_partition(fetch(&b, &ask))->records.len, one);
    ask.partition_bytes = (int32_t)(2 * one);
    assert_int_equal(only_partition(fetch(&b, &ask))->records.len, 2 * one);
    ask.bytes = 1;
    assert_int_equal(only_partition(fetch(&b, &ask))->records.len, one);
    ask.offset = 7;
    assert_int_equal(only_partition(fetch(&b, &ask))->records.len, one);
    bench_stop(&b);
}

static void errors_are_told_at_once_with_their_code(void **state)
{
    (void)state;
    struct bench b = {0};
    bench_start(&b, NULL);
    bench_lead(&b);
    bench_append(&b, 2);
    struct ask base = ask_default();
    base.wait_ms = 50000;
    base.min_bytes = 1 << 20;
    struct ask beyond = base;
    beyond.offset = 3;
    struct ask fenced = base;
    fenced.leader_epoch = 2;
    struct ask early = base;
    early.leader_epoch = 4;
    struct ask missing = base;
    missing.partition = 8;
    struct ask unknown_id = base;
    unknown_id.version = 13;
    unknown_id.id = bench_uuid(9);
    const struct {
        const struct ask *ask;
        int16_t code;
    } rows[] = {
        {&beyond, KERR_OFFSET_OUT_OF_RANGE},  {&fenced, KERR_FENCED_LEADER_EPOCH},
        {&early, KERR_UNKNOWN_LEADER_EPOCH},  {&missing, KERR_UNKNOWN_TOPIC_OR_PARTITION},
        {&unknown_id, KERR_UNKNOWN_TOPIC_ID},
    };
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        int64_t before = sim_world_now_ms(b.world);
        partition_ptr p = only_partition(fetch(&b, rows[i].ask));
        assert_int_equal(p->error_code, rows[i].code);
        assert_int_equal(p->high_watermark, -1);
        assert_non_null(p->records.ptr);
        assert_int_equal(p->records.len, 0);
        assert_true(sim_world_now_ms(b.world) - before < 1000);
    }
    bench_stop(&b);
}

static void empty_fetch_waits_for_max_wait(void **state)
{
    (void)state;
    struct bench b = {0};
    bench_start(&b, NULL);
    bench_lead(&b);
    struct ask ask = ask_default();
    ask.wait_ms = 700;
    int64_t before = sim_world_now_ms(b.world);
    partition_ptr p = only_partition(fetch(&b, &ask));
    int64_t took = sim_world_now_ms(b.world) - before;
    assert_true(took >= 700 && took < 900);
    assert_int_equal(p->error_code, KERR_NONE);
    assert_non_null(p->records.ptr);
    assert_int_equal(p->records.len, 0);
    bench_stop(&b);
}

/* A second connection appends while the first waits. */
static void waiting_fetch_is_woken_by_an_append(void **state)
{
    (void)state;
    struct bench b = {0};
    bench_start(&b, NULL);
    bench_lead(&b);
    struct ask ask = ask_default();
    ask.wait_ms = 50000;
    struct asking a;
    asking_fill(&a, &ask);
    struct bench_call call = {.key = WIRE_KEY_FETCH, .version = 12};
    bench_call_start(&b, &call, &a.req);
    bench_run(&b, 500);
    assert_false(call.is_done);
    struct net_peer *waiting = b.peer;
    b.peer = bench_peer_new(&b);
    bench_append(&b, 1);
    bench_run(&b, 10);
    assert_true(call.is_done);
    assert_int_equal(batch_count(&only_partition(call.resp)->records), 1);
    net_peer_free(waiting);
    bench_stop(&b);
}

/* Row 26, of Fetch. */
static void waiting_fetch_ends_when_its_replica_is_stopped(void **state)
{
    (void)state;
    for (int is_deleted = 0; is_deleted <= 1; is_deleted++) {
        struct bench b = {0};
        bench_start(&b, NULL);
        bench_lead(&b);
        struct ask ask = ask_default();
        ask.wait_ms = 50000;
        struct asking a;
        asking_fill(&a, &ask);
        struct bench_call call = {.key = WIRE_KEY_FETCH, .version = 12};
        bench_call_start(&b, &call, &a.req);
        bench_run(&b, 500);
        assert_false(call.is_done);
        struct net_peer *waiting = b.peer;
        b.peer = bench_peer_new(&b);
        bench_stop_replica(&b, 4, is_deleted != 0);
        bench_run(&b, 10);
        assert_true(call.is_done);
        assert_int_equal(only_partition(call.resp)->error_code, KERR_NOT_LEADER_OR_FOLLOWER);
        net_peer_free(waiting);
        bench_stop(&b);
    }
}

/* The connection of a waiting fetch goes: nothing of it is left to be woken. */
static void abandoned_fetch_is_forgotten(void **state)
{
    (void)state;
    struct bench b = {0};
    bench_start(&b, NULL);
    bench_lead(&b);
    struct ask ask = ask_default();
    ask.wait_ms = 5000;
    ask.session_epoch = 0;
    struct asking a;
    asking_fill(&a, &ask);
    struct bench_call call = {.key = WIRE_KEY_FETCH, .version = 12};
    bench_call_start(&b, &call, &a.req);
    bench_run(&b, 500);
    net_peer_reset(b.peer);
    bench_run(&b, 500);
    assert_int_equal(call.err, -E_CLOSED);
    bench_append(&b, 1);
    bench_run(&b, 10000);
    bench_stop(&b);
}

/* -1 = none: the answer names the end of an epoch the follower must cut back to. */
static void diverging_follower_is_told_where_to_cut(void **state)
{
    (void)state;
    struct bench b = {0};
    bench_start(&b, NULL);
    bench_lead(&b);
    bench_append(&b, 2);
    struct ask ask = ask_default();
    ask.offset = 2;
    ask.last_fetched_epoch = 1;
    ask.wait_ms = 50000;
    partition_ptr p = only_partition(fetch(&b, &ask));
    assert_int_equal(p->error_code, KERR_NONE);
    assert_int_equal(p->diverging_epoch.end_offset, 0);
    assert_int_equal(p->records.len, 0);
    bench_stop(&b);
}

static void session_tells_only_what_changed(void **state)
{
    (void)state;
    struct bench b = {0};
    bench_start(&b, NULL);
    bench_lead(&b);
    bench_append(&b, 1);
    struct ask ask = ask_default();
    ask.session_epoch = 0;
    const struct wire_fetch_response *resp = fetch(&b, &ask);
    int32_t id = resp->session_id;
    assert_true(id > 0);
    assert_int_equal(batch_count(&only_partition(resp)->records), 1);

    ask.session_id = id;
    ask.session_epoch = 1;
    ask.offset = 1;
    resp = fetch(&b, &ask);
    assert_int_equal(resp->session_id, id);
    assert_int_equal(resp->responses_count, 0);

    bench_append(&b, 1);
    ask.session_epoch = 2;
    ask.has_no_topics = true;
    resp = fetch(&b, &ask);
    assert_int_equal(batch_count(&only_partition(resp)->records), 1);
    assert_int_equal(only_partition(resp)->high_watermark, 2);
    bench_stop(&b);
}

/* What is idle is left unread until it changes, and then it is told although nobody names it again. */
static void idle_partition_of_a_session_wakes_its_waiting_fetch(void **state)
{
    (void)state;
    struct bench b = {0};
    bench_start(&b, NULL);
    bench_lead(&b);
    struct ask ask = ask_default();
    ask.session_epoch = 0;
    int32_t id = fetch(&b, &ask)->session_id;
    ask.session_id = id;
    ask.has_no_topics = true;
    for (int32_t epoch = 1; epoch <= 3; epoch++) {
        ask.session_epoch = epoch;
        assert_int_equal(fetch(&b, &ask)->responses_count, 0);
    }
    ask.session_epoch = 4;
    ask.wait_ms = 50000;
    struct asking a;
    asking_fill(&a, &ask);
    struct bench_call call = {.key = WIRE_KEY_FETCH, .version = 12};
    bench_call_start(&b, &call, &a.req);
    bench_run(&b, 500);
    assert_false(call.is_done);
    struct net_peer *waiting = b.peer;
    b.peer = bench_peer_new(&b);
    bench_append(&b, 1);
    bench_run(&b, 10);
    assert_true(call.is_done);
    assert_int_equal(batch_count(&only_partition(call.resp)->records), 1);
    net_peer_free(waiting);
    bench_stop(&b);
}

/* Records that are not in memory are as ones that have not come yet, with a session and without. */
static void fetch_waits_for_records_that_are_not_in_memory(void **state)
{
    (void)state;
    for (int has_session = 0; has_session <= 1; has_session++) {
        struct bench b = {0};
        bench_start(&b, NULL);
        bench_lead(&b);
        bench_append(&b, 200);
        sim_disk_slow(b.server, 1000);
        sim_disk_chill(b.server, 100);
        struct ask ask = ask_default();
        ask.session_epoch = has_session != 0 ? 0 : -1;
        partition_ptr p = only_partition(fetch(&b, &ask));
        assert_int_equal(p->error_code, KERR_NONE);
        assert_int_equal(p->high_watermark, 200);
        assert_int_equal(p->records.len, 0);
        ask.wait_ms = 50000;
        int64_t before = sim_world_now_ms(b.world);
        p = only_partition(fetch(&b, &ask));
        assert_int_equal(batch_count(&p->records), 1);
        assert_in_range(sim_world_now_ms(b.world) - before, 1, 10000);
        assert_int_equal(sim_disk_cold_sends(b.server), 0);
        bench_stop(&b);
    }
}

static void wrong_sessions_are_refused_as_a_whole(void **state)
{
    (void)state;
    struct bench b = {0};
    bench_start(&b, NULL);
    bench_lead(&b);
    struct ask ask = ask_default();
    ask.session_epoch = 0;
    int32_t id = fetch(&b, &ask)->session_id;
    struct ask unknown = ask;
    unknown.session_id = id == 1 ? 2 : 1;
    unknown.session_epoch = 1;
    struct ask epoch = ask;
    epoch.session_id = id;
    epoch.session_epoch = 2;
    struct ask by_id = epoch;
    by_id.version = 13;
    by_id.session_epoch = 1;
    const struct {
        const struct ask *ask;
        int16_t code;
    } rows[] = {
        {&unknown, KERR_FETCH_SESSION_ID_NOT_FOUND},
        {&epoch, KERR_INVALID_FETCH_SESSION_EPOCH},
        {&by_id, KERR_FETCH_SESSION_TOPIC_ID_ERROR},
    };
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        const struct wire_fetch_response *resp = fetch(&b, rows[i].ask);
        assert_int_equal(resp->error_code, rows[i].code);
        assert_int_equal(resp->responses_count, 0);
        assert_int_equal(resp->session_id, 0);
    }
    /* (id, -1) closes it and answers in full. */
    struct ask close = ask;
    close.session_id = id;
    close.session_epoch = -1;
    assert_int_equal(fetch(&b, &close)->session_id, 0);
    epoch.session_epoch = 1;
    assert_int_equal(fetch(&b, &epoch)->error_code, KERR_FETCH_SESSION_ID_NOT_FOUND);
    bench_stop(&b);
}

static void sessions_are_declined_without_slots(void **state)
{
    (void)state;
    static const char *const settings[] = {"max.incremental.fetch.session.cache.slots", "0", NULL};
    struct bench b = {0};
    bench_start(&b, settings);
    bench_lead(&b);
    struct ask ask = ask_default();
    ask.session_epoch = 0;
    const struct wire_fetch_response *resp = fetch(&b, &ask);
    assert_int_equal(resp->session_id, 0);
    assert_int_equal(only_partition(resp)->error_code, KERR_NONE);
    bench_stop(&b);
}

/* Below version 10 a partition that holds zstd is refused, others are not. */
static void zstd_is_kept_from_clients_that_cannot_read_it(void **state)
{
    (void)state;
    struct bench b = {0};
    bench_start(&b, NULL);
    bench_lead(&b);
    struct bench_produce p = {.topic = "t",
                              .acks = 1,
                              .version = 7,
                              .records = bench_records_of(&b, 3, RECORD_CODEC_LZ4)};
    assert_int_equal(bench_produce(&b, &p)->error_code, KERR_NONE);
    struct ask ask = ask_default();
    ask.version = 9;
    assert_int_equal(only_partition(fetch(&b, &ask))->error_code, KERR_NONE);
    p.records = bench_records_of(&b, 3, RECORD_CODEC_ZSTD);
    assert_int_equal(bench_produce(&b, &p)->error_code, KERR_NONE);
    partition_ptr partition = only_partition(fetch(&b, &ask));
    assert_int_equal(partition->error_code, KERR_UNSUPPORTED_COMPRESSION_TYPE);
    assert_int_equal(partition->records.len, 0);
    ask.version = 10;
    assert_int_equal(batch_count(&only_partition(fetch(&b, &ask))->records), 2);
    p.version = 6;
    p.records = bench_records_of(&b, 3, RECORD_CODEC_ZSTD);
    assert_int_equal(bench_produce(&b, &p)->error_code, KERR_UNSUPPORTED_COMPRESSION_TYPE);
    bench_stop(&b);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_version_returns_what_was_appended),
        cmocka_unit_test(limits_cut_at_batches_but_the_first_is_whole),
        cmocka_unit_test(errors_are_told_at_once_with_their_code),
        cmocka_unit_test(empty_fetch_waits_for_max_wait),
        cmocka_unit_test(waiting_fetch_is_woken_by_an_append),
        cmocka_unit_test(waiting_fetch_ends_when_its_replica_is_stopped),
        cmocka_unit_test(abandoned_fetch_is_forgotten),
        cmocka_unit_test(diverging_follower_is_told_where_to_cut),
        cmocka_unit_test(session_tells_only_what_changed),
        cmocka_unit_test(idle_partition_of_a_session_wakes_its_waiting_fetch),
        cmocka_unit_test(fetch_waits_for_records_that_are_not_in_memory),
        cmocka_unit_test(wrong_sessions_are_refused_as_a_whole),
        cmocka_unit_test(sessions_are_declined_without_slots),
        cmocka_unit_test(zstd_is_kept_from_clients_that_cannot_read_it),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
