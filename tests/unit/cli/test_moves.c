/*
 * Lookups into what the cluster said.
 */
#include "cli/moves.h"

#include "base/check.h"

#include <stdlib.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

static const int32_t all[] = {4, 1, 2, 3};
static const int32_t leaving[] = {1};
static const struct klamm_reassignment rows[] = {
    {.topic = "bar", .partition = 7},
    {.topic = "foo", .partition = 0},
    {.topic = "foo", .partition = 9, .replicas = {all, 4}, .removing = {leaving, 1}}};
static const struct klamm_reassignments moves = {.count = 3, .list = rows};
static const struct klamm_partition partitions[] = {{.index = 0}, {.index = 1}};
static const struct klamm_topic topic_rows[] = {
    {.name = "bar", .partition_count = 2, .partitions = partitions}, {.name = "foo", .code = 3}};
static const struct klamm_topics topics = {.count = 2, .list = topic_rows};

static void rows_are_found_by_name(void **state)
{
    (void)state;
    assert_ptr_equal(cli_moves_find(&moves, "bar", 7), &rows[0]);
    assert_ptr_equal(cli_moves_find(&moves, "foo", 9), &rows[2]);
    assert_null(cli_moves_find(&moves, "foo", 7));
    assert_null(cli_moves_find(NULL, "foo", 0));
    assert_ptr_equal(cli_topics_find(&topics, "foo"), &topic_rows[1]);
    assert_null(cli_topics_find(&topics, "fo"));
    assert_ptr_equal(cli_topics_find_partition(&topics, "bar", 1), &partitions[1]);
    assert_null(cli_topics_find_partition(&topics, "bar", 2));
    assert_null(cli_topics_find_partition(&topics, "foo", 0));
    assert_null(cli_topics_find_partition(NULL, "bar", 0));
}

static void target_is_what_stays(void **state)
{
    (void)state;
    static const int32_t expected[] = {4, 2, 3};
    struct klamm_ids target = cli_moves_target(&rows[2]);
    assert_int_equal(target.count, 3);
    assert_memory_equal(target.list, expected, sizeof expected);
    free((void *)(uintptr_t)target.list);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(rows_are_found_by_name),
        cmocka_unit_test(target_is_what_stays),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
