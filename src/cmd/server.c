/*
 * See server.h: reads the command line and the configuration, then checks, documents or runs.
 */
#include "cmd/server.h"

#include "cmd/server_command.h"
#include "cmd/server_config.h"
#include "cmd/server_document.h"
#include "cmd/server_host.h"
#include "cmd/server_log.h"
#include "env/loop.h"

#include <stdio.h>

#define EXIT_USAGE 2

static void log_lines(const struct cmd_server_log *log, enum cmd_server_log_level level,
                      const struct buf *lines)
{
    struct slice rest = buf_slice(lines);
    while (rest.len > 0) {
        const uint8_t *newline = memchr(rest.ptr, '\n', rest.len);
        size_t len = newline == NULL ? rest.len : (size_t)(newline - rest.ptr);
        cmd_server_log(log, level, "%.*s", (int)len, (const char *)rest.ptr);
        size_t used = newline == NULL ? len : len + 1;
        rest = slice_of(rest.ptr + used, rest.len - used);
    }
}

static void log_settings(const struct cmd_server_log *log, const struct cmd_server_config *config)
{
    for (int32_t i = 0; i < config->setting_count; i++) {
        cmd_server_log(log, CMD_SERVER_LOG_DEBUG, "%s=%s", config->settings[i].key,
                       config->settings[i].value);
    }
}

static int run(const struct cmd_server_command *command)
{
    struct errmsg em;
    struct cmd_server_config config;
    struct cmd_server_faults faults;
    struct env *env = loop_new(&(struct loop_config){.name = "broker"}, &em);
    if (env == NULL) {
        (void)fprintf(stderr, "klamm server: %s\n", em.text);
        return 1;
    }
    struct cmd_server_log log = {.env = env, .most = command->log_level};
    struct cmd_server_sources sources = {.path = command->path,
                                         .overrides = command->overrides.list,
                                         .override_count = command->overrides.count};
    cmd_server_faults_init(&faults);
    int err = cmd_server_config_read(env, &sources, &config, &faults);
    log_lines(&log, CMD_SERVER_LOG_WARN, &faults.warnings);
    log_lines(&log, CMD_SERVER_LOG_ERROR, &faults.errors);
    cmd_server_faults_deinit(&faults);
    if (err != 0) {
        loop_free(env);
        return EXIT_USAGE;
    }
    int code = 0;
    log_settings(&log, &config);
    if (command->action == CMD_SERVER_RUN) {
        code = cmd_server_host_run(env, &config, &log);
    } else {
        loop_free(env);
    }
    cmd_server_config_deinit(&config);
    return code;
}

static int print_configuration(void)
{
    struct buf text;
    buf_init(&text);
    cmd_server_document_put(&text);
    bool is_printed = fwrite(text.ptr, 1, text.len, stdout) == text.len;
    buf_deinit(&text);
    return is_printed ? 0 : 1;
}

int cmd_server_main(int argc, char **argv)
{
    struct cmd_server_command command;
    struct errmsg em;
    struct cli_words words = {.list = argv + 2, .count = argc - 2};
    int code = 0;
    if (cmd_server_command_parse(words, &command, &em) != 0) {
        (void)fprintf(stderr, "klamm server: %s\nklamm server --help explains it.\n", em.text);
        return EXIT_USAGE;
    }
    if (command.action == CMD_SERVER_HELP) {
        (void)fwrite(command.help.ptr, 1, command.help.len, stdout);
    } else if (command.action == CMD_SERVER_PRINT_CONFIGURATION) {
        code = print_configuration();
    } else {
        code = run(&command);
    }
    cmd_server_command_deinit(&command);
    return code;
}
