/*
 * One pass over a chunked source with one character of lookahead. Open containers are linked through
 * their parent pointers, so the depth costs no stack. The grammar is RFC 8259 exactly.
 * Invariant: line and column name the character that `peek` returns.
 */
#include "cli/json.h"

#include "base/alloc.h"
#include "base/buf.h"
#include "base/check.h"

#include <stdio.h>
#include <stdlib.h>

#define CHUNK_BYTES  65536
#define STRING_MAX   (1 << 20) /* bytes of one decoded string */
#define NUMBER_MAX   4096      /* characters of one number */
#define END_OF_INPUT (-1)

struct source {
    cli_json_source_fn fn;
    void *arg;
    uint8_t *chunk;
    size_t len;
    size_t pos;
    int64_t total;
    bool is_done;
    struct cli_json_place at;
    struct arena *arena;
    struct buf scratch; /* the string or number being read */
    struct cli_json_error *error;
};

static int fail(struct source *s, enum cli_json_fault fault, enum error code, const char *text)
{
    struct cli_json_error *error = s->error;
    if (error->fault != CLI_JSON_FAULT_NONE) {
        return error->err;
    }
    error->fault = fault;
    error->err = -(int)code;
    error->at = s->at;
    snprintf(error->text, sizeof error->text, "%s", text);
    size_t used = 0;
    for (size_t i = s->pos; i < s->len && used + 1 < sizeof error->rest; i++) {
        uint8_t c = s->chunk[i];
        if (c == '\n' || c == '\r') {
            break;
        }
        error->rest[used++] = c >= 0x20 && c < 0x7f ? (char)c : '?';
    }
    error->rest[used] = '\0';
    return error->err;
}

static int syntax(struct source *s, const char *text)
{
    return fail(s, CLI_JSON_FAULT_SYNTAX, E_MALFORMED, text);
}

static int refill(struct source *s)
{
    size_t len = 0;
    s->pos = s->len = 0;
    int err = s->fn(s->arg, s->chunk, CHUNK_BYTES, &len);
    if (err < 0) {
        return fail(s, CLI_JSON_FAULT_SOURCE, (enum error) - err, error_name(err));
    }
    s->len = len;
    s->is_done = len == 0;
    s->total += (int64_t)len;
    if (s->total > CLI_JSON_BYTES_MAX) {
        return fail(s, CLI_JSON_FAULT_SIZE, E_TOO_LARGE, "the file is larger than 1 GiB");
    }
    return 0;
}

/* The byte at hand, END_OF_INPUT at the end and after a failure. */
static int peek(struct source *s)
{
    if (s->pos == s->len && !s->is_done && s->error->fault == CLI_JSON_FAULT_NONE) {
        if (refill(s) < 0) {
            s->is_done = true;
        }
    }
    return s->pos < s->len ? s->chunk[s->pos] : END_OF_INPUT;
}

static void advance(struct source *s)
{
    uint8_t c = s->chunk[s->pos++];
    if (c == '\n') {
        s->at.line++;
        s->at.column = 1;
    } else if ((c & 0xc0) != 0x80) {
        s->at.column++;
    }
}

static void skip_space(struct source *s)
{
    for (;;) {
        int c = peek(s);
        if (c != ' ' && c != '\t' && c != '\n' && c != '\r') {
            return;
        }
        advance(s);
    }
}

static int out_of_memory(struct source *s)
{
    return fail(s, CLI_JSON_FAULT_SIZE, E_TOO_LARGE, "the file holds more values than we read");
}

static int copy_scratch(struct source *s, struct slice *ret)
{
    size_t len = s->scratch.len;
    uint8_t *copy = arena_alloc(s->arena, len + 1); /* zeroed: the last byte is the NUL */
    if (copy == NULL) {
        return out_of_memory(s);
    }
    if (len > 0) {
        memcpy(copy, s->scratch.ptr, len);
    }
    *ret = slice_of(copy, len);
    return 0;
}

/* ---- strings ---- */

