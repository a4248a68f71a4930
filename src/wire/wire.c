/*
 * The api table. Invariant: generated in order of key, each key once. Pure; runs anywhere.
 */
#include "wire/wire.h"

#include "base/check.h"
#include "wire/message.h"

const struct wire_api *wire_api_find(int16_t key)
{
    int32_t low = 0;
    int32_t high = wire_apis_count;
    while (low < high) {
        int32_t middle = (low + high) / 2;
        if (wire_apis[middle].key < key) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    return low < wire_apis_count && wire_apis[low].key == key ? &wire_apis[low] : NULL;
}

const struct wire_api *wire_api_at(int32_t index)
{
    CHECK(index >= 0 && index < wire_apis_count);
    return &wire_apis[index];
}

int32_t wire_api_count(void)
{
    return wire_apis_count;
}

int wire_reader_finish(const struct reader *r)
{
    if (r->err != 0) {
        return r->err;
    }
    return reader_left(r) == 0 ? 0 : -E_MALFORMED;
}
