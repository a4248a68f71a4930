/*
 * The registry: families by name, series by labels, both in byte order so that the text is stable.
 * Invariant: a series is never moved or freed before the registry, so pointers to it stay good.
 * Any thread; the lock guards the lists, the values are atomics.
 */
#include "metric/metric.h"

#include "base/alloc.h"
#include "base/check.h"
#include "base/list.h"
#include "metric/text.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>

static const int64_t bounds_us[] = {100,     200,     500,     1000,    2000,   5000,
                                    10000,   20000,   50000,   100000,  200000, 500000,
                                    1000000, 2000000, 5000000, 10000000};
#define BOUND_COUNT ARRAY_LEN(bounds_us)

struct metric_value {
    _Atomic int64_t value;
};

struct metric_histogram {
    _Atomic uint64_t counts[BOUND_COUNT + 1]; /* the last: above every bound */
    _Atomic int64_t sum_us;
};

struct series {
    struct list_node link;
    char *labels;
    struct metric_value value;         /* counters and gauges */
    struct metric_histogram histogram; /* histograms */
};

struct family {
    struct list_node link;
    char *name;
    char *help;
    enum metric_kind kind;
    struct list series; /* by labels */
};

struct metric_registry {
    pthread_mutex_t lock; /* guards the lists */
    struct list families; /* by name */
};

static struct family *family_at(struct list_node *n)
{
    return CONTAINER_OF(n, struct family, link);
}

static struct series *series_at(struct list_node *n)
{
    return CONTAINER_OF(n, struct series, link);
}

struct metric_registry *metric_registry_new(void)
{
    struct metric_registry *r = xalloc(sizeof *r);
    CHECK(pthread_mutex_init(&r->lock, NULL) == 0);
    list_init(&r->families);
    return r;
}

static void family_free(struct family *family)
{
    for (struct list_node *n = list_pop(&family->series); n != NULL;
         n = list_pop(&family->series)) {
        free(series_at(n)->labels);
        free(series_at(n));
    }
    free(family->name);
    free(family->help);
    free(family);
}

void metric_registry_free(struct metric_registry *r)
{
    if (r == NULL) {
        return;
    }
    for (struct list_node *n = list_pop(&r->families); n != NULL; n = list_pop(&r->families)) {
        family_free(family_at(n));
    }
    CHECK(pthread_mutex_destroy(&r->lock) == 0);
    free(r);
}

static struct family *family_get(struct metric_registry *r, const char *name, const char *help,
                                 enum metric_kind kind)
{
    struct list_node *n;
    list_foreach (n, &r->families) {
        int order = strcmp(family_at(n)->name, name);
        if (order == 0) {
            CHECKF(family_at(n)->kind == kind, "metric %s has two kinds", name);
            return family_at(n);
        }
        if (order > 0) {
            break;
        }
    }
    struct family *family = xalloc(sizeof *family);
    family->name = xstrdup(name);
    family->help = xstrdup(help);
    family->kind = kind;
    list_init(&family->series);
    list_insert_before(&r->families, n, &family->link);
    return family;
}

static struct series *series_get(struct family *family, const char *labels)
{
    struct list_node *n;
    list_foreach (n, &family->series) {
        int order = strcmp(series_at(n)->labels, labels);
        if (order == 0) {
            return series_at(n);
        }
        if (order > 0) {
            break;
        }
    }
    struct series *series = xalloc(sizeof *series);
    series->labels = xstrdup(labels);
    list_insert_before(&family->series, n, &series->link);
    return series;
}

static struct series *metric_find(struct metric_registry *r, enum metric_kind kind,
                                  const char *name, const char *labels, const char *help)
{
    CHECK(pthread_mutex_lock(&r->lock) == 0);
    struct series *series = series_get(family_get(r, name, help, kind), labels);
    CHECK(pthread_mutex_unlock(&r->lock) == 0);
    return series;
}

struct metric_value *metric_counter(struct metric_registry *r, const char *name, const char *labels,
                                    const char *help)
{
    return &metric_find(r, METRIC_COUNTER, name, labels, help)->value;
}

