/*
 * The command line of klamm reassign: options, their combinations, and what the actions share.
 */
#include "cli/reassign.h"

#include "base/alloc.h"
#include "base/check.h"
#include "cli/properties.h"
#include "cli/text.h"

#include <inttypes.h>
#include <stdio.h>

#define CLIENT_ID       "reassign-partitions-tool"
#define CALL_TIMEOUT_MS 60000

#define AT(field) offsetof(struct cli_reassign_options, field)

static const struct cli_option options[] = {
    {"bootstrap-server", "HOST:PORT,...", "brokers to ask first; required", CLI_OPTION_TEXT,
     AT(bootstrap_servers), 0, 0},
    {"generate", NULL, "propose an assignment of topics to brokers; changes nothing",
     CLI_OPTION_FLAG, AT(is_generate), 0, 0},
    {"execute", NULL, "start the moves of the file", CLI_OPTION_FLAG, AT(is_execute), 0, 0},
    {"verify", NULL, "tell how far the moves of the file are", CLI_OPTION_FLAG, AT(is_verify), 0,
     0},
    {"cancel", NULL, "undo the running moves of the file", CLI_OPTION_FLAG, AT(is_cancel), 0, 0},
    {"list", NULL, "show all running moves", CLI_OPTION_FLAG, AT(is_list), 0, 0},
    {"reassignment-json-file", "FILE", "the moves, for --execute, --verify and --cancel",
     CLI_OPTION_TEXT, AT(reassignment_file), 0, 0},
    {"topics-to-move-json-file", "FILE", "the topics, for --generate", CLI_OPTION_TEXT,
     AT(topics_file), 0, 0},
    {"broker-list", "1,2,3", "the brokers that shall hold them, for --generate", CLI_OPTION_TEXT,
     AT(broker_list), 0, 0},
    {"disable-rack-aware", NULL, "ignore racks, for --generate", CLI_OPTION_FLAG,
     AT(disables_rack_awareness), 0, 0},
    {"additional", NULL, "start moves although others run, for --execute", CLI_OPTION_FLAG,
     AT(is_additional), 0, 0},
    {"disallow-replication-factor-change", NULL, "refuse moves that change the number of replicas",
     CLI_OPTION_FLAG, AT(refuses_factor_change), 0, 0},
    {"throttle", "BYTES/S",
     "bound of what a broker sends and of what it receives for moves;\n"
     "for --execute, again with --additional to change it",
     CLI_OPTION_NUMBER, AT(throttle), INT64_MIN, INT64_MAX},
    {"replica-alter-log-dirs-throttle", "BYTES/S", "not available yet; --execute refuses it",
     CLI_OPTION_NUMBER, AT(log_dirs_throttle), INT64_MIN, INT64_MAX},
    {"preserve-throttles", NULL, "leave throttles as they are, for --verify and --cancel",
     CLI_OPTION_FLAG, AT(preserves_throttles), 0, 0},
    {"timeout", "MS",
     "how long directory moves may take to start (default 10000);\n"
     "accepted for --execute and --cancel",
     CLI_OPTION_NUMBER, AT(timeout_ms), 0, INT64_MAX},
    {"command-config", "FILE", "properties of the client: client.id, request.timeout.ms",
     CLI_OPTION_TEXT, AT(command_config), 0, 0},
    {"watch", NULL, "show progress until the moves end, for --execute, --verify, --list",
     CLI_OPTION_FLAG, AT(watches), 0, 0},
    {"interval", "MS", "how often --watch looks (default 1000)", CLI_OPTION_NUMBER, AT(interval_ms),
     100, 60000},
    {"force-cancel", NULL, "cancel even where it costs the leader, for --cancel (klamm only)",
     CLI_OPTION_FLAG, AT(forces_cancel), 0, 0},
    {"json", NULL, "print JSON", CLI_OPTION_FLAG, AT(is_json), 0, 0},
    {"version", NULL, "print the version", CLI_OPTION_FLAG, AT(is_version), 0, 0},
    {"help", NULL, "print this text", CLI_OPTION_FLAG, AT(is_help), 0, 0},
};

