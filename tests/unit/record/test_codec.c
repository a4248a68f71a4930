/*
 * Every codec: round trips of every size class, bounds, and damage.
 */
#include "record/codec.h"

#include "base/check.h"
#include "base/prng.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>

#include <cmocka.h>

#define MAX_BYTES ((size_t)1 << 20)

static const int codecs[] = {RECORD_CODEC_GZIP, RECORD_CODEC_SNAPPY, RECORD_CODEC_LZ4,
                             RECORD_CODEC_ZSTD};

/* Half noise, half repetition. */
static uint8_t *bytes_new(size_t len)
{
    struct prng p;
    prng_init(&p, len);
    uint8_t *bytes = malloc(len + 1);
    assert_non_null(bytes);
    for (size_t i = 0; i < len; i++) {
        bytes[i] = i % 64 < 32 ? (uint8_t)prng_u64(&p) : 'x';
    }
    return bytes;
}

static void what_goes_in_comes_out(void **state)
{
    (void)state;
    static const size_t sizes[] = {1, 100, 4096, 4097, 32768, 32769, 200000};
    for (size_t c = 0; c < ARRAY_LEN(codecs); c++) {
        for (size_t i = 0; i < ARRAY_LEN(sizes); i++) {
            uint8_t *bytes = bytes_new(sizes[i]);
            struct budget budget = {.max = 4 * MAX_BYTES};
            struct buf packed;
            buf_init(&packed);
            buf_put_u8(&packed, 0xee); /* deflating appends */
            assert_int_equal(0, record_deflate(codecs[c], slice_of(bytes, sizes[i]), &packed));
            struct record_inflated out;
            struct slice in = slice_of(packed.ptr + 1, packed.len - 1);
            assert_int_equal(0, record_inflate(codecs[c], in, MAX_BYTES, &budget, &out));
            assert_int_equal(sizes[i], out.len);
            assert_memory_equal(bytes, out.ptr, out.len);
            assert_int_equal(out.cap, budget.used);
            budget_free(&budget, out.ptr, out.cap);
            buf_deinit(&packed);
            free(bytes);
        }
    }
}

static void the_bound_is_kept_and_nothing_leaks(void **state)
{
    (void)state;
    for (size_t c = 0; c < ARRAY_LEN(codecs); c++) {
        uint8_t *bytes = calloc(1, 500000); /* a bomb: packs to almost nothing */
        struct budget budget = {.max = MAX_BYTES};
        struct buf packed;
        buf_init(&packed);
        assert_int_equal(0, record_deflate(codecs[c], slice_of(bytes, 500000), &packed));
        struct record_inflated out;
        assert_int_equal(-E_TOO_LARGE,
                         record_inflate(codecs[c], buf_slice(&packed), 10000, &budget, &out));
        assert_int_equal(0, budget.used);
        budget.fail_at = 1;
        assert_int_equal(-E_NO_MEMORY,
                         record_inflate(codecs[c], buf_slice(&packed), MAX_BYTES, &budget, &out));
        assert_int_equal(0, budget.used);
        buf_deinit(&packed);
        free(bytes);
    }
}

/* Cut anywhere the block must fail: it may not end early, and may not crash. */
static void blocks_cut_short_are_corrupt(void **state)
{
    (void)state;
    uint8_t *bytes = bytes_new(300);
    for (size_t c = 0; c < ARRAY_LEN(codecs); c++) {
        struct buf packed;
        buf_init(&packed);
        assert_int_equal(0, record_deflate(codecs[c], slice_of(bytes, 300), &packed));
        /* The first 16 bytes of a xerial stream are a stream without blocks. */
        size_t first = codecs[c] == RECORD_CODEC_SNAPPY ? 17 : 0;
        for (size_t len = first; len < packed.len; len++) {
            struct record_inflated out;
            int err = record_inflate(codecs[c], slice_of(packed.ptr, len), MAX_BYTES, NULL, &out);
            if (err == 0) {
                fail_msg("codec %d took %zu of %zu bytes", codecs[c], len, packed.len);
            }
        }
        buf_deinit(&packed);
    }
    free(bytes);
}

static void damage_is_an_error_or_other_bytes_but_bounded(void **state)
{
    (void)state;
    struct prng p;
    prng_init(&p, 5);
    uint8_t *bytes = bytes_new(300);
    for (size_t c = 0; c < ARRAY_LEN(codecs); c++) {
        struct buf packed;
        buf_init(&packed);
        assert_int_equal(0, record_deflate(codecs[c], slice_of(bytes, 300), &packed));
        for (int round = 0; round < 500; round++) {
            size_t pos = (size_t)prng_below(&p, packed.len);
            uint8_t flip = (uint8_t)prng_range(&p, 1, 255);
            packed.ptr[pos] ^= flip;
            struct budget budget = {.max = MAX_BYTES};
            struct record_inflated out;
            int err = record_inflate(codecs[c], buf_slice(&packed), 100000, &budget, &out);
            if (err == 0) {
                assert_in_range(out.len, 0, 100000);
                budget_free(&budget, out.ptr, out.cap);
            }
            assert_int_equal(0, budget.used);
            packed.ptr[pos] ^= flip;
        }
        buf_deinit(&packed);
    }
    free(bytes);
}

/* One raw block, as librdkafka writes it: length 5, one literal. */
static void raw_snappy_is_read_too(void **state)
{
    (void)state;
    struct record_inflated out;
    struct slice raw = slice_of("\x05\x10hello", 7);
    assert_int_equal(0, record_inflate(RECORD_CODEC_SNAPPY, raw, MAX_BYTES, NULL, &out));
    assert_int_equal(5, out.len);
    assert_memory_equal("hello", out.ptr, 5);
    budget_free(NULL, out.ptr, out.cap);
}

static void other_codecs_are_unsupported(void **state)
{
    (void)state;
    static const int others[] = {RECORD_CODEC_NONE, 5, 6, 7, -1};
    for (size_t i = 0; i < ARRAY_LEN(others); i++) {
        struct record_inflated out;
        struct buf packed;
        buf_init(&packed);
        assert_int_equal(-E_UNSUPPORTED,
                         record_inflate(others[i], slice_of("abc", 3), 10, NULL, &out));
        assert_int_equal(-E_UNSUPPORTED, record_deflate(others[i], slice_of("abc", 3), &packed));
        buf_deinit(&packed);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_goes_in_comes_out),
        cmocka_unit_test(the_bound_is_kept_and_nothing_leaks),
        cmocka_unit_test(blocks_cut_short_are_corrupt),
        cmocka_unit_test(damage_is_an_error_or_other_bytes_but_bounded),
        cmocka_unit_test(raw_snappy_is_read_too),
        cmocka_unit_test(other_codecs_are_unsupported),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
