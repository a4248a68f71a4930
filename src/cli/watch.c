/*
 * The watcher. It only asks: ending it, by Ctrl-C or by accident, changes nothing. Failing questions
 * are told and asked again; a broker that is down must not end the view of the others.
 */
#include "cli/watch.h"

#include "base/alloc.h"
#include "base/check.h"
#include "cli/moves.h"
#include "cli/progress.h"
#include "cli/text.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#define CALL_MS        5000 /* patience for one answer; a poll has several */
#define SETTLE_MS      3000 /* brokers learn of an end by UpdateMetadata, a little later */
#define PLAIN_MS       5000 /* plain output: a line at least this often */
#define PLAIN_ROWS_MAX 50   /* plain output: with more partitions only the sum is told */

static const char ending_done[] = "done";

struct watch {
    struct cli_reassign *run;
    struct cli_terminal *terminal;
    struct cli_progress_row *rows;    /* by topic, partition */
    struct klamm_partition_ref *refs; /* the same partitions */
    int32_t count;
    int32_t name_width;
    int64_t now_ms; /* since the watch began */
    struct env *clock;
    int32_t drawn_lines;      /* terminal: of the block that is redrawn */
    int64_t total_printed_ms; /* plain */
    char trouble[256];        /* what the last poll could not ask; "" = nothing */
};

/* ---- rows ---- */

static void watch_init(struct watch *w, struct cli_reassign *run, int32_t count)
{
    *w = (struct watch){.run = run, .terminal = run->terminal, .count = count};
    w->rows = xalloc((size_t)MAX(count, 1) * sizeof *w->rows);
    w->refs = xalloc((size_t)MAX(count, 1) * sizeof *w->refs);
    w->clock = run->session->files;
    w->total_printed_ms = -PLAIN_MS;
}

static void watch_deinit(struct watch *w)
{
    for (int32_t i = 0; i < w->count; i++) {
        free((void *)(uintptr_t)w->rows[i].adding.list);
    }
    free(w->rows);
    free(w->refs);
}

static void row_init(struct watch *w, int32_t index, const struct klamm_partition_ref *ref,
                     struct klamm_ids wanted)
{
    w->refs[index] = *ref;
    w->rows[index] = (struct cli_progress_row){.topic = ref->topic,
                                               .partition = ref->partition,
                                               .wanted = wanted,
                                               .gone_ms = -1,
                                               .ended_ms = -1,
                                               .printed_percent = -1};
    struct buf name;
    buf_init(&name);
    buf_putf(&name, "%s-%" PRId32, ref->topic, ref->partition);
    w->name_width = MAX(w->name_width, (int32_t)name.len);
    buf_deinit(&name);
}

static int compare_row(const void *key, const void *element)
{
    const struct klamm_log *log = key;
    const struct cli_progress_row *row = element;
    int order = strcmp(log->topic, row->topic);
    if (order != 0) {
        return order;
    }
    return log->partition < row->partition ? -1 : log->partition > row->partition;
}

static void set_adding(struct cli_progress_row *row, struct klamm_ids adding)
{
    if (cli_text_ids_equal(row->adding, adding)) {
        return;
    }
    free((void *)(uintptr_t)row->adding.list);
    row->adding = (struct klamm_ids){NULL, 0};
    if (adding.count > 0) {
        row->adding.list = xmemdup(adding.list, (size_t)adding.count * sizeof *adding.list);
        row->adding.count = adding.count;
    }
    row->sample_count = 0;
}

/* ---- one poll ---- */

/* Brings the sizes of one broker's replicas into the rows. */
static int poll_broker(struct watch *w, int32_t broker_id, struct klamm_error *err)
{
    struct klamm_log_dirs *dirs = NULL;
    struct klamm_partition_refs refs = {w->refs, w->count};
    int code = klamm_describe_log_dirs(w->run->session->client, broker_id, &refs, &dirs, err);
    if (code != 0) {
        return code;
    }
    for (int32_t d = 0; d < dirs->count; d++) {
        bool is_offline = dirs->list[d].code != 0;
        for (int32_t i = 0; !is_offline && i < dirs->list[d].log_count; i++) {
            const struct klamm_log *log = &dirs->list[d].logs[i];
            struct cli_progress_row *row =
                bsearch(log, w->rows, (size_t)w->count, sizeof *w->rows, compare_row);
            if (row != NULL && row->is_moving && !log->is_future) {
                cli_progress_add(row, broker_id, log->size);
            }
        }
    }
    klamm_log_dirs_free(dirs);
    return 0;
}

