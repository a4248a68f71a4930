/*
 * The command line of `klamm server`.
 */
#pragma once

#include "base/buf.h"
#include "base/error.h"
#include "cli/options.h"
#include "cmd/server_log.h"

enum cmd_server_action {
    CMD_SERVER_HELP,
    CMD_SERVER_RUN,
    CMD_SERVER_CHECK,               /* read the configuration, say what is wrong */
    CMD_SERVER_PRINT_CONFIGURATION, /* the document of all properties */
};

struct cmd_server_command {
    enum cmd_server_action action;
    struct buf help;            /* HELP: the text to print */
    const char *path;           /* RUN, CHECK: the properties file; points into argv */
    struct cli_texts overrides; /* RUN, CHECK: KEY=VALUE */
    enum cmd_server_log_level log_level;
};

/* words follow "server". On success release with cmd_server_command_deinit; -E_INVALID with em when
 * the line is wrong. */
int cmd_server_command_parse(struct cli_words words, struct cmd_server_command *ret,
                             struct errmsg *em) MUST_CHECK;
void cmd_server_command_deinit(struct cmd_server_command *c);
