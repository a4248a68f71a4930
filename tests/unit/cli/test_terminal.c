/*
 * Standard streams through pipes: what is flushed arrives, errors apart from output, no colours.
 */
#include "cli/terminal.h"

#include "base/check.h"

#include <stdlib.h>
#include <unistd.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

static void flushed_text_arrives_on_its_stream(void **state)
{
    (void)state;
    int streams[2][2];
    int saved[2];
    for (int i = 0; i < 2; i++) {
        assert_int_equal(pipe(streams[i]), 0);
        saved[i] = dup(i + 1);
        assert_int_equal(dup2(streams[i][1], i + 1), i + 1);
    }
    struct cli_terminal terminal;
    cli_terminal_init(&terminal);
    buf_put_str(&terminal.out, "to out");
    buf_put_str(&terminal.err, "to err");
    cli_terminal_flush(&terminal);
    bool is_terminal = terminal.is_terminal;
    size_t left = terminal.out.len + terminal.err.len;
    const char *style = cli_terminal_style(&terminal, CLI_STYLE_BAD);
    cli_terminal_deinit(&terminal);
    char texts[2][16] = {{0}};
    for (int i = 0; i < 2; i++) {
        assert_int_equal(dup2(saved[i], i + 1), i + 1);
        assert_int_equal(read(streams[i][0], texts[i], 15), 6);
        assert_int_equal(close(streams[i][0]) + close(streams[i][1]) + close(saved[i]), 0);
    }
    assert_string_equal(texts[0], "to out");
    assert_string_equal(texts[1], "to err");
    assert_false(is_terminal);
    assert_int_equal(left, 0);
    assert_string_equal(style, "");
}

/* On a screen both streams end in one place. */
static void what_is_asked_about_stands_before_the_question(void **state)
{
    (void)state;
    int ends[2];
    int saved[2] = {dup(STDOUT_FILENO), dup(STDERR_FILENO)};
    assert_int_equal(pipe(ends), 0);
    assert_int_equal(dup2(ends[1], STDOUT_FILENO), STDOUT_FILENO);
    assert_int_equal(dup2(ends[1], STDERR_FILENO), STDERR_FILENO);
    struct cli_terminal terminal;
    cli_terminal_init(&terminal);
    buf_put_str(&terminal.out, "a plan\n");
    buf_put_str(&terminal.err, "a warning\n");
    cli_terminal_ask(&terminal, "Start?");
    cli_terminal_deinit(&terminal);
    assert_int_equal(dup2(saved[0], STDOUT_FILENO), STDOUT_FILENO);
    assert_int_equal(dup2(saved[1], STDERR_FILENO), STDERR_FILENO);
    char text[64] = {0};
    assert_true(read(ends[0], text, sizeof text - 1) > 0);
    assert_int_equal(close(ends[0]) + close(ends[1]) + close(saved[0]) + close(saved[1]), 0);
    assert_string_equal(text, "a warning\na plan\nStart? [y/N] ");
}

static void captured_text_stays(void **state)
{
    (void)state;
    struct cli_terminal terminal;
    cli_terminal_init_captured(&terminal);
    buf_put_str(&terminal.out, "kept");
    cli_terminal_flush(&terminal);
    assert_int_equal(terminal.out.len, 4);
    terminal.has_color = true;
    assert_string_equal(cli_terminal_style(&terminal, CLI_STYLE_GOOD), "\033[32m");
    cli_terminal_deinit(&terminal);
}

static enum cli_answer answer_to(const char *typed)
{
    int ends[2];
    struct cli_terminal terminal;
    int saved = dup(STDIN_FILENO);
    assert_int_equal(pipe(ends), 0);
    assert_int_equal(dup2(ends[0], STDIN_FILENO), STDIN_FILENO);
    if (typed != NULL) {
        assert_int_equal(write(ends[1], typed, strlen(typed)), strlen(typed));
    }
    cli_terminal_init(&terminal);
    assert_false(terminal.has_reader); /* a pipe is nobody */
    enum cli_answer answer = cli_terminal_read_answer(&terminal);
    cli_terminal_deinit(&terminal);
    assert_int_equal(dup2(saved, STDIN_FILENO), STDIN_FILENO);
    assert_int_equal(close(saved) + close(ends[0]) + close(ends[1]), 0);
    return answer;
}

static void only_yes_is_yes(void **state)
{
    (void)state;
    assert_int_equal(answer_to("y\n"), CLI_ANSWER_YES);
    assert_int_equal(answer_to("Y\r\n"), CLI_ANSWER_YES);
    assert_int_equal(answer_to("yes \n"), CLI_ANSWER_YES);
    assert_int_equal(answer_to("\n"), CLI_ANSWER_NO);
    assert_int_equal(answer_to("no\n"), CLI_ANSWER_NO);
    assert_int_equal(answer_to("yesterday\n"), CLI_ANSWER_NO);
    assert_int_equal(answer_to(NULL), CLI_ANSWER_NOT_YET);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(flushed_text_arrives_on_its_stream),
        cmocka_unit_test(what_is_asked_about_stands_before_the_question),
        cmocka_unit_test(captured_text_stays),
        cmocka_unit_test(only_yes_is_yes),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
