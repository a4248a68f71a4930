/*
 * Starting on what a stop, a crash, or somebody else left in the folder.
 */
#include "plog/recover.h"

#include "plog/checkpoint.h"
#include "plog_fixture.h"

#define FOLDER "/data/t-0"
#define SEG0   FOLDER "/00000000000000000000"
#define SEG3   FOLDER "/00000000000000000003"
#define SEG6   FOLDER "/00000000000000000006"

/* Three batches a segment, eight in all, flushed, epochs 1 and 2. */
static void bench_init(struct fixture *f)
{
    fixture_init(f, 1);
    f->config.segment_bytes_max = 550;
    f->config.index_interval_bytes = 100;
    fixture_open(f, false);
    fixture_fill(f, 4, 1, 100);
    fixture_fill(f, 4, 2, 100);
    assert_int_equal(3, plog_segment_count(f->p));
    assert_int_equal(0, plog_flush_now(f->p));
}

static uint64_t file_size(struct fixture *f, const char *path)
{
    struct env_file *file = NULL;
    uint64_t size = 0;
    assert_int_equal(0, env_file_open(f->env, path, ENV_OPEN_READ, &file));
    assert_int_equal(0, env_file_size(file, &size));
    env_file_unref(file);
    return size;
}

static void set_file_size(struct fixture *f, const char *path, uint64_t size)
{
    struct env_file *file = NULL;
    assert_int_equal(0, env_file_open(f->env, path, ENV_OPEN_WRITE | ENV_OPEN_CREATE, &file));
    assert_int_equal(0, env_file_truncate(file, size));
    assert_int_equal(0, env_file_sync(file));
    env_file_unref(file);
}

static void expect_content(struct fixture *f, int64_t end)
{
    struct buf found;
    buf_init(&found);
    assert_int_equal(end, plog_end_offset(f->p));
    assert_int_equal(0, fixture_read(f, 0, INT64_MAX, 200, &found));
    assert_int_equal(plog_bytes(f->p), found.len);
    buf_deinit(&found);
    for (int64_t offset = 0; offset < end; offset++) {
        assert_int_equal(offset < 4 ? 1 : 2, plog_epoch_at(f->p, offset));
        struct plog_time_hit hit;
        assert_int_equal(0, plog_find_time(f->p, 1000 + offset, INT64_MAX, &hit));
        assert_int_equal(offset, hit.offset);
    }
}

static void a_torn_tail_is_cut(void **state)
{
    (void)state;
    for (uint64_t less = 1; less < 170; less += 12) {
        struct fixture f;
        bench_init(&f);
        fixture_crash(&f, true);
        uint64_t size = file_size(&f, SEG6 ".log");
        set_file_size(&f, SEG6 ".log", size - less);
        assert_int_equal(0, fixture_open_at(&f, false, 6, 0));
        expect_content(&f, 7);
        assert_int_equal(file_size(&f, SEG6 ".log"), size / 2);
        fixture_fill(&f, 2, 2, 100);
        expect_content(&f, 9);
        fixture_deinit(&f);
    }
}

static void zeros_behind_the_end_are_cut(void **state)
{
    (void)state;
    struct fixture f;
    bench_init(&f);
    fixture_crash(&f, true);
    set_file_size(&f, SEG6 ".log", file_size(&f, SEG6 ".log") + 4096);
    assert_int_equal(0, fixture_open_at(&f, false, 8, 0));
    expect_content(&f, 8);
    fixture_deinit(&f);
}

/* A bad byte in the middle ends the log there, later segments go. */
static void the_log_ends_at_the_first_bad_byte(void **state)
{
    (void)state;
    struct fixture f;
    bench_init(&f);
    fixture_crash(&f, true);
    assert_true(sim_disk_flip(f.node, SEG3 ".log", 200));
    assert_int_equal(0, fixture_open_at(&f, false, 0, 0));
    expect_content(&f, 4);
    assert_false(fixture_exists(&f, SEG6 ".log"));
    assert_false(fixture_exists(&f, SEG6 ".index"));
    assert_int_equal(1, plog_epoch_latest(f.p));
    fixture_deinit(&f);
}

