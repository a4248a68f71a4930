/*
 * Connection and complaints, the same for all commands.
 */
#include "cli/session.h"

#include "base/check.h"
#include "env/loop.h"

void cli_session_init(struct cli_session *session, struct cli_terminal *terminal)
{
    *session = (struct cli_session){.terminal = terminal};
}

void cli_session_deinit(struct cli_session *session)
{
    klamm_close(session->client);
    if (session->files != NULL) {
        loop_free(session->files);
    }
    cli_terminal_flush(session->terminal);
}

/* Shown at once: the reader wonders now. */
static void note_slow(void *arg, const char *message)
{
    struct cli_session *session = arg;
    buf_putf(&session->terminal->err, "klamm: %s\n", message);
    cli_terminal_flush(session->terminal);
}

int cli_session_connect(struct cli_session *session, const struct cli_session_config *config,
                        struct klamm_error *err)
{
    CHECK(session->client == NULL);
    struct klamm_config client_config = {.bootstrap_servers = config->bootstrap_servers,
                                         .client_id = config->client_id == NULL ? "klamm"
                                                                                : config->client_id,
                                         .timeout_ms = config->timeout_ms,
                                         .catches_signals = true,
                                         .on_slow = note_slow,
                                         .on_slow_arg = session,
                                         .slow_ms = session->slow_ms};
    return klamm_connect(&client_config, &session->client, err);
}

struct env *cli_session_files(struct cli_session *session, struct errmsg *em)
{
    if (session->files == NULL) {
        session->files = loop_new(&(struct loop_config){.name = "files"}, em);
    }
    return session->files;
}

int cli_session_fail(struct cli_session *session, const struct klamm_error *err)
{
    buf_putf(&session->terminal->err, "klamm: %s\n", err->message);
    return err->code == KLAMM_ERR_INTERRUPTED ? CLI_EXIT_INTERRUPTED : CLI_EXIT_FAILED;
}

int cli_session_usage(struct cli_session *session, const struct cli_command *command,
                      const char *message)
{
    buf_putf(&session->terminal->err, "klamm %s: %s\nTry: klamm %s --help\n", command->name,
             message, command->name);
    return CLI_EXIT_USAGE;
}
