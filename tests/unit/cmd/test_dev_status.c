/*
 * What `klamm dev status` prints.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "cmd/dev_status.h"

#include <stdlib.h>

static const struct cmd_dev_status list[] = {
    {.id = 1,
     .state = CMD_DEV_RUNNING,
     .port = 9092,
     .http_port = 9192,
     .is_controller = true,
     .epoch = 25,
     .directory = "/d/broker-1"},
    {.id = 2, .state = CMD_DEV_STOPPED, .epoch = -1, .directory = "/d/broker-2"},
    {.id = 3,
     .state = CMD_DEV_FAILED,
     .port = 9094,
     .epoch = -1,
     .directory = "/d/\"3\"",
     .reason = "no room"},
};

static void assert_text(struct buf *b, const char *expected)
{
    char *text = slice_dup(buf_slice(b));
    assert_string_equal(text, expected);
    free(text);
    buf_deinit(b);
}

static void text_has_a_row_a_broker_and_the_reason_of_a_failure(void **state)
{
    (void)state;
    struct buf b;
    buf_init(&b);
    cmd_dev_status_put_text(&b, list, 3);
    assert_text(&b, "ID  STATE     PORT   CONTROLLER  EPOCH   DIRECTORY\n"
                    "1   running   9092   yes         25      /d/broker-1\n"
                    "2   stopped   0      no          -       /d/broker-2\n"
                    "3   failed    9094   no          -       /d/\"3\"\n"
                    "    no room\n");
}

static void json_escapes_and_lists_the_bootstrap(void **state)
{
    (void)state;
    struct buf b;
    buf_init(&b);
    cmd_dev_status_put_json(&b, list, 3);
    assert_text(&b, "{\"bootstrap\":\"127.0.0.1:9092,127.0.0.1:9094\",\"brokers\":["
                    "{\"id\":1,\"state\":\"running\",\"port\":9092,\"http_port\":9192,"
                    "\"is_controller\":true,"
                    "\"epoch\":25,\"directory\":\"/d/broker-1\",\"reason\":null},"
                    "{\"id\":2,\"state\":\"stopped\",\"port\":0,\"http_port\":0,"
                    "\"is_controller\":false,"
                    "\"epoch\":-1,\"directory\":\"/d/broker-2\",\"reason\":null},"
                    "{\"id\":3,\"state\":\"failed\",\"port\":9094,\"http_port\":0,"
                    "\"is_controller\":false,"
                    "\"epoch\":-1,\"directory\":\"/d/\\\"3\\\"\",\"reason\":\"no room\"}]}\n");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(text_has_a_row_a_broker_and_the_reason_of_a_failure),
        cmocka_unit_test(json_escapes_and_lists_the_bootstrap),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
