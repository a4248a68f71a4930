/*
 * Watching moves. It only asks: ending it, by Ctrl-C or by accident, changes nothing. A partition that is no
 * longer listed has ended; how, its replica list says, once the brokers have heard of it.
 *
 * Invariant: tracked partitions are sorted by topic and partition, each once.
 */
#include "cli/moves_status.h"

#include "base/alloc.h"
#include "base/check.h"
#include "cli/moves.h"
#include "cli/text.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#define SETTLE_MS      5000 /* brokers learn of an end by UpdateMetadata, a little later */
#define PLAIN_MS       5000 /* plain output: a line at least this often */
#define PLAIN_ROWS_MAX 50   /* plain output: with more partitions only the sums are told */

/* A partition that the watch has seen, or was told to wait for. */
struct tracked {
    char *topic;
    int32_t partition;
    struct klamm_ids target; /* owned; the last one heard of */
    bool is_fixed;           /* the target is the plan's: others do not count */
    bool is_listed;          /* it moved or waited at the last look */
    bool is_over;
    bool is_done;       /* over, and it has its target */
    int64_t gone_ms;    /* when it was first not listed; -1 = it is */
    int64_t printed_ms; /* plain: when a line was printed last */
    int32_t printed_percent;
    int printed_state; /* reason and state as printed */
};

struct watch {
    struct cli_moves *run;
    struct cli_terminal *terminal;
    struct cli_moves_filter filter;
    struct tracked *list;
    int32_t count;
    int32_t cap;
    bool is_closed; /* a plan: nothing is added */
    struct cli_moves_view view;
    bool has_view;
    int64_t now_ms;
    int64_t view_ms;
    int64_t sums_printed_ms;
    int32_t drawn_lines;
    char trouble[256]; /* what the last look could not ask; "" = nothing */
};

/* ---- tracking ---- */

static int compare_tracked(const void *a, const void *b)
{
    const struct tracked *x = a;
    const struct tracked *y = b;
    int order = strcmp(x->topic, y->topic);
    return order != 0 ? order : x->partition < y->partition ? -1 : x->partition > y->partition;
}

static int compare_ref(const void *key, const void *element)
{
    const struct klamm_partition_ref *ref = key;
    const struct tracked *t = element;
    int order = strcmp(ref->topic, t->topic);
    return order != 0 ? order : ref->partition < t->partition ? -1 : ref->partition > t->partition;
}

static void set_target(struct tracked *t, struct klamm_ids target)
{
    free((void *)(uintptr_t)t->target.list);
    t->target = (struct klamm_ids){NULL, target.count};
    if (target.count > 0) {
        t->target.list = xmemdup(target.list, (size_t)target.count * sizeof *target.list);
    }
}

static void add_tracked(struct watch *w, const char *topic, int32_t partition,
                        struct klamm_ids target)
{
    if (w->count == w->cap) {
        w->cap = MAX(w->cap * 2, 64);
        w->list = xrealloc(w->list, (size_t)w->cap * sizeof *w->list);
    }
    struct tracked *t = &w->list[w->count++];
    *t = (struct tracked){.topic = xstrdup(topic),
                          .partition = partition,
                          .gone_ms = -1,
                          .printed_percent = -1,
                          .printed_state = -1};
    set_target(t, target);
}

static void watch_deinit(struct watch *w)
{
    for (int32_t i = 0; i < w->count; i++) {
        free(w->list[i].topic);
        free((void *)(uintptr_t)w->list[i].target.list);
    }
    free(w->list);
    if (w->has_view) {
        cli_moves_view_deinit(&w->view);
    }
}

static struct tracked *find_tracked(struct watch *w, int32_t count, const char *topic,
                                    int32_t partition)
{
    struct klamm_partition_ref ref = {topic, partition};
    return count == 0 ? NULL : bsearch(&ref, w->list, (size_t)count, sizeof *w->list, compare_ref);
}

/* Brings the view's rows into the list. */
static void apply_view(struct watch *w)
{
    int32_t known = w->count; /* the sorted part */
    for (int32_t i = 0; i < w->count; i++) {
        w->list[i].is_listed = false;
    }
    for (int32_t i = 0; i < w->view.count; i++) {
        const struct cli_moves_row *row = &w->view.rows[i];
        struct tracked *t = find_tracked(w, known, row->topic, row->partition);
        bool is_second = i > 0 && w->view.rows[i - 1].partition == row->partition &&
                         strcmp(w->view.rows[i - 1].topic, row->topic) == 0;
        if (t == NULL && !is_second && !w->is_closed) {
            add_tracked(w, row->topic, row->partition, row->target);
            w->list[w->count - 1].is_listed = true;
        }
        if (t != NULL) {
            t->is_listed = true;
            t->is_over = false;
            t->gone_ms = -1;
            if (!t->is_fixed) {
                set_target(t, row->target);
            }
        }
    }
    if (w->count > known) {
        qsort(w->list, (size_t)w->count, sizeof *w->list, compare_tracked);
    }
}

