/*
 * Reading the small text files of a log directory line by line, without copies or surprises.
 */
#pragma once

#include "base/error.h"
#include "base/slice.h"

/* Takes one line (without its end) off text. False at the end. */
bool plog_text_line(struct slice *text, struct slice *ret_line);
/* Takes one word, up to a space, off line. False when none is left. */
bool plog_text_word(struct slice *line, struct slice *ret_word);
/* A whole decimal number, optional minus. -E_MALFORMED. */
int plog_text_number(struct slice word, int64_t *ret_value) MUST_CHECK;
/* Takes one word off line and reads it as a number in [min, max]. -E_MALFORMED. */
int plog_text_take(struct slice *line, int64_t min, int64_t max, int64_t *ret_value) MUST_CHECK;
