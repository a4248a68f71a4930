/*
 * Formatting: exact texts at the edges.
 */
#include "cli/text.h"

#include "base/check.h"

#include <stdlib.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

static char *taken(struct buf *b)
{
    char *text = slice_dup(buf_slice(b));
    buf_deinit(b);
    return text;
}

static void check(struct buf *b, const char *expected)
{
    char *text = taken(b);
    assert_string_equal(text, expected);
    free(text);
}

static void bytes_have_three_digits(void **state)
{
    (void)state;
    static const struct {
        int64_t bytes;
        const char *text;
    } rows[] = {{-1, "0 B"},        {0, "0 B"},         {999, "999 B"},      {1000, "1.0 kB"},
                {99999, "99.9 kB"}, {100000, "100 kB"}, {1500000, "1.5 MB"}, {INT64_MAX, "9.2 EB"}};
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        struct buf b;
        buf_init(&b);
        cli_text_put_bytes(&b, rows[i].bytes);
        check(&b, rows[i].text);
    }
}

static void durations_have_two_parts(void **state)
{
    (void)state;
    static const struct {
        int64_t seconds;
        const char *text;
    } rows[] = {{-5, "0 s"},           {59, "59 s"},         {60, "1 min 00 s"},
                {3599, "59 min 59 s"}, {7800, "2 h 10 min"}, {273600, "3 d 04 h"}};
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        struct buf b;
        buf_init(&b);
        cli_text_put_duration(&b, rows[i].seconds);
        check(&b, rows[i].text);
    }
}

static void what_no_terminal_should_see_is_escaped(void **state)
{
    (void)state;
    struct buf b;
    buf_init(&b);
    cli_text_put_escaped(&b, slice_of("a\0\x1b\xc3\xa4\xed\xa0\x80\xf0\x9f\x98\x80\xff", 13));
    check(&b, "a\\u0000\\u001b\\u00e4\\ud800\\ud83d\\ude00\\u00ff");
    buf_init(&b);
    cli_text_put_json(&b, "say \"\\\n\xc3\xa4");
    check(&b, "\"say \\\"\\\\\\u000a\\u00e4\"");
    buf_init(&b);
    cli_text_put_json(&b, NULL);
    check(&b, "null");
}

static void numbers_are_exact(void **state)
{
    (void)state;
    int64_t number = 0;
    assert_true(cli_text_parse_int("9223372036854775807", INT64_MIN, INT64_MAX, &number));
    assert_true(number == INT64_MAX);
    assert_true(cli_text_parse_int("-7", -10, 10, &number));
    assert_int_equal(number, -7);
    static const char *const wrong[] = {"",
                                        "-",
                                        "+1",
                                        " 1",
                                        "1 ",
                                        "0x1",
                                        "1.0",
                                        "11",
                                        "-11",
                                        "9223372036854775808",
                                        "18446744073709551617"};
    for (size_t i = 0; i < ARRAY_LEN(wrong); i++) {
        assert_false(cli_text_parse_int(wrong[i], -10, 10, &number));
        assert_int_equal(number, -7);
    }
}

static void lists_compare_with_and_without_order(void **state)
{
    (void)state;
    static const int32_t a[] = {1, 2, 3};
    static const int32_t b[] = {3, 1, 2};
    static const int32_t c[] = {1, 2};
    struct klamm_ids x = {a, 3};
    struct klamm_ids y = {b, 3};
    struct klamm_ids z = {c, 2};
    struct klamm_ids none = {NULL, 0};
    assert_true(cli_text_ids_equal(x, x));
    assert_false(cli_text_ids_equal(x, y));
    assert_true(cli_text_ids_same_set(x, y));
    assert_false(cli_text_ids_same_set(x, z));
    assert_false(cli_text_ids_same_set(z, x));
    assert_true(cli_text_ids_equal(none, none));
    struct buf out;
    buf_init(&out);
    cli_text_put_json_ids(&out, x);
    cli_text_put_json_ids(&out, none);
    check(&out, "[1,2,3][]");
}

/* S13. */
static void rates_are_understood_or_refused(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        int64_t rate;
    } good[] = {{"1", 1},
                {"50000000", 50000000},
                {"50MB", 50000000},
                {"50M", 50000000},
                {"50MB/s", 50000000},
                {"20kB", 20000},
                {"3GB", 3000000000},
                {"1KiB", 1024},
                {"2MiB/s", 2097152},
                {"7B", 7},
                {"9223372036854775807", INT64_MAX},
                {"none", CLI_RATE_NONE},
                {"-1", CLI_RATE_NONE}};
    for (size_t i = 0; i < ARRAY_LEN(good); i++) {
        int64_t rate = 0;
        struct errmsg em = {""};
        assert_int_equal(cli_text_parse_rate(good[i].text, &rate, &em), 0);
        assert_int_equal(rate, good[i].rate);
    }
    static const struct {
        const char *text;
        const char *message;
    } bad[] = {{"0", "klamm moves pause"},
               {"0MB", "klamm moves pause"},
               {"-2", "is negative; \"none\" (or -1) means without a limit"},
               {"-50MB", "is negative"},
               {"9223372036854775808", "is beyond 9223372036854775807"},
               {"99999999999999GB", "is beyond 9223372036854775807"},
               {"", "is no rate"},
               {"MB", "is no rate"},
               {"1.5MB", "is no rate"},
               {"50 MB", "is no rate"},
               {"50mb", "is no rate"},
               {"+5", "is no rate"},
               {"5/s/s", "is no rate"}};
    for (size_t i = 0; i < ARRAY_LEN(bad); i++) {
        int64_t rate = 17;
        struct errmsg em = {""};
        assert_int_equal(cli_text_parse_rate(bad[i].text, &rate, &em), -E_INVALID);
        assert_int_equal(rate, 17);
        assert_non_null(strstr(em.text, bad[i].message));
    }
}

static void times_are_utc(void **state)
{
    (void)state;
    struct buf b;
    buf_init(&b);
    cli_text_put_time(&b, 1700000000999);
    check(&b, "2023-11-14 22:13:20 UTC");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(bytes_have_three_digits),
        cmocka_unit_test(durations_have_two_parts),
        cmocka_unit_test(what_no_terminal_should_see_is_escaped),
        cmocka_unit_test(numbers_are_exact),
        cmocka_unit_test(lists_compare_with_and_without_order),
        cmocka_unit_test(rates_are_understood_or_refused),
        cmocka_unit_test(times_are_utc),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