/* ---- one look ---- */

static void settle_one(struct watch *w, struct tracked *t, const struct klamm_topics *topics)
{
    const struct klamm_partition *now = cli_topics_find_partition(topics, t->topic, t->partition);
    t->gone_ms = t->gone_ms < 0 ? w->now_ms : t->gone_ms;
    t->is_done = now != NULL && cli_text_ids_equal(now->replicas, t->target);
    t->is_over = t->is_done || w->now_ms - t->gone_ms >= SETTLE_MS;
}

/* Those that are not listed any more have ended: Metadata tells where. */
static int settle(struct watch *w, struct klamm_error *err)
{
    const char **names = xalloc((size_t)MAX(w->count, 1) * sizeof *names);
    int32_t count = 0;
    for (int32_t i = 0; i < w->count; i++) {
        const struct tracked *t = &w->list[i];
        bool is_gone = !t->is_listed && !t->is_over;
        if (is_gone && (count == 0 || strcmp(names[count - 1], t->topic) != 0)) {
            names[count++] = t->topic;
        }
    }
    struct klamm_topics *topics = NULL;
    int code =
        count == 0 ? 0 : klamm_describe_topics(w->run->session->client, names, count, &topics, err);
    for (int32_t i = 0; code == 0 && i < w->count; i++) {
        if (!w->list[i].is_listed && !w->list[i].is_over) {
            settle_one(w, &w->list[i], topics);
        }
    }
    klamm_topics_free(topics);
    free(names);
    return code;
}

static int look(struct watch *w, struct klamm_error *err)
{
    struct cli_moves *run = w->run;
    struct cli_moves_view view;
    struct cli_moves_look ask = {.filter = w->filter,
                                 .earlier = w->has_view ? &w->view : NULL,
                                 .elapsed_ms = w->now_ms - w->view_ms};
    /* The earlier view needs the names that it borrows until the new one is made. */
    struct klamm_moves *before = run->moves;
    run->moves = NULL;
    int code = cli_moves_look(run, &ask, &view, err);
    if (code != 0) {
        klamm_moves_free(run->moves);
        run->moves = before;
        return code;
    }
    if (w->has_view) {
        cli_moves_view_deinit(&w->view);
    }
    klamm_moves_free(before);
    w->view = view;
    w->has_view = true;
    w->view_ms = w->now_ms;
    apply_view(w);
    return settle(w, err);
}

static bool is_over(const struct watch *w)
{
    if (!w->has_view) {
        return false;
    }
    for (int32_t i = 0; i < w->count; i++) {
        if (!w->list[i].is_over) {
            return false;
        }
    }
    return true;
}

/* ---- drawing ---- */

static void put_progress(const struct watch *w, struct buf *out)
{
    int32_t over = 0;
    if (w->count == 0 && w->view.count == 0) {
        buf_put_str(out, "Nothing moves and nothing waits.");
        return;
    }
    for (int32_t i = 0; i < w->count; i++) {
        over += w->list[i].is_over;
    }
    buf_putf(out, "%" PRId32 " of %" PRId32 " over; ", over, w->count);
    cli_moves_put_sums(&w->view, out);
}

/* Each line of the text is cut to the width and takes the place of an old one. */
static void draw_lines(struct watch *w, struct slice text)
{
    struct buf *out = &w->terminal->out;
    int32_t lines = 0;
    size_t width = (size_t)MAX(w->terminal->columns - 1, 20);
    if (w->drawn_lines > 0) {
        buf_putf(out, "\033[%" PRId32 "A", w->drawn_lines);
    }
    for (size_t at = 0; at < text.len;) {
        const uint8_t *end = memchr(text.ptr + at, '\n', text.len - at);
        size_t len = end == NULL ? text.len - at : (size_t)(end - (text.ptr + at));
        buf_put_bytes(out, text.ptr + at, MIN(len, width));
        buf_put_str(out, "\033[K\n");
        at += len + 1;
        lines++;
    }
    for (; lines < w->drawn_lines; lines++) {
        buf_put_str(out, "\033[K\n");
    }
    w->drawn_lines = lines;
}

static void draw_terminal(struct watch *w)
{
    struct cli_terminal page;
    cli_terminal_init_captured(&page);
    cli_terminal_measure(w->terminal);
    if (w->has_view && w->view.count > 0) {
        cli_moves_print_view(&w->view, MAX(w->terminal->rows - 12, 3), &page);
    }
    if (w->has_view) {
        put_progress(w, &page.out);
    }
    buf_putf(&page.out, "\n%s\n", w->trouble);
    draw_lines(w, buf_slice(&page.out));
    cli_terminal_deinit(&page);
}

