/*
 * Finding spans and times. A sequential reader finds its start among the marks that its last read left,
 * and the end of the log there too, so that tail reads touch no index. Runs on the home env.
 */
#include "plog/read.h"

#include "plog/cold.h"
#include "plog/state.h"
#include "record/records.h"

#define COLD_BYTES_MAX ((uint32_t)8 << 20) /* warmed for one reader at a time */
#define INFLATED_MAX   ((size_t)256 << 20) /* a batch may inflate to this for a lookup by time */

/* The batch that holds offset, or the first one behind it. */
static int find_start(struct plog *p, int64_t offset, struct plog_segment **ret_segment,
                      struct plog_place *ret_place)
{
    const struct plog_mark *mark = plog_mark_find(p, offset);
    if (mark != NULL) {
        *ret_segment = mark->segment;
        *ret_place = (struct plog_place){mark->pos, mark->offset};
        return 0;
    }
    int i = plog_segment_at(p, offset);
    CHECK(i >= 0);
    struct plog_place place;
    int err = plog_segment_locate(p->segments[i], offset, &place);
    if (err != 0) {
        return err;
    }
    /* Compaction may have left nothing between offset and the end of the segment. */
    while (place.pos == p->segments[i]->size && i + 1 < p->segment_count) {
        i++;
        place = (struct plog_place){0, p->segments[i]->base_offset};
    }
    *ret_segment = p->segments[i];
    *ret_place = place;
    return 0;
}

/* The end of what may be read in s: no record at or above upper. */
static int find_end(struct plog *p, struct plog_segment *s, int64_t upper,
                    struct plog_place *ret_place)
{
    if (upper >= s->next_offset) {
        *ret_place = (struct plog_place){s->size, s->next_offset};
        return 0;
    }
    const struct plog_mark *mark = plog_mark_find(p, upper);
    if (mark != NULL && mark->segment == s) {
        *ret_place = (struct plog_place){mark->pos, mark->offset};
        return 0;
    }
    return plog_segment_locate(s, upper, ret_place);
}

/* Moves end down to a batch boundary at most max_bytes behind start. */
static int fit_bytes(struct plog_segment *s, const struct plog_place *start,
                     const struct plog_read_args *args, struct plog_place *end)
{
    if (end->pos - start->pos <= args->max_bytes) {
        return 0;
    }
    struct plog_place place;
    int err = plog_segment_locate_pos(s, start->pos, start->pos + args->max_bytes, &place);
    if (err == 0 && place.pos == start->pos && args->min_one) {
        err = plog_segment_batch_end(s, start->pos, &place);
    }
    if (err == 0) {
        *end = place;
    }
    return err;
}

/* *ret_segment: where the span lies; set as soon as it is known, and so is its pos. */
static int find_span(struct plog *p, const struct plog_read_args *args, struct plog_span *span,
                     struct plog_segment **ret_segment)
{
    int64_t upper = MIN(args->upper, p->end_offset);
    *span = (struct plog_span){.next_offset = args->offset};
    if (args->offset >= upper) {
        return 0;
    }
    struct plog_segment *s = NULL;
    struct plog_place start;
    struct plog_place end;
    struct env_file *file = NULL;
    int err = find_start(p, args->offset, &s, &start);
    if (err == 0) {
        *ret_segment = s;
        span->pos = start.pos;
        err = find_end(p, s, upper, &end);
    }
    if (err == 0 && end.pos > start.pos) {
        err = fit_bytes(s, &start, args, &end);
    }
    if (err != 0 || end.pos <= start.pos) {
        return err;
    }
    err = plog_segment_file(s, &file);
    if (err != 0) {
        return err;
    }
    if (end.pos < s->size || s == plog_active(p)) {
        plog_mark_add(p, s, end.base_offset, end.pos);
    }
    *span = (struct plog_span){.file = env_file_ref(file),
                               .pos = start.pos,
                               .len = (uint32_t)(end.pos - start.pos),
                               .next_offset = end.base_offset};
    return 0;
}

static int check_readable(const struct plog *p, int64_t offset)
{
    if (p->failure != 0) {
        return -E_OFFLINE;
    }
    return offset < p->start_offset || offset > p->end_offset ? -E_OUT_OF_RANGE : 0;
}

int plog_read(struct plog *p, const struct plog_read_args *args, struct plog_span *ret_span)
{
    int err = check_readable(p, args->offset);
    if (err != 0) {
        return err;
    }
    struct plog_segment *s = NULL;
    struct plog_span span;
    err = find_span(p, args, &span, &s);
    if (err == 0) {
        *ret_span = span;
    }
    return plog_fail(p, err);
}

/* A batch header was missed: the records are wanted too, which start at `start` as far as that is known. */
static void widen(struct plog_cold *cold, const struct plog_read_args *args, uint64_t start)
{
    const struct plog_segment *s = cold->owner;
    uint64_t end = cold->pos + cold->len;
    if (start < cold->pos && end - start <= (uint64_t)COLD_BYTES_MAX + cold->len) {
        cold->pos = start;
    } else {
        end += MIN(args->max_bytes, COLD_BYTES_MAX);
    }
    cold->len = MIN(end, s->size) - cold->pos;
}

