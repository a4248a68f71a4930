/*
 * Files, directories and locks over POSIX. Stateless but for the descriptors: every call is complete
 * when it returns, EINTR is handled here, errno becomes an E_ code. Runs on the env's thread and on
 * the disk pool.
 */
#include "env/loop_private.h"

#include "base/alloc.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/sendfile.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/uio.h>
#include <unistd.h>

#define IOV_BATCH 64 /* iovecs given to one pwritev */

#define DROPS_MAX 2 /* jobs of a file that may wait for the pool */

/* Cold ranges, bytes. */
#define CHECK_BYTES_MIN ((uint64_t)64 << 10)  /* shorter ranges count as in memory */
#define CHECK_STEP      ((uint64_t)128 << 10) /* between two samples */
#define AHEAD_STEP      ((uint64_t)1 << 20) /* read before the pool looks for what is waited for */
#define WAIT_STEP                                                                                  \
    ((uint64_t)16 << 10) /* where it cannot be sent: between two bytes that are read */
#define AHEADS_MAX 64    /* jobs that read ahead */

struct loop_file {
    struct env_file file;
    int fd;
    uint64_t drop_from; /* first byte that no job was told of; UINT64_MAX = none */
    int32_t drops;      /* jobs on the pool; atomic */
    /* Of the thread that reads alone: what it has to read ahead. */
    bool has_ahead; /* a job is on the pool, with a reference */
    uint64_t ahead_pos;
    uint64_t ahead_end;
};

/* Given to the pool, which frees it. */
struct drop_job {
    struct env_file *file; /* a reference */
    uint64_t pos;
    uint64_t len;
};

static struct loop_file *file_of(const struct env_file *f)
{
    return CONTAINER_OF(f, struct loop_file, file);
}

static int errno_code(void)
{
    return -(int)error_from_errno(errno);
}

int loop_file_fd(const struct env_file *f)
{
    return file_of(f)->fd;
}

static struct loop_file *file_new(struct env *env, int fd)
{
    struct loop_file *f = xalloc(sizeof *f);
    f->file = (struct env_file){.env = env, .refs = 1};
    f->fd = fd;
    f->drop_from = UINT64_MAX;
    return f;
}

static int open_retry(const char *path, int flags)
{
    int fd;
    do {
        fd = open(path, flags | O_CLOEXEC, 0644);
    } while (fd < 0 && errno == EINTR);
    return fd;
}

int loop_file_open(struct env *env, const char *path, int flags, struct env_file **ret_file)
{
    int mode = (flags & ENV_OPEN_WRITE) != 0 ? O_RDWR : O_RDONLY;
    mode |= (flags & ENV_OPEN_CREATE) != 0 ? O_CREAT : 0;
    mode |= (flags & ENV_OPEN_EXCLUSIVE) != 0 ? O_EXCL : 0;
    int fd = open_retry(path, mode | O_NONBLOCK); /* or a FIFO would block until it has a writer */
    if (fd < 0) {
        return errno_code();
    }
    struct stat info;
    if (fstat(fd, &info) < 0 || (!S_ISREG(info.st_mode) && !S_ISCHR(info.st_mode))) {
        (void)close(fd); /* nothing was done with it */
        return -E_INVALID;
    }
    *ret_file = &file_new(env, fd)->file;
    return 0;
}

void loop_file_close(struct env_file *f)
{
    struct loop_file *file = file_of(f);
    (void)close(file->fd); /* what must be durable was synced before */
    free(file);
}

int loop_file_read(struct env_file *f, void *ptr, size_t len, uint64_t pos, size_t *ret_len)
{
    size_t done = 0;
    while (done < len) {
        ssize_t got = pread(file_of(f)->fd, (uint8_t *)ptr + done, len - done, (off_t)(pos + done));
        if (got < 0 && errno == EINTR) {
            continue;
        }
        if (got < 0) {
            return errno_code();
        }
        if (got == 0) {
            break;
        }
        done += (size_t)got;
    }
    *ret_len = done;
    return 0;
}

