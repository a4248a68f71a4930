/*
 * The tree engine by itself: what it tells its sink, its bounds, its loading, and random multis
 * against a copy of the state before (a refused multi must leave no trace).
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/alloc.h"
#include "base/buf.h"
#include "base/check.h"
#include "base/prng.h"
#include "metastore/tree.h"

#include <stdio.h>
#include <stdlib.h>

#define SESSION_A 1
#define SESSION_B 2

struct fixture {
    struct metastore_tree *tree;
    struct buf log; /* what the sink was told, one word a call */
};

static void log_event(void *arg, struct metastore_watcher watcher, enum metastore_event event,
                      struct slice path)
{
    static const char *const names[] = {"created", "deleted", "changed", "children"};
    buf_putf(arg, "%s:%.*s@%d ", names[event], SLICE_ARG(path), (int)watcher.session_id);
}

static void log_put(void *arg, const struct metastore_row *row)
{
    buf_putf(arg, "put:%.*s=%.*s.%d ", SLICE_ARG(row->path), SLICE_ARG(row->data), row->version);
}

static void log_removed(void *arg, struct slice path)
{
    buf_putf(arg, "removed:%.*s ", SLICE_ARG(path));
}

static int setup(void **state)
{
    struct fixture *f = xalloc(sizeof *f);
    buf_init(&f->log);
    struct metastore_tree_sink sink = {
        .event = log_event, .put = log_put, .removed = log_removed, .arg = &f->log};
    f->tree = metastore_tree_new(10000, 100, &sink);
    *state = f;
    return 0;
}

static int teardown(void **state)
{
    struct fixture *f = *state;
    metastore_tree_free(f->tree);
    buf_deinit(&f->log);
    free(f);
    return 0;
}

static void assert_log(struct fixture *f, const char *expected)
{
    char *text = slice_dup(buf_slice(&f->log));
    assert_string_equal(text, expected);
    free(text);
    buf_clear(&f->log);
}

static int run(struct fixture *f, int64_t session_id, const struct metastore_op *ops, int32_t count)
{
    struct metastore_stat stats[16];
    char *paths[16] = {NULL};
    struct metastore_multi_result result = {.stats = stats, .paths = paths};
    metastore_tree_multi(f->tree, session_id, ops, count, &result);
    for (int i = 0; i < 16; i++) {
        free(paths[i]);
    }
    return result.err;
}

static struct metastore_op op_of(enum metastore_op_kind kind, const char *path, const char *data)
{
    return (struct metastore_op){
        .kind = kind, .path = slice_str(path), .data = slice_str(data), .version = -1};
}

static int run_one(struct fixture *f, enum metastore_op_kind kind, const char *path,
                   const char *data)
{
    struct metastore_op op = op_of(kind, path, data);
    return run(f, SESSION_A, &op, 1);
}

static void on_event(void *arg, enum metastore_event event, struct slice path)
{
    (void)arg;
    (void)event;
    (void)path;
}

static void watch_node(struct fixture *f, int64_t session_id, const char *path)
{
    struct metastore_watcher watcher = {.session_id = session_id, .fn = on_event};
    struct metastore_stat stat;
    int err = metastore_tree_exists(f->tree, slice_str(path), watcher, &stat);
    assert_true(err == 0 || err == -E_NOT_FOUND);
}

static void watch_children(struct fixture *f, int64_t session_id, const char *path)
{
    struct metastore_watcher watcher = {.session_id = session_id, .fn = on_event};
    struct slice *names = NULL;
    int32_t count;
    assert_int_equal(metastore_tree_children(f->tree, slice_str(path), watcher, &names, &count), 0);
    free(names);
}

static void sink_hears_events_before_rows(void **state)
{
    struct fixture *f = *state;
    watch_node(f, SESSION_A, "/a");
    watch_node(f, SESSION_B, "/a");
    watch_children(f, SESSION_B, "/");
    assert_int_equal(run_one(f, METASTORE_CREATE, "/a", "1"), 0);
    assert_log(f, "created:/a@1 created:/a@2 children:/@2 put:/a=1.0 ");
    watch_node(f, SESSION_B, "/a");
    assert_int_equal(run_one(f, METASTORE_SET, "/a", "2"), 0);
    assert_log(f, "changed:/a@2 put:/a=2.1 ");
    watch_children(f, SESSION_B, "/a");
    assert_int_equal(run_one(f, METASTORE_DELETE, "/a", NULL), 0);
    assert_log(f, "deleted:/a@2 removed:/a ");
}

static void same_watcher_twice_is_one_watch(void **state)
{
    struct fixture *f = *state;
    watch_node(f, SESSION_A, "/a");
    watch_node(f, SESSION_A, "/a");
    assert_int_equal(run_one(f, METASTORE_CREATE, "/a", NULL), 0);
    assert_log(f, "created:/a@1 put:/a=.0 ");
}

