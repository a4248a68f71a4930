/*
 * The command line of klamm moves: one table of options an action.
 */
#include "cli/moves_local.h"
#include "cli/moves_run.h"

#include "base/alloc.h"
#include "base/check.h"
#include "cli/text.h"

#include <stdio.h>
#include <stdlib.h>

#define AT(field) offsetof(struct cli_moves_options, field)
/* clang-format off */
#define COMMON                                                                                     \
    {"bootstrap-server", "HOST:PORT,...",                                                          \
     "brokers to ask first (default " CLI_BOOTSTRAP_DEFAULT ")",                                   \
     CLI_OPTION_TEXT, AT(bootstrap_servers), 0, 0},                                                \
    {"timeout", "MS", "how long to wait for an answer (default 60000)", CLI_OPTION_NUMBER,         \
     AT(timeout_ms), 1, 3600000},                                                                  \
    {"json", NULL, "print JSON", CLI_OPTION_FLAG, AT(is_json), 0, 0},                              \
    {"help", NULL, "print this text", CLI_OPTION_FLAG, AT(is_help), 0, 0}
#define SELECTION                                                                                  \
    {"partition", "NAME-N", "this partition; may be repeated", CLI_OPTION_TEXTS, AT(partitions),   \
     0, 0},                                                                                        \
    {"topic", "NAME", "all partitions of this topic; may be repeated", CLI_OPTION_TEXTS,           \
     AT(topics), 0, 0},                                                                            \
    {"broker", "1,2,3", "what goes to or from one of these brokers", CLI_OPTION_TEXT,              \
     AT(brokers), 0, 0},                                                                           \
    {"job", "NAME", "the moves of this job", CLI_OPTION_TEXT, AT(job), 0, 0},                      \
    {"all", NULL, "everything that moves or waits", CLI_OPTION_FLAG, AT(is_all), 0, 0}
#define STARTING                                                                                   \
    {"throttle", "RATE",                                                                           \
     "bound of what each broker sends, and of what it receives, for\n"                             \
     "this job: bytes a second, 50000000 or 50MB; none = no bound",                                \
     CLI_OPTION_TEXT, AT(throttle), 0, 0},                                                         \
    {"priority", "P", "repair, drain or balance (default): who goes first", CLI_OPTION_TEXT,       \
     AT(priority), 0, 0},                                                                          \
    {"one-at-a-time", NULL, "bring the new replicas of a partition over one by one",               \
     CLI_OPTION_FLAG, AT(is_one_at_a_time), 0, 0},                                                 \
    {"dry-run", NULL, "show what it would cost; change nothing", CLI_OPTION_FLAG,                  \
     AT(is_dry_run), 0, 0},                                                                        \
    {"yes", NULL, "do not ask before it starts", CLI_OPTION_FLAG, AT(is_agreed), 0, 0},            \
    {"allow-factor-change", NULL, "accept lists of another length than today's",                   \
     CLI_OPTION_FLAG, AT(allows_factor_change), 0, 0},                                             \
    {"allow-down-targets", NULL, "accept targets that are down: their moves wait",                 \
     CLI_OPTION_FLAG, AT(allows_down_targets), 0, 0},                                              \
    {"strict", NULL, "refuse files with unknown keys", CLI_OPTION_FLAG, AT(is_strict), 0, 0},      \
    {"watch", NULL, "show progress until the moves end", CLI_OPTION_FLAG, AT(watches), 0, 0},      \
    {"interval", "MS", "how often --watch looks (default 1000)", CLI_OPTION_NUMBER,                \
     AT(interval_ms), 100, 60000}
/* clang-format on */

static const struct cli_option submit_options[] = {
    STARTING,
    {"job", "NAME", "name of the job (default: one made of the time)", CLI_OPTION_TEXT, AT(job), 0,
     0},
    {"rollback", "FILE", "where the way back is written (default: PLAN.rollback.json)",
     CLI_OPTION_TEXT, AT(rollback), 0, 0},
    {"journal", "FILE",
     "where the queue is kept when the controller keeps none\n(default: PLAN.journal)",
     CLI_OPTION_TEXT, AT(journal), 0, 0},
    {"concurrency", "N", "how many moves at a time, when the controller keeps no queue",
     CLI_OPTION_NUMBER, AT(concurrency), 1, 100000},
    COMMON};
