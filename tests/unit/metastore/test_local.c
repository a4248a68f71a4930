/*
 * The store on disk: what is found again, what is refused, and that many writes share a commit.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "bench.h"
#include "metastore/local.h"

#include <signal.h>
#include <sqlite3.h>
#include <sys/resource.h>

struct fixture {
    struct bench *bench;
    struct bench_session *a;
};

static int setup(void **state)
{
    struct fixture *f = xalloc(sizeof *f);
    f->bench = bench_new(BENCH_LOCAL);
    f->a = bench_session_new(f->bench);
    *state = f;
    return 0;
}

static void store_close(struct fixture *f)
{
    if (f->a != NULL) {
        bench_session_close(f->a);
        f->a = NULL;
        bench_close_store(f->bench);
    }
}

static void store_reopen(struct fixture *f)
{
    store_close(f);
    bench_open_store(f->bench);
    f->a = bench_session_new(f->bench);
}

static int teardown(void **state)
{
    struct fixture *f = *state;
    store_close(f);
    bench_free(f->bench);
    free(f);
    return 0;
}

static void assert_err(struct bench_answer a, int code)
{
    assert_string_equal(error_name(a.err), error_name(code));
}

static void nodes_are_found_again_and_ephemerals_are_not(void **state)
{
    struct fixture *f = *state;
    struct metastore_op ops[] = {OP_CREATE("/a", "1"),     OP_CREATE("/a/b", NULL),
                                 OP_CREATE("/a/b/c", ""),  OP_CREATE("/a-b", "x"),
                                 OP_CREATE("/gone", NULL), OP_EPHEMERAL("/a/e"),
                                 OP_SET("/a", "2", 0),     OP_DELETE("/gone", 0)};
    struct bench_answer made = bench_multi(f->a, ops, 8);
    assert_err(made, 0);
    store_reopen(f);
    struct bench_answer a = bench_get(f->a, "/a", false);
    assert_string_equal(a.data, "2");
    assert_int_equal(a.stat.version, 1);
    assert_int_equal(a.stat.czxid, made.op_stats[0].czxid);
    assert_int_equal(a.stat.mzxid, made.op_stats[6].mzxid);
    assert_string_equal(bench_get(f->a, "/a/b", false).data, "(null)");
    assert_string_equal(bench_get(f->a, "/a/b/c", false).data, "");
    assert_string_equal(bench_children(f->a, "/", false).children, "a,a-b");
    assert_string_equal(bench_children(f->a, "/a", false).children, "b");
}

static void czxid_and_sequences_rise_over_restarts(void **state)
{
    struct fixture *f = *state;
    int64_t last = 0;
    char last_path[64] = "";
    for (int i = 0; i < 3; i++) {
        /* An ephemeral is the only change: no row is written, but its czxid is a broker's epoch. */
        struct bench_answer made = bench_op(f->a, OP_EPHEMERAL("/e"));
        assert_err(made, 0);
        assert_true(made.op_stats[0].czxid > last);
        last = made.op_stats[0].czxid;
        store_reopen(f);
        struct bench_answer queued = bench_op(f->a, OP_SEQUENTIAL("/n_"));
        assert_true(strcmp(queued.op_paths[0], last_path) > 0);
        (void)snprintf(last_path, sizeof last_path, "%s", queued.op_paths[0]);
        assert_err(bench_op(f->a, OP_DELETE(last_path, 0)), 0);
        store_reopen(f);
    }
}

static void open_store_is_locked(void **state)
{
    struct fixture *f = *state;
    struct metastore_store_config config = {.env = sim_node_env(f->bench->store_node),
                                            .directory = f->bench->directory};
    struct metastore_store *other = NULL;
    struct errmsg em = {""};
    assert_int_equal(metastore_store_new(&config, &other, &em), -E_LOCKED);
    assert_non_null(strstr(em.text, "metastore.db: in use"));
    assert_null(other);
    assert_err(bench_op(f->a, OP_CREATE("/x", NULL)), 0);
}

static void run_sql(struct fixture *f, const char *sql)
{
    char path[128];
    (void)snprintf(path, sizeof path, "%s/" METASTORE_LOCAL_FILE, f->bench->directory);
    sqlite3 *db = NULL;
    assert_int_equal(sqlite3_open(path, &db), SQLITE_OK);
    assert_int_equal(sqlite3_exec(db, sql, NULL, NULL, NULL), SQLITE_OK);
    sqlite3_close(db);
}