/* ---- what is in memory ---- */

/* As pread, but with EAGAIN where it would wait for the disk. */
static ssize_t pread_now(int fd, void *ptr, size_t len, uint64_t pos)
{
    struct iovec part = {.iov_base = ptr, .iov_len = len};
    ssize_t got;
    do {
        got = preadv2(fd, &part, 1, (off_t)pos, RWF_NOWAIT);
    } while (got < 0 && errno == EINTR);
    return got;
}

int loop_file_read_now(struct env_file *f, void *ptr, size_t len, uint64_t pos, size_t *ret_len)
{
    size_t done = 0;
    while (done < len) {
        ssize_t got = pread_now(file_of(f)->fd, (uint8_t *)ptr + done, len - done, pos + done);
        if (got < 0 && errno == EAGAIN) {
            return -E_AGAIN;
        }
        if (got < 0) {
            return loop_file_read(f, ptr, len, pos, ret_len); /* not every file system can tell */
        }
        if (got == 0) {
            break;
        }
        done += (size_t)got;
    }
    *ret_len = done;
    return 0;
}

/* Any answer but EAGAIN counts as yes: what is wrong with the bytes will be told to who reads them. */
static bool byte_is_cached(const struct loop_file *f, uint64_t pos)
{
    uint8_t byte;
    return pread_now(f->fd, &byte, 1, pos) >= 0 || errno != EAGAIN;
}

bool loop_file_is_cached(struct env_file *f, uint64_t pos, uint64_t len)
{
    if (len < CHECK_BYTES_MIN) {
        return true;
    }
    for (uint64_t at = pos; at < pos + len; at += CHECK_STEP) {
        if (!byte_is_cached(file_of(f), at)) {
            return false;
        }
    }
    return byte_is_cached(file_of(f), pos + len - 1);
}

/* On the pool, which frees it. */
struct warm_job {
    struct env_file *file; /* a reference */
    struct env_range range;
};

/* Sent to nowhere: the kernel reads in its largest pieces, and nothing is copied. Ends at the end of the
 * file; errors will be told to who reads the range. */
static void read_through(int fd, uint64_t pos, uint64_t len)
{
    uint64_t end = pos + len;
    off_t at = (off_t)pos;
    int nowhere = open_retry("/dev/null", O_WRONLY);
    ssize_t sent = 1;
    while (nowhere >= 0 && sent > 0 && (uint64_t)at < end) {
        sent = sendfile(nowhere, fd, &at, (size_t)(end - (uint64_t)at));
    }
    if (nowhere >= 0) {
        (void)close(nowhere); /* nothing to lose */
    }
    bool is_over = nowhere >= 0 && sent == 0;
    for (uint64_t next = (uint64_t)at; !is_over && next < end; next += WAIT_STEP) {
        uint8_t byte;
        is_over = pread(fd, &byte, 1, (off_t)next) <= 0;
    }
}

/* A piece of what lies ahead, while nobody waits. */
static void ahead_work(void *arg)
{
    struct loop_file *f = arg;
    struct loop_pool *pool = &loop_of(f->file.env)->reads;
    uint64_t len = f->ahead_end - MIN(f->ahead_pos, f->ahead_end);
    if (loop_pool_is_ending(pool) || len == 0) {
        f->has_ahead = false;
        pool->aheads--;
        env_file_unref(&f->file);
        return;
    }
    len = MIN(len, AHEAD_STEP);
    read_through(f->fd, f->ahead_pos, len);
    f->ahead_pos += len;
    struct loop_task task = {.work = ahead_work, .work_arg = f, .is_idle = true};
    loop_pool_add(pool, &task);
}

/* A reader is at pos, and what lies up to end is for it. Of a file only the newest is kept: what was to be
 * read for one that has gone on, or away, would be read for nobody. */
