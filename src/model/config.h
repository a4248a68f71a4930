/*
 * Configuration properties: Kafka's names, types, defaults and ranges, and sets of values.
 *
 * The table (config_table.c) is the only list of what we know; DescribeConfigs, CreateTopics and the
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
    bool is_stored_only;      /* and is never read from the properties file */
    bool is_replica_list;     /* lists: "*" alone, or partition:broker items, or nothing */
    const char *doc;          /* one sentence */
};

/* The keys, in the order of their rows in config_table.c. */
enum config_broker_key {
    CONFIG_BROKER_ID,
    CONFIG_BROKER_ID_GENERATION,
    CONFIG_BROKER_RESERVED_ID_MAX,
    CONFIG_BROKER_LISTENERS,
    CONFIG_BROKER_ADVERTISED_LISTENERS,
    CONFIG_BROKER_LISTENER_PROTOCOL_MAP,
    CONFIG_BROKER_INTER_BROKER_LISTENER,
    CONFIG_BROKER_SECURITY_PROTOCOL,
    CONFIG_BROKER_ZOOKEEPER_CONNECT,
    CONFIG_BROKER_ZOOKEEPER_CONNECTION_TIMEOUT_MS,
    CONFIG_BROKER_ZOOKEEPER_SET_ACL,
    CONFIG_BROKER_ZOOKEEPER_DIGEST_FILE,
    CONFIG_BROKER_RACK,
    CONFIG_BROKER_SESSION_TIMEOUT_MS,
    CONFIG_BROKER_LOG_DIR,
    CONFIG_BROKER_LOG_DIRS,
    CONFIG_BROKER_INTER_BROKER_PROTOCOL_VERSION,
    CONFIG_BROKER_NUM_PARTITIONS,
    CONFIG_BROKER_DEFAULT_REPLICATION_FACTOR,
    CONFIG_BROKER_AUTO_CREATE_TOPICS,
    CONFIG_BROKER_DELETE_TOPICS,
    CONFIG_BROKER_AUTO_LEADER_REBALANCE,
    CONFIG_BROKER_LEADER_IMBALANCE_CHECK_S,
    CONFIG_BROKER_LEADER_IMBALANCE_PERCENT,
    CONFIG_BROKER_UNCLEAN_ELECTION,
    CONFIG_BROKER_MIN_INSYNC_REPLICAS,
    CONFIG_BROKER_MESSAGE_MAX_BYTES,
    CONFIG_BROKER_COMPRESSION_TYPE,
    CONFIG_BROKER_MAX_CONNECTIONS,
    CONFIG_BROKER_CONNECTIONS_MAX_IDLE_MS,
    CONFIG_BROKER_SOCKET_REQUEST_MAX_BYTES,
    CONFIG_BROKER_QUEUED_MAX_REQUEST_BYTES,
    CONFIG_BROKER_FETCH_MAX_BYTES,
    CONFIG_BROKER_FETCH_SESSION_SLOTS,
    CONFIG_BROKER_LOG_SEGMENT_BYTES,
    CONFIG_BROKER_LOG_ROLL_HOURS,
    CONFIG_BROKER_LOG_ROLL_MS,
    CONFIG_BROKER_LOG_RETENTION_HOURS,
    CONFIG_BROKER_LOG_RETENTION_MINUTES,
    CONFIG_BROKER_LOG_RETENTION_MS,
    CONFIG_BROKER_LOG_RETENTION_BYTES,
    CONFIG_BROKER_LOG_RETENTION_CHECK_MS,
    CONFIG_BROKER_LOG_CLEANUP_POLICY,
    CONFIG_BROKER_LOG_INDEX_INTERVAL_BYTES,
    CONFIG_BROKER_LOG_INDEX_SIZE_MAX_BYTES,
    CONFIG_BROKER_LOG_SEGMENT_DELETE_DELAY_MS,
    CONFIG_BROKER_LOG_TIMESTAMP_TYPE,
    CONFIG_BROKER_LOG_TIMESTAMP_BEFORE_MAX_MS,
    CONFIG_BROKER_LOG_TIMESTAMP_AFTER_MAX_MS,
    CONFIG_BROKER_PRODUCER_ID_EXPIRATION_MS,
    CONFIG_BROKER_REPLICA_LAG_TIME_MAX_MS,
    CONFIG_BROKER_REPLICA_FETCH_WAIT_MAX_MS,
    CONFIG_BROKER_REPLICA_FETCH_MIN_BYTES,
    CONFIG_BROKER_REPLICA_FETCH_MAX_BYTES,
    CONFIG_BROKER_REPLICA_FETCH_RESPONSE_MAX_BYTES,
    CONFIG_BROKER_REPLICA_FETCH_BACKOFF_MS,
    CONFIG_BROKER_NUM_REPLICA_FETCHERS,
    CONFIG_BROKER_LOG_FLUSH_CHECKPOINT_MS,
    CONFIG_BROKER_REPLICA_HW_CHECKPOINT_MS,
    CONFIG_BROKER_REPLICA_SOCKET_TIMEOUT_MS,
    CONFIG_BROKER_CONTROLLER_SOCKET_TIMEOUT_MS,
    CONFIG_BROKER_CONTROLLED_SHUTDOWN,
    CONFIG_BROKER_CONTROLLED_SHUTDOWN_MAX_RETRIES,
    CONFIG_BROKER_CONTROLLED_SHUTDOWN_BACKOFF_MS,
    CONFIG_BROKER_LEADER_THROTTLED_RATE,
    CONFIG_BROKER_FOLLOWER_THROTTLED_RATE,
    CONFIG_BROKER_VALIDATE_RECORDS,
    CONFIG_BROKER_COPY_CACHED_BYTES_MAX,
    CONFIG_BROKER_MOVES_IN,
    CONFIG_BROKER_MOVES_OUT,
    CONFIG_BROKER_MOVES_CLUSTER,
    CONFIG_BROKER_MOVES_BYTES,
    CONFIG_BROKER_HTTP_HOST,
    CONFIG_BROKER_HTTP_PORT,
    CONFIG_BROKER_COUNT
};

