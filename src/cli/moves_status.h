/*
 * klamm moves status: the table, and the watch, which submit and undo go over to.
 */
#pragma once

#include "cli/moves_run.h"
#include "cli/moves_view.h"
#include "cli/plan.h"

/* What a look builds on. */
struct cli_moves_look {
    struct cli_moves_filter filter;
    const struct cli_moves_view
        *earlier;       /* rates come from it where the server tells none; NULL = none */
    int64_t elapsed_ms; /* since then */
};

/* What moves now: asks again, and for sizes where the controller does not tell them. On success the view
 * is to be deinitialised; it borrows from run->moves. Returns the library's code. */
int cli_moves_look(struct cli_moves *run, const struct cli_moves_look *look,
                   struct cli_moves_view *ret_view, struct klamm_error *err) MUST_CHECK;
/* The view as a table, with what helps below it; at most rows_max rows. */
void cli_moves_print_view(const struct cli_moves_view *view, int32_t rows_max,
                          struct cli_terminal *terminal);
/* Sums of a view: "3 run, 2 wait: 1.2 GB of 3.0 GB 40 % 45 MB/s". */
void cli_moves_put_sums(const struct cli_moves_view *view, struct buf *out);
/* One move on one line, for outputs that are not redrawn. */
void cli_moves_put_line(const struct cli_moves_row *row, struct buf *out);
void cli_moves_put_json(const struct cli_moves *run, const struct cli_moves_view *view,
                        struct buf *out);

/* Looks every options.interval_ms until nothing of the filter moves or waits. An exit code. */
int cli_moves_watch(struct cli_moves *run, const struct cli_moves_filter *filter);
/* The same for the partitions of a plan: 0 only if all got their lists. */
int cli_moves_watch_plan(struct cli_moves *run, const struct cli_plan *plan);
