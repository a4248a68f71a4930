/*
 * The directory of a `klamm dev` cluster:
 *   .lock         held while it runs
 *   control.sock  where a running one takes commands
 *   metastore.db  metadata
 *   broker-N/     the first log directory of broker N
 *   broker-N.K/   its K-th, from 2 up
 *   in-memory/    broker-N/ of a cluster that keeps nothing; removed at its start and its end
 * Runs on one env.
 */
#pragma once

#include "env/env.h"

struct cmd_dev_directory {
    struct env *env;
    char *path;
    bool is_in_memory;
    struct env_file *lock;
    int32_t broker_found; /* highest N with a broker-N/; 0 = none, or is_in_memory */
};

/* Makes it when missing. -E_LOCKED when a cluster runs in it. em names the path. On failure there is
 * nothing to close. */
int cmd_dev_directory_open(struct env *env, const char *path, bool is_in_memory,
                           struct cmd_dev_directory *ret, struct errmsg *em) MUST_CHECK;
/* The log directory number index, from 0 up, of broker id. Heap. */
char *cmd_dev_directory_broker(const struct cmd_dev_directory *d, int32_t id, int32_t index);
void cmd_dev_directory_close(struct cmd_dev_directory *d);
