/*
 * Rows are made anew for each look; a rate of our own comes from two of them.
 */
#include "cli/moves_view.h"

#include "base/alloc.h"
#include "base/check.h"
#include "cli/text.h"
#include "moves/reason.h"

#include <inttypes.h>
#include <stdlib.h>

#define ARRIVAL_PAUSED 5

bool cli_moves_filter_has(const struct cli_moves_filter *filter, const char *topic,
                          int32_t partition, const char *job)
{
    if (filter->job != NULL && (job == NULL || strcmp(job, filter->job) != 0)) {
        return false;
    }
    for (int32_t i = 0; i < filter->ref_count; i++) {
        const struct klamm_partition_ref *ref = &filter->refs[i];
        if ((ref->partition < 0 || ref->partition == partition) && strcmp(ref->topic, topic) == 0) {
            return true;
        }
    }
    return filter->ref_count == 0;
}

/* ---- running moves ---- */

static struct klamm_ids target_of(const struct klamm_move *move)
{
    int32_t *list = xalloc((size_t)MAX(move->replicas.count, 1) * sizeof *list);
    int32_t count = 0;
    for (int32_t i = 0; i < move->replicas.count; i++) {
        if (!cli_text_ids_has(move->removing, move->replicas.list[i])) {
            list[count++] = move->replicas.list[i];
        }
    }
    return (struct klamm_ids){list, count};
}

/* The arriving replicas that the move's reason is about. */
static struct klamm_ids waits_of(const struct klamm_move *move)
{
    int32_t *list = xalloc((size_t)MAX(move->arrival_count, 1) * sizeof *list);
    int32_t count = 0;
    for (int32_t i = 0; i < move->arrival_count; i++) {
        if (move->arrivals[i].reason == move->reason) {
            list[count++] = move->arrivals[i].broker_id;
        }
    }
    return (struct klamm_ids){list, count};
}

static void put_details(const struct klamm_move *move, struct cli_moves_row *row)
{
    for (int32_t i = 0; i < move->arrival_count; i++) {
        row->ignores_limits |= move->arrivals[i].ignores_limits;
    }
    row->job = move->job;
    row->copied = move->bytes_copied;
    row->total = move->bytes_to_copy;
    row->rate = move->rate;
    row->eta_ms = move->eta_ms;
    row->reason = move->reason;
    row->reason_code = move->reason_code;
    row->since_ms = move->since_ms;
    row->waits = waits_of(move);
    row->state = move->reason == MOVES_REASON_PAUSED ? CLI_MOVES_PAUSED
                 : move->reason == MOVES_REASON_NONE ? CLI_MOVES_COPYING
                                                     : CLI_MOVES_WAITING;
}

static const struct cli_moves_row *earlier_row(const struct cli_moves_view_input *input,
                                               const struct cli_moves_row *row);

static bool is_up(const struct klamm_cluster *cluster, int32_t id)
{
    for (int32_t i = 0; i < cluster->broker_count; i++) {
        if (cluster->brokers[i].id == id) {
            return true;
        }
    }
    return false;
}

/* Arriving replicas whose broker is down. */
static struct klamm_ids find_down(const struct klamm_move *move,
                                  const struct klamm_cluster *cluster)
{
    int32_t *list = xalloc((size_t)MAX(move->adding.count, 1) * sizeof *list);
    int32_t count = 0;
    for (int32_t i = 0; i < move->adding.count; i++) {
        if (!is_up(cluster, move->adding.list[i])) {
            list[count++] = move->adding.list[i];
        }
    }
    return (struct klamm_ids){list, count};
}

static void put_rate(const struct cli_moves_view_input *input, struct cli_moves_row *row)
{
    const struct cli_moves_row *before = earlier_row(input, row);
    if (before == NULL || !before->is_running || input->elapsed_ms <= 0) {
        return;
    }
    int64_t grown = row->copied - before->copied;
    int64_t now = grown < 0 || grown > INT64_MAX / 1000 ? 0 : grown * 1000 / input->elapsed_ms;
    row->rate = before->rate < 0 ? now : (before->rate / 4 * 3) + now / 4;
    if (row->rate > 0) {
        int64_t left = row->total - row->copied;
        row->eta_ms = left / row->rate * 1000 + left % row->rate * 1000 / row->rate;
    }
}

