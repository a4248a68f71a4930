/*
 * The text form of Kafka, and version-4 ids.
 */
#include "base/uuid.h"

#include "base/check.h"
#include "base/prng.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

static void text_and_bytes_match(void **state)
{
    (void)state;
    struct uuid id = {{0xff, 0xef, 0xbe, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13}};
    char text[UUID_TEXT_SIZE];
    uuid_format(id, text);
    assert_string_equal("_---AQIDBAUGBwgJCgsMDQ", text);
    uuid_format(UUID_ZERO, text);
    assert_string_equal("AAAAAAAAAAAAAAAAAAAAAA", text);
    assert_true(uuid_is_zero(UUID_ZERO));
}

static void random_ids_survive_their_text_and_are_version_4(void **state)
{
    (void)state;
    struct prng p;
    prng_init(&p, 3);
    for (int i = 0; i < 1000; i++) {
        struct uuid id = uuid_from_random(prng_u64(&p), prng_u64(&p));
        assert_int_equal(0x40, id.bytes[6] & 0xf0);
        assert_int_equal(0x80, id.bytes[8] & 0xc0);
        char text[UUID_TEXT_SIZE];
        uuid_format(id, text);
        assert_int_not_equal('-', text[0]);
        struct uuid again;
        assert_int_equal(0, uuid_parse(slice_str(text), &again));
        assert_true(uuid_equal(id, again));
    }
    struct uuid id = uuid_from_random(62ULL << 58, 0); /* would start with '-' */
    char text[UUID_TEXT_SIZE];
    uuid_format(id, text);
    assert_int_not_equal('-', text[0]);
}

static void other_text_is_refused(void **state)
{
    (void)state;
    static const char *const texts[] = {
        "",
        "AAAAAAAAAAAAAAAAAAAAA",
        "AAAAAAAAAAAAAAAAAAAAAAA",
        "AAAAAAAAAAAAAAAAAAAA+A",
        "AAAAAAAAAAAAAAAAAAAAAB", /* bits beyond the sixteen bytes */
    };
    for (size_t i = 0; i < ARRAY_LEN(texts); i++) {
        struct uuid id;
        assert_int_equal(-E_MALFORMED, uuid_parse(slice_str(texts[i]), &id));
    }
    struct uuid id;
    assert_int_equal(-E_MALFORMED, uuid_parse(slice_of("AAAAAAAAAA\0AAAAAAAAAAA", 22), &id));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(text_and_bytes_match),
        cmocka_unit_test(random_ids_survive_their_text_and_are_version_4),
        cmocka_unit_test(other_text_is_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
