/*
 * Where output goes. The only file of cli/ that knows the process: standard streams, their being a
 * terminal, NO_COLOR. Commands write into out and err; nothing leaves before a flush. Tests capture:
 * then a flush keeps the text.
 */
#pragma once

#include "base/buf.h"

enum cli_style {
    CLI_STYLE_PLAIN,
    CLI_STYLE_BOLD,
    CLI_STYLE_GOOD,
    CLI_STYLE_WARN,
    CLI_STYLE_BAD,
};

struct cli_terminal {
    struct buf out;    /* for standard output */
    struct buf err;    /* for standard error */
    bool is_captured;  /* keep what is flushed */
    bool is_out_lost;  /* standard output, no closed pipe, did not take all of it (a full disk) */
    bool is_terminal;  /* standard output can be redrawn */
    bool has_color;    /* standard output takes colours */
    int32_t columns;   /* of the terminal; 80 when unknown */
    int32_t rows;      /* of the terminal; 24 when unknown */
    bool has_reader;   /* somebody at a terminal can answer questions */
    const char *typed; /* captured: what standard input will say, a line; NULL = nothing yet */
};

void cli_terminal_init(struct cli_terminal *t);
/* No process behind it: everything stays in out and err. */
void cli_terminal_init_captured(struct cli_terminal *t);
void cli_terminal_deinit(struct cli_terminal *t);
/* Errors before output, so that both read well on one screen. */
void cli_terminal_flush(struct cli_terminal *t);
/* Everything written so far, then the question on standard error, which the answer follows. */
void cli_terminal_ask(struct cli_terminal *t, const char *question);
/* Re-reads the size. */
void cli_terminal_measure(struct cli_terminal *t);
enum cli_answer {
    CLI_ANSWER_YES, /* "y" or "yes" */
    CLI_ANSWER_NO,  /* anything else, and the end of the input */
    CLI_ANSWER_NOT_YET,
};

/* The line that was typed, if there is one within about a tenth of a second. */
enum cli_answer cli_terminal_read_answer(struct cli_terminal *t);
/* "" when there are no colours. */
const char *cli_terminal_style(const struct cli_terminal *t, enum cli_style style);
