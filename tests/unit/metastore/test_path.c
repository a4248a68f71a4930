/*
 * Paths of Kafka's znodes.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "metastore/path.h"

#include "base/check.h"

#include <stdlib.h>

static void assert_path(struct slice path, const char *expected)
{
    char *text = slice_dup(path);
    assert_string_equal(text, expected);
    free(text);
}

static void paths_are_kafkas(void **state)
{
    (void)state;
    struct metastore_path p;
    struct slice t = slice_str("foo.bar");
    assert_path(metastore_path_broker(&p, 12), "/brokers/ids/12");
    assert_path(metastore_path_topic(&p, t), "/brokers/topics/foo.bar");
    assert_path(metastore_path_partitions(&p, t), "/brokers/topics/foo.bar/partitions");
    assert_path(metastore_path_partition(&p, t, 3), "/brokers/topics/foo.bar/partitions/3");
    assert_path(metastore_path_state(&p, t, 3), "/brokers/topics/foo.bar/partitions/3/state");
    assert_path(metastore_path_delete_topic(&p, t), "/admin/delete_topics/foo.bar");
    assert_path(metastore_path_topic_config(&p, t), "/config/topics/foo.bar");
    assert_path(metastore_path_broker_config(&p, 0), "/config/brokers/0");
    assert_path(metastore_path_broker_config(&p, -1), "/config/brokers/<default>");
    assert_path(metastore_path_child(&p, METASTORE_CONFIG_CHANGES, slice_str("config_change_1")),
                "/config/changes/config_change_1");
}

static void longest_topic_fits_and_longer_names_give_null(void **state)
{
    (void)state;
    struct metastore_path p;
    char name[400];
    memset(name, 'x', sizeof name);
    struct slice longest = metastore_path_state(&p, slice_of(name, 249), INT32_MAX);
    assert_int_equal(longest.len, 16 + 249 + 12 + 10 + 6);
    assert_true(slice_is_null(metastore_path_state(&p, slice_of(name, 399), 0)));
}

static void names_that_would_leave_their_folder_give_null(void **state)
{
    (void)state;
    struct metastore_path p;
    assert_true(slice_is_null(metastore_path_topic(&p, slice_str("a/b"))));
    assert_true(slice_is_null(metastore_path_topic(&p, slice_str(""))));
    assert_true(slice_is_null(metastore_path_topic(&p, slice_of("a\0b", 3))));
}

static void sequence_is_the_ten_digits_at_the_end(void **state)
{
    (void)state;
    assert_int_equal(metastore_path_sequence(slice_str("config_change_0000000042")), 42);
    assert_int_equal(metastore_path_sequence(slice_str("2147483647")), 2147483647);
    assert_int_equal(metastore_path_sequence(slice_str("config_change_42")), -1);
    assert_int_equal(metastore_path_sequence(slice_str("x")), -1);
}

static void valid_paths_are_zookeepers(void **state)
{
    (void)state;
    static const char *const good[] = {"/", "/a", "/a/b.c", "/.a/..b/..."};
    for (size_t i = 0; i < ARRAY_LEN(good); i++) {
        assert_true(metastore_path_is_valid(slice_str(good[i])));
    }
    static const char *const bad[] = {"", "a", "/a/", "//", "/a//b", "/.", "/a/..", "/../a"};
    for (size_t i = 0; i < ARRAY_LEN(bad); i++) {
        assert_false(metastore_path_is_valid(slice_str(bad[i])));
    }
    assert_false(metastore_path_is_valid(slice_of("/a\0b", 4)));
    char longest[METASTORE_PATH_MAX + 1];
    memset(longest, 'x', sizeof longest);
    longest[0] = '/';
    assert_true(metastore_path_is_valid(slice_of(longest, METASTORE_PATH_MAX)));
    assert_false(metastore_path_is_valid(slice_of(longest, METASTORE_PATH_MAX + 1)));
}

static void roots_come_after_their_parents(void **state)
{
    (void)state;
    for (int32_t i = 0; i < metastore_path_root_count; i++) {
        const char *path = metastore_path_roots[i];
        size_t parent_len = (size_t)(strrchr(path, '/') - path);
        bool is_known = parent_len == 0;
        for (int32_t j = 0; j < i; j++) {
            is_known = is_known || (strlen(metastore_path_roots[j]) == parent_len &&
                                    strncmp(metastore_path_roots[j], path, parent_len) == 0);
        }
        assert_true(is_known);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(paths_are_kafkas),
        cmocka_unit_test(longest_topic_fits_and_longer_names_give_null),
        cmocka_unit_test(names_that_would_leave_their_folder_give_null),
        cmocka_unit_test(valid_paths_are_zookeepers),
        cmocka_unit_test(sequence_is_the_ten_digits_at_the_end),
        cmocka_unit_test(roots_come_after_their_parents),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
