/*
 * Same key, same hash; another key, another hash.
 */
#include "base/hash.h"

#include "base/check.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

static void the_key_decides(void **state)
{
    (void)state;
    hash_seed(1, 2);
    uint64_t first = hash_bytes("topic", 5);
    assert_true(hash_bytes("topic", 5) == first);
    hash_seed(1, 3);
    assert_true(hash_bytes("topic", 5) != first);
    hash_seed(1, 2);
    assert_true(hash_bytes("topic", 5) == first);
}

/* All prefixes of one run, of every length around the eight-byte words. */
static void length_and_every_byte_count(void **state)
{
    (void)state;
    uint8_t bytes[33] = {0};
    uint64_t hashes[2 * ARRAY_LEN(bytes)];
    size_t count = 0;
    for (size_t len = 0; len < sizeof bytes; len++) {
        hashes[count++] = hash_bytes(bytes, len);
        bytes[len] = 1;
        hashes[count++] = hash_bytes(bytes, len + 1);
        bytes[len] = 0;
    }
    for (size_t i = 0; i < count; i++) {
        for (size_t k = 0; k < i; k++) {
            assert_true(hashes[i] != hashes[k]);
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_key_decides),
        cmocka_unit_test(length_and_every_byte_count),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
