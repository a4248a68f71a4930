/*
 * Ordered rows and memory of results.
 */
#include "client/result.h"

#include "base/check.h"

#include <stdlib.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

static const struct klamm_partition_ref refs[] = {
    {"foo", 2}, {"bar", 0}, {"foo", 0}, {"foo-bar", 1}, {"foo", 1}};

static void rows_are_grouped_by_topic(void **state)
{
    (void)state;
    struct klamm_error err = {0};
    struct klamm_partition_refs all = {refs, (int32_t)ARRAY_LEN(refs)};
    struct client_row *rows = client_rows_new(&all, &err);
    assert_non_null(rows);
    struct arena arena;
    arena_init(&arena, SIZE_MAX / 2);
    int32_t count = 0;
    struct client_group *groups = client_rows_group(rows, all.count, &arena, &count);
    assert_int_equal(count, 3);
    assert_true(slice_equal_str(groups[0].topic, "bar"));
    assert_true(slice_equal_str(groups[1].topic, "foo"));
    assert_int_equal(groups[1].count, 3);
    assert_int_equal(groups[1].start, 1);
    for (int32_t i = 0; i < 3; i++) {
        assert_int_equal(groups[1].partitions[i], i);
    }
    assert_true(slice_equal_str(groups[2].topic, "foo-bar"));
    arena_deinit(&arena);
    free(rows);
}

static void rows_are_found(void **state)
{
    (void)state;
    struct klamm_error err = {0};
    struct klamm_partition_refs all = {refs, (int32_t)ARRAY_LEN(refs)};
    struct client_row *rows = client_rows_new(&all, &err);
    for (int32_t i = 0; i < all.count; i++) {
        const struct client_row *row =
            client_rows_find(rows, all.count, slice_str(refs[i].topic), refs[i].partition);
        assert_non_null(row);
        assert_int_equal(row->index, i);
    }
    assert_null(client_rows_find(rows, all.count, slice_str("foo"), 3));
    assert_null(client_rows_find(rows, all.count, slice_str("fo"), 0));
    assert_null(client_rows_find(rows, 0, slice_str("foo"), 0));
    free(rows);
}

static void bad_references_are_refused(void **state)
{
    (void)state;
    struct klamm_error err = {0};
    struct klamm_partition_ref bad[] = {{"foo", -1}};
    assert_null(client_rows_new(&(struct klamm_partition_refs){bad, 1}, &err));
    assert_int_equal(err.code, KLAMM_ERR_ARGUMENT);
    bad[0] = (struct klamm_partition_ref){"", 0};
    assert_null(client_rows_new(&(struct klamm_partition_refs){bad, 1}, &err));
    struct client_row *none = client_rows_new(NULL, &err);
    assert_non_null(none);
    free(none);
}

static void memory_remembers_a_refusal(void **state)
{
    (void)state;
    struct klamm_memory *memory = client_memory_new();
    assert_string_equal(client_memory_text(memory, slice_str("abc")), "abc");
    assert_null(client_memory_text(memory, SLICE_NULL));
    assert_false(memory->failed);
    assert_null(client_memory_message(memory, 0, slice_str("text")));
    assert_string_equal(client_memory_message(memory, 39, slice_str("text")), "text");
    assert_string_equal(client_memory_message(memory, 39, SLICE_NULL),
                        "INVALID_REPLICA_ASSIGNMENT");
    assert_null(client_memory_array(memory, INT32_MAX, 1024));
    assert_true(memory->failed);
    client_memory_free(memory);
    client_memory_free(NULL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(rows_are_grouped_by_topic),
        cmocka_unit_test(rows_are_found),
        cmocka_unit_test(bad_references_are_refused),
        cmocka_unit_test(memory_remembers_a_refusal),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
