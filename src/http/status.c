/*
 * See status.h. jansson takes over what it is given, NULL included, so that one test at the end finds
 * every failure.
 */
#include "http/status.h"

#include "base/alloc.h"

#include <jansson.h>
#include <stdlib.h>

static json_t *text_or_null(const char *text)
{
    return text == NULL ? json_null() : json_string(text);
}

/* A path or a name may be any bytes; in JSON those that are no text show as question marks. */
static json_t *any_text(const char *bytes)
{
    json_t *text = json_string(bytes);
    if (text != NULL) {
        return text;
    }
    char *copy = xstrdup(bytes);
    for (char *at = copy; *at != '\0'; at++) {
        if ((uint8_t)*at >= 0x80) {
            *at = '?';
        }
    }
    text = json_string(copy);
    free(copy);
    return text;
}

static json_t *number_or_null(int64_t value)
{
    return value < 0 ? json_null() : json_integer(value);
}

/* Adds to the list unless something failed before; false when it did or does now. */
static bool list_add(json_t *list, json_t *item)
{
    return json_array_append_new(list, item) == 0;
}

static json_t *dirs_of(const struct http_status *s)
{
    json_t *list = json_array();
    for (int32_t i = 0; list != NULL && i < s->dir_count; i++) {
        const struct http_status_dir *d = &s->dirs[i];
        json_t *item =
            json_pack("{s:o, s:b, s:o, s:o, s:o, s:i}", "path", any_text(d->path), "is_offline",
                      (int)d->is_offline, "total_bytes", number_or_null(d->total_bytes),
                      "usable_bytes", number_or_null(d->usable_bytes), "log_bytes",
                      json_integer(d->log_bytes), "logs", d->log_count);
        if (!list_add(list, item)) {
            json_decref(list);
            return NULL;
        }
    }
    return list;
}

static json_t *adding_of(const struct http_status_move *m)
{
    json_t *list = json_array();
    for (int32_t i = 0; list != NULL && i < m->adding_count; i++) {
        const struct http_status_replica *r = &m->adding[i];
        json_t *item = json_pack("{s:i, s:s, s:o}", "broker", r->broker, "state", r->state,
                                 "lag_bytes", number_or_null(r->lag_bytes));
        if (!list_add(list, item)) {
            json_decref(list);
            return NULL;
        }
    }
    return list;
}

static json_t *moves_of(const struct http_status *s)
{
    json_t *list = json_array();
    for (int32_t i = 0; list != NULL && i < s->move_listed; i++) {
        const struct http_status_move *m = &s->moves[i];
        json_t *item =
            json_pack("{s:s, s:i, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o}", "topic", m->topic,
                      "partition", m->partition, "age_ms", json_integer(m->age_ms), "bytes_to_copy",
                      json_integer(m->bytes_to_copy), "bytes_copied", json_integer(m->bytes_copied),
                      "rate", number_or_null(m->rate), "eta_ms", number_or_null(m->eta_ms),
                      "reason", text_or_null(m->reason), "reason_age_ms",
                      json_integer(m->reason_age_ms), "adding", adding_of(m));
        if (!list_add(list, item)) {
            json_decref(list);
            return NULL;
        }
    }
    return list;
}

static json_t *job_of(const struct http_status_job *j)
{
    json_t *moves = json_pack("{s:i, s:i, s:i, s:i, s:i, s:i}", "total", j->total, "queued",
                              j->queued, "running", j->running, "paused", j->paused, "done",
                              j->done, "cancelled", j->cancelled);
    return json_pack("{s:o, s:s, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o}", "id",
                     any_text(j->id), "state", j->state, "submitted_by", any_text(j->submitted_by),
                     "age_ms", json_integer(j->age_ms), "moves", moves, "bytes_to_copy",
                     json_integer(j->bytes_to_copy), "bytes_copied", json_integer(j->bytes_copied),
                     "rate", number_or_null(j->rate), "eta_ms", number_or_null(j->eta_ms),
                     "throttle", number_or_null(j->throttle), "reason", text_or_null(j->reason),
                     "reason_age_ms", json_integer(j->reason_age_ms));
}

static json_t *jobs_of(const struct http_status *s)
{
    json_t *list = json_array();
    for (int32_t i = 0; list != NULL && i < s->job_listed; i++) {
        if (!list_add(list, job_of(&s->jobs[i]))) {
            json_decref(list);
            return NULL;
        }
    }
    return list;
}

static json_t *held_of(const struct http_status *s)
{
    json_t *list = json_array();
    for (int32_t i = 0; list != NULL && i < s->held_listed; i++) {
        const struct http_status_held *h = &s->held[i];
        json_t *item = json_pack("{s:o, s:o, s:o, s:o, s:o}", "topic", text_or_null(h->topic),
                                 "partition", number_or_null(h->partition), "path",
                                 h->path == NULL ? json_null() : any_text(h->path), "reason",
                                 any_text(h->reason), "age_ms", json_integer(h->age_ms));
        if (!list_add(list, item)) {
            json_decref(list);
            return NULL;
        }
    }
    return list;
}

static json_t *partitions_of(const struct http_status *s)
{
    return json_pack("{s:i, s:i, s:i, s:i, s:i, s:i, s:i, s:i, s:i, s:o}", "hosted", s->hosted,
                     "led", s->led, "followed", s->followed, "offline", s->offline, "failed",
                     s->failed, "under_replicated", s->under_replicated, "under_min_isr",
                     s->under_min_isr, "at_min_isr", s->at_min_isr, "reassigning", s->reassigning,
                     "max_lag", json_integer(s->max_lag));
}

void http_status_write(const struct http_status *s, struct buf *out)
{
    json_t *root = json_pack(
        "{s:i, s:s, s:o, s:o, s:o, s:b, s:o, s:o, s:o, s:{s:o, s:o, s:o}, s:{s:o, s:o}, s:{s:o, "
        "s:o}}",
        "broker", s->broker, "state", s->state, "broker_epoch", number_or_null(s->broker_epoch),
        "cluster_id", text_or_null(s->cluster_id), "controller", number_or_null(s->controller),
        "is_controller", (int)s->is_controller, "controller_epoch",
        number_or_null(s->controller_epoch), "partitions", partitions_of(s), "log_dirs", dirs_of(s),
        "moves", "count", s->is_controller ? json_integer(s->move_count) : json_null(), "queued",
        s->is_controller ? json_integer(s->queued) : json_null(), "running", moves_of(s), "jobs",
        "count", s->is_controller ? json_integer(s->open_jobs) : json_null(), "listed", jobs_of(s),
        "left_alone", "count", s->is_controller ? json_integer(s->held_count) : json_null(),
        "listed", held_of(s));
    char *text = root == NULL ? NULL : json_dumps(root, JSON_COMPACT);
    if (text == NULL) {
        out->failed = true;
    } else {
        buf_put_str(out, text);
        buf_put_str(out, "\n");
    }
    free(text);
    json_decref(root);
}
