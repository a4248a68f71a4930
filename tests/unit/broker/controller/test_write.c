/*
 * Guarded writes: transactions that are refused are split, and the one that refused is judged by what
 * is stored.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "unit/broker/controller/cluster.h"

#define STATE_BY_OTHERS                                                                            \
    "{\"controller_epoch\":1,\"leader\":1,\"version\":1,\"leader_epoch\":0,\"isr\":[1]}"

static struct ids first_two(void)
{
    static int32_t list[] = {1, 2};
    return (struct ids){.count = 2, .list = list};
}

/* Asks for the list [1] for all `count` partitions of t: each needs several state writes. */
static const char *shrink_all(struct cluster *k, int32_t id, int32_t count)
{
    static int32_t one[] = {1};
    struct control_alter_entry *entries = xalloc((size_t)count * sizeof *entries);
    for (int32_t i = 0; i < count; i++) {
        entries[i] = (struct control_alter_entry){
            .topic = slice_str("t"), .partition = i, .replicas = one, .replica_count = 1};
    }
    const char *text =
        cluster_request(k, id,
                        &(struct control_request){.kind = CONTROL_ALTER_REASSIGNMENTS,
                                                  .alter = {.entries = entries, .count = count}});
    free(entries);
    return text;
}

static void a_conflict_does_not_hold_up_the_others(void **state)
{
    (void)state;
    struct cluster *k = cluster_new(2, 1);
    int32_t id = cluster_wait_controller(k);
    cluster_run(k, 1000);
    assert_string_equal(cluster_create(k, id, "t", 20, first_two()), "0;");
    assert_int_equal(
        cluster_change(k, METASTORE_SET, "/brokers/topics/t/partitions/3/state", STATE_BY_OTHERS),
        0);
    assert_int_equal(
        cluster_change(k, METASTORE_SET, "/brokers/topics/t/partitions/17/state", STATE_BY_OTHERS),
        0);
    assert_string_equal(shrink_all(k, id, 20), "0;0;0;0;0;0;0;0;0;0;0;0;0;0;0;0;0;0;0;0;");
    for (int32_t i = 0; i < 20; i++) {
        char *path = xasprintf("/brokers/topics/t/partitions/%d/state", i);
        const char *text = cluster_node(k, path);
        assert_non_null(strstr(text, "\"isr\":[1]"));
        assert_non_null(
            strstr(text, i == 3 || i == 17 ? "\"leader_epoch\":1" : "\"leader_epoch\":2"));
        free(path);
    }
    assert_true(controller_is_active(k->brokers[id].controller));
    cluster_free(k);
}

static void a_state_whose_parent_is_left_over_is_created(void **state)
{
    (void)state;
    struct cluster *k = cluster_new(1, 2);
    int32_t id = cluster_wait_controller(k);
    (void)id;
    assert_int_equal(cluster_change(k, METASTORE_CREATE, "/brokers/topics/f",
                                    "{\"version\":1,"
                                    "\"partitions\":{"
                                    "\"0\":[1]}}"),
                     0);
    cluster_run(k, 2000);
    assert_string_equal(cluster_node(k, "/brokers/topics/f/partitions/0/state"), STATE_BY_OTHERS);
    assert_non_null(strstr(cluster_node(k, "/brokers/topics/f"), "\"topic_id\":\""));
    assert_int_equal(
        cluster_change(k, METASTORE_DELETE, "/brokers/topics/f/partitions/0/state", NULL), 0);
    cluster_kill(k, 1);
    cluster_run(k, 2 * CLUSTER_SESSION_MS);
    cluster_start(k, 1);
    (void)cluster_wait_controller(k);
    cluster_run(k, 2000);
    assert_non_null(strstr(cluster_node(k, "/brokers/topics/f/partitions/0/state"), "\"isr\":[1]"));
    cluster_free(k);
}

/* The others are written on, and the controller stays; also the next one. */
static void a_state_that_cannot_be_read_is_left_alone(void **state)
{
    (void)state;
    struct cluster *k = cluster_new(2, 9);
    int32_t id = cluster_wait_controller(k);
    cluster_run(k, 1000);
    assert_string_equal(cluster_create(k, id, "t", 3, first_two()), "0;");
    assert_int_equal(
        cluster_change(k, METASTORE_SET, "/brokers/topics/t/partitions/1/state", "not-json"), 0);
    assert_string_equal(shrink_all(k, id, 3), "0;3;0;");
    assert_true(controller_is_active(k->brokers[id].controller));
    assert_non_null(strstr(cluster_text(&k->log), "t-1 is left alone: its state "));
    cluster_kill(k, id);
    int32_t next = cluster_wait_controller(k);
    assert_int_not_equal(next, id);
    cluster_start(k, id);
    cluster_run(k, 5000);
    assert_true(controller_is_active(k->brokers[next].controller));
    assert_string_equal(cluster_node(k, "/brokers/topics/t/partitions/1/state"), "not-json");
    assert_string_equal(cluster_create(k, next, "u", 1, first_two()), "0;");
    cluster_free(k);
}

