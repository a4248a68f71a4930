/*
 * The command line of klamm: `klamm topics`, `klamm moves`, `klamm reassign` and
 * `klamm leader-election`, which speak to brokers only. The program's main() adds the commands that host brokers.
 *
 * Exit codes: 0 done, 1 refused or failed, 2 the command line is wrong (`klamm reassign` gives 1, as
 * Kafka's tool does), 130 ended by Ctrl-C.
 */
#pragma once

#include <stdbool.h>

/* Whether name is a command of this folder ("topics", "reassign", ...). */
bool cli_has_command(const char *name);
/* argv as main() got it: argv[1] is the command. Without a command, or with --help, it prints the
 * overview of commands, those of cmd/ included. Returns the exit code. */
int cli_main(int argc, char **argv);
