/*
 * Lines of the server's log.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "cmd/server_log.h"

#include "base/buf.h"

#include <stdlib.h>

static void line_has_time_level_and_no_second_line(void **state)
{
    (void)state;
    struct buf b;
    buf_init(&b);
    cmd_server_log_format(&b, 1796200200123, CMD_SERVER_LOG_WARN, "a\nb\tc\x7f\xc3\xa9");
    cmd_server_log_format(&b, 0, CMD_SERVER_LOG_ERROR, "");
    char *text = slice_dup(buf_slice(&b));
    assert_string_equal(text, "2026-12-02T08:30:00.123Z WARN  a b c \xc3\xa9\n"
                              "1970-01-01T00:00:00.000Z ERROR \n");
    free(text);
    buf_deinit(&b);
}

static void levels_have_names(void **state)
{
    (void)state;
    enum cmd_server_log_level level = CMD_SERVER_LOG_ERROR;
    assert_true(cmd_server_log_level_parse("warn", &level));
    assert_int_equal(level, CMD_SERVER_LOG_WARN);
    assert_true(cmd_server_log_level_parse("debug", &level));
    assert_int_equal(level, CMD_SERVER_LOG_DEBUG);
    assert_false(cmd_server_log_level_parse("WARN", &level));
    assert_int_equal(level, CMD_SERVER_LOG_DEBUG);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(line_has_time_level_and_no_second_line),
        cmocka_unit_test(levels_have_names),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