/* What the sizes of logs tell of a move: each arriving replica has to reach the largest of the others. */
static void put_sizes(const struct cli_moves_view_input *input, const struct klamm_move *move,
                      struct cli_moves_row *row)
{
    struct klamm_partition_ref ref = {move->topic, move->partition};
    int64_t source = 0;
    int64_t copied = 0;
    for (int32_t i = 0; i < move->replicas.count; i++) {
        int32_t id = move->replicas.list[i];
        if (!cli_text_ids_has(move->adding, id)) {
            source = MAX(source, cli_disks_size(input->disks, &ref, id));
        }
    }
    for (int32_t i = 0; i < move->adding.count; i++) {
        int64_t size = cli_disks_size(input->disks, &ref, move->adding.list[i]);
        copied += MIN(MAX(size, 0), source);
    }
    row->total = source * move->adding.count;
    row->copied = copied;
    row->waits = find_down(move, input->cluster);
    if (row->waits.count > 0) {
        row->reason = MOVES_REASON_TARGET_DOWN;
        row->state = CLI_MOVES_WAITING;
    }
    put_rate(input, row);
}

static void add_running(struct cli_moves_view *view, const struct cli_moves_view_input *input,
                        const struct klamm_move *move)
{
    if (!cli_moves_filter_has(&input->filter, move->topic, move->partition, move->job)) {
        return;
    }
    struct cli_moves_row *row = &view->rows[view->count++];
    *row = (struct cli_moves_row){.topic = move->topic,
                                  .partition = move->partition,
                                  .is_running = true,
                                  .target = target_of(move),
                                  .write_rate = -1,
                                  .limit = -1,
                                  .total = -1,
                                  .rate = -1,
                                  .eta_ms = -1};
    if (move->has_details) {
        put_details(move, row);
    } else if (input->disks != NULL) {
        put_sizes(input, move, row);
    }
    view->running_count++;
    view->paused_count += row->state == CLI_MOVES_PAUSED;
}

/* ---- waiting moves ---- */

static struct klamm_ids copy_ids(struct klamm_ids ids)
{
    struct klamm_ids copy = {NULL, ids.count};
    if (ids.count > 0) {
        copy.list = xmemdup(ids.list, (size_t)ids.count * sizeof *ids.list);
    }
    return copy;
}

static void add_queued(struct cli_moves_view *view, const struct cli_moves_view_input *input,
                       const struct klamm_queued *queued)
{
    if (!cli_moves_filter_has(&input->filter, queued->topic, queued->partition, queued->job)) {
        return;
    }
    struct cli_moves_row *row = &view->rows[view->count++];
    *row = (struct cli_moves_row){.topic = queued->topic,
                                  .partition = queued->partition,
                                  .state = queued->is_paused ? CLI_MOVES_PAUSED : CLI_MOVES_QUEUED,
                                  .job = queued->job,
                                  .target = copy_ids(queued->target),
                                  .write_rate = -1,
                                  .limit = -1,
                                  .total = queued->bytes_to_copy,
                                  .rate = -1,
                                  .eta_ms = -1,
                                  .reason = queued->reason,
                                  .since_ms = queued->since_ms};
    if (queued->reason == MOVES_REASON_TARGET_DOWN) {
        int32_t *list = xalloc((size_t)MAX(queued->target.count, 1) * sizeof *list);
        for (int32_t i = 0; i < queued->target.count; i++) {
            if (!is_up(input->cluster, queued->target.list[i])) {
                list[row->waits.count++] = queued->target.list[i];
            }
        }
        row->waits.list = list;
    }
    view->queued_count++;
    view->paused_count += queued->is_paused;
}

/* ---- the whole ---- */

static int compare_rows(const void *a, const void *b)
{
    const struct cli_moves_row *x = a;
    const struct cli_moves_row *y = b;
    int order = strcmp(x->topic, y->topic);
    if (order != 0) {
        return order;
    }
    if (x->partition != y->partition) {
        return x->partition < y->partition ? -1 : 1;
    }
    return (int)y->is_running - (int)x->is_running;
}

static const struct cli_moves_row *earlier_row(const struct cli_moves_view_input *input,
                                               const struct cli_moves_row *row)
{
    return input->earlier == NULL || input->earlier->count == 0
               ? NULL
               : bsearch(row, input->earlier->rows, (size_t)input->earlier->count,
                         sizeof *input->earlier->rows, compare_rows);
}

