/*
 * What a plan costs, against a small cluster: foo has three partitions on [1,2,3], led by 1; sizes are given
 * by hand.
 */
#include "cli/estimate.h"

#include "base/alloc.h"
#include "base/check.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

static const int32_t old_list[] = {1, 2, 3};
static const struct klamm_partition partitions[] = {
    {.index = 0, .leader_id = 1, .replicas = {old_list, 3}},
    {.index = 1, .leader_id = 1, .replicas = {old_list, 3}},
    {.index = 2, .leader_id = -1, .replicas = {old_list, 3}},
};
static const struct klamm_topic topic_rows[] = {
    {.name = "foo", .partition_count = 3, .partitions = partitions}};
static const struct klamm_topics topics = {.count = 1, .list = topic_rows};
static const struct klamm_broker brokers[] = {
    {.id = 1}, {.id = 2}, {.id = 3}, {.id = 4}, {.id = 5}};
static const struct klamm_cluster cluster = {
    .controller_id = 1, .broker_count = 5, .brokers = brokers};

static struct klamm_log logs[] = {{.topic = "foo", .partition = 0, .size = 1000, .write_rate = -1},
                                  {.topic = "foo", .partition = 1, .size = 3000, .write_rate = -1},
                                  {.topic = "foo", .partition = 2, .size = 500, .write_rate = -1}};
static struct klamm_log grown_logs[] = {
    {.topic = "foo", .partition = 0, .size = 3000, .write_rate = -1},
    {.topic = "foo", .partition = 1, .size = 3000, .write_rate = -1},
    {.topic = "foo", .partition = 2, .size = 500, .write_rate = -1}};
static struct klamm_log partial_log[] = {
    {.topic = "foo", .partition = 1, .size = 700, .write_rate = -1}};

struct sizes {
    struct klamm_log_dir dir[6];
    struct klamm_log_dirs dirs[6];
    struct cli_disks disks;
};

/* Brokers 1 to 3 hold the logs, 4 and 5 have the room; 4 has 700 bytes of foo-1. */
static void sizes_init(struct sizes *s, const struct klamm_log *held, int64_t room)
{
    cli_disks_init(&s->disks);
    for (int32_t id = 1; id <= 5; id++) {
        s->dir[id] = (struct klamm_log_dir){.path = "/d",
                                            .total_bytes = 10000,
                                            .usable_bytes = room,
                                            .log_count = id <= 3   ? 3
                                                         : id == 4 ? 1
                                                                   : 0,
                                            .logs = id <= 3 ? held : partial_log};
        s->dirs[id] = (struct klamm_log_dirs){.count = 1, .list = &s->dir[id]};
        cli_disks_add(&s->disks, id, &s->dirs[id]);
    }
    cli_disks_finish(&s->disks);
}

static void sizes_deinit(struct sizes *s)
{
    for (int32_t i = 0; i < s->disks.broker_count; i++) {
        s->disks.brokers[i].dirs = NULL; /* not on the heap */
    }
    cli_disks_deinit(&s->disks);
}

static struct cli_plan *plan_of(const char *text)
{
    struct cli_plan_rules rules = {.is_strict = true};
    struct cli_faults faults;
    cli_faults_init(&faults);
    struct cli_plan *plan = cli_plan_parse(slice_str(text), &rules, &faults);
    assert_int_equal(faults.error_count, 0);
    cli_faults_deinit(&faults);
    return plan;
}

#define ENTRY(partition, list)                                                                     \
    "{\"topic\":\"foo\",\"partition\":" partition ",\"replicas\":" list "}"
#define PLAN(entries) "{\"partitions\":[" entries "]}"

static const struct cli_estimate_broker *broker(const struct cli_estimate *e, int32_t id)
{
    for (int32_t i = 0; i < e->broker_count; i++) {
        if (e->brokers[i].id == id) {
            return &e->brokers[i];
        }
    }
    fail_msg("broker %d is not in the estimate", id);
    return NULL;
}

