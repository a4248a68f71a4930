/*
 * The process of `klamm server`: one broker, its controller and their sessions with ZooKeeper, until a
 * signal.
 */
#pragma once

#include "cmd/server_config.h"
#include "cmd/server_log.h"

/* Runs the broker on env's loop, on this thread; the controller's core gets a thread of its own.
 * Returns the exit status: 0 after a clean end, else 1. Frees env, which sessions need to their end. */
int cmd_server_host_run(struct env *env, const struct cmd_server_config *config,
                        const struct cmd_server_log *log);
