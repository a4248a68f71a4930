/*
 * A partition's folder that Apache Kafka 3.9.0 wrote (kafka_folder: three segments with batches of every
 * codec, a committed and an aborted transaction; segment.bytes 3000, index.interval.bytes 300). We read
 * it, and whatever we write anew of it has the same bytes.
 */
#include "plog/checkpoint.h"
#include "plog_fixture.h"

#include <dirent.h>

#define SOURCE     KLAMM_SOURCE_DIR "/tests/compat/plog/kafka_folder"
#define FOLDER     FIXTURE_DIR "/t-0"
#define FILE_MAX   8192
#define RECORDS    124
#define FILE_COUNT 15

#define SNAPSHOT_CRC   2  /* where it lies */
#define SNAPSHOT_START 10 /* of the entries */
#define SNAPSHOT_ENTRY 46 /* bytes */

static size_t read_source(const char *name, uint8_t *ret_bytes)
{
    char path[600];
    (void)snprintf(path, sizeof path, SOURCE "/%s", name);
    FILE *file = fopen(path, "rb");
    assert_non_null(file);
    size_t len = fread(ret_bytes, 1, FILE_MAX, file);
    assert_true(len < FILE_MAX);
    (void)fclose(file); /* only read */
    return len;
}

/* Calls fn for each of Kafka's files; returns how many there are. */
static int each_source(struct fixture *f, void (*fn)(struct fixture *f, const char *name))
{
    int count = 0;
    struct dirent *entry;
    DIR *dir = opendir(SOURCE);
    assert_non_null(dir);
    while ((entry = readdir(dir)) != NULL) {
        if (entry->d_name[0] != '.') {
            fn(f, entry->d_name);
            count++;
        }
    }
    (void)closedir(dir); /* only read */
    return count;
}

static void copy_in(struct fixture *f, const char *name)
{
    uint8_t bytes[FILE_MAX];
    size_t len = read_source(name, bytes);
    assert_int_equal(0, plog_file_replace(f->env, FOLDER, name, slice_of(bytes, len)));
}

static int entry_order(const void *a, const void *b)
{
    return memcmp(a, b, SNAPSHOT_ENTRY);
}

/* Kafka writes producers in the order of a hash map: sorts them by id, and clears the CRC. */
static void normalize_snapshot(uint8_t *bytes, size_t len)
{
    assert_true(len >= SNAPSHOT_START && (len - SNAPSHOT_START) % SNAPSHOT_ENTRY == 0);
    memset(bytes + SNAPSHOT_CRC, 0, 4);
    qsort(bytes + SNAPSHOT_START, (len - SNAPSHOT_START) / SNAPSHOT_ENTRY, SNAPSHOT_ENTRY,
          entry_order);
}

static void compare(struct fixture *f, const char *name)
{
    uint8_t bytes[FILE_MAX];
    char path[600];
    struct buf ours;
    size_t len = read_source(name, bytes);
    buf_init(&ours);
    (void)snprintf(path, sizeof path, FOLDER "/%s", name);
    assert_int_equal(0, plog_file_load(f->env, path, FILE_MAX, &ours));
    if (ours.len == len && strstr(name, ".snapshot") != NULL) {
        normalize_snapshot(ours.ptr, len);
        normalize_snapshot(bytes, len);
    }
    if (ours.len != len || (len > 0 && memcmp(ours.ptr, bytes, len) != 0)) {
        fail_msg("%s differs", name);
    }
    buf_deinit(&ours);
}

static void bench_init(struct fixture *f)
{
    fixture_init(f, 1);
    f->config.segment_bytes_max = 3000;
    f->config.index_interval_bytes = 300;
    assert_int_equal(0, env_mkdir(f->env, FOLDER));
    assert_int_equal(FILE_COUNT, each_source(f, copy_in));
}

static void open_folder(struct fixture *f, bool is_clean)
{
    struct plog_open_args args = {.files = f->files,
                                  .dir = FIXTURE_DIR,
                                  .topic = "t",
                                  .config = &f->config,
                                  .is_clean = is_clean};
    if (plog_open(&args, &f->p, &f->em) != 0) {
        fail_msg("%s", f->em.text);
    }
}

static int count_records(struct fixture *f)
{
    struct buf found;
    int count = 0;
    buf_init(&found);
    assert_int_equal(0, fixture_read(f, 0, INT64_MAX, 700, &found));
    struct slice left = buf_slice(&found);
    struct slice one;
    struct record_batch b;
    while (record_batch_next(&left, &b, &one) == 1) {
        struct record_iter it;
        struct record record;
        int more = 0;
        assert_int_equal(0, record_iter_init(&it, one, 1 << 20, NULL));
        while ((more = record_iter_next(&it, &record)) == 1) {
            assert_int_equal(count, record.offset);
            count++;
        }
        assert_int_equal(0, more);
        record_iter_deinit(&it);
    }
    assert_int_equal(0, left.len);
    buf_deinit(&found);
    return count;
}

static void kafkas_folder_is_read(void **state)
{
    (void)state;
    for (int is_clean = 0; is_clean < 2; is_clean++) {
        struct fixture f;
        bench_init(&f);
        open_folder(&f, is_clean == 1);
        assert_int_equal(0, plog_start_offset(f.p));
        assert_int_equal(RECORDS, plog_end_offset(f.p));
        assert_int_equal(3, plog_segment_count(f.p));
        assert_int_equal(0, plog_epoch_latest(f.p));
        assert_int_equal(6, plog_producer_count(f.p)); /* one a codec, one transactional */
        assert_int_equal(RECORDS, plog_last_stable_offset(f.p, RECORDS));
        assert_int_equal(RECORDS, count_records(&f));
        fixture_deinit(&f);
    }
}

static void a_clean_stop_leaves_kafkas_bytes(void **state)
{
    (void)state;
    struct fixture f;
    bench_init(&f);
    open_folder(&f, true);
    assert_int_equal(0, plog_close_clean(f.p, &f.em));
    assert_int_equal(FILE_COUNT, each_source(&f, compare));
    fixture_deinit(&f);
}

static void forget_derived(struct fixture *f, const char *name)
{
    char path[600];
    bool is_index = strstr(name, "index") != NULL && strstr(name, "txnindex") == NULL;
    if (is_index || strcmp(name, "leader-epoch-checkpoint") == 0) {
        (void)snprintf(path, sizeof path, FOLDER "/%s", name);
        assert_int_equal(0, env_unlink(f->env, path));
    }
}

/* Indexes and epochs are lost, producers are replayed: everything is built anew from the batches. */
static void what_is_rebuilt_has_kafkas_bytes(void **state)
{
    (void)state;
    struct fixture f;
    bench_init(&f);
    assert_int_equal(FILE_COUNT, each_source(&f, forget_derived));
    assert_int_equal(0, env_unlink(f.env, FOLDER "/00000000000000000124.snapshot"));
    open_folder(&f, false);
    assert_int_equal(0, plog_close_clean(f.p, &f.em));
    assert_int_equal(FILE_COUNT, each_source(&f, compare));
    fixture_deinit(&f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(kafkas_folder_is_read),
        cmocka_unit_test(a_clean_stop_leaves_kafkas_bytes),
        cmocka_unit_test(what_is_rebuilt_has_kafkas_bytes),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
