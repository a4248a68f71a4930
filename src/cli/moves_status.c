/*
 * klamm moves status and history: one look, shown as a table or as JSON.
 */
#include "cli/moves_status.h"

#include "base/alloc.h"
#include "base/check.h"
#include "cli/moves.h"
#include "cli/moves_change.h"
#include "cli/moves_start.h"
#include "cli/table.h"
#include "cli/text.h"
#include "moves/moves.h"
#include "moves/reason.h"

#include <inttypes.h>
#include <stdlib.h>

/* ---- looking ---- */

static int read_sizes(struct cli_moves *run, struct cli_disks *disks, struct klamm_error *err)
{
    int32_t count = run->moves->count;
    struct klamm_partition_ref *refs = xalloc((size_t)MAX(count, 1) * sizeof *refs);
    for (int32_t i = 0; i < count; i++) {
        refs[i] =
            (struct klamm_partition_ref){run->moves->list[i].topic, run->moves->list[i].partition};
    }
    int code = cli_disks_read(run->session->client, run->cluster,
                              &(struct klamm_partition_refs){refs, count}, disks, err);
    free(refs);
    return code;
}

int cli_moves_look(struct cli_moves *run, const struct cli_moves_look *look,
                   struct cli_moves_view *ret_view, struct klamm_error *err)
{
    struct cli_disks disks;
    struct klamm_cluster *cluster = NULL;
    int code = klamm_describe_cluster(run->session->client, &cluster, err);
    if (code == 0) {
        klamm_cluster_free(run->cluster);
        run->cluster = cluster;
        code = cli_moves_refresh(run, err);
    }
    if (code != 0) {
        return code;
    }
    cli_disks_init(&disks);
    if (!run->moves->is_klamm) {
        code = read_sizes(run, &disks, err);
    }
    if (code == 0) {
        struct cli_moves_view_input input = {.moves = run->moves,
                                             .cluster = run->cluster,
                                             .disks = run->moves->is_klamm ? NULL : &disks,
                                             .earlier = look->earlier,
                                             .elapsed_ms = look->elapsed_ms,
                                             .filter = look->filter};
        cli_moves_view_init(ret_view, &input);
    }
    if (code == 0 && run->moves->is_klamm && cli_moves_view_lacks_rates(ret_view)) {
        code = read_sizes(run, &disks, err);
        cli_moves_view_add_rates(ret_view, &disks);
        if (code != 0) {
            cli_moves_view_deinit(ret_view);
        }
    }
    cli_disks_deinit(&disks);
    return code;
}

/* ---- the table ---- */

static void put_bytes_cell(struct cli_table *table, int64_t bytes, const char *behind)
{
    struct buf text;
    buf_init(&text);
    if (bytes >= 0) {
        cli_text_put_bytes(&text, bytes);
        buf_put_str(&text, behind);
    } else {
        buf_put_str(&text, "-");
    }
    cli_table_put(table, CLI_STYLE_PLAIN, "%.*s", SLICE_ARG(buf_slice(&text)));
    buf_deinit(&text);
}

/* What the server says, without anything that a terminal would obey. */
static void put_text_cell(struct cli_table *table, const char *text)
{
    struct buf escaped;
    buf_init(&escaped);
    cli_text_put_escaped(&escaped, slice_str(text == NULL || text[0] == '\0' ? "-" : text));
    cli_table_put(table, CLI_STYLE_PLAIN, "%.*s", SLICE_ARG(buf_slice(&escaped)));
    buf_deinit(&escaped);
}

