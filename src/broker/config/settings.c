/*
 * Chain of sets: topic -> dynamic broker -> dynamic default -> static. The watch on /config/changes is
 * set before the entities are read, so that a change during the reading is seen twice rather than
 * never.
 * Invariant: a reading is in `readings` until it is answered. A detach keeps those that are left in
 * `readings_lost`, until they are answered for nobody or the next session shows that they were dropped.
 */
#include "broker/config/settings.h"

#include "base/alloc.h"
#include "base/check.h"
#include "base/map.h"
#include "broker/config/settings_private.h"
#include "broker/replicas/replicas.h"
#include "metastore/metastore.h"
#include "metastore/path.h"
#include "metastore/znode.h"
#include "model/cluster.h"
#include "moves/moves.h"

#include <stdio.h>
#include <stdlib.h>

struct settings_topic {
    UT_hash_handle hh;
    char *name;
    struct config_set set;
    struct settings_known known;
    bool is_listed; /* seen in the latest list of /config/topics */
};

/* One entity that is being read. */
struct reading {
    struct list_node link;
    struct settings *settings;
    char *topic; /* NULL: a broker entity */
    bool is_default;
    bool is_lost;
};

struct settings *settings_new(int32_t broker_id, void (*log)(void *arg, const char *line),
                              void *log_arg)
{
    struct settings *s = xalloc(sizeof *s);
    s->log = log;
    s->log_arg = log_arg;
    s->broker_id = broker_id;
    list_init(&s->readings);
    list_init(&s->alterings);
    list_init(&s->readings_lost);
    list_init(&s->alterings_lost);
    config_set_init(&s->fixed, CONFIG_SCOPE_BROKER, CONFIG_SOURCE_STATIC, NULL);
    config_set_init(&s->dynamic_default, CONFIG_SCOPE_BROKER, CONFIG_SOURCE_DYNAMIC_DEFAULT,
                    &s->fixed);
    config_set_init(&s->dynamic, CONFIG_SCOPE_BROKER, CONFIG_SOURCE_DYNAMIC_BROKER,
                    &s->dynamic_default);
    config_set_init(&s->no_overrides, CONFIG_SCOPE_TOPIC, CONFIG_SOURCE_TOPIC, &s->dynamic);
    return s;
}

static void topic_remove(struct settings *s, struct settings_topic *topic)
{
    HASH_DELETE(hh, s->topics, topic);
    config_set_deinit(&topic->set);
    free(topic->name);
    free(topic);
}

static void reading_free(struct list *of, struct reading *reading)
{
    list_remove(of, &reading->link);
    free(reading->topic);
    free(reading);
}

/* The session that was asked is closed: it answers nothing any more. */
static void lost_forget(struct settings *s)
{
    struct list_node *node;
    while ((node = list_first(&s->readings_lost)) != NULL) {
        reading_free(&s->readings_lost, CONTAINER_OF(node, struct reading, link));
    }
    settings_alterings_forget(s);
}

void settings_free(struct settings *s)
{
    if (s == NULL) {
        return;
    }
    settings_detach(s);
    lost_forget(s);
    while (s->topics != NULL) {
        topic_remove(s, s->topics);
    }
    config_set_deinit(&s->no_overrides);
    config_set_deinit(&s->dynamic);
    config_set_deinit(&s->dynamic_default);
    config_set_deinit(&s->fixed);
    free(s);
}

int settings_put(struct settings *s, const char *key, const char *value, struct errmsg *em)
{
    int found = config_find(CONFIG_SCOPE_BROKER, slice_str(key));
    if (found != CONFIG_KEY_NONE && config_def_at(CONFIG_SCOPE_BROKER, found)->is_stored_only) {
        return errmsg_set(em, E_NOT_FOUND, "Configuration %s holds only when set while running",
                          key);
    }
    return config_set_put(&s->fixed, slice_str(key), slice_str(value), em);
}

/* ---- lookups ---- */

