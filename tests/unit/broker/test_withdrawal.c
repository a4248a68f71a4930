/*
 * Leaving the in-sync sets after a power loss: which sets, what is written, and that conflicts and lost
 * answers change nothing about the end.
 */
#include "broker/withdrawal.h"

#include "base/check.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "bench.h"
#include "metastore/znode.h"

#define PARTITIONS_MAX 400

struct scene {
    struct bench bench;
    struct broker_withdrawal *withdrawal;
    int32_t partitions; /* of the topic "t" in the metastore */
    int32_t done;
    char lines[1024];
    struct model_partition_state read; /* by scene_text */
};

static void on_done(void *arg)
{
    struct scene *s = arg;
    s->done++;
    broker_withdrawal_free(s->withdrawal);
    s->withdrawal = NULL;
}

static void on_line(void *arg, const char *line)
{
    struct scene *s = arg;
    size_t used = strlen(s->lines);
    (void)snprintf(s->lines + used, sizeof s->lines - used, "%s\n", line); /* cut is fine */
}

static void scene_start(struct scene *s)
{
    *s = (struct scene){0};
    bench_start(&s->bench, NULL);
}

static void scene_stop(struct scene *s)
{
    model_partition_state_deinit(&s->read);
    bench_stop(&s->bench);
}

static void put(struct scene *s, const char *path, struct slice data, bool is_new)
{
    struct metastore_op op = {.kind = is_new ? METASTORE_CREATE : METASTORE_SET,
                              .path = slice_str(path),
                              .data = data,
                              .version = -1};
    metastore_multi(s->bench.session, &op, 1, bench_root_made, NULL);
}

/* All partitions of "t" on both brokers. */
static void topic_put(struct scene *s, int32_t partitions)
{
    struct assignment assignments[PARTITIONS_MAX] = {0};
    for (int32_t i = 0; i < partitions; i++) {
        ids_set(&assignments[i].replicas, (int32_t[]){BENCH_BROKER, BENCH_OTHER}, 2);
    }
    struct model_topic topic = {
        .name = (char[]){"t"}, .partition_count = partitions, .partitions = assignments};
    struct buf json;
    buf_init(&json);
    metastore_topic_encode(&json, &topic, IBP_NEWEST);
    put(s, "/brokers/topics/t", buf_slice(&json), true);
    put(s, "/brokers/topics/t/partitions", SLICE_NULL, true);
    buf_deinit(&json);
    for (int32_t i = 0; i < partitions; i++) {
        ids_deinit(&assignments[i].replicas);
    }
    s->partitions = partitions;
}

static void state_put(struct scene *s, int32_t partition, int32_t leader, struct ids isr,
                      bool is_new)
{
    char path[64];
    struct model_partition_state state = {
        .controller_epoch = 6, .leader = leader, .leader_epoch = 3, .isr = isr};
    struct buf json;
    buf_init(&json);
    metastore_partition_state_encode(&json, &state);
    (void)snprintf(path, sizeof path, "/brokers/topics/t/partitions/%d", partition);
    if (is_new) {
        put(s, path, SLICE_NULL, true);
    }
    (void)snprintf(path, sizeof path, "/brokers/topics/t/partitions/%d/state", partition);
    put(s, path, buf_slice(&json), is_new);
    buf_deinit(&json);
}

static struct ids both = {.count = 2, .list = (int32_t[]){BENCH_BROKER, BENCH_OTHER}};
static struct ids ours = {.count = 1, .list = (int32_t[]){BENCH_BROKER}};
static struct ids others = {.count = 1, .list = (int32_t[]){BENCH_OTHER}};

static void withdraw_start(struct scene *s)
{
    struct broker_withdrawal_config config = {.env = sim_node_env(s->bench.server),
                                              .metastore = s->bench.session,
                                              .replicas = s->bench.replicas,
                                              .broker_id = BENCH_BROKER,
                                              .done = on_done,
                                              .arg = s,
                                              .log = on_line,
                                              .log_arg = s};
    s->withdrawal = broker_withdrawal_new(&config);
}

static void withdraw(struct scene *s)
{
    withdraw_start(s);
    bench_run(&s->bench, 5000);
    assert_int_equal(s->done, 1);
}

static void state_taken(void *arg, const struct metastore_result *result)
{
    struct scene *s = arg;
    struct errmsg em;
    assert_int_equal(result->err, 0);
    assert_int_equal(metastore_partition_state_decode(result->data, &s->read, &em), 0);
    s->read.version = result->stat.version;
}

/* "leader -1 epoch 4 isr 2 version 1" */
static const char *state_text(struct scene *s, int32_t partition)
{
    static char text[128];
    char path[64];
    (void)snprintf(path, sizeof path, "/brokers/topics/t/partitions/%d/state", partition);
    metastore_get(s->bench.session, slice_str(path), NULL, NULL, state_taken, s);
    bench_run(&s->bench, 100);
    int used =
        snprintf(text, sizeof text, "leader %d epoch %d isr", s->read.leader, s->read.leader_epoch);
    for (int32_t i = 0; i < s->read.isr.count; i++) {
        used += snprintf(text + used, sizeof text - (size_t)used, " %d", s->read.isr.list[i]);
    }
    (void)snprintf(text + used, sizeof text - (size_t)used, " version %d", s->read.version);
    assert_int_equal(s->read.controller_epoch, 6);
    return text;
}

