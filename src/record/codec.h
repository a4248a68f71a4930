/*
 * Compression of a batch's records as one block, docs/spec/protocol.md 3.3. Decompression takes
 * hostile bytes: the output is bounded before it is made, and any damage is -E_CORRUPT.
 */
#pragma once

#include "base/alloc.h"
#include "base/buf.h"
#include "record/batch.h"

struct record_inflated {
    uint8_t *ptr;
    size_t len; /* bytes of output */
    size_t cap; /* bytes allocated: what budget_free wants */
};

/*
 * Decompresses in (codec not NONE) into memory from budget (may be NULL), owned by the caller:
 * free it with budget_free(budget, ptr, cap). Both snappy forms are read.
 * -E_CORRUPT, -E_TOO_LARGE (more than max bytes), -E_UNSUPPORTED (codec 5-7), -E_NO_MEMORY.
 */
int record_inflate(int codec, struct slice in, size_t max, struct budget *budget,
                   struct record_inflated *ret_out) MUST_CHECK;
/* Appends the compressed form of in to out; snappy in the xerial form. -E_UNSUPPORTED, -E_TOO_LARGE. */
int record_deflate(int codec, struct slice in, struct buf *out) MUST_CHECK;
