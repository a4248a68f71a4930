/*
 * The disk functions of the real loop, in a fresh directory for each test.
 */
#include "env/loop.h"

#include "base/alloc.h"

#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

struct fixture {
    struct env *env;
    char dir[64];
    char path[128]; /* of the last at() */
};

static const char *at(struct fixture *f, const char *name)
{
    assert_true(snprintf(f->path, sizeof f->path, "%s/%s", f->dir, name) < (int)sizeof f->path);
    return f->path;
}

static int setup(void **state)
{
    struct fixture *f = xalloc(sizeof *f);
    struct errmsg em;
    f->env = loop_new(&(struct loop_config){.name = "test"}, &em);
    assert_non_null(f->env);
    strncpy(f->dir, "/tmp/klamm-disk-XXXXXX", sizeof f->dir - 1);
    assert_non_null(mkdtemp(f->dir));
    *state = f;
    return 0;
}

static int remove_entry(void *arg, const char *name, bool is_dir)
{
    struct fixture *f = arg;
    return is_dir ? env_rmdir(f->env, at(f, name)) : env_unlink(f->env, at(f, name));
}

static int teardown(void **state)
{
    struct fixture *f = *state;
    assert_int_equal(env_dir_list(f->env, f->dir, remove_entry, f), 0);
    assert_int_equal(env_rmdir(f->env, f->dir), 0);
    loop_free(f->env);
    free(f);
    return 0;
}

static struct env_file *open_new(struct fixture *f, const char *name)
{
    struct env_file *file = NULL;
    assert_int_equal(env_file_open(f->env, at(f, name), ENV_OPEN_WRITE | ENV_OPEN_CREATE, &file),
                     0);
    return file;
}

static void what_is_written_is_read_back(void **state)
{
    struct fixture *f = *state;
    struct env_file *file = open_new(f, "data");
    assert_int_equal(env_file_write(file, "hello", 5, 3), 0);
    char got[16] = {0};
    size_t len = 0;
    assert_int_equal(env_file_read(file, got, sizeof got, 1, &len), 0);
    assert_int_equal(len, 7);
    assert_memory_equal(got, "\0\0hello", 7);
    uint64_t size = 0;
    assert_int_equal(env_file_size(file, &size), 0);
    assert_int_equal(size, 8);
    assert_int_equal(env_file_truncate(file, 4), 0);
    assert_int_equal(env_file_sync(file), 0);
    env_file_drop_behind(file, 0, 4);
    assert_int_equal(env_file_read(file, got, sizeof got, 3, &len), 0);
    assert_int_equal(len, 1);
    assert_int_equal(env_file_read(file, got, sizeof got, 100, &len), 0);
    assert_int_equal(len, 0);
    env_file_unref(file);
}

/* More pieces than one system call takes, with empty ones among them. */
static void long_vectors_are_written_whole(void **state)
{
    struct fixture *f = *state;
    enum {
        PIECES = 1500
    };
    static uint8_t bytes[PIECES];
    struct iovec iov[PIECES];
    size_t total = 0;
    for (int i = 0; i < PIECES; i++) {
        bytes[i] = (uint8_t)(i * 7);
        iov[i] = (struct iovec){.iov_base = bytes + total, .iov_len = i % 5 == 0 ? 0 : 1};
        total += iov[i].iov_len;
    }
    struct env_file *file = open_new(f, "data");
    assert_int_equal(env_file_writev(file, iov, PIECES, 10), 0);
    static uint8_t got[PIECES];
    size_t len = 0;
    assert_int_equal(env_file_read(file, got, sizeof got, 10, &len), 0);
    assert_int_equal(len, total);
    assert_memory_equal(got, bytes, total);
    env_file_unref(file);
}

static void open_flags_decide_what_may_exist(void **state)
{
    struct fixture *f = *state;
    struct env_file *file = NULL;
    assert_int_equal(env_file_open(f->env, at(f, "none"), ENV_OPEN_READ, &file), -E_NOT_FOUND);
    env_file_unref(open_new(f, "some"));
    int flags = ENV_OPEN_WRITE | ENV_OPEN_CREATE | ENV_OPEN_EXCLUSIVE;
    assert_int_equal(env_file_open(f->env, at(f, "some"), flags, &file), -E_EXISTS);
    assert_int_equal(env_file_open(f->env, at(f, "some/below"), ENV_OPEN_READ, &file),
                     -E_NOT_DIRECTORY);
    assert_null(file);
}

