/*
 * See znode_job.h. A piece holds its moves by topic, each as an array of fixed places, because there are many:
 * {"version":1,"topics":[{"name":"t","moves":[[0,[4,5],[1,2],[],0,-1],...]}],"known":[300,120,0,10,17...,...]}
 * with partition, target, original, replaces, marks and start; and for all moves one after the other bytes to
 * copy, copied, and of both before the present step, reason and since. "known" is there when something is known;
 * it may be left out: only what is shown depends on it. No state; any thread.
 */
#include "metastore/znode_job.h"

#include "base/check.h"
#include "metastore/json.h"

#define VERSION      1
#define MOVE_FIELDS  6
#define KNOWN_FIELDS 5
#define REPLICAS_MAX 10000
#define MARKS_MAX    63

/* ---- writing ---- */

static void ids_put(struct buf *b, const struct ids *ids)
{
    buf_put_str(b, "[");
    for (int32_t i = 0; i < ids->count; i++) {
        buf_putf(b, "%s%d", i == 0 ? "" : ",", ids->list[i]);
    }
    buf_put_str(b, "]");
}

static void known_put(struct buf *b, const struct model_job_piece *piece)
{
    bool is_any = false;
    for (int32_t i = 0; i < piece->count; i++) {
        is_any = is_any || piece->moves[i].to_copy > 0 || piece->moves[i].since_ms > 0;
    }
    for (int32_t i = 0; is_any && i < piece->count; i++) {
        const struct model_job_move *move = &piece->moves[i];
        buf_putf(b, "%s%lld,%lld,%lld,%d,%lld", i == 0 ? ",\"known\":[" : ",",
                 (long long)move->to_copy, (long long)move->copied, (long long)move->before,
                 move->reason, (long long)move->since_ms);
    }
    buf_put_str(b, is_any ? "]" : "");
}

void metastore_job_piece_encode(struct buf *b, const struct model_job_piece *piece)
{
    size_t start = b->len;
    buf_putf(b, "{\"version\":%d,\"topics\":[", VERSION);
    for (int32_t i = 0; i < piece->count; i++) {
        const struct model_job_move *move = &piece->moves[i];
        bool is_first = i == 0 || !slice_equal(move->topic, piece->moves[i - 1].topic);
        if (is_first) {
            buf_put_str(b, i == 0 ? "{\"name\":" : "]},{\"name\":");
            metastore_json_put_text(b, move->topic);
            buf_put_str(b, ",\"moves\":[");
        }
        buf_putf(b, "%s[%d,", is_first ? "" : ",", move->partition);
        ids_put(b, &move->target);
        buf_put_str(b, ",");
        ids_put(b, &move->original);
        buf_put_str(b, ",");
        ids_put(b, &move->replaces);
        buf_putf(b, ",%d,%lld]", move->marks, (long long)move->started_ms);
    }
    buf_put_str(b, piece->count > 0 ? "]}]" : "]");
    known_put(b, piece);
    buf_put_str(b, "}");
    metastore_json_end(b, start);
}

void metastore_job_encode(struct buf *b, const struct model_job *job)
{
    size_t start = b->len;
    buf_putf(b, "{\"version\":%d,\"serial\":%llu,\"fate\":%d,\"submitted_by\":", VERSION,
             (unsigned long long)job->serial, (int)job->fate);
    metastore_json_put_text(b, job->submitted_by);
    buf_put_str(b, ",\"client_id\":");
    metastore_json_put_text(b, job->client_id);
    buf_putf(b, ",\"submitted_ms\":%lld,\"finished_ms\":%lld,\"rate\":%lld,\"priority\":%d",
             (long long)job->submitted_ms, (long long)job->finished_ms, (long long)job->rate,
             job->priority);
    buf_putf(b, ",\"one_at_a_time\":%d,\"stock\":%d,\"pieces\":%d", job->is_one_at_a_time,
             job->is_stock, job->piece_count);
    buf_putf(b, ",\"moves\":%d,\"done\":%d,\"cancelled\":%d", job->moves_total, job->moves_done,
             job->moves_cancelled);
    buf_putf(b, ",\"bytes\":%lld,\"copied\":%lld}", (long long)job->bytes_to_copy,
             (long long)job->bytes_copied);
    metastore_json_end(b, start);
}

/* ---- reading ---- */

static int root_parse(struct slice json, json_t **ret_root, struct errmsg *em)
{
    int64_t version = 0;
    json_t *root = NULL;
    int err = metastore_json_parse(json, &root, em);
    if (err == 0) {
        err = metastore_json_int(root, "version", METASTORE_JSON_ID, &version, em);
    }
    if (err == 0 && version != VERSION) {
        err = errmsg_set(em, E_UNSUPPORTED, "version %lld is not ours", (long long)version);
    }
    if (err != 0) {
        json_decref(root);
        return err;
    }
    *ret_root = root;
    return 0;
}

