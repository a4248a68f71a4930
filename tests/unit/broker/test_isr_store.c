/*
 * In-sync sets that a leader of an old level writes itself: the state znode, the notification, and what
 * becomes of a write that somebody else was faster with.
 */
#include "broker/isr_store.h"

#include "base/check.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "bench.h"
#include "model/kerr.h"

#define BEFORE                                                                                     \
    "{\"controller_epoch\":1,\"leader\":1,\"version\":1,\"leader_epoch\":0,\"isr\":[1,2]}"
#define AFTER "{\"controller_epoch\":1,\"leader\":1,\"version\":1,\"leader_epoch\":0,\"isr\":[1]}"
#define STATE "/brokers/topics/t/partitions/0/state"

static const char *const settings[] = {"inter.broker.protocol.version", "2.7-IV1",
                                       "replica.lag.time.max.ms", "2000", NULL};

static void set(struct bench *b, enum metastore_op_kind kind, const char *path, const char *data)
{
    struct metastore_op op = {
        .kind = kind, .path = slice_str(path), .data = slice_str(data), .version = -1};
    metastore_multi(b->session, &op, 1, bench_root_made, NULL);
    bench_run(b, 10);
}

/* Broker 1 leads t-0; broker 2 is in sync and never heard of again. */
static void scene_start(struct bench *b)
{
    static const char *const nodes[] = {"/isr_change_notification",
                                        "/brokers",
                                        "/brokers/topics",
                                        "/brokers/topics/t",
                                        "/brokers/topics/t/partitions",
                                        "/brokers/topics/t/partitions/0"};
    bench_start(b, settings);
    for (size_t i = 0; i < ARRAY_LEN(nodes); i++) {
        set(b, METASTORE_CREATE, nodes[i], "");
    }
    set(b, METASTORE_CREATE, STATE, BEFORE);
    b->isr_store = broker_isr_store_new(sim_node_env(b->server), b->replicas);
    broker_isr_store_start(b->isr_store, b->session);
    struct bench_partition p = {.topic = "t",
                                .id = bench_uuid(1),
                                .leader = BENCH_BROKER,
                                .replicas = {BENCH_BROKER, BENCH_OTHER},
                                .replica_count = 2};
    assert_int_equal(bench_update_metadata(b, &p), 0);
    bench_leader_and_isr(b, &p);
    (void)bench_append(b, 1);
}

static void scene_stop(struct bench *b)
{
    broker_isr_store_stop(b->isr_store);
    struct broker_isr_store *store = b->isr_store;
    b->isr_store = NULL;
    bench_run(b, 1000);
    broker_isr_store_free(store);
    bench_stop(b);
}

struct seen {
    bool is_done;
    int err;
    int32_t version;
    int32_t child_count;
    char data[200];
};

static void seen_done(void *arg, const struct metastore_result *result)
{
    struct seen *seen = arg;
    seen->is_done = true;
    seen->err = result->err;
    seen->version = result->stat.version;
    seen->child_count = result->child_count;
    (void)snprintf(seen->data, sizeof seen->data, "%.*s", SLICE_ARG(result->data));
}

static bool seen_is_done(void *arg)
{
    const struct seen *seen = arg;
    return seen->is_done;
}

static struct seen look(struct bench *b, const char *path)
{
    struct seen seen = {0};
    metastore_get(b->session, slice_str(path), NULL, NULL, seen_done, &seen);
    assert_true(sim_world_run(b->world, BENCH_PATIENCE_MS, seen_is_done, &seen));
    return seen;
}

static int32_t notice_count(struct bench *b)
{
    struct seen seen = {0};
    metastore_children(b->session, slice_str("/isr_change_notification"), NULL, NULL, seen_done,
                       &seen);
    assert_true(sim_world_run(b->world, BENCH_PATIENCE_MS, seen_is_done, &seen));
    assert_int_equal(seen.err, 0);
    return seen.child_count;
}

static int32_t isr_count(struct bench *b)
{
    struct replicas_partition_info info;
    assert_true(replicas_partition_get(b->replicas, slice_str("t"), 0, &info));
    return info.isr_count;
}