static void ephemerals_have_no_rows(void **state)
{
    struct fixture *f = *state;
    struct metastore_op op = op_of(METASTORE_CREATE, "/e", "x");
    op.is_ephemeral = true;
    assert_int_equal(run(f, SESSION_A, &op, 1), 0);
    assert_int_equal(run_one(f, METASTORE_SET, "/e", "y"), 0);
    assert_log(f, "");
    watch_node(f, SESSION_A, "/e"); /* its own watches are gone before its ephemerals are */
    watch_node(f, SESSION_B, "/e");
    int64_t zxid = metastore_tree_zxid(f->tree);
    metastore_tree_end_session(f->tree, SESSION_A);
    assert_log(f, "deleted:/e@2 ");
    assert_int_equal(metastore_tree_zxid(f->tree), zxid + 1);
    metastore_tree_end_session(f->tree, SESSION_A);
    assert_int_equal(metastore_tree_zxid(f->tree), zxid + 1);
}

static void sequence_is_part_of_the_parents_row(void **state)
{
    struct fixture *f = *state;
    struct metastore_op op = op_of(METASTORE_CREATE, "/", NULL);
    op.is_sequential = true;
    assert_int_equal(run(f, SESSION_A, &op, 1), 0);
    assert_log(f, "put:/0000000000=.0 put:/=.0 ");
    struct metastore_row row = {.path = slice_str("/"), .next_sequence = INT32_MAX};
    assert_int_equal(metastore_tree_load(f->tree, &row), 0);
    assert_int_equal(run(f, SESSION_A, &op, 1), -E_TOO_LARGE);
}

static void checks_alone_use_no_zxid(void **state)
{
    struct fixture *f = *state;
    assert_int_equal(run_one(f, METASTORE_CHECK, "/", NULL), 0);
    assert_int_equal(run(f, SESSION_A, NULL, 0), 0);
    assert_int_equal(metastore_tree_zxid(f->tree), 100);
}

static void bytes_are_bounded_and_given_back(void **state)
{
    struct fixture *f = *state;
    char data[1001];
    memset(data, 'x', 1000);
    data[1000] = 0;
    int count = 0;
    char path[16];
    int err;
    do {
        (void)snprintf(path, sizeof path, "/%d", count);
        err = run_one(f, METASTORE_CREATE, path, data);
        count += err == 0;
    } while (err == 0 && count < 100);
    assert_int_equal(err, -E_TOO_LARGE);
    assert_in_range(count, 5, 9);
    assert_int_equal(run_one(f, METASTORE_SET, "/0", "short"), 0);
    assert_int_equal(run_one(f, METASTORE_DELETE, "/1", NULL), 0);
    assert_int_equal(run_one(f, METASTORE_CREATE, "/again", data), 0);
}

static void load_refuses_rows_that_form_no_tree(void **state)
{
    struct fixture *f = *state;
    const struct metastore_row good = {
        .path = slice_str("/a"), .czxid = 5, .mzxid = 7, .version = 2};
    assert_int_equal(metastore_tree_load(f->tree, &good), 0);
    struct slice data;
    struct metastore_stat stat;
    struct metastore_watcher none = {.fn = NULL};
    assert_int_equal(metastore_tree_get(f->tree, slice_str("/a"), none, &data, &stat), 0);
    assert_true(stat.czxid == 5 && stat.mzxid == 7 && stat.version == 2);
    struct metastore_row rows[7];
    for (int i = 0; i < 7; i++) {
        rows[i] = good;
        rows[i].path = slice_str("/b");
    }
    rows[0].path = slice_str("/a"); /* twice */
    rows[1].path = slice_str("/no/parent");
    rows[2].path = slice_str("b/");
    rows[3].mzxid = 101; /* from the future */
    rows[4].czxid = 8;   /* changed before it was made */
    rows[5].version = -1;
    rows[6].data = slice_of("", METASTORE_DATA_MAX + 1);
    for (int i = 0; i < 7; i++) {
        assert_int_equal(metastore_tree_load(f->tree, &rows[i]), -E_CORRUPT);
    }
    assert_log(f, "");
}

/* Everything a client can see, as text. */
static void dump(struct fixture *f, const char *path, struct buf *into)
{
    struct metastore_watcher none = {.fn = NULL};
    struct slice data;
    struct metastore_stat stat;
    assert_int_equal(metastore_tree_get(f->tree, slice_str(path), none, &data, &stat), 0);
    buf_putf(into, "%s=%.*s.%d.%lld.%lld.%lld;", path, SLICE_ARG(data), stat.version,
             (long long)stat.czxid, (long long)stat.mzxid, (long long)stat.ephemeral_owner);
    struct slice *names = NULL;
    int32_t count;
    assert_int_equal(metastore_tree_children(f->tree, slice_str(path), none, &names, &count), 0);
    assert_int_equal(stat.child_count, count);
    for (int32_t i = 0; i < count; i++) {
        char child[64];
        (void)snprintf(child, sizeof child, "%s/%.*s", strlen(path) == 1 ? "" : path,
                       SLICE_ARG(names[i]));
        dump(f, child, into);
    }
    free(names);
}

