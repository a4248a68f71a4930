/*
 * The api table.
 */
#include "wire/wire.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

static void every_api_is_found_by_its_key(void **state)
{
    (void)state;
    for (int32_t i = 0; i < wire_api_count(); i++) {
        const struct wire_api *api = wire_api_at(i);
        assert_ptr_equal(api, wire_api_find(api->key));
        assert_true(i == 0 || wire_api_at(i - 1)->key < api->key);
        assert_true(api->first_version >= 0 && api->first_version <= api->last_version);
    }
}

static void unknown_keys_are_not_found(void **state)
{
    (void)state;
    static const int16_t keys[] = {-1, 52, 58, 68, 74, 76, INT16_MAX, INT16_MIN};
    for (size_t i = 0; i < sizeof keys / sizeof keys[0]; i++) {
        assert_null(wire_api_find(keys[i]));
    }
}

static void versions_are_those_of_the_specification(void **state)
{
    (void)state;
    const struct wire_api *fetch = wire_api_find(WIRE_KEY_FETCH);
    assert_string_equal("Fetch", fetch->name);
    assert_true(wire_api_has_version(fetch, 4) && wire_api_has_version(fetch, 18));
    assert_false(wire_api_has_version(fetch, 3) || wire_api_has_version(fetch, 19));
    assert_int_equal(12, fetch->flexible_version);
    assert_int_equal(WIRE_NEVER, wire_api_find(WIRE_KEY_SASL_HANDSHAKE)->flexible_version);
    assert_int_equal(0, wire_api_find(WIRE_KEY_ALTER_PARTITION)->first_version);
}

static void a_reader_is_finished_when_nothing_is_left(void **state)
{
    (void)state;
    struct reader r;
    reader_init(&r, slice_of("ab", 2));
    assert_int_equal(-E_MALFORMED, wire_reader_finish(&r));
    (void)reader_u16(&r);
    assert_int_equal(0, wire_reader_finish(&r));
    (void)reader_u8(&r);
    assert_int_equal(-E_TRUNCATED, wire_reader_finish(&r));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_api_is_found_by_its_key),
        cmocka_unit_test(unknown_keys_are_not_found),
        cmocka_unit_test(versions_are_those_of_the_specification),
        cmocka_unit_test(a_reader_is_finished_when_nothing_is_left),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
