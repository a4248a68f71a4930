/*
 * Prometheus text piece by piece: exact bytes.
 */
#include "metric/text.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

static void assert_bytes(struct buf *out, const char *expected)
{
    buf_put_u8(out, 0);
    assert_string_equal((const char *)out->ptr, expected);
    buf_deinit(out);
}

static void a_family_has_a_head_and_series(void **state)
{
    (void)state;
    struct buf out;
    buf_init(&out);
    metric_text_family(&out, METRIC_GAUGE, "size", "One\nline, \"quotes\" and \\.");
    metric_text_value(&out, "size", "", INT64_MIN);
    metric_text_value(&out, "size", "dir=\"/a\"", INT64_MAX);
    assert_bytes(&out, "# HELP size One\\nline, \"quotes\" and \\\\.\n# TYPE size gauge\n"
                       "size -9223372036854775808\nsize{dir=\"/a\"} 9223372036854775807\n");
}

static void kinds_have_their_names(void **state)
{
    (void)state;
    struct buf out;
    buf_init(&out);
    metric_text_family(&out, METRIC_COUNTER, "a", "A.");
    metric_text_family(&out, METRIC_HISTOGRAM, "b", "B.");
    assert_bytes(&out, "# HELP a A.\n# TYPE a counter\n# HELP b B.\n# TYPE b histogram\n");
}

static void thousandths_are_exact(void **state)
{
    (void)state;
    struct buf out;
    buf_init(&out);
    metric_text_thousandths(&out, "t", "", 0);
    metric_text_thousandths(&out, "t", "", 1005);
    metric_text_thousandths(&out, "t", "", -7);
    metric_text_thousandths(&out, "t", "", INT64_MIN);
    assert_bytes(&out, "t 0.000\nt 1.005\nt -0.007\nt -9223372036854775.808\n");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_family_has_a_head_and_series),
        cmocka_unit_test(kinds_have_their_names),
        cmocka_unit_test(thousandths_are_exact),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
