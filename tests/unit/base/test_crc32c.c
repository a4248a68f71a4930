/*
 * Known answers (RFC 3720 appendix B.4), every split of a run, and a bit-by-bit reference for lengths
 * that reach all of the fast paths, at any alignment.
 */
#include "base/crc32c.h"

#include "base/prng.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

static void known_answers(void **state)
{
    (void)state;
    uint8_t zeroes[32] = {0};
    uint8_t ones[32];
    uint8_t rising[32];
    memset(ones, 0xff, sizeof ones);
    for (uint8_t i = 0; i < 32; i++) {
        rising[i] = i;
    }
    assert_true(crc32c(0, zeroes, 32) == 0x8a9136aa);
    assert_true(crc32c(0, ones, 32) == 0x62a8ab43);
    assert_true(crc32c(0, rising, 32) == 0x46dd794e);
    assert_true(crc32c(0, "123456789", 9) == 0xe3069283);
    assert_true(crc32c(0, "", 0) == 0);
}

static void parts_give_the_sum_of_the_whole(void **state)
{
    (void)state;
    uint8_t bytes[257];
    for (size_t i = 0; i < sizeof bytes; i++) {
        bytes[i] = (uint8_t)(i * 7 + 3);
    }
    uint32_t whole = crc32c(0, bytes, sizeof bytes);
    for (size_t cut = 0; cut <= sizeof bytes; cut++) {
        uint32_t head = crc32c(0, bytes, cut);
        assert_true(crc32c(head, bytes + cut, sizeof bytes - cut) == whole);
    }
}

static uint32_t reference(uint32_t crc, const uint8_t *at, size_t len)
{
    crc = ~crc;
    for (size_t i = 0; i < len; i++) {
        crc ^= at[i];
        for (int bit = 0; bit < 8; bit++) {
            crc = (crc & 1) != 0 ? (crc >> 1) ^ 0x82f63b78u : crc >> 1;
        }
    }
    return ~crc;
}

static void every_length_and_alignment_matches_the_reference(void **state)
{
    (void)state;
    static uint8_t bytes[20000];
    struct prng prng;
    prng_init(&prng, 42);
    for (size_t i = 0; i < sizeof bytes; i++) {
        bytes[i] = (uint8_t)prng_u64(&prng);
    }
    for (size_t len = 0; len < 900; len++) {
        size_t at = len % 17;
        assert_int_equal(crc32c(0, bytes + at, len), reference(0, bytes + at, len));
    }
    for (int i = 0; i < 100; i++) {
        size_t at = (size_t)prng_below(&prng, 64);
        size_t len = (size_t)prng_below(&prng, sizeof bytes - 64);
        uint32_t start = (uint32_t)prng_u64(&prng);
        assert_int_equal(crc32c(start, bytes + at, len), reference(start, bytes + at, len));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_length_and_alignment_matches_the_reference),
        cmocka_unit_test(known_answers),
        cmocka_unit_test(parts_give_the_sum_of_the_whole),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
