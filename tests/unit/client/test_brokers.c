/*
 * Log directories and settings of single brokers.
 */
#include "unit/client/fake_fixture.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

static void log_dirs_tell_sizes(void **state)
{
    struct fake_fixture *x = *state;
    struct klamm_log_dirs *dirs = NULL;
    assert_int_equal(klamm_describe_log_dirs(x->client, 2, NULL, &dirs, &x->err), 0);
    assert_int_equal(dirs->count, 1);
    assert_string_equal(dirs->list[0].path, "/data");
    assert_int_equal(dirs->list[0].total_bytes, 5000);
    assert_int_equal(dirs->list[0].usable_bytes, 4000);
    assert_int_equal(dirs->list[0].disk, 77);
    assert_int_equal(dirs->list[0].log_count, 3);
    assert_string_equal(dirs->list[0].logs[1].topic, "foo");
    assert_int_equal(dirs->list[0].logs[1].partition, 1);
    assert_int_equal(dirs->list[0].logs[1].size, 1000);
    klamm_log_dirs_free(dirs);
    struct klamm_partition_ref ref = {"foo", 0};
    struct klamm_partition_refs refs = {&ref, 1};
    assert_int_equal(klamm_describe_log_dirs(x->client, 5, &refs, &dirs, &x->err), 0);
    assert_int_equal(dirs->list[0].log_count, 0);
    klamm_log_dirs_free(dirs);
}

static void settings_come_in_order(void **state)
{
    struct fake_fixture *x = *state;
    struct klamm_settings *settings = NULL;
    assert_int_equal(klamm_describe_topic_settings(x->client, "foo", &settings, &x->err), 0);
    assert_int_equal(settings->count, 2);
    assert_string_equal(settings->list[0].name, "cleanup.policy");
    assert_string_equal(settings->list[0].value, "delete");
    assert_string_equal(settings->list[1].name, "retention.ms");
    assert_int_equal(settings->list[1].source, 1);
    klamm_settings_free(settings);
    assert_int_equal(klamm_describe_broker_settings(x->client, 3, &settings, &x->err), 0);
    assert_int_equal(settings->count, 2);
    klamm_settings_free(settings);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        FAKE_TEST(log_dirs_tell_sizes),
        FAKE_TEST(settings_come_in_order),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
