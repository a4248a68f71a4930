/*
 * Reads that do not wait for the disk: what they ask to have warmed, and that they end.
 */
#include "plog_fixture.h"

#define MB ((size_t)1 << 20)

static void note_done(void *arg)
{
    bool *done = arg;
    *done = true;
}

static bool is_set(void *arg)
{
    return *(const bool *)arg;
}

/* Warms what a read was refused for, as a broker does. */
static void warm(struct fixture *f, const struct plog_cold *cold)
{
    bool done = false;
    struct env_range range = {.pos = cold->pos, .len = cold->len};
    env_file_warm(cold->file, range, note_done, &done);
    env_file_unref(cold->file);
    assert_true(sim_world_run(f->world, 60000, is_set, &done));
    plog_warmed(f->p, cold);
}

/* Reads until there is an answer; everything goes out of memory each time when the disk is `pressed`.
 * Returns how often it was refused. */
static int read_warming(struct fixture *f, const struct plog_read_args *args, bool is_pressed,
                        struct plog_span *ret_span)
{
    for (int rounds = 0; rounds < 20; rounds++) {
        struct plog_cold cold = {0};
        int err = plog_read_now(f->p, args, ret_span, &cold);
        if (err == 0) {
            return rounds;
        }
        assert_int_equal(err, -E_AGAIN);
        assert_non_null(cold.file);
        assert_true(cold.len > 0);
        warm(f, &cold);
        if (is_pressed) {
            sim_disk_chill(f->node, 100);
        }
    }
    fail_msg("the read does not end");
    return -1;
}

/* Five segments or so of small batches; all but the last have their indexes on disk only. */
static void open_filled(struct fixture *f, uint64_t seed)
{
    fixture_init(f, seed);
    f->config.segment_bytes_max = 40000;
    f->config.index_interval_bytes = 500;
    fixture_open(f, false);
    fixture_fill(f, 200, 1, 1000);
    assert_true(plog_segment_count(f->p) > 3);
}

static void what_is_in_memory_is_given_out(void **state)
{
    (void)state;
    struct fixture f;
    open_filled(&f, 1);
    struct plog_read_args args = {.offset = 7, .upper = INT64_MAX, .max_bytes = 5000};
    struct plog_span plain;
    struct plog_span now;
    assert_int_equal(plog_read(f.p, &args, &plain), 0);
    assert_int_equal(read_warming(&f, &args, false, &now), 0);
    assert_ptr_equal(now.file, plain.file);
    assert_int_equal(now.pos, plain.pos);
    assert_int_equal(now.len, plain.len);
    assert_int_equal(now.next_offset, plain.next_offset);
    env_file_unref(plain.file);
    env_file_unref(now.file);
    struct plog_cold cold = {0};
    args.offset = 1000;
    assert_int_equal(plog_read_now(f.p, &args, &now, &cold), -E_OUT_OF_RANGE);
    args.offset = 200;
    assert_int_equal(plog_read_now(f.p, &args, &now, &cold), 0);
    assert_int_equal(now.len, 0);
    assert_null(cold.file);
    fixture_deinit(&f);
}

/* Index, headers and records come into memory one after the other, also when they do not stay there. */
static void cold_read_ends(void **state)
{
    (void)state;
    for (int is_pressed = 0; is_pressed <= 1; is_pressed++) {
        struct fixture f;
        open_filled(&f, 2);
        fixture_crash(&f, true);
        fixture_open(&f, true);
        for (int64_t offset = 0; offset < 200; offset += 50) {
            struct plog_read_args args = {.offset = offset, .upper = INT64_MAX, .max_bytes = 20000};
            struct plog_span plain;
            struct plog_span span;
            assert_int_equal(plog_read(f.p, &args, &plain), 0);
            plog_marks_clear(f.p);
            sim_disk_chill(f.node, 100);
            assert_true(read_warming(&f, &args, is_pressed != 0, &span) > 0);
            assert_int_equal(span.pos, plain.pos);
            assert_int_equal(span.len, plain.len);
            env_file_unref(plain.file);
            env_file_unref(span.file);
        }
        fixture_deinit(&f);
    }
}

/* What was warmed is given out for a while, and not for ever. */
static void warmed_range_is_trusted_for_seconds(void **state)
{
    (void)state;
    struct fixture f;
    open_filled(&f, 3);
    struct plog_read_args args = {.offset = 0, .upper = INT64_MAX, .max_bytes = 20000};
    struct plog_span span;
    struct plog_cold cold;
    sim_disk_chill(f.node, 100);
    assert_true(read_warming(&f, &args, true, &span) > 0);
    env_file_unref(span.file);
    assert_int_equal(plog_read_now(f.p, &args, &span, &cold), 0);
    env_file_unref(span.file);
    (void)sim_world_run(f.world, 15000, NULL, NULL);
    assert_int_equal(plog_read_now(f.p, &args, &span, &cold), -E_AGAIN);
    env_file_unref(cold.file);
    fixture_deinit(&f);
}

/* One reader does not ask the disk for any amount at a time; what is in memory is not cut. */
static void large_cold_span_is_cut(void **state)
{
    (void)state;
    struct fixture f;
    fixture_init(&f, 4);
    fixture_open(&f, false);
    fixture_fill(&f, 12, 1, MB);
    struct plog_read_args args = {.offset = 0, .upper = INT64_MAX, .max_bytes = 100 * MB};
    struct plog_span span;
    assert_int_equal(read_warming(&f, &args, false, &span), 0);
    assert_int_equal(span.next_offset, 12);
    env_file_unref(span.file);
    sim_disk_chill(f.node, 100);
    assert_true(read_warming(&f, &args, true, &span) > 0);
    assert_in_range(span.len, 6 * MB, 8 * MB);
    env_file_unref(span.file);
    fixture_deinit(&f);
}

/* Errors of the disk are errors, not a reason to come again. */
static void broken_disk_fails_the_log(void **state)
{
    (void)state;
    struct fixture f;
    open_filled(&f, 5);
    struct plog_read_args args = {.offset = 0, .upper = INT64_MAX, .max_bytes = 20000};
    struct plog_span span;
    struct plog_cold cold = {0};
    plog_marks_clear(f.p);
    sim_disk_break(f.node, FIXTURE_DIR);
    assert_int_equal(plog_read_now(f.p, &args, &span, &cold), -E_IO);
    assert_null(cold.file);
    assert_int_equal(plog_read_now(f.p, &args, &span, &cold), -E_OFFLINE);
    sim_disk_break(f.node, NULL);
    fixture_deinit(&f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_is_in_memory_is_given_out),
        cmocka_unit_test(cold_read_ends),
        cmocka_unit_test(warmed_range_is_trusted_for_seconds),
        cmocka_unit_test(large_cold_span_is_cut),
        cmocka_unit_test(broken_disk_fails_the_log),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