static void put_utf8(struct buf *b, uint32_t c)
{
    if (c < 0x80) {
        buf_put_u8(b, (uint8_t)c);
    } else if (c < 0x800) {
        buf_put_u8(b, (uint8_t)(0xc0 | c >> 6));
        buf_put_u8(b, (uint8_t)(0x80 | (c & 0x3f)));
    } else if (c < 0x10000) {
        buf_put_u8(b, (uint8_t)(0xe0 | c >> 12));
        buf_put_u8(b, (uint8_t)(0x80 | (c >> 6 & 0x3f)));
        buf_put_u8(b, (uint8_t)(0x80 | (c & 0x3f)));
    } else {
        buf_put_u8(b, (uint8_t)(0xf0 | c >> 18));
        buf_put_u8(b, (uint8_t)(0x80 | (c >> 12 & 0x3f)));
        buf_put_u8(b, (uint8_t)(0x80 | (c >> 6 & 0x3f)));
        buf_put_u8(b, (uint8_t)(0x80 | (c & 0x3f)));
    }
}

/* One raw character of more than one byte, by the table of well-formed UTF-8. */
static int read_utf8(struct source *s, int lead)
{
    int more = lead >= 0xc2 && lead <= 0xdf   ? 1
               : lead >= 0xe0 && lead <= 0xef ? 2
               : lead >= 0xf0 && lead <= 0xf4 ? 3
                                              : 0;
    if (more == 0) {
        return syntax(s, "the text is not UTF-8");
    }
    int low = lead == 0xe0 ? 0xa0 : lead == 0xf0 ? 0x90 : 0x80;
    int high = lead == 0xed ? 0x9f : lead == 0xf4 ? 0x8f : 0xbf;
    buf_put_u8(&s->scratch, (uint8_t)lead);
    advance(s);
    for (int i = 0; i < more; i++) {
        int c = peek(s);
        if (c < low || c > high) {
            return syntax(s, "the text is not UTF-8");
        }
        buf_put_u8(&s->scratch, (uint8_t)c);
        advance(s);
        low = 0x80;
        high = 0xbf;
    }
    return 0;
}