static bool is_involved(const struct klamm_reassignments *moves, int32_t broker_id)
{
    for (int32_t i = 0; i < moves->count; i++) {
        if (cli_text_ids_has(moves->list[i].replicas, broker_id)) {
            return true;
        }
    }
    return false;
}

/* Ends the poll of the rows whose arriving replicas were all asked for; the others keep their last
 * numbers. */
static void end_rows(struct watch *w, struct klamm_ids silent)
{
    for (int32_t i = 0; i < w->count; i++) {
        struct cli_progress_row *row = &w->rows[i];
        bool is_known = row->is_moving;
        for (int32_t k = 0; k < silent.count; k++) {
            is_known = is_known && !cli_text_ids_has(row->adding, silent.list[k]);
        }
        if (is_known) {
            cli_progress_end(row, w->now_ms);
        }
    }
}

static int poll_sizes(struct watch *w, const struct klamm_reassignments *moves,
                      struct klamm_error *err)
{
    const struct klamm_cluster *cluster = w->run->cluster;
    int32_t *silent = xalloc((size_t)MAX(cluster->broker_count, 1) * sizeof *silent);
    int32_t silent_count = 0;
    int code = 0;
    for (int32_t i = 0; i < w->count; i++) {
        cli_progress_begin(&w->rows[i]);
    }
    for (int32_t b = 0; b < cluster->broker_count && code != KLAMM_ERR_INTERRUPTED; b++) {
        int32_t id = cluster->brokers[b].id;
        int answer = is_involved(moves, id) ? poll_broker(w, id, err) : 0;
        if (answer != 0) {
            silent[silent_count++] = id;
            code = answer;
        }
    }
    end_rows(w, (struct klamm_ids){silent, silent_count});
    free(silent);
    return code;
}

static const char *describe_ending(const struct cli_progress_row *row,
                                   const struct klamm_topics *topics)
{
    const struct klamm_partition *now =
        cli_topics_find_partition(topics, row->topic, row->partition);
    if (now == NULL) {
        return "gone: the partition does not exist any more";
    }
    if (row->wanted.count == 0) {
        return "ended";
    }
    return cli_text_ids_equal(now->replicas, row->wanted) ? ending_done
                                                          : "ended with other replicas than wanted";
}

/* A good end is believed at once; another one only when it stays. */
static void settle_row(const struct watch *w, struct cli_progress_row *row,
                       const struct klamm_topics *topics)
{
    const char *ending = describe_ending(row, topics);
    row->gone_ms = row->gone_ms < 0 ? w->now_ms : row->gone_ms;
    bool is_sure = ending == ending_done || row->wanted.count == 0;
    if (is_sure || w->now_ms - row->gone_ms >= SETTLE_MS) {
        row->ended_ms = w->now_ms;
        row->ending = ending;
    }
}

/* Rows whose move is gone have ended: where, Metadata tells. */
static int settle_ended(struct watch *w, struct klamm_error *err)
{
    const char **names = xalloc((size_t)MAX(w->count, 1) * sizeof *names);
    int32_t count = 0;
    for (int32_t i = 0; i < w->count; i++) {
        const struct cli_progress_row *row = &w->rows[i];
        bool is_gone = row->ended_ms < 0 && !row->is_moving;
        if (is_gone && (count == 0 || strcmp(names[count - 1], row->topic) != 0)) {
            names[count++] = row->topic;
        }
    }
    struct klamm_topics *topics = NULL;
    int code = 0;
    if (count > 0) {
        code = klamm_describe_topics(w->run->session->client, names, count, &topics, err);
    }
    for (int32_t i = 0; code == 0 && i < w->count; i++) {
        struct cli_progress_row *row = &w->rows[i];
        if (row->ended_ms < 0 && !row->is_moving) {
            settle_row(w, row, topics);
        }
    }
    klamm_topics_free(topics);
    free(names);
    return code;
}