static struct settings_topic *topic_find(const struct settings *s, struct slice name)
{
    struct settings_topic *topic;
    HASH_FIND(hh, s->topics, name.ptr, name.len, topic);
    return topic;
}

const struct config_set *settings_broker(const struct settings *s)
{
    return &s->dynamic;
}

const struct config_set *settings_broker_default(const struct settings *s)
{
    return &s->dynamic_default;
}

const struct config_set *settings_alter_set(const struct settings *s, const char *topic)
{
    return topic == NULL ? &s->dynamic : settings_topic(s, slice_str(topic));
}

const struct config_set *settings_topic(const struct settings *s, struct slice name)
{
    const struct settings_topic *topic = topic_find(s, name);
    return topic == NULL ? &s->no_overrides : &topic->set;
}

static int32_t broker_i32(const struct settings *s, enum config_broker_key key)
{
    return (int32_t)config_get_number(&s->dynamic, (int)key);
}

static int64_t broker_i64(const struct settings *s, enum config_broker_key key)
{
    return config_get_number(&s->dynamic, (int)key);
}

void settings_fill_replicas(const struct settings *s, struct replicas_config *ret_config)
{
    replicas_config_default(ret_config);
    ret_config->broker_id = s->broker_id;
    ret_config->level = settings_level(s);
    ret_config->lag_time_max_ms = broker_i64(s, CONFIG_BROKER_REPLICA_LAG_TIME_MAX_MS);
    ret_config->fetch_wait_max_ms = broker_i32(s, CONFIG_BROKER_REPLICA_FETCH_WAIT_MAX_MS);
    ret_config->fetch_min_bytes = broker_i32(s, CONFIG_BROKER_REPLICA_FETCH_MIN_BYTES);
    ret_config->fetch_partition_bytes_max = broker_i32(s, CONFIG_BROKER_REPLICA_FETCH_MAX_BYTES);
    ret_config->fetch_response_bytes_max =
        broker_i32(s, CONFIG_BROKER_REPLICA_FETCH_RESPONSE_MAX_BYTES);
    ret_config->fetch_backoff_ms = broker_i64(s, CONFIG_BROKER_REPLICA_FETCH_BACKOFF_MS);
    ret_config->fetchers = broker_i32(s, CONFIG_BROKER_NUM_REPLICA_FETCHERS);
    ret_config->socket_timeout_ms = broker_i64(s, CONFIG_BROKER_REPLICA_SOCKET_TIMEOUT_MS);
    ret_config->high_watermark_checkpoint_ms =
        broker_i64(s, CONFIG_BROKER_REPLICA_HW_CHECKPOINT_MS);
    ret_config->flush_checkpoint_ms = broker_i64(s, CONFIG_BROKER_LOG_FLUSH_CHECKPOINT_MS);
    ret_config->retention_check_ms = broker_i64(s, CONFIG_BROKER_LOG_RETENTION_CHECK_MS);
    ret_config->file_delete_delay_ms = broker_i64(s, CONFIG_BROKER_LOG_SEGMENT_DELETE_DELAY_MS);
    ret_config->copy_cached_bytes_max = broker_i64(s, CONFIG_BROKER_COPY_CACHED_BYTES_MAX);
}

enum ibp settings_level(const struct settings *s)
{
    enum ibp level = IBP_NEWEST;
    const char *text =
        config_get_string(settings_broker(s), CONFIG_BROKER_INTER_BROKER_PROTOCOL_VERSION);
    int err = ibp_parse(slice_str(text), &level);
    CHECK(err == 0); /* the set holds only what the property accepts */
    return level;
}

