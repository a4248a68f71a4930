/*
 * What a server.properties file and the command line's overrides mean for one broker: every value is
 * checked against the table of properties and against the others, and every fault is found at once.
 * Pure, but for the reading of files by cmd_server_config_read.
 */
#pragma once

#include "base/buf.h"
#include "broker/broker.h"
#include "cmd/server_listeners.h"
#include "model/config.h"

struct env;

struct cmd_server_config {
    struct config_set set; /* every known value that was given */
    int32_t id;            /* broker.id; -1 = automatic */
    struct cmd_server_listeners listeners;
    char **log_dirs;
    int32_t log_dir_count;
    char *digest;                    /* of klamm.zookeeper.digest.file; NULL = none */
    struct broker_setting *settings; /* the values of set, borrowed from it and the table */
    int32_t setting_count;
};

/* Where values come from. */
struct cmd_server_sources {
    const char *path;             /* of the file */
    const char *const *overrides; /* KEY=VALUE; they win over the file */
    int32_t override_count;
};

/* One finding a line, without a level: "FILE:LINE: text" or "--override: text". */
struct cmd_server_faults {
    struct buf errors;
    struct buf warnings;
};

void cmd_server_faults_init(struct cmd_server_faults *faults);
void cmd_server_faults_deinit(struct cmd_server_faults *faults);

/* Reads the file and what it names. -E_INVALID with at least one error; warnings come in either case.
 * On success release with cmd_server_config_deinit. */
int cmd_server_config_read(struct env *env, const struct cmd_server_sources *sources,
                           struct cmd_server_config *ret,
                           struct cmd_server_faults *faults) MUST_CHECK;
/* The same from the text of the file. klamm.zookeeper.digest.file is not opened. */
int cmd_server_config_parse(struct slice text, const struct cmd_server_sources *sources,
                            struct cmd_server_config *ret,
                            struct cmd_server_faults *faults) MUST_CHECK;
void cmd_server_config_deinit(struct cmd_server_config *config);

/* A whole file of up to 1 MiB. em names the path. ret_text is released by buf_deinit. */
int cmd_server_file_read(struct env *env, const char *path, struct buf *ret_text,
                         struct errmsg *em) MUST_CHECK;
