/*
 * Known answers (RFC 3720 appendix B.4), and every split of a run.
 */
#include "base/crc32c.h"

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

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(known_answers),
        cmocka_unit_test(parts_give_the_sum_of_the_whole),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
