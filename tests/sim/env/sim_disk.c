/*
 * The simulated disk: a flat map of paths, files with their present and their synced content, and the
 * journal of name changes. See sim.h for what a power loss keeps.
 * Invariant: applying `changes` to `synced` gives `data`; applying `journal` to synced_names gives names.
 */
#include "internal.h"

#include "base/alloc.h"

#include <stdlib.h>

#define SECTOR 512

struct sim_file {
    struct env_file file; /* first */
    struct sim_inode *inode;
    char *path;
    bool is_lock;
};

/* ---- inodes ---- */

void sim_inode_unref(struct sim_disk *d, struct sim_inode *inode)
{
    if (--inode->refs > 0) {
        return;
    }
    struct list_node *n;
    while ((n = list_pop(&inode->changes)) != NULL) {
        struct sim_change *change = CONTAINER_OF(n, struct sim_change, link);
        free(change->bytes);
        free(change);
    }
    d->used -= (int64_t)inode->len;
    free(inode->data);
    free(inode->synced);
    free(inode->parts);
    free(inode);
}

struct sim_inode *sim_inode_ref(struct sim_inode *inode)
{
    inode->refs++;
    return inode;
}

static struct sim_inode *inode_new(void)
{
    struct sim_inode *inode = xalloc(sizeof *inode);
    list_init(&inode->changes);
    return inode;
}

static void bytes_resize(uint8_t **data, size_t *len, size_t *cap, size_t size)
{
    if (size > *cap) {
        *cap = MAX(size, *cap * 2);
        *data = xrealloc(*data, *cap);
    }
    if (size > *len) {
        memset(*data + *len, 0, size - *len);
    }
    *len = size;
}

static void synced_apply(struct sim_inode *inode, const struct sim_change *change, size_t from,
                         size_t to)
{
    if (change->is_truncate) {
        bytes_resize(&inode->synced, &inode->synced_len, &inode->synced_cap, change->pos);
        return;
    }
    size_t end = (size_t)change->pos + to;
    if (end > inode->synced_len) {
        bytes_resize(&inode->synced, &inode->synced_len, &inode->synced_cap, end);
    }
    if (to > from) {
        memcpy(inode->synced + change->pos + from, change->bytes + from, to - from);
    }
}

static void inode_sync(struct sim_inode *inode)
{
    struct list_node *n;
    while ((n = list_pop(&inode->changes)) != NULL) {
        struct sim_change *change = CONTAINER_OF(n, struct sim_change, link);
        synced_apply(inode, change, 0, change->len);
        free(change->bytes);
        free(change);
    }
}

/* Each unsynced change survives whole, in part (cut at a sector), or not at all. */
static void inode_lose_power(struct sim_disk *d, struct sim_inode *inode, struct prng *p)
{
    struct list_node *n;
    while ((n = list_pop(&inode->changes)) != NULL) {
        struct sim_change *change = CONTAINER_OF(n, struct sim_change, link);
        uint64_t fate = prng_below(p, 3);
        if (fate == 0) {
            synced_apply(inode, change, 0, change->len);
        } else if (fate == 1 && !change->is_truncate && change->len > 0) {
            size_t cut = prng_below(p, change->len / SECTOR + 1) * SECTOR;
            size_t skew = (size_t)(change->pos % SECTOR);
            cut = cut > skew ? cut - skew : 0;
            if (prng_chance(p, 1, 2)) {
                synced_apply(inode, change, 0, cut);
            } else {
                synced_apply(inode, change, cut, change->len);
            }
        }
        free(change->bytes);
        free(change);
    }
    d->used += (int64_t)inode->synced_len - (int64_t)inode->len;
    inode->len = 0;
    bytes_resize(&inode->data, &inode->len, &inode->cap, inode->synced_len);
    if (inode->synced_len > 0) {
        memcpy(inode->data, inode->synced, inode->synced_len);
    }
}

/* ---- names ---- */

static struct sim_name *name_find(struct sim_name *names, const char *path)
{
    struct sim_name *found;
    HASH_FIND_STR(names, path, found);
    return found;
}

static void name_put(struct sim_disk *d, struct sim_name **names, const char *path,
                     struct sim_inode *inode)
{
    struct sim_name *old = name_find(*names, path);
    if (inode != NULL) {
        inode->refs++;
    }
    if (old != NULL) {
        if (old->inode != NULL) {
            sim_inode_unref(d, old->inode);
        }
        old->inode = inode;
        return;
    }
    struct sim_name *name = xalloc(sizeof *name + strlen(path) + 1);
    memcpy(name->path, path, strlen(path) + 1);
    name->inode = inode;
    HASH_ADD_STR(*names, path, name);
}

