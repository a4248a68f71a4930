/*
 * The queue of moves where the controller has none (Apache Kafka): the same core, run by this command over
 * AlterPartitionReassignments, with a journal instead of a metastore. It works while the command runs; what is
 * under way goes on without it, what waits is in the journal until the same plan is submitted again.
 */
#pragma once

#include "cli/moves_start.h"

struct cli_moves_local_config {
    const char *journal; /* path */
    int32_t
        concurrency; /* moves at a time, of the whole cluster and of each broker; 0 = the default */
    struct cli_moves_start *start; /* checked, with sizes */
};

/* Opens the journal. *ret_is_resumed: it holds an unfinished job of this plan, which goes on. An exit code;
 * what is wrong has been told. */
int cli_moves_local_new(const struct cli_moves_local_config *config,
                        struct cli_moves_local **ret_local, bool *ret_is_resumed);
/* NULL is fine. */
void cli_moves_local_free(struct cli_moves_local *local);
/* Puts the start's targets into the queue, on disk before it returns. An exit code; refusals have been told,
 * *ret_accepted counts the others. */
int cli_moves_local_submit(struct cli_moves_local *local, int32_t *ret_accepted);
/* Brings the queue on with what run->moves says now, and adds to it what waits. Returns the library's code.
 * Called by cli_moves_refresh once run->local is set. */
int cli_moves_local_step(struct cli_moves_local *local, struct klamm_error *err) MUST_CHECK;
/* After the end: nothing is left to do, so the journal goes. Else says how to go on. */
void cli_moves_local_finish(struct cli_moves_local *local);