static const struct cli_command command = {
    "reassign",
    "",
    "Moves replicas between brokers. Takes the options and files of Kafka's tool.",
    "The file: "
    "{\"version\":1,\"partitions\":[{\"topic\":\"foo\",\"partition\":0,\"replicas\":[4,5,6]}]}\n"
    "\n"
    "Examples:\n"
    "  klamm reassign --bootstrap-server 127.0.0.1:9092 --reassignment-json-file plan.json \\\n"
    "        --execute --throttle 50000000 --watch\n"
    "  klamm reassign --bootstrap-server 127.0.0.1:9092 --reassignment-json-file plan.json "
    "--verify\n"
    "  klamm reassign --bootstrap-server 127.0.0.1:9092 --list\n"
    "  klamm reassign --bootstrap-server 127.0.0.1:9092 --reassignment-json-file plan.json "
    "--cancel\n"
    "\n"
    "Exit codes: 0 done (--verify: also with unfinished moves), 1 refused or failed,\n"
    "130 interrupted while watching; the moves go on.\n",
    options,
    ARRAY_LEN(options)};

/* ---- which option goes with which action ---- */

enum action {
    ACTION_GENERATE = 1,
    ACTION_EXECUTE = 2,
    ACTION_VERIFY = 4,
    ACTION_CANCEL = 8,
    ACTION_LIST = 16,
};

static const struct {
    enum action action;
    const char *name;
} actions[] = {{ACTION_GENERATE, "generate"},
               {ACTION_EXECUTE, "execute"},
               {ACTION_VERIFY, "verify"},
               {ACTION_CANCEL, "cancel"},
               {ACTION_LIST, "list"}};

static const struct {
    const char *option;
    unsigned required; /* by these actions */
    unsigned allowed;  /* by these, besides */
} combinations[] = {
    {"reassignment-json-file", ACTION_EXECUTE | ACTION_VERIFY | ACTION_CANCEL, 0},
    {"topics-to-move-json-file", ACTION_GENERATE, 0},
    {"broker-list", ACTION_GENERATE, 0},
    {"disable-rack-aware", 0, ACTION_GENERATE},
    {"additional", 0, ACTION_EXECUTE},
    {"disallow-replication-factor-change", 0, ACTION_EXECUTE},
    {"throttle", 0, ACTION_EXECUTE},
    {"replica-alter-log-dirs-throttle", 0, ACTION_EXECUTE},
    {"preserve-throttles", 0, ACTION_VERIFY | ACTION_CANCEL},
    {"timeout", 0, ACTION_EXECUTE | ACTION_CANCEL},
    {"watch", 0, ACTION_EXECUTE | ACTION_VERIFY | ACTION_LIST},
    {"interval", 0, ACTION_EXECUTE | ACTION_VERIFY | ACTION_LIST},
    {"force-cancel", 0, ACTION_CANCEL},
};

static int check_combinations(const struct cli_given *given, struct errmsg *em)
{
    unsigned chosen = 0;
    const char *name = "";
    int count = 0;
    for (size_t i = 0; i < ARRAY_LEN(actions); i++) {
        if (cli_options_has(&command, given, actions[i].name)) {
            chosen = actions[i].action;
            name = actions[i].name;
            count++;
        }
    }
    if (count != 1) {
        return errmsg_set(em, E_INVALID,
                          "Command must include exactly one action: --generate, --execute, "
                          "--verify, --cancel, --list");
    }
    if (!cli_options_has(&command, given, "bootstrap-server")) {
        return errmsg_set(em, E_INVALID, "Please specify --bootstrap-server");
    }
    for (size_t i = 0; i < ARRAY_LEN(combinations); i++) {
        bool has = cli_options_has(&command, given, combinations[i].option);
        if (!has && (combinations[i].required & chosen) != 0) {
            return errmsg_set(em, E_INVALID, "Missing required argument \"[%s]\"",
                              combinations[i].option);
        }
        if (has && ((combinations[i].required | combinations[i].allowed) & chosen) == 0) {
            return errmsg_set(em, E_INVALID, "Option \"[%s]\" can't be used with action \"[%s]\"",
                              combinations[i].option, name);
        }
    }
    return 0;
}

