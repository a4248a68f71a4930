/*
 * The output buffer: encodings, the bound, gaps.
 */
#include "base/buf.h"

#include "base/check.h"
#include "base/reader.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

static void numbers_are_big_endian(void **state)
{
    (void)state;
    struct buf b;
    buf_init(&b);
    buf_put_u8(&b, 1);
    buf_put_u16(&b, 0x0203);
    buf_put_u32(&b, 0x04050607);
    buf_put_u64(&b, 0x08090a0b0c0d0e0f);
    assert_false(buf_failed(&b));
    assert_int_equal(15, b.len);
    for (uint8_t i = 0; i < 15; i++) {
        assert_int_equal(i + 1, b.ptr[i]);
    }
    buf_patch_u32(&b, 3, 0xa0b0c0d0);
    assert_memory_equal("\xa0\xb0\xc0\xd0\x08", b.ptr + 3, 5);
    buf_deinit(&b);
}

static void variable_lengths_match_the_reader(void **state)
{
    (void)state;
    static const uint64_t values[] = {0, 1, 127, 128, 300, 16383, 16384, UINT32_MAX, UINT64_MAX};
    struct buf b;
    buf_init(&b);
    for (size_t i = 0; i < ARRAY_LEN(values); i++) {
        buf_put_uvarint(&b, values[i]);
        buf_put_varint(&b, (int64_t)values[i]);
        buf_put_varint(&b, -(int64_t)(values[i] / 2));
    }
    struct reader r;
    reader_init(&r, buf_slice(&b));
    for (size_t i = 0; i < ARRAY_LEN(values); i++) {
        assert_true(reader_uvarint64(&r) == values[i]);
        assert_true(reader_varint(&r) == (int64_t)values[i]);
        assert_true(reader_varint(&r) == -(int64_t)(values[i] / 2));
    }
    assert_int_equal(0, r.err);
    assert_int_equal(0, reader_left(&r));
    buf_deinit(&b);
}

static void text_has_no_closing_nul(void **state)
{
    (void)state;
    struct buf b;
    buf_init(&b);
    buf_put_str(&b, "ab");
    buf_putf(&b, "%d", 12);
    buf_put_slice(&b, SLICE_NULL);
    buf_put_slice(&b, slice_str("c"));
    assert_int_equal(5, b.len);
    assert_memory_equal("ab12c", b.ptr, 5);
    buf_deinit(&b);
}

static void past_the_bound_it_fails_and_stays_failed(void **state)
{
    (void)state;
    struct buf b;
    buf_init_max(&b, 10);
    buf_put_u64(&b, 1);
    assert_false(buf_failed(&b));
    buf_put_u32(&b, 1);
    assert_true(buf_failed(&b));
    buf_put_u8(&b, 1);
    assert_int_equal(8, b.len);
    buf_clear(&b);
    buf_put_u8(&b, 1);
    assert_false(buf_failed(&b));
    assert_int_equal(1, b.len);
    assert_null(buf_put_space(&b, SIZE_MAX));
    buf_deinit(&b);
}

static void gaps_keep_their_order_and_count(void **state)
{
    (void)state;
    struct buf b;
    buf_init(&b);
    buf_put_gap(&b, 0);
    assert_int_equal(0, b.gap_count);
    for (uint32_t i = 1; i <= 20; i++) {
        buf_put_u32(&b, i);
        buf_put_gap(&b, i);
    }
    assert_int_equal(20, b.gap_count);
    for (size_t i = 0; i < 20; i++) {
        assert_int_equal(4 * (i + 1), b.gaps[i].pos);
        assert_int_equal(i + 1, b.gaps[i].len);
    }
    assert_int_equal(80 + 210, buf_total(&b));
    buf_clear(&b);
    assert_int_equal(0, buf_total(&b));
    buf_deinit(&b);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(numbers_are_big_endian),
        cmocka_unit_test(variable_lengths_match_the_reader),
        cmocka_unit_test(text_has_no_closing_nul),
        cmocka_unit_test(past_the_bound_it_fails_and_stays_failed),
        cmocka_unit_test(gaps_keep_their_order_and_count),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
