/*
 * klamm moves submit. Each step ends the run when it must not go on; the rollback file is on disk before
 * the first change, and goes again when nothing was changed.
 */
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

static int run_checked(struct cli_moves_start *start, const char *rollback)
{
    struct cli_moves *run = start->run;
    struct buf *out = &run->terminal->out;
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
                   !run->options.is_dry_run;
    if (watches) {
        cli_terminal_flush(run->terminal);
        exit_code = cli_moves_watch_plan(run, start.plan);
    }
    cli_moves_start_deinit(&start);
    free(rollback);
    return exit_code;
}
