/*
 * Whom a throttle concerns: the lists of S08, of row 74, of moves that run already, and of plans that
 * copy nothing.
 */
#include "cli/throttle.h"

#include "base/alloc.h"
#include "base/check.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define IDS(...)                                                                                   \
    {                                                                                              \
        (const int32_t[]){__VA_ARGS__},                                                            \
            (int32_t)(sizeof((int32_t[]){__VA_ARGS__}) / sizeof(int32_t))                          \
    }
#define ENTRY(topic, partition, list)                                                              \
    "{\"topic\":\"" topic "\",\"partition\":" partition ",\"replicas\":" list "}"

/* What the cluster has, and what is wanted of the plan. */
struct world {
    struct klamm_topics topics;
    struct klamm_reassignments running;
    struct cli_plan *plan;
    struct cli_throttle *throttle;
};

static void compute(struct world *w, const char *entries)
{
    struct cli_plan_rules rules = {.purpose = CLI_PLAN_EXECUTE};
    struct cli_faults faults;
    struct buf text;
    buf_init(&text);
    buf_putf(&text, "{\"partitions\":[%s]}", entries);
    cli_faults_init(&faults);
    w->plan = cli_plan_parse(buf_slice(&text), &rules, &faults);
    assert_int_equal(faults.error_count, 0);
    cli_faults_deinit(&faults);
    buf_deinit(&text);
    w->throttle = cli_throttle_new(w->plan, &w->topics, &w->running);
}

static void world_deinit(struct world *w)
{
    cli_throttle_free(w->throttle);
    cli_plan_free(w->plan);
}

static void expect_topic(const struct world *w, int32_t index, const char *name,
                         const char *leaders, const char *followers)
{
    assert_true(index < w->throttle->topic_count);
    assert_string_equal(w->throttle->topics[index].name, name);
    assert_string_equal(w->throttle->topics[index].leaders, leaders);
    assert_string_equal(w->throttle->topics[index].followers, followers);
}

static void expect_brokers(const struct world *w, struct klamm_ids ids)
{
    assert_int_equal(w->throttle->broker_count, ids.count);
    assert_memory_equal(w->throttle->brokers, ids.list, (size_t)ids.count * sizeof *ids.list);
}

static void lists_of_new_moves_are_exact(void **state)
{
    (void)state;
    const struct klamm_partition partitions[] = {{.index = 0, .replicas = IDS(101, 102)},
                                                 {.index = 1, .replicas = IDS(102, 103)}};
    const struct klamm_topic topic = {"p", .partition_count = 2, .partitions = partitions};
    struct world w = {.topics = {.count = 1, .list = &topic}};
    compute(&w, ENTRY("p", "0", "[102,103]") "," ENTRY("p", "1", "[103,101]"));
    assert_int_equal(w.throttle->topic_count, 1);
    expect_topic(&w, 0, "p", "0:101,0:102,1:102,1:103", "0:103,1:101");
    expect_brokers(&w, (struct klamm_ids)IDS(101, 102, 103));
    assert_true(w.throttle->copies);
    world_deinit(&w);
}

/* q0 [0,1,2] -> [0,1,3] runs, then [0,1,4]: 3 is no source, it has nothing to give. */
static void sources_of_an_override_are_those_with_data(void **state)
{
    (void)state;
    const struct klamm_partition partition = {.index = 0, .replicas = IDS(0, 1, 3, 2)};
    const struct klamm_topic topic = {"q", .partition_count = 1, .partitions = &partition};
    const struct klamm_reassignment move = {"q", 0, .replicas = IDS(0, 1, 3, 2), .adding = IDS(3),
                                            .removing = IDS(2)};
    struct world w = {.topics = {.count = 1, .list = &topic},
                      .running = {.count = 1, .list = &move}};
    compute(&w, ENTRY("q", "0", "[0,1,4]"));
    expect_topic(&w, 0, "q", "0:0,0:1,0:2", "0:4");
    expect_brokers(&w, (struct klamm_ids)IDS(0, 1, 2, 4));
    world_deinit(&w);
}

/* Sent again, a running move keeps its lists: that is how its rate is changed. */
static void same_target_again_gives_the_same_lists(void **state)
{
    (void)state;
    const struct klamm_partition partition = {.index = 0, .replicas = IDS(4, 1)};
    const struct klamm_topic topic = {"q", .partition_count = 1, .partitions = &partition};
    const struct klamm_reassignment move = {"q", 0, .replicas = IDS(4, 1), .adding = IDS(4),
                                            .removing = IDS(1)};
    struct world w = {.topics = {.count = 1, .list = &topic},
                      .running = {.count = 1, .list = &move}};
    compute(&w, ENTRY("q", "0", "[4]"));
    expect_topic(&w, 0, "q", "0:1", "0:4");
    assert_true(w.throttle->copies);
    world_deinit(&w);
}

