/*
 * A log-linear histogram of microseconds: 1 us to about 70 s, 3 significant digits lost at most 1 %.
 * Plain counters, one owner.
 */
#pragma once

#include <stdint.h>

#define HISTOGRAM_BUCKETS 4096

struct histogram {
    uint64_t counts[HISTOGRAM_BUCKETS];
    uint64_t total;
    int64_t max; /* us */
};

void histogram_init(struct histogram *h);
void histogram_add(struct histogram *h, int64_t us);
void histogram_merge(struct histogram *into, const struct histogram *from);
/* Upper edge of the bucket that holds the quantile (0..1), in us; 0 when empty. */
int64_t histogram_quantile(const struct histogram *h, double quantile);
