/*
 * The leader-epoch cache: assignment, the lookup table of reassignment.md 11.6, cuts, text.
 */
#include "plog/epochs.h"

#include "base/check.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

/* Compares the cache with pairs of epoch and start offset. */
static void expect(const struct plog_epochs *e, const struct plog_epoch *pairs, int count, int line)
{
    if (e->count != count) {
        fail_msg("line %d: %d entries, not %d", line, e->count, count);
    }
    for (int i = 0; i < count; i++) {
        if (e->list[i].epoch != pairs[i].epoch ||
            e->list[i].start_offset != pairs[i].start_offset) {
            fail_msg("line %d: entry %d is (%d, %lld)", line, i, e->list[i].epoch,
                     (long long)e->list[i].start_offset);
        }
    }
}

#define EXPECT(e, ...)                                                                             \
    expect((e), (const struct plog_epoch[]){__VA_ARGS__},                                          \
           (int)ARRAY_LEN(((const struct plog_epoch[]){__VA_ARGS__})), __LINE__)

static void build(struct plog_epochs *e)
{
    *e = (struct plog_epochs){0};
    assert_true(plog_epochs_assign(e, 1, 0));
    assert_true(plog_epochs_assign(e, 3, 10));
    assert_true(plog_epochs_assign(e, 4, 20));
}

static void assignment_keeps_both_columns_rising(void **state)
{
    (void)state;
    struct plog_epochs e;
    build(&e);
    assert_false(plog_epochs_assign(&e, 4, 25)); /* the epoch goes on */
    EXPECT(&e, {1, 0}, {3, 10}, {4, 20});
    assert_true(plog_epochs_assign(&e, 6, 20)); /* epoch 4 had no records */
    EXPECT(&e, {1, 0}, {3, 10}, {6, 20});
    assert_true(plog_epochs_assign(&e, 5, 15)); /* later ones conflict */
    EXPECT(&e, {1, 0}, {3, 10}, {5, 15});
    assert_true(plog_epochs_assign(&e, 3, 12)); /* back to an epoch that is there */
    EXPECT(&e, {1, 0}, {3, 10});
    assert_true(plog_epochs_assign(&e, 3, 5)); /* the same epoch, earlier */
    EXPECT(&e, {1, 0}, {3, 5});
    plog_epochs_deinit(&e);
}

static void lookup_follows_the_table(void **state)
{
    (void)state;
    static const struct {
        int32_t epoch;
        struct plog_epoch end;
    } cases[] = {
        {-1, {-1, -1}},               /* undefined */
        {4, {4, 30}},                 /* latest: the log end */
        {5, {-1, -1}},                /* in the future */
        {0, {0, 0}},                  /* none at or below: start of the first larger */
        {1, {1, 10}},   {2, {1, 10}}, /* largest at or below */
        {3, {3, 20}},
    };
    struct plog_epochs e;
    build(&e);
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct plog_epoch end;
        plog_epochs_find_end(&e, cases[i].epoch, 30, &end);
        assert_int_equal(cases[i].end.epoch, end.epoch);
        assert_int_equal(cases[i].end.start_offset, end.start_offset);
    }
    plog_epochs_deinit(&e);
    struct plog_epoch end;
    plog_epochs_find_end(&e, 0, 30, &end);
    assert_int_equal(-1, end.epoch);
    assert_int_equal(-1, end.start_offset);
}

static void epochs_of_offsets(void **state)
{
    (void)state;
    struct plog_epochs e;
    build(&e);
    assert_int_equal(1, plog_epochs_at(&e, 9));
    assert_int_equal(3, plog_epochs_at(&e, 10));
    assert_int_equal(4, plog_epochs_at(&e, 1000));
    assert_int_equal(4, plog_epochs_latest(&e));
    plog_epochs_deinit(&e);
    assert_int_equal(-1, plog_epochs_at(&e, 0));
    assert_int_equal(-1, plog_epochs_latest(&e));
}

static void cuts_at_the_end_remove_and_at_the_start_collapse(void **state)
{
    (void)state;
    struct plog_epochs e;
    build(&e);
    assert_false(plog_epochs_cut_end(&e, 21));
    assert_true(plog_epochs_cut_end(&e, 20));
    EXPECT(&e, {1, 0}, {3, 10});
    plog_epochs_deinit(&e);
    build(&e);
    assert_false(plog_epochs_cut_start(&e, 0));
    assert_true(plog_epochs_cut_start(&e, 15));
    EXPECT(&e, {3, 15}, {4, 20});
    assert_true(plog_epochs_cut_start(&e, 20));
    EXPECT(&e, {4, 20});
    plog_epochs_deinit(&e);
}

static void text_is_kafkas_and_comes_back(void **state)
{
    (void)state;
    struct plog_epochs e;
    struct plog_epochs again;
    struct buf text;
    build(&e);
    buf_init(&text);
    plog_epochs_format(&e, &text);
    assert_true(slice_equal_str(buf_slice(&text), "0\n3\n1 0\n3 10\n4 20\n"));
    assert_int_equal(0, plog_epochs_parse(buf_slice(&text), &again));
    EXPECT(&again, {1, 0}, {3, 10}, {4, 20});
    plog_epochs_deinit(&again);
    plog_epochs_deinit(&e);
    buf_deinit(&text);
}

static void bad_text_is_refused(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        int err;
    } cases[] = {
        {"", -E_MALFORMED},          {"1\n0\n", -E_UNSUPPORTED},
        {"0\n", -E_MALFORMED},       {"0\n2\n1 0\n", -E_MALFORMED},
        {"0\n1\n1\n", -E_MALFORMED}, {"0\n2\n2 0\n1 5\n", -E_MALFORMED},
        {"0\n-1\n", -E_MALFORMED},   {"0\n2\n1 5\n2 5\n", -E_MALFORMED},
    };
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct plog_epochs e;
        assert_int_equal(cases[i].err, plog_epochs_parse(slice_str(cases[i].text), &e));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(assignment_keeps_both_columns_rising),
        cmocka_unit_test(lookup_follows_the_table),
        cmocka_unit_test(epochs_of_offsets),
        cmocka_unit_test(cuts_at_the_end_remove_and_at_the_start_collapse),
        cmocka_unit_test(text_is_kafkas_and_comes_back),
        cmocka_unit_test(bad_text_is_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
