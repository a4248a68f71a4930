/*
 * Records that are not in memory. The loop must not wait for the disk, so a read leaves them out and a job
 * reads them into memory; then the readers come again. A reader that goes on from there has the next
 * pieces read ahead, and as a rule finds them.
 * Invariant: a partition has one job under way at most, and whoever was left without records is told at
 * its end. Runs on the broker's env.
 */
#include "base/alloc.h"
#include "broker/replicas/internal.h"

#include <stdlib.h>

/* A reader that takes large pieces has more read ahead: bytes. */
#define AHEAD_MIN ((uint64_t)1 << 20)
#define AHEAD_MAX ((uint64_t)8 << 20)

/* ---- jobs ---- */

static void warm_done(void *arg)
{
    struct replicas_warm *warm = arg;
    struct replicas *r = replicas_job_end(&warm->job);
    struct replicas_partition *p = r == NULL ? NULL : warm->partition;
    if (p != NULL) {
        p->warm = NULL;
        if (warm->cold.len > 0) {
            plog_warmed(p->log, &warm->cold);
        }
        if (warm->is_awaited) {
            replicas_partition_notify(p, REPLICAS_WARM);
        }
    }
    free(warm);
    if (r != NULL) {
        replicas_job_over(r);
    }
}

static void warm_begin(struct replicas_partition *p, const struct plog_cold *cold, uint64_t ahead)
{
    struct replicas *r = p->replicas;
    struct replicas_warm *warm = xalloc(sizeof *warm);
    warm->partition = p;
    warm->cold = *cold;
    p->warm = warm;
    replicas_job_start(r, &warm->job);
    struct env_range range = {.pos = cold->pos, .len = cold->len, .ahead = ahead};
    env_file_warm(cold->file, range, warm_done, warm);
    warm->cold.file = NULL; /* the caller's */
}

void replicas_warm_forget(struct replicas_partition *p)
{
    if (p->warm != NULL) {
        p->warm->partition = NULL;
        p->warm = NULL;
    }
}

/* ---- streams ---- */

void replicas_warm_init(struct replicas_partition *p)
{
    for (int i = 0; i < REPLICAS_STREAMS; i++) {
        p->streams[i].next_offset = -1;
    }
}

static struct replicas_stream *stream_find(struct replicas_partition *p, int64_t offset)
{
    for (int i = 0; i < REPLICAS_STREAMS; i++) {
        if (p->streams[i].next_offset == offset) {
            return &p->streams[i];
        }
    }
    return NULL;
}

static uint64_t ahead_of(const struct replicas_read *read)
{
    uint64_t bytes = (uint64_t)MAX(read->bytes_max, 0);
    return MIN(MAX(2 * bytes, AHEAD_MIN), AHEAD_MAX);
}

void replicas_warm_start(struct replicas_partition *p, const struct replicas_read *read,
                         const struct plog_cold *cold)
{
    if (p->warm == NULL) {
        uint64_t ahead = cold->is_log ? ahead_of(read) : 0;
        struct replicas_stream *stream = stream_find(p, read->fetch_offset);
        if (stream == NULL) {
            stream = &p->streams[p->next_stream++ % REPLICAS_STREAMS];
        }
        *stream =
            (struct replicas_stream){.next_offset = read->fetch_offset,
                                     .ahead_end = cold->is_log ? cold->pos + cold->len + ahead : 0};
        warm_begin(p, cold, ahead);
    }
    p->warm->is_awaited = true;
    env_file_unref(cold->file);
}

/* Half of what is to be ahead may be used up before more is read. */
void replicas_warm_found(struct replicas_partition *p, const struct replicas_read *read,
                         const struct plog_span *span)
{
    struct replicas_stream *stream = stream_find(p, read->fetch_offset);
    if (stream == NULL) {
        return;
    }
    uint64_t end = span->pos + span->len;
    uint64_t ahead = ahead_of(read);
    stream->next_offset = span->next_offset;
    uint64_t size = 0;
    if (stream->ahead_end > end + ahead / 2 || p->warm != NULL) {
        return;
    }
    if (env_file_size(span->file, &size) != 0 || MAX(stream->ahead_end, end) >= size) {
        stream->next_offset = -1; /* what comes next is in another file, or not there yet */
        return;
    }
    stream->ahead_end = MIN(end + ahead, size);
    warm_begin(p, &(struct plog_cold){.file = span->file, .pos = end}, stream->ahead_end - end);
}
