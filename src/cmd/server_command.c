/*
 * See server_command.h. No state.
 */
#include "cmd/server_command.h"

#include "base/check.h"

#include <stddef.h>

struct values {
    bool is_help;
    bool is_check;
    bool is_print_configuration;
    const char *path;
    const char *log_level;
    struct cli_texts overrides;
};

#define AT(field) offsetof(struct values, field)

static const struct cli_option options[] = {
    {"config", "FILE", "the properties file, with Kafka's names", CLI_OPTION_TEXT, AT(path), 0, 0},
    {"override", "KEY=VALUE", "a property that wins over the file; may be repeated",
     CLI_OPTION_TEXTS, AT(overrides), 0, 0},
    {"log-level", "LEVEL", "error, warn, info or debug (default: info)", CLI_OPTION_TEXT,
     AT(log_level), 0, 0},
    {"check", NULL, "read the configuration, say what is wrong with it, and end", CLI_OPTION_FLAG,
     AT(is_check), 0, 0},
    {"print-configuration", NULL, "print the list of all properties and end", CLI_OPTION_FLAG,
     AT(is_print_configuration), 0, 0},
    {"help", NULL, "print this text", CLI_OPTION_FLAG, AT(is_help), 0, 0},
};

static const struct cli_command command = {
    "server",
    "",
    "Run one broker of a cluster whose metadata is in ZooKeeper.",
    "Runs until SIGTERM or SIGINT: then leaderships are handed over, logs are flushed and the\n"
    "process ends. Another signal, a second later or more, ends it at once, as a crash would. The\n"
    "log goes to standard error, one line an event.\n"
    "\nThe file needs zookeeper.connect and log.dirs. Without broker.id the broker gets one and\n"
    "remembers it in its log directories.\n"
    "\nExamples:\n"
    "  klamm server --config /etc/klamm/server.properties\n"
    "  klamm server --config server.properties --override broker.id=2 --log-level debug\n"
    "  klamm server --config server.properties --check\n"
    "\nExit status: 0 ended by a signal, or the check found nothing wrong; 1 failed, the reason "
    "is\n"
    "in the log; 2 the command line or the configuration is wrong; 130, 143 ended at once by\n"
    "another signal.\n",
    options,
    (int32_t)ARRAY_LEN(options),
};

static int take_values(const struct values *values, struct cmd_server_command *c, struct errmsg *em)
{
    if (values->is_help) {
        c->action = CMD_SERVER_HELP;
        buf_init(&c->help);
        cli_options_print_help(&command, &c->help);
        return 0;
    }
    if (values->is_print_configuration) {
        c->action = CMD_SERVER_PRINT_CONFIGURATION;
        return 0;
    }
    c->action = values->is_check ? CMD_SERVER_CHECK : CMD_SERVER_RUN;
    c->path = values->path;
    if (values->path == NULL) {
        return errmsg_set(em, E_INVALID, "--config is needed");
    }
    if (!cmd_server_log_level_parse(values->log_level, &c->log_level)) {
        return errmsg_set(em, E_INVALID,
                          "option --log-level: \"%.50s\" is not error, warn, info or debug",
                          values->log_level);
    }
    return 0;
}

int cmd_server_command_parse(struct cli_words words, struct cmd_server_command *ret,
                             struct errmsg *em)
{
    struct values values = {.log_level = "info"};
    struct cli_given given = {0};
    struct cmd_server_command c = {.action = CMD_SERVER_RUN};
    int err = cli_options_parse(&command, words, &values, &given, em);
    if (err == 0) {
        err = take_values(&values, &c, em);
    }
    cli_given_deinit(&given);
    c.overrides = values.overrides;
    if (err != 0) {
        cmd_server_command_deinit(&c);
        return -E_INVALID;
    }
    *ret = c;
    return 0;
}

void cmd_server_command_deinit(struct cmd_server_command *c)
{
    buf_deinit(&c->help);
    cli_texts_deinit(&c->overrides);
    *c = (struct cmd_server_command){0};
}
