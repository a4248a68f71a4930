/*
 * Index entries in memory and in a file: the same answers from both, and the bytes on disk.
 */
#include "plog/index.h"

#include "plog_fixture.h"

struct bench {
    struct fixture f;
    struct env_file *file;
    struct plog_index x;
};

static void bench_init(struct bench *b, uint32_t entry_size)
{
    fixture_init(&b->f, 1);
    assert_int_equal(
        0, env_file_open(b->f.env, FIXTURE_DIR "/i", ENV_OPEN_WRITE | ENV_OPEN_CREATE, &b->file));
    plog_index_init(&b->x, entry_size);
    plog_index_reset(&b->x);
}

static void bench_deinit(struct bench *b)
{
    plog_index_deinit(&b->x);
    env_file_unref(b->file);
    fixture_deinit(&b->f);
}

static uint32_t search(struct bench *b, enum plog_index_field field, int64_t key)
{
    uint32_t count = 999;
    assert_int_equal(0, plog_index_search(&b->x, b->file, field, key, &count));
    return count;
}

static void check_searches(struct bench *b)
{
    assert_int_equal(0, search(b, PLOG_INDEX_OFFSET, 9));
    assert_int_equal(1, search(b, PLOG_INDEX_OFFSET, 10));
    assert_int_equal(1, search(b, PLOG_INDEX_OFFSET, 19));
    assert_int_equal(100, search(b, PLOG_INDEX_OFFSET, INT64_MAX));
    assert_int_equal(0, search(b, PLOG_INDEX_POSITION, 999));
    assert_int_equal(50, search(b, PLOG_INDEX_POSITION, 50500));
}

static void memory_and_file_answer_alike(void **state)
{
    (void)state;
    struct bench b;
    bench_init(&b, PLOG_INDEX_OFFSET_SIZE);
    for (int32_t i = 1; i <= 100; i++) {
        plog_index_add_offset(&b.x, 10 * i, 1000 * i);
    }
    assert_int_equal(100, plog_index_unwritten(&b.x));
    check_searches(&b);
    assert_int_equal(0, plog_index_write(&b.x, b.file));
    assert_int_equal(0, plog_index_unwritten(&b.x));
    plog_index_release(&b.x);
    check_searches(&b);
    assert_int_equal(0, plog_index_attach(&b.x, b.file));
    assert_int_equal(100, b.x.count);
    assert_int_equal(0, plog_index_load(&b.x, b.file));
    check_searches(&b);
    plog_index_add_offset(&b.x, 1010, 101000);
    assert_int_equal(1, plog_index_unwritten(&b.x));
    bench_deinit(&b);
}

static void entries_are_big_endian_as_kafka_has_them(void **state)
{
    (void)state;
    static const uint8_t offsets[] = {0, 0, 1, 2, 0, 0, 3, 4};
    static const uint8_t times[] = {0, 0, 0, 0, 0, 0, 5, 6, 0, 0, 7, 8};
    struct bench b;
    uint8_t bytes[20];
    size_t got = 0;
    bench_init(&b, PLOG_INDEX_OFFSET_SIZE);
    plog_index_add_offset(&b.x, 0x102, 0x304);
    assert_int_equal(0, plog_index_write(&b.x, b.file));
    assert_int_equal(0, env_file_read(b.file, bytes, sizeof bytes, 0, &got));
    assert_int_equal(sizeof offsets, got);
    assert_memory_equal(offsets, bytes, got);
    bench_deinit(&b);
    bench_init(&b, PLOG_INDEX_TIME_SIZE);
    plog_index_add_time(&b.x, 0x506, 0x708);
    assert_int_equal(0, plog_index_write(&b.x, b.file));
    assert_int_equal(0, env_file_read(b.file, bytes, sizeof bytes, 0, &got));
    assert_int_equal(sizeof times, got);
    assert_memory_equal(times, bytes, got);
    int64_t value = 0;
    assert_int_equal(0, plog_index_get(&b.x, NULL, 0, PLOG_INDEX_TIME_OFFSET, &value));
    assert_int_equal(0x708, value);
    bench_deinit(&b);
}

static void a_cut_reaches_the_file_only_when_entries_are_there(void **state)
{
    (void)state;
    struct bench b;
    uint64_t size = 0;
    bench_init(&b, PLOG_INDEX_OFFSET_SIZE);
    for (int32_t i = 1; i <= 4; i++) {
        plog_index_add_offset(&b.x, i, i);
    }
    assert_int_equal(0, plog_index_write(&b.x, b.file));
    plog_index_add_offset(&b.x, 5, 5);
    assert_int_equal(0, plog_index_cut(&b.x, b.file, 4));
    assert_int_equal(0, env_file_size(b.file, &size));
    assert_int_equal(32, size);
    assert_int_equal(0, plog_index_cut(&b.x, b.file, 1));
    assert_int_equal(0, env_file_size(b.file, &size));
    assert_int_equal(8, size);
    assert_int_equal(1, b.x.count);
    assert_int_equal(1, b.x.written);
    bench_deinit(&b);
}

static void odd_sizes_are_corrupt(void **state)
{
    (void)state;
    struct bench b;
    bench_init(&b, PLOG_INDEX_TIME_SIZE);
    assert_int_equal(0, env_file_write(b.file, "0123456789abc", 13, 0));
    assert_int_equal(-E_CORRUPT, plog_index_attach(&b.x, b.file));
    bench_deinit(&b);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(memory_and_file_answer_alike),
        cmocka_unit_test(entries_are_big_endian_as_kafka_has_them),
        cmocka_unit_test(a_cut_reaches_the_file_only_when_entries_are_there),
        cmocka_unit_test(odd_sizes_are_corrupt),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
