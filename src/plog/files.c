/*
 * The shared part of the logs of one shard. The list is kept by segment.c. Runs on the home env.
 */
#include "plog/files.h"

#include "base/alloc.h"

#include <stdlib.h>

struct plog_files *plog_files_new(struct env *env, int max_open)
{
    CHECK(max_open >= 1);
    struct plog_files *files = xalloc(sizeof *files);
    files->env = env;
    files->max_open = (size_t)max_open;
    list_init(&files->open);
    files->scratch = xrealloc(NULL, PLOG_SCRATCH_SIZE);
    return files;
}

void plog_files_free(struct plog_files *files)
{
    if (files != NULL) {
        CHECK(list_is_empty(&files->open));
        free(files->scratch);
        free(files);
    }
}
