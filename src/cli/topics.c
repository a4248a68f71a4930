/*
 * klamm topics create | list | describe | delete.
 */
#include "cli/session.h"

#include "base/alloc.h"
#include "base/check.h"
#include "cli/moves.h"
#include "cli/table.h"
#include "cli/text.h"

#include <inttypes.h>
#include <stdlib.h>

struct topics_options {
    const char *bootstrap_servers;
    int64_t timeout_ms;
    int64_t partition_count;
    int64_t replication_factor;
    const char *assignment;
    struct cli_texts settings;
    struct cli_texts names; /* --topic, and the operands behind them */
    bool is_json;
    bool is_help;
    bool is_missing_only; /* describe: partitions that miss replicas */
};

#define AT(field) offsetof(struct topics_options, field)
#define NAMES                                                                                      \
    {                                                                                              \
        "topic", "NAME", "a topic; the same as NAME without an option", CLI_OPTION_TEXTS,          \
            AT(names), 0, 0                                                                        \
    }
#define COMMON                                                                                     \
    {"bootstrap-server",                                                                           \
     "HOST:PORT,...",                                                                              \
     "brokers to ask first (default " CLI_BOOTSTRAP_DEFAULT ")",                                   \
     CLI_OPTION_TEXT,                                                                              \
     AT(bootstrap_servers),                                                                        \
     0,                                                                                            \
     0},                                                                                           \
        {"timeout",                                                                                \
         "MS",                                                                                     \
         "how long to wait for an answer (default 30000)",                                         \
         CLI_OPTION_NUMBER,                                                                        \
         AT(timeout_ms),                                                                           \
         1,                                                                                        \
         3600000},                                                                                 \
        {"json", NULL, "print JSON", CLI_OPTION_FLAG, AT(is_json), 0, 0},                          \
    {                                                                                              \
        "help", NULL, "print this text", CLI_OPTION_FLAG, AT(is_help), 0, 0                        \
    }

static const struct cli_option list_options[] = {COMMON};
static const struct cli_option plain_options[] = {NAMES, COMMON};
static const struct cli_option describe_options[] = {
    NAMES,
    {"under-replicated-partitions", NULL,
     "only partitions that miss a replica or have\nno leader; what is only moving is not one",
     CLI_OPTION_FLAG, AT(is_missing_only), 0, 0},
    COMMON};
static const struct cli_option create_options[] = {
    NAMES,
    {"partitions", "N", "how many partitions (default: the broker's num.partitions)",
     CLI_OPTION_NUMBER, AT(partition_count), 1, 1000000},
    {"replication-factor", "N",
     "how many replicas each has\n(default: the broker's default.replication.factor)",
     CLI_OPTION_NUMBER, AT(replication_factor), 1, INT16_MAX},
    {"replica-assignment", "A:B,C:D",
     "the brokers of partition 0, of partition 1, ...;\nthe first one leads", CLI_OPTION_TEXT,
     AT(assignment), 0, 0},
    {"config", "KEY=VALUE", "a topic setting; may be repeated", CLI_OPTION_TEXTS, AT(settings), 0,
     0},
    COMMON};

#define EXIT_TEXT "Exit codes: 0 done, 1 failed (of several topics: at least one), 2 wrong usage.\n"

static const struct cli_command create_command = {
    "topics create",
    "NAME...",
    "Creates topics.",
    "Examples:\n"
    "  klamm topics create orders --partitions 6 --replication-factor 3\n"
    "  klamm topics create orders --replica-assignment 1:2:3,2:3:1 --config retention.ms=3600000\n"
    "\n" EXIT_TEXT,
    create_options,
    ARRAY_LEN(create_options)};
static const struct cli_command list_command = {
    "topics list",
    "",
    "Lists the topics with their partitions and replication factors.",
    "Examples:\n"
    "  klamm topics list\n"
    "  klamm topics list --json\n"
    "\n" EXIT_TEXT,
    list_options,
    ARRAY_LEN(list_options)};
