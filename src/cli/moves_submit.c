/*
 * klamm moves submit. Each step ends the run when it must not go on; the rollback file is on disk before
 * the first change, and goes again when nothing was changed.
 */
#include "cli/moves_local.h"
#include "cli/moves_start.h"

#include "base/alloc.h"
#include "base/check.h"
#include "cli/moves_status.h"
#include "cli/rollback.h"
#include "cli/text.h"

#include <inttypes.h>
#include <stdlib.h>

static int nothing_to_do(struct cli_moves_start *start)
{
    struct buf *out = &start->run->terminal->out;
    if (start->run->options.is_json) {
        buf_put_str(out, "{\"results\":[],\"job\":null}\n");
    } else {
        buf_put_str(out, "Nothing to do: each partition of the plan has its list already, or moves "
                         "or waits to get it.\n");
    }
    return CLI_EXIT_OK;
}

/* The lists as they are now, of all partitions of the plan. */
static int write_rollback(struct cli_moves_start *start, const char *path, struct errmsg *em)
{
    int32_t count = start->plan->count;
    struct cli_assignment *list = xalloc((size_t)count * sizeof *list);
    for (int32_t i = 0; i < count; i++) {
        const struct cli_plan_entry *entry = &start->plan->entries[i];
        list[i] = (struct cli_assignment){entry->topic, entry->partition,
                                          cli_moves_start_origin(start, entry)};
    }
    int err = cli_rollback_write(start->run->session->files, path, list, count, em);
    for (int32_t i = 0; i < count; i++) {
        free((void *)(uintptr_t)list[i].replicas.list);
    }
    free(list);
    return err;
}

static int send_with_rollback(struct cli_moves_start *start, const char *path)
{
    struct cli_moves *run = start->run;
    struct errmsg em = {""};
    if (write_rollback(start, path, &em) < 0) {
        buf_put_str(&run->terminal->out, run->options.is_json ? "\"results\":[]" : "");
        return cli_moves_fail(run, "%s; nothing was changed", em.text);
    }
    if (!run->options.is_json) {
        buf_putf(&run->terminal->out, "The way back is in %s (klamm moves undo %s).\n", path, path);
        cli_terminal_flush(run->terminal);
    }
    bool is_accepted = false;
    int exit_code = cli_moves_start_send(start, &is_accepted);
    if (!is_accepted && env_unlink(run->session->files, path) == 0) {
        buf_putf(&run->terminal->err, "Nothing was changed; %s is removed again.\n", path);
    }
    return exit_code;
}

/* ---- without a queue in the controller ---- */

/* "plan.json" -> "plan.journal"; the caller frees it. */
static char *journal_name(const char *plan_path)
{
    size_t len = strlen(plan_path);
    bool has_suffix = len > 5 && strcmp(plan_path + len - 5, ".json") == 0;
    return xasprintf("%.*s.journal", (int)(has_suffix ? len - 5 : len), plan_path);
}

/* Said before anything is done: this command is the queue. */
static int check_local(struct cli_moves_start *start)
{
    struct cli_moves *run = start->run;
    if (start->alter.rate > 0 || run->options.priority != NULL) {
        return cli_moves_fail(run, "the controller of this cluster is not klamm's: a job has no "
                                   "throttle and no priority there (klamm reassign --throttle sets "
                                   "Kafka's own)");
    }
    buf_put_str(
        &run->terminal->err,
        "The controller of this cluster is not klamm's: the queue is kept by this command, in "
        "a journal. Pausing, throttles of jobs and history are not available.\n");
    return CLI_EXIT_OK;
}

/* A new job: the cost, the question, the way back, the journal. */
static int start_local(struct cli_moves_start *start, struct cli_moves_local *local,
                       const char *rollback)
{
    struct cli_moves *run = start->run;
    struct errmsg em = {""};
    int32_t accepted = 0;
    int exit_code = cli_moves_start_agree(start, "Start these moves?");
    if (exit_code != CLI_EXIT_OK) {
        return exit_code;
    }
    if (write_rollback(start, rollback, &em) < 0) {
        return cli_moves_fail(run, "%s; nothing was changed", em.text);
    }
    if (!run->options.is_json) {
        buf_putf(&run->terminal->out, "The way back is in %s (klamm moves undo %s).\n", rollback,
                 rollback);
        cli_terminal_flush(run->terminal);
    }
    exit_code = cli_moves_local_submit(local, &accepted);
    if (accepted == 0 && env_unlink(run->session->files, rollback) == 0) {
        buf_putf(&run->terminal->err, "Nothing was changed; %s is removed again.\n", rollback);
    }
    return accepted > 0 ? CLI_EXIT_OK : exit_code;
}

