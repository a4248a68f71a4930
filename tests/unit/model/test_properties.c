/*
 * Properties files: every form of a line, continuation and escapes as java.util.Properties reads them,
 * and faults with their line.
 */
#include "model/properties.h"

#include "base/alloc.h"
#include "base/buf.h"
#include "base/check.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include <stdlib.h>

/* "LINE key|value;" of every entry, or what the errmsg says. */
static char *parsed(struct slice text)
{
    struct model_properties properties = {0};
    struct errmsg em = {""};
    struct buf b;
    buf_init(&b);
    if (model_properties_parse(text, &properties, &em) != 0) {
        buf_put_str(&b, em.text);
    }
    for (int32_t i = 0; i < properties.count; i++) {
        const struct model_property *p = &properties.list[i];
        buf_putf(&b, "%d %s|%s;", p->line, p->key, p->value);
    }
    model_properties_deinit(&properties);
    char *result = slice_dup(buf_slice(&b));
    buf_deinit(&b);
    return result;
}

static void entries_have_the_keys_values_and_lines_of_java(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        const char *entries;
    } rows[] = {
        {"", ""},
        {"a=b", "1 a|b;"},
        {"a=b\nc=d\n", "1 a|b;2 c|d;"},
        {"a=b\r\nc=d\re=f", "1 a|b;2 c|d;3 e|f;"},
        {"# a=b\n  ! c=d\n\n e=f # kept", "4 e|f # kept;"},
        {"a : b\nc d\ne\t=\tf\ng", "1 a|b;2 c|d;3 e|f;4 g|;"},
        {"a==b\nc=:d\ne =  = f", "1 a|=b;2 c|:d;3 e|= f;"},
        {"a=b  \t\nc=d\\ ", "1 a|b;2 c|d ;"},
        {"log.dirs=/a,\\\n    /b,\\\n\t/c\nx=y", "1 log.dirs|/a,/b,/c;4 x|y;"},
        {"a=b\\\\\nc=d", "1 a|b\\;2 c|d;"},
        {"# comment \\\na=b", "2 a|b;"},
        {"a=b\\\n# no comment\n", "1 a|b# no comment;"},
        {"a\\=b\\:c\\ d=e", "1 a=b:c d|e;"},
        {"a=\\t\\n\\z\\u0041\\u00e9\\u20AC", "1 a|\t\nzA\xc3\xa9\xe2\x82\xac;"},
        {"a=1\na=2", "1 a|1;2 a|2;"},
        {"a=b\\", "1 a|b;"},
        {"listeners=PLAINTEXT://:9092", "1 listeners|PLAINTEXT://:9092;"},
    };
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        char *entries = parsed(slice_str(rows[i].text));
        assert_string_equal(entries, rows[i].entries);
        free(entries);
    }
}

static void faults_name_the_line(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        size_t len;
        const char *message;
    } rows[] = {
        {"a=b\n=c", 6, "2: the key is empty"},
        {"a=\\u00g0", 8, "1: \\u needs four hexadecimal digits"},
        {"a=\\u00", 6, "1: \\u needs four hexadecimal digits"},
        {"a=\\u0000", 8, "1: \\u names no character that a value may have"},
        {"\n\na=\\uD800", 10, "3: \\u names no character that a value may have"},
        {"a=b\0c", 5, "1: a zero byte"},
    };
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        char *message = parsed(slice_of(rows[i].text, rows[i].len));
        assert_string_equal(message, rows[i].message);
        free(message);
    }
}

static char *repeated(const char *text, int count)
{
    struct buf b;
    buf_init(&b);
    for (int i = 0; i < count; i++) {
        buf_put_str(&b, text);
    }
    char *result = slice_dup(buf_slice(&b));
    buf_deinit(&b);
    return result;
}

static void what_a_file_holds_is_bounded(void **state)
{
    (void)state;
    static const struct {
        const char *start;
        const char *repeat;
        int count;
        const char *message;
    } rows[] = {
        {"", "a=b\n", MODEL_PROPERTIES_MAX + 1, "10001: too many entries"},
        {"a=", "x", MODEL_PROPERTIES_VALUE_SIZE + 1, "1: the value is too long"},
        {"", "x", MODEL_PROPERTIES_VALUE_SIZE + 2, "1: the key is too long"},
    };
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        char *rest = repeated(rows[i].repeat, rows[i].count);
        char *text = xasprintf("%s%s", rows[i].start, rest);
        char *message = parsed(slice_str(text));
        assert_string_equal(message, rows[i].message);
        free(message);
        free(text);
        free(rest);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(entries_have_the_keys_values_and_lines_of_java),
        cmocka_unit_test(faults_name_the_line),
        cmocka_unit_test(what_a_file_holds_is_bounded),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
