/*
 * The one program: commands that host brokers are here, all others in cli/.
 */
#include "cli/cli.h"
#include "cmd/dev.h"
#include "cmd/server.h"

#include <string.h>

int main(int argc, char **argv)
{
    if (argc >= 2 && strcmp(argv[1], "dev") == 0) {
        return cmd_dev_main(argc, argv);
    }
    if (argc >= 2 && strcmp(argv[1], "server") == 0) {
        return cmd_server_main(argc, argv);
    }
    return cli_main(argc, argv);
}