static void put_row(struct cli_table *table, const struct cli_moves_row *row)
{
    static const enum cli_style styles[] = {[CLI_MOVES_COPYING] = CLI_STYLE_GOOD,
                                            [CLI_MOVES_WAITING] = CLI_STYLE_BAD,
                                            [CLI_MOVES_PAUSED] = CLI_STYLE_WARN,
                                            [CLI_MOVES_QUEUED] = CLI_STYLE_PLAIN};
    struct buf text;
    buf_init(&text);
    cli_table_put(table, CLI_STYLE_PLAIN, "%s-%" PRId32, row->topic, row->partition);
    cli_table_put(table, styles[row->state], "%s", cli_moves_state_name(row->state));
    cli_text_put_ids(&text, row->target);
    cli_table_put(table, CLI_STYLE_PLAIN, "%.*s", SLICE_ARG(buf_slice(&text)));
    put_bytes_cell(table, row->is_running && row->total >= 0 ? row->copied : -1, "");
    put_bytes_cell(table, row->total, "");
    if (row->total > 0 && row->is_running) {
        cli_table_put(table, CLI_STYLE_PLAIN, "%" PRId32, cli_moves_row_percent(row));
    } else {
        cli_table_put(table, CLI_STYLE_PLAIN, "-");
    }
    put_bytes_cell(table, row->rate, "/s");
    buf_clear(&text);
    if (row->eta_ms >= 0) {
        cli_text_put_duration(&text, (row->eta_ms + 999) / 1000);
    } else {
        buf_put_str(&text, "-");
    }
    cli_table_put(table, CLI_STYLE_PLAIN, "%.*s", SLICE_ARG(buf_slice(&text)));
    put_text_cell(table, row->job);
    buf_clear(&text);
    cli_moves_row_put_remarks(row, &text);
    cli_table_put(table, CLI_STYLE_PLAIN, "%.*s", SLICE_ARG(buf_slice(&text)));
    buf_deinit(&text);
}

/* What helps, once a reason. */
static void put_helps(const struct cli_moves_view *view, struct buf *out)
{
    bool was_told[MOVES_REASON_COUNT] = {false};
    bool has_free_one = false;
    for (int32_t i = 0; i < view->count; i++) {
        int8_t reason = view->rows[i].reason;
        has_free_one |= view->rows[i].ignores_limits;
        bool is_known = reason > MOVES_REASON_NONE && reason < MOVES_REASON_COUNT;
        if (is_known && !was_told[reason] && moves_reason_help(reason)[0] != '\0') {
            was_told[reason] = true;
            buf_putf(out, "%s: %s\n", moves_reason_text(reason), moves_reason_help(reason));
        }
    }
    if (has_free_one) {
        buf_put_str(
            out, CLI_MOVES_IGNORES_LIMITS
            ": Both ends of the copy are Apache Kafka brokers. `klamm reassign --throttle` sets "
            "limits that they obey.\n");
    }
}

void cli_moves_put_sums(const struct cli_moves_view *view, struct buf *out)
{
    int64_t copied = 0;
    int64_t total = 0;
    int64_t rate = 0;
    for (int32_t i = 0; i < view->count; i++) {
        const struct cli_moves_row *row = &view->rows[i];
        bool is_large = __builtin_add_overflow(total, MAX(row->total, 0), &total) ||
                        __builtin_add_overflow(copied, MAX(row->copied, 0), &copied) ||
                        __builtin_add_overflow(rate, MAX(row->rate, 0), &rate);
        if (is_large) {
            total = copied = rate = 0; /* nobody has that: the numbers are no use */
        }
    }
    buf_putf(out, "%" PRId32 " run%s, %" PRId32 " wait%s", view->running_count,
             view->running_count == 1 ? "s" : "", view->queued_count,
             view->queued_count == 1 ? "s" : "");
    if (view->paused_count > 0) {
        buf_putf(out, ", %" PRId32 " of them paused", view->paused_count);
    }
    buf_put_str(out, ": ");
    cli_text_put_bytes(out, copied);
    buf_put_str(out, " of ");
    cli_text_put_bytes(out, total);
    buf_put_str(out, ", ");
    cli_text_put_bytes(out, rate);
    buf_put_str(out, "/s");
}

