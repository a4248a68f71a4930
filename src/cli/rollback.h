/*
 * The rollback file: a plan with the lists that hold now, on disk before anything changes. `klamm moves
 * undo` and Kafka's tool read it.
 */
#pragma once

#include "base/error.h"
#include "cli/reassign.h"

/* The file's name when none is given: "plan.json" -> "plan.rollback.json". The caller frees it. */
char *cli_rollback_name(const char *plan_path);
/* Writes the file and waits until it, and its name, are on disk. Refuses to replace one. On failure
 * nothing is left behind. */
int cli_rollback_write(struct env *files, const char *path, const struct cli_assignment *list,
                       int32_t count, struct errmsg *em) MUST_CHECK;
