/*
 * What the readers of the two kinds of input files share: opening the file, the faults of the JSON
 * reader, the keys of an object.
 */
#pragma once

#include "cli/faults.h"
#include "env/env.h"

#define CLI_PLAN_MEMORY_MAX ((size_t)512 << 20) /* bytes of values */

/* Reads the root value of a file, or adds the fault and returns NULL. */
struct cli_json *cli_plan_parse_file(struct env *env, const char *path, struct arena *arena,
                                     struct cli_faults *faults);
/* The same from memory. */
struct cli_json *cli_plan_parse_text(struct slice text, struct arena *arena,
                                     struct cli_faults *faults);
/* Names keys that are not in the list (with that severity), and keys of the list that come twice
 * (always an error: readers disagree about which one counts). subject may be NULL. */
void cli_plan_parse_keys(const struct cli_json *object, const char *const *keys,
                         enum cli_severity unknown, const char *subject, struct cli_faults *faults);
/* Checks that "version" is absent or the integer 1. */
void cli_plan_parse_version(const struct cli_json *root, struct cli_faults *faults);
/* The member of that name if it is an array, else NULL and a fault. root may be any value. */
struct cli_json *cli_plan_parse_list(const struct cli_json *root, const char *key,
                                     struct cli_faults *faults);
/* The topic name of an entry, NUL-terminated, or NULL and a fault. */
const char *cli_plan_parse_topic(const struct cli_json *entry, const char *subject,
                                 struct cli_faults *faults);