static void apply_moves(struct watch *w, const struct klamm_reassignments *moves)
{
    for (int32_t i = 0; i < w->count; i++) {
        struct cli_progress_row *row = &w->rows[i];
        const struct klamm_reassignment *move = cli_moves_find(moves, row->topic, row->partition);
        row->is_moving = move != NULL && row->ended_ms < 0;
        row->gone_ms = row->is_moving ? -1 : row->gone_ms;
        if (!row->is_moving) {
            continue;
        }
        if (!row->was_seen) {
            row->was_seen = true;
            row->started_ms = w->now_ms;
        }
        set_adding(row, move->adding);
    }
}

static int poll_once(struct watch *w, struct klamm_error *err)
{
    struct klamm_reassignments *moves = NULL;
    struct klamm_partition_refs refs = {w->refs, w->count};
    int code = klamm_list_reassignments(w->run->session->client, &refs, &moves, err);
    if (code != 0) {
        return code;
    }
    apply_moves(w, moves);
    code = settle_ended(w, err);
    if (code != KLAMM_ERR_INTERRUPTED) {
        struct klamm_error problem = {0};
        int sizes = poll_sizes(w, moves, &problem);
        if (sizes != 0) {
            *err = problem;
            code = sizes;
        }
    }
    klamm_reassignments_free(moves);
    return code;
}

static bool is_over(const struct watch *w)
{
    for (int32_t i = 0; i < w->count; i++) {
        if (w->rows[i].ended_ms < 0) {
            return false;
        }
    }
    return true;
}

/* ---- drawing ---- */

static void put_clipped(struct watch *w, const struct buf *line)
{
    struct buf *out = &w->terminal->out;
    size_t len = MIN(line->len, (size_t)MAX(w->terminal->columns - 1, 20));
    buf_put_bytes(out, line->ptr, len);
    buf_put_str(out, "\033[K\n");
    w->drawn_lines++;
}

/* The block of lines in place of the last one. */
static void draw_terminal(struct watch *w)
{
    struct buf line;
    buf_init(&line);
    cli_terminal_measure(w->terminal);
    if (w->drawn_lines > 0) {
        buf_putf(&w->terminal->out, "\033[%" PRId32 "A", w->drawn_lines);
    }
    w->drawn_lines = 0;
    int32_t room = MAX(w->terminal->rows - 4, 1);
    int32_t shown = w->count <= room ? w->count : room - 1;
    for (int32_t i = 0; i < shown; i++) {
        buf_clear(&line);
        cli_progress_put_line(&w->rows[i], w->name_width, &line);
        put_clipped(w, &line);
    }
    buf_clear(&line);
    if (shown < w->count) {
        buf_putf(&line, "and %" PRId32 " more; ", w->count - shown);
    }
    cli_progress_put_total(w->rows, w->count, &line);
    put_clipped(w, &line);
    buf_clear(&line);
    buf_put_str(&line, w->trouble);
    put_clipped(w, &line); /* an empty line otherwise, so that the block keeps its height */
    buf_deinit(&line);
}

/* Lines for what is new: a percent more, an end, or five seconds of silence. */
static void draw_plain(struct watch *w)
{
    struct buf *out = &w->terminal->out;
    for (int32_t i = 0; w->count <= PLAIN_ROWS_MAX && i < w->count; i++) {
        struct cli_progress_row *row = &w->rows[i];
        int32_t percent = cli_progress_percent(row);
        bool is_due = row->ended_ms < 0 && w->now_ms - row->printed_ms >= PLAIN_MS;
        if (percent != row->printed_percent || is_due) {
            cli_progress_put_line(row, w->name_width, out);
            buf_put_str(out, "\n");
            row->printed_percent = percent;
            row->printed_ms = w->now_ms;
        }
    }
    if (w->now_ms - w->total_printed_ms >= PLAIN_MS || is_over(w)) {
        cli_progress_put_total(w->rows, w->count, out);
        buf_put_str(out, "\n");
        w->total_printed_ms = w->now_ms;
    }
    if (w->trouble[0] != '\0') {
        buf_putf(&w->terminal->err, "%s\n", w->trouble);
    }
}

