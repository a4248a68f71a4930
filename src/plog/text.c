/*
 * Lines, words and numbers of a slice. Pure.
 */
#include "plog/text.h"

bool plog_text_line(struct slice *text, struct slice *ret_line)
{
    if (text->len == 0) {
        return false;
    }
    const uint8_t *end = memchr(text->ptr, '\n', text->len);
    size_t len = end == NULL ? text->len : (size_t)(end - text->ptr);
    size_t used = end == NULL ? len : len + 1;
    *ret_line = slice_of(text->ptr, len > 0 && text->ptr[len - 1] == '\r' ? len - 1 : len);
    *text = slice_of(text->ptr + used, text->len - used);
    return true;
}

bool plog_text_word(struct slice *line, struct slice *ret_word)
{
    size_t start = 0;
    while (start < line->len && line->ptr[start] == ' ') {
        start++;
    }
    size_t end = start;
    while (end < line->len && line->ptr[end] != ' ') {
        end++;
    }
    *ret_word = slice_of(line->ptr + start, end - start);
    *line = slice_of(line->ptr + end, line->len - end);
    return end > start;
}

int plog_text_number(struct slice word, int64_t *ret_value)
{
    size_t i = 0;
    bool is_negative = word.len > 0 && word.ptr[0] == '-';
    int64_t value = 0;
    for (i = is_negative ? 1 : 0; i < word.len; i++) {
        int digit = word.ptr[i] - '0';
        if (digit < 0 || digit > 9 || __builtin_mul_overflow(value, 10, &value) ||
            __builtin_sub_overflow(value, digit, &value)) {
            return -E_MALFORMED;
        }
    }
    /* Gathered as a negative number, which has the larger range. */
    if (i == (is_negative ? 1U : 0U) || (!is_negative && value == INT64_MIN)) {
        return -E_MALFORMED;
    }
    *ret_value = is_negative ? value : -value;
    return 0;
}

int plog_text_take(struct slice *line, int64_t min, int64_t max, int64_t *ret_value)
{
    struct slice word;
    int64_t value = 0;
    if (!plog_text_word(line, &word) || plog_text_number(word, &value) != 0 || value < min ||
        value > max) {
        return -E_MALFORMED;
    }
    *ret_value = value;
    return 0;
}
