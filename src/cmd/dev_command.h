/*
 * The command lines of `klamm dev`: hosting a cluster, and the commands for one that runs.
 */
#pragma once

#include "base/buf.h"
#include "base/error.h"
#include "broker/broker.h"

enum cmd_dev_action {
    CMD_DEV_HELP,
    CMD_DEV_HOST,
    CMD_DEV_STATUS,
    CMD_DEV_STOP,
    CMD_DEV_KILL,
    CMD_DEV_START,
};

#define CMD_DEV_BROKERS_MAX     64
#define CMD_DEV_BROKERS_DEFAULT 3
#define CMD_DEV_LOG_DIRS_MAX    8
#define CMD_DEV_PORT_DEFAULT    9092
#define CMD_DEV_PORT_ANY_BASE   (-1) /* from 9092 up, any free one where that is taken */
#define CMD_DEV_HTTP_PORT_NONE  (-1)

struct cmd_dev_command {
    enum cmd_dev_action action;
    struct buf help; /* HELP: the text to print */
    char *directory;
    bool is_json;      /* STATUS */
    int32_t broker_id; /* STOP, KILL, START */
    /* HOST */
    int32_t broker_count;  /* 0 = as many as the directory has data of, else the default */
    int32_t port;          /* of broker 1, the next ones follow; 0 = any; or PORT_ANY_BASE */
    int32_t http_port;     /* the same for HTTP; or HTTP_PORT_NONE */
    int32_t log_dir_count; /* of each broker */
    bool is_in_memory;
    int64_t session_timeout_ms;
    struct broker_setting *settings; /* own their text */
    int32_t setting_count;
};

/* Where data goes when --dir does not say: $XDG_DATA_HOME and $HOME. NULL = unset. */
struct cmd_dev_home {
    const char *data_home;
    const char *home;
};

/* words follow "dev". On success release with cmd_dev_command_deinit; -E_INVALID with em when the
 * line is wrong. */
int cmd_dev_command_parse(int argc, char **words, const struct cmd_dev_home *home,
                          struct cmd_dev_command *ret, struct errmsg *em) MUST_CHECK;
void cmd_dev_command_deinit(struct cmd_dev_command *c);
