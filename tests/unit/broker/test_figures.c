/*
 * What is counted about requests.
 */
#include "broker/api/figures.h"

#include "base/check.h"
#include "broker/api/request.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

static int32_t row_of(int16_t key)
{
    for (int32_t i = 0; i < api_row_count; i++) {
        if (api_rows[i].key == key) {
            return i;
        }
    }
    fail();
    return -1;
}

static void assert_has(struct api_figures *f, const char *line)
{
    struct buf out;
    buf_init(&out);
    api_figures_write(f, &out);
    buf_put_u8(&out, 0);
    if (strstr((const char *)out.ptr, line) == NULL) {
        fail_msg("no %s", line);
    }
    buf_deinit(&out);
}

static void each_api_has_its_own_counts(void **state)
{
    (void)state;
    struct api_figures *f = api_figures_new();
    api_figures_note(f, row_of(WIRE_KEY_FETCH), 150, 0);
    api_figures_note(f, row_of(WIRE_KEY_FETCH), 3000000, 2);
    api_figures_note(f, row_of(WIRE_KEY_METADATA), 1, 1);
    api_figures_note_unknown(f);
    assert_has(f, "requests_total{request=\"Fetch\"} 2\n");
    assert_has(f, "requests_total{request=\"Metadata\"} 1\n");
    assert_has(f, "requests_total{request=\"Produce\"} 0\n");
    assert_has(f, "errors_total{request=\"Fetch\"} 2\n");
    assert_has(f, "errors_total{request=\"Metadata\"} 1\n");
    assert_has(f, "totaltime_seconds_bucket{request=\"Fetch\",le=\"0.0002\"} 1\n");
    assert_has(f, "totaltime_seconds_bucket{request=\"Fetch\",le=\"5\"} 2\n");
    assert_has(f, "totaltime_seconds_sum{request=\"Fetch\"} 3.000150\n");
    assert_has(f, "klamm_network_unknown_requests_total 1\n");
    api_figures_free(f);
}

static void every_api_that_is_served_is_told(void **state)
{
    (void)state;
    struct api_figures *f = api_figures_new();
    for (int32_t i = 0; i < api_row_count; i++) {
        struct buf line;
        buf_init(&line);
        buf_putf(&line, "requests_total{request=\"%s\"} 0\n", wire_api_find(api_rows[i].key)->name);
        buf_put_u8(&line, 0);
        assert_has(f, (const char *)line.ptr);
        buf_deinit(&line);
    }
    api_figures_free(f);
    api_figures_free(NULL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_api_has_its_own_counts),
        cmocka_unit_test(every_api_that_is_served_is_told),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
