/*
 * Read, change, check, write back under the version read; when somebody else was faster, again, a few
 * times. Keys that this program does not know are kept as they are: they belong to other brokers. A
 * replacement alone takes them away, as it is asked to. What changes nothing writes nothing: a script
 * that clears throttles over and over must not keep all brokers reading.
 */
#include "broker/config/alter.h"

#include "base/alloc.h"
#include "base/check.h"
#include "broker/config/settings_private.h"
#include "metastore/metastore.h"
#include "metastore/path.h"
#include "metastore/znode.h"

#include <stdio.h>
#include <stdlib.h>

#define TRIES_MAX 5

struct pair {
    char *key;
    char *value;
};

/* One alteration under way. */
struct altering {
    struct list_node link; /* of settings->alterings */
    struct settings *settings;
    char *topic; /* NULL: a broker's */
    int32_t broker_id;
    struct settings_change *changes; /* text owned */
    int32_t change_count;
    bool is_validate_only;
    bool is_replacement;
    settings_alter_fn done;
    void *arg;
    int tries;
    struct pair *pairs; /* the node as it shall be */
    int32_t pair_count;
    bool is_changed; /* the pairs differ from what was read */
    bool is_lost;    /* in settings->alterings_lost: done was called */
};

static void pairs_clear(struct altering *a)
{
    for (int32_t i = 0; i < a->pair_count; i++) {
        free(a->pairs[i].key);
        free(a->pairs[i].value);
    }
    free(a->pairs);
    a->pairs = NULL;
    a->pair_count = 0;
}

static void slice_free(struct slice s)
{
    union {
        const uint8_t *in;
        void *out;
    } ptr = {.in = s.ptr};
    free(ptr.out);
}

/* It is in no list. */
static void altering_free(struct altering *a)
{
    pairs_clear(a);
    for (int32_t i = 0; i < a->change_count; i++) {
        slice_free(a->changes[i].name);
        slice_free(a->changes[i].value);
    }
    free(a->changes);
    free(a->topic);
    free(a);
}

void settings_altering_end(struct altering *a, int err, const char *reason)
{
    settings_alter_fn done = a->done;
    void *arg = a->arg;
    list_remove(&a->settings->alterings, &a->link);
    altering_free(a);
    done(arg, err, reason);
}

void settings_alterings_drop(struct settings *s)
{
    struct list_node *node;
    while ((node = list_pop(&s->alterings)) != NULL) {
        struct altering *a = CONTAINER_OF(node, struct altering, link);
        a->is_lost = true;
        list_push_back(&s->alterings_lost, node);
        a->done(a->arg, -E_CLOSED, "the metastore session has ended");
    }
}

void settings_alterings_forget(struct settings *s)
{
    struct list_node *node;
    while ((node = list_pop(&s->alterings_lost)) != NULL) {
        altering_free(CONTAINER_OF(node, struct altering, link));
    }
}

/* True: it was dropped, and is gone now. */
static bool lost_over(struct altering *a)
{
    bool is_lost = a->is_lost;
    if (is_lost) {
        list_remove(&a->settings->alterings_lost, &a->link);
        altering_free(a);
    }
    return is_lost;
}

/* ---- the pairs ---- */

static struct pair *pair_find(const struct altering *a, struct slice key)
{
    for (int32_t i = 0; i < a->pair_count; i++) {
        if (slice_equal_str(key, a->pairs[i].key)) {
            return &a->pairs[i];
        }
    }
    return NULL;
}

static void pair_set(struct altering *a, struct slice key, struct slice value)
{
    struct pair *pair = pair_find(a, key);
    if (pair == NULL) {
        a->pairs = xrealloc(a->pairs, (size_t)(a->pair_count + 1) * sizeof *a->pairs);
        pair = &a->pairs[a->pair_count++];
        *pair = (struct pair){.key = slice_dup(key)};
    }
    a->is_changed = a->is_changed || pair->value == NULL || !slice_equal_str(value, pair->value);
    free(pair->value);
    pair->value = slice_dup(value);
}

static void pair_remove(struct altering *a, struct slice key)
{
    struct pair *pair = pair_find(a, key);
    if (pair != NULL) {
        free(pair->key);
        free(pair->value);
        *pair = a->pairs[--a->pair_count];
        a->is_changed = true;
    }
}

