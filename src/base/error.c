/*
 * Names of the error codes and the formatting of messages. Runs anywhere; no state.
 */
#include "base/error.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

static const char *const error_names[E_COUNT] = {
    [E_OK] = "ok",
    [E_NO_MEMORY] = "out of memory budget",
    [E_TRUNCATED] = "truncated",
    [E_MALFORMED] = "malformed",
    [E_TOO_LARGE] = "too large",
    [E_UNSUPPORTED] = "unsupported",
    [E_CORRUPT] = "corrupt",
    [E_NOT_FOUND] = "not found",
    [E_EXISTS] = "exists already",
    [E_INVALID] = "invalid",
    [E_AGAIN] = "try again",
    [E_CLOSED] = "closed",
    [E_TIMEOUT] = "timed out",
    [E_IO] = "input/output error",
    [E_DISK_FULL] = "disk full",
    [E_LOCKED] = "in use",
    [E_REFUSED] = "refused",
    [E_CANCELLED] = "cancelled",
    [E_OUT_OF_RANGE] = "out of range",
    [E_BAD_VERSION] = "bad version",
    [E_NOT_EMPTY] = "not empty",
    [E_SESSION_EXPIRED] = "session expired",
    [E_UNKNOWN_OUTCOME] = "unknown outcome",
    [E_FENCED] = "fenced",
    [E_STALE] = "stale",
    [E_NOT_LEADER] = "not the leader",
    [E_OFFLINE] = "offline",
    [E_DUPLICATE] = "duplicate",
    [E_OUT_OF_ORDER] = "out of order",
    [E_SYSTEM] = "system error",
    [E_NOT_ENOUGH_REPLICAS] = "not enough replicas in sync",
    [E_NOT_ENOUGH_REPLICAS_AFTER] = "not enough replicas in sync after the append",
    [E_UNKNOWN_EPOCH] = "unknown leader epoch",
    [E_ID_MISMATCH] = "topic id mismatch",
    [E_NOT_AVAILABLE] = "not available yet",
    [E_PRODUCER_FENCED] = "producer fenced",
    [E_TRANSACTION_STATE] = "wrong transaction state",
    [E_READ_ONLY] = "read-only file system",
    [E_NOT_DIRECTORY] = "not a directory",
    [E_TOO_MANY_FILES] = "too many open files",
};

const char *error_name(int code)
{
    if (code < 0) {
        code = -code;
    }
    return code < E_COUNT ? error_names[code] : "unknown error";
}

int errmsg_set(struct errmsg *em, enum error code, const char *format, ...)
{
    if (em != NULL) {
        va_list args;
        va_start(args, format);
        (void)vsnprintf(em->text, sizeof em->text, format, args); /* a cut message is fine */
        va_end(args);
    }
    return -(int)code;
}

void errmsg_prefix(struct errmsg *em, const char *format, ...)
{
    if (em == NULL) {
        return;
    }
    char old[ERRMSG_SIZE];
    memcpy(old, em->text, sizeof old);
    va_list args;
    va_start(args, format);
    int used = vsnprintf(em->text, sizeof em->text, format, args);
    va_end(args);
    if (used >= 0 && (size_t)used < sizeof em->text) {
        (void)snprintf(em->text + used, sizeof em->text - (size_t)used, ": %.*s",
                       (int)(sizeof old - 1), old);
    }
}

enum error error_from_errno(int error_number)
{
    switch (error_number) {
    case 0:
        return E_OK;
    case ENOMEM:
        return E_NO_MEMORY;
    case ENOENT:
        return E_NOT_FOUND;
    case EEXIST:
        return E_EXISTS;
    case EINVAL:
        return E_INVALID;
    case EAGAIN:
        return E_AGAIN;
    case EPIPE:
    case ECONNRESET:
        return E_CLOSED;
    case ETIMEDOUT:
        return E_TIMEOUT;
    case EIO:
        return E_IO;
    case ENOSPC:
    case EDQUOT:
        return E_DISK_FULL;
    case ECONNREFUSED:
    case EACCES:
    case EPERM:
        return E_REFUSED;
    case EROFS:
        return E_READ_ONLY;
    case ENOTDIR:
        return E_NOT_DIRECTORY;
    case EMFILE:
    case ENFILE:
        return E_TOO_MANY_FILES;
    case ENOTEMPTY:
        return E_NOT_EMPTY;
    default:
        return E_SYSTEM;
    }
}
