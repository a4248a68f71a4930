/*
 * partition.metadata: written, read, missing, torn, newer.
 */
#include "plog/partition.h"

#include "plog/checkpoint.h"
#include "plog_fixture.h"

static const struct uuid id = {{0x10, 0x20, 0x30, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16}};

static void an_id_comes_back(void **state)
{
    (void)state;
    for (int durable = 0; durable < 2; durable++) {
        struct fixture f;
        struct uuid found = UUID_ZERO;
        struct buf text;
        fixture_init(&f, 1);
        buf_init(&text);
        assert_int_equal(0, plog_partition_write_id(f.env, FIXTURE_DIR, id, durable == 1));
        assert_int_equal(0, plog_partition_read_id(f.env, FIXTURE_DIR, &found));
        assert_memory_equal(id.bytes, found.bytes, 16);
        assert_int_equal(0, plog_file_load(f.env, FIXTURE_DIR "/partition.metadata", 100, &text));
        assert_true(
            slice_equal_str(buf_slice(&text), "version: 0\ntopic_id: ECAwBAUGBwgJCgsMDQ4PEA"));
        buf_deinit(&text);
        fixture_deinit(&f);
    }
}

static void what_cannot_be_read_is_no_id(void **state)
{
    (void)state;
    static const char *const texts[] = {"", "version: 0\n", "version: x\ntopic_id: a\n", "\0\0\0",
                                        "version: 0\ntopic_id: AAAA\n"};
    for (size_t i = 0; i < ARRAY_LEN(texts); i++) {
        struct fixture f;
        struct uuid found = id;
        fixture_init(&f, 1);
        assert_int_equal(
            0, plog_file_replace(f.env, FIXTURE_DIR, "partition.metadata", slice_str(texts[i])));
        assert_int_equal(0, plog_partition_read_id(f.env, FIXTURE_DIR, &found));
        assert_true(uuid_is_zero(found));
        fixture_deinit(&f);
    }
}

static void a_missing_file_is_no_id_and_a_newer_one_an_error(void **state)
{
    (void)state;
    struct fixture f;
    struct uuid found = id;
    fixture_init(&f, 1);
    assert_int_equal(0, plog_partition_read_id(f.env, FIXTURE_DIR, &found));
    assert_true(uuid_is_zero(found));
    assert_int_equal(
        0, plog_file_replace(f.env, FIXTURE_DIR, "partition.metadata", slice_str("version: 1\n")));
    assert_int_equal(-E_UNSUPPORTED, plog_partition_read_id(f.env, FIXTURE_DIR, &found));
    fixture_deinit(&f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_id_comes_back),
        cmocka_unit_test(what_cannot_be_read_is_no_id),
        cmocka_unit_test(a_missing_file_is_no_id_and_a_newer_one_an_error),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
