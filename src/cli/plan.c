/*
 * Reading a plan: values to entries, then entries against each other. Entries that are in the list have a legal topic name and a partition index that the file
 * says literally; all other doubts about them are faults.
 */
#include "cli/plan.h"

#include "base/alloc.h"
#include "base/check.h"
#include "cli/plan_parse.h"
#include "cli/text.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

static const char *const plan_keys[] = {"version", "partitions", NULL};
static const char *const entry_keys[] = {"topic", "partition", "replicas", "log_dirs", NULL};

struct parse {
    const struct cli_plan_rules *rules;
    struct cli_plan *plan;
    struct cli_faults *faults;
};

/* ---- one entry ---- */

/* "foo-0" as far as the entry tells; what it does not tell is a question mark. */
static void put_subject(const struct cli_json *entry, char subject[CLI_PLAN_SUBJECT_SIZE])
{
    const struct cli_json *topic = cli_json_member(entry, "topic");
    const struct cli_json *partition = cli_json_member(entry, "partition");
    struct buf name;
    buf_init(&name);
    const char *reason;
    if (topic == NULL || topic->kind != CLI_JSON_STRING || topic->text.len == 0) {
        buf_put_u8(&name, '?');
    } else if (cli_text_is_topic_name(topic->text, &reason)) {
        buf_put_slice(&name, topic->text);
    } else {
        size_t shown = MIN(topic->text.len, 40);
        cli_text_put_escaped(&name, slice_of(topic->text.ptr, shown));
        buf_put_str(&name, shown < topic->text.len ? "..." : "");
    }
    bool has_number = partition != NULL && partition->kind == CLI_JSON_NUMBER;
    snprintf(subject, CLI_PLAN_SUBJECT_SIZE, "%.*s-%.*s", SLICE_ARG(buf_slice(&name)),
             has_number ? (int)MIN(partition->text.len, 24) : 1,
             has_number ? (const char *)partition->text.ptr : "?");
    buf_deinit(&name);
}

/* Reads an id or index of 0..2^31-1, or says what is wrong with it. */
static bool parse_number(struct parse *p, const struct cli_json *value, const char *what,
                         const char *subject, int32_t *ret_number)
{
    int64_t number = 0;
    struct cli_fault fault = cli_plan_fault(p->rules, CLI_FAULT_SHAPE, value->at, subject);
    int shown = (int)MIN(value->text.len, 40);
    switch (cli_json_int(value, 0, INT32_MAX, &number)) {
    case CLI_JSON_INTEGER_OK:
        *ret_number = (int32_t)number;
        return true;
    case CLI_JSON_INTEGER_TYPE:
        cli_faults_add(p->faults, &fault, "%s must be an integer, not %s", what,
                       cli_json_kind_name(value->kind));
        return false;
    case CLI_JSON_INTEGER_FRACTION:
        cli_faults_add(p->faults, &fault, "%s must be written as a plain integer, not %.*s", what,
                       shown, (const char *)value->text.ptr);
        return false;
    case CLI_JSON_INTEGER_RANGE:
        fault.kind = CLI_FAULT_RANGE;
        if (value->text.ptr[0] == '-') {
            cli_faults_add(p->faults, &fault, "%s is negative: %.*s", what, shown,
                           (const char *)value->text.ptr);
        } else {
            cli_faults_add(p->faults, &fault, "%s is beyond 2147483647: %.*s", what, shown,
                           (const char *)value->text.ptr);
        }
        return false;
    }
    return false;
}

/* An id with the place where it stands. */
struct placed_id {
    int32_t id;
    const struct cli_json *value;
};

static int compare_placed_ids(const void *a, const void *b)
{
    const struct placed_id *x = a;
    const struct placed_id *y = b;
    if (x->id != y->id) {
        return x->id < y->id ? -1 : 1;
    }
    if (x->value->at.line != y->value->at.line) {
        return x->value->at.line < y->value->at.line ? -1 : 1;
    }
    return x->value->at.column < y->value->at.column ? -1
                                                     : x->value->at.column > y->value->at.column;
}

static void check_repeated_ids(struct parse *p, const struct cli_plan_entry *entry,
                               const char *subject)
{
    int32_t count = entry->replicas.count;
    struct placed_id *sorted = xalloc((size_t)MAX(count, 1) * sizeof *sorted);
    const struct cli_json *value = entry->replicas_json->first;
    for (int32_t i = 0; i < count; i++, value = value->next) {
        sorted[i] = (struct placed_id){entry->replicas.list[i], value};
    }
    qsort(sorted, (size_t)count, sizeof *sorted, compare_placed_ids);
    for (int32_t i = 1; i < count; i++) {
        bool is_second =
            sorted[i].id == sorted[i - 1].id && (i < 2 || sorted[i - 2].id != sorted[i].id);
        if (is_second) {
            struct cli_fault fault =
                cli_plan_fault(p->rules, CLI_FAULT_REPLICA_REPEATED, sorted[i].value->at, subject);
            fault.value = sorted[i].id;
            cli_faults_add(p->faults, &fault, "broker %" PRId32 " is in the replica list twice",
                           sorted[i].id);
        }
    }
    free(sorted);
}