static void pair_read(void *arg, struct slice key, struct slice value)
{
    pair_set(arg, key, value);
}

/* value's items joined to, or taken out of, the list held; owned by the caller. */
static char *list_change(const char *held, struct slice value, bool is_append)
{
    char *change = slice_dup(value);
    struct buf out;
    const char *sources[] = {held, is_append ? change : ""};
    buf_init(&out);
    for (size_t i = 0; i < ARRAY_LEN(sources); i++) {
        const char *item = sources[i];
        while (*item != '\0') {
            size_t len = strcspn(item, ",");
            char *text = slice_dup(slice_of(item, len));
            buf_put_u8(&out, '\0');
            bool is_there = out.len > 1 && config_list_has((const char *)out.ptr, text);
            out.len--;
            bool is_taken = !is_append && config_list_has(change, text);
            if (len > 0 && !is_there && !is_taken) {
                buf_putf(&out, "%s%s", out.len == 0 ? "" : ",", text);
            }
            free(text);
            item += len + (item[len] == ',');
        }
    }
    char *joined = slice_dup(buf_slice(&out));
    buf_deinit(&out);
    free(change);
    return joined;
}

/* ---- one change ---- */

static int change_apply(struct altering *a, const struct settings_change *change, struct errmsg *em)
{
    enum config_scope scope = a->topic != NULL ? CONFIG_SCOPE_TOPIC : CONFIG_SCOPE_BROKER;
    int key = config_find(scope, change->name);
    if (key == CONFIG_KEY_NONE && change->operation != CONFIG_OPERATION_DELETE) {
        return errmsg_set(em, E_INVALID, "Unknown configuration %.*s",
                          (int)MIN(change->name.len, 200), (const char *)change->name.ptr);
    }
    if (change->operation == CONFIG_OPERATION_DELETE) {
        pair_remove(a, change->name);
        return 0;
    }
    const struct config_def *def = config_def_at(scope, key);
    if (!def->is_dynamic) {
        return errmsg_set(em, E_INVALID, "Configuration %s cannot be changed while running",
                          def->name);
    }
    if (change->operation == CONFIG_OPERATION_SET) {
        int err = config_check(def, change->value, em);
        if (err == 0) {
            pair_set(a, change->name, change->value);
        }
        return err;
    }
    bool is_append = change->operation == CONFIG_OPERATION_APPEND;
    if (def->type != CONFIG_LIST ||
        (!is_append && change->operation != CONFIG_OPERATION_SUBTRACT)) {
        return errmsg_set(em, E_INVALID, "Operation %d is not possible for configuration %s",
                          change->operation, def->name);
    }
    const struct config_set *set = settings_alter_set(a->settings, a->topic);
    const struct pair *pair = pair_find(a, change->name);
    const char *held = pair != NULL ? pair->value : config_get_string(set, key);
    char *list = list_change(held == NULL ? "" : held, change->value, is_append);
    int err = config_check(def, slice_str(list), em);
    if (err == 0) {
        pair_set(a, change->name, slice_str(list));
    }
    free(list);
    return err;
}

/* ---- reading and writing ---- */

static void node_read(struct altering *a);

static void node_written(void *arg, const struct metastore_result *result)
{
    struct altering *a = arg;
    bool is_raced =
        result->err == -E_BAD_VERSION || result->err == -E_EXISTS || result->err == -E_NOT_FOUND;
    if (lost_over(a)) {
        return;
    }
    if (is_raced && ++a->tries < TRIES_MAX) {
        node_read(a);
    } else if (is_raced) {
        settings_altering_end(a, -E_TIMEOUT, "the configuration keeps changing");
    } else {
        settings_altering_end(a, result->err, result->err == 0 ? NULL : error_name(result->err));
    }
}

static struct slice path_of(const struct altering *a, struct metastore_path *path)
{
    return a->topic != NULL ? metastore_path_topic_config(path, slice_str(a->topic))
                            : metastore_path_broker_config(path, a->broker_id);
}