void cli_moves_print_view(const struct cli_moves_view *view, int32_t rows_max,
                          struct cli_terminal *terminal)
{
    static const char *const titles[] = {"PARTITION", "STATE", "TO",  "COPIED", "OF",
                                         "%",         "RATE",  "ETA", "JOB",    "WHY"};
    struct buf *out = &terminal->out;
    struct cli_table table;
    cli_table_init(&table, titles, ARRAY_LEN(titles), 0xf8);
    int32_t shown = MIN(view->count, rows_max);
    for (int32_t i = 0; i < shown; i++) {
        put_row(&table, &view->rows[i]);
    }
    cli_table_print(&table, terminal);
    cli_table_deinit(&table);
    if (shown < view->count) {
        buf_putf(out, "and %" PRId32 " more\n", view->count - shown);
    }
    buf_put_str(out, "\n");
    cli_moves_put_sums(view, out);
    buf_put_str(out, "\n");
    put_helps(view, out);
}

void cli_moves_put_line(const struct cli_moves_row *row, struct buf *out)
{
    buf_putf(out, "%s-%" PRId32 "  %s", row->topic, row->partition,
             cli_moves_state_name(row->state));
    if (row->is_running && row->total >= 0) {
        buf_put_str(out, "  ");
        cli_text_put_bytes(out, row->copied);
        buf_put_str(out, " of ");
        cli_text_put_bytes(out, row->total);
        buf_putf(out, "  %" PRId32 " %%", cli_moves_row_percent(row));
    }
    if (row->rate >= 0) {
        buf_put_str(out, "  ");
        cli_text_put_bytes(out, row->rate);
        buf_put_str(out, "/s");
    }
    if (row->eta_ms >= 0) {
        buf_put_str(out, "  ");
        cli_text_put_duration(out, (row->eta_ms + 999) / 1000);
        buf_put_str(out, " left");
    }
    buf_put_str(out, "  to ");
    cli_text_put_ids(out, row->target);
    if (row->reason != MOVES_REASON_NONE || row->ignores_limits) {
        buf_put_str(out, "  ");
        cli_moves_row_put_remarks(row, out);
    }
    buf_put_str(out, "\n");
}

/* ---- JSON ---- */

static void put_row_json(const struct cli_moves_row *row, struct buf *out)
{
    struct buf reason;
    buf_init(&reason);
    cli_moves_row_put_reason(row, &reason);
    char *text = slice_dup(buf_slice(&reason));
    buf_deinit(&reason);
    buf_put_str(out, "{\"topic\":");
    cli_text_put_json(out, row->topic);
    buf_putf(out, ",\"partition\":%" PRId32 ",\"state\":\"%s\",\"is_running\":%s,\"job\":",
             row->partition, cli_moves_state_name(row->state), row->is_running ? "true" : "false");
    cli_text_put_json(out, row->job);
    buf_put_str(out, ",\"target\":");
    cli_text_put_json_ids(out, row->target);
    buf_putf(out,
             ",\"bytes_copied\":%" PRId64 ",\"bytes_to_copy\":%" PRId64 ",\"percent\":%" PRId32
             ",\"bytes_per_second\":%" PRId64 ",\"eta_ms\":%" PRId64
             ",\"reason\":%d,\"reason_code\":%d,\"since_ms\":%" PRId64 ",\"waits_for\":",
             row->copied, row->total, cli_moves_row_percent(row), row->rate, row->eta_ms,
             row->reason, row->reason_code, row->since_ms);
    cli_text_put_json_ids(out, row->waits);
    buf_put_str(out, ",\"why\":");
    cli_text_put_json(out, text);
    buf_putf(out, ",\"ignores_limits\":%s}", row->ignores_limits ? "true" : "false");
    free(text);
}

static const char *priority_name(enum klamm_priority priority)
{
    return priority == KLAMM_PRIORITY_REPAIR  ? "repair"
           : priority == KLAMM_PRIORITY_DRAIN ? "drain"
                                              : "balance";
}