static void assert_left_alone(struct cluster *k, int32_t id, int32_t count)
{
    struct controller_figures f;
    controller_figures(k->brokers[id].controller, &f);
    assert_int_equal(f.cluster.held, count);
    assert_int_equal(f.held_count, count);
    if (count > 0) {
        assert_string_equal(f.held[0].topic, "t");
        assert_int_equal(f.held[0].partition, 1);
        assert_string_equal(f.held[0].path, "/brokers/topics/t/partitions/1/state");
        assert_string_equal(f.held[0].reason, "refused");
        assert_in_range(f.held[0].age_ms, 3000, 4000);
    }
    controller_figures_deinit(&f);
}

/* An access list of somebody else: one partition waits, the role stays, and it heals. */
static void a_state_that_refuses_is_left_alone_until_it_does_not(void **state)
{
    (void)state;
    struct cluster *k = cluster_new(2, 12);
    int32_t id = cluster_wait_controller(k);
    cluster_run(k, 1000);
    assert_string_equal(cluster_create(k, id, "t", 3, first_two()), "0;");
    struct slice guarded = slice_str("/brokers/topics/t/partitions/1/state");
    metastore_store_guard(k->store, guarded, true);
    assert_string_equal(shrink_all(k, id, 3), "0;-1;0;");
    assert_non_null(strstr(cluster_text(&k->log),
                           "warning: t-1 is left alone for now: "
                           "/brokers/topics/t/partitions/1/state: refused\n"));
    cluster_run(k, 3000);
    assert_left_alone(k, id, 1);
    assert_string_equal(cluster_create(k, id, "u", 1, first_two()), "0;");
    metastore_store_guard(k->store, guarded, false);
    cluster_run(k, 5000);
    assert_left_alone(k, id, 0);
    assert_non_null(strstr(cluster_text(&k->log), "t-1 is no longer left alone\n"));
    assert_non_null(strstr(cluster_node(k, "/brokers/topics/t/partitions/1/state"), "\"isr\":[1]"));
    assert_true(controller_is_active(k->brokers[id].controller));
    assert_null(strstr(cluster_text(&k->log), "gives up"));
    cluster_free(k);
}

static void left_over_settings_are_replaced(void **state)
{
    (void)state;
    struct cluster *k = cluster_new(2, 3);
    int32_t id = cluster_wait_controller(k);
    assert_int_equal(cluster_change(k, METASTORE_CREATE, "/config/topics/t",
                                    "{\"version\":1,\"config\":{\"a\":\"b\"}}"),
                     0);
    assert_string_equal(cluster_create(k, id, "t", 1, first_two()), "0;");
    assert_string_equal(cluster_node(k, "/config/topics/t"),
                        "{\"version\":1,\"config\":{\"min.insync.replicas\":\"2\"}}");
    cluster_free(k);
}

static void a_topic_node_changed_by_others_is_merged(void **state)
{
    (void)state;
    struct cluster *k = cluster_new(3, 4);
    int32_t id = cluster_wait_controller(k);
    cluster_run(k, 1000);
    assert_string_equal(cluster_create(k, id, "t", 1, first_two()), "0;");
    char *node = xstrdup(cluster_node(k, "/brokers/topics/t"));
    char *at = strstr(node, "\"0\":[1,2]");
    assert_non_null(at);
    char *grown = xasprintf("%.*s\"0\":[1,2],\"1\":[3]%s", (int)(at - node), node, at + 9);
    assert_int_equal(cluster_change(k, METASTORE_SET, "/brokers/topics/t", grown), 0);
    free(node);
    free(grown);
    struct control_alter_entry entry = {
        .topic = slice_str("t"), .replicas = (int32_t[]){1, 3}, .replica_count = 2};
    assert_string_equal(
        cluster_request(k, id,
                        &(struct control_request){.kind = CONTROL_ALTER_REASSIGNMENTS,
                                                  .alter = {.entries = &entry, .count = 1}}),
        "0;");
    const char *text = cluster_node(k, "/brokers/topics/t");
    assert_non_null(strstr(text, "\"partitions\":{\"0\":[1,3,2],\"1\":[3]}"));
    assert_non_null(strstr(text, "\"original_replicas\":{\"0\":[1,2]}"));
    cluster_run(k, 1000);
    assert_non_null(
        strstr(cluster_node(k, "/brokers/topics/t/partitions/1/state"), "\"leader\":3"));
    cluster_free(k);
}

