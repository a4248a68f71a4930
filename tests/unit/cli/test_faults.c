/*
 * The list of faults: order, bound, and the two ways of being shown.
 */
#include "cli/faults.h"

#include "base/check.h"

#include <stdlib.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

static void add(struct cli_faults *faults, enum cli_fault_kind kind, int32_t line,
                const char *subject)
{
    struct cli_fault fault = {.kind = kind, .at = {line, 1}, .subject = subject, .value = 7};
    cli_faults_add(faults, &fault, "text %d", line);
}

static char *print(const struct cli_faults *faults, bool is_kafka)
{
    struct buf out;
    buf_init(&out);
    if (is_kafka) {
        cli_faults_print_kafka(faults, &out);
    } else {
        cli_faults_print(faults, "f", &out);
    }
    char *text = slice_dup(buf_slice(&out));
    buf_deinit(&out);
    return text;
}

static void faults_are_sorted_by_place(void **state)
{
    (void)state;
    struct cli_faults faults;
    cli_faults_init(&faults);
    add(&faults, CLI_FAULT_SHAPE, 3, "c-0");
    add(&faults, CLI_FAULT_SHAPE, 1, NULL);
    add(&faults, CLI_FAULT_RANGE, 3, "d-0");
    add(&faults, CLI_FAULT_SOURCE, 0, NULL);
    struct cli_fault warning = {
        .kind = CLI_FAULT_KEY_UNKNOWN, .severity = CLI_SEVERITY_WARNING, .at = {2, 4}};
    cli_faults_add(&faults, &warning, "odd");
    cli_faults_sort(&faults);
    char *text = print(&faults, false);
    assert_string_equal(text, "f: text 0\n"
                              "f:1:1: text 1\n"
                              "f:2:4: warning: odd\n"
                              "f:3:1: c-0: text 3\n"
                              "f:3:1: d-0: text 3\n");
    assert_int_equal(faults.error_count, 4);
    assert_int_equal(faults.warning_count, 1);
    assert_true(cli_faults_has(&faults, CLI_FAULT_RANGE));
    assert_false(cli_faults_has(&faults, CLI_FAULT_VERSION));
    free(text);
    cli_faults_deinit(&faults);
}

static void list_is_bounded(void **state)
{
    (void)state;
    struct cli_faults faults;
    cli_faults_init(&faults);
    for (int32_t i = 0; i < CLI_FAULTS_MAX + 5; i++) {
        add(&faults, CLI_FAULT_SHAPE, i + 1, "a-0");
    }
    assert_int_equal(faults.count, CLI_FAULTS_MAX);
    assert_int_equal(faults.error_count, CLI_FAULTS_MAX + 5);
    char *text = print(&faults, false);
    assert_non_null(strstr(text, "\nf: and 5 more\n"));
    free(text);
    cli_faults_deinit(&faults);
}

static void kafkas_sentence_is_about_its_first_check(void **state)
{
    (void)state;
    struct cli_faults faults;
    cli_faults_init(&faults);
    char *text = print(&faults, true);
    assert_string_equal(text, "");
    free(text);
    add(&faults, CLI_FAULT_TOPIC_UNKNOWN, 1, "a-0");
    add(&faults, CLI_FAULT_BROKER_UNKNOWN, 2, "b-0");
    text = print(&faults, true);
    assert_string_equal(text, "Unknown broker id 7");
    free(text);
    add(&faults, CLI_FAULT_REPLICA_REPEATED, 3, "c-0");
    add(&faults, CLI_FAULT_REPLICA_REPEATED, 4, "d-0");
    text = print(&faults, true);
    assert_string_equal(text, "Partition replica lists may not contain duplicate entries: c-0 "
                              "contains multiple entries for 7. d-0 contains multiple entries for "
                              "7");
    free(text);
    cli_faults_deinit(&faults);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(faults_are_sorted_by_place),
        cmocka_unit_test(list_is_bounded),
        cmocka_unit_test(kafkas_sentence_is_about_its_first_check),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
