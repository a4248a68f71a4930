/*
 * The table of commands.
 */
#include "cli/cli.h"

#include "base/check.h"

#include <stdio.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

static int run(const char *word)
{
    static char program[] = "klamm";
    char copy[32];
    (void)snprintf(copy, sizeof copy, "%s", word);
    char *argv[] = {program, copy, NULL};
    return cli_main(word[0] == '\0' ? 1 : 2, argv);
}

static void commands_are_known_by_name(void **state)
{
    (void)state;
    assert_true(cli_has_command("topics"));
    assert_true(cli_has_command("reassign"));
    assert_true(cli_has_command("leader-election"));
    assert_false(cli_has_command("dev")); /* the program's own */
    assert_false(cli_has_command("topic"));
}

static void exit_codes_tell_help_from_mistakes(void **state)
{
    (void)state;
    assert_int_equal(run("--help"), 0);
    assert_int_equal(run("--version"), 0);
    assert_int_equal(run(""), 2);
    assert_int_equal(run("topic"), 2);
    assert_int_equal(run("topics"), 2);
    assert_int_equal(run("reassign"), 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(commands_are_known_by_name),
        cmocka_unit_test(exit_codes_tell_help_from_mistakes),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
