/*
 * Value checks and chained lookups of config.h. Lookups go sets first, fallback properties second, the
 * table's default last; the chain is as long as the table makes it, never as long as input makes it.
 */
#include "model/config.h"

#include "base/alloc.h"
#include "base/check.h"
#include "model/config_table.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#define VALUE_LEN_MAX 32767 /* bytes; the protocol has no longer strings to describe it with */

int config_count(enum config_scope scope)
{
    return scope == CONFIG_SCOPE_TOPIC ? (int)CONFIG_TOPIC_COUNT : (int)CONFIG_BROKER_COUNT;
}

const struct config_def *config_def_at(enum config_scope scope, int key)
{
    CHECK(key >= 0 && key < config_count(scope));
    return &config_table_of(scope)[key];
}

int config_find(enum config_scope scope, struct slice name)
{
    for (int key = 0; key < config_count(scope); key++) {
        if (slice_equal_str(name, config_def_at(scope, key)->name)) {
            return key;
        }
    }
    return CONFIG_KEY_NONE;
}

/* ---- checking values ---- */

static bool parse_number(struct slice value, int64_t *ret)
{
    char text[24];
    if (value.len == 0 || value.len >= sizeof text) {
        return false;
    }
    memcpy(text, value.ptr, value.len);
    text[value.len] = '\0';
    bool has_digit_first = text[0] >= '0' && text[0] <= '9';
    bool has_sign_first = text[0] == '-' && text[1] >= '0' && text[1] <= '9';
    if (!has_digit_first && !has_sign_first) {
        return false;
    }
    char *end;
    errno = 0;
    long long number = strtoll(text, &end, 10);
    if (errno != 0 || *end != '\0') {
        return false;
    }
    *ret = number;
    return true;
}

/* Is item one of the words of list, which has sep between them? */
static bool words_have(const char *list, char sep, struct slice item)
{
    const char *word = list;
    while (true) {
        const char *end = strchr(word, sep);
        size_t len = end == NULL ? strlen(word) : (size_t)(end - word);
        if (slice_equal(slice_of(word, len), item)) {
            return true;
        }
        if (end == NULL) {
            return false;
        }
        word = end + 1;
    }
}

static struct slice trim(struct slice s)
{
    while (s.len > 0 && (s.ptr[0] == ' ' || s.ptr[0] == '\t' || s.ptr[0] == '\r')) {
        s.ptr++;
        s.len--;
    }
    while (s.len > 0 && strchr(" \t\r\n", s.ptr[s.len - 1]) != NULL) {
        s.len--;
    }
    return s;
}

static bool list_is_allowed(const char *allowed, struct slice value)
{
    if (value.len == 0) {
        return false;
    }
    struct slice rest = value;
    while (true) {
        const uint8_t *comma = memchr(rest.ptr, ',', rest.len);
        size_t len = comma == NULL ? rest.len : (size_t)(comma - rest.ptr);
        if (!words_have(allowed, '|', trim(slice_of(rest.ptr, len)))) {
            return false;
        }
        if (comma == NULL) {
            return true;
        }
        rest = slice_of(comma + 1, rest.len - len - 1);
    }
}

/* Digits up to len, at most INT32_MAX. */
static bool is_id(const uint8_t *ptr, size_t len)
{
    int64_t number = 0;
    for (size_t i = 0; i < len && number <= INT32_MAX; i++) {
        if (ptr[i] < '0' || ptr[i] > '9') {
            return false;
        }
        number = number * 10 + (ptr[i] - '0');
    }
    return len > 0 && number <= INT32_MAX;
}

/* "partition:broker" items with commas between. */
static bool list_names_replicas(struct slice value)
{
    struct slice rest = value;
    while (true) {
        const uint8_t *comma = memchr(rest.ptr, ',', rest.len);
        size_t len = comma == NULL ? rest.len : (size_t)(comma - rest.ptr);
        struct slice item = trim(slice_of(rest.ptr, len));
        const uint8_t *colon = item.len == 0 ? NULL : memchr(item.ptr, ':', item.len);
        size_t left = colon == NULL ? 0 : (size_t)(colon - item.ptr);
        if (colon == NULL || !is_id(item.ptr, left) || !is_id(colon + 1, item.len - left - 1)) {
            return false;
        }
        if (comma == NULL) {
            return true;
        }
        rest = slice_of(comma + 1, rest.len - len - 1);
    }
}