static void name_drop(struct sim_disk *d, struct sim_name **names, struct sim_name *name)
{
    HASH_DEL(*names, name);
    if (name->inode != NULL) {
        sim_inode_unref(d, name->inode);
    }
    free(name);
}

static bool path_below(const char *path, const char *dir)
{
    size_t len = strlen(dir);
    return strncmp(path, dir, len) == 0 && path[len] == '/';
}

static void names_rename(struct sim_disk *d, struct sim_name **names, const char *from,
                         const char *to)
{
    struct sim_name *name = name_find(*names, from);
    if (name == NULL) {
        return;
    }
    bool is_dir = name->inode == NULL;
    name_put(d, names, to, name->inode);
    name_drop(d, names, name_find(*names, from));
    if (!is_dir) {
        return;
    }
    struct sim_name *tmp;
    HASH_ITER(hh, *names, name, tmp)
    {
        if (path_below(name->path, from)) {
            char *moved = xasprintf("%s%s", to, name->path + strlen(from));
            name_put(d, names, moved, name->inode);
            name_drop(d, names, name);
            free(moved);
        }
    }
}

static void dir_op_apply(struct sim_disk *d, struct sim_name **names, const struct sim_dir_op *op)
{
    struct sim_name *name;
    switch (op->kind) {
    case SIM_LINK:
        name_put(d, names, op->path, op->inode);
        break;
    case SIM_UNLINK:
        name = name_find(*names, op->path);
        if (name != NULL) {
            name_drop(d, names, name);
        }
        break;
    case SIM_RENAME:
        names_rename(d, names, op->path, op->to);
        break;
    }
}

static void dir_op_free(struct sim_disk *d, struct sim_dir_op *op)
{
    if (op->inode != NULL) {
        sim_inode_unref(d, op->inode);
    }
    free(op->path);
    free(op->to);
    free(op);
}

/* Applies the change to the present names and remembers it until the next directory sync. */
static void dir_op_do(struct sim_disk *d, enum sim_dir_op_kind kind, const char *path,
                      const char *to, struct sim_inode *inode)
{
    struct sim_dir_op *op = xalloc(sizeof *op);
    op->kind = kind;
    op->path = xstrdup(path);
    op->to = to == NULL ? NULL : xstrdup(to);
    op->inode = inode;
    if (inode != NULL) {
        inode->refs++;
    }
    dir_op_apply(d, &d->names, op);
    list_push_back(&d->journal, &op->link);
}

static void journal_apply(struct sim_disk *d, size_t count)
{
    while (count-- > 0) {
        struct sim_dir_op *op = CONTAINER_OF(list_pop(&d->journal), struct sim_dir_op, link);
        dir_op_apply(d, &d->synced_names, op);
        dir_op_free(d, op);
    }
}

static void names_clear(struct sim_disk *d, struct sim_name **names)
{
    struct sim_name *name;
    struct sim_name *tmp;
    HASH_ITER(hh, *names, name, tmp)
    {
        name_drop(d, names, name);
    }
}

void sim_disk_init(struct sim_disk *d)
{
    list_init(&d->journal);
    d->capacity = -1;
}

void sim_disk_deinit(struct sim_disk *d)
{
    names_clear(d, &d->names);
    journal_apply(d, d->journal.count);
    names_clear(d, &d->synced_names);
    free(d->broken_prefix);
}

void sim_disk_lose_power(struct sim_node *n)
{
    struct sim_disk *d = &n->disk;
    struct prng *p = &n->world->prng;
    journal_apply(d, prng_below(p, d->journal.count + 1));
    struct list_node *op;
    names_clear(d, &d->names);
    while ((op = list_pop(&d->journal)) != NULL) {
        dir_op_free(d, CONTAINER_OF(op, struct sim_dir_op, link));
    }
    struct sim_name *name;
    struct sim_name *tmp;
    HASH_ITER(hh, d->synced_names, name, tmp)
    {
        name_put(d, &d->names, name->path, name->inode);
        if (name->inode != NULL) {
            inode_lose_power(d, name->inode, p);
        }
    }
}

/* ---- faults ---- */

