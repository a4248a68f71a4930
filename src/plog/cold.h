/*
 * Reads that must not wait for the disk. While files->cold is set, what plog/ reads for a lookup is read
 * from memory only, and the first range that is not there is noted. A range that was warmed a moment ago
 * may be waited for: under pressure it can be gone again, and readers have to come on.
 */
#pragma once

#include "plog/read.h"
#include "plog/state.h"

/* The reading under way. */
struct plog_cold_state {
    const struct plog *log;
    struct plog_cold *cold; /* what the caller is told */
};

struct plog_cold_file {
    /* The segment, or the index: finds it among what was warmed, also when the file was opened again. */
    const void *owner;
    struct env_file *file;
    uint64_t pos;
    uint64_t size; /* all of it is warmed when something is missing; 0 = of the log, what is read */
};

/* As env_file_read; -E_AGAIN: noted as cold. files may be NULL: then it waits. */
int plog_cold_read(const struct plog_files *files, const struct plog_cold_file *from, void *ptr,
                   size_t len, size_t *ret_len) MUST_CHECK;
/* The span of segment s can be given out: it is in memory, or was warmed. */
bool plog_cold_check(const struct plog *p, const struct plog_segment *s,
                     const struct plog_span *span);
