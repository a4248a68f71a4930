/*
 * Fault points: named places where a test lets the program end, so that a crash just there is tried
 * and not only thought of. Code that has them is handed a struct fault_hook by its owner. The one that
 * is all zero, the usual one, costs a comparison.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

struct fault_hook {
    /* Whether the program ends at this point: the caller goes no further then, and nothing that would
     * be seen outside follows. NULL = it never does. */
    bool (*is_end)(void *arg, const char *point);
    void *arg;
};

/* point: a constant, from the list of those who have such points. */
static inline bool fault_point(const struct fault_hook *hook, const char *point)
{
    return hook->is_end != NULL && hook->is_end(hook->arg, point);
}
