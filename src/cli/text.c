/*
 * Pure formatting; nothing here depends on a locale.
 */
#include "cli/text.h"

#include "base/check.h"

#include <inttypes.h>
#include <time.h>

#define TOPIC_NAME_MAX 249

/* Decodes one character of well-formed UTF-8 (surrogates included); a stray byte stands for itself. */
static uint32_t next_character(struct slice text, size_t *pos)
{
    uint8_t lead = text.ptr[(*pos)++];
    int more = lead >= 0xf0 ? 3 : lead >= 0xe0 ? 2 : lead >= 0xc0 ? 1 : 0;
    uint32_t c = more == 0 ? lead : lead & (0x3fU >> more);
    size_t end = *pos + (size_t)more;
    if (end > text.len) {
        return lead;
    }
    for (size_t i = *pos; i < end; i++) {
        if ((text.ptr[i] & 0xc0) != 0x80) {
            return lead;
        }
        c = c << 6 | (text.ptr[i] & 0x3fU);
    }
    *pos = end;
    return c;
}

static void put_unit(struct buf *out, uint32_t unit)
{
    buf_putf(out, "\\u%04x", unit);
}

static void put_character(struct buf *out, uint32_t c)
{
    if (c >= 0x10000) {
        put_unit(out, 0xd800 + ((c - 0x10000) >> 10));
        put_unit(out, 0xdc00 + ((c - 0x10000) & 0x3ff));
    } else {
        put_unit(out, c);
    }
}

void cli_text_put_escaped(struct buf *out, struct slice text)
{
    for (size_t pos = 0; pos < text.len;) {
        uint32_t c = next_character(text, &pos);
        if (c >= 0x20 && c < 0x7f) {
            buf_put_u8(out, (uint8_t)c);
        } else {
            put_character(out, c);
        }
    }
}

void cli_text_put_json(struct buf *out, const char *text)
{
    if (text == NULL) {
        buf_put_str(out, "null");
        return;
    }
    struct slice s = slice_str(text);
    buf_put_u8(out, '"');
    for (size_t pos = 0; pos < s.len;) {
        uint32_t c = next_character(s, &pos);
        if (c == '"' || c == '\\') {
            buf_put_u8(out, '\\');
            buf_put_u8(out, (uint8_t)c);
        } else if (c >= 0x20 && c < 0x7f) {
            buf_put_u8(out, (uint8_t)c);
        } else {
            put_character(out, c);
        }
    }
    buf_put_u8(out, '"');
}

void cli_text_put_ids(struct buf *out, struct klamm_ids ids)
{
    for (int32_t i = 0; i < ids.count; i++) {
        buf_putf(out, "%s%" PRId32, i == 0 ? "" : ",", ids.list[i]);
    }
}

void cli_text_put_json_ids(struct buf *out, struct klamm_ids ids)
{
    buf_put_u8(out, '[');
    cli_text_put_ids(out, ids);
    buf_put_u8(out, ']');
}

void cli_text_put_bytes(struct buf *out, int64_t bytes)
{
    static const char *const units[] = {"B", "kB", "MB", "GB", "TB", "PB", "EB"};
    int64_t whole = MAX(bytes, 0);
    int64_t tenths = 0;
    size_t unit = 0;
    while (whole >= 1000) {
        tenths = whole % 1000 / 100;
        whole /= 1000;
        unit++;
    }
    if (unit > 0 && whole < 100) {
        buf_putf(out, "%" PRId64 ".%" PRId64 " %s", whole, tenths, units[unit]);
    } else {
        buf_putf(out, "%" PRId64 " %s", whole, units[unit]);
    }
}

void cli_text_put_duration(struct buf *out, int64_t seconds)
{
    int64_t s = MAX(seconds, 0);
    if (s < 60) {
        buf_putf(out, "%" PRId64 " s", s);
    } else if (s < 3600) {
        buf_putf(out, "%" PRId64 " min %02" PRId64 " s", s / 60, s % 60);
    } else if (s < 86400) {
        buf_putf(out, "%" PRId64 " h %02" PRId64 " min", s / 3600, s % 3600 / 60);
    } else {
        buf_putf(out, "%" PRId64 " d %02" PRId64 " h", s / 86400, s % 86400 / 3600);
    }
}

static bool is_name_character(uint8_t c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '.' ||
           c == '_' || c == '-';
}

bool cli_text_is_topic_name(struct slice name, const char **ret_reason)
{
    if (name.len == 0) {
        *ret_reason = "is empty";
        return false;
    }
    if (slice_equal_str(name, ".") || slice_equal_str(name, "..")) {
        *ret_reason = "must not be \".\" or \"..\"";
        return false;
    }
    for (size_t i = 0; i < name.len; i++) {
        if (!is_name_character(name.ptr[i])) {
            *ret_reason = "holds a character other than letters, digits, \".\", \"_\" and \"-\"";
            return false;
        }
    }
    if (name.len > TOPIC_NAME_MAX) {
        *ret_reason = "is longer than 249 characters";
        return false;
    }
    return true;
}