static const struct cli_option undo_options[] = {
    STARTING,
    {"job", "NAME", "undo this job, as the controller knows it; instead of FILE", CLI_OPTION_TEXT,
     AT(job), 0, 0},
    COMMON};
static const struct cli_option status_options[] = {
    {"partition", "NAME-N", "only this partition; may be repeated", CLI_OPTION_TEXTS,
     AT(partitions), 0, 0},
    {"topic", "NAME", "only this topic; may be repeated", CLI_OPTION_TEXTS, AT(topics), 0, 0},
    {"job", "NAME", "only this job", CLI_OPTION_TEXT, AT(job), 0, 0},
    {"plan", "FILE", "compare with a plan: what of it is done, moves, or goes elsewhere",
     CLI_OPTION_TEXT, AT(plan), 0, 0},
    {"watch", NULL, "look again until nothing moves and nothing waits", CLI_OPTION_FLAG,
     AT(watches), 0, 0},
    {"interval", "MS", "how often --watch looks (default 1000)", CLI_OPTION_NUMBER, AT(interval_ms),
     100, 60000},
    COMMON};
static const struct cli_option selection_options[] = {SELECTION, COMMON};
static const struct cli_option cancel_options[] = {SELECTION,
                                                   {"force", NULL,
                                                    "cancel even where it costs the leader",
                                                    CLI_OPTION_FLAG, AT(forces_cancel), 0, 0},
                                                   COMMON};
static const struct cli_option set_options[] = {
    {"job", "NAME", "the job", CLI_OPTION_TEXT, AT(job), 0, 0},
    {"all", NULL, "all jobs", CLI_OPTION_FLAG, AT(is_all), 0, 0},
    {"throttle", "RATE", "its new rate, bytes a second: 50000000, 50MB; none = no bound",
     CLI_OPTION_TEXT, AT(throttle), 0, 0},
    {"priority", "P", "repair, drain or balance", CLI_OPTION_TEXT, AT(priority), 0, 0},
    COMMON};
static const struct cli_option limits_options[] = {
    {"in-per-broker", "N", "moves at a time to one broker; none = back to the default",
     CLI_OPTION_TEXT, AT(in_per_broker), 0, 0},
    {"out-per-broker", "N", "moves at a time from one broker; none = back to the default",
     CLI_OPTION_TEXT, AT(out_per_broker), 0, 0},
    {"per-cluster", "N", "moves at a time in the cluster; none = no limit", CLI_OPTION_TEXT,
     AT(per_cluster), 0, 0},
    {"bytes-in-flight", "BYTES",
     "bytes that moves at a time have to copy, 50000000 or 50MB;\nnone = no limit", CLI_OPTION_TEXT,
     AT(bytes_in_flight), 0, 0},
    COMMON};
static const struct cli_option plain_options[] = {COMMON};

#define EXIT_TEXT                                                                                  \
    "Exit codes: 0 done, 1 refused, or failed for at least one partition, 2 wrong usage,\n"        \
    "130 interrupted; the moves go on.\n"

static const struct cli_command submit_command = {
    "moves submit",
    "PLAN",
    "Puts the moves of a plan file into the cluster's queue.",
    "Shows first what they cost: bytes in and out of each broker, leaders and factors that "
    "change,\n"
    "time at the given rate, room on the targets. Before anything changes, the present lists are\n"
    "written to the rollback file, which klamm moves undo reads.\n"
    "\n"
    "The plan: "
    "{\"version\":1,\"partitions\":[{\"topic\":\"foo\",\"partition\":0,\"replicas\":[4,5,6]}]}\n"
    "\n"
    "Examples:\n"
    "  klamm moves submit plan.json --dry-run\n"
    "  klamm moves submit plan.json --throttle 50MB --watch\n"
    "  klamm moves submit drain.json --priority drain --one-at-a-time --job drain-6 --yes\n"
    "\n" EXIT_TEXT,
    submit_options,
    ARRAY_LEN(submit_options)};
