/*
 * Producer state. Invariants: by_id and by_use hold the same producers; a producer keeps at most
 * PLOG_PRODUCER_BATCHES batches, all of its present epoch, oldest first. Pure.
 */
#include "plog/producers.h"

#include "base/alloc.h"
#include "base/crc32c.h"
#include "base/endian.h"
#include "base/map.h"
#include "base/reader.h"
#include "record/records.h"

#include <stdlib.h>

#define SNAPSHOT_VERSION     1
#define SNAPSHOT_HEADER_SIZE 6 /* version and CRC: the CRC covers what follows */
#define SNAPSHOT_ENTRY_SIZE  46

#define ENDED_MAX 1024

#define MARKER_ABORT  0
#define MARKER_COMMIT 1

struct producer_batch {
    int32_t last_sequence;
    int32_t offset_delta;
    int64_t last_offset;
    int64_t timestamp; /* ms */
};

struct plog_producer {
    int64_t id;
    int16_t epoch;
    int32_t coordinator_epoch; /* -1 = none seen */
    int64_t transaction_start; /* offset, -1 = none open */
    int64_t last_timestamp;    /* ms */
    int batch_count;
    struct producer_batch batches[PLOG_PRODUCER_BATCHES];
    struct list_node by_use;
    UT_hash_handle hh;
};

struct plog_ended {
    int64_t first_offset;
    int64_t last_offset;
};

void plog_producers_init(struct plog_producers *p)
{
    *p = (struct plog_producers){0};
    list_init(&p->by_use);
}

static void producer_drop(struct plog_producers *p, struct plog_producer *one)
{
    if (one->transaction_start >= 0) {
        p->open_count--;
    }
    HASH_DEL(p->by_id, one);
    list_remove(&p->by_use, &one->by_use);
    free(one);
}

void plog_producers_clear(struct plog_producers *p)
{
    struct list_node *n;
    while ((n = list_first(&p->by_use)) != NULL) {
        producer_drop(p, CONTAINER_OF(n, struct plog_producer, by_use));
    }
    p->ended_count = 0;
}

void plog_producers_deinit(struct plog_producers *p)
{
    plog_producers_clear(p);
    free(p->ended);
    p->ended = NULL;
    p->ended_cap = 0;
}

int plog_producers_count(const struct plog_producers *p)
{
    return (int)p->by_use.count;
}

static struct plog_producer *producer_find(const struct plog_producers *p, int64_t id)
{
    struct plog_producer *one = NULL;
    HASH_FIND(hh, p->by_id, &id, sizeof id, one);
    return one;
}

/* The longest idle producer without an open transaction makes room; all of them in transactions means
 * that the bound is passed, which only a coordinator with as many transactions can bring about. */
static void producers_make_room(struct plog_producers *p)
{
    struct list_node *n;
    list_foreach (n, &p->by_use) {
        struct plog_producer *one = CONTAINER_OF(n, struct plog_producer, by_use);
        if (one->transaction_start < 0) {
            producer_drop(p, one);
            return;
        }
    }
}

static struct plog_producer *producer_get(struct plog_producers *p, int64_t id, int16_t epoch)
{
    struct plog_producer *one = producer_find(p, id);
    if (one == NULL) {
        if (p->by_use.count >= PLOG_PRODUCERS_MAX) {
            producers_make_room(p);
        }
        one = xalloc(sizeof *one);
        one->id = id;
        one->epoch = epoch;
        one->coordinator_epoch = -1;
        one->transaction_start = -1;
        HASH_ADD(hh, p->by_id, id, sizeof one->id, one);
    } else {
        list_remove(&p->by_use, &one->by_use);
    }
    list_push_back(&p->by_use, &one->by_use);
    if (one->epoch != epoch) {
        one->epoch = epoch;
        one->batch_count = 0;
    }
    return one;
}

static int32_t producer_last_sequence(const struct plog_producer *one)
{
    return one->batch_count == 0 ? RECORD_NO_SEQUENCE
                                 : one->batches[one->batch_count - 1].last_sequence;
}

static bool producer_is_duplicate(const struct plog_producer *one, const struct record_batch *b,
                                  struct plog_producer_duplicate *ret_duplicate)
{
    for (int i = 0; i < one->batch_count; i++) {
        const struct producer_batch *known = &one->batches[i];
        if (known->last_sequence == record_batch_last_sequence(b) &&
            known->offset_delta == b->last_offset_delta) {
            *ret_duplicate = (struct plog_producer_duplicate){
                .base_offset = known->last_offset - known->offset_delta,
                .timestamp = known->timestamp,
            };
            return true;
        }
    }
    return false;
}