void settings_fill_move_limits(const struct settings *s, struct moves_limits *ret_limits)
{
    const struct config_set *set = settings_broker_default(s);
    *ret_limits = (struct moves_limits){
        .in_per_broker = (int32_t)config_get_number(set, CONFIG_BROKER_MOVES_IN),
        .out_per_broker = (int32_t)config_get_number(set, CONFIG_BROKER_MOVES_OUT),
        .per_cluster = (int32_t)config_get_number(set, CONFIG_BROKER_MOVES_CLUSTER),
        .bytes_in_flight = config_get_number(set, CONFIG_BROKER_MOVES_BYTES)};
}

void settings_fill_rates(const struct settings *s, struct replicas_rates *ret_rates)
{
    ret_rates->leader = broker_i64(s, CONFIG_BROKER_LEADER_THROTTLED_RATE);
    ret_rates->follower = broker_i64(s, CONFIG_BROKER_FOLLOWER_THROTTLED_RATE);
}

/* What somebody stored for how long records are kept is not known: then they are kept. */
static bool is_retention_unknown(const struct settings *s, struct slice name)
{
    const struct settings_topic *topic = topic_find(s, name);
    return s->dynamic_default_known.is_unknown || s->dynamic_known.is_unknown ||
           (topic != NULL && topic->known.is_unknown);
}

void settings_fill_topic(const struct settings *s, struct slice name,
                         struct replicas_topic_config *ret_config)
{
    const struct config_set *set = settings_topic(s, name);
    const char *policy = config_get_string(set, CONFIG_TOPIC_CLEANUP_POLICY);
    *ret_config = (struct replicas_topic_config){
        .log =
            {
                .segment_bytes_max = config_get_number(set, CONFIG_TOPIC_SEGMENT_BYTES),
                .segment_ms = config_get_number(set, CONFIG_TOPIC_SEGMENT_MS),
                .index_bytes_max = config_get_number(set, CONFIG_TOPIC_SEGMENT_INDEX_BYTES),
                .index_interval_bytes = config_get_number(set, CONFIG_TOPIC_INDEX_INTERVAL_BYTES),
                .retention_bytes = config_get_number(set, CONFIG_TOPIC_RETENTION_BYTES),
                .retention_ms = config_get_number(set, CONFIG_TOPIC_RETENTION_MS),
                .producer_expiry_ms = broker_i64(s, CONFIG_BROKER_PRODUCER_ID_EXPIRATION_MS),
                .delete_old = config_list_has(policy, "delete") && !is_retention_unknown(s, name),
            },
        .min_insync_replicas = (int32_t)config_get_number(set, CONFIG_TOPIC_MIN_INSYNC_REPLICAS),
        .message_bytes_max = (int32_t)config_get_number(set, CONFIG_TOPIC_MAX_MESSAGE_BYTES),
        .is_compacted = config_list_has(policy, "compact"),
        .uses_append_time =
            strcmp(config_get_string(set, CONFIG_TOPIC_TIMESTAMP_TYPE), "LogAppendTime") == 0,
        .walks_records = config_get_bool(&s->dynamic, CONFIG_BROKER_VALIDATE_RECORDS),
        .timestamp_before_max_ms = config_get_number(set, CONFIG_TOPIC_TIMESTAMP_BEFORE_MAX_MS),
        .timestamp_after_max_ms = config_get_number(set, CONFIG_TOPIC_TIMESTAMP_AFTER_MAX_MS),
        .leader_throttled = config_get_string(set, CONFIG_TOPIC_LEADER_THROTTLED_REPLICAS),
        .follower_throttled = config_get_string(set, CONFIG_TOPIC_FOLLOWER_THROTTLED_REPLICAS),
    };
}

/* ---- reading /config ---- */

#define RETRY_MS 1000

static void changes_read(struct settings *s);
static void topics_read(struct settings *s);

/* A list cannot be read: without it the broker must not start. */
static void list_failed(struct settings *s, const char *path, int err)
{
    if (err == -E_SESSION_EXPIRED || err == -E_CLOSED) {
        return; /* the next session reads it */
    }
    if (!s->is_trouble_told && s->log != NULL) {
        char *line = xasprintf("stored configuration cannot be read: %s: %s; tried again", path,
                               error_name(err));
        s->log(s->log_arg, line);
        free(line);
    }
    s->is_trouble_told = true;
    env_timer_start(&s->retry, RETRY_MS);
}