static const struct cli_command status_command = {
    "moves status",
    "",
    "Shows what moves and what waits: how far, how fast, how long, and why not.",
    "Examples:\n"
    "  klamm moves status\n"
    "  klamm moves status --topic orders --watch\n"
    "  klamm moves status --plan plan.json\n"
    "  klamm moves status --json\n"
    "\n" EXIT_TEXT,
    status_options,
    ARRAY_LEN(status_options)};
static const struct cli_command pause_command = {
    "moves pause",
    "",
    "Holds moves; what is copied stays. Others take their place in the queue.",
    "Examples:\n"
    "  klamm moves pause --topic orders\n"
    "  klamm moves pause --broker 4,5\n"
    "  klamm moves pause --all\n"
    "\n" EXIT_TEXT,
    selection_options,
    ARRAY_LEN(selection_options)};
static const struct cli_command resume_command = {"moves resume",
                                                  "",
                                                  "Lets paused moves go on where they were.",
                                                  "Examples:\n"
                                                  "  klamm moves resume --job drain-6\n"
                                                  "  klamm moves resume --all\n"
                                                  "\n" EXIT_TEXT,
                                                  selection_options,
                                                  ARRAY_LEN(selection_options)};
static const struct cli_command cancel_command = {
    "moves cancel",
    "",
    "Ends moves and restores the lists from before them; takes waiting ones out of the queue.",
    "A cancel that would leave a partition without a leader is refused and names the brokers that\n"
    "are missing; --force does it all the same.\n"
    "\n"
    "Examples:\n"
    "  klamm moves cancel --partition orders-0 --partition orders-3\n"
    "  klamm moves cancel --topic orders\n"
    "  klamm moves cancel --broker 6\n"
    "  klamm moves cancel --all\n"
    "\n" EXIT_TEXT,
    cancel_options,
    ARRAY_LEN(cancel_options)};
static const struct cli_command set_command = {
    "moves set",
    "",
    "Changes the rate or the priority of a job while it runs.",
    "Examples:\n"
    "  klamm moves set --job drain-6 --throttle 20MB\n"
    "  klamm moves set --job drain-6 --throttle none --priority repair\n"
    "\n" EXIT_TEXT,
    set_options,
    ARRAY_LEN(set_options)};
static const struct cli_command undo_command = {
    "moves undo",
    "[FILE]",
    "Goes back to the lists of a rollback file, or to those from before a job.",
    "Moves that still run or wait are cancelled where that leads to the list of the file; what "
    "has\n"
    "ended is moved back.\n"
    "\n"
    "Examples:\n"
    "  klamm moves undo plan.rollback.json\n"
    "  klamm moves undo --job drain-6\n"
    "\n" EXIT_TEXT,
    undo_options,
    ARRAY_LEN(undo_options)};
static const struct cli_command history_command = {"moves history",
                                                   "",
                                                   "Shows the jobs that ended, the latest first.",
                                                   "Examples:\n"
                                                   "  klamm moves history\n"
                                                   "  klamm moves history --json\n"
                                                   "\n" EXIT_TEXT,
                                                   plain_options,
                                                   ARRAY_LEN(plain_options)};

static const struct cli_command limits_command = {
    "moves limits",
    "",
    "Shows or changes how much the queue runs at a time.",
    "They hold for all jobs at once, and when they are set for stock clients too: what is above\n"
    "them waits.\n"
    "\n"
    "Examples:\n"
    "  klamm moves limits\n"
    "  klamm moves limits --in-per-broker 8 --bytes-in-flight 200GB\n"
    "  klamm moves limits --per-cluster none\n"
    "\n" EXIT_TEXT,
    limits_options,
    ARRAY_LEN(limits_options)};

