/*
 * The command line of `klamm server`.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "cmd/server_command.h"

#include <stdlib.h>
#include <string.h>

/* Words are split at blanks; they live in storage as long as what was parsed. */
static int parse(char *storage, struct cmd_server_command *ret, struct errmsg *em)
{
    char *words[16];
    int count = 0;
    char *rest = storage;
    for (char *word; (word = strsep(&rest, " ")) != NULL;) {
        if (word[0] != '\0') {
            words[count++] = word;
        }
    }
    return cmd_server_command_parse((struct cli_words){words, count}, ret, em);
}

static void file_overrides_and_level_are_taken(void **state)
{
    (void)state;
    char line[] = "--config a.properties --override broker.id=2 --override=x=y --log-level debug";
    struct cmd_server_command c = {0};
    struct errmsg em = {""};
    assert_int_equal(parse(line, &c, &em), 0);
    assert_int_equal(c.action, CMD_SERVER_RUN);
    assert_string_equal(c.path, "a.properties");
    assert_int_equal(c.overrides.count, 2);
    assert_string_equal(c.overrides.list[0], "broker.id=2");
    assert_string_equal(c.overrides.list[1], "x=y");
    assert_int_equal(c.log_level, CMD_SERVER_LOG_DEBUG);
    cmd_server_command_deinit(&c);
}

static void words_choose_the_action(void **state)
{
    (void)state;
    char check_line[] = "--check --config a";
    char document_line[] = "--print-configuration";
    char help_line[] = "--help";
    struct cmd_server_command c = {0};
    struct errmsg em = {""};
    assert_int_equal(parse(check_line, &c, &em), 0);
    assert_int_equal(c.action, CMD_SERVER_CHECK);
    assert_int_equal(c.log_level, CMD_SERVER_LOG_INFO);
    cmd_server_command_deinit(&c);
    assert_int_equal(parse(document_line, &c, &em), 0);
    assert_int_equal(c.action, CMD_SERVER_PRINT_CONFIGURATION);
    cmd_server_command_deinit(&c);
    assert_int_equal(parse(help_line, &c, &em), 0);
    assert_int_equal(c.action, CMD_SERVER_HELP);
    char *help = slice_dup(buf_slice(&c.help));
    assert_non_null(strstr(help, "Usage: klamm server [options]"));
    assert_non_null(strstr(help, "klamm server --config server.properties --check"));
    free(help);
    cmd_server_command_deinit(&c);
}

static void wrong_lines_say_why(void **state)
{
    (void)state;
    char bare_line[] = "--override a=b";
    char level_line[] = "--config a --log-level loud";
    char word_line[] = "--config a start";
    struct cmd_server_command c = {0};
    struct errmsg em = {""};
    assert_int_equal(parse(bare_line, &c, &em), -E_INVALID);
    assert_string_equal(em.text, "--config is needed");
    assert_int_equal(parse(level_line, &c, &em), -E_INVALID);
    assert_string_equal(em.text, "option --log-level: \"loud\" is not error, warn, info or debug");
    assert_int_equal(parse(word_line, &c, &em), -E_INVALID);
    assert_null(c.path);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(file_overrides_and_level_are_taken),
        cmocka_unit_test(words_choose_the_action),
        cmocka_unit_test(wrong_lines_say_why),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
