/*
 * Create exclusively, write, sync the file, sync its folder: in that order, so that a name that is there
 * after a crash has its content.
 */
#include "cli/rollback.h"

#include "base/alloc.h"
#include "base/check.h"

#include <stdlib.h>

#define SUFFIX ".json"

char *cli_rollback_name(const char *plan_path)
{
    size_t len = strlen(plan_path);
    size_t suffix = strlen(SUFFIX);
    bool has_suffix = len > suffix && strcmp(plan_path + len - suffix, SUFFIX) == 0;
    return xasprintf("%.*s.rollback" SUFFIX, (int)(has_suffix ? len - suffix : len), plan_path);
}

/* "a/b" -> "a", "/b" -> "/", "b" -> "."; the caller frees it. */
static char *folder_of(const char *path)
{
    const char *slash = strrchr(path, '/');
    if (slash == NULL) {
        return xstrdup(".");
    }
    return slash == path ? xstrdup("/") : slice_dup(slice_of(path, (size_t)(slash - path)));
}

static int write_synced(struct env *files, struct env_file *file, const struct buf *text,
                        const char *path)
{
    int err = env_file_write(file, text->ptr, text->len, 0);
    if (err == 0) {
        err = env_file_sync(file);
    }
    if (err == 0) {
        char *folder = folder_of(path);
        err = env_dir_sync(files, folder);
        free(folder);
    }
    return err;
}

int cli_rollback_write(struct env *files, const char *path, const struct cli_assignment *list,
                       int32_t count, struct errmsg *em)
{
    struct env_file *file = NULL;
    int err =
        env_file_open(files, path, ENV_OPEN_WRITE | ENV_OPEN_CREATE | ENV_OPEN_EXCLUSIVE, &file);
    if (err == -E_EXISTS) {
        return errmsg_set(em, E_EXISTS,
                          "%s exists already and may be the way back from an earlier move: name "
                          "another file with --rollback, or remove it",
                          path);
    }
    if (err < 0) {
        return errmsg_set(em, -err, "the rollback file %s cannot be made: %s", path,
                          error_name(err));
    }
    struct buf text;
    buf_init(&text);
    cli_reassign_put_json(&text, list, count);
    buf_put_u8(&text, '\n');
    err = write_synced(files, file, &text, path);
    env_file_unref(file);
    buf_deinit(&text);
    if (err < 0) {
        /* Half a file must not pass for a way back. */
        bool is_gone = env_unlink(files, path) == 0;
        return errmsg_set(em, -err, "the rollback file %s cannot be written: %s%s", path,
                          error_name(err), is_gone ? "" : "; remove it");
    }
    return 0;
}