/* ---- shared by the actions ---- */

int cli_reassign_error(struct cli_reassign *run, const struct klamm_error *err)
{
    if (err->code == KLAMM_ERR_INTERRUPTED) {
        buf_put_str(&run->terminal->err, "Interrupted.\n");
        return CLI_EXIT_INTERRUPTED;
    }
    buf_putf(&run->terminal->out, "Error: %s\n", err->message);
    return CLI_EXIT_FAILED;
}

bool cli_reassign_refuses(struct cli_reassign *run, const char *file, struct cli_faults *faults)
{
    cli_faults_sort(faults);
    cli_faults_print(faults, file, &run->terminal->err);
    if (faults->error_count == 0) {
        return false;
    }
    buf_put_str(&run->terminal->out, "Error: ");
    cli_faults_print_kafka(faults, &run->terminal->out);
    buf_put_str(&run->terminal->out, "\n");
    return true;
}

struct cli_plan_rules cli_reassign_rules(const struct cli_reassign_options *given)
{
    return (struct cli_plan_rules){.purpose = given->is_verify   ? CLI_PLAN_VERIFY
                                              : given->is_cancel ? CLI_PLAN_CANCEL
                                                                 : CLI_PLAN_EXECUTE};
}

int cli_reassign_describe(struct cli_reassign *run, struct cli_plan *plan,
                          struct klamm_topics **ret_topics, struct klamm_error *err)
{
    int32_t count = 0;
    const char *const *names = cli_plan_topics(plan, &count);
    return klamm_describe_topics(run->session->client, names, count, ret_topics, err);
}

void cli_reassign_put_json(struct buf *out, const struct cli_assignment *list, int32_t count)
{
    buf_put_str(out, "{\"version\":1,\"partitions\":[");
    for (int32_t i = 0; i < count; i++) {
        buf_putf(out, "%s{\"topic\":", i == 0 ? "" : ",");
        cli_text_put_json(out, list[i].topic);
        buf_putf(out, ",\"partition\":%" PRId32 ",\"replicas\":", list[i].partition);
        cli_text_put_json_ids(out, list[i].replicas);
        buf_put_str(out, ",\"log_dirs\":[");
        for (int32_t k = 0; k < list[i].replicas.count; k++) {
            buf_put_str(out, k == 0 ? "\"any\"" : ",\"any\"");
        }
        buf_put_str(out, "]}");
    }
    buf_put_str(out, "]}");
}

void cli_reassign_put_names(struct buf *out, const struct cli_assignment *list, int32_t count)
{
    for (int32_t i = 0; i < count; i++) {
        buf_putf(out, "%s%s-%" PRId32, i == 0 ? "" : ",", list[i].topic, list[i].partition);
    }
}

/* ---- the course of a run ---- */

/* Connects and asks what runs now: a server without these APIs is found out before anything else. */
static int open_cluster(struct cli_reassign *run, struct klamm_error *err)
{
    struct cli_properties properties = {.client_id = CLIENT_ID,
                                        .request_timeout_ms = CALL_TIMEOUT_MS};
    struct errmsg em = {""};
    struct env *files = cli_session_files(run->session, &em);
    if (files == NULL ||
        (run->options.command_config != NULL &&
         cli_properties_read(files, run->options.command_config, &properties, &em) < 0)) {
        *err = (struct klamm_error){.code = KLAMM_ERR_ARGUMENT};
        snprintf(err->message, sizeof err->message, "%s", em.text);
        cli_properties_deinit(&properties);
        return err->code;
    }
    struct cli_session_config config = {.bootstrap_servers = run->options.bootstrap_servers,
                                        .client_id = properties.client_id,
                                        .timeout_ms = properties.request_timeout_ms};
    int code = cli_session_connect(run->session, &config, err);
    cli_properties_deinit(&properties);
    if (code == 0) {
        code = klamm_describe_cluster(run->session->client, &run->cluster, err);
    }
    if (code == 0 && !run->options.is_generate) {
        code = klamm_list_reassignments(run->session->client, NULL, &run->running, err);
    }
    return code;
}

