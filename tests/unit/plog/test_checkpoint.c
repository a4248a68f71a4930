/*
 * Checkpoint text, lookup, and the replacement of a file as a whole.
 */
#include "plog/checkpoint.h"

#include "plog_fixture.h"

static void entries_are_found_by_topic_and_partition(void **state)
{
    (void)state;
    struct plog_checkpoint c = {0};
    plog_checkpoint_add(&c, "b", 1, 11);
    plog_checkpoint_add(&c, "a", 10, 110);
    plog_checkpoint_add(&c, "a", 2, 12);
    plog_checkpoint_sort(&c);
    assert_int_equal(11, plog_checkpoint_find(&c, "b", 1, -1));
    assert_int_equal(12, plog_checkpoint_find(&c, "a", 2, -1));
    assert_int_equal(110, plog_checkpoint_find(&c, "a", 10, -1));
    assert_int_equal(-1, plog_checkpoint_find(&c, "a", 3, -1));
    assert_int_equal(-1, plog_checkpoint_find(&c, "c", 0, -1));
    plog_checkpoint_deinit(&c);
    assert_int_equal(7, plog_checkpoint_find(&c, "a", 2, 7));
}

static void text_is_kafkas_and_comes_back(void **state)
{
    (void)state;
    struct plog_checkpoint c = {0};
    struct plog_checkpoint again;
    struct buf text;
    struct errmsg em;
    buf_init(&text);
    plog_checkpoint_add(&c, "t-1", 0, 5);
    plog_checkpoint_add(&c, "a", 3, 0);
    plog_checkpoint_format(&c, &text);
    assert_true(slice_equal_str(buf_slice(&text), "0\n2\nt-1 0 5\na 3 0\n"));
    assert_int_equal(0, plog_checkpoint_parse(buf_slice(&text), &again, &em));
    assert_int_equal(2, again.count);
    assert_int_equal(5, plog_checkpoint_find(&again, "t-1", 0, -1));
    plog_checkpoint_deinit(&again);
    plog_checkpoint_deinit(&c);
    buf_deinit(&text);
}

static void bad_text_names_the_line(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        int err;
        const char *message;
    } cases[] = {
        {"", -E_MALFORMED, "line 1 is not a version"},
        {"9\n0\n", -E_UNSUPPORTED, "version 9 is not known here"},
        {"0\nx\n", -E_MALFORMED, "line 2 is not a count"},
        {"0\n1\nt 0\n", -E_MALFORMED, "line 3 is not an entry"},
        {"0\n2\nt 0 1\nt 1 -1\n", -E_MALFORMED, "line 4 is not an entry"},
        {"0\n1\nt 0 1 1\n", -E_MALFORMED, "line 3 is not an entry"},
        {"0\n2\nt 0 1\n", -E_MALFORMED, "1 entries where 2 are announced"},
        {"0\n1\nt 99999999999 1\n", -E_MALFORMED, "line 3 is not an entry"},
    };
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct plog_checkpoint c;
        struct errmsg em;
        assert_int_equal(cases[i].err, plog_checkpoint_parse(slice_str(cases[i].text), &c, &em));
        assert_string_equal(cases[i].message, em.text);
    }
}

/* A power loss at each disk operation leaves the old content or the new, never a mixture. */
static void replacement_is_all_or_nothing(void **state)
{
    (void)state;
    int err = -1;
    for (int64_t n = 1; err != 0; n++) {
        struct fixture f;
        struct buf found;
        fixture_init(&f, (uint64_t)n);
        buf_init(&found);
        assert_int_equal(0, plog_file_replace(f.env, FIXTURE_DIR, "x", slice_str("old")));
        sim_disk_fail_at(f.node, n, E_IO);
        err = plog_file_replace(f.env, FIXTURE_DIR, "x", slice_str("newer"));
        sim_disk_fail_at(f.node, 0, E_IO);
        fixture_crash(&f, false);
        assert_int_equal(0, plog_file_load(f.env, FIXTURE_DIR "/x", 100, &found));
        bool is_old = slice_equal_str(buf_slice(&found), "old");
        assert_true((is_old && err != 0) || slice_equal_str(buf_slice(&found), "newer"));
        buf_deinit(&found);
        fixture_deinit(&f);
    }
}

static void a_large_or_missing_file_is_not_loaded(void **state)
{
    (void)state;
    struct fixture f;
    struct buf found;
    fixture_init(&f, 1);
    buf_init(&found);
    assert_int_equal(-E_NOT_FOUND, plog_file_load(f.env, FIXTURE_DIR "/x", 100, &found));
    assert_int_equal(0, plog_file_replace(f.env, FIXTURE_DIR, "x", slice_str("12345")));
    assert_int_equal(-E_TOO_LARGE, plog_file_load(f.env, FIXTURE_DIR "/x", 4, &found));
    assert_int_equal(0, found.len);
    assert_int_equal(0, plog_file_load(f.env, FIXTURE_DIR "/x", 5, &found));
    assert_true(slice_equal_str(buf_slice(&found), "12345"));
    buf_deinit(&found);
    fixture_deinit(&f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(entries_are_found_by_topic_and_partition),
        cmocka_unit_test(text_is_kafkas_and_comes_back),
        cmocka_unit_test(bad_text_names_the_line),
        cmocka_unit_test(replacement_is_all_or_nothing),
        cmocka_unit_test(a_large_or_missing_file_is_not_loaded),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
