/*
 * Which copies go past the page cache (design section 4). A long one would evict the tails of other
 * partitions and fill memory with what has to be written; a short one is done sooner in the cache: past
 * it each byte also waits for the disk. So a copy stays in the cache when all of it is expected to fit
 * into a share of memory that it has to itself or with other copies of these seconds, whether done or
 * still to come; and so does the end of a long one, which is the partition's tail, in use on both sides.
 * Runs on the broker's env.
 */
#include "broker/replicas/internal.h"
#include "plog/append.h"
#include "plog/read.h"

#define COPY_FORGET_MS 30000              /* the kernel has written by then what was left to it */
#define LEFT_MAX       ((int64_t)1 << 40) /* of one copy: sums stay sums */

static void share_set(struct replicas_copied *copied, struct replicas_copy_share *share,
                      int64_t left)
{
    if (share->serial != copied->serial) {
        *share = (struct replicas_copy_share){.serial = copied->serial};
    }
    copied->left += left - share->bytes;
    share->bytes = left;
}

/* Counts bytes of a copy, and what it has still to come; true while they, what came before and what other
 * copies have still to come fit. */
static bool take_share(struct replicas *r, struct replicas_copied *copied,
                       struct replicas_copy_share *share, int64_t bytes, int64_t left)
{
    int64_t now_ms = env_now_ms(r->env);
    if (now_ms - copied->at_ms > COPY_FORGET_MS) {
        copied->bytes = copied->left = 0;
        copied->serial++;
    }
    copied->at_ms = now_ms;
    copied->bytes += bytes;
    share_set(copied, share, MIN(left, LEFT_MAX));
    return copied->bytes + copied->left <= r->config.copy_cached_bytes_max;
}

/* Bytes that are still to come, by the records that are: the lag is the one before this piece. */
static int64_t left_bytes(const struct replicas_partition *p, const struct plog_appended *piece)
{
    int64_t records = MAX(piece->last_offset - piece->first_offset + 1, 1);
    double left = (double)MAX(p->fetch.lag - records, 0) * (double)piece->bytes / (double)records;
    return left < 1e18 ? (int64_t)left : (int64_t)1e18;
}

void replicas_copy_appended(struct replicas_partition *p, const struct plog_appended *piece)
{
    struct replicas *r = p->replicas;
    int64_t left = left_bytes(p, piece);
    bool is_long = p->fetch.streak_bytes >= r->config.catch_up_lag_bytes;
    if (left < r->config.catch_up_lag_bytes) {
        share_set(&r->copied_in, &p->fetch.share, 0);
        r->copied_in.bytes += is_long ? piece->bytes : 0;
        return;
    }
    bool fits = take_share(r, &r->copied_in, &p->fetch.share, is_long ? piece->bytes : 0, left) &&
                p->fetch.streak_bytes + left <= r->config.copy_cached_bytes_max;
    if (fits || !is_long) {
        return;
    }
    struct plog_read_args args = {.offset = piece->first_offset,
                                  .upper = INT64_MAX,
                                  .max_bytes = UINT32_MAX,
                                  .min_one = true};
    struct plog_span span;
    if (plog_read(p->log, &args, &span) == 0 && span.len > 0) {
        env_file_drop_behind(span.file, span.pos, span.len);
        env_file_unref(span.file);
    }
}

void replicas_copy_sent(struct replicas_partition *p, const struct replicas_read *read)
{
    struct replicas *r = p->replicas;
    /* The log counts the whole segment that holds the offset; what lies before it is behind us. */
    int64_t left =
        plog_bytes_from(p->log, read->fetch_offset) - (int64_t)(read->pos + (uint64_t)read->len);
    if (replica_core_in_maximal_isr(&p->core, read->replica_id) ||
        left < r->config.catch_up_lag_bytes) {
        share_set(&r->copied_out, &p->sent_share, 0);
        return;
    }
    bool fits = take_share(r, &r->copied_out, &p->sent_share, (int64_t)read->len, left);
    if (!fits || plog_bytes(p->log) > r->config.copy_cached_bytes_max) {
        env_file_drop_behind(read->file, read->pos, read->len);
    }
}

void replicas_copy_forget(struct replicas_partition *p)
{
    share_set(&p->replicas->copied_in, &p->fetch.share, 0);
    share_set(&p->replicas->copied_out, &p->sent_share, 0);
}