static int run_with_plan(struct cli_reassign *run)
{
    struct errmsg em = {""};
    struct klamm_error err = {0};
    struct cli_plan_rules rules = cli_reassign_rules(&run->options);
    struct cli_faults faults;
    cli_faults_init(&faults);
    struct env *files = cli_session_files(run->session, &em);
    if (files == NULL) {
        buf_putf(&run->terminal->out, "Error: %s\n", em.text);
        return CLI_EXIT_FAILED;
    }
    struct cli_plan *plan = cli_plan_read(files, run->options.reassignment_file, &rules, &faults);
    int exit_code = CLI_EXIT_FAILED;
    bool is_hopeless = faults.error_count > 0 && plan->count == 0;
    if (is_hopeless) {
        (void)cli_reassign_refuses(run, run->options.reassignment_file,
                                   &faults); /* there is an error: it does */
    } else if (open_cluster(run, &err) != 0) {
        (void)cli_reassign_refuses(run, run->options.reassignment_file,
                                   &faults); /* what the file alone shows is told all the same */
        exit_code = faults.error_count > 0 ? CLI_EXIT_FAILED : cli_reassign_error(run, &err);
    } else if (run->options.is_execute) {
        exit_code = cli_reassign_execute(run, plan, &faults);
    } else if (run->options.is_verify) {
        exit_code = cli_reassign_verify(run, plan, &faults);
    } else {
        exit_code = cli_reassign_cancel(run, plan, &faults);
    }
    cli_plan_free(plan);
    cli_faults_deinit(&faults);
    return exit_code;
}

static int run_without_plan(struct cli_reassign *run)
{
    struct klamm_error err = {0};
    if (open_cluster(run, &err) != 0) {
        return cli_reassign_error(run, &err);
    }
    return run->options.is_list ? cli_reassign_list(run) : cli_reassign_generate(run);
}

/* Moves between directories are a later step: what would slow them is refused with them. */
static bool asks_log_dirs_throttle(struct cli_reassign *run)
{
    if (run->options.log_dirs_throttle < 0) {
        return false;
    }
    buf_put_str(&run->terminal->out, "Error: throttles of moves between log directories are not "
                                     "available yet; nothing was started.\n");
    return true;
}

static int usage(struct cli_reassign *run, const char *message)
{
    if (message[0] != '\0') {
        buf_putf(&run->terminal->err, "%s\n\n", message);
    }
    cli_options_print_help(&command, &run->terminal->err);
    return CLI_EXIT_FAILED;
}

static int run_given(struct cli_reassign *run, const struct cli_given *given, int word_count)
{
    struct errmsg em = {""};
    if (word_count == 0 || run->options.is_help) {
        return usage(run, "");
    }
    if (run->options.is_version) {
        buf_putf(&run->terminal->out, "%s\n", klamm_version());
        return CLI_EXIT_OK;
    }
    if (check_combinations(given, &em) < 0) {
        return usage(run, em.text);
    }
    if (asks_log_dirs_throttle(run)) {
        return CLI_EXIT_FAILED;
    }
    bool has_plan = run->options.reassignment_file != NULL;
    return has_plan ? run_with_plan(run) : run_without_plan(run);
}

int cli_reassign_run(struct cli_session *session, struct cli_words words)
{
    struct cli_reassign run = {.session = session, .terminal = session->terminal};
    run.options = (struct cli_reassign_options){
        .throttle = -1, .log_dirs_throttle = -1, .timeout_ms = 10000, .interval_ms = 1000};
    struct cli_given given = {0};
    struct errmsg em = {""};
    int exit_code = cli_options_parse(&command, words, &run.options, &given, &em) < 0
                        ? usage(&run, em.text)
                        : run_given(&run, &given, words.count);
    klamm_reassignments_free(run.running);
    klamm_cluster_free(run.cluster);
    cli_given_deinit(&given);
    return exit_code;
}
