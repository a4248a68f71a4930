/*
 * The one program: commands that host brokers are here, all others in cli/.
 */
#include "cli/cli.h"
#include "cmd/dev.h"
#include "cmd/server.h"

#include <fcntl.h>
#include <string.h>
#include <unistd.h>

/* Where a standard stream was closed by the caller, the next file opened would get its number, and
 * our messages would be written into a log or to a client. False when nothing can be opened. */
static bool streams_fill(void)
{
    int fd = -1;
    do {
        fd = open("/dev/null", O_RDWR);
    } while (fd >= 0 && fd <= STDERR_FILENO);
    return fd > STDERR_FILENO && close(fd) == 0;
}

int main(int argc, char **argv)
{
    if (!streams_fill()) {
        return 1;
    }
    if (argc >= 2 && strcmp(argv[1], "dev") == 0) {
        return cmd_dev_main(argc, argv);
    }
    if (argc >= 2 && strcmp(argv[1], "server") == 0) {
        return cmd_server_main(argc, argv);
    }
    return cli_main(argc, argv);
}
