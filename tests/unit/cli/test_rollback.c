/*
 * The rollback file: a plan, exact to the byte, that never replaces another file.
 */
#include "cli/rollback.h"

#include "base/alloc.h"
#include "env/loop.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include <cmocka.h>

static const int32_t ids[] = {3, 1, 2};

static struct env *files;

static int setup(void **state)
{
    (void)state;
    files = loop_new(&(struct loop_config){.name = "test"}, NULL);
    return files == NULL;
}

static int teardown(void **state)
{
    (void)state;
    loop_free(files);
    return 0;
}

static void names_are_made_of_the_plan(void **state)
{
    (void)state;
    static const char *const rows[][2] = {{"plan.json", "plan.rollback.json"},
                                          {"a/b", "a/b.rollback.json"},
                                          {".json", ".json.rollback.json"},
                                          {"x.json.json", "x.json.rollback.json"}};
    for (size_t i = 0; i < 4; i++) {
        char *name = cli_rollback_name(rows[i][0]);
        assert_string_equal(name, rows[i][1]);
        free(name);
    }
}

static void file_is_a_plan_and_replaces_none(void **state)
{
    (void)state;
    char folder[] = "/tmp/klamm-rollback-XXXXXX";
    assert_non_null(mkdtemp(folder));
    char *path = xasprintf("%s/plan.rollback.json", folder);
    struct cli_assignment list[] = {{"foo", 0, {ids, 3}}, {"foo", 7, {ids, 1}}};
    struct errmsg em = {""};
    assert_int_equal(cli_rollback_write(files, path, list, 2, &em), 0);
    char text[512] = "";
    FILE *file = fopen(path, "r");
    assert_non_null(file);
    assert_true(fread(text, 1, sizeof text - 1, file) > 0);
    assert_int_equal(fclose(file), 0);
    assert_string_equal(
        text, "{\"version\":1,\"partitions\":["
              "{\"topic\":\"foo\",\"partition\":0,\"replicas\":[3,1,2],"
              "\"log_dirs\":[\"any\",\"any\",\"any\"]},"
              "{\"topic\":\"foo\",\"partition\":7,\"replicas\":[3],\"log_dirs\":[\"any\"]}]}\n");
    assert_int_equal(cli_rollback_write(files, path, list, 1, &em), -E_EXISTS);
    assert_non_null(strstr(em.text, "exists already"));
    assert_int_equal(unlink(path), 0);
    free(path);
    path = xasprintf("%s/no/such/folder.json", folder);
    assert_true(cli_rollback_write(files, path, list, 1, &em) < 0);
    assert_non_null(strstr(em.text, "cannot be made"));
    free(path);
    assert_int_equal(rmdir(folder), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(names_are_made_of_the_plan),
        cmocka_unit_test(file_is_a_plan_and_replaces_none),
    };
    return cmocka_run_group_tests(tests, setup, teardown);
}