static void put_job_json(const struct klamm_job *job, struct buf *out)
{
    buf_put_str(out, "{\"id\":");
    cli_text_put_json(out, job->id);
    buf_put_str(out, ",\"submitted_by\":");
    cli_text_put_json(out, job->submitted_by);
    buf_put_str(out, ",\"client_id\":");
    cli_text_put_json(out, job->client_id);
    buf_putf(out,
             ",\"submitted_ms\":%" PRId64 ",\"state\":\"%s\",\"priority\":\"%s\""
             ",\"is_one_at_a_time\":%s,\"rate\":%" PRId64 ",\"moves\":%" PRId32
             ",\"moves_done\":%" PRId32 ",\"moves_cancelled\":%" PRId32
             ",\"bytes_to_copy\":%" PRId64 ",\"bytes_copied\":%" PRId64 "}",
             job->submitted_ms, moves_state_text(job->state), priority_name(job->priority),
             job->is_one_at_a_time ? "true" : "false", job->rate, job->moves_total, job->moves_done,
             job->moves_cancelled, job->bytes_to_copy, job->bytes_copied);
}

static bool is_over(const struct klamm_job *job)
{
    return job->state == KLAMM_JOB_DONE || job->state == KLAMM_JOB_CANCELLED;
}

static void put_jobs_json(const struct klamm_moves *moves, bool wants_over, struct buf *out)
{
    const char *separator = "";
    buf_put_str(out, "\"jobs\":[");
    for (int32_t i = 0; i < moves->job_count; i++) {
        if (is_over(&moves->jobs[i]) == wants_over) {
            buf_put_str(out, separator);
            put_job_json(&moves->jobs[i], out);
            separator = ",";
        }
    }
    buf_put_str(out, "]");
}

void cli_moves_put_json(const struct cli_moves *run, const struct cli_moves_view *view,
                        struct buf *out)
{
    buf_putf(out, "{\"has_queue\":%s,", run->moves->is_klamm ? "true" : "false");
    put_jobs_json(run->moves, false, out);
    buf_put_str(out, ",\"moves\":[");
    for (int32_t i = 0; i < view->count; i++) {
        buf_put_str(out, i == 0 ? "" : ",");
        put_row_json(&view->rows[i], out);
    }
    buf_put_str(out, "]}\n");
}

/* ---- jobs ---- */

static void print_jobs(const struct klamm_moves *moves, bool wants_over,
                       struct cli_terminal *terminal)
{
    static const char *const titles[] = {"JOB",    "STATE", "SUBMITTED", "BY",      "MOVES",
                                         "COPIED", "OF",    "THROTTLE",  "PRIORITY"};
    struct cli_table table;
    struct buf text;
    cli_table_init(&table, titles, ARRAY_LEN(titles), 0xf0);
    buf_init(&text);
    for (int32_t i = 0; i < moves->job_count; i++) {
        const struct klamm_job *job = &moves->jobs[i];
        if (is_over(job) != wants_over) {
            continue;
        }
        buf_clear(&text);
        cli_text_put_time(&text, job->submitted_ms);
        put_text_cell(&table, job->id);
        cli_table_put(&table, CLI_STYLE_PLAIN, "%s%s", moves_state_text(job->state),
                      job->is_one_at_a_time ? ", one at a time" : "");
        cli_table_put(&table, CLI_STYLE_PLAIN, "%.*s", SLICE_ARG(buf_slice(&text)));
        put_text_cell(&table, job->submitted_by);
        cli_table_put(&table, CLI_STYLE_PLAIN, "%" PRId32 " of %" PRId32, job->moves_done,
                      job->moves_total);
        put_bytes_cell(&table, job->bytes_copied, "");
        put_bytes_cell(&table, job->bytes_to_copy, "");
        put_bytes_cell(&table, job->rate > 0 ? job->rate : -1, "/s");
        cli_table_put(&table, CLI_STYLE_PLAIN, "%s", priority_name(job->priority));
    }
    buf_deinit(&text);
    cli_table_print(&table, terminal);
    cli_table_deinit(&table);
}

static int32_t count_jobs(const struct klamm_moves *moves, bool wants_over)
{
    int32_t count = 0;
    for (int32_t i = 0; i < moves->job_count; i++) {
        count += is_over(&moves->jobs[i]) == wants_over;
    }
    return count;
}