static void ahead_set(struct loop_file *f, uint64_t pos, uint64_t end)
{
    struct loop_pool *pool = &loop_of(f->file.env)->reads;
    bool is_under_way = f->has_ahead && f->ahead_pos >= pos && f->ahead_pos <= end;
    f->ahead_pos = is_under_way ? f->ahead_pos : pos;
    f->ahead_end = end;
    if (f->has_ahead || pos == end || pool->aheads == AHEADS_MAX) {
        return;
    }
    f->has_ahead = true;
    pool->aheads++;
    struct loop_task task = {
        .work = ahead_work, .work_arg = file_of(env_file_ref(&f->file)), .is_idle = true};
    loop_pool_add(pool, &task);
}

static void warm_work(void *arg)
{
    struct warm_job *job = arg;
    struct loop_file *f = file_of(job->file);
    uint64_t end = job->range.pos + job->range.len;
    if (!loop_pool_is_ending(&loop_of(job->file->env)->reads)) {
        read_through(f->fd, job->range.pos, job->range.len);
        ahead_set(f, end, end + job->range.ahead);
    }
    env_file_unref(job->file);
    free(job);
}

void loop_file_warm(struct env_file *f, struct env_range range, env_fn done, void *arg)
{
    struct loop_pool *pool = &loop_of(f->env)->reads;
    struct warm_job *job = xalloc(sizeof *job);
    *job = (struct warm_job){.file = env_file_ref(f), .range = range};
    struct loop_task task = {.work = warm_work, .work_arg = job, .done = done, .done_arg = arg};
    loop_pool_add(pool, &task);
}

/* Copies up to IOV_BATCH iovecs, leaving out the first `skip` bytes. */
static int iov_take(struct iovec *into, const struct iovec *iov, int count, size_t skip)
{
    int n = 0;
    for (; n < count && n < IOV_BATCH; n++) {
        into[n] = iov[n];
    }
    if (n > 0) {
        into[0].iov_base = (uint8_t *)into[0].iov_base + skip;
        into[0].iov_len -= skip;
    }
    return n;
}

int loop_file_writev(struct env_file *f, const struct iovec *iov, int count, uint64_t pos)
{
    struct iovec part[IOV_BATCH];
    int next = 0;
    size_t skip = 0; /* bytes of iov[next] that are written */
    while (next < count) {
        int n = iov_take(part, iov + next, count - next, skip);
        ssize_t wrote = pwritev(file_of(f)->fd, part, n, (off_t)pos);
        if (wrote < 0 && errno == EINTR) {
            continue;
        }
        if (wrote < 0) {
            return errno_code();
        }
        if (wrote == 0 && part[0].iov_len > 0) {
            return -E_IO; /* no progress and no reason: never spin on it */
        }
        pos += (uint64_t)wrote;
        skip += (size_t)wrote;
        while (next < count && skip >= iov[next].iov_len) {
            skip -= iov[next].iov_len;
            next++;
        }
    }
    return 0;
}

int loop_file_size(struct env_file *f, uint64_t *ret_size)
{
    struct stat st;
    if (fstat(file_of(f)->fd, &st) != 0) {
        return errno_code();
    }
    *ret_size = (uint64_t)st.st_size;
    return 0;
}

int loop_file_truncate(struct env_file *f, uint64_t size)
{
    int result;
    do {
        result = ftruncate(file_of(f)->fd, (off_t)size);
    } while (result != 0 && errno == EINTR);
    return result != 0 ? errno_code() : 0;
}

int loop_file_sync(struct env_file *f)
{
    return fdatasync(file_of(f)->fd) != 0 ? errno_code() : 0;
}

/* Nothing waits here: pages still under writeback stay until the next call names them again. */
static void drop_work(void *arg)
{
    struct drop_job *job = arg;
    struct loop_file *f = file_of(job->file);
    /* Both are hints. */
    (void)sync_file_range(f->fd, (off_t)job->pos, (off_t)job->len, SYNC_FILE_RANGE_WRITE);
    if (job->pos > 0) { /* a length of 0 would mean all of the file */
        (void)posix_fadvise(f->fd, 0, (off_t)job->pos, POSIX_FADV_DONTNEED);
    }
    (void)__atomic_fetch_sub(&f->drops, 1, __ATOMIC_RELAXED); /* only a bound */
    env_file_unref(job->file);
    free(job);
}

