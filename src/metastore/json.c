/*
 * See json.h. Any thread; no state.
 */
#include "metastore/json.h"

#include "metastore/metastore.h"

/* ---- reading ---- */

/* Brackets outside strings; what else is wrong is jansson's to find. */
static bool depth_is_bounded(struct slice text)
{
    int depth = 0;
    bool is_string = false;
    for (size_t i = 0; i < text.len; i++) {
        uint8_t c = text.ptr[i];
        if (is_string) {
            i += c == '\\';
            is_string = c != '"';
        } else if (c == '"') {
            is_string = true;
        } else if (c == '{' || c == '[') {
            if (++depth > METASTORE_JSON_DEPTH_MAX) {
                return false;
            }
        } else if (c == '}' || c == ']') {
            depth--;
        }
    }
    return true;
}

int metastore_json_parse(struct slice text, json_t **ret_root, struct errmsg *em)
{
    if (text.len > METASTORE_DATA_MAX) {
        return errmsg_set(em, E_TOO_LARGE, "%zu bytes of JSON", text.len);
    }
    if (!depth_is_bounded(text)) {
        return errmsg_set(em, E_TOO_LARGE, "JSON nested deeper than %d", METASTORE_JSON_DEPTH_MAX);
    }
    json_error_t error;
    json_t *root = json_loadb((const char *)text.ptr, text.len, JSON_REJECT_DUPLICATES, &error);
    if (root == NULL) {
        return errmsg_set(em, E_MALFORMED, "JSON: %s at line %d, column %d", error.text, error.line,
                          error.column);
    }
    if (!json_is_object(root)) {
        json_decref(root);
        return errmsg_set(em, E_MALFORMED, "JSON: an object was expected");
    }
    *ret_root = root;
    return 0;
}

int metastore_json_int(const json_t *object, const char *key, struct metastore_json_range range,
                       int64_t *ret_value, struct errmsg *em)
{
    const json_t *value = json_object_get(object, key);
    if (!json_is_integer(value)) {
        return errmsg_set(em, E_MALFORMED, "'%s' is %s", key,
                          value == NULL ? "missing" : "not an integer");
    }
    int64_t number = json_integer_value(value);
    if (number < range.min || number > range.max) {
        return errmsg_set(em, E_MALFORMED, "'%s' is %lld, not in [%lld, %lld]", key,
                          (long long)number, (long long)range.min, (long long)range.max);
    }
    *ret_value = number;
    return 0;
}

int metastore_json_version(const json_t *object, const char *what,
                           struct metastore_json_range known, int64_t *ret_version,
                           struct errmsg *em)
{
    int64_t version = known.min;
    if (json_object_get(object, "version") != NULL) {
        int err = metastore_json_int(
            object, "version", (struct metastore_json_range){INT64_MIN, INT64_MAX}, &version, em);
        if (err != 0) {
            return err;
        }
    }
    if (version < known.min || version > known.max) {
        return errmsg_set(em, E_UNSUPPORTED, "%s of version %lld, known are %lld to %lld", what,
                          (long long)version, (long long)known.min, (long long)known.max);
    }
    *ret_version = version;
    return 0;
}

int metastore_json_text(const json_t *object, const char *key, struct slice *ret_text,
                        struct errmsg *em)
{
    const json_t *value = json_object_get(object, key);
    if (value == NULL || json_is_null(value)) {
        *ret_text = SLICE_NULL;
        return 0;
    }
    if (!json_is_string(value)) {
        return errmsg_set(em, E_MALFORMED, "'%s' is not a string", key);
    }
    *ret_text = slice_of(json_string_value(value), json_string_length(value));
    return 0;
}

int metastore_json_child(const json_t *object, const char *key, json_type type, json_t **ret_child,
                         struct errmsg *em)
{
    json_t *value = json_object_get(object, key);
    if (value != NULL && json_typeof(value) != type) {
        return errmsg_set(em, E_MALFORMED, "'%s' is not an %s", key,
                          type == JSON_ARRAY ? "array" : "object");
    }
    *ret_child = value;
    return 0;
}

int metastore_json_digits(struct slice text, struct metastore_json_range range, int64_t *ret_value)
{
    int64_t value = 0;
    for (size_t i = 0; i < text.len; i++) {
        int digit = text.ptr[i] - '0';
        if (digit < 0 || digit > 9 || value > (range.max - digit) / 10) {
            return -E_MALFORMED;
        }
        value = value * 10 + digit;
    }
    if (text.len == 0 || value < range.min) {
        return -E_MALFORMED;
    }
    *ret_value = value;
    return 0;
}

/* ---- writing ---- */

/* Bytes of the UTF-8 sequence at the start of text; 0 when it is none (RFC 3629: shortest form, no
 * surrogates, at most U+10FFFF). */
static size_t utf8_sequence(struct slice text)
{
    static const struct {
        uint8_t first_min, first_max; /* first byte */
        uint8_t next_min, next_max;   /* second byte; later ones are 80..bf */
        uint8_t len;
    } forms[] = {
        {0x00, 0x7f, 0, 0, 1},       {0xc2, 0xdf, 0x80, 0xbf, 2}, {0xe0, 0xe0, 0xa0, 0xbf, 3},
        {0xe1, 0xec, 0x80, 0xbf, 3}, {0xed, 0xed, 0x80, 0x9f, 3}, {0xee, 0xef, 0x80, 0xbf, 3},
        {0xf0, 0xf0, 0x90, 0xbf, 4}, {0xf1, 0xf3, 0x80, 0xbf, 4}, {0xf4, 0xf4, 0x80, 0x8f, 4},
    };
    for (size_t f = 0; f < sizeof forms / sizeof forms[0]; f++) {
        if (text.ptr[0] < forms[f].first_min || text.ptr[0] > forms[f].first_max) {
            continue;
        }
        bool fits = text.len >= forms[f].len;
        for (size_t i = 1; fits && i < forms[f].len; i++) {
            uint8_t min = i == 1 ? forms[f].next_min : 0x80;
            uint8_t max = i == 1 ? forms[f].next_max : 0xbf;
            fits = text.ptr[i] >= min && text.ptr[i] <= max;
        }
        return fits ? forms[f].len : 0;
    }
    return 0;
}

void metastore_json_put_text(struct buf *b, struct slice text)
{
    buf_put_u8(b, '"');
    size_t len;
    for (size_t i = 0; i < text.len; i += len) {
        len = utf8_sequence(slice_of(text.ptr + i, text.len - i));
        uint8_t c = text.ptr[i];
        if (len == 0) {
            b->failed = true;
            return;
        }
        if (c == '"' || c == '\\') {
            buf_putf(b, "\\%c", c);
        } else if (c < 0x20) {
            buf_putf(b, "\\u%04x", c);
        } else {
            buf_put_bytes(b, text.ptr + i, len);
        }
    }
    buf_put_u8(b, '"');
}

void metastore_json_end(struct buf *b, size_t start)
{
    if (b->len - start > METASTORE_DATA_MAX) {
        b->failed = true;
    }
}