static void draw_json(struct watch *w)
{
    struct buf *out = &w->terminal->out;
    buf_put_str(out, "{\"progress\":[");
    for (int32_t i = 0; i < w->count; i++) {
        const struct cli_progress_row *row = &w->rows[i];
        buf_putf(out, "%s{\"topic\":", i == 0 ? "" : ",");
        cli_text_put_json(out, row->topic);
        buf_putf(out,
                 ",\"partition\":%" PRId32 ",\"copied_bytes\":%" PRId64 ",\"total_bytes\":%" PRId64
                 ",\"percent\":%" PRId32 ",\"bytes_per_second\":%" PRId64
                 ",\"seconds_left\":%" PRId64 ",\"is_over\":%s}",
                 row->partition, row->copied, row->total, cli_progress_percent(row),
                 cli_progress_rate(row), cli_progress_left(row),
                 row->ended_ms >= 0 ? "true" : "false");
    }
    buf_put_str(out, "]}\n");
}

static void draw(struct watch *w)
{
    if (w->run->options.is_json) {
        draw_json(w);
    } else if (w->terminal->is_terminal) {
        draw_terminal(w);
    } else {
        draw_plain(w);
    }
    cli_terminal_flush(w->terminal);
}

/* ---- the loop ---- */

static int finish(const struct watch *w)
{
    for (int32_t i = 0; i < w->count; i++) {
        bool is_wanted = w->rows[i].wanted.count == 0 || w->rows[i].ending == ending_done;
        if (!is_wanted) {
            return CLI_EXIT_FAILED;
        }
    }
    return CLI_EXIT_OK;
}

static int interrupted(struct watch *w)
{
    buf_put_str(&w->terminal->err,
                "Interrupted. The moves go on; --list shows them, --cancel undoes them.\n");
    return CLI_EXIT_INTERRUPTED;
}

static int watch_until_over(struct watch *w)
{
    struct klamm_error err = {0};
    struct klamm_client *client = w->run->session->client;
    int64_t began_us = env_now_us(w->clock);
    klamm_set_timeout(client, CALL_MS);
    for (;;) {
        w->now_ms = (env_now_us(w->clock) - began_us) / 1000;
        w->trouble[0] = '\0';
        int code = poll_once(w, &err);
        if (code == KLAMM_ERR_INTERRUPTED) {
            return interrupted(w);
        }
        if (code != 0) {
            snprintf(w->trouble, sizeof w->trouble, "%s", err.message);
        }
        draw(w);
        if (is_over(w)) {
            return finish(w);
        }
        if (klamm_wait(client, (int32_t)w->run->options.interval_ms, &err) != 0) {
            return interrupted(w);
        }
    }
}

int cli_watch_plan(struct cli_reassign *run, const struct cli_plan *plan)
{
    struct watch w;
    watch_init(&w, run, plan->count);
    int32_t count = 0;
    for (int32_t i = 0; i < plan->count; i++) {
        const struct cli_plan_entry *entry = &plan->entries[i];
        if (!entry->is_repeated) {
            struct klamm_partition_ref ref = {entry->topic, entry->partition};
            row_init(&w, count++, &ref, entry->replicas);
        }
    }
    w.count = count;
    int exit_code = watch_until_over(&w);
    watch_deinit(&w);
    return exit_code;
}

int cli_watch_running(struct cli_reassign *run)
{
    struct watch w;
    watch_init(&w, run, run->running->count);
    for (int32_t i = 0; i < w.count; i++) {
        struct klamm_partition_ref ref = {run->running->list[i].topic,
                                          run->running->list[i].partition};
        row_init(&w, i, &ref, (struct klamm_ids){NULL, 0});
    }
    int exit_code = watch_until_over(&w);
    watch_deinit(&w);
    return exit_code;
}
