/*
 * Command lines by table: a command lists its options once; parsing, help and the man page's order
 * come from that list.
 */
#pragma once

#include "base/buf.h"
#include "base/error.h"

#define CLI_OPTIONS_MAX   64    /* options of one command */
#define CLI_ARGUMENTS_MAX 10000 /* values of a repeated option, and operands */

enum cli_option_kind {
    CLI_OPTION_FLAG,   /* bool */
    CLI_OPTION_TEXT,   /* const char *; must not be empty */
    CLI_OPTION_NUMBER, /* int64_t, within min..max */
    CLI_OPTION_TEXTS,  /* struct cli_texts: may be given more than once */
};

struct cli_texts {
    const char **list; /* points into argv */
    int32_t count;
};

struct cli_option {
    const char *name;     /* without the dashes */
    const char *argument; /* for the help, "FILE"; NULL for flags */
    const char *help;     /* may hold line breaks */
    enum cli_option_kind kind;
    size_t offset; /* of the value in the command's struct */
    int64_t min;
    int64_t max;
};

struct cli_command {
    const char *name;     /* "topics create" */
    const char *operands; /* for the help, "NAME..."; "" = takes none */
    const char *summary;  /* one line */
    const char *text;     /* further paragraphs and examples */
    const struct cli_option *options;
    int32_t option_count;
};

/* A part of argv. */
struct cli_words {
    char **list;
    int count;
};

/* What a command line held besides the values. */
struct cli_given {
    uint64_t options; /* bit i: options[i] was given */
    struct cli_texts operands;
};

/* Reads the words behind the command's name into *values (defaults stay where
 * nothing is given). "--name value" and "--name=value"; "--" ends the options. The lists point into
 * argv; free them with cli_given_deinit and cli_texts_deinit. On failure nothing needs freeing but
 * what *values holds. */
int cli_options_parse(const struct cli_command *command, struct cli_words words, void *values,
                      struct cli_given *ret_given, struct errmsg *em) MUST_CHECK;
bool cli_options_has(const struct cli_command *command, const struct cli_given *given,
                     const char *name);
void cli_options_print_help(const struct cli_command *command, struct buf *out);
void cli_given_deinit(struct cli_given *given);
void cli_texts_deinit(struct cli_texts *texts);
void cli_texts_add(struct cli_texts *texts, const char *text);
