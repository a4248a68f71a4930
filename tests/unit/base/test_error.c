/*
 * Names, messages and errno.
 */
#include "base/error.h"

#include "base/check.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

static void every_code_has_a_name(void **state)
{
    (void)state;
    for (int code = 0; code < E_COUNT; code++) {
        assert_non_null(error_name(code));
        assert_string_equal(error_name(code), error_name(-code));
    }
    assert_string_equal("bad version", error_name(-E_BAD_VERSION));
    assert_string_equal("unknown error", error_name(E_COUNT));
}

static void a_message_is_set_and_prefixed(void **state)
{
    (void)state;
    struct errmsg em;
    assert_int_equal(-E_INVALID, errmsg_set(&em, E_INVALID, "port %d", 70000));
    assert_string_equal("port 70000", em.text);
    errmsg_prefix(&em, "broker %d", 3);
    assert_string_equal("broker 3: port 70000", em.text);
    assert_int_equal(-E_IO, errmsg_set(NULL, E_IO, "nobody reads it"));
    errmsg_prefix(NULL, "nothing");
}

static void a_long_message_is_cut(void **state)
{
    (void)state;
    struct errmsg em;
    char text[2 * ERRMSG_SIZE];
    memset(text, 'x', sizeof text - 1);
    text[sizeof text - 1] = 0;
    assert_int_equal(-E_IO, errmsg_set(&em, E_IO, "%s", text));
    assert_int_equal(ERRMSG_SIZE - 1, strlen(em.text));
    errmsg_prefix(&em, "head");
    assert_int_equal(ERRMSG_SIZE - 1, strlen(em.text));
    assert_memory_equal("head: xx", em.text, 8);
}

static void errno_maps_to_our_codes(void **state)
{
    (void)state;
    static const struct {
        int error_number;
        enum error code;
    } cases[] = {{0, E_OK},
                 {ENOENT, E_NOT_FOUND},
                 {ENOSPC, E_DISK_FULL},
                 {EIO, E_IO},
                 {EAGAIN, E_AGAIN},
                 {EPIPE, E_CLOSED},
                 {ECONNREFUSED, E_REFUSED},
                 {EROFS, E_READ_ONLY},
                 {ENOTSUP, E_SYSTEM},
                 {ENOMEM, E_NO_MEMORY},
                 {EMFILE, E_TOO_MANY_FILES},
                 {ENFILE, E_TOO_MANY_FILES},
                 {ENOTDIR, E_NOT_DIRECTORY}};
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        assert_int_equal(cases[i].code, error_from_errno(cases[i].error_number));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_code_has_a_name),
        cmocka_unit_test(a_message_is_set_and_prefixed),
        cmocka_unit_test(a_long_message_is_cut),
        cmocka_unit_test(errno_maps_to_our_codes),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
