/*
 * Error codes and error messages.
 * A fallible function returns 0 or -E_...; `struct errmsg` carries the sentence a person reads.
 * These are ours; Kafka's protocol codes (KERR_...) live in model/ and are made in broker/api/.
 */
#pragma once

#include <stdarg.h>
#include <stdbool.h>

#define MUST_CHECK        __attribute__((warn_unused_result))
#define PRINTF_LIKE(f, a) __attribute__((format(printf, f, a)))

/* Always returned negative. E_SYSTEM is any errno that has no code of its own. */
enum error {
    E_OK = 0,
    E_NO_MEMORY = 1,   /* a budget refused */
    E_TRUNCATED = 2,   /* input ended early */
    E_MALFORMED = 3,   /* input breaks its format */
    E_TOO_LARGE = 4,   /* a count, length or value is beyond its bound */
    E_UNSUPPORTED = 5, /* a version, codec or feature we do not have */
    E_CORRUPT = 6,     /* a checksum or an invariant of stored data fails */
    E_NOT_FOUND = 7,
    E_EXISTS = 8,
    E_INVALID = 9, /* a value is not acceptable */
    E_AGAIN = 10,  /* would block, try later */
    E_CLOSED = 11, /* the peer or the object is closed */
    E_TIMEOUT = 12,
    E_IO = 13, /* disk I/O failed */
    E_DISK_FULL = 14,
    E_LOCKED = 15,  /* in use by another process */
    E_REFUSED = 16, /* connection refused or not permitted */
    E_CANCELLED = 17,
    E_OUT_OF_RANGE = 18, /* an offset outside the log */
    E_BAD_VERSION = 19,  /* compare-and-set failed */
    E_NOT_EMPTY = 20,
    E_SESSION_EXPIRED = 21,
    E_UNKNOWN_OUTCOME = 22, /* a write may or may not have happened: read back */
    E_FENCED = 23,          /* a newer epoch exists */
    E_STALE = 24,           /* the caller's view is older than ours */
    E_NOT_LEADER = 25,
    E_OFFLINE = 26, /* the log directory is offline */
    E_DUPLICATE = 27,
    E_OUT_OF_ORDER = 28, /* a producer's sequence has a gap */
    E_SYSTEM = 29,
    E_NOT_ENOUGH_REPLICAS = 30,       /* too few in sync before the append */
    E_NOT_ENOUGH_REPLICAS_AFTER = 31, /* too few in sync after the append; the records stay */
    E_UNKNOWN_EPOCH = 32,             /* the caller names an epoch we have not heard of yet */
    E_ID_MISMATCH = 33,               /* the name is known, but under another topic id */
    E_NOT_AVAILABLE = 34,     /* not known yet: a fresh leader's end of the readable range */
    E_PRODUCER_FENCED = 35,   /* a newer epoch of this producer id is known */
    E_TRANSACTION_STATE = 36, /* the producer's transaction does not allow it */
    E_READ_ONLY = 37,         /* nothing can be written there */
    E_NOT_DIRECTORY = 38,     /* something above it is a file */
    E_TOO_MANY_FILES = 39,    /* the process or the system has no descriptor left */
    E_COUNT
};

#define ERRMSG_SIZE 512

struct errmsg {
    char text[ERRMSG_SIZE];
};

/* The code's name, "E_..." without the prefix in lower case ("bad version"). Accepts both signs. */
const char *error_name(int code);

/* Formats into em (may be NULL) and returns -code, so that `return errmsg_set(em, E_X, ...)` reads well. */
int errmsg_set(struct errmsg *em, enum error code, const char *format, ...) PRINTF_LIKE(3, 4);

/* Puts "prefix: " in front of what em holds. */
void errmsg_prefix(struct errmsg *em, const char *format, ...) PRINTF_LIKE(2, 3);

/* Maps errno to a code (positive). */
enum error error_from_errno(int error_number);
