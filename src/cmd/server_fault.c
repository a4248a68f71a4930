/*
 * Whoever removes the file is the one that ends: two processes cannot both remove it. SIGKILL, so that
 * nothing is flushed, closed or said.
 */
#include "cmd/server_fault.h"

#include "base/alloc.h"
#include "env/env.h"

#include <signal.h>
#include <stdlib.h>

const char *cmd_server_fault_dir(void)
{
#ifdef KLAMM_FAULT_POINTS
    return getenv("KLAMM_FAULT_DIR");
#else
    return NULL;
#endif
}

static bool is_end(void *arg, const char *point)
{
    struct cmd_server_fault *fault = arg;
    char *path = xasprintf("%s/%s", fault->dir, point);
    bool is_named = env_unlink(fault->env, path) == 0;
    free(path);
    if (is_named) {
        (void)raise(SIGKILL); /* does not return */
    }
    return is_named;
}

struct fault_hook cmd_server_fault_hook(struct cmd_server_fault *fault)
{
    return fault->dir == NULL ? (struct fault_hook){0} : (struct fault_hook){is_end, fault};
}
