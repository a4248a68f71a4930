/*
 * What a failed CHECK does. Runs anywhere.
 */
#include "base/check.h"

#include <stdio.h>
#include <stdlib.h>

_Noreturn void check_failed(const char *file, int line, const char *condition, const char *format,
                            ...)
{
    char message[ERRMSG_SIZE] = "";
    if (format != NULL) {
        va_list args;
        va_start(args, format);
        (void)vsnprintf(message, sizeof message, format, args); /* a cut message is fine */
        va_end(args);
    }
    (void)fprintf(stderr, "klamm: %s:%d: check failed: %s %s\n", file, line, condition, message);
    abort();
}
