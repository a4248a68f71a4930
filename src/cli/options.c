/*
 * The one parser of command lines.
 */
#include "cli/options.h"

#include "base/alloc.h"
#include "base/check.h"
#include "cli/text.h"

#include <inttypes.h>
#include <stdlib.h>

void cli_texts_add(struct cli_texts *texts, const char *text)
{
    size_t count = (size_t)texts->count + 1;
    texts->list = xrealloc(texts->list, count * sizeof *texts->list);
    texts->list[texts->count++] = text;
}

void cli_texts_deinit(struct cli_texts *texts)
{
    free(texts->list);
    *texts = (struct cli_texts){NULL, 0};
}

void cli_given_deinit(struct cli_given *given)
{
    cli_texts_deinit(&given->operands);
}

static int32_t find_option(const struct cli_command *command, struct slice name)
{
    for (int32_t i = 0; i < command->option_count; i++) {
        if (slice_equal_str(name, command->options[i].name)) {
            return i;
        }
    }
    return -1;
}

bool cli_options_has(const struct cli_command *command, const struct cli_given *given,
                     const char *name)
{
    int32_t index = find_option(command, slice_str(name));
    CHECK(index >= 0);
    return (given->options >> index & 1) != 0;
}

static int store_value(const struct cli_option *option, const char *text, bool is_repeated,
                       void *place, struct errmsg *em)
{
    if (is_repeated && option->kind != CLI_OPTION_TEXTS) {
        return errmsg_set(em, E_INVALID, "option --%s is given twice", option->name);
    }
    if (text[0] == '\0') {
        return errmsg_set(em, E_INVALID, "option --%s needs a value that is not empty",
                          option->name);
    }
    switch (option->kind) {
    case CLI_OPTION_FLAG:
        break;
    case CLI_OPTION_TEXT:
        *(const char **)place = text;
        break;
    case CLI_OPTION_NUMBER:
        if (!cli_text_parse_int(text, option->min, option->max, place)) {
            return errmsg_set(em, E_INVALID,
                              "option --%s: \"%.100s\" is no whole number from %" PRId64
                              " to %" PRId64,
                              option->name, text, option->min, option->max);
        }
        break;
    case CLI_OPTION_TEXTS:
        if (((struct cli_texts *)place)->count == CLI_ARGUMENTS_MAX) {
            return errmsg_set(em, E_TOO_LARGE, "option --%s is given too often", option->name);
        }
        cli_texts_add(place, text);
        break;
    }
    return 0;
}

/* A command line that is being read. */
struct line {
    const struct cli_command *command;
    int argc;
    char **argv;
    void *values;
    struct cli_given given;
};

/* Reads the option at argv[*at], which starts with two dashes; moves *at to its last word. */
static int parse_option(struct line *line, int *at, struct errmsg *em)
{
    const char *word = line->argv[*at] + 2;
    const char *equals = strchr(word, '=');
    struct slice name = equals == NULL ? slice_str(word) : slice_of(word, (size_t)(equals - word));
    int32_t index = find_option(line->command, name);
    if (index < 0) {
        return errmsg_set(em, E_INVALID, "%.100s is not a recognized option", line->argv[*at]);
    }
    const struct cli_option *option = &line->command->options[index];
    void *place = (char *)line->values + option->offset;
    bool is_repeated = (line->given.options >> index & 1) != 0;
    line->given.options |= UINT64_C(1) << index;
    if (option->kind == CLI_OPTION_FLAG) {
        if (equals != NULL) {
            return errmsg_set(em, E_INVALID, "option --%s takes no value", option->name);
        }
        *(bool *)place = true;
        return 0;
    }
    if (equals != NULL) {
        return store_value(option, equals + 1, is_repeated, place, em);
    }
    if (*at + 1 >= line->argc) {
        return errmsg_set(em, E_INVALID, "Option %s requires an argument", option->name);
    }
    (*at)++;
    return store_value(option, line->argv[*at], is_repeated, place, em);
}

static int parse_line(struct line *line, struct errmsg *em)
{
    bool is_over = false;
    for (int i = 0; i < line->argc; i++) {
        const char *word = line->argv[i];
        if (!is_over && strcmp(word, "--") == 0) {
            is_over = true;
        } else if (!is_over && strncmp(word, "--", 2) == 0) {
            int err = parse_option(line, &i, em);
            if (err < 0) {
                return err;
            }
        } else if (!is_over && word[0] == '-' && word[1] != '\0') {
            return errmsg_set(em, E_INVALID, "%.100s is not a recognized option", word);
        } else if (line->given.operands.count == CLI_ARGUMENTS_MAX) {
            return errmsg_set(em, E_TOO_LARGE, "too many arguments");
        } else {
            cli_texts_add(&line->given.operands, word);
        }
    }
    if (line->command->operands[0] == '\0' && line->given.operands.count > 0) {
        return errmsg_set(em, E_INVALID, "unexpected argument \"%.100s\"",
                          line->given.operands.list[0]);
    }
    return 0;
}

int cli_options_parse(const struct cli_command *command, struct cli_words words, void *values,
                      struct cli_given *ret_given, struct errmsg *em)
{
    CHECK(command->option_count <= CLI_OPTIONS_MAX);
    struct line line = {
        .command = command, .argc = words.count, .argv = words.list, .values = values};
    int err = parse_line(&line, em);
    if (err < 0) {
        cli_given_deinit(&line.given);
        return err;
    }
    *ret_given = line.given;
    return 0;
}

/* Option and argument in a column of their own; further lines of the help text under the first. */
static void print_option(const struct cli_option *option, struct buf *out)
{
    size_t start = out->len;
    buf_putf(out, "  --%s", option->name);
    if (option->argument != NULL) {
        buf_putf(out, " %s", option->argument);
    }
    size_t width = out->len - start;
    if (width > 34) {
        buf_put_u8(out, '\n');
        width = 0;
    }
    const char *line = option->help;
    for (;;) {
        size_t len = strcspn(line, "\n");
        buf_putf(out, "%*s%.*s\n", (int)(36 - width), "", (int)len, line);
        if (line[len] == '\0') {
            return;
        }
        line += len + 1;
        width = 0;
    }
}

void cli_options_print_help(const struct cli_command *command, struct buf *out)
{
    buf_putf(out, "%s\n\nUsage: klamm %s [options]%s%s\n\n", command->summary, command->name,
             command->operands[0] == '\0' ? "" : " ", command->operands);
    for (int32_t i = 0; i < command->option_count; i++) {
        print_option(&command->options[i], out);
    }
    buf_putf(out, "\n%s", command->text);
}