static int refuse(const struct config_def *def, struct slice value, struct errmsg *em,
                  const char *reason)
{
    return errmsg_set(em, E_INVALID, "Invalid value %.*s for configuration %s: %s",
                      (int)MIN(value.len, 200), (const char *)value.ptr, def->name, reason);
}

static int check_number(const struct config_def *def, struct slice value, struct errmsg *em)
{
    char reason[96];
    int64_t number;
    if (!parse_number(value, &number)) {
        return refuse(def, value, em, "not a whole number");
    }
    if (number < def->min || number > def->max) {
        (void)snprintf(reason, sizeof reason, "must be from %" PRId64 " to %" PRId64, def->min,
                       def->max);
        return refuse(def, value, em, reason);
    }
    return 0;
}

int config_check(const struct config_def *def, struct slice value, struct errmsg *em)
{
    char reason[ERRMSG_SIZE];
    if (slice_is_null(value) || memchr(value.ptr, '\0', value.len) != NULL) {
        return refuse(def, slice_str("null"), em, "a value is needed");
    }
    if (value.len > VALUE_LEN_MAX) {
        return refuse(def, value, em, "longer than 32767 bytes");
    }
    switch (def->type) {
    case CONFIG_BOOL:
        if (!slice_equal_str(value, "true") && !slice_equal_str(value, "false")) {
            return refuse(def, value, em, "must be true or false");
        }
        return 0;
    case CONFIG_INT:
    case CONFIG_SHORT:
    case CONFIG_LONG:
        return check_number(def, value, em);
    case CONFIG_DOUBLE:
    case CONFIG_STRING:
    case CONFIG_LIST:
        break;
    }
    if (def->is_replica_list && value.len > 0 && !slice_equal_str(value, "*") &&
        !list_names_replicas(value)) {
        return refuse(def, value, em, "must be * or partition:broker,partition:broker,...");
    }
    bool is_ok =
        def->allowed == NULL || (def->type == CONFIG_LIST ? list_is_allowed(def->allowed, value)
                                                          : words_have(def->allowed, '|', value));
    if (!is_ok) {
        (void)snprintf(reason, sizeof reason, "must be of %.400s", def->allowed);
        return refuse(def, value, em, reason);
    }
    return 0;
}

/* ---- sets ---- */

void config_set_init(struct config_set *set, enum config_scope scope, enum config_source source,
                     const struct config_set *parent)
{
    CHECK(parent == NULL || parent->scope == scope || parent->scope == CONFIG_SCOPE_BROKER);
    *set = (struct config_set){.scope = scope, .source = source, .parent = parent};
    set->texts = xalloc((size_t)config_count(scope) * sizeof *set->texts);
}

void config_set_clear(struct config_set *set)
{
    for (int key = 0; key < config_count(set->scope); key++) {
        config_set_remove(set, key);
    }
}

void config_set_deinit(struct config_set *set)
{
    if (set->texts != NULL) {
        config_set_clear(set);
        free(set->texts);
        set->texts = NULL;
    }
}

int config_set_put(struct config_set *set, struct slice name, struct slice value, struct errmsg *em)
{
    int key = config_find(set->scope, name);
    if (key == CONFIG_KEY_NONE) {
        return errmsg_set(em, E_NOT_FOUND, "Unknown configuration %.*s", (int)MIN(name.len, 200),
                          (const char *)name.ptr);
    }
    int err = config_check(config_def_at(set->scope, key), value, em);
    if (err < 0) {
        return err;
    }
    free(set->texts[key]);
    set->texts[key] = slice_dup(value);
    return 0;
}

void config_set_remove(struct config_set *set, int key)
{
    free(set->texts[key]);
    set->texts[key] = NULL;
}

const char *config_set_own(const struct config_set *set, int key)
{
    return set->texts[key];
}

/* ---- lookups ---- */

/* Where a value was found: its text as stored, and what numbers are to be multiplied with. */
struct found {
    const char *text; /* NULL = no value */
    int64_t factor;
    enum config_source source;
};

/* The first set of the chain that is of scope. */
static const struct config_set *chain_of(const struct config_set *set, enum config_scope scope)
{
    while (set != NULL && set->scope != scope) {
        set = set->parent;
    }
    return set;
}