static const struct cli_command describe_command = {
    "topics describe",
    "[NAME...]",
    "Shows leader, replicas and in-sync replicas of each partition, and what is moving.",
    "Without a name all topics are shown. A replica that is being added does not count as\n"
    "missing; the others do until they are in the ISR.\n"
    "\n"
    "Examples:\n"
    "  klamm topics describe orders\n"
    "  klamm topics describe --json\n"
    "  klamm topics describe --under-replicated-partitions\n"
    "\n" EXIT_TEXT,
    describe_options,
    ARRAY_LEN(describe_options)};
static const struct cli_command delete_command = {
    "topics delete",
    "NAME...",
    "Deletes topics and their records; moves of theirs end.",
    "Examples:\n"
    "  klamm topics delete orders\n"
    "\n" EXIT_TEXT,
    plain_options,
    ARRAY_LEN(plain_options)};

/* A command line that was read, and its session. */
struct topics_run {
    struct cli_session *session;
    struct cli_terminal *terminal;
    const struct cli_command *command;
    struct topics_options options;
    struct cli_given given;
};

/* ---- create and delete ---- */

static void free_assignments(struct klamm_ids *list, int32_t count)
{
    for (int32_t i = 0; i < count; i++) {
        free((void *)(uintptr_t)list[i].list);
    }
    free(list);
}

/* "1:2:3" of that partition into a list that the caller frees, also after a failure. */
static int parse_ids(char *text, int32_t partition, struct klamm_ids *ret_ids, struct errmsg *em)
{
    int32_t *ids = NULL;
    int32_t count = 0;
    char *rest = text;
    int err = 0;
    while (err == 0 && rest != NULL) {
        const char *word = strsep(&rest, ":");
        int64_t id = 0;
        if (!cli_text_parse_int(word, 0, INT32_MAX, &id)) {
            err = errmsg_set(em, E_INVALID,
                             "--replica-assignment: \"%.50s\" is no broker id (partition %" PRId32
                             ")",
                             word, partition);
        }
        ids = xrealloc(ids, ((size_t)count + 1) * sizeof *ids);
        ids[count++] = (int32_t)id;
    }
    *ret_ids = (struct klamm_ids){ids, count};
    return err;
}

/* "1:2:3,4:5:6" into lists, to be freed with free_assignments. */
static int parse_assignments(const char *text, struct klamm_ids **ret_list, int32_t *ret_count,
                             struct errmsg *em)
{
    struct klamm_ids *list = NULL;
    int32_t count = 0;
    int err = 0;
    char *copy = xstrdup(text);
    char *rest = copy;
    while (err == 0 && rest != NULL) {
        list = xrealloc(list, ((size_t)count + 1) * sizeof *list);
        err = parse_ids(strsep(&rest, ","), count, &list[count], em);
        count++;
    }
    free(copy);
    if (err < 0) {
        free_assignments(list, count);
        return err;
    }
    *ret_list = list;
    *ret_count = count;
    return 0;
}

/* Splits "key=value" in place of a copy; -E_INVALID names the culprit. */
static int parse_settings(const struct cli_texts *texts, struct klamm_setting *settings,
                          struct errmsg *em)
{
    for (int32_t i = 0; i < texts->count; i++) {
        char *name = xstrdup(texts->list[i]);
        char *equals = strchr(name, '=');
        settings[i].name = name;
        if (equals == NULL || equals == name) {
            return errmsg_set(em, E_INVALID, "--config: \"%.100s\" is not KEY=VALUE",
                              texts->list[i]);
        }
        *equals = '\0';
        settings[i].value = equals + 1;
    }
    return 0;
}