int plog_producers_check(const struct plog_producers *p, const struct record_batch *b,
                         struct plog_producer_duplicate *ret_duplicate)
{
    const struct plog_producer *one = b->producer_id < 0 ? NULL : producer_find(p, b->producer_id);
    if (one == NULL) {
        return 0;
    }
    if (b->producer_epoch < one->epoch) {
        return -E_FENCED;
    }
    if (b->producer_epoch == one->epoch && producer_is_duplicate(one, b, ret_duplicate)) {
        return 1;
    }
    if (one->transaction_start >= 0 && !record_batch_is_transactional(b)) {
        return -E_INVALID;
    }
    /* A new epoch starts at 0; so does the first batch behind a marker that raised the epoch. */
    int32_t expected =
        b->producer_epoch > one->epoch ? 0 : record_sequence_add(producer_last_sequence(one), 1);
    return b->base_sequence == expected ? 0 : -E_OUT_OF_ORDER;
}

void plog_producers_add(struct plog_producers *p, const struct record_batch *b)
{
    if (b->producer_id < 0) {
        return;
    }
    struct plog_producer *one = producer_get(p, b->producer_id, b->producer_epoch);
    if (one->batch_count == PLOG_PRODUCER_BATCHES) {
        memmove(one->batches, one->batches + 1, sizeof one->batches - sizeof one->batches[0]);
        one->batch_count--;
    }
    one->batches[one->batch_count++] = (struct producer_batch){
        .last_sequence = record_batch_last_sequence(b),
        .offset_delta = b->last_offset_delta,
        .last_offset = record_batch_last_offset(b),
        .timestamp = b->max_timestamp,
    };
    one->last_timestamp = b->max_timestamp;
    if (record_batch_is_transactional(b) && one->transaction_start < 0) {
        one->transaction_start = b->base_offset;
        p->open_count++;
    }
}

/* The marker of docs/spec/protocol.md 3.2. 1, 0 when it is another control record, -E_MALFORMED. */
static int parse_marker(struct slice bytes, int *ret_type, int32_t *ret_coordinator_epoch)
{
    struct record_iter it;
    int err = record_iter_init(&it, bytes, 0, NULL); /* control batches are never compressed */
    if (err != 0) {
        return -E_MALFORMED;
    }
    struct record record;
    if (record_iter_next(&it, &record) != 1) {
        record_iter_deinit(&it);
        return -E_MALFORMED;
    }
    struct reader key;
    struct reader value;
    reader_init(&key, record.key);
    reader_init(&value, record.value);
    (void)reader_u16(&key); /* version: later ones add fields behind */
    int type = reader_u16(&key);
    bool is_marker = type == MARKER_ABORT || type == MARKER_COMMIT;
    (void)reader_u16(&value);
    int32_t coordinator_epoch = (int32_t)reader_u32(&value);
    record_iter_deinit(&it);
    if (key.err != 0 || (is_marker && value.err != 0)) {
        return -E_MALFORMED;
    }
    *ret_type = type;
    *ret_coordinator_epoch = coordinator_epoch;
    return is_marker ? 1 : 0;
}

static void producers_add_ended(struct plog_producers *p, int64_t first_offset, int64_t last_offset)
{
    if (p->ended_count == ENDED_MAX) {
        /* Nobody asked for long: two become one that ends later, which is on the safe side. */
        p->ended[1].first_offset = MIN(p->ended[0].first_offset, p->ended[1].first_offset);
        p->ended_count--;
        memmove(p->ended, p->ended + 1, (size_t)p->ended_count * sizeof *p->ended);
    }
    if (p->ended_count == p->ended_cap) {
        p->ended_cap = p->ended_cap == 0 ? 8 : p->ended_cap * 2;
        p->ended = xrealloc(p->ended, (size_t)p->ended_cap * sizeof *p->ended);
    }
    p->ended[p->ended_count++] = (struct plog_ended){first_offset, last_offset};
}

int plog_producers_add_control(struct plog_producers *p, const struct record_batch *b,
                               struct slice bytes, struct plog_transaction_end *ret_end)
{
    int type = 0;
    int32_t coordinator_epoch = 0;
    int is_marker = parse_marker(bytes, &type, &coordinator_epoch);
    if (is_marker <= 0 || b->producer_id < 0) {
        return is_marker < 0 ? is_marker : 0;
    }
    struct plog_producer *one = producer_get(p, b->producer_id, b->producer_epoch);
    *ret_end = (struct plog_transaction_end){
        .is_abort = type == MARKER_ABORT,
        .producer_id = b->producer_id,
        .first_offset = one->transaction_start,
        .last_offset = record_batch_last_offset(b),
    };
    if (one->transaction_start >= 0) {
        producers_add_ended(p, one->transaction_start, record_batch_last_offset(b));
        one->transaction_start = -1;
        p->open_count--;
    }
    one->coordinator_epoch = coordinator_epoch;
    one->last_timestamp = b->max_timestamp;
    return 1;
}

