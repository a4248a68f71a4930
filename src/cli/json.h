/*
 * A JSON reader that remembers where everything stood: each value has its line and column, numbers
 * keep their text, duplicate keys stay visible. Input is hostile: depth, memory and size are bounded,
 * nothing recurses, and white space costs no memory.
 *
 * Strings are decoded to UTF-8. An escaped lone surrogate is kept as its three bytes (ED A0..BF xx),
 * so that a checker can name it; raw bytes that are not UTF-8 are a syntax error.
 */
#pragma once

#include "base/arena.h"

/* In characters, from 1. */
struct cli_json_place {
    int32_t line;
    int32_t column;
};

enum cli_json_kind {
    CLI_JSON_NULL,
    CLI_JSON_BOOL,
    CLI_JSON_NUMBER,
    CLI_JSON_STRING,
    CLI_JSON_ARRAY,
    CLI_JSON_OBJECT,
};

struct cli_json {
    enum cli_json_kind kind;
    bool is_true;                 /* bool */
    struct cli_json_place at;     /* first character of the value */
    struct cli_json_place key_at; /* members: first character of the key */
    struct slice key;             /* members of an object */
    struct slice text;            /* string: decoded; number: as written */
    struct cli_json *first;       /* array, object: first child, in the order of the file */
    struct cli_json *last;        /* array, object */
    struct cli_json *next;        /* the sibling that follows */
    struct cli_json *parent;      /* NULL for the root */
    int32_t count;                /* array, object: children */
};

enum cli_json_fault {
    CLI_JSON_FAULT_NONE,
    CLI_JSON_FAULT_EMPTY,    /* no value at all */
    CLI_JSON_FAULT_ENCODING, /* UTF-16 or UTF-32 */
    CLI_JSON_FAULT_SYNTAX,
    CLI_JSON_FAULT_TRAILING, /* something follows the value */
    CLI_JSON_FAULT_DEPTH,
    CLI_JSON_FAULT_SIZE,   /* more values, or more bytes, than we read */
    CLI_JSON_FAULT_SOURCE, /* the source failed; err has its code */
};

#define CLI_JSON_DEPTH_MAX 64
#define CLI_JSON_BYTES_MAX (INT64_C(1) << 30) /* of the input, white space included */

struct cli_json_error {
    enum cli_json_fault fault;
    struct cli_json_place at;
    int err;        /* -E_... */
    char text[160]; /* a sentence without the place */
    char rest[48];  /* what stood at the place, up to the line's end; not printable bytes as '?' */
};

/* Puts up to len bytes at ptr; *ret_len 0 at the end only. */
typedef int (*cli_json_source_fn)(void *arg, uint8_t *ptr, size_t len, size_t *ret_len);

/* Reads one value and nothing but white space behind it. Everything lives in the arena. On failure
 * returns -E_..., error says what and where. */
int cli_json_read(cli_json_source_fn source, void *arg, struct arena *arena,
                  struct cli_json **ret_root, struct cli_json_error *error) MUST_CHECK;
/* The same from memory. */
int cli_json_parse(struct slice input, struct arena *arena, struct cli_json **ret_root,
                   struct cli_json_error *error) MUST_CHECK;
/* The first member of that name, or NULL. */
struct cli_json *cli_json_member(const struct cli_json *object, const char *key);
/* "a string", "null": for messages. */
const char *cli_json_kind_name(enum cli_json_kind kind);

enum cli_json_integer {
    CLI_JSON_INTEGER_OK,
    CLI_JSON_INTEGER_TYPE,     /* not a number */
    CLI_JSON_INTEGER_FRACTION, /* a number with a point or an exponent */
    CLI_JSON_INTEGER_RANGE,    /* an integer below min or above max, however long */
};

/* The value as an integer of min..max; never rounds, never wraps. */
enum cli_json_integer cli_json_int(const struct cli_json *value, int64_t min, int64_t max,
                                   int64_t *ret_number);