static const struct {
    const char *name;
    const struct cli_command *command;
    int (*run)(struct cli_moves *run);
    int32_t operands_min;
    int32_t operands_max;
} actions[] = {
    {"submit", &submit_command, cli_moves_submit, 1, 1},
    {"status", &status_command, cli_moves_status, 0, 0},
    {"pause", &pause_command, cli_moves_pause, 0, 0},
    {"resume", &resume_command, cli_moves_resume, 0, 0},
    {"cancel", &cancel_command, cli_moves_cancel, 0, 0},
    {"set", &set_command, cli_moves_set, 0, 0},
    {"undo", &undo_command, cli_moves_undo, 0, 1},
    {"history", &history_command, cli_moves_history, 0, 0},
    {"limits", &limits_command, cli_moves_limits, 0, 0},
};

/* ---- shared by the actions ---- */

int cli_moves_open(struct cli_moves *run, struct klamm_error *err)
{
    struct cli_session_config config = {.bootstrap_servers = run->options.bootstrap_servers,
                                        .timeout_ms = (int32_t)run->options.timeout_ms};
    int code = cli_session_connect(run->session, &config, err);
    if (code == 0) {
        code = klamm_describe_cluster(run->session->client, &run->cluster, err);
    }
    return code == 0 ? cli_moves_refresh(run, err) : code;
}

int cli_moves_refresh(struct cli_moves *run, struct klamm_error *err)
{
    struct klamm_moves *moves = NULL;
    int code = klamm_list_moves(run->session->client, NULL, &moves, err);
    if (code == 0) {
        klamm_moves_free(run->moves);
        run->moves = moves;
    }
    return code == 0 && run->local != NULL ? cli_moves_local_step(run->local, err) : code;
}

int cli_moves_fail(struct cli_moves *run, const char *format, ...)
{
    char text[ERRMSG_SIZE];
    va_list args;
    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    buf_putf(&run->terminal->err, "klamm %s: %s\n", run->command->name, text);
    return CLI_EXIT_FAILED;
}

bool cli_moves_lacks_queue(struct cli_moves *run, const char *what)
{
    if (!run->moves->is_klamm) {
        (void)cli_moves_fail(run, "the controller of this cluster is not klamm's: %s", what);
    }
    return !run->moves->is_klamm;
}

const struct klamm_job *cli_moves_job(const struct cli_moves *run, const char *name)
{
    for (int32_t i = 0; i < run->moves->job_count; i++) {
        if (strcmp(run->moves->jobs[i].id, name) == 0) {
            return &run->moves->jobs[i];
        }
    }
    return NULL;
}

static int compare_move(const void *key, const void *element)
{
    const struct klamm_partition_ref *ref = key;
    const struct klamm_move *move = element;
    int order = strcmp(ref->topic, move->topic);
    return order != 0                         ? order
           : ref->partition < move->partition ? -1
                                              : ref->partition > move->partition;
}

const struct klamm_move *cli_moves_running(const struct cli_moves *run,
                                           const struct klamm_partition_ref *ref)
{
    const struct klamm_moves *moves = run->moves;
    return moves->count == 0
               ? NULL
               : bsearch(ref, moves->list, (size_t)moves->count, sizeof *moves->list, compare_move);
}

static int compare_queued(const void *key, const void *element)
{
    const struct klamm_partition_ref *ref = key;
    const struct klamm_queued *queued = element;
    int order = strcmp(ref->topic, queued->topic);
    return order != 0                           ? order
           : ref->partition < queued->partition ? -1
                                                : ref->partition > queued->partition;
}

const struct klamm_queued *cli_moves_waiting(const struct cli_moves *run,
                                             const struct klamm_partition_ref *ref)
{
    const struct klamm_moves *moves = run->moves;
    return moves->queued_count == 0 ? NULL
                                    : bsearch(ref, moves->queued, (size_t)moves->queued_count,
                                              sizeof *moves->queued, compare_queued);
}

