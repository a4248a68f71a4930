/*
 * Changing stored configuration against a store that others write to.
 */
#include "broker/config/alter.h"

#include "base/check.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "bench.h"

struct outcome {
    int count;
    int err;
    char reason[128];
};

static void on_done(void *arg, int err, const char *reason)
{
    struct outcome *outcome = arg;
    outcome->count++;
    outcome->err = err;
    (void)snprintf(outcome->reason, sizeof outcome->reason, "%s", reason == NULL ? "" : reason);
}

static void start(struct bench *b, const char *name, const char *value, struct outcome *outcome)
{
    struct settings_change change = {.name = slice_str(name), .value = slice_str(value)};
    struct settings_alteration alteration = {.topic = slice_str("t"),
                                             .changes = &change,
                                             .change_count = 1,
                                             .done = on_done,
                                             .arg = outcome};
    *outcome = (struct outcome){0};
    settings_alter(b->settings, &alteration);
}

struct node {
    int err;
    char data[256];
};

static void on_read(void *arg, const struct metastore_result *result)
{
    struct node *node = arg;
    node->err = result->err;
    (void)snprintf(node->data, sizeof node->data, "%.*s", SLICE_ARG(result->data));
}

static struct node read_node(struct bench *b)
{
    struct node node = {.err = 1};
    metastore_get(b->session, slice_str("/config/topics/t"), NULL, NULL, on_read, &node);
    bench_run(b, 200);
    assert_int_not_equal(node.err, 1);
    return node;
}

static void write_node(struct bench *b, enum metastore_op_kind kind, const char *data)
{
    struct metastore_op op = {.kind = kind,
                              .path = slice_str("/config/topics/t"),
                              .data = slice_str(data),
                              .version = -1};
    metastore_multi(b->session, &op, 1, bench_root_made, NULL);
}

static void keys_of_others_are_kept(void **state)
{
    (void)state;
    struct bench b = {0};
    struct outcome outcome;
    bench_start(&b, NULL);
    write_node(&b, METASTORE_CREATE, "{\"version\":1,\"config\":{\"java.only\":\"x\"}}");
    start(&b, "retention.ms", "5", &outcome);
    bench_run(&b, 500);
    assert_int_equal(outcome.count, 1);
    assert_int_equal(outcome.err, 0);
    assert_string_equal(read_node(&b).data,
                        "{\"version\":1,\"config\":{\"java.only\":\"x\",\"retention.ms\":\"5\"}}");
    bench_stop(&b);
}

static void on_counted(void *arg, const struct metastore_result *result)
{
    int32_t *count = arg;
    *count = result->child_count;
}

static int32_t notifications(struct bench *b)
{
    int32_t count = -1;
    metastore_children(b->session, slice_str("/config/changes"), NULL, NULL, on_counted, &count);
    bench_run(b, 200);
    return count;
}

/* The same value again, and a delete of what is not there: done, but nobody is told. */
static void what_changes_nothing_is_not_written(void **state)
{
    (void)state;
    struct bench b = {0};
    struct outcome outcome;
    struct settings_change change = {.name = slice_str("segment.ms"),
                                     .operation = CONFIG_OPERATION_DELETE};
    struct settings_alteration removal = {.topic = slice_str("t"),
                                          .changes = &change,
                                          .change_count = 1,
                                          .done = on_done,
                                          .arg = &outcome};
    bench_start(&b, NULL);
    outcome = (struct outcome){0};
    settings_alter(b.settings, &removal);
    bench_run(&b, 500);
    assert_int_equal(outcome.count, 1);
    assert_int_equal(outcome.err, 0);
    assert_int_equal(read_node(&b).err, -E_NOT_FOUND);
    start(&b, "retention.ms", "5", &outcome);
    bench_run(&b, 500);
    assert_int_equal(notifications(&b), 1);
    start(&b, "retention.ms", "5", &outcome);
    bench_run(&b, 500);
    assert_int_equal(outcome.count, 1);
    assert_int_equal(outcome.err, 0);
    outcome = (struct outcome){0};
    settings_alter(b.settings, &removal);
    bench_run(&b, 500);
    assert_int_equal(outcome.count, 1);
    assert_int_equal(notifications(&b), 1);
    bench_stop(&b);
}

