/*
 * The entry of `klamm dev`: which line leads to which exit status.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "cmd/dev.h"
#include "fake_broker.h"

static void help_is_0_a_wrong_line_2_and_nobody_there_1(void **state)
{
    (void)state;
    char klamm[] = "klamm";
    char dev[] = "dev";
    char help[] = "--help";
    char frob[] = "frob";
    char status[] = "status";
    char directory[] = "--dir=/tmp/klamm-nowhere";
    char *help_line[] = {klamm, dev, help, NULL};
    char *wrong_line[] = {klamm, dev, frob, NULL};
    char *status_line[] = {klamm, dev, status, directory, NULL};
    assert_int_equal(cmd_dev_main(3, help_line), 0);
    assert_int_equal(cmd_dev_main(3, wrong_line), 2);
    assert_int_equal(cmd_dev_main(4, status_line), 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(help_is_0_a_wrong_line_2_and_nobody_there_1),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
