/*
 * The JSON reader: the grammar, places, exact numbers, strings, and sources that come in small pieces
 * or fail. Faults of whole files are in test_plan.c.
 */
#include "cli/json.h"

#include "base/buf.h"
#include "base/check.h"

#include <stdlib.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

static struct cli_json *must_parse(struct arena *arena, const char *text)
{
    struct cli_json *root = NULL;
    struct cli_json_error error;
    arena_init(arena, 1 << 20);
    if (cli_json_parse(slice_str(text), arena, &root, &error) < 0) {
        print_error("%s: %s\n", text, error.text);
        fail();
    }
    return root;
}

static void values_have_their_places(void **state)
{
    (void)state;
    struct arena arena;
    struct cli_json *root =
        must_parse(&arena, "\xef\xbb\xbf{\n  \"\xc3\xa4\" : [true, null,\r\n-1.5e3],\"b\":{}}");
    assert_int_equal(root->kind, CLI_JSON_OBJECT);
    assert_int_equal(root->count, 2);
    assert_int_equal(root->at.line, 1);
    assert_int_equal(root->at.column, 1);
    struct cli_json *list = cli_json_member(root, "\xc3\xa4");
    assert_int_equal(list->key_at.line, 2);
    assert_int_equal(list->key_at.column, 3);
    assert_int_equal(list->at.column, 9);
    assert_int_equal(list->count, 3);
    assert_true(list->first->is_true);
    assert_int_equal(list->first->next->kind, CLI_JSON_NULL);
    assert_int_equal(list->first->next->at.column, 16);
    assert_true(slice_equal_str(list->last->text, "-1.5e3"));
    assert_int_equal(list->last->at.line, 3);
    assert_int_equal(list->last->at.column, 1);
    assert_ptr_equal(list->last->parent, list);
    assert_int_equal(cli_json_member(root, "b")->count, 0);
    assert_null(cli_json_member(root, "c"));
    arena_deinit(&arena);
}

static void strings_are_decoded(void **state)
{
    (void)state;
    struct arena arena;
    struct cli_json *root = must_parse(
        &arena, "[\"\\\"\\\\\\/\\b\\f\\n\\r\\t\",\"\\u00e4\\uD83D\\uDE00\",\"\\ud800\\n\","
                "\"\\ud800\\ud801\\udc00\",\"\\udc00x\",\"\\u0000\"]");
    struct cli_json *s = root->first;
    assert_true(slice_equal_str(s->text, "\"\\/\b\f\n\r\t"));
    s = s->next;
    assert_true(slice_equal_str(s->text, "\xc3\xa4\xf0\x9f\x98\x80"));
    s = s->next;
    assert_true(slice_equal_str(s->text, "\xed\xa0\x80\n"));
    s = s->next;
    assert_true(slice_equal_str(s->text, "\xed\xa0\x80\xf0\x90\x90\x80"));
    s = s->next;
    assert_true(slice_equal_str(s->text, "\xed\xb0\x80x"));
    s = s->next;
    assert_int_equal(s->text.len, 1);
    assert_int_equal(s->text.ptr[0], 0);
    arena_deinit(&arena);
}

static void integers_never_wrap(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        enum cli_json_integer result;
        int64_t number;
    } rows[] = {{"0", CLI_JSON_INTEGER_OK, 0},
                {"-0", CLI_JSON_INTEGER_OK, 0},
                {"2147483647", CLI_JSON_INTEGER_OK, 2147483647},
                {"2147483648", CLI_JSON_INTEGER_RANGE, 0},
                {"4294967297", CLI_JSON_INTEGER_RANGE, 0},
                {"18446744073709551617", CLI_JSON_INTEGER_RANGE, 0},
                {"-1", CLI_JSON_INTEGER_RANGE, 0},
                {"1.0", CLI_JSON_INTEGER_FRACTION, 0},
                {"1e0", CLI_JSON_INTEGER_FRACTION, 0},
                {"\"1\"", CLI_JSON_INTEGER_TYPE, 0},
                {"true", CLI_JSON_INTEGER_TYPE, 0}};
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        struct arena arena;
        int64_t number = 0;
        struct cli_json *root = must_parse(&arena, rows[i].text);
        assert_int_equal(cli_json_int(root, 0, INT32_MAX, &number), rows[i].result);
        assert_int_equal(number, rows[i].number);
        arena_deinit(&arena);
    }
}

