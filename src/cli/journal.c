/*
 * Invariant: values holds what a reader of the file would find; size is where the next line goes. A failed
 * write or sync leaves the journal failed: what is on disk is then unknown, and nothing may build on it.
 */
#include "cli/journal.h"

#include "base/alloc.h"
#include "base/buf.h"
#include "base/check.h"
#include "base/crc32c.h"
#include "base/map.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#define HEADER      "klamm-journal 1\n"
#define CRC_DIGITS  8
#define COMPACT_MIN (8 << 20) /* bytes; a smaller file is never rewritten */

struct value {
    UT_hash_handle hh;
    char *name;
    char *text; /* without a NUL inside, since lines are text */
    size_t len;
};

struct cli_journal {
    struct env *env;
    struct env_file *file; /* locked */
    char *path;
    struct value *values;
    uint64_t size;
    uint64_t live_bytes; /* of lines that are not out of date */
    bool has_failed;
};

/* ---- values ---- */

static uint64_t line_bytes(const struct value *v)
{
    return CRC_DIGITS + 1 + strlen(v->name) + 1 + v->len + 1;
}

static void value_drop(struct cli_journal *j, struct value *v)
{
    j->live_bytes -= line_bytes(v);
    HASH_DEL(j->values, v);
    free(v->name);
    free(v->text);
    free(v);
}

static void value_set(struct cli_journal *j, struct slice name, struct slice text)
{
    struct value *v = NULL;
    HASH_FIND(hh, j->values, name.ptr, name.len, v);
    if (v != NULL) {
        value_drop(j, v);
    }
    if (slice_is_null(text)) {
        return;
    }
    v = xalloc(sizeof *v);
    v->name = slice_dup(name);
    v->text = slice_dup(text);
    v->len = text.len;
    HASH_ADD_KEYPTR(hh, j->values, v->name, name.len, v);
    j->live_bytes += line_bytes(v);
}

/* ---- reading ---- */

/* One line without its end; false: damaged. */
static bool parse_line(struct cli_journal *j, struct slice line)
{
    uint32_t crc = 0;
    if (line.len < CRC_DIGITS + 2 || line.ptr[CRC_DIGITS] != ' ') {
        return false;
    }
    for (size_t i = 0; i < CRC_DIGITS; i++) {
        uint8_t c = line.ptr[i];
        bool is_digit = c >= '0' && c <= '9';
        if (!is_digit && !(c >= 'a' && c <= 'f')) {
            return false;
        }
        crc = crc << 4 | (uint32_t)(is_digit ? c - '0' : c - 'a' + 10);
    }
    struct slice rest = slice_of(line.ptr + CRC_DIGITS + 1, line.len - CRC_DIGITS - 1);
    const uint8_t *blank = memchr(rest.ptr, ' ', rest.len);
    if (crc32c(0, rest.ptr, rest.len) != crc || blank == NULL || blank == rest.ptr) {
        return false;
    }
    struct slice name = slice_of(rest.ptr, (size_t)(blank - rest.ptr));
    struct slice text = slice_of(blank + 1, rest.len - name.len - 1);
    value_set(j, name, slice_equal_str(text, "-") ? SLICE_NULL : text);
    return true;
}

/* Replays the lines behind the header; what is torn at the end does not count. */
static int replay(struct cli_journal *j, struct slice all, struct errmsg *em)
{
    size_t at = strlen(HEADER);
    for (int64_t number = 2; at < all.len; number++) {
        const uint8_t *end = memchr(all.ptr + at, '\n', all.len - at);
        size_t len = end == NULL ? all.len - at : (size_t)(end - (all.ptr + at));
        bool is_last = end == NULL || at + len + 1 == all.len;
        bool is_good = end != NULL && parse_line(j, slice_of(all.ptr + at, len));
        if (!is_good && !is_last) {
            return errmsg_set(em, E_CORRUPT, "%s: line %" PRId64 " is damaged", j->path, number);
        }
        if (!is_good) {
            break;
        }
        at += len + 1;
    }
    j->size = at;
    return 0;
}

