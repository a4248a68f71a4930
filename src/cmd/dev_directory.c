/*
 * See dev_directory.h.
 */
#include "cmd/dev_directory.h"

#include "base/alloc.h"
#include "base/check.h"
#include "cli/text.h"

#include <stdlib.h>

#define BROKER_PREFIX "broker-"
#define MEMORY_FOLDER "in-memory"
#define REMOVE_DEPTH  4 /* in-memory/broker-N/topic-partition/file */

/* ---- removing what an in-memory cluster wrote ---- */

struct removal {
    struct env *env;
    const char *path;
    int depth;
};

static int remove_tree(struct env *env, const char *path, int depth);

/* The depth is bounded, so this does not recurse further than its own layout. */
static int remove_entry(void *arg, const char *name, bool is_dir)
{
    const struct removal *r = arg;
    char *path = xasprintf("%s/%s", r->path, name);
    int err = is_dir ? remove_tree(r->env, path, r->depth - 1) : env_unlink(r->env, path);
    free(path);
    return err;
}

static int remove_tree(struct env *env, const char *path, int depth)
{
    if (depth == 0) {
        return -E_NOT_EMPTY;
    }
    struct removal r = {.env = env, .path = path, .depth = depth};
    int err = env_dir_list(env, path, remove_entry, &r);
    return err != 0 ? err : env_rmdir(env, path);
}

static int remove_memory(const struct cmd_dev_directory *d)
{
    char *path = xasprintf("%s/" MEMORY_FOLDER, d->path);
    int err = remove_tree(d->env, path, REMOVE_DEPTH);
    free(path);
    return err == -E_NOT_FOUND ? 0 : err;
}

/* ---- opening ---- */

static int find_broker(void *arg, const char *name, bool is_dir)
{
    int32_t *found = arg;
    int64_t id;
    size_t prefix_len = strlen(BROKER_PREFIX);
    if (is_dir && strncmp(name, BROKER_PREFIX, prefix_len) == 0 &&
        cli_text_parse_int(name + prefix_len, 1, INT32_MAX, &id)) {
        *found = MAX(*found, (int32_t)id);
    }
    return 0;
}

static int directory_lock(struct cmd_dev_directory *d, struct errmsg *em)
{
    char *path = xasprintf("%s/.lock", d->path);
    int err = env_lock(d->env, path, &d->lock);
    if (err == -E_LOCKED) {
        (void)errmsg_set(em, E_LOCKED, "%s is in use by another klamm dev", d->path);
    } else if (err != 0) {
        (void)errmsg_set(em, E_IO, "%s: cannot be locked: %s", path, error_name(err));
    }
    free(path);
    return err;
}

int cmd_dev_directory_open(struct env *env, const char *path, bool is_in_memory,
                           struct cmd_dev_directory *ret, struct errmsg *em)
{
    struct cmd_dev_directory d = {.env = env, .path = xstrdup(path), .is_in_memory = is_in_memory};
    int err = env_mkdir(env, path);
    if (err != 0) {
        (void)errmsg_set(em, E_IO, "%s: cannot be made: %s", path, error_name(err));
    }
    if (err == 0) {
        err = directory_lock(&d, em);
    }
    if (err == 0) {
        err = is_in_memory ? remove_memory(&d)
                           : env_dir_list(env, path, find_broker, &d.broker_found);
        if (err != 0) {
            (void)errmsg_set(em, E_IO, "%s: cannot be read: %s", path, error_name(err));
        }
    }
    if (err != 0) {
        env_file_unref(d.lock);
        free(d.path);
        return err;
    }
    *ret = d;
    return 0;
}

char *cmd_dev_directory_broker(const struct cmd_dev_directory *d, int32_t id, int32_t index)
{
    const char *folder = d->is_in_memory ? MEMORY_FOLDER "/" : "";
    return index == 0 ? xasprintf("%s/%s" BROKER_PREFIX "%d", d->path, folder, id)
                      : xasprintf("%s/%s" BROKER_PREFIX "%d.%d", d->path, folder, id, index + 1);
}

void cmd_dev_directory_close(struct cmd_dev_directory *d)
{
    if (d->is_in_memory) {
        int err = remove_memory(d);
        (void)err; /* the next start tries again, and tells */
    }
    env_file_unref(d->lock);
    free(d->path);
    *d = (struct cmd_dev_directory){0};
}