enum config_topic_key {
    CONFIG_TOPIC_CLEANUP_POLICY,
    CONFIG_TOPIC_COMPRESSION_TYPE,
    CONFIG_TOPIC_FOLLOWER_THROTTLED_REPLICAS,
    CONFIG_TOPIC_INDEX_INTERVAL_BYTES,
    CONFIG_TOPIC_LEADER_THROTTLED_REPLICAS,
    CONFIG_TOPIC_MAX_MESSAGE_BYTES,
    CONFIG_TOPIC_TIMESTAMP_AFTER_MAX_MS,
    CONFIG_TOPIC_TIMESTAMP_BEFORE_MAX_MS,
    CONFIG_TOPIC_TIMESTAMP_TYPE,
    CONFIG_TOPIC_MIN_INSYNC_REPLICAS,
    CONFIG_TOPIC_RETENTION_BYTES,
    CONFIG_TOPIC_RETENTION_MS,
    CONFIG_TOPIC_SEGMENT_BYTES,
    CONFIG_TOPIC_SEGMENT_INDEX_BYTES,
    CONFIG_TOPIC_SEGMENT_MS,
    CONFIG_TOPIC_UNCLEAN_ELECTION,
    CONFIG_TOPIC_COUNT
};

int config_count(enum config_scope scope);
/* key must be in [0, config_count). */
const struct config_def *config_def_at(enum config_scope scope, int key);
/* CONFIG_KEY_NONE when the name is unknown. */
int config_find(enum config_scope scope, struct slice name);
/* 0, or -E_INVALID with an em that names key, value (its beginning) and reason. */
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
#define CONFIG_NUMBER_SIZE 24 /* bytes that any number fits into as text */
/* Any type as text, with where it came from; NULL = no value. Borrowed until a set of the chain
 * changes, or for as long as number, which holds the text of a number derived from a fallback. */
const char *config_get_text(const struct config_set *set, int key,
                            char number[static CONFIG_NUMBER_SIZE], enum config_source *ret_source);
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