void plog_producers_expire(struct plog_producers *p, int64_t wall_ms, int64_t expiry_ms)
{
    struct list_node *n;
    struct list_node *next;
    list_foreach_safe (n, next, &p->by_use) {
        struct plog_producer *one = CONTAINER_OF(n, struct plog_producer, by_use);
        /* Timestamps are the client's and may be anything; the other two are ours. */
        if (one->transaction_start < 0 && one->last_timestamp <= wall_ms - expiry_ms) {
            producer_drop(p, one);
        }
    }
}

int64_t plog_producers_stable_end(struct plog_producers *p, int64_t high_watermark)
{
    int64_t end = high_watermark;
    int kept = 0;
    for (int i = 0; i < p->ended_count; i++) {
        if (p->ended[i].last_offset >= high_watermark) {
            end = MIN(end, p->ended[i].first_offset);
            p->ended[kept++] = p->ended[i];
        }
    }
    p->ended_count = kept;
    if (p->open_count == 0) {
        return end;
    }
    struct list_node *n;
    list_foreach (n, &p->by_use) {
        const struct plog_producer *one = CONTAINER_OF(n, struct plog_producer, by_use);
        if (one->transaction_start >= 0) {
            end = MIN(end, one->transaction_start);
        }
    }
    return end;
}

void plog_producers_format(const struct plog_producers *p, struct buf *out)
{
    size_t start = out->len;
    buf_put_u16(out, SNAPSHOT_VERSION);
    buf_put_u32(out, 0);
    buf_put_u32(out, (uint32_t)p->by_use.count);
    struct list_node *n;
    list_foreach (n, &p->by_use) {
        const struct plog_producer *one = CONTAINER_OF(n, struct plog_producer, by_use);
        const struct producer_batch none = {RECORD_NO_SEQUENCE, 0, -1, one->last_timestamp};
        const struct producer_batch *last =
            one->batch_count == 0 ? &none : &one->batches[one->batch_count - 1];
        buf_put_u64(out, (uint64_t)one->id);
        buf_put_u16(out, (uint16_t)one->epoch);
        buf_put_u32(out, (uint32_t)last->last_sequence);
        buf_put_u64(out, (uint64_t)last->last_offset);
        buf_put_u32(out, (uint32_t)last->offset_delta);
        buf_put_u64(out, (uint64_t)one->last_timestamp);
        buf_put_u32(out, (uint32_t)one->coordinator_epoch);
        buf_put_u64(out, (uint64_t)one->transaction_start);
    }
    if (!buf_failed(out)) {
        size_t covered = start + SNAPSHOT_HEADER_SIZE;
        buf_patch_u32(out, start + 2, crc32c(0, out->ptr + covered, out->len - covered));
    }
}

static void parse_entry(struct plog_producers *p, struct reader *r)
{
    int64_t id = (int64_t)reader_u64(r);
    int16_t epoch = (int16_t)reader_u16(r);
    struct producer_batch last = {.last_sequence = (int32_t)reader_u32(r)};
    last.last_offset = (int64_t)reader_u64(r);
    last.offset_delta = (int32_t)reader_u32(r);
    last.timestamp = (int64_t)reader_u64(r);
    int32_t coordinator_epoch = (int32_t)reader_u32(r);
    int64_t transaction_start = (int64_t)reader_u64(r);
    if (id < 0 || producer_find(p, id) != NULL) {
        reader_fail(r, -E_MALFORMED);
        return;
    }
    struct plog_producer *one = producer_get(p, id, epoch);
    one->coordinator_epoch = coordinator_epoch;
    one->last_timestamp = last.timestamp;
    if (last.last_offset >= 0 && last.last_sequence >= 0) {
        one->batches[one->batch_count++] = last;
    }
    if (transaction_start >= 0) {
        one->transaction_start = transaction_start;
        p->open_count++;
    }
}

int plog_producers_parse(struct plog_producers *p, struct slice bytes)
{
    CHECK(p->by_use.count == 0);
    struct reader r;
    reader_init(&r, bytes);
    uint16_t version = reader_u16(&r);
    uint32_t crc = reader_u32(&r);
    if (r.err != 0) {
        return -E_MALFORMED;
    }
    if (version != SNAPSHOT_VERSION) {
        return -E_UNSUPPORTED;
    }
    if (crc32c(0, r.ptr, reader_left(&r)) != crc) {
        return -E_CORRUPT;
    }
    uint32_t count = reader_u32(&r);
    if (count > PLOG_PRODUCERS_MAX || reader_left(&r) != (size_t)count * SNAPSHOT_ENTRY_SIZE) {
        return -E_MALFORMED;
    }
    for (uint32_t i = 0; i < count && r.err == 0; i++) {
        parse_entry(p, &r);
    }
    if (r.err != 0) {
        plog_producers_clear(p);
        return -E_MALFORMED;
    }
    return 0;
}