/* A refused name, and what another server says of it, may be any bytes. */
static void print_refusal(struct buf *err, const struct klamm_topic_result *result)
{
    buf_put_str(err, "klamm: topic ");
    cli_text_put_escaped(err, slice_str(result->name));
    buf_put_str(err, ": ");
    cli_text_put_escaped(err, slice_str(result->message));
    buf_put_str(err, "\n");
}

static int print_results(struct topics_run *run, const struct klamm_topic_results *results,
                         const char *verb)
{
    int failed = 0;
    struct buf *out = &run->terminal->out;
    buf_put_str(out, run->options.is_json ? "{\"results\":[" : "");
    for (int32_t i = 0; i < results->count; i++) {
        const struct klamm_topic_result *result = &results->list[i];
        failed += result->code != 0;
        if (run->options.is_json) {
            buf_putf(out, "%s{\"topic\":", i == 0 ? "" : ",");
            cli_text_put_json(out, result->name);
            buf_putf(out, ",\"code\":%d,\"message\":", result->code);
            cli_text_put_json(out, result->message);
            buf_put_u8(out, '}');
        } else if (result->code == 0) {
            buf_putf(out, "%s topic %s.\n", verb, result->name);
        } else {
            print_refusal(&run->terminal->err, result);
        }
    }
    buf_put_str(out, run->options.is_json ? "]}\n" : "");
    return failed > 0 ? CLI_EXIT_FAILED : CLI_EXIT_OK;
}

static int send_create(struct topics_run *run, struct klamm_new_topic *topic)
{
    const struct cli_texts *names = &run->options.names;
    struct klamm_new_topic *topics = xalloc((size_t)names->count * sizeof *topics);
    struct klamm_topic_results *results = NULL;
    struct klamm_error err = {0};
    for (int32_t i = 0; i < names->count; i++) {
        topics[i] = *topic;
        topics[i].name = names->list[i];
    }
    int code = klamm_create_topics(run->session->client, topics, names->count, &results, &err);
    int exit_code =
        code == 0 ? print_results(run, results, "Created") : cli_session_fail(run->session, &err);
    klamm_topic_results_free(results);
    free(topics);
    return exit_code;
}

static int create_topics(struct topics_run *run)
{
    struct errmsg em = {""};
    const struct topics_options *options = &run->options;
    struct klamm_ids *assignments = NULL;
    struct klamm_setting *settings =
        xalloc((size_t)MAX(options->settings.count, 1) * sizeof *settings);
    struct klamm_new_topic topic = {.partition_count = (int32_t)options->partition_count,
                                    .replication_factor = (int32_t)options->replication_factor,
                                    .settings = settings,
                                    .setting_count = options->settings.count};
    int err = parse_settings(&options->settings, settings, &em);
    if (err == 0 && options->assignment != NULL) {
        err = parse_assignments(options->assignment, &assignments, &topic.assignment_count, &em);
        topic.assignments = assignments;
    }
    if (err == 0 && options->assignment != NULL &&
        (options->partition_count >= 0 || options->replication_factor >= 0)) {
        err = errmsg_set(&em, E_INVALID,
                         "--replica-assignment says it all: --partitions and --replication-factor "
                         "cannot be given with it");
    }
    int exit_code =
        err < 0 ? cli_session_usage(run->session, run->command, em.text) : send_create(run, &topic);
    for (int32_t i = 0; i < options->settings.count; i++) {
        free((void *)(uintptr_t)settings[i].name);
    }
    free(settings);
    free_assignments(assignments, topic.assignment_count);
    return exit_code;
}

static int delete_topics(struct topics_run *run)
{
    struct klamm_topic_results *results = NULL;
    struct klamm_error err = {0};
    int code = klamm_delete_topics(run->session->client, run->options.names.list,
                                   run->options.names.count, &results, &err);
    int exit_code =
        code == 0 ? print_results(run, results, "Deleted") : cli_session_fail(run->session, &err);
    klamm_topic_results_free(results);
    return exit_code;
}

/* ---- list ---- */