bool cli_text_parse_int(const char *text, int64_t min, int64_t max, int64_t *ret_number)
{
    const char *c = text;
    bool is_negative = *c == '-';
    if (is_negative) {
        c++;
    }
    if (*c == '\0') {
        return false;
    }
    int64_t number = 0;
    for (; *c != '\0'; c++) {
        if (*c < '0' || *c > '9' || __builtin_mul_overflow(number, (int64_t)10, &number) ||
            __builtin_add_overflow(number, (int64_t)(*c - '0'), &number)) {
            return false;
        }
    }
    number = is_negative ? -number : number;
    if (number < min || number > max) {
        return false;
    }
    *ret_number = number;
    return true;
}

/* Bytes of one unit: "" and "B" is 1, "k" or "kB" 1000, "KiB" 1024, and so on; 0 = no unit. */
static int64_t rate_unit(struct slice unit)
{
    static const struct {
        const char *name;
        int64_t bytes;
    } units[] = {{"", 1},           {"B", 1},           {"k", 1000},      {"K", 1000},
                 {"kB", 1000},      {"KB", 1000},       {"M", 1000000},   {"MB", 1000000},
                 {"G", 1000000000}, {"GB", 1000000000}, {"KiB", 1 << 10}, {"MiB", 1 << 20},
                 {"GiB", 1 << 30}};
    for (size_t i = 0; i < ARRAY_LEN(units); i++) {
        if (slice_equal_str(unit, units[i].name)) {
            return units[i].bytes;
        }
    }
    return 0;
}

int cli_text_parse_rate(const char *text, int64_t *ret_rate, struct errmsg *em)
{
    if (strcmp(text, "none") == 0 || strcmp(text, "-1") == 0) {
        *ret_rate = CLI_RATE_NONE;
        return 0;
    }
    if (text[0] == '-') {
        return errmsg_set(em, E_INVALID,
                          "the rate %.40s is negative; \"none\" (or -1) means without a limit",
                          text);
    }
    size_t digits = strspn(text, "0123456789");
    struct slice unit = slice_str(text + digits);
    if (unit.len >= 2 && memcmp(unit.ptr + unit.len - 2, "/s", 2) == 0) {
        unit.len -= 2;
    }
    int64_t bytes = rate_unit(unit);
    if (digits == 0 || bytes == 0) {
        return errmsg_set(
            em, E_INVALID,
            "\"%.40s\" is no rate: a whole number of bytes a second is expected, as in "
            "50000000 or 50MB",
            text);
    }
    int64_t rate = 0;
    bool is_large = false;
    for (size_t i = 0; i < digits; i++) {
        is_large = is_large || __builtin_mul_overflow(rate, (int64_t)10, &rate) ||
                   __builtin_add_overflow(rate, (int64_t)(text[i] - '0'), &rate);
    }
    if (is_large || __builtin_mul_overflow(rate, bytes, &rate)) {
        return errmsg_set(em, E_INVALID, "the rate %.40s is beyond %" PRId64, text, INT64_MAX);
    }
    if (rate == 0) {
        return errmsg_set(
            em, E_INVALID,
            "a rate of 0 would stop the moves: to stop them use klamm moves pause, for no "
            "limit say none");
    }
    *ret_rate = rate;
    return 0;
}

void cli_text_put_time(struct buf *out, int64_t time_ms)
{
    time_t seconds = (time_t)(time_ms / 1000);
    struct tm utc = {0};
    char text[32] = "";
    (void)gmtime_r(&seconds, &utc); /* fails beyond the year 2^31 only */
    (void)strftime(text, sizeof text, "%Y-%m-%d %H:%M:%S UTC", &utc); /* else it stays empty */
    buf_put_str(out, text);
}

bool cli_text_ids_has(struct klamm_ids ids, int32_t id)
{
    for (int32_t i = 0; i < ids.count; i++) {
        if (ids.list[i] == id) {
            return true;
        }
    }
    return false;
}

bool cli_text_ids_equal(struct klamm_ids a, struct klamm_ids b)
{
    return a.count == b.count &&
           (a.count == 0 || memcmp(a.list, b.list, (size_t)a.count * sizeof *a.list) == 0);
}

bool cli_text_ids_same_set(struct klamm_ids a, struct klamm_ids b)
{
    for (int32_t i = 0; i < a.count; i++) {
        if (!cli_text_ids_has(b, a.list[i])) {
            return false;
        }
    }
    for (int32_t i = 0; i < b.count; i++) {
        if (!cli_text_ids_has(a, b.list[i])) {
            return false;
        }
    }
    return true;
}
