/*
 * The log of `klamm server`: one line an event on standard error, with time (UTC) and level.
 *
 *   2026-12-01T08:30:00.123Z INFO  broker 1 is ready
 *
 * May be called from any thread: a line is written by one call of stdio.
 */
#pragma once

#include "base/error.h"

#include <stdint.h>

struct env;
struct buf;

enum cmd_server_log_level {
    CMD_SERVER_LOG_ERROR,
    CMD_SERVER_LOG_WARN,
    CMD_SERVER_LOG_INFO,
    CMD_SERVER_LOG_DEBUG,
};

struct cmd_server_log {
    struct env *env;                /* of the clock */
    enum cmd_server_log_level most; /* lines of a level beyond this are not written */
};

void cmd_server_log(const struct cmd_server_log *log, enum cmd_server_log_level level,
                    const char *format, ...) PRINTF_LIKE(3, 4);
/* The line as it is written, with its line feed; what would break the line becomes a blank. */
void cmd_server_log_format(struct buf *b, int64_t wall_ms, enum cmd_server_log_level level,
                           const char *text);
/* "error", "warn", "info", "debug"; false = none of them. */
bool cmd_server_log_level_parse(const char *text, enum cmd_server_log_level *ret) MUST_CHECK;
