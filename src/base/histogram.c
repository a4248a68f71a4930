/*
 * Buckets: values below 128 each have their own; above, 128 buckets for each power of two.
 */
#include "base/histogram.h"

#include <string.h>

#define SUB_BITS  7
#define SUB_COUNT (1 << SUB_BITS)

static int bucket_of(int64_t us)
{
    if (us < SUB_COUNT) {
        return us < 0 ? 0 : (int)us;
    }
    int power = 63 - __builtin_clzll((uint64_t)us) - SUB_BITS;
    int index = (power + 1) * SUB_COUNT + (int)((us >> power) - SUB_COUNT);
    return index < HISTOGRAM_BUCKETS ? index : HISTOGRAM_BUCKETS - 1;
}

static int64_t bucket_top(int index)
{
    if (index < SUB_COUNT) {
        return index;
    }
    int power = index / SUB_COUNT - 1;
    return ((int64_t)(index % SUB_COUNT + SUB_COUNT + 1) << power) - 1;
}

void histogram_init(struct histogram *h)
{
    memset(h, 0, sizeof *h);
}

void histogram_add(struct histogram *h, int64_t us)
{
    h->counts[bucket_of(us)]++;
    h->total++;
    if (us > h->max) {
        h->max = us;
    }
}

void histogram_merge(struct histogram *into, const struct histogram *from)
{
    for (int i = 0; i < HISTOGRAM_BUCKETS; i++) {
        into->counts[i] += from->counts[i];
    }
    into->total += from->total;
    if (from->max > into->max) {
        into->max = from->max;
    }
}

int64_t histogram_quantile(const struct histogram *h, double quantile)
{
    if (h->total == 0) {
        return 0;
    }
    uint64_t rank = (uint64_t)(quantile * (double)h->total);
    rank = rank >= h->total ? h->total - 1 : rank;
    uint64_t seen = 0;
    for (int i = 0; i < HISTOGRAM_BUCKETS; i++) {
        seen += h->counts[i];
        if (seen > rank) {
            int64_t top = bucket_top(i);
            return top < h->max ? top : h->max;
        }
    }
    return h->max;
}
