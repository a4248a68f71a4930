/*
 * Before a broker starts: is the metastore there, and which id has this broker? One session of its own
 * that ends before the broker opens its sessions. Runs on one env.
 */
#pragma once

#include "base/error.h"

#include <stdint.h>

struct env;
struct metastore_factory;
struct cmd_server_entry;

struct cmd_server_entry_config {
    struct env *env;
    struct metastore_factory *factory; /* borrowed */
    int64_t session_timeout_ms;
    int64_t patience_ms; /* then it gives up */
    bool is_id_wanted;
    int32_t reserved_id_max; /* generated ids are above it */
    /* Again and again while the metastore cannot be reached. */
    void (*waiting)(void *arg, int64_t waited_ms);
    /* Once: 0 with the generated id (-1 when none was wanted), or -E_TIMEOUT (no session came about),
     * -E_OUT_OF_RANGE, -E_REFUSED (an access list: waiting does not help), or what the store said last
     * when the time was over. It is the last call; cmd_server_entry_free is fine in it. */
    void (*done)(void *arg, int err, int32_t id);
    void *arg;
};

struct cmd_server_entry *cmd_server_entry_new(const struct cmd_server_entry_config *config);
/* At any moment; nothing is called afterwards. NULL is fine. */
void cmd_server_entry_free(struct cmd_server_entry *e);

/*
 * The broker id that the directories' meta.properties remember: -1 = none of them has one.
 * -E_INVALID: two that differ, or a file that is none. Directories that cannot be read are passed over
 * when another one remembers, else -E_IO.
 */
int cmd_server_entry_remembered_id(struct env *env, const char *const *log_dirs, int32_t count,
                                   int32_t *ret_id, struct errmsg *em) MUST_CHECK;