/* "3", or "2-3" when the partitions differ. */
static void put_factor(struct buf *out, const struct klamm_topic *topic)
{
    int32_t low = INT32_MAX;
    int32_t high = 0;
    for (int32_t i = 0; i < topic->partition_count; i++) {
        low = MIN(low, topic->partitions[i].replicas.count);
        high = MAX(high, topic->partitions[i].replicas.count);
    }
    buf_putf(out, "%" PRId32, high);
    if (low < high) {
        out->len = 0;
        buf_putf(out, "%" PRId32 "-%" PRId32, low, high);
    }
}

static int list_topics(struct topics_run *run)
{
    struct klamm_topics *topics = NULL;
    struct klamm_error err = {0};
    if (klamm_describe_topics(run->session->client, NULL, -1, &topics, &err) != 0) {
        return cli_session_fail(run->session, &err);
    }
    static const char *const titles[] = {"TOPIC", "PARTITIONS", "FACTOR"};
    struct buf *out = &run->terminal->out;
    struct cli_table table;
    cli_table_init(&table, titles, ARRAY_LEN(titles), 6);
    buf_put_str(out, run->options.is_json ? "{\"topics\":[" : "");
    for (int32_t i = 0; i < topics->count; i++) {
        const struct klamm_topic *topic = &topics->list[i];
        if (run->options.is_json) {
            buf_put_str(out, i == 0 ? "" : ",");
            cli_text_put_json(out, topic->name);
            continue;
        }
        struct buf factor;
        buf_init(&factor);
        put_factor(&factor, topic);
        cli_table_put(&table, CLI_STYLE_PLAIN, "%s", topic->name);
        cli_table_put(&table, CLI_STYLE_PLAIN, "%" PRId32, topic->partition_count);
        cli_table_put(&table, CLI_STYLE_PLAIN, "%.*s", SLICE_ARG(buf_slice(&factor)));
        buf_deinit(&factor);
    }
    if (run->options.is_json) {
        buf_put_str(out, "]}\n");
    } else if (topics->count > 0) {
        cli_table_print(&table, run->terminal);
    } else {
        buf_put_str(&run->terminal->err, "There are no topics.\n");
    }
    cli_table_deinit(&table);
    klamm_topics_free(topics);
    return CLI_EXIT_OK;
}

/* ---- describe ---- */

/* Replicas outside the ISR, apart from those that are only arriving. */
static int32_t missing_count(const struct klamm_partition *partition,
                             const struct klamm_reassignment *move)
{
    int32_t missing = 0;
    for (int32_t i = 0; i < partition->replicas.count; i++) {
        int32_t id = partition->replicas.list[i];
        bool is_arriving = move != NULL && cli_text_ids_has(move->adding, id);
        missing += !is_arriving && !cli_text_ids_has(partition->isr, id);
    }
    return missing;
}

static bool is_shown(const struct topics_run *run, const struct klamm_topic *topic, int32_t index,
                     const struct klamm_reassignments *moves)
{
    const struct klamm_partition *partition = &topic->partitions[index];
    return !run->options.is_missing_only || partition->leader_id < 0 ||
           missing_count(partition, cli_moves_find(moves, topic->name, index)) > 0;
}

/* A topic that could not be described always counts. */
static bool topic_is_shown(const struct topics_run *run, const struct klamm_topic *topic,
                           const struct klamm_reassignments *moves)
{
    bool has_shown = !run->options.is_missing_only || topic->code != 0;
    for (int32_t i = 0; !has_shown && i < topic->partition_count; i++) {
        has_shown = is_shown(run, topic, i, moves);
    }
    return has_shown;
}

static void put_ids_cell(struct cli_table *table, struct klamm_ids ids)
{
    struct buf text;
    buf_init(&text);
    cli_text_put_ids(&text, ids);
    cli_table_put(table, CLI_STYLE_PLAIN, "%.*s", SLICE_ARG(buf_slice(&text)));
    buf_deinit(&text);
}