static int text_copy(const json_t *root, const char *key, struct slice *ret, struct arena *a,
                     struct errmsg *em)
{
    struct slice text = SLICE_NULL;
    int err = metastore_json_text(root, key, &text, em);
    if (err != 0) {
        return err;
    }
    char *copy = arena_str(a, slice_is_null(text) ? slice_str("") : text);
    if (copy == NULL) {
        return errmsg_set(em, E_TOO_LARGE, "too many texts");
    }
    *ret = slice_str(copy);
    return 0;
}

struct number {
    const char *key;
    int64_t min;
    int64_t max;
    int64_t value;
};

enum {
    N_SERIAL,
    N_FATE,
    N_SUBMITTED,
    N_FINISHED,
    N_RATE,
    N_PRIORITY,
    N_ONE,
    N_STOCK,
    N_PIECES,
    N_MOVES,
    N_DONE,
    N_CANCELLED,
    N_BYTES,
    N_COPIED,
    N_COUNT
};

static void numbers_take(const struct number *n, struct model_job *ret)
{
    ret->serial = (uint64_t)n[N_SERIAL].value;
    ret->fate = (enum model_job_fate)n[N_FATE].value;
    ret->submitted_ms = n[N_SUBMITTED].value;
    ret->finished_ms = n[N_FINISHED].value;
    ret->rate = n[N_RATE].value;
    ret->priority = (int8_t)n[N_PRIORITY].value;
    ret->is_one_at_a_time = n[N_ONE].value != 0;
    ret->is_stock = n[N_STOCK].value != 0;
    ret->piece_count = (int32_t)n[N_PIECES].value;
    ret->moves_total = (int32_t)n[N_MOVES].value;
    ret->moves_done = (int32_t)n[N_DONE].value;
    ret->moves_cancelled = (int32_t)n[N_CANCELLED].value;
    ret->bytes_to_copy = n[N_BYTES].value;
    ret->bytes_copied = n[N_COPIED].value;
}

int metastore_job_decode(struct slice json, struct model_job *ret, struct arena *a,
                         struct errmsg *em)
{
    struct number numbers[N_COUNT] = {
        [N_SERIAL] = {"serial", 0, INT64_MAX / 2, 0},
        [N_FATE] = {"fate", MODEL_JOB_WRITING, MODEL_JOB_STOPPED, 0},
        [N_SUBMITTED] = {"submitted_ms", 0, INT64_MAX, 0},
        [N_FINISHED] = {"finished_ms", -1, INT64_MAX, 0},
        [N_RATE] = {"rate", -1, INT64_MAX, 0},
        [N_PRIORITY] = {"priority", 0, MODEL_JOB_PRIORITIES - 1, 0},
        [N_ONE] = {"one_at_a_time", 0, 1, 0},
        [N_STOCK] = {"stock", 0, 1, 0},
        [N_PIECES] = {"pieces", 0, INT16_MAX, 0},
        [N_MOVES] = {"moves", 0, INT32_MAX, 0},
        [N_DONE] = {"done", 0, INT32_MAX, 0},
        [N_CANCELLED] = {"cancelled", 0, INT32_MAX, 0},
        [N_BYTES] = {"bytes", 0, INT64_MAX, 0},
        [N_COPIED] = {"copied", INT64_MIN, INT64_MAX, 0},
    };
    json_t *root = NULL;
    struct model_job job = {.id = ret->id};
    int err = root_parse(json, &root, em);
    for (int i = 0; i < N_COUNT && err == 0; i++) {
        struct metastore_json_range range = {numbers[i].min, numbers[i].max};
        err = metastore_json_int(root, numbers[i].key, range, &numbers[i].value, em);
    }
    if (err == 0) {
        err = text_copy(root, "submitted_by", &job.submitted_by, a, em);
    }
    if (err == 0) {
        err = text_copy(root, "client_id", &job.client_id, a, em);
    }
    if (err == 0) {
        numbers_take(numbers, &job);
        *ret = job;
    }
    json_decref(root);
    return err;
}

static int ids_decode(const json_t *array, struct ids *ret, struct arena *a, struct errmsg *em)
{
    if (!json_is_array(array) || json_array_size(array) > REPLICAS_MAX) {
        return errmsg_set(em, E_MALFORMED, "a list of brokers is missing or too long");
    }
    int32_t count = (int32_t)json_array_size(array);
    int32_t *list = arena_array(a, (size_t)count + 1, sizeof *list);
    if (list == NULL) {
        return errmsg_set(em, E_TOO_LARGE, "too many brokers");
    }
    for (int32_t i = 0; i < count; i++) {
        const json_t *id = json_array_get(array, (size_t)i);
        int64_t value = json_is_integer(id) ? json_integer_value(id) : -1;
        if (value < 0 || value > INT32_MAX) {
            return errmsg_set(em, E_MALFORMED, "a broker id is not a number up to 2147483647");
        }
        list[i] = (int32_t)value;
    }
    *ret = (struct ids){.count = count, .list = count > 0 ? list : NULL};
    return ids_has_duplicate(ret) ? errmsg_set(em, E_MALFORMED, "a broker is listed twice") : 0;
}

