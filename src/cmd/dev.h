/*
 * `klamm dev`: a whole cluster in one process, for development.
 */
#pragma once

/* argv as main() got it: argv[1] is "dev". Returns the exit status: 0 done, 1 refused or failed, 2
 * the command line is wrong. */
int cmd_dev_main(int argc, char **argv);
