/*
 * The leader-epoch cache. Invariant: list is strictly rising in epoch and in start offset. Pure.
 */
#include "plog/epochs.h"

#include "base/alloc.h"
#include "base/check.h"
#include "plog/text.h"

#include <inttypes.h>
#include <stdlib.h>

#define UNDEFINED ((struct plog_epoch){-1, -1})

void plog_epochs_deinit(struct plog_epochs *e)
{
    free(e->list);
    *e = (struct plog_epochs){0};
}

static void epochs_push(struct plog_epochs *e, int32_t epoch, int64_t start_offset)
{
    if (e->count == e->cap) {
        e->cap = e->cap == 0 ? 4 : e->cap * 2;
        e->list = xrealloc(e->list, (size_t)e->cap * sizeof *e->list);
    }
    e->list[e->count++] = (struct plog_epoch){epoch, start_offset};
}

bool plog_epochs_assign(struct plog_epochs *e, int32_t epoch, int64_t start_offset)
{
    CHECK(epoch >= 0 && start_offset >= 0);
    int kept = e->count;
    while (kept > 0 &&
           (e->list[kept - 1].epoch > epoch || e->list[kept - 1].start_offset > start_offset)) {
        kept--;
    }
    /* The same epoch goes on; another one at the same start had no records. */
    if (kept > 0 && e->list[kept - 1].epoch == epoch) {
        bool is_cut = kept < e->count;
        e->count = kept;
        return is_cut;
    }
    if (kept > 0 && e->list[kept - 1].start_offset == start_offset) {
        kept--;
    }
    e->count = kept;
    epochs_push(e, epoch, start_offset);
    return true;
}

int32_t plog_epochs_latest(const struct plog_epochs *e)
{
    return e->count == 0 ? -1 : e->list[e->count - 1].epoch;
}

int32_t plog_epochs_at(const struct plog_epochs *e, int64_t offset)
{
    for (int i = e->count - 1; i >= 0; i--) {
        if (e->list[i].start_offset <= offset) {
            return e->list[i].epoch;
        }
    }
    return -1;
}

void plog_epochs_find_end(const struct plog_epochs *e, int32_t epoch, int64_t log_end,
                          struct plog_epoch *ret_end)
{
    int next = 0; /* the first entry with a larger epoch */
    while (next < e->count && e->list[next].epoch <= epoch) {
        next++;
    }
    if (epoch < 0 || e->count == 0) {
        *ret_end = UNDEFINED;
    } else if (epoch == plog_epochs_latest(e)) {
        *ret_end = (struct plog_epoch){epoch, log_end};
    } else if (next == e->count) {
        *ret_end = UNDEFINED;
    } else if (next == 0) {
        *ret_end = (struct plog_epoch){epoch, e->list[0].start_offset};
    } else {
        *ret_end = (struct plog_epoch){e->list[next - 1].epoch, e->list[next].start_offset};
    }
}

bool plog_epochs_cut_end(struct plog_epochs *e, int64_t end)
{
    int before = e->count;
    while (e->count > 0 && e->list[e->count - 1].start_offset >= end) {
        e->count--;
    }
    return e->count != before;
}

bool plog_epochs_cut_start(struct plog_epochs *e, int64_t start)
{
    int below = 0;
    while (below < e->count && e->list[below].start_offset <= start) {
        below++;
    }
    if (below == 0 || (below == 1 && e->list[0].start_offset == start)) {
        return false;
    }
    /* The last of them is the epoch of the record at start. */
    e->list[below - 1].start_offset = start;
    memmove(e->list, e->list + below - 1, (size_t)(e->count - below + 1) * sizeof *e->list);
    e->count -= below - 1;
    return true;
}

void plog_epochs_format(const struct plog_epochs *e, struct buf *out)
{
    buf_putf(out, "0\n%d\n", e->count);
    for (int i = 0; i < e->count; i++) {
        buf_putf(out, "%" PRId32 " %" PRId64 "\n", e->list[i].epoch, e->list[i].start_offset);
    }
}

int plog_epochs_parse(struct slice text, struct plog_epochs *ret_epochs)
{
    struct plog_epochs e = {0};
    struct slice line;
    int64_t version = 0;
    int64_t count = 0;
    if (!plog_text_line(&text, &line) || plog_text_number(line, &version) != 0) {
        return -E_MALFORMED;
    }
    if (version != 0) {
        return -E_UNSUPPORTED;
    }
    if (!plog_text_line(&text, &line) || plog_text_number(line, &count) != 0 || count < 0) {
        return -E_MALFORMED;
    }
    int err = 0;
    while (err == 0 && plog_text_line(&text, &line)) {
        int64_t epoch = 0;
        int64_t start = 0;
        if (plog_text_take(&line, plog_epochs_latest(&e) + 1LL, INT32_MAX, &epoch) != 0 ||
            plog_text_take(&line, e.count == 0 ? 0 : e.list[e.count - 1].start_offset + 1,
                           INT64_MAX - 1, &start) != 0) {
            err = -E_MALFORMED;
        } else {
            epochs_push(&e, (int32_t)epoch, start);
        }
    }
    if (err == 0 && e.count != count) {
        err = -E_MALFORMED;
    }
    if (err != 0) {
        plog_epochs_deinit(&e);
        return err;
    }
    *ret_epochs = e;
    return 0;
}
