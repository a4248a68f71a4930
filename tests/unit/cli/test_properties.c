/*
 * The client's properties file.
 */
#include "cli/properties.h"

#include "base/check.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

static int parse(const char *text, struct cli_properties *properties, struct errmsg *em)
{
    *properties = (struct cli_properties){.client_id = "default", .request_timeout_ms = 7};
    em->text[0] = '\0';
    return cli_properties_parse(slice_str(text), properties, em);
}

static void known_keys_are_taken(void **state)
{
    (void)state;
    struct cli_properties properties;
    struct errmsg em;
    assert_int_equal(parse("# comment\r\n\n! other\n client.id = me \r\nrequest.timeout.ms:500\n"
                           "security.protocol=PLAINTEXT\nssl.key=x",
                           &properties, &em),
                     0);
    assert_string_equal(properties.client_id, "me");
    assert_int_equal(properties.request_timeout_ms, 500);
    cli_properties_deinit(&properties);
    assert_int_equal(parse("", &properties, &em), 0);
    assert_string_equal(properties.client_id, "default");
    assert_int_equal(properties.request_timeout_ms, 7);
    cli_properties_deinit(&properties);
}

static void what_cannot_be_done_is_refused(void **state)
{
    (void)state;
    struct cli_properties properties;
    struct errmsg em;
    assert_int_equal(parse("security.protocol=SSL", &properties, &em), -E_UNSUPPORTED);
    assert_string_equal(em.text, "security.protocol=SSL is not available yet, only PLAINTEXT is");
    assert_int_equal(parse("request.timeout.ms=4294967297", &properties, &em), -E_INVALID);
    assert_string_equal(em.text, "request.timeout.ms: \"4294967297\" is no time in ms");
    assert_int_equal(properties.request_timeout_ms, 7);
    cli_properties_deinit(&properties);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(known_keys_are_taken),
        cmocka_unit_test(what_cannot_be_done_is_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
