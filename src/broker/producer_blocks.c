/*
 * Read, write, and again from the reading when somebody else was faster or the outcome is unknown: a
 * block that was written unheard is lost, which costs nothing but its ids.
 */
#include "broker/producer_blocks.h"

#include "base/alloc.h"
#include "base/buf.h"
#include "base/check.h"
#include "metastore/metastore.h"
#include "metastore/path.h"
#include "metastore/znode.h"

#include <stdlib.h>

struct broker_producer_blocks {
    int32_t broker_id;
    struct metastore *metastore;    /* NULL while stopped */
    broker_producer_blocks_fn done; /* NULL: nothing is under way */
    void *arg;
    struct model_producer_block block; /* the one being written */
};

static void block_read(struct broker_producer_blocks *b);

static void over(struct broker_producer_blocks *b, int err)
{
    broker_producer_blocks_fn done = b->done;
    b->done = NULL;
    if (err == 0) {
        done(b->arg, 0, b->block.start, b->block.end - b->block.start + 1);
    } else {
        done(b->arg, err, -1, 0);
    }
}

static void block_written(void *arg, const struct metastore_result *result)
{
    struct broker_producer_blocks *b = arg;
    if (b->metastore == NULL) {
        return; /* stopped meanwhile */
    }
    if (result->err == -E_BAD_VERSION || result->err == -E_EXISTS || result->err == -E_NOT_FOUND ||
        result->err == -E_UNKNOWN_OUTCOME) {
        block_read(b);
    } else {
        over(b, result->err);
    }
}

/* latest ends at -1 when there is none yet; version -1: no znode either. */
static void block_write(struct broker_producer_blocks *b, const struct model_producer_block *latest)
{
    struct buf json;
    b->block = (struct model_producer_block){.broker = b->broker_id,
                                             .start = latest->end + 1,
                                             .end = latest->end + MODEL_PRODUCER_BLOCK_SIZE};
    buf_init(&json);
    metastore_producer_block_encode(&json, &b->block);
    struct metastore_op op = {.kind = latest->version < 0 ? METASTORE_CREATE : METASTORE_SET,
                              .path = slice_str(METASTORE_PRODUCER_BLOCK),
                              .data = buf_slice(&json),
                              .version = latest->version};
    metastore_multi(b->metastore, &op, 1, block_written, b);
    buf_deinit(&json);
}

static void block_read_done(void *arg, const struct metastore_result *result)
{
    struct broker_producer_blocks *b = arg;
    struct model_producer_block latest = {.broker = -1, .end = -1, .version = -1};
    struct errmsg em;
    int err = result->err == -E_NOT_FOUND ? 0 : result->err;
    if (b->metastore == NULL) {
        return; /* stopped meanwhile */
    }
    if (result->err == 0) {
        latest.version = result->stat.version;
        err =
            result->data.len == 0 ? 0 : metastore_producer_block_decode(result->data, &latest, &em);
    }
    if (err == 0 && latest.end > INT64_MAX - MODEL_PRODUCER_BLOCK_SIZE) {
        err = -E_TOO_LARGE; /* all ids are used */
    }
    if (err != 0) {
        over(b, err);
    } else {
        block_write(b, &latest);
    }
}

static void block_read(struct broker_producer_blocks *b)
{
    metastore_get(b->metastore, slice_str(METASTORE_PRODUCER_BLOCK), NULL, NULL, block_read_done,
                  b);
}

int broker_producer_blocks_take(struct broker_producer_blocks *b, broker_producer_blocks_fn done,
                                void *arg)
{
    CHECK(b->done == NULL);
    if (b->metastore == NULL) {
        return -E_NOT_AVAILABLE;
    }
    b->done = done;
    b->arg = arg;
    block_read(b);
    return 0;
}

struct broker_producer_blocks *broker_producer_blocks_new(int32_t broker_id)
{
    struct broker_producer_blocks *b = xalloc(sizeof *b);
    b->broker_id = broker_id;
    return b;
}

void broker_producer_blocks_start(struct broker_producer_blocks *b, struct metastore *m)
{
    b->metastore = m;
}

void broker_producer_blocks_stop(struct broker_producer_blocks *b)
{
    if (b == NULL) {
        return;
    }
    b->metastore = NULL;
    if (b->done != NULL) {
        over(b, -E_CLOSED);
    }
}

void broker_producer_blocks_free(struct broker_producer_blocks *b)
{
    free(b);
}
