/*
 * See dev_command.h. No state.
 */
#include "cmd/dev_command.h"

#include "base/alloc.h"
#include "base/check.h"
#include "cli/options.h"
#include "cli/text.h"

#include <stddef.h>
#include <stdlib.h>

#define SESSION_TIMEOUT_DEFAULT_MS 2000

struct values {
    bool is_help;
    bool is_json;
    bool is_in_memory;
    const char *directory;
    int64_t brokers;
    int64_t port;
    int64_t http_port;
    int64_t log_dirs;
    int64_t session_timeout_ms;
    struct cli_texts settings;
};

#define AT(field) offsetof(struct values, field)
#define OPTION_HELP                                                                                \
    {                                                                                              \
        "help", NULL, "print this text", CLI_OPTION_FLAG, AT(is_help), 0, 0                        \
    }
#define OPTION_DIR                                                                                 \
    {                                                                                              \
        "dir", "PATH",                                                                             \
            "directory of the cluster\n(default: klamm/dev in $XDG_DATA_HOME, else in "            \
            "~/.local/share)",                                                                     \
            CLI_OPTION_TEXT, AT(directory), 0, 0                                                   \
    }

static const struct cli_option host_options[] = {
    {"brokers", "N", "how many, with ids 1 to N\n(default: as many as have data, else 3)",
     CLI_OPTION_NUMBER, AT(brokers), 1, CMD_DEV_BROKERS_MAX},
    OPTION_DIR,
    {"port", "BASE",
     "port of broker 1, the next ones follow; 0: any\n(default: from 9092 up, any free one where "
     "that is taken)",
     CLI_OPTION_NUMBER, AT(port), 0, UINT16_MAX},
    {"http-port", "BASE",
     "HTTP port of broker 1 (/metrics, /healthz, /status), the next ones follow; 0: any\n(default: "
     "none)",
     CLI_OPTION_NUMBER, AT(http_port), 0, UINT16_MAX},
    {"log-dirs", "N", "log directories of each broker (default: 1)", CLI_OPTION_NUMBER,
     AT(log_dirs), 1, CMD_DEV_LOG_DIRS_MAX},
    {"in-memory", NULL, "keep nothing: metadata in memory, logs removed at the end",
     CLI_OPTION_FLAG, AT(is_in_memory), 0, 0},
    {"session-timeout-ms", "MS", "how long a killed broker counts as alive (default: 2000)",
     CLI_OPTION_NUMBER, AT(session_timeout_ms), 100, 3600000},
    {"set", "KEY=VALUE", "a broker property, for all brokers; may be repeated", CLI_OPTION_TEXTS,
     AT(settings), 0, 0},
    OPTION_HELP,
};

static const struct cli_option broker_options[] = {OPTION_DIR, OPTION_HELP};

static const struct cli_option status_options[] = {
    {"json", NULL, "print JSON", CLI_OPTION_FLAG, AT(is_json), 0, 0},
    OPTION_DIR,
    OPTION_HELP,
};

#define EXIT_CODES "\nExit status: 0 done, 1 refused or failed, 2 the command line is wrong.\n"

static const struct {
    enum cmd_dev_action action;
    const char *word; /* "" = host */
    struct cli_command command;
} commands[] = {
    {CMD_DEV_HOST,
     "",
     {"dev", "", "Run a whole cluster in this process, until Ctrl-C.",
      "Prints a line with the bootstrap address when every broker is ready. Ctrl-C ends the\n"
      "brokers one by one; another one, a second later or more, ends the process at once, with\n"
      "status 130, or 143 for SIGTERM. The data is found again by the\n"
      "next start.\n"
      "\nWhile it runs: klamm dev status, klamm dev stop|kill|start ID.\n"
      "\nExamples:\n"
      "  klamm dev --brokers 6\n"
      "  klamm dev --dir /tmp/play --port 19092 --set min.insync.replicas=2\n"
      "  klamm dev --in-memory --brokers 1\n" EXIT_CODES "130 ended at once by a second Ctrl-C.\n",
      host_options, (int32_t)ARRAY_LEN(host_options)}},
    {CMD_DEV_STOP,
     "stop",
     {"dev stop", "ID", "Stop one broker: its leaderships are handed over, its logs are flushed.",
      "Example:\n  klamm dev stop 3\n" EXIT_CODES, broker_options,
      (int32_t)ARRAY_LEN(broker_options)}},
    {CMD_DEV_KILL,
     "kill",
     {"dev kill", "ID",
      "Kill one broker: sockets closed, nothing flushed, its session left to expire.",
      "Example:\n  klamm dev kill 3\n" EXIT_CODES, broker_options,
      (int32_t)ARRAY_LEN(broker_options)}},
    {CMD_DEV_START,
     "start",
     {"dev start", "ID", "Start a stopped or killed broker again, with its data and its port.",
      "Returns when the broker is ready.\n\nExample:\n  klamm dev start 3\n" EXIT_CODES,
      broker_options, (int32_t)ARRAY_LEN(broker_options)}},
    {CMD_DEV_STATUS,
     "status",
     {"dev status", "", "Tell the state of every broker.",
      "Example:\n  klamm dev status --json\n" EXIT_CODES, status_options,
      (int32_t)ARRAY_LEN(status_options)}},
};

