/*
 * The table of commands.
 */
#include "cli/cli.h"

#include "base/check.h"
#include "cli/session.h"

#include <string.h>

static const struct {
    const char *name;
    const char *summary;
    cli_command_fn run; /* NULL: cmd/ has it; it is here for the overview */
} commands[] = {
    {"dev", "run a whole cluster in this process, on this machine", NULL},
    {"server", "run one broker of a cluster on ZooKeeper", NULL},
    {"topics", "create, list, describe and delete topics", cli_topics_run},
    {"moves", "move replicas between brokers: queue, progress, undo", cli_moves_run},
    {"reassign", "move replicas with the options of Kafka's tool", cli_reassign_run},
    {"leader-election", "give leadership back to the preferred replicas", cli_election_run},
};

static cli_command_fn find_command(const char *name)
{
    for (size_t i = 0; i < ARRAY_LEN(commands); i++) {
        if (strcmp(commands[i].name, name) == 0) {
            return commands[i].run;
        }
    }
    return NULL;
}

bool cli_has_command(const char *name)
{
    return find_command(name) != NULL;
}

static void print_overview(struct buf *out)
{
    buf_put_str(out, "klamm - a replicated log cluster that speaks Kafka's protocol\n\n"
                     "Usage: klamm COMMAND [options]\n\n");
    for (size_t i = 0; i < ARRAY_LEN(commands); i++) {
        buf_putf(out, "  %-16s  %s\n", commands[i].name, commands[i].summary);
    }
    buf_put_str(out,
                "\nklamm COMMAND --help explains a command; klamm --version tells the version.\n"
                "\nExamples:\n"
                "  klamm dev --brokers 6\n"
                "  klamm topics create orders --partitions 6 --replication-factor 3\n"
                "  klamm moves submit plan.json --throttle 50MB --watch\n");
}

static int run(struct cli_terminal *terminal, int argc, char **argv)
{
    if (argc < 2) {
        print_overview(&terminal->err);
        return CLI_EXIT_USAGE;
    }
    if (strcmp(argv[1], "--help") == 0 || strcmp(argv[1], "help") == 0) {
        print_overview(&terminal->out);
        return CLI_EXIT_OK;
    }
    if (strcmp(argv[1], "--version") == 0) {
        buf_putf(&terminal->out, "%s\n", klamm_version());
        return CLI_EXIT_OK;
    }
    cli_command_fn command = find_command(argv[1]);
    if (command == NULL) {
        buf_putf(&terminal->err, "klamm: \"%.100s\" is not a command\n\n", argv[1]);
        print_overview(&terminal->err);
        return CLI_EXIT_USAGE;
    }
    struct cli_session session;
    cli_session_init(&session, terminal);
    int code = command(&session, (struct cli_words){argv + 2, argc - 2});
    cli_session_deinit(&session);
    return code;
}

int cli_main(int argc, char **argv)
{
    struct cli_terminal terminal;
    cli_terminal_init(&terminal);
    int code = run(&terminal, argc, argv);
    cli_terminal_flush(&terminal);
    if (terminal.is_out_lost) {
        buf_put_str(&terminal.err, "klamm: the output could not be written\n");
        cli_terminal_flush(&terminal);
        code = code == CLI_EXIT_OK ? CLI_EXIT_FAILED : code;
    }
    cli_terminal_deinit(&terminal);
    return code;
}
