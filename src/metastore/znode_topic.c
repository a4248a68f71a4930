/*
 * Znodes of topics and partitions: assignments, states, and the legacy plan of moves. See znode.h.
 *
 * A topic znode may be as large as the store allows and is written for every move, so its encoder
 * works in one pass and its decoder looks at each partition once.
 */
#include "metastore/znode.h"

#include "base/alloc.h"
#include "base/check.h"
#include "metastore/json.h"

#include <stdlib.h>

#define REPLICAS_MAX     1000                /* of one partition */
#define LEADER_EPOCH_MAX (INT32_MAX - 65536) /* room to count on */

static void put_ids(struct buf *b, const struct ids *ids)
{
    buf_put_str(b, "[");
    for (int32_t i = 0; i < ids->count; i++) {
        buf_putf(b, i > 0 ? ",%d" : "%d", ids->list[i]);
    }
    buf_put_str(b, "]");
}

/* Distinct broker ids. ret is untouched on failure. */
static int ids_decode(const json_t *array, struct ids *ret, struct errmsg *em)
{
    if (!json_is_array(array) || json_array_size(array) > REPLICAS_MAX) {
        return errmsg_set(em, E_MALFORMED, "a list of brokers is missing or too long");
    }
    struct ids ids = {0};
    int err = 0;
    for (size_t i = 0; i < json_array_size(array) && err == 0; i++) {
        const json_t *id = json_array_get(array, i);
        int64_t value = json_is_integer(id) ? json_integer_value(id) : -1;
        if (value < 0 || value > INT32_MAX) {
            err = errmsg_set(em, E_MALFORMED, "a broker id is not a number up to 2147483647");
        } else {
            ids_add(&ids, (int32_t)value);
        }
    }
    if (err == 0 && ids_has_duplicate(&ids)) {
        err = errmsg_set(em, E_MALFORMED, "a broker is listed twice");
    }
    if (err == 0) {
        ids_move(ret, &ids);
    }
    ids_deinit(&ids);
    return err;
}

/* ---- topics ---- */

/* One of the four lists of an assignment. */
enum topic_list {
    LIST_REPLICAS,
    LIST_ADDING,
    LIST_REMOVING,
    LIST_ORIGINAL,
    LIST_COUNT,
};

static const char *const list_keys[LIST_COUNT] = {
    [LIST_REPLICAS] = "partitions",
    [LIST_ADDING] = "adding_replicas",
    [LIST_REMOVING] = "removing_replicas",
    [LIST_ORIGINAL] = "original_replicas",
};

static struct ids *list_of(struct assignment *a, enum topic_list list)
{
    struct ids *const lists[LIST_COUNT] = {[LIST_REPLICAS] = &a->replicas,
                                           [LIST_ADDING] = &a->adding,
                                           [LIST_REMOVING] = &a->removing,
                                           [LIST_ORIGINAL] = &a->original};
    return lists[list];
}

static bool topic_has_list(const struct model_topic *topic, enum topic_list list)
{
    for (int32_t p = 0; p < topic->partition_count; p++) {
        if (list_of(&topic->partitions[p], list)->count > 0) {
            return true;
        }
    }
    return false;
}

/* ,"key":{"0":[1,2],...} with the partitions whose list is not empty. */
static void put_list_map(struct buf *b, const struct model_topic *topic, enum topic_list list)
{
    buf_putf(b, ",\"%s\":{", list_keys[list]);
    const char *comma = "";
    for (int32_t p = 0; p < topic->partition_count; p++) {
        const struct ids *ids = list_of(&topic->partitions[p], list);
        if (ids->count > 0) {
            buf_putf(b, "%s\"%d\":", comma, p);
            put_ids(b, ids);
            comma = ",";
        }
    }
    buf_put_str(b, "}");
}

