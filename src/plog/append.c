/*
 * Appending. Batches are gathered into a run that one pwritev puts at the end of the active segment; a
 * run never crosses a segment. State of the log (end, indexes) follows the write, never leads it;
 * producer state and epochs are taken in advance, because later entries of the same call depend on
 * them, and a failed write fails the whole log anyway. Runs on the home env.
 */
#include "plog/append.h"

#include "plog/state.h"

#define RUN_MAX 64 /* batches in one write */

struct run {
    int count;
    size_t bytes;
    int64_t next_offset; /* behind the last batch of the run */
    struct iovec iov[RUN_MAX];
    struct record_batch batches[RUN_MAX];
};

static void run_start(struct run *run, const struct plog *p)
{
    run->count = 0;
    run->bytes = 0;
    run->next_offset = p->end_offset;
}

static int run_write(struct run *run, struct plog *p)
{
    if (run->count == 0) {
        return 0;
    }
    struct plog_segment *s = plog_active(p);
    struct env_file *file = NULL;
    int err = plog_segment_file(s, &file);
    if (err == 0) {
        err = env_file_writev(file, run->iov, run->count, s->size);
    }
    if (err != 0) {
        return plog_fail(p, err);
    }
    s->is_dirty = true;
    plog_mark_add(p, s, run->batches[0].base_offset, s->size);
    for (int i = 0; i < run->count; i++) {
        plog_segment_note(s, &run->batches[i], p->config.index_interval_bytes);
    }
    p->end_offset = s->next_offset;
    CHECK(p->end_offset == run->next_offset);
    run_start(run, p);
    return 0;
}

/* docs/spec/log-format.md, 5: size, time, a full index, an offset that does not fit. */
static bool run_needs_roll(const struct run *run, const struct plog *p,
                           const struct record_batch *b)
{
    const struct plog_segment *s = plog_active(p);
    if (record_batch_last_offset(b) - s->base_offset > INT32_MAX) {
        return true;
    }
    uint64_t size = s->size + run->bytes;
    if (size == 0) {
        return false;
    }
    int64_t first = s->size > 0 ? s->first_timestamp : run->batches[0].max_timestamp;
    bool is_old =
        first >= 0 && b->max_timestamp >= first && b->max_timestamp - first > p->config.segment_ms;
    /* Two more entries: one for this batch, one when the segment is closed. The entries of the time
     * index are the larger ones and never more in number than one above those of the other. */
    int64_t entries_max = p->config.index_bytes_max / PLOG_INDEX_TIME_SIZE;
    bool is_index_full = s->offsets.count + (uint32_t)run->count + 2 > entries_max;
    return size + b->len > (uint64_t)p->config.segment_bytes_max || size + b->len > INT32_MAX ||
           is_old || is_index_full;
}

/* Before anything else is done about a batch: there is an active segment with room for it. Rolling
 * writes a snapshot of the producers, which must not know of the batch yet. */
static int run_make_room(struct run *run, struct plog *p, const struct record_batch *b)
{
    int err = plog_ensure_active(p);
    if (err == 0 && run->count == RUN_MAX) {
        err = run_write(run, p);
    }
    if (err != 0 || !run_needs_roll(run, p, b)) {
        return err;
    }
    err = run_write(run, p);
    if (err == 0) {
        bool fits = record_batch_last_offset(b) - p->end_offset <= INT32_MAX;
        err = plog_roll(p, fits ? p->end_offset : b->base_offset);
    }
    return err;
}

static void run_push(struct run *run, const struct record_batch *b, const uint8_t *bytes)
{
    CHECK(run->count < RUN_MAX && b->base_offset >= run->next_offset);
    run->iov[run->count] = (struct iovec){.iov_base = (void *)(uintptr_t)bytes, .iov_len = b->len};
    run->batches[run->count] = *b;
    run->count++;
    run->bytes += b->len;
    run->next_offset = record_batch_next_offset(b);
}

static void take_epoch(struct plog *p, const struct record_batch *b)
{
    if (b->leader_epoch >= 0 && b->leader_epoch != plog_epochs_latest(&p->epochs) &&
        plog_epochs_assign(&p->epochs, b->leader_epoch, b->base_offset)) {
        p->is_epochs_dirty = true;
    }
}

static int take_producer(struct plog *p, const struct record_batch *b, const uint8_t *bytes)
{
    if (!record_batch_is_control(b)) {
        plog_producers_add(&p->producers, b);
        return 0;
    }
    struct plog_transaction_end end;
    int err = plog_producers_add_control(&p->producers, b, slice_of(bytes, b->len), &end);
    return err < 0 ? err : 0;
}