/* Returns false when memory is refused; faults are faults only. */
static bool parse_replicas(struct parse *p, const struct cli_json *json, const char *subject,
                           struct cli_plan_entry *entry)
{
    const struct cli_json *list = cli_json_member(json, "replicas");
    struct cli_fault fault = cli_plan_fault(p->rules, CLI_FAULT_SHAPE, json->at, subject);
    if (list == NULL) {
        cli_faults_add(p->faults, &fault, "the key \"replicas\" is missing");
        return true;
    }
    fault.at = list->at;
    if (list->kind != CLI_JSON_ARRAY) {
        cli_faults_add(p->faults, &fault, "\"replicas\" must be an array, not %s",
                       cli_json_kind_name(list->kind));
        return true;
    }
    if (list->count == 0) {
        fault = cli_plan_fault(p->rules, CLI_FAULT_REPLICAS_EMPTY, list->at, subject);
        cli_faults_add(p->faults, &fault, "Partition replica list cannot be empty");
        return true;
    }
    int32_t *ids = arena_array(&p->plan->arena, (size_t)list->count, sizeof *ids);
    if (ids == NULL) {
        return false;
    }
    bool is_valid = true;
    int32_t i = 0;
    for (const struct cli_json *value = list->first; value != NULL; value = value->next, i++) {
        is_valid = parse_number(p, value, "a broker id", subject, &ids[i]) && is_valid;
    }
    entry->replicas_at = list->at;
    entry->replicas_json = list;
    if (is_valid) {
        entry->has_valid_replicas = true;
        entry->replicas = (struct klamm_ids){ids, list->count};
        check_repeated_ids(p, entry, subject);
    }
    return true;
}

static void parse_log_dir(struct parse *p, const struct cli_json *value, const char *subject,
                          struct cli_plan_entry *entry)
{
    struct cli_fault fault = cli_plan_fault(p->rules, CLI_FAULT_LOG_DIRS, value->at, subject);
    if (value->kind != CLI_JSON_STRING) {
        cli_faults_add(p->faults, &fault, "a log directory must be a string, not %s",
                       cli_json_kind_name(value->kind));
    } else if (slice_equal_str(value->text, "any")) {
        return;
    } else if (value->text.len == 0 || value->text.ptr[0] != '/' ||
               memchr(value->text.ptr, '\0', value->text.len) != NULL) {
        cli_faults_add(p->faults, &fault, "a log directory must be \"any\" or an absolute path");
    } else {
        entry->asks_log_dirs = true;
    }
}

static void parse_log_dirs(struct parse *p, const struct cli_json *json, const char *subject,
                           struct cli_plan_entry *entry)
{
    const struct cli_json *list = cli_json_member(json, "log_dirs");
    const struct cli_json *replicas = cli_json_member(json, "replicas");
    if (list == NULL) {
        return;
    }
    struct cli_fault fault = cli_plan_fault(p->rules, CLI_FAULT_LOG_DIRS, list->at, subject);
    if (list->kind != CLI_JSON_ARRAY) {
        cli_faults_add(p->faults, &fault, "\"log_dirs\" must be an array, not %s",
                       cli_json_kind_name(list->kind));
        return;
    }
    if (replicas != NULL && replicas->kind == CLI_JSON_ARRAY && replicas->count != list->count) {
        cli_faults_add(p->faults, &fault,
                       "the size of the replica list (%" PRId32 ") is different from the size of "
                       "the list of log directories (%" PRId32 ")",
                       replicas->count, list->count);
    }
    for (const struct cli_json *value = list->first; value != NULL; value = value->next) {
        parse_log_dir(p, value, subject, entry);
    }
}

static bool parse_entry(struct parse *p, const struct cli_json *json)
{
    if (json->kind != CLI_JSON_OBJECT) {
        struct cli_fault fault = cli_plan_fault(p->rules, CLI_FAULT_SHAPE, json->at, NULL);
        cli_faults_add(p->faults, &fault, "a partition must be an object, not %s",
                       cli_json_kind_name(json->kind));
        return true;
    }
    char subject[CLI_PLAN_SUBJECT_SIZE];
    put_subject(json, subject);
    cli_plan_parse_keys(json, entry_keys, cli_plan_severity(p->rules, CLI_FAULT_KEY_UNKNOWN),
                        subject, p->faults);
    struct cli_plan_entry entry = {.at = json->at};
    entry.topic = cli_plan_parse_topic(json, subject, p->faults);
    const struct cli_json *partition = cli_json_member(json, "partition");
    bool has_partition = false;
    if (partition == NULL) {
        struct cli_fault fault = cli_plan_fault(p->rules, CLI_FAULT_SHAPE, json->at, subject);
        cli_faults_add(p->faults, &fault, "the key \"partition\" is missing");
    } else {
        has_partition = parse_number(p, partition, "the partition", subject, &entry.partition);
    }
    if (!parse_replicas(p, json, subject, &entry)) {
        return false;
    }
    parse_log_dirs(p, json, subject, &entry);
    if (entry.topic != NULL && has_partition) {
        p->plan->entries[p->plan->count++] = entry;
    }
    return true;
}

