/*
 * The option parser and the help it prints.
 */
#include "cli/options.h"

#include "base/check.h"

#include <stdio.h>
#include <stdlib.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

struct values {
    bool is_loud;
    const char *name;
    int64_t size;
    struct cli_texts tags;
};

static const struct cli_option options[] = {
    {"loud", NULL, "make noise", CLI_OPTION_FLAG, offsetof(struct values, is_loud), 0, 0},
    {"name", "NAME", "who", CLI_OPTION_TEXT, offsetof(struct values, name), 0, 0},
    {"size", "N", "how large\nor how small", CLI_OPTION_NUMBER, offsetof(struct values, size), 1,
     9},
    {"tag", "TAG", "what else", CLI_OPTION_TEXTS, offsetof(struct values, tags), 0, 0},
};
static const struct cli_command with_operands = {"do", "FILE...", "Does.", "Text.\n", options, 4};
static const struct cli_command without_operands = {"do", "", "Does.", "Text.\n", options, 4};

static int parse(const struct cli_command *command, const char *line, struct values *values,
                 struct cli_given *given, struct errmsg *em)
{
    static char copy[256];
    static char *words[16];
    int count = 0;
    (void)snprintf(copy, sizeof copy, "%s", line);
    char *rest = copy;
    while (rest != NULL && count < 16) {
        words[count++] = strsep(&rest, " ");
    }
    em->text[0] = '\0';
    return cli_options_parse(command, (struct cli_words){words, line[0] == '\0' ? 0 : count},
                             values, given, em);
}

static void all_kinds_are_read(void **state)
{
    (void)state;
    struct values values = {.size = 5};
    struct cli_given given;
    struct errmsg em;
    assert_int_equal(parse(&with_operands, "a --loud --name=x=y --tag t1 b --tag=t2 -- --size",
                           &values, &given, &em),
                     0);
    assert_true(values.is_loud);
    assert_string_equal(values.name, "x=y");
    assert_int_equal(values.size, 5);
    assert_int_equal(values.tags.count, 2);
    assert_string_equal(values.tags.list[1], "t2");
    assert_int_equal(given.operands.count, 3);
    assert_string_equal(given.operands.list[2], "--size");
    assert_true(cli_options_has(&with_operands, &given, "name"));
    assert_false(cli_options_has(&with_operands, &given, "size"));
    cli_given_deinit(&given);
    cli_texts_deinit(&values.tags);
}

static void mistakes_are_named(void **state)
{
    (void)state;
    static const char *const rows[][2] = {
        {"--nam x", "--nam is not a recognized option"},
        {"-n x", "-n is not a recognized option"},
        {"--name", "Option name requires an argument"},
        {"--name=", "option --name needs a value that is not empty"},
        {"--name a --name b", "option --name is given twice"},
        {"--loud=1", "option --loud takes no value"},
        {"--size 0", "option --size: \"0\" is no whole number from 1 to 9"},
        {"--size 4294967297", "option --size: \"4294967297\" is no whole number from 1 to 9"},
        {"--size 3x", "option --size: \"3x\" is no whole number from 1 to 9"},
        {"stray", "unexpected argument \"stray\""},
    };
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        struct values values = {.size = 5};
        struct cli_given given = {0};
        struct errmsg em;
        assert_int_equal(parse(&without_operands, rows[i][0], &values, &given, &em), -E_INVALID);
        assert_string_equal(em.text, rows[i][1]);
        assert_int_equal(values.size, 5);
    }
}

static void help_is_aligned(void **state)
{
    (void)state;
    struct buf out;
    buf_init(&out);
    cli_options_print_help(&with_operands, &out);
    char *text = slice_dup(buf_slice(&out));
    assert_string_equal(text, "Does.\n\n"
                              "Usage: klamm do [options] FILE...\n\n"
                              "  --loud                            make noise\n"
                              "  --name NAME                       who\n"
                              "  --size N                          how large\n"
                              "                                    or how small\n"
                              "  --tag TAG                         what else\n"
                              "\nText.\n");
    free(text);
    buf_deinit(&out);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(all_kinds_are_read),
        cmocka_unit_test(mistakes_are_named),
        cmocka_unit_test(help_is_aligned),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
