/*
 * klamm moves pause, resume, cancel and set: whom a command concerns, and what came of it.
 */
#pragma once

#include "cli/moves_run.h"

struct cli_moves_counts {
    int32_t done;
    int32_t same;    /* paused, or not paused, already */
    int32_t idle;    /* nothing moved or waited there */
    int32_t unknown; /* no such topic or partition */
    int32_t failed;
};

/* --partition and --topic of the options; a topic as a whole has partition -1. To be freed in either
 * case. */
struct cli_moves_asked {
    struct klamm_partition_ref *list;
    int32_t count;
};
int cli_moves_asked_parse(const struct cli_moves_options *options, struct cli_moves_asked *asked,
                          struct errmsg *em) MUST_CHECK;
void cli_moves_asked_deinit(struct cli_moves_asked *asked);

/* Sends the request and tells what came of it: "3 cancelled, 1 was not moving, 2 unknown"; `done` is the
 * word for success. counts holds what was known before, and is added to. With --json an object without
 * line end. An exit code. */
int cli_moves_change_send(struct cli_moves *run, const struct klamm_alter *alter, const char *done,
                          struct cli_moves_counts *counts);
