/*
 * The bound on open descriptors: many logs, few files, and spans that outlive the closing.
 */
#include "plog/files.h"

#include "plog_fixture.h"

#define LOGS 10

/* A log with some records, all on disk. It is the fixture's from now on. */
static struct plog *log_fill(struct fixture *f, int32_t partition)
{
    struct plog_open_args args = {.files = f->files,
                                  .dir = FIXTURE_DIR,
                                  .topic = "t",
                                  .partition = partition,
                                  .config = &f->config};
    assert_int_equal(0, plog_open(&args, &f->p, &f->em));
    fixture_fill(f, 5, 0, 200);
    assert_int_equal(0, plog_flush_now(f->p));
    return f->p;
}

static void few_files_serve_many_logs(void **state)
{
    (void)state;
    struct fixture f;
    struct plog *logs[LOGS];
    fixture_init(&f, 1);
    f.config.index_interval_bytes = 100;
    for (int i = 0; i < LOGS; i++) {
        logs[i] = log_fill(&f, i);
        assert_true(f.files->open.count <= 2);
        assert_true(sim_disk_open_files(f.node) <= 2 * 3);
    }
    for (int i = 0; i < LOGS; i++) {
        struct buf found;
        buf_init(&found);
        f.p = logs[i];
        assert_int_equal(0, fixture_read(&f, 0, INT64_MAX, 500, &found));
        assert_int_equal(plog_bytes(f.p), found.len);
        buf_deinit(&found);
        assert_true(f.files->open.count <= 2);
    }
    for (int i = 0; i < LOGS; i++) {
        plog_free(logs[i]);
    }
    f.p = NULL;
    assert_int_equal(0, f.files->open.count);
    fixture_deinit(&f);
}

/* Whoever has taken them: what can be opened again is closed for what is needed now. */
static void a_lack_of_descriptors_closes_others(void **state)
{
    (void)state;
    struct fixture f;
    struct plog *logs[3];
    fixture_init(&f, 1);
    for (int i = 0; i < 3; i++) {
        logs[i] = log_fill(&f, i);
    }
    assert_int_equal(2, f.files->open.count); /* of logs 1 and 2 */
    int open_files = sim_disk_open_files(f.node);
    struct buf found;
    buf_init(&found);
    f.p = logs[0];
    sim_disk_fail_at(f.node, 1, E_TOO_MANY_FILES);
    assert_int_equal(0, fixture_read(&f, 0, INT64_MAX, 500, &found));
    assert_int_equal(plog_bytes(f.p), found.len);
    assert_true(sim_disk_open_files(f.node) < open_files);
    buf_deinit(&found);
    for (int i = 0; i < 3; i++) {
        plog_free(logs[i]);
    }
    f.p = NULL;
    fixture_deinit(&f);
}

static void a_span_outlives_its_segment(void **state)
{
    (void)state;
    struct fixture f;
    struct plog_span span;
    struct plog_read_args args = {.upper = INT64_MAX, .max_bytes = 1 << 20};
    fixture_init(&f, 1);
    fixture_open(&f, false);
    fixture_fill(&f, 3, 0, 100);
    int64_t bytes = plog_bytes(f.p);
    assert_int_equal(0, plog_read(f.p, &args, &span));
    struct plog_removal *removal = NULL;
    assert_int_equal(0, plog_remove(f.p, &removal, &f.em));
    f.p = NULL;
    fixture_remove(removal);
    uint64_t size = 0;
    assert_int_equal(0, env_file_size(span.file, &size));
    assert_int_equal(bytes, size);
    env_file_unref(span.file);
    fixture_deinit(&f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(few_files_serve_many_logs),
        cmocka_unit_test(a_lack_of_descriptors_closes_others),
        cmocka_unit_test(a_span_outlives_its_segment),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