/* Two changes at once: the slower one reads again and loses nothing. */
static void racing_changes_both_hold(void **state)
{
    (void)state;
    struct bench b = {0};
    struct outcome first;
    struct outcome second;
    bench_start(&b, NULL);
    start(&b, "retention.ms", "5", &first);
    start(&b, "segment.ms", "6", &second);
    bench_run(&b, 1000);
    assert_int_equal(first.err, 0);
    assert_int_equal(second.err, 0);
    assert_int_equal(first.count + second.count, 2);
    assert_string_equal(read_node(&b).data,
                        "{\"version\":1,\"config\":{\"retention.ms\":\"5\",\"segment.ms\":\"6\"}}");
    bench_stop(&b);
}

static void without_session_it_is_refused_at_once(void **state)
{
    (void)state;
    struct bench b = {0};
    struct outcome outcome;
    bench_start(&b, NULL);
    start(&b, "retention.ms", "5", &outcome);
    settings_detach(b.settings);
    assert_int_equal(outcome.count, 1);
    assert_int_equal(outcome.err, -E_CLOSED);
    start(&b, "retention.ms", "5", &outcome);
    assert_int_equal(outcome.count, 1);
    assert_int_equal(outcome.err, -E_CLOSED);
    metastore_abandon(b.session);
    struct metastore_factory *factory = metastore_store_factory(b.store);
    b.session = factory->open(factory, sim_node_env(b.server), 6000, bench_state, &b);
    bench_stop(&b);
}

static void stored_garbage_is_an_error_with_a_reason(void **state)
{
    (void)state;
    struct bench b = {0};
    struct outcome outcome;
    bench_start(&b, NULL);
    write_node(&b, METASTORE_CREATE, "{oops");
    start(&b, "retention.ms", "5", &outcome);
    bench_run(&b, 500);
    assert_int_equal(outcome.err, -E_MALFORMED);
    assert_true(strlen(outcome.reason) > 0);
    assert_string_equal(read_node(&b).data, "{oops");
    bench_stop(&b);
}

/* A replacement mends what makes no sense, but loses nothing that a newer writer put there. */
static void settings_of_a_newer_version_are_not_replaced(void **state)
{
    (void)state;
    static const struct {
        const char *node;
        int err;
    } rows[] = {
        {"{oops", 0},
        {"{\"version\":2,\"config\":{}}", -E_UNSUPPORTED},
    };
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        struct bench b = {0};
        struct outcome outcome = {0};
        struct settings_change change = {.name = slice_str("retention.ms"),
                                         .value = slice_str("5")};
        struct settings_alteration all = {.topic = slice_str("t"),
                                          .changes = &change,
                                          .change_count = 1,
                                          .is_replacement = true,
                                          .done = on_done,
                                          .arg = &outcome};
        bench_start(&b, NULL);
        write_node(&b, METASTORE_CREATE, rows[i].node);
        settings_alter(b.settings, &all);
        bench_run(&b, 500);
        assert_int_equal(outcome.err, rows[i].err);
        assert_string_equal(read_node(&b).data,
                            rows[i].err == 0 ? "{\"version\":1,\"config\":{\"retention.ms\":\"5\"}}"
                                             : rows[i].node);
        bench_stop(&b);
    }
}

static bool is_step_over(void *arg)
{
    int *steps = arg;
    return --*steps < 0;
}

/* While it is read, or written: the session lives on for a while when a broker stops. */
static void a_detach_ends_it_once(void **state)
{
    (void)state;
    for (int steps = 0; steps < 12; steps++) {
        struct bench b = {0};
        struct outcome outcome;
        int left = steps;
        bench_start(&b, NULL);
        start(&b, "retention.ms", "5", &outcome);
        (void)sim_world_run(b.world, 500, is_step_over, &left);
        bool is_over = outcome.count == 1;
        settings_detach(b.settings);
        assert_int_equal(outcome.count, 1);
        assert_int_equal(outcome.err, is_over ? 0 : -E_CLOSED);
        bench_run(&b, 500);
        assert_int_equal(outcome.count, 1);
        bench_stop(&b);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(keys_of_others_are_kept),
        cmocka_unit_test(what_changes_nothing_is_not_written),
        cmocka_unit_test(racing_changes_both_hold),
        cmocka_unit_test(without_session_it_is_refused_at_once),
        cmocka_unit_test(a_detach_ends_it_once),
        cmocka_unit_test(stored_garbage_is_an_error_with_a_reason),
        cmocka_unit_test(settings_of_a_newer_version_are_not_replaced),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
