/*
 * Any bytes as the files a log directory may hold: a producer snapshot (its CRC made right first, since
 * no search would ever hit it), an offset checkpoint, a leader epoch checkpoint. What is read must be
 * written to a fixed point. Input: kind, then the bytes.
 */
#include "base/alloc.h"
#include "base/check.h"
#include "base/crc32c.h"
#include "base/endian.h"
#include "plog/checkpoint.h"
#include "plog/epochs.h"
#include "plog/producers.h"

#include <stdlib.h>

#define SNAPSHOT_CRC    2 /* where it lies */
#define SNAPSHOT_HEADER 6 /* what it does not cover */

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void try_snapshot(struct slice bytes)
{
    uint8_t *copy = xmemdup(bytes.ptr, bytes.len);
    if (bytes.len >= SNAPSHOT_HEADER) {
        store_be32(copy + SNAPSHOT_CRC,
                   crc32c(0, copy + SNAPSHOT_HEADER, bytes.len - SNAPSHOT_HEADER));
    }
    struct plog_producers p;
    struct buf again;
    plog_producers_init(&p);
    buf_init(&again);
    if (plog_producers_parse(&p, slice_of(copy, bytes.len)) == 0) {
        plog_producers_format(&p, &again);
        CHECK(again.len == bytes.len);
    } else {
        CHECK(plog_producers_count(&p) == 0);
    }
    buf_deinit(&again);
    plog_producers_deinit(&p);
    free(copy);
}

static void try_checkpoint(struct slice bytes)
{
    struct plog_checkpoint read;
    struct plog_checkpoint again;
    if (plog_checkpoint_parse(bytes, &read, NULL) != 0) {
        return;
    }
    struct buf text;
    buf_init(&text);
    plog_checkpoint_format(&read, &text);
    int err = plog_checkpoint_parse(buf_slice(&text), &again, NULL);
    CHECK(err == 0 && again.count == read.count);
    plog_checkpoint_deinit(&again);
    plog_checkpoint_deinit(&read);
    buf_deinit(&text);
}

static void try_epochs(struct slice bytes)
{
    struct plog_epochs read;
    struct plog_epochs again;
    if (plog_epochs_parse(bytes, &read) != 0) {
        return;
    }
    struct buf text;
    buf_init(&text);
    plog_epochs_format(&read, &text);
    int err = plog_epochs_parse(buf_slice(&text), &again);
    CHECK(err == 0 && again.count == read.count);
    plog_epochs_deinit(&again);
    plog_epochs_deinit(&read);
    buf_deinit(&text);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size == 0) {
        return 0;
    }
    struct slice bytes = slice_of(data + 1, size - 1);
    switch (data[0] % 3) {
    case 0:
        try_snapshot(bytes);
        break;
    case 1:
        try_checkpoint(bytes);
        break;
    default:
        try_epochs(bytes);
        break;
    }
    return 0;
}