static void assert_refused(struct fixture *f, enum error code, const char *reason)
{
    struct metastore_store_config config = {.env = sim_node_env(f->bench->store_node),
                                            .directory = f->bench->directory};
    struct metastore_store *store = NULL;
    struct errmsg em = {""};
    int err = metastore_store_new(&config, &store, &em);
    assert_string_equal(error_name(err), error_name(code));
    assert_non_null(strstr(em.text, reason));
}

static void newer_format_is_refused_by_name(void **state)
{
    struct fixture *f = *state;
    store_close(f);
    run_sql(f, "UPDATE metastore SET format = 2");
    assert_refused(f, E_UNSUPPORTED, "format 2 was made by a newer klamm");
}

static void damaged_files_are_refused(void **state)
{
    struct fixture *f = *state;
    assert_err(bench_op(f->a, OP_CREATE("/a", NULL)), 0);
    store_close(f);
    run_sql(f, "UPDATE node SET path = '/nowhere/a' WHERE path = '/a'");
    assert_refused(f, E_CORRUPT, "'/nowhere/a' does not fit");
    run_sql(f, "DELETE FROM node; DELETE FROM metastore");
    assert_refused(f, E_CORRUPT, "its format is not stated");
    char path[128];
    (void)snprintf(path, sizeof path, "%s/" METASTORE_LOCAL_FILE, f->bench->directory);
    FILE *file = fopen(path, "w");
    (void)fprintf(file, "this is no database, and it is long enough to be looked at as one");
    (void)fclose(file);
    assert_refused(f, E_CORRUPT, "not a database");
}

static void missing_directory_is_named(void **state)
{
    struct fixture *f = *state;
    struct metastore_store_config config = {.env = sim_node_env(f->bench->store_node),
                                            .directory = "/nonexistent/klamm"};
    struct metastore_store *store = NULL;
    struct errmsg em = {""};
    assert_int_equal(metastore_store_new(&config, &store, &em), -E_IO);
    assert_non_null(strstr(em.text, "/nonexistent/klamm/metastore.db"));
}

/* 20 multis of 1,000 sets, as a controller that ends 20,000 moves sends them. */
static void many_writes_are_fast_and_all_found_again(void **state)
{
    enum {
        MULTIS = 20,
        OPS = METASTORE_OPS_MAX
    };
    struct fixture *f = *state;
    struct metastore_op *ops = xalloc(OPS * sizeof *ops);
    char(*paths)[32] = xalloc(OPS * sizeof *paths);
    for (int i = 0; i < OPS; i++) {
        (void)snprintf(paths[i], sizeof paths[i], "/n%d", i);
        ops[i] = OP_CREATE(paths[i], NULL);
    }
    assert_err(bench_multi(f->a, ops, OPS), 0);
    for (int i = 0; i < OPS; i++) {
        ops[i] = OP_SET(paths[i],
                        "{\"controller_epoch\":5,\"leader\":1,\"version\":1,\"leader_epoch\":3,"
                        "\"isr\":[1,2,3]}",
                        -1);
    }
    struct bench_answer answers[MULTIS] = {{0}};
    for (int i = 0; i < MULTIS; i++) {
        metastore_multi(f->a->m, ops, OPS, bench_done, &answers[i]);
    }
    bench_wait(f->bench, &answers[MULTIS - 1]);
    for (int i = 0; i < MULTIS; i++) {
        assert_int_equal(answers[i].err, 0);
    }
    store_reopen(f);
    assert_int_equal(bench_children(f->a, "/", false).child_count, OPS);
    assert_int_equal(bench_get(f->a, "/n999", false).stat.version, MULTIS);
    free(ops);
    free(paths);
}

/* Nothing that shows a write leaves before the write is on disk: a second reader of the file sees at
 * least what the answer says. Here the answer comes after the commit, which pool work does. */
