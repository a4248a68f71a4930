/*
 * Fault points of server processes (base/fault.h), for tests. The variable KLAMM_FAULT_DIR names a
 * directory. A process that reaches a point and finds a file of the point's name there removes it and
 * kills itself: of several processes just one. A release build does not look at the variable.
 */
#pragma once

#include "base/fault.h"

struct env;

struct cmd_server_fault {
    struct env *env; /* of the thread that reaches the points */
    const char *dir; /* NULL = none */
};

/* NULL = no fault points. */
const char *cmd_server_fault_dir(void);
/* Borrows fault, which must not move. */
struct fault_hook cmd_server_fault_hook(struct cmd_server_fault *fault);