void metastore_topic_encode(struct buf *b, const struct model_topic *topic, enum ibp level)
{
    size_t start = b->len;
    bool has_moves = ibp_has(level, IBP_REASSIGNMENTS) || topic_has_list(topic, LIST_ADDING) ||
                     topic_has_list(topic, LIST_REMOVING);
    buf_put_str(b, has_moves ? "{\"version\":3" : "{\"version\":1");
    put_list_map(b, topic, LIST_REPLICAS);
    if (has_moves) {
        put_list_map(b, topic, LIST_ADDING);
        put_list_map(b, topic, LIST_REMOVING);
    }
    if (!uuid_is_zero(topic->id)) {
        char text[UUID_TEXT_SIZE];
        uuid_format(topic->id, text);
        buf_putf(b, ",\"topic_id\":\"%s\"", text);
    }
    /* Our own key comes last, and only when there is something to say: Java brokers ignore it. */
    if (topic_has_list(topic, LIST_ORIGINAL)) {
        put_list_map(b, topic, LIST_ORIGINAL);
    }
    buf_put_str(b, "}");
    metastore_json_end(b, start);
}

/* Entries of the map go to the partitions of topic. "07" and "7" would be the same partition, so only
 * the shortest form counts. Adding, removing and original of unknown partitions say nothing. */
static int topic_list_decode(json_t *map, enum topic_list list, struct model_topic *topic,
                             struct errmsg *em)
{
    const char *key;
    json_t *value;
    json_object_foreach(map, key, value)
    {
        int64_t p;
        struct slice text = slice_str(key);
        if (metastore_json_digits(text, METASTORE_JSON_ID, &p) != 0 ||
            (text.len > 1 && key[0] == '0')) {
            return errmsg_set(em, E_MALFORMED, "'%s': '%.40s' is not a partition", list_keys[list],
                              key);
        }
        if (p >= topic->partition_count) {
            if (list == LIST_REPLICAS) {
                return errmsg_set(em, E_MALFORMED, "partition %lld of %d: the numbers have a gap",
                                  (long long)p, topic->partition_count);
            }
            continue;
        }
        int err = ids_decode(value, list_of(&topic->partitions[p], list), em);
        if (err != 0) {
            errmsg_prefix(em, "'%s' of partition %lld", list_keys[list], (long long)p);
            return err;
        }
        if (list == LIST_REPLICAS && topic->partitions[p].replicas.count == 0) {
            return errmsg_set(em, E_MALFORMED, "partition %lld has no replicas", (long long)p);
        }
    }
    return 0;
}

/* Brokers that come or go are replicas; anything else is no state of a move. */
static int topic_check(const struct model_topic *topic, struct errmsg *em)
{
    for (int32_t p = 0; p < topic->partition_count; p++) {
        const struct assignment *a = &topic->partitions[p];
        if (!ids_subset(&a->adding, &a->replicas) || !ids_subset(&a->removing, &a->replicas)) {
            return errmsg_set(em, E_MALFORMED,
                              "partition %d adds or removes brokers that are no replicas", p);
        }
        for (int32_t i = 0; i < a->adding.count; i++) {
            if (ids_has(&a->removing, a->adding.list[i])) {
                return errmsg_set(em, E_MALFORMED, "partition %d adds and removes broker %d", p,
                                  a->adding.list[i]);
            }
        }
    }
    return 0;
}

static int topic_fill(const json_t *root, struct slice name, struct model_topic *topic,
                      struct errmsg *em)
{
    json_t *maps[LIST_COUNT] = {NULL};
    int64_t version;
    /* What a newer writer added would be lost by our next write. */
    int err =
        metastore_json_version(root, "topic", (struct metastore_json_range){1, 3}, &version, em);
    for (int list = 0; list < LIST_COUNT && err == 0; list++) {
        err = metastore_json_child(root, list_keys[list], JSON_OBJECT, &maps[list], em);
    }
    if (err == 0 && maps[LIST_REPLICAS] == NULL) {
        err = errmsg_set(em, E_MALFORMED, "'partitions' is missing");
    }
    struct slice id = SLICE_NULL;
    if (err == 0) {
        err = metastore_json_text(root, "topic_id", &id, em);
    }
    if (err != 0) {
        return err;
    }
    /* n distinct numbers below n are 0..n-1. The document's size bounds n. */
    size_t count = json_object_size(maps[LIST_REPLICAS]);
    topic->name = slice_dup(name);
    topic->partition_count = (int32_t)count;
    topic->partitions = xalloc((count + 1) * sizeof *topic->partitions);
    if (!slice_is_null(id) && uuid_parse(id, &topic->id) != 0) {
        return errmsg_set(em, E_MALFORMED, "'topic_id' is not an id");
    }
    for (int list = 0; list < LIST_COUNT && err == 0; list++) {
        if (maps[list] != NULL) {
            err = topic_list_decode(maps[list], (enum topic_list)list, topic, em);
        }
    }
    return err != 0 ? err : topic_check(topic, em);
}