/* As find_span; -E_AGAIN with *ret_cold filled where it would have to wait. */
static int find_span_now(struct plog *p, const struct plog_read_args *args, struct plog_span *span,
                         struct plog_cold *ret_cold)
{
    struct plog_segment *s = NULL;
    struct plog_cold_state state = {.log = p, .cold = ret_cold};
    p->files->cold = &state;
    int err = find_span(p, args, span, &s);
    p->files->cold = NULL;
    if (err == -E_AGAIN && ret_cold->is_log) {
        widen(ret_cold, args, s == ret_cold->owner ? span->pos : ret_cold->pos);
    }
    if (err != 0 || span->len == 0 || plog_cold_check(p, s, span)) {
        return err;
    }
    *ret_cold = (struct plog_cold){
        .file = span->file, .pos = span->pos, .len = span->len, .is_log = true, .owner = s};
    return -E_AGAIN;
}

int plog_read_now(struct plog *p, const struct plog_read_args *args, struct plog_span *ret_span,
                  struct plog_cold *ret_cold)
{
    int err = check_readable(p, args->offset);
    if (err != 0) {
        return err;
    }
    struct plog_span span;
    struct plog_cold cold = {0};
    err = find_span_now(p, args, &span, &cold);
    if (err == -E_AGAIN && cold.is_log && cold.len > COLD_BYTES_MAX &&
        args->max_bytes > COLD_BYTES_MAX) {
        struct plog_read_args less = *args;
        less.max_bytes = COLD_BYTES_MAX;
        env_file_unref(cold.file);
        cold = (struct plog_cold){0};
        err = find_span_now(p, &less, &span, &cold);
    }
    if (err == -E_AGAIN && cold.file != NULL) {
        *ret_cold = cold;
        return err;
    }
    if (err == 0) {
        *ret_span = span;
    }
    return plog_fail(p, err);
}

/* ---- by time ---- */

static const struct plog_time_hit no_hit = {-1, -1, -1};

struct time_search {
    int64_t timestamp; /* at least */
    int64_t start;     /* offsets in [start, upper) */
    int64_t upper;
};

/* The first record of one whole batch that qualifies: 1, 0, or an error. */
static int search_batch(struct slice bytes, const struct time_search *search,
                        struct plog_time_hit *ret_hit)
{
    struct record_iter it;
    int err = record_iter_init(&it, bytes, INFLATED_MAX, NULL);
    if (err != 0) {
        return err;
    }
    struct record record;
    int more = 0;
    while ((more = record_iter_next(&it, &record)) == 1) {
        if (record.timestamp >= search->timestamp && record.offset >= search->start &&
            record.offset < search->upper) {
            *ret_hit =
                (struct plog_time_hit){record.offset, record.timestamp, it.batch.leader_epoch};
            break;
        }
    }
    record_iter_deinit(&it);
    return more < 0 ? -E_CORRUPT : more;
}

static int read_batch(struct plog_segment *s, uint64_t pos, uint64_t end,
                      const struct time_search *search, struct plog_time_hit *ret_hit)
{
    struct env_file *file = NULL;
    int err = plog_segment_file(s, &file);
    if (err != 0) {
        return err;
    }
    size_t len = (size_t)(end - pos);
    uint8_t *bytes = budget_alloc(NULL, len);
    if (bytes == NULL) {
        return -E_NO_MEMORY;
    }
    size_t got = 0;
    err = env_file_read(file, bytes, len, pos, &got);
    if (err == 0 && got < len) {
        err = -E_CORRUPT;
    }
    if (err == 0) {
        err = search_batch(slice_of(bytes, len), search, ret_hit);
    }
    budget_free(NULL, bytes, len);
    return err;
}

/* 1 with a hit, 0 when the segment has none. */
static int search_segment(struct plog_segment *s, const struct time_search *search,
                          struct plog_time_hit *ret_hit)
{
    struct plog_place place;
    int err = plog_segment_locate(s, search->start, &place);
    while (err == 0) {
        struct plog_place end;
        int found = plog_segment_locate_time(s, search->timestamp, place, &place);
        if (found != 1 || place.base_offset >= search->upper) {
            return found < 0 ? found : 0;
        }
        err = plog_segment_batch_end(s, place.pos, &end);
        if (err == 0) {
            found = read_batch(s, place.pos, end.pos, search, ret_hit);
            if (found != 0) {
                return found;
            }
            place = end;
        }
    }
    return err;
}

int plog_find_time(struct plog *p, int64_t timestamp, int64_t upper, struct plog_time_hit *ret_hit)
{
    if (p->failure != 0) {
        return -E_OFFLINE;
    }
    struct plog_time_hit hit = no_hit;
    timestamp = MAX(timestamp, INT64_MIN + 1); /* one below it must exist */
    struct time_search search = {timestamp, p->start_offset, MIN(upper, p->end_offset)};
    int found = 0;
    for (int i = MAX(plog_segment_at(p, p->start_offset), 0); i < p->segment_count && found == 0;
         i++) {
        if (p->segments[i]->max_timestamp >= timestamp) {
            found = search_segment(p->segments[i], &search, &hit);
        }
    }
    if (found < 0) {
        return found == -E_NO_MEMORY ? found : plog_fail(p, found);
    }
    *ret_hit = hit;
    return 0;
}

int plog_find_max_time(struct plog *p, struct plog_time_hit *ret_hit)
{
    int64_t max = RECORD_NO_TIMESTAMP;
    for (int i = MAX(plog_segment_at(p, p->start_offset), 0); i < p->segment_count; i++) {
        max = MAX(max, p->segments[i]->max_timestamp);
    }
    if (max < 0 && p->failure == 0) {
        *ret_hit = no_hit;
        return 0;
    }
    return plog_find_time(p, max, INT64_MAX, ret_hit);
}
