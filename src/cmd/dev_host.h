/*
 * `klamm dev` itself: hosts the brokers, the metastore and the control socket until a signal.
 */
#pragma once

#include "cmd/dev_command.h"

/* Runs the cluster on this thread and threads of its own. Prints its progress to standard output and
 * what is wrong to standard error. Returns the exit status: 0 after a clean end, else 1. */
int cmd_dev_host_run(const struct cmd_dev_command *command);