static int check_header(const struct cli_journal *j, struct slice all, struct errmsg *em)
{
    size_t len = strlen(HEADER);
    if (all.len >= len && memcmp(all.ptr, HEADER, len) == 0) {
        return 0;
    }
    const char *name = "klamm-journal ";
    bool is_ours = all.len > strlen(name) && memcmp(all.ptr, name, strlen(name)) == 0;
    return errmsg_set(em, is_ours ? E_UNSUPPORTED : E_INVALID,
                      is_ours ? "%s: the journal is of another version of klamm"
                              : "%s is no journal of klamm",
                      j->path);
}

static int read_all(struct cli_journal *j, struct buf *all, struct errmsg *em)
{
    uint64_t size = 0;
    size_t got = 0;
    int err = env_file_size(j->file, &size);
    if (err == 0 && size > (uint64_t)CLI_JOURNAL_BYTES_MAX) {
        return errmsg_set(em, E_TOO_LARGE, "%s is larger than a journal may be", j->path);
    }
    if (err == 0 && size > 0) {
        err = env_file_read(j->file, buf_put_space(all, size), size, 0, &got);
    }
    if (err < 0) {
        return errmsg_set(em, -err, "%s cannot be read: %s", j->path, error_name(err));
    }
    all->len = got;
    return 0;
}

/* ---- writing ---- */

static int fail_write(struct cli_journal *j, int err, struct errmsg *em)
{
    j->has_failed = true;
    return errmsg_set(em, -err, "%s cannot be written: %s", j->path, error_name(err));
}

static char *folder_of(const char *path)
{
    const char *slash = strrchr(path, '/');
    return slash == NULL   ? xstrdup(".")
           : slash == path ? xstrdup("/")
                           : slice_dup(slice_of(path, (size_t)(slash - path)));
}

/* The header of a new file, and its name in the folder. */
static int begin_file(struct cli_journal *j, struct errmsg *em)
{
    char *folder = folder_of(j->path);
    int err = env_file_truncate(j->file, 0);
    if (err == 0) {
        err = env_file_write(j->file, HEADER, strlen(HEADER), 0);
    }
    if (err == 0) {
        err = env_file_sync(j->file);
    }
    if (err == 0) {
        err = env_dir_sync(j->env, folder);
    }
    free(folder);
    j->size = strlen(HEADER);
    return err < 0 ? fail_write(j, err, em) : 0;
}

static int load(struct cli_journal *j, struct errmsg *em)
{
    struct buf all;
    buf_init(&all);
    int err = read_all(j, &all, em);
    /* A header that was not written as a whole is a file that was never used. */
    bool is_new =
        all.len < strlen(HEADER) && (all.len == 0 || memcmp(all.ptr, HEADER, all.len) == 0);
    if (err == 0 && is_new) {
        err = begin_file(j, em);
    } else if (err == 0) {
        err = check_header(j, buf_slice(&all), em);
        err = err == 0 ? replay(j, buf_slice(&all), em) : err;
        if (err == 0 && j->size < all.len && env_file_truncate(j->file, j->size) < 0) {
            err = errmsg_set(em, E_IO, "%s: what is torn at its end cannot be cut off", j->path);
        }
    }
    buf_deinit(&all);
    return err;
}

int cli_journal_open(struct env *env, const char *path, struct cli_journal **ret_journal,
                     struct errmsg *em)
{
    struct cli_journal *j = xalloc(sizeof *j);
    j->env = env;
    j->path = xstrdup(path);
    int err = env_lock(env, path, &j->file);
    if (err == -E_LOCKED) {
        err = errmsg_set(em, E_LOCKED, "%s is in use by another klamm", path);
    } else if (err < 0) {
        err = errmsg_set(em, -err, "%s cannot be opened: %s", path, error_name(err));
    } else {
        err = load(j, em);
    }
    if (err < 0) {
        cli_journal_close(j);
        return err;
    }
    *ret_journal = j;
    return 0;
}

void cli_journal_close(struct cli_journal *journal)
{
    if (journal == NULL) {
        return;
    }
    struct value *v = NULL;
    struct value *next = NULL;
    HASH_ITER(hh, journal->values, v, next)
    {
        value_drop(journal, v);
    }
    env_file_unref(journal->file);
    free(journal->path);
    free(journal);
}

bool cli_journal_is_empty(const struct cli_journal *journal)
{
    return journal->values == NULL;
}

