/*
 * The sticky reader never passes the end and keeps its first error.
 */
#include "base/reader.h"

#include "base/error.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

static void reads_are_big_endian_and_advance(void **state)
{
    (void)state;
    static const uint8_t bytes[] = {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17};
    struct reader r;
    reader_init(&r, slice_of(bytes, sizeof bytes));
    assert_int_equal(1, reader_u8(&r));
    assert_int_equal(0x0203, reader_u16(&r));
    assert_int_equal(0x04050607, reader_u32(&r));
    assert_true(reader_u64(&r) == 0x08090a0b0c0d0e0f);
    assert_int_equal(2, reader_left(&r));
    struct slice rest = reader_bytes(&r, 2);
    assert_ptr_equal(bytes + 15, rest.ptr);
    assert_int_equal(0, r.err);
}

static void the_first_error_sticks(void **state)
{
    (void)state;
    struct reader r;
    reader_init(&r, slice_of("abc", 3));
    assert_int_equal(0, reader_u32(&r));
    assert_int_equal(-E_TRUNCATED, r.err);
    assert_int_equal(0, reader_u8(&r));
    assert_int_equal(3, reader_left(&r));
    reader_fail(&r, -E_MALFORMED);
    assert_int_equal(-E_TRUNCATED, r.err);
    assert_true(slice_is_null(reader_bytes(&r, 1)));
}

static void nothing_and_too_much_are_handled(void **state)
{
    (void)state;
    struct reader r;
    reader_init(&r, SLICE_NULL);
    struct slice empty = reader_bytes(&r, 0);
    assert_false(slice_is_null(empty));
    reader_skip(&r, SIZE_MAX);
    assert_int_equal(-E_TRUNCATED, r.err);
}

static int varint_error(const char *bytes, size_t len)
{
    struct reader r;
    reader_init(&r, slice_of(bytes, len));
    (void)reader_uvarint32(&r);
    return r.err;
}

static void variable_lengths_are_bounded(void **state)
{
    (void)state;
    assert_int_equal(0, varint_error("\xff\xff\xff\xff\x0f", 5));
    assert_int_equal(-E_MALFORMED, varint_error("\xff\xff\xff\xff\x1f", 5));
    assert_int_equal(-E_MALFORMED, varint_error("\x80\x80\x80\x80\x80\x01", 6));
    assert_int_equal(-E_TRUNCATED, varint_error("\x80", 1));
    struct reader r;
    reader_init(&r, slice_of("\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01", 10));
    assert_true(reader_varint(&r) == INT64_MIN);
    assert_int_equal(0, r.err);
    reader_init(&r, slice_of("\xff\xff\xff\xff\xff\xff\xff\xff\xff\x02", 10));
    (void)reader_uvarint64(&r);
    assert_int_equal(-E_MALFORMED, r.err);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(reads_are_big_endian_and_advance),
        cmocka_unit_test(the_first_error_sticks),
        cmocka_unit_test(nothing_and_too_much_are_handled),
        cmocka_unit_test(variable_lengths_are_bounded),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