int metastore_topic_decode(struct slice json, struct slice name, struct model_topic *ret,
                           struct errmsg *em)
{
    json_t *root;
    int err = metastore_json_parse(json, &root, em);
    if (err != 0) {
        return err;
    }
    struct model_topic topic = {.version = ret->version};
    err = topic_fill(root, name, &topic, em);
    if (err == 0) {
        model_topic_deinit(ret);
        *ret = topic;
    } else {
        model_topic_deinit(&topic);
    }
    json_decref(root);
    return err;
}

/* ---- changed in-sync sets ---- */

void metastore_isr_change_encode(struct buf *b, const struct metastore_partition_name *list,
                                 int32_t count)
{
    size_t start = b->len;
    buf_put_str(b, "{\"version\":1,\"partitions\":[");
    for (int32_t i = 0; i < count; i++) {
        buf_put_str(b, i > 0 ? ",{\"topic\":" : "{\"topic\":");
        metastore_json_put_text(b, list[i].topic);
        buf_putf(b, ",\"partition\":%d}", list[i].partition);
    }
    buf_put_str(b, "]}");
    metastore_json_end(b, start);
}

/* ---- partition states ---- */

void metastore_partition_state_encode(struct buf *b, const struct model_partition_state *state)
{
    size_t start = b->len;
    buf_putf(b, "{\"controller_epoch\":%d,\"leader\":%d,\"version\":1,\"leader_epoch\":%d,\"isr\":",
             state->controller_epoch, state->leader, state->leader_epoch);
    put_ids(b, &state->isr);
    if (state->recovery == MODEL_RECOVERING) {
        buf_put_str(b, ",\"leader_recovery_state\":1");
    }
    buf_put_str(b, state->has_outsiders ? ",\"klamm_outsiders\":true}" : "}");
    metastore_json_end(b, start);
}

static int partition_state_fill(const json_t *root, struct model_partition_state *state,
                                struct errmsg *em)
{
    int64_t recovery = 0;
    int64_t version;
    int err = metastore_json_version(root, "state", METASTORE_JSON_ONE, &version, em);
    const struct {
        const char *key;
        struct metastore_json_range range;
        int32_t *number;
    } numbers[] = {
        {"leader", {MODEL_LEADER_NONE, INT32_MAX}, &state->leader},
        {"leader_epoch", {0, LEADER_EPOCH_MAX}, &state->leader_epoch},
        {"controller_epoch", {0, INT32_MAX}, &state->controller_epoch},
    };
    for (size_t i = 0; i < ARRAY_LEN(numbers) && err == 0; i++) {
        int64_t value = 0;
        err = metastore_json_int(root, numbers[i].key, numbers[i].range, &value, em);
        *numbers[i].number = (int32_t)value;
    }
    if (err == 0 && json_object_get(root, "leader_recovery_state") != NULL) {
        err = metastore_json_int(root, "leader_recovery_state", (struct metastore_json_range){0, 1},
                                 &recovery, em);
    }
    if (err != 0) {
        return err;
    }
    state->recovery = recovery == 1 ? MODEL_RECOVERING : MODEL_RECOVERED;
    state->has_outsiders = json_is_true(json_object_get(root, "klamm_outsiders"));
    return ids_decode(json_object_get(root, "isr"), &state->isr, em);
}

int metastore_partition_state_decode(struct slice json, struct model_partition_state *ret,
                                     struct errmsg *em)
{
    json_t *root;
    int err = metastore_json_parse(json, &root, em);
    if (err != 0) {
        return err;
    }
    struct model_partition_state state = {.version = ret->version};
    err = partition_state_fill(root, &state, em);
    if (err == 0) {
        model_partition_state_deinit(ret);
        *ret = state;
    } else {
        model_partition_state_deinit(&state);
    }
    json_decref(root);
    return err;
}

/* ---- the legacy plan of moves ---- */

void metastore_legacy_moves_free(struct metastore_legacy_move *moves, int32_t count)
{
    for (int32_t i = 0; i < count; i++) {
        free(moves[i].topic);
        ids_deinit(&moves[i].replicas);
    }
    free(moves);
}