void cli_moves_view_init(struct cli_moves_view *view, const struct cli_moves_view_input *input)
{
    const struct klamm_moves *moves = input->moves;
    size_t cap = (size_t)moves->count + (size_t)moves->queued_count;
    *view = (struct cli_moves_view){.rows = xalloc(MAX(cap, 1) * sizeof *view->rows)};
    for (int32_t i = 0; i < moves->count; i++) {
        add_running(view, input, &moves->list[i]);
    }
    for (int32_t i = 0; i < moves->queued_count; i++) {
        add_queued(view, input, &moves->queued[i]);
    }
    if (view->count > 1) {
        qsort(view->rows, (size_t)view->count, sizeof *view->rows, compare_rows);
    }
}

bool cli_moves_view_lacks_rates(const struct cli_moves_view *view)
{
    for (int32_t i = 0; i < view->count; i++) {
        if (view->rows[i].reason == MOVES_REASON_THROTTLED) {
            return true;
        }
    }
    return false;
}

void cli_moves_view_add_rates(struct cli_moves_view *view, const struct cli_disks *disks)
{
    for (int32_t i = 0; i < view->count; i++) {
        struct cli_moves_row *row = &view->rows[i];
        if (row->reason == MOVES_REASON_THROTTLED) {
            struct klamm_partition_ref ref = {row->topic, row->partition};
            row->write_rate = cli_disks_write_rate(disks, &ref);
            row->limit = cli_disks_throttle_rate(disks, &ref);
        }
    }
}

void cli_moves_view_deinit(struct cli_moves_view *view)
{
    for (int32_t i = 0; i < view->count; i++) {
        free((void *)(uintptr_t)view->rows[i].target.list);
        free((void *)(uintptr_t)view->rows[i].waits.list);
    }
    free(view->rows);
    *view = (struct cli_moves_view){0};
}

/* ---- texts ---- */

int32_t cli_moves_row_percent(const struct cli_moves_row *row)
{
    if (row->total <= 0) {
        return 0;
    }
    /* Divided first where the product would overflow. */
    int64_t percent = row->total < INT64_MAX / 100 ? row->copied * 100 / row->total
                                                   : row->copied / (row->total / 100);
    return (int32_t)MIN(MAX(percent, 0), 99);
}

const char *cli_moves_state_name(enum cli_moves_state state)
{
    static const char *const names[] = {"copying", "waiting", "paused", "queued"};
    return names[state];
}

static void put_since(const struct cli_moves_row *row, struct buf *out)
{
    if (row->since_ms > 0) {
        buf_put_str(out, " since ");
        cli_text_put_time(out, row->since_ms);
    }
}

void cli_moves_row_put_reason(const struct cli_moves_row *row, struct buf *out)
{
    if (row->reason == MOVES_REASON_NONE) {
        return;
    }
    if (row->reason == MOVES_REASON_TARGET_DOWN && row->waits.count > 0) {
        buf_putf(out, "waiting for broker%s ", row->waits.count == 1 ? "" : "s");
        cli_text_put_ids(out, row->waits);
        buf_put_str(out, ", down");
    } else if (row->reason == MOVES_REASON_THROTTLED && row->write_rate > 0 && row->limit > 0) {
        buf_put_str(out, "not converging, incoming ");
        cli_text_put_bytes(out, row->write_rate);
        buf_put_str(out, "/s over limit ");
        cli_text_put_bytes(out, row->limit);
        buf_put_str(out, "/s");
    } else if (row->reason == MOVES_REASON_THROTTLED) {
        buf_putf(out, "not converging: %s", moves_reason_text(row->reason));
    } else {
        buf_put_str(out, moves_reason_text(row->reason));
    }
    if (row->reason_code != 0) {
        buf_putf(out, " %s", klamm_code_name(row->reason_code));
    }
    if (row->waits.count > 0 && row->reason != MOVES_REASON_TARGET_DOWN) {
        buf_put_str(out, " (broker ");
        cli_text_put_ids(out, row->waits);
        buf_put_str(out, ")");
    }
    put_since(row, out);
}

void cli_moves_row_put_remarks(const struct cli_moves_row *row, struct buf *out)
{
    cli_moves_row_put_reason(row, out);
    if (row->ignores_limits) {
        buf_putf(out, "%s%s", row->reason == MOVES_REASON_NONE ? "" : "; ",
                 CLI_MOVES_IGNORES_LIMITS);
    }
}