static void moves_outside_the_plan_are_in_the_lists(void **state)
{
    (void)state;
    const struct klamm_partition partition = {.index = 0, .replicas = IDS(1, 2)};
    const struct klamm_topic topic = {"b", .partition_count = 1, .partitions = &partition};
    const struct klamm_reassignment moves[] = {
        {"a", 7, .replicas = IDS(6, 5), .adding = IDS(6), .removing = IDS(5)},
        {"b", 1, .replicas = IDS(1, 3), .adding = IDS(3)},
    };
    struct world w = {.topics = {.count = 1, .list = &topic},
                      .running = {.count = 2, .list = moves}};
    compute(&w, ENTRY("b", "0", "[1,4]"));
    assert_int_equal(w.throttle->topic_count, 2);
    expect_topic(&w, 0, "a", "7:5", "7:6");
    expect_topic(&w, 1, "b", "0:1,0:2,1:1", "0:4,1:3");
    expect_brokers(&w, (struct klamm_ids)IDS(1, 2, 3, 4, 5, 6));
    world_deinit(&w);
}

static void entries_are_in_the_order_of_strings(void **state)
{
    (void)state;
    struct klamm_partition partitions[11] = {
        [2] = {.replicas = IDS(2, 10)}, [10] = {.replicas = IDS(10, 2)}};
    const struct klamm_topic topic = {"p", .partition_count = 11, .partitions = partitions};
    struct world w = {.topics = {.count = 1, .list = &topic}};
    compute(&w, ENTRY("p", "2", "[3]") "," ENTRY("p", "10", "[3]"));
    expect_topic(&w, 0, "p", "10:10,10:2,2:10,2:2", "10:3,2:3");
    world_deinit(&w);
}

/* A reorder, a shrink and an unchanged list have no receivers. */
static void nothing_receives_where_nothing_is_new(void **state)
{
    (void)state;
    const struct klamm_partition partitions[] = {{.index = 0, .replicas = IDS(1, 2, 3)},
                                                 {.index = 1, .replicas = IDS(1, 2, 3)},
                                                 {.index = 2, .replicas = IDS(1, 2, 3)}};
    const struct klamm_topic topic = {"p", .partition_count = 3, .partitions = partitions};
    struct world w = {.topics = {.count = 1, .list = &topic}};
    compute(&w,
            ENTRY("p", "0", "[3,1,2]") "," ENTRY("p", "1", "[1,2]") "," ENTRY("p", "2", "[1,2,3]"));
    expect_topic(&w, 0, "p", "0:1,0:2,0:3,1:1,1:2,1:3,2:1,2:2,2:3", "");
    assert_false(w.throttle->copies);
    world_deinit(&w);
}

/* 5000 partitions, each with three sources: some 90 kB, of which the protocol carries 32 kB. */
static void lists_beyond_the_protocol_are_found(void **state)
{
    (void)state;
    struct klamm_partition *partitions = xalloc(5000 * sizeof *partitions);
    const int32_t replicas[] = {1, 2, 3};
    struct buf entries;
    buf_init(&entries);
    for (int32_t i = 0; i < 5000; i++) {
        partitions[i] = (struct klamm_partition){.index = i, .replicas = {replicas, 3}};
        buf_putf(&entries, "%s{\"topic\":\"big\",\"partition\":%d,\"replicas\":[1,2,4]}",
                 i == 0 ? "" : ",", i);
    }
    const struct klamm_topic topic = {"big", .partition_count = 5000, .partitions = partitions};
    struct world w = {.topics = {.count = 1, .list = &topic}};
    char *text = slice_dup(buf_slice(&entries));
    compute(&w, text);
    const struct cli_throttle_topic *found = cli_throttle_too_long(w.throttle);
    assert_non_null(found);
    assert_string_equal(found->name, "big");
    world_deinit(&w);
    compute(&w, ENTRY("big", "0", "[1,2,4]"));
    assert_null(cli_throttle_too_long(w.throttle));
    world_deinit(&w);
    free(text);
    buf_deinit(&entries);
    free(partitions);
}

static void ids_are_sorted_and_distinct(void **state)
{
    (void)state;
    int32_t ids[] = {7, 1, 7, INT32_MAX, 0, 1};
    static const int32_t expected[] = {0, 1, 7, INT32_MAX};
    assert_int_equal(cli_throttle_sort_ids(ids, 6), 4);
    assert_memory_equal(ids, expected, sizeof expected);
    assert_int_equal(cli_throttle_sort_ids(NULL, 0), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(lists_of_new_moves_are_exact),
        cmocka_unit_test(sources_of_an_override_are_those_with_data),
        cmocka_unit_test(same_target_again_gives_the_same_lists),
        cmocka_unit_test(moves_outside_the_plan_are_in_the_lists),
        cmocka_unit_test(entries_are_in_the_order_of_strings),
        cmocka_unit_test(nothing_receives_where_nothing_is_new),
        cmocka_unit_test(lists_beyond_the_protocol_are_found),
        cmocka_unit_test(ids_are_sorted_and_distinct),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