void metastore_legacy_moves_encode(struct buf *b, const struct metastore_legacy_move *moves,
                                   int32_t count)
{
    size_t start = b->len;
    buf_put_str(b, "{\"version\":1,\"partitions\":[");
    for (int32_t i = 0; i < count; i++) {
        buf_put_str(b, i > 0 ? ",{\"topic\":" : "{\"topic\":");
        metastore_json_put_text(b, slice_str(moves[i].topic));
        buf_putf(b, ",\"partition\":%d,\"replicas\":", moves[i].partition);
        put_ids(b, &moves[i].replicas);
        buf_put_str(b, "}");
    }
    buf_put_str(b, "]}");
    metastore_json_end(b, start);
}

/* Any numbers, repeated ones too. ret is untouched on failure. */
static int legacy_ids_decode(const json_t *array, struct ids *ret, struct errmsg *em)
{
    if (!json_is_array(array) || json_array_size(array) > REPLICAS_MAX) {
        return errmsg_set(em, E_MALFORMED, "'replicas' is missing or too long");
    }
    struct ids ids = {0};
    int err = 0;
    for (size_t i = 0; i < json_array_size(array) && err == 0; i++) {
        const json_t *id = json_array_get(array, i);
        int64_t value = json_is_integer(id) ? json_integer_value(id) : INT64_MAX;
        if (value < INT32_MIN || value > INT32_MAX) {
            err = errmsg_set(em, E_MALFORMED, "a broker id is not a number of 32 bits");
        } else {
            ids_add(&ids, (int32_t)value);
        }
    }
    if (err == 0) {
        ids_move(ret, &ids);
    }
    ids_deinit(&ids);
    return err;
}

static int legacy_move_decode(const json_t *entry, bool has_replicas,
                              struct metastore_legacy_move *move, struct errmsg *em)
{
    struct slice topic = SLICE_NULL;
    int64_t partition;
    if (!json_is_object(entry)) {
        return errmsg_set(em, E_MALFORMED, "an entry of 'partitions' is not an object");
    }
    int err = metastore_json_text(entry, "topic", &topic, em);
    if (err == 0 && topic.len == 0) {
        err = errmsg_set(em, E_MALFORMED, "an entry of 'partitions' names no topic");
    }
    if (err == 0) {
        err = metastore_json_int(entry, "partition", METASTORE_JSON_ID, &partition, em);
    }
    if (err == 0 && has_replicas) {
        err = legacy_ids_decode(json_object_get(entry, "replicas"), &move->replicas, em);
    }
    if (err == 0) {
        move->topic = slice_dup(topic);
        move->partition = (int32_t)partition;
    }
    return err;
}

static int entries_decode(struct slice json, bool has_replicas,
                          struct metastore_legacy_move **ret_moves, int32_t *ret_count,
                          struct errmsg *em)
{
    json_t *root;
    int err = metastore_json_parse(json, &root, em);
    if (err != 0) {
        return err;
    }
    json_t *entries = NULL;
    int64_t version;
    err = metastore_json_version(root, "list of partitions", METASTORE_JSON_ONE, &version, em);
    if (err == 0) {
        err = metastore_json_child(root, "partitions", JSON_ARRAY, &entries, em);
    }
    if (err == 0 && entries == NULL) {
        err = errmsg_set(em, E_MALFORMED, "'partitions' is missing");
    }
    if (err == 0) {
        size_t count = json_array_size(entries);
        struct metastore_legacy_move *moves = count == 0 ? NULL : xalloc(count * sizeof *moves);
        for (size_t i = 0; i < count && err == 0; i++) {
            err = legacy_move_decode(json_array_get(entries, i), has_replicas, &moves[i], em);
        }
        if (err == 0) {
            *ret_moves = moves;
            *ret_count = (int32_t)count;
        } else {
            metastore_legacy_moves_free(moves, (int32_t)count);
        }
    }
    json_decref(root);
    return err;
}

int metastore_legacy_moves_decode(struct slice json, struct metastore_legacy_move **ret_moves,
                                  int32_t *ret_count, struct errmsg *em)
{
    return entries_decode(json, true, ret_moves, ret_count, em);
}

int metastore_partitions_decode(struct slice json, struct metastore_legacy_move **ret_partitions,
                                int32_t *ret_count, struct errmsg *em)
{
    return entries_decode(json, false, ret_partitions, ret_count, em);
}
