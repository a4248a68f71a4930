/*
 * Tables: widths, alignment, no blanks at line ends, colours around the text alone.
 */
#include "cli/table.h"

#include "base/check.h"

#include <stdlib.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

static char *print(bool has_color)
{
    static const char *const titles[] = {"NAME", "SIZE", "STATE"};
    struct cli_terminal terminal;
    struct cli_table table;
    cli_terminal_init_captured(&terminal);
    terminal.has_color = has_color;
    cli_table_init(&table, titles, 3, 2);
    cli_table_put(&table, CLI_STYLE_PLAIN, "%s", "a");
    cli_table_put(&table, CLI_STYLE_PLAIN, "%d", 12345);
    cli_table_put(&table, CLI_STYLE_BAD, "bad");
    cli_table_put(&table, CLI_STYLE_PLAIN, "%s", "longer");
    cli_table_put(&table, CLI_STYLE_PLAIN, "%d", 7);
    cli_table_put(&table, CLI_STYLE_PLAIN, "%s", "");
    cli_table_print(&table, &terminal);
    cli_table_deinit(&table);
    char *text = slice_dup(buf_slice(&terminal.out));
    cli_terminal_deinit(&terminal);
    return text;
}

static void columns_are_as_wide_as_their_cells(void **state)
{
    (void)state;
    char *text = print(false);
    assert_string_equal(text, "NAME     SIZE  STATE\n"
                              "a       12345  bad\n"
                              "longer      7\n");
    free(text);
}

static void colours_do_not_shift_columns(void **state)
{
    (void)state;
    char *text = print(true);
    assert_string_equal(text, "\033[1mNAME\033[0m     \033[1mSIZE\033[0m  \033[1mSTATE\033[0m\n"
                              "a       12345  \033[31mbad\033[0m\n"
                              "longer      7\n");
    free(text);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(columns_are_as_wide_as_their_cells),
        cmocka_unit_test(colours_do_not_shift_columns),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