static void shared_in_sync_sets_are_left_under_a_new_epoch(void **state)
{
    (void)state;
    struct scene s;
    scene_start(&s);
    topic_put(&s, 5);
    state_put(&s, 0, BENCH_BROKER, both, true);
    state_put(&s, 1, BENCH_OTHER, both, true);
    state_put(&s, 2, BENCH_BROKER, ours, true);
    state_put(&s, 3, BENCH_OTHER, others, true); /* partition 4 has no state yet */
    withdraw(&s);
    assert_string_equal(state_text(&s, 0), "leader -1 epoch 4 isr 2 version 1");
    assert_string_equal(state_text(&s, 1), "leader 2 epoch 4 isr 2 version 1");
    assert_string_equal(state_text(&s, 2), "leader 1 epoch 3 isr 1 version 0");
    assert_string_equal(state_text(&s, 3), "leader 2 epoch 3 isr 2 version 0");
    assert_string_equal(s.lines, "t-2: this broker is the only one in sync, and may lack records\n"
                                 "records may be lost here: left 2 in-sync sets\n");
    scene_stop(&s);
}

/* Whether the lost write was done or not is found out by reading. */
static void unknown_outcomes_are_read_back(void **state)
{
    (void)state;
    for (int is_applied = 0; is_applied <= 1; is_applied++) {
        struct scene s;
        scene_start(&s);
        topic_put(&s, 1);
        state_put(&s, 0, BENCH_BROKER, both, true);
        bench_run(&s.bench, 100);
        metastore_store_lose_write(s.bench.store, metastore_session_id(s.bench.session),
                                   is_applied == 1);
        withdraw(&s);
        assert_string_equal(state_text(&s, 0), "leader -1 epoch 4 isr 2 version 1");
        scene_stop(&s);
    }
}

/* Somebody else writes each state after it was read, and before it is written. */
static void conflicts_are_read_again(void **state)
{
    (void)state;
    struct scene s;
    scene_start(&s);
    topic_put(&s, 1);
    state_put(&s, 0, BENCH_BROKER, both, true);
    bench_run(&s.bench, 100);
    withdraw_start(&s);
    for (int i = 0; i < 40; i++) {
        state_put(&s, 0, BENCH_OTHER, both, false);
        (void)sim_world_step(s.bench.world);
    }
    bench_run(&s.bench, 5000);
    assert_int_equal(s.done, 1);
    assert_string_equal(state_text(&s, 0), "leader 2 epoch 4 isr 2 version 41");
    scene_stop(&s);
}

static void any_number_of_partitions_is_left(void **state)
{
    (void)state;
    struct scene s;
    scene_start(&s);
    topic_put(&s, PARTITIONS_MAX);
    for (int32_t i = 0; i < PARTITIONS_MAX; i++) {
        state_put(&s, i, BENCH_BROKER, both, true);
    }
    withdraw(&s);
    for (int32_t i = 0; i < PARTITIONS_MAX; i++) {
        assert_string_equal(state_text(&s, i), "leader -1 epoch 4 isr 2 version 1");
    }
    scene_stop(&s);
}

/* One directory is fine; what lies there keeps its place. What lies nowhere may have been lost. */
static void sound_directories_do_not_count(void **state)
{
    (void)state;
    struct scene s;
    scene_start(&s);
    bench_lead(&s.bench); /* partition 0 is made here */
    replicas_accept_records(s.bench.replicas);
    assert_false(replicas_any_may_lack_records(s.bench.replicas));
    topic_put(&s, 2);
    state_put(&s, 0, BENCH_BROKER, both, true);
    state_put(&s, 1, BENCH_BROKER, both, true);
    withdraw(&s);
    assert_string_equal(state_text(&s, 0), "leader 1 epoch 3 isr 1 2 version 0");
    assert_string_equal(state_text(&s, 1), "leader -1 epoch 4 isr 2 version 1");
    scene_stop(&s);
}

static void what_cannot_be_read_is_told_and_passed_over(void **state)
{
    (void)state;
    struct scene s;
    scene_start(&s);
    topic_put(&s, 1);
    put(&s, "/brokers/topics/t/partitions/0", SLICE_NULL, true);
    put(&s, "/brokers/topics/t/partitions/0/state", slice_str("{"), true);
    put(&s, "/brokers/topics/u", slice_str("["), true);
    withdraw(&s);
    assert_non_null(strstr(s.lines, "topic u: "));
    assert_non_null(strstr(s.lines, "state of t-0: "));
    scene_stop(&s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(shared_in_sync_sets_are_left_under_a_new_epoch),
        cmocka_unit_test(unknown_outcomes_are_read_back),
        cmocka_unit_test(conflicts_are_read_again),
        cmocka_unit_test(any_number_of_partitions_is_left),
        cmocka_unit_test(sound_directories_do_not_count),
        cmocka_unit_test(what_cannot_be_read_is_told_and_passed_over),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