static int disk_fault(struct sim_node *n, const char *path)
{
    struct sim_disk *d = &n->disk;
    if (d->is_gone) {
        return -E_IO;
    }
    d->operations++;
    if (d->fail_at > 0 && --d->fail_at == 0) {
        sim_trace(n->world, "%s: disk operation on %s fails", n->name, path);
        return -(int)d->fail_error;
    }
    if (d->broken_prefix != NULL &&
        strncmp(path, d->broken_prefix, strlen(d->broken_prefix)) == 0) {
        return -E_IO;
    }
    return 0;
}

void sim_disk_fail_at(struct sim_node *n, int64_t operations, enum error error)
{
    n->disk.fail_at = operations;
    n->disk.fail_error = error;
}

int64_t sim_disk_operations(const struct sim_node *n)
{
    return n->disk.operations;
}

void sim_disk_capacity(struct sim_node *n, int64_t bytes)
{
    n->disk.capacity = bytes;
}

int64_t sim_disk_used(const struct sim_node *n)
{
    return n->disk.used;
}

void sim_disk_break(struct sim_node *n, const char *prefix)
{
    free(n->disk.broken_prefix);
    n->disk.broken_prefix = prefix == NULL ? NULL : xstrdup(prefix);
}

void sim_disk_slow(struct sim_node *n, int64_t max_ms)
{
    n->disk.slow_ms = max_ms;
}

bool sim_disk_flip(struct sim_node *n, const char *path, uint64_t pos)
{
    struct sim_name *name = name_find(n->disk.names, path);
    if (name == NULL || name->inode == NULL || pos >= name->inode->len) {
        return false;
    }
    uint8_t mask = (uint8_t)(1u << prng_below(&n->world->prng, 8));
    name->inode->data[pos] ^= mask;
    if (pos < name->inode->synced_len) {
        name->inode->synced[pos] ^= mask;
    }
    return true;
}

uint64_t sim_disk_dropped(const struct sim_node *n)
{
    return n->disk.dropped_bytes;
}

int32_t sim_disk_open_files(const struct sim_node *n)
{
    return n->disk.open_files;
}

/* ---- files ---- */

static bool dir_exists(struct sim_disk *d, const char *path)
{
    if (path[0] == '\0' || strcmp(path, "/") == 0 || strcmp(path, ".") == 0) {
        return true;
    }
    struct sim_name *name = name_find(d->names, path);
    return name != NULL && name->inode == NULL;
}

static bool parent_exists(struct sim_disk *d, const char *path)
{
    const char *slash = strrchr(path, '/');
    if (slash == NULL) {
        return true;
    }
    char *parent = slice_dup(slice_of(path, (size_t)(slash - path)));
    bool exists = dir_exists(d, parent);
    free(parent);
    return exists;
}

/* What is directly above the path is a file. */
static bool is_below_file(struct sim_disk *d, const char *path)
{
    const char *slash = strrchr(path, '/');
    char *parent = slice_dup(slice_of(path, slash == NULL ? 0 : (size_t)(slash - path)));
    struct sim_name *name = name_find(d->names, parent);
    free(parent);
    return name != NULL && name->inode != NULL;
}

static struct sim_file *file_new(struct sim_node *n, struct sim_inode *inode, const char *path)
{
    struct sim_file *f = xalloc(sizeof *f);
    f->file = (struct env_file){.env = &n->env, .refs = 1};
    f->inode = inode;
    f->path = xstrdup(path);
    inode->refs++;
    n->disk.open_files++;
    return f;
}

int sim_file_open(struct env *env, const char *path, int flags, struct env_file **ret_file)
{
    struct sim_node *n = sim_of(env);
    struct sim_disk *d = &n->disk;
    int err = disk_fault(n, path);
    if (err != 0) {
        return err;
    }
    struct sim_name *name = name_find(d->names, path);
    if (name != NULL && name->inode == NULL) {
        return -E_INVALID;
    }
    if (name != NULL && (flags & ENV_OPEN_EXCLUSIVE) != 0) {
        return -E_EXISTS;
    }
    if (name == NULL && is_below_file(d, path)) {
        return -E_NOT_DIRECTORY;
    }
    if (name == NULL) {
        if ((flags & ENV_OPEN_CREATE) == 0 || !parent_exists(d, path)) {
            return -E_NOT_FOUND;
        }
        dir_op_do(d, SIM_LINK, path, NULL, inode_new());
        name = name_find(d->names, path);
    }
    *ret_file = &file_new(n, name->inode, path)->file;
    return 0;
}

static struct sim_file *file_of(struct env_file *f)
{
    return (struct sim_file *)(void *)f;
}

