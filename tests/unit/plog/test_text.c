/*
 * Lines, words and numbers.
 */
#include "plog/text.h"

#include "base/check.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

static void lines_end_in_any_way(void **state)
{
    (void)state;
    struct slice text = slice_str("a\r\n\nb");
    struct slice line;
    assert_true(plog_text_line(&text, &line) && slice_equal_str(line, "a"));
    assert_true(plog_text_line(&text, &line) && slice_equal_str(line, ""));
    assert_true(plog_text_line(&text, &line) && slice_equal_str(line, "b"));
    assert_false(plog_text_line(&text, &line));
}

static void words_are_parted_by_spaces(void **state)
{
    (void)state;
    struct slice line = slice_str("  t-x  5 ");
    struct slice word;
    assert_true(plog_text_word(&line, &word) && slice_equal_str(word, "t-x"));
    assert_true(plog_text_word(&line, &word) && slice_equal_str(word, "5"));
    assert_false(plog_text_word(&line, &word));
}

static void numbers_are_whole_and_fit(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        int err;
        int64_t value;
    } cases[] = {
        {"0", 0, 0},
        {"-1", 0, -1},
        {"9223372036854775807", 0, INT64_MAX},
        {"-9223372036854775808", 0, INT64_MIN},
        {"9223372036854775808", -E_MALFORMED, 0},
        {"-9223372036854775809", -E_MALFORMED, 0},
        {"", -E_MALFORMED, 0},
        {"-", -E_MALFORMED, 0},
        {"1x", -E_MALFORMED, 0},
        {"+1", -E_MALFORMED, 0},
    };
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        int64_t value = 0;
        assert_int_equal(cases[i].err, plog_text_number(slice_str(cases[i].text), &value));
        assert_int_equal(cases[i].value, value);
    }
}

static void a_number_out_of_bounds_is_not_taken(void **state)
{
    (void)state;
    int64_t value = 0;
    struct slice line = slice_str("5 6");
    assert_int_equal(0, plog_text_take(&line, 5, 5, &value));
    assert_int_equal(5, value);
    assert_int_equal(-E_MALFORMED, plog_text_take(&line, 0, 5, &value));
    assert_int_equal(-E_MALFORMED, plog_text_take(&line, 0, 9, &value));
    assert_int_equal(5, value);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(lines_end_in_any_way),
        cmocka_unit_test(words_are_parted_by_spaces),
        cmocka_unit_test(numbers_are_whole_and_fit),
        cmocka_unit_test(a_number_out_of_bounds_is_not_taken),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
