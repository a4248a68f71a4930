/*
 * Bounded reading and plain writing of JSON for znodes, on top of jansson.
 * The document is depth-checked before jansson sees it, because jansson's parser recurses.
 */
#pragma once

#include "base/buf.h"
#include "base/error.h"

#include <jansson.h>

#define METASTORE_JSON_DEPTH_MAX 16

/* ---- reading ---- */

/* An object at the top, without duplicate keys; else -E_MALFORMED or -E_TOO_LARGE. Release with
 * json_decref. */
int metastore_json_parse(struct slice text, json_t **ret_root, struct errmsg *em) MUST_CHECK;
struct metastore_json_range {
    int64_t min;
    int64_t max;
};
#define METASTORE_JSON_ID   ((struct metastore_json_range){0, INT32_MAX}) /* ids, epochs, indexes */
#define METASTORE_JSON_LONG ((struct metastore_json_range){0, INT64_MAX})
#define METASTORE_JSON_ONE  ((struct metastore_json_range){1, 1})
/* An integer in the range. A missing key is an error. */
int metastore_json_int(const json_t *object, const char *key, struct metastore_json_range range,
                       int64_t *ret_value, struct errmsg *em) MUST_CHECK;
/* The version of a node, which a newer writer may have raised: -E_UNSUPPORTED when it is none of known,
 * with `what` in the message. A missing one counts as the lowest. */
int metastore_json_version(const json_t *object, const char *what,
                           struct metastore_json_range known, int64_t *ret_version,
                           struct errmsg *em) MUST_CHECK;
/* Borrowed from the document; the null slice when the key is missing or null. */
int metastore_json_text(const json_t *object, const char *key, struct slice *ret_text,
                        struct errmsg *em) MUST_CHECK;
/* The key's array or object; NULL when the key is missing. */
int metastore_json_child(const json_t *object, const char *key, json_type type, json_t **ret_child,
                         struct errmsg *em) MUST_CHECK;
/* Text of decimal digits alone, in the range; else -E_MALFORMED. */
int metastore_json_digits(struct slice text, struct metastore_json_range range,
                          int64_t *ret_value) MUST_CHECK;

/* ---- writing ---- */

/* A quoted JSON string; the buf turns failed when text is not UTF-8. */
void metastore_json_put_text(struct buf *b, struct slice text);
/* Ends a node that was written from `start` on: the buf turns failed when it is larger than a node may
 * be. */
void metastore_json_end(struct buf *b, size_t start);
