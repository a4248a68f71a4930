/*
 * For tests of record/: one batch of three records in any codec.
 */
#pragma once

#include "base/check.h"
#include "record/records.h"

#define SAMPLE_COUNT     3
#define SAMPLE_TIMESTAMP 1000 /* of the first record; one later each */

/* Appends the batch to out: keys "k0".., the second null; values of 400 equal letters. */
static inline void record_sample_build(enum record_codec codec, struct buf *out)
{
    char value[400];
    struct record_builder b;
    record_builder_init(&b, codec);
    for (int i = 0; i < SAMPLE_COUNT; i++) {
        char key[] = {'k', (char)('0' + i), '\0'};
        memset(value, 'a' + i, sizeof value);
        struct record_input record = {
            .key = i == 1 ? SLICE_NULL : slice_str(key),
            .value = slice_of(value, sizeof value),
            .timestamp = SAMPLE_TIMESTAMP + i,
        };
        record_builder_add(&b, &record);
    }
    CHECK(record_builder_finish(&b, out) == 0);
    record_builder_deinit(&b);
}
