/*
 * klamm moves undo. A move that runs or waits is cancelled where that leads to the list of the file; what
 * then still differs from the file is submitted as moves of their own. With --job the controller does the
 * same with what it remembers.
 */
#include "cli/moves_change.h"
#include "cli/moves_start.h"

#include "base/alloc.h"
#include "base/check.h"
#include "cli/moves_status.h"
#include "cli/text.h"

#include <inttypes.h>
#include <stdlib.h>

/* What is to be cancelled before the rest is submitted. */
struct cancels {
    struct klamm_target *list; /* borrows from the plan */
    int32_t count;
};

/* Splits the plan: who gets its list by a cancel needs no move of its own. */
static void choose(struct cli_moves_start *start, struct cancels *cancels)
{
    int32_t kept = 0;
    cli_moves_start_choose(start);
    cancels->list = xalloc((size_t)MAX(start->plan->count, 1) * sizeof *cancels->list);
    for (int32_t i = 0; i < start->plan->count; i++) {
        const struct cli_plan_entry *entry = &start->plan->entries[i];
        bool is_chosen = kept < start->target_count && start->targets[kept].topic == entry->topic &&
                         start->targets[kept].partition == entry->partition;
        struct klamm_ids origin = cli_moves_start_origin(start, entry);
        bool is_origin = cli_text_ids_equal(origin, entry->replicas);
        free((void *)(uintptr_t)origin.list);
        struct klamm_partition_ref ref = {entry->topic, entry->partition};
        bool is_open = cli_moves_waiting(start->run, &ref) != NULL ||
                       cli_moves_running(start->run, &ref) != NULL;
        if (is_chosen && is_open && is_origin) {
            cancels->list[cancels->count++] = (struct klamm_target){
                .topic = entry->topic, .partition = entry->partition, .is_cancel = true};
            int32_t rest = start->target_count - kept - 1;
            memmove(start->targets + kept, start->targets + kept + 1,
                    (size_t)rest * sizeof *start->targets);
            start->target_count--;
        } else if (is_chosen) {
            kept++;
        }
    }
}

static int send(struct cli_moves_start *start, const struct cancels *cancels)
{
    struct cli_moves *run = start->run;
    struct buf *out = &run->terminal->out;
    bool is_accepted = false;
    int exit_code = CLI_EXIT_OK;
    buf_put_str(out, run->options.is_json ? "{" : "");
    if (cancels->count > 0) {
        struct klamm_alter alter = {.action = KLAMM_ACTION_CANCEL,
                                    .targets = cancels->list,
                                    .target_count = cancels->count};
        struct cli_moves_counts counts = {0};
        buf_put_str(out, run->options.is_json ? "\"cancel\":" : "");
        exit_code = cli_moves_change_send(run, &alter, "cancelled", &counts);
        buf_put_str(out, run->options.is_json ? "," : "");
    }
    if (start->target_count > 0 && exit_code != CLI_EXIT_INTERRUPTED) {
        int sent = cli_moves_start_send(start, &is_accepted);
        exit_code = sent != CLI_EXIT_OK ? sent : exit_code;
    } else {
        buf_put_str(out, run->options.is_json ? "\"results\":[],\"job\":null" : "");
    }
    buf_put_str(out, run->options.is_json ? "}\n" : "");
    return exit_code;
}

static int run_checked(struct cli_moves_start *start, const struct cancels *cancels)
{
    struct cli_moves *run = start->run;
    if (start->target_count + cancels->count == 0) {
        buf_put_str(&run->terminal->out, run->options.is_json
                                             ? "{\"results\":[],\"job\":null}\n"
                                             : "Nothing to undo: all is as the file has it.\n");
        return CLI_EXIT_OK;
    }
    int exit_code = cli_moves_start_estimate(start);
    if (exit_code != CLI_EXIT_OK) {
        return exit_code;
    }
    if (!run->options.is_json) {
        buf_putf(&run->terminal->out, "To cancel: %" PRId32 "; to move back: %" PRId32 "\n",
                 cancels->count, start->target_count);
    }
    if (run->options.is_dry_run) {
        if (run->options.is_json) {
            buf_put_str(&run->terminal->out, "{\"estimate\":");
            cli_estimate_put_json(start->estimate, &run->terminal->out);
        }
        buf_put_str(&run->terminal->out,
                    run->options.is_json ? "}\n" : "\nDry run: nothing was changed.\n");
        return CLI_EXIT_OK;
    }
    exit_code = cli_moves_start_agree(start, "Go back?");
    return exit_code == CLI_EXIT_OK ? send(start, cancels) : exit_code;
}

static int undo_file(struct cli_moves *run)
{
    struct cli_moves_start start;
    struct cancels cancels = {NULL, 0};
    cli_moves_start_init(&start, run, run->operands.list[0]);
    start.purpose = CLI_PLAN_UNDO;
    run->options.allows_factor_change = true; /* the way back of a move that changed it */
    int exit_code = cli_moves_start_check(&start);
    if (exit_code == CLI_EXIT_OK && !run->moves->is_klamm &&
        (start.alter.rate > 0 || run->options.priority != NULL || run->options.is_one_at_a_time)) {
        exit_code =
            cli_moves_fail(run, "the controller of this cluster is not klamm's: moves have no "
                                "throttle, no priority and no order there");
    }
    if (exit_code == CLI_EXIT_OK) {
        choose(&start, &cancels);
        exit_code = run_checked(&start, &cancels);
    }
    if (run->options.watches && exit_code == CLI_EXIT_OK && !run->options.is_dry_run) {
        cli_terminal_flush(run->terminal);
        exit_code = cli_moves_watch_plan(run, start.plan);
    }
    if (start.gone_count > 0 && exit_code == CLI_EXIT_OK && !run->options.is_dry_run) {
        exit_code = CLI_EXIT_FAILED; /* not all that the file has could be gone back to */
    }
    free(cancels.list);
    cli_moves_start_deinit(&start);
    return exit_code;
}

static int undo_job(struct cli_moves *run)
{
    struct klamm_error err = {0};
    struct klamm_alter alter = {.action = KLAMM_ACTION_UNDO, .job = run->options.job};
    struct cli_moves_counts counts = {0};
    if (run->options.throttle != NULL || run->options.priority != NULL) {
        return cli_session_usage(run->session, run->command,
                                 "a job is undone at its own rate and priority: klamm moves set "
                                 "changes them");
    }
    if (cli_moves_open(run, &err) != 0) {
        return cli_session_fail(run->session, &err);
    }
    if (cli_moves_lacks_queue(run, "it keeps no jobs; undo the rollback file instead")) {
        return CLI_EXIT_FAILED;
    }
    if (cli_moves_job(run, run->options.job) == NULL) {
        return cli_moves_fail(run, "there is no job \"%.100s\"", run->options.job);
    }
    int exit_code = cli_moves_change_send(run, &alter, "undone", &counts);
    buf_put_str(&run->terminal->out, run->options.is_json ? "\n" : "");
    return exit_code;
}

int cli_moves_undo(struct cli_moves *run)
{
    bool has_file = run->operands.count == 1;
    if (has_file == (run->options.job != NULL)) {
        return cli_session_usage(run->session, run->command, "either FILE or --job is expected");
    }
    return has_file ? undo_file(run) : undo_job(run);
}