static void put_line(struct buf *out, const char *name, struct slice text)
{
    struct buf rest;
    buf_init(&rest);
    buf_putf(&rest, "%s ", name);
    buf_put_slice(&rest, slice_is_null(text) ? slice_str("-") : text);
    buf_putf(out, "%08" PRIx32 " ", crc32c(0, rest.ptr, rest.len));
    buf_put_slice(out, buf_slice(&rest));
    buf_put_u8(out, '\n');
    buf_deinit(&rest);
}

int cli_journal_put(struct cli_journal *journal, const char *name, struct slice value,
                    struct errmsg *em)
{
    struct buf line;
    CHECK(name[0] != '\0' && strchr(name, ' ') == NULL && strlen(name) <= CLI_JOURNAL_NAME_MAX);
    CHECK(value.len == 0 || memchr(value.ptr, '\n', value.len) == NULL);
    CHECK(!slice_equal_str(value, "-"));
    if (journal->has_failed) {
        return errmsg_set(em, E_IO, "%s cannot be written any more", journal->path);
    }
    buf_init(&line);
    put_line(&line, name, value);
    int err = env_file_write(journal->file, line.ptr, line.len, journal->size);
    journal->size += err == 0 ? line.len : 0;
    buf_deinit(&line);
    if (err < 0) {
        return fail_write(journal, err, em);
    }
    value_set(journal, slice_str(name), value);
    return 0;
}

int cli_journal_clear(struct cli_journal *journal, struct errmsg *em)
{
    struct value *v = NULL;
    struct value *next = NULL;
    HASH_ITER(hh, journal->values, v, next)
    {
        char *name = xstrdup(v->name); /* the value goes with its removal */
        int err = cli_journal_put(journal, name, SLICE_NULL, em);
        free(name);
        if (err < 0) {
            return err;
        }
    }
    return 0;
}

/* ---- keeping it small ---- */

static int compare_values(struct value *a, struct value *b)
{
    return strcmp(a->name, b->name);
}

/* The live lines in place of all: written beside, then given the name. */
static int rewrite(struct cli_journal *j, struct errmsg *em)
{
    struct buf all;
    struct env_file *file = NULL;
    struct value *v = NULL;
    struct value *next = NULL;
    char *beside = xasprintf("%s.new", j->path);
    char *folder = folder_of(j->path);
    buf_init(&all);
    buf_put_str(&all, HEADER);
    HASH_ITER(hh, j->values, v, next)
    {
        put_line(&all, v->name, slice_of(v->text, v->len));
    }
    int err = env_lock(j->env, beside, &file);
    err = err == 0 ? env_file_truncate(file, 0) : err;
    err = err == 0 ? env_file_write(file, all.ptr, all.len, 0) : err;
    err = err == 0 ? env_file_sync(file) : err;
    err = err == 0 ? env_rename(j->env, beside, j->path) : err;
    err = err == 0 ? env_dir_sync(j->env, folder) : err;
    if (err == 0) {
        env_file_unref(j->file);
        j->file = file;
        j->size = all.len;
    } else {
        env_file_unref(file);
        err = fail_write(j, err, em);
    }
    buf_deinit(&all);
    free(folder);
    free(beside);
    return err;
}

int cli_journal_sync(struct cli_journal *journal, struct errmsg *em)
{
    if (journal->has_failed) {
        return errmsg_set(em, E_IO, "%s cannot be written any more", journal->path);
    }
    if (journal->size > COMPACT_MIN && journal->size > 4 * journal->live_bytes) {
        return rewrite(journal, em);
    }
    int err = env_file_sync(journal->file);
    return err < 0 ? fail_write(journal, err, em) : 0;
}

int cli_journal_each(struct cli_journal *journal, const char *prefix, cli_journal_fn fn, void *arg,
                     struct errmsg *em)
{
    struct value *v = NULL;
    struct value *next = NULL;
    HASH_SORT(journal->values, compare_values);
    HASH_ITER(hh, journal->values, v, next)
    {
        if (strncmp(v->name, prefix, strlen(prefix)) == 0) {
            int err = fn(arg, v->name, slice_of(v->text, v->len), em);
            if (err < 0) {
                return err;
            }
        }
    }
    return 0;
}
