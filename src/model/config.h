/*
 * Configuration properties: Kafka's names, types, defaults and ranges, and sets of values.
 *
 * The table (config_list.h) is the only list of what we know; DescribeConfigs, CreateTopics and the
 * start of a broker all read it. A value is looked up through a chain of sets: topic overrides ->
 * dynamic broker -> dynamic cluster default -> static file -> the table's default. A topic property
 * falls back to the broker property its row names (retention.ms -> log.retention.ms -> ...minutes).
 * Invariant: a set only ever holds values that passed config_check. Pure; owned by one shard.
 */
#pragma once

#include "base/error.h"
#include "base/slice.h"

/* Kafka's config_type codes of DescribeConfigs. */
enum config_type {
    CONFIG_BOOL = 1,
    CONFIG_STRING = 2,
    CONFIG_INT = 3,
    CONFIG_SHORT = 4,
    CONFIG_LONG = 5,
    CONFIG_DOUBLE = 6,
    CONFIG_LIST = 7,
};

enum config_scope {
    CONFIG_SCOPE_BROKER,
    CONFIG_SCOPE_TOPIC,
};

/* Kafka's config_source codes of DescribeConfigs. */
enum config_source {
    CONFIG_SOURCE_TOPIC = 1,
    CONFIG_SOURCE_DYNAMIC_BROKER = 2,
    CONFIG_SOURCE_DYNAMIC_DEFAULT = 3,
    CONFIG_SOURCE_STATIC = 4,
    CONFIG_SOURCE_DEFAULT = 5,
};

#define CONFIG_KEY_NONE (-1)

struct config_def {
    const char *name;
    enum config_type type;
    const char *default_text; /* NULL = no value; unused while fallback is set */
    int64_t min;              /* numbers: smallest accepted */
    int64_t max;              /* numbers: largest accepted */
    const char *allowed;      /* strings and list items: accepted ones, '|' between; NULL = any */
    int fallback;             /* broker key asked when nothing is set; CONFIG_KEY_NONE = none */
    int64_t fallback_factor;  /* numbers >= 0 from the fallback are multiplied by this */
    bool is_dynamic;          /* may be changed while running */
    const char *doc;          /* one sentence */
};

/* Keys: CONFIG_BROKER_<ID> and CONFIG_TOPIC_<ID>, from the table. */
#include "model/config_list.h"
enum config_broker_key {
#define CONFIG_ENUM(id, ...) CONFIG_BROKER_##id,
    CONFIG_BROKER_LIST(CONFIG_ENUM)
#undef CONFIG_ENUM
    CONFIG_BROKER_COUNT
};
enum config_topic_key {
#define CONFIG_ENUM(id, ...) CONFIG_TOPIC_##id,
    CONFIG_TOPIC_LIST(CONFIG_ENUM)
#undef CONFIG_ENUM
    CONFIG_TOPIC_COUNT
};

int config_count(enum config_scope scope);
/* key must be in [0, config_count). */
const struct config_def *config_def_at(enum config_scope scope, int key);
/* CONFIG_KEY_NONE when the name is unknown. */
int config_find(enum config_scope scope, struct slice name);
/* 0, or -E_INVALID with an em that names key, value and reason. */
int config_check(const struct config_def *def, struct slice value, struct errmsg *em) MUST_CHECK;

/* ---- sets ---- */

struct config_set {
    enum config_scope scope;
    enum config_source source;
    const struct config_set *parent; /* asked next; must outlive this; NULL = none */
    char **texts;                    /* private: one a key, NULL = not set */
};

/* parent's scope is the same, or broker under a topic set. */
void config_set_init(struct config_set *set, enum config_scope scope, enum config_source source,
                     const struct config_set *parent);
void config_set_deinit(struct config_set *set);
/* -E_NOT_FOUND (em: unknown) or -E_INVALID (em names key, value and reason); set unchanged then. */
int config_set_put(struct config_set *set, struct slice name, struct slice value,
                   struct errmsg *em) MUST_CHECK;
void config_set_remove(struct config_set *set, int key);
/* Forgets all values of this set. */
void config_set_clear(struct config_set *set);
/* What this set itself holds for key, or NULL. */
const char *config_set_own(const struct config_set *set, int key);

/* ---- lookups through the chain; key belongs to set's scope ---- */

int64_t config_get_number(const struct config_set *set, int key); /* INT, SHORT, LONG; unset = -1 */
bool config_get_bool(const struct config_set *set, int key);
/* Borrowed until a set of the chain changes; NULL = no value. Numbers derived from a fallback with a
 * factor have no stored text: see config_get_text. */
const char *config_get_string(const struct config_set *set, int key);
/* Any type as text into ret (size bytes, truncated to fit), with where it came from. False = null. */
bool config_get_text(const struct config_set *set, int key, char *ret, size_t size,
                     enum config_source *ret_source);
/* One value that stands for a property, as DescribeConfigs lists them: the strongest first. */
struct config_synonym {
    const char *name;  /* of the property that holds it */
    const char *value; /* borrowed; NULL = no value */
    enum config_source source;
};
#define CONFIG_SYNONYMS_MAX 32
/* Every value set for key or for what it falls back to, then the default. Returns how many. */
int config_synonyms(const struct config_set *set, int key,
                    struct config_synonym ret[CONFIG_SYNONYMS_MAX]);
/* A LIST value has the item. */
bool config_list_has(const char *list, const char *item);

/* ---- text form ---- */

/* Splits one line of a properties file or a --override option at its first '=' and trims both sides.
 * A blank line or a comment ('#', '!') gives an empty key. -E_MALFORMED: no '=', or no key. */
int config_parse_line(struct slice line, struct slice *ret_key, struct slice *ret_value,
                      struct errmsg *em) MUST_CHECK;
