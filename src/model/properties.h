/*
 * Java's properties format, as Kafka's configuration files have it: lines of "key=value", "key: value"
 * or "key value"; '#' and '!' start comment lines; a backslash at the end of a line goes on in the next
 * one; \t \n \r \f \uXXXX and any other escaped character. Bytes that are not escaped are UTF-8.
 * Blanks at the end of a value are dropped, which Kafka does when it reads one. Pure.
 */
#pragma once

#include "base/error.h"
#include "base/slice.h"

#include <stdint.h>

#define MODEL_PROPERTIES_MAX        10000 /* entries of one file */
#define MODEL_PROPERTIES_VALUE_SIZE 65536 /* bytes of one key with its value */

struct model_property {
    char *key; /* not empty */
    char *value;
    int32_t line; /* where it begins, from 1 */
};

/* In the order of the file; the same key may come again. */
struct model_properties {
    struct model_property *list;
    int32_t count;
};

/* -E_MALFORMED or -E_TOO_LARGE, with an em that begins with "LINE: ". On success release with
 * model_properties_deinit. */
int model_properties_parse(struct slice text, struct model_properties *ret,
                           struct errmsg *em) MUST_CHECK;
void model_properties_deinit(struct model_properties *properties);