static void the_log_ends_at_a_hole(void **state)
{
    (void)state;
    struct fixture f;
    bench_init(&f);
    fixture_crash(&f, true);
    set_file_size(&f, SEG3 ".log", file_size(&f, SEG3 ".log") / 3);
    assert_int_equal(0, fixture_open_at(&f, false, 0, 0));
    expect_content(&f, 4);
    assert_int_equal(2, plog_segment_count(f.p));
    fixture_deinit(&f);
}

static void damage_below_the_recovery_point_is_not_looked_for(void **state)
{
    (void)state;
    struct fixture f;
    bench_init(&f);
    fixture_crash(&f, true);
    assert_true(sim_disk_flip(f.node, SEG0 ".log", 100));
    assert_int_equal(0, fixture_open_at(&f, false, 7, 0));
    assert_int_equal(8, plog_end_offset(f.p));
    fixture_deinit(&f);
}

static void missing_and_odd_indexes_are_rebuilt(void **state)
{
    (void)state;
    static const struct {
        const char *path;
        uint64_t size; /* UINT64_MAX: remove */
    } cases[] = {
        {SEG0 ".index", UINT64_MAX}, {SEG0 ".timeindex", UINT64_MAX},
        {SEG3 ".index", 3},          {SEG3 ".timeindex", 13},
        {SEG0 ".index", 80}, /* preallocated zeros */
        {SEG0 ".timeindex", 120},    {SEG6 ".index", 80},
        {SEG6 ".timeindex", 1},
    };
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        for (int is_clean = 0; is_clean < 2; is_clean++) {
            struct fixture f;
            bench_init(&f);
            assert_int_equal(0, plog_close_clean(f.p, &f.em));
            fixture_crash(&f, true);
            uint64_t size = file_size(&f, cases[i].path);
            if (cases[i].size == UINT64_MAX) {
                assert_int_equal(0, env_unlink(f.env, cases[i].path));
            } else {
                set_file_size(&f, cases[i].path, cases[i].size);
            }
            assert_int_equal(0, fixture_open_at(&f, is_clean == 1, 8, 0));
            expect_content(&f, 8);
            assert_int_equal(0, plog_close_clean(f.p, &f.em));
            assert_int_equal(size, file_size(&f, cases[i].path));
            fixture_deinit(&f);
        }
    }
}

static void trusted_bytes_that_are_bad_stop_the_start(void **state)
{
    (void)state;
    struct fixture f;
    bench_init(&f);
    assert_int_equal(0, plog_close_clean(f.p, &f.em));
    fixture_crash(&f, true);
    assert_int_equal(0, env_unlink(f.env, SEG0 ".index"));
    assert_true(sim_disk_flip(f.node, SEG0 ".log", 200));
    uint64_t size = file_size(&f, SEG0 ".log");
    assert_int_equal(-E_CORRUPT, fixture_open_at(&f, true, 8, 0));
    assert_non_null(strstr(f.em.text, "bad bytes in the segment of offset 0, which was synced"));
    assert_int_equal(size, file_size(&f, SEG0 ".log")); /* nothing was cut */
    fixture_deinit(&f);
}

static void leftovers_go(void **state)
{
    (void)state;
    static const char *const names[] = {SEG0 ".log.deleted", FOLDER "/00000000000000000099.index",
                                        SEG0 ".log.cleaned", FOLDER "/leader-epoch-checkpoint.tmp"};
    struct fixture f;
    bench_init(&f);
    fixture_crash(&f, true);
    for (size_t i = 0; i < ARRAY_LEN(names); i++) {
        set_file_size(&f, names[i], 10);
    }
    set_file_size(&f, FOLDER "/notes.txt", 10);
    assert_int_equal(0, fixture_open_at(&f, false, 8, 0));
    expect_content(&f, 8);
    for (size_t i = 0; i < ARRAY_LEN(names); i++) {
        assert_false(fixture_exists(&f, names[i]));
    }
    assert_true(fixture_exists(&f, FOLDER "/notes.txt"));
    fixture_deinit(&f);
}

static void an_unfinished_compaction_is_refused(void **state)
{
    (void)state;
    struct fixture f;
    bench_init(&f);
    fixture_crash(&f, true);
    set_file_size(&f, SEG0 ".log.swap", 10);
    assert_int_equal(-E_UNSUPPORTED, fixture_open_at(&f, false, 8, 0));
    fixture_deinit(&f);
}