struct metric_value *metric_gauge(struct metric_registry *r, const char *name, const char *labels,
                                  const char *help)
{
    return &metric_find(r, METRIC_GAUGE, name, labels, help)->value;
}

struct metric_histogram *metric_histogram(struct metric_registry *r, const char *name,
                                          const char *labels, const char *help)
{
    return &metric_find(r, METRIC_HISTOGRAM, name, labels, help)->histogram;
}

void metric_add(struct metric_value *v, int64_t delta)
{
    atomic_fetch_add_explicit(&v->value, delta, memory_order_relaxed);
}

void metric_set(struct metric_value *v, int64_t value)
{
    atomic_store_explicit(&v->value, value, memory_order_relaxed);
}

int64_t metric_get(const struct metric_value *v)
{
    return atomic_load_explicit(&v->value, memory_order_relaxed);
}

void metric_observe(struct metric_histogram *h, int64_t us)
{
    size_t i = 0;
    while (i < BOUND_COUNT && us > bounds_us[i]) {
        i++;
    }
    atomic_fetch_add_explicit(&h->counts[i], 1, memory_order_relaxed);
    atomic_fetch_add_explicit(&h->sum_us, us, memory_order_relaxed);
}

/* ---- text ---- */

/* Backslash, line feed and quote are escaped. */
static void put_escaped(struct buf *b, const char *text)
{
    for (; *text != '\0'; text++) {
        if (*text == '\n') {
            buf_put_str(b, "\\n");
        } else if (*text == '\\' || *text == '"') {
            buf_put_u8(b, '\\');
            buf_put_u8(b, (uint8_t)*text);
        } else {
            buf_put_u8(b, (uint8_t)*text);
        }
    }
}

void metric_label(struct buf *b, const char *key, const char *value)
{
    buf_putf(b, "%s%s=\"", b->len > 0 ? "," : "", key);
    put_escaped(b, value);
    buf_put_u8(b, '"');
}

static void write_histogram(const struct family *family, const struct series *series,
                            struct buf *out)
{
    const struct metric_histogram *h = &series->histogram;
    const char *comma = series->labels[0] != '\0' ? "," : "";
    uint64_t total = 0;
    for (size_t i = 0; i <= BOUND_COUNT; i++) {
        total += atomic_load_explicit(&h->counts[i], memory_order_relaxed);
        buf_putf(out, "%s_bucket{%s%sle=\"", family->name, series->labels, comma);
        if (i < BOUND_COUNT) {
            buf_putf(out, "%g\"} %llu\n", (double)bounds_us[i] / 1e6, (unsigned long long)total);
        } else {
            buf_putf(out, "+Inf\"} %llu\n", (unsigned long long)total);
        }
    }
    bool has_labels = series->labels[0] != '\0';
    double sum = (double)atomic_load_explicit(&h->sum_us, memory_order_relaxed) / 1e6;
    buf_putf(out, has_labels ? "%s_sum{%s} %.6f\n" : "%s_sum%s %.6f\n", family->name,
             series->labels, sum);
    buf_putf(out, has_labels ? "%s_count{%s} %llu\n" : "%s_count%s %llu\n", family->name,
             series->labels, (unsigned long long)total);
}

static void write_family(const struct family *family, struct buf *out)
{
    metric_text_family(out, family->kind, family->name, family->help);
    struct list_node *n;
    list_foreach (n, &family->series) {
        if (family->kind == METRIC_HISTOGRAM) {
            write_histogram(family, series_at(n), out);
        } else {
            metric_text_value(out, family->name, series_at(n)->labels,
                              metric_get(&series_at(n)->value));
        }
    }
}

void metric_write(struct metric_registry *r, struct buf *out)
{
    CHECK(pthread_mutex_lock(&r->lock) == 0);
    struct list_node *n;
    list_foreach (n, &r->families) {
        write_family(family_at(n), out);
    }
    CHECK(pthread_mutex_unlock(&r->lock) == 0);
}