static void put_state_cell(struct cli_table *table, const struct klamm_partition *partition,
                           const struct klamm_reassignment *move)
{
    int32_t missing = missing_count(partition, move);
    const char *moving = move != NULL ? ", moving" : "";
    if (partition->leader_id < 0) {
        cli_table_put(table, CLI_STYLE_BAD, "no leader%s", moving);
    } else if (missing > 0) {
        cli_table_put(table, CLI_STYLE_BAD, "under-replicated (%" PRId32 " missing)%s", missing,
                      moving);
    } else if (move != NULL) {
        cli_table_put(table, CLI_STYLE_WARN, "moving");
    } else if (partition->replicas.count > 0 &&
               partition->replicas.list[0] != partition->leader_id) {
        cli_table_put(table, CLI_STYLE_PLAIN, "ok, preferred leader is %" PRId32,
                      partition->replicas.list[0]);
    } else {
        cli_table_put(table, CLI_STYLE_PLAIN, "ok");
    }
}

static void print_topic(struct topics_run *run, const struct klamm_topic *topic,
                        const struct klamm_reassignments *moves)
{
    static const char *const titles[] = {"PARTITION", "LEADER",   "REPLICAS", "ISR",
                                         "ADDING",    "REMOVING", "STATE"};
    static const struct klamm_ids none = {NULL, 0};
    struct cli_table table;
    bool shows_moves = moves != NULL; /* without the right to list them there are no such columns */
    static const char *const short_titles[] = {"PARTITION", "LEADER", "REPLICAS", "ISR", "STATE"};
    cli_table_init(&table, shows_moves ? titles : short_titles, shows_moves ? 7 : 5, 3);
    for (int32_t i = 0; i < topic->partition_count; i++) {
        const struct klamm_partition *partition = &topic->partitions[i];
        const struct klamm_reassignment *move = cli_moves_find(moves, topic->name, i);
        if (!is_shown(run, topic, i, moves)) {
            continue;
        }
        cli_table_put(&table, CLI_STYLE_PLAIN, "%" PRId32, partition->index);
        if (partition->leader_id < 0) {
            cli_table_put(&table, CLI_STYLE_BAD, "none");
        } else {
            cli_table_put(&table, CLI_STYLE_PLAIN, "%" PRId32, partition->leader_id);
        }
        put_ids_cell(&table, partition->replicas);
        put_ids_cell(&table, partition->isr);
        if (shows_moves) {
            put_ids_cell(&table, move == NULL ? none : move->adding);
            put_ids_cell(&table, move == NULL ? none : move->removing);
        }
        put_state_cell(&table, partition, move);
    }
    buf_putf(&run->terminal->out, "%s%s%s\n", cli_terminal_style(run->terminal, CLI_STYLE_BOLD),
             topic->name, cli_terminal_style(run->terminal, CLI_STYLE_PLAIN));
    cli_table_print(&table, run->terminal);
    cli_table_deinit(&table);
}

static void put_json_list(struct buf *out, const char *key, struct klamm_ids ids)
{
    buf_putf(out, ",\"%s\":", key);
    cli_text_put_json_ids(out, ids);
}

