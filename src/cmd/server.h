/*
 * `klamm server`: one broker of a cluster on ZooKeeper.
 */
#pragma once

/* argv as main() got it: argv[1] is "server". Returns the exit status: 0 done, 1 failed, 2 the command
 * line or the configuration is wrong. */
int cmd_server_main(int argc, char **argv);
