/*
 * Calls of a session reach its backend with their arguments.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "metastore/metastore.h"

#include <stdio.h>

struct recorder {
    struct metastore base;
    char last[64];
};

static void record(struct metastore *m, const char *call, struct slice path)
{
    struct recorder *r = (struct recorder *)m;
    (void)snprintf(r->last, sizeof r->last, "%s %.*s", call, (int)path.len,
                   path.len == 0 ? "" : (const char *)path.ptr);
}

static void record_get(struct metastore *m, struct slice path, metastore_watch_fn watch,
                       void *watch_arg, metastore_done_fn done, void *arg)
{
    (void)watch, (void)watch_arg, (void)done, (void)arg;
    record(m, "get", path);
}

static void record_exists(struct metastore *m, struct slice path, metastore_watch_fn watch,
                          void *watch_arg, metastore_done_fn done, void *arg)
{
    (void)watch, (void)watch_arg, (void)done, (void)arg;
    record(m, "exists", path);
}

static void record_children(struct metastore *m, struct slice path, metastore_watch_fn watch,
                            void *watch_arg, metastore_done_fn done, void *arg)
{
    (void)watch, (void)watch_arg, (void)done, (void)arg;
    record(m, "children", path);
}

static void record_multi(struct metastore *m, const struct metastore_op *ops, int32_t op_count,
                         metastore_done_fn done, void *arg)
{
    (void)done, (void)arg;
    assert_int_equal(op_count, 1);
    record(m, "multi", ops[0].path);
}

static void record_close(struct metastore *m)
{
    record(m, "close", SLICE_NULL);
}

static void record_abandon(struct metastore *m)
{
    record(m, "abandon", SLICE_NULL);
}

static void calls_go_to_the_backend(void **state)
{
    (void)state;
    static const struct metastore_ops ops = {.get = record_get,
                                             .exists = record_exists,
                                             .children = record_children,
                                             .multi = record_multi,
                                             .close = record_close,
                                             .abandon = record_abandon};
    struct recorder r = {.base = {.ops = &ops, .session_id = 7}};
    struct metastore *m = &r.base;
    assert_int_equal(metastore_session_id(m), 7);
    metastore_get(m, slice_str("/a"), NULL, NULL, NULL, NULL);
    assert_string_equal(r.last, "get /a");
    metastore_exists(m, slice_str("/b"), NULL, NULL, NULL, NULL);
    assert_string_equal(r.last, "exists /b");
    metastore_children(m, slice_str("/c"), NULL, NULL, NULL, NULL);
    assert_string_equal(r.last, "children /c");
    struct metastore_op op = {.kind = METASTORE_DELETE, .path = slice_str("/d")};
    metastore_multi(m, &op, 1, NULL, NULL);
    assert_string_equal(r.last, "multi /d");
    metastore_close(m);
    assert_string_equal(r.last, "close ");
    metastore_abandon(m);
    assert_string_equal(r.last, "abandon ");
    metastore_close(NULL);
    metastore_abandon(NULL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(calls_go_to_the_backend),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