int cli_moves_history(struct cli_moves *run)
{
    struct klamm_error err = {0};
    struct buf *out = &run->terminal->out;
    if (cli_moves_open(run, &err) != 0) {
        return cli_session_fail(run->session, &err);
    }
    if (cli_moves_lacks_queue(run, "it keeps no history of moves")) {
        return CLI_EXIT_FAILED;
    }
    if (run->options.is_json) {
        buf_put_str(out, "{");
        put_jobs_json(run->moves, true, out);
        buf_put_str(out, "}\n");
    } else if (count_jobs(run->moves, true) == 0) {
        buf_put_str(out, "No job has ended yet.\n");
    } else {
        print_jobs(run->moves, true, run->terminal);
    }
    return CLI_EXIT_OK;
}

/* ---- against a plan ---- */

enum planned_state {
    PLANNED_ABSENT,
    PLANNED_DONE,
    PLANNED_MOVING,
    PLANNED_MOVING_ELSEWHERE,
    PLANNED_WAITING,
    PLANNED_WAITING_ELSEWHERE,
    PLANNED_NOT_MOVING,
};

static const struct {
    const char *text;
    const char *json;
    bool has_list; /* the text goes on with the list that it has, or goes to, instead */
} planned_words[] = {
    [PLANNED_ABSENT] = {"does not exist", "absent", false},
    [PLANNED_DONE] = {"done", "done", false},
    [PLANNED_MOVING] = {"moves there", "moving", false},
    [PLANNED_MOVING_ELSEWHERE] = {"other target active ", "moving_elsewhere", true},
    [PLANNED_WAITING] = {"waits for its start", "waiting", false},
    [PLANNED_WAITING_ELSEWHERE] = {"another target waits ", "waiting_elsewhere", true},
    [PLANNED_NOT_MOVING] = {"does not move, and its list is ", "not_moving", true},
};

/* ret_list: where it goes, or what it has; owned by the caller. */
static enum planned_state planned_state(struct cli_moves_start *start,
                                        const struct cli_plan_entry *entry,
                                        struct klamm_ids *ret_list)
{
    struct klamm_partition_ref ref = {entry->topic, entry->partition};
    const struct klamm_partition *now =
        cli_topics_find_partition(start->topics, entry->topic, entry->partition);
    const struct klamm_reassignment *move =
        cli_moves_find(&start->running, entry->topic, entry->partition);
    const struct klamm_queued *queued = cli_moves_waiting(start->run, &ref);
    struct klamm_ids none = {NULL, 0};
    *ret_list = none;
    if (now == NULL) {
        return PLANNED_ABSENT;
    }
    if (move != NULL) {
        *ret_list = cli_moves_target(move);
        return cli_text_ids_equal(*ret_list, entry->replicas) ? PLANNED_MOVING
                                                              : PLANNED_MOVING_ELSEWHERE;
    }
    *ret_list = cli_estimate_origin(queued != NULL ? queued->target : now->replicas, none);
    bool is_same = cli_text_ids_equal(*ret_list, entry->replicas);
    if (queued != NULL) {
        return is_same ? PLANNED_WAITING : PLANNED_WAITING_ELSEWHERE;
    }
    return is_same ? PLANNED_DONE : PLANNED_NOT_MOVING;
}

static void put_planned(struct buf *out, const struct cli_plan_entry *entry,
                        enum planned_state state, struct klamm_ids list)
{
    buf_putf(out, "%s-%" PRId32 ": %s", entry->topic, entry->partition, planned_words[state].text);
    if (planned_words[state].has_list) {
        cli_text_put_json_ids(out, list);
    }
    buf_put_str(out, "\n");
}

static void put_planned_json(struct buf *out, const struct cli_plan_entry *entry,
                             enum planned_state state, struct klamm_ids list)
{
    buf_put_str(out, "{\"topic\":");
    cli_text_put_json(out, entry->topic);
    buf_putf(out, ",\"partition\":%" PRId32 ",\"state\":\"%s\",\"list\":", entry->partition,
             planned_words[state].json);
    if (state == PLANNED_ABSENT) {
        buf_put_str(out, "null}");
    } else {
        cli_text_put_json_ids(out, list);
        buf_put_str(out, "}");
    }
}

