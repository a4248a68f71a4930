/*
 * The gauges of running moves.
 */
#include "broker/metrics_moves.h"

#include "base/alloc.h"
#include "base/check.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>
#include <stdlib.h>

static char *text_of(const struct controller_figures *f)
{
    struct buf out;
    buf_init(&out);
    broker_metrics_moves_write(f, &out);
    assert_false(buf_failed(&out));
    char *text = slice_dup(buf_slice(&out));
    buf_deinit(&out);
    return text;
}

static void assert_has(const char *text, const char *line)
{
    if (strstr(text, line) == NULL) {
        assert_string_equal(text, line);
    }
}

static void without_moves_only_the_counts_are_told(void **state)
{
    (void)state;
    struct controller_figures f = {0};
    char *text = text_of(&f);
    assert_has(text, "# TYPE klamm_move_eta_seconds gauge\n");
    assert_has(text, "klamm_moves_by_reason{reason=\"target down\"} 0\n");
    assert_null(strstr(text, "topic="));
    free(text);
}

static void each_move_tells_what_is_known(void **state)
{
    (void)state;
    struct controller_move_figures moves[] = {
        {.topic = "a-b",
         .partition = 3,
         .age_ms = 61500,
         .to_copy = 1000,
         .copied = 400,
         .rate = 50,
         .eta_ms = 12000,
         .replicas = {{4, MOVES_REPLICA_COPYING, 600}, {5, MOVES_REPLICA_UNKNOWN, -1}},
         .replica_count = 2},
        {.topic = "c",
         .rate = -1,
         .eta_ms = -1,
         .reason = MOVES_REASON_TARGET_DOWN,
         .reason_age_ms = 7250},
    };
    struct controller_figures f = {.moves = moves, .move_count = 2};
    f.by_reason[MOVES_REASON_NONE] = 1;
    f.by_reason[MOVES_REASON_TARGET_DOWN] = 1;
    f.queued_by_reason[MOVES_REASON_TARGET_DOWN] = 2;
    f.queued_by_reason[MOVES_REASON_SLOT] = 4;
    static const char *const lines[] = {
        "klamm_move_age_seconds{topic=\"a-b\",partition=\"3\"} 61.500\n",
        "klamm_move_bytes_to_copy{topic=\"a-b\",partition=\"3\"} 1000\n",
        "klamm_move_bytes_copied{topic=\"a-b\",partition=\"3\"} 400\n",
        "klamm_move_bytes_copied{topic=\"c\",partition=\"0\"} 0\n",
        "klamm_move_rate_bytes_per_second{topic=\"a-b\",partition=\"3\"} 50\n",
        "klamm_move_eta_seconds{topic=\"a-b\",partition=\"3\"} 12.000\n",
        "klamm_move_lag_bytes{topic=\"a-b\",partition=\"3\",broker=\"4\"} 600\n",
        "klamm_move_reason_seconds{topic=\"c\",partition=\"0\",reason=\"target down\"} 7.250\n",
        "klamm_moves_by_reason{reason=\"target down\"} 3\n",
        "klamm_moves_by_reason{reason=\"waiting for a slot\"} 4\n",
    };
    char *text = text_of(&f);
    for (size_t i = 0; i < ARRAY_LEN(lines); i++) {
        assert_has(text, lines[i]);
    }
    assert_null(strstr(text, "klamm_move_rate_bytes_per_second{topic=\"c\""));
    assert_null(strstr(text, "klamm_move_eta_seconds{topic=\"c\""));
    assert_null(strstr(text, "broker=\"5\""));
    free(text);
}

/* The numbers of reasons are on the wire; their texts are label values: none needs escapes. */
static void texts_of_reasons_are_plain(void **state)
{
    (void)state;
    for (int32_t i = 0; i < MOVES_REASON_COUNT; i++) {
        assert_null(strpbrk(moves_reason_text(i), "\"\\\n"));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(without_moves_only_the_counts_are_told),
        cmocka_unit_test(each_move_tells_what_is_known),
        cmocka_unit_test(texts_of_reasons_are_plain),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