/* ---- the whole ---- */

static int compare_entries(const void *a, const void *b)
{
    const struct cli_plan_entry *x = a;
    const struct cli_plan_entry *y = b;
    int order = strcmp(x->topic, y->topic);
    if (order != 0) {
        return order;
    }
    if (x->partition != y->partition) {
        return x->partition < y->partition ? -1 : 1;
    }
    if (x->at.line != y->at.line) {
        return x->at.line < y->at.line ? -1 : 1;
    }
    return x->at.column < y->at.column ? -1 : x->at.column > y->at.column;
}

/* Sorts the entries and marks all but the first of a partition. */
static void find_repeated(struct parse *p)
{
    struct cli_plan *plan = p->plan;
    if (plan->count > 1) {
        qsort(plan->entries, (size_t)plan->count, sizeof *plan->entries, compare_entries);
    }
    const struct cli_plan_entry *first = plan->entries;
    for (int32_t i = 1; i < plan->count; i++) {
        struct cli_plan_entry *entry = &plan->entries[i];
        if (entry->partition != first->partition || strcmp(entry->topic, first->topic) != 0) {
            first = entry;
            continue;
        }
        entry->is_repeated = true;
        char subject[CLI_PLAN_SUBJECT_SIZE];
        snprintf(subject, sizeof subject, "%s-%" PRId32, entry->topic, entry->partition);
        struct cli_fault fault =
            cli_plan_fault(p->rules, CLI_FAULT_PARTITION_REPEATED, entry->at, subject);
        cli_faults_add(p->faults, &fault, "duplicate partition (lines %" PRId32 " and %" PRId32 ")",
                       first->at.line, entry->at.line);
    }
}

static void parse_root(struct parse *p, const struct cli_json *root)
{
    const struct cli_json *list = cli_plan_parse_list(root, "partitions", p->faults);
    if (root->kind == CLI_JSON_OBJECT) {
        cli_plan_parse_keys(root, plan_keys, cli_plan_severity(p->rules, CLI_FAULT_KEY_UNKNOWN),
                            NULL, p->faults);
        cli_plan_parse_version(root, p->faults);
    }
    if (list == NULL) {
        return;
    }
    if (list->count == 0) {
        struct cli_fault fault = cli_plan_fault(p->rules, CLI_FAULT_LIST_EMPTY, list->at, NULL);
        cli_faults_add(p->faults, &fault, "Partition reassignment list cannot be empty");
        return;
    }
    struct cli_plan *plan = p->plan;
    plan->entries = arena_array(&plan->arena, (size_t)list->count, sizeof *plan->entries);
    const struct cli_json *json = plan->entries == NULL ? NULL : list->first;
    while (json != NULL && parse_entry(p, json)) {
        json = json->next;
    }
    if (plan->entries == NULL || json != NULL) {
        struct cli_fault fault = cli_plan_fault(p->rules, CLI_FAULT_SYNTAX, list->at, NULL);
        cli_faults_add(p->faults, &fault, "the file holds more values than we read");
        plan->count = 0;
        return;
    }
    find_repeated(p);
}

static struct cli_plan *plan_new(void)
{
    struct cli_plan *plan = xalloc(sizeof *plan);
    arena_init(&plan->arena, CLI_PLAN_MEMORY_MAX);
    return plan;
}

static void plan_finish(struct cli_plan *plan, const struct cli_json *root,
                        const struct cli_plan_rules *rules, struct cli_faults *faults)
{
    if (root != NULL) {
        struct parse p = {.rules = rules, .plan = plan, .faults = faults};
        parse_root(&p, root);
    }
}

struct cli_plan *cli_plan_read(struct env *env, const char *path,
                               const struct cli_plan_rules *rules, struct cli_faults *faults)
{
    struct cli_plan *plan = plan_new();
    plan_finish(plan, cli_plan_parse_file(env, path, &plan->arena, faults), rules, faults);
    return plan;
}

struct cli_plan *cli_plan_parse(struct slice text, const struct cli_plan_rules *rules,
                                struct cli_faults *faults)
{
    struct cli_plan *plan = plan_new();
    plan_finish(plan, cli_plan_parse_text(text, &plan->arena, faults), rules, faults);
    return plan;
}

void cli_plan_free(struct cli_plan *plan)
{
    if (plan != NULL) {
        arena_deinit(&plan->arena);
        free(plan);
    }
}

const char *const *cli_plan_topics(struct cli_plan *plan, int32_t *ret_count)
{
    const char **names = arena_array(&plan->arena, (size_t)MAX(plan->count, 1), sizeof *names);
    int32_t count = 0;
    for (int32_t i = 0; names != NULL && i < plan->count; i++) {
        if (count == 0 || strcmp(names[count - 1], plan->entries[i].topic) != 0) {
            names[count++] = plan->entries[i].topic;
        }
    }
    *ret_count = count;
    return names;
}
