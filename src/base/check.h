/*
 * Assertions. CHECK stays on in production: it states our own promises, never facts about input.
 * A failed CHECK prints the place, the condition and the message to stderr and aborts.
 */
#pragma once

#include "base/error.h"

#include <stddef.h>
#include <stdint.h>

#define CHECK(condition)                                                                           \
    ((condition) ? (void)0 : check_failed(__FILE__, __LINE__, #condition, NULL))
#define CHECKF(condition, ...)                                                                     \
    ((condition) ? (void)0 : check_failed(__FILE__, __LINE__, #condition, __VA_ARGS__))
#ifdef NDEBUG
#define DCHECK(condition) ((void)0)
#else
#define DCHECK(condition) CHECK(condition)
#endif

#define ARRAY_LEN(array)                (sizeof(array) / sizeof((array)[0]))
#define CONTAINER_OF(ptr, type, member) ((type *)((uintptr_t)(ptr)-offsetof(type, member)))
#define MIN(a, b)                       ((a) < (b) ? (a) : (b))
#define MAX(a, b)                       ((a) > (b) ? (a) : (b))

_Noreturn void check_failed(const char *file, int line, const char *condition, const char *format,
                            ...) PRINTF_LIKE(4, 5);
