/*
 * The file of --topics-to-move-json-file: {"version":1,"topics":[{"topic":"foo"},...]}.
 */
#pragma once

#include "cli/faults.h"
#include "env/env.h"

struct cli_topic_names {
    struct arena arena;
    const char **list; /* in the order of the file */
    int32_t count;
};

/* Never NULL; what is wrong is in the faults. Names may repeat. */
struct cli_topic_names *cli_topic_names_read(struct env *env, const char *path,
                                             struct cli_faults *faults);
/* The same from memory. */
struct cli_topic_names *cli_topic_names_parse(struct slice text, struct cli_faults *faults);
void cli_topic_names_free(struct cli_topic_names *names); /* NULL is fine */
