/*
 * Metrics: counters, gauges and histograms, registered by name and labels, and told as Prometheus
 * text (exposition format 0.0.4). Values are atomics: any thread may change and read them.
 * Registering and telling take a lock; neither belongs on a request's path: keep the pointer.
 */
#pragma once

#include "base/buf.h"

struct metric_registry;

/* A value that only rises, or one that goes both ways. */
struct metric_value;
/* Microseconds over fixed bounds: 100 us to 10 s in steps of 1, 2, 5. */
struct metric_histogram;

struct metric_registry *metric_registry_new(void);
/* Frees all metrics with it. NULL is fine. */
void metric_registry_free(struct metric_registry *r);

/* The metric of that name and labels, made when missing. labels is what stands between the braces of
 * the text form, with values escaped by metric_label, or "". help is kept from the first use of the
 * name. All three are copied. The metric lives as long as the registry. A name has one kind. */
struct metric_value *metric_counter(struct metric_registry *r, const char *name, const char *labels,
                                    const char *help);
struct metric_value *metric_gauge(struct metric_registry *r, const char *name, const char *labels,
                                  const char *help);
struct metric_histogram *metric_histogram(struct metric_registry *r, const char *name,
                                          const char *labels, const char *help);
/* Appends `key="value"` with value escaped; a comma first when b is not empty. */
void metric_label(struct buf *b, const char *key, const char *value);

void metric_add(struct metric_value *v, int64_t delta);
void metric_set(struct metric_value *v, int64_t value);
int64_t metric_get(const struct metric_value *v);
void metric_observe(struct metric_histogram *h, int64_t us);

/* Appends everything, sorted by name and labels. Histograms are told in seconds. */
void metric_write(struct metric_registry *r, struct buf *out);
