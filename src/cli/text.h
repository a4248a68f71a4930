/*
 * Text for people and for programs: escaping, lists, sizes.
 */
#pragma once

#include "base/buf.h"
#include "base/error.h"
#include "klamm/klamm.h"

#define CLI_RATE_NONE (-1) /* no limit */

/* Printable ASCII as it is, everything else as \uXXXX: what a terminal can be trusted with. */
void cli_text_put_escaped(struct buf *out, struct slice text);
/* A JSON string with its quotes. text NULL: null. */
void cli_text_put_json(struct buf *out, const char *text);
/* "1,2,3" */
void cli_text_put_ids(struct buf *out, struct klamm_ids ids);
/* "[1,2,3]" */
void cli_text_put_json_ids(struct buf *out, struct klamm_ids ids);
/* "0 B", "999 B", "1.5 MB", "20 GB": three digits, powers of 1000. */
void cli_text_put_bytes(struct buf *out, int64_t bytes);
/* "9 s", "3 min 05 s", "2 h 10 min", "3 d 04 h". */
void cli_text_put_duration(struct buf *out, int64_t seconds);

/* Whether Kafka allows the topic name; *ret_reason says why not. */
bool cli_text_is_topic_name(struct slice name, const char **ret_reason);
/* A whole decimal integer of min..max, nothing around it. */
bool cli_text_parse_int(const char *text, int64_t min, int64_t max, int64_t *ret_number);
/* A rate in bytes a second: a whole number, perhaps with a unit ("50MB" is 50000000, "1MiB" is 1048576)
 * and "/s" behind it; "none" and "-1" are CLI_RATE_NONE. 0, other negative numbers and what does not
 * fit into 63 bits are refused. */
int cli_text_parse_rate(const char *text, int64_t *ret_rate, struct errmsg *em) MUST_CHECK;
/* "2026-12-01 07:03:11 UTC" of milliseconds since 1970. */
void cli_text_put_time(struct buf *out, int64_t time_ms);

bool cli_text_ids_equal(struct klamm_ids a, struct klamm_ids b);    /* order counts */
bool cli_text_ids_same_set(struct klamm_ids a, struct klamm_ids b); /* order does not */
bool cli_text_ids_has(struct klamm_ids ids, int32_t id);
