/*
 * Arithmetic of progress. Invariant: copied <= total.
 */
#include "cli/progress.h"

#include "base/check.h"
#include "cli/text.h"

#include <inttypes.h>

void cli_progress_begin(struct cli_progress_row *row)
{
    row->source_size = 0;
    row->gathered = 0;
}

void cli_progress_add(struct cli_progress_row *row, int32_t broker_id, int64_t size)
{
    if (cli_text_ids_has(row->adding, broker_id)) {
        row->gathered += size;
    } else {
        row->source_size = MAX(row->source_size, size);
    }
}

void cli_progress_end(struct cli_progress_row *row, int64_t now_ms)
{
    /* Sizes are of different moments: a replica may look larger than its source. */
    row->total = row->source_size * row->adding.count;
    row->copied = MIN(row->gathered, row->total);
    if (row->sample_count > 0 && row->copied < row->samples[row->sample_count - 1].copied) {
        row->sample_count = 0; /* another target, or a truncation: the rate starts anew */
    }
    if (row->sample_count == CLI_PROGRESS_SAMPLES) {
        memmove(row->samples, row->samples + 1, sizeof row->samples - sizeof row->samples[0]);
        row->sample_count--;
    }
    row->samples[row->sample_count++] = (struct cli_progress_sample){now_ms, row->copied};
}

static int32_t percent_of(int64_t copied, int64_t total, bool is_done)
{
    if (is_done) {
        return 100;
    }
    /* Divided first where the product would overflow. */
    int64_t percent = total <= 0                ? 0
                      : total < INT64_MAX / 100 ? copied * 100 / total
                                                : copied / (total / 100);
    return (int32_t)MIN(percent, 99);
}

int32_t cli_progress_percent(const struct cli_progress_row *row)
{
    return percent_of(row->copied, row->total, row->ended_ms >= 0);
}

int64_t cli_progress_rate(const struct cli_progress_row *row)
{
    if (row->sample_count < 2) {
        return 0;
    }
    const struct cli_progress_sample *first = &row->samples[0];
    const struct cli_progress_sample *last = &row->samples[row->sample_count - 1];
    int64_t elapsed_ms = last->time_ms - first->time_ms;
    return elapsed_ms <= 0 ? 0 : (last->copied - first->copied) * 1000 / elapsed_ms;
}

static int64_t seconds_left(int64_t bytes, int64_t rate)
{
    return rate <= 0 ? -1 : (bytes + rate - 1) / rate;
}

int64_t cli_progress_left(const struct cli_progress_row *row)
{
    return seconds_left(row->total - row->copied, cli_progress_rate(row));
}

static void put_numbers(struct buf *out, int64_t copied, int64_t total, int32_t percent)
{
    cli_text_put_bytes(out, copied);
    buf_put_str(out, " of ");
    cli_text_put_bytes(out, total);
    buf_putf(out, "  %" PRId32 " %%", percent);
}

static void put_speed(struct buf *out, int64_t rate, int64_t left)
{
    buf_put_str(out, "  ");
    cli_text_put_bytes(out, rate);
    buf_put_str(out, "/s");
    if (left >= 0) {
        buf_put_str(out, "  ");
        cli_text_put_duration(out, left);
        buf_put_str(out, " left");
    }
}

void cli_progress_put_line(const struct cli_progress_row *row, int32_t name_width, struct buf *out)
{
    size_t start = out->len;
    buf_putf(out, "%s-%" PRId32, row->topic, row->partition);
    int32_t used = (int32_t)(out->len - start);
    buf_putf(out, "%*s  ", MAX(name_width - used, 0), "");
    if (row->ended_ms >= 0) {
        buf_put_str(out, row->ending);
        if (row->was_seen) {
            buf_put_str(out, " after ");
            cli_text_put_duration(out, (row->ended_ms - row->started_ms + 500) / 1000);
        }
        return;
    }
    put_numbers(out, row->copied, row->total, cli_progress_percent(row));
    put_speed(out, cli_progress_rate(row), cli_progress_left(row));
    buf_put_str(out, "  to ");
    cli_text_put_ids(out, row->adding);
}

void cli_progress_put_total(const struct cli_progress_row *rows, int32_t count, struct buf *out)
{
    int64_t copied = 0;
    int64_t total = 0;
    int64_t rate = 0;
    int32_t ended = 0;
    for (int32_t i = 0; i < count; i++) {
        bool is_over = rows[i].ended_ms >= 0;
        ended += is_over;
        total += rows[i].total;
        copied += is_over ? rows[i].total : rows[i].copied;
        rate += is_over ? 0 : cli_progress_rate(&rows[i]);
    }
    buf_putf(out, "%" PRId32 " of %" PRId32 " partitions done  ", ended, count);
    put_numbers(out, copied, total, percent_of(copied, total, ended == count));
    if (ended < count) {
        put_speed(out, rate, seconds_left(total - copied, rate));
    }
}