static void grammar_is_kept(void **state)
{
    (void)state;
    static const char *const wrong[] = {"{",
                                        "[",
                                        "[1",
                                        "[1,",
                                        "[1 2]",
                                        "{\"a\"}",
                                        "{\"a\":}",
                                        "{\"a\":1,}",
                                        "{a:1}",
                                        "[,]",
                                        "tru",
                                        "truex",
                                        "nul",
                                        "+1",
                                        ".5",
                                        "1.",
                                        "1e",
                                        "1e+",
                                        "-",
                                        "00",
                                        "0x10",
                                        "\"",
                                        "\"\\x\"",
                                        "\"\\u12g4\"",
                                        "\"\\u\"",
                                        "\"\n\"",
                                        "'a'",
                                        "1 2",
                                        "[1]]",
                                        "\xc0\x80",
                                        "\"\xc0\x80\"",
                                        "\"\xed\xa0\x80\"",
                                        "\"\xf4\x90\x80\x80\"",
                                        "\"\xe0\x80\x80\"",
                                        "\"\xc3\"",
                                        "Infinity",
                                        "\v1"};
    for (size_t i = 0; i < ARRAY_LEN(wrong); i++) {
        struct arena arena;
        struct cli_json *root = NULL;
        struct cli_json_error error;
        arena_init(&arena, 1 << 20);
        if (cli_json_parse(slice_str(wrong[i]), &arena, &root, &error) == 0) {
            print_error("accepted: %s\n", wrong[i]);
            fail();
        }
        assert_true(error.text[0] != '\0');
        assert_null(root);
        arena_deinit(&arena);
    }
}

/* A source that gives one byte a time: every border between chunks is met. */
struct drip {
    const char *text;
    size_t pos;
    size_t fails_at; /* SIZE_MAX = never */
};

static int read_drip(void *arg, uint8_t *ptr, size_t len, size_t *ret_len)
{
    struct drip *drip = arg;
    size_t piece = drip->pos == 0 ? 4 : 1; /* the first chunk shows the encoding */
    if (drip->pos >= drip->fails_at) {
        return -E_IO;
    }
    size_t left = strlen(drip->text) - drip->pos;
    *ret_len = MIN(MIN(piece, left), len);
    memcpy(ptr, drip->text + drip->pos, *ret_len);
    drip->pos += *ret_len;
    return 0;
}

static void chunks_may_end_anywhere(void **state)
{
    (void)state;
    struct drip drip = {.text =
                            "{ \"k\\u00e4\\n\":[true,false,null,-12.5E+7,\"\xf0\x9f\x98\x80\"]}",
                        .fails_at = SIZE_MAX};
    struct arena arena;
    struct cli_json *root = NULL;
    struct cli_json_error error;
    arena_init(&arena, 1 << 20);
    assert_int_equal(cli_json_read(read_drip, &drip, &arena, &root, &error), 0);
    struct cli_json *list = cli_json_member(root, "k\xc3\xa4\n");
    assert_int_equal(list->count, 5);
    assert_true(slice_equal_str(list->last->text, "\xf0\x9f\x98\x80"));
    arena_deinit(&arena);
}

static void failing_source_is_told(void **state)
{
    (void)state;
    static const char text[] = "{\"a\":[1,2,\"b\"]}   ";
    for (size_t at = 0; at < sizeof text; at++) {
        struct drip drip = {.text = text, .fails_at = at};
        struct arena arena;
        struct cli_json *root = NULL;
        struct cli_json_error error;
        arena_init(&arena, 1 << 20);
        assert_int_equal(cli_json_read(read_drip, &drip, &arena, &root, &error), -E_IO);
        assert_int_equal(error.fault, CLI_JSON_FAULT_SOURCE);
        assert_null(root);
        arena_deinit(&arena);
    }
}

static void memory_is_bounded(void **state)
{
    (void)state;
    struct buf text;
    buf_init(&text);
    buf_put_str(&text, "[0");
    for (int i = 0; i < 10000; i++) {
        buf_put_str(&text, ",0");
    }
    buf_put_str(&text, "]");
    struct arena arena;
    struct cli_json *root = NULL;
    struct cli_json_error error;
    arena_init(&arena, 65536);
    assert_int_equal(cli_json_parse(buf_slice(&text), &arena, &root, &error), -E_TOO_LARGE);
    assert_int_equal(error.fault, CLI_JSON_FAULT_SIZE);
    arena_deinit(&arena);
    buf_deinit(&text);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(values_have_their_places), cmocka_unit_test(strings_are_decoded),
        cmocka_unit_test(integers_never_wrap),      cmocka_unit_test(grammar_is_kept),
        cmocka_unit_test(chunks_may_end_anywhere),  cmocka_unit_test(failing_source_is_told),
        cmocka_unit_test(memory_is_bounded),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