static struct metastore_op random_op(struct prng *prng)
{
    static const char *const paths[] = {"/a", "/b", "/a/x", "/a/y", "/b/x", "/a/x/q"};
    static const char *const data[] = {NULL, "", "1", "22"};
    struct metastore_op op =
        op_of((enum metastore_op_kind)prng_below(prng, 4),
              paths[prng_below(prng, ARRAY_LEN(paths))], data[prng_below(prng, ARRAY_LEN(data))]);
    op.version = prng_chance(prng, 1, 3) ? (int32_t)prng_below(prng, 3) : -1;
    op.is_ephemeral = prng_chance(prng, 1, 5);
    op.is_sequential = prng_chance(prng, 1, 8);
    return op;
}

static void refused_multis_leave_no_trace(void **state)
{
    struct fixture *f = *state;
    const uint64_t seed = 20240;
    print_message("seed %llu\n", (unsigned long long)seed);
    struct prng prng;
    prng_init(&prng, seed);
    int refused = 0;
    for (int round = 0; round < 3000; round++) {
        struct metastore_op ops[6];
        int32_t count = (int32_t)prng_range(&prng, 1, 6);
        for (int32_t i = 0; i < count; i++) {
            ops[i] = random_op(&prng);
        }
        struct buf before;
        struct buf after;
        buf_init(&before);
        buf_init(&after);
        dump(f, "/", &before);
        buf_clear(&f->log);
        if (run(f, SESSION_A, ops, count) != 0) {
            dump(f, "/", &after);
            assert_true(slice_equal(buf_slice(&before), buf_slice(&after)));
            assert_log(f, "");
            refused++;
        }
        buf_deinit(&before);
        buf_deinit(&after);
        if (round % 100 == 99) {
            metastore_tree_end_session(f->tree, SESSION_A);
        }
    }
    assert_in_range(refused, 500, 2900); /* both outcomes were exercised */
}

static void a_guarded_node_refuses_every_change_until_it_is_open_again(void **state)
{
    struct fixture *f = *state;
    struct metastore_op ops[] = {
        {.kind = METASTORE_CREATE, .path = slice_str("/a")},
        {.kind = METASTORE_CREATE, .path = slice_str("/a/b")},
        {.kind = METASTORE_SET, .path = slice_str("/a/b"), .version = -1},
        {.kind = METASTORE_SET, .path = slice_str("/a"), .version = -1},
        {.kind = METASTORE_CREATE, .path = slice_str("/a/c")},
        {.kind = METASTORE_DELETE, .path = slice_str("/a/b"), .version = -1},
    };
    assert_int_equal(run(f, SESSION_A, ops, 2), 0);
    metastore_tree_guard(f->tree, slice_str("/a"), true);
    metastore_tree_guard(f->tree, slice_str("/ghost"), true);
    assert_int_equal(run(f, SESSION_A, &ops[2], 1), 0);
    for (int32_t i = 3; i < 6; i++) {
        assert_int_equal(run(f, SESSION_A, &ops[i], 1), -E_REFUSED);
    }
    metastore_tree_guard(f->tree, slice_str("/a"), false);
    assert_int_equal(run(f, SESSION_A, &ops[2], 4), 0);
}

static void a_hidden_node_can_be_written_but_not_read(void **state)
{
    struct fixture *f = *state;
    struct metastore_watcher nobody = {.session_id = SESSION_A};
    struct metastore_stat stat = {0};
    struct slice data = SLICE_NULL;
    struct slice *names = NULL;
    int32_t count = 0;
    struct slice path = slice_str("/a");
    assert_int_equal(run_one(f, METASTORE_CREATE, "/a", "x"), 0);
    metastore_tree_hide(f->tree, path, true);
    assert_int_equal(metastore_tree_get(f->tree, path, nobody, &data, &stat), -E_REFUSED);
    assert_int_equal(metastore_tree_children(f->tree, path, nobody, &names, &count), -E_REFUSED);
    assert_int_equal(run_one(f, METASTORE_CREATE, "/a/b", "x"), 0);
    metastore_tree_hide(f->tree, path, false);
    assert_int_equal(metastore_tree_get(f->tree, path, nobody, &data, &stat), 0);
    assert_int_equal(metastore_tree_children(f->tree, path, nobody, &names, &count), 0);
    assert_int_equal(count, 1);
    free(names);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(sink_hears_events_before_rows, setup, teardown),
        cmocka_unit_test_setup_teardown(same_watcher_twice_is_one_watch, setup, teardown),
        cmocka_unit_test_setup_teardown(ephemerals_have_no_rows, setup, teardown),
        cmocka_unit_test_setup_teardown(sequence_is_part_of_the_parents_row, setup, teardown),
        cmocka_unit_test_setup_teardown(checks_alone_use_no_zxid, setup, teardown),
        cmocka_unit_test_setup_teardown(bytes_are_bounded_and_given_back, setup, teardown),
        cmocka_unit_test_setup_teardown(load_refuses_rows_that_form_no_tree, setup, teardown),
        cmocka_unit_test_setup_teardown(a_guarded_node_refuses_every_change_until_it_is_open_again,
                                        setup, teardown),
        cmocka_unit_test_setup_teardown(a_hidden_node_can_be_written_but_not_read, setup, teardown),
        cmocka_unit_test_setup_teardown(refused_multis_leave_no_trace, setup, teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
