/*
 * The bounds of the JSON helpers; what they read and write is seen by the tests of the znodes.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/alloc.h"
#include "base/check.h"
#include "metastore/json.h"
#include "metastore/metastore.h"

#include <stdlib.h>

static int parse(struct slice text)
{
    json_t *root = NULL;
    struct errmsg em;
    int err = metastore_json_parse(text, &root, &em);
    if (err == 0) {
        json_decref(root);
    }
    return err;
}

static void depth_counts_brackets_outside_strings(void **state)
{
    (void)state;
    char text[2 * METASTORE_JSON_DEPTH_MAX + 16];
    for (int depth = METASTORE_JSON_DEPTH_MAX; depth <= METASTORE_JSON_DEPTH_MAX + 1; depth++) {
        size_t len = 0;
        memcpy(text, "{\"a\":", 5);
        len = 5;
        memset(text + len, '[', (size_t)depth - 1);
        len += (size_t)depth - 1;
        memset(text + len, ']', (size_t)depth - 1);
        len += (size_t)depth - 1;
        text[len++] = '}';
        assert_int_equal(parse(slice_of(text, len)),
                         depth > METASTORE_JSON_DEPTH_MAX ? -E_TOO_LARGE : 0);
    }
    assert_int_equal(parse(slice_str("{\"[[[[[[[[[[[[[[[[[[[[[[\":\"\\\"{{{{{{{{{{{{{{{{{{{\"}")),
                     0);
    assert_int_equal(parse(slice_str("{\"a\":\"\\")), -E_MALFORMED);
}

static void documents_larger_than_a_node_are_refused_unread(void **state)
{
    (void)state;
    char *text = xalloc(METASTORE_DATA_MAX + 1);
    memset(text, ' ', METASTORE_DATA_MAX + 1);
    memcpy(text, "{}", 2);
    assert_int_equal(parse(slice_of(text, METASTORE_DATA_MAX)), 0);
    assert_int_equal(parse(slice_of(text, METASTORE_DATA_MAX + 1)), -E_TOO_LARGE);
    free(text);
}

static void digits_are_bounded_without_overflow(void **state)
{
    (void)state;
    const struct {
        const char *text;
        int err;
        int64_t value;
    } cases[] = {
        {"0", 0, 0},
        {"2147483647", 0, INT32_MAX},
        {"2147483648", -E_MALFORMED, 0},
        {"21474836470", -E_MALFORMED, 0},
        {"18446744073709551616", -E_MALFORMED, 0},
        {"-1", -E_MALFORMED, 0},
        {"+1", -E_MALFORMED, 0},
        {" 1", -E_MALFORMED, 0},
        {"", -E_MALFORMED, 0},
    };
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        int64_t value = 0;
        assert_int_equal(metastore_json_digits(slice_str(cases[i].text), METASTORE_JSON_ID, &value),
                         cases[i].err);
        assert_int_equal(value, cases[i].value);
    }
    int64_t value = 0;
    struct metastore_json_range small = {5, 9};
    assert_int_equal(metastore_json_digits(slice_str("4"), small, &value), -E_MALFORMED);
    assert_int_equal(metastore_json_digits(slice_str("10"), small, &value), -E_MALFORMED);
    assert_int_equal(metastore_json_digits(slice_str("9"), small, &value), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(depth_counts_brackets_outside_strings),
        cmocka_unit_test(documents_larger_than_a_node_are_refused_unread),
        cmocka_unit_test(digits_are_bounded_without_overflow),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