static void bytes_leaders_and_time_are_summed(void **state)
{
    (void)state;
    struct sizes sizes;
    sizes_init(&sizes, logs, 100000);
    struct cli_plan *plan =
        plan_of(PLAN(ENTRY("0", "[4,5]") "," ENTRY("1", "[1,2,4]") "," ENTRY("2", "[1,2,3]")));
    struct cli_estimate_input input = {
        .plan = plan, .cluster = &cluster, .topics = &topics, .disks = &sizes.disks, .rate = 100};
    struct cli_estimate *e = cli_estimate_new(&input);
    assert_int_equal(e->entry_count, 3);
    assert_int_equal(e->change_count, 2);
    assert_int_equal(e->copy_count, 3);
    assert_int_equal(e->bytes_to_copy, 1000 + 1000 + 2300);
    assert_int_equal(e->leader_change_count, 1);
    assert_int_equal(e->preferred_change_count, 1);
    assert_int_equal(e->factor_change_count, 1);
    assert_int_equal(e->reorder_count, 0);
    assert_int_equal(broker(e, 1)->bytes_out, 4300);
    assert_int_equal(broker(e, 1)->replicas_out, 1);
    assert_int_equal(broker(e, 1)->leaders_out, 1);
    assert_int_equal(broker(e, 1)->bytes_freed, 1000);
    assert_int_equal(broker(e, 3)->replicas_out, 2);
    assert_int_equal(broker(e, 3)->bytes_freed, 4000);
    assert_int_equal(broker(e, 4)->bytes_in, 3300);
    assert_int_equal(broker(e, 4)->replicas_in, 2);
    assert_int_equal(broker(e, 4)->leaders_in, 1);
    assert_int_equal(broker(e, 5)->bytes_in, 1000);
    assert_int_equal(e->seconds, 43);
    assert_int_equal(e->warning_count, 1); /* the rate is below 1024 */
    assert_non_null(strstr(e->warnings[0], "only 100 bytes a second"));
    cli_estimate_free(e);
    cli_plan_free(plan);
    sizes_deinit(&sizes);
}

static void warnings_name_room_leaders_and_dead_targets(void **state)
{
    (void)state;
    struct sizes sizes;
    sizes_init(&sizes, logs, 900);
    struct cli_plan *plan = plan_of(PLAN(ENTRY("0", "[1,2,4]") "," ENTRY("2", "[1,2,6]")));
    struct cli_estimate_input input = {
        .plan = plan, .cluster = &cluster, .topics = &topics, .disks = &sizes.disks, .rate = -1};
    struct cli_estimate *e = cli_estimate_new(&input);
    assert_int_equal(e->seconds, -1);
    assert_int_equal(e->warning_count, 3);
    assert_string_equal(e->warnings[0], "foo-2 has no leader: its move waits until it has one");
    assert_string_equal(e->warnings[1],
                        "broker 4 has not enough room: 1.0 kB come, 900 B are free");
    assert_string_equal(e->warnings[2], "broker 6 is down: what goes to it waits until it is back");
    assert_false(broker(e, 6)->is_up);
    cli_estimate_free(e);
    cli_plan_free(plan);
    sizes_deinit(&sizes);
}

/* Where one end of a copy is a klamm broker, it holds. */
static void copies_that_obey_no_limit_are_warned_of(void **state)
{
    (void)state;
    struct sizes sizes;
    sizes_init(&sizes, logs, 100000);
    struct cli_plan *plan =
        plan_of(PLAN(ENTRY("0", "[1,4,5]") "," ENTRY("1", "[3,2,1]") "," ENTRY("2", "[1,2,4]")));
    struct cli_estimate_input input = {
        .plan = plan, .cluster = &cluster, .topics = &topics, .disks = &sizes.disks, .rate = -1};
    struct cli_estimate *e = cli_estimate_new(&input);
    assert_int_equal(e->warning_count, 1); /* no leader */
    cli_estimate_free(e);
    input.has_limits = true;
    e = cli_estimate_new(&input);
    assert_int_equal(e->warning_count, 2);
    assert_string_equal(e->warnings[0],
                        "foo-0: no throttle or pause holds for its copy to broker 4,5: like its "
                        "leader, broker 1, that is an Apache Kafka broker");
    cli_estimate_free(e);
    sizes.disks.brokers[3].is_klamm = true; /* broker 4 */
    e = cli_estimate_new(&input);
    assert_int_equal(e->warning_count, 2);
    assert_non_null(strstr(e->warnings[0], "copy to broker 5: "));
    cli_estimate_free(e);
    sizes.disks.brokers[0].is_klamm = true; /* the leader */
    e = cli_estimate_new(&input);
    assert_int_equal(e->warning_count, 1);
    cli_estimate_free(e);
    cli_plan_free(plan);
    sizes_deinit(&sizes);
}

