/*
 * The control socket of a running `klamm dev`: one line comes in, one answer goes out, the connection
 * ends. The first byte of an answer is '0' (done) or '1' (refused or failed), the second a line feed,
 * the rest is text to print.
 *
 * Whoever may write to the directory of the cluster may send commands; nobody else can reach the
 * socket. Runs on one env.
 */
#pragma once

#include "base/buf.h"
#include "env/env.h"

#define CMD_DEV_CONTROL_FILE     "control.sock"
#define CMD_DEV_CONTROL_LINE_MAX 128 /* bytes of a command */

struct cmd_dev_control;
struct cmd_dev_request;

/* line is borrowed. Every request is answered once, now or later. */
typedef void (*cmd_dev_request_fn)(void *arg, struct cmd_dev_request *request, struct slice line);

/* Listens on directory/control.sock; a file left there by a killed process is replaced, so the caller
 * must hold the directory's lock. */
int cmd_dev_control_new(struct env *env, const char *directory, cmd_dev_request_fn on_request,
                        void *arg, struct cmd_dev_control **ret_control,
                        struct errmsg *em) MUST_CHECK;
/* Stops listening and removes the file. Requests may still be answered afterwards. NULL is fine. */
void cmd_dev_control_free(struct cmd_dev_control *c);
/* Sends the answer and ends the request. */
void cmd_dev_request_answer(struct cmd_dev_request *request, bool is_done, struct slice text);

/* The other side: sends line to the cluster that runs in directory and prints the answer's text, to
 * standard error when it was refused. Returns the exit status. Runs a loop of its own. */
int cmd_dev_control_send(const char *directory, const char *line);
