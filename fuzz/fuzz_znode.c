/*
 * Any bytes as the content of Kafka's znodes. What is read must be written to a fixed point: encoding
 * it, decoding that and encoding again gives the same bytes. Input: kind, then the bytes.
 */
#include "base/check.h"
#include "metastore/znode.h"
#include "metastore/znode_job.h"

#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* Reads a node and, when it is good, writes it. */
typedef bool (*convert_fn)(struct slice in, struct buf *out);

static bool convert_topic(struct slice in, struct buf *out)
{
    struct model_topic topic = {0};
    bool is_good = metastore_topic_decode(in, slice_str("t"), &topic, NULL) == 0;
    if (is_good) {
        metastore_topic_encode(out, &topic, IBP_NEWEST);
    }
    model_topic_deinit(&topic);
    return is_good;
}

static bool convert_state(struct slice in, struct buf *out)
{
    struct model_partition_state state = {0};
    bool is_good = metastore_partition_state_decode(in, &state, NULL) == 0;
    if (is_good) {
        metastore_partition_state_encode(out, &state);
    }
    model_partition_state_deinit(&state);
    return is_good;
}

static bool convert_broker(struct slice in, struct buf *out)
{
    struct model_broker broker = {.id = 1};
    bool is_good = metastore_broker_decode(in, &broker, NULL) == 0;
    if (is_good) {
        metastore_broker_encode(out, &broker, IBP_NEWEST, 0);
    }
    model_broker_deinit(&broker);
    return is_good;
}

struct settings {
    struct model_setting list[64];
    int32_t count;
};

static void collect(void *arg, struct slice key, struct slice value)
{
    struct settings *s = arg;
    if (s->count < (int32_t)ARRAY_LEN(s->list)) {
        /* Borrowed until the decoder returns: the copies are freed below. */
        struct slice copies[2] = {slice_of(slice_dup(key), key.len),
                                  slice_of(slice_dup(value), value.len)};
        s->list[s->count++] = (struct model_setting){copies[0], copies[1]};
    }
}

static void slice_free(struct slice s)
{
    union {
        const uint8_t *in;
        uint8_t *out;
    } view = {.in = s.ptr}; /* made by slice_dup */
    free(view.out);
}

static bool convert_config(struct slice in, struct buf *out)
{
    struct settings s = {.count = 0};
    bool is_good = metastore_config_decode(in, collect, &s, NULL) == 0;
    if (is_good) {
        metastore_config_encode(out, s.list, s.count);
    }
    for (int32_t i = 0; i < s.count; i++) {
        slice_free(s.list[i].key);
        slice_free(s.list[i].value);
    }
    return is_good;
}

static bool convert_config_change(struct slice in, struct buf *out)
{
    char *path = NULL;
    bool is_good = metastore_config_change_decode(in, &path, NULL) == 0;
    if (is_good) {
        metastore_config_change_encode(out, slice_str(path));
    }
    free(path);
    return is_good;
}

static bool convert_producer_block(struct slice in, struct buf *out)
{
    struct model_producer_block block = {0};
    bool is_good = metastore_producer_block_decode(in, &block, NULL) == 0;
    if (is_good) {
        metastore_producer_block_encode(out, &block);
    }
    return is_good;
}

static bool convert_legacy_moves(struct slice in, struct buf *out)
{
    struct metastore_legacy_move *moves = NULL;
    int32_t count = 0;
    bool is_good = metastore_legacy_moves_decode(in, &moves, &count, NULL) == 0;
    if (is_good) {
        metastore_legacy_moves_encode(out, moves, count);
        metastore_legacy_moves_free(moves, count);
    }
    return is_good;
}

/* Only read. */
static bool convert_partitions(struct slice in, struct buf *out)
{
    (void)out;
    struct metastore_legacy_move *partitions = NULL;
    int32_t count = 0;
    if (metastore_partitions_decode(in, &partitions, &count, NULL) == 0) {
        metastore_legacy_moves_free(partitions, count);
    }
    return false;
}

static bool convert_controller(struct slice in, struct buf *out)
{
    struct metastore_controller controller;
    bool is_good = metastore_controller_decode(in, &controller, NULL) == 0;
    if (is_good) {
        metastore_controller_encode(out, controller.broker_id, 0);
    }
    return is_good;
}

static bool convert_controller_epoch(struct slice in, struct buf *out)
{
    int32_t epoch;
    bool is_good = metastore_controller_epoch_decode(in, &epoch, NULL) == 0;
    if (is_good) {
        metastore_controller_epoch_encode(out, epoch);
    }
    return is_good;
}

static bool convert_cluster_id(struct slice in, struct buf *out)
{
    char *id = NULL;
    bool is_remade = false;
    bool is_good = metastore_cluster_id_decode(in, &id, &is_remade, NULL) == 0;
    if (is_good) {
        metastore_cluster_id_encode(out, slice_str(id), is_remade);
    }
    free(id);
    return is_good;
}

/* Only read. */
static bool convert_features(struct slice in, struct buf *out)
{
    (void)out;
    bool is_outdated;
    int err = metastore_features_check(in, IBP_NEWEST, &is_outdated, NULL);
    CHECK(err <= 0);
    return false;
}

static bool convert_log_dir_event(struct slice in, struct buf *out)
{
    int32_t broker_id;
    bool is_good = metastore_log_dir_event_decode(in, &broker_id, NULL) == 0;
    if (is_good) {
        metastore_log_dir_event_encode(out, broker_id);
    }
    return is_good;
}

static bool convert_job(struct slice in, struct buf *out)
{
    struct model_job job = {.id = slice_str("j")};
    struct arena arena;
    arena_init(&arena, 1 << 22);
    bool is_good = metastore_job_decode(in, &job, &arena, NULL) == 0;
    if (is_good) {
        metastore_job_encode(out, &job);
    }
    arena_deinit(&arena);
    return is_good;
}

static bool convert_job_piece(struct slice in, struct buf *out)
{
    struct model_job_piece piece = {0};
    struct arena arena;
    arena_init(&arena, 1 << 22);
    bool is_good = metastore_job_piece_decode(in, &piece, &arena, NULL) == 0;
    if (is_good) {
        metastore_job_piece_encode(out, &piece);
    }
    arena_deinit(&arena);
    return is_good;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const convert_fn kinds[] = {
        convert_topic,        convert_state,         convert_broker,
        convert_config,       convert_config_change, convert_producer_block,
        convert_legacy_moves, convert_controller,    convert_controller_epoch,
        convert_cluster_id,   convert_log_dir_event, convert_partitions,
        convert_features,     convert_job,           convert_job_piece};
    if (size == 0) {
        return 0;
    }
    convert_fn convert = kinds[data[0] % ARRAY_LEN(kinds)];
    struct buf first;
    struct buf second;
    buf_init(&first);
    buf_init(&second);
    /* Encoding may pass the size of a node: then there is nothing to compare. */
    if (convert(slice_of(data + 1, size - 1), &first) && !buf_failed(&first)) {
        bool is_good = convert(buf_slice(&first), &second);
        CHECK(is_good);
        CHECK(slice_equal(buf_slice(&first), buf_slice(&second)));
    }
    buf_deinit(&first);
    buf_deinit(&second);
    return 0;
}