static struct found find_value(const struct config_set *set, int key)
{
    enum config_scope scope = set->scope;
    int64_t factor = 1;
    while (true) {
        const struct config_set *s = chain_of(set, scope);
        for (; s != NULL && s->scope == scope; s = s->parent) {
            if (s->texts[key] != NULL) {
                return (struct found){s->texts[key], factor, s->source};
            }
        }
        const struct config_def *def = config_def_at(scope, key);
        if (def->fallback == CONFIG_KEY_NONE) {
            return (struct found){def->default_text, factor, CONFIG_SOURCE_DEFAULT};
        }
        factor *= def->fallback_factor;
        key = def->fallback;
        scope = CONFIG_SCOPE_BROKER;
    }
}

static int64_t number_of(const struct found *found)
{
    int64_t number = -1;
    if (found->text == NULL || !parse_number(slice_str(found->text), &number) || number < 0) {
        return number;
    }
    return number > INT64_MAX / found->factor ? INT64_MAX : number * found->factor;
}

int64_t config_get_number(const struct config_set *set, int key)
{
    struct found found = find_value(set, key);
    return number_of(&found);
}

bool config_get_bool(const struct config_set *set, int key)
{
    struct found found = find_value(set, key);
    return found.text != NULL && strcmp(found.text, "true") == 0;
}

const char *config_get_string(const struct config_set *set, int key)
{
    return find_value(set, key).text;
}

const char *config_get_text(const struct config_set *set, int key,
                            char number[static CONFIG_NUMBER_SIZE], enum config_source *ret_source)
{
    struct found found = find_value(set, key);
    *ret_source = found.source;
    if (found.text == NULL || found.factor == 1) {
        return found.text;
    }
    (void)snprintf(number, CONFIG_NUMBER_SIZE, "%" PRId64, number_of(&found));
    return number;
}

int config_synonyms(const struct config_set *set, int key,
                    struct config_synonym ret[CONFIG_SYNONYMS_MAX])
{
    enum config_scope scope = set->scope;
    int count = 0;
    while (true) {
        const struct config_def *def = config_def_at(scope, key);
        const struct config_set *s = chain_of(set, scope);
        for (; s != NULL && s->scope == scope; s = s->parent) {
            if (s->texts[key] != NULL) {
                CHECK(count < CONFIG_SYNONYMS_MAX);
                ret[count++] = (struct config_synonym){def->name, s->texts[key], s->source};
            }
        }
        if (def->fallback == CONFIG_KEY_NONE) {
            CHECK(count < CONFIG_SYNONYMS_MAX);
            ret[count++] =
                (struct config_synonym){def->name, def->default_text, CONFIG_SOURCE_DEFAULT};
            return count;
        }
        key = def->fallback;
        scope = CONFIG_SCOPE_BROKER;
    }
}

bool config_list_has(const char *list, const char *item)
{
    struct slice rest = slice_str(list);
    while (rest.len > 0) {
        const uint8_t *comma = memchr(rest.ptr, ',', rest.len);
        size_t len = comma == NULL ? rest.len : (size_t)(comma - rest.ptr);
        if (slice_equal_str(trim(slice_of(rest.ptr, len)), item)) {
            return true;
        }
        if (comma == NULL) {
            return false;
        }
        rest = slice_of(comma + 1, rest.len - len - 1);
    }
    return false;
}

int config_parse_line(struct slice line, struct slice *ret_key, struct slice *ret_value,
                      struct errmsg *em)
{
    struct slice text = trim(line);
    if (text.len == 0 || text.ptr[0] == '#' || text.ptr[0] == '!') {
        *ret_key = slice_str("");
        *ret_value = slice_str("");
        return 0;
    }
    const uint8_t *equals = memchr(text.ptr, '=', text.len);
    if (equals == NULL || equals == text.ptr) {
        return errmsg_set(em, E_MALFORMED, "\"%.*s\" is not key=value", (int)MIN(text.len, 200),
                          (const char *)text.ptr);
    }
    size_t key_len = (size_t)(equals - text.ptr);
    *ret_key = trim(slice_of(text.ptr, key_len));
    *ret_value = trim(slice_of(equals + 1, text.len - key_len - 1));
    return 0;
}