static void a_node_too_large_is_refused_alone(void **state)
{
    (void)state;
    struct cluster *k = cluster_new(2, 5);
    int32_t id = cluster_wait_controller(k);
    cluster_run(k, 1000);
    struct control_new_topic topics[] = {
        {.name = slice_str("big"), .partition_count = 90000, .replication_factor = 2},
        {.name = slice_str("small"), .partition_count = 2, .replication_factor = 2},
    };
    assert_string_equal(
        cluster_request(k, id,
                        &(struct control_request){
                            .kind = CONTROL_CREATE_TOPICS,
                            .create_topics = {.topics = topics, .count = 2, .timeout_ms = 30000}}),
        "42;0;");
    assert_string_equal(cluster_node(k, "/brokers/topics/"), "small;");
    cluster_free(k);
}

/* Asks for [2,3] for `count` partitions of t from `first` on. True when all get the same error. */
static bool move_to_others(struct cluster *k, int32_t id, int32_t first, int32_t count,
                           const char *error)
{
    static int32_t target[] = {2, 3};
    struct control_alter_entry *entries = xalloc((size_t)count * sizeof *entries);
    for (int32_t i = 0; i < count; i++) {
        entries[i] = (struct control_alter_entry){.topic = slice_str("t"),
                                                  .partition = first + i,
                                                  .replicas = target,
                                                  .replica_count = 2};
    }
    struct control_request request = {.kind = CONTROL_ALTER_REASSIGNMENTS,
                                      .alter = {.entries = entries, .count = count}};
    const char *text = cluster_request(k, id, &request);
    bool is_same = strlen(text) == (size_t)count * strlen(error);
    for (int32_t i = 0; is_same && i < count; i++) {
        is_same = strncmp(text + (size_t)i * strlen(error), error, strlen(error)) == 0;
    }
    free(entries);
    return is_same;
}

/* The rows of partitions that move are longer: what would not fit is refused, the moves that run go on. */
static void moves_that_would_not_fit_are_refused_and_others_run(void **state)
{
    (void)state;
    struct cluster *k = cluster_new(3, 8);
    int32_t id = cluster_wait_controller(k);
    cluster_run(k, 1000);
    assert_string_equal(cluster_create(k, id, "t", 22000, first_two()), "0;");
    assert_true(move_to_others(k, id, 0, 11000, "0;"));
    size_t len = strlen(cluster_node(k, "/brokers/topics/t"));
    assert_in_range(len, 700000, METASTORE_DATA_MAX);
    assert_true(move_to_others(k, id, 11000, 11000, "-1;"));
    assert_int_equal(strlen(cluster_node(k, "/brokers/topics/t")), len);
    assert_true(move_to_others(k, id, 11000, 1, "0;"));
    const char *text = cluster_node(k, "/brokers/topics/t");
    assert_non_null(strstr(text, "\"11000\":[2,3,1]"));
    assert_non_null(strstr(text, "\"11001\":[1,2]"));
    cluster_free(k);
}

static void thousands_of_partitions_are_written_in_transactions(void **state)
{
    (void)state;
    struct cluster *k = cluster_new(2, 6);
    int32_t id = cluster_wait_controller(k);
    cluster_run(k, 1000);
    assert_string_equal(cluster_create(k, id, "t", 3000, first_two()), "0;");
    assert_non_null(
        strstr(cluster_node(k, "/brokers/topics/t/partitions/2999/state"), "\"isr\":[1,2]"));
    cluster_free(k);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_conflict_does_not_hold_up_the_others),
        cmocka_unit_test(a_state_whose_parent_is_left_over_is_created),
        cmocka_unit_test(a_state_that_cannot_be_read_is_left_alone),
        cmocka_unit_test(a_state_that_refuses_is_left_alone_until_it_does_not),
        cmocka_unit_test(left_over_settings_are_replaced),
        cmocka_unit_test(a_topic_node_changed_by_others_is_merged),
        cmocka_unit_test(a_node_too_large_is_refused_alone),
        cmocka_unit_test(moves_that_would_not_fit_are_refused_and_others_run),
        cmocka_unit_test(thousands_of_partitions_are_written_in_transactions),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