static void lost_epochs_are_read_from_the_batches(void **state)
{
    (void)state;
    struct fixture f;
    bench_init(&f);
    assert_int_equal(0, plog_close_clean(f.p, &f.em));
    fixture_crash(&f, true);
    assert_int_equal(
        0, plog_file_replace(f.env, FOLDER, "leader-epoch-checkpoint", slice_str("0\n7\n")));
    assert_int_equal(0, fixture_open_at(&f, true, 8, 0));
    expect_content(&f, 8);
    fixture_deinit(&f);
}

static void newer_files_are_refused(void **state)
{
    (void)state;
    static const char *const names[] = {"leader-epoch-checkpoint", "partition.metadata",
                                        "klamm-truncated"};
    static const char *const texts[] = {"1\n0\n", "version: 1\n", "1\n5\n"};
    for (size_t i = 0; i < ARRAY_LEN(names); i++) {
        struct fixture f;
        bench_init(&f);
        fixture_crash(&f, true);
        assert_int_equal(0, plog_file_replace(f.env, FOLDER, names[i], slice_str(texts[i])));
        for (int is_clean = 0; is_clean < 2; is_clean++) {
            assert_int_equal(-E_UNSUPPORTED, fixture_open_at(&f, is_clean == 1, 8, 0));
            assert_non_null(strstr(f.em.text, FOLDER));
        }
        fixture_deinit(&f);
    }
}

static void a_log_below_its_start_begins_afresh(void **state)
{
    (void)state;
    struct fixture f;
    bench_init(&f);
    fixture_crash(&f, true);
    assert_int_equal(0, fixture_open_at(&f, false, 8, 50));
    assert_int_equal(50, plog_start_offset(f.p));
    assert_int_equal(50, plog_end_offset(f.p));
    assert_false(plog_has_files(f.p));
    fixture_fill(&f, 1, 3, 10);
    assert_int_equal(51, plog_end_offset(f.p));
    fixture_deinit(&f);
}

static void a_start_inside_a_segment_is_kept(void **state)
{
    (void)state;
    struct fixture f;
    bench_init(&f);
    fixture_crash(&f, true);
    assert_int_equal(0, fixture_open_at(&f, false, 8, 5));
    assert_int_equal(5, plog_start_offset(f.p));
    assert_int_equal(8, plog_end_offset(f.p));
    assert_int_equal(2, plog_epoch_at(f.p, 5));
    assert_int_equal(-1, plog_epoch_at(f.p, 4));
    fixture_deinit(&f);
}

/* Each disk operation of the start fails once: an error that names the folder, nothing left open. */
static void each_disk_error_fails_the_start(void **state)
{
    (void)state;
    int err = -1;
    for (int64_t n = 1; err != 0; n++) {
        struct fixture f;
        bench_init(&f);
        fixture_fill(&f, 2, 2, 100);
        fixture_crash(&f, true);
        set_file_size(&f, SEG0 ".log.deleted", 10);
        sim_disk_fail_at(f.node, n, E_IO);
        err = fixture_open_at(&f, false, 3, 0);
        sim_disk_fail_at(f.node, 0, E_IO);
        if (err != 0) {
            assert_int_equal(-E_IO, err);
            assert_non_null(strstr(f.em.text, FOLDER));
            assert_int_equal(0, sim_disk_open_files(f.node));
            assert_int_equal(0, fixture_open_at(&f, false, 3, 0));
        }
        expect_content(&f, 10);
        fixture_deinit(&f);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_torn_tail_is_cut),
        cmocka_unit_test(zeros_behind_the_end_are_cut),
        cmocka_unit_test(the_log_ends_at_the_first_bad_byte),
        cmocka_unit_test(the_log_ends_at_a_hole),
        cmocka_unit_test(damage_below_the_recovery_point_is_not_looked_for),
        cmocka_unit_test(missing_and_odd_indexes_are_rebuilt),
        cmocka_unit_test(trusted_bytes_that_are_bad_stop_the_start),
        cmocka_unit_test(leftovers_go),
        cmocka_unit_test(an_unfinished_compaction_is_refused),
        cmocka_unit_test(lost_epochs_are_read_from_the_batches),
        cmocka_unit_test(newer_files_are_refused),
        cmocka_unit_test(a_log_below_its_start_begins_afresh),
        cmocka_unit_test(a_start_inside_a_segment_is_kept),
        cmocka_unit_test(each_disk_error_fails_the_start),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
