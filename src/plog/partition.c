/*
 * Reads and writes partition.metadata. Runs on the home env or the disk pool.
 */
#include "plog/partition.h"

#include "base/alloc.h"
#include "plog/checkpoint.h"
#include "plog/text.h"

#include <stdio.h>
#include <stdlib.h>

#define FILE_NAME     "partition.metadata"
#define FILE_SIZE_MAX 4096

/* "key: value" -> value, null when the line has another key. */
static struct slice value_of(struct slice line, const char *key)
{
    size_t len = strlen(key);
    if (line.len < len || memcmp(line.ptr, key, len) != 0) {
        return SLICE_NULL;
    }
    struct slice rest = slice_of(line.ptr + len, line.len - len);
    struct slice word;
    return plog_text_word(&rest, &word) ? word : SLICE_NULL;
}

static int parse_id(struct slice text, struct uuid *ret_id)
{
    struct slice version = SLICE_NULL;
    struct slice id = SLICE_NULL;
    struct slice line;
    while (plog_text_line(&text, &line)) {
        if (slice_is_null(version)) {
            version = value_of(line, "version:");
        }
        if (slice_is_null(id)) {
            id = value_of(line, "topic_id:");
        }
    }
    int64_t number = 0;
    if (slice_is_null(version) || plog_text_number(version, &number) != 0) {
        return -E_MALFORMED;
    }
    if (number != 0) {
        return -E_UNSUPPORTED;
    }
    return slice_is_null(id) ? -E_MALFORMED : uuid_parse(id, ret_id);
}

int plog_partition_read_id(struct env *env, const char *folder, struct uuid *ret_id)
{
    struct buf text;
    buf_init(&text);
    char *path = xasprintf("%s/%s", folder, FILE_NAME);
    int err = plog_file_load(env, path, FILE_SIZE_MAX, &text);
    free(path);
    struct uuid id = UUID_ZERO;
    if (err == 0 && text.len > 0) {
        err = parse_id(buf_slice(&text), &id);
    }
    buf_deinit(&text);
    if (err == 0 || err == -E_NOT_FOUND || err == -E_MALFORMED || err == -E_TOO_LARGE) {
        *ret_id = id;
        return 0;
    }
    return err;
}

static int write_plain(struct env *env, const char *folder, struct slice text)
{
    struct env_file *file = NULL;
    char *path = xasprintf("%s/%s", folder, FILE_NAME);
    int err = env_file_open(env, path, ENV_OPEN_WRITE | ENV_OPEN_CREATE, &file);
    free(path);
    if (err == 0) {
        err = env_file_write(file, text.ptr, text.len, 0);
    }
    env_file_unref(file);
    return err;
}

int plog_partition_write_id(struct env *env, const char *folder, struct uuid id, bool durable)
{
    char id_text[UUID_TEXT_SIZE];
    char text[64];
    uuid_format(id, id_text);
    int len = snprintf(text, sizeof text, "version: 0\ntopic_id: %s", id_text);
    struct slice content = slice_of(text, (size_t)len);
    return durable ? plog_file_replace(env, folder, FILE_NAME, content)
                   : write_plain(env, folder, content);
}
