/*
 * The entry of `klamm server`: which line leads to which exit status.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "cmd/server.h"

static void help_and_document_are_0_and_wrong_lines_or_files_2(void **state)
{
    (void)state;
    char klamm[] = "klamm";
    char server[] = "server";
    char help[] = "--help";
    char document[] = "--print-configuration";
    char config[] = "--config=/nowhere/server.properties";
    char *help_line[] = {klamm, server, help, NULL};
    char *document_line[] = {klamm, server, document, NULL};
    char *bare_line[] = {klamm, server, NULL};
    char *nowhere_line[] = {klamm, server, config, NULL};
    assert_int_equal(cmd_server_main(3, help_line), 0);
    assert_int_equal(cmd_server_main(3, document_line), 0);
    assert_int_equal(cmd_server_main(2, bare_line), 2);
    assert_int_equal(cmd_server_main(3, nowhere_line), 2);
}

static void example_is_accepted(void **state)
{
    (void)state;
    char klamm[] = "klamm";
    char server[] = "server";
    char check[] = "--check";
    char config[] = "--config=" KLAMM_SOURCE_DIR "/conf/server.properties";
    char *line[] = {klamm, server, config, check, NULL};
    assert_int_equal(cmd_server_main(4, line), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(help_and_document_are_0_and_wrong_lines_or_files_2),
        cmocka_unit_test(example_is_accepted),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