static int hex_digit(int c)
{
    if (c >= '0' && c <= '9') {
        return c - '0';
    }
    c |= 0x20;
    return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

static int read_hex4(struct source *s, uint32_t *ret)
{
    uint32_t value = 0;
    for (int i = 0; i < 4; i++) {
        int digit = hex_digit(peek(s));
        if (digit < 0) {
            return syntax(s, "\\u needs four hexadecimal digits");
        }
        value = value << 4 | (uint32_t)digit;
        advance(s);
    }
    *ret = value;
    return 0;
}

/* Behind "\u": one unit, and the second one of a pair. What is no pair is kept unit by unit. */
static int read_unicode_escape(struct source *s)
{
    uint32_t unit;
    int err = read_hex4(s, &unit);
    uint32_t high = 0; /* a high surrogate that waits for its low one */
    while (err == 0) {
        if (high != 0 && unit >= 0xdc00 && unit <= 0xdfff) {
            put_utf8(&s->scratch, 0x10000 + ((high - 0xd800) << 10) + (unit - 0xdc00));
            return 0;
        }
        if (high != 0) {
            put_utf8(&s->scratch, high);
        }
        high = unit >= 0xd800 && unit <= 0xdbff ? unit : 0;
        if (high == 0 || peek(s) != '\\') {
            put_utf8(&s->scratch, unit);
            return 0;
        }
        advance(s);
        if (peek(s) != 'u') {
            put_utf8(&s->scratch, high);
            return 1; /* a backslash was taken: the caller reads a plain escape */
        }
        advance(s);
        err = read_hex4(s, &unit);
    }
    return err;
}

/* The letter behind a backslash, other than u. */
static int read_plain_escape(struct source *s)
{
    static const char letters[] = "\"\\/bfnrt";
    static const char values[] = "\"\\/\b\f\n\r\t";
    int c = peek(s);
    const char *found = c > 0 ? strchr(letters, c) : NULL;
    if (found == NULL) {
        return syntax(s, "unknown escape in a string");
    }
    buf_put_u8(&s->scratch, (uint8_t)values[found - letters]);
    advance(s);
    return 0;
}

static int read_escape(struct source *s)
{
    advance(s); /* the backslash */
    if (peek(s) == 'u') {
        advance(s);
        int err = read_unicode_escape(s);
        return err == 1 ? read_plain_escape(s) : err;
    }
    return read_plain_escape(s);
}

static int read_string(struct source *s, struct slice *ret)
{
    buf_clear(&s->scratch);
    advance(s); /* the quote */
    for (;;) {
        int c = peek(s);
        int err = 0;
        if (c == '"') {
            advance(s);
            return copy_scratch(s, ret);
        }
        if (c == END_OF_INPUT) {
            return syntax(s, "the file ends inside a string");
        }
        if (c < 0x20) {
            return syntax(s, "a control character inside a string");
        }
        if (s->scratch.len > STRING_MAX) {
            return fail(s, CLI_JSON_FAULT_SIZE, E_TOO_LARGE, "a string is longer than 1 MiB");
        }
        if (c == '\\') {
            err = read_escape(s);
        } else if (c < 0x80) {
            buf_put_u8(&s->scratch, (uint8_t)c);
            advance(s);
        } else {
            err = read_utf8(s, c);
        }
        if (err < 0) {
            return err;
        }
    }
}

/* ---- numbers and words ---- */

static bool is_digit(int c)
{
    return c >= '0' && c <= '9';
}

static void take(struct source *s)
{
    buf_put_u8(&s->scratch, s->chunk[s->pos]);
    advance(s);
}

static int take_digits(struct source *s)
{
    if (!is_digit(peek(s))) {
        return syntax(s, "a digit is missing in a number");
    }
    while (is_digit(peek(s))) {
        if (s->scratch.len >= NUMBER_MAX) {
            return fail(s, CLI_JSON_FAULT_SIZE, E_TOO_LARGE, "a number is longer than 4096 digits");
        }
        take(s);
    }
    return 0;
}

static int read_number(struct source *s, struct slice *ret)
{
    buf_clear(&s->scratch);
    if (peek(s) == '-') {
        take(s);
    }
    bool starts_with_zero = peek(s) == '0';
    size_t before = s->scratch.len;
    if (take_digits(s) < 0) {
        return s->error->err;
    }
    if (starts_with_zero && s->scratch.len > before + 1) {
        return syntax(s, "a number must not start with 0");
    }
    if (peek(s) == '.') {
        take(s);
        if (take_digits(s) < 0) {
            return s->error->err;
        }
    }
    if (peek(s) == 'e' || peek(s) == 'E') {
        take(s);
        if (peek(s) == '+' || peek(s) == '-') {
            take(s);
        }
        if (take_digits(s) < 0) {
            return s->error->err;
        }
    }
    return copy_scratch(s, ret);
}

static int read_word(struct source *s, const char *word)
{
    struct cli_json_place start = s->at;
    for (const char *c = word; *c != '\0'; c++) {
        if (peek(s) != *c) {
            s->at = start;
            return syntax(s, "unknown word; JSON has true, false and null");
        }
        advance(s);
    }
    return 0;
}

/* ---- values ---- */

static int read_scalar(struct source *s, struct cli_json *value)
{
    int c = peek(s);
    if (c == '"') {
        value->kind = CLI_JSON_STRING;
        return read_string(s, &value->text);
    }
    if (c == '-' || is_digit(c)) {
        value->kind = CLI_JSON_NUMBER;
        return read_number(s, &value->text);
    }
    if (c == 't' || c == 'f') {
        value->kind = CLI_JSON_BOOL;
        value->is_true = c == 't';
        return read_word(s, value->is_true ? "true" : "false");
    }
    if (c == 'n') {
        value->kind = CLI_JSON_NULL;
        return read_word(s, "null");
    }
    if (c == END_OF_INPUT) {
        return syntax(s, "the file ends where a value is expected");
    }
    if (c == '\'') {
        return syntax(s, "JSON strings stand in double quotes");
    }
    if (c == '/' || c == '#') {
        return syntax(s, "JSON has no comments");
    }
    if (c == ']' || c == '}' || c == ',') {
        return syntax(s, "a value is missing (is there a comma too many?)");
    }
    return syntax(s, "a value is expected");
}

/* Reads "key" : in front of a member. */
static int read_key(struct source *s, struct cli_json *member)
{
    int c = peek(s);
    if (c != '"') {
        return syntax(s, c == '}'               ? "a comma in front of the closing brace"
                         : c == END_OF_INPUT    ? "the file ends inside an object"
                         : c == '\''            ? "JSON strings stand in double quotes"
                         : c == '/' || c == '#' ? "JSON has no comments"
                                                : "a key in double quotes is expected");
    }
    member->key_at = s->at;
    if (read_string(s, &member->key) < 0) {
        return s->error->err;
    }
    skip_space(s);
    if (peek(s) != ':') {
        return syntax(s, "a colon is expected behind a key");
    }
    advance(s);
    skip_space(s);
    return 0;
}

static void append_child(struct cli_json *parent, struct cli_json *child)
{
    child->parent = parent;
    if (parent->last == NULL) {
        parent->first = child;
    } else {
        parent->last->next = child;
    }
    parent->last = child;
    parent->count++;
}

/* Reads the value at hand: a scalar whole, of a container the opening bracket only. */
static int open_value(struct source *s, struct cli_json *parent, int depth, struct cli_json **ret)
{
    struct cli_json *value = arena_alloc(s->arena, sizeof *value);
    if (value == NULL) {
        return out_of_memory(s);
    }
    if (parent != NULL && parent->kind == CLI_JSON_OBJECT && read_key(s, value) < 0) {
        return s->error->err;
    }
    value->at = s->at;
    int c = peek(s);
    if (c == '{' || c == '[') {
        if (depth >= CLI_JSON_DEPTH_MAX) {
            return fail(s, CLI_JSON_FAULT_DEPTH, E_TOO_LARGE, "nested deeper than 64 levels");
        }
        value->kind = c == '{' ? CLI_JSON_OBJECT : CLI_JSON_ARRAY;
        advance(s);
    } else if (read_scalar(s, value) < 0) {
        return s->error->err;
    }
    if (parent != NULL) {
        append_child(parent, value);
    }
    *ret = value;
    return 0;
}

static bool is_container(const struct cli_json *value)
{
    return value->kind == CLI_JSON_ARRAY || value->kind == CLI_JSON_OBJECT;
}

/* Behind an opening bracket or an element: what comes next in `open`? 1 = an element, 0 = its end. */
static int next_element(struct source *s, const struct cli_json *open, bool is_fresh)
{
    char closing = open->kind == CLI_JSON_OBJECT ? '}' : ']';
    skip_space(s);
    int c = peek(s);
    if (c == closing) {
        advance(s);
        return 0;
    }
    if (is_fresh) {
        return 1;
    }
    if (c != ',') {
        return syntax(s, c == END_OF_INPUT ? "the file ends inside an object or array"
                         : closing == '}'  ? "a comma or a closing brace is expected"
                                           : "a comma or a closing bracket is expected");
    }
    advance(s);
    skip_space(s);
    return 1;
}

static int read_tree(struct source *s, struct cli_json **ret_root)
{
    struct cli_json *root;
    if (open_value(s, NULL, 0, &root) < 0) {
        return s->error->err;
    }
    struct cli_json *open = is_container(root) ? root : NULL;
    int depth = 1;
    bool is_fresh = true;
    while (open != NULL) {
        int more = next_element(s, open, is_fresh);
        if (more < 0) {
            return more;
        }
        is_fresh = false;
        if (more == 0) {
            open = open->parent;
            depth--;
            continue;
        }
        struct cli_json *child;
        if (open_value(s, open, depth, &child) < 0) {
            return s->error->err;
        }
        if (is_container(child)) {
            open = child;
            depth++;
            is_fresh = true;
        }
    }
    *ret_root = root;
    return 0;
}

/* Skips a UTF-8 byte order mark; refuses the other encodings, which show in the first four bytes. */
static int check_start(struct source *s)
{
    (void)peek(
        s); /* fills the first chunk; files and memory give at least four bytes if they have */
    const uint8_t *c = s->chunk;
    bool is_wide =
        s->len >= 2 && ((c[0] == 0xff && c[1] == 0xfe) || (c[0] == 0xfe && c[1] == 0xff));
    bool has_zeros = s->len >= 2 && (c[0] == 0 || c[1] == 0);
    if (is_wide || has_zeros) {
        return fail(s, CLI_JSON_FAULT_ENCODING, E_UNSUPPORTED,
                    "the file is UTF-16 or UTF-32 (or binary); save it as UTF-8");
    }
    if (s->len >= 3 && c[0] == 0xef && c[1] == 0xbb && c[2] == 0xbf) {
        s->pos = 3;
    }
    skip_space(s);
    if (s->error->fault == CLI_JSON_FAULT_NONE && peek(s) == END_OF_INPUT) {
        return fail(s, CLI_JSON_FAULT_EMPTY, E_MALFORMED, "the file is empty");
    }
    return s->error->err;
}

int cli_json_read(cli_json_source_fn source, void *arg, struct arena *arena,
                  struct cli_json **ret_root, struct cli_json_error *error)
{
    memset(error, 0, sizeof *error);
    struct source s = {.fn = source, .arg = arg, .at = {1, 1}, .arena = arena, .error = error};
    s.chunk = xalloc(CHUNK_BYTES);
    buf_init(&s.scratch);
    struct cli_json *root = NULL;
    int err = check_start(&s);
    if (err == 0) {
        err = read_tree(&s, &root);
    }
    if (err == 0) {
        skip_space(&s);
        if (peek(&s) != END_OF_INPUT) {
            (void)fail(&s, CLI_JSON_FAULT_TRAILING, E_MALFORMED,
                       "more text follows the JSON value");
        }
    }
    err = error->err; /* a source that failed while we looked ahead counts too */
    buf_deinit(&s.scratch);
    free(s.chunk);
    if (err == 0) {
        *ret_root = root;
    }
    return err;
}

static int read_memory(void *arg, uint8_t *ptr, size_t len, size_t *ret_len)
{
    struct slice *left = arg;
    *ret_len = MIN(len, left->len);
    if (*ret_len > 0) {
        memcpy(ptr, left->ptr, *ret_len);
        left->ptr += *ret_len;
        left->len -= *ret_len;
    }
    return 0;
}

int cli_json_parse(struct slice input, struct arena *arena, struct cli_json **ret_root,
                   struct cli_json_error *error)
{
    return cli_json_read(read_memory, &input, arena, ret_root, error);
}

struct cli_json *cli_json_member(const struct cli_json *object, const char *key)
{
    for (struct cli_json *child = object->first; child != NULL; child = child->next) {
        if (slice_equal_str(child->key, key)) {
            return child;
        }
    }
    return NULL;
}

const char *cli_json_kind_name(enum cli_json_kind kind)
{
    static const char *const names[] = {"null",     "true or false", "a number",
                                        "a string", "an array",      "an object"};
    return names[kind];
}

enum cli_json_integer cli_json_int(const struct cli_json *value, int64_t min, int64_t max,
                                   int64_t *ret_number)
{
    if (value->kind != CLI_JSON_NUMBER) {
        return CLI_JSON_INTEGER_TYPE;
    }
    bool is_negative = value->text.ptr[0] == '-';
    int64_t number = 0;
    bool is_huge = false;
    for (size_t i = is_negative ? 1 : 0; i < value->text.len; i++) {
        int c = value->text.ptr[i];
        if (!is_digit(c)) {
            return CLI_JSON_INTEGER_FRACTION;
        }
        is_huge = is_huge || __builtin_mul_overflow(number, (int64_t)10, &number) ||
                  __builtin_add_overflow(number, (int64_t)(c - '0'), &number);
    }
    number = is_negative ? -number : number;
    if (is_huge || number < min || number > max) {
        return CLI_JSON_INTEGER_RANGE;
    }
    *ret_number = number;
    return CLI_JSON_INTEGER_OK;
}
