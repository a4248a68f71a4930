/*
 * Metrics: one series a name and labels, exact text, and counts that threads do not lose.
 */
#include "metric/metric.h"

#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>
#include <pthread.h>

static int setup(void **state)
{
    *state = metric_registry_new();
    return 0;
}

static int teardown(void **state)
{
    metric_registry_free(*state);
    return 0;
}

static void assert_text(struct metric_registry *r, const char *expected)
{
    struct buf out;
    buf_init(&out);
    metric_write(r, &out);
    buf_put_u8(&out, 0);
    assert_string_equal((const char *)out.ptr, expected);
    buf_deinit(&out);
}

static void same_name_and_labels_are_one_series(void **state)
{
    struct metric_registry *r = *state;
    struct metric_value *a = metric_counter(r, "requests_total", "api=\"1\"", "Requests.");
    assert_ptr_equal(metric_counter(r, "requests_total", "api=\"1\"", "other"), a);
    assert_ptr_not_equal(metric_counter(r, "requests_total", "api=\"2\"", "other"), a);
    metric_add(a, 3);
    metric_add(a, 4);
    assert_int_equal(metric_get(a), 7);
}

static void text_is_sorted_and_typed(void **state)
{
    struct metric_registry *r = *state;
    metric_set(metric_gauge(r, "b_size", "", "Size\nin \\ bytes."), -5);
    metric_add(metric_counter(r, "a_total", "k=\"2\"", "Things."), 20);
    metric_add(metric_counter(r, "a_total", "k=\"1\"", "Things."), 10);
    assert_text(r, "# HELP a_total Things.\n# TYPE a_total counter\n"
                   "a_total{k=\"1\"} 10\na_total{k=\"2\"} 20\n"
                   "# HELP b_size Size\\nin \\\\ bytes.\n# TYPE b_size gauge\nb_size -5\n");
}

static void histogram_buckets_are_cumulative(void **state)
{
    struct metric_registry *r = *state;
    struct metric_histogram *h = metric_histogram(r, "t_seconds", "", "Times.");
    metric_observe(h, 100);
    metric_observe(h, 101);
    metric_observe(h, 20000000);
    assert_text(r, "# HELP t_seconds Times.\n# TYPE t_seconds histogram\n"
                   "t_seconds_bucket{le=\"0.0001\"} 1\nt_seconds_bucket{le=\"0.0002\"} 2\n"
                   "t_seconds_bucket{le=\"0.0005\"} 2\nt_seconds_bucket{le=\"0.001\"} 2\n"
                   "t_seconds_bucket{le=\"0.002\"} 2\nt_seconds_bucket{le=\"0.005\"} 2\n"
                   "t_seconds_bucket{le=\"0.01\"} 2\nt_seconds_bucket{le=\"0.02\"} 2\n"
                   "t_seconds_bucket{le=\"0.05\"} 2\nt_seconds_bucket{le=\"0.1\"} 2\n"
                   "t_seconds_bucket{le=\"0.2\"} 2\nt_seconds_bucket{le=\"0.5\"} 2\n"
                   "t_seconds_bucket{le=\"1\"} 2\nt_seconds_bucket{le=\"2\"} 2\n"
                   "t_seconds_bucket{le=\"5\"} 2\nt_seconds_bucket{le=\"10\"} 2\n"
                   "t_seconds_bucket{le=\"+Inf\"} 3\n"
                   "t_seconds_sum 20.000201\nt_seconds_count 3\n");
}

static void label_values_are_escaped(void **state)
{
    (void)state;
    struct buf b;
    buf_init(&b);
    metric_label(&b, "topic", "a\"b\\c");
    metric_label(&b, "line", "x\ny");
    buf_put_u8(&b, 0);
    assert_string_equal((const char *)b.ptr, "topic=\"a\\\"b\\\\c\",line=\"x\\ny\"");
    buf_deinit(&b);
}

#define ADDS 10000

static void *add_many(void *arg)
{
    struct metric_registry *r = arg;
    for (int i = 0; i < ADDS; i++) {
        metric_add(metric_counter(r, "shared_total", "", "Shared."), 1);
        metric_observe(metric_histogram(r, "shared_seconds", "", "Shared."), i);
    }
    return NULL;
}

static void threads_lose_no_counts(void **state)
{
    struct metric_registry *r = *state;
    pthread_t threads[2];
    for (int i = 0; i < 2; i++) {
        assert_int_equal(pthread_create(&threads[i], NULL, add_many, r), 0);
    }
    for (int i = 0; i < 2; i++) {
        assert_int_equal(pthread_join(threads[i], NULL), 0);
    }
    assert_int_equal(metric_get(metric_counter(r, "shared_total", "", "")), 2 * ADDS);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(same_name_and_labels_are_one_series, setup, teardown),
        cmocka_unit_test_setup_teardown(text_is_sorted_and_typed, setup, teardown),
        cmocka_unit_test_setup_teardown(histogram_buckets_are_cumulative, setup, teardown),
        cmocka_unit_test_setup_teardown(label_values_are_escaped, setup, teardown),
        cmocka_unit_test_setup_teardown(threads_lose_no_counts, setup, teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
