/*
 * What a running command holds: its output, the connection to the cluster, the door to files.
 */
#pragma once

#include "cli/options.h"
#include "cli/terminal.h"
#include "env/env.h"
#include "klamm/klamm.h"

enum cli_exit {
    CLI_EXIT_OK = 0,
    CLI_EXIT_FAILED = 1,
    CLI_EXIT_USAGE = 2,
    CLI_EXIT_INTERRUPTED = 130,
};

#define CLI_BOOTSTRAP_DEFAULT "127.0.0.1:9092"

struct cli_session {
    struct cli_terminal *terminal;
    struct klamm_client *client; /* NULL until connected */
    struct env *files;           /* NULL until cli_session_files */
    int32_t slow_ms; /* a call that takes longer is told of; 0 = the library's default */
};

/* Commands of this folder: words start behind the command's name. They return an exit code. */
typedef int (*cli_command_fn)(struct cli_session *session, struct cli_words words);
int cli_topics_run(struct cli_session *session, struct cli_words words);
int cli_reassign_run(struct cli_session *session, struct cli_words words);
int cli_election_run(struct cli_session *session, struct cli_words words);
int cli_moves_run(struct cli_session *session, struct cli_words words);

void cli_session_init(struct cli_session *session, struct cli_terminal *terminal);
void cli_session_deinit(struct cli_session *session);

struct cli_session_config {
    const char *bootstrap_servers;
    const char *client_id; /* NULL = "klamm" */
    int32_t timeout_ms;    /* 0 = the library's default */
};

/* Connects; returns the library's code. */
int cli_session_connect(struct cli_session *session, const struct cli_session_config *config,
                        struct klamm_error *err) MUST_CHECK;
/* An env for file functions, or NULL with em. */
struct env *cli_session_files(struct cli_session *session, struct errmsg *em);
/* "klamm: MESSAGE" on the error output; returns the exit code that fits. */
int cli_session_fail(struct cli_session *session, const struct klamm_error *err);
/* The same for a wrong command line, with the way to the help. */
int cli_session_usage(struct cli_session *session, const struct cli_command *command,
                      const char *message);