int cli_moves_settings(struct cli_moves *run, struct klamm_alter *alter)
{
    static const struct {
        const char *name;
        enum klamm_priority priority;
    } priorities[] = {{"repair", KLAMM_PRIORITY_REPAIR},
                      {"drain", KLAMM_PRIORITY_DRAIN},
                      {"balance", KLAMM_PRIORITY_BALANCE}};
    struct errmsg em = {""};
    const char *throttle = run->options.throttle;
    if (throttle != NULL && cli_text_parse_rate(throttle, &alter->rate, &em) < 0) {
        return cli_session_usage(run->session, run->command, em.text);
    }
    if (throttle != NULL && alter->rate == CLI_RATE_NONE) {
        alter->rate = alter->action == KLAMM_ACTION_SET ? KLAMM_RATE_REMOVE : 0;
    }
    const char *priority = run->options.priority;
    for (size_t i = 0; priority != NULL && i < ARRAY_LEN(priorities); i++) {
        if (strcmp(priorities[i].name, priority) == 0) {
            alter->priority = priorities[i].priority;
            return CLI_EXIT_OK;
        }
    }
    return priority == NULL ? CLI_EXIT_OK
                            : cli_session_usage(run->session, run->command,
                                                "--priority is repair, drain or balance");
}

/* ---- the command line ---- */

static void print_overview(struct buf *out)
{
    buf_put_str(out, "Moves replicas through a queue that the controller keeps.\n\n"
                     "Usage: klamm moves ACTION [options]\n\n");
    for (size_t i = 0; i < ARRAY_LEN(actions); i++) {
        buf_putf(out, "  %-8s  %s\n", actions[i].name, actions[i].command->summary);
    }
    buf_put_str(out, "\nklamm moves ACTION --help explains an action.\n"
                     "\nExamples:\n"
                     "  klamm moves submit plan.json --throttle 50MB\n"
                     "  klamm moves status --watch\n"
                     "  klamm moves undo plan.rollback.json\n");
}

static int run_action(struct cli_session *session, size_t index, struct cli_words words)
{
    struct cli_moves run = {.session = session,
                            .terminal = session->terminal,
                            .command = actions[index].command,
                            .options = {.bootstrap_servers = CLI_BOOTSTRAP_DEFAULT,
                                        .timeout_ms = 60000,
                                        .interval_ms = 1000}};
    struct cli_given given = {0};
    struct errmsg em = {""};
    int exit_code = CLI_EXIT_OK;
    if (cli_options_parse(run.command, words, &run.options, &given, &em) < 0) {
        exit_code = cli_session_usage(session, run.command, em.text);
    } else if (run.options.is_help) {
        cli_options_print_help(run.command, &session->terminal->out);
    } else if (given.operands.count < actions[index].operands_min ||
               given.operands.count > actions[index].operands_max) {
        exit_code = cli_session_usage(session, run.command, "one file is expected");
    } else {
        run.operands = given.operands;
        exit_code = actions[index].run(&run);
    }
    klamm_moves_free(run.moves);
    klamm_cluster_free(run.cluster);
    cli_texts_deinit(&run.options.topics);
    cli_texts_deinit(&run.options.partitions);
    cli_given_deinit(&given);
    return exit_code;
}

int cli_moves_run(struct cli_session *session, struct cli_words words)
{
    struct cli_terminal *terminal = session->terminal;
    if (words.count == 0) {
        print_overview(&terminal->err);
        return CLI_EXIT_USAGE;
    }
    if (strcmp(words.list[0], "--help") == 0 || strcmp(words.list[0], "help") == 0) {
        print_overview(&terminal->out);
        return CLI_EXIT_OK;
    }
    for (size_t i = 0; i < ARRAY_LEN(actions); i++) {
        if (strcmp(actions[i].name, words.list[0]) == 0) {
            return run_action(session, i, (struct cli_words){words.list + 1, words.count - 1});
        }
    }
    buf_putf(&terminal->err, "klamm moves: \"%.100s\" is not an action\n\n", words.list[0]);
    print_overview(&terminal->err);
    return CLI_EXIT_USAGE;
}