static void watchers_and_readers_wait_for_the_commit(void **state)
{
    struct fixture *f = *state;
    struct bench_session *b = bench_session_new(f->bench);
    assert_err(bench_op(f->a, OP_CREATE("/x", "0")), 0);
    assert_err(bench_get(b, "/x", true), 0);
    sim_disk_slow(f->bench->store_node, 50);
    struct bench_answer set = {.session = b, .number = 1};
    struct bench_answer get = {.session = b, .number = 2};
    struct metastore_op op = OP_SET("/x", "1", 0);
    metastore_multi(f->a->m, &op, 1, bench_done, &set);
    bench_run(f->bench, 1);
    metastore_get(b->m, slice_str("/x"), NULL, NULL, bench_done, &get);
    bench_wait(f->bench, &get);
    bench_wait(f->bench, &set);
    char log[2048];
    bench_take_log(b, log);
    assert_string_equal(get.data, "1");
    assert_true(strstr(log, "event changed /x") < strstr(log, "answer 2"));
    bench_session_close(b);
}

/* The limit of the file size plays the full disk: writes to the log of SQLite fail. Returns the limit that
 * was. */
static struct rlimit disk_fill(void)
{
    struct rlimit before;
    assert_int_equal(getrlimit(RLIMIT_FSIZE, &before), 0);
    (void)signal(SIGXFSZ, SIG_IGN);
    struct rlimit full = {.rlim_cur = 4096, .rlim_max = before.rlim_max};
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &full), 0);
    return before;
}

static void full_disk_holds_answers_back_until_there_is_room(void **state)
{
    struct fixture *f = *state;
    struct bench *b = f->bench;
    assert_err(bench_op(f->a, OP_CREATE("/x", "0")), 0);
    struct rlimit before = disk_fill();
    struct bench_answer set = {0};
    struct bench_answer get = {0};
    struct metastore_op op = OP_SET("/x", "1", 0);
    metastore_multi(f->a->m, &op, 1, bench_done, &set);
    metastore_get(f->a->m, slice_str("/x"), NULL, NULL, bench_done, &get);
    bench_run(b, 5000);
    assert_int_equal(b->stall_count, 1); /* told once, though it was tried more often */
    assert_false(set.is_done);
    assert_false(get.is_done);
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &before), 0);
    bench_wait(b, &get);
    assert_int_equal(b->recover_count, 1);
    assert_err(set, 0);
    assert_string_equal(get.data, "1");
    store_reopen(f);
    assert_string_equal(bench_get(f->a, "/x", false).data, "1");
}

/* What nobody heard of need not be kept: the end does not wait for a disk that may stay full for ever. */
static void full_disk_does_not_hold_up_the_end(void **state)
{
    struct fixture *f = *state;
    struct bench *b = f->bench;
    assert_err(bench_op(f->a, OP_CREATE("/x", "0")), 0);
    struct rlimit before = disk_fill();
    struct bench_answer set = {0};
    struct metastore_op op = OP_SET("/x", "1", 0);
    metastore_multi(f->a->m, &op, 1, bench_done, &set);
    bench_run(b, 5000);
    assert_int_equal(b->stall_count, 1);
    store_close(f); /* between two tries */
    assert_false(set.is_done);
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &before), 0);
    bench_open_store(b);
    f->a = bench_session_new(b);
    assert_string_equal(bench_get(f->a, "/x", false).data, "0");

    (void)disk_fill();
    metastore_multi(f->a->m, &op, 1, bench_done, &set);
    store_close(f); /* while the first try runs */
    assert_false(set.is_done);
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &before), 0);
    bench_open_store(b);
    f->a = bench_session_new(b);
    assert_string_equal(bench_get(f->a, "/x", false).data, "0");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(nodes_are_found_again_and_ephemerals_are_not, setup,
                                        teardown),
        cmocka_unit_test_setup_teardown(czxid_and_sequences_rise_over_restarts, setup, teardown),
        cmocka_unit_test_setup_teardown(open_store_is_locked, setup, teardown),
        cmocka_unit_test_setup_teardown(newer_format_is_refused_by_name, setup, teardown),
        cmocka_unit_test_setup_teardown(damaged_files_are_refused, setup, teardown),
        cmocka_unit_test_setup_teardown(missing_directory_is_named, setup, teardown),
        cmocka_unit_test_setup_teardown(many_writes_are_fast_and_all_found_again, setup, teardown),
        cmocka_unit_test_setup_teardown(watchers_and_readers_wait_for_the_commit, setup, teardown),
        cmocka_unit_test_setup_teardown(full_disk_holds_answers_back_until_there_is_room, setup,
                                        teardown),
        cmocka_unit_test_setup_teardown(full_disk_does_not_hold_up_the_end, setup, teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
