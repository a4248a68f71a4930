/*
 * What the logs of one shard share: the bound on open descriptors and the scratch memory for scans.
 * Least recently used segments are closed first; whoever still sends from a file holds a reference.
 */
#pragma once

#include "base/list.h"
#include "env/env.h"

struct plog_cold_state;

#define PLOG_SCRATCH_SIZE ((size_t)256 << 10) /* bytes */

struct plog_files {
    /* private to plog/ */
    struct env *env;
    struct list open; /* of struct plog_segment (lru), least recently used first */
    size_t max_open;  /* segments */
    uint8_t *scratch; /* PLOG_SCRATCH_SIZE bytes, for the one cursor in use */
    const struct plog_cold_state *cold; /* set while reads must not wait for the disk; cold.h */
};

/* max_open: segments (of up to three descriptors each) kept open at most; at least 1. */
struct plog_files *plog_files_new(struct env *env, int max_open);
/* After the last plog is freed. NULL is fine. */
void plog_files_free(struct plog_files *files);
