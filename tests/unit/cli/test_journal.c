/*
 * The journal: what was put is there after a reopening; torn ends are cut off, damage is named, a second
 * holder refused, an outdated file rewritten.
 */
#include "cli/journal.h"

#include "base/alloc.h"
#include "base/buf.h"
#include "base/check.h"
#include "env/loop.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

struct fixture {
    struct env *env;
    char *folder;
    char *path;
    struct cli_journal *journal;
    struct errmsg em;
};

static int setup(void **state)
{
    struct fixture *x = xalloc(sizeof *x);
    x->env = loop_new(&(struct loop_config){.name = "test"}, &x->em);
    x->folder = xstrdup("/tmp/klamm-journal-XXXXXX");
    *state = x;
    if (x->env == NULL || mkdtemp(x->folder) == NULL) {
        return -1;
    }
    x->path = xasprintf("%s/j", x->folder);
    return 0;
}

static int teardown(void **state)
{
    struct fixture *x = *state;
    cli_journal_close(x->journal);
    (void)unlink(x->path); /* not every test leaves one */
    int err = rmdir(x->folder);
    loop_free(x->env);
    free(x->folder);
    free(x->path);
    free(x);
    return err;
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

static int reopen(struct fixture *x)
{
    cli_journal_close(x->journal);
    x->journal = NULL;
    return cli_journal_open(x->env, x->path, &x->journal, &x->em);
}

static void put(struct fixture *x, const char *name, const char *value)
{
    struct slice text = value == NULL ? SLICE_NULL : slice_str(value);
    assert_int_equal(cli_journal_put(x->journal, name, text, &x->em), 0);
}

static int append_value(void *arg, const char *name, struct slice value, struct errmsg *em)
{
    struct buf *out = arg;
    (void)em; /* it cannot fail */
    buf_putf(out, "%s=%.*s;", name, SLICE_ARG(value));
    return 0;
}

static void expect(struct fixture *x, const char *prefix, const char *expected)
{
    struct buf out;
    buf_init(&out);
    assert_int_equal(cli_journal_each(x->journal, prefix, append_value, &out, &x->em), 0);
    char *text = slice_dup(buf_slice(&out));
    assert_string_equal(text, expected);
    free(text);
    buf_deinit(&out);
}

static void append_bytes(struct fixture *x, const char *bytes)
{
    FILE *file = fopen(x->path, "a");
    assert_non_null(file);
    assert_true(fputs(bytes, file) >= 0);
    assert_int_equal(fclose(file), 0);
}

static off_t file_size(struct fixture *x)
{
    struct stat stat_buf;
    assert_int_equal(stat(x->path, &stat_buf), 0);
    return stat_buf.st_size;
}

static void values_outlive_the_process(void **state)
{
    struct fixture *x = *state;
    assert_int_equal(reopen(x), 0);
    assert_true(cli_journal_is_empty(x->journal));
    put(x, "job/b", "{\"a\": 1}");
    put(x, "job/a", "two words");
    put(x, "piece/a/0", "[]");
    put(x, "job/b", "3");
    put(x, "job/c", "4");
    put(x, "job/c", NULL);
    assert_int_equal(cli_journal_sync(x->journal, &x->em), 0);
    assert_int_equal(reopen(x), 0);
    expect(x, "job/", "job/a=two words;job/b=3;");
    expect(x, "", "job/a=two words;job/b=3;piece/a/0=[];");
    put(x, "job/a", NULL);
    expect(x, "", "job/b=3;piece/a/0=[];");
    assert_int_equal(cli_journal_clear(x->journal, &x->em), 0);
    assert_true(cli_journal_is_empty(x->journal));
    assert_int_equal(reopen(x), 0);
    assert_true(cli_journal_is_empty(x->journal));
}

static void torn_end_is_cut_off(void **state)
{
    struct fixture *x = *state;
    static const char *const ends[] = {"0", "00000000 name", "deadbeef name value\n", "x\n",
                                       "00000000  \n"};
    assert_int_equal(reopen(x), 0);
    put(x, "a", "1");
    off_t size = file_size(x);
    for (size_t i = 0; i < ARRAY_LEN(ends); i++) {
        cli_journal_close(x->journal);
        x->journal = NULL;
        append_bytes(x, ends[i]);
        assert_int_equal(reopen(x), 0);
        assert_int_equal(file_size(x), size);
        expect(x, "", "a=1;");
    }
    put(x, "b", "2");
    assert_int_equal(reopen(x), 0);
    expect(x, "", "a=1;b=2;");
}

static void damage_before_the_end_is_named(void **state)
{
    struct fixture *x = *state;
    assert_int_equal(reopen(x), 0);
    put(x, "a", "1");
    cli_journal_close(x->journal);
    x->journal = NULL;
    append_bytes(x, "deadbeef b 2\n");
    append_bytes(x, "deadbeef c 3\n");
    assert_int_equal(reopen(x), -E_CORRUPT);
    assert_non_null(strstr(x->em.text, "/j: line 3 is damaged"));
}

static void other_files_are_refused(void **state)
{
    struct fixture *x = *state;
    append_bytes(x, "klamm-journal 2\n");
    assert_int_equal(reopen(x), -E_UNSUPPORTED);
    assert_non_null(strstr(x->em.text, "another version"));
    assert_int_equal(unlink(x->path), 0);
    append_bytes(x, "{\"version\":1}\n");
    assert_int_equal(reopen(x), -E_INVALID);
    assert_non_null(strstr(x->em.text, "is no journal of klamm"));
    assert_int_equal(file_size(x), 14);
    assert_int_equal(unlink(x->path), 0);
    append_bytes(x, "klamm-jou"); /* a crash before the first sync */
    assert_int_equal(reopen(x), 0);
    assert_true(cli_journal_is_empty(x->journal));
}

static void second_holder_is_refused(void **state)
{
    struct fixture *x = *state;
    struct cli_journal *other = NULL;
    assert_int_equal(reopen(x), 0);
    assert_int_equal(cli_journal_open(x->env, x->path, &other, &x->em), -E_LOCKED);
    assert_non_null(strstr(x->em.text, "is in use by another klamm"));
    assert_null(other);
}

/* Twenty megabytes of one value after another stay one value, and the lock holds over the rewriting. */
static void outdated_file_is_rewritten(void **state)
{
    struct fixture *x = *state;
    struct cli_journal *other = NULL;
    char *large = xalloc(1000001);
    assert_int_equal(reopen(x), 0);
    put(x, "kept", "k");
    for (int i = 0; i < 20; i++) {
        memset(large, 'a' + i, 1000000);
        put(x, "large", large);
        assert_int_equal(cli_journal_sync(x->journal, &x->em), 0);
    }
    assert_true(file_size(x) < 13000000);
    assert_int_equal(cli_journal_open(x->env, x->path, &other, &x->em), -E_LOCKED);
    put(x, "large", "small");
    assert_int_equal(reopen(x), 0);
    expect(x, "", "kept=k;large=small;");
    free(large);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(values_outlive_the_process),     TEST(torn_end_is_cut_off),
        TEST(damage_before_the_end_is_named), TEST(other_files_are_refused),
        TEST(second_holder_is_refused),       TEST(outdated_file_is_rewritten),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
