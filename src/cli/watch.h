/*
 * Watching moves until they end: every --interval what runs (ListPartitionReassignments) and how large the
 * replicas are (DescribeLogDirs of the brokers involved).
 */
#pragma once

#include "cli/reassign.h"

/* The partitions of the plan; those that do not move count as ended. Returns the exit code: 0 when
 * all ended where the plan wants them, 1 when one ended elsewhere, 130 when interrupted. */
int cli_watch_plan(struct cli_reassign *run, const struct cli_plan *plan);
/* What run->running holds; moves may end anywhere. */
int cli_watch_running(struct cli_reassign *run);