static void print_dry_run(const struct cli_moves_start *start)
{
    struct buf *out = &start->run->terminal->out;
    if (start->run->options.is_json) {
        buf_put_str(out, "{\"estimate\":");
        cli_estimate_put_json(start->estimate, out);
        buf_put_str(out, "}\n");
    } else {
        buf_put_str(out, "\nDry run: nothing was changed.\n");
    }
}

/* Submits or resumes, and stays until all has ended. */
static int run_local(struct cli_moves_start *start, const char *rollback)
{
    struct cli_moves *run = start->run;
    bool is_resumed = false;
    int exit_code = check_local(start);
    if (exit_code == CLI_EXIT_OK) {
        exit_code = cli_moves_start_estimate(start);
    }
    if (exit_code == CLI_EXIT_OK && run->options.is_dry_run) {
        print_dry_run(start);
    }
    if (exit_code != CLI_EXIT_OK || run->options.is_dry_run) {
        return exit_code;
    }
    char *journal =
        run->options.journal != NULL ? xstrdup(run->options.journal) : journal_name(start->file);
    struct cli_moves_local_config config = {
        .journal = journal, .concurrency = (int32_t)run->options.concurrency, .start = start};
    struct cli_moves_local *local = NULL;
    exit_code = cli_moves_local_new(&config, &local, &is_resumed);
    if (exit_code == CLI_EXIT_OK && is_resumed) {
        buf_putf(&run->terminal->err, "Going on with what waits in %s.\n", journal);
    } else if (exit_code == CLI_EXIT_OK && start->target_count > 0) {
        exit_code = start_local(start, local, rollback);
    }
    if (exit_code == CLI_EXIT_OK && !is_resumed && start->target_count == 0) {
        exit_code = nothing_to_do(start);
    } else if (exit_code == CLI_EXIT_OK) {
        cli_terminal_flush(run->terminal);
        run->local = local;
        exit_code = cli_moves_watch_plan(run, start->plan);
        run->local = NULL;
    }
    if (local != NULL) {
        cli_moves_local_finish(local);
    }
    cli_moves_local_free(local);
    free(journal);
    return exit_code;
}

/* ---- the command ---- */

static int run_checked(struct cli_moves_start *start, const char *rollback)
{
    struct cli_moves *run = start->run;
    struct buf *out = &run->terminal->out;
    bool is_klamm = run->moves->is_klamm;
    if (is_klamm && (run->options.journal != NULL || run->options.concurrency > 0)) {
        return cli_moves_fail(run,
                              "--journal and --concurrency are for controllers without a queue; "
                              "this one obeys klamm.moves.max.*");
    }
    if (!is_klamm) {
        return run_local(start, rollback);
    }
    if (start->target_count == 0) {
        return nothing_to_do(start);
    }
    int exit_code = cli_moves_start_estimate(start);
    if (exit_code == CLI_EXIT_OK && !run->options.is_dry_run) {
        exit_code = cli_moves_start_agree(start, "Start these moves?");
    }
    if (exit_code != CLI_EXIT_OK) {
        return exit_code;
    }
    if (run->options.is_json) {
        buf_put_str(out, "{\"estimate\":");
        cli_estimate_put_json(start->estimate, out);
    }
    if (!run->options.is_dry_run) {
        buf_put_str(out, run->options.is_json ? "," : "\n");
        exit_code = send_with_rollback(start, rollback);
    } else if (!run->options.is_json) {
        buf_put_str(out, "\nDry run: nothing was changed.\n");
    }
    buf_put_str(out, run->options.is_json ? "}\n" : "");
    return exit_code;
}

int cli_moves_submit(struct cli_moves *run)
{
    struct cli_moves_start start;
    const char *file = run->operands.list[0];
    char *rollback =
        run->options.rollback != NULL ? xstrdup(run->options.rollback) : cli_rollback_name(file);
    cli_moves_start_init(&start, run, file);
    int exit_code = cli_moves_start_check(&start);
    if (exit_code == CLI_EXIT_OK) {
        cli_moves_start_choose(&start);
        exit_code = run_checked(&start, rollback);
    }
    bool watches = run->options.watches && exit_code == CLI_EXIT_OK && start.target_count > 0 &&
                   !run->options.is_dry_run && run->moves->is_klamm;
    if (watches) {
        cli_terminal_flush(run->terminal);
        exit_code = cli_moves_watch_plan(run, start.plan);
    }
    cli_moves_start_deinit(&start);
    free(rollback);
    return exit_code;
}