static int number_at(const json_t *array, size_t index, struct metastore_json_range range,
                     int64_t *ret, struct errmsg *em)
{
    const json_t *number = json_array_get(array, index);
    int64_t value = json_is_integer(number) ? json_integer_value(number) : range.min;
    if (!json_is_integer(number) || value < range.min || value > range.max) {
        return errmsg_set(em, E_MALFORMED, "place %zu of a move is out of range", index);
    }
    *ret = value;
    return 0;
}

static int move_decode(const json_t *array, struct model_job_move *ret, struct arena *a,
                       struct errmsg *em)
{
    int64_t partition = 0;
    int64_t marks = 0;
    if (!json_is_array(array) || json_array_size(array) != MOVE_FIELDS) {
        return errmsg_set(em, E_MALFORMED, "a move has not %d places", MOVE_FIELDS);
    }
    int err = number_at(array, 0, METASTORE_JSON_ID, &partition, em);
    if (err == 0) {
        err = ids_decode(json_array_get(array, 1), &ret->target, a, em);
    }
    if (err == 0) {
        err = ids_decode(json_array_get(array, 2), &ret->original, a, em);
    }
    if (err == 0) {
        err = ids_decode(json_array_get(array, 3), &ret->replaces, a, em);
    }
    if (err == 0) {
        err = number_at(array, 4, (struct metastore_json_range){0, MARKS_MAX}, &marks, em);
    }
    if (err == 0) {
        err =
            number_at(array, 5, (struct metastore_json_range){-1, INT64_MAX}, &ret->started_ms, em);
    }
    if (err == 0 && (ret->target.count == 0 || ret->original.count == 0)) {
        err = errmsg_set(em, E_MALFORMED, "a move has an empty list");
    }
    ret->partition = (int32_t)partition;
    ret->marks = (int32_t)marks;
    return err;
}

static int topic_decode(const json_t *topic, struct model_job_piece *piece, struct arena *a,
                        struct errmsg *em)
{
    struct slice name = SLICE_NULL;
    json_t *moves = NULL;
    int err = json_is_object(topic) ? text_copy(topic, "name", &name, a, em)
                                    : errmsg_set(em, E_MALFORMED, "a topic is not an object");
    if (err == 0) {
        err = metastore_json_child(topic, "moves", JSON_ARRAY, &moves, em);
    }
    if (err == 0 && (moves == NULL || name.len == 0)) {
        err = errmsg_set(em, E_MALFORMED, "a topic has no name or no moves");
    }
    for (size_t i = 0; err == 0 && i < json_array_size(moves); i++) {
        struct model_job_move *move = &piece->moves[piece->count++];
        move->topic = name;
        err = move_decode(json_array_get(moves, i), move, a, em);
    }
    return err;
}

/* Nothing of it is taken when something of it cannot be right. */
static void known_take(const json_t *known, struct model_job_piece *piece)
{
    size_t count = (size_t)piece->count * KNOWN_FIELDS;
    bool is_good = json_is_array(known) && json_array_size(known) == count;
    for (size_t i = 0; is_good && i < count; i++) {
        const json_t *number = json_array_get(known, i);
        is_good = json_is_integer(number) && json_integer_value(number) >= 0 &&
                  (i % KNOWN_FIELDS != 3 || json_integer_value(number) <= INT8_MAX);
    }
    for (int32_t i = 0; is_good && i < piece->count; i++) {
        size_t at = (size_t)i * KNOWN_FIELDS;
        struct model_job_move *move = &piece->moves[i];
        move->to_copy = json_integer_value(json_array_get(known, at));
        move->copied = json_integer_value(json_array_get(known, at + 1));
        move->before = json_integer_value(json_array_get(known, at + 2));
        move->reason = (int8_t)json_integer_value(json_array_get(known, at + 3));
        move->since_ms = json_integer_value(json_array_get(known, at + 4));
    }
}

/* How many moves the topics hold; what is no array counts as none and is refused later. */
static size_t moves_count(const json_t *topics)
{
    size_t count = 0;
    for (size_t i = 0; i < json_array_size(topics); i++) {
        count += json_array_size(json_object_get(json_array_get(topics, i), "moves"));
    }
    return count;
}

int metastore_job_piece_decode(struct slice json, struct model_job_piece *ret, struct arena *a,
                               struct errmsg *em)
{
    json_t *root = NULL;
    json_t *topics = NULL;
    struct model_job_piece piece = {0};
    int err = root_parse(json, &root, em);
    if (err == 0) {
        err = metastore_json_child(root, "topics", JSON_ARRAY, &topics, em);
    }
    if (err == 0 && topics == NULL) {
        err = errmsg_set(em, E_MALFORMED, "'topics' is missing");
    }
    if (err == 0) {
        piece.moves = arena_array(a, moves_count(topics) + 1, sizeof *piece.moves);
        err = piece.moves == NULL ? errmsg_set(em, E_TOO_LARGE, "too many moves") : 0;
    }
    for (size_t i = 0; err == 0 && i < json_array_size(topics); i++) {
        err = topic_decode(json_array_get(topics, i), &piece, a, em);
    }
    if (err == 0) {
        known_take(json_object_get(root, "known"), &piece);
        *ret = piece;
    }
    json_decref(root);
    return err;
}
