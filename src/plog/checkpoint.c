/*
 * Checkpoint entries and their text. A file is replaced as a whole, so that a crash leaves the old or
 * the new one. Runs on the home env; the file functions may run on the disk pool.
 */
#include "plog/checkpoint.h"

#include "base/alloc.h"
#include "base/check.h"
#include "plog/text.h"

#include <inttypes.h>
#include <stdlib.h>

void plog_checkpoint_deinit(struct plog_checkpoint *c)
{
    for (size_t i = 0; i < c->count; i++) {
        free(c->entries[i].topic);
    }
    free(c->entries);
    *c = (struct plog_checkpoint){0};
}

static void checkpoint_push(struct plog_checkpoint *c, char *topic, int32_t partition,
                            int64_t offset)
{
    if (c->count == c->cap) {
        c->cap = c->cap == 0 ? 16 : c->cap * 2;
        c->entries = xrealloc(c->entries, c->cap * sizeof *c->entries);
    }
    c->entries[c->count++] = (struct plog_checkpoint_entry){topic, partition, offset};
}

void plog_checkpoint_add(struct plog_checkpoint *c, const char *topic, int32_t partition,
                         int64_t offset)
{
    checkpoint_push(c, xstrdup(topic), partition, offset);
}

static int entry_compare(const char *topic_a, int32_t partition_a, const char *topic_b,
                         int32_t partition_b)
{
    int order = strcmp(topic_a, topic_b);
    return order != 0 ? order : (partition_a > partition_b) - (partition_a < partition_b);
}

static int entries_compare(const void *a, const void *b)
{
    const struct plog_checkpoint_entry *x = a;
    const struct plog_checkpoint_entry *y = b;
    return entry_compare(x->topic, x->partition, y->topic, y->partition);
}

void plog_checkpoint_sort(struct plog_checkpoint *c)
{
    if (c->count > 1) {
        qsort(c->entries, c->count, sizeof *c->entries, entries_compare);
    }
}

int64_t plog_checkpoint_find(const struct plog_checkpoint *c, const char *topic, int32_t partition,
                             int64_t missing)
{
    size_t low = 0;
    size_t high = c->count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        const struct plog_checkpoint_entry *e = &c->entries[middle];
        int order = entry_compare(e->topic, e->partition, topic, partition);
        if (order == 0) {
            return e->offset;
        }
        if (order < 0) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    return missing;
}

void plog_checkpoint_format(const struct plog_checkpoint *c, struct buf *out)
{
    buf_putf(out, "0\n%zu\n", c->count);
    for (size_t i = 0; i < c->count; i++) {
        const struct plog_checkpoint_entry *e = &c->entries[i];
        buf_putf(out, "%s %" PRId32 " %" PRId64 "\n", e->topic, e->partition, e->offset);
    }
}

static int parse_entry_line(struct slice line, struct plog_checkpoint *c)
{
    struct slice topic;
    int64_t partition = 0;
    int64_t offset = 0;
    struct slice rest;
    if (!plog_text_word(&line, &topic) || plog_text_take(&line, 0, INT32_MAX, &partition) != 0 ||
        plog_text_take(&line, 0, INT64_MAX, &offset) != 0 || plog_text_word(&line, &rest) ||
        memchr(topic.ptr, '\0', topic.len) != NULL) {
        return -E_MALFORMED;
    }
    checkpoint_push(c, slice_dup(topic), (int32_t)partition, offset);
    return 0;
}

int plog_checkpoint_parse(struct slice text, struct plog_checkpoint *ret_entries, struct errmsg *em)
{
    struct slice line;
    int64_t version = 0;
    int64_t count = 0;
    if (!plog_text_line(&text, &line) || plog_text_number(line, &version) != 0) {
        return errmsg_set(em, E_MALFORMED, "line 1 is not a version");
    }
    if (version != 0) {
        return errmsg_set(em, E_UNSUPPORTED, "version %" PRId64 " is not known here", version);
    }
    if (!plog_text_line(&text, &line) || plog_text_number(line, &count) != 0 || count < 0) {
        return errmsg_set(em, E_MALFORMED, "line 2 is not a count");
    }
    struct plog_checkpoint c = {0};
    int err = 0;
    while (err == 0 && plog_text_line(&text, &line)) {
        if (parse_entry_line(line, &c) != 0) {
            err = errmsg_set(em, E_MALFORMED, "line %zu is not an entry", c.count + 3);
        }
    }
    if (err == 0 && (int64_t)c.count != count) {
        err = errmsg_set(em, E_MALFORMED, "%zu entries where %" PRId64 " are announced", c.count,
                         count);
    }
    if (err != 0) {
        plog_checkpoint_deinit(&c);
        return err;
    }
    plog_checkpoint_sort(&c);
    *ret_entries = c;
    return 0;
}

static int write_synced(struct env *env, const char *path, struct slice content)
{
    struct env_file *file = NULL;
    int err = env_file_open(env, path, ENV_OPEN_WRITE | ENV_OPEN_CREATE, &file);
    if (err != 0) {
        return err;
    }
    err = env_file_truncate(file, 0);
    if (err == 0 && content.len > 0) {
        err = env_file_write(file, content.ptr, content.len, 0);
    }
    if (err == 0) {
        err = env_file_sync(file);
    }
    env_file_unref(file);
    return err;
}

int plog_file_replace(struct env *env, const char *dir, const char *name, struct slice content)
{
    char *path = xasprintf("%s/%s", dir, name);
    char *temporary = xasprintf("%s.tmp", path);
    int err = write_synced(env, temporary, content);
    if (err == 0) {
        err = env_rename(env, temporary, path);
    }
    if (err == 0) {
        err = env_dir_sync(env, dir);
    }
    free(temporary);
    free(path);
    return err;
}

int plog_file_load(struct env *env, const char *path, size_t max, struct buf *out)
{
    struct env_file *file = NULL;
    int err = env_file_open(env, path, ENV_OPEN_READ, &file);
    if (err != 0) {
        return err;
    }
    uint64_t size = 0;
    err = env_file_size(file, &size);
    if (err == 0 && size > max) {
        err = -E_TOO_LARGE;
    }
    size_t start = out->len;
    if (err == 0 && size > 0) {
        uint8_t *room = buf_put_space(out, (size_t)size);
        size_t got = 0;
        err = room == NULL ? -E_TOO_LARGE : env_file_read(file, room, (size_t)size, 0, &got);
        out->len = start + got;
    }
    env_file_unref(file);
    return err;
}
