/*
 * See server_log.h.
 */
#include "cmd/server_log.h"

#include "base/buf.h"
#include "base/check.h"
#include "env/env.h"

#include <stdio.h>
#include <string.h>
#include <time.h>

#define LINE_SIZE_MAX 4096

static const char *const level_names[] = {"error", "warn", "info", "debug"};
static const char *const level_marks[] = {"ERROR", "WARN ", "INFO ", "DEBUG"};

bool cmd_server_log_level_parse(const char *text, enum cmd_server_log_level *ret)
{
    for (size_t i = 0; i < ARRAY_LEN(level_names); i++) {
        if (strcmp(level_names[i], text) == 0) {
            *ret = (enum cmd_server_log_level)i;
            return true;
        }
    }
    return false;
}

void cmd_server_log_format(struct buf *b, int64_t wall_ms, enum cmd_server_log_level level,
                           const char *text)
{
    struct tm utc = {0};
    time_t seconds = (time_t)(wall_ms / 1000);
    (void)gmtime_r(&seconds, &utc); /* fails beyond the year 2^31 only */
    buf_putf(b, "%04d-%02d-%02dT%02d:%02d:%02d.%03dZ %s ", utc.tm_year + 1900, utc.tm_mon + 1,
             utc.tm_mday, utc.tm_hour, utc.tm_min, utc.tm_sec, (int)(wall_ms % 1000),
             level_marks[level]);
    for (const char *at = text; *at != '\0'; at++) {
        bool is_control = (uint8_t)*at < ' ' || *at == 0x7f;
        buf_put_u8(b, is_control ? ' ' : (uint8_t)*at);
    }
    buf_put_u8(b, '\n');
}

void cmd_server_log(const struct cmd_server_log *log, enum cmd_server_log_level level,
                    const char *format, ...)
{
    char text[LINE_SIZE_MAX];
    struct buf line;
    va_list args;
    if (level > log->most) {
        return;
    }
    va_start(args, format);
    (void)vsnprintf(text, sizeof text, format, args);
    va_end(args);
    buf_init(&line);
    cmd_server_log_format(&line, env_wall_ms(log->env), level, text);
    (void)fwrite(line.ptr, 1, line.len, stderr); /* there is nobody left to tell */
    buf_deinit(&line);
}
