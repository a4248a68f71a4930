/*
 * From a plan file to moves in the queue: what `klamm moves submit` and `klamm moves undo` share. The order
 * holds for both: read and check everything, show the cost, ask, write the way back, send.
 */
#pragma once

#include "cli/disks.h"
#include "cli/estimate.h"
#include "cli/moves_run.h"
#include "cli/plan.h"

struct cli_moves_start {
    struct cli_moves *run;
    const char *file;
    enum cli_plan_purpose purpose;
    struct klamm_alter alter; /* rate, priority, ... as the options say */
    struct cli_plan *plan;
    struct cli_faults faults;
    struct klamm_topics *topics; /* those of the plan */
    struct klamm_reassignments
        running;           /* the running moves once more, as the checks take them; list owned */
    struct klamm_ids down; /* brokers that hold replicas and are not up; list owned */
    struct cli_disks disks;
    struct cli_disks earlier; /* empty = not asked */
    struct cli_estimate *estimate;
    struct klamm_target *targets; /* what is to be sent; borrows from the plan */
    int32_t target_count;
    int32_t
        gone_count;   /* entries whose partition is no more: left out of the plan (CLI_PLAN_UNDO) */
    bool is_doubtful; /* something was sent, and nobody knows whether it was accepted */
};

void cli_moves_start_init(struct cli_moves_start *start, struct cli_moves *run, const char *file);
void cli_moves_start_deinit(struct cli_moves_start *start);
/* Reads the file, connects, checks. An exit code; faults have been told. */
int cli_moves_start_check(struct cli_moves_start *start);
/* Chooses what has to be sent: what neither is as the plan has it nor goes there already. */
void cli_moves_start_choose(struct cli_moves_start *start);
/* Asks for sizes and shows the cost. An exit code. */
int cli_moves_start_estimate(struct cli_moves_start *start);
/* Asks the operator. An exit code; CLI_EXIT_OK = go on. */
int cli_moves_start_agree(struct cli_moves_start *start, const char *question);
/* The list that the partition of this entry goes back to: from before its running move, or the present one.
 * Owned by the caller: free((void *)list). */
struct klamm_ids cli_moves_start_origin(const struct cli_moves_start *start,
                                        const struct cli_plan_entry *entry);
/* Submits the chosen targets as a job. Prints results (JSON: as members of an object that the caller has
 * begun). An exit code; *ret_accepted says whether anything was. */
int cli_moves_start_send(struct cli_moves_start *start, bool *ret_accepted);
