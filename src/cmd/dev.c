/*
 * See dev.h: reads the command line, then hosts a cluster or talks to the one that runs.
 */
#include "cmd/dev.h"

#include "base/alloc.h"
#include "cmd/dev_command.h"
#include "cmd/dev_control.h"
#include "cmd/dev_host.h"

#include <stdio.h>
#include <stdlib.h>

#define EXIT_USAGE 2

static int send_change(const struct cmd_dev_command *command, const char *word)
{
    char *line = xasprintf("%s %d", word, command->broker_id);
    int code = cmd_dev_control_send(command->directory, line);
    free(line);
    return code;
}

static int run(const struct cmd_dev_command *command)
{
    switch (command->action) {
    case CMD_DEV_HELP:
        (void)fwrite(command->help.ptr, 1, command->help.len, stdout);
        return 0;
    case CMD_DEV_HOST:
        return cmd_dev_host_run(command);
    case CMD_DEV_STATUS:
        return cmd_dev_control_send(command->directory,
                                    command->is_json ? "status json" : "status");
    case CMD_DEV_STOP:
        return send_change(command, "stop");
    case CMD_DEV_KILL:
        return send_change(command, "kill");
    case CMD_DEV_START:
        return send_change(command, "start");
    }
    return EXIT_USAGE;
}

int cmd_dev_main(int argc, char **argv)
{
    struct cmd_dev_home home = {.data_home = getenv("XDG_DATA_HOME"), .home = getenv("HOME")};
    struct cmd_dev_command command;
    struct errmsg em;
    if (cmd_dev_command_parse(argc - 2, argv + 2, &home, &command, &em) != 0) {
        (void)fprintf(stderr, "klamm dev: %s\nklamm dev --help explains it.\n", em.text);
        return EXIT_USAGE;
    }
    int code = run(&command);
    cmd_dev_command_deinit(&command);
    return code;
}
