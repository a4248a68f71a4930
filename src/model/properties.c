/*
 * A cursor over the text that joins continued lines as it goes, below a reader of one entry. Every byte
 * is read once; what an entry holds is bounded before it is kept.
 */
#include "model/properties.h"

#include "base/alloc.h"
#include "base/buf.h"
#include "base/check.h"

#include <stdlib.h>

#define END_OF_LINE (-1)

/* One character of a logical line: a byte, or what an escape stands for. */
struct token {
    int32_t code; /* END_OF_LINE, or a byte or code point */
    bool is_escaped;
    bool is_unicode; /* code is a code point, to be written as UTF-8 */
};

struct cursor {
    struct slice text;
    size_t pos;
    int32_t line;
    int err; /* sticky; em tells */
    struct errmsg *em;
};

static bool is_blank(int32_t code)
{
    return code == ' ' || code == '\t' || code == '\f';
}

static void cursor_fail(struct cursor *c, enum error code, const char *what)
{
    if (c->err == 0) {
        c->err = errmsg_set(c->em, code, "%d: %s", c->line, what);
    }
}

/* At pos: how many bytes end the line; 0 = it goes on. */
static size_t line_end_length(const struct cursor *c)
{
    if (c->pos == c->text.len) {
        return 0;
    }
    if (c->text.ptr[c->pos] == '\n') {
        return 1;
    }
    if (c->text.ptr[c->pos] != '\r') {
        return 0;
    }
    return c->pos + 1 < c->text.len && c->text.ptr[c->pos + 1] == '\n' ? 2 : 1;
}

static bool at_line_end(const struct cursor *c)
{
    return c->pos == c->text.len || line_end_length(c) > 0;
}

static void skip_blanks(struct cursor *c)
{
    while (c->pos < c->text.len && is_blank(c->text.ptr[c->pos])) {
        c->pos++;
    }
}

static void skip_line_end(struct cursor *c)
{
    size_t len = line_end_length(c);
    c->pos += len;
    c->line += len > 0;
}

static int hex_digit(uint8_t byte)
{
    if (byte >= '0' && byte <= '9') {
        return byte - '0';
    }
    uint8_t lower = byte | 0x20;
    return lower >= 'a' && lower <= 'f' ? lower - 'a' + 10 : -1;
}

/* The four digits behind \u. */
static int32_t read_unicode(struct cursor *c)
{
    int32_t code = 0;
    for (int i = 0; i < 4; i++) {
        int digit = c->pos < c->text.len ? hex_digit(c->text.ptr[c->pos]) : -1;
        if (digit < 0) {
            cursor_fail(c, E_MALFORMED, "\\u needs four hexadecimal digits");
            return 0;
        }
        code = code * 16 + digit;
        c->pos++;
    }
    if (code == 0 || (code >= 0xd800 && code <= 0xdfff)) {
        cursor_fail(c, E_MALFORMED, "\\u names no character that a value may have");
    }
    return code;
}

/* Behind a backslash that does not continue the line. */
static struct token read_escape(struct cursor *c)
{
    static const char from[] = "tnrf";
    static const char to[] = "\t\n\r\f";
    uint8_t byte = c->text.ptr[c->pos++];
    if (byte == 'u') {
        return (struct token){.code = read_unicode(c), .is_escaped = true, .is_unicode = true};
    }
    const char *known = byte == '\0' ? NULL : strchr(from, byte);
    int32_t code = known == NULL ? byte : to[known - from];
    return (struct token){.code = code, .is_escaped = true};
}

/* The next character of the logical line. */
static struct token read_token(struct cursor *c)
{
    while (!at_line_end(c) && c->err == 0) {
        uint8_t byte = c->text.ptr[c->pos++];
        if (byte == '\0') {
            cursor_fail(c, E_MALFORMED, "a zero byte");
        } else if (byte != '\\') {
            return (struct token){.code = byte};
        } else if (!at_line_end(c)) {
            return read_escape(c);
        } else {
            skip_line_end(c);
            skip_blanks(c);
        }
    }
    return (struct token){.code = END_OF_LINE};
}

