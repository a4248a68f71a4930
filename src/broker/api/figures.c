/*
 * See figures.h. The series are made at the start, so that counting is a few additions to atomics: no
 * lock, no allocation.
 */
#include "broker/api/figures.h"

#include "base/alloc.h"
#include "base/check.h"
#include "broker/api/request.h"
#include "metric/metric.h"

#include <stdlib.h>

struct series {
    struct metric_value *requests;
    struct metric_value *errors;
    struct metric_histogram *times;
};

struct api_figures {
    struct metric_registry *registry;
    struct metric_value *unknown;
    struct series *rows; /* parallel to api_rows */
};

static void series_make(struct metric_registry *registry, int16_t key, struct series *ret)
{
    struct buf labels;
    buf_init(&labels);
    metric_label(&labels, "request", wire_api_find(key)->name);
    char *text = slice_dup(buf_slice(&labels));
    *ret = (struct series){
        .requests = metric_counter(registry, "kafka_network_requestmetrics_requests_total", text,
                                   "Requests that were taken and have ended."),
        .errors = metric_counter(registry, "kafka_network_requestmetrics_errors_total", text,
                                 "Error codes in answers, and requests that ended by closing."),
        .times = metric_histogram(registry, "kafka_network_requestmetrics_totaltime_seconds", text,
                                  "From the read that completed a request to its answer, waiting "
                                  "included."),
    };
    free(text);
    buf_deinit(&labels);
}

struct api_figures *api_figures_new(void)
{
    struct api_figures *f = xalloc(sizeof *f);
    f->registry = metric_registry_new();
    f->rows = xalloc((size_t)api_row_count * sizeof *f->rows);
    f->unknown = metric_counter(f->registry, "klamm_network_unknown_requests_total", "",
                                "Frames that are no request of a served API: closed.");
    for (int32_t i = 0; i < api_row_count; i++) {
        series_make(f->registry, api_rows[i].key, &f->rows[i]);
    }
    return f;
}

void api_figures_free(struct api_figures *f)
{
    if (f != NULL) {
        metric_registry_free(f->registry);
        free(f->rows);
        free(f);
    }
}

void api_figures_note(struct api_figures *f, int32_t row, int64_t us, int32_t error_count)
{
    CHECK(row >= 0 && row < api_row_count);
    const struct series *s = &f->rows[row];
    metric_add(s->requests, 1);
    metric_observe(s->times, us);
    if (error_count > 0) {
        metric_add(s->errors, error_count);
    }
}

void api_figures_note_unknown(struct api_figures *f)
{
    metric_add(f->unknown, 1);
}

void api_figures_write(const struct api_figures *f, struct buf *out)
{
    metric_write(f->registry, out);
}