static void drop_done(void *arg)
{
    (void)arg; /* freed by the work, which runs even when the env is gone before it could be told */
}

/* Dropping a megabyte costs as much as sending it, so the pool does it; what comes while it is busy goes
 * into the next job. */
void loop_file_drop_behind(struct env_file *f, uint64_t pos, uint64_t len)
{
    struct loop_file *file = file_of(f);
    file->drop_from = MIN(file->drop_from, pos);
    if (__atomic_load_n(&file->drops, __ATOMIC_RELAXED) >= DROPS_MAX) {
        return;
    }
    struct drop_job *job = xalloc(sizeof *job);
    *job = (struct drop_job){
        .file = env_file_ref(f), .pos = file->drop_from, .len = pos + len - file->drop_from};
    file->drop_from = UINT64_MAX;
    (void)__atomic_fetch_add(&file->drops, 1, __ATOMIC_RELAXED); /* only a bound */
    env_work(f->env, drop_work, drop_done, job);
}

int loop_rename(struct env *env, const char *from, const char *to)
{
    (void)env;
    return rename(from, to) != 0 ? errno_code() : 0;
}

int loop_unlink(struct env *env, const char *path)
{
    (void)env;
    return unlink(path) != 0 ? errno_code() : 0;
}

int loop_mkdir(struct env *env, const char *path)
{
    (void)env;
    int err = 0;
    char *part = xstrdup(path);
    for (char *at = part; err == 0 && *at != '\0'; at++) {
        if (*at == '/' && at != part) {
            *at = '\0';
            err = mkdir(part, 0755) != 0 && errno != EEXIST ? errno_code() : 0;
            *at = '/';
        }
    }
    struct stat st;
    if (err == 0 && mkdir(path, 0755) != 0) {
        bool is_there = errno == EEXIST && stat(path, &st) == 0 && S_ISDIR(st.st_mode);
        err = is_there ? 0 : errno_code();
    }
    free(part);
    return err;
}

int loop_rmdir(struct env *env, const char *path)
{
    (void)env;
    return rmdir(path) != 0 ? errno_code() : 0;
}

int loop_dir_sync(struct env *env, const char *path)
{
    (void)env;
    int fd = open_retry(path, O_RDONLY | O_DIRECTORY);
    if (fd < 0) {
        return errno_code();
    }
    int err = fsync(fd) != 0 ? errno_code() : 0;
    (void)close(fd); /* nothing was written through it */
    return err;
}

/* ---- listing ---- */

struct dir_entry {
    char *name;
    bool is_dir;
};

struct dir_entries {
    struct dir_entry *items;
    size_t count;
    size_t cap;
};

static int entry_compare(const void *a, const void *b)
{
    return strcmp(((const struct dir_entry *)a)->name, ((const struct dir_entry *)b)->name);
}

static bool entry_is_dir(DIR *dir, const struct dirent *entry)
{
    if (entry->d_type == DT_DIR || entry->d_type == DT_REG) {
        return entry->d_type == DT_DIR;
    }
    struct stat st;
    return fstatat(dirfd(dir), entry->d_name, &st, 0) == 0 && S_ISDIR(st.st_mode);
}

static void entries_add(struct dir_entries *entries, const char *name, bool is_dir)
{
    if (entries->count == entries->cap) {
        entries->cap = entries->cap == 0 ? 64 : entries->cap * 2;
        entries->items = xrealloc(entries->items, entries->cap * sizeof *entries->items);
    }
    entries->items[entries->count++] = (struct dir_entry){xstrdup(name), is_dir};
}

