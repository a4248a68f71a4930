/*
 * Any bytes as records from a client: validated, walked, inflated. What passes validation must walk
 * to exactly its count. The CRC is made right first, since no search would ever hit it.
 */
#include "base/check.h"
#include "record/records.h"
#include "record/validate.h"

#include <stdlib.h>

#define INFLATED_MAX ((size_t)1 << 20)

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* The headers of a record were checked when it was read: each must come out. */
static void walk_headers(const struct record *record)
{
    struct slice left = record->headers;
    for (int32_t i = 0; i < record->header_count; i++) {
        struct slice key;
        struct slice value;
        CHECK(record_header_next(&left, &key, &value) == 1);
    }
    CHECK(left.len == 0);
}

static void walk(struct slice bytes, bool is_valid)
{
    struct record_iter it;
    int err = record_iter_init(&it, bytes, INFLATED_MAX, NULL);
    CHECK(err == 0 || !is_valid);
    int more = err == 0;
    while (more == 1) {
        struct record record;
        more = record_iter_next(&it, &record);
        if (more == 1) {
            walk_headers(&record);
        }
    }
    CHECK(!is_valid || (more == 0 && it.index == it.batch.count));
    record_iter_deinit(&it);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    uint8_t *bytes = xmemdup(data, size);
    struct slice all = slice_of(bytes, size);
    struct record_batch b;
    if (record_batch_parse(all, &b) == 0 && b.len <= size) {
        record_batch_encode(&b, bytes);
    }
    struct record_limits limits = record_limits_default();
    limits.walk_records = true;
    limits.inflated_bytes_max = INFLATED_MAX;
    enum record_reason reason;
    int err = record_validate(all, &limits, &b, &reason, NULL);
    CHECK((err == 0) == (reason == RECORD_OK));
    walk(all, err == 0);
    struct slice left = all;
    while (record_batch_next(&left, &b, NULL) == 1) {
        CHECK(left.len < size);
    }
    free(bytes);
    return 0;
}