struct sim_inode *sim_file_inode(struct env_file *f)
{
    return file_of(f)->inode;
}

void sim_file_close(struct env_file *f)
{
    struct sim_file *file = file_of(f);
    struct sim_node *n = sim_of(f->env);
    n->disk.open_files--;
    if (file->is_lock) {
        file->inode->is_locked = false;
    }
    sim_inode_unref(&n->disk, file->inode);
    free(file->path);
    free(file);
}

int sim_file_read(struct env_file *f, void *ptr, size_t len, uint64_t pos, size_t *ret_len)
{
    struct sim_file *file = file_of(f);
    int err = disk_fault(sim_of(f->env), file->path);
    if (err != 0) {
        return err;
    }
    size_t size = file->inode->len;
    size_t count = pos >= size ? 0 : MIN(len, size - (size_t)pos);
    if (count > 0) {
        memcpy(ptr, file->inode->data + pos, count);
    }
    *ret_len = count;
    return 0;
}

static void inode_change(struct sim_inode *inode, bool is_truncate, uint64_t pos,
                         struct slice bytes)
{
    struct sim_change *change = xalloc(sizeof *change);
    change->is_truncate = is_truncate;
    change->pos = pos;
    change->len = bytes.len;
    change->bytes = bytes.len == 0 ? NULL : xmemdup(bytes.ptr, bytes.len);
    list_push_back(&inode->changes, &change->link);
}

static int inode_resize(struct sim_disk *d, struct sim_inode *inode, size_t size)
{
    int64_t growth = (int64_t)size - (int64_t)inode->len;
    if (growth > 0 && d->capacity >= 0 && d->used + growth > d->capacity) {
        return -E_DISK_FULL;
    }
    d->used += growth;
    bytes_resize(&inode->data, &inode->len, &inode->cap, size);
    return 0;
}

int sim_file_writev(struct env_file *f, const struct iovec *iov, int count, uint64_t pos)
{
    struct sim_file *file = file_of(f);
    struct sim_node *n = sim_of(f->env);
    int fault = disk_fault(n, file->path);
    for (int i = 0; i < count; i++) {
        size_t len = iov[i].iov_len;
        if (fault != 0) { /* an unknown prefix is written */
            len = n->disk.is_gone ? 0 : prng_below(&n->world->prng, len + 1);
        }
        if (len == 0) {
            continue;
        }
        size_t end = (size_t)pos + len;
        if (end > file->inode->len) {
            int err = inode_resize(&n->disk, file->inode, end);
            if (err != 0) {
                return err;
            }
        }
        memcpy(file->inode->data + pos, iov[i].iov_base, len);
        inode_change(file->inode, false, pos, slice_of(iov[i].iov_base, len));
        sim_inode_written(file->inode, pos, len);
        pos += len;
        if (fault != 0) {
            break;
        }
    }
    return fault;
}

int sim_file_size(struct env_file *f, uint64_t *ret_size)
{
    *ret_size = file_of(f)->inode->len;
    return 0;
}

int sim_file_truncate(struct env_file *f, uint64_t size)
{
    struct sim_file *file = file_of(f);
    struct sim_node *n = sim_of(f->env);
    int err = disk_fault(n, file->path);
    if (err == 0) {
        err = inode_resize(&n->disk, file->inode, (size_t)size);
    }
    if (err == 0) {
        inode_change(file->inode, true, size, SLICE_NULL);
    }
    return err;
}

int sim_file_sync(struct env_file *f)
{
    struct sim_file *file = file_of(f);
    int err = disk_fault(sim_of(f->env), file->path);
    if (err == 0) {
        inode_sync(file->inode);
    }
    return err;
}

void sim_file_drop_behind(struct env_file *f, uint64_t pos, uint64_t len)
{
    (void)pos; /* a hint about caching: this model only counts it */
    sim_of(f->env)->disk.dropped_bytes += len;
}

int sim_rename(struct env *env, const char *from, const char *to)
{
    struct sim_node *n = sim_of(env);
    int err = disk_fault(n, from);
    if (err != 0) {
        return err;
    }
    struct sim_name *source = name_find(n->disk.names, from);
    struct sim_name *target = name_find(n->disk.names, to);
    if (source == NULL || !parent_exists(&n->disk, to)) {
        return -E_NOT_FOUND;
    }
    if (target != NULL && target->inode == NULL) {
        return -E_EXISTS;
    }
    if (strcmp(from, to) != 0) {
        dir_op_do(&n->disk, SIM_RENAME, from, to, NULL);
    }
    return 0;
}