static int entries_read(DIR *dir, struct dir_entries *entries)
{
    for (;;) {
        errno = 0;
        const struct dirent *entry = readdir(dir);
        if (entry == NULL) {
            return errno != 0 ? errno_code() : 0;
        }
        if (strcmp(entry->d_name, ".") != 0 && strcmp(entry->d_name, "..") != 0) {
            entries_add(entries, entry->d_name, entry_is_dir(dir, entry));
        }
    }
}

int loop_dir_list(struct env *env, const char *path, env_dir_fn fn, void *arg)
{
    (void)env;
    DIR *dir = opendir(path);
    if (dir == NULL) {
        return errno_code();
    }
    struct dir_entries entries = {0};
    int err = entries_read(dir, &entries);
    (void)closedir(dir); /* only read from */
    if (entries.count > 0) {
        qsort(entries.items, entries.count, sizeof *entries.items, entry_compare);
    }
    for (size_t i = 0; i < entries.count; i++) {
        if (err == 0) {
            err = fn(arg, entries.items[i].name, entries.items[i].is_dir);
        }
        free(entries.items[i].name);
    }
    free(entries.items);
    return err;
}

/* ---- locks and space ---- */

/* Open-file-description locks: a second holder is refused in this process as in another one, a
 * Java broker's lock on the same file is seen, and the kernel drops the lock with the descriptor. */
int loop_lock(struct env *env, const char *path, struct env_file **ret_file)
{
    int fd = open_retry(path, O_RDWR | O_CREAT);
    if (fd < 0) {
        return errno_code();
    }
    struct flock lock = {.l_type = F_WRLCK, .l_whence = SEEK_SET};
    if (fcntl(fd, F_OFD_SETLK, &lock) != 0) {
        int err = errno == EAGAIN || errno == EACCES ? -E_LOCKED : errno_code();
        (void)close(fd); /* not ours */
        return err;
    }
    *ret_file = &file_new(env, fd)->file;
    return 0;
}

int loop_disk_space(struct env *env, const char *path, struct env_space *ret_space)
{
    (void)env;
    struct statvfs fs;
    struct stat st;
    if (statvfs(path, &fs) != 0 || stat(path, &st) != 0) {
        return errno_code();
    }
    *ret_space = (struct env_space){.total = (int64_t)(fs.f_blocks * fs.f_frsize),
                                    .usable = (int64_t)(fs.f_bavail * fs.f_frsize),
                                    .disk = (uint64_t)st.st_dev == 0 ? 1 : (uint64_t)st.st_dev};
    return 0;
}

/* ---- the machine ---- */

static const char hex_digits[] = "0123456789abcdef";

/* "xxxxxxxx-xxxx-xxxx-xxxx-xxxxxxxxxxxx" */
static int parse_boot_id(const char *text, size_t len, struct uuid *ret_id)
{
    struct uuid id = UUID_ZERO;
    size_t digits = 0;
    for (size_t i = 0; i < len && text[i] != '\n'; i++) {
        if (text[i] == '-') {
            continue;
        }
        const char *digit = text[i] == '\0' ? NULL : strchr(hex_digits, text[i]);
        if (digit == NULL || digits == 2 * sizeof id.bytes) {
            return -E_MALFORMED;
        }
        uint8_t *byte = &id.bytes[digits++ / 2];
        *byte = (uint8_t)(*byte << 4 | (digit - hex_digits));
    }
    if (digits != 2 * sizeof id.bytes) {
        return -E_MALFORMED;
    }
    *ret_id = id;
    return 0;
}

int loop_boot_id(struct env *env, struct uuid *ret_id)
{
    char text[64];
    (void)env;
    int fd = open_retry("/proc/sys/kernel/random/boot_id", O_RDONLY);
    if (fd < 0) {
        return errno_code();
    }
    ssize_t len = read(fd, text, sizeof text);
    int err = len < 0 ? errno_code() : parse_boot_id(text, (size_t)len, ret_id);
    (void)close(fd); /* nothing was written */
    return err;
}