static void put_ending(const struct tracked *t, struct buf *out)
{
    buf_putf(out, "%s-%" PRId32 "  %s\n", t->topic, t->partition,
             t->is_done ? "done" : "ended with another list than its target");
}

static void print_row(struct watch *w, const struct cli_moves_row *row)
{
    struct tracked *t = find_tracked(w, w->count, row->topic, row->partition);
    int32_t percent = cli_moves_row_percent(row);
    int state = row->reason * 10 + (int)row->state;
    if (t == NULL || (percent == t->printed_percent && state == t->printed_state &&
                      w->now_ms - t->printed_ms < PLAIN_MS)) {
        return;
    }
    cli_moves_put_line(row, &w->terminal->out);
    t->printed_percent = percent;
    t->printed_state = state;
    t->printed_ms = w->now_ms;
}

/* Lines for what is new: a percent more, another reason, an end, or five seconds of silence. */
static void draw_plain(struct watch *w)
{
    struct buf *out = &w->terminal->out;
    bool shows_rows = w->count <= PLAIN_ROWS_MAX;
    for (int32_t i = 0; shows_rows && i < w->view.count; i++) {
        print_row(w, &w->view.rows[i]);
    }
    for (int32_t i = 0; i < w->count; i++) {
        struct tracked *t = &w->list[i];
        bool is_new = t->is_over && t->printed_state != -2;
        if (is_new && (shows_rows || !t->is_done)) {
            put_ending(t, out);
        }
        t->printed_state = is_new ? -2 : t->printed_state;
    }
    if (w->now_ms - w->sums_printed_ms >= PLAIN_MS || is_over(w)) {
        put_progress(w, out);
        buf_put_str(out, "\n");
        w->sums_printed_ms = w->now_ms;
    }
    if (w->trouble[0] != '\0') {
        buf_putf(&w->terminal->err, "%s\n", w->trouble);
    }
}

static void draw(struct watch *w)
{
    if (w->run->options.is_json) {
        cli_moves_put_json(w->run, &w->view, &w->terminal->out);
    } else if (w->terminal->is_terminal) {
        draw_terminal(w);
    } else {
        draw_plain(w);
    }
    cli_terminal_flush(w->terminal);
}

/* ---- the loop ---- */

static int finish(struct watch *w)
{
    int32_t astray = 0;
    for (int32_t i = 0; i < w->count; i++) {
        astray += !w->list[i].is_done;
    }
    if (astray > 0) {
        buf_putf(&w->terminal->err,
                 "%" PRId32 " of %" PRId32 " ended with another list than the target: cancelled, "
                 "or given another one.\n",
                 astray, w->count);
    }
    return astray > 0 ? CLI_EXIT_FAILED : CLI_EXIT_OK;
}

static int interrupted(struct watch *w)
{
    buf_put_str(&w->terminal->err, "Interrupted. The moves go on: klamm moves status shows them, "
                                   "klamm moves cancel ends them.\n");
    return CLI_EXIT_INTERRUPTED;
}

static int watch_until_over(struct watch *w)
{
    struct klamm_error err = {0};
    struct klamm_client *client = w->run->session->client;
    const struct env *clock = w->run->session->files;
    int64_t began_ms = env_now_us(clock) / 1000;
    for (;;) {
        w->now_ms = env_now_us(clock) / 1000 - began_ms;
        w->trouble[0] = '\0';
        int code = look(w, &err);
        if (code == KLAMM_ERR_INTERRUPTED) {
            return interrupted(w);
        }
        if (code != 0) {
            snprintf(w->trouble, sizeof w->trouble, "%s", err.message);
        }
        draw(w);
        if (code == 0 && is_over(w)) {
            return finish(w);
        }
        if (klamm_wait(client, (int32_t)w->run->options.interval_ms, &err) != 0) {
            return interrupted(w);
        }
    }
}

int cli_moves_watch(struct cli_moves *run, const struct cli_moves_filter *filter)
{
    struct watch w = {
        .run = run, .terminal = run->terminal, .filter = *filter, .sums_printed_ms = -PLAIN_MS};
    int exit_code = watch_until_over(&w);
    watch_deinit(&w);
    return exit_code;
}

int cli_moves_watch_plan(struct cli_moves *run, const struct cli_plan *plan)
{
    struct watch w = {
        .run = run, .terminal = run->terminal, .is_closed = true, .sums_printed_ms = -PLAIN_MS};
    for (int32_t i = 0; i < plan->count; i++) {
        const struct cli_plan_entry *entry = &plan->entries[i];
        add_tracked(&w, entry->topic, entry->partition, entry->replicas);
        w.list[w.count - 1].is_fixed = true;
    }
    /* The view shows everything; what is not in the plan is not waited for. */
    int exit_code = watch_until_over(&w);
    watch_deinit(&w);
    return exit_code;
}