static void print_plan(struct cli_moves_start *start)
{
    struct buf *out = &start->run->terminal->out;
    bool is_json = start->run->options.is_json;
    int32_t done = 0;
    buf_put_str(out, is_json ? "{\"plan\":[" : "");
    for (int32_t i = 0; i < start->plan->count; i++) {
        const struct cli_plan_entry *entry = &start->plan->entries[i];
        struct klamm_ids list;
        enum planned_state state = planned_state(start, entry, &list);
        done += state == PLANNED_DONE;
        if (is_json) {
            buf_put_str(out, i == 0 ? "" : ",");
            put_planned_json(out, entry, state, list);
        } else {
            put_planned(out, entry, state, list);
        }
        free((void *)(uintptr_t)list.list);
    }
    buf_putf(out,
             is_json ? "],\"done\":%" PRId32 ",\"count\":%" PRId32 "}\n"
                     : "%" PRId32 " of %" PRId32 " done\n",
             done, start->plan->count);
}

static int compare_with_plan(struct cli_moves *run)
{
    struct cli_moves_start start;
    cli_moves_start_init(&start, run, run->options.plan);
    start.purpose = CLI_PLAN_VERIFY;
    int exit_code = cli_moves_start_check(&start);
    if (exit_code == CLI_EXIT_OK) {
        print_plan(&start);
    }
    cli_moves_start_deinit(&start);
    return exit_code;
}

/* ---- status ---- */

static int print_status(struct cli_moves *run, const struct cli_moves_filter *filter)
{
    struct klamm_error err = {0};
    struct cli_moves_view view;
    struct cli_moves_look look = {.filter = *filter};
    struct buf *out = &run->terminal->out;
    if (cli_moves_look(run, &look, &view, &err) != 0) {
        return cli_session_fail(run->session, &err);
    }
    if (run->options.is_json) {
        cli_moves_put_json(run, &view, out);
    } else {
        if (count_jobs(run->moves, false) > 0) {
            print_jobs(run->moves, false, run->terminal);
            buf_put_str(out, "\n");
        }
        if (view.count == 0) {
            buf_put_str(out, "Nothing moves and nothing waits.\n");
        } else {
            cli_moves_print_view(&view, INT32_MAX, run->terminal);
        }
    }
    cli_moves_view_deinit(&view);
    return CLI_EXIT_OK;
}

static int show(struct cli_moves *run, const struct cli_moves_filter *filter)
{
    struct klamm_error err = {0};
    if (cli_moves_open(run, &err) != 0) {
        return cli_session_fail(run->session, &err);
    }
    if (run->options.job != NULL && run->moves->is_klamm &&
        cli_moves_job(run, run->options.job) == NULL) {
        return cli_moves_fail(run, "there is no job \"%.100s\"", run->options.job);
    }
    if (!run->moves->is_klamm) {
        buf_put_str(
            &run->terminal->err,
            "The controller of this cluster is not klamm's: sizes are read from its brokers; "
            "rates and times take --watch; it has no queue and tells no reasons.\n");
    }
    return run->options.watches ? cli_moves_watch(run, filter) : print_status(run, filter);
}

int cli_moves_status(struct cli_moves *run)
{
    struct errmsg em = {""};
    struct cli_moves_asked asked;
    if (run->options.plan != NULL) {
        return compare_with_plan(run);
    }
    if (cli_moves_asked_parse(&run->options, &asked, &em) < 0) {
        cli_moves_asked_deinit(&asked);
        return cli_session_usage(run->session, run->command, em.text);
    }
    struct cli_moves_filter filter = {
        .refs = asked.list, .ref_count = asked.count, .job = run->options.job};
    int exit_code = cli_session_files(run->session, &em) == NULL
                        ? cli_moves_fail(run, "%s", em.text)
                        : show(run, &filter);
    cli_moves_asked_deinit(&asked);
    return exit_code;
}
