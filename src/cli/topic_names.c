/*
 * Reading a list of topics, by the same hands as plan files.
 */
#include "cli/topic_names.h"

#include "base/alloc.h"
#include "base/check.h"
#include "cli/plan_parse.h"

#include <stdlib.h>

static const char *const file_keys[] = {"version", "topics", NULL};
static const char *const topic_keys[] = {"topic", NULL};

static void topic_names_finish(struct cli_topic_names *names, const struct cli_json *root,
                               struct cli_faults *faults)
{
    const struct cli_json *list = root == NULL ? NULL : cli_plan_parse_list(root, "topics", faults);
    if (list == NULL) {
        return;
    }
    cli_plan_parse_keys(root, file_keys, CLI_SEVERITY_WARNING, NULL, faults);
    cli_plan_parse_version(root, faults);
    names->list = arena_array(&names->arena, (size_t)MAX(list->count, 1), sizeof *names->list);
    for (const struct cli_json *json = list->first; names->list != NULL && json != NULL;
         json = json->next) {
        struct cli_fault fault = {.kind = CLI_FAULT_SHAPE, .at = json->at};
        if (json->kind != CLI_JSON_OBJECT) {
            cli_faults_add(faults, &fault, "a topic must be an object, not %s",
                           cli_json_kind_name(json->kind));
            continue;
        }
        cli_plan_parse_keys(json, topic_keys, CLI_SEVERITY_WARNING, NULL, faults);
        const char *name = cli_plan_parse_topic(json, NULL, faults);
        if (name != NULL) {
            names->list[names->count++] = name;
        }
    }
}

static struct cli_topic_names *topic_names_new(void)
{
    struct cli_topic_names *names = xalloc(sizeof *names);
    arena_init(&names->arena, CLI_PLAN_MEMORY_MAX);
    return names;
}

struct cli_topic_names *cli_topic_names_read(struct env *env, const char *path,
                                             struct cli_faults *faults)
{
    struct cli_topic_names *names = topic_names_new();
    topic_names_finish(names, cli_plan_parse_file(env, path, &names->arena, faults), faults);
    return names;
}

struct cli_topic_names *cli_topic_names_parse(struct slice text, struct cli_faults *faults)
{
    struct cli_topic_names *names = topic_names_new();
    topic_names_finish(names, cli_plan_parse_text(text, &names->arena, faults), faults);
    return names;
}

void cli_topic_names_free(struct cli_topic_names *names)
{
    if (names != NULL) {
        arena_deinit(&names->arena);
        free(names);
    }
}