static void lists_read_again(void *arg)
{
    struct settings *s = arg;
    if (!s->has_topic_list) {
        topics_read(s);
    }
    if (!s->is_following) {
        changes_read(s);
    }
}

static void check_loaded(struct settings *s)
{
    if (s->loaded != NULL && s->has_topic_list && list_is_empty(&s->readings)) {
        void (*loaded)(void *arg) = s->loaded;
        s->loaded = NULL;
        loaded(s->events.arg);
    }
}

static void tell_ignored(const struct settings *s, const char *entity, const struct errmsg *em)
{
    if (s->log != NULL) {
        char *line = xasprintf("stored configuration of %s: %s: ignored", entity, em->text);
        s->log(s->log_arg, line);
        free(line);
    }
}

struct put_target {
    const struct settings *settings;
    struct config_set *set;
    const char *entity;
};

/* A value that we do not know or accept is another broker's business: told, and left out. */
static void put_stored(void *arg, struct slice key, struct slice value)
{
    const struct put_target *target = arg;
    struct errmsg em;
    if (config_set_put(target->set, key, value, &em) < 0) {
        tell_ignored(target->settings, target->entity, &em);
    }
}

static void put_nothing(void *arg, struct slice key, struct slice value)
{
    (void)arg;
    (void)key;
    (void)value;
}

static const char *entity_of(const struct reading *reading)
{
    return reading->topic != NULL ? reading->topic : "the broker";
}

static struct slice path_of(const struct reading *reading, struct metastore_path *path)
{
    int32_t broker = reading->is_default ? -1 : reading->settings->broker_id;
    return reading->topic != NULL ? metastore_path_topic_config(path, slice_str(reading->topic))
                                  : metastore_path_broker_config(path, broker);
}

static void tell_unread(const struct reading *reading, const char *reason)
{
    struct metastore_path path;
    struct errmsg em;
    struct slice at = path_of(reading, &path);
    (void)errmsg_set(&em, E_REFUSED, "%.*s cannot be read: %s", SLICE_ARG(at), reason);
    tell_ignored(reading->settings, entity_of(reading), &em);
}

static bool set_read(const struct reading *reading, struct config_set *set,
                     const struct metastore_result *result)
{
    if (result->err != 0 && result->err != -E_NOT_FOUND) {
        tell_unread(reading, error_name(result->err));
        return false;
    }
    struct put_target target = {reading->settings, set, entity_of(reading)};
    struct errmsg em;
    bool is_there = result->err == 0 && result->data.len > 0;
    if (is_there && metastore_config_decode(result->data, put_nothing, NULL, &em) < 0) {
        tell_unread(reading, em.text);
        return false;
    }
    config_set_clear(set);
    int err = is_there ? metastore_config_decode(result->data, put_stored, &target, &em) : 0;
    CHECK(err == 0); /* it was well formed just now */
    return true;
}

/* What cannot be read changes nothing: records must not be deleted by defaults that nobody chose. */
static void set_fill(const struct reading *reading, struct config_set *set,
                     struct settings_known *known, const struct metastore_result *result)
{
    known->was_read = set_read(reading, set, result) || known->was_read;
    known->is_unknown = !known->was_read;
}

static struct settings_topic *topic_add(struct settings *s, struct slice name)
{
    struct settings_topic *topic = xalloc(sizeof *topic);
    topic->name = slice_dup(name);
    config_set_init(&topic->set, CONFIG_SCOPE_TOPIC, CONFIG_SOURCE_TOPIC, &s->dynamic);
    HASH_ADD_KEYPTR(hh, s->topics, topic->name, name.len, topic);
    return topic;
}