/* Index in commands; -1 when the word is none. */
static int find_command(int argc, char **words)
{
    const char *word = argc > 0 && words[0][0] != '-' ? words[0] : "";
    for (size_t i = 0; i < ARRAY_LEN(commands); i++) {
        if (strcmp(commands[i].word, word) == 0) {
            return (int)i;
        }
    }
    return -1;
}

static int take_directory(const char *given, const struct cmd_dev_home *home,
                          struct cmd_dev_command *c, struct errmsg *em)
{
    /* The base directory specification ignores relative paths. */
    if (given != NULL) {
        c->directory = xstrdup(given);
    } else if (home->data_home != NULL && home->data_home[0] == '/') {
        c->directory = xasprintf("%s/klamm/dev", home->data_home);
    } else if (home->home != NULL && home->home[0] != '\0') {
        c->directory = xasprintf("%s/.local/share/klamm/dev", home->home);
    } else {
        return errmsg_set(em, E_INVALID, "neither --dir nor HOME says where the data goes");
    }
    return 0;
}

/* Where they differ from a broker's own defaults; --set comes behind them and wins. At the end of the
 * cluster the last brokers have nobody to hand over to: they shall not try for long. */
static const struct broker_setting defaults[] = {
    {"controlled.shutdown.retry.backoff.ms", "100"},
};

/* What --set cannot say, because each broker of the cluster has its own, or an option says it. */
static const struct {
    const char *key;
    const char *instead;
} refused[] = {
    {"broker.id", "the brokers are 1 to N"},
    {"broker.id.generation.enable", "the brokers are 1 to N"},
    {"reserved.broker.max.id", "the brokers are 1 to N"},
    {"listeners", "--port says where the brokers listen"},
    {"advertised.listeners", "--port says where the brokers listen"},
    {"listener.security.protocol.map", "--port says where the brokers listen"},
    {"inter.broker.listener.name", "--port says where the brokers listen"},
    {"log.dir", "--dir and --log-dirs say where the logs are"},
    {"log.dirs", "--dir and --log-dirs say where the logs are"},
    {"zookeeper.connect", "the cluster keeps its metadata itself"},
    {"zookeeper.session.timeout.ms", "--session-timeout-ms says it"},
    {"klamm.http.host", "--http-port says where HTTP is answered"},
    {"klamm.http.port", "--http-port says where HTTP is answered"},
};

static int check_setting(const char *key, struct errmsg *em)
{
    for (size_t i = 0; i < ARRAY_LEN(refused); i++) {
        if (strcmp(refused[i].key, key) == 0) {
            return errmsg_set(em, E_INVALID, "option --set: %s cannot be set here: %s", key,
                              refused[i].instead);
        }
    }
    return 0;
}

