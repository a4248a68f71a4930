/*
 * The common ground of plan files and topic lists. Each function adds its faults and goes on, so that
 * one run names them all.
 */
#include "cli/plan_parse.h"

#include "base/check.h"
#include "cli/text.h"

#include <inttypes.h>
#include <stdlib.h>

static const char *source_reason(int err)
{
    switch (-err) {
    case E_NOT_FOUND:
        return "no such file";
    case E_REFUSED:
        return "permission denied";
    case E_INVALID:
        return "not a regular file";
    default:
        return error_name(err);
    }
}

/* People save the whole output of --generate; both parts of it are JSON lines under a headline. */
static bool is_generate_output(const struct cli_json_error *error)
{
    static const char *const headlines[] = {"Current partition", "Proposed partition", "Save this"};
    for (size_t i = 0; i < ARRAY_LEN(headlines); i++) {
        if (strncmp(error->rest, headlines[i], strlen(headlines[i])) == 0) {
            return true;
        }
    }
    return error->fault == CLI_JSON_FAULT_TRAILING && error->rest[0] == '{';
}

static void add_json_fault(const struct cli_json_error *error, struct cli_faults *faults)
{
    struct cli_fault fault = {.kind = CLI_FAULT_SYNTAX, .at = error->at};
    if (error->fault == CLI_JSON_FAULT_SOURCE) {
        fault.kind = CLI_FAULT_SOURCE;
        fault.at = (struct cli_json_place){0, 0};
        cli_faults_add(faults, &fault, "cannot be read: %s", source_reason(error->err));
    } else if (error->fault == CLI_JSON_FAULT_EMPTY || error->fault == CLI_JSON_FAULT_ENCODING) {
        fault.at = (struct cli_json_place){0, 0};
        cli_faults_add(faults, &fault, "%s", error->text);
    } else if (is_generate_output(error)) {
        cli_faults_add(faults, &fault,
                       "%s; this looks like the whole output of --generate: save the current and "
                       "the proposed assignment in two files",
                       error->text);
    } else {
        cli_faults_add(faults, &fault, "syntax error: %s", error->text);
    }
}

struct file_source {
    struct env_file *file;
    uint64_t pos;
};

static int read_file(void *arg, uint8_t *ptr, size_t len, size_t *ret_len)
{
    struct file_source *source = arg;
    int err = env_file_read(source->file, ptr, len, source->pos, ret_len);
    if (err == 0) {
        source->pos += *ret_len;
    }
    return err;
}

struct cli_json *cli_plan_parse_file(struct env *env, const char *path, struct arena *arena,
                                     struct cli_faults *faults)
{
    struct file_source source = {0};
    struct cli_json_error error = {.fault = CLI_JSON_FAULT_SOURCE};
    struct cli_json *root = NULL;
    error.err = env_file_open(env, path, ENV_OPEN_READ, &source.file);
    if (error.err == 0 && cli_json_read(read_file, &source, arena, &root, &error) < 0) {
        root = NULL;
    }
    if (root == NULL) {
        add_json_fault(&error, faults);
    }
    env_file_unref(source.file);
    return root;
}

struct cli_json *cli_plan_parse_text(struct slice text, struct arena *arena,
                                     struct cli_faults *faults)
{
    struct cli_json_error error;
    struct cli_json *root = NULL;
    if (cli_json_parse(text, arena, &root, &error) < 0) {
        add_json_fault(&error, faults);
        return NULL;
    }
    return root;
}

static void check_key(const struct cli_json *member, const struct cli_json *first,
                      const char *subject, struct cli_faults *faults)
{
    if (first == member) {
        return;
    }
    struct cli_fault fault = {
        .kind = CLI_FAULT_KEY_REPEATED, .at = member->key_at, .subject = subject};
    cli_faults_add(faults, &fault, "key \"%.*s\" is given twice (first in line %" PRId32 ")",
                   SLICE_ARG(member->key), first->key_at.line);
}

void cli_plan_parse_keys(const struct cli_json *object, const char *const *keys,
                         enum cli_severity unknown, const char *subject, struct cli_faults *faults)
{
    for (const struct cli_json *member = object->first; member != NULL; member = member->next) {
        size_t i = 0;
        while (keys[i] != NULL && !slice_equal_str(member->key, keys[i])) {
            i++;
        }
        if (keys[i] != NULL) {
            check_key(member, cli_json_member(object, keys[i]), subject, faults);
            continue;
        }
        struct cli_fault fault = {.kind = CLI_FAULT_KEY_UNKNOWN,
                                  .severity = unknown,
                                  .at = member->key_at,
                                  .subject = subject};
        struct buf name;
        buf_init(&name);
        cli_text_put_escaped(&name, slice_of(member->key.ptr, MIN(member->key.len, 64)));
        cli_faults_add(faults, &fault, "unknown key \"%.*s\"", SLICE_ARG(buf_slice(&name)));
        buf_deinit(&name);
    }
}

void cli_plan_parse_version(const struct cli_json *root, struct cli_faults *faults)
{
    const struct cli_json *version = cli_json_member(root, "version");
    int64_t number = 0;
    if (version == NULL || cli_json_int(version, 1, 1, &number) == CLI_JSON_INTEGER_OK) {
        return;
    }
    struct cli_fault fault = {.kind = CLI_FAULT_VERSION, .at = version->at};
    if (version->kind == CLI_JSON_NUMBER) {
        cli_faults_add(faults, &fault, "Not supported version field value %.*s (it must be 1)",
                       (int)MIN(version->text.len, 40), (const char *)version->text.ptr);
    } else {
        cli_faults_add(faults, &fault, "version must be the integer 1, not %s",
                       cli_json_kind_name(version->kind));
    }
}

struct cli_json *cli_plan_parse_list(const struct cli_json *root, const char *key,
                                     struct cli_faults *faults)
{
    struct cli_fault fault = {.kind = CLI_FAULT_SHAPE, .at = root->at};
    if (root->kind != CLI_JSON_OBJECT) {
        cli_faults_add(faults, &fault, "the file must hold an object, not %s",
                       cli_json_kind_name(root->kind));
        return NULL;
    }
    struct cli_json *list = cli_json_member(root, key);
    if (list == NULL) {
        cli_faults_add(faults, &fault, "the key \"%s\" is missing", key);
        return NULL;
    }
    if (list->kind != CLI_JSON_ARRAY) {
        fault.at = list->at;
        cli_faults_add(faults, &fault, "\"%s\" must be an array, not %s", key,
                       cli_json_kind_name(list->kind));
        return NULL;
    }
    return list;
}

const char *cli_plan_parse_topic(const struct cli_json *entry, const char *subject,
                                 struct cli_faults *faults)
{
    const struct cli_json *topic = cli_json_member(entry, "topic");
    struct cli_fault fault = {.kind = CLI_FAULT_SHAPE, .at = entry->at, .subject = subject};
    if (topic == NULL) {
        cli_faults_add(faults, &fault, "the key \"topic\" is missing");
        return NULL;
    }
    fault.at = topic->at;
    if (topic->kind != CLI_JSON_STRING) {
        cli_faults_add(faults, &fault, "\"topic\" must be a string, not %s",
                       cli_json_kind_name(topic->kind));
        return NULL;
    }
    const char *reason;
    if (!cli_text_is_topic_name(topic->text, &reason)) {
        fault.kind = CLI_FAULT_TOPIC_NAME;
        cli_faults_add(faults, &fault, "the topic name %s", reason);
        return NULL;
    }
    return (const char *)topic->text.ptr; /* the reader puts a NUL behind each string */
}
