/*
 * The real env: a libuv loop on a thread of its own (or the caller's), POSIX files, TCP sockets.
 *
 * Life: loop_new -> loop_start (own thread) or loop_run (this thread) -> loop_stop (any thread)
 * -> loop_free (after the thread ended; joins it). Objects of the loop must be closed before.
 */
#pragma once

#include "env/env.h"

struct loop_config {
    const char *name; /* thread name, at most 15 characters are kept */
    const char
        *congestion_control; /* for sockets to loopback addresses; NULL = "cubic"; "" = leave */
};

/* NULL with em on failure. Ignores SIGPIPE process-wide. */
struct env *loop_new(const struct loop_config *config, struct errmsg *em) MUST_CHECK;
/* Runs the loop on a new thread until loop_stop. */
int loop_start(struct env *env, struct errmsg *em) MUST_CHECK;
/* Runs the loop on this thread until loop_stop. */
void loop_run(struct env *env);
/* Any thread. What was posted before still runs. */
void loop_stop(struct env *env);
/* Joins the thread when there is one, waits for its disk work, frees everything. */
void loop_free(struct env *env);
/* loop_new and loop_start; NULL with em on failure. */
struct env *loop_spawn(const char *name, struct errmsg *em) MUST_CHECK;
/* loop_stop and loop_free of what loop_spawn made; NULL is fine. */
void loop_end(struct env *env);
/* Raises RLIMIT_NOFILE to its hard limit; returns how many descriptors connections leave to files: half
 * of them, but no more than 65536. */
int64_t loop_raise_file_limit(void);
/* This machine's name, as the system has it. Heap. NULL when it has none. */
char *loop_host_name(void) MUST_CHECK;
/* SIGINT and SIGTERM do nothing any more: for a process that has come to its end, when the env that asked for
 * them is freed. */
void loop_ignore_signals(void);
/* Calls fn(arg, signal) on env's thread for SIGINT and SIGTERM. One env a process may ask. */
int loop_on_signal(struct env *env, void (*fn)(void *arg, int signal), void *arg,
                   struct errmsg *em) MUST_CHECK;