/* Decides on one entry and adds it to the run. A disk error is returned, all else is in the entry. */
static int append_entry(struct plog *p, struct run *run, struct plog_entry *entry,
                        int32_t leader_epoch)
{
    struct record_batch *b = &entry->batch;
    struct plog_producer_duplicate duplicate;
    CHECK(b->len >= RECORD_HEADER_SIZE && b->last_offset_delta >= 0);
    int verdict = plog_producers_check(&p->producers, b, &duplicate);
    if (verdict == 1) {
        entry->is_duplicate = true;
        entry->base_offset = duplicate.base_offset;
        return 0;
    }
    if (verdict == 0 && b->len > (uint64_t)p->config.segment_bytes_max) {
        verdict = -E_TOO_LARGE;
    }
    if (verdict == 0 && run->next_offset > INT64_MAX - 1 - b->last_offset_delta) {
        verdict = -E_TOO_LARGE;
    }
    if (verdict != 0) {
        entry->err = verdict;
        return 0;
    }
    record_batch_assign(b, entry->bytes, run->next_offset, leader_epoch);
    int err = run_make_room(run, p, b);
    if (err != 0) {
        return err;
    }
    if (take_producer(p, b, entry->bytes) != 0) {
        entry->err = -E_INVALID;
        return 0;
    }
    take_epoch(p, b);
    entry->base_offset = b->base_offset;
    run_push(run, b, entry->bytes);
    return 0;
}

int plog_append_leader(struct plog *p, struct plog_entry *entries, int count, int32_t leader_epoch)
{
    CHECK(leader_epoch >= 0);
    struct run run;
    run_start(&run, p);
    int err = p->failure == 0 ? 0 : -E_OFFLINE;
    for (int i = 0; i < count; i++) {
        struct plog_entry *entry = &entries[i];
        entry->err = 0;
        entry->is_duplicate = false;
        entry->base_offset = -1;
        entry->log_start_offset = p->start_offset;
        if (err == 0) {
            err = append_entry(p, &run, entry, leader_epoch);
        }
    }
    if (err == 0) {
        err = run_write(&run, p);
    }
    for (int i = 0; err != 0 && i < count; i++) {
        struct plog_entry *entry = &entries[i];
        bool is_in_log = entry->base_offset >= 0 && entry->base_offset < p->end_offset;
        if (entry->err == 0 && !is_in_log) {
            entry->err = err;
        }
    }
    return err;
}

/* Everything a follower must know before the first byte is written. */
static int check_followers_batches(const struct plog *p, struct slice records, struct errmsg *em)
{
    int64_t expected = p->end_offset;
    struct record_batch b;
    struct slice bytes;
    int more = 0;
    while ((more = record_batch_next(&records, &b, &bytes)) == 1) {
        if (b.base_offset < expected) {
            return errmsg_set(em, E_OUT_OF_RANGE,
                              "%s-%d: batch at offset %lld is below the expected %lld", p->topic,
                              p->partition, (long long)b.base_offset, (long long)expected);
        }
        if (record_batch_check_crc(&b, bytes) != 0) {
            return errmsg_set(em, E_CORRUPT,
                              "%s-%d: CRC of the batch at offset %lld does not match", p->topic,
                              p->partition, (long long)b.base_offset);
        }
        expected = record_batch_next_offset(&b);
    }
    if (more < 0) {
        return errmsg_set(em, (enum error) - more, "%s-%d: bad batch header behind offset %lld: %s",
                          p->topic, p->partition, (long long)expected, error_name(more));
    }
    return 0;
}

int plog_append_follower(struct plog *p, struct slice records, struct plog_appended *ret_appended,
                         struct errmsg *em)
{
    if (p->failure != 0) {
        return errmsg_set(em, E_OFFLINE, "%s: the log is offline", p->folder);
    }
    int err = check_followers_batches(p, records, em);
    if (err != 0) {
        return err;
    }
    struct plog_appended appended = {
        .first_offset = p->end_offset, .last_offset = p->end_offset - 1, .max_timestamp = -1};
    struct run run;
    struct record_batch b;
    struct slice bytes;
    run_start(&run, p);
    while (err == 0 && record_batch_next(&records, &b, &bytes) == 1) {
        if (appended.batch_count++ == 0) {
            appended.first_offset = b.base_offset;
        }
        appended.last_offset = record_batch_last_offset(&b);
        appended.bytes += (int64_t)b.len;
        appended.max_timestamp = MAX(appended.max_timestamp, b.max_timestamp);
        err = run_make_room(&run, p, &b);
        if (err == 0) {
            take_epoch(p, &b);
            /* A marker that this version does not understand is the leader's business: it is kept. */
            (void)take_producer(p, &b, bytes.ptr);
            run_push(&run, &b, bytes.ptr);
        }
    }
    if (err == 0) {
        err = run_write(&run, p);
    }
    if (err != 0) {
        return errmsg_set(em, (enum error) - err, "%s: cannot append: %s", p->folder,
                          error_name(err));
    }
    *ret_appended = appended;
    return 0;
}
