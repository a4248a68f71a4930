/*
 * Prometheus text (exposition format 0.0.4) piece by piece, for values that live elsewhere than in a
 * registry: a family's head, then its series. No state; any thread.
 */
#pragma once

#include "base/buf.h"

enum metric_kind {
    METRIC_COUNTER,
    METRIC_GAUGE,
    METRIC_HISTOGRAM,
};

/* The head of a family; its series follow at once. */
void metric_text_family(struct buf *out, enum metric_kind kind, const char *name, const char *help);
/* One series. labels as in metric_counter. */
void metric_text_value(struct buf *out, const char *name, const char *labels, int64_t value);
/* A number with a fraction, in thousandths: seconds from milliseconds. */
void metric_text_thousandths(struct buf *out, const char *name, const char *labels,
                             int64_t thousandths);