static void topic_fill(const struct reading *reading, const struct metastore_result *result)
{
    struct settings *s = reading->settings;
    struct slice name = slice_str(reading->topic);
    struct settings_topic *topic = topic_find(s, name);
    if (result->err == -E_NOT_FOUND) {
        if (topic != NULL) {
            topic_remove(s, topic);
        }
        return;
    }
    if (topic == NULL) {
        topic = topic_add(s, name);
    }
    topic->is_listed = true;
    set_fill(reading, &topic->set, &topic->known, result);
}

static void entity_read_done(void *arg, const struct metastore_result *result)
{
    struct reading *reading = arg;
    struct settings *s = reading->settings;
    if (reading->is_lost) {
        reading_free(&s->readings_lost, reading);
        return;
    }
    if (result->err != -E_SESSION_EXPIRED && result->err != -E_CLOSED) {
        if (reading->topic != NULL) {
            topic_fill(reading, result);
        } else {
            set_fill(reading, reading->is_default ? &s->dynamic_default : &s->dynamic,
                     reading->is_default ? &s->dynamic_default_known : &s->dynamic_known, result);
        }
        s->events.changed(s->events.arg, reading->topic);
    } /* else the next session reads it */
    reading_free(&s->readings, reading);
    check_loaded(s);
}

static void entity_read(struct settings *s, struct slice topic, bool is_default)
{
    struct reading *reading = xalloc(sizeof *reading);
    struct metastore_path path;
    reading->settings = s;
    reading->is_default = is_default;
    list_push_back(&s->readings, &reading->link);
    reading->topic = slice_is_null(topic) ? NULL : slice_dup(topic);
    metastore_get(s->metastore, path_of(reading, &path), NULL, NULL, entity_read_done, reading);
}

void settings_topic_created(struct settings *s, struct slice name, const struct model_setting *list,
                            int32_t count)
{
    struct settings_topic *topic = topic_find(s, name);
    bool was_known = topic != NULL;
    if (!was_known && count == 0) {
        return;
    }
    topic = was_known ? topic : topic_add(s, name);
    struct put_target target = {s, &topic->set, topic->name};
    config_set_clear(&topic->set);
    for (int32_t i = 0; i < count; i++) {
        put_stored(&target, list[i].key, list[i].value);
    }
    if (was_known && s->metastore != NULL) {
        entity_read(s, name, false);
    }
}

static void topics_listed(void *arg, const struct metastore_result *result)
{
    struct settings *s = arg;
    struct settings_topic *topic;
    struct settings_topic *next;
    if (s->metastore == NULL) {
        return; /* detached meanwhile */
    }
    if (result->err < 0 && result->err != -E_NOT_FOUND) {
        list_failed(s, METASTORE_TOPIC_CONFIGS, result->err);
        return;
    }
    HASH_ITER(hh, s->topics, topic, next)
    {
        topic->is_listed = false;
    }
    for (int32_t i = 0; i < result->child_count; i++) {
        topic = topic_find(s, result->children[i]);
        if (topic != NULL) {
            topic->is_listed = true;
        }
        entity_read(s, result->children[i], false);
    }
    HASH_ITER(hh, s->topics, topic, next)
    {
        if (!topic->is_listed) {
            topic_remove(s, topic);
        }
    }
    s->has_topic_list = true;
    check_loaded(s);
}

/* ---- following /config/changes ---- */

#define CHANGES_MAX     1000 /* notifications kept; older ones were seen by everybody long ago */
#define CHANGES_DROPPED 100  /* dropped at most in one go */

static bool starts_with(struct slice s, const char *prefix)
{
    size_t len = strlen(prefix);
    return s.len > len && memcmp(s.ptr, prefix, len) == 0;
}