/* version -1: the node does not exist yet. */
static void node_write(struct altering *a, int32_t version)
{
    struct metastore_path path;
    struct buf json;
    struct buf note;
    char entity[512];
    struct model_setting *entries = xalloc((size_t)MAX(a->pair_count, 1) * sizeof *entries);
    for (int32_t i = 0; i < a->pair_count; i++) {
        entries[i].key = slice_str(a->pairs[i].key);
        entries[i].value = slice_str(a->pairs[i].value);
    }
    buf_init(&json);
    buf_init(&note);
    metastore_config_encode(&json, entries, a->pair_count);
    if (a->topic != NULL) {
        (void)snprintf(entity, sizeof entity, "topics/%s", a->topic);
    } else if (a->broker_id < 0) {
        (void)snprintf(entity, sizeof entity, "brokers/<default>");
    } else {
        (void)snprintf(entity, sizeof entity, "brokers/%d", a->broker_id);
    }
    metastore_config_change_encode(&note, slice_str(entity));
    struct metastore_op ops[] = {
        {.kind = version < 0 ? METASTORE_CREATE : METASTORE_SET,
         .path = path_of(a, &path),
         .data = buf_slice(&json),
         .version = version},
        {.kind = METASTORE_CREATE,
         .path = slice_str(METASTORE_CONFIG_CHANGE_NEW),
         .data = buf_slice(&note),
         .is_sequential = true},
    };
    bool failed = buf_failed(&json) || buf_failed(&note);
    if (!failed) {
        metastore_multi(a->settings->metastore, ops, ARRAY_LEN(ops), node_written, a);
    }
    buf_deinit(&json);
    buf_deinit(&note);
    free(entries);
    if (failed) {
        settings_altering_end(a, -E_TOO_LARGE, "the configuration is too large");
    }
}

static void node_read_done(void *arg, const struct metastore_result *result)
{
    struct altering *a = arg;
    struct errmsg em = {""};
    int err = 0;
    if (lost_over(a)) {
        return;
    }
    if (result->err < 0 && result->err != -E_NOT_FOUND) {
        settings_altering_end(a, result->err, error_name(result->err));
        return;
    }
    pairs_clear(a);
    if (result->err == 0 && result->data.len > 0) {
        err = metastore_config_decode(result->data, pair_read, a, &em);
    }
    if (a->is_replacement) {
        pairs_clear(a);
        err = err == -E_UNSUPPORTED ? err : 0; /* nonsense may be replaced, not a newer version */
    }
    a->is_changed = a->is_replacement;
    for (int32_t i = 0; err == 0 && i < a->change_count; i++) {
        err = change_apply(a, &a->changes[i], &em);
    }
    if (err < 0 || a->is_validate_only || !a->is_changed) {
        settings_altering_end(a, err, err < 0 ? em.text : NULL);
        return;
    }
    node_write(a, result->err == -E_NOT_FOUND ? -1 : result->stat.version);
}

static void node_read(struct altering *a)
{
    struct metastore_path path;
    metastore_get(a->settings->metastore, path_of(a, &path), NULL, NULL, node_read_done, a);
}

void settings_alter(struct settings *s, const struct settings_alteration *alteration)
{
    if (s->metastore == NULL) {
        alteration->done(alteration->arg, -E_CLOSED, "there is no metastore session");
        return;
    }
    struct altering *a = xalloc(sizeof *a);
    a->settings = s;
    a->topic = slice_is_null(alteration->topic) ? NULL : slice_dup(alteration->topic);
    a->broker_id = alteration->broker_id;
    a->is_validate_only = alteration->is_validate_only;
    a->is_replacement = alteration->is_replacement;
    a->done = alteration->done;
    a->arg = alteration->arg;
    a->change_count = alteration->change_count;
    a->changes = xalloc((size_t)MAX(a->change_count, 1) * sizeof *a->changes);
    for (int32_t i = 0; i < a->change_count; i++) {
        const struct settings_change *change = &alteration->changes[i];
        a->changes[i].operation = change->operation;
        a->changes[i].name = slice_of(slice_dup(change->name), change->name.len);
        if (!slice_is_null(change->value)) {
            a->changes[i].value = slice_of(slice_dup(change->value), change->value.len);
        }
    }
    list_push_back(&s->alterings, &a->link);
    node_read(a);
}
