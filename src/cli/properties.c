/*
 * Lines of "key=value" or "key: value"; '#' and '!' start comments. No continuation lines: none of
 * the keys read here needs one.
 */
#include "cli/properties.h"

#include "base/alloc.h"
#include "base/check.h"
#include "cli/text.h"

#include <inttypes.h>
#include <stdlib.h>

#define FILE_BYTES_MAX 65536

static struct slice trim(struct slice s)
{
    while (s.len > 0 && (s.ptr[0] == ' ' || s.ptr[0] == '\t')) {
        s = slice_of(s.ptr + 1, s.len - 1);
    }
    while (s.len > 0 &&
           (s.ptr[s.len - 1] == ' ' || s.ptr[s.len - 1] == '\t' || s.ptr[s.len - 1] == '\r')) {
        s.len--;
    }
    return s;
}

static int apply(struct slice key, const char *value, struct cli_properties *properties,
                 struct errmsg *em)
{
    if (slice_equal_str(key, "client.id")) {
        free(properties->owned_client_id);
        properties->owned_client_id = xstrdup(value);
        properties->client_id = properties->owned_client_id;
    } else if (slice_equal_str(key, "request.timeout.ms")) {
        int64_t timeout_ms = 0;
        if (!cli_text_parse_int(value, 1, INT32_MAX, &timeout_ms)) {
            return errmsg_set(em, E_INVALID, "request.timeout.ms: \"%.50s\" is no time in ms",
                              value);
        }
        properties->request_timeout_ms = (int32_t)timeout_ms;
    } else if (slice_equal_str(key, "security.protocol") && strcmp(value, "PLAINTEXT") != 0) {
        return errmsg_set(em, E_UNSUPPORTED,
                          "security.protocol=%.50s is not available yet, only PLAINTEXT is", value);
    }
    return 0;
}

static int parse_line(struct slice line, struct cli_properties *properties, struct errmsg *em)
{
    line = trim(line);
    if (line.len == 0 || line.ptr[0] == '#' || line.ptr[0] == '!') {
        return 0;
    }
    size_t end = 0;
    while (end < line.len && line.ptr[end] != '=' && line.ptr[end] != ':') {
        end++;
    }
    size_t start = MIN(end + 1, line.len);
    char *value = slice_dup(trim(slice_of(line.ptr + start, line.len - start)));
    int err = apply(trim(slice_of(line.ptr, end)), value, properties, em);
    free(value);
    return err;
}

int cli_properties_parse(struct slice text, struct cli_properties *properties, struct errmsg *em)
{
    while (text.len > 0) {
        const uint8_t *newline = memchr(text.ptr, '\n', text.len);
        size_t len = newline == NULL ? text.len : (size_t)(newline - text.ptr);
        int err = parse_line(slice_of(text.ptr, len), properties, em);
        if (err < 0) {
            return err;
        }
        size_t used = MIN(len + 1, text.len);
        text = slice_of(text.ptr + used, text.len - used);
    }
    return 0;
}

int cli_properties_read(struct env *env, const char *path, struct cli_properties *properties,
                        struct errmsg *em)
{
    struct env_file *file = NULL;
    uint8_t *bytes = xalloc(FILE_BYTES_MAX);
    size_t len = 0;
    int err = env_file_open(env, path, ENV_OPEN_READ, &file);
    if (err == 0) {
        err = env_file_read(file, bytes, FILE_BYTES_MAX, 0, &len);
    }
    if (err < 0) {
        err = errmsg_set(em, (enum error) - err, "cannot be read: %s", error_name(err));
    } else if (len == FILE_BYTES_MAX) {
        err = errmsg_set(em, E_TOO_LARGE, "is larger than 64 KiB");
    } else {
        err = cli_properties_parse(slice_of(bytes, len), properties, em);
    }
    if (err < 0) {
        errmsg_prefix(em, "%s", path);
    }
    env_file_unref(file);
    free(bytes);
    return err;
}

void cli_properties_deinit(struct cli_properties *properties)
{
    free(properties->owned_client_id);
    properties->owned_client_id = NULL;
}