static void change_read_done(void *arg, const struct metastore_result *result)
{
    struct settings *s = arg;
    struct errmsg em;
    char *entity = NULL;
    char ours[32];
    if (result->err < 0 || s->metastore == NULL) {
        return;
    }
    if (metastore_config_change_decode(result->data, &entity, &em) < 0) {
        tell_ignored(s, "a notification", &em);
        return;
    }
    (void)snprintf(ours, sizeof ours, "brokers/%d", s->broker_id);
    struct slice path = slice_str(entity);
    if (starts_with(path, "topics/")) {
        entity_read(s, slice_str(entity + strlen("topics/")), false);
    } else if (slice_equal_str(path, ours)) {
        entity_read(s, SLICE_NULL, false);
    } else if (slice_equal_str(path, "brokers/<default>")) {
        entity_read(s, SLICE_NULL, true);
    }
    free(entity);
}

static void change_dropped(void *arg, const struct metastore_result *result)
{
    (void)arg;
    (void)result; /* Another broker may have dropped it first. */
}

static void changes_drop_old(struct settings *s, const struct metastore_result *list)
{
    int32_t surplus = MIN(list->child_count - CHANGES_MAX, CHANGES_DROPPED);
    for (int32_t i = 0; i < surplus; i++) {
        struct metastore_path path;
        struct metastore_op op = {
            .kind = METASTORE_DELETE,
            .path = metastore_path_child(&path, METASTORE_CONFIG_CHANGES, list->children[i]),
            .version = -1,
        };
        metastore_multi(s->metastore, &op, 1, change_dropped, NULL);
    }
}

static void changes_listed(void *arg, const struct metastore_result *result)
{
    struct settings *s = arg;
    int64_t newest = s->last_change;
    bool is_first = !s->is_following;
    if (s->metastore == NULL) {
        return; /* detached meanwhile */
    }
    for (int32_t i = 0; i < result->child_count; i++) {
        int64_t sequence = metastore_path_sequence(result->children[i]);
        newest = MAX(newest, sequence);
        if (!is_first && sequence > s->last_change) {
            struct metastore_path path;
            metastore_get(
                s->metastore,
                metastore_path_child(&path, METASTORE_CONFIG_CHANGES, result->children[i]), NULL,
                NULL, change_read_done, s);
        }
    }
    if (result->err == 0) {
        s->last_change = newest;
        s->is_following = true;
        changes_drop_old(s, result);
    } else if (is_first) {
        list_failed(s, METASTORE_CONFIG_CHANGES, result->err);
    }
}

static void changes_watch(void *arg, enum metastore_event event, struct slice path)
{
    struct settings *s = arg;
    (void)event;
    (void)path;
    if (s->metastore != NULL) {
        changes_read(s);
    }
}

static void changes_read(struct settings *s)
{
    metastore_children(s->metastore, slice_str(METASTORE_CONFIG_CHANGES), changes_watch, s,
                       changes_listed, s);
}

static void topics_read(struct settings *s)
{
    metastore_children(s->metastore, slice_str(METASTORE_TOPIC_CONFIGS), NULL, NULL, topics_listed,
                       s);
}

void settings_attach(struct settings *s, struct metastore *m, const struct settings_events *events,
                     void (*loaded)(void *arg))
{
    CHECK(s->metastore == NULL);
    lost_forget(s);
    s->metastore = m;
    s->events = *events;
    s->loaded = loaded;
    s->has_topic_list = false;
    s->is_following = false;
    s->is_trouble_told = false;
    s->last_change = -1;
    env_timer_init(&s->retry, m->env, lists_read_again, s);
    changes_read(s);
    entity_read(s, SLICE_NULL, true);
    entity_read(s, SLICE_NULL, false);
    topics_read(s);
}

void settings_detach(struct settings *s)
{
    struct list_node *node;
    while ((node = list_pop(&s->readings)) != NULL) {
        CONTAINER_OF(node, struct reading, link)->is_lost = true;
        list_push_back(&s->readings_lost, node);
    }
    if (s->metastore != NULL) {
        env_timer_stop(&s->retry);
    }
    s->metastore = NULL;
    s->loaded = NULL;
    settings_alterings_drop(s);
}
