/*
 * What a log knows of the producers that wrote to it (docs/spec/protocol.md, 8): epochs and the last
 * five batches against duplicates and gaps, and open transactions for the last stable offset.
 * Built from batches in log order, stored as Kafka's .snapshot files. In memory only; no I/O here.
 */
#pragma once

#include "base/buf.h"
#include "base/error.h"
#include "base/list.h"
#include "record/batch.h"

#define PLOG_PRODUCER_BATCHES 5      /* as many as a client may have in flight */
#define PLOG_PRODUCERS_MAX    100000 /* a log; the one idle longest is forgotten for a new one */

struct plog_producer;
struct plog_ended;

struct plog_producers {
    struct plog_producer *by_id; /* map */
    struct list by_use;          /* of struct plog_producer, longest idle first */
    int open_count;              /* with an open transaction */
    struct plog_ended *ended; /* transactions that ended, maybe not below the high watermark yet */
    int ended_count;
    int ended_cap;
};

struct plog_producer_duplicate {
    int64_t base_offset;
    int64_t timestamp; /* ms */
};

void plog_producers_init(struct plog_producers *p);
void plog_producers_deinit(struct plog_producers *p);
void plog_producers_clear(struct plog_producers *p);
int plog_producers_count(const struct plog_producers *p);
/*
 * May this client batch be appended? 0: yes. 1: it is in the log already, see ret_duplicate.
 * -E_FENCED, -E_OUT_OF_ORDER, -E_INVALID (transactional state). Batches without a producer id: 0.
 */
int plog_producers_check(const struct plog_producers *p, const struct record_batch *b,
                         struct plog_producer_duplicate *ret_duplicate) MUST_CHECK;
/* Takes a data batch that is in the log now; its base_offset is final. */
void plog_producers_add(struct plog_producers *p, const struct record_batch *b);
/* What a transaction marker did, for the index of aborted transactions. */
struct plog_transaction_end {
    bool is_abort;
    int64_t producer_id;
    int64_t first_offset; /* -1: the producer had no open transaction here */
    int64_t last_offset;  /* of the marker */
};
/* Takes a control batch; bytes is the whole of it. 1 with ret_end when it ended a transaction, 0 for
 * other control records, -E_MALFORMED. */
int plog_producers_add_control(struct plog_producers *p, const struct record_batch *b,
                               struct slice bytes, struct plog_transaction_end *ret_end) MUST_CHECK;
/* Forgets producers without open transaction whose last batch is expiry_ms old. */
void plog_producers_expire(struct plog_producers *p, int64_t wall_ms, int64_t expiry_ms);
/* The first offset that is not stable below high_watermark, high_watermark when all is. */
int64_t plog_producers_stable_end(struct plog_producers *p, int64_t high_watermark);

/* The snapshot file, version 1, with its CRC. */
void plog_producers_format(const struct plog_producers *p, struct buf *out);
/* Into an empty p. -E_CORRUPT, -E_MALFORMED, -E_UNSUPPORTED: p is empty again. */
int plog_producers_parse(struct plog_producers *p, struct slice bytes) MUST_CHECK;