/* S13: both numbers, before anything starts. */
static void writes_above_the_rate_are_warned_of(void **state)
{
    (void)state;
    struct sizes before;
    struct sizes after;
    sizes_init(&before, logs, 100000);
    sizes_init(&after, grown_logs, 100000);
    struct cli_plan *plan = plan_of(PLAN(ENTRY("0", "[1,4,5]") "," ENTRY("1", "[1,2,4]")));
    struct cli_estimate_input input = {.plan = plan,
                                       .cluster = &cluster,
                                       .topics = &topics,
                                       .disks = &after.disks,
                                       .earlier = &before.disks,
                                       .elapsed_ms = 500,
                                       .rate = 5000};
    struct cli_estimate *e = cli_estimate_new(&input);
    assert_int_equal(e->warning_count, 1);
    assert_string_equal(
        e->warnings[0],
        "foo-0 will not converge: incoming 4.0 kB/s for each of 2 new replicas over "
        "limit 5.0 kB/s; the rate can be raised while it moves");
    cli_estimate_free(e);
    input.is_one_at_a_time = true;
    e = cli_estimate_new(&input);
    assert_int_equal(e->warning_count, 0);
    cli_estimate_free(e);
    input.rate = 3999;
    e = cli_estimate_new(&input);
    assert_int_equal(e->warning_count, 1);
    assert_non_null(strstr(e->warnings[0], "incoming 4.0 kB/s over limit 3.9 kB/s"));
    cli_estimate_free(e);
    cli_plan_free(plan);
    sizes_deinit(&before);
    sizes_deinit(&after);
}

/* A move that runs: what it has brought is not copied again, its own target is no change. */
static void running_moves_count_from_where_they_are(void **state)
{
    (void)state;
    static const int32_t all[] = {1, 2, 4, 3};
    static const int32_t adding[] = {4};
    static const int32_t removing[] = {3};
    struct klamm_partition moving[] = {partitions[0], partitions[1], partitions[2]};
    moving[1].replicas = (struct klamm_ids){all, 4};
    struct klamm_topic row = {.name = "foo", .partition_count = 3, .partitions = moving};
    struct klamm_topics now = {.count = 1, .list = &row};
    struct klamm_reassignment move = {.topic = "foo",
                                      .partition = 1,
                                      .replicas = {all, 4},
                                      .adding = {adding, 1},
                                      .removing = {removing, 1}};
    struct klamm_reassignments running = {.count = 1, .list = &move};
    struct sizes sizes;
    sizes_init(&sizes, logs, 100000);
    struct cli_plan *same = plan_of(PLAN(ENTRY("1", "[1,2,4]")));
    struct cli_plan *other = plan_of(PLAN(ENTRY("1", "[5,4,1]")));
    struct cli_plan *back = plan_of(PLAN(ENTRY("1", "[1,2,3]")));
    struct cli_estimate_input input = {.plan = same,
                                       .cluster = &cluster,
                                       .topics = &now,
                                       .running = &running,
                                       .disks = &sizes.disks,
                                       .rate = -1};
    struct cli_estimate *e = cli_estimate_new(&input);
    assert_int_equal(e->change_count, 0);
    assert_int_equal(e->moving_count, 1);
    cli_estimate_free(e);
    input.plan = other;
    e = cli_estimate_new(&input);
    assert_int_equal(e->change_count, 1);
    assert_int_equal(e->bytes_to_copy, 2300 + 3000);
    assert_int_equal(broker(e, 2)->replicas_out, 1);
    assert_int_equal(broker(e, 3)->replicas_out, 1);
    assert_int_equal(e->factor_change_count, 0);
    cli_estimate_free(e);
    /* The move ended between the two looks: what is told of it is from before its end. */
    static const int32_t after[] = {1, 2, 4};
    moving[1].replicas = (struct klamm_ids){after, 3};
    e = cli_estimate_new(&input);
    assert_int_equal(e->factor_change_count, 0);
    cli_estimate_free(e);
    moving[1].replicas = (struct klamm_ids){all, 4};
    input.plan = back;
    e = cli_estimate_new(&input);
    assert_int_equal(e->change_count, 1);
    assert_int_equal(e->bytes_to_copy, 0);
    assert_int_equal(broker(e, 4)->replicas_out, 1);
    assert_int_equal(e->leader_change_count, 0);
    cli_estimate_free(e);
    cli_plan_free(same);
    cli_plan_free(other);
    cli_plan_free(back);
    sizes_deinit(&sizes);
}

