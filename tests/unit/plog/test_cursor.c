/*
 * Stepping over a file of batches in chunks smaller and larger than the batches.
 */
#include "plog/cursor.h"

#include "plog_fixture.h"

#define BATCHES 6

struct bench {
    struct fixture f;
    struct env_file *file;
    struct buf bytes;
};

/* Batches from 100 bytes to more than the scratch memory holds. */
static void bench_init(struct bench *b)
{
    static const size_t sizes[BATCHES] = {10, 5000, 0, PLOG_SCRATCH_SIZE + 5, 300, 9000};
    fixture_init(&b->f, 1);
    buf_init(&b->bytes);
    for (int i = 0; i < BATCHES; i++) {
        struct batch_spec spec = {.base_offset = 10 * i, .value_size = sizes[i], .timestamp = i};
        batch_encode(&spec, &b->bytes);
    }
    assert_int_equal(
        0, env_file_open(b->f.env, FIXTURE_DIR "/l", ENV_OPEN_WRITE | ENV_OPEN_CREATE, &b->file));
    assert_int_equal(0, env_file_write(b->file, b->bytes.ptr, b->bytes.len, 0));
}

static void bench_deinit(struct bench *b)
{
    buf_deinit(&b->bytes);
    env_file_unref(b->file);
    fixture_deinit(&b->f);
}

static void every_batch_is_met_with_any_chunk(void **state)
{
    (void)state;
    static const size_t chunks[] = {RECORD_HEADER_SIZE, 100, PLOG_CURSOR_NEAR, PLOG_CURSOR_SCAN};
    struct bench b;
    bench_init(&b);
    for (size_t i = 0; i < ARRAY_LEN(chunks); i++) {
        struct plog_cursor c;
        struct record_batch batch;
        plog_cursor_init(&c, b.f.files, b.file, chunks[i]);
        plog_cursor_seek(&c, 0, b.bytes.len);
        for (int j = 0; j < BATCHES; j++) {
            uint64_t before = c.pos;
            assert_int_equal(1, plog_cursor_next(&c, &batch));
            assert_int_equal(10 * j, batch.base_offset);
            assert_int_equal(before, c.batch_pos);
            assert_int_equal(before + batch.len, c.pos);
            assert_int_equal(0, plog_cursor_check_crc(&c, &batch));
        }
        assert_int_equal(0, plog_cursor_next(&c, &batch));
        assert_int_equal(b.bytes.len, c.pos);
    }
    bench_deinit(&b);
}

static void whole_batches_are_lent_when_they_fit(void **state)
{
    (void)state;
    struct bench b;
    struct plog_cursor c;
    struct record_batch batch;
    struct slice bytes;
    bench_init(&b);
    plog_cursor_init(&c, b.f.files, b.file, RECORD_HEADER_SIZE);
    plog_cursor_seek(&c, 0, b.bytes.len);
    for (int i = 0; i < BATCHES; i++) {
        assert_int_equal(1, plog_cursor_next(&c, &batch));
        int err = plog_cursor_bytes(&c, &batch, &bytes);
        assert_int_equal(i == 3 ? -E_TOO_LARGE : 0, err);
        if (err == 0) {
            assert_int_equal(batch.len, bytes.len);
            assert_memory_equal(b.bytes.ptr + c.batch_pos, bytes.ptr, bytes.len);
        }
    }
    bench_deinit(&b);
}

static void a_batch_that_passes_the_end_is_corrupt(void **state)
{
    (void)state;
    struct bench b;
    struct plog_cursor c;
    struct record_batch batch;
    bench_init(&b);
    plog_cursor_init(&c, b.f.files, b.file, PLOG_CURSOR_NEAR);
    plog_cursor_seek(&c, 0, 60);
    assert_int_equal(-E_CORRUPT, plog_cursor_next(&c, &batch));
    plog_cursor_seek(&c, 0, 70);
    assert_int_equal(-E_CORRUPT, plog_cursor_next(&c, &batch));
    assert_int_equal(0, c.pos);
    plog_cursor_seek(&c, 1, b.bytes.len);
    assert_int_equal(-E_CORRUPT, plog_cursor_next(&c, &batch));
    bench_deinit(&b);
}

static void a_flipped_bit_and_a_short_file_fail_the_crc(void **state)
{
    (void)state;
    struct bench b;
    struct plog_cursor c;
    struct record_batch batch;
    bench_init(&b);
    assert_true(sim_disk_flip(b.f.node, FIXTURE_DIR "/l", 65));
    plog_cursor_init(&c, b.f.files, b.file, PLOG_CURSOR_NEAR);
    plog_cursor_seek(&c, 0, b.bytes.len);
    assert_int_equal(1, plog_cursor_next(&c, &batch));
    assert_int_equal(-E_CORRUPT, plog_cursor_check_crc(&c, &batch));
    assert_int_equal(1, plog_cursor_next(&c, &batch));
    assert_int_equal(0, plog_cursor_check_crc(&c, &batch));
    uint64_t second_end = c.pos;
    assert_int_equal(0, env_file_truncate(b.file, second_end - 1));
    plog_cursor_init(&c, b.f.files, b.file, RECORD_HEADER_SIZE);
    plog_cursor_seek(&c, second_end - batch.len, b.bytes.len);
    assert_int_equal(1, plog_cursor_next(&c, &batch));
    assert_int_equal(-E_CORRUPT, plog_cursor_check_crc(&c, &batch));
    bench_deinit(&b);
}

static void a_read_error_is_passed_on(void **state)
{
    (void)state;
    struct bench b;
    struct plog_cursor c;
    struct record_batch batch;
    bench_init(&b);
    plog_cursor_init(&c, b.f.files, b.file, PLOG_CURSOR_NEAR);
    plog_cursor_seek(&c, 0, b.bytes.len);
    sim_disk_fail_at(b.f.node, 1, E_IO);
    assert_int_equal(-E_IO, plog_cursor_next(&c, &batch));
    assert_int_equal(1, plog_cursor_next(&c, &batch));
    bench_deinit(&b);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_batch_is_met_with_any_chunk),
        cmocka_unit_test(whole_batches_are_lent_when_they_fit),
        cmocka_unit_test(a_batch_that_passes_the_end_is_corrupt),
        cmocka_unit_test(a_flipped_bit_and_a_short_file_fail_the_crc),
        cmocka_unit_test(a_read_error_is_passed_on),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