static void file_outlives_its_name(void **state)
{
    struct fixture *f = *state;
    struct env_file *file = open_new(f, "a");
    struct env_file *second = env_file_ref(file);
    char *from = xstrdup(at(f, "a"));
    assert_int_equal(env_rename(f->env, from, at(f, "b")), 0);
    assert_int_equal(env_dir_sync(f->env, f->dir), 0);
    assert_int_equal(env_unlink(f->env, at(f, "b")), 0);
    assert_int_equal(env_unlink(f->env, at(f, "b")), -E_NOT_FOUND);
    env_file_unref(file);
    assert_int_equal(env_file_write(second, "x", 1, 0), 0);
    env_file_unref(second);
    free(from);
}

struct listing {
    char text[256];
    int stop_after;
};

static int list_entry(void *arg, const char *name, bool is_dir)
{
    struct listing *l = arg;
    size_t len = strlen(l->text);
    (void)snprintf(l->text + len, sizeof l->text - len, "%s%s ", name, is_dir ? "/" : "");
    return --l->stop_after == 0 ? -E_CANCELLED : 0;
}

static void directories_list_in_byte_order(void **state)
{
    struct fixture *f = *state;
    env_file_unref(open_new(f, "b"));
    env_file_unref(open_new(f, "a-1"));
    assert_int_equal(env_mkdir(f->env, at(f, "c")), 0);
    env_file_unref(open_new(f, "B"));
    struct listing all = {.text = ""};
    assert_int_equal(env_dir_list(f->env, f->dir, list_entry, &all), 0);
    assert_string_equal(all.text, "B a-1 b c/ ");
    struct listing two = {.text = "", .stop_after = 2};
    assert_int_equal(env_dir_list(f->env, f->dir, list_entry, &two), -E_CANCELLED);
    assert_string_equal(two.text, "B a-1 ");
    assert_int_equal(env_dir_list(f->env, at(f, "none"), list_entry, &all), -E_NOT_FOUND);
}

static void mkdir_makes_parents_and_accepts_existing(void **state)
{
    struct fixture *f = *state;
    assert_int_equal(env_mkdir(f->env, at(f, "x/y/z")), 0);
    assert_int_equal(env_mkdir(f->env, at(f, "x/y/z")), 0);
    assert_int_equal(env_rmdir(f->env, at(f, "x")), -E_NOT_EMPTY);
    assert_int_equal(env_rmdir(f->env, at(f, "x/y/z")), 0);
    assert_int_equal(env_rmdir(f->env, at(f, "x/y")), 0);
    env_file_unref(open_new(f, "plain"));
    assert_int_equal(env_mkdir(f->env, at(f, "plain")), -E_EXISTS);
}

static void lock_has_one_holder_in_a_process(void **state)
{
    struct fixture *f = *state;
    struct env_file *lock = NULL;
    struct env_file *second = NULL;
    assert_int_equal(env_lock(f->env, at(f, ".lock"), &lock), 0);
    assert_int_equal(env_lock(f->env, at(f, ".lock"), &second), -E_LOCKED);
    assert_null(second);
    env_file_unref(lock);
    assert_int_equal(env_lock(f->env, at(f, ".lock"), &second), 0);
    env_file_unref(second);
}

static void disk_space_is_told(void **state)
{
    struct fixture *f = *state;
    struct env_space space = {0};
    struct env_space other = {0};
    assert_int_equal(env_disk_space(f->env, f->dir, &space), 0);
    assert_true(space.total > 0 && space.usable > 0 && space.usable <= space.total);
    assert_true(space.disk != 0);
    assert_int_equal(env_mkdir(f->env, at(f, "below")), 0);
    assert_int_equal(env_disk_space(f->env, at(f, "below"), &other), 0);
    assert_true(other.disk == space.disk);
    assert_int_equal(env_disk_space(f->env, "/proc", &other), 0);
    assert_true(other.disk != space.disk);
    assert_int_equal(env_disk_space(f->env, at(f, "none"), &space), -E_NOT_FOUND);
}

static void boot_id_stays(void **state)
{
    struct fixture *f = *state;
    struct uuid first = UUID_ZERO;
    struct uuid second = UUID_ZERO;
    assert_int_equal(env_boot_id(f->env, &first), 0);
    assert_int_equal(env_boot_id(f->env, &second), 0);
    assert_false(uuid_is_zero(first));
    assert_true(uuid_equal(first, second));
}

/* /dev/full refuses every write as a full disk does. */
static void full_disk_is_named(void **state)
{
    struct fixture *f = *state;
    struct env_file *file = NULL;
    assert_int_equal(env_file_open(f->env, "/dev/full", ENV_OPEN_WRITE, &file), 0);
    assert_int_equal(env_file_write(file, "x", 1, 0), -E_DISK_FULL);
    env_file_unref(file);
}

static void set_and_stop(void *arg)
{
    struct fixture *f = arg;
    loop_stop(f->env);
}