int sim_unlink(struct env *env, const char *path)
{
    struct sim_node *n = sim_of(env);
    int err = disk_fault(n, path);
    if (err != 0) {
        return err;
    }
    struct sim_name *name = name_find(n->disk.names, path);
    if (name == NULL) {
        return -E_NOT_FOUND;
    }
    if (name->inode == NULL) {
        return -E_INVALID;
    }
    dir_op_do(&n->disk, SIM_UNLINK, path, NULL, NULL);
    return 0;
}

int sim_mkdir(struct env *env, const char *path)
{
    struct sim_node *n = sim_of(env);
    int err = disk_fault(n, path);
    if (err != 0) {
        return err;
    }
    for (const char *slash = strchr(path + 1, '/');; slash = strchr(slash + 1, '/')) {
        size_t len = slash == NULL ? strlen(path) : (size_t)(slash - path);
        char *part = slice_dup(slice_of(path, len));
        struct sim_name *name = name_find(n->disk.names, part);
        if (name == NULL) {
            dir_op_do(&n->disk, SIM_LINK, part, NULL, NULL);
        }
        free(part);
        if (name != NULL && name->inode != NULL) {
            return -E_EXISTS;
        }
        if (slash == NULL) {
            return 0;
        }
    }
}

int sim_rmdir(struct env *env, const char *path)
{
    struct sim_node *n = sim_of(env);
    int err = disk_fault(n, path);
    if (err != 0) {
        return err;
    }
    struct sim_name *name = name_find(n->disk.names, path);
    if (name == NULL || name->inode != NULL) {
        return -E_NOT_FOUND;
    }
    struct sim_name *tmp;
    HASH_ITER(hh, n->disk.names, name, tmp)
    {
        if (path_below(name->path, path)) {
            return -E_NOT_EMPTY;
        }
    }
    dir_op_do(&n->disk, SIM_UNLINK, path, NULL, NULL);
    return 0;
}

int sim_dir_sync(struct env *env, const char *path)
{
    struct sim_node *n = sim_of(env);
    int err = disk_fault(n, path);
    if (err == 0) {
        journal_apply(&n->disk, n->disk.journal.count);
    }
    return err;
}

struct listing_entry {
    char *name;
    bool is_dir;
};

static int listing_order(const void *a, const void *b)
{
    return strcmp(((const struct listing_entry *)a)->name, ((const struct listing_entry *)b)->name);
}

int sim_dir_list(struct env *env, const char *path, env_dir_fn fn, void *arg)
{
    struct sim_node *n = sim_of(env);
    int err = disk_fault(n, path);
    if (err != 0) {
        return err;
    }
    if (!dir_exists(&n->disk, path)) {
        return -E_NOT_FOUND;
    }
    struct listing_entry *entries = xalloc((HASH_COUNT(n->disk.names) + 1) * sizeof *entries);
    size_t count = 0;
    struct sim_name *name;
    struct sim_name *tmp;
    HASH_ITER(hh, n->disk.names, name, tmp)
    {
        const char *rest = path_below(name->path, path) ? name->path + strlen(path) + 1 : NULL;
        if (rest != NULL && strchr(rest, '/') == NULL) {
            entries[count++] = (struct listing_entry){xstrdup(rest), name->inode == NULL};
        }
    }
    qsort(entries, count, sizeof *entries, listing_order);
    for (size_t i = 0; i < count; i++) {
        if (err == 0) {
            err = fn(arg, entries[i].name, entries[i].is_dir);
        }
        free(entries[i].name);
    }
    free(entries);
    return err;
}

int sim_lock(struct env *env, const char *path, struct env_file **ret_file)
{
    struct env_file *f;
    int err = sim_file_open(env, path, ENV_OPEN_WRITE | ENV_OPEN_CREATE, &f);
    if (err != 0) {
        return err;
    }
    if (file_of(f)->inode->is_locked) {
        env_file_unref(f);
        return -E_LOCKED;
    }
    file_of(f)->is_lock = true;
    file_of(f)->inode->is_locked = true;
    *ret_file = f;
    return 0;
}

int sim_disk_space(struct env *env, const char *path, struct env_space *ret_space)
{
    struct sim_node *n = sim_of(env);
    (void)path; /* a node has one disk */
    int64_t total = n->disk.capacity >= 0 ? n->disk.capacity : (int64_t)1 << 40;
    *ret_space = (struct env_space){.total = total, .usable = total - n->disk.used, .disk = 1};
    return 0;
}