static void changed_set_is_stored_and_told(void **state)
{
    (void)state;
    struct bench b = {0};
    scene_start(&b);
    assert_int_equal(isr_count(&b), 2);
    bench_run(&b, 5000);
    assert_int_equal(isr_count(&b), 1);
    struct seen node = look(&b, STATE);
    assert_string_equal(node.data, AFTER);
    assert_int_equal(node.version, 1);
    assert_int_equal(notice_count(&b), 1);
    assert_string_equal(look(&b, "/isr_change_notification/isr_change_0000000000").data,
                        "{\"version\":1,\"partitions\":[{\"topic\":\"t\",\"partition\":0}]}");
    bench_run(&b, 10000);
    assert_int_equal(look(&b, STATE).version, 1);
    assert_int_equal(notice_count(&b), 1);
    scene_stop(&b);
}

/* Our own write, whose answer was lost. */
static void what_is_stored_already_counts_as_written(void **state)
{
    (void)state;
    struct bench b = {0};
    scene_start(&b);
    set(&b, METASTORE_SET, STATE, AFTER);
    bench_run(&b, 5000);
    assert_int_equal(isr_count(&b), 1);
    assert_int_equal(look(&b, STATE).version, 1);
    assert_int_equal(notice_count(&b), 1);
    scene_stop(&b);
}

static void what_somebody_else_stored_is_left_alone(void **state)
{
    (void)state;
    static const char newer[] =
        "{\"controller_epoch\":2,\"leader\":2,\"version\":1,\"leader_epoch\":1,\"isr\":[2]}";
    struct bench b = {0};
    scene_start(&b);
    set(&b, METASTORE_SET, STATE, newer);
    bench_run(&b, 10000);
    assert_int_equal(isr_count(&b), 2);
    assert_string_equal(look(&b, STATE).data, newer);
    assert_int_equal(look(&b, STATE).version, 1);
    assert_int_equal(notice_count(&b), 0);
    scene_stop(&b);
}

static void state_that_is_gone_ends_it(void **state)
{
    (void)state;
    struct bench b = {0};
    scene_start(&b);
    set(&b, METASTORE_DELETE, STATE, "");
    bench_run(&b, 10000);
    assert_int_equal(isr_count(&b), 2);
    assert_int_equal(look(&b, STATE).err, -E_NOT_FOUND);
    assert_int_equal(notice_count(&b), 0);
    scene_stop(&b);
}

/* Without a session nothing is taken; with the next one it is. */
static void sets_wait_for_a_session(void **state)
{
    (void)state;
    struct bench b = {0};
    scene_start(&b);
    broker_isr_store_stop(b.isr_store);
    bench_run(&b, 6000);
    assert_int_equal(isr_count(&b), 2);
    broker_isr_store_start(b.isr_store, b.session);
    bench_run(&b, 2000);
    assert_int_equal(isr_count(&b), 1);
    assert_string_equal(look(&b, STATE).data, AFTER);
    scene_stop(&b);
}

static void state_changed(void *arg, struct slice path, const struct slice *data)
{
    bool *is_written = arg;
    *is_written = *is_written || (slice_equal_str(path, STATE) && data != NULL);
}

static bool is_set(void *arg)
{
    const bool *flag = arg;
    return *flag;
}

/* A broker that stops in order keeps its session until its logs are closed: the answer comes to nobody. */
static void an_answer_after_the_stop_is_nobodys(void **state)
{
    (void)state;
    struct bench b = {0};
    bool is_written = false;
    scene_start(&b);
    metastore_store_delay(b.store, metastore_session_id(b.session), 500);
    metastore_store_on_change(b.store, state_changed, &is_written);
    assert_true(sim_world_run(b.world, BENCH_PATIENCE_MS, is_set, &is_written));
    metastore_store_on_change(b.store, NULL, NULL);
    broker_isr_store_stop(b.isr_store); /* the answer is on its way */
    bench_run(&b, 1000);
    assert_string_equal(look(&b, STATE).data, AFTER);
    assert_int_equal(isr_count(&b), 2);
    assert_int_equal(notice_count(&b), 0);
    scene_stop(&b);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(changed_set_is_stored_and_told),
        cmocka_unit_test(what_is_stored_already_counts_as_written),
        cmocka_unit_test(what_somebody_else_stored_is_left_alone),
        cmocka_unit_test(state_that_is_gone_ends_it),
        cmocka_unit_test(sets_wait_for_a_session),
        cmocka_unit_test(an_answer_after_the_stop_is_nobodys),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