static int take_settings(const struct cli_texts *texts, struct cmd_dev_command *c,
                         struct errmsg *em)
{
    c->settings = xalloc(((size_t)texts->count + ARRAY_LEN(defaults)) * sizeof *c->settings);
    for (size_t i = 0; i < ARRAY_LEN(defaults); i++) {
        c->settings[c->setting_count++] = (struct broker_setting){
            .key = xstrdup(defaults[i].key), .value = xstrdup(defaults[i].value)};
    }
    for (int32_t i = 0; i < texts->count; i++) {
        const char *equals = strchr(texts->list[i], '=');
        if (equals == NULL || equals == texts->list[i]) {
            return errmsg_set(em, E_INVALID, "option --set: \"%.100s\" is not KEY=VALUE",
                              texts->list[i]);
        }
        char *key = slice_dup(slice_of(texts->list[i], (size_t)(equals - texts->list[i])));
        c->settings[c->setting_count++] =
            (struct broker_setting){.key = key, .value = xstrdup(equals + 1)};
        int err = check_setting(key, em);
        if (err != 0) {
            return err;
        }
    }
    return 0;
}

static int take_broker_id(const struct cli_texts *operands, struct cmd_dev_command *c,
                          struct errmsg *em)
{
    int64_t id;
    if (operands->count != 1) {
        return errmsg_set(em, E_INVALID, "name one broker by its id");
    }
    if (!cli_text_parse_int(operands->list[0], 1, CMD_DEV_BROKERS_MAX, &id)) {
        return errmsg_set(em, E_INVALID, "\"%.100s\" is no broker id from 1 to %d",
                          operands->list[0], CMD_DEV_BROKERS_MAX);
    }
    c->broker_id = (int32_t)id;
    return 0;
}

static int take_values(const struct values *values, const struct cli_given *given,
                       const struct cmd_dev_home *home, struct cmd_dev_command *c,
                       struct errmsg *em)
{
    int err = 0;
    c->is_json = values->is_json;
    if (c->action == CMD_DEV_HOST) {
        c->broker_count = (int32_t)values->brokers;
        c->port = (int32_t)values->port;
        c->http_port = (int32_t)values->http_port;
        c->log_dir_count = (int32_t)values->log_dirs;
        c->is_in_memory = values->is_in_memory;
        c->session_timeout_ms = values->session_timeout_ms;
        err = take_settings(&values->settings, c, em);
    } else if (c->action != CMD_DEV_STATUS) {
        err = take_broker_id(&given->operands, c, em);
    }
    return err != 0 ? err : take_directory(values->directory, home, c, em);
}

int cmd_dev_command_parse(int argc, char **words, const struct cmd_dev_home *home,
                          struct cmd_dev_command *ret, struct errmsg *em)
{
    int index = find_command(argc, words);
    if (index < 0) {
        return errmsg_set(em, E_INVALID, "\"%.100s\" is not one of stop, kill, start, status",
                          words[0]);
    }
    const struct cli_command *command = &commands[index].command;
    int skip = commands[index].word[0] == '\0' ? 0 : 1;
    struct values values = {.port = CMD_DEV_PORT_ANY_BASE,
                            .http_port = CMD_DEV_HTTP_PORT_NONE,
                            .log_dirs = 1,
                            .session_timeout_ms = SESSION_TIMEOUT_DEFAULT_MS};
    struct cli_given given = {0};
    struct cli_words rest = {.list = words + skip, .count = argc - skip};
    struct cmd_dev_command c = {.action = commands[index].action};
    int err = cli_options_parse(command, rest, &values, &given, em);
    if (err == 0 && values.is_help) {
        c.action = CMD_DEV_HELP;
        buf_init(&c.help);
        cli_options_print_help(command, &c.help);
    } else if (err == 0) {
        err = take_values(&values, &given, home, &c, em);
    }
    cli_given_deinit(&given);
    cli_texts_deinit(&values.settings);
    if (err != 0) {
        cmd_dev_command_deinit(&c);
        return -E_INVALID;
    }
    *ret = c;
    return 0;
}

/* What config texts were copied for is a const view; free wants the same memory back. */
static void text_free(const char *text)
{
    union {
        const char *in;
        char *out;
    } view = {.in = text};
    free(view.out);
}

void cmd_dev_command_deinit(struct cmd_dev_command *c)
{
    buf_deinit(&c->help);
    free(c->directory);
    for (int32_t i = 0; i < c->setting_count; i++) {
        text_free(c->settings[i].key);
        text_free(c->settings[i].value);
    }
    free(c->settings);
    *c = (struct cmd_dev_command){0};
}