static void put_token(struct buf *b, struct token token)
{
    uint32_t code = (uint32_t)token.code;
    if (!token.is_unicode || code < 0x80) {
        buf_put_u8(b, (uint8_t)code);
    } else if (code < 0x800) {
        buf_put_u8(b, (uint8_t)(0xc0 | code >> 6));
        buf_put_u8(b, (uint8_t)(0x80 | (code & 0x3f)));
    } else {
        buf_put_u8(b, (uint8_t)(0xe0 | code >> 12));
        buf_put_u8(b, (uint8_t)(0x80 | (code >> 6 & 0x3f)));
        buf_put_u8(b, (uint8_t)(0x80 | (code & 0x3f)));
    }
}

/* Reads the key; returns the first character of the value, or END_OF_LINE. */
static struct token read_key(struct cursor *c, struct buf *ret_key)
{
    struct token token = read_token(c);
    while (token.code != END_OF_LINE) {
        bool is_end =
            !token.is_escaped && (token.code == '=' || token.code == ':' || is_blank(token.code));
        if (is_end || ret_key->len > MODEL_PROPERTIES_VALUE_SIZE) {
            break;
        }
        put_token(ret_key, token);
        token = read_token(c);
    }
    bool has_separator = false;
    while (!token.is_escaped) {
        bool is_separator = !has_separator && (token.code == '=' || token.code == ':');
        if (!is_separator && !is_blank(token.code)) {
            break;
        }
        has_separator = has_separator || is_separator;
        token = read_token(c);
    }
    return token;
}

static void read_value(struct cursor *c, struct token first, struct buf *ret_value)
{
    size_t kept = 0; /* up to the last character that is no blank at the end */
    for (struct token token = first; token.code != END_OF_LINE; token = read_token(c)) {
        put_token(ret_value, token);
        if (token.is_escaped || !is_blank(token.code)) {
            kept = ret_value->len;
        }
        if (ret_value->len > MODEL_PROPERTIES_VALUE_SIZE) {
            cursor_fail(c, E_TOO_LARGE, "the value is too long");
            break;
        }
    }
    ret_value->len = kept;
}

static void add(struct model_properties *properties, const struct model_property *property)
{
    size_t count = (size_t)properties->count;
    if ((count & (count - 1)) == 0) {
        size_t room = count == 0 ? 1 : 2 * count;
        properties->list = xrealloc(properties->list, room * sizeof *properties->list);
    }
    properties->list[properties->count++] = *property;
}

static void read_entry(struct cursor *c, struct model_properties *properties)
{
    struct buf key;
    struct buf value;
    struct model_property property = {.line = c->line};
    buf_init(&key);
    buf_init(&value);
    struct token first = read_key(c, &key);
    if (key.len == 0 || key.len > MODEL_PROPERTIES_VALUE_SIZE) {
        cursor_fail(c, E_MALFORMED, key.len == 0 ? "the key is empty" : "the key is too long");
    }
    read_value(c, first, &value);
    if (properties->count == MODEL_PROPERTIES_MAX) {
        cursor_fail(c, E_TOO_LARGE, "too many entries");
    }
    if (c->err == 0) {
        property.key = slice_dup(buf_slice(&key));
        property.value = slice_dup(buf_slice(&value));
        add(properties, &property);
    }
    buf_deinit(&key);
    buf_deinit(&value);
}

static void skip_comment(struct cursor *c)
{
    while (!at_line_end(c)) {
        c->pos++;
    }
}

int model_properties_parse(struct slice text, struct model_properties *ret, struct errmsg *em)
{
    struct cursor c = {.text = text, .line = 1, .em = em};
    struct model_properties properties = {0};
    while (c.pos < text.len && c.err == 0) {
        skip_blanks(&c);
        if (!at_line_end(&c)) {
            bool is_comment = text.ptr[c.pos] == '#' || text.ptr[c.pos] == '!';
            if (is_comment) {
                skip_comment(&c);
            } else {
                read_entry(&c, &properties);
            }
        }
        skip_line_end(&c);
    }
    if (c.err != 0) {
        model_properties_deinit(&properties);
        return c.err;
    }
    *ret = properties;
    return 0;
}

void model_properties_deinit(struct model_properties *properties)
{
    for (int32_t i = 0; i < properties->count; i++) {
        free(properties->list[i].key);
        free(properties->list[i].value);
    }
    free(properties->list);
    *properties = (struct model_properties){0};
}
