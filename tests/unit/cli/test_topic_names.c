/*
 * Files of topics to move.
 */
#include "cli/topic_names.h"

#include "base/check.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

static void names_are_read_in_order(void **state)
{
    (void)state;
    struct cli_faults faults;
    cli_faults_init(&faults);
    struct cli_topic_names *names = cli_topic_names_parse(
        slice_str("{\"version\":1,\"topics\":[{\"topic\":\"b\"},{\"topic\":\"a\"}]}"), &faults);
    assert_int_equal(faults.count, 0);
    assert_int_equal(names->count, 2);
    assert_string_equal(names->list[0], "b");
    assert_string_equal(names->list[1], "a");
    cli_topic_names_free(names);
    cli_faults_deinit(&faults);
}

static void all_faults_are_found(void **state)
{
    (void)state;
    struct cli_faults faults;
    cli_faults_init(&faults);
    struct cli_topic_names *names = cli_topic_names_parse(
        slice_str(
            "{\"version\":2,\"topics\":[7,{\"topic\":\"a/b\"},{},{\"topic\":\"ok\",\"x\":1}]}"),
        &faults);
    assert_int_equal(faults.error_count, 4);
    assert_int_equal(faults.warning_count, 1);
    assert_int_equal(names->count, 1);
    cli_topic_names_free(names);
    cli_topic_names_free(NULL);
    cli_faults_deinit(&faults);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(names_are_read_in_order),
        cmocka_unit_test(all_faults_are_found),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
