/*
 * Arithmetic of progress: percent, rate, time left, and what a person reads.
 */
#include "cli/progress.h"

#include "base/check.h"

#include <stdlib.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

static const int32_t adding[] = {4, 5};

static struct cli_progress_row row_new(void)
{
    return (struct cli_progress_row){
        .topic = "foo", .partition = 3, .adding = {adding, 2}, .ended_ms = -1};
}

static void poll_sizes(struct cli_progress_row *row, int64_t now_ms, int64_t source, int64_t each)
{
    cli_progress_begin(row);
    cli_progress_add(row, 1, source - 1);
    cli_progress_add(row, 2, source);
    cli_progress_add(row, 4, each);
    cli_progress_add(row, 5, each);
    cli_progress_end(row, now_ms);
}

static void expect_line(const struct cli_progress_row *row, const char *expected)
{
    struct buf out;
    buf_init(&out);
    cli_progress_put_line(row, 8, &out);
    char *text = slice_dup(buf_slice(&out));
    assert_string_equal(text, expected);
    free(text);
    buf_deinit(&out);
}

static void bytes_of_all_arriving_replicas_count(void **state)
{
    (void)state;
    struct cli_progress_row row = row_new();
    poll_sizes(&row, 1000, 1000000, 100000);
    assert_int_equal(row.total, 2000000);
    assert_int_equal(row.copied, 200000);
    assert_int_equal(cli_progress_percent(&row), 10);
    assert_int_equal(cli_progress_rate(&row), 0);
    assert_int_equal(cli_progress_left(&row), -1);
    expect_line(&row, "foo-3     200 kB of 2.0 MB  10 %  0 B/s  to 4,5");
    poll_sizes(&row, 2000, 1000000, 350000);
    assert_int_equal(cli_progress_rate(&row), 500000);
    assert_int_equal(cli_progress_left(&row), 3);
    expect_line(&row, "foo-3     700 kB of 2.0 MB  35 %  500 kB/s  3 s left  to 4,5");
}

/* A copy that is complete but not in sync yet is not done. */
static void percent_stays_below_100_while_it_moves(void **state)
{
    (void)state;
    struct cli_progress_row row = row_new();
    poll_sizes(&row, 1000, 1000, 1200);
    assert_int_equal(row.copied, row.total);
    assert_int_equal(cli_progress_percent(&row), 99);
    row.was_seen = true;
    row.started_ms = 1000;
    row.ended_ms = 13400;
    row.ending = "done";
    assert_int_equal(cli_progress_percent(&row), 100);
    expect_line(&row, "foo-3     done after 12 s");
}

static void empty_partition_divides_nothing(void **state)
{
    (void)state;
    struct cli_progress_row row = row_new();
    poll_sizes(&row, 1000, 0, 0);
    assert_int_equal(cli_progress_percent(&row), 0);
    row.total = INT64_MAX;
    row.copied = INT64_MAX / 2;
    assert_int_equal(cli_progress_percent(&row), 50);
}

/* The rate looks back over a window, and starts anew when the copy starts anew. */
static void rate_is_of_the_last_polls(void **state)
{
    (void)state;
    struct cli_progress_row row = row_new();
    for (int64_t i = 0; i < 30; i++) {
        poll_sizes(&row, i * 1000, 1000000, i < 20 ? 0 : (i - 20) * 1000);
    }
    assert_int_equal(row.sample_count, CLI_PROGRESS_SAMPLES);
    assert_int_equal(cli_progress_rate(&row), 2000);
    poll_sizes(&row, 30000, 1000000, 10);
    assert_int_equal(row.sample_count, 1);
    assert_int_equal(cli_progress_rate(&row), 0);
}

static void total_sums_up(void **state)
{
    (void)state;
    struct cli_progress_row rows[] = {row_new(), row_new()};
    poll_sizes(&rows[0], 1000, 1000, 0);
    poll_sizes(&rows[0], 2000, 1000, 250);
    poll_sizes(&rows[1], 1000, 1000, 500);
    rows[1].ended_ms = 2000;
    rows[1].ending = "done";
    struct buf out;
    buf_init(&out);
    cli_progress_put_total(rows, 2, &out);
    char *text = slice_dup(buf_slice(&out));
    assert_string_equal(text, "1 of 2 partitions done  2.5 kB of 4.0 kB  62 %  500 B/s  3 s left");
    free(text);
    buf_deinit(&out);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(bytes_of_all_arriving_replicas_count),
        cmocka_unit_test(percent_stays_below_100_while_it_moves),
        cmocka_unit_test(empty_partition_divides_nothing),
        cmocka_unit_test(rate_is_of_the_last_polls),
        cmocka_unit_test(total_sums_up),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