static void print_topic_json(struct topics_run *run, const struct klamm_topic *topic,
                             const struct klamm_reassignments *moves)
{
    static const struct klamm_ids none = {NULL, 0};
    struct buf *out = &run->terminal->out;
    const char *comma = "";
    buf_put_str(out, "{\"topic\":");
    cli_text_put_json(out, topic->name);
    buf_putf(out, ",\"code\":%d,\"internal\":%s,\"partitions\":[", topic->code,
             topic->is_internal ? "true" : "false");
    for (int32_t i = 0; i < topic->partition_count; i++) {
        const struct klamm_partition *partition = &topic->partitions[i];
        const struct klamm_reassignment *move = cli_moves_find(moves, topic->name, i);
        if (!is_shown(run, topic, i, moves)) {
            continue;
        }
        buf_putf(out,
                 "%s{\"partition\":%" PRId32 ",\"leader\":%" PRId32 ",\"leader_epoch\":%" PRId32,
                 comma, partition->index, partition->leader_id, partition->leader_epoch);
        comma = ",";
        put_json_list(out, "replicas", partition->replicas);
        put_json_list(out, "isr", partition->isr);
        if (moves != NULL) {
            put_json_list(out, "adding", move == NULL ? none : move->adding);
            put_json_list(out, "removing", move == NULL ? none : move->removing);
        }
        buf_putf(out, ",\"under_replicated\":%s}",
                 missing_count(partition, move) > 0 ? "true" : "false");
    }
    buf_put_str(out, "]}");
}

static int print_topics(struct topics_run *run, const struct klamm_topics *topics,
                        const struct klamm_reassignments *moves)
{
    int exit_code = CLI_EXIT_OK;
    struct buf *out = &run->terminal->out;
    struct buf *err = &run->terminal->err;
    const char *between = "";
    buf_put_str(out, run->options.is_json ? "{\"topics\":[" : "");
    for (int32_t i = 0; i < topics->count; i++) {
        const struct klamm_topic *topic = &topics->list[i];
        if (topic_is_shown(run, topic, moves) && (run->options.is_json || topic->code == 0)) {
            buf_put_str(out, between);
            between = run->options.is_json ? "," : "\n";
            if (run->options.is_json) {
                print_topic_json(run, topic, moves);
            } else {
                print_topic(run, topic, moves);
            }
        }
        if (topic->code != 0) {
            buf_put_str(err, "klamm: topic ");
            cli_text_put_escaped(err, slice_str(topic->name));
            buf_putf(err, ": %s\n",
                     topic->code == 3 ? "does not exist" : klamm_code_name(topic->code));
            exit_code = CLI_EXIT_FAILED;
        }
    }
    buf_put_str(out, run->options.is_json ? "]}\n" : "");
    return exit_code;
}

static int describe_topics(struct topics_run *run)
{
    struct klamm_topics *topics = NULL;
    struct klamm_reassignments *moves = NULL;
    struct klamm_error err = {0};
    const struct cli_texts *names = &run->options.names;
    bool is_all = names->count == 0;
    if (klamm_describe_topics(run->session->client, names->list, is_all ? -1 : names->count,
                              &topics, &err) != 0) {
        return cli_session_fail(run->session, &err);
    }
    if (klamm_list_reassignments(run->session->client, NULL, &moves, &err) != 0) {
        buf_putf(&run->terminal->err, "klamm: what is moving is not shown: %s\n", err.message);
        moves = NULL;
    }
    int exit_code = print_topics(run, topics, moves);
    klamm_reassignments_free(moves);
    klamm_topics_free(topics);
    return exit_code;
}

/* ---- the command ---- */

static const struct {
    const char *name;
    const struct cli_command *command;
    int (*run)(struct topics_run *run);
} actions[] = {
    {"create", &create_command, create_topics},
    {"list", &list_command, list_topics},
    {"describe", &describe_command, describe_topics},
    {"delete", &delete_command, delete_topics},
};

static int run_action(struct topics_run *run, int (*action)(struct topics_run *run))
{
    bool needs_names = strcmp(run->command->operands, "NAME...") == 0;
    if (run->options.is_help) {
        cli_options_print_help(run->command, &run->terminal->out);
        return CLI_EXIT_OK;
    }
    if (needs_names && run->options.names.count == 0) {
        return cli_session_usage(run->session, run->command, "name at least one topic");
    }
    struct klamm_error err = {0};
    struct cli_session_config config = {.bootstrap_servers = run->options.bootstrap_servers,
                                        .timeout_ms = (int32_t)run->options.timeout_ms};
    if (cli_session_connect(run->session, &config, &err) != 0) {
        return cli_session_fail(run->session, &err);
    }
    return action(run);
}

