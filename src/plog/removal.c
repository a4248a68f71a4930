/*
 * A stack of paths to remove. A folder is opened up when it comes to the top: its entries go above it,
 * and it goes itself when it is found empty. After plog_removal_new it belongs to the pool's work
 * until that says it is done.
 */
#include "plog/removal.h"

#include "base/alloc.h"
#include "plog/state.h"

#include <stdlib.h>

#define STEP_BYTES  ((uint64_t)64 << 20)
#define ENTRIES_MAX 100000 /* paths at once; a folder that has more is listed again */

struct plog_removal {
    struct env *env;
    char **paths;
    int count;
    int cap;
};

struct plog_removal *plog_removal_new(struct env *env, const char *path)
{
    struct plog_removal *r = xalloc(sizeof *r);
    r->env = env;
    if (path != NULL) {
        plog_removal_add(r, path);
    }
    return r;
}

static void removal_push(struct plog_removal *r, char *path)
{
    if (r->count == r->cap) {
        r->cap = r->cap == 0 ? 4 : r->cap * 2;
        r->paths = xrealloc(r->paths, (size_t)r->cap * sizeof *r->paths);
    }
    r->paths[r->count++] = path;
}

void plog_removal_add(struct plog_removal *r, const char *path)
{
    removal_push(r, xstrdup(path));
}

static void removal_pop(struct plog_removal *r)
{
    free(r->paths[--r->count]);
}

void plog_removal_free(struct plog_removal *r)
{
    if (r != NULL) {
        while (r->count > 0) {
            removal_pop(r);
        }
        free(r->paths);
        free(r);
    }
}

struct listing {
    struct plog_removal *removal;
    char *folder;
};

static int list_entry(void *arg, const char *name, bool is_dir)
{
    struct listing *l = arg;
    (void)is_dir; /* found out when it comes to the top */
    if (l->removal->count >= ENTRIES_MAX) {
        return -E_AGAIN;
    }
    removal_push(l->removal, xasprintf("%s/%s", l->folder, name));
    return 0;
}

/* A large file loses its end, a small one goes. */
static int remove_file(struct plog_removal *r, const char *path, bool *ret_gone)
{
    struct env_file *file = NULL;
    uint64_t size = 0;
    *ret_gone = false;
    int err = env_file_open(r->env, path, ENV_OPEN_WRITE, &file);
    if (err == 0) {
        err = env_file_size(file, &size);
    }
    if (err == 0 && size > STEP_BYTES) {
        err = env_file_truncate(file, size - STEP_BYTES);
        env_file_unref(file);
        return err;
    }
    env_file_unref(file);
    if (err == 0) {
        err = env_unlink(r->env, path);
    }
    *ret_gone = err == 0 || err == -E_NOT_FOUND;
    return *ret_gone ? 0 : err;
}

int plog_removal_step(struct plog_removal *r)
{
    if (r->count == 0) {
        return 0;
    }
    int before = r->count;
    struct listing l = {r, xstrdup(r->paths[before - 1])};
    int err = env_dir_list(r->env, l.folder, list_entry, &l);
    bool is_folder = err == 0 || err == -E_AGAIN;
    bool is_gone = false;
    if (is_folder && r->count == before) {
        err = env_rmdir(r->env, l.folder);
        is_gone = err == 0;
    } else if (is_folder) {
        err = 0;
    } else {
        err = remove_file(r, l.folder, &is_gone);
    }
    if (is_gone) {
        removal_pop(r);
    }
    free(l.folder);
    if (err != 0) {
        return err;
    }
    return r->count > 0 ? 1 : 0;
}

int plog_remove(struct plog *p, struct plog_removal **ret_removal, struct errmsg *em)
{
    char *path = NULL;
    *ret_removal = NULL;
    int err = plog_rename_folder(p, PLOG_DELETE_SUFFIX, &path);
    if (err != 0) {
        (void)errmsg_set(em, (enum error) - err, "%s: cannot rename the folder: %s", p->folder,
                         error_name(err));
    } else if (path != NULL) {
        *ret_removal = plog_removal_new(p->env, path);
    }
    free(path);
    plog_free(p);
    return err;
}

int plog_set_aside(struct plog *p, struct errmsg *em)
{
    char *path = NULL;
    int err = plog_rename_folder(p, PLOG_STRAY_SUFFIX, &path);
    if (err != 0) {
        (void)errmsg_set(em, (enum error) - err, "%s: cannot rename the folder: %s", p->folder,
                         error_name(err));
    }
    free(path);
    plog_free(p);
    return err;
}
