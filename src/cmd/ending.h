/*
 * What SIGINT and SIGTERM mean to the processes that serve: the first asks for a clean end, which takes its time; a
 * later one ends the process at once. timeout(1) signals its command and then the whole process group, and who is in a
 * hurry presses Ctrl-C twice: what comes within a second of the first is the same wish.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#define CMD_SIGNAL_REPEAT_MS 1000
/* The status of a process that was ended at once. */
#define CMD_EXIT_OF_SIGNAL(number) (128 + (number))

/* first_ms: when the first one came, monotonic; -1 = none came yet. */
static inline bool cmd_signal_is_repeat(int64_t first_ms, int64_t now_ms)
{
    return first_ms >= 0 && now_ms - first_ms < CMD_SIGNAL_REPEAT_MS;
}