static void print_help(struct buf *out)
{
    buf_put_str(out, "Usage: klamm topics ACTION [options]\n\n");
    for (size_t i = 0; i < ARRAY_LEN(actions); i++) {
        buf_putf(out, "  %-9s %-10s %s\n", actions[i].name, actions[i].command->operands,
                 actions[i].command->summary);
    }
    buf_put_str(out, "\nklamm topics ACTION --help explains an action.\n"
                     "\nExamples:\n"
                     "  klamm topics create orders --partitions 6 --replication-factor 3\n"
                     "  klamm topics describe orders\n");
}

/* The option that a word in front of the action names; NULL = none of any action. */
static const struct cli_option *option_find(const char *word)
{
    for (size_t i = 0; i < ARRAY_LEN(actions); i++) {
        const struct cli_command *command = actions[i].command;
        for (int32_t k = 0; k < command->option_count; k++) {
            if (strcmp(command->options[k].name, word) == 0) {
                return &command->options[k];
            }
        }
    }
    return NULL;
}

/* Options may stand in front of the action: where that is; words.count = nowhere. */
static int action_at(struct cli_words words)
{
    int at = 0;
    while (at < words.count && strncmp(words.list[at], "--", 2) == 0) {
        const struct cli_option *option = option_find(words.list[at] + 2);
        bool has_value = option != NULL && option->kind != CLI_OPTION_FLAG;
        at += has_value ? 2 : 1; /* "--name=value" is found by no name */
    }
    return MIN(at, words.count);
}

static int run_words(struct topics_run *run, size_t action, struct cli_words rest)
{
    struct errmsg em = {""};
    int exit_code;
    run->command = actions[action].command;
    if (cli_options_parse(run->command, rest, &run->options, &run->given, &em) < 0) {
        exit_code = cli_session_usage(run->session, run->command, em.text);
    } else {
        for (int32_t k = 0; k < run->given.operands.count; k++) {
            cli_texts_add(&run->options.names, run->given.operands.list[k]);
        }
        exit_code = run_action(run, actions[action].run);
    }
    cli_given_deinit(&run->given);
    cli_texts_deinit(&run->options.settings);
    cli_texts_deinit(&run->options.names);
    return exit_code;
}

int cli_topics_run(struct cli_session *session, struct cli_words words)
{
    struct topics_run run = {.session = session, .terminal = session->terminal};
    run.options = (struct topics_options){.bootstrap_servers = CLI_BOOTSTRAP_DEFAULT,
                                          .timeout_ms = 30000,
                                          .partition_count = -1,
                                          .replication_factor = -1};
    int at = action_at(words);
    size_t i = 0;
    while (i < ARRAY_LEN(actions) &&
           (at == words.count || strcmp(words.list[at], actions[i].name) != 0)) {
        i++;
    }
    if (i == ARRAY_LEN(actions)) {
        bool is_help = words.count > 0 && strcmp(words.list[0], "--help") == 0;
        if (at < words.count) {
            struct buf *err = &run.terminal->err;
            buf_put_str(err, "klamm topics: \"");
            cli_text_put_escaped(err, slice_str(words.list[at]));
            buf_put_str(err, "\" is no action\n\n");
        }
        print_help(is_help ? &run.terminal->out : &run.terminal->err);
        return is_help ? CLI_EXIT_OK : CLI_EXIT_USAGE;
    }
    char **rest = xalloc((size_t)words.count * sizeof *rest);
    int count = 0;
    for (int k = 0; k < words.count; k++) {
        if (k != at) {
            rest[count++] = words.list[k];
        }
    }
    int exit_code = run_words(&run, i, (struct cli_words){rest, count});
    free(rest);
    return exit_code;
}