static void order_alone_copies_nothing(void **state)
{
    (void)state;
    struct sizes sizes;
    sizes_init(&sizes, logs, 100000);
    struct cli_plan *plan = plan_of(PLAN(ENTRY("0", "[3,1,2]")));
    struct cli_estimate_input input = {.plan = plan,
                                       .cluster = &cluster,
                                       .topics = &topics,
                                       .disks = &sizes.disks,
                                       .rate = 5000000};
    struct cli_estimate *e = cli_estimate_new(&input);
    struct cli_terminal terminal;
    cli_terminal_init_captured(&terminal);
    cli_estimate_print(e, 5000000, &terminal);
    char *text = slice_dup(buf_slice(&terminal.out));
    assert_string_equal(text,
                        "Plan: 1 partition, 1 to change\n\n"
                        "BROKER  IN  OUT  REPLICAS  LEADERS  FREE NOW  FREE THEN\n"
                        "\nTo copy: 0 B to 0 new replicas\n"
                        "Leader changes: 0; another preferred leader: 1\n"
                        "Factor changes: 0\n"
                        "Only the order changes: 1; nothing is copied, and leaders stay until an "
                        "election (klamm leader-election)\n"
                        "Time: at least 0 s at 5.0 MB/s for each broker and direction\n");
    assert_int_equal(e->reorder_count, 1);
    assert_int_equal(e->broker_count, 0);
    free(text);
    cli_terminal_deinit(&terminal);
    cli_estimate_free(e);
    cli_plan_free(plan);
    sizes_deinit(&sizes);
}

static void json_has_the_same_numbers(void **state)
{
    (void)state;
    struct sizes sizes;
    sizes_init(&sizes, logs, 5000);
    struct cli_plan *plan = plan_of(PLAN(ENTRY("0", "[1,2,4]")));
    struct cli_estimate_input input = {
        .plan = plan, .cluster = &cluster, .topics = &topics, .disks = &sizes.disks, .rate = -1};
    struct cli_estimate *e = cli_estimate_new(&input);
    struct buf out;
    buf_init(&out);
    cli_estimate_put_json(e, &out);
    char *text = slice_dup(buf_slice(&out));
    assert_string_equal(
        text, "{\"partitions\":1,\"changes\":1,\"reorders\":0,\"moving\":0,\"new_replicas\":1,"
              "\"bytes_to_copy\":1000,\"leader_changes\":0,\"preferred_leader_changes\":0,"
              "\"factor_changes\":0,\"seconds\":-1,\"brokers\":["
              "{\"id\":1,\"is_up\":true,\"bytes_in\":0,\"bytes_out\":1000,\"bytes_freed\":0,"
              "\"replicas_in\":0,\"replicas_out\":0,\"leaders_in\":0,\"leaders_out\":0,"
              "\"usable_bytes\":5000},"
              "{\"id\":3,\"is_up\":true,\"bytes_in\":0,\"bytes_out\":0,\"bytes_freed\":1000,"
              "\"replicas_in\":0,\"replicas_out\":1,\"leaders_in\":0,\"leaders_out\":0,"
              "\"usable_bytes\":5000},"
              "{\"id\":4,\"is_up\":true,\"bytes_in\":1000,\"bytes_out\":0,\"bytes_freed\":0,"
              "\"replicas_in\":1,\"replicas_out\":0,\"leaders_in\":0,\"leaders_out\":0,"
              "\"usable_bytes\":5000}],\"warnings\":[]}");
    free(text);
    buf_deinit(&out);
    cli_estimate_free(e);
    cli_plan_free(plan);
    sizes_deinit(&sizes);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(bytes_leaders_and_time_are_summed),
        cmocka_unit_test(warnings_name_room_leaders_and_dead_targets),
        cmocka_unit_test(copies_that_obey_no_limit_are_warned_of),
        cmocka_unit_test(writes_above_the_rate_are_warned_of),
        cmocka_unit_test(running_moves_count_from_where_they_are),
        cmocka_unit_test(order_alone_copies_nothing),
        cmocka_unit_test(json_has_the_same_numbers),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