/* Asks the kernel to let go of all of a file; true when it did, and can say so without waiting. */
static bool forget_pages(const char *path, size_t size)
{
    int fd = open(path, O_RDWR);
    assert_true(fd >= 0);
    assert_int_equal(fdatasync(fd), 0);
    (void)posix_fadvise(fd, 0, 0, POSIX_FADV_DONTNEED);
    void *map = mmap(NULL, size, PROT_READ, MAP_SHARED, fd, 0);
    assert_true(map != MAP_FAILED);
    size_t pages = size / (size_t)sysconf(_SC_PAGESIZE);
    unsigned char *resident = xalloc(pages);
    assert_int_equal(mincore(map, size, resident), 0);
    bool is_forgotten = true;
    for (size_t i = 0; i < pages; i++) {
        is_forgotten = is_forgotten && (resident[i] & 1) == 0;
    }
    uint8_t byte;
    struct iovec part = {.iov_base = &byte, .iov_len = 1};
    bool is_told = preadv2(fd, &part, 1, (off_t)size, RWF_NOWAIT) == 0;
    free(resident);
    assert_int_equal(munmap(map, size), 0);
    assert_int_equal(close(fd), 0);
    return is_forgotten && is_told;
}

/* Whether the kernel lets go of pages is its own business: what is asked is that the answers fit. */
static void ranges_are_read_into_memory(void **state)
{
    struct fixture *f = *state;
    size_t size = (size_t)3 << 20;
    uint8_t *bytes = xalloc(size);
    memset(bytes, 'x', size);
    size_t got = 0;
    struct env_file *file = open_new(f, "data");
    assert_int_equal(env_file_write(file, bytes, size, 0), 0);
    assert_true(env_file_is_cached(file, 0, size));
    assert_int_equal(env_file_sync(file), 0);
    if (forget_pages(at(f, "data"), size)) {
        assert_false(env_file_is_cached(file, 0, size));
        assert_true(env_file_is_cached(file, 0, 1000)); /* too short to be asked about */
        assert_int_equal(env_file_read_now(file, bytes, size, 0, &got), -E_AGAIN);
    }
    struct env_range all = {.pos = 0, .len = size, .ahead = size};
    env_file_warm(file, all, set_and_stop, f);
    loop_run(f->env);
    assert_true(env_file_is_cached(file, 0, size));
    uint8_t byte = 0;
    assert_int_equal(env_file_read_now(file, &byte, 1, size - 1, &got), 0);
    assert_int_equal(got, 1);
    assert_int_equal(byte, 'x');
    assert_int_equal(env_file_read_now(file, bytes, size, size - 5, &got), 0);
    assert_int_equal(got, 5);
    struct env_range behind = {.pos = size, .len = size};
    env_file_warm(file, behind, set_and_stop, f);
    env_file_unref(file); /* the job has its own reference */
    loop_run(f->env);
    free(bytes);
}

static void nothing(void *arg)
{
    (void)arg;
}

/* What lies at and behind the position is still wanted, at the start of a file too. */
static void hint_at_the_start_forgets_nothing(void **state)
{
    struct fixture *f = *state;
    size_t size = (size_t)1 << 20;
    uint8_t *bytes = xalloc(size);
    struct env_file *file = open_new(f, "data");
    assert_int_equal(env_file_write(file, bytes, size, 0), 0);
    assert_int_equal(env_file_sync(file), 0);
    env_file_drop_behind(file, 0, size / 2);
    env_work(f->env, nothing, set_and_stop, f); /* runs after the hint */
    loop_run(f->env);
    assert_true(env_file_is_cached(file, 0, size));
    env_file_unref(file);
    free(bytes);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(what_is_written_is_read_back, setup, teardown),
        cmocka_unit_test_setup_teardown(long_vectors_are_written_whole, setup, teardown),
        cmocka_unit_test_setup_teardown(open_flags_decide_what_may_exist, setup, teardown),
        cmocka_unit_test_setup_teardown(file_outlives_its_name, setup, teardown),
        cmocka_unit_test_setup_teardown(directories_list_in_byte_order, setup, teardown),
        cmocka_unit_test_setup_teardown(mkdir_makes_parents_and_accepts_existing, setup, teardown),
        cmocka_unit_test_setup_teardown(lock_has_one_holder_in_a_process, setup, teardown),
        cmocka_unit_test_setup_teardown(disk_space_is_told, setup, teardown),
        cmocka_unit_test_setup_teardown(boot_id_stays, setup, teardown),
        cmocka_unit_test_setup_teardown(full_disk_is_named, setup, teardown),
        cmocka_unit_test_setup_teardown(ranges_are_read_into_memory, setup, teardown),
        cmocka_unit_test_setup_teardown(hint_at_the_start_forgets_nothing, setup, teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
